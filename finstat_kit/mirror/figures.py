"""`financials` out of a mirror: many filings at once, and only the cells of the wanted items.

The filings are chosen by the same rules as those of a register (`frames.filings`,
`frames.financials`); what differs is where their parts are read from. A query's filter is applied
as soon as its columns are known: to units before their statements are read, to filings before
their reports, to reports before their cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit.frames.financials import assemble as assembling, filings as rule, items
from finstat_kit.frames.reports.cells import FormOf, Reader
from finstat_kit.frames.reports.reasons import REASON
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.filed import Records, filings_of
from finstat_kit.mirror.item_cells import figures, odd_reports, sums_failing
from finstat_kit.mirror.stored_cells import LENGTHS
from finstat_kit.mirror.versions import MISSING, legible, near
from finstat_kit.protocol import wire
from finstat_kit.protocol.records.decode import KINDS

_UNIT: Final = (*rule.UNIT, "nazovUJ", *assembling.CARRIED)
_REPORT: Final = (
    "id", "idUctovnejZavierky", "idSablony", "mena", wire.STATE, "pristupnostDat", wire.CHANGED,
)  # fmt: skip
_ANY_YEAR: Final = range(1, 10_000)
_FILINGS: Final = 20_000  # in memory at a time
_YEARS: Final = 8  # of filings that a unit has, where all are wanted
# What needs all items of a filing: whether there is any figure decides it.
_OF_ALL: Final = frozenset({"reason", "sums_failing", "balance_difference"})
# What is known of units, of filings and of reports before the next are read. The year before has
# periods of its own.
_KNOWN_OF_UNITS: Final = ("unit_id", "ico", "name", *assembling.CARRIED)
_KNOWN_OF_FILINGS: Final = (
    "kind", "consolidated", "fund", "filed", "statement_id", "superseded_by",
    "superseded_by_reason",
)  # fmt: skip
_PERIODS: Final = (
    "year", "period_from", "period_to", "months", "periods_in_year", "supersedes",
)  # fmt: skip
_KNOWN_OF_REPORTS: Final = ("report_id", "template", "currency")


@dataclass(frozen=True)
class Query:
    """The rows and columns that are wanted.

    Attributes:
        years: None is every year.
        consolidated: As of `financials`.
        from_previous: As of `financials`.
        columns: Those that are used.
        conditions: All of which must hold. They only spare work: some are applied early, the
            others by the caller.
    """

    years: Sequence[int] | None
    consolidated: bool
    from_previous: bool
    columns: frozenset[str] = frozenset(assembling.schema())
    conditions: tuple[pl.Expr, ...] = ()

    def on(self, *known: str) -> list[pl.Expr]:
        """Return the conditions on known columns."""
        return [c for c in self.conditions if set(c.meta.root_names()) <= set(known)]

    def ends(self) -> tuple[date, date] | None:
        """Return the days within which the periods end, None for any."""
        years = self.years
        conditions = [] if self.from_previous else self.on("year")
        if years is None and conditions:
            found = pl.DataFrame({"year": [None, *_ANY_YEAR]}, schema={"year": pl.Int32})
            left = found.filter(*conditions)["year"]
            years = None if left.null_count() else left.to_list() or [1]
        return None if years is None else (date(min(years), 1, 1), date(max(years), 12, 31))


# What decides which filing is taken.
_EVERYTHING: Final = Query(None, False, False, frozenset([*items.names(), "reason"]))


class Figures:
    """Reads the figures of units."""

    def __init__(self, answers: Answers, form_of: FormOf) -> None:
        self._answers = answers
        self._form_of = form_of

    def lazy(self, query: Query) -> pl.LazyFrame:
        """Return the figures of all units held."""
        schema = assembling.schema()

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
            now = Query(
                query.years, query.consolidated, query.from_previous, frozenset([*shown, *roots]),
                early,
            )  # fmt: skip
            left = n_rows
            for frame in self.of_all(now):
                rows = frame if left is None else frame.head(left)
                left = None if left is None else left - rows.height
                yield (rows if predicate is None else rows.filter(predicate)).select(shown)
                if left == 0:
                    return

        return register_io_source(source, schema=schema)

    def of_all(self, query: Query) -> Iterator[pl.DataFrame]:
        """Yield the figures of all units listed whose contents are kept, by ascending id."""
        self._answers.complete()
        with legible(self._answers.path):
            units = self._answers.newest("units").filter(pl.col("gone").ne_missing(MISSING))
            if (only := self._answers.only()) is not None:
                units = units.filter(pl.col("id").is_in(only.implode()))
            known = units.select(unit_id="id", ico="ico", name="nazovUJ",
                                 **{n: pl.col(n) for n in assembling.CARRIED})  # fmt: skip
            ids = (
                known.filter(*query.on(*_KNOWN_OF_UNITS))
                .select(id="unit_id")
                .collect(engine="streaming")
                .sort("id")
            )
            pieces = _pieces(ids, query.years)

        def records() -> Iterator[pl.DataFrame]:
            for some in pieces:
                with legible(self._answers.path):
                    own = units.filter(near("id", some["id"]))
                    own = own.join(some.lazy(), on="id", how="semi")
                    yield own.select(_UNIT).collect(engine="streaming").sort("id")

        return self._by_pieces(records(), query)

    def of(self, units: pl.DataFrame, query: Query) -> Iterator[pl.DataFrame]:
        """Yield the figures of units, in the order of their records."""
        return self._by_pieces(_pieces(units, query.years), query)

    def _by_pieces(self, units: Iterable[pl.DataFrame], query: Query) -> Iterator[pl.DataFrame]:
        empty = True
        for some in units:
            empty = False
            yield self._of_some(some, query)
        if empty:
            yield pl.DataFrame(schema=assembling.schema())

    def _of_some(self, units: pl.DataFrame, query: Query) -> pl.DataFrame:
        filed = filings_of(
            self._answers, units, query.years, query.ends(), consolidated=query.consolidated
        )
        known: tuple[str, ...] = (*_KNOWN_OF_UNITS, *_KNOWN_OF_FILINGS)
        known += () if query.from_previous else _PERIODS
        carried = assembling.carried(units)
        taken = _narrowed(self._taken(filed), carried, "unit_id", query.on(*known))
        taken, listed = self._reports_of(taken, query)
        if conditions := query.on(*known, *_KNOWN_OF_REPORTS):
            described = (
                carried.join(taken, on="unit_id")
                .with_columns(assembling.READ_FROM)
                .join(
                    assembling.sources(listed),
                    left_on="read_from",
                    right_on="statement_id",
                    how="left",
                )
            )
            taken = described.filter(*conditions).select(taken.columns)
            listed = listed.join(taken, on="statement_id", how="semi")
        with legible(self._answers.path):
            reports = listed.filter("own").unique("report_id").rename({"report_id": "id"})
            content = self._read(reports, query)
        return assembling.assembled(
            taken, units, listed, content, from_previous=query.from_previous
        )

    def _taken(self, filed: pl.DataFrame) -> pl.DataFrame:
        """Return the filing of each unit and year.

        Only the reports of filings that supersede others, or that have no kind, are read for it.
        """
        readable = pl.col("reason").is_null()
        each = ["unit_id", "year"]
        contested = filed.filter(
            readable & (pl.col("superseded_by").is_not_null() | pl.col("kind").is_null())
        )
        rivals = filed.filter(readable).join(contested, on=each, how="semi", nulls_equal=True)
        ids = rivals["report_ids"].explode().drop_nulls().unique()
        reports, lacking = self._held(ids, title=True, files=True)
        with legible(self._answers.path):
            content = self._read(reports, _EVERYTHING)

        def read(some: pl.DataFrame) -> assembling.Content:
            ids = some.select(report_id="id")
            return assembling.Content(
                *(part.join(ids, on="report_id", how="semi") for part in content)
            )

        choice = assembling.Choice(filed, reports.clear(), read)
        while (wanted := choice.wanted(contested=True)).len():
            choice.lack(wanted.filter(wanted.is_in(lacking.implode())))
            choice.add(reports.join(wanted.alias("id").to_frame(), on="id", how="semi"))
        return choice.taken()

    def _held(self, ids: pl.Series, *, title: bool, files: bool) -> tuple[pl.DataFrame, pl.Series]:
        """Return the records of reports, and which are not held.

        Args:
            ids: Of the reports.
            title: Whether their title pages are read; else they are null.
            files: Whether their files are.
        """
        columns = _columns(title=title, files=files)
        if ids.is_empty():
            none = (
                KINDS["reports"]
                .frame([])
                .with_columns(
                    pl.lit(None, pl.List(pl.Int32)).alias(LENGTHS),
                    version=pl.lit(None, pl.Int64),
                )
            )
            return none.select(columns), ids
        if not self._answers.keeps("reports"):
            raise self._answers.absent("reports")
        with legible(self._answers.path):
            reports = Records(self._answers, "reports")
            rows = reports.rows(ids).select(columns).collect(engine="streaming")
            return pl.concat([rows, reports.unread(ids, rows)]), reports.lacking(ids)

    def _reports_of(self, taken: pl.DataFrame, query: Query) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return filings with the reports that their figures are taken from.

        Of a filing one of which is not held none is read.
        """
        ids = taken["report_ids"].explode().drop_nulls().unique()
        # Both are large, and rarely needed.
        held, lacking = self._held(ids, title=_needs_title(query), files="reason" in query.columns)
        found = held.clear()
        while (wanted := assembling.next_reports(taken, found)["report_id"].unique()).len():
            absent = wanted.filter(wanted.is_in(lacking.implode()))
            if absent.len():
                taken = _not_held(taken, absent)
            found = pl.concat(
                [found, held.join(wanted.alias("id").to_frame(), on="id", how="semi")]
            )
        return taken, assembling.listed_reports(taken, found)

    def _read(self, reports: pl.DataFrame, query: Query) -> assembling.Content:
        """Read what the query needs of reports."""
        every = query.from_previous or not query.columns.isdisjoint(_OF_ALL)
        wanted = items.names() if every else sorted(query.columns & set(items.names()))
        own = reports.filter(assembling.of_items())
        unfit = Reader(self._form_of).unfit(own, own[wire.TABLES])
        fitting = own.join(unfit, left_on="id", right_on="report_id", how="anti").select(
            "version", report_id="id", template=pl.col("idSablony").cast(pl.Int32)
        )
        reasons = [unfit.select("report_id", "reason")]
        failing = own.select(report_id="id", failing=pl.lit(0, pl.Int32))
        cells = self._answers.stored_cells()
        found, balance = figures(
            cells, fitting, wanted, previous=query.from_previous,
            balance="balance_difference" in query.columns,
        )  # fmt: skip
        if "sums_failing" in query.columns:
            failing = failing.update(sums_failing(cells, fitting), on="report_id")
        if "reason" in query.columns:
            filled = pl.any_horizontal(pl.col(items.names()).is_not_null())
            now = found.filter(filled, pl.col("period") == "current")
            odd = odd_reports(cells, fitting.join(now, on="report_id", how="anti"))
            odd_ones = odd.to_frame().with_columns(reason=pl.lit("not_a_number", REASON))
            reasons.append(odd_ones)
        refused = assembling.ranked({assembling.REFUSED: pl.concat(reasons)})
        elsewhere = assembling.elsewhere(reports, reports[wire.TABLES], self._form_of)
        checks = failing.join(balance, on="report_id", how="left")
        return assembling.Content(found, checks, pl.concat([refused, elsewhere]))


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
    return query.from_previous or not query.columns.isdisjoint(assembling.FILED)


def _pieces(units: pl.DataFrame, years: Sequence[int] | None) -> Iterator[pl.DataFrame]:
    """Yield units in pieces whose filings fit into memory."""
    of_each = _YEARS if years is None else min(len(years), _YEARS)
    return units.iter_slices(_FILINGS // of_each)


def _columns(*, title: bool, files: bool) -> list[str | pl.Expr]:
    """Return the columns to read of reports, instead of their tables their sizes."""
    schema = KINDS["reports"].schema
    large = [
        pl.col(name) if is_needed else pl.lit(None, schema[name]).alias(name)
        for name, is_needed in {"titulnaStrana": title, "prilohy": files}.items()
    ]
    return [*_REPORT, pl.col(LENGTHS).alias(wire.TABLES), "version", *large]


def _narrowed(
    rows: pl.DataFrame, others: pl.DataFrame, on: str, conditions: Sequence[pl.Expr]
) -> pl.DataFrame:
    """Return the rows that fulfil conditions on their columns and on those of others."""
    if not conditions:
        return rows
    return rows.join(others, on=on, how="left").filter(*conditions).select(rows.columns)


def _not_held(taken: pl.DataFrame, absent: pl.Series) -> pl.DataFrame:
    """Return filings without the reports of those that list an absent one."""
    each = taken.select("statement_id", "report_ids").explode("report_ids")
    short = each.filter(pl.col("report_ids").is_in(absent.implode()))["statement_id"].unique()
    is_short = pl.col("statement_id").is_in(short.implode()).fill_null(value=False)
    return taken.with_columns(
        reason=pl.when(is_short).then(pl.lit("not_held", REASON)).otherwise("reason"),
        report_ids=pl.when(~is_short).then("report_ids"),
    )
