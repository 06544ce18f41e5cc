"""Which values of a frame are ratios or shares, for files that write them for people."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.frames.financials import ratios
from finstat_kit.frames.findings import peers, summary

SHARE_NAMES: Final = frozenset(
    {"share", "share_a", "share_b", "share_low", "share_high", "share_top5", "percentile",
     *ratios.SHARES}
)  # fmt: skip
RATIO_NAMES: Final = SHARE_NAMES | ratios.NUMBERS.keys() - ratios.AMOUNTS
# Of the value that the column ``value`` of a summary, or of a comparison with peers, names.
_STATISTICS: Final = frozenset(
    name
    for schema in (summary.schema([]), peers.PEERS)
    for name, dtype in schema.items()
    if dtype.is_float() and name not in SHARE_NAMES
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
