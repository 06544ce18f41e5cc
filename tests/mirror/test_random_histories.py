"""The mirror through histories drawn at random: whatever happened, a quiet sync puts it in step."""

from __future__ import annotations

import contextlib
import random
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, TransportError
from tests.support.examples import quick
from tests.support.kills import at_writes
from tests.support.mirrors import assert_contents_in_step, assert_in_step, points
from tests.support.syncs import Crash, Skewed

Known = tuple[date, pl.DataFrame, list[int]]  # the day of a point, and what the mirror held then


@pytest.mark.parametrize("seed", quick(range(200), 5))
def test_any_history_is_put_right_and_keeps_its_days(tmp_path: Path, seed: int) -> None:
    """Kills at any write, budgets, errors, clocks ahead and behind, units that change meanwhile."""
    luck = random.Random(seed)
    register = Skewed(luck.randint(3, 12), seed)
    contents = luck.random() < 0.7
    known: list[Known] = []
    for _ in range(luck.randint(5, 9)):
        mirror = fk.Mirror(tmp_path, contents=contents, register=register)
        _pass_time(register, luck)
        _sync(mirror, register, luck)
        _remember(mirror, known)
    register.quiet()
    mirror = fk.Mirror(tmp_path, contents=contents, register=register)

    mirror.sync(full=True, max_missing=10**6)

    assert_in_step(mirror, register)
    if contents:
        assert_contents_in_step(mirror, register)
    _remember(mirror, known)
    run = len(points(tmp_path))
    mirror.sync()
    assert len(points(tmp_path)) == run
    _see_days(mirror, known)


def _pass_time(register: Skewed, luck: random.Random) -> None:
    """Let days pass, on which the register changes."""
    register.pass_days(luck.choice([0, 0, 1, 1, 2, 30]))
    register.skew = luck.choice([0, 0, 0, 0, 1, 365, -1, -10])
    register.change(luck, luck.randint(0, 4))


def _sync(mirror: fk.Mirror, register: Skewed, luck: random.Random) -> None:
    """Sync; most are cut off in one way or other, while the register changes."""
    way = luck.choice(["whole", "whole", "killed", "error", "Ctrl-C", "budget", "full"])
    register.quiet()
    if luck.random() < 0.5:
        register.at_request(luck.randint(1, 150), lambda: register.change(luck, 2))
    if way in ("error", "Ctrl-C"):
        error = TransportError("cut") if way == "error" else KeyboardInterrupt()
        register.at_request(luck.randint(1, 150), error)
    with contextlib.ExitStack() as ending:
        if way == "killed":
            moment, where = luck.choice(["before", "after"]), luck.choice(["any", "data", "runs"])
            ending.enter_context(at_writes(where, luck.randint(1, 25), moment, Crash))
        ending.enter_context(contextlib.suppress(Crash, TransportError, Interrupted))
        budget = f"{luck.randint(1, 60)}s" if way == "budget" else None
        mirror.sync(full=way == "full", budget=budget, max_missing=10**6)


def _remember(mirror: fk.Mirror, known: list[Known]) -> None:
    """Note what the mirror holds at a point that was not there before."""
    if list(mirror.path.glob("runs/*.json")) and len(points(mirror.path)) > len(known):
        there = points(mirror.path)
        for _ in range(len(there) - len(known) - 1):  # points that nobody saw
            known.append((date.fromisoformat(there[len(known)]["day"]), pl.DataFrame(), []))
        held, reports = mirror.snapshot().collect().sort("id"), mirror.reports.ids()["id"].to_list()
        known.append((date.fromisoformat(there[-1]["day"]), held, reports))


def _see_days(mirror: fk.Mirror, known: list[Known]) -> None:
    """See that each day is answered by the last point, in their order, that is not later."""
    newest = known[-1][0]
    for day in {known_day for known_day, _, _ in known} | {newest - timedelta(days=1)}:
        if day > newest or not any(of <= day for of, _, _ in known):
            with pytest.raises(fk.UsageError, match="sync of this mirror was completed on"):
                mirror.as_of(day)
            continue
        _, held, reports = [each for each in known if each[0] <= day][-1]
        if not held.is_empty():
            frozen = mirror.as_of(day)
            assert_frame_equal(frozen.snapshot().collect().sort("id"), held)
            assert frozen.reports.ids()["id"].to_list() == reports
