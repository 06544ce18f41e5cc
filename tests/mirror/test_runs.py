"""One file per run: before or after, never between; a damaged one falls back to the one before."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import stat
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

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
    assert_contents_in_step,
    assert_in_step,
    filings_on,
    points,
)
from tests.support.registers import Watched
from tests.support.syncs import Crash, fail_at, next_day, well


def runs(path: Path) -> list[int]:
    return sorted(int(file.stem) for file in path.glob("runs/*.json"))


def newest(path: Path) -> Path:
    return max(path.glob("runs/*.json"))


@pytest.mark.slow
def test_two_runs_and_ten_with_a_point_are_kept(mirror: fk.Mirror, register: Watched) -> None:
    """With the number of the newest beside them, and nothing else but data."""
    for _ in range(13):
        next_day(register)
        register.sample.touch(register.sample.units.ids(limit=1))
        mirror.sync()

    of_points = [point["run"] for point in points(mirror.path)]
    assert len(of_points) == 14
    assert runs(mirror.path) == sorted({*of_points[-10:], of_points[-1] - 1})
    said = json.loads((mirror.path / "newest.json").read_bytes())
    digest = hashlib.sha256(newest(mirror.path).read_bytes()).hexdigest()
    assert said == {"number": of_points[-1], "sha256": digest, "day": str(register.today)}
    assert sorted(file.name for file in mirror.path.iterdir()) == [
        "data", "newest.json", "runs", "writer.lock",
    ]  # fmt: skip


@pytest.mark.parametrize("harm", [delete, flipped(0.3), *slow(empty, halve, flipped(1))])
def test_a_damaged_run_falls_back_to_the_one_before(
    mirror: fk.Mirror, register: Watched, harm: Callable[[Path], None]
) -> None:
    """With a warning; the next sync moves it aside, and its days are refused from then on."""
    before, day, former = mirror.units.ids(), register.today, newest(mirror.path).stem
    next_day(register, 2)
    register.sample.publish(3)
    mirror.sync()
    harm(newest(mirror.path))
    lost = max(runs(mirror.path)[-1], points_of_newest(mirror.path))
    was_there = newest(mirror.path).stem

    with pytest.warns(RegisterWarning, match=r"is read as of run \d+, the one before; the next"):
        again = fk.Mirror(mirror.path, register=register)
    assert_frame_equal(again.units.ids(), before)
    assert again.today == day
    with pytest.warns(RegisterWarning):
        worst = fk.Mirror(mirror.path).verify().row(0)
    assert worst[:3] == (f"runs/{lost:08}.json", 1, 1)
    next_day(register, 2)
    again.sync()

    assert former < newest(mirror.path).stem > was_there
    assert min(int(newest(mirror.path).stem), lost + 1) == lost + 1
    for each in (again, fk.Mirror(mirror.path)):
        assert_in_step(each, register.sample)
        assert each.as_of(register.today).units.count() == register.sample.units.count()
        for late in range(4):
            refused = day + timedelta(days=late)
            with pytest.raises(fk.UsageError, match=rf"from {day} to .* was lost"):
                each.as_of(refused)
        with pytest.raises(fk.UsageError, match=r"what was observed up to .* was lost in part"):
            each.changes(day)
    assert again.changes(register.today).is_empty()  # they were seen on a day that is lost


@pytest.mark.slow
def test_a_damaged_run_without_a_point_costs_no_day(mirror: fk.Mirror, register: Watched) -> None:
    """A sync that was cut off had written it: what was in it is requested again."""
    day, count = register.today, mirror.units.count()
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    fail_at(register, 30, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        mirror.sync()
    well(register)
    flipped(0.3)(newest(mirror.path))
    with pytest.warns(RegisterWarning, match="the one before"):
        again = fk.Mirror(mirror.path, register=register)
    again.sync()

    assert [file.name for file in mirror.path.glob("runs/damaged/*")]
    assert again.as_of(day).units.count() == count
    assert again.changes(register.today).height
    assert_in_step(again, register.sample)


def test_all_runs_lost_is_an_error_until_all_is_requested_again(
    mirror: fk.Mirror, register: Watched
) -> None:
    """What there was moves aside, and a copy of the runs puts it back."""
    spare = shutil.copytree(mirror.path, mirror.path.parent / "spare")
    for file in mirror.path.glob("runs/*.json"):
        flipped(0.3)(file)
    again = fk.Mirror(mirror.path, register=register)
    assert "damaged" in repr(again)
    for call in (again.units.count, again.snapshot, again.sync, partial(again.sync, full=True)):
        with pytest.raises(MirrorError, match=r"runs of .* are lost: .*sync\(anew=True\)"):
            call()
    assert again.verify()["damaged"].sum() > 0
    with pytest.warns(RegisterWarning, match=r"made anew by some 68 requests; .* before-1"):
        again.sync(anew=True)

    assert_in_step(again, register.sample)
    assert_in_step(fk.Mirror(spare), register.sample)
    before = mirror.path / "before-1"
    assert sorted(path.name for path in before.iterdir()) == ["data", "newest.json", "runs"]


def points_of_newest(path: Path) -> int:
    """Return the number that ``newest.json`` names."""
    return int(json.loads((path / "newest.json").read_bytes())["number"])


def test_a_writer_renews_what_names_the_newest_run(mirror: fk.Mirror, register: Watched) -> None:
    """A sync that was killed after its last run had not written it."""
    now = (mirror.path / "newest.json").read_bytes()
    next_day(register)
    mirror.sync()
    later = (mirror.path / "newest.json").read_bytes()
    (mirror.path / "newest.json").write_bytes(now)
    mirror.sync()

    assert (mirror.path / "newest.json").read_bytes() == later != now


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
    with pytest.raises(MirrorError, match=r"another process has written run \d+ of the mirror"):
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
    """Also where nothing is left to be fetched: all had come, and no point counted them yet."""
    register = filings_on(1)
    aside = tmp_path / "aside"
    fk.Mirror(aside, contents=True, register=register).sync()
    last = points(aside)[-1]["run"]

    def end() -> None:
        raise Crash

    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    with pytest.raises(Crash), at_writes("runs", last, "before", end):
        mirror.sync()
    assert mirror.scan_cells().collect().is_empty()
    register.asked.clear()
    fk.Mirror(mirror.path, contents=True, register=register).sync()

    kept = tuple(RECORDS[name] + "?" for name in ("statements", "reports", "annual_reports"))
    known = [target for target in register.asked if target.startswith(kept)]
    assert len(known) < 20  # those of the window, which are looked at again
    assert_contents_in_step(mirror, register.sample)


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
    monkeypatch.undo()

    kinds = {Path(path).name for path in handles.refused}
    assert "newest.json" in kinds
    assert_in_step(mirror, register.sample)
    assert set(mirror.verify()["meaning"]) == {""}


def test_a_folder_that_cannot_be_written_to_is_read(mirror: fk.Mirror) -> None:
    """A copy on a read-only drive answers, and nothing is written there."""
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
