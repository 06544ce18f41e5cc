"""What the reports of filings say: their items, their sums, and why they have no figures.

One rule decides, out of columns of cells: of a register these are read from the tables of fetched
reports, of a mirror from its files, where only the cells of the wanted items are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache, reduce
from operator import or_
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from finstat_kit.frames.financials import items
from finstat_kit.frames.reports.cells import REASON, CellReader
from finstat_kit.frames.reports.sums import (
    Amounts,
    FormSums,
    Ints,
    balance_totals,
    failing_sums,
    in_cents,
)
from finstat_kit.frames.reports.templates import PERIOD
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import Form, FormOf

# Returns the filled cells of some reports, and perhaps of others.
CellsOf = Callable[[pl.Series], pl.LazyFrame]

# A form of the items says more than the notes beside it.
REFUSED: Final = 0  # ranks of reasons
_CAPTIONS: Final = 1
OWN: Final = 2
_ELSEWHERE: Final = 3
_BARE: Final = 4
# What is given, or not, by whether a filing has any figure.
_SHOWN: Final = frozenset({"has_figures", "reason", "sums_failing", "balance_difference"})
_ANY: Final = pl.lit(value=True)
_REASONS: Final = pl.Schema({"report_id": pl.Int64(), "reason": REASON, "rank": pl.Int32()})
_CONTENTS: Final = pl.Schema({"report_id": pl.Int64(), "content": pl.String()})
# The size of a matrix of cells and reports. Small: each thread keeps the memory of the largest one
# that it freed.
_CELLS: Final = 1_000_000
_PLACE: Final = ["table", "row", "column"]
_FIGURES: Final = pl.Schema(
    {
        "report_id": pl.Int64(),
        "period": PERIOD,
        "has_figure": pl.Boolean(),
        "has_text": pl.Boolean(),
        "has_other_caption": pl.Boolean(),
    }
)
_CHECKS: Final = pl.Schema(
    {"report_id": pl.Int64(), "balance_difference": pl.Float64(), "failing": pl.Int32()}
)


class Readings(NamedTuple):
    """What the reports of filings say.

    Attributes:
        figures: One row per report and period, a column per item that is wanted and that the forms
            have; ``has_figure``, whether there is an item, wanted or not; ``has_text``, whether an
            item is null because a cell of it is no number, and ``has_other_caption``, whether one
            is because its row has another caption.
        checks: ``report_id``, ``failing`` and ``balance_difference`` of reports of the items.
        reasons: ``report_id``, ``reason`` and ``rank``: why reports have no figures; of the lowest
            rank the first reason is given.
        contents: ``report_id`` and ``content``, all amounts but zeros in one text, of reports
            beside which another one of the statement is on the same form.
    """

    figures: pl.DataFrame
    checks: pl.DataFrame
    reasons: pl.DataFrame
    contents: pl.DataFrame


class FigureReader:
    """Reads what reports say.

    Args:
        form_of: Returns the form that cells are read by.
        live: Returns the form whose captions are compared with those of the items.
        activity: Which column of costs and revenue is read where there are several.
        columns: The columns of financials that are used, None for all: what others need is not
            read.
        previous: Whether the period before is wanted too.
    """

    def __init__(
        self,
        form_of: FormOf,
        live: FormOf,
        activity: items.Activity,
        columns: Collection[str] | None = None,
        *,
        previous: bool = True,
    ) -> None:
        self._reader = CellReader(form_of)
        self._form_of = form_of
        self._live = live
        self._activity = activity
        self._used = _SHOWN | set(items.names()) if columns is None else frozenset(columns)
        self._periods = ("current", "previous") if previous else ("current",)
        # Whether all items are needed, and whether it is needed if there is any of them.
        self._every = previous or "sums_failing" in self._used
        self._shows_any = not self._used.isdisjoint(_SHOWN)

    def of_tables(self, reports: pl.DataFrame) -> Readings:
        """Read records of reports, each once, out of their tables."""
        cells = self._reader.read(reports.filter(of_items()))[0].lazy()
        sizes = pl.col(wire.TABLES).list.eval(pl.element().list.len())
        return self.of_cells(reports.with_columns(sizes), lambda _: cells)

    def of_cells(self, reports: pl.DataFrame, cells: CellsOf) -> Readings:
        """Return what reports say by their cells.

        Args:
            reports: Records, each once, with the number of cells instead of each table; ``version``
                where their cells have one too; ``filled``, where it is known, the columns of a
                report's tables that have a filled cell, the n-th of all as bit n.
            cells: Returns their cells; those of reports that do not fit their form are left out.
        """
        unfit = self._reader.unfit(reports, reports[wire.TABLES])
        of_others = reports.filter(~of_items()).select(report_id="id", has_tables=has_tables())
        fitting = (
            reports.filter(of_items())
            .join(unfit, left_on="id", right_on="report_id", how="anti")
            .select(
                pl.col("^version$"),
                report_id="id",
                template=pl.col("idSablony").cast(pl.Int32),
                filled="filled" if "filled" in reports.columns else pl.lit(None, pl.Int64),
            )
        )
        keys = fitting.drop("filled")
        # Parts of the files without such a cell are not read.
        is_text = pl.col("value").is_null()
        with_text = _with_cells(keys if self._shows_any else keys.clear(), cells, is_text)
        figures, checks = [pl.DataFrame(schema=_FIGURES)], [pl.DataFrame(schema=_CHECKS)]
        templates = fitting["template"].unique().sort().to_list()
        for template in templates:
            of_form = fitting.filter(template=template).drop("template")
            form_checks, form_figures = self._of_form(of_form, cells, template, with_text)
            checks.append(form_checks)
            figures += form_figures
        all_figures = pl.concat(figures, how="diagonal")
        reasons = [_ranked(REFUSED, unfit.join(of_others, on="report_id", how="anti"))]
        if "reason" in self._used:
            with_figure = all_figures.filter("has_figure", period="current")
            bare = with_text.join(with_figure, on="report_id", how="anti")
            reasons.append(_ranked(REFUSED, bare, "not_a_number"))
            odd_forms = [t for t in templates if self._plan(t, every=self._every).mismatched]
            odd = _with_cells(keys.filter(pl.col("template").is_in(odd_forms)), cells)
            reasons.append(_ranked(_CAPTIONS, odd, "caption_mismatch"))
        if not of_others.is_empty():
            reasons += _reasons_without_items(of_others, unfit)
        same_form = reports.clear()
        if reports["idUctovnejZavierky"].n_unique() < reports.height:
            is_same = pl.struct("idUctovnejZavierky", "idSablony").is_duplicated()
            same_form = reports.filter(is_same)
        of_one_form = fitting.join(same_form, left_on="report_id", right_on="id", how="semi")
        contents = _contents(of_one_form.drop("filled"), cells)
        return Readings(
            all_figures, pl.concat(checks, how="diagonal"), pl.concat(reasons), contents
        )

    def _of_form(
        self, reports: pl.DataFrame, cells: CellsOf, template: int, with_text: pl.DataFrame
    ) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
        """Return what `_read_form` does, out of fewer cells where that is enough.

        One number shows that there is any. All items are read only of reports without it, unless
        no column of the period has a filled cell, and of those with a cell that is no number
        (*with_text*).
        """
        plan, keys = self._plan(template, every=self._every), reports.drop("filled")
        checks, figures = self._read_form(keys, cells, plan)
        if self._every or not self._shows_any:
            return checks, figures
        (now,) = figures
        clear = now.filter("has_figure").join(with_text, on="report_id", how="anti")
        may_have_any = (pl.col("filled") & self._columns(template)).ne_missing(0)
        rest = reports.filter(may_have_any).join(clear, on="report_id", how="anti").drop("filled")
        more_checks, more = self._read_form(rest, cells, self._plan(template, every=True))
        settled = now.join(rest, on="report_id", how="anti")
        checks = checks.join(rest, on="report_id", how="anti")
        figures = [settled, *(of_rest.select(settled.columns) for of_rest in more)]
        return pl.concat([checks, more_checks], how="diagonal"), figures

    def _read_form(
        self, reports: pl.DataFrame, cells: CellsOf, plan: _Plan
    ) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
        """Return the checks of reports on one form, and their figures period by period."""
        checks = [pl.DataFrame(schema=_CHECKS)]
        figures: dict[str, list[pl.DataFrame]] = {period: [] for period in self._periods}
        for ids, amounts in _amounts(reports, cells, plan):
            added = {term: amounts.up(cells_of) for term, cells_of in plan.terms.items()}
            balance, failing = np.full(len(ids), np.nan), np.zeros(len(ids), np.int64)
            if plan.totals is not None:
                balance = amounts.up(zip((1.0, -1.0), plan.totals, strict=True)).amounts
            if "sums_failing" in self._used:
                failing = failing_sums(amounts, plan.sums)
            columns = {f"{item} {period}": sums.amounts for (item, period), sums in added.items()}
            read = in_cents({"balance_difference": balance, **columns})
            failing_column = pl.Series("failing", failing, pl.Int32)
            checks.append(pl.DataFrame([ids, read["balance_difference"], failing_column]))
            for period, parts in figures.items():
                own = {item: sums for (item, of), sums in added.items() if of == period}
                nothing = np.zeros(len(ids), np.bool_)
                has_figure = reduce(or_, (~np.isnan(x.amounts) for x in own.values()), nothing)
                has_text = reduce(or_, (np.isnan(x.values) for x in own.values()), nothing)
                facts = [
                    pl.Series("period", [period], PERIOD).new_from_index(0, len(ids)),
                    pl.Series("has_figure", has_figure),
                    pl.Series("has_text", has_text),
                    pl.Series("has_other_caption", [plan.mismatched]).new_from_index(0, len(ids)),
                ]
                items_read = [read[f"{item} {period}"].alias(item) for item in own]
                parts.append(pl.DataFrame([ids, *facts, *items_read]))
        return pl.concat(checks), [pl.concat(parts) for parts in figures.values() if parts]

    def _columns(self, template: int) -> int:
        """Return the columns of a form that are of the wanted periods, the n-th as bit n."""
        form = self._form_of(template)
        assert form is not None  # reports fit it
        columns = [column for table in form.tables for column in table.columns]
        return sum(1 << n for n, each in enumerate(columns) if each.period in self._periods)

    def _plan(self, template: int, *, every: bool) -> _Plan:
        """Return what is read of reports on a form: every item, or those that are used."""
        form = self._form_of(template)
        assert form is not None  # reports fit it
        wanted = None if every else self._used.intersection(items.names())
        if wanted is not None and self._shows_any:
            first = next(item.name for item in items.item_table() if template in item.forms)
            wanted |= {first}
        checks = self._used & {"sums_failing", "balance_difference"}
        return _planned(form, self._live(template), self._activity, wanted, checks, self._periods)


@lru_cache(maxsize=256)
def _planned(
    form: Form,
    live: Form | None,
    activity: items.Activity,
    wanted: frozenset[str] | None,
    checks: frozenset[str],
    periods: tuple[str, ...],
) -> _Plan:
    """Return what is read of reports on a form.

    Args:
        form: By which cells are read.
        live: Whose captions are compared with those of the items.
        activity: As of `FigureReader`.
        wanted: Items; None for all.
        checks: Columns of checks.
        periods: Of the items.
    """
    sums = FormSums(form)
    parts, mismatched = items.parts_of(form, live, activity, wanted)
    parts = parts.filter(pl.col("period").is_in(periods)).with_columns(cell=sums.place)
    condition, read_cells = pl.col("template") == form.id, np.arange(sums.cells)
    if "sums_failing" not in checks:
        sides = balance_totals(form) if "balance_difference" in checks else None
        read = parts.select(_PLACE)
        read = pl.concat([read, pl.DataFrame(sides or (), schema=read.schema, orient="row")])
        condition &= _near_cells(read)
        read_cells = read.select(sums.place.unique()).to_series().to_numpy()
    places = np.full(sums.cells, -1)
    places[read_cells] = np.arange(len(read_cells))
    totals = sums.totals if "balance_difference" in checks else None
    terms: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for item, period, sign, cell in parts.select("item", "period", "sign", "cell").iter_rows():
        terms.setdefault((item, period), []).append((sign, int(places[cell])))
    return _Plan(
        sums,
        terms,
        None if totals is None else (int(places[totals[0]]), int(places[totals[1]])),
        condition,
        places,
        max(len(read_cells), 1),
        mismatched,
    )


class _Plan(NamedTuple):
    """What is read of reports on a form.

    Attributes:
        sums: Of the form.
        terms: The cells that are added up, by item and period.
        totals: The cells of both totals of the balance sheet; None if they are not compared.
        cells: Whether a cell may be one of those that are read.
        places: Of each cell of the form its row among those that are read, which the terms and
            totals name; -1 where it is not read.
        many: The number of cells that are.
        mismatched: Whether an item expects another caption.
    """

    sums: FormSums
    terms: dict[tuple[str, str], list[tuple[float, int]]]
    totals: tuple[int, int] | None
    cells: pl.Expr
    places: Ints
    many: int
    mismatched: bool


def _amounts(
    reports: pl.DataFrame, cells: CellsOf, plan: _Plan
) -> Iterator[tuple[pl.Series, Amounts]]:
    """Yield the cells of reports on one form, some reports at a time, each with their ids."""
    # Few queries: each reads the ids of all rows in the files that it opens. Of reports that follow
    # each other, these are few.
    for batch in reports.sort("report_id").iter_slices(max(_CELLS // plan.many, 1)):
        filed = cells(batch["report_id"]).filter(plan.cells).with_columns(cell=plan.sums.place)
        rows = filed.select(*batch.columns, "value", "cell").collect(engine="streaming")
        # Looked up here: a join by polars and a sort take twice as long.
        ids, cell = batch["report_id"].to_numpy(), plan.places[rows["cell"].to_numpy()]
        report = np.searchsorted(ids, rows["report_id"].to_numpy())
        report = np.minimum(report, len(ids) - 1)
        is_read = cell >= 0
        for name in batch.columns:
            is_read &= batch[name].to_numpy()[report] == rows[name].to_numpy()
        read = pl.DataFrame({"cell": cell, "report": report, "value": rows["value"]})
        if not is_read.all():
            read = read.filter(pl.Series(is_read))
        yield batch["report_id"], Amounts((plan.many, len(ids)), read)


def of_items() -> pl.Expr:
    """Return whether a report is on a form of the items."""
    return pl.col("idSablony").is_in(items.TEMPLATES).fill_null(value=False)


def of_none() -> Readings:
    """Return readings without a report."""
    schemas = (_FIGURES, _CHECKS, _REASONS, _CONTENTS)
    return Readings(*(pl.DataFrame(schema=schema) for schema in schemas))


def any_of_items(names: Iterable[str]) -> pl.Expr:
    """Return whether a row has an amount of one of some items."""
    return pl.any_horizontal(pl.lit(value=False), *(pl.col(name).is_not_null() for name in names))


def has_tables() -> pl.Expr:
    """Return whether a report has tables."""
    return pl.col(wire.TABLES).list.len().fill_null(0) > 0


def _near_cells(cells: pl.DataFrame) -> pl.Expr:
    """Return a condition that some cells fulfil, and few others, and that spares parts of files."""
    terms = [
        (pl.col("table") == table) & _is_near("row", own["row"]) & _is_near("column", own["column"])
        for (table,), own in cells.group_by("table", maintain_order=True)
    ]
    return reduce(or_, terms, pl.lit(value=False))


def _is_near(name: str, values: pl.Series) -> pl.Expr:
    wanted = values.unique().sort().to_list()
    between = pl.col(name).is_between(wanted[0], wanted[-1])
    if wanted[-1] - wanted[0] < 2 * len(wanted):
        return between  # a few more cells are read faster than each is looked up
    # As a list: of a Series polars does not compare the statistics.
    return between & pl.col(name).is_in(wanted)


def _with_cells(reports: pl.DataFrame, cells: CellsOf, where: pl.Expr = _ANY) -> pl.DataFrame:
    """Return the ``report_id`` of the reports that have a cell."""
    if reports.is_empty():
        return reports.select("report_id")
    filed = cells(reports["report_id"]).filter(where)
    own = filed.join(reports.lazy(), on=reports.columns, how="semi")
    return own.select(pl.col("report_id").unique()).collect()


def _contents(reports: pl.DataFrame, cells: CellsOf) -> pl.DataFrame:
    """Return the contents of reports; see `Readings`."""
    if reports.is_empty():
        return pl.DataFrame(schema=_CONTENTS)
    place = ["table", "row", "column"]
    written = pl.format("{} {} {} {}", *place, pl.col("value").cast(pl.String).fill_null("?"))
    filed = (
        cells(reports["report_id"])
        .filter(pl.col("value").ne_missing(0))
        .join(reports.lazy(), on=reports.columns, how="semi")
        .sort(place)
        .group_by("report_id", maintain_order=True)
        .agg(content=written.str.join("; "))
    )
    return (
        reports.select("report_id")
        .join(filed.collect(), on="report_id", how="left")
        .with_columns(pl.col("content").fill_null(""))
    )


def _ranked(rank: int, reports: pl.DataFrame, reason: str | None = None) -> pl.DataFrame:
    """Return reports with a rank of their reasons, or of the one reason that all have."""
    own = pl.col("reason") if reason is None else pl.lit(reason, REASON)
    return reports.select("report_id", reason=own, rank=pl.lit(rank))


def _reasons_without_items(others: pl.DataFrame, unfit: pl.DataFrame) -> list[pl.DataFrame]:
    """Return why reports on forms that have no items have no figures.

    Args:
        others: Their ``report_id``, and whether each ``has_tables``.
        unfit: Reports that give no number, and why; perhaps others too.
    """
    unfit = unfit.join(others, on="report_id").select("report_id", "reason", "has_tables")
    # Whether the tables fit a form that has no items is of no matter.
    refused = unfit.filter("has_tables", pl.col("reason") <= pl.lit("template_missing", REASON))
    tabular = _ranked(_ELSEWHERE, others.filter("has_tables"), "item_not_in_form")
    return [_ranked(_ELSEWHERE, refused), tabular, _ranked(_BARE, unfit)]
