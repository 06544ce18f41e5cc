"""Which of several rows of a unit and year is taken: one rule for all that counts or summarizes."""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from finstat_kit.errors import UsageError

_PLACE: Final = " place"
# By column, as far as a frame has it: what goes before, and whether it is the greatest.
_ORDER: Final = {
    "reason": (pl.col("reason").is_not_null(), False),  # a row without any figure
    "source_column": (pl.col("source_column").cast(pl.String) == "previous", False),
    "months": (pl.col("months"), True),
    "period_to": (pl.col("period_to"), True),
}


class Rows(NamedTuple):
    """The rows taken, in their order, and the number of those left out."""

    table: pl.DataFrame
    left_out: int


def one_row_per_year(table: pl.DataFrame) -> Rows:
    """Take one row of each unit and year.

    A row with figures goes before one with a reason instead, the current column before the
    previous one, a longer period before a shorter one, a later end before an earlier one. A frame
    without ``unit_id`` or ``year`` is taken whole.

    Raises:
        UsageError: The frame has both individual and consolidated statements.
    """
    if "consolidated" in table.columns and table["consolidated"].drop_nulls().n_unique() > 1:
        raise UsageError(
            "the frame has individual and consolidated statements, and each would count as a unit",
            cure='take one of them: .filter(pl.col("consolidated") == False)',
        )
    if not {"unit_id", "year"} <= set(table.columns):
        return Rows(table, 0)
    if _are_alone(table):
        return Rows(table, 0)
    ranks = [rank for name, rank in _ORDER.items() if name in table.columns]
    order, descending = [rank for rank, _ in ranks], [down for _, down in ranks]
    taken = (
        table.with_row_index(_PLACE)
        .sort(*order, _PLACE, descending=[*descending, False], nulls_last=True)
        .unique(["unit_id", "year"], keep="first", maintain_order=True)
        .sort(_PLACE)
        .drop(_PLACE)
    )
    return Rows(taken, table.height - taken.height)


def _are_alone(table: pl.DataFrame) -> bool:
    """Return whether no unit has two rows of a year, as far as that is seen at little cost."""
    # One number is compared several times faster than a pair.
    pair = pl.col("unit_id").cast(pl.Int64) * 10_000 + pl.col("year").cast(pl.Int64)
    return bool(table.select(pair.n_unique() == pl.len()).item())
