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
from finstat_kit.protocol.records import Classification, Entry, Locations, Names, decoded
from finstat_kit.protocol.untrusted import shown

log = logging.getLogger("finstat_kit")

# Codes stay String: "01" and "1" are different codes, and a number would lose that [Codelists].
LOCATIONS: Final = pl.Schema(
    {"code": pl.String, "name_sk": pl.String, "name_en": pl.String, "parent_code": pl.String}
)
CLASSIFICATION: Final = pl.Schema({"code": pl.String, "name_sk": pl.String, "name_en": pl.String})


def parse_locations(body: bytes) -> pl.DataFrame:
    """Read a codelist of places into `LOCATIONS` columns, sorted by code [Codelists]."""
    return _codelist(decoded(body, Locations).lokacie, "lokacie", LOCATIONS)


def parse_classification(body: bytes) -> pl.DataFrame:
    """Read a codelist without parents into `CLASSIFICATION` columns, sorted by code.

    It has another key than places (observed).
    """
    entries = decoded(body, Classification).klasifikacie
    return _codelist(entries, "klasifikacie", CLASSIFICATION)


def _codelist(entries: Sequence[Entry], key: str, schema: pl.Schema) -> pl.DataFrame:
    rows = pl.DataFrame([_row(entry) for entry in entries], schema=LOCATIONS, orient="row")
    distinct = rows.with_row_index().unique(rows.columns, keep="first", maintain_order=True)
    clashing = distinct.filter(~pl.col("code").is_first_distinct())
    if clashing.height:
        index, code, *_ = clashing.row(0)
        raise ProtocolError(
            f"$.{key}[{index}]: the code {shown(code, 80)!r} is listed twice, with other content"
        )
    repeated = rows.filter(~pl.struct(pl.all()).is_first_distinct())["code"]
    if repeated.len():
        log.warning(
            "$.%s: the code %r is listed twice with equal content; %d such entries",
            key, repeated[0], repeated.len(),
        )  # fmt: skip
    return distinct.sort("code").select(schema.names())


def _row(entry: Entry) -> tuple[str | None, ...]:
    """Return code, both names and parent of an entry, codes that were numbers as their digits."""
    names, parent = entry.nazov or Names(), entry.nadradenaLokacia
    return str(entry.kod), names.sk, names.en, None if parent is None else str(parent)
