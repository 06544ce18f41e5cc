"""Walks over a register that changes while it is read, and fails as it likes: any order of events.

A machine makes up histories: units are published, touched, deleted and hidden between the requests
of walks; requests fail, or somebody presses Ctrl-C; the walks go on from where they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

import finstat_kit as fk
from finstat_kit.client.collections.listing import Pages
from finstat_kit.errors import TransportError
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.state.store import day_number
from finstat_kit.transport.base import InProcess
from tests.support.clock import FakeClock
from tests.support.examples import examples
from tests.support.registers import sample_of

LISTS = "/api/uctovne-jednotky"
DAYS = [date(2024, 1, 1), date(2025, 5, 5), date(2026, 6, 30)]
days = st.sampled_from(DAYS)
sinces = st.sampled_from([None, DAYS[1], DAYS[2]])
picks = st.lists(st.integers(0, 10**6), min_size=1, max_size=4)

# What may happen at a request. A list that is cut short but says that there is more breaks no rule.
FAULTS = ["cut", "no JSON", "HTML", "500", "busy", "no flag", "backwards", "cursor again", "Ctrl-C"]
events = st.lists(
    st.sampled_from(["good", "good", "good", "short", "change", *FAULTS]), max_size=12
)
Change = Callable[["Unruly"], None]


class Unruly(fk.Register):
    """A register in process whose next requests go as `events` says, and well after that.

    Attributes:
        events: What happens at the next requests, in their order.
        changes: What changes the register at an event ``change``.
        trusted: False makes counts lie.
    """

    def __init__(self, changes: dict[int, date], tries: int, trusted: bool) -> None:
        self.sample = sample_of(changes)
        self.events: list[str] = []
        self.changes: list[Change] = []
        self.trusted = trusted
        self._one = threading.RLock()
        fake = FakeClock()
        carrier = InProcess(self._answer, fake.timing(luck=0.01))
        super().__init__("unruly:", page_size=3, tries=tries, transport=carrier)

    def matching(self, since: date | None, after: int = 0) -> list[int]:
        """Return what the register would list now, found another way."""
        line = self.sample._store.units
        first = 0 if since is None else day_number(since)
        rows = zip(line.ids.tolist(), line.changed.tolist(), strict=True)
        return [id_ for id_, changed in rows if changed >= first and id_ > after]

    def _answer(self, method: str, path: str, query: str) -> Reply:
        with self._one:
            event = self.events.pop(0) if self.events else "good"
            if event == "change" and self.changes:
                self.changes.pop()(self)
            if event == "cut":
                raise TransportError("the connection was cut")
            if event == "Ctrl-C":
                raise KeyboardInterrupt
            if path != LISTS:
                if not self.trusted:
                    return Reply(200, {}, b'{"pocetZostavajucichId":%d}' % len(query) ** 2)
                return self.sample._answer(method, path, query)
            return self._listed(event, method, path, query)

    def _listed(self, event: str, method: str, path: str, query: str) -> Reply:
        after = int(parse_qs(query).get("pokracovat-za-id", ["0"])[0])
        broken = {
            "no JSON": Reply(200, {}, b'{"id":[1'),
            "HTML": Reply(200, {}, b"<p>outage</p>"),
            "500": Reply(500, {}, b""),
            "busy": Reply(503, {"Retry-After": "1"}, b""),
            "no flag": Reply(200, {}, b'{"id":[%d]}' % (after + 1)),
            "backwards": Reply(
                200, {}, b'{"id":[%d,%d],"existujeDalsieId":true}' % (after + 2, after + 1)
            ),
            "cursor again": Reply(200, {}, b'{"id":[%d],"existujeDalsieId":false}' % after),
        }
        if event == "short":
            size = parse_qs(query)["max-zaznamov"][0]
            query = query.replace(f"max-zaznamov={size}", "max-zaznamov=1")
        return broken.get(event) or self.sample._answer(method, path, query)


class Walk:
    """A client's walk, and what it may and must see.

    Attributes:
        steady: What has matched from the first request on until now.
        ever: What has matched at any moment since.
        seen: What came.
    """

    def __init__(self, register: Unruly, since: date | None, size: int) -> None:
        self.register, self.since, self.size = register, since, size
        self.steady = set(register.matching(since))
        self.ever = set(self.steady)
        self.seen: list[int] = []
        self.pages: Pages = register.units.pages(changed_since=since, page_size=size)

    def look(self) -> None:
        """Take note of how the register is now."""
        now = set(self.register.matching(self.since))
        self.steady &= now
        self.ever |= now

    def step(self) -> None:
        """Fetch for a page; an error leaves the walk where it was."""
        cursor, count = self.pages.cursor, self.pages.count
        assert cursor == (self.seen[-1] if self.seen else 0)
        try:
            page = next(self.pages)
        except (fk.RegisterError, fk.errors.Interrupted) as error:
            assert error.cursor == cursor  # where to go on is told, and nothing has moved
            assert (self.pages.cursor, self.pages.count) == (cursor, count)
        except StopIteration:
            assert self.pages.done
        else:
            assert page.height <= self.size
            self.seen += page["id"].to_list()
            assert self.pages.count == count + page.height

    def begin_again(self) -> None:
        """Go on in another walk, as somebody does the next day."""
        self.pages = self.register.units.pages(
            changed_since=self.since, page_size=self.size, after_id=self.pages.cursor
        )

    def judge(self) -> None:
        """See that nothing was invented or repeated, nor passed over so far."""
        assert all(a < b for a, b in pairwise(self.seen))
        assert set(self.seen) <= self.ever
        reached = self.pages.cursor if not self.pages.done else max(self.ever, default=0)
        assert {id_ for id_ in self.steady if id_ <= reached} <= set(self.seen)


class Histories(RuleBasedStateMachine):
    """Everything that may happen to one register and its readers."""

    walks = Bundle("walks")

    @initialize(
        changes=st.dictionaries(st.integers(1, 90), days, max_size=40),
        tries=st.sampled_from([1, 1, 3]),
        trusted=st.booleans(),
    )
    def begin(self, changes: dict[int, date], tries: int, trusted: bool) -> None:
        self.register = Unruly(changes, tries, trusted)
        self.going_on: list[Walk] = []

    def _changed(self, change: Change) -> None:
        """Change the register under the eyes of all walks."""
        change(self.register)
        for walk in self.going_on:
            walk.look()

    @rule(n=st.integers(1, 3), day=days)
    def publish(self, n: int, day: date) -> None:
        self._changed(_publish(n, day))

    @rule(verb=st.sampled_from(["touch", "delete", "hide"]), which=picks, day=days)
    def change(self, verb: str, which: list[int], day: date) -> None:
        self._changed(_change(verb, which, day))

    @rule(target=walks, since=sinces, size=st.integers(1, 7))
    def set_out(self, since: date | None, size: int) -> Walk:
        walk = Walk(self.register, since, size)
        self.going_on.append(walk)
        return walk

    @rule(walk=walks, event=st.sampled_from(["good", "good", "short", *FAULTS]))
    def step(self, walk: Walk, event: str) -> None:
        self.register.events = [event]
        walk.step()
        self.register.events = []

    @rule(walk=walks)
    def begin_again(self, walk: Walk) -> None:
        walk.begin_again()

    @rule(target=walks, walk=consumes(walks))
    def finish(self, walk: Walk) -> Any:
        while not walk.pages.done:
            walk.step()
        walk.judge()
        self.going_on.remove(walk)
        return multiple()

    @rule(
        since=sinces,
        size=st.integers(1, 7),
        connections=st.sampled_from([1, 3]),
        events=events,
        resize=st.booleans(),
        changes=st.lists(
            st.one_of(
                st.builds(lambda n, day: _publish(n, day), st.integers(1, 3), days),
                st.builds(
                    lambda verb, which, day: _change(verb, which, day),
                    st.sampled_from(["touch", "delete", "hide"]),
                    picks,
                    days,
                ),
            ),
            max_size=4,
        ),
    )
    def fetch(
        self,
        since: date | None,
        size: int,
        connections: int,
        events: list[str],
        resize: bool,
        changes: list[Change],
    ) -> None:
        """Fetch all ids, going on from each error, while the register changes or does not."""
        register = self.register
        unfailed = register.units.ids(changed_since=since)["id"].to_list()
        assert unfailed == register.matching(since)
        walk = Walk(register, since, size)
        self.going_on.append(walk)
        register.events = list(events)
        register.changes = [_seen_by(self, change) for change in changes]
        cursor, seen = 0, walk.seen
        while True:
            try:
                seen += register.units.ids(
                    changed_since=since, page_size=size, connections=connections, after_id=cursor
                )["id"].to_list()
                break
            except (fk.RegisterError, fk.errors.Interrupted) as error:
                assert error.partial is not None
                came = error.partial["id"].to_list()
                # All that is surely there, and the place behind it.
                assert error.cursor is not None
                assert error.cursor >= max(came, default=cursor)
                cursor, seen = error.cursor, seen + came
                assert all(a < b for a, b in pairwise(seen))
                assert {id_ for id_ in walk.steady if id_ <= cursor} <= set(seen)
                size = size % 7 + 1 if resize else size
        register.events, register.changes = [], []
        self.going_on.remove(walk)
        assert all(a < b for a, b in pairwise(seen))
        assert walk.steady <= set(seen) <= walk.ever
        if walk.steady == walk.ever:  # nothing came or went: as if nothing had failed
            assert seen == unfailed

    @invariant()
    def every_walk_is_right_so_far(self) -> None:
        for walk in getattr(self, "going_on", ()):
            walk.judge()


def _publish(n: int, day: date) -> Change:
    def change(register: Unruly) -> None:
        register.sample.publish(n, on=day)

    return change


def _change(verb: str, which: list[int], day: date) -> Change:
    """Return what changes some of the units that there are."""

    def change(register: Unruly) -> None:
        there = register.matching(None)
        if there:
            ids = sorted({there[pick % len(there)] for pick in which})
            getattr(register.sample, verb)(ids, on=day)

    return change


def _seen_by(machine: Histories, change: Change) -> Change:
    return lambda register: machine._changed(change)


@pytest.mark.hypothesis
def test_histories_lose_double_and_invent_nothing() -> None:
    """Nothing that was there throughout is lost or doubled, nothing is invented, order is kept."""
    run_state_machine_as_test(
        Histories,
        settings=examples(20, stateful_step_count=30, suppress_health_check=list(HealthCheck)),
    )
