"""What answers for a register: the interface that requests and the directory of a mirror have."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang, Since, Years
from finstat_kit.client.session import Session
from finstat_kit.errors import RegisterError
from finstat_kit.protocol.records import Record
from finstat_kit.protocol.requests import Page, Query

if TYPE_CHECKING:
    from finstat_kit.frames.financials.items import Activity
    from finstat_kit.protocol.forms import Form

# An id, with its record or with the error of that record alone.
Outcome = tuple[int, Record | RegisterError]


class Wanted(NamedTuple):
    """The filings and figures that are wanted; see `Register.financials`."""

    years: Years
    consolidated: bool = False
    from_previous: bool = False
    activity: Activity = "total"
    filed_until: date | None = None
    items: Sequence[str] | None = None  # columns; None is all


class Allowance(NamedTuple):
    """What a call may take, and whether it shows a bar, as given by the user."""

    max_requests: int | None = None
    progress: bool | None = None


ANY: Final = Allowance()
Get = Callable[..., pl.DataFrame]


class Source(ABC):
    """What answers for a register.

    Attributes:
        session: The settings of the register, and its exchange.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def at_hand(self) -> bool:
        """Whether all records are at hand, so that they are scanned, and units found by name."""
        return False

    @property
    def invented(self) -> bool:
        """Whether the data are known to be invented."""
        register = self.session.register
        return isinstance(register, Inner) and bool(register.invented)

    @property
    def given(self) -> int | None:
        """The number of units that a mirror was given; None of a whole register."""
        return None

    @property
    def reason_of_nobody(self) -> str:
        """Why an IČO that no unit has has no figures."""
        return "no_such_unit"

    def listed(self, query: Query) -> Query:
        """Return the query of a list that it can answer; a register has them all.

        Raises:
            UsageError: A mirror does not know the days of change.
            NotHeld: It is of given units, and has no such list.
        """
        return query

    def why_missing(self, name: str, ids: pl.Series) -> str:
        """Return why ids have no record, to be appended to a text."""
        return ""

    def names(self) -> pl.DataFrame | None:
        """Return the names of all units, prepared for a search; None where they are not at hand."""
        return None

    @abstractmethod
    def scan(self, name: str, changed_since: Since, get: Get) -> pl.LazyFrame:
        """Return all records of a collection, by ascending id; see `Collection.scan`.

        Args:
            name: Of the collection.
            changed_since: As given by the user.
            get: The method of the collection, by which they are read id by id.

        Raises:
            UsageError: They are not at hand.
        """

    @abstractmethod
    def numbered(
        self, numbers: Sequence[tuple[str, str]], progress: bool | None
    ) -> list[tuple[str, str, int]]:
        """Return the units with some numbers: kind, digits, and the id of each unit.

        Args:
            numbers: Kinds (``"id"``, ``"ico"``, ``"dic"``) and digits, each once.
            progress: As given by the user.
        """

    @abstractmethod
    def page(
        self, query: Query, seen: int | None = None, stop: threading.Event | None = None
    ) -> Page:
        """Return a page of a list, checked against its query.

        Args:
            query: The query.
            seen: Number of ids of the walk before the page, if it is known.
            stop: Ends the work when it is set.
        """

    @abstractmethod
    def count(self, query: Query, stop: threading.Event | None = None) -> int:
        """Return the number of ids of a query."""

    @abstractmethod
    def records(
        self, name: str, ids: pl.Series, allowance: Allowance = ANY, *, null_rows: bool
    ) -> pl.DataFrame:
        """Return the records of ids, none repeated, in their order; see `Collection.get`.

        With *null_rows* an id without a readable record has a row with the id alone.
        """

    @abstractmethod
    def codelist(self, name: str, *, refresh: bool = False) -> pl.DataFrame:
        """Return a codelist, fetched at the first call."""

    @abstractmethod
    def form(self, template: int, *, refresh: bool = False) -> Form | None:
        """Return a form, None where the register has no template of that id."""

    @abstractmethod
    def forms(self, *, refresh: bool = False) -> list[tuple[Form, bool]]:
        """Return all forms that the register lists, and whether each has its tables."""

    @abstractmethod
    def filings(self, units: pl.DataFrame, wanted: Wanted, progress: bool | None) -> pl.DataFrame:
        """Return the filings of units; see `Register.filings`."""

    @abstractmethod
    def figures(self, units: pl.DataFrame, wanted: Wanted, progress: bool | None) -> pl.DataFrame:
        """Return the figures of units; see `Register.financials`."""

    @abstractmethod
    def figures_and_reports(
        self, unit: pl.DataFrame, filed: pl.DataFrame | None, years: Years
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the figures of a unit, and the reports that they are read from.

        Args:
            unit: Its record.
            filed: Its filings in these years, as `filings` returns them; None with the latest year,
                which they show no sooner than reports do.
            years: As of `Wanted`.
        """

    def shipped_first(self, template: int) -> Form | None:
        """Return the form by which cells are read: that of the package, else of the register."""
        return _shipped(template) or self.form(template)

    def register_first(self, template: int) -> Form | None:
        """Return the form with whose captions items are compared: of the register, if it has it."""
        return self.form(template) or _shipped(template)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle, within a LazyFrame, as that of the register, which may refuse."""
        return getattr, (self.session.register, "_source")


class Inner:
    """The inner interface of a register: all that charts, widgets, the command and mirrors use.

    Users have the public one; what else begins with "_" belongs to the register alone.
    """

    lang: Lang
    _session: Session
    _source: Source

    def _language(self, lang: Lang | None) -> Lang:
        """Return the language of a call, the register's own if none is given."""
        return arguments.lang(self.lang if lang is None else lang)

    def _lookup(self, codelist: str) -> pl.DataFrame:
        """Return a codelist."""
        return self._source.codelist(codelist)

    @property
    def invented(self) -> bool | None:
        """Whether the data are invented, None as long as that is not known."""
        raise NotImplementedError

    @property
    def _use_arguments(self) -> str | None:
        """The arguments of `fk.use` that choose the same register in the same state, if any do."""
        raise NotImplementedError

    def _source_name(self, lang: Lang) -> str:
        """Name the source of the data, for titles, panels and citations.

        Only the live host is called the Register of Financial Statements.
        """
        raise NotImplementedError


def _shipped(template: int) -> Form | None:
    from finstat_kit.protocol.forms import shipped  # compiles its patterns

    return shipped(template)
