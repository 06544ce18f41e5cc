"""Figures out of the stored cells of many reports: only the cells of the items are read."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.frames.financials import items
from finstat_kit.frames.reports.cells import CELLS, layout_of
from finstat_kit.frames.reports.check_sums import CHECKS, of_cells
from finstat_kit.frames.reports.form_sums import totals
from finstat_kit.frames.reports.templates import PERIOD
from finstat_kit.mirror.versions import Ints, near
from finstat_kit.protocol.forms import form as forms

_KEY: Final = ["template", "table", "row", "column"]
# Of the balance sheet, added up as items are; no item is called so.
_SIDES: Final = ("side of assets", "side of liabilities")
_CHECKED: Final = 5_000  # reports with all their cells in memory


def figures(
    cells: pl.LazyFrame,
    reports: pl.DataFrame,
    wanted: Collection[str],
    *,
    previous: bool,
    balance: bool,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the items of reports, and the differences of their balance sheets.

    Args:
        cells: All that are stored.
        reports: ``report_id``, ``version`` and ``template`` of reports that fit their template.
        wanted: Names of items; the columns of others are null.
        previous: Whether the period before is wanted too.
        balance: Whether the differences are wanted; else they are null.

    Returns:
        The columns of `Content.figures`, one row per report and period, and ``report_id`` and
        ``balance_difference``, one row per report.
    """
    names = [name for name in items.names() if name in wanted]
    periods = ["current", "previous"] if previous else ["current"]
    parts = _parts(reports["template"]).filter(
        pl.col("item").is_in([*names, *(_SIDES if balance else ())]),
        pl.col("period").is_in(periods),
    )
    read = _Read(cells, reports, parts)
    found = []
    for period in periods:
        sums = {name: read.added(name, period) for name in names}
        odd = reduce(or_, (one.odd for one in sums.values()), np.zeros(reports.height, np.bool_))
        found.append(
            pl.DataFrame([reports["report_id"], *(one.item(name) for name, one in sums.items())])
            .with_columns(
                *(pl.lit(None, pl.Float64).alias(n) for n in items.names() if n not in names),
                pl.lit(period, PERIOD).alias("period"),
                pl.Series("odd", odd),
            )
            .select("report_id", "period", *items.names(), "odd")
        )
    assets, liabilities = (read.added(side, "current") for side in _SIDES)
    off = pl.Series("balance_difference", np.round(assets.values - liabilities.values, 2))
    none = pl.Series(~(assets.filled | liabilities.filled), dtype=pl.Boolean)
    return pl.concat(found), pl.DataFrame([reports["report_id"], off.set(none, None)])


def odd_reports(cells: pl.LazyFrame, reports: pl.DataFrame) -> pl.Series:
    """Return which reports have a filled cell that is no number; arguments as of `figures`."""
    # Parts of the files without such a cell are not read.
    found = _own(cells.filter(pl.col("value").is_null()), reports)
    return found.select(pl.col("report_id").unique()).collect()["report_id"]


def sums_failing(cells: pl.LazyFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Return ``report_id`` and ``failing`` of reports, of which all cells are read.

    Arguments as of `figures`.
    """
    found = [pl.DataFrame(schema={name: CHECKS[name] for name in ("report_id", "failing")})]
    for some in reports.sort("report_id").iter_slices(_CHECKED):
        own = _own(cells, some).select("report_id", *_KEY, "value")
        checks = of_cells(own.collect(engine="streaming").sort("report_id"), forms.shipped)
        counts = checks.select("report_id", "failing")
        all_ = some.select("report_id").join(counts, on="report_id", how="left")
        found.append(all_.with_columns(pl.col("failing").fill_null(0)))
    return pl.concat(found)


class _Sums(NamedTuple):
    """Sums of cells, one per report.

    Attributes:
        values: A blank adds nothing.
        filled: Whether any cell is filled.
        odd: Whether a filled one is no number.
    """

    values: NDArray[np.float64]
    filled: NDArray[np.bool_]
    odd: NDArray[np.bool_]

    def item(self, name: str) -> pl.Series:
        """Return them as an item, null where nothing is filled or something is no number."""
        blank = pl.Series(~self.filled | self.odd, dtype=pl.Boolean)
        return pl.Series(name, self.values, dtype=pl.Float64).round(2).set(blank, None)


class _Read:
    """The cells that are parts of items, of some reports.

    Args:
        cells: All that are stored.
        reports: As of `figures`.
        parts: As `_parts` returns them, of what is wanted.
    """

    def __init__(self, cells: pl.LazyFrame, reports: pl.DataFrame, parts: pl.DataFrame) -> None:
        self._many = reports.height
        keys = parts.select(_KEY).unique(maintain_order=True).with_row_index("key")
        self._parts = parts.join(keys, on=_KEY)
        own = reports.lazy().select("report_id", "version", at=pl.int_range(pl.len()))
        read = (
            cells.filter(near("report_id", reports["report_id"]) & _any_of(keys))
            .join(own.with_columns(pl.col("at").cast(pl.Int32)), on=["report_id", "version"])
            .join(keys.lazy(), on=_KEY)
            .select("key", "at", "value")
            .collect(engine="streaming")
            .sort("key")
        )
        self._starts: Ints = read["key"].search_sorted(pl.Series(range(keys.height + 1))).to_numpy()
        self._at = read["at"].to_numpy()
        self._values = read["value"].to_numpy()

    def added(self, item: str, period: str) -> _Sums:
        """Add up the cells of an item."""
        sums = _Sums(
            np.zeros(self._many), np.zeros(self._many, np.bool_), np.zeros(self._many, np.bool_)
        )
        own = self._parts.filter(item=item, period=period)
        for key, sign in own.select("key", "sign").iter_rows():
            cell = slice(self._starts[key], self._starts[key + 1])
            at, values = self._at[cell], self._values[cell]
            odd = np.isnan(values)
            # A report has a cell once.
            sums.values[at] += sign * np.where(odd, 0.0, values)
            sums.filled[at] = True
            sums.odd[at] |= odd
        return sums


def _parts(templates: pl.Series) -> pl.DataFrame:
    """Return the cells that items, and the sides of the balance sheet, are made of."""
    used = {t: form for t in templates.unique().sort() if (form := forms.shipped(t)) is not None}
    parts = items.parts_of(layout_of(used, CELLS))
    sides = [
        (template, *cell, "current", side, 1.0)
        for template, form in used.items()
        for side, cell in zip(_SIDES, totals(form) or (), strict=False)
    ]
    return pl.concat([parts, pl.DataFrame(sides, schema=parts.schema, orient="row")])


def _any_of(keys: pl.DataFrame) -> pl.Expr:
    """Return whether a cell is one of some, by terms that reach the statistics of the files."""
    terms = [
        (pl.col("template") == template)
        & (pl.col("table") == table)
        # As lists: of a Series polars does not compare the statistics.
        & pl.col("row").is_between(own["row"].min(), own["row"].max())
        & pl.col("row").is_in(own["row"].unique().to_list())
        & pl.col("column").is_in(own["column"].unique().to_list())
        for (template, table), own in keys.group_by("template", "table", maintain_order=True)
    ]
    return reduce(or_, terms, pl.lit(value=False))


def _own(cells: pl.LazyFrame, reports: pl.DataFrame) -> pl.LazyFrame:
    """Return the cells of some reports."""
    own = reports.lazy().select("report_id", "version")
    fitting = cells.filter(near("report_id", reports["report_id"]) & pl.col("row").is_not_null())
    return fitting.join(own, on=["report_id", "version"], how="semi")
