"""What is lost: named, answered by nothing that needs it, made good by a full sync."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError, UsageError
from finstat_kit.protocol.wire import Reply
from tests.support.examples import slow
from tests.support.harm import delete, flipped
from tests.support.kills import at_writes
from tests.support.mirrors import (
    LISTS,
    appended,
    assert_contents_in_step,
    assert_in_step,
    data,
    newest_run,
    windows,
)
from tests.support.registers import Watched
from tests.support.syncs import RECORD, Crash, next_day


@pytest.mark.slow
def test_what_was_given_up_is_written_down_before_the_next(tmp_path: Path) -> None:
    """Three records that cannot be had, others between them: no outage, and none is forgotten."""
    register = Watched(fk.sample(60))
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    ids = register.sample.units.ids()["id"].to_list()
    bad = {f"id={ids[place]}" for place in (10, 20, 30)}
    stop = {f"id={ids[40]}"}

    def instead(path: str, query: str) -> Reply | None:
        if query in stop:
            raise KeyboardInterrupt
        return Reply(500, {}, b"") if path == RECORD and query in bad else None

    register.instead = instead
    with pytest.raises(Interrupted):
        mirror.sync()
    files = [mirror.path / "data" / f"{f['name']}.parquet" for f in appended(mirror.path)["units"]]
    unread = pl.scan_parquet(files).filter(pl.col("problem").is_not_null())
    assert unread.collect()["id"].to_list() == [ids[10], ids[20], ids[30]]
    stop.clear()
    report = mirror.sync()

    assert report["unreadable"][0] == 3
    assert mirror.unreadable()["id"].to_list() == [ids[10], ids[20], ids[30]]
    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, register.sample)


def _interrupt(path: str, query: str) -> Reply | None:
    if path == RECORD:
        raise KeyboardInterrupt
    return None


@pytest.mark.parametrize("harm", [delete, flipped(0.4)])
def test_what_needs_none_of_a_loss_is_answered(
    mirror: fk.Mirror, register: Watched, harm: Callable[[Path], None]
) -> None:
    """Also while it is made good; what needs it is an error with the cure, and so is a sync."""
    ids, regions = register.sample.units.ids(), mirror.regions()
    units = mirror.units.get(ids)
    harm(data(mirror.path, "statements")[0])
    again = fk.Mirror(mirror.path, register=register)

    def look() -> None:
        for call in (again.statements.ids, lambda: again.snapshot("statements")):
            with pytest.raises(MirrorError, match=r"is (lost|not as it was written); sync\(full="):
                call()
        assert_frame_equal(again.units.get(ids), units)
        assert_frame_equal(again.regions(), regions)
        assert again.snapshot().collect().height == units.height
        assert again.changes().is_empty()
        assert again.today == register.today

    look()
    with pytest.raises(MirrorError, match=r"sync\(full=True\)"):
        again.sync()
    register.instead = _interrupt
    with pytest.raises(Interrupted):
        again.sync(full=True)
    look()
    register.instead = lambda path, query: None
    again.sync()  # goes on with the full one

    assert_in_step(again, register.sample)
    assert windows(mirror.path)[-1][0].year == 2000
    assert set(again.verify()["meaning"]) == {""}


def test_days_before_a_loss_stay(mirror: fk.Mirror, register: Watched) -> None:
    """Those that counted its rows are refused, and what changed then is not known."""
    first, before = register.today, mirror.snapshot().collect().sort("id")
    register.sample.set_today(first + timedelta(days=3))
    touched = register.sample.units.ids(limit=20)
    register.sample.touch(touched)
    mirror.sync()
    lost = register.today
    data(mirror.path, "units")[-1].unlink()
    next_day(register)
    mirror.sync(full=True)

    assert_in_step(mirror, register.sample)
    assert_frame_equal(mirror.snapshot(as_of=first).collect().sort("id"), before)
    assert mirror.as_of(lost).today == first
    assert set(mirror.changes()["id"]) == set(touched["id"])  # seen on the day of the cure
    assert newest_run(mirror.path)["lost"][0]["log"] == "units"


def test_a_loss_of_all_days_begins_history_anew(mirror: fk.Mirror, register: Watched) -> None:
    """The first day is that of the cure; nothing is called new that was there before."""
    next_day(register)
    mirror.sync(full=True)
    data(mirror.path, "units")[0].unlink()
    next_day(register)
    mirror.sync(full=True)

    assert_in_step(mirror, register.sample)
    with pytest.raises(UsageError, match=f"{register.today}, or files of it were lost"):
        mirror.as_of(register.today - timedelta(days=1))
    assert mirror.changes().is_empty()
    next_day(register)
    new = register.sample.publish(1)["id"].to_list()
    mirror.sync()
    assert mirror.changes().select("id", "field").rows() == [(id_, "id") for id_ in new]


def test_a_loss_of_what_no_run_lists_yet_is_made_good_too(tmp_path: Path) -> None:
    """A first sync was cut off, and a file of it is damaged."""
    register = Watched(fk.sample(60), page_size=20)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    stop = iter(range(10**6))

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and next(stop) == 50:
            raise KeyboardInterrupt
        return None

    register.instead = instead
    with pytest.raises(Interrupted):
        mirror.sync()
    register.instead = lambda path, query: None
    flipped(0.5)(mirror.path / "data" / f"{appended(mirror.path)['units'][1]['name']}.parquet")
    again = fk.Mirror(mirror.path, register=register)
    with pytest.raises(MirrorError, match=r"is not as it was written; sync\(full=True\)"):
        again.sync()
    again.sync(full=True)

    assert_in_step(again, register.sample)
    assert set(again.verify()["meaning"]) == {""}


@pytest.mark.parametrize("name", ["statements", *slow("units", "codelists")])
def test_a_reader_beside_a_cure_reads_what_counts_then(
    mirror: fk.Mirror, register: Watched, name: str
) -> None:
    """An object that had read before reads the files of the cure."""
    for _ in range(3):
        next_day(register)
        register.sample.publish(2)
        mirror.sync()
    reader = fk.Mirror(mirror.path)
    assert_in_step(reader, register.sample)
    for file in data(mirror.path, name):
        file.unlink()
    fk.Mirror(mirror.path, register=register).sync(full=True)
    register.sample.publish(2)
    fk.Mirror(mirror.path, register=register).sync()

    assert_in_step(reader, register.sample)
    assert_in_step(mirror, register.sample)


@pytest.mark.parametrize("kind", ["runs/*.json", "data/*.parquet"])
def test_a_file_that_the_system_does_not_read_is_not_taken_for_lost(
    mirror: fk.Mirror, register: Watched, kind: str
) -> None:
    """Neither a sync nor its cure drops it: it is as it was once the system reads it again."""
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
    register.sample.set_today(register.today + timedelta(days=1))
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


def _full_of_cells(path: Path) -> tuple[fk.Mirror, Watched]:
    register = Watched(fk.sample(4))
    return fk.Mirror(path / "ruz", contents=True, register=register), register


@pytest.mark.parametrize("is_cut", [False, True])
def test_reports_whose_cells_are_lost_are_fetched_again(tmp_path: Path, *, is_cut: bool) -> None:
    """Their records are equal to those held, and are stored again all the same."""
    mirror, register = _full_of_cells(tmp_path)
    mirror.sync()
    next_day(register)
    register.sample.correct(register.sample.statements.ids(limit=5))
    mirror.sync()
    data(mirror.path, "cells")[0].unlink()
    assert mirror.statements.get(mirror.statements.ids()).height
    with pytest.raises(MirrorError, match=r"is lost; sync\(full=True\)"):
        mirror.cells()
    if is_cut:
        register.instead = _interrupt
        with pytest.raises(Interrupted):
            mirror.sync(full=True)
        register.instead = lambda path, query: None
    mirror.sync(full=not is_cut)

    assert_contents_in_step(mirror, register.sample)
    assert set(mirror.verify()["meaning"]) == {""}


@pytest.mark.parametrize("name", ["statements", *slow("units", "cells")])
def test_a_second_loss_while_one_is_made_good(tmp_path: Path, name: str) -> None:
    """Both are made good, and former days are whole or refused."""
    register = Watched(fk.sample(6), page_size=5)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    first, ids = register.today, [getattr(mirror, each).ids() for each in LISTS]
    for full in (True, False):
        next_day(register)
        register.sample.touch(register.sample.units.ids(limit=3))
        mirror.sync(full=full)

    def end() -> None:
        raise Crash

    flipped(0.5)(data(mirror.path, "units")[-1])
    with contextlib.suppress(Crash), at_writes("open.json", 2, "after", end):
        fk.Mirror(mirror.path, register=register).sync(full=True)
    delete(data(mirror.path, name)[-1])
    with contextlib.suppress(Crash), at_writes("open.json", 2, "after", end):
        fk.Mirror(mirror.path, register=register).sync(full=True)
    healed = fk.Mirror(mirror.path, register=register)
    healed.sync()

    assert_in_step(healed, register.sample)
    assert_contents_in_step(healed, register.sample)
    assert healed.holdings()["lacking"].sum() == 0
    assert healed.verify()["damaged"].sum() == 0
    try:
        frozen = healed.as_of(first)
    except UsageError:
        assert name == "cells"  # of the first day alone
    else:
        for each, ids_of_day in zip(LISTS, ids, strict=True):
            assert_frame_equal(getattr(frozen, each).ids(), ids_of_day)


def test_reports_without_a_filled_cell_miss_none(tmp_path: Path) -> None:
    """Where nothing was filled in there are no cells, and nothing is lost."""
    mirror, register = _full_of_cells(tmp_path)

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
