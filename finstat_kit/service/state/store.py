"""The state of the embedded register: ids and columns in numpy, from which records are made.

Stores are immutable. A change makes a new one that shares all unchanged arrays, so that a reader
sees the register before the change or after it, never in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.shipped import facts
from finstat_kit.protocol.wire import BEGINNING, CHANGED, STATE, UNITS
from finstat_kit.service.state.line import Line

Json = dict[str, object]
NO_DAY: Final = -(2**31)
STATES: Final = (None, "ZMAZANÉ", "NEVEREJNÁ", "Neverejná")
LIVING, DELETED, NON_PUBLIC = range(3)  # places in `STATES`
_TWELVE_DIGITS: Final = 10**13  # added to an IČO of twelve digits, whose leading zeros count too


def day_number(day: date) -> int:
    """Return days since 2000-01-01, cut to what a column holds (0 to 65535)."""
    return min(max((day - BEGINNING).days, 0), 65_535)


def day_of(number: int) -> date:
    """Return the day behind a `day_number`."""
    return BEGINNING + timedelta(days=number)


def position_of(code: str, codes: Sequence[str]) -> int:
    """Return where a code is in a list; behind its end where the list does not have it."""
    return codes.index(code) if code in codes else len(codes)


class Place(NamedTuple):
    """The place of a unit as in its record; any part can be absent."""

    kraj: str | None
    okres: str | None
    sidlo: str | None
    mesto: str | None


class Filed(Protocol):
    """What units filed, as far as a store knows it."""

    def line(self, collection: str) -> Line:
        """Return the ids of a collection."""

    def ids_of(self, unit: int, *, removed: bool) -> Json:
        """Return the fields of a unit with the ids of what it filed."""


@dataclass(frozen=True, slots=True)
class Store:
    """One state of a register of units, and of what they filed.

    Attributes:
        units: The ids of the units.
        columns: What the records of units are made of, aligned with their ids.
        tables: What the code columns among them point into.
        places: What ``columns["place"]`` points into.
        codelists: The bodies of the seven codelists, by the name of their endpoint.
        today: The register's day.
        fields: Values of single records instead of those of their columns, by id.
        removed: Ids of units that vanished; the next unit published may get one of them.
        filings: The statements, reports and annual reports, None where there are none.
    """

    units: Line
    columns: Mapping[str, NDArray[np.generic]]
    tables: Mapping[str, Sequence[str]]
    places: Sequence[Place]
    codelists: Mapping[str, bytes]
    today: date
    fields: Mapping[int, Mapping[str, object]] = field(default_factory=dict)
    removed: frozenset[int] = frozenset()
    filings: Filed | None = None

    def line(self, collection: str) -> Line:
        """Return the ids of a collection."""
        if collection == UNITS:
            return self.units
        assert self.filings is not None
        return self.filings.line(collection)

    def record(self, id_: int) -> Json | None:
        """Return the record of a unit as the register would send it, None where there is none."""
        row = self.units.position(id_)
        if row is None:
            return None
        changed = day_of(int(self.units.changed[row])).isoformat()
        state = STATES[int(self.columns["state"][row])]
        if state is not None:
            return {"id": id_, STATE: state, CHANGED: changed}
        filed = self.filings.ids_of(id_, removed=id_ in self.removed) if self.filings else {}
        return self.living(row) | {CHANGED: changed} | filed

    def living(self, row: int) -> Json:
        """Return the fields of a unit in a row that do not depend on its state or its changes."""
        id_ = int(self.units.ids[row])
        numbers: dict[str, int] = {name: column.item(row) for name, column in self.columns.items()}

        def code(column: str) -> str | None:
            codes, position = self.tables[column], numbers[column]
            return codes[position] if position < len(codes) else None

        def day(column: str) -> str | None:
            value = numbers[column]
            return None if value == NO_DAY else day_of(value).isoformat()

        place, key = self.places[numbers["place"]], numbers["name"]
        record: Json = {
            "id": id_,
            "ico": ico_text(numbers["ico"]),
            "dic": f"{numbers['dic']:010d}" if numbers["dic"] else None,
            "nazovUJ": _unit_name(key, code("legal_form")),
            "ulica": _street(key),
            "mesto": place.mesto,
            "psc": f"{1 + key % 98:02d}{key // 98 % 1000:03d}",
            "datumZalozenia": day("founded"),
            "datumZrusenia": day("dissolved"),
            "pravnaForma": code("legal_form"),
            "skNace": code("activity"),
            "velkostOrganizacie": code("size"),
            "druhVlastnictva": code("ownership"),
            "kraj": place.kraj,
            "okres": place.okres,
            "sidlo": place.sidlo,
            "konsolidovana": key % 80 == 0,
            "zdrojDat": "FRSR" if key % 3 else "ŠÚSR",
        } | dict(self.fields.get(id_, {}))
        return without_nulls(record)


def without_nulls(record: Json) -> Json:
    """Leave out what is null, as every reply does, lists included."""
    return {name: value for name, value in record.items() if value is not None}


def ico_number(text: str) -> int:
    """Return the number that stands for an IČO in the columns, -1 where none can."""
    if len(text) == 8:
        return int(text)
    return int(text) + _TWELVE_DIGITS if len(text) == 12 else -1


def ico_text(number: int) -> str:
    """Return the IČO that `ico_number` made the number of."""
    return f"{number - _TWELVE_DIGITS:012d}" if number >= _TWELVE_DIGITS else f"{number:08d}"


class _Names(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    nouns: tuple[str, ...]
    streets: tuple[str, ...]
    suffixes: dict[str, str]  # by legal form


@cache
def _names() -> _Names:
    return facts("names", _Names)


def _unit_name(key: int, legal_form: str | None) -> str:
    """Return an invented name that reads as one: "Vzor Javor 417, s. r. o."."""
    names = _names()
    word, noun = names.words[key % len(names.words)], names.nouns[key // 5 % len(names.nouns)]
    number = 100 + key // 150 % 900
    if legal_form == "801":
        return f"Obec {word} {number}"
    return f"{word} {noun} {number}{names.suffixes.get(legal_form or '', '')}"


def _street(key: int) -> str | None:
    """Return an invented street with a number, None for one unit of twenty."""
    streets = _names().streets
    return f"{streets[key % len(streets)]} {1 + key % 97}" if key % 20 else None
