"""What crashes, losses and a failing disk leave: found, named, made good by the next sync."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError, UsageError
from finstat_kit.protocol.wire import Reply
from tests.support.examples import slow
from tests.support.harm import flipped
from tests.support.kills import KILLED, killed_after, run
from tests.support.mirrors import (
    LISTS,
    assert_contents_in_step,
    assert_in_step,
    looked_at,
    register_on,
)
from tests.support.registers import Watched
from tests.support.syncs import RECORD, next_day, two_days_more


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
    rows = mirror._folder.scan(looked_at(mirror))
    unread = rows.filter(pl.col("problem").is_not_null())
    assert unread.collect()["id"].to_list() == [ids[10], ids[20], ids[30]]
    stop.clear()
    report = mirror.sync()

    assert report["unreadable"][0] == 3
    assert mirror.unreadable()["id"].to_list() == [ids[10], ids[20], ids[30]]
    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_what_a_crash_left_is_checked_by_its_name(tmp_path: Path) -> None:
    """What is damaged after a crash is found by the next sync, and cured by a full one."""
    assert run(KILLED, tmp_path, 1, "units", 3, "after") == -signal.SIGKILL
    register = register_on(1)
    mirror = fk.Mirror(tmp_path, register=register)
    file = min(tmp_path.glob("units/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    bad = mirror.verify().filter(pl.col("file") == f"units/{file.name}")

    assert "it is not as it was written" in bad["meaning"][0]
    with pytest.raises(MirrorError, match=rf"{file} is not as it was written; sync\(full=True"):
        mirror.sync()
    file.unlink()
    with pytest.raises(MirrorError, match=rf"{file} is lost; sync\(full=True\)"):
        mirror.sync()
    mirror.sync(full=True)
    assert_in_step(mirror, register.sample)


def _interrupt(path: str, query: str) -> Reply | None:
    if path == RECORD:
        raise KeyboardInterrupt
    return None


@pytest.mark.slow
def test_nothing_is_read_while_a_loss_is_made_good(mirror: fk.Mirror, register: Watched) -> None:
    """Until everything was fetched again there is no answer; days before the loss stay."""
    first, before = register.today, mirror.snapshot().collect().sort("id")
    register.sample.set_today(first + timedelta(days=3))
    register.sample.touch(register.sample.units.ids(limit=20))
    mirror.sync()
    assert mirror.changes().height >= 20
    max((mirror.path / "units").glob("*.parquet"), key=os.path.getmtime).unlink()
    stop = iter(range(10**6))

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and next(stop) == 50:
            raise KeyboardInterrupt
        return None

    register.instead = instead
    with pytest.raises(MirrorError, match=r"is lost; sync\(full=True\)"):
        mirror.sync()
    with pytest.raises(Interrupted):
        mirror.sync(full=True)
    for call in (mirror.snapshot, mirror.changes, mirror.statements.count, lambda: mirror.today):
        with pytest.raises(MirrorError, match="no complete sync yet"):
            call()
    report = mirror.sync()  # goes on with the full one

    assert_in_step(mirror, register.sample)
    assert report["window"][0].year == 2000
    assert set(mirror.verify()["meaning"]) == {""}
    assert mirror.changes().height == 20  # as they are now
    assert_frame_equal(mirror.snapshot(as_of=first).collect().sort("id"), before)


@pytest.mark.slow
def test_a_loss_is_made_good_by_a_full_sync_alone(mirror: fk.Mirror, register: Watched) -> None:
    """Also where the one that began it did not come to its first record: all marks are set anew."""
    gone = int(register.sample.units.ids()["id"][7])
    register.sample.vanish(gone)
    mirror.sync(full=True, max_missing=1)
    max((mirror.path / "units").glob("*.parquet"), key=os.path.getmtime).unlink()
    register.instead = _interrupt
    with pytest.raises(Interrupted):
        mirror.sync(full=True)
    register.instead = lambda path, query: None
    mirror.sync(max_missing=1)

    assert_in_step(mirror, register.sample)
    missing = mirror.snapshot().filter(pl.col("gone") == "missing").collect()
    assert missing["id"].to_list() == [gone]


@pytest.mark.parametrize("name", ["statements", *slow("reports", "annual_reports", "codelists")])
def test_a_day_is_refused_without_what_a_full_sync_did_not_write_again(
    mirror: fk.Mirror, register: Watched, name: str
) -> None:
    """Ids listed alone, and codelists: their oldest rows count on all days after."""
    next_day(register)
    mirror.sync(full=True)
    day = register.today
    min((mirror.path / name).glob("*.parquet"), key=os.path.getmtime).unlink()
    next_day(register)
    mirror.sync(full=True)

    assert_in_step(mirror, register.sample)
    with pytest.raises(UsageError, match=f"completed on {register.today}"):
        mirror.as_of(day)


def test_a_day_is_refused_without_the_mark_of_a_missing_unit(
    mirror: fk.Mirror, register: Watched
) -> None:
    """What was found missing before that day's full sync is not taken for listed."""
    first, before = register.today, mirror.units.ids()
    next_day(register)
    register.sample.vanish(before["id"][:1])
    mirror.sync(full=True, max_missing=1)
    marks = max((mirror.path / "units").glob("*.parquet"), key=os.path.getmtime)
    assert pl.read_parquet(marks)["kind"].to_list() == ["missing"]
    next_day(register)
    mirror.sync(full=True)
    day = register.today
    assert mirror.as_of(day).units.count() == 59
    marks.unlink()
    next_day(register)
    mirror.sync(full=True, max_missing=1)

    assert_in_step(mirror, register.sample)
    then = mirror.as_of(day)
    assert then.today == first  # the last day that can be read by then
    assert_frame_equal(then.units.ids(), before)


def test_a_day_is_refused_without_the_record_before_an_unreadable_one(
    mirror: fk.Mirror, register: Watched
) -> None:
    """What is shown until a record can be read again is not in the rows of a full sync."""
    next_day(register)
    id_ = int(register.sample.units.ids()["id"][3])
    register.instead = lambda path, query: (
        Reply(404, {}, b"") if (path, query) == (RECORD, f"id={id_}") else None
    )
    mirror.sync(full=True)
    day = register.today
    assert id_ in mirror.as_of(day).units.get(id_)["id"]
    min((mirror.path / "units").glob("*.parquet"), key=os.path.getmtime).unlink()
    register.instead = lambda path, query: None
    next_day(register)
    mirror.sync(full=True)

    assert_in_step(mirror, register.sample)
    with pytest.raises(UsageError, match=f"completed on {register.today}"):
        mirror.as_of(day)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["units", "statements", "runs"])
def test_a_reader_beside_a_cure_reads_the_new_table(
    mirror: fk.Mirror, register: Watched, name: str
) -> None:
    """A table that was removed and fetched anew is opened anew, by an object that had read it."""
    for _ in range(3):
        register.sample.set_today(register.today + timedelta(days=1))
        register.sample.publish(2)
        register.sample.touch(register.sample.units.ids(limit=3))
        mirror.sync()
    reader = fk.Mirror(mirror.path)
    assert_in_step(reader, register.sample)
    shutil.rmtree(mirror.path / name)
    fk.Mirror(mirror.path, register=register).sync(full=True)
    register.sample.publish(2)
    register.sample.touch(register.sample.units.ids(limit=3))
    fk.Mirror(mirror.path, register=register).sync()

    assert_in_step(reader, register.sample)
    assert_in_step(mirror, register.sample)


def test_a_commit_that_is_garbage_is_named_with_the_cure(mirror: fk.Mirror) -> None:
    """What cannot be read is an error with the cure; what was read before is answered."""
    reader = fk.Mirror(mirror.path)
    reader.snapshot()
    log = mirror.path / "units" / "_delta_log"
    newest = max(log.glob("*.json"))
    (log / f"{int(newest.stem) + 1:020}.json").write_text("{garbage")

    assert reader.snapshot().collect().height == 60  # what it has seen
    with pytest.raises(MirrorError, match=r"lost or damaged: .*; sync\(full=True\)") as raised:
        fk.Mirror(mirror.path).snapshot()
    assert str(raised.value).isprintable()
    assert "unknown" not in str(raised.value)  # the frames of the library


@pytest.mark.parametrize("name", ["runs", "units", *slow("codelists")])
@pytest.mark.parametrize("kind", ["_delta_log/*.json", "*.parquet"])
def test_a_file_that_the_system_does_not_read_is_not_taken_for_lost(
    mirror: fk.Mirror, register: Watched, name: str, kind: str
) -> None:
    """Neither a sync nor its cure drops it: it is as it was once the system reads it again."""
    file = min((mirror.path / name).glob(kind))
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


@pytest.mark.parametrize("method", ["stat", "open", "is_dir"])
def test_a_file_that_may_not_be_read_is_named(
    mirror: fk.Mirror, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """It is a MirrorError that names the path, and what the mirror says of itself is no error."""
    whole = getattr(Path, method)

    def refused(path: Path, *args: Any, **options: Any) -> Any:
        if path.parent.parent == mirror.path or path.parent.parent.parent == mirror.path:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path, *args, **options)

    monkeypatch.setattr(Path, method, refused)
    fresh = fk.Mirror(mirror.path)
    with pytest.raises(MirrorError, match=f"{mirror.path}/.*Permission denied"):
        fresh.units.count()
    assert repr(fresh)
    assert fresh.verify()["damaged"].sum() > 0


def test_storage_that_fails_is_an_error_with_the_cure(mirror: fk.Mirror, register: Watched) -> None:
    """What Delta Lake raises when it writes is a MirrorError with the cure."""
    register.sample.set_today(register.today + timedelta(days=1))
    register.sample.touch(register.sample.units.ids())
    table = mirror.path / "units"

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and table.is_dir():
            shutil.move(table, mirror.path / "away")
            table.write_text("no folder")
        return None

    register.instead = instead
    with pytest.raises(MirrorError, match=r"cannot be (read or )?written: (.|\n)*then sync again"):
        mirror.sync()
    table.unlink()
    shutil.move(mirror.path / "away", table)
    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize("also", [LISTS[1:], *slow(((),), (("codelists",),))])
@pytest.mark.parametrize("name", [LISTS[0], *slow(*LISTS[1:])])
def test_a_list_lost_with_the_runs_is_fetched_again(
    mirror: fk.Mirror, register: Watched, name: str, also: tuple[str, ...]
) -> None:
    """A run that has ended is not taken for an open one: all is fetched again."""
    two_days_more(mirror, register)
    for lost in {"runs", name, *also}:
        shutil.rmtree(mirror.path / lost)
    again = fk.Mirror(mirror.path, register=register)
    with pytest.raises(MirrorError, match=r"runs is lost; sync\(full=True\)"):
        again.sync()
    report = again.sync(full=True)

    assert_in_step(again, register.sample)
    assert report["window"][0].year == 2000
    assert set(again.verify()["meaning"]) == {""}


@pytest.mark.parametrize("full", [True, False])
def test_a_file_lost_with_the_runs_is_fetched_again(
    tmp_path: Path, register: Watched, *, full: bool
) -> None:
    """Also where the newest run that has ended was a full one: it is not gone on with."""
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync(full=full)
    max((mirror.path / "units").glob("*.parquet"), key=os.path.getmtime).unlink()
    shutil.rmtree(mirror.path / "runs")
    again = fk.Mirror(mirror.path, register=register)
    with pytest.raises(MirrorError, match=r"is lost; sync\(full=True\)"):
        again.sync()
    again.sync(full=True)

    assert_in_step(again, register.sample)


def test_a_unit_that_is_stored_again_is_not_new(mirror: fk.Mirror, register: Watched) -> None:
    """Its content was in the file that was lost; a full sync before that had found it unchanged."""
    next_day(register)
    mirror.sync(full=True)
    min((mirror.path / "units").glob("*.parquet"), key=os.path.getmtime).unlink()
    next_day(register)
    mirror.sync(full=True)
    assert mirror.changes().is_empty()
    next_day(register)
    new = register.sample.publish(1)["id"].to_list()
    mirror.sync()

    assert mirror.changes().select("id", "field").rows() == [(id_, "id") for id_ in new]


def _is_refused_and_cured(path: Path, register: Watched, message: str) -> None:
    """See that reads, syncs and `verify` name a table, and that a full sync fetches it again."""
    again = fk.Mirror(path, register=register)
    for call in (again.snapshot, again.units.count, again.sync):
        with pytest.raises(MirrorError, match=rf"{message}.*sync\(full=True\)"):
            call()
    assert again.verify()["damaged"].sum()
    again.sync(full=True)
    assert_in_step(again, register.sample)
    assert set(again.verify()["meaning"]) == {""}


@pytest.mark.slow
def test_an_older_copy_of_a_table_is_not_taken_for_it(mirror: fk.Mirror, register: Watched) -> None:
    """It has as many rows: those that were dropped by a cure, and fetched again."""
    units, copy = mirror.path / "units", mirror.path.parent / "copy"
    shutil.copytree(units, copy)
    next_day(register)
    register.sample.touch(register.sample.units.ids(limit=20))
    file = min(units.glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-9])
    mirror.sync(full=True)
    shutil.rmtree(units)
    copy.rename(units)

    _is_refused_and_cured(mirror.path, register, "units is lost: an older copy of it is there")


@pytest.mark.slow
def test_a_table_of_another_mirror_of_the_same_register_is_not_taken_for_it(
    mirror: fk.Mirror, register: Watched
) -> None:
    """It has as many rows and versions, of another day."""
    other = fk.Mirror(mirror.path.parent / "other", register=register)
    next_day(register)
    register.sample.touch(register.sample.units.ids(limit=20))
    other.sync()
    shutil.rmtree(mirror.path / "units")
    shutil.copytree(other.path / "units", mirror.path / "units")

    _is_refused_and_cured(mirror.path, register, "units is of another register or another mirror")


def test_two_tables_in_each_others_place_are_not_taken_for_each_other(
    mirror: fk.Mirror, register: Watched
) -> None:
    """Their columns are the same where their records are not kept."""
    one, two, aside = (mirror.path / name for name in ("statements", "reports", "aside"))
    for source, target in ((one, aside), (two, one), (aside, two)):
        source.rename(target)

    _is_refused_and_cured(mirror.path, register, "statements is another table, of the name")


@pytest.mark.slow
def test_a_loss_of_cells_is_made_good_by_the_next_sync_too(tmp_path: Path) -> None:
    """Its full sync was cut off before the lists: what former runs counted is no measure."""
    mirror, register = _full_of_cells(tmp_path)
    mirror.sync()
    next_day(register)
    register.sample.correct(register.sample.statements.ids(limit=5))
    mirror.sync()
    max((mirror.path / "cells").glob("*.parquet"), key=os.path.getmtime).unlink()
    register.instead = _interrupt
    with pytest.raises(Interrupted):
        mirror.sync(full=True)
    register.instead = lambda path, query: None
    mirror.sync()

    assert_contents_in_step(mirror, register.sample)


def _full_of_cells(path: Path) -> tuple[fk.Mirror, Watched]:
    register = Watched(fk.sample(4))
    return fk.Mirror(path / "ruz", contents=True, register=register), register


@pytest.mark.slow
def test_cells_lost_with_the_runs_are_fetched_again(tmp_path: Path) -> None:
    """No run is left that says how many there were: the reports say that there were some."""
    mirror, register = _full_of_cells(tmp_path)
    mirror.sync()
    for lost in ("runs", "cells"):
        shutil.rmtree(mirror.path / lost)
    again = fk.Mirror(mirror.path, register=register)
    again.sync(full=True)

    assert_contents_in_step(again, register.sample)


def test_cells_that_no_run_counts_yet_are_missed(tmp_path: Path) -> None:
    """The process ended in the first fill, before any run counted a record."""
    mirror, register = _full_of_cells(tmp_path)

    def instead(path: str, query: str) -> Reply | None:
        if path == "/api/vyrocna-sprava":
            raise SystemExit
        return None

    register.instead = instead
    with pytest.raises(SystemExit):
        mirror.sync()
    register.instead = lambda path, query: None
    shutil.rmtree(mirror.path / "cells")
    again = fk.Mirror(mirror.path, register=register)
    with pytest.raises(MirrorError, match=r"cells of report \d+ .*; sync\(full=True"):
        again.sync()
    again.sync(full=True)

    assert_contents_in_step(again, register.sample)


def test_reports_without_a_filled_cell_miss_none(tmp_path: Path) -> None:
    """Where nothing was filled in there is no table of cells, and nothing is lost."""
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
    assert not (mirror.path / "cells").exists()
    for full in (False, True):
        report = fk.Mirror(mirror.path, register=register).sync(full=full)
        assert report["changed"].sum() == 0


@pytest.mark.parametrize("earlier_full", [True, *slow(False)])
@pytest.mark.parametrize(("name", "first"), [("statements", "units"), ("units", "statements")])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_second_loss_while_one_is_made_good(
    tmp_path: Path, name: str, first: str, *, is_deleted: bool, earlier_full: bool
) -> None:
    """Nothing counts the rows of the second any more; former days must not be empty for it."""
    register = Watched(fk.sample(10), page_size=5)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync(full=earlier_full)
    listed = {mirror.today: [getattr(mirror, name).ids() for name in LISTS]}
    for full in (earlier_full, False):
        next_day(register)
        register.sample.touch(register.sample.units.ids(limit=3))
        mirror.sync(full=full)
        listed[mirror.today] = [getattr(mirror, name).ids() for name in LISTS]
    flipped(0.5)(min((mirror.path / "cells").glob("*.parquet")))
    with killed_after("units"):
        fk.Mirror(mirror.path, register=register).sync(full=True)
    if is_deleted:
        shutil.rmtree(mirror.path / name)
    else:
        shutil.rmtree(mirror.path / name / "_delta_log")
        (mirror.path / name / "_delta_log").mkdir()
        (mirror.path / name / "_delta_log" / f"{0:020}.json").write_text("{", encoding="utf-8")
    with killed_after(first):
        fk.Mirror(mirror.path, register=register).sync(full=True)

    healed = fk.Mirror(mirror.path, register=register)
    healed.sync()

    assert_in_step(healed, register.sample)
    assert_contents_in_step(healed, register.sample)
    assert healed.holdings()["lacking"].sum() == 0
    assert healed.verify()["damaged"].sum() == 0
    register.asked.clear()
    healed.sync()
    of_units = f"{RECORD}?id="  # those of the window are requested again
    assert all(of_units in target for target in register.asked if "?id=" in target)
    for day, ids in listed.items():
        with contextlib.suppress(UsageError):  # a day that lost something may be refused
            frozen = healed.as_of(day)
            for name_of_list, ids_of_day in zip(LISTS, ids, strict=True):
                assert_frame_equal(getattr(frozen, name_of_list).ids(), ids_of_day)
