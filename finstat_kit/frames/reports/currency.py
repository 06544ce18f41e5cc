"""The currency of amounts: the one that a report names, else that of the law at its end."""

from __future__ import annotations

from collections.abc import Mapping
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


def is_foreign(reports: pl.Schema, last: pl.Expr) -> pl.Expr:
    """Return whether the amounts of reports are not in euro.

    Args:
        reports: Their columns, perhaps without that of the currency.
        last: The last days of their periods.
    """
    name = named() if "mena" in reports else pl.lit(None, pl.String)
    return pl.coalesce(name != EURO, in_koruna(last))


def last_day(reports: pl.Schema) -> pl.Expr:
    """Return the last day of the period on the title page of reports, null where none is stated."""
    page = reports.get("titulnaStrana")
    if isinstance(page, pl.Struct) and "obdobieDo" in [field.name for field in page.fields]:
        return pl.col("titulnaStrana").struct.field("obdobieDo").cast(pl.Date, strict=False)
    return pl.lit(None, pl.Date)


def of_record(record: Mapping[str, object], page: Mapping[str, object]) -> str:
    """Return the currency of a report, by its record and its title page."""
    if name := str(record.get("mena") or "").strip().upper():
        return name
    last = page.get("obdobieDo")
    return KORUNA if isinstance(last, date) and last < _EURO_SINCE else EURO
