"""The places of a sample's filings: which unit has which, computed from seed and row.

Each year has a line of places in the order of filing, one for every unit and one more for every
sixteenth: a correction, a consolidated twin or an extraordinary statement. A unit's place in a year
follows from its row by a permutation, and the row from the place, so that neither is stored; a
place whose unit did not file is a gap in the ids. All that is kept is the day of the last change
and the number of reports of each place.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cached_property, lru_cache
from math import gcd
from typing import Any, Final

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
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.population import calendar, legal_forms
from finstat_kit.service.state.store import LIVING, NO_DAY, Store, day_number

YEARS: Final = 16
FIRST_DAY: Final = day_number(date(2014, 1, 1))  # nothing was changed before
_ALL_PUBLIC: Final = 2021  # from this accounting year on all statements of non-profits
EVERY: Final = 16  # units of which one has a place more in a year
# The last id of each collection, of reports a quarter: each statement has room for four.
_LAST_ID: Final = {STATEMENTS: 7_000_000, REPORTS: 2_625_000, ANNUAL_REPORTS: 1_500_000}
_UNITS_KEPT: Final = 256  # the reports of a unit are requested one after the other


# The properties of a place: the day of the last change and how many reports there are, both 0 for
# a gap; whether an annual report came with it.
SLOT: Final = np.dtype([("changed", np.uint16), ("reports", np.uint8), ("annual", np.bool_)])


class Drawn:
    """The filings as they were drawn with the sample."""

    def __init__(self, origin: Store, seed: int) -> None:
        self.origin, self.seed = origin, seed
        self.n = len(origin.units.ids)
        self.places = self.n + self.n // EVERY  # of one year
        self.size = YEARS * self.places
        self.strides = {name: max(last // max(self.size, 1), 1) for name, last in _LAST_ID.items()}
        self.unit = lru_cache(maxsize=_UNITS_KEPT)(self._unit)

    def _unit(self, row: int) -> Unit:
        """Return the unit in a row."""
        id_ = int(self.origin.units.ids[row])
        return unit_of(id_, row, mixed(self.seed, 7, row), self.origin.living(row))

    @cached_property
    def slots(self) -> NDArray[np.void]:
        """The properties of each place, a row of `SLOT`."""
        return np.concatenate([self._year(number) for number in range(YEARS)])

    def _year(self, number: int) -> NDArray[np.void]:
        """Return the properties of the places of a year."""
        year, size, n = FIRST_YEAR + number, self.places, self.n
        factor, inverse, shift = _order(self.seed, number, size)
        elements = (np.arange(size, dtype=np.int64) - shift) % size * inverse % size
        extra = elements >= n
        rows = np.where(extra, (elements - n) * EVERY + year % EVERY, elements)
        ends = _ends_of_days(number, size)
        day = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        day += day_number(date(year + 1, 1, 1))
        last = self.origin.units.changed.astype(np.int64)[rows]
        filed = self._due(year)[rows] & (day <= last)
        # A second statement of a year needs the main one to be filed, too.
        filed &= day[(rows * factor + shift) % size] <= last
        bits = mixed_each(mixed(self.seed, year), elements.astype(np.uint64))
        changed = np.minimum(_changed(day, bits), last)
        # See `Filing.templates` for which reports there are.
        two = self._families["public"] | (self._families["business"] & (year <= OLD_FORMS))
        extras = sum(bits >> np.uint64(n) & np.uint64(mask) == 0 for n, mask in EXTRAS.values())
        reports = np.minimum(1 + two[rows] + extras, MOST_REPORTS)
        annual = ((bits >> np.uint64(26)) & np.uint64(15) == 0) & ~extra
        columns = [changed * filed, reports * filed, annual & filed]
        return np.rec.fromarrays(columns, dtype=SLOT)

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

    def slots_of(self, unit: int) -> list[int]:
        """Return the places at which a unit that was drawn has filed."""
        row = self.origin.units.position(unit)
        if row is None:
            return []
        slots = [self._slot(number, row) for number in range(YEARS)]
        number = (row - FIRST_YEAR) % EVERY  # the year in which it can have two places
        if (twin := self._twin_of(row, number)) is not None:
            slots.insert(number + 1, self._slot(number, twin))
        changed = self.slots["changed"]
        return [slot for slot in slots if changed[slot]]

    def _slot(self, number: int, element: int) -> int:
        """Return the place of an element of a year."""
        factor, _, shift = _order(self.seed, number, self.places)
        return number * self.places + (element * factor + shift) % self.places

    def was_corrected(self, row: int, year: int) -> bool:
        """Return whether a unit filed a correction for a year."""
        number = year - FIRST_YEAR
        # Only the year in which it has two places can have one.
        if number < 0 or (element := self._twin_of(row, number)) is None:
            return False
        correction = _role(mixed(self.seed, year, element)) == CORRECTION
        return correction and bool(self.slots["changed"][self._slot(number, element)])

    def filing(self, slot: int) -> Filing | None:
        """Return the statement at a place."""
        changed, reports, annual = self.slots[slot].item()
        if not changed:
            return None
        number, place = divmod(slot, self.places)
        year = FIRST_YEAR + number
        _, inverse, shift = _order(self.seed, number, self.places)
        element = (place - shift) * inverse % self.places
        key, row, role = mixed(self.seed, year, element), element, MAIN
        if (twin := self._twin_of(element, number)) is not None:
            row, second = sorted((element, twin))
            role_of_second = _role(mixed(self.seed, year, second))
            if role_of_second == CORRECTION:  # the one that was filed later corrects the other
                role = CORRECTION if slot > self._slot(number, twin) else MAIN
            elif element == second:
                role = role_of_second
        ends, unit = _ends_of_days(number, self.places), self.unit(row)
        day = day_number(date(year + 1, 1, 1)) + int(np.searchsorted(ends, place, side="right"))
        case = "attachments_only" if unit.files_only else drawn_case(key)
        return Filing(slot, unit, year, role, key, day, changed, reports, annual, case)

    def _twin_of(self, element: int, number: int) -> int | None:
        """Return the other element of the same unit and year, None where there is one alone."""
        turn = (FIRST_YEAR + number) % EVERY
        if element >= self.n:
            return (element - self.n) * EVERY + turn
        other = self.n + element // EVERY
        return other if element % EVERY == turn and other < self.places else None


@lru_cache(maxsize=256)
def _order(seed: int, number: int, places: int) -> tuple[int, int, int]:
    """Return factor, its inverse and shift of a year's permutation of places."""
    key, size = mixed(seed, FIRST_YEAR + number), max(places, 1)
    factor = size // 4 + key % max(size // 2, 1) or 1
    while gcd(factor, size) != 1:
        factor += 1
    return factor, pow(factor, -1, size), (key >> 32) % size


@lru_cache(maxsize=256)
def _ends_of_days(number: int, places: int) -> Ints:
    """Return behind which place each day of the calendar year after a year ends."""
    after = FIRST_YEAR + number + 1
    _, month, day, divisor = calendar(date(after, 1, 1), date(after + 1, 1, 1))
    weight = np.array([0, 4, 8, 30, 12, 12, 40, 20, 5, 5, 5, 5, 5])[month]  # by month
    times = np.where(np.isin(month, (3, 6)) & (day >= 20), 4, 1)
    steps = np.cumsum(weight * times // divisor)
    return np.asarray(steps * places // steps[-1], dtype=np.int64)


def _changed(day: Ints, bits: NDArray[np.uint64]) -> Ints:
    """Return the days of the last change of what was filed on a day: the same, for most."""
    later = ((bits >> np.uint64(8)) % np.uint64(300)).astype(np.int64)
    again = np.where(bits & np.uint64(15) == 0, day + later, day)
    return np.where(again < FIRST_DAY, FIRST_DAY + later, again)


def _role(key: int) -> int:
    return (CORRECTION, CORRECTION, CORRECTION, TWIN, TWIN, EXTRAORDINARY)[(key >> 12) % 6]
