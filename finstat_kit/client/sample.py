"""The embedded register as a `Register` in process, with verbs that change it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from functools import partial
from hashlib import sha256
from inspect import signature
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import Lang, Since
from finstat_kit.calls import checked_call
from finstat_kit.client.collections.fetching import Requested, scan_by_ids
from finstat_kit.client.collections.listing import query_of, walked
from finstat_kit.client.register import Register
from finstat_kit.client.session import Session
from finstat_kit.client.source import Get, Source
from finstat_kit.errors import ProtocolError, UsageError, invalid
from finstat_kit.frames.text import number_format, unit_names
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol import requests
from finstat_kit.protocol.company_numbers import DIC, ICO
from finstat_kit.protocol.records import KINDS, UNITS as UNIT_FIELDS
from finstat_kit.protocol.wire import INVENTED, Reply
from finstat_kit.service.filings import bodies
from finstat_kit.service.filings.filing import FIRST_YEAR, all_cases
from finstat_kit.service.filings.store import corrected, filed, filings_of, with_filings
from finstat_kit.service.http import routes
from finstat_kit.service.state import changes, population
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.store import DELETED, LIVING, NON_PUBLIC, Store
from finstat_kit.transport.base import InProcess

_WORDS: Final = Words("sample")
Ids = int | Iterable[int] | pl.Series | pl.DataFrame


class _SampleSource(Requested):
    """What answers for a sample, which holds the names of its units."""

    def __init__(self, session: Session, names: Callable[[], pl.DataFrame]) -> None:
        super().__init__(session)
        self._names = names

    @property
    def at_hand(self) -> bool:
        # What a sample answers to a scan could not be replayed: its records are no list.
        return self.session.exchange.cache is None

    def scan(self, name: str, changed_since: Since, get: Get) -> pl.LazyFrame:
        if not self.at_hand:
            return super().scan(name, changed_since, get)
        ids = walked(self, query_of(self, name, changed_since), connections=1, progress=False)
        return scan_by_ids(ids, name, get, "raise")

    def names(self) -> pl.DataFrame:
        return self._names()


class Sample(Register):
    """An invented register that lives in this process; made by `fk.sample`.

    Its verbs change it as others change the real one: each swaps the whole state atomically.
    """

    def __init__(
        self,
        store: Store,
        *,
        strict: bool,
        again: partial[Sample] | None = None,
        identity: str = "finstat_kit sample",
        lang: Lang | None = None,
    ) -> None:
        self._store = store
        self._made = store, again  # a state, and the call that makes it
        self._strict = strict
        # Its arguments, not its state: it is the same register after any change.
        self._mark = identity
        self._marks = {INVENTED: identity}
        self._named: tuple[Store, pl.DataFrame] | None = None  # a state and its names
        self._changing = threading.Lock()
        super().__init__("sample:", lang=lang, transport=InProcess(self._answer))

    def _answering(self) -> Source:
        return _SampleSource(self._session, self._names)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as a call of `fk.sample` with the same arguments.

        Raises:
            UsageError: It was changed, or not made by `fk.sample`.
        """
        if self._again is None:
            raise UsageError(
                "this sample was changed after fk.sample() made it, and pickle and copy do not "
                "include changes",
                cure="make it again and repeat the changes, or serve it and give its URL",
            )
        return self._again, (), {"lang": self.lang}

    def __repr__(self) -> str:
        units = f"{len(self._store.units.ids):,} invented units"
        strict = ", strict" if self._strict else ""
        return f"SAMPLE DATA <{units} in process, today {self.today}{strict}>"

    @property
    def invented(self) -> bool:
        """Whether the data are invented: True."""
        return True

    @property
    def _again(self) -> partial[Sample] | None:
        """The call of `fk.sample` that makes the same sample, None after a change."""
        store, again = self._made
        return again if self._store is store else None

    @property
    def _use_arguments(self) -> str | None:
        if self._again is None:
            return None
        given = (f"{name}={value!r}" for name, value in self._again.keywords.items())
        return f"fk.sample({', '.join(given)})"

    def _source_name(self, lang: Lang) -> str:
        return _WORDS[lang]["source"]

    def _citation(self, lang: Lang) -> str:
        units = number_format.whole(len(self._store.units.ids), lang)
        return _WORDS[lang]["cited"].format(units=units, today=self.today)

    def _names(self) -> pl.DataFrame:
        """Return the names of all units, prepared once per state."""
        store = self._store
        if self._named is None or self._named[0] is not store:
            ids, rows = store.units.ids, np.flatnonzero(store.columns["state"] == LIVING)
            names = [store.living(row).get("nazovUJ") for row in rows.tolist()]
            schema = {"id": pl.Int64, "nazovUJ": pl.String}
            named = pl.LazyFrame({"id": ids[rows], "nazovUJ": names}, schema)
            self._named = store, unit_names.prepared(named).collect()
        return self._named[1]

    def _answer(self, method: str, path: str, query: str) -> Reply:
        """Answer one request as the register's server would; a header marks it as invented."""
        store = self._store
        reply = routes.answer(store, method, path, query, strict=self._strict)
        return reply._replace(headers=reply.headers | self._marks | routes.dated(store.today))

    def serve(
        self, *, port: int = 0, host: str = "127.0.0.1"
    ) -> contextlib.AbstractContextManager[str]:
        """Serve at a URL within a ``with`` block; needs the extra ``server``.

        Args:
            port: Port to listen on; 0 takes a free one.
            host: Address to listen on; loopback by default.

        Returns:
            A context manager that gives the base URL.

        Raises:
            UsageError: *host* is not an address, the port is taken, or uvicorn is not installed.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.sample().serve() as url, fk.using(url):
            ...     fk.units.count()
            20000
        """
        port = arguments.whole("port", port, 0, 65_535)
        # An empty name, often an unset variable, would mean every address.
        if not arguments.text("host", host) or "\0" in host:
            raise invalid("host", host, "is not an address", give="one: '127.0.0.1'")
        from finstat_kit.service.http.server import served

        return served(self._answer, host=host, port=port)

    @property
    def today(self) -> date:
        """The sample's day: fixed, moved by `set_today`."""
        return self._store.today

    def set_today(self, day: str | date) -> None:
        """Move the sample's day, the default day of changes."""
        today = arguments.day("day", day)
        with self._changing:
            self._store = replace(self._store, today=today)

    def publish(
        self, n: int = 1, *, on: str | date | None = None, **fields: object
    ) -> pl.DataFrame:
        """Add new units with ids above all others.

        Args:
            n: How many.
            on: Day of change; None is the sample's day.
            **fields: Values of their records by the register's field names: ``kraj="SK010"``.

        Returns:
            Their ids: one column ``id`` (Int64).

        Raises:
            UsageError: A field is unknown, or its value cannot be in a record.
        """
        n = arguments.whole("n", n, 0, 10**7)
        record, day = _checked_fields(fields), _checked_day(on)
        return self._add(partial(changes.published, n=n, record=record, on=day))

    def touch(self, ids: Ids, *, on: str | date | None = None) -> None:
        """Change units: their date of change becomes *on*, or the sample's day."""
        self._change(ids, partial(changes.changed, on=_checked_day(on)))

    def delete(self, ids: Ids, *, on: str | date | None = None) -> None:
        """Delete units: they stay in lists, with the state ``ZMAZANÉ`` in records."""
        self._change(ids, partial(changes.changed, on=_checked_day(on), state=DELETED))

    def hide(self, ids: Ids, *, on: str | date | None = None) -> None:
        """Make units non-public: they stay in lists, with the state ``NEVEREJNÁ`` in records."""
        self._change(ids, partial(changes.changed, on=_checked_day(on), state=NON_PUBLIC))

    def vanish(self, ids: Ids) -> None:
        """Remove units from lists and records, which the register may do in breach of its rules."""
        self._change(ids, changes.without)

    def file(
        self, ids: Ids, *, year: int, on: str | date | None = None, case: str | None = None
    ) -> pl.DataFrame:
        """File a statement of units for a year, with ids above all others; the units change.

        Args:
            ids: The units.
            year: Accounting year, 2010 or later.
            on: Day of filing; None is the sample's day.
            case: A difficulty of the statement or its reports, from the table below; None is none.

        ======================  =======================================================
        Case                    Filing
        ======================  =======================================================
        ``sum``                 a sum that does not hold
        ``all_blank``           every cell is blank
        ``previous_only``       numbers only in the column of the previous period
        ``empty_content``       ``obsah`` is ``{}``
        ``no_content``          no ``obsah``
        ``title_only``          a title page and no tables
        ``no_tables``           a title page, and ``tabulky`` is an empty list
        ``attachments_only``    a PDF, without ``idSablony`` and ``obsah``
        ``text_truths``         booleans of the title page are texts
        ``deleted``             the records have the state ``ZMAZANÉ``
        ``non_public_record``   the records have the state ``NEVEREJNÁ``
        ``non_public``          the reports are ``Neverejné``
        ``public_attachments``  only the attachments of the reports are public
        ``restated``            the previous column differs from the year before
        ``interim``             ``typ`` is ``Priebežná``
        ``combined``            ``typ`` is ``Kombinovaná``
        ``extraordinary``       ``typ`` is ``Mimoriadna``
        ``unknown_kind``        ``typ`` is ``Vymyslená``
        ``no_kind``             no ``typ``, but ``typZavierky`` on the title page
        ``no_kind_anywhere``    neither ``typ`` nor ``typZavierky``
        ``no_kind_short``       neither, and the last six months of the period
        ``short_period``        the last six months of the period
        ``no_period``           no ``obdobieDo``
        ``year_9999``           ``obdobieDo`` is ``9999-12``
        ``reversed_period``     ``obdobieOd`` is ``2099-01``
        ``other_ico``           the title page has the IČO 99999999
        ``other_period``        the title page has the period of 2009
        ``consolidated``        ``konsolidovana`` is true
        ``central_government``  ``konsolidovanaZavierkaUstrednejStatnejSpravy`` is true
        ``summary``             ``suhrnnaUctovnaZavierkaVerejnejSpravy`` is true
        ``fund``                ``nazovFondu`` is ``Vymyslený fond``
        ``other_fund``          ``nazovFondu`` is ``Iný vymyslený fond``
        ``not_own_statement``   ``idUJ`` is the sample's first other unit
        ``not_own_report``      ``idUctovnejZavierky`` is the unit's first statement
        ``two_of_one_form``     two reports on one form, with different figures
        ``two_equal``           two reports on one form, with the same figures
        ``half``                until 2013: the balance sheet, no income statement
        ``unknown_template``    ``idSablony`` is 9999, a template that does not exist
        ``other_currency``      ``mena`` is ``USD``
        ``not_a_number``        the total assets are the text ``1e3``
        ``unreadable``          ``datumPodania`` of the statement is not a day
        ``unreadable_report``   ``mena`` of the reports is not a text
        ======================  =======================================================

        Returns:
            The ids of the statements: one column ``id`` (Int64).

        Raises:
            UsageError: An id is not of a unit, or *case* is unknown or not one of the year.

        Example:
            >>> import finstat_kit as fk
            >>> sample = fk.sample(100)
            >>> interim = sample.file(sample.units.ids(limit=1), year=2025, case="interim")
            >>> sample.statements.get(interim)["typ"].item()
            'Priebežná'
        """
        year, day = arguments.whole("year", year, FIRST_YEAR, self.today.year), _checked_day(on)
        of = [(unit, year) for unit in given_frames.ids(ids).unique(maintain_order=True)]
        return self._add(partial(filed, of=of, on=day, case=_checked_case(case)))

    def correct(
        self, ids: Ids, *, on: str | date | None = None, case: str | None = None
    ) -> pl.DataFrame:
        """File corrections of statements: unmarked statements of the same unit and year.

        Args:
            ids: The statements.
            on: Day of filing; None is the sample's day.
            case: A difficulty of the correction, as in `file`; None is none, even if the
                statement has one.

        Returns:
            The ids of the corrections: one column ``id`` (Int64).

        Raises:
            UsageError: An id is not of a statement, or *case* is unknown or not one of its year.
        """
        which, day = given_frames.ids(ids, of="statements").to_numpy(), _checked_day(on)
        return self._add(partial(corrected, statements=which, on=day, case=_checked_case(case)))

    def cases(self, most: int = 3) -> pl.DataFrame:
        """List filings with each difficulty that real ones have.

        Sums that do not hold (``sum``), blank tables, numbers only in the previous column, contents
        that are empty or absent, files without a template, texts for booleans, deleted and
        non-public records, kinds other than ordinary and none, no period, corrections, consolidated
        twins, periods of half a year.

        Args:
            most: Maximum number per case, the newest.

        Returns:
            ``case`` (String), ``statement_id`` and ``report_id`` (Int64), the report with tables.
        """
        most = arguments.whole("most", most, 1, 10**6)
        rows = bodies.examples(filings_of(self._store), most)
        schema = {"case": pl.String, "statement_id": pl.Int64, "report_id": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _change(self, ids: Ids, change: Callable[[Store, Ints], Store]) -> None:
        which = given_frames.ids(ids).to_numpy()
        with self._changing:
            self._store = change(self._store, which)

    def _add(self, add: Callable[[Store], tuple[Store, Ints | list[int]]]) -> pl.DataFrame:
        """Add records; return their ids."""
        with self._changing:
            self._store, ids = add(self._store)
        return pl.DataFrame({"id": ids}, schema=requests.IDS)


@checked_call
def sample(
    units: int = population.DEFAULT_UNITS,
    *,
    seed: int = 0,
    strict: bool = False,
    codelists: str | Path | None = None,
    lang: Lang | None = None,
) -> Sample:
    """Make a register of invented units in this process, with no network.

    Codes and labels are those of the Statistical Office: all regions and districts, and some
    municipalities (the districts' seats, the city districts of Bratislava and Košice and a few
    more). Units, their names, numbers and addresses are invented. The same arguments give the
    same units on every machine.

    Each municipality of the codelist and each region is one unit, which files a balance sheet and
    an income statement in cents (forms 690 and 727), some of them also consolidated ones (684 and
    696); so do schools and other public organisations. Associations, foundations and the like file
    one report (1180, small associations 1164 of single entry), most of them only since 2021; what
    sole traders file is not public. Shares are assumed, not counted: of firms 90 % file as micro
    units (687), 8 % as small and 2 % as large ones (699); about 80 % of the active units other than
    sole traders have filed for 2024, and 3 % of firms have negative equity. Insurers and some large
    firms file PDFs alone.

    Args:
        units: Number of units; 1,000,000 take a few seconds.
        seed: Seed of the units.
        strict: Answer 400 to everything that the specification leaves open.
        codelists: A folder with ``kraje.json``, ``okresy.json``, ``sidla.json`` and the like, the
            bodies of replies, to be served instead of the sample's own.
        lang: As in `Register`.

    Returns:
        A `Register` with more verbs: ``publish``, ``touch``, ``delete``, ``hide``, ``vanish``,
        ``file``, ``correct``, ``cases``, ``set_today``.

    Raises:
        UsageError: *codelists* has none of these files, or one that is not the body of a reply.

    Example:
        >>> import finstat_kit as fk
        >>> fk.sample()
        SAMPLE DATA <20,000 invented units in process, today 2026-06-30>
    """
    units = arguments.whole("units", units, 0, 10**7)
    seed = arguments.whole("seed", seed, 0, 2**63 - 1)
    if codelists is not None:
        codelists = str(arguments.path("codelists", codelists, "codelists").absolute())
    given = {"units": units, "seed": seed, "strict": strict, "codelists": codelists}
    usual = signature(sample).parameters
    own: dict[str, Any] = {n: value for n, value in given.items() if value != usual[n].default}
    if own.keys() <= {"strict"}:
        drawn = population.default()
    else:
        drawn = population.draw(units, seed=seed, codelists=codelists)
    identity = f"finstat_kit sample; seed={seed}; units={units}"
    if codelists is not None:
        digests = (sha256(body).digest() for _, body in sorted(drawn.codelists.items()))
        identity += f"; codelists={sha256(b''.join(digests)).hexdigest()[:16]}"
    store, again = with_filings(drawn, seed=seed), partial(sample, **own)
    return Sample(store, strict=strict, again=again, identity=identity, lang=lang)


def _checked_day(on: str | date | None) -> date | None:
    return None if on is None else arguments.day("on", on)


def _checked_case(case: str | None) -> str | None:
    if case is not None:
        arguments.one_of("case", case, tuple(all_cases()))
    return case


def _checked_fields(fields: dict[str, object]) -> dict[str, object]:
    settable = [name for name in UNIT_FIELDS if name not in ("id", "stav", "datumPoslednejUpravy")]
    for name in fields:
        arguments.one_of("field", name, tuple(settable))
    record = {
        name: arguments.day(name, value).isoformat() if isinstance(value, date) else value
        for name, value in fields.items()
    }
    for name, lengths in (("ico", ICO), ("dic", DIC)):
        if record.get(name) is not None:
            record[name] = arguments.digits(name, record[name], lengths)
    try:
        KINDS["units"].read(orjson.dumps({"id": 0, **record}), 0)
    except (orjson.JSONEncodeError, ProtocolError) as error:
        fault = str(getattr(error, "message", error)).removeprefix("id 0: ")
        raise UsageError(f"publish: this cannot be in a record: {fault}") from None
    return record
