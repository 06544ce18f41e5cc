"""`financials` out of a mirror: many filings at once, and only the cells of the wanted items.

The filings are chosen by the same rules as those of a register (`filings` and `assemble` of
`frames.financials`); what differs is where their parts are read from. Of a query's filter what is
of units is applied before their statements are read, and what is of filings before their reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from math import ceil
from typing import Final

import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit import arguments
from finstat_kit.arguments import LATEST
from finstat_kit.client.source import Wanted
from finstat_kit.frames.financials import assemble, filing_order, filings as filing_rules, items
from finstat_kit.frames.financials.choice import Choice, listed_reports, parted, report_ids
from finstat_kit.frames.financials.latest import COLUMNS, Latest
from finstat_kit.frames.financials.readings import FigureReader, Readings, has_tables
from finstat_kit.frames.places import nace
from finstat_kit.frames.reports.cells import REASON
from finstat_kit.mirror.state import State
from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.rows import FILLED, LENGTHS, MISSING, is_among, schema_of
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import FormOf
from finstat_kit.protocol.records import KINDS

_UNIT: Final = (*filing_rules.UNIT, "nazovUJ", *assemble.CARRIED, *assemble.DAYS)
_REPORT: Final = (
    "id", "idUctovnejZavierky", "idSablony", "mena", wire.STATE, "pristupnostDat", wire.CHANGED,
)  # fmt: skip
_OF_FILINGS: Final = ("id", "idUctovnejZavierky", "idSablony", "mena", wire.TABLES)
_ANY: Final = pl.lit(value=True)
_ENDS: Final = pl.col("obdobieDo")
_ANY_YEAR: Final = range(1, 10_000)
_FILINGS: Final = 140_000  # in memory at a time
_VALUES: Final = 5_000_000  # of their columns, at a time
_YEARS: Final = 8  # of filings that a unit has, where all are wanted
_KNOWN_OF_UNITS: Final = ("unit_id", "ico", "name", *assemble.CARRIED)
_KNOWN_OF_FILINGS: Final = filing_rules.FILINGS.keys() - {"reason"}  # which reports decide too


@dataclass(frozen=True)
class Query:
    """The rows and columns that are wanted.

    Attributes:
        wanted: As of `financials`.
        columns: Those that are used.
        conditions: All of which must hold. They only spare work: those on units or on filings are
            applied early, and all by the caller.
    """

    wanted: Wanted
    columns: frozenset[str] = frozenset(assemble.schema())
    conditions: tuple[pl.Expr, ...] = ()

    def on(self, *known: str) -> list[pl.Expr]:
        """Return the conditions on known columns."""
        return [c for c in self.conditions if set(c.meta.root_names()) <= set(known)]

    def ends(self) -> tuple[date, date] | None:
        """Return the days within which the periods end, None for any."""
        years = arguments.given_years(self.wanted.years)
        conditions = [] if self.wanted.from_previous else self.on("year")
        if years is None and conditions:
            years_before = pl.DataFrame({"year": [None, *_ANY_YEAR]}, schema={"year": pl.Int32})
            left = years_before.filter(*conditions)["year"]
            years = None if left.null_count() else left.to_list() or [1]
        return None if years is None else (date(min(years), 1, 1), date(max(years), 12, 31))


# What decides which filing is taken.
_DECIDING: Final = frozenset([*items.names(), "reason"])


@dataclass(frozen=True)
class Figures:
    """Reads the figures of units.

    Args:
        state: Of the mirror.
        form_of: Returns the form that cells are read by.
        live: Returns the form whose captions are compared with those of the items.
    """

    state: State
    form_of: FormOf
    live: FormOf

    def lazy(self, query: Query) -> pl.LazyFrame:
        """Return the figures of all units held."""
        schema = assemble.schema()

        def source(
            columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            shown = schema.names() if columns is None else columns
            roots = [] if predicate is None else predicate.meta.root_names()
            # polars counts rows before the predicate, which then must not remove any earlier.
            early = () if predicate is None or n_rows is not None else tuple(_all_of(predicate))
            now = Query(query.wanted, frozenset([*shown, *roots]), early)
            left = n_rows
            for frame in self.of_all(now):
                rows = frame if left is None else frame.head(left)
                left = None if left is None else left - rows.height
                yield (rows if predicate is None else rows.filter(predicate)).select(shown)
                if left == 0:
                    return

        return register_io_source(source, schema=schema)

    def of_all(self, query: Query) -> Iterator[pl.DataFrame]:
        """Yield the figures of all units listed, by ascending id."""
        with legible(self.state.path):
            units = self.state.newest("units").filter(pl.col("gone").ne_missing(MISSING))
            known = units.select(unit_id="id", ico="ico", name="nazovUJ",
                                 **{n: pl.col(n) for n in assemble.CARRIED})  # fmt: skip
            ids = (
                known.filter(*query.on(*_KNOWN_OF_UNITS))
                .select(id="unit_id")
                .collect(engine="streaming")
                .sort("id")
            )
            pieces = _pieces(ids, query)

        def records() -> Iterator[pl.DataFrame]:
            for some in pieces:
                with legible(self.state.path):
                    own = self.state.newest("units", some["id"])
                    own = own.join(some.lazy(), on="id", how="semi")
                    yield own.select(_UNIT).collect(engine="streaming").sort("id")

        return (self._of_some(units, query) for units in records())

    def of(self, units: pl.DataFrame, query: Query) -> Iterator[pl.DataFrame]:
        """Yield the figures of units, in the order of their records."""
        return (self._of_some(piece, query) for piece in _pieces(units, query))

    def latest(self, units: pl.DataFrame, query: Query) -> Latest:
        """Return the last years with figures of units, the newest read first."""
        # A condition on filings could remove the last year, and leave another one in its place.
        any_year = replace(
            query,
            wanted=query.wanted._replace(years=None),
            columns=query.columns | COLUMNS,
            conditions=(),
        )
        filed = filings_of(self.state, units, any_year)
        latest = Latest(units)
        while True:
            is_open = pl.col("unit_id").is_in(latest.open_ids.implode())
            rows = latest.next_filings(filed.filter(is_open))
            if rows.is_empty():
                return latest
            their_units = units.filter(pl.col("id").is_in(rows["unit_id"].implode()))
            latest.add(rows, self._of_filings(their_units, rows, any_year))

    def _of_some(self, units: pl.DataFrame, query: Query) -> pl.DataFrame:
        if query.wanted.years == LATEST:
            return self.latest(units, query).figures()
        return self._of_filings(units, filings_of(self.state, units, query), query)

    def _of_filings(self, units: pl.DataFrame, filed: pl.DataFrame, query: Query) -> pl.DataFrame:
        if "nace" in query.columns:
            activities = self.state.codelists["activities"]["code"]
            units = units.with_columns(nace=nace.of_codes(pl.col("skNace"), activities))
        taken = self._taken(filed)
        if not query.wanted.from_previous:  # the year before has periods of its own
            taken = taken.filter(*query.on(*_KNOWN_OF_FILINGS))
        taken, held, listed = self._reports_of(taken, query)
        own_ids = listed.filter("own")["report_id"].sort()
        reports = held.filter(is_among(held["id"], own_ids))
        with legible(self.state.path):
            said = self._read(
                reports, query.columns, query.wanted.activity, previous=query.wanted.from_previous
            )
        return assemble.assembled(
            taken, units, listed, said,
            from_previous=query.wanted.from_previous, columns=query.columns,
        )  # fmt: skip

    def _taken(self, filed: pl.DataFrame) -> pl.DataFrame:
        """Return the filing of each unit and year.

        Only the reports of filings that supersede others, or that have no kind, are read for it.
        Of units with one plain filing per year nothing has to be chosen.
        """
        plain, filed = parted(filed)
        if filed.is_empty():
            return plain
        readable = pl.col("reason").is_null()
        each = ["unit_id", "year"]
        contested = filed.filter(
            readable & (pl.col("superseded_by").is_not_null() | pl.col("kind").is_null())
        )
        competing = filed.filter(readable).join(contested, on=each, how="semi", nulls_equal=True)
        ids = competing["report_ids"].explode().drop_nulls().unique()
        reports, lacking = self._held(ids, title=True, files=True)
        with legible(self.state.path):
            content_of_all = self._read(reports, _DECIDING, "total", previous=False)

        def read(some: pl.DataFrame) -> Readings:
            ids = some.select(report_id="id")
            return Readings(
                *(part.join(ids, on="report_id", how="semi") for part in content_of_all)
            )

        choice = Choice(filed, reports.clear(), read)
        while (wanted := choice.wanted(contested=True)).len():
            choice.add(
                reports.join(wanted.alias("id").to_frame(), on="id", how="semi"),
                not_held=wanted.filter(wanted.is_in(lacking.implode())),
            )
        return pl.concat([plain, choice.taken()])

    def _held(self, ids: pl.Series, *, title: bool, files: bool) -> tuple[pl.DataFrame, pl.Series]:
        """Return the records of reports, and which are not held.

        Args:
            ids: Of the reports.
            title: Whether their title pages are read.
            files: Whether the files of those without tables are.
        """
        columns = _columns(title=title)
        if ids.is_empty():
            schema = KINDS["reports"].schema | schema_of("reports")
            return pl.DataFrame(schema=pl.Schema(schema)).select(columns), ids
        self.state.see_kept("reports")
        with legible(self.state.path):
            reports = Records(self.state, "reports")
            rows = reports.rows(ids, columns)
            bare = rows.filter(~has_tables())["id"]
            if files and bare.len():  # they take longer to read than all the rest
                rows = rows.join(reports.rows(bare, ["id", "prilohy"]), on="id", how="left")
            return rows, reports.lacking(ids)

    def _reports_of(
        self, taken: pl.DataFrame, query: Query
    ) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Return filings, the records of their reports, and these by filing, with few columns.

        Of a filing one of which is not held none is read.
        """
        ids = report_ids(taken)
        # Both are large, and rarely needed.
        held, lacking = self._held(
            ids["report_id"].unique(), title=_needs_title(query), files="reason" in query.columns
        )
        if lacking.len():
            taken = _not_held(taken, lacking)
            ids = report_ids(taken)
        of_filings = held.select(*_OF_FILINGS, pl.col("^titulnaStrana$"))
        return taken, held, listed_reports(ids, of_filings)

    def _read(
        self,
        reports: pl.DataFrame,
        columns: frozenset[str],
        activity: items.Activity,
        *,
        previous: bool,
    ) -> Readings:
        """Read what is needed of reports."""

        def cells(ids: pl.Series) -> pl.LazyFrame:
            return self.state.scan("cells", ids).filter(pl.col("row").is_not_null())

        reader = FigureReader(self.form_of, self.live, activity, columns, previous=previous)
        return reader.of_cells(reports, cells)


def _all_of(condition: pl.Expr) -> Iterator[pl.Expr]:
    """Yield the conditions that must all hold for one to hold."""
    parts = condition.meta.pop()
    for left, right in (parts, parts[::-1]) if len(parts) == 2 else ():
        if (left & right).meta.eq(condition):
            yield from _all_of(left)
            yield from _all_of(right)
            return
    yield condition


def _needs_title(query: Query) -> bool:
    """Return whether the title pages of reports are read."""
    return query.wanted.from_previous or not query.columns.isdisjoint(assemble.FILED)


def _pieces(units: pl.DataFrame, query: Query) -> Iterator[pl.DataFrame]:
    """Yield units in equal pieces whose filings and figures fit into memory."""
    ends = query.ends()
    of_each = _YEARS if ends is None else min(ends[1].year - ends[0].year + 1, _YEARS)
    many = max(min(_FILINGS, _VALUES // max(len(query.columns), 1)) // of_each, 1)
    pieces = max(ceil(units.height / many), 1)
    return units.iter_slices(ceil(units.height / pieces)) if len(units) else iter([units])


def _columns(*, title: bool) -> list[str | pl.Expr]:
    """Return the columns to read of reports, instead of their tables their sizes."""
    columns: list[str | pl.Expr] = [*_REPORT, pl.col(LENGTHS).alias(wire.TABLES), FILLED, "version"]
    if title:
        page = pl.col("titulnaStrana").struct.field
        seat = page("adresa").struct.field(*assemble.SEAT)
        columns.append(
            pl.struct(page(*assemble.PAGE), adresa=pl.struct(seat)).alias("titulnaStrana")
        )
    return columns


def _not_held(taken: pl.DataFrame, absent: pl.Series) -> pl.DataFrame:
    """Return filings without the reports of those that list an absent one."""
    each = taken.select("statement_id", "report_ids").explode("report_ids")
    short = each.filter(pl.col("report_ids").is_in(absent.implode()))["statement_id"].unique()
    is_short = pl.col("statement_id").is_in(short.implode()).fill_null(value=False)
    return taken.with_columns(
        reason=pl.when(is_short).then(pl.lit("not_held", REASON)).otherwise("reason"),
        report_ids=pl.when(~is_short).then("report_ids"),
    )


class Records:
    """The records of a collection, as a state has them."""

    def __init__(self, state: State, name: str) -> None:
        stands = state.standing(name)
        self._held, self._unread = stands.held, stands.unread
        self._newest = partial(state.newest, name)

    def lacking(self, ids: pl.Series) -> pl.Series:
        """Return which of some ids are not held; unreadable ones are not among them."""
        absent = ids.filter(~is_among(ids, self._held) & ~is_among(ids, self._unread))
        return absent.alias("id").unique().sort()

    def rows(
        self, ids: pl.Series, columns: Iterable[str | pl.Expr], where: pl.Expr = _ANY
    ) -> pl.DataFrame:
        """Return the records that are held of some ids, in no guaranteed order.

        Of unreadable ones there is a row of nulls.
        """
        nearby = self._newest(ids).filter(where).select(columns)
        rows = nearby.collect(engine=filing_rules.IN_MEMORY)
        held = rows.filter(is_among(rows["id"], ids.sort()) & is_among(rows["id"], self._held))
        unread = ids.filter(is_among(ids, self._unread)).alias("id").unique().to_frame()
        # In one piece here, instead of in each step that needs it.
        return pl.concat([held, unread], how="diagonal", rechunk=True)


def filings_of(state: State, units: pl.DataFrame, query: Query) -> pl.DataFrame:
    """Return the filings of units by `by_rule`, ``not_held`` where a statement may be lacking.

    Args:
        state: Of the mirror.
        units: Records of units, each once.
        query: What is wanted; filings whose periods end on other days may be left out.
    """
    years = arguments.given_years(query.wanted.years)
    consolidated = query.wanted.consolidated
    if not state.keeps("statements"):
        owned_statements, closed = KINDS["statements"].frame([]), units["id"]
    else:
        with legible(state.path):
            statements = Records(state, "statements")
            owned_statements, closed = _statements_of(
                statements,
                units,
                years,
                query.ends(),
                query.wanted.filed_until,
                consolidated=consolidated,
            )
    filed = filing_rules.by_rule(
        units,
        owned_statements,
        years,
        consolidated=consolidated,
        filed_until=query.wanted.filed_until,
        not_held=closed,
    )
    if not state.is_part:
        return filed
    # Of a part of the register a unit without a record is outside, and no fault of its record.
    outside = units.filter(pl.col(wire.CHANGED).is_null())["id"].implode()
    not_held = pl.when(pl.col("unit_id").is_in(outside)).then(pl.lit("not_held", REASON))
    return filed.with_columns(reason=pl.coalesce(not_held, "reason"))


def _statements_of(
    statements: Records,
    units: pl.DataFrame,
    years: Sequence[int] | None,
    ends: tuple[date, date] | None,
    until: date | None,
    *,
    consolidated: bool,
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the statements of units in some years, and the units that may have others there."""
    listed_ids = filing_rules.held_by(units)
    ids = listed_ids["statement_id"]

    def read(ids: pl.Series, where: pl.Expr = _ANY) -> pl.DataFrame:
        return statements.rows(ids, filing_rules.STATEMENT, where)

    if ends is None:
        rows = read(ids)
    else:
        undated = _ENDS.is_null() | ~filing_rules.is_plausible(_ENDS)
        # Without those filed later a unit may have none.
        rows = read(ids, _ENDS.is_between(*ends) | undated | ~filing_rules.is_filed(until))
    lacking = statements.lacking(ids)
    odd = rows.filter(filing_rules.is_undated(consolidated=consolidated))["id"]
    unclear = pl.concat([lacking, odd])
    owners = listed_ids.filter(pl.col("statement_id").is_in(unclear.implode()))
    closed = owners.filter(pl.col("statement_id").is_in(lacking.implode()))
    if years is None or owners.is_empty():
        return rows, closed["unit_id"].unique()
    # Which years their statements can be of is shown by all that these units filed.
    own = listed_ids.join(owners, on="unit_id", how="semi")
    of_owners = read(own["statement_id"])
    possible = filing_order.possible(own, filing_rules.known_of(of_owners), years)
    closed = closed.filter(pl.col("statement_id").is_in(possible["statement_id"].implode()))
    rows = pl.concat([rows.join(of_owners, on="id", how="anti"), of_owners])
    return rows, closed["unit_id"].unique()
