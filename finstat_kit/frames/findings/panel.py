"""Units over years: one row per unit and year with gaps explicit, and who comes and goes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.errors import invalid
from finstat_kit.frames.financials import assemble
from finstat_kit.frames.financials.reasons import HAS_FIGURES, STATUS, has_figures
from finstat_kit.frames.findings import scale, values
from finstat_kit.frames.findings.summary import check_columns
from finstat_kit.frames.findings.values import one_row_per_year
from finstat_kit.frames.places import labels
from finstat_kit.frames.reports.cells import REASON

_STEPS: Final = ("enter", "stay", "return", "pause", "leave")  # of a unit, from year to year
FLOWS: Final = pl.Schema(
    {
        "year": pl.Int32(),
        **dict.fromkeys(("units", *_STEPS, "dissolved"), pl.Int64()),
        "incomplete": pl.Boolean(),
    }
)
# What belongs to a unit and not to one of its years.
_OF_UNITS: Final = ("ico", "name", *assemble.CARRIED, "nace", *assemble.DAYS)
_PRESENT: Final = " present"


def panel(
    figures: labels.Frame, today: date, years: int | Iterable[int] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Arrange figures as a panel, and count the flows; see `Register.panel`."""
    check_columns(figures, [])
    assemble.check_types(labels.schema_of(figures), scale.AMOUNTS, "figures")
    table, _ = one_row_per_year(values.filed(figures.lazy().collect()))
    table = table.with_columns(has_figures(table.schema).alias(_PRESENT))
    # Those of a panel that is arranged anew are determined anew.
    table = table.drop_nulls(["unit_id", "year"]).drop("status", scale.DOUBTFUL, strict=False)
    filed = table.filter(_PRESENT)["year"].unique().to_list()
    span = _years(years, filed)
    table = scale.marked(table)
    in_span = pl.col("year").is_in(span)
    units = table.filter(_PRESENT, in_span)["unit_id"].unique()
    if units.is_empty():
        raise invalid(
            "figures" if years is None else "years",
            ...,
            f": no unit has figures in {span[0]} to {span[-1]}" if span else ": no row has figures",
            give="figures of units that filed, and years of theirs",
        )
    # Who comes and goes is shown by all years of the figures, also by those that are not wanted.
    every_year = range(min(filed + span), max(filed + span) + 1)
    calendar = pl.DataFrame({"year": every_year}, schema={"year": table.schema["year"]})
    grid = (
        table.filter(_PRESENT)
        .select(pl.col("unit_id").unique().sort())
        .join(calendar, how="cross")
        .join(table, on=["unit_id", "year"], how="left")
        .sort("unit_id", "year")
        .with_columns(pl.col(_PRESENT).fill_null(value=False))
        .with_columns(_status().alias("status"))
    )
    known = [name for name in _OF_UNITS if name in grid.columns]
    latest = table.sort("year").group_by("unit_id").agg(pl.col(known).drop_nulls().last())
    grid = grid.update(latest, on="unit_id", how="left") if known else grid
    if HAS_FIGURES in grid.columns:
        grid = grid.with_columns(pl.col(HAS_FIGURES).fill_null(value=False))
    if "reason" in grid.columns:
        reason = pl.col("reason").cast(pl.String)
        without = pl.when(~pl.col(_PRESENT)).then(pl.lit("no_filing_for_year"))
        grid = grid.with_columns(pl.coalesce(reason, without).cast(REASON).alias("reason"))
    flows = _flows(grid, today).filter(in_span)
    grid = grid.filter(in_span, pl.col("unit_id").is_in(units.implode()))
    columns = table.drop(_PRESENT, scale.DOUBTFUL).columns
    return grid.select(*columns, "status", scale.DOUBTFUL), flows


def _years(years: int | Iterable[int] | None, filed: list[int]) -> list[int]:
    known = arguments.years("figures", filed) if filed else []
    if years is not None:
        return arguments.years("years", years)
    return list(range(known[0], known[-1] + 1)) if known else []


def _status() -> pl.Expr:
    first = pl.col("year").filter(_PRESENT).min().over("unit_id")
    last = pl.col("year").filter(_PRESENT).max().over("unit_id")
    status = (
        pl.when(_PRESENT).then(pl.lit("filed"))
        .when(pl.col("year") < first).then(pl.lit("before"))
        .when(pl.col("year") > last).then(pl.lit("after"))
        .otherwise(pl.lit("gap"))
    )  # fmt: skip
    return status.cast(STATUS)


def _flows(grid: pl.DataFrame, today: date) -> pl.DataFrame:
    is_filed = pl.col("status") == "filed"
    previous_status = pl.col("status").shift(1).over("unit_id", order_by="year")
    was_filed = previous_status == "filed"
    steps = {
        "enter": is_filed & (previous_status == "before"),
        "stay": is_filed & was_filed,
        "return": is_filed & (previous_status == "gap"),
        "pause": was_filed & (pl.col("status") == "gap"),
        "leave": was_filed & (pl.col("status") == "after"),
    }
    if "datumZrusenia" in grid.columns:
        steps["dissolved"] = steps["leave"] & pl.col("datumZrusenia").is_not_null()
    marked = grid.with_columns(former=previous_status, **steps)
    counts = marked.group_by("year").agg(
        units=is_filed.sum(),
        **{name: pl.when(pl.col("former").is_not_null().any()).then(pl.col(name).sum())
           for name in steps},
    )  # fmt: skip
    if "dissolved" not in steps:
        counts = counts.with_columns(dissolved=None)
    is_last_year = pl.col("year") == pl.col("year").max()
    arriving = pl.lit(today) <= pl.date(pl.col("year") + 1, 12, 31)
    counts = counts.with_columns(incomplete=is_last_year & arriving).sort("year")
    return counts.select(FLOWS.names()).cast(FLOWS)
