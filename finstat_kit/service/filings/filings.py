"""Which statements, reports and annual reports a register has, and the lines of their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS
from finstat_kit.service.filings.drawn import SLOT, Drawn
from finstat_kit.service.filings.filing import CORRECTION, MOST_REPORTS, Filing
from finstat_kit.service.state.line import Ints, Line
from finstat_kit.service.state.store import Json

Numbers = TypeVar("Numbers", int, Ints)


@dataclass(frozen=True, eq=False)
class Filings:
    """The filings of a sample.

    Attributes:
        drawn: Those that were drawn with the sample, the same whatever was filed since.
        added: Those that were filed since.
    """

    drawn: Drawn
    added: tuple[Filing, ...] = ()
    _lines: dict[str, Line] = field(default_factory=dict, init=False)  # that were listed so far

    @cached_property
    def slots(self) -> NDArray[np.void]:
        """The properties of the places, those of what was filed since behind the others."""
        since = [(filing.changed, filing.reports, filing.annual) for filing in self.added]
        parts = [self.drawn.slots, np.array(since, dtype=SLOT)]
        return np.concatenate(parts) if since else parts[0]

    def line(self, collection: str) -> Line:
        """Return the id line of a collection, computed once per filing and only for lists."""
        if collection not in self._lines:
            slots, each = self.slots, MOST_REPORTS if collection == REPORTS else 1
            column = {STATEMENTS: "changed", REPORTS: "reports", ANNUAL_REPORTS: "annual"}
            counts = slots[column[collection]][:, None]
            places = np.flatnonzero(np.arange(each, dtype=counts.dtype) < counts)
            line = Line(self.id_of(collection, places), slots["changed"][places // each])
            self._lines[collection] = line
        return self._lines[collection]

    def id_of(self, collection: str, place: Numbers) -> Numbers:
        """Return the id at a place of a collection, or those at several."""
        stride = self.drawn.strides[collection]
        return 1 + place * stride + (place * 40_503 >> 4) % stride

    def filing(self, slot: int) -> Filing | None:
        """Return the filing at a slot, None for a gap."""
        later = slot - self.drawn.size
        if later < 0:
            return self.drawn.filing(slot)
        return self.added[later] if later < len(self.added) else None

    def filing_of(self, collection: str, id_: int) -> tuple[Filing | None, int]:
        """Return the filing of a record, None where there is none, and the number of a report."""
        each = MOST_REPORTS if collection == REPORTS else 1
        slot, index = divmod((id_ - 1) // self.drawn.strides[collection], each)
        if id_ < 1 or self.id_of(collection, slot * each + index) != id_:
            return None, 0
        return self.filing(slot), index

    def ids_of(self, unit: int, *, removed: bool) -> Json:
        """Return the fields of a unit with the ids of what it filed, in no promised order.

        The filings that were drawn for a *removed* unit are not those of a later one of its id.
        """
        slots = [] if removed else self.drawn.slots_of(unit)
        slots += [filing.slot for filing in self._added_of.get(unit, ())]
        if unit % 2:
            slots.reverse()
        half = len(slots) // 2
        shuffled = slots[half:] + slots[:half]
        annual = [slot for slot in shuffled if self.slots["annual"][slot]]
        ids = {
            "idUctovnychZavierok": [self.id_of(STATEMENTS, slot) for slot in shuffled],
            "idVyrocnychSprav": [self.id_of(ANNUAL_REPORTS, slot) for slot in annual],
        }
        return {name: own for name, own in ids.items() if own}

    def was_corrected_before(self, filing: Filing) -> bool:
        """Return whether the unit had filed a correction for the year before that of a filing.

        A later correction must not change the filing: no list of changes would name it.
        """
        year, row = filing.year - 1, filing.unit.row
        return any(
            other.slot < filing.slot and other.year == year and other.role == CORRECTION
            for other in self._added_of.get(filing.unit.id, ())
        ) or (row is not None and self.drawn.was_corrected(row, year))

    @cached_property
    def _added_of(self) -> Mapping[int, Sequence[Filing]]:
        """What each unit filed since, so that no record goes through all of it."""
        by_unit: dict[int, list[Filing]] = {}
        for filing in self.added:
            by_unit.setdefault(filing.unit.id, []).append(filing)
        return by_unit

    def another_unit(self, filing: Filing) -> int:
        """Return the first unit that was drawn, the second for the first itself."""
        first = self.drawn.origin.units.ids[:2].tolist()
        return next((unit for unit in first if unit != filing.unit.id), filing.unit.id + 1)

    def another_statement(self, filing: Filing) -> int:
        """Return the unit's first statement that was drawn, else the first of all."""
        first = np.flatnonzero(self.drawn.slots["changed"])[:1].tolist()
        slots = self.drawn.slots_of(filing.unit.id) or first or [filing.slot + 1]
        return self.id_of(STATEMENTS, slots[0])
