"""Which values of a frame are ratios or shares, for files that write them for people."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.frames.financials import ratios

SHARE_NAMES: Final = frozenset(
    {"share", "share_a", "share_b", "share_low", "share_high", "share_top5", *ratios.SHARES}
)
RATIO_NAMES: Final = SHARE_NAMES | ratios.NUMBERS.keys() - ratios.AMOUNTS
# Of the value that the column ``value`` of a summary, or of a comparison with peers, names.
_STATISTICS: Final = frozenset(
    {"mean", "p10", "p25", "median", "p75", "p90", "weighted", "limit_low", "limit_high", "own"}
)


def are_ratios(frame: pl.DataFrame, column: str, names: frozenset[str]) -> pl.Series:
    """Return whether each row of a column holds one of some ratios or shares."""
    if not frame.schema[column].is_float():
        return pl.repeat(value=False, n=frame.height, eager=True)
    if column in _STATISTICS and frame.schema.get("value") == pl.String:
        return frame["value"].is_in(list(names)).fill_null(value=False)
    # What `growth` adds to a value.
    base, _, part = column.rpartition("_")
    is_one = column in names or (part == "growth" and base in frame.columns)
    is_one |= part in ("before", "change", "restated") and base in names
    return pl.repeat(value=is_one, n=frame.height, eager=True)
