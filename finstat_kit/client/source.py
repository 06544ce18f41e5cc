"""What answers for a register: the interface that requests and the directory of a mirror have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.session import Session
from finstat_kit.errors import RegisterError
from finstat_kit.protocol.records import Record

if TYPE_CHECKING:
    from finstat_kit.frames.financials.items import Activity
    from finstat_kit.protocol.forms import Form

# An id, with its record or with the error of that record alone.
Outcome = tuple[int, Record | RegisterError]


class Part(NamedTuple):
    """The part of a register that a source has; by default all of it.

    Attributes:
        since: First day of change of a partial copy, None for the whole register.
        extract: Whether it is an extract: records by id, no lists.
        undated: Collections whose days of change are not known.
        ends: Whether its data end on its day: what changed since a span before it is known.
    """

    since: date | None = None
    extract: bool = False
    undated: frozenset[str] = frozenset()
    ends: bool = False


class Wanted(NamedTuple):
    """The filings and figures that are wanted; see `Register.financials`."""

    years: Sequence[int] | None
    consolidated: bool = False
    from_previous: bool = False
    activity: Activity = "total"
    filed_until: date | None = None


class Source:
    """What answers for a register.

    Attributes:
        session: The settings of the register, and its exchange.
        cost: Requests that a record takes.
        in_process: Whether these are answered in this process, without a network.
        has_names: Whether units are found by name.
    """

    cost: ClassVar[int] = 1
    in_process: ClassVar[bool] = False
    has_names: ClassVar[bool] = False

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def at_hand(self) -> bool:
        """Whether all records are at hand, so that a scan of them takes no requests."""
        # What a sample answers to a scan could not be replayed: its records are no list.
        is_kept = self.session.exchange.cache is not None
        return not self.cost or (self.in_process and not is_kept)

    @property
    def invented(self) -> bool:
        """Whether the data are known to be invented."""
        register = self.session.register
        return isinstance(register, Inner) and bool(register.invented)

    def part(self) -> Part:
        """Return the part of the register that it has."""
        return Part()

    def why_missing(self, name: str, ids: pl.Series) -> str:
        """Return why ids have no record, to be appended to a text."""
        return ""

    def names(self) -> pl.DataFrame | None:
        """Return the names of all units, prepared for a search; None without `has_names`."""
        return None

    def all_records(self, name: str) -> pl.LazyFrame | None:
        """Return all records of a collection, None where they are read id by id."""
        return None

    def filings(self, units: pl.DataFrame, wanted: Wanted) -> pl.DataFrame | None:
        """Return the filings of units, None where they are put together from records."""
        return None

    def figures(self, units: pl.DataFrame, wanted: Wanted) -> pl.DataFrame | None:
        """Return the figures of units, None where they are put together from records."""
        return None

    def codelist(self, name: str, *, refresh: bool = False) -> pl.DataFrame:
        """Return a codelist, fetched at the first call."""
        raise NotImplementedError

    def form(self, template: int, *, refresh: bool = False) -> Form | None:
        """Return a form, None where the register has no template of that id."""
        raise NotImplementedError

    def records(
        self,
        name: str,
        ids: pl.Series,
        *,
        keep: bool,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Return the records of ids, none repeated, in their order; see `Collection.get`."""
        raise NotImplementedError


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
