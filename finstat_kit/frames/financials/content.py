"""What the reports of filings say: their items, their sums, and why they have no figures.

One rule decides, out of columns of cells: of a register these are read from the tables of fetched
reports, of a mirror from its files, where only the cells of the wanted items are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, reduce
from operator import or_
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from finstat_kit.frames.financials import items
from finstat_kit.frames.reports.cells import CELLS, FormOf, Reader, layout_of
from finstat_kit.frames.reports.check_sums import failing_sums
from finstat_kit.frames.reports.form_sums import totals
from finstat_kit.frames.reports.reasons import REASON
from finstat_kit.frames.reports.templates import PERIOD
from finstat_kit.protocol import wire
from finstat_kit.protocol.records.decode import KINDS

# Returns the filled cells of some reports, and perhaps of others.
CellsOf = Callable[[pl.Series], pl.LazyFrame]

# A form of the items says more than the notes beside it.
REFUSED: Final = 0  # ranks of reasons
_CAPTIONS: Final = 1
OWN: Final = 2
_ELSEWHERE: Final = 3
_BARE: Final = 4
# What needs all items of a filing: whether there is any figure decides it.
_OF_ALL: Final = frozenset({"reason", "sums_failing", "balance_difference"})
# Of the balance sheet, added up as items are; no item is called so.
_SIDES: Final = ("side of assets", "side of liabilities")
_ANY: Final = pl.lit(value=True)
_CHECKED: Final = 5_000  # reports with all their cells in memory


class Content(NamedTuple):
    """What the reports of filings say.

    Attributes:
        figures: One row per report and period, a column per item, and ``odd``: whether an item is
            null because a cell of it is no number.
        checks: ``report_id``, ``failing`` and ``balance_difference`` of reports of the items.
        reasons: ``report_id``, ``reason`` and ``rank``: why reports have no figures; of the lowest
            rank the first reason is given.
    """

    figures: pl.DataFrame
    checks: pl.DataFrame
    reasons: pl.DataFrame


def read(reports: pl.DataFrame, form_of: FormOf, live: FormOf, activity: items.Activity) -> Content:
    """Read reports, each once, out of their tables.

    Args:
        reports: Records.
        form_of: Returns the form that cells are read by.
        live: Returns the form whose captions are compared with those of the items.
        activity: Which column of costs and revenue is read where there are several.
    """
    cells = Reader(form_of).read(reports.filter(of_items()))[0].lazy()
    sizes = pl.col(wire.TABLES).list.eval(pl.element().list.len())
    return of_cells(reports.with_columns(sizes), lambda _: cells, form_of, live, activity)


@cache
def of_none() -> Content:
    """Return what no report says."""
    return read(KINDS["reports"].frame([]), lambda _: None, lambda _: None, "total")


def of_cells(
    reports: pl.DataFrame,
    cells: CellsOf,
    form_of: FormOf,
    live: FormOf,
    activity: items.Activity,
    columns: Collection[str] | None = None,
    *,
    previous: bool = True,
) -> Content:
    """Return what reports say by their cells.

    Args:
        reports: Records, each once, with the number of cells instead of each table; ``version``
            where their cells have one too.
        cells: Returns their cells; those of reports that do not fit their form are left out.
        form_of: Returns the form that cells are read by.
        live: Returns the form whose captions are compared with those of the items.
        activity: Which column of costs and revenue is read where there are several.
        columns: The columns of financials that are used, None for all: what others need is not
            read.
        previous: Whether the period before is wanted too.
    """
    used = _OF_ALL | set(items.names()) if columns is None else frozenset(columns)
    every = previous or not used.isdisjoint(_OF_ALL)
    own = reports.filter(of_items())
    unfit = Reader(form_of).unfit(own, own[wire.TABLES])
    fitting = own.join(unfit, left_on="id", right_on="report_id", how="anti").select(
        pl.col("^version$"), report_id="id", template=pl.col("idSablony").cast(pl.Int32)
    )
    families = {items.FAMILY_OF[template] for template in fitting["template"].unique()}
    names = [name for name in items.of_families(families) if every or name in used]
    parts = _parts(fitting["template"], form_of, live, activity)
    figures, balance = _added(fitting, cells, parts, names, previous=previous,
                              balance="balance_difference" in used)  # fmt: skip
    checks = fitting.select("report_id").with_columns(balance, failing=pl.lit(0, pl.Int32))
    if "sums_failing" in used:
        checks = checks.update(_failing(fitting, cells, form_of), on="report_id")
    reasons = {REFUSED: [unfit]}
    if "reason" in used:
        now = pl.col("period") == "current"
        filled = figures.filter(now, pl.any_horizontal(pl.col(items.names()).is_not_null()))
        bare = fitting.join(filled, on="report_id", how="anti")
        # Parts of the files without such a cell are not read.
        odd = _with_cells(bare, cells, pl.col("value").is_null())
        reasons[REFUSED].append(_because(odd, "not_a_number"))
        others = items.mismatched(fitting["template"].unique().to_list(), live)
        others_filed = _with_cells(fitting.filter(pl.col("template").is_in(others)), cells)
        reasons[_CAPTIONS] = [_because(others_filed, "caption_mismatch")]
    return Content(figures, checks, pl.concat([_ranked(reasons), _elsewhere(reports, form_of)]))


def of_items() -> pl.Expr:
    """Return whether a report is on a form of the items."""
    return pl.col("idSablony").is_in(items.TEMPLATES).fill_null(value=False)


def has_tables() -> pl.Expr:
    """Return whether a report has tables."""
    return pl.col(wire.TABLES).list.len().fill_null(0) > 0


def _added(
    reports: pl.DataFrame,
    cells: CellsOf,
    parts: pl.DataFrame,
    names: list[str],
    *,
    previous: bool,
    balance: bool,
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the figures of reports that fit their form, and what their balance sheets lack.

    Args:
        reports: ``report_id``, ``template``, and ``version`` if any.
        cells: As of `of_cells`.
        parts: Result of `_parts`.
        names: Of the items that are wanted.
        previous: Whether the period before is.
        balance: Whether the differences of the balance sheets are.
    """
    periods = ["current", "previous"] if previous else ["current"]
    parts = parts.filter(
        pl.col("item").is_in([*names, *(_SIDES if balance else ())]),
        pl.col("period").is_in(periods),
    )
    added = items.Added(cells(reports["report_id"]).filter(_any_of(parts)), reports, parts)
    figures = []
    for period in periods:
        sums = {name: added.up(name, period) for name in names}
        odd = reduce(or_, (each.odd for each in sums.values()), np.zeros(reports.height, np.bool_))
        amounts = [
            sums[name].amounts.alias(name) if name in sums else pl.lit(None, pl.Float64).alias(name)
            for name in items.names()
        ]
        now = pl.lit(period, PERIOD).alias("period")
        figures.append(reports.select("report_id", now, *amounts, pl.Series("odd", odd)))
    assets, liabilities = (added.up(side, "current") for side in _SIDES)
    difference = pl.Series("balance_difference", assets.values - liabilities.values).round(2)
    blank = pl.Series(~(assets.filled | liabilities.filled), dtype=pl.Boolean)
    return pl.concat(figures), difference.set(blank, None)


def _parts(
    templates: pl.Series, form_of: FormOf, live: FormOf, activity: items.Activity
) -> pl.DataFrame:
    """Return the cells that items, and the sides of the balance sheet, are made of."""
    forms = {
        template: form
        for template in templates.unique().sort()
        if (form := form_of(template)) is not None
    }
    parts = items.parts_of(layout_of(forms, CELLS), live, activity)
    sides = [
        (template, *cell, "current", side, 1.0)
        for template, form in forms.items()
        for side, cell in zip(_SIDES, totals(form) or (), strict=False)
    ]
    return pl.concat([parts, pl.DataFrame(sides, schema=parts.schema, orient="row")])


def _any_of(parts: pl.DataFrame) -> pl.Expr:
    """Return whether a cell is one of some, by terms that reach the statistics of files."""
    terms = [
        (pl.col("template") == template)
        & (pl.col("table") == table)
        # As lists: of a Series polars does not compare the statistics.
        & pl.col("row").is_between(own["row"].min(), own["row"].max())
        & pl.col("row").is_in(own["row"].unique().to_list())
        & pl.col("column").is_in(own["column"].unique().to_list())
        for (template, table), own in parts.group_by("template", "table", maintain_order=True)
    ]
    return reduce(or_, terms, pl.lit(value=False))


def _failing(reports: pl.DataFrame, cells: CellsOf, form_of: FormOf) -> pl.DataFrame:
    """Return ``report_id`` and ``failing`` of reports with cells, all of which are read."""
    found = [pl.DataFrame(schema={"report_id": pl.Int64, "failing": pl.Int32})]
    for some in reports.sort("report_id").iter_slices(_CHECKED):
        filed = _of(some, cells).select("report_id", *items.CELL, "value")
        found.append(failing_sums(filed.collect(engine="streaming").sort("report_id"), form_of))
    return pl.concat(found)


def _with_cells(reports: pl.DataFrame, cells: CellsOf, where: pl.Expr = _ANY) -> pl.Series:
    """Return the ids of the reports that have a cell."""
    return _of(reports, cells, where).select(pl.col("report_id").unique()).collect()["report_id"]


def _of(reports: pl.DataFrame, cells: CellsOf, where: pl.Expr = _ANY) -> pl.LazyFrame:
    """Return the cells of reports."""
    filed = cells(reports["report_id"]).filter(where)
    return filed.join(reports.lazy(), on=reports.columns, how="semi")


def _because(reports: pl.Series, reason: str) -> pl.DataFrame:
    return reports.to_frame().with_columns(reason=pl.lit(reason, REASON))


def _ranked(reasons: Mapping[int, list[pl.DataFrame]]) -> pl.DataFrame:
    """Return reasons by their ranks in one frame."""
    return pl.concat(
        rows.select("report_id", "reason", rank=pl.lit(rank))
        for rank, frames in reasons.items()
        for rows in frames
    )


def _elsewhere(reports: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Return why reports on forms that have no items have no figures."""
    others = reports.filter(~of_items())
    unfit = Reader(form_of).unfit(others, others[wire.TABLES])
    tabular = others.filter(has_tables()).select(
        report_id="id", reason=pl.lit("item_not_in_form", REASON)
    )
    # Whether the tables fit a form that has no items is of no matter.
    refused = unfit.join(tabular, on="report_id", how="semi").select("report_id", "reason")
    refused = refused.filter(pl.col("reason") <= pl.lit("template_missing", REASON))
    return _ranked({_ELSEWHERE: [refused, tabular], _BARE: [unfit]})
