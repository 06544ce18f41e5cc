"""What the embedded register holds: sorted id lines and columns in numpy, never ready-made records.

Stores are immutable. A change makes a new one that shares all unchanged arrays, so that a reader
sees the register before the change or after it, never in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.wire import BEGINNING, CHANGED, STATE, UNITS

if TYPE_CHECKING:
    from finstat_kit.service.filings.filings import Filings

NO_DAY: Final = -(2**31)
LIVING, DELETED, NON_PUBLIC, NON_PUBLIC_LOWER = range(4)
STATES: Final = (None, "ZMAZANÉ", "NEVEREJNÁ", "Neverejná")

Ints = NDArray[np.int64]
# Rows scanned at first for a page; doubled until the page is full, so that a page costs what it
# has to look at, whatever the change date.
_FIRST_CHUNK: Final = 16_384
_BLOCK: Final = 16  # rows whose latest change is known, so that others are not looked at
_SPARSE: Final = 64  # with fewer than one match in so many rows the blocks are the faster way


def day_number(day: date) -> int:
    """Return days since 2000-01-01, cut to what a column holds (0 to 65535)."""
    return min(max((day - BEGINNING).days, 0), 65_535)


def day_of(number: int) -> date:
    """Return the day behind a `day_number`."""
    return BEGINNING + timedelta(days=number)


class Condition(NamedTuple):
    """An equality that a row must meet: a column aligned with the ids, and the value."""

    column: NDArray[np.generic]
    value: int


@dataclass(frozen=True, slots=True)
class Days:
    """The day on which each row was last changed, and which rows match."""

    changed: NDArray[np.uint16]
    _latest: NDArray[np.uint16] = field(init=False, repr=False, compare=False)  # of each block

    def __post_init__(self) -> None:
        latest = self.changed[: len(self.changed) // _BLOCK * _BLOCK]
        for _ in range(_BLOCK.bit_length() - 1):  # by halves: max(axis=1) takes six times as long
            latest = np.maximum(latest[::2], latest[1::2])
        object.__setattr__(self, "_latest", latest)

    def rows(self, start: int, since: int, need: int, where: Sequence[Condition] = ()) -> Ints:
        """Return the first rows from *start* that match, up to *need* of them."""
        found: list[Ints] = []
        chunk = max(_FIRST_CHUNK, need)
        while start < len(self.changed) and need > 0:
            stop = (start + chunk) // _BLOCK * _BLOCK
            hits = np.flatnonzero(self._mask(slice(start, stop), since, where))
            found.append(start + hits[:need])
            need -= len(found[-1])
            if need > 0 and not where and len(hits) * _SPARSE < chunk:
                found.append(self._rows_by_blocks(stop, since, need))
                break
            start, chunk = stop, chunk * 2
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def count(self, start: int, since: int, where: Sequence[Condition] = ()) -> int:
        """Return how many rows from *start* match."""
        return int(np.count_nonzero(self._mask(slice(start, None), since, where)))

    def _rows_by_blocks(self, start: int, since: int, most: int) -> Ints:
        """Return the first rows from *start*, where a block starts, that changed since a day."""
        first, end = start // _BLOCK, len(self._latest) * _BLOCK
        # Each of these holds a match, so that no more of them are needed than rows.
        blocks = first + np.flatnonzero(self._latest[first:] >= since)[:most]
        within = self.changed[:end].reshape(-1, _BLOCK).take(blocks, axis=0) >= since
        block, row = np.divmod(np.flatnonzero(within), _BLOCK)
        rest = max(start, end)
        behind = rest + np.flatnonzero(self.changed[rest:] >= since)
        return np.concatenate([blocks[block] * _BLOCK + row, behind])[:most]

    def _mask(self, rows: slice, since: int, where: Sequence[Condition]) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.changed[rows] >= since
        for condition in where:
            mask &= condition.column[rows] == condition.value
        return mask


class AnyLine(Protocol):
    """The ids of a collection in ascending order, and which of them changed since a day."""

    @property
    def ids(self) -> Ints:
        """All ids."""

    def page(
        self, since: int, after: int, size: int, where: Sequence[Condition] = ()
    ) -> tuple[Ints, bool]:
        """Return up to *size* matching ids above *after*, and whether more remain."""

    def count(self, since: int, after: int, where: Sequence[Condition] = ()) -> int:
        """Return how many matching ids lie above *after*."""


@dataclass(frozen=True, slots=True)
class Line:
    """Ids in ascending order and the day each was last changed."""

    ids: Ints
    changed: NDArray[np.uint16]
    _days: Days = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_days", Days(self.changed))

    def page(
        self, since: int, after: int, size: int, where: Sequence[Condition] = ()
    ) -> tuple[Ints, bool]:
        """Return up to *size* matching ids above *after*, and whether more remain."""
        start = int(np.searchsorted(self.ids, after, side="right"))
        if since <= 0 and not where:
            return self.ids[start : start + size], start + size < len(self.ids)
        ids = self.ids[self._days.rows(start, since, size + 1, where)]  # one tells of a next page
        return ids[:size], len(ids) > size

    def count(self, since: int, after: int, where: Sequence[Condition] = ()) -> int:
        """Return how many matching ids lie above *after*."""
        start = int(np.searchsorted(self.ids, after, side="right"))
        if since <= 0 and not where:
            return len(self.ids) - start
        return self._days.count(start, since, where)

    def position(self, id_: int) -> int | None:
        """Return the row of an id, or None."""
        row = int(np.searchsorted(self.ids, id_))
        return row if row < len(self.ids) and int(self.ids[row]) == id_ else None


class Place(NamedTuple):
    """The place of a unit as in its record; any part can be absent."""

    kraj: str | None
    okres: str | None
    sidlo: str | None
    mesto: str | None


@dataclass(frozen=True, slots=True)
class Store:
    """One state of the register.

    Attributes:
        lines: The id line of each collection, by the name of its endpoint.
        columns: What the records of units are made of, aligned with their id line.
        tables: What the code columns among them point into.
        places: What ``columns["place"]`` points into.
        filings: The statements, reports and annual reports; None where there are only ids.
        fields: What single records say other than their columns do, by id.
        codelists: The bodies of the seven codelists, by the name of their endpoint.
        today: The register's day.
    """

    lines: Mapping[str, AnyLine]
    columns: Mapping[str, NDArray[np.generic]]
    tables: Mapping[str, Sequence[str]]
    places: Sequence[Place]
    filings: Filings | None
    fields: Mapping[int, Mapping[str, object]]
    codelists: Mapping[str, bytes]
    today: date

    @property
    def units(self) -> Line:
        """The id line of the units."""
        line = self.lines[UNITS]
        assert isinstance(line, Line)
        return line

    def record(self, id_: int) -> dict[str, object] | None:
        """Return the record of a unit as the register would send it, or None."""
        line = self.units
        row = line.position(id_)
        if row is None:
            return None
        changed = day_of(int(line.changed[row])).isoformat()
        state = STATES[int(self.columns["state"][row])]
        if state is not None:
            return {"id": id_, STATE: state, CHANGED: changed}
        statements, annual = self.filings.ids_of(id_) if self.filings else ([], [])
        owned = {"idUctovnychZavierok": statements, "idVyrocnychSprav": annual}
        record = self.living(id_, row) | {name: ids for name, ids in owned.items() if ids}
        return record | {CHANGED: changed}

    def living(self, id_: int, row: int) -> dict[str, object]:
        """Return what the record of a unit in a row says, its filings aside."""
        drawn: dict[str, int] = {name: column.item(row) for name, column in self.columns.items()}

        def code(column: str) -> str | None:
            codes, position = self.tables[column], drawn[column]
            return codes[position] if position < len(codes) else None

        def day(column: str) -> str | None:
            value = drawn[column]
            return None if value == NO_DAY else (BEGINNING + timedelta(days=value)).isoformat()

        place, key = self.places[drawn["place"]], drawn["name"]
        record: dict[str, object] = {
            "id": id_,
            "ico": ico_text(drawn["ico"]),
            "dic": str(drawn["dic"]) if drawn["dic"] else None,
            "nazovUJ": _name(key, code("legal_form")),
            "ulica": f"{_STREETS[key % len(_STREETS)]} {1 + key % 97}" if key % 20 else None,
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
        # Null attributes are left out of every reply, lists included.
        return {name: value for name, value in record.items() if value is not None}


_TWELVE_DIGITS: Final = 10**13  # added to an IČO of twelve digits, whose leading zeros count too


def ico_number(text: str) -> int:
    """Return the number that stands for an IČO in the columns, -1 where none can."""
    if len(text) == 8:
        return int(text)
    return int(text) + _TWELVE_DIGITS if len(text) == 12 else -1


def ico_text(number: int) -> str:
    """Return the IČO that `ico_number` made the number of."""
    return f"{number - _TWELVE_DIGITS:012d}" if number >= _TWELVE_DIGITS else f"{number:08d}"


_WORDS: Final = (
    "Vzor", "Ukážka", "Skúška", "Príklad", "Maketa",
)  # fmt: skip
_NOUNS: Final = (
    "Agát", "Bocian", "Breza", "Čajka", "Dub", "Ďateľ", "Fialka", "Hrab", "Chrpa", "Jaseň",
    "Javor", "Jedľa", "Kavka", "Klinec", "Lipa", "Ľalia", "Mak", "Orech", "Orol", "Pivonka",
    "Rak", "Rys", "Sokol", "Sova", "Šalvia", "Škovran", "Tis", "Topoľ", "Vážka", "Žerucha",
)  # fmt: skip
_STREETS: Final = ("Vymyslená", "Skúšobná", "Ukážková", "Vzorová", "Príkladná")
_SUFFIXES: Final = {"112": ", s. r. o.", "121": ", a. s.", "205": ", družstvo", "117": ", nadácia"}


def _name(key: int, legal_form: str | None) -> str:
    """Return an invented name that reads as one: "Vzor Javor 417, s. r. o."."""
    word, noun = _WORDS[key % len(_WORDS)], _NOUNS[key // 5 % len(_NOUNS)]
    number = 100 + key // 150 % 900
    if legal_form == "801":
        return f"Obec {word} {number}"
    return f"{word} {noun} {number}{_SUFFIXES.get(legal_form or '', '')}"
