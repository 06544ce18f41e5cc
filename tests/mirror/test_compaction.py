"""Compaction: few files, nothing lost, and readers beside it go on."""

from __future__ import annotations

import io
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from tests.support.mirrors import assert_in_step, contents, data, filings_on, newest_run
from tests.support.registers import Watched
from tests.support.syncs import (
    UNITS,
    day_of_filings,
    next_day,
    register_of_syncs,
    two_days_more,
)

a_register = register_of_syncs


@pytest.mark.slow
def test_compaction_leaves_few_files_and_former_frames_readable(
    mirror: fk.Mirror, register: Watched
) -> None:
    """Files become few; who made a frame before still reads it while the files are kept."""
    for _ in range(5):
        next_day(register)
        register.sample.touch(register.sample.units.ids(limit=10))
        mirror.sync()
    before = mirror.snapshot()
    expected = mirror.snapshot().collect().sort("id")
    many = len(mirror.files("units"))

    mirror.compact()
    assert_frame_equal(before.collect().sort("id"), expected)
    mirror.compact(keep_hours=0)

    assert many > 5
    assert len(mirror.files("units")) == 1
    named = {*mirror.files("units"), *mirror.files("statements"), *mirror.files("reports"),
             *mirror.files("annual_reports"), *mirror.files("codelists")}  # fmt: skip
    assert {str(file) for file in (mirror.path / "data").iterdir()} == named
    assert_frame_equal(mirror.snapshot().collect().sort("id"), expected)
    assert_in_step(mirror, register.sample)
    assert mirror.changes().height == 50
    with pytest.raises(MirrorError, match="have gone"):
        before.select("id", "kraj").collect()


@pytest.mark.slow
def test_a_reader_during_compaction_gets_everything(mirror: fk.Mirror, register: Watched) -> None:
    """It reads on beside a writer that puts files together, and always sees the whole."""
    ended = threading.Event()

    def read() -> set[int]:
        reader, seen = fk.Mirror(mirror.path), set()
        while not ended.is_set():
            seen.add(reader.snapshot().collect()["id"].n_unique())
        return seen

    with ThreadPoolExecutor(1) as pool:
        heights = pool.submit(read)
        for _ in range(5):
            next_day(register)
            register.sample.touch(register.sample.units.ids(limit=10))
            mirror.sync()
            mirror.compact()
        ended.set()

    assert heights.result() == {UNITS}


@pytest.mark.slow
def test_a_reader_whose_files_were_merged_away_reads_on(
    mirror: fk.Mirror, register: Watched
) -> None:
    """It finds the same rows in the files that replaced those that it knew."""
    next_day(register)
    register.sample.touch(register.sample.units.ids(limit=10))
    mirror.sync()
    reader = fk.Mirror(mirror.path)
    frozen = reader.as_of(reader.today)
    before, then = reader.snapshot().collect().height, frozen.units.ids()
    for _ in range(3):
        register.sample.set_today(register.today + timedelta(days=1))
        register.sample.publish(2)
        mirror.sync()
    mirror.compact(keep_hours=0)

    assert_frame_equal(frozen.units.ids(), then)
    assert reader.snapshot().collect().height == before + 6
    assert_in_step(reader, register.sample)


@pytest.mark.slow
def test_a_reader_beside_a_merge_that_deletes_at_once_reads_the_newest_run(
    mirror: fk.Mirror, register: Watched
) -> None:
    """Whatever was deleted between its look and its read, it answers with what counts then."""
    ended = threading.Event()
    ids = mirror.units.ids()

    def read() -> int:
        reader, reads = fk.Mirror(mirror.path), 0
        while not ended.is_set():
            assert reader.units.get(ids).height == UNITS
            assert reader.units.count() == UNITS
            assert reader.unreadable().is_empty()
            reads += 1
        return reads

    with ThreadPoolExecutor(2) as pool:
        reads = [pool.submit(read) for _ in range(2)]
        try:
            for _ in range(6):
                next_day(register)
                register.sample.touch(register.sample.units.ids(limit=10))
                mirror.sync()
                mirror.compact(keep_hours=0)
        finally:
            ended.set()

    assert min(each.result() for each in reads) > 0


QUERIES: dict[str, Callable[[pl.LazyFrame], Any]] = {
    "collect": lambda rows: rows.collect(),
    "streaming": lambda rows: rows.collect(engine="streaming"),
    "filter": lambda rows: rows.filter(pl.col("id") > 0).select("id").collect(),
    "head": lambda rows: rows.head(1).collect(),
    "join": lambda rows: pl.LazyFrame({"id": [1]}).join(rows, on="id", how="left").collect(),
    "sink": lambda rows: rows.sink_csv(io.BytesIO()),
    "all": lambda rows: pl.collect_all([rows, rows.select("id")]),
}
FRAMES: dict[str, Callable[[fk.Mirror], pl.LazyFrame]] = {
    "snapshot": lambda mirror: mirror.snapshot(),
    "ids": lambda mirror: mirror.snapshot("statements"),
    "day": lambda mirror: mirror.as_of(mirror.today).snapshot(),
    "scan": lambda mirror: mirror.units.scan(),
    "scan of records": lambda mirror: mirror.statements.scan(),
    "cells": lambda mirror: mirror.cells().rename({"report_id": "id"}),
}


@pytest.fixture(scope="module")
def outdated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.LazyFrame]:
    """Give frames of a mirror that were made before their files were deleted."""
    register = filings_on(1)
    mirror = fk.Mirror(tmp_path_factory.mktemp("gone") / "ruz", contents=True, register=register)
    mirror.sync()
    day_of_filings(register)
    mirror.sync()
    frames = {name: frame(mirror) for name, frame in FRAMES.items()}
    assert all(frame.collect().height for frame in frames.values())
    mirror.compact(keep_hours=0)
    assert all(frame(mirror).collect().height for frame in FRAMES.values())
    return frames


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "query"),
    [*((frame, "collect") for frame in FRAMES), *(("snapshot", query) for query in QUERIES)],
)
def test_a_frame_whose_files_have_gone_says_to_call_again(
    outdated: dict[str, pl.LazyFrame], frame: str, query: str
) -> None:
    """It is an error of ours with the cure, by whatever polars runs the query."""
    with pytest.raises(MirrorError, match=r"have gone, as after a merge; call what") as caught:
        QUERIES[query](outdated[frame])
    assert caught.value.cure == "call what returned it again"


def test_filters_and_columns_of_a_frame_reach_its_files(mirror: fk.Mirror) -> None:
    """That it looks for its files when it is run leaves polars the whole query."""
    plan = mirror.snapshot().filter(pl.col("kraj") == "3").select("id").explain()

    assert "PROJECT 3/" in plan
    assert 'col("kraj") == "3"' in plan.partition("SELECTION: ")[2]


def test_what_a_merge_replaced_stays_a_day(mirror: fk.Mirror, register: Watched) -> None:
    """The run lists it as retired; a day later it is deleted, and files of others never are."""
    two_days_more(mirror, register)
    replaced = [Path(file) for file in mirror.files("units")]
    notes = mirror.path / "data" / "notes.txt"
    notes.write_text("mine")
    mirror.compact()
    assert set(newest_run(mirror.path)["retired"]) >= {file.stem for file in replaced}
    assert all(file.exists() for file in replaced)
    mirror.compact(keep_hours=0)

    assert not any(file.exists() for file in replaced)
    assert notes.read_text() == "mine"
    next_day(register)
    register.sample.touch(register.sample.units.ids(limit=1))
    mirror.sync()
    assert newest_run(mirror.path)["retired"] == {}


def test_a_file_that_no_run_lists_is_deleted_when_it_is_old(mirror: fk.Mirror) -> None:
    """A crash leaves such files; those of a sync that is under way are younger."""
    left = mirror.path / "data" / f"{'a' * 64}.parquet"
    left.write_bytes(b"left")
    mirror.compact()
    assert left.exists()
    os.utime(left, (0, 0))
    mirror.compact()

    assert not left.exists()


@pytest.mark.slow
def test_a_name_that_comes_back_is_checked_and_no_longer_retired(
    mirror: fk.Mirror, register: Watched
) -> None:
    """A merge that is repeated after a crash gives the same bytes; what stands there may not be."""
    two_days_more(mirror, register)
    before = shutil.copytree(mirror.path, mirror.path.parent / "before")
    mirror.compact()
    (merged,) = mirror.files("units")
    shutil.rmtree(mirror.path / "runs")
    shutil.copytree(before / "runs", mirror.path / "runs")
    shutil.copy(before / "writer.json", mirror.path / "writer.json")
    Path(merged).write_bytes(b"damaged")
    again = fk.Mirror(mirror.path, register=register)
    again.compact(keep_hours=0)

    assert again.files("units") == [merged]
    assert set(again.verify()["meaning"]) == {""}
    assert_in_step(again, register.sample)


def test_compacting_again_changes_nothing(mirror: fk.Mirror) -> None:
    """It changes nothing that was sealed."""
    for _ in range(3):
        mirror.compact()
        before = contents(mirror.path)
        assert set(fk.Mirror(mirror.path).verify()["meaning"]) == {""}
    mirror.compact()
    assert contents(mirror.path) == before


@pytest.mark.parametrize(
    "hours", [1e300, pytest.param(10**5000, id="huge"), 10**400, 1_000_001, -1, float("nan"), "1"]
)
def test_hours_that_cannot_be_kept_are_refused(mirror: fk.Mirror, hours: Any) -> None:
    """They are refused before anything is done."""
    before = contents(mirror.path)
    with pytest.raises(fk.UsageError, match=r"is not allowed; give hours, 0 to 1,000,000"):
        mirror.compact(keep_hours=hours)
    assert contents(mirror.path) == before
    mirror.compact(keep_hours=1_000_000)
    assert set(mirror.verify()["meaning"]) == {""}


def test_a_part_of_an_hour_is_kept(mirror: fk.Mirror, register: Watched) -> None:
    """A replaced file stays at least as long as was asked."""
    two_days_more(mirror, register)
    before = mirror.snapshot()
    mirror.compact(keep_hours=0.9)

    assert before.collect().height == UNITS


def test_compaction_names_nothing_that_is_damaged(mirror: fk.Mirror, register: Watched) -> None:
    """Rows of a damaged file are not written into another one, whose name would fit them."""
    two_days_more(mirror, register)
    file = data(mirror.path, "units")[0]
    rows = pl.read_parquet(file).with_columns(nazovUJ=pl.lit("another"))
    rows.write_parquet(file)
    before = contents(mirror.path)
    with pytest.raises(MirrorError, match="is not as it was written"):
        fk.Mirror(mirror.path).compact()

    assert contents(mirror.path) == before
    assert mirror.verify()["damaged"].sum() == rows.height
