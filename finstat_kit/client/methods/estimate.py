"""Counts by code of a whole register, estimated from records drawn at random."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang, Since
from finstat_kit.client.collections.kept import gathering, unchanged
from finstat_kit.client.collections.records import fetch_record, most_requests, refuse_long_work
from finstat_kit.client.collections.units import Units
from finstat_kit.client.methods.labelling import Labelling
from finstat_kit.client.session import Session
from finstat_kit.errors import Interrupted, NotFound, ProtocolError, RegisterError, UsageError
from finstat_kit.frames import estimation
from finstat_kit.frames.estimation import NO_RECORD, UNREADABLE
from finstat_kit.progress import bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import in_order

_Drawn = tuple[str | None, str | None, str | None]  # code, state and problem of a unit


class Estimating(Labelling):
    """The methods of a register that draw a sample of its records."""

    units: Units
    _session: Session

    def _now(self) -> Estimating:
        """Return the register to use."""
        return self

    def estimate(
        self,
        by: By = "kraj",
        *,
        minutes: float = 10,
        n: int | None = None,
        seed: int = 1,
        changed_since: Since = None,
        max_requests: int | None = None,
        lang: Lang | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Estimate the counts by code of all units from the records that fit into ten minutes.

        The ids are listed and ordered at random, by *seed* alone, and the records of the first *n*
        are fetched: a simple random sample. A larger sample contains every smaller one, and an id
        keeps its place when the list changes. From ``/api/uctovne-jednotky`` and
        ``/api/uctovna-jednotka``.

        Args:
            by: A code field, as in `count_by`.
            minutes: Time for listing the ids and fetching records, by the register's clock. The
                sample size follows from the register's rate; records still missing at the end are
                left out. In process and from a mirror all records fit. Ignored if *n* is given.
            n: Number of records, whatever time they take; all records if there are fewer.
            seed: Another number draws other units.
            changed_since: Only units changed on this day or later; None is everything.
            max_requests: Maximum number of records to fetch; None is 10,000 for a real host and
                no limit elsewhere.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.
            progress: Show bars with the time left; None shows them for a real host in a notebook
                or on a terminal.

        Returns:
            ``code``, ``label``, ``kind`` (String), ``count``, ``count_low``, ``count_high``
            (Int64: units in the whole list), ``share``, ``share_low``, ``share_high`` (Float64, of
            the whole list), ``n`` (records drawn) and ``N`` (ids listed), in the order of
            `count_by`. Every code of the codelist has a row for every *by*: a code without a hit
            has the count 0, and ``count_high`` is its upper bound. Every id drawn is counted; the
            kinds are those of `count_by`, ``no record`` (404) and ``unreadable`` (a record that
            breaks the register's format). Counts are rounded, so their sum may differ slightly
            from ``N``. A complete sample (``n`` = ``N``) has the counts of `count_by`, without
            uncertainty.

            In at least 95 % of samples the true count of a code lies between ``count_low`` and
            ``count_high``. This holds for each row separately: among a hundred rows, about five
            intervals may miss. `plot_counts` and `plot_map` draw the intervals.

        Raises:
            UsageError: An argument is wrong, more records than *max_requests* are needed, or
                *minutes* pass before the first record.
            RegisterError: A request failed; ``.partial`` holds the estimate so far.
            Interrupted: Ctrl-C; ``.partial`` holds the estimate so far, None before the first
                record.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     some = fk.estimate("kraj", n=500, lang="en")
            >>> some.select("label", "count", "count_low", "count_high").row(0)
            ('Region of Bratislava', 6560, 5750, 7410)
            >>> some.select("n", "N").row(0)
            (500, 20000)
        """
        arguments.one_of("by", by, tuple(wire.BY_FIELD))
        seconds = 60 * arguments.positive("minutes", minutes)
        seed = arguments.whole("seed", seed, 0, wire.MAX_ID)
        if n is not None:
            n = arguments.whole("n", n, 1, wire.MAX_ID)
        now = self._now()
        lang = now._language(lang)
        size = _Size(now._session, n, seconds, max_requests)
        ids = _listed(now.units, changed_since, size, progress)
        # Before the records, so that any number of them gives an estimate.
        now._lookup(wire.BY_FIELD[by].name)
        chosen = estimation.drawn(ids, seed).head(size.of(ids.len()))

        def estimated(rows: pl.DataFrame) -> pl.DataFrame:
            return estimation.estimated(rows, by, now._lookup, ids.len(), lang=lang)

        if now._session.at_hand is not None:
            return estimated(_at_hand(chosen, now._session, by))
        return _fetched(chosen, now._session, by, size, estimated, progress)


class _Size:
    """The number of records to draw, and the time limit."""

    def __init__(
        self, session: Session, n: int | None, seconds: float, max_requests: int | None
    ) -> None:
        self._session, self._n, self._seconds = session, n, seconds
        self._max_requests = max_requests
        # The rate that turns time into a number of requests; None if all records fit.
        self.rate = None if session.at_hand is not None else session.rate
        self._clock = session.exchange.clock
        self._end = math.inf if n is not None else self._clock() + seconds
        self.over: Final = _Over(self._clock, self._end)

    @property
    def doubtful(self) -> bool:
        """Whether the sample may need more requests than allowed, given enough ids."""
        most = self._n or math.inf
        if self._n is None and self.rate is not None:
            most = self._seconds * self.rate
        return most > most_requests(self._session, self._max_requests)

    def of(self, number: int, *, before: float = 0.0) -> int:
        """Return the sample size for *number* ids when *before* seconds are spent already.

        Raises:
            UsageError: There is no time for a record, or more requests are needed than allowed.
        """
        drawn = number
        if self._n is not None:
            drawn = min(self._n, number)
        elif self.rate is not None:
            left = self._end - self._clock() - before
            drawn = min(number, max(math.floor(left * self.rate), 0))
        if number and not drawn:
            raise self.too_short()
        if self._session.at_hand is None:
            refuse_long_work(drawn, self._session, self._max_requests)
        return drawn

    def too_short(self) -> UsageError:
        """Return the error for a time too short to list the ids and fetch one record."""
        return UsageError(
            f"minutes={self._seconds / 60:g} is over before the ids are listed and a first record "
            "is fetched; give more minutes, or n= for so many records however long they take"
        )


class _Over(threading.Event):
    """An event that is set at a given time of the register's clock."""

    def __init__(self, clock: Callable[[], float], end: float) -> None:
        super().__init__()
        self._clock, self._end = clock, end

    def is_set(self) -> bool:
        return self._clock() >= self._end


def _listed(units: Units, since: Since, size: _Size, progress: bool | None) -> pl.Series:
    """Return all ids; refuse too large a sample before listing them."""
    query = units._query(since, 0, None)
    try:
        if size.doubtful:
            number = units._count_or_none(query, size.over)
            if number is not None:
                pages = -(-number // query.page_size)
                size.of(number, before=pages / (size.rate or math.inf))
        return units._ids(query, None, None, progress, size.over)["id"]
    except Stopped:
        raise size.too_short() from None
    except RegisterError as error:
        error.partial = error.cursor = None  # of ids, which are no estimate
        raise
    except KeyboardInterrupt as interrupt:
        raise Interrupted(
            "interrupted while the ids were listed: there is no estimate yet"
        ) from interrupt


def _fetched(
    ids: pl.Series,
    session: Session,
    by: str,
    size: _Size,
    estimated: Callable[[pl.DataFrame], pl.DataFrame],
    progress: bool | None,
) -> pl.DataFrame:
    """Fetch the records of ids in their order until the time is over, and estimate from them."""

    def fetch(id_: int, stop: threading.Event) -> _Drawn:
        if stop.is_set():
            raise Stopped  # without one more request
        try:
            record = fetch_record(session, KINDS["units"], id_, stop, kept)
        except NotFound:
            return None, None, NO_RECORD
        except ProtocolError:
            return None, None, UNREADABLE
        code, state = getattr(record, by), getattr(record, wire.STATE)
        return None if code is None else str(code), None if state is None else str(state), None

    rows: list[_Drawn] = []

    def so_far() -> pl.DataFrame:
        schema = dict.fromkeys((by, wire.STATE, "problem"), pl.String)
        return estimated(pl.DataFrame(rows, schema=schema, orient="row"))

    try:
        with bar("records", ids.len(), remote=session.watched, progress=progress) as advance:
            # A record still missing at the end of the time is left out with all drawn after it:
            # otherwise quickly served records would be over-represented.
            kept = unchanged(session, KINDS["units"], ids.to_list(), size.over)
            with gathering(session):
                for _, row in in_order(ids.to_list(), fetch, session.connections, size.over):
                    rows.append(row)
                    advance(1)
    except Stopped:
        if not rows:
            raise size.too_short() from None
    except RegisterError as error:
        error.partial = so_far() if rows else None
        raise
    except KeyboardInterrupt as interrupt:
        raise Interrupted(
            f"interrupted after {len(rows):,} of {ids.len():,} records; the estimate from them is "
            "in .partial of this error",
            partial=so_far() if rows else None,
        ) from interrupt
    return so_far()


def _at_hand(ids: pl.Series, session: Session, by: str) -> pl.DataFrame:
    """Return the sample where records need no request."""
    assert session.at_hand is not None
    rows = session.at_hand("units", ids)
    assert rows is not None
    found = rows.select("id", by, wire.STATE).collect()
    here = found.with_columns(problem=pl.lit(None, pl.String))
    lost = ids.filter(~ids.is_in(found["id"].implode())).to_frame()
    return pl.concat([here, lost.with_columns(problem=pl.lit(NO_RECORD))], how="diagonal")
