"""Days that pass and requests that fail, for tests of syncs."""

from __future__ import annotations

from datetime import timedelta

from finstat_kit.protocol.wire import Reply
from tests.support.registers import Watched

UNITS = 240
SEED = 14  # a unit changed on the last day, and the first ones are neither deleted nor non-public
PAGE = UNITS  # so that there are few commits
RECORD = "/api/uctovna-jednotka"


def next_day(register: Watched, days: int = 1) -> None:
    register.sample.set_today(register.today + timedelta(days=days))


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
