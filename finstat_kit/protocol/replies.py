"""The replies of lists, counts and codelists: bytes to checked values and frames.

polars would silently turn a number into a text and a missing key into null, and drop an unknown
one, so every value is checked before a frame is built. Records are read by `decode`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol.guarded_json import broken, object_at, read_json, short
from finstat_kit.protocol.records.decode import shaped
from finstat_kit.protocol.records.fields import Classification, Entry, Locations
from finstat_kit.protocol.wire import COUNT, MAX_ID, MORE

log = logging.getLogger("finstat_kit")

# Codes stay String: "01" and "1" are different codes, and a number would lose that.
LOCATIONS: Final = pl.Schema(
    {"code": pl.String, "name_sk": pl.String, "name_en": pl.String, "parent_code": pl.String}
)
CLASSIFICATION: Final = pl.Schema({"code": pl.String, "name_sk": pl.String, "name_en": pl.String})
IDS: Final = pl.Schema({"id": pl.Int64})


@dataclass(frozen=True, slots=True)
class Page:
    """One reply of a list: its ids in the order received, and whether the register has more."""

    ids: pl.Series  # Int64, no nulls, none negative
    more: bool


def parse_page(body: bytes) -> Page:
    """Read the reply of a list. A missing ``id`` is an empty list; a missing flag is broken."""
    reply = object_at(read_json(body))
    more = reply.get(MORE)
    if type(more) is not bool:
        raise broken(f"$.{MORE}", "true or false", more, MORE in reply)
    ids = reply.get("id", [])
    if type(ids) is not list:
        raise broken("$.id", "a list of ids", ids)
    # polars infers the types of deeply nested lists for hours: if the reply can contain another
    # list or an object, the types are checked first.
    if (_has_two(body, b"[") or _has_two(body, b"{")) and set(map(type, ids)) - {int}:
        raise _no_ids(ids)
    try:
        series = pl.Series("id", ids, dtype=pl.Int64)
    except (TypeError, OverflowError) as error:
        raise _no_ids(ids) from error
    # Of all other values only true, false and null enter the column, as 1, 0 and null: if the
    # lowest id is above them, no value needs a check.
    doubtful = series.null_count() or (ids and series.to_numpy().min() <= 1)
    if doubtful and (set(map(type, ids)) != {int} or min(ids) < 0):
        raise _no_ids(ids)
    return Page(series, more)


def _has_two(body: bytes, mark: bytes) -> bool:
    # Searching for a second one takes a tenth of the time of counting.
    return body.find(mark, body.find(mark) + 1) >= 0


def _no_ids(ids: list[object]) -> ProtocolError:
    """Return the error that names the first value of a list that is not an id."""
    place, value = next(
        (i, v) for i, v in enumerate(ids) if type(v) is not int or not 0 <= v <= MAX_ID
    )
    expected = f"0 to {MAX_ID}" if type(value) is int else "a whole number"
    return broken(f"$.id[{place}]", expected, value)


def parse_count(body: bytes) -> int:
    """Read the reply of a count."""
    reply = object_at(read_json(body))
    count = reply.get(COUNT)
    if type(count) is not int or not 0 <= count <= MAX_ID:
        raise broken(f"$.{COUNT}", "a count", count, COUNT in reply)
    return count


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
                f"$.{key}[{index}]: the code {short(code)} is listed twice, with other content"
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
