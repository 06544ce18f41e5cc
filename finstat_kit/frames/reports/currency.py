"""The currency of amounts: the one that a report names, else that of the law at its end."""

from __future__ import annotations

from datetime import date
from typing import Final

import polars as pl

EURO: Final = "EUR"
KORUNA: Final = "SKK"
CURRENCY_COLUMNS: Final = ("mena", "titulnaStrana")  # of reports
_EURO_SINCE: Final = date(2009, 1, 1)  # Act 659/2007, section 2


def named() -> pl.Expr:
    """Return the currency that a report names, null where it names none."""
    name = pl.col("mena").cast(pl.String).str.strip_chars().str.to_uppercase()
    return pl.when(name != "").then(name)


def in_koruna(last: pl.Expr) -> pl.Expr:
    """Return whether amounts of no named currency are in korunas.

    Args:
        last: The last day of the filing's own period, whose currency its previous column has, too.
    """
    return (last < _EURO_SINCE).fill_null(value=False)


def of_reports(reports: pl.Schema) -> pl.Expr:
    """Return the currency of reports, by what they name and by the end of their title page.

    Args:
        reports: Their columns, perhaps without these.
    """
    name = named() if "mena" in reports else pl.lit(None, pl.String)
    page, last = reports.get("titulnaStrana"), pl.lit(None, pl.Date)
    if isinstance(page, pl.Struct) and "obdobieDo" in page.to_schema():
        last = pl.col("titulnaStrana").struct.field("obdobieDo").cast(pl.Date, strict=False)
    by_law = pl.when(in_koruna(last)).then(pl.lit(KORUNA)).otherwise(pl.lit(EURO))
    return pl.coalesce(name, by_law)
