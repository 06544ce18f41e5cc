"""The filings of units: which count, found with as few requests as show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.collections.records import refuse_long_work
from finstat_kit.client.collections.units import Units
from finstat_kit.client.methods.contents import Contents
from finstat_kit.errors import Interrupted, RegisterError, UsageError
from finstat_kit.frames import filing_order, filings as rule
from finstat_kit.frames.filing_plan import planned
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.shaped import KINDS

Year = int | Iterable[int] | None
Given = pl.DataFrame | pl.LazyFrame | pl.Series | int | Iterable[int] | None

_CHUNK: Final = 100  # units whose rows are finished together


class Filings(Contents):
    """The methods of a register that find the filings of units."""

    units: Units
    statements: Collection
    reports: Collection

    def _now(self) -> Filings:
        return self

    def filings(
        self,
        units: Given = None,
        year: Year = None,
        *,
        ico: str | None = None,
        consolidated: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """List the filings of units: which one counts for each period, and what it supersedes.

        Of several filings of a unit with the same period, kind and consolidated flag the one filed
        last counts (one without a day goes first), then the one with the highest id. The others
        stay, marked. From ``/api/uctovna-zavierka``, one request per statement, and as few as show
        that the years are complete: ids that grow with the day of filing are used as a hint once
        they were seen to; otherwise, and for ``year=None``, every statement is requested. The
        hint does not show a correction filed more than three years after the end of its year, or
        just when the unit would have filed its next statement; ``year=None`` finds these too.

        Args:
            units: Records of units, as `units.get` returns them, or ids of units.
            year: Year in which the period ends: one, several, or None for all.
            ico: In the place of *units*: all units that share this IČO.
            consolidated: The consolidated statements, in the place of the individual ones.
            max_requests: Maximum number of requests; None is 10,000 for a real host and no limit
                elsewhere. `plan` returns the number to expect.
            progress: Show a bar; None shows one for a real host in a notebook or on a terminal.

        Returns:
            One row per filing, and one per unit, or unit and year, without any; by unit in the
            order given, then by period: ``unit_id`` (Int64), ``ico`` (String), ``statement_id``
            (Int64), ``period_from``, ``period_to`` (Date), ``months`` (Int16), ``year`` (Int32, of
            the end of the period), ``kind`` (String, the register's ``typ``), ``consolidated``
            (Boolean), ``filed`` (Date), ``report_ids`` (List of Int64), ``counts`` (Boolean),
            ``superseded_by`` (Int64, the statement that counts in its place) and ``reason`` (Enum,
            null for a readable filing): ``deleted``, ``non_public``, ``unreadable``, ``not_held``
            (a mirror that lacks statements of the unit), ``no_filing`` or ``no_filing_for_year``.

        Raises:
            UsageError: Neither or both of *units* and *ico*, or more than *max_requests*.
            RegisterError, Interrupted: With ``.partial``, the rows of the units finished so far.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     filed = fk.filings([365], year=2015)
            >>> filed.select("year", "months", "kind", "counts").rows()
            [(2015, 12, 'Riadna', True)]
        """
        now, years = self._now(), years_of(year)
        records = now._units_given(units, ico, years, max_requests)
        if (found := now._filed_at_hand(records, years, consolidated=consolidated)) is not None:
            return found

        def finish(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
            return filed

        return now._by_chunks(records, years, finish, consolidated=consolidated, progress=progress)

    def plan(self, units: Given, year: Year = None) -> pl.DataFrame:
        """Estimate the work of `financials`, before any request.

        Args:
            units: Records of units, whose statements are counted, or ids of units; for ids the
                records themselves are part of the work.
            year: As in `filings`.

        Returns:
            One row for each of ``units``, ``statements`` and ``reports``: ``collection`` (String),
            ``requests`` (Int64), ``seconds`` (Float64, at the register's rate; null without a
            rate) and ``bytes`` (Int64). Templates are not counted: each is requested once.

        Raises:
            UsageError: No units, or no year.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()) as reg:
            ...     units = fk.units.get(fk.units.ids(limit=200))
            ...     fk.plan(units, year=2015).select("collection", "requests").rows()
            [('units', 0), ('statements', 306), ('reports', 232)]
        """
        now, years = self._now(), years_of(year)
        records = _records(units)
        session = now._own_session()
        fetched, counts = 0, None
        if session.at_hand is None and records is None:
            fetched = arguments.ids(units).n_unique()
        elif session.at_hand is None and records is not None:
            counts = records["idUctovnychZavierok"].list.n_unique().fill_null(0)
        return planned(fetched, counts, years, session.rate)

    def _units_given(
        self, units: Given, ico: str | None, years: Sequence[int] | None, most: int | None
    ) -> pl.DataFrame:
        """Return the records of the units that the arguments mean, each once.

        Raises:
            UsageError: Before the first request, where all of the work takes too many.
        """
        if (units is None) == (ico is None):
            raise UsageError("give either units (records or ids) or ico")
        if ico is not None:
            units = self.units.ids(ico=ico, progress=False)
        records = _records(units)
        expected = int(self.plan(units, years)["requests"].sum())
        refuse_long_work(expected, self._own_session(), most)
        if records is None:
            ids = arguments.ids(units)
            records = self.units.get(ids, errors="keep", max_requests=ids.len(), progress=False)
        return records.unique("id", keep="first", maintain_order=True)

    def _filed_at_hand(
        self, units: pl.DataFrame, years: Sequence[int] | None, *, consolidated: bool
    ) -> pl.DataFrame | None:
        """Return the filings of units where no request is needed for them, None elsewhere."""
        return None

    def _by_chunks(
        self,
        units: pl.DataFrame,
        years: Sequence[int] | None,
        finish: Callable[[pl.DataFrame, pl.DataFrame, Advance], pl.DataFrame],
        *,
        consolidated: bool,
        progress: bool | None,
    ) -> pl.DataFrame:
        """Find the filings of units chunk by chunk and finish each, so that an error loses one."""
        session = self._own_session()
        done: list[pl.DataFrame] = []
        expected = int(self.plan(units, years)["requests"].sum())
        try:
            with bar("requests", expected, remote=session.remote, progress=progress) as advance:
                walk = _Walk(self.statements, units, years, advance)
                for chunk in units.iter_slices(_CHUNK) if units.height else [units]:
                    found = walk.statements_of(chunk)
                    filed = rule.by_rule(chunk, found, years, consolidated=consolidated)
                    done.append(finish(chunk, filed, advance))
        except (RegisterError, KeyboardInterrupt) as error:
            empty = finish(
                units.clear(),
                rule.by_rule(
                    units.clear(), KINDS["statements"].frame([]), years, consolidated=consolidated
                ),
                lambda n: None,
            )
            partial = pl.concat([empty, *done])
            if isinstance(error, RegisterError):
                error.partial = partial
                raise
            raise Interrupted(
                f"interrupted after {_CHUNK * len(done):,} of {units.height:,} units; .partial "
                "holds their rows",
                partial=partial,
            ) from error
        return pl.concat(done)


class _Walk:
    """The statements fetched so far, and what their ids hint at."""

    def __init__(
        self,
        statements: Collection,
        units: pl.DataFrame,
        years: Sequence[int] | None,
        advance: Advance,
    ) -> None:
        self._statements = statements
        self._advance = advance
        self._years = years
        self.found = KINDS["statements"].frame([])
        self._known = rule.known_of(self.found)
        self._hinted = False
        ids = rule.held_by(units)["statement_id"]
        if years is not None and ids.len() > filing_order.PROBES:
            self._fetch(filing_order.probes(ids))
            self._hinted = filing_order.grows_with_filing(self._known)

    def statements_of(self, units: pl.DataFrame) -> pl.DataFrame:
        """Fetch what shows the filings of units; return all statements fetched so far."""
        held = rule.held_by(units)
        for ids in self._rounds(held):
            self._fetch(ids)
        return self.found

    def _rounds(self, held: pl.DataFrame) -> Iterator[pl.Series]:
        if not self._hinted:
            yield held.join(self._known, on="statement_id", how="anti")["statement_id"]
            return
        assert self._years is not None
        while not (ids := filing_order.next_ids(held, self._known, list(self._years))).is_empty():
            yield ids

    def _fetch(self, ids: pl.Series) -> None:
        if ids.is_empty():
            return
        # What may be sent was settled before the first request.
        records = self._statements.get(ids, errors="keep", max_requests=ids.len(), progress=False)
        self._advance(ids.len())
        self.found = pl.concat([self.found, records])
        self._known = rule.known_of(self.found)


def years_of(year: Year) -> list[int] | None:
    """Return the years that an argument means, ascending; None is all of them."""
    if year is None:
        return None
    several = isinstance(year, Iterable) and not isinstance(year, str)
    each = list(year) if several else [year]  # type: ignore[arg-type]
    found = sorted({arguments.whole("year", one, 1990, 2100) for one in each})
    if not found:
        raise UsageError("year: there is none in it; give a year, several, or None for all")
    return found


def _records(units: Given) -> pl.DataFrame | None:
    """Return records of units that were given, None where ids were."""
    if isinstance(units, pl.LazyFrame):
        units = units.collect()
    if not isinstance(units, pl.DataFrame) or "idUctovnychZavierok" not in units.columns:
        return None
    if units.schema["idUctovnychZavierok"] not in (pl.List(pl.Int64), pl.List(pl.Null), pl.Null):
        raise UsageError(
            f"units: the column 'idUctovnychZavierok' is {units.schema['idUctovnychZavierok']}; "
            "give records as fk.units.get returns them"
        )
    arguments.ids(units)
    absent = {n: t for n, t in KINDS["units"].schema.items() if n not in units.columns}
    # A record that was not there has no day of change; where the column is left out all are there.
    return (
        units.with_columns(
            pl.lit(wire.BEGINNING if name == wire.CHANGED else None, dtype).alias(name)
            for name, dtype in absent.items()
        )
        .select(KINDS["units"].schema.names())
        .cast(KINDS["units"].schema)
    )
