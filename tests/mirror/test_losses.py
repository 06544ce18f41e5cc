"""What is lost: no answer needs it in silence, and the next sync requests that, and no more."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError, RegisterWarning, UsageError
from finstat_kit.protocol.wire import Reply
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.harm import FAULTS
from tests.support.kills import at_writes
from tests.support.mirrors import (
    LISTS,
    RECORDS,
    assert_contents_in_step,
    assert_in_step,
    data,
    newest_run,
    points,
    synced,
)
from tests.support.registers import Watched
from tests.support.syncs import RECORD, day_of_filings, next_day

pytestmark = pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")


def with_a_form_of_its_own() -> Watched:
    """Return a register with a report on a form that the package has not."""
    register = Watched(fk.sample(12), page_size=20)
    living = register.sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
    register.sample.file(living.head(1), year=2024, case="unknown_template")
    return register


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a mirror with contents of four days."""
    register = with_a_form_of_its_own()
    path = synced(tmp_path_factory.mktemp("old") / "ruz", register, contents=True)
    for _ in range(3):
        day_of_filings(register)
        fk.Mirror(path, register=register).sync()
    return path


@pytest.fixture
def later() -> Watched:
    """Give the register of that mirror, a month later: the window names nothing."""
    return a_month_later()


def a_month_later() -> Watched:
    register = with_a_form_of_its_own()
    for _ in range(3):
        day_of_filings(register)
    next_day(register, 30)
    return register


@pytest.fixture
def copy(old: Path, tmp_path: Path) -> Path:
    """Give a copy of the folder, to be harmed."""
    return Path(shutil.copytree(old, tmp_path / "ruz"))


@pytest.fixture(scope="module")
def usual(old: Path, tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """Give the requests of a sync of it, where nothing is lost."""
    register = a_month_later()
    fk.Mirror(
        shutil.copytree(old, tmp_path_factory.mktemp("usual") / "ruz"), register=register
    ).sync()
    return Counter(register.asked)


@pytest.fixture(scope="module")
def before(old: Path) -> list[str]:
    """Give what is answered where nothing is lost."""
    return [str(call()) for _, call in answers(fk.Mirror(old), a_month_later())]


def assert_whole(mirror: fk.Mirror, register: Watched) -> None:
    """Compare all that a mirror holds with its register, and every file with its name."""
    assert_in_step(mirror, register.sample)
    assert_contents_in_step(mirror, register.sample)
    assert mirror.holdings()["lacking"].sum() == 0
    assert set(mirror.verify()["meaning"]) == {""}


def answers(mirror: fk.Mirror, register: Watched) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is requested of a mirror, and the logs that are read for it."""
    units = register.sample.units.ids()
    yield "units", lambda: mirror.units.get(units)
    yield "units", mirror.changes
    yield "codelists", mirror.regions
    for name in LISTS:
        yield name, getattr(mirror, name).count
        yield name, getattr(mirror, name).ids
    yield "statements", lambda: mirror.snapshot("statements").collect().sort("id")
    yield "reports cells templates", lambda: mirror.scan_cells().collect().sort(pl.all())
    yield (
        "units statements reports cells templates",
        lambda: mirror.scan_financials().select("sales").collect(),
    )


def of_kind(path: Path, log: str, *, names: bool = False) -> dict[str, Any]:
    """Return what the newest run says of the largest file of a log that names, or answers, ids."""
    files = [file for file in newest_run(path)["files"][log] if file["names"] == names]
    largest: dict[str, Any] = max(files, key=lambda file: file["rows"])
    return largest


@pytest.mark.parametrize(
    ("log", "harm"),
    [("cells", "deleted"), *slow(("units", "deleted"), ("codelists", "deleted"),
     ("reports", "deleted"), ("statements", "emptied"), ("annual_reports", "halved"),
     ("templates", "deleted"))],
)  # fmt: skip
def test_lost_answers_are_requested_again_and_no_list_is_walked(
    copy: Path,
    later: Watched,
    usual: Counter[str],
    before: list[str],
    log: str,
    harm: str,
    matrix: Told,
) -> None:
    """Until then whatever does not need them is answered; those records alone are requested."""
    file = of_kind(copy, log)
    path = copy / "data" / f"{file['name']}.parquet"
    key = "report_id" if log == "cells" else "id"
    lost = set(pl.read_parquet(path)[key]) if log not in ("codelists", "templates") else set()
    FAULTS[harm](path)
    mirror = fk.Mirror(copy, register=later)
    refused = 0
    for (logs, call), answer in zip(answers(mirror, later), before, strict=True):
        if log in logs.split():
            with pytest.raises(MirrorError, match=r"is gone: lost|cannot be read"):
                call()
            refused += 1
        else:
            assert str(call()) == answer
    assert refused or log == "annual_reports"
    with pytest.warns(RegisterWarning, match=rf"has lost data/.*rows of {log}; this sync requests"):
        mirror.sync()

    assert_whole(mirror, later)
    more = Counter(later.asked) - usual
    record = RECORDS.get("reports" if log == "cells" else log, "/api/sablona") + "?id="
    assert set(more.values()) <= {1}
    assert all(target.startswith(record) for target in more)
    if lost:  # what a later file answered too is not requested
        assert {int(target.removeprefix(record)) for target in more} <= lost
    assert len(more) <= file["rows"]
    matrix(f"{log} {harm}", "made good by one sync", f"{file['rows']} rows, {len(more)} requests")


@pytest.mark.parametrize("log", ["reports", *slow("units", "statements", "annual_reports")])
def test_lost_names_cost_the_walk_of_their_window(
    copy: Path, later: Watched, usual: Counter[str], log: str
) -> None:
    """And no record, as long as all that they named was answered."""
    file = of_kind(copy, log, names=True)
    pages = -(-getattr(later.sample, log).count() // 20)
    (copy / "data" / f"{file['name']}.parquet").unlink()
    mirror = fk.Mirror(copy, register=later)
    with pytest.warns(RegisterWarning, match=rf"rows of {log}; this sync requests again"):
        mirror.sync()

    more = Counter(later.asked) - usual
    assert sum(more.values()) <= pages + 1
    assert not [target for target in more if "?id=" in target]
    assert_whole(mirror, later)


@pytest.mark.slow
def test_names_that_were_lost_before_they_were_answered_are_named_again(tmp_path: Path) -> None:
    """A change that was listed, and not fetched yet, is found again."""
    register = Watched(fk.sample(12), page_size=20)
    path = synced(tmp_path / "ruz", register, contents=True)
    day_of_filings(register)
    error = iter([KeyboardInterrupt()])

    def instead(target: str, query: str) -> Reply | None:
        if target == RECORDS["statements"]:
            raise next(error, RuntimeError())
        return None

    register.instead = instead
    with pytest.raises(Interrupted):
        fk.Mirror(path, register=register).sync()
    lost = [file for file in newest_run(path)["files"]["statements"] if file["names"]][1:]
    for file in lost:
        (path / "data" / f"{file['name']}.parquet").unlink()
    assert lost
    register.instead = lambda target, query: None
    next_day(register, 10)
    mirror = fk.Mirror(path, register=register)
    mirror.sync()

    assert_whole(mirror, register)


@pytest.mark.slow
@pytest.mark.parametrize("harm", FAULTS)
@pytest.mark.parametrize("log", ["cells", "reports", "units", "statements"])
def test_any_damage_is_found_by_a_full_sync(
    copy: Path, later: Watched, usual: Counter[str], log: str, harm: str
) -> None:
    """It compares every byte; a flipped bit costs the records of its file alone."""
    file = of_kind(copy, log)
    FAULTS[harm](copy / "data" / f"{file['name']}.parquet")
    mirror = fk.Mirror(copy, register=later)
    mirror.sync(full=True)

    more = Counter(later.asked) - usual
    assert sum("?id=" in target for target in more) <= file["rows"] + 1  # a template
    assert_whole(mirror, later)


@pytest.mark.slow
def test_each_file_is_compared_in_thirty_syncs(mirror: fk.Mirror, register: Watched) -> None:
    """Some in each, by its name, so that nothing has to be noted."""
    file = next(path for path in data(mirror.path, "units") if pl.read_parquet(path).height == 60)
    FAULTS["flipped in its last byte"](file)
    found = 0
    for _ in range(30):
        next_day(register)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            mirror.sync()
        found += any("has lost" in str(warning.message) for warning in told)

    assert found == 1
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["units", *slow("reports", "cells", "codelists")])
def test_a_day_that_needs_what_was_lost_is_an_error(copy: Path, later: Watched, name: str) -> None:
    """Days before stay, and all that does not need it; later ones are whole."""
    mirror = fk.Mirror(copy, register=later)
    first, last = points(copy)[0], points(copy)[-1]
    ids = mirror.as_of(first["day"]).units.ids()
    lost = newest_run(copy)["files"][name][-1]
    (copy / "data" / f"{lost['name']}.parquet").unlink()
    mirror.sync()

    assert_whole(mirror, later)
    assert mirror.as_of(later.today).units.count() == later.sample.units.count()
    if first["upto"].get(name, 0) < lost["first"]:
        assert_frame_equal(mirror.as_of(first["day"]).units.ids(), ids)
    frozen = mirror.as_of(last["day"])
    calls: dict[str, Callable[[], object]] = {
        "units": lambda: frozen.snapshot(),
        "codelists": frozen.regions,
        "cells": lambda: frozen.scan_cells(),
        "reports": lambda: frozen.reports.ids(),
    }
    for log, call in calls.items():
        if log == name:
            with pytest.raises(MirrorError, match=rf"rows of {name} that counted on .* were lost"):
                call()
        elif (name, log) != ("reports", "cells"):  # whose newest are known by them
            call()


def test_changes_that_were_lost_are_refused(mirror: fk.Mirror, register: Watched) -> None:
    """Those after the cure are answered, and nothing is called new that was there before."""
    next_day(register)
    register.sample.touch(register.sample.units.ids(limit=20))
    mirror.sync()
    for file in data(mirror.path, "units"):
        file.unlink()
    next_day(register)
    mirror.sync()
    for since in (None, register.today, "2026-01-01"):
        with pytest.raises(UsageError, match=r"was observed up to .* or a later day"):
            mirror.changes(since)
    next_day(register)
    new = register.sample.publish(1)["id"].to_list()
    mirror.sync()

    assert mirror.changes(register.today).select("id", "field").rows() == [(new[0], "id")]
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_what_the_register_dropped_stays_missing(mirror: fk.Mirror, register: Watched) -> None:
    """Also where the row that says so was lost: the whole list is walked."""
    ids = register.sample.units.ids()["id"]
    register.sample.vanish(int(ids[3]))
    mirror.sync(full=True, max_missing=1)
    next_day(register)
    (gone,) = [path for path in data(mirror.path, "units")
               if pl.read_parquet(path)["kind"].to_list() == ["missing"]]  # fmt: skip
    gone.unlink()
    with pytest.raises(fk.RegisterError, match=r"missing by sync\(full=True, max_missing=1\)"):
        mirror.sync()
    mirror.sync(max_missing=1)

    assert mirror.snapshot().filter(gone="missing").collect()["id"].to_list() == [ids[3]]
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize(("log", "number"), [("units", 3), ("reports", 8)])
def test_a_cure_that_is_cut_off_goes_on(copy: Path, later: Watched, log: str, number: int) -> None:
    """And so does one that meets a second loss."""
    (copy / "data" / f"{of_kind(copy, log)['name']}.parquet").unlink()
    left = iter(range(number))

    def instead(path: str, query: str) -> Reply | None:
        if "?id=" in f"{path}?{query}" and next(left, None) is None:
            raise KeyboardInterrupt
        return None

    later.instead = instead
    with pytest.raises(Interrupted):
        fk.Mirror(copy, register=later).sync()
    later.instead = lambda path, query: None
    for file in newest_run(copy)["files"][log][-1:]:
        (copy / "data" / f"{file['name']}.parquet").unlink()
    mirror = fk.Mirror(copy, register=later)
    mirror.sync()

    assert_whole(mirror, later)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["statements", "units"])
def test_a_reader_beside_a_cure_reads_what_counts_then(
    copy: Path, later: Watched, name: str
) -> None:
    """An object that had read before reads the files of the cure; until then, it gets an error."""
    reader = fk.Mirror(copy)
    assert reader.units.count()
    for file in data(copy, name):
        file.unlink()

    seen: list[str] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORDS["units"]:
            with pytest.raises(MirrorError, match=rf"rows of {name} .*; the next sync\(\)"):
                fk.Mirror(copy).snapshot(name)  # type: ignore[arg-type]
            seen.append(query)
        return None

    later.instead = instead
    fk.Mirror(copy, register=later).sync()
    later.instead = lambda path, query: None

    assert seen
    assert_whole(reader, later)


# What is no loss


@pytest.mark.parametrize("kind", ["data/*.parquet", *slow("runs/*.json")])
def test_a_file_that_the_system_does_not_read_is_not_taken_for_lost(
    mirror: fk.Mirror, register: Watched, kind: str
) -> None:
    """No sync drops it: it is as it was once the system reads it again."""
    file = max(mirror.path.glob(kind))
    aside = file.rename(mirror.path.parent / "aside")
    file.symlink_to(file.name)  # to itself, which nobody can open, not even root
    again = fk.Mirror(mirror.path, register=register)
    for call in (again.sync, partial(again.sync, full=True)):
        with pytest.raises(MirrorError, match=r"cannot be read: .*; check the disk"):
            call()
    file.unlink()
    aside.rename(file)

    assert set(again.verify()["meaning"]) == {""}
    again.sync()
    assert_in_step(again, register.sample)


def test_a_disk_that_fails_is_an_error_with_the_cure(mirror: fk.Mirror, register: Watched) -> None:
    """What was there before stays, and the next sync goes on."""
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    folder, aside = mirror.path / "data", mirror.path / "aside"

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and folder.is_dir():
            folder.rename(aside)
            folder.write_text("no folder")
        return None

    register.instead = instead
    with pytest.raises(MirrorError, match=r"cannot be written: .* then sync again"):
        mirror.sync()
    folder.unlink()
    aside.rename(folder)
    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, register.sample)


def test_a_day_is_that_of_the_register_and_not_of_this_machine(tmp_path: Path) -> None:
    """Of its replies' Date in Bratislava; without one that of this machine, with a warning."""
    register = Watched(fk.sample(5))
    late = {"Date": "Tue, 30 Jun 2026 22:30:00 GMT"}  # half past midnight there

    def instead(path: str, query: str) -> Reply | None:
        reply = register.sample._answer("GET", path, query)
        kept = {n: v for n, v in reply.headers.items() if n != "Date"}
        return reply._replace(headers={**kept, **late})

    register.instead = instead
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    assert points(mirror.path)[0]["day"] == points(mirror.path)[0]["started"] == "2026-07-01"
    assert str(mirror.snapshot().select("seen").collect()["seen"][0]) == "2026-07-01"
    assert timedelta(days=1) == mirror.today - register.today
    late.clear()
    again = Watched(register.sample)
    again.instead = instead
    with pytest.warns(RegisterWarning, match="replies have no Date") as told:
        fk.Mirror(mirror.path, register=again).sync()
    assert len(told) == 1


def test_a_file_that_goes_before_the_lists_are_walked_adds_no_point(
    copy: Path, later: Watched
) -> None:
    """A point says that the lists are done: a day without them would be answered by it."""
    files = newest_run(copy)["files"]["units"]
    one, *others = [
        copy / "data" / f"{file['name']}.parquet" for file in files if not file["names"]
    ]
    before = len(points(copy))
    one.unlink()

    with at_writes("runs", 1, "after", others[0].unlink):  # the run that notes the first loss
        fk.Mirror(copy, register=later).sync()

    assert not others[0].exists()
    assert len(points(copy)) == before + 2  # after the lists, and at the end
    assert_contents_in_step(fk.Mirror(copy), later)
