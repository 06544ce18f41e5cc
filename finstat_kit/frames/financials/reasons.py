"""Whether a row of financials has figures, by its reason; what counts units loads no more."""

from __future__ import annotations

from typing import Final

import polars as pl

STATUS: Final = pl.Enum(["filed", "gap", "before", "after"])  # of a year of a panel
# Beside these reasons a row has figures, but for some.
_PARTLY: Final = ("not_a_number", "caption_mismatch")
WITHOUT: Final = pl.col("reason").is_not_null() & ~pl.col("reason").cast(pl.String).is_in(_PARTLY)


def has_figures(schema: pl.Schema) -> pl.Expr:
    """Return whether a row has figures, as its reason or the status of a panel shows it."""
    if schema.get("status") == STATUS:  # of a panel, which has a row for each year
        return pl.col("status") == "filed"
    # As many values as rows: polars 1.36 does not sort by a single one.
    return ~WITHOUT if "reason" in schema else pl.repeat(value=True, n=pl.len())
