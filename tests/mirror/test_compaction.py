"""Compaction: few files, nothing lost, and readers beside it go on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from tests.support.mirrors import assert_in_step, contents
from tests.support.registers import Watched
from tests.support.syncs import UNITS, next_day, register_of_syncs, two_days_more

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
    data = mirror.path / "units"
    many = len(list(data.glob("*.parquet")))

    mirror.compact()
    assert_frame_equal(before.collect().sort("id"), expected)
    mirror.compact(keep_hours=0)

    assert many > 5
    assert len(list(data.glob("*.parquet"))) == 1
    assert_frame_equal(mirror.snapshot().collect().sort("id"), expected)
    assert_in_step(mirror, register.sample)
    assert mirror.changes().height == 50
    with pytest.raises((FileNotFoundError, pl.exceptions.ComputeError)):
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


def test_a_reader_whose_commits_were_compacted_away_reads_on(
    mirror: fk.Mirror, register: Watched
) -> None:
    """It opens the table anew: the commits between its last look and now are no more."""
    reader = fk.Mirror(mirror.path)
    before = reader.snapshot().collect().height
    for _ in range(3):
        register.sample.set_today(register.today + timedelta(days=1))
        register.sample.publish(2)
        mirror.sync()
    mirror.compact(keep_hours=0)
    log = mirror.path / "units" / "_delta_log"
    newest = max(log.glob("*.checkpoint.parquet")).name[:20]
    for commit in log.glob("*.json"):  # as it is when the day for which they are kept is over
        if commit.name[:20] < newest:
            commit.unlink()

    assert reader.snapshot().collect().height == before + 6
    assert_in_step(reader, register.sample)


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
    file = min((mirror.path / "units").glob("*.parquet"))
    rows = pl.read_parquet(file).with_columns(nazovUJ=pl.lit("another"))
    rows.write_parquet(file)
    before = contents(mirror.path)
    with pytest.raises(MirrorError, match="is not as it was written"):
        fk.Mirror(mirror.path).compact()

    assert contents(mirror.path) == before
    assert mirror.verify()["damaged"].sum() == rows.height
