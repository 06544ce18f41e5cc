"""The exchange of a register and its settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from datetime import date
from typing import Final

import polars as pl

from finstat_kit.errors import attaching
from finstat_kit.progress import Advance, bar
from finstat_kit.transport.exchange import Exchange

# Requests per second of a real host, unless another rate is given: none is published, and other
# clients of the register send four to five.
LIVE_RATE: Final = 5.0
LIVE_CONNECTIONS: Final = 4
# Seconds of its replies, as others wrote down: 168 requests one after the other in 168 s, 66 in
# 118 s, with pauses of 0.25 s.
_LIVE_REPLY: Final = (0.75, 1.5)


@dataclass(slots=True)
class Session:
    """The exchange of a register and its settings.

    Attributes:
        exchange: Sends the requests.
        register: The register, from which pickle makes a collection again.
        page_size: Ids per request of a list.
        connections: Number of concurrent requests.
        rate: Maximum number of requests per second, None for no limit.
        remote: Whether the host is real: bars are shown and long work is refused.
        today: Returns the register's day.
        max_age: Seconds for which cached records are used without checking for changes.
        offline: Whether all answers come from files: nothing is sent, no bars are shown.
    """

    exchange: Exchange
    _: KW_ONLY
    register: object
    page_size: int
    connections: int
    rate: float | None
    remote: bool
    today: Callable[[], date]
    max_age: float = 0.0
    offline: bool = False

    @property
    def watched(self) -> bool:
        """Whether work may take long enough for a bar."""
        return self.remote and not self.offline

    def seconds_of(self, requests: int) -> tuple[float, float]:
        """Return how long requests of records take, at least and at most.

        Until the first reply, and where there is no network, as the live register replies.
        """
        connections, rate = self.connections, self.rate or math.inf
        replies = (self.exchange.latency, self.exchange.latency)
        if math.isinf(self.exchange.latency) or not self.remote:
            replies = _LIVE_REPLY
        if not self.remote:
            connections, rate = LIVE_CONNECTIONS, LIVE_RATE
        low, high = (max(reply / connections, 1 / rate) for reply in replies)
        return requests * low, requests * high

    def going_on(self) -> str:
        """Return how work that takes requests goes on after an error or Ctrl-C."""
        if self.exchange.cache is not None:
            return f"the same line continues: replies are kept in {self.exchange.cache.path}"
        if not self.watched:
            return "the same line begins again"
        url = self.exchange.base_url
        return f"the same line continues where replies are kept: fk.use({url!r}, cache='ruz.cache')"

    @contextmanager
    def working(
        self,
        what: str,
        number: int,
        so_far: Callable[[], pl.DataFrame | None],
        progress: bool | None,
        going_on: str = "",
    ) -> Iterator[Advance]:
        """Show a bar as long as a block lasts; what ends the block early has the rows so far.

        Args:
            what: The noun of the counted things: records, files.
            number: How many there are to be.
            so_far: Returns the rows so far.
            progress: As given by the user.
            going_on: How the work goes on after that, if not as work that takes requests.

        Yields:
            A function to call with the number of things done.
        """
        done = 0

        def text() -> str:
            return f"interrupted after {done:,} of {number:,} {what}"

        with (
            attaching(so_far, text, going_on=going_on or self.going_on()),
            bar(what, number, watched=self.watched, progress=progress) as shown,
        ):

            def advance(many: int) -> None:
                nonlocal done
                done += many
                shown(many)

            yield advance
