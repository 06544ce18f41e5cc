"""Registers that are synced: days that pass, requests that fail, processes that end."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from email.utils import format_datetime, parsedate_to_datetime

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


class Skewed(Watched):
    """A register whose clock may be wrong, and which changes or fails at some requests.

    Attributes:
        skew: Days by which its clock is ahead.
    """

    def __init__(self, units: int, seed: int = 0) -> None:
        self.skew = 0
        self._events: dict[int, Callable[[], object] | BaseException] = {}
        super().__init__(fk.sample(units, seed=seed), page_size=50, rate=5)

    def quiet(self) -> None:
        """Let nothing happen at requests any longer."""
        self._events.clear()

    def pass_days(self, days: int) -> None:
        self.sample.set_today(self.sample.today + timedelta(days=days))

    def at_request(self, number: int, event: Callable[[], object] | BaseException) -> None:
        """Let something happen at the request of that number, from now on."""
        self._events[len(self.asked) + number] = event

    def change(self, luck: random.Random, many: int) -> None:
        """Change some units: whole records, their states and filings, or which there are."""
        for _ in range(many):
            ids = self.sample.units.ids()["id"].to_list()
            some = luck.sample(ids, min(len(ids), luck.randint(1, 3)))
            records = self.sample.units.get(some).filter(pl.col("stav").is_null())
            living = records["id"].to_list()
            filed = records["idUctovnychZavierok"].explode().drop_nulls().head(2)
            change = luck.randrange(7)
            if change == 0 or not some:
                self.sample.publish(luck.randint(1, 2))
            elif change == 1:
                self.sample.touch(some)
            elif change == 2:
                self.sample.delete(some)
            elif change == 3:
                self.sample.hide(some)
            elif change == 4:
                self.sample.vanish(some[:1])
            elif change == 5 and living:
                self.sample.file(living, year=2025)
            elif len(filed):
                self.sample.correct(filed)

    def _answer(self, method: str, path: str, query: str) -> Reply:
        event = self._events.pop(len(self.asked) + 1, None)
        if isinstance(event, BaseException):
            self.asked.append(f"{path}?{query}")
            raise event
        if event is not None:
            event()
        reply = super()._answer(method, path, query)
        sent = parsedate_to_datetime(reply.headers["Date"]) + timedelta(days=self.skew)
        return reply._replace(headers={**reply.headers, "Date": format_datetime(sent, usegmt=True)})
