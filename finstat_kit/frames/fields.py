"""The fields of records: what each column holds, in both languages."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.protocol import replies, wire

FIELDS: Final = pl.Schema(
    dict.fromkeys(("field", "dtype", "meaning_sk", "meaning_en", "codelist"), pl.String())
)
_UNITS: Final = {
    "id": ("id účtovnej jednotky v registri", "id of the accounting unit in the register"),
    "ico": (
        "identifikačné číslo organizácie (IČO), 8 alebo 12 číslic; nie je jedinečné",
        "organisation number (IČO), 8 or 12 digits; not unique",
    ),
    "dic": ("daňové identifikačné číslo (DIČ)", "tax identification number (DIČ)"),
    "sid": ("identifikátor SID", "identifier SID"),
    "nazovUJ": ("názov účtovnej jednotky", "name of the unit"),
    "ulica": ("ulica a číslo", "street and number"),
    "mesto": ("mesto adresy, ako bolo zapísané", "town of the address, as it was written"),
    "psc": ("poštové smerovacie číslo", "postcode"),
    "datumZalozenia": ("deň založenia", "day of foundation"),
    "datumZrusenia": (
        "deň zrušenia; prázdny, kým jednotka trvá",
        "day of dissolution; null while the unit is active",
    ),
    "pravnaForma": ("kód právnej formy", "code of the legal form"),
    "skNace": ("kód hlavnej činnosti (SK NACE)", "code of the main activity (SK NACE)"),
    "velkostOrganizacie": (
        "kód veľkosti podľa počtu zamestnancov",
        "code of the size class by number of employees",
    ),
    "druhVlastnictva": ("kód druhu vlastníctva", "code of the type of ownership"),
    "kraj": ("kód kraja sídla", "code of the region of the seat"),
    "okres": ("kód okresu sídla", "code of the district of the seat"),
    "sidlo": ("kód obce sídla", "code of the municipality of the seat"),
    "konsolidovana": (
        "či jednotka zostavuje konsolidovanú závierku",
        "whether the unit files consolidated statements",
    ),
    "idUctovnychZavierok": (
        "id účtovných závierok, v žiadnom poradí",
        "ids of the financial statements, in no order",
    ),
    "idVyrocnychSprav": (
        "id výročných správ, v žiadnom poradí",
        "ids of the annual reports, in no order",
    ),
    "zdrojDat": ("zdroj údajov", "source of the data"),
    "datumPoslednejUpravy": (
        "deň poslednej zmeny; porovnáva sa s ním changed_since",
        "day of the last change; changed_since compares with it",
    ),
    "stav": (
        "ZMAZANÉ (zmazaná) alebo NEVEREJNÁ (neverejná); prázdny inak",
        "ZMAZANÉ (deleted) or NEVEREJNÁ (non-public); null otherwise",
    ),
}


def fields(collection: str = "units") -> pl.DataFrame:
    """List the columns of the records of a collection, with their meaning. Sends no request.

    Args:
        collection: ``"units"``, whose records `fk.units.get` returns.

    Returns:
        A row per column, in the order of the records, all String: ``field``, ``dtype``,
        ``meaning_sk``, ``meaning_en`` and ``codelist`` (the function that lists its codes, null
        where the column holds no codes).

    Raises:
        UsageError: Another collection.

    Example:
        >>> import finstat_kit as fk
        >>> fk.fields("units").filter(field="kraj").row(0)
        ('kraj', 'String', 'kód kraja sídla', 'code of the region of the seat', 'regions')
    """
    arguments.one_of("collection", collection, ("units",))
    rows = [
        (field, str(dtype), *_UNITS[field], _codelist(field))
        for field, dtype in replies.UNITS.items()
    ]
    return pl.DataFrame(rows, schema=FIELDS, orient="row")


def _codelist(field: str) -> str | None:
    return wire.BY_FIELD[field].name if field in wire.BY_FIELD else None
