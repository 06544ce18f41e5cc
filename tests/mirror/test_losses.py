"""What is lost: no answer needs it in silence, and the next sync makes it good."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError, RegisterWarning, UsageError
from finstat_kit.protocol.wire import Reply
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.harm import FAULTS, delete
from tests.support.mirrors import (
    LISTS,
    appended,
    assert_contents_in_step,
    assert_in_step,
    data,
    newest_run,
    synced,
)
from tests.support.registers import Watched
from tests.support.syncs import RECORD, day_of_filings, fail_at, next_day, well

pytestmark = pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")


def with_a_form_of_its_own() -> Watched:
    """Return a register with a report on a form that the package has not."""
    register = Watched(fk.sample(12))
    living = register.sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
    register.sample.file(living.head(1), year=2024, case="unknown_template")
    return register


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a mirror with contents of four days, of which two were merged."""
    register = with_a_form_of_its_own()
    path = synced(tmp_path_factory.mktemp("old") / "ruz", register, contents=True)
    for number in range(3):
        day_of_filings(register)
        fk.Mirror(path, register=register).sync()
        if number == 1:
            fk.Mirror(path).compact(keep_hours=0)
    return path


@pytest.fixture
def later() -> Watched:
    """Give the register of that mirror, a day later."""
    return a_day_later()


def a_day_later() -> Watched:
    register = with_a_form_of_its_own()
    for _ in range(3):
        day_of_filings(register)
    next_day(register)
    return register


@pytest.fixture
def copy(old: Path, tmp_path: Path) -> Path:
    """Give a copy of the folder, to be harmed."""
    return Path(shutil.copytree(old, tmp_path / "ruz"))


@pytest.fixture(scope="module")
def usual(old: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Give the number of requests of a sync of it, where nothing is lost."""
    register = a_day_later()
    path = shutil.copytree(old, tmp_path_factory.mktemp("usual") / "ruz")
    before = register.stats.requests
    fk.Mirror(path, register=register).sync()
    return register.stats.requests - before


@pytest.fixture(scope="module")
def before(old: Path) -> list[str]:
    """Give what is answered where nothing is lost."""
    return [str(call()) for _, call in answers(fk.Mirror(old), a_day_later())]


def assert_whole(mirror: fk.Mirror, register: Watched) -> None:
    """Compare all that a mirror holds with its register, and every file with its name."""
    assert_in_step(mirror, register.sample)
    assert_contents_in_step(mirror, register.sample)
    assert mirror.holdings()["lacking"].sum() == 0
    assert set(mirror.verify()["meaning"]) == {""}


def newest_units(register: Watched) -> list[int]:
    """Return the units that the window of the next sync names too: those of the newest change."""
    days = register.sample.units.scan().select(pl.col("datumPoslednejUpravy").max()).collect()
    since = min(days.item(), register.today) - timedelta(days=1)
    return register.sample.units.ids(changed_since=since)["id"].to_list()


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
    yield "reports cells templates", lambda: mirror.cells().collect().sort(pl.all())
    yield (
        "units statements reports cells templates",
        lambda: mirror.financials().select("sales").collect(),
    )


@pytest.mark.parametrize(
    ("log", "harm"),
    [("cells", "flipped in its last byte"),
     *slow(("units", "deleted"), ("codelists", "exchanged"), ("reports", "halved"),
           ("statements", "emptied"))],
)  # fmt: skip
def test_a_lost_file_is_made_good_by_the_next_sync(
    copy: Path, later: Watched, usual: int, before: list[str], log: str, harm: str, matrix: Told
) -> None:
    """Until then whatever does not need it is answered; no more is requested than was in it."""
    file = max(newest_run(copy)["files"][log], key=lambda file: file["rows"])
    FAULTS[harm](copy / "data" / f"{file['name']}.parquet")
    mirror = fk.Mirror(copy, register=later)
    refused = 0
    for (logs, call), answer in zip(answers(mirror, later), before, strict=True):
        if log in logs.split():
            with pytest.raises(MirrorError, match=r"; the next sync\(\) fetches what it held"):
                call()
            refused += 1
        else:
            assert str(call()) == answer
    assert refused
    already = later.stats.requests
    with pytest.warns(
        RegisterWarning, match=rf"has lost data/.*rows of {log}; this sync .*requests? "
    ):
        mirror.sync()
    extra = later.stats.requests - already - usual

    assert_whole(mirror, later)
    # Lists are walked from their start, and a day's changes may be requested once more.
    most = {"codelists": 0, "cells": pl.scan_parquet(data(copy, "reports")).collect().height}
    assert extra <= most.get(log, file["rows"] + 8)
    matrix(f"{log} {harm}", "made good by one sync", f"{file['rows']} rows, {extra} requests more")


@pytest.mark.slow
def test_a_loss_is_named_once(copy: Path, later: Watched) -> None:
    """By the sync that makes it good."""
    data(copy, "reports")[0].unlink()
    fk.Mirror(copy, register=later).sync()
    next_day(later)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fk.Mirror(copy, register=later).sync()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["units", *slow("reports", "cells", "codelists")])
def test_a_day_that_needs_what_was_lost_is_refused(copy: Path, later: Watched, name: str) -> None:
    """Days before stay, and all that does not need it; later ones are whole."""
    mirror = fk.Mirror(copy, register=later)
    first, last = later.today - timedelta(days=4), later.today - timedelta(days=1)
    units = mirror.as_of(first).units.ids()
    of_last = data(copy, name)[-1]
    lost = newest_run(copy)["files"][name][-1]["first"]
    needed = [p["day"] for p in newest_run(copy)["history"] if p["reached"].get(name, 0) >= lost]
    of_last.unlink()
    mirror.sync()

    assert_whole(mirror, later)
    assert mirror.as_of(later.today).units.count() == later.sample.units.count()
    if str(first) not in needed:
        assert_frame_equal(mirror.as_of(first).units.ids(), units)
    if name == "units":
        for refused in (partial(mirror.as_of, last), partial(mirror.snapshot, as_of=last)):
            with pytest.raises(UsageError, match=rf"as_of='{last}': files .* give '{later.today}'"):
                refused()
        return
    frozen = mirror.as_of(last)
    assert frozen.units.count()
    calls: dict[str, Callable[[], object]] = {
        "codelists": frozen.regions,
        "cells": lambda: frozen.cells(),
        "reports": lambda: frozen.reports.ids(),
    }
    with pytest.raises(MirrorError, match=rf"rows of {name} that counted on .* were lost"):
        calls[name]()


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
        with pytest.raises(UsageError, match=r"were lost, and made good on .* or a later day"):
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
    data(mirror.path, "units")[-1].unlink()
    with pytest.raises(fk.RegisterError, match=r"missing by sync\(max_missing=1\)"):
        mirror.sync()
    mirror.sync(max_missing=1)

    assert mirror.snapshot().filter(gone="missing").collect()["id"].to_list() == [ids[3]]
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_what_was_answered_before_is_fetched_again_only_if_it_changed(
    mirror: fk.Mirror, register: Watched
) -> None:
    """An older answer in another file is current unless a list named the id since then."""
    ids = register.sample.units.ids()["id"]
    ids = ids.filter(~ids.is_in(newest_units(register)))
    next_day(register, 10)
    register.sample.touch(ids[:5])
    mirror.sync()
    next_day(register, 10)
    register.sample.touch(ids[5:7])
    mirror.sync()
    next_day(register, 10)
    data(mirror.path, "units")[1].unlink()
    register.asked.clear()
    mirror.sync()

    assert sorted({*register.records()} & {*ids[:50]}) == ids[:7].to_list()
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_what_other_files_answered_in_the_same_walk_is_not_requested_again(tmp_path: Path) -> None:
    """A walk names each id once."""
    register = Watched(fk.sample(60), page_size=20)
    path = synced(tmp_path / "ruz", register)
    files = data(path, "units")
    assert len(files) == 3
    lost = pl.read_parquet(files[1])["id"].to_list()
    files[1].unlink()
    register.asked.clear()
    fk.Mirror(path, register=register).sync()

    assert {*lost} <= {*register.records()} <= {*lost, *newest_units(register)}
    assert_in_step(fk.Mirror(path), register.sample)


@pytest.mark.slow
@pytest.mark.parametrize(("log", "number"), [("units", 3), *slow(("reports", 8))])
def test_a_cure_that_is_cut_off_goes_on(copy: Path, later: Watched, log: str, number: int) -> None:
    """And so does one that meets a second loss."""
    FAULTS["flipped in a bit"](data(copy, log)[0])
    left = iter(range(number))

    def instead(path: str, query: str) -> Reply | None:
        if "?id=" in f"{path}?{query}" and next(left, None) is None:
            raise KeyboardInterrupt
        return None

    later.instead = instead
    with pytest.raises(Interrupted):
        fk.Mirror(copy, register=later).sync()
    later.instead = lambda path, query: None
    for files in (appended(copy) or {}).values():
        for file in files[:1]:
            delete(copy / "data" / f"{file['name']}.parquet")
    mirror = fk.Mirror(copy, register=later)
    mirror.sync()

    assert_whole(mirror, later)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["statements", *slow("units")])
def test_a_reader_beside_a_cure_reads_what_counts_then(
    copy: Path, later: Watched, name: str
) -> None:
    """An object that had read before reads the files of the cure."""
    reader = fk.Mirror(copy)
    assert reader.units.count()
    for file in data(copy, name):
        file.unlink()
    fk.Mirror(copy, register=later).sync()

    assert_whole(reader, later)


# Runs


def harm_runs(copy: Path, what: str) -> None:
    for file in sorted(copy.glob("runs/*.json"))[-1 if what == "the newest" else 0 :]:
        FAULTS["flipped in a bit"](file)
    if what == "all, and who wrote":
        shutil.rmtree(copy / "runs")
        (copy / "writer.json").unlink()


@pytest.mark.parametrize(
    ("what", "is_merged"),
    [
        ("all, and who wrote", False),
        *slow(("the newest", False), ("the newest", True)),
    ],
)
def test_runs_are_restored_from_the_data_files(
    copy: Path, later: Watched, usual: int, what: str, is_merged: bool, matrix: Told
) -> None:
    """Numbers go on, nothing is requested again, and days that are not known are refused."""
    if is_merged:
        fk.Mirror(copy).compact()
    number = max(int(file.stem) for file in copy.glob("runs/*.json"))
    days = [later.today - timedelta(days=n) for n in (4, 3, 2, 1)]
    counts = [fk.Mirror(copy).as_of(day).units.count() for day in days]
    harm_runs(copy, what)
    fresh = fk.Mirror(copy, register=later)
    if what != "the newest":
        assert "damaged" in repr(fresh)
        for call in (fresh.units.count, fresh.snapshot, fresh.regions):
            with pytest.raises(MirrorError, match=r"runs of .* are lost.*next sync\(\) restores"):
                call()
        assert fresh.verify()["damaged"].sum() > 0
    already = later.stats.requests
    fresh.sync()
    extra = later.stats.requests - already - usual

    assert_whole(fresh, later)
    assert max(int(file.stem) for file in copy.glob("runs/*.json")) > number
    seen = []
    for day, count in zip(days, counts, strict=True):
        try:
            assert fresh.as_of(day).units.count() == count
            seen.append("whole")
        except UsageError:
            seen.append("refused")
    assert extra <= (0 if what != "the newest" else 20)
    if what == "the newest":
        assert seen[:3] == ["whole"] * 3
        assert seen[3] == ("whole" if is_merged else "refused")
    matrix(f"runs: {what} {is_merged}", "restored", f"{extra} requests more, days {seen}")


@pytest.mark.slow
def test_a_first_run_is_restored_too(tmp_path: Path) -> None:
    """Its files know of no run: all lists are walked, and no record is requested."""
    register = Watched(fk.sample(60))
    path = synced(tmp_path / "ruz", register)
    shutil.rmtree(path / "runs")
    register.asked.clear()
    fk.Mirror(path, register=register).sync()

    assert register.records() == newest_units(register)
    assert_in_step(fk.Mirror(path), register.sample)


@pytest.mark.slow
@pytest.mark.parametrize("log", ["reports", *slow("cells")])
def test_a_data_file_that_is_lost_with_all_runs_is_made_good(
    copy: Path, later: Watched, log: str
) -> None:
    """What no file has is found by the numbers of the versions."""
    FAULTS["flipped in a bit"](data(copy, log)[0])
    shutil.rmtree(copy / "runs")
    mirror = fk.Mirror(copy, register=later)
    mirror.sync()

    assert_whole(mirror, later)


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["emptied", *slow("deleted")])
def test_what_was_appended_is_restored_from_the_data_files(tmp_path: Path, harm: str) -> None:
    """A first sync was cut off, and its list of files is damaged: nothing is requested again."""
    register = Watched(fk.sample(60), page_size=20)
    fail_at(register, 51, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        fk.Mirror(tmp_path / "ruz", register=register).sync()
    answered = set(register.records()[:-1])
    FAULTS[harm](tmp_path / "ruz" / "open.json")
    well(register)
    register.asked.clear()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()

    assert answered & {*register.records()} <= {*newest_units(register)}
    assert_in_step(mirror, register.sample)


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


@pytest.mark.slow
def test_reports_without_a_filled_cell_miss_none(tmp_path: Path) -> None:
    """Where nothing was filled in there are no cells, and nothing is lost."""
    register = Watched(fk.sample(4))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)

    def instead(path: str, query: str) -> Reply | None:
        if path != "/api/uctovny-vykaz":
            return None
        reply = register.sample._answer("GET", path, query)
        record = json.loads(reply.body)
        for table in record.get("obsah", {}).get("tabulky", ()):
            table["data"] = [""] * len(table["data"])
        return reply._replace(body=json.dumps(record).encode())

    register.instead = instead
    mirror.sync()
    assert mirror.files("cells") == []
    for full in (False, True):
        report = fk.Mirror(mirror.path, register=register).sync(full=full)
        assert report["changed"].sum() == 0
