"""What a collection needs of a register, and all that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import polars as pl

from finstat_kit.transport.exchange import Exchange

AtHand = Callable[[pl.Series | None], pl.LazyFrame]


def _of_the_whole() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Session:
    """The settings of a register and its exchange.

    Attributes:
        exchange: What sends the requests.
        page_size: Ids per request of a list.
        connections: Requests at the same time.
        rate: Requests per second at most, None for no limit.
        remote: A real host: bars are shown and long work is refused.
        at_hand: Returns records that need no request, all or those of some ids; None where every
            record is requested.
        since: Returns the day that a copy of a part begins with, None where the whole register
            answers.
        today: Returns the register's day.
        undated: Collections of a copy whose days of change are not known.
        max_age: Seconds for which kept records are used without a look at what changed.
        replayed: All replies come from a file: nothing is sent, no bars are shown.
    """

    exchange: Exchange
    page_size: int
    connections: int
    rate: float | None
    remote: bool
    today: Callable[[], date]
    at_hand: AtHand | None = None
    since: Callable[[], date | None] = _of_the_whole
    undated: frozenset[str] = frozenset()
    max_age: float = 0.0
    replayed: bool = False

    @property
    def watched(self) -> bool:
        """Whether work takes so long that a bar is shown."""
        return self.remote and not self.replayed
