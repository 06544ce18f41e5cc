"""A filing: a statement with its reports, what follows from its key, and its difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import msgspec

from finstat_kit.protocol.shipped import facts
from finstat_kit.service.filings.figures import plan_of
from finstat_kit.service.filings.filers import Unit

FIRST_YEAR: Final = 2010
OLD_FORMS: Final = 2013  # the last year in which businesses file two reports
MOST_REPORTS: Final = 4
# The roles of statements; their figures differ, as those do that a later one restates, and those
# of a second report on the same form.
MAIN, RESTATED, CORRECTION, TWIN, EXTRAORDINARY, SECOND = range(6)
AUDITOR: Final = 700  # the template of an auditor's report
# The templates of notes, an auditor's report and a notice of approval; shift and mask of the bits
# of a key that are zero where a statement has one.
EXTRAS: Final = {483: (16, 1), AUDITOR: (18, 15), 1171: (22, 7)}
_TRADERS_FORM: Final = 716
_LAST_MONTH: Final = 12 * 9_999 + 11


class Case(msgspec.Struct, frozen=True):
    """A difficulty of a filing, which its name identifies.

    Attributes:
        share: Filings per thousand that are drawn with it.
        statement: Fields of the statement that it replaces; None leaves them out.
        report: Fields of the reports that it replaces.
        title: Fields of the title page of the reports that it replaces.
        state: Of the records, which have no other fields then.
        access: Of the reports.
        period: ``short``, the last six months of the year, or ``endless``.
        owner: What the record names another of: the ``unit`` of the statement, or the ``statement``
            of the report.
        more: How many more reports than a statement of the year has.
        twice: The first report is filed twice, with ``other`` or ``equal`` figures.
        content: What a report has: ``attachments`` or ``none`` for no content, ``empty``, the
            ``title`` page alone, with an empty list of tables too (``no_tables``), or one with
            ``texts`` for booleans.
        cells: How its tables differ: a ``sum`` is wrong, all are ``blank`` but those of the
            ``previous`` year, these are ``restated``, or one is ``not_a_number``.
    """

    share: int = 0
    statement: dict[str, object] = {}
    report: dict[str, object] = {}
    title: dict[str, object] = {}
    state: str = ""
    access: str = "Verejné"
    period: str = ""
    owner: str = ""
    more: int = 0
    twice: str = ""
    content: str = ""
    cells: str = ""


@cache
def all_cases() -> dict[str, Case]:
    """Return the difficulties; those with a share come first, in the order they are dealt out."""
    return facts("cases", dict[str, Case])


@dataclass(eq=False)
class Filing:
    """A statement: of which unit, for which year, in which role, filed when.

    Attributes:
        slot: Its place among all.
        unit: The unit that made it.
        year: Accounting year.
        role: ``MAIN``, ``CORRECTION``, ``TWIN`` or ``EXTRAORDINARY``.
        key: 64 bits from which the rest of it is drawn.
        day: Day of filing, days since 2000-01-01.
        changed: Day of the last change.
        reports: How many reports it has.
        annual: Whether an annual report came with it.
        difficulty: The name of its case, None for none.
    """

    slot: int
    unit: Unit
    year: int
    role: int
    key: int
    day: int
    changed: int
    reports: int = 0
    annual: bool = False
    difficulty: str | None = None

    @cached_property
    def case(self) -> Case:
        """The difficulty, one that changes nothing where it has none."""
        return all_cases()[self.difficulty] if self.difficulty else Case()

    @cached_property
    def kind(self) -> str:
        """The kind of forms that it is made on, the name of a plan."""
        kind = "consolidated" if self.role == TWIN and self.unit.cents else self.unit.kind
        while self.year < (plan := plan_of(kind)).since and plan.before is not None:
            kind = plan.before
        return kind

    @property
    def forms(self) -> list[int]:
        """The templates of the reports that have tables."""
        if self.unit.kind == "trader":
            return [_TRADERS_FORM]
        return [template for template, _ in plan_of(self.kind).forms]

    @property
    def extras(self) -> list[int]:
        """The templates of the notes, the auditor's report, the notice that come with it."""
        return [n for n, (shift, mask) in EXTRAS.items() if self.key >> shift & mask == 0]

    @cached_property
    def templates(self) -> list[int]:
        """The templates of its reports, in no promised order."""
        again = self.forms[:1] if self.case.twice else []
        templates = [*self.forms, *again, *self.extras][: self.reports]
        turn = (self.key >> 28) % len(templates)
        return templates[turn:] + templates[:turn]

    @cached_property
    def period(self) -> tuple[int, int]:
        """The first and the last month, counted from the year 0."""
        unit, january = self.unit, 12 * self.year
        first, last = january, january + 11
        if self.role == EXTRAORDINARY:
            last = january + 5
        elif unit.key >> 24 & 31 == 0:  # a fiscal year from October to September
            first, last = january - 3, january + 8
        elif unit.founded == self.year:
            first = january + int(str(unit.fields["datumZalozenia"])[5:7]) - 1
        if self.case.period == "short":
            return last - 5, last
        return first, _LAST_MONTH if self.case.period == "endless" else last


def drawn_case(key: int) -> str | None:
    """Return the difficulty that is drawn for a filing, None for none."""
    number = (key >> 40) % 1000
    for name, case in all_cases().items():
        if number < case.share:
            return name
        number -= case.share
    return None
