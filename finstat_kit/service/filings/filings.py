"""Which statements, reports and annual reports a register has, and the lines of their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS
from finstat_kit.service.filings.drawn import (
    CORRECTION,
    MOST_REPORTS,
    OLD_FORMS,
    Drawn,
    Filing,
    Slots,
)
from finstat_kit.service.filings.figures import mixed
from finstat_kit.service.state.store import (
    AnyLine,
    Condition,
    Days,
    Ints,
    Store,
)

_NO_CASE: Final = 999 << 40  # in a key: a filing without any difficulty


class Added(NamedTuple):
    """A statement that was filed after the sample was made.

    Attributes:
        row: The unit's row as drawn, None for a later unit.
        fields: What its reports repeat of a later unit, as it was on the day of filing.
        case: The difficulty that it was filed with, None for none.
    """

    unit: int
    row: int | None
    fields: Mapping[str, object]
    year: int
    role: int
    day: int
    case: str | None = None

    @property
    def reports(self) -> int:
        """How many reports it has."""
        of_year = 2 if self.year <= OLD_FORMS else 1
        return of_year + {"two_of_one_form": 1, "half": -1}.get(str(self.case), 0)


@dataclass(frozen=True, eq=False)
class Filings:
    """The filings of a sample.

    Attributes:
        origin: The register as it was drawn, whose units filed.
        seed: Of the sample.
        added: What was filed since.
        lost: Units that vanished: what they filed is no longer theirs.
    """

    origin: Store
    seed: int
    added: tuple[Added, ...] = ()
    lost: frozenset[int] = frozenset()
    _drawn: Drawn | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self._drawn is None:
            object.__setattr__(self, "_drawn", Drawn(self.origin, self.seed))

    @property
    def drawn(self) -> Drawn:
        """The filings that were drawn, the same whatever was filed since."""
        assert self._drawn is not None
        return self._drawn

    @cached_property
    def slots(self) -> Slots:
        """What is known of each place; made once, as long as nothing more is filed."""
        drawn = self.drawn.slots()
        if not self.added:
            return drawn
        changed = np.concatenate(
            [drawn.days.changed, np.array([one.day for one in self.added], dtype=np.uint16)]
        )
        more = np.array([one.reports for one in self.added], dtype=np.uint8)
        return Slots(
            Days(changed),
            np.concatenate([drawn.reports, more]),
            np.concatenate([drawn.annual, 0 * more]),
        )

    @cached_property
    def _added_of(self) -> Mapping[int, Sequence[int]]:
        """The numbers of what each unit filed since, so that no record goes through all of it."""
        found: dict[int, list[int]] = {}
        for number, one in enumerate(self.added):
            found.setdefault(one.unit, []).append(number)
        return found

    @property
    def lines(self) -> dict[str, AnyLine]:
        """The id lines of the three collections."""
        return {
            STATEMENTS: StatementLine(self, STATEMENTS),
            REPORTS: ReportLine(self),
            ANNUAL_REPORTS: StatementLine(self, ANNUAL_REPORTS),
        }

    def ids_of(self, unit: int) -> tuple[list[int], list[int]]:
        """Return the ids of a unit's statements and annual reports, in no promised order."""
        slots = [] if unit in self.lost else self.drawn.slots_of(unit)
        known = self.drawn.slots()
        statements = [s for s in slots if known.days.changed[s]]
        base = self.drawn.size
        statements += [base + n for n in self._added_of.get(unit, ())]
        if unit % 2:
            statements.reverse()
        half = len(statements) // 2
        mixed_up = statements[half:] + statements[:half]
        annual = [s for s in mixed_up if s < base and known.annual[s]]
        return (
            [self.id_of(STATEMENTS, s) for s in mixed_up],
            [self.id_of(ANNUAL_REPORTS, s) for s in annual],
        )

    def was_corrected_before(self, filing: Filing) -> bool:
        """Return whether the unit had filed a correction for the year before that of a filing.

        A later correction must not change the filing: no list of changes would name it.
        """
        year, earlier = filing.year - 1, max(filing.slot - self.drawn.size, 0)
        for number in self._added_of.get(filing.unit, ()):
            one = self.added[number]
            if number < earlier and one.year == year and one.role == CORRECTION:
                return True
        return filing.row is not None and self.drawn.was_corrected(filing.row, year)

    def id_of(self, collection: str, slot: int) -> int:
        """Return the id at a place of a collection."""
        stride = self.drawn.strides[collection]
        return 1 + slot * stride + (slot * 40_503 >> 4) % stride

    def slot_of(self, collection: str, id_: int) -> int | None:
        """Return the place of an id, None where there can be none."""
        slot = (id_ - 1) // self.drawn.strides[collection]
        return slot if id_ >= 1 and self.id_of(collection, slot) == id_ else None

    def filing(self, slot: int) -> Filing | None:
        """Return the statement at a place, None for a gap."""
        base = self.drawn.size
        if slot >= base + len(self.added):
            return None
        if slot < base:
            return self.drawn.filing(slot)
        one = self.added[slot - base]
        key = mixed(self.seed, slot) % 2**32 | _NO_CASE
        return Filing(slot, one.unit, one.row, one.year, one.role, key, one.day, one.day, one.case)

    def another_unit(self, filing: Filing) -> int:
        """Return the first unit that was drawn, the second for the first itself."""
        units = [int(unit) for unit in self.origin.units.ids[:2] if unit != filing.unit]
        return units[0] if units else filing.unit + 1

    def another_statement(self, filing: Filing) -> int:
        """Return the unit's first statement that was drawn, else the first of all."""
        days = self.drawn.slots().days
        own = [slot for slot in self.drawn.slots_of(filing.unit) if days.changed[slot]]
        slots = own or days.rows(0, 1, 1).tolist() or [filing.slot + 1]
        return self.id_of(STATEMENTS, slots[0])

    def later_unit(self, filing: Filing) -> Mapping[str, object]:
        """Return the fields of a unit that was published later, as it filed."""
        return self.added[filing.slot - self.drawn.size].fields


class StatementLine:
    """The ids of statements, or of the annual reports that came with some of them."""

    def __init__(self, filings: Filings, collection: str) -> None:
        self._filings = filings
        self._collection = collection

    @property
    def ids(self) -> Ints:
        """All ids."""
        days, where = self._known()
        return self._ids(days.rows(0, 1, len(days.changed), where))

    def page(
        self, since: int, after: int, size: int, where: Sequence[Condition] = ()
    ) -> tuple[Ints, bool]:
        """Return up to *size* matching ids above *after*, and whether more remain."""
        days, where = self._known()
        ids = self._ids(days.rows(self._start(after), max(since, 1), size + 1, where))
        return ids[:size], len(ids) > size

    def count(self, since: int, after: int, where: Sequence[Condition] = ()) -> int:
        """Return how many matching ids lie above *after*."""
        days, where = self._known()
        return days.count(self._start(after), max(since, 1), where)

    def _known(self) -> tuple[Days, tuple[Condition, ...]]:
        slots = self._filings.slots
        annual = self._collection == ANNUAL_REPORTS
        return slots.days, (Condition(slots.annual, 1),) if annual else ()

    def _ids(self, slots: Ints) -> Ints:
        stride = self._filings.drawn.strides[self._collection]
        return 1 + slots * stride + (slots * 40_503 >> 4) % stride

    def _start(self, after: int) -> int:
        """Return the first place whose id lies above *after*."""
        place = max(after - 1, 0) // self._filings.drawn.strides[self._collection]
        return place + (self._filings.id_of(self._collection, place) <= after)


class ReportLine(StatementLine):
    """The ids of reports: each statement has up to four places for them."""

    def __init__(self, filings: Filings) -> None:
        super().__init__(filings, REPORTS)

    @property
    def ids(self) -> Ints:
        """All ids."""
        return self._ids(self._places(0, 1, 2**62))

    def page(
        self, since: int, after: int, size: int, where: Sequence[Condition] = ()
    ) -> tuple[Ints, bool]:
        """Return up to *size* matching ids above *after*, and whether more remain."""
        ids = self._ids(self._places(self._start(after), max(since, 1), size + 1))
        return ids[:size], len(ids) > size

    def count(self, since: int, after: int, where: Sequence[Condition] = ()) -> int:
        """Return how many matching ids lie above *after*."""
        start, slots = self._start(after), self._filings.slots
        slot, before = divmod(start, MOST_REPORTS)
        matching = slots.days.changed[slot:] >= max(since, 1)
        total = int(slots.reports[slot:][matching].sum())
        if before and len(matching) and matching[0]:
            total -= min(before, int(slots.reports[slot]))
        return total

    def _places(self, start: int, since: int, need: int) -> Ints:
        slots = self._filings.slots
        # Each statement has a report; those of the first may lie before the start.
        most = min(need + MOST_REPORTS, len(slots.reports) + 1)
        found = slots.days.rows(start // MOST_REPORTS, since, most)
        many = slots.reports[found].astype(np.int64)
        first = np.cumsum(many) - many
        places = np.repeat(found * MOST_REPORTS - first, many) + np.arange(int(many.sum()))
        return places[places >= start][: need if need < len(places) else None]
