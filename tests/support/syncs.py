"""Registers that are synced: days that pass, requests that fail, processes that end."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

import finstat_kit as fk
from finstat_kit.protocol.wire import Reply
from tests.support.registers import Watched

FIRST = date(2026, 6, 30)  # the day of a sample as it is made
UNITS = 240
SEED = 14  # a unit changed on the last day, and the first ones are neither deleted nor non-public
PAGE = UNITS  # so that there are few commits
RECORD = "/api/uctovna-jednotka"


class Crash(BaseException):
    """The end of a process, as far as its mirror is concerned."""


def register_of_syncs() -> Watched:
    return Watched(fk.sample(UNITS, seed=SEED), page_size=PAGE)


def small_register() -> Watched:
    return Watched(fk.sample(60), page_size=1_000)


def next_day(register: Watched, days: int = 1) -> None:
    register.sample.set_today(register.today + timedelta(days=days))


def two_days_more(mirror: fk.Mirror, register: Watched) -> None:
    for _ in range(2):
        register.sample.set_today(register.today + timedelta(days=1))
        register.sample.touch(register.sample.units.ids(limit=9))
        mirror.sync()


def day_of_filings(register: Watched) -> None:
    """Let a day pass on which statements are filed and corrected and a unit is deleted."""
    next_day(register)
    sample = register.sample
    living = sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
    sample.file(living.head(2), year=2025)
    sample.correct(sample.statements.ids(limit=2))
    sample.delete(living.tail(1))


def fail_at(register: Watched, number: int, error: BaseException | Reply) -> None:
    """Let the record request of that number, from now on, go wrong, once."""
    count = iter(range(1, 10**9))

    def instead(path: str, query: str) -> Reply | None:
        if path != RECORD or next(count) != number:
            return None
        if isinstance(error, Reply):
            return error
        raise error

    register.instead = instead


def well(register: Watched) -> None:
    register.instead = lambda path, query: None
