"""Whether a row of financials has figures; what counts units loads no more."""

from __future__ import annotations

from typing import Final

import polars as pl

STATUS: Final = pl.Enum(["filed", "gap", "before", "after"])  # of a year of a panel
HAS_FIGURES: Final = "has_figures"
# Of a frame without items: beside these reasons there are always some.
_PARTLY: Final = ("not_a_number", "caption_mismatch")


def has_figures(schema: pl.Schema) -> pl.Expr:
    """Return whether a row has figures, as a column says, whatever its reason.

    A frame without that column shows it by its items and ratios, or else by its reason.
    """
    if schema.get("status") == STATUS:  # of a panel, which has a row for each year
        return pl.col("status") == "filed"
    if schema.get(HAS_FIGURES) == pl.Boolean:
        return pl.col(HAS_FIGURES).fill_null(value=False)
    if "reason" not in schema:
        # As many values as rows: polars 1.36 does not sort by a single one.
        return pl.repeat(value=True, n=pl.len())
    # Whoever counts units has no figures: the names of these are loaded when they are needed.
    from finstat_kit.frames.financials import items, ratios

    is_complete = pl.col("reason").is_null()
    if values := [name for name in (*items.names(), *ratios.NAMES) if name in schema]:
        return is_complete | pl.any_horizontal(pl.col(values).is_not_null())
    return is_complete | pl.col("reason").cast(pl.String).is_in(_PARTLY)
