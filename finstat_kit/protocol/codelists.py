"""The replies of codelists: bytes to checked frames.

polars would silently turn a number into a text and a missing key into null, and drop an unknown
one, so every value is checked before a frame is built.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import polars as pl

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol.records import Classification, Entry, Locations, shaped
from finstat_kit.protocol.untrusted import read_json, value_in_words

log = logging.getLogger("finstat_kit")

# Codes stay String: "01" and "1" are different codes, and a number would lose that.
LOCATIONS: Final = pl.Schema(
    {"code": pl.String, "name_sk": pl.String, "name_en": pl.String, "parent_code": pl.String}
)
CLASSIFICATION: Final = pl.Schema({"code": pl.String, "name_sk": pl.String, "name_en": pl.String})


def parse_locations(body: bytes) -> pl.DataFrame:
    """Read a codelist of places into `LOCATIONS` columns, sorted by code."""
    return _codelist(shaped(read_json(body), Locations).lokacie, "lokacie", LOCATIONS)


def parse_classification(body: bytes) -> pl.DataFrame:
    """Read a codelist without parents into `CLASSIFICATION` columns, sorted by code."""
    entries = shaped(read_json(body), Classification).klasifikacie
    return _codelist(entries, "klasifikacie", CLASSIFICATION)


def _codelist(entries: Sequence[Entry], key: str, schema: pl.Schema) -> pl.DataFrame:
    rows: dict[str, tuple[str | None, ...]] = {}
    repeated: list[str] = []
    for index, entry in enumerate(entries):
        row = _row(entry)
        code = str(row[0])
        if code in rows and rows[code] != row:
            raise ProtocolError(
                f"$.{key}[{index}]: the code {value_in_words(code)} is listed twice, with other "
                "content"
            )
        if code in rows:
            repeated.append(code)
        rows[code] = row
    if repeated:
        log.warning(
            "$.%s: the code %r is listed twice with equal content; %d such entries",
            key, repeated[0], len(repeated),
        )  # fmt: skip
    ordered = [rows[code] for code in sorted(rows)]
    columns = zip(*ordered, strict=True) if ordered else [[]] * 4
    series = [
        pl.Series(name, list(column), dtype=pl.String)
        for name, column in zip(LOCATIONS, columns, strict=True)
    ]
    return pl.DataFrame(series[: len(schema)])


def _row(entry: Entry) -> tuple[str | None, ...]:
    """Return code, both names and parent of an entry, codes that were numbers as their digits."""
    names, parent = entry.nazov, entry.nadradenaLokacia
    return (
        str(entry.kod),
        names.sk if names else None,
        names.en if names else None,
        None if parent is None else str(parent),
    )
