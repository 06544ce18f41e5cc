"""The mirror through histories that hypothesis makes up: at every quiet point it is in step."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, TransportError
from finstat_kit.protocol.wire import Reply
from tests.support.examples import examples
from tests.support.harm import FAULTS as FAULTS_OF_FILES
from tests.support.kills import at_writes
from tests.support.mirrors import assert_in_step, contents, listed, windows
from tests.support.registers import Watched, sample_of
from tests.support.syncs import FIRST, Crash

units = st.dictionaries(
    st.integers(1, 200), st.dates(date(2026, 1, 1), FIRST), min_size=3, max_size=25
)
picks = st.lists(st.integers(0, 10**6), min_size=1, max_size=4)
FAULTS: dict[str, Any] = {
    "500": Reply(500, {}, b""),
    "busy": Reply(503, {"Retry-After": "1"}, b""),
    "an outage page": Reply(200, {}, b"<p>Server je mimo prev"),
    "cut": TransportError("the connection was cut"),
    "half a body": Reply(200, {}, b'{"id":'),
    "another reply": Reply(200, {}, b'{"id":-1}'),
    "a ban": Reply(403, {}, b"<p>Forbidden"),
    "Ctrl-C": KeyboardInterrupt(),
}


class History(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.vanished: set[int] = set()
        self.quiet = False  # in step, and nothing has happened since
        self.runs: list[tuple[date, date]] = []
        self.is_harmed = False  # the history of the mirror, or who wrote it

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(units=units)
    def begin(self, units: dict[int, date]) -> None:
        self.register = Watched(sample_of(units), page_size=7)
        self.sample = self.register.sample
        self.restart()

    @rule()
    def restart(self) -> None:
        self.mirror = fk.Mirror(self.folder, register=self.register)

    def some(self, picks: list[int]) -> list[int]:
        ids = self.sample.units.ids()["id"].to_list()
        return sorted({ids[pick % len(ids)] for pick in picks}) if ids else []

    @rule(n=st.integers(1, 9))
    def publish(self, n: int) -> None:
        self.sample.publish(n)
        self.quiet = False

    @rule(picks=picks)
    def touch(self, picks: list[int]) -> None:
        self.sample.touch(self.some(picks))
        self.quiet = False

    @rule()
    def touch_all(self) -> None:
        self.sample.touch(self.sample.units.ids())
        self.quiet = False

    @rule(picks=picks)
    def delete(self, picks: list[int]) -> None:
        self.sample.delete(self.some(picks))
        self.quiet = False

    @rule(picks=picks)
    def hide(self, picks: list[int]) -> None:
        self.sample.hide(self.some(picks))
        self.quiet = False

    @rule(picks=picks)
    def vanish(self, picks: list[int]) -> None:
        ids = self.some(picks)
        self.sample.vanish(ids)
        self.vanished |= set(ids)
        self.quiet = False

    @rule(days=st.integers(1, 3))
    def next_day(self, days: int) -> None:
        self.sample.set_today(self.sample.today + timedelta(days=days))
        self.quiet = False

    @rule()
    def sync(self) -> None:
        # What had been removed is marked anew where it was lost.
        report = self.mirror.sync(max_missing=10**6)
        # A record that could not be read and then vanished waits for a full sync.
        unread = set(self.mirror.unreadable()["id"])
        assert unread <= self.vanished
        assert report["unreadable"].sum() == len(unread)
        self.completed(full=False)

    @rule()
    def sync_full(self) -> None:
        self.mirror.sync(full=True, max_missing=10**6)
        self.completed(full=True)

    def completed(self, *, full: bool) -> None:
        """Compare mirror and register after an undisturbed sync."""
        # An id above all others that vanished is given anew.
        self.vanished = set() if full else self.vanished - set(self.sample.units.ids()["id"])
        if self.vanished:
            held = listed(self.mirror)
            here = held.filter(~pl.col("id").is_in(list(self.vanished)))
            assert_frame_equal(here, self.sample.units.get(self.sample.units.ids()))
        else:
            assert_in_step(self.mirror, self.sample)
            self.quiet = True
        self.note_runs(moved=True)

    @precondition(lambda self: self.quiet)
    @rule()
    def sync_again(self) -> None:
        before = contents(self.folder)
        self.mirror.sync()
        assert contents(self.folder) == before

    @rule(fault=st.sampled_from(sorted(FAULTS)), first=st.integers(1, 40), n=st.integers(1, 20))
    def sync_with_a_fault(self, fault: str, first: int, n: int) -> None:
        asked = iter(range(1, 10**9))

        def instead(path: str, query: str) -> Reply | None:
            if not first <= next(asked) < first + n:
                return None
            happens = FAULTS[fault]
            if isinstance(happens, BaseException):
                raise happens
            return happens  # type: ignore[no-any-return]

        self.register.instead = instead
        self.quiet = False
        try:
            self.mirror.sync()
        except (fk.RegisterError, Interrupted, KeyboardInterrupt):
            self.note_runs(moved=False)
        else:
            self.note_runs(moved=True)
        self.register.instead = lambda path, query: None

    @rule(number=st.integers(1, 12), before=st.booleans())
    def crash(self, number: int, before: bool) -> None:
        def end() -> None:
            raise Crash

        self.quiet = False
        moment = "before" if before else "after"
        with contextlib.suppress(Crash), at_writes("any", number, moment, end):
            self.mirror.sync(max_missing=10**6)
        self.restart()
        self.note_runs(moved=True)

    @rule(
        pick=st.integers(0, 10**6), how=st.sampled_from(sorted({*FAULTS_OF_FILES} - {"exchanged"}))
    )
    def harm(self, pick: int, how: str) -> None:
        """Damage a file; where it is one that former runs need, what is known of them is less."""
        kinds = ("data/*.parquet", "runs/*.json", "*.json")
        files = [file for kind in kinds for file in sorted(self.folder.glob(kind))]
        if not files:
            return
        file = files[pick % len(files)]
        FAULTS_OF_FILES[how](file)
        self.is_harmed |= file.parent.name != "data"
        self.quiet = False
        self.restart()

    def note_runs(self, *, moved: bool) -> None:
        """Compare the completed runs with those known: none is added without its last walk."""
        if self.is_harmed:
            self.runs = []
            return
        runs = windows(self.folder)
        assert runs[: len(self.runs)] == self.runs
        new = runs[len(self.runs) :]
        assert len(new) <= 1 + moved  # one that went on and, where all is well, one behind it
        for since, _ in new:
            last = [query for query in self.register.asked if "/api/vyrocne-spravy" in query]
            assert any(f"zmenene-od={since}" in query for query in last)
        self.runs = runs

    @invariant()
    def windows_leave_no_gap(self) -> None:
        starts = [date(2000, 1, 2)]
        for since, started in self.runs:
            assert since < max(starts)
            starts.append(started)


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")  # of what is lost
def test_any_history_can_be_put_right() -> None:
    """Any order of changes, syncs, faults, crashes and damage can be put right by a sync."""
    run_state_machine_as_test(
        History,
        settings=examples(30, stateful_step_count=15, suppress_health_check=[HealthCheck.too_slow]),
    )


def test_the_machine_knows_its_faults(tmp_path: Path) -> None:
    """Each fault of the machine stops or disturbs a first sync."""
    for number, (name, happens) in enumerate(FAULTS.items()):
        register = Watched(fk.sample(30))

        def instead(path: str, query: str, happens: Any = happens) -> Reply | None:
            if isinstance(happens, BaseException):
                raise happens
            return happens  # type: ignore[no-any-return]

        register.instead = instead
        with pytest.raises((fk.RegisterError, KeyboardInterrupt)):
            fk.Mirror(tmp_path / str(number), register=register).sync()
        assert register.asked, name
