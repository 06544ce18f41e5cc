"""A mirror as of a day: a register that answers the same, whatever is synced afterwards."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import nbformat
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from finstat_kit.mirror.local_register import Frozen
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.state.population import default
from tests.support.kills import at_writes
from tests.support.mirrors import CODELISTS, LISTS, listings_of_runs, points
from tests.support.registers import Watched
from tests.support.syncs import FIRST, Skewed, next_day


def answers(register: fk.Register) -> dict[str, Any]:
    """Return what a register answers to everything that can be asked of a mirror."""
    units = register.units.get(register.units.ids())
    return {
        "today": register.today,
        "cite": register.cite(lang="en"),
        "units": units.to_dicts(),
        "scan": register.units.scan().collect().to_dicts(),
        "since": register.units.ids(changed_since="2026-06-01")["id"].to_list(),
        "counts": [getattr(register, name).count() for name in LISTS],
        "ids": [getattr(register, name).ids()["id"].to_list() for name in LISTS],
        "codelists": [register.codelist(name).rows() for name in CODELISTS],
        "counted": register.count_by(units, "kraj").rows(),
    }


def a_day_of_changes(register: Watched) -> None:
    next_day(register)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids[:20])
    register.sample.delete(ids[30:35])
    register.sample.publish(7)
    register.sample.file(ids[:2], year=2025)


def test_a_former_day_is_the_last_sync_by_then_whatever_the_clock_said(tmp_path: Path) -> None:
    """After a sync whose clock stood ahead, days between are those of the syncs after it."""
    register = fk.sample(20)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    for day, published in (("2026-07-10", 10), ("2026-07-03", 5), ("2026-07-12", 5)):
        register.set_today(day)
        register.publish(published)
        mirror.sync()

    assert [mirror.as_of(f"2026-07-{day:02}").units.count() for day in (3, 5, 10, 11, 12)] == [
        35, 35, 35, 35, 40,
    ]  # fmt: skip
    assert mirror.as_of("2026-07-05").snapshot().collect().height == 35
    with fk.using(f"mirror:{mirror.path}@2026-07-05") as frozen:
        assert frozen.units.ids().height == 35


def with_a_region_more(path: str, query: str) -> Reply | None:
    """Answer the regions with one more than the sample has."""
    if path != "/api/kraje":
        return None
    body = default().codelists["kraje"]
    more = body.replace(b'"lokacie":[', b'"lokacie":[{"kod":"SK0X0","nazov":{"sk":"Nov\xc3\xbd"}},')
    return Reply(200, {}, more)


@pytest.mark.slow
def test_a_frozen_day_answers_as_on_that_day(mirror: fk.Mirror, register: Watched) -> None:
    """Records, ids, counts, codelists and the citation stay, whatever later syncs bring."""
    frozen = mirror.as_of(FIRST)
    before = answers(mirror)
    assert answers(frozen) == before

    register.instead = with_a_region_more
    for _ in range(2):
        a_day_of_changes(register)
        mirror.sync()

    assert answers(mirror)["codelists"] != before["codelists"]
    assert answers(mirror)["counts"] != before["counts"]
    for again in (frozen, mirror.as_of(str(FIRST)), fk.Mirror(mirror.path).as_of(FIRST)):
        assert answers(again) == before
    assert_frame_equal(
        frozen.snapshot().collect().sort("id"), mirror.as_of(FIRST).snapshot().collect().sort("id")
    )
    then = mirror.as_of(FIRST + timedelta(days=1))
    assert_frame_equal(then.regions(), mirror.regions())
    assert mirror.verify()["damaged"].sum() == 0


@pytest.mark.slow
def test_a_frozen_day_keeps_what_it_kept(
    mirror: fk.Mirror, register: Watched, tmp_path: Path
) -> None:
    """Records kept from a later day on change neither snapshots, filings nor what is refused."""
    units = mirror.units.ids(limit=3)

    def answered(frozen: Frozen) -> list[pl.DataFrame]:
        statements = frozen.snapshot("statements").collect()
        with pytest.raises(fk.UsageError, match=r"ids alone; fetch .* take a later one"):
            frozen.statements.get(statements["id"][:1])
        with pytest.raises(fk.UsageError, match=r"ids alone; fetch .* take a later one"):
            frozen.scan_cells()
        return [statements.sort("id"), frozen.filings(units), frozen.financials(units, year=2020)]

    before = answered(mirror.as_of(FIRST))
    a_day_of_changes(register)
    later = fk.Mirror(mirror.path, contents=True, register=register)
    later.sync()

    for was, now in zip(before, answered(later.as_of(FIRST)), strict=True):
        assert_frame_equal(was, now)
    then = later.as_of(FIRST).snapshot("statements")
    assert then.collect_schema().names() == ["id", "gone", "seen"]
    small = later.as_of(FIRST).extract(tmp_path / "small", units)
    assert_frame_equal(small.filings(units), before[1])
    assert later.as_of(register.today).filings(units)["reason"].is_null().any()


@pytest.mark.slow
def test_codelists_cut_off_twice_are_those_of_the_day(mirror: fk.Mirror, register: Watched) -> None:
    """A run that replaces a codelist twice keeps what the run before had left."""
    before = mirror.regions()
    register.instead = with_a_region_more
    a_day_of_changes(register)
    with pytest.raises(KeyboardInterrupt), at_writes("runs", 1, "before", interrupt):
        mirror.sync()
    register.instead = lambda path, query: None
    mirror.sync()

    assert_frame_equal(mirror.as_of(FIRST).regions(), before)


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_the_name_with_a_day_is_the_frozen_day(
    mirror: fk.Mirror, register: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``mirror:PATH@DAY`` chooses it, by `use` and by the environment."""
    a_day_of_changes(register)
    mirror.sync()
    name = f"mirror:{mirror.path}@{FIRST}"

    with fk.using(name, lang="en") as frozen:
        assert fk.units.count() == 60
        assert frozen.lang == "en"
    monkeypatch.setenv("FINSTAT_KIT_URL", name)
    fk.use(None)
    assert fk.units.count() == 60
    assert repr(fk.register()) == (
        f"SAMPLE DATA <Mirror {mirror.path}@2026-06-30 of finstat_kit sample; seed=0; units=60, "
        "copied as of 2026-06-30, read-only>"
    )
    assert fk.cite(lang="en").endswith("copied as of 2026-06-30.")
    assert mirror.units.count() > 60
    fk.use(None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.as_of("2026-07-01"), "completed on 2026-06-30, and a later one would change"),
        (lambda m: m.as_of("2026-06-29"), "the first sync of this mirror was completed on 2026-06"),
        (lambda m: m.as_of("June"), "day='June'"),
        (lambda m: m.as_of(FIRST).sync(), r"is read-only; sync the mirror itself: fk\.Mirror"),
        (lambda m: m.as_of(FIRST).sync(full=True), "is read-only"),
        (lambda m: m.as_of(FIRST).snapshot("unit"), "collection='unit'"),
        (lambda m: fk.Mirror(m.path, register=m.as_of(FIRST)).sync(), "not with a mirror"),
    ],
)
def test_what_a_frozen_day_refuses(
    mirror: fk.Mirror, call: Callable[[fk.Mirror], object], message: str
) -> None:
    """Days that can still change, and syncs; the text has the way out."""
    with pytest.raises(fk.UsageError, match=message):
        call(mirror)


def test_a_frozen_day_before_the_first_sync_is_none(tmp_path: Path) -> None:
    with pytest.raises(MirrorError, match=r"there is no mirror in .*sync\(\) creates one"):
        fk.Mirror(tmp_path / "ruz").as_of(FIRST)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_call_reads_the_state_once(
    mirror: fk.Mirror, monkeypatch: pytest.MonkeyPatch, frozen: bool
) -> None:
    """Whether there is a newer run is looked up once per call."""
    register = mirror.as_of(FIRST) if frozen else mirror
    ids = register.units.ids(limit=5)
    listings = listings_of_runs(monkeypatch)
    assert register.units.get(ids).height == 5
    assert len(listings) == 1


def test_a_frozen_day_can_be_pickled(mirror: fk.Mirror, register: Watched) -> None:
    """It comes back as the same day of the same mirror."""
    frozen = mirror.as_of(FIRST)
    frozen.lang = "en"
    a_day_of_changes(register)
    mirror.sync()
    again = pickle.loads(pickle.dumps(frozen))

    assert (again.units.count(), again.lang, again.today) == (60, "en", FIRST)


CELLS = [
    "import polars as pl\n\nimport finstat_kit as fk",
    'ids = fk.units.ids(changed_since="2026-01-01")\nids.height, fk.units.count()',
    'fk.units.get(ids).select("id", "kraj", "stav")',
    'fk.count_by(fk.units.scan().collect(), "kraj", lang="en")',
    "fk.register().today, fk.cite()",
]
# Loaded by each Python of the run: no name is looked up and nothing is connected to.
NO_NETWORK = """
import socket

def refuse(*arguments):
    raise OSError(f"the network is cut off: {arguments[-1]}")

def connect(self, address, plain=socket.socket.connect):
    if self.family == getattr(socket, "AF_UNIX", None) or address[0] == "127.0.0.1":
        return plain(self, address)  # what Jupyter needs for its kernel
    refuse(address)

socket.socket.connect = connect
socket.getaddrinfo = refuse
"""


def run(*command: str, folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder / "cut"), *sys.path])
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "FINSTAT_KIT_URL": url},
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.mark.slow
def test_a_notebook_on_a_frozen_mirror_is_a_test_without_a_network(tmp_path: Path) -> None:
    """Executed on a mirror, it passes strict nbval after more syncs, with the network cut off."""
    register = Watched(fk.sample(100))
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "sitecustomize.py").write_text(NO_NETWORK)
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbformat.write(made, tmp_path / "my.ipynb")
    frozen = f"mirror:ruz@{FIRST}"
    execute = ("nbconvert", "--execute", "--to", "notebook", "--inplace", "my.ipynb")
    seen = run(*execute, folder=tmp_path, url=frozen)
    assert seen.returncode == 0, seen.stderr
    a_day_of_changes(register)
    mirror.sync()

    nbval = ("pytest", "-q", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider")
    options = (*nbval, "--rootdir", ".", "my.ipynb")
    seen = run(*options, folder=tmp_path, url=frozen)
    assert f"{len(CELLS)} passed" in seen.stdout, seen.stdout
    cut = "import finstat_kit as fk; fk.Register(fk.LIVE, tries=1).units.count()"
    seen = subprocess.run(
        [sys.executable, "-c", cut],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "cut"), *sys.path])},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "TransportError" in seen.stderr, seen.stderr


def test_a_clock_that_stood_ahead_hides_no_day(tmp_path: Path) -> None:
    """A day is answered by the last state, in their order, whose day is not later."""
    register = Skewed(30)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    counts = []
    for days, skew in ((0, 10), (3, 0), (9, 0)):  # 10 July, 3 July, 12 July
        register.pass_days(days)
        register.skew = skew
        register.sample.publish(5)
        mirror.sync()
        counts.append(register.sample.units.count())

    assert counts == [35, 40, 45]
    assert [point["day"][5:] for point in points(mirror.path)] == ["07-10", "07-03", "07-12"]
    for day, count in (("2026-07-05", 40), ("2026-07-11", 40), ("2026-07-12", 45)):
        assert mirror.as_of(day).units.count() == count
        assert mirror.as_of(day).snapshot().collect().height == count
        small = mirror.as_of(day).extract(tmp_path / day, mirror.as_of(day).units.ids())
        assert small.snapshot().collect().height == count
    with pytest.raises(fk.UsageError, match="the first sync of this mirror was completed on"):
        mirror.as_of("2026-07-02")
