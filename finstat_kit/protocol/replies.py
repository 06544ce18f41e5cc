"""Bytes to checked frames. Nothing a reply says is believed before it was looked at.

`polars` would turn a number into a text, a missing key into null and drop an unknown one without
a word, so every value is checked before a frame is built from it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

import polars as pl

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol.guarded_json import (
    at_most_one,
    broken,
    fast_json,
    object_at,
    refuse_crowded,
    short,
    strict_json,
)
from finstat_kit.protocol.wire import COUNT, MAX_ID, MORE

log = logging.getLogger("finstat_kit")

# Codes stay String: "01" and "1" are different things, and a number would lose that.
LOCATIONS: Final = pl.Schema(
    {"code": pl.String, "name_sk": pl.String, "name_en": pl.String, "parent_code": pl.String}
)
CLASSIFICATION: Final = pl.Schema({"code": pl.String, "name_sk": pl.String, "name_en": pl.String})
IDS: Final = pl.Schema({"id": pl.Int64})
_UNIT_COLUMNS: dict[str, pl.DataType] = {
    "id": pl.Int64(),
    "ico": pl.String(),
    "dic": pl.String(),
    "sid": pl.String(),
    "nazovUJ": pl.String(),
    "ulica": pl.String(),
    "mesto": pl.String(),
    "psc": pl.String(),
    "datumZalozenia": pl.Date(),
    "datumZrusenia": pl.Date(),
    "pravnaForma": pl.String(),
    "skNace": pl.String(),
    "velkostOrganizacie": pl.String(),
    "druhVlastnictva": pl.String(),
    "kraj": pl.String(),
    "okres": pl.String(),
    "sidlo": pl.String(),
    "konsolidovana": pl.Boolean(),
    "idUctovnychZavierok": pl.List(pl.Int64),
    "idVyrocnychSprav": pl.List(pl.Int64),
    "zdrojDat": pl.String(),
    "datumPoslednejUpravy": pl.Date(),
    "stav": pl.String(),
}
UNITS: Final = pl.Schema(_UNIT_COLUMNS)
_MOST: Final = 50_000  # quotes and brackets; a page has 6, a filed form some thousands
_MOST_OF_A_CODELIST: Final = 2_000_000  # commas too; the longest has about 65,000
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """One reply of a list: ids as they came, and whether the register has more behind them."""

    ids: pl.Series  # Int64, no nulls, none negative
    more: bool


def parse_page(body: bytes) -> Page:
    """Read the reply of a list. A missing ``id`` is an empty list; a missing flag is broken."""
    flat = at_most_one(body, b"[") and at_most_one(body, b"{")
    if not flat:
        refuse_crowded(body, _MOST)
    reply = object_at(fast_json(body))
    more = reply.get(MORE)
    if type(more) is not bool:
        raise broken(f"$.{MORE}", "true or false", more, MORE in reply)
    ids = reply.get("id", [])
    if type(ids) is not list:
        raise broken("$.id", "a list of ids", ids)
    # polars tries out types on lists in lists, for hours where they are deep: where another list or
    # object can stand in the reply, the types are looked at before.
    if not flat and set(map(type, ids)) - {int}:
        raise _no_ids(ids)
    try:
        series = pl.Series("id", ids, dtype=pl.Int64)
    except (TypeError, OverflowError) as error:
        raise _no_ids(ids) from error
    # Of all other values only true, false and null get into the column, as 1, 0 and null: where
    # the lowest id is above them no value needs to be looked at.
    doubtful = series.null_count() or (ids and series.to_numpy().min() <= 1)
    if doubtful and (set(map(type, ids)) != {int} or min(ids) < 0):
        raise _no_ids(ids)
    return Page(series, more)


def _no_ids(ids: list[object]) -> ProtocolError:
    """Return the error that names the first value of a list that is no id."""
    place, value = next(
        (i, v) for i, v in enumerate(ids) if type(v) is not int or not 0 <= v <= MAX_ID
    )
    expected = f"0 to {MAX_ID}" if type(value) is int else "a whole number"
    return broken(f"$.id[{place}]", expected, value)


def parse_count(body: bytes) -> int:
    """Read the reply of a count."""
    refuse_crowded(body, _MOST)
    reply = object_at(strict_json(body))
    count = reply.get(COUNT)
    if type(count) is not int or not 0 <= count <= MAX_ID:
        raise broken(f"$.{COUNT}", "a count", count, COUNT in reply)
    return count


def parse_locations(body: bytes) -> pl.DataFrame:
    """Read a codelist of places into `LOCATIONS` columns, sorted by code."""
    return _codelist(body, "lokacie", LOCATIONS)


def parse_classification(body: bytes) -> pl.DataFrame:
    """Read a codelist without parents into `CLASSIFICATION` columns, sorted by code."""
    return _codelist(body, "klasifikacie", CLASSIFICATION)


def parse_unit(body: bytes, asked: int) -> dict[str, object]:
    """Read the record of a unit: its known fields, checked, absent ones left out."""
    where = f"id {asked}: "
    refuse_crowded(body, _MOST)
    reply = object_at(strict_json(body, where), where)
    if reply.get("id") != asked or type(reply.get("id")) is not int:
        raise broken(f"{where}$.id", str(asked), reply.get("id"), "id" in reply)
    record = {}
    for name, read in _UNIT_FIELDS.items():
        value = reply.get(name)
        if value is not None:
            try:
                record[name] = read(value)
            except ValueError as error:
                raise broken(f"{where}$.{name}", str(error), value) from None
    return record


def unit_frame(records: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Make a frame of checked records: all columns of `UNITS` in its order, absent is null."""
    # Column by column: building a frame from rows costs ten times as much.
    return pl.DataFrame(
        [
            pl.Series(name, [record.get(name) for record in records], dtype=dtype)
            for name, dtype in UNITS.items()
        ]
    )


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError("a text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_ID:
        raise ValueError("an id")
    return value


def _truth(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError("true or false")
    return value


def _ids(value: object) -> list[int]:
    if type(value) is not list:
        raise ValueError("a list of ids")
    return [_whole(id_) for id_ in value]


@lru_cache(maxsize=20_000)  # a year has few days and a register many records
def _day_of(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError("a day YYYY-MM-DD")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("a day YYYY-MM-DD") from None


def _day(value: object) -> date:
    if type(value) is not str:
        raise ValueError("a day YYYY-MM-DD")
    return _day_of(value)


def _reader(dtype: pl.DataType) -> Callable[[object], object]:
    readers: dict[pl.DataType, Callable[[object], object]] = {
        pl.String(): _text,
        pl.Int64(): _whole,
        pl.Boolean(): _truth,
        pl.Date(): _day,
        pl.List(pl.Int64): _ids,
    }
    return readers[dtype]


_UNIT_FIELDS: Final = {name: _reader(dtype) for name, dtype in UNITS.items()}


def _codelist(body: bytes, key: str, schema: pl.Schema) -> pl.DataFrame:
    refuse_crowded(body, _MOST_OF_A_CODELIST, (b'"', b"[", b"{", b","))
    reply = object_at(strict_json(body))
    entries = reply.get(key)
    if type(entries) is not list:
        raise broken(f"$.{key}", "a list of entries", entries, key in reply)
    rows: dict[str, tuple[str | None, ...]] = {}
    repeated: list[str] = []
    for place, entry in enumerate(entries):
        path = f"$.{key}[{place}]"
        row = _entry(object_at(entry, path=path), path)
        code = str(row[0])
        if code in rows and rows[code] != row:
            raise ProtocolError(
                f"{path}: the code {short(code)} is listed twice, with other content"
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


def _entry(entry: Mapping[str, object], path: str) -> tuple[str | None, ...]:
    """Return code, both names and parent of one entry of a codelist."""
    code = _code(entry.get("kod"), f"{path}.kod")
    if code is None:
        raise broken(f"{path}.kod", "a code", entry.get("kod"), "kod" in entry)
    names = entry.get("nazov")
    if names is None:
        names = {}
    if type(names) is not dict:
        raise broken(f"{path}.nazov", "an object with sk and en", names)
    for language in ("sk", "en"):
        if type(names.get(language, "")) not in (str, type(None)):
            raise broken(f"{path}.nazov.{language}", "a text", names[language])
    parent = _code(entry.get("nadradenaLokacia"), f"{path}.nadradenaLokacia")
    return code, names.get("sk"), names.get("en"), parent


def _code(value: object, path: str) -> str | None:
    """Return a code as text; numbers were sent until some day after 2018, as their digits."""
    if value is None:
        return None
    if type(value) is int and value >= 0:
        return str(value)
    if type(value) is str and value:
        return value
    raise broken(path, "a code", value)
