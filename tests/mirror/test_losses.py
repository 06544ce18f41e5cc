"""What crashes and losses leave: found, named, and made good by the next sync."""

from __future__ import annotations

import os
import shutil
import signal
from datetime import timedelta
from pathlib import Path

import deltalake
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError
from finstat_kit.mirror.syncing import LISTS
from finstat_kit.protocol.wire import Reply
from tests.conftest import Told
from tests.mirror.test_crashes import KILLED, run
from tests.support.mirrors import assert_in_step, register_on
from tests.support.registers import Watched
from tests.support.small_mirror import RECORD, looked_at, two_days_more


def a_register() -> Watched:
    return Watched(fk.sample(60), page_size=1_000)


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
    unread = looked_at(mirror).scan().filter(pl.col("problem").is_not_null())
    assert unread.collect()["id"].to_list() == [ids[10], ids[20], ids[30]]
    stop.clear()
    report = mirror.sync()

    assert report["unreadable"][0] == 3
    assert mirror.unreadable()["id"].to_list() == [ids[10], ids[20], ids[30]]
    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, register.sample)


def killed(path: Path) -> Watched:
    """Leave a first sync that was killed before its files had checksums; return its register."""
    assert run(KILLED, path, 1, "units", 3, "after") == -signal.SIGKILL
    assert list(path.glob("units/*.parquet"))
    assert not list(path.glob("units/_seals.txt"))
    return register_on(1)


@pytest.mark.slow
def test_what_a_crash_left_is_sealed_first(tmp_path: Path) -> None:
    """What is damaged after that is found, also where the next sync did not come far."""
    register = killed(tmp_path)
    files = sorted(tmp_path.glob("units/*.parquet"))
    register.instead = _interrupt
    mirror = fk.Mirror(tmp_path, register=register)
    with pytest.raises(Interrupted):
        mirror.sync()
    file = files[0]
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    bad = mirror.verify().filter(pl.col("file") == f"units/{file.name}")

    assert "it is not as it was written" in bad["meaning"][0]
    with pytest.raises(MirrorError, match=f"{file} is not as it was written; remove {file}:"):
        mirror.sync()


def _interrupt(path: str, query: str) -> Reply | None:
    if path == RECORD:
        raise KeyboardInterrupt
    return None


@pytest.mark.slow
def test_what_a_crash_left_is_looked_at_before(tmp_path: Path) -> None:
    """A file without a checksum gets one only where each row is as it was written."""
    register = killed(tmp_path)
    mirror = fk.Mirror(tmp_path, register=register)
    file = min(tmp_path.glob("units/*.parquet"))
    rows = pl.read_parquet(file, glob=False)
    rows.with_columns(kraj=pl.lit("none such")).write_parquet(file)
    words = f"{rows.height} rows of {file} are not as they were written; remove {file}: sync"
    with pytest.raises(MirrorError, match=words):
        mirror.sync()
    file.write_bytes(b"PAR1 and what follows")
    with pytest.raises(MirrorError, match=rf"(?s){file} cannot be read.*remove {file}: sync"):
        mirror.sync()
    file.unlink()
    with pytest.raises(MirrorError, match=rf"{file} is lost: sync\(full=True\)"):
        mirror.sync()
    mirror.sync(full=True)

    assert_in_step(mirror, register.sample)


def test_nothing_is_read_while_a_loss_is_made_good(mirror: fk.Mirror, register: Watched) -> None:
    """Until everything was fetched again there is no answer; history begins anew with it."""
    first = register.today
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
    with pytest.raises(MirrorError, match=r"is lost: sync\(full=True\)"):
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
    assert mirror.changes().height == 0
    with pytest.raises(fk.UsageError, match="first sync of this mirror was completed on"):
        mirror.snapshot(as_of=first)


def test_a_flip_in_the_seals_is_told_from_one_in_the_data(
    mirror: fk.Mirror, register: Watched, matrix: Told
) -> None:
    """The data stay: it is the seals that are to be removed."""
    seals = mirror.path / "units" / "_seals.txt"
    whole = seals.read_bytes()
    for place in range(0, len(whole), 37):
        seals.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        bad = mirror.verify().filter(pl.col("meaning") != "")
        assert bad["file"].to_list() == ["units"]
        assert f"remove {seals}: the next sync()" in bad["meaning"][0]
    for call in (mirror.sync, mirror.snapshot, lambda: mirror.sync(full=True)):
        with pytest.raises(MirrorError, match=f"{seals} is damaged; the data may be intact"):
            call()
    seals.unlink()
    assert mirror.snapshot().collect().height == 60
    mirror.sync()
    assert seals.read_bytes() == whole
    matrix("a flip in the checksums", "MirrorError; only they are to be removed", "MirrorError")


def test_other_engines_pass_over_the_seals(mirror: fk.Mirror) -> None:
    """They lie beside the data, and Delta Lake does not sweep them away."""
    mirror.compact(keep_hours=0)
    table = deltalake.DeltaTable(mirror.path / "units")
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    assert (mirror.path / "units" / "_seals.txt").exists()
    assert len(table.file_uris()) == len(list((mirror.path / "units").glob("*.parquet"))) == 1


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
    """What comes behind the last look and cannot be read is told, with the cure."""
    reader = fk.Mirror(mirror.path)
    reader.snapshot()
    log = mirror.path / "units" / "_delta_log"
    newest = max(log.glob("*.json"))
    (log / f"{int(newest.stem) + 1:020}.json").write_text("{garbage")

    for each in (reader, fk.Mirror(mirror.path)):
        with pytest.raises(MirrorError, match=r"lost or damaged: (.|\n)*remove .*/units: sync"):
            each.snapshot()


def test_a_table_of_format_1_that_vanishes_is_noticed(mirror: fk.Mirror) -> None:
    """How far it was is not written down; that it was there is known to who has read it."""
    runs = mirror._held.runs
    rows = (
        runs.scan().collect().with_columns(pl.lit(None, pl.Int64).alias(f"rows_{n}") for n in LISTS)
    )
    shutil.rmtree(runs.path)
    fresh = fk.Mirror(mirror.path)
    fresh._held.runs.append(rows)
    reader = fk.Mirror(mirror.path)
    assert reader.snapshot().collect().height == 60
    shutil.rmtree(mirror.path / "units")

    with pytest.raises(MirrorError, match="units is lost"):
        reader.snapshot()


@pytest.mark.parametrize("also", [(), ("mirror.json",), ("mirror.json", *LISTS[1:])])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_lost_with_the_runs_is_fetched_again(
    mirror: fk.Mirror, register: Watched, name: str, also: tuple[str, ...]
) -> None:
    """A run that has ended is not taken for an open one: all is fetched again."""
    two_days_more(mirror, register)
    for lost in {"runs", name, *also}:
        path = mirror.path / lost
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    again = fk.Mirror(mirror.path, register=register)
    report = again.sync()

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
    with pytest.raises(MirrorError, match=r"is lost: sync\(full=True\)"):
        again.sync()
    again.sync(full=True)

    assert_in_step(again, register.sample)
