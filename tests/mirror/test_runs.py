"""One file per run: before or after, never between; a damaged one falls back to the one before."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import stat
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError, RegisterWarning
from finstat_kit.protocol.wire import Reply
from tests.support.examples import slow
from tests.support.harm import delete, empty, flipped, halve
from tests.support.kills import at_writes
from tests.support.mirrors import (
    RECORDS,
    appended,
    assert_contents_in_step,
    assert_in_step,
    filings_on,
    newest_run,
)
from tests.support.registers import Watched
from tests.support.syncs import RECORD, Crash, fail_at, next_day, well


def runs(path: Path) -> list[int]:
    return sorted(int(file.stem) for file in path.glob("runs/*.json"))


def newest(path: Path) -> Path:
    return max(path.glob("runs/*.json"))


@pytest.mark.slow
def test_the_newest_run_and_the_one_before_are_kept(mirror: fk.Mirror, register: Watched) -> None:
    """With the number of the newest beside them, and nothing else but data."""
    for _ in range(3):
        next_day(register)
        mirror.sync()

    assert runs(mirror.path) == [3, 4]
    assert json.loads((mirror.path / "writer.json").read_bytes())["run"] == 4
    assert sorted(file.name for file in mirror.path.iterdir()) == [
        "checked.json", "data", "runs", "writer.json", "writer.lock",
    ]  # fmt: skip
    assert (mirror.path / "writer.lock").read_bytes() == b""


@pytest.mark.parametrize("harm", [delete, flipped(0.3), *slow(empty, halve, flipped(1))])
def test_a_damaged_run_falls_back_to_the_one_before(
    mirror: fk.Mirror, register: Watched, harm: Callable[[Path], None]
) -> None:
    """With a warning; the next sync goes on from there, and numbers go on."""
    before, day = mirror.units.ids(), register.today
    next_day(register)
    register.sample.publish(3)
    mirror.sync()
    harm(newest(mirror.path))

    with pytest.warns(RegisterWarning, match=r"is read as of run 1, the one before; the next sync"):
        again = fk.Mirror(mirror.path, register=register)
    assert_frame_equal(again.units.ids(), before)
    assert again.today == day
    again.sync()
    assert runs(mirror.path) == [1, 3]
    assert_in_step(again, register.sample)
    assert_in_step(fk.Mirror(mirror.path), register.sample)


@pytest.mark.slow
def test_a_run_of_another_machine_is_not_overwritten(mirror: fk.Mirror, register: Watched) -> None:
    """Where the lock fails, as on some network drives, the second one is refused."""
    aside = mirror.path.parent / "aside"

    def instead(path: str, query: str) -> Reply | None:
        if path == "/api/kraje" and not aside.exists():
            shutil.copytree(mirror.path, aside)
            other = fk.Mirror(aside, register=register.sample)
            other.sync()
            shutil.copytree(aside, mirror.path, dirs_exist_ok=True)
        return None

    next_day(register)
    register.instead = instead
    with pytest.raises(MirrorError, match="another process has written run 2 of the mirror"):
        mirror.sync()
    mirror.sync()

    assert_in_step(mirror, register.sample)


def _sync(path: Path) -> str:
    try:
        fk.Mirror(path, register=fk.sample(300)).sync()
    except MirrorError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_two_processes_write_one_after_the_other(tmp_path: Path) -> None:
    """The second is refused or comes later, and the mirror is in step."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for _ in range(3):
            errors = pool.map(_sync, [tmp_path / "ruz"] * 2, chunksize=1)
            assert all(not error or "is being written by" in error for error in errors)
            assert "" in errors

    assert_in_step(fk.Mirror(tmp_path / "ruz"), fk.sample(300))


@pytest.mark.slow
def test_a_run_is_written_each_hour_while_records_come(tmp_path: Path) -> None:
    """A first copy takes weeks: what has come is readable soon."""
    sample = fk.sample(8)
    lists = sum(getattr(sample, name).count() for name in ("statements", "reports"))
    register = Watched(sample, rate=0.005)  # 18 records an hour
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    seen: list[tuple[int, int]] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORDS["reports"] and len(register.asked) % 5 == 0:
            reader = fk.Mirror(mirror.path)
            seen.append((len(register.records()), int(reader.holdings()["held"][1:].sum())))
        return None

    register.instead = instead
    mirror.sync()
    held = [of_reader for _, of_reader in seen]

    assert held == sorted(held)
    assert len(set(held)) > lists / 20
    assert max(later - now for now, later in pairwise(held)) <= 30
    assert_contents_in_step(mirror, sample)


@pytest.mark.slow
def test_records_of_a_killed_sync_are_shown_by_the_next(tmp_path: Path) -> None:
    """Also where nothing is left to be fetched: all had come, and no run listed them yet."""
    register = filings_on(1)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)

    def end() -> None:
        raise Crash

    with pytest.raises(Crash), at_writes("runs", 2, "before", end):
        mirror.sync()
    assert appended(mirror.path)["cells"]
    assert mirror.cells().collect().is_empty()
    register.asked.clear()
    fk.Mirror(mirror.path, contents=True, register=register).sync()

    kept = tuple(RECORDS[name] + "?" for name in ("statements", "reports", "annual_reports"))
    assert not [target for target in register.asked if target.startswith(kept)]
    assert_contents_in_step(mirror, register.sample)


@pytest.mark.slow
def test_a_full_sync_after_one_that_was_cut_off_keeps_its_answers(
    mirror: fk.Mirror, register: Watched
) -> None:
    """What it had fetched is not fetched again, all is listed anew, and what is gone is found."""
    next_day(register)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids)
    fail_at(register, 41, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        mirror.sync()
    answered = register.records()[-41:-1]
    well(register)
    register.asked.clear()
    gone = int(ids[-1])
    register.sample.vanish(gone)
    mirror.sync(full=True, max_missing=1)

    rest = [id_ for id_ in ids if id_ not in answered and id_ != gone]
    assert register.records()[: len(rest)] == rest
    assert newest_run(mirror.path)["history"][1]["since"] == "2000-01-01"
    missing = mirror.snapshot().filter(gone="missing").collect()
    assert missing["id"].to_list() == [gone]
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_a_public_call_reads_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that ends in the middle of a call is in the next one."""
    register = filings_on(1)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    reader = fk.Mirror(mirror.path)
    units = register.sample.units.ids(limit=3)
    before = reader.financials(units)
    later = fk.Mirror(mirror.path, contents=True, register=filings_on(2))
    listings = iter(range(1, 1_000))
    whole = os.listdir

    def listed(path: Any = ".") -> list[str]:
        if Path(path).name == "runs" and next(listings) == 2:
            later.sync()
        return whole(path)

    monkeypatch.setattr(os, "listdir", listed)
    assert_frame_equal(reader.financials(units), before)
    assert next(listings) == 2  # there was one look for a newer run
    monkeypatch.undo()
    later.sync()
    assert not reader.financials(units).equals(before)


class Handles:
    """Files that a reader holds open, which Windows neither replaces nor deletes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tries: int) -> None:
        self.refused: list[str] = []
        self._tries = tries
        for name in ("replace", "unlink"):
            monkeypatch.setattr(Path, name, self._refusing(getattr(Path, name)))

    def _refusing(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(path: Path, *arguments: Any, **options: Any) -> Any:
            target = Path(arguments[0]) if arguments else path
            if target.exists() and self.refused.count(str(target)) < self._tries:
                self.refused.append(str(target))
                raise PermissionError(13, "in use", str(target))
            return change(path, *arguments, **options)

        return changed


@pytest.mark.slow
def test_a_file_that_is_open_is_replaced_a_moment_later(
    mirror: fk.Mirror, register: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is replaced or deleted: each is refused three times here, as on Windows."""
    next_day(register)
    register.sample.touch(register.sample.units.ids(limit=5))
    handles = Handles(monkeypatch, tries=3)
    mirror.sync()
    mirror.compact(keep_hours=0)
    monkeypatch.undo()

    kinds = {Path(path).name for path in handles.refused}
    assert {"writer.json", "open.json"} <= kinds
    assert any(name.endswith(".parquet") for name in kinds)
    assert_in_step(mirror, register.sample)
    assert set(mirror.verify()["meaning"]) == {""}


def test_a_folder_that_cannot_be_written_to_is_read(mirror: fk.Mirror) -> None:
    """A copy on a read-only drive answers; what is checked there is not written down."""
    note = mirror.path / "checked.json"
    note.unlink(missing_ok=True)
    note.mkdir()  # which not even root replaces
    (mirror.path / "checked.json.draft").mkdir()
    paths = [mirror.path, *mirror.path.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    before = {path: path.stat().st_mtime_ns for path in paths}
    try:
        reader = fk.Mirror(mirror.path)
        assert reader.units.count() == 60
        assert set(reader.verify()["meaning"]) == {""}
        assert {path: path.stat().st_mtime_ns for path in paths} == before
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


@pytest.mark.slow
def test_many_small_files_are_merged_while_records_come(tmp_path: Path) -> None:
    """A batch a minute for weeks: what is appended stays few files, and so does a run."""
    register = Watched(fk.sample(150), page_size=150, rate=0.02)  # a record a minute
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    most: list[int] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD:
            most.append(len(list(mirror.path.glob("data/*.parquet"))))
        return None

    register.instead = instead
    mirror.sync()

    assert max(most) < 70
    assert len(mirror.files("units")) < 70
    assert pl.read_parquet(mirror.files("units")).height == 150
    assert_in_step(mirror, register.sample)
