"""Forty days of syncs of 500 units, with faults and crashes: in step, and hardly larger."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import TransportError
from finstat_kit.protocol.wire import Reply
from tests.support.kills import at_writes
from tests.support.mirrors import assert_in_step, newest_run
from tests.support.registers import Watched
from tests.support.syncs import Crash

UNITS = 500
DAYS = 40
CHANGES = 15  # a day


def size(folder: Path) -> tuple[int, int]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return len(files), sum(file.stat().st_size for file in files)


@pytest.mark.slow
def test_daily_syncs_stay_in_step_and_small(tmp_path: Path) -> None:
    """5 % of all answers are a fault; a crash every fifth day."""
    chance = random.Random(1)
    sample = fk.sample(UNITS)
    register = Watched(sample)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    _, first_size = size(mirror.path)
    most_files, crashes = 0, 0

    def instead(path: str, query: str) -> Reply | None:
        if chance.random() > 0.05:
            return None
        if chance.random() < 0.5:
            return Reply(500, {}, b"")
        raise TransportError("the connection was cut")

    def crashing() -> None:
        raise Crash

    register.instead = instead
    first = sample.today
    for day in range(1, DAYS + 1):
        sample.set_today(first + timedelta(days=day))
        ids = sample.units.ids()["id"].to_list()
        sample.touch(sorted(chance.sample(ids, CHANGES)))
        sample.delete(sorted(chance.sample(ids, 2)))
        sample.publish(3)
        if day % 5 == 0:
            try:
                with at_writes("runs", 1, "before", crashing):
                    mirror.sync()
            except Crash:
                crashes += 1
            mirror = fk.Mirror(mirror.path, register=register)
        mirror.sync()
        most_files = max(most_files, size(mirror.path / "data")[0])

    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, sample)
    assert crashes == DAYS // 5
    days = mirror.changes().filter(pl.col("field") == "datumPoslednejUpravy")["seen"]
    assert days.n_unique() == DAYS
    assert mirror.today == first + timedelta(days=DAYS)
    # Those that were merged stay a day, and as long as one of ten runs lists them.
    assert most_files < 400
    versions = DAYS * (CHANGES + 5) / UNITS
    listed = [file for files in newest_run(mirror.path)["files"].values() for file in files]
    assert sum(file["bytes"] for file in listed) < first_size * (1 + 3 * versions)
    assert len(listed) < 150
