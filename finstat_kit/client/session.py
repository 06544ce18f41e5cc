"""The settings and the exchange of a register, as its collections use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import polars as pl

from finstat_kit.transport.exchange import Exchange

AtHand = Callable[[str, pl.Series | None], pl.LazyFrame | None]


def _of_the_whole() -> None:
    return None


def _with_lists() -> bool:
    return False


def _keeps_none(name: str) -> bool:
    return False


def _all_read(name: str) -> pl.Series:
    return pl.Series("id", [], dtype=pl.Int64)


@dataclass(frozen=True, slots=True)
class Session:
    """The settings of a register and its exchange.

    Attributes:
        exchange: Sends the requests.
        page_size: Ids per request of a list.
        connections: Number of concurrent requests.
        rate: Maximum number of requests per second, None for no limit.
        remote: Whether the host is a real one: bars are shown and long work is refused.
        at_hand: Returns the local records of a collection, all (None where some are lacking) or
            those of some ids; None if every record is requested.
        since: Returns the first day of change of a partial copy, None for the whole register.
        extracted: Returns whether this is an extract of a copy: records by id, no lists.
        keeps: Returns whether a copy keeps the records of a collection beside units.
        unread: Returns the ids of a collection beside units that a copy could not read.
        today: Returns the register's day.
        undated: Collections of a copy without known days of change.
        max_age: Seconds for which kept records are used without checking for changes.
        replayed: Whether all replies come from a file: nothing is sent, no bars are shown.
    """

    exchange: Exchange
    page_size: int
    connections: int
    rate: float | None
    remote: bool
    today: Callable[[], date]
    at_hand: AtHand | None = None
    since: Callable[[], date | None] = _of_the_whole
    extracted: Callable[[], bool] = _with_lists
    keeps: Callable[[str], bool] = _keeps_none
    unread: Callable[[str], pl.Series] = _all_read
    undated: frozenset[str] = frozenset()
    max_age: float = 0.0
    replayed: bool = False

    @property
    def watched(self) -> bool:
        """Whether work may take long enough for a bar."""
        return self.remote and not self.replayed
