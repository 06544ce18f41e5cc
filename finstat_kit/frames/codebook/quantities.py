"""What the values of a frame are: amounts, shares or ratios, for files written for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from finstat_kit.frames.financials import history, ratios
from finstat_kit.frames.financials.ratios import Quantity
from finstat_kit.frames.findings import peers, summary

_SHARES: Final = ("share", "share_low", "share_high", "share_top5", "percentile")
_KNOWN: Final[dict[str, Quantity]] = {
    **dict.fromkeys(_SHARES, "share"),
    **dict.fromkeys(("largest_difference", "balance_difference"), "amount"),
}
# The column whose texts name the item or ratio that a number is of.
_NAMED_BY: Final = {
    "value": "item",
    **{
        name: "value"
        for schema in (summary.schema([]), peers.PEERS)
        for name, dtype in schema.items()
        if dtype.is_float() and name not in _SHARES
    },
}


def quantities(
    frame: pl.DataFrame, column: str, columns: Mapping[str, str] | None = None
) -> pl.Series:
    """Return the `Quantity` of each row of a column, null where the package knows none.

    By names alone, never by values; only floats have one. Names that are heads have those of the
    package in *columns*.
    """
    if not frame.schema[column].is_float():
        return pl.repeat(None, frame.height, dtype=pl.String, eager=True)
    name = (columns or {}).get(column, column)
    naming = _NAMED_BY.get(name, "")
    if frame.schema.get(naming) == pl.String:
        names = frame[naming].unique().drop_nulls().to_list()
        kinds = {named: quantity_of(named) for named in names}
        return frame[naming].replace_strict(kinds, default=None, return_dtype=pl.String)
    return pl.repeat(_of_column(frame, name), frame.height, dtype=pl.String, eager=True)


def quantity_of(name: str) -> Quantity | None:
    """Return what the values of a column of this package are, by its name."""
    return _KNOWN.get(name) or ratios.quantity(name)


def _of_column(frame: pl.DataFrame, column: str) -> Quantity | None:
    # What `growth` adds to a value of the user's.
    base, _, part = column.rpartition("_")
    if part == "growth" and base in frame.columns:
        return "share"
    if column.isdecimal() and history.LABELS.keys() <= frame.schema.keys():
        return "amount"  # a year of a statement
    return quantity_of(column)
