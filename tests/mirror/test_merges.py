"""Many small files become few, what is replaced stays as long as somebody may need it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from finstat_kit.protocol.wire import Reply
from tests.support.harm import flipped
from tests.support.mirrors import assert_in_step, newest_run
from tests.support.registers import Watched
from tests.support.syncs import RECORD, next_day, two_days_more

RATE = 0.02  # requests a second: a record is a minute, which is a commit


def slow_register(units: int = 70) -> Watched:
    return Watched(fk.sample(units), page_size=units, rate=RATE)


def listed(path: Path) -> set[Path]:
    """Return the files that a run of a folder lists."""
    names = [
        file["name"]
        for number in path.glob("runs/*.json")
        for files in newest_run(number.parents[1], number)["files"].values()
        for file in files
    ]
    return {path / "data" / f"{name}.parquet" for name in names}


def age(paths: set[Path] | list[Path], days: float) -> None:
    """Make files as old as if they had been replaced that long ago."""
    for path in paths:
        os.utime(path, (time.time() - days * 86_400,) * 2)


def replaced(path: Path) -> list[Path]:
    """Return the files that no run lists any longer."""
    return sorted(set(path.glob("data/*.parquet")) - listed(path))


def test_many_small_files_are_merged_while_records_come(tmp_path: Path) -> None:
    """A batch a minute for weeks: names and answers stay few files, and so does a run."""
    register = slow_register(150)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    most: list[int] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and list(mirror.path.glob("runs/*.json")):
            most.append(len(newest_run(mirror.path)["files"].get("units", ())))
        return None

    register.instead = instead
    mirror.sync()

    assert 60 < max(most) < 70
    files = newest_run(mirror.path)["files"]["units"]
    assert all(
        set(pl.read_parquet(path)["kind"]) <= {"listed"} if file["names"] else {"record"}
        for file, path in zip(files, mirror.files("units"), strict=True)
    )
    assert pl.scan_parquet(mirror.files("units")).filter(kind="record").collect().height == 150
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_no_merge_crosses_a_point(tmp_path: Path) -> None:
    """While a sync goes on, each file counts as a whole or not at all; readers see no change."""
    register = slow_register()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    before = mirror.snapshot().collect().sort("id")
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    seen: list[int] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and len(register.asked) % 30 == 0:
            run = newest_run(mirror.path)
            upto = run["points"][-1]["upto"]["units"]
            for file in run["files"]["units"]:
                assert not file["first"] <= upto < file["last"]
            reader = fk.Mirror(mirror.path)
            assert_frame_equal(reader.snapshot().collect().sort("id"), before)
            named = {file["name"] for file in run["files"]["units"] if file["last"] <= upto}
            assert {Path(path).stem for path in reader.files("units")} == named
            seen.append(len(run["files"]["units"]))
        return None

    register.instead = instead
    mirror.sync()
    assert len(seen) > 2
    assert_in_step(mirror, register.sample)


QUERIES: dict[str, Callable[[pl.LazyFrame], Any]] = {
    "collect": lambda rows: rows.collect(),
    "streaming": lambda rows: rows.collect(engine="streaming"),
    "head": lambda rows: rows.head(1).collect(),
    "join": lambda rows: pl.LazyFrame({"id": [1]}).join(rows, on="id", how="left").collect(),
    "all": lambda rows: pl.collect_all([rows, rows.select("id")]),
}


def test_what_a_merge_replaced_stays_while_somebody_may_read_it(tmp_path: Path) -> None:
    """As long as one of the runs that are kept lists it, and a day; then a frame of it says so."""
    register = slow_register()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    frames: list[pl.LazyFrame] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and not frames and len(register.records()) == 20 + 70:
            frames.append(fk.Mirror(mirror.path).snapshot())
        return None

    mirror.sync()
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    register.instead = instead
    mirror.sync()
    (frame,) = frames
    before = frame.collect()
    two_days_more(mirror, register)
    assert_frame_equal(frame.collect(), before)
    old = replaced(mirror.path)
    assert old
    age(old, 0.9)
    mirror.sync()
    assert replaced(mirror.path) == old
    age(list(mirror.path.glob("data/*.parquet")), 1.1)
    mirror.sync()

    assert not replaced(mirror.path)
    assert all(path.exists() for path in listed(mirror.path))
    assert set(mirror.verify()["meaning"]) == {""}
    assert before.height == 70
    assert_in_step(mirror, register.sample)
    for path in mirror.files("units"):
        Path(path).unlink()
    for query in QUERIES.values():
        with pytest.raises(MirrorError, match=r"is gone: .* call what returned this LazyFrame"):
            query(frame)


def test_nothing_else_is_deleted(mirror: fk.Mirror, register: Watched) -> None:
    """Neither files of others, nor anything while a run cannot be read."""
    notes, stray = mirror.path / "data" / "notes.txt", mirror.path / "data" / f"{'a' * 64}.parquet"
    draft = mirror.path / "data" / f"{'b' * 64}.parquet.0123.draft"
    for path in (notes, stray, draft):
        path.write_text("mine")
    age([notes, stray, draft], 3)
    run = max(mirror.path.glob("runs/*.json"))
    spare = shutil.copy(run, mirror.path / "runs" / "00000001.json")
    flipped(0.3)(Path(spare))
    register.instead = lambda path, query: Reply(500, {}, b"") if "register" in path else None
    mirror._folder.sweep()
    assert stray.exists()
    Path(spare).unlink()
    mirror.sync()

    assert notes.exists()
    assert not stray.exists()
    assert not draft.exists()


def test_a_damaged_file_gets_no_new_name(tmp_path: Path) -> None:
    """A merge compares what it puts together; what was damaged is requested again, at once."""
    register = slow_register()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and len(register.records()) == 40:
            file = next(f for f in newest_run(mirror.path)["files"]["units"] if not f["names"])
            flipped(0.3)(mirror.path / "data" / f"{file['name']}.parquet")
        return None

    register.instead = instead
    with pytest.warns(fk.errors.RegisterWarning, match="has lost data/"):
        mirror.sync()

    # Those of the file, and what came as the merge failed.
    assert 70 < len(register.records()) < 75
    assert set(mirror.verify()["meaning"]) == {""}
    assert_in_step(mirror, register.sample)


def test_filters_and_columns_of_a_frame_reach_its_files(mirror: fk.Mirror) -> None:
    """That it looks for its files when it is run leaves polars the whole query."""
    plan = mirror.snapshot().filter(pl.col("kraj") == "3").select("id").explain()

    assert "PROJECT 3/" in plan
    assert 'col("kraj") == "3"' in plan.partition("SELECTION: ")[2]
