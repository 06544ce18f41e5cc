"""The places of a sample's filings: which unit has which, computed from seed and row.

Each year has a line of places in the order of filing, one for every unit and one more for every
sixteenth: a correction, a consolidated twin or an extraordinary statement. A unit's place in a year
follows from its row by a permutation, and the row from the place, so that neither is stored; a
place whose unit did not file is a gap in the ids. All that is kept is the day of the last change
and the number of reports of each place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache, cached_property, lru_cache
from math import gcd
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS
from finstat_kit.service.filings.figures import mixed, mixed_each
from finstat_kit.service.filings.filers import Unit, unit_of
from finstat_kit.service.filings.filing import (
    CORRECTION,
    EXTRAORDINARY,
    EXTRAS,
    FIRST_YEAR,
    MAIN,
    MOST_REPORTS,
    OLD_FORMS,
    TWIN,
    Filing,
    drawn_case,
)
from finstat_kit.service.state.line import Ints, Line
from finstat_kit.service.state.population import legal_forms
from finstat_kit.service.state.store import LIVING, NO_DAY, Store, day_number

YEARS: Final = 16
FIRST_DAY: Final = day_number(date(2014, 1, 1))  # nothing was changed before
_ALL_PUBLIC: Final = 2021  # from this accounting year on all statements of non-profits
EVERY: Final = 16  # units of which one has a place more in a year
_LAST_ID: Final = {STATEMENTS: 7_000_000, REPORTS: 10_500_000, ANNUAL_REPORTS: 1_500_000}
Numbers = TypeVar("Numbers", int, Ints)
_UNITS_KEPT: Final = 256  # the reports of a unit are requested one after the other


class Slots(NamedTuple):
    """The properties of each place."""

    changed: NDArray[np.uint16]  # day of the last change, 0 for a gap
    reports: NDArray[np.uint8]  # how many
    annual: NDArray[np.uint8]  # 1 where an annual report came with it


class Drawn:
    """The filings as they were drawn with the sample."""

    def __init__(self, origin: Store, seed: int) -> None:
        self.origin, self.seed = origin, seed
        line = origin.units
        self.n = len(line.ids)
        self.places = self.n + self.n // EVERY  # of one year
        self.size = YEARS * self.places
        whole = max(self.size, 1)
        self.strides = {
            STATEMENTS: max(_LAST_ID[STATEMENTS] // whole, 1),
            REPORTS: max(_LAST_ID[REPORTS] // (MOST_REPORTS * whole), 1),
            ANNUAL_REPORTS: max(_LAST_ID[ANNUAL_REPORTS] // whole, 1),
        }
        self.unit = lru_cache(maxsize=_UNITS_KEPT)(self._unit)

    def __reduce__(self) -> tuple[object, ...]:
        return Drawn, (self.origin, self.seed)

    def _unit(self, id_: int, row: int) -> Unit:
        """Return the unit in a row."""
        return unit_of(self.origin.living(id_, row), mixed(self.seed, 7, row))

    @cached_property
    def _orders(self) -> list[tuple[int, int, int]]:
        return [self._order(year) for year in range(YEARS)]

    @cached_property
    def _ends(self) -> list[Ints]:
        """Behind which place each day of the calendar year after each year ends."""
        return [_ends_of_days(FIRST_YEAR + year, self.places) for year in range(YEARS)]

    def _order(self, year: int) -> tuple[int, int, int]:
        """Return factor, its inverse and shift of a year's permutation of places."""
        key, size = mixed(self.seed, FIRST_YEAR + year), max(self.places, 1)
        factor = size // 4 + key % max(size // 2, 1) or 1
        while gcd(factor, size) != 1:
            factor += 1
        return factor, pow(factor, -1, size), (key >> 32) % size

    @cached_property
    def slots(self) -> Slots:
        """The properties of each place."""
        changed = np.zeros(self.size, dtype=np.uint16)
        reports, annual = (np.zeros(self.size, dtype=np.uint8) for _ in range(2))
        for year in range(YEARS if self.n else 0):
            places = slice(year * self.places, (year + 1) * self.places)
            changed[places], reports[places], annual[places] = self._year(year)
        return Slots(changed, reports, annual)

    def _year(self, number: int) -> tuple[NDArray[np.generic], ...]:
        """Return days of change, reports and annual reports of the places of a year."""
        year, size, n = FIRST_YEAR + number, self.places, self.n
        factor, inverse, shift = self._orders[number]
        elements = (np.arange(size, dtype=np.int64) - shift) % size * inverse % size
        extra = elements >= n
        rows = np.where(extra, (elements - n) * EVERY + year % EVERY, elements)
        day = np.repeat(
            day_number(date(year + 1, 1, 1)) + np.arange(len(self._ends[number])),
            np.diff(self._ends[number], prepend=0),
        )
        due, last = self._due(year), self.origin.units.changed.astype(np.int64)
        # A second statement of a year needs the main one to be filed, too.
        filed = due[rows] & (day[(rows * factor + shift) % size] <= last[rows])
        filed &= day <= last[rows]
        bits = mixed_each(mixed(self.seed, year), elements.astype(np.uint64))
        changed = np.minimum(_changed(day, bits), last[rows])
        reports = _reports(self._two_reports(year)[rows], bits)
        annual = ((bits >> np.uint64(26)) & np.uint64(15) == 0) & filed & ~extra
        return np.where(filed, changed, 0), reports, annual

    def _due(self, year: int) -> NDArray[np.bool_]:
        """Return which units file for a year."""
        columns: Mapping[str, Any] = self.origin.columns
        start, end = ((date(y, 1, 1) - date(2000, 1, 1)).days for y in (year, year + 1))
        keys = np.arange(self.n, dtype=np.uint64)
        bits = mixed_each(mixed(self.seed, 0), keys)
        due = columns["state"] == LIVING
        for family, first in legal_forms().first_years.items():
            if year < first:
                due &= ~self._families[family]
        due &= columns["founded"] < end - 60
        due &= (columns["dissolved"] == NO_DAY) | (columns["dissolved"] >= start)
        due &= ~self._families["trader"] | (bits % np.uint64(10) < 3)
        if year < _ALL_PUBLIC:
            few = bits >> np.uint64(8) & np.uint64(7) == 0
            due &= ~self._families["non_profit"] | few
        # Some years are missing.
        due &= mixed_each(mixed(self.seed, 1, year), keys) & np.uint64(15) != 0
        return np.asarray(due, dtype=bool)

    @cached_property
    def _families(self) -> Mapping[str, NDArray[np.bool_]]:
        """Which units are of each family of forms."""
        forms, columns = self.origin.tables["legal_form"], self.origin.columns
        names = [*(legal_forms().families.get(form, "business") for form in forms), "business"]
        of_units: Ints = np.minimum(columns["legal_form"], len(forms))
        return {
            family: np.array([name == family for name in names])[of_units]
            for family in legal_forms().first_years
        }

    def _two_reports(self, year: int) -> NDArray[np.bool_]:
        """Return which units file two reports with tables for a year."""
        public, business = self._families["public"], self._families["business"]
        return public | business if year <= OLD_FORMS else public

    @cached_property
    def lines(self) -> Mapping[str, Line]:
        """The id lines of the three collections; made year by year, which takes less memory."""
        changed, reports, annual = self.slots
        years = []
        for start in range(0, self.size, max(self.places, 1)):
            year = slice(start, start + self.places)
            part = Slots(changed[year], reports[year], annual[year])
            years.append(self.lines_of(part, start))
        return joined(years)

    def lines_of(self, slots: Slots, first: int) -> Mapping[str, Line]:
        """Return the id lines of slots in sequence, the first of which is given."""
        changed, reports, annual = slots
        filed, with_annual = np.flatnonzero(changed), np.flatnonzero(annual)
        counts = reports[filed].astype(np.int64)
        behind = np.cumsum(counts)
        places = np.repeat((first + filed) * MOST_REPORTS - behind + counts, counts)
        places += np.arange(len(places))
        return {
            STATEMENTS: Line(self.ids_of(STATEMENTS, first + filed), changed[filed]),
            REPORTS: Line(self.ids_of(REPORTS, places), np.repeat(changed[filed], counts)),
            ANNUAL_REPORTS: Line(
                self.ids_of(ANNUAL_REPORTS, first + with_annual), changed[with_annual]
            ),
        }

    def ids_of(self, collection: str, slots: Numbers) -> Numbers:
        """Return the ids at places of a collection."""
        stride = self.strides[collection]
        return 1 + slots * stride + (slots * 40_503 >> 4) % stride

    def row_of(self, unit: int) -> int | None:
        """Return the row of a unit that was drawn."""
        return self.origin.units.position(unit)

    def slots_of(self, unit: int) -> list[int]:
        """Return the places that a unit has, gaps among them."""
        row = self.row_of(unit)
        if row is None:
            return []
        slots = []
        for number in range(YEARS):
            slots.append(self._slot(number, row))
            if (twin := self._twin_of(row, number)) is not None:
                slots.append(self._slot(number, twin))
        return slots

    def _slot(self, number: int, element: int) -> int:
        """Return the place of an element of a year."""
        factor, _, shift = self._orders[number]
        return number * self.places + (element * factor + shift) % self.places

    def was_corrected(self, row: int, year: int) -> bool:
        """Return whether a unit filed a correction for a year."""
        number = year - FIRST_YEAR
        # Only the year in which it has two places can have one.
        if number < 0 or (element := self._twin_of(row, number)) is None:
            return False
        correction = _role(mixed(self.seed, year, element)) == CORRECTION
        return correction and bool(self.slots.changed[self._slot(number, element)])

    def filing(self, slot: int) -> Filing | None:
        """Return the statement at a place."""
        changed, reports, annual = (int(column[slot]) for column in self.slots)
        if not changed:
            return None
        number, place = divmod(slot, self.places)
        year = FIRST_YEAR + number
        _, inverse, shift = self._orders[number]
        element = (place - shift) * inverse % self.places
        key = mixed(self.seed, year, element)
        row, role = element, MAIN
        twin = self._twin_of(element, number)
        if element >= self.n and twin is not None:
            row, role = twin, _role(key)
        # Of the two the one that was filed later corrects the other.
        if twin is not None:
            second = max(element, twin)
            if _role(mixed(self.seed, year, second)) == CORRECTION:
                role = CORRECTION if slot > self._slot(number, twin) else MAIN
        day = day_number(date(year + 1, 1, 1)) + int(
            np.searchsorted(self._ends[number], place, side="right")
        )
        unit = int(self.origin.units.ids[row])
        files_only = self.unit(unit, row).files_only
        case = "attachments_only" if files_only else drawn_case(key)
        return Filing(slot, unit, row, year, role, key, day, changed, reports, bool(annual), case)

    def _twin_of(self, element: int, number: int) -> int | None:
        """Return the other element of the same unit and year, None where there is one alone."""
        turn = (FIRST_YEAR + number) % EVERY
        if element >= self.n:
            return (element - self.n) * EVERY + turn
        other = self.n + element // EVERY
        return other if element % EVERY == turn and other < self.places else None


def joined(parts: Sequence[Mapping[str, Line]]) -> Mapping[str, Line]:
    """Return the lines that consist of the given ones, one behind the other."""
    return {
        name: Line(
            np.concatenate([part[name].ids for part in parts] or [np.empty(0, np.int64)]),
            np.concatenate([part[name].changed for part in parts] or [np.empty(0, np.uint16)]),
        )
        for name in (STATEMENTS, REPORTS, ANNUAL_REPORTS)
    }


def _ends_of_days(year: int, places: int) -> Ints:
    """Return behind which place each day of the calendar year after *year* ends."""
    steps = _steps_of_days(year)
    return np.asarray(steps * places // steps[-1], dtype=np.int64)


@cache
def _steps_of_days(year: int) -> Ints:
    """Return the cumulative weights of the days of the calendar year after *year*."""
    first = date(year + 1, 1, 1)
    weights = []
    for number in range((date(year + 2, 1, 1) - first).days):
        day = first + timedelta(days=number)
        weight = {1: 4, 2: 8, 3: 30, 4: 12, 5: 12, 6: 40, 7: 20}.get(day.month, 5)
        if day.month in (3, 6) and day.day >= 20:
            weight *= 4
        weights.append(weight if day.weekday() < 5 else weight // 4)
    return np.cumsum(np.array(weights, dtype=np.int64))


def _changed(day: Ints, bits: NDArray[np.uint64]) -> Ints:
    """Return the days of the last change of what was filed on a day: the same, for most."""
    later = ((bits >> np.uint64(8)) % np.uint64(300)).astype(np.int64)
    again = np.where(bits & np.uint64(15) == 0, day + later, day)
    return np.where(again < FIRST_DAY, FIRST_DAY + later, again)


def _reports(two: NDArray[np.bool_], bits: NDArray[np.uint64]) -> Ints:
    """Return how many reports each statement has; see `extras` for which."""
    extra = sum((bits >> np.uint64(shift)) & np.uint64(mask) == 0 for shift, mask in EXTRAS)
    reports: Ints = np.minimum(np.where(two, 2, 1) + extra, MOST_REPORTS)
    return reports


def _role(key: int) -> int:
    return (CORRECTION, CORRECTION, CORRECTION, TWIN, TWIN, EXTRAORDINARY)[(key >> 12) % 6]
