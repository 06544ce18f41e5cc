"""Which statements, reports and annual reports a register has, and the lines of their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS
from finstat_kit.service.filings.drawn import Drawn, Slots, joined
from finstat_kit.service.filings.figures import mixed
from finstat_kit.service.filings.filers import Unit, unit_of
from finstat_kit.service.filings.filing import CORRECTION, MOST_REPORTS, Filing
from finstat_kit.service.state.line import Line


@dataclass(frozen=True, eq=False)
class Filings:
    """The filings of a sample.

    Attributes:
        drawn: Those that were drawn with the sample, the same whatever was filed since.
        added: Those that were filed since.
    """

    drawn: Drawn
    added: tuple[Filing, ...] = ()

    @cached_property
    def lines(self) -> Mapping[str, Line]:
        """The id lines of the three collections; computed once per filing, and only for lists."""
        if not self.added:
            return self.drawn.lines
        added = Slots(
            np.array([filing.changed for filing in self.added], dtype=np.uint16),
            np.array([filing.reports for filing in self.added], dtype=np.uint8),
            np.array([filing.annual for filing in self.added], dtype=np.uint8),
        )
        return joined([self.drawn.lines, self.drawn.lines_of(added, self.drawn.size)])

    def id_of(self, collection: str, slot: int) -> int:
        """Return the id at a place of a collection."""
        return self.drawn.ids_of(collection, slot)

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

    def unit_of(self, filing: Filing) -> Unit:
        """Return the unit that made a filing, as it was drawn or as it filed."""
        if filing.row is not None:
            return self.drawn.unit(filing.unit, filing.row)
        return unit_of(filing.fields, mixed(self.drawn.seed, 8, filing.unit))

    def ids_of(self, unit: int, *, removed: bool) -> tuple[list[int], list[int]]:
        """Return the ids of a unit's statements and annual reports, in no promised order.

        The filings that were drawn for a *removed* unit are not those of a later one of its id.
        """
        drawn_slots = self.drawn.slots
        slots = [] if removed else [s for s in self.drawn.slots_of(unit) if drawn_slots.changed[s]]
        slots += [filing.slot for filing in self._added_of.get(unit, ())]
        if unit % 2:
            slots.reverse()
        half = len(slots) // 2
        shuffled = slots[half:] + slots[:half]
        annual = [s for s in shuffled if s < self.drawn.size and drawn_slots.annual[s]]
        return (
            [self.id_of(STATEMENTS, s) for s in shuffled],
            [self.id_of(ANNUAL_REPORTS, s) for s in annual],
        )

    def was_corrected_before(self, filing: Filing) -> bool:
        """Return whether the unit had filed a correction for the year before that of a filing.

        A later correction must not change the filing: no list of changes would name it.
        """
        year = filing.year - 1
        for other in self._added_of.get(filing.unit, ()):
            if other.slot < filing.slot and other.year == year and other.role == CORRECTION:
                return True
        return filing.row is not None and self.drawn.was_corrected(filing.row, year)

    @cached_property
    def _added_of(self) -> Mapping[int, Sequence[Filing]]:
        """What each unit filed since, so that no record goes through all of it."""
        by_unit: dict[int, list[Filing]] = {}
        for filing in self.added:
            by_unit.setdefault(filing.unit, []).append(filing)
        return by_unit

    def another_unit(self, filing: Filing) -> int:
        """Return the first unit that was drawn, the second for the first itself."""
        first = self.drawn.origin.units.ids[:2]
        units = [int(unit) for unit in first if unit != filing.unit]
        return units[0] if units else filing.unit + 1

    def another_statement(self, filing: Filing) -> int:
        """Return the unit's first statement that was drawn, else the first of all."""
        changed = self.drawn.slots.changed
        of_unit = [slot for slot in self.drawn.slots_of(filing.unit) if changed[slot]]
        slots = of_unit or np.flatnonzero(changed)[:1].tolist() or [filing.slot + 1]
        return self.id_of(STATEMENTS, slots[0])
