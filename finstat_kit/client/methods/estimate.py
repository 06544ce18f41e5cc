"""Counts by code of a whole register, estimated from records drawn at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang, Since
from finstat_kit.client.collections import walk
from finstat_kit.client.collections.fetching import most_requests, outcomes, refuse_long_work
from finstat_kit.client.session import Session
from finstat_kit.errors import Either, NotFound, ProtocolError, UsageError, attaching, invalid
from finstat_kit.frames.counts import estimation
from finstat_kit.frames.counts.estimation import NO_RECORD, UNREADABLE
from finstat_kit.frames.places import labels
from finstat_kit.progress import bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS, Record
from finstat_kit.transport.base import Stop, Stopped

_Drawn = tuple[str | None, str | None, str | None]  # code, state and problem of a unit


def estimate(
    session: Session,
    by: By,
    *,
    minutes: float,
    n: int | None,
    seed: int,
    changed_since: Since,
    max_requests: int | None,
    lang: Lang,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the estimated counts of a whole register; see `Register.estimate`."""
    by = labels.field(by, wire.BY_FIELD)
    seconds = 60 * arguments.positive("minutes", minutes)
    seed = arguments.whole("seed", seed, 0, wire.MAX_ID)
    if n is not None:
        n = arguments.whole("n", n, 1, wire.MAX_ID)
    size = _Size(session, n, seconds, max_requests)
    ids = _listed(session, by, changed_since, size, progress)
    sampled_ids = estimation.drawn(ids, seed).head(size.of(ids.len()))

    def estimated(rows: pl.DataFrame) -> pl.DataFrame:
        return estimation.estimated(rows, by, session.source.codelist, ids.len(), lang=lang)

    if not session.source.cost:
        records = session.source.records("units", sampled_ids, keep=True)
        is_missing = pl.col(wire.CHANGED).is_null()
        return estimated(records.with_columns(problem=pl.when(is_missing).then(pl.lit(NO_RECORD))))
    return _fetched(sampled_ids, session, by, size, estimated, progress)


class _Size:
    """The number of records to draw, and the time limit."""

    def __init__(
        self, session: Session, n: int | None, seconds: float, max_requests: int | None
    ) -> None:
        self._session, self._n, self._seconds = session, n, seconds
        self.max_requests = max_requests
        # The rate that turns time into a number of requests; None if all records fit.
        self.rate = session.rate
        self._clock = session.exchange.clock
        self._end = math.inf if n is not None else self._clock() + seconds
        self.over: Final = Stop(clock=self._clock, end=self._end)

    @property
    def may_be_refused(self) -> bool:
        """Whether the sample needs more requests than allowed, given enough ids."""
        return self._records_in(self._seconds) > most_requests(self._session, self.max_requests)

    def of(self, number: int, *, before: float = 0.0) -> int:
        """Return the sample size for *number* ids after *before* seconds.

        Raises:
            UsageError: There is no time for a record, or more requests are needed than allowed.
        """
        drawn = int(min(number, self._records_in(self._end - self._clock() - before)))
        if number and not drawn:
            raise self.too_short()
        requests = drawn * self._session.source.cost
        refuse_long_work(requests, self._session, self.max_requests)
        return drawn

    def _records_in(self, seconds: float) -> float:
        """Return how many records to draw if their number or the time is limited, else infinity."""
        if self._n is not None:
            return self._n
        return math.inf if self.rate is None else max(math.floor(seconds * self.rate), 0)

    def too_short(self) -> UsageError:
        """Return the error for a time too short to list the ids and fetch one record."""
        return invalid(
            "minutes",
            float(f"{self._seconds / 60:g}"),
            "is too short to list the ids and fetch one record",
            give="more minutes, or n= for a number of records without a time limit",
        )


def _listed(
    session: Session, by: str, since: Since, size: _Size, progress: bool | None
) -> pl.Series:
    """Return all ids; refuse too large a sample before listing them."""
    query = walk.query_of(session, "units", since)
    # A partial list of ids is not an estimate.
    text = "interrupted while the ids were listed: there is no estimate yet"
    try:
        with attaching(lambda: None, lambda: text):
            if size.may_be_refused:
                number = walk.count_or_none(session, query, size.over)
                if number is not None:
                    pages = -(-number // query.page_size)
                    size.of(number, before=pages / (size.rate or math.inf))
            ids = walk.ids(session, "units", query, progress=progress, stop=size.over)["id"]
            # Before the records, so that any number of records gives an estimate.
            session.source.codelist(wire.BY_FIELD[by].name, stop=size.over)
    except Stopped:
        raise size.too_short() from None
    return ids


def _fetched(
    ids: pl.Series,
    session: Session,
    by: str,
    size: _Size,
    estimated: Callable[[pl.DataFrame], pl.DataFrame],
    progress: bool | None,
) -> pl.DataFrame:
    """Fetch the records of ids in their order until the time is over, and estimate from them."""
    rows: list[_Drawn] = []

    def result() -> pl.DataFrame:
        schema = dict.fromkeys((by, wire.STATE, "problem"), pl.String)
        return estimated(pl.DataFrame(rows, schema=schema, orient="row"))

    def so_far() -> pl.DataFrame | None:
        return result() if rows else None

    def text() -> Either:
        done = f"interrupted after {len(rows):,} of {ids.len():,} records"
        return Either(f"{done}; the estimate from them is in .partial", done)

    # A record still missing at the end of the time is left out with all drawn after it: otherwise
    # records served quickly would be over-represented.
    fetched = outcomes(
        KINDS["units"], ids.to_list(), session, size.over, max_requests=size.max_requests
    )
    try:
        with (
            attaching(so_far, text, going_on=session.going_on()),
            closing(fetched),
            bar("records", ids.len(), watched=session.watched, progress=progress) as advance,
        ):
            for _, record in fetched:
                rows.append(_drawn(record, by))
                advance(1)
    except Stopped:
        if not rows:
            raise size.too_short() from None
    return result()


def _drawn(record: Record | Exception, by: str) -> _Drawn:
    if isinstance(record, NotFound):
        return None, None, NO_RECORD
    if isinstance(record, ProtocolError):
        return None, None, UNREADABLE
    code, state = getattr(record, by), getattr(record, wire.STATE)
    return None if code is None else str(code), None if state is None else str(state), None
