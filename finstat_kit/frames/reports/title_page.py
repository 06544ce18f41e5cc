"""Whether the title page of a report is that of its unit and its statement."""

from __future__ import annotations

from typing import Final

import polars as pl

TITLE_PAGE: Final = pl.Enum(["ico", "period"])


def other(page: pl.Expr, ico: pl.Expr, first: pl.Expr, last: pl.Expr) -> pl.Expr:
    """Return which of its facts a title page has from elsewhere, the IČO before the period.

    Null where both agree. What either side does not state is not compared, nor are the zeros before
    an IČO and the spaces in it.

    Args:
        page: Title pages.
        ico: Of the units.
        first: Day of the periods of the statements.
        last: The last one.
    """
    fields = page.struct
    other_ico = _digits(fields.field("ico")) != _digits(ico)
    other_period = (fields.field("obdobieOd") != first) | (fields.field("obdobieDo") != last)
    return (
        pl.when(other_ico).then(pl.lit("ico", TITLE_PAGE))
        .when(other_period).then(pl.lit("period", TITLE_PAGE))
    )  # fmt: skip


def _digits(ico: pl.Expr) -> pl.Expr:
    digits = ico.cast(pl.String).str.replace_all(r"\D", "").str.strip_chars_start("0")
    return pl.when(digits != "").then(digits)
