"""A register: its address and settings, and what it answers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self
from urllib.parse import urlsplit

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import By, Grouping, Lang
from finstat_kit.calls import Checked
from finstat_kit.client import methods
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.collections.fetching import Requested
from finstat_kit.client.reports import Documents, Reports
from finstat_kit.client.session import LIVE_CONNECTIONS, LIVE_RATE, Session
from finstat_kit.client.source import Allowance, Inner, Source
from finstat_kit.client.units import Units
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.counts import count_by as counts
from finstat_kit.frames.places import labels, locations as places
from finstat_kit.frames.places.locations import Level
from finstat_kit.frames.places.nace import Nace, checked as checked_nace
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.given_frames import AnyFrame, Frame
from finstat_kit.protocol import wire
from finstat_kit.protocol.wire import CodelistName
from finstat_kit.transport.base import Transport, is_loopback
from finstat_kit.transport.exchange import Exchange, Stats

if TYPE_CHECKING:
    from finstat_kit.frames.financials.history import History, Statement
    from finstat_kit.frames.financials.items import Activity
    from finstat_kit.frames.reports.filed import Filed
    from finstat_kit.transport.cache_file import CacheFile, CacheState
    from finstat_kit.transport.http import BaseTransport

LIVE: Final = "https://www.registeruz.sk/cruz-public"
Auto = Literal["auto"]
_LANG: Final = "FINSTAT_KIT_LANG"
WORDS: Final = Words("register")


class Register(Inner, Checked):
    """The register behind a base URL.

    Args:
        base_url: Address before ``/api``, such as `fk.LIVE`.
        page_size: Maximum number of ids per request of a list, 1 to 10,000.
        connections: Requests at the same time; ``"auto"`` is 4 towards a real host, 1 on loopback.
        rate: Maximum number of requests per second, None for no limit; ``"auto"`` is 5 for a real
            host, no limit on loopback.
        deadline: Timeout of one attempt in seconds, from connecting to the last byte. It does not
            cover the name lookup.
        tries: Maximum number of attempts per request when the failure may be temporary, 1 to 20;
            all of them and the waits between them take at most 120 seconds.
        lang: Language of labels, titles and numbers, ``"sk"`` or ``"en"``, for calls
            without one; None is that of the environment variable FINSTAT_KIT_LANG, else ``"sk"``.
        transport: Carries the requests instead of the register's own connections: any
            ``httpx.BaseTransport``, such as a mock, a WSGI application or a recording one. The
            size limit and the packing of replies are checked as usual; the deadline and Ctrl-C
            only between the parts of a body. It is closed by `close` and at the end of ``with``.
        cache: A file that keeps replies, created if missing; see `cache`. Cached records are
            used until a list of changes names them; codelists, templates and whose an IČO or a DIČ
            is for the register's day; lists and counts are requested anew. Lists are walked over
            one connection, so that ``fk.use("cache:FILE")`` can replay them.
        max_age: How long cached records are used without checking for changes: a `timedelta`,
            ``"7d"``, ``"12h"`` or seconds; None checks once per call.

    Attributes:
        lang: Default language of calls; settable.

    Example:
        >>> import finstat_kit as fk
        >>> fk.Register("https://register.example/cruz-public", rate=2)
        <Register https://register.example/cruz-public, 4 connections, 2 requests/s>
    """

    _mark: str | None = None  # name of the invented data, if known without a reply

    def __init__(
        self,
        base_url: str,
        *,
        page_size: int = 10_000,
        connections: int | Auto = "auto",
        rate: float | Auto | None = "auto",
        deadline: float = 30.0,
        tries: int = 5,
        lang: Lang | None = None,
        cache: str | Path | None = None,
        max_age: str | float | timedelta | None = None,
        transport: Transport | BaseTransport | None = None,
    ) -> None:
        # In this process a register has a name instead of a URL: "sample:".
        named = transport is not None and isinstance(base_url, str) and "://" not in base_url
        self.base_url = base_url if named else _checked_url(base_url)
        self.page_size = arguments.whole("page_size", page_size, 1, wire.MAX_PAGE)
        near = is_loopback(self.base_url) or not self.base_url.startswith("http")
        if _is_auto(connections):
            connections = 1 if near else LIVE_CONNECTIONS
        self.connections = arguments.whole("connections", connections, 1, 256)
        self.rate = (None if near else LIVE_RATE) if _is_auto(rate) else _checked_rate(rate)
        self._deadline = arguments.positive("deadline", deadline)
        self._tries = arguments.whole("tries", tries, 1, 20)
        self.lang = language_of_environment() if lang is None else arguments.lang(lang)
        self._transport = transport
        exchange = Exchange(
            self.base_url,
            self._carrier(),
            rate=self.rate,
            deadline=self._deadline,
            tries=self._tries,
        )
        self._session = Session(
            exchange,
            register=self,
            page_size=self.page_size,
            connections=self.connections,
            rate=self.rate,
            remote=not near,
            today=lambda: self.today,
        )
        self._max_age: float | None = None
        self._keep(cache, max_age)
        self._source = self._answering()
        self.units = Units("units", self._source)
        self.statements = Collection("statements", self._source)
        self.reports = Reports("reports", self._source)
        self.annual_reports = Documents("annual_reports", self._source)

    def _answering(self) -> Source:
        """Return what answers for this register."""
        return Requested(self._session)

    def _keep(self, cache: str | Path | None, max_age: str | float | timedelta | None) -> None:
        """Keep replies in a file, if one is given."""
        if cache is None:
            if max_age is not None:
                raise invalid("max_age", ..., "needs cache=: it limits the age of cached replies")
            return
        # Imported only here: few registers cache replies.
        from finstat_kit.transport.cache_file import About, CacheFile

        path, exchange = arguments.file("cache", cache), self._session.exchange
        self._max_age = None if max_age is None else arguments.span("max_age", max_age)
        mark = "" if is_live(self.base_url) else self._mark
        about = About(self.base_url, mark, self.page_size)
        exchange.cache = CacheFile(path, about, lambda: self.today, lambda: exchange.now)
        self._session.max_age = self._max_age or 0.0

    def _carrier(self) -> Transport:
        if self._transport is None:
            # Imported only here: a sample starts faster without httpx.
            from finstat_kit.transport.http import Sockets

            return Sockets(self.base_url)
        if isinstance(self._transport, Transport):
            return self._transport
        from finstat_kit.transport.http import Adapted

        return Adapted(self._transport)

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be pickled and copied.

        Raises:
            UsageError: Always: each copy would have a rate of its own.
        """
        raise UsageError(
            f"{self.base_url} cannot be copied or pickled: each copy would have a rate of its own",
            cure=f"open it there: fk.Register({self.base_url!r})",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        many = "s" if self.connections > 1 else ""
        rate = "no rate limit" if self.rate is None else f"{self.rate:g} requests/s"
        source = source_name(self.base_url, True, "en") if self.invented else self.base_url
        cache = "" if self._cache is None else f", cache {self._cache.path}"
        return f"<Register {source}, {self.connections} connection{many}, {rate}{cache}>"

    @property
    def invented(self) -> bool | None:
        """Whether the data are invented, by the newest reply; None before the first one."""
        mark = self._session.exchange.invented
        return None if mark is None else bool(mark)

    @property
    def _use_arguments(self) -> str | None:
        """The arguments of `fk.use` that choose the same register in the same state, if any do."""
        if not self.base_url.startswith("http"):
            return None
        url = "fk.LIVE" if self.base_url == LIVE else repr(self.base_url)
        return url if self._cache is None else f"{url}, cache={str(self._cache.path)!r}"

    @property
    def today(self) -> date:
        """The register's day: today in Bratislava."""
        now = self._session.exchange.now
        return datetime.fromtimestamp(now, wire.ZONE).date()

    @property
    def stats(self) -> Stats:
        """Requests, cached replies used instead, retries and bytes so far."""
        return self._session.exchange.stats

    @property
    def _cache(self) -> CacheFile | None:
        return self._session.exchange.cache

    @property
    def cache(self) -> CacheState | None:
        """The content of the cache file; None for a register without one.

        Raises:
            CacheError: The file is damaged.
        """
        return None if self._cache is None else self._cache.state

    def close(self) -> None:
        """Close the connections; they open again when needed."""
        self._session.exchange.close()

    def regions(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the regions (kraje).

        From ``/api/kraje``; fetched once per register.

        Args:
            refresh: Fetch again.

        Returns:
            ``code``, ``name_sk``, ``name_en``, ``parent_code`` (all String), sorted by code. The
            live list has two entries for places abroad beside the eight regions.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.regions().head(2)
            shape: (2, 4)
            ┌───────┬───────────────────┬──────────────────────┬─────────────┐
            │ code  ┆ name_sk           ┆ name_en              ┆ parent_code │
            │ ---   ┆ ---               ┆ ---                  ┆ ---         │
            │ str   ┆ str               ┆ str                  ┆ str         │
            ╞═══════╪═══════════════════╪══════════════════════╪═════════════╡
            │ SK010 ┆ Bratislavský kraj ┆ Region of Bratislava ┆ null        │
            │ SK021 ┆ Trnavský kraj     ┆ Region of Trnava     ┆ null        │
            └───────┴───────────────────┴──────────────────────┴─────────────┘
        """
        return self._source.codelist("regions", refresh=refresh)

    def districts(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the districts (okresy), from ``/api/okresy``; otherwise as `regions`.

        ``parent_code`` is the region's code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.districts().height
            79
        """
        return self._source.codelist("districts", refresh=refresh)

    def municipalities(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the municipalities (sídla), from ``/api/sidla``; otherwise as `regions`.

        ``parent_code`` is the district's code, null on a few. Names repeat: never join on a name.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.municipalities()["name_sk"].to_list().count("Lúčka")
            4
        """
        return self._source.codelist("municipalities", refresh=refresh)

    def codelist(
        self, name: CodelistName | str | None = None, *, refresh: bool = False
    ) -> pl.DataFrame:
        """Fetch a codelist by its name, from ``/api/pravne-formy`` and the like, or list the seven.

        Args:
            name: ``"legal_forms"``, ``"activities"`` (SK NACE), ``"ownership_types"``,
                ``"size_classes"``, ``"regions"``, ``"districts"`` or ``"municipalities"``; None
                lists them and sends no request.
            refresh: Fetch again instead of returning the list fetched before.

        Returns:
            ``code``, ``name_sk``, ``name_en`` (all String), sorted by code; the three of places
            have ``parent_code`` (String) too.

            Without *name* one row per codelist, all String: ``name``, ``endpoint``, ``source``
            (list of the Statistical Office, null where not known), ``field`` (of the records) and
            ``label`` (the column that `resolve_labels` adds).

        Raises:
            UsageError: There is no such codelist.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.codelist("legal_forms").row(3)
            ('112', 'Spol. s r. o.', 'Limited liability comp.')
            >>> with fk.using(fk.sample()):
            ...     fk.codelist().row(0)
            ('regions', '/api/kraje', '0023/RSUJ3', 'kraj', 'region')
        """
        if name is None:
            return methods.reference.all_codelists()
        arguments.one_of("name", name, tuple(wire.CODELISTS))
        return self._source.codelist(name, refresh=refresh)

    def locations(
        self, text: str | None = None, *, level: Level | None = None, refresh: bool = False
    ) -> pl.DataFrame:
        """Fetch regions, districts and municipalities as one frame, or search in it.

        From ``/api/kraje``, ``/api/okresy`` and ``/api/sidla``.

        Args:
            text: Only places with this part of a name, accents and case ignored, or with a code
                that begins with it; None is all places.
            level: Only this level: ``"region"``, ``"district"`` or ``"municipality"``.
            refresh: Fetch again.

        Returns:
            ``level``, ``code``, ``name_sk``, ``name_en``, ``district``, ``region`` (Slovak names of
            the places above), ``parent_code``, ``district_code``, ``region_code`` (all String); the
            columns of the levels above are filled for its own level too, and null if a parent is
            missing. Regions first, each level sorted by code. With *text* names that begin with it
            come first, then names with a word that does, then all other matches; in each of these
            regions first, each level in alphabetical order.

        Raises:
            UsageError: *text* has no letters or digits or more than 200 characters, or there is
                no such level.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.locations("ziar", level="municipality").row(0)[1:6]
            ('SK032D516589', 'Žiar nad Hronom', 'Žiar nad Hronom', 'Žiar nad Hronom',
             'Banskobystrický kraj')
        """
        found = methods.reference.locations(self._source, refresh=refresh)
        return places.search(found, text, level)

    def cite(self, *, lang: Lang | None = None) -> str:
        """Return one line for a footnote: register, URL, licence, and time of replies.

        Only pages written by `to_html` have the time too. For a sample the line states that the
        data are invented.

        Args:
            lang: ``"sk"`` or ``"en"``; None is the register's own.

        Raises:
            UsageError: There is no such *lang*.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     print(fk.cite(lang="en"))
            Invented data of the finstat_kit sample (20,000 units, as of 2026-06-30), not of the
            Register of Financial Statements.
        """
        return self._citation(self._language(lang))

    def resolve_labels(
        self,
        frame: Frame,
        *,
        lang: Lang | None = None,
        columns: Sequence[str] | Mapping[str, str] | None = None,
        front: bool = False,
    ) -> Frame:
        """Add the label behind each code, directly after the code's column.

        A code gets the label of the entry with exactly that code; without such an entry, null.

        Args:
            frame: Any frame with code columns; a LazyFrame stays lazy.
            lang: ``"sk"`` or ``"en"``; None is the register's own.
            columns: None for those of ``kraj``, ``okres``, ``sidlo`` that the frame has; a list
                of record fields, ``["kraj", "pravnaForma"]``; or a mapping of other columns to
                codelists, ``{"home": "regions"}``, which adds ``home_label``.
            front: Put the labels before all other columns, for reading.

        Returns:
            The same rows in the same order, with ``region``, ``district``, ``municipality``,
            ``legal_form``, ``activity``, ``ownership``, ``size_class`` (String) after their
            codes. An existing label column is replaced.

        Raises:
            UsageError: A column is missing, a code column is not String, or *frame* is not a
                frame.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.resolve_labels(pl.DataFrame({"kraj": ["SK031", "1"]}), lang="en")
            shape: (2, 2)
            ┌───────┬──────────────────┐
            │ kraj  ┆ region           │
            │ ---   ┆ ---              │
            │ str   ┆ str              │
            ╞═══════╪══════════════════╡
            │ SK031 ┆ Region of Žilina │
            │ 1     ┆ null             │
            └───────┴──────────────────┘
        """
        return labels.resolve_labels(
            frame, self._lookup, lang=self._language(lang), columns=columns, front=front
        )

    def unresolved_codes(
        self,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        columns: Sequence[str] | Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """Count the codes of a frame without a label.

        Args:
            frame: Any frame with code columns.
            columns: As in `resolve_labels`.

        Returns:
            ``column``, ``code`` (String), ``count`` (Int64) and ``likely`` (String): today's code
            for an old one (``1``, ``103``, ``529354``), for one with blanks or small letters, and
            for a municipality's whose district is another today; else null. `resolve_labels` never
            uses it.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.unresolved_codes(pl.DataFrame({"okres": ["613", "613", "SK0101"]})).row(0)
            ('okres', '613', 2, 'SK032D')
        """
        return labels.unresolved_codes(frame, self._lookup, columns=columns)

    def count_by(
        self,
        frame: pl.DataFrame | pl.LazyFrame,
        by: Grouping = "kraj",
        *,
        lang: Lang | None = None,
        nace: Nace | None = None,
    ) -> pl.DataFrame:
        """Count the units of a frame by code, including units without a label.

        Args:
            frame: Records, or any frame with the column *by*. A row is a unit; in a frame with
                ``unit_id``, such as financials of several years, each unit is counted once, by its
                latest row that has figures.
            by: A code field: ``kraj``, ``okres``, ``sidlo``, ``pravnaForma``, ``skNace``,
                ``druhVlastnictva`` or ``velkostOrganizacie``; or a group made from other columns:
                ``section`` or ``division`` (NACE, from ``skNace``), ``age`` (whole years
                since ``datumZalozenia``, at the register's day), or ``size_by_law`` (of financials
                alone: the thresholds of Act 431/2002 applied to each year's figures, not the legal
                group, which changes only after two periods).
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.
            nace: The revision of NACE of sections and divisions, ``"2"`` or ``"2.1"``; None is the
                one that more units have. Codes of the other are unknown, as are those that the
                register's list lacks.

        Returns:
            ``code``, ``label`` (String), ``count`` (Int64), ``share`` (Float64, 0 to 1, of all
            units), ``kind`` and ``by`` (*by*, in every row; of NACE Rev. 2.1 ``section_2_1`` or
            ``division_2_1``). By kind: ``labelled`` by count
            descending, then by code; ``unknown code``; one row ``no code``; one row ``gone`` (rows
            with ``stav``). Counts of records add up to the height of the frame.

        Raises:
            UsageError: A column is missing or has another type; *by* or *lang* is not one of the
                allowed values.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.count_by(pl.DataFrame({"kraj": ["SK010", None, "SK010"]}), "kraj").rows()
            [('SK010', 'Bratislavský kraj', 2, 0.666..., 'labelled', 'kraj'),
             (None, None, 1, 0.333..., 'no code', 'kraj')]
        """
        lang = self._language(lang)
        return counts.count_by(
            frame, by, self._lookup, lang=lang, today=self.today, revision=checked_nace(nace)
        )

    def panel(
        self, figures: pl.DataFrame | pl.LazyFrame, *, years: int | Iterable[int] | None = None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Arrange figures as a panel, and count who enters, stays, leaves and returns.

        A unit is in a year if it has a filing with figures that ends in it. A year without one is a
        ``gap`` where figures follow later, and ``after`` the last only if none do: that need not be
        an exit, and the reason stands beside it. Units without any figures in *years* are left out
        of the panel.

        Args:
            figures: As `financials` returns them; rows of previous columns are no filings, and are
                left out. A LazyFrame is collected.
            years: A year or several; None means those from the first to the last with figures.

        Returns:
            ``panel``: one row per unit and year, by unit and year: the columns of *figures*, null
            in a year without a row (those of the unit are repeated, ``reason`` is
            ``no_filing_for_year``), and ``status`` (Enum: ``filed``, ``gap``, ``before`` the first
            and ``after`` the last year with figures), ``scale_doubtful`` (Boolean: total assets or
            sales are a thousandth of those of the adjacent periods before and after, or a thousand
            times those, between 500 and 2,000 times; null where one of the three is missing, of
            both amounts; nothing is corrected).

            ``flows``: one row per year: ``year`` (Int32), ``units`` with figures, of which
            ``enter`` (the first time), ``stay`` and ``return`` (after a gap); of those of the year
            before ``pause`` (figures follow later) and ``leave`` (none follow), of which
            ``dissolved`` have a day of dissolution (Int64); in the first year of the figures all
            but ``units`` are null; ``incomplete`` (Boolean): in their last year, while its filings
            still arrive: until the end of the next year, by the register's day. Both are of all
            years of *figures*, also where *years* are fewer.

        Raises:
            UsageError: An argument is wrong, a column is missing, no unit has figures in *years*,
                or the frame has individual and consolidated statements.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     money = fk.financials(fk.units.get(fk.units.ids(limit=40)), range(2014, 2017))
            ...     panel, flows = fk.panel(money)
            >>> flows.select("year", "units", "enter", "stay", "pause", "leave").rows()[1]
            (2015, 20, 3, 17, 2, 1)
        """
        from finstat_kit.frames.findings import panel as panels

        return panels.panel(figures, self.today, years)

    def match_places(self, names: pl.Series | Sequence[str], *, level: Level) -> pl.DataFrame:
        """Match names or codes of places, in any spelling, with today's codes.

        To add a column of codes to other data:
        ``frame.with_columns(okres=fk.match_places(frame["Okres"], level="district")["code"])``.

        Args:
            names: Names or codes. Accents, case, dashes and words such as *okres*, *kraj* or
                *mestská časť* do not matter; short forms such as *n/V* for *nad Váhom*, English
                names and the codes used until 2018 are matched too. A district behind a name, as in
                *Lúčka (okr. Rožňava)*, tells places of one name apart.
            level: Level of the places: ``"region"``, ``"district"`` or ``"municipality"``.

        Returns:
            One row per name, in the order given: ``given``, ``code`` (null if uncertain),
            ``name_sk``, ``how`` (``code``, ``old code``, ``name``, ``ambiguous``, ``unknown`` or
            ``missing``; all String) and ``candidates`` (List of String: the codes of the places of
            an ambiguous name: those that share it, or else those whose names begin with it, such
            as the districts of a city, or else those whose names differ from it by a letter, long
            ones by two). The name of a part of a city alone is a match if no other
            name begins with it.

        Raises:
            UsageError: *names* is neither a Series nor a list, or *level* is unknown.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     places = fk.match_places(["ziar n. hronom", "613", "Lučka"], level="district")
            >>> places.select("code", "how").rows()
            [('SK032D', 'name'), ('SK032D', 'old code'), (None, 'unknown')]
            >>> with fk.using(fk.sample()):
            ...     places = fk.match_places(["Košice"], level="district")
            ...     districts = places.explode("candidates").join(
            ...         fk.districts(), left_on="candidates", right_on="code"
            ...     )
            >>> districts["name_sk_right"].to_list()
            ['Košice I', 'Košice II', 'Košice III', 'Košice IV', 'Košice - okolie']
        """
        from finstat_kit.frames.places import match_names as matching

        return matching.match(self.locations(), names, level)

    def match_units(
        self,
        frame: AnyFrame,
        *,
        ico: str | None = None,
        name: str | None = None,
        place: str | None = None,
        dry_run: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Match the rows of a list of one's own with units; nothing doubtful is chosen.

        A row with a number is matched by it alone. An IČO may lack its leading zeros (5 to 11
        digits, but ten are a DIČ), have spaces, quotes and invisible characters, *IČO:* before it,
        or be a number such as 372491.0; ``SK`` and ten digits are a DIČ. A row without one is
        matched by its name, without accents, case, signs and with the legal form in any spelling,
        if no other unit has that name, or none in that place.

        Doubtful is a number of several units or of none, a number whose unit has another name (or,
        in a row without a name, another place), a name of several units, and one that is only near.

        Each number takes a request for its units, and each unit one for its record; a cache keeps
        both. Names are searched in a sample or a mirror; the register itself has no search.

        Args:
            frame: The list, a frame of any kind.
            ico: Its column of IČO or DIČ.
            name: Its column of names.
            place: Its column of towns, names or codes.
            dry_run: Send no request, and return how many are expected, as `financials` does.
            max_requests: Maximum number of requests; None is 10,000 for a real host and no limit
                elsewhere.
            progress: Show bars; None shows them for a real host, on a terminal or in a notebook.

        Returns:
            One row per row of *frame*, in its order: ``unit_id`` (Int64), ``ico``, ``name``
            (String) of the unit, null where none is chosen; ``state`` (Enum, null for a unit in
            activity): ``deleted``, ``non_public`` or ``dissolved``; ``matched_by`` (Enum):
            ``ico``, ``ico_padded``, ``dic``, ``name``, ``name_and_place``, ``ambiguous`` (there are
            candidates) or null (there are none); ``score`` (Float64, how well the names fit, 0 to
            1; the legal form counts for little; 1 where the row has no name), of the best candidate
            where none is chosen; ``candidates`` (List of Struct ``unit_id``, ``ico``, ``name``,
            ``place``, ``score``: up to ten, the best first; empty where a unit is chosen). A
            deleted record does not compete with another one of its number.

        Raises:
            UsageError: A column is missing, neither *ico* nor *name* is given, only a *name* where
                names are not searched, or more requests than *max_requests*.
            RegisterError, Interrupted: A request failed, or Ctrl-C.

        Warns:
            RegisterWarning: Rows have a name alone where names are not searched, or those of a part
                of the register only; values are read as no number; numbers of no unit have a wrong
                check digit.

        Example:
            >>> import finstat_kit as fk
            >>> mine = {"IČO": [372491.0, None, None], "firma": [None, "Skuska Dub 207", "Orol 51"]}
            >>> with fk.using(fk.sample()):
            ...     matches = fk.match_units(mine, ico="IČO", name="firma")
            >>> matches.select("unit_id", "name", "matched_by").rows()
            [(365, 'Skúška Orol 510, s. r. o.', 'ico_padded'),
             (578, 'Skúška Dub 207, s. r. o.', 'name'), (None, None, 'ambiguous')]
        """
        by = {"ico": ico, "name": name, "place": place}
        allowance = Allowance(max_requests, progress)
        return methods.match_units.match_units(self._source, frame, by, allowance, dry_run=dry_run)

    def estimate(
        self,
        by: By = "kraj",
        *,
        n: int = 2_000,
        seed: int = 1,
        changed_since: str | date | timedelta | None = None,
        max_requests: int | None = None,
        lang: Lang | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Estimate the counts by code of all units from the records of a random sample.

        All ids are listed, and the records of a simple random sample of them fetched. From
        ``/api/uctovne-jednotky`` and ``/api/uctovna-jednotka``. Ctrl-C ends it: the estimate from
        the records so far is returned, with a warning.

        Args:
            by: A code field, as in `count_by`.
            n: Number of records; all records if there are fewer.
            seed: Seed of the draw; a larger sample contains every smaller one.
            changed_since: Only units changed on this day or later; None is everything.
            max_requests: Maximum number of records to fetch; None is 10,000 for a real host and
                no limit elsewhere.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.
            progress: Show bars with the time left; None shows them for a real host in a notebook
                or on a terminal.

        Returns:
            ``code``, ``label``, ``kind`` (String), ``count``, ``count_low``, ``count_high``
            (Int64: units in the whole list), ``share``, ``share_low``, ``share_high`` (Float64, of
            the whole list), ``n`` (records drawn), ``listed`` (their list) and *by*, in the order
            of `count_by`. Every code of the codelist has a row for every *by*, and so has each
            other kind: ``unknown codes`` (all codes outside the codelist), ``no code``, ``gone``,
            ``no record`` (of ids without a readable one). A group without a hit has the count 0,
            and ``count_high`` is its upper bound.

            In at least 95 % of samples the true count of a code lies between ``count_low`` and
            ``count_high``, for each row separately.

        Raises:
            UsageError: An argument is wrong, or *n* is more than *max_requests*.
            RegisterError, Interrupted: A request failed, or Ctrl-C; ``.partial`` holds the records
                so far.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     some = fk.estimate("kraj", n=500, lang="en")
            >>> some.select("label", "count", "count_low", "count_high").row(0)
            ('Region of Bratislava', 6480, 5673, 7328)
            >>> some.select("n", "listed").row(0)
            (500, 20000)
        """
        allowance, lang = Allowance(max_requests, progress), self._language(lang)
        return methods.estimate.estimate(
            self._source, by, (n, seed), changed_since, allowance, lang
        )

    def template(
        self,
        template: int | None = None,
        *,
        part: Literal["rows", "columns"] = "rows",
        refresh: bool = False,
    ) -> pl.DataFrame:
        """List the rows of a form, with captions and the sums that they state, or its data columns.

        From ``/api/sablona``, fetched once per register; without an id the register's templates,
        the forms of reports, from ``/api/sablony``.

        Args:
            template: Id of a template, such as 699 (businesses), 687 (micro), 690 and 727
                (municipalities), 1180 (non-profits); the ``idSablony`` of reports. None lists them.
            part: ``"rows"`` or ``"columns"``.
            refresh: Fetch again.

        Returns:
            One row per row of the form, in its order: ``table``, ``row`` (Int16, both from 0: the
            key), ``number`` (Int32, as printed; it repeats, some forms have none), ``mark``
            (String, as printed; it repeats and has misprints), ``path`` (String, the mark
            completed from the rows above, ``A.I.2.``; null for totals and results), ``level``
            (Int8, 0 for totals), ``label_sk``, ``label_en`` (String; the register has English of
            684, 690, 696, 699 and 727, other forms have this package's translation, null where it
            lacks a caption) and ``terms`` (List of Struct ``sign`` Int8, ``table`` Int16, ``row``
            Int16; null where the Slovak caption states no sum).

            Or one row per data column, as the header names them: ``table``, ``column`` (Int16,
            both from 0), ``period`` (Enum ``current``, ``previous``; null where the form has no
            periods), ``measure`` (Enum ``gross``, ``correction``, ``net``, ``main``,
            ``business``, ``total``, ``untaxed``, ``taxed``, ``other``; null where the header
            only names a period), ``header_sk``, ``header_en`` (String, the header's cells
            from top to bottom). A template without tables has no rows.

            Without *template* one row per template, sorted by id: ``id`` (Int64), ``name``,
            ``decree`` (String), ``valid_from``, ``valid_to`` (Date; the register leaves the end
            empty) and ``tables`` (Int16: how many the form has; most have none; null if the list
            has no tables).

        Raises:
            UsageError: *part* is neither.
            NotFound: The register has no such template.
            ProtocolError: The reply breaks the register's format.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.template(699).row(1, named=True)["label_en"]
            ...     columns = fk.template(699, part="columns")
            'Non-current assets line 03 + line 11 + line 21'
            >>> columns.select("table", "column", "period", "measure").rows()
            [(0, 0, 'current', 'gross'), (0, 1, 'current', 'correction'), (0, 2, 'current', 'net'),
             (0, 3, 'previous', 'net'), (1, 0, 'current', None), (1, 1, 'previous', None),
             (2, 0, 'current', None), (2, 1, 'previous', None)]
            >>> with fk.using(fk.sample()):
            ...     fk.template().filter(id=699).row(0)
            (699, 'Úč POD', 'MF/18009/2014-74', datetime.date(2014, 1, 1), None, 3)
        """
        if template is None:
            return methods.reference.listed_templates(self._source, refresh=refresh)
        arguments.one_of("part", part, ("rows", "columns"))
        return methods.reference.template_part(self._source, template, part, refresh=refresh)

    def as_filed(
        self,
        report: pl.DataFrame | pl.LazyFrame,
        *,
        lang: Lang | None = None,
        filled: bool = False,
        title: bool | None = None,
    ) -> Filed:
        r"""Show one report laid out as its form: rows in order, columns side by side.

        Args:
            report: One record, as `reports.get` returns it, or those of one statement, such as a
                balance sheet and an income statement, which are shown as one.
            lang: ``"sk"`` or ``"en"``; None is the register's own. Of a form that the register has
                only in Slovak, English is this package's translation, and the heading says so; a
                caption without a translation is shown in Slovak, marked ``[sk]``.
            filled: Only rows with a filled cell.
            title: Whether the title page is shown; None omits that of a natural person.

        Returns:
            A `Filed`: text when printed, a table in Jupyter. As filed: in euro, or in the currency
            that the report names, or in korunas until 2008, which the heading then says; a report
            without numbers shows why.

        Raises:
            UsageError: *report* is not a frame of one report, or of those of one statement.
            RegisterError, Interrupted: As `reports.cells`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [["1250", "", *[""] * 44], [""] * 44, [""] * 76]
            >>> report = pl.DataFrame([{"id": 5, "idSablony": 687, "tabulky": tables}])
            >>> with fk.using(fk.sample()):
            ...     fk.as_filed(report, lang="sk", filled=True).parts[0].lines[0].values
            ['1\xa0250', '']
        """
        filed = methods.reports.reports_as_filed(
            self._source, report, lang=self._language(lang), filled=filled, title=title
        )
        filed.source = self._citation(filed.lang)
        return filed

    def filings(
        self,
        units: int | str | Iterable[int | str] | pl.Series | pl.DataFrame | pl.LazyFrame,
        year: int | Iterable[int] | Literal["latest"] | None = None,
        *,
        consolidated: bool = False,
        filed_until: str | date | None = None,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """List the filings of units: which one counts for each period, and which it supersedes.

        Of several filings of a unit with the same last month, kind, fund and flags (consolidated,
        central government, summary) the one filed last counts, even if it has no figures. The
        others stay in the frame, marked. From ``/api/uctovna-zavierka``, one request per statement:
        for ``year=None`` all that the units list, for a year the newest ones, as the page "Figures
        and ratios" explains.

        Args:
            units: Ids (whole numbers) or IČO (texts of 8 or 12 digits), one or several; a Series of
                either; records, as `units.get` returns them; or another frame with a column
                ``unit_id``, ``id`` or ``ico``, the first of these that it has. Of an IČO that
                several units share all are taken.
            year: Year in which the period ends: one, several, or None for all; ``"latest"`` is the
                one that `financials` takes, whose reports are requested too.
            consolidated: The consolidated statements instead of the individual ones.
            filed_until: As known on this day: without what was filed later, corrections too. A
                filing without a day counts as filed on the last day of its period.
            max_requests: Maximum number of requests to be expected, of units and statements as of
                ``financials(dry_run=True)``; None is 10,000 for a real host and no limit elsewhere.
            progress: Show a bar; None shows one for a real host in a notebook or on a terminal.

        Returns:
            One row per filing, and one row per unit, or unit and year, without a filing; by unit in
            the order given, then by period: ``unit_id`` (Int64), ``ico`` (String), ``statement_id``
            (Int64), ``period_from``, ``period_to`` (Date), ``months`` (Int16), ``year`` (Int32, of
            the end of the period), ``kind`` (String, the register's ``typ``), ``consolidated``,
            ``central_government``, ``summary`` (Boolean), ``fund`` (String), ``filed`` (Date),
            ``report_ids`` (List of Int64), ``counts`` (Boolean), ``superseded_by`` (Int64, the
            statement that counts instead) and ``reason`` (Enum, null for a readable filing):
            ``no_such_unit`` (no unit has the IČO, and the row no ``unit_id``), ``deleted``,
            ``non_public``, ``unreadable``, ``not_held`` (a mirror without the unit or some of its
            statements), ``not_own`` (a statement of another unit), ``period_mismatch`` (the period
            ends before it begins), ``no_filing`` or ``no_filing_for_year``. A filing without a
            period has no year.

        Raises:
            UsageError: *units* are neither ids nor IČO, or more than *max_requests*.
            RegisterError, Interrupted: With ``.partial``, the rows of the units finished so far.

        Warns:
            RegisterWarning: A year lies after the register's day.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     filed = fk.filings([365], year=2015)
            >>> filed.select("year", "months", "kind", "counts").rows()
            [(2015, 12, 'Riadna', True)]
        """
        wanted = methods.financials.wanted(year, consolidated=consolidated, filed_until=filed_until)
        allowance = Allowance(max_requests, progress)
        return methods.financials.filings(self._source, units, wanted, allowance)

    def financials(
        self,
        units: int | str | Iterable[int | str] | pl.Series | pl.DataFrame | pl.LazyFrame,
        year: int | Iterable[int] | Literal["latest"] | None = None,
        *,
        consolidated: bool = False,
        from_previous: bool = False,
        filed_until: str | date | None = None,
        items: str | Sequence[str] | None = None,
        family: str | Sequence[str] | None = None,
        activity: Activity = "total",
        dry_run: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch the figures of units: one row per unit and year, one column per item.

        The filings are found as by `filings`, and the figures of a year come from one of them,
        never an interim one; the page "Figures and ratios" says from which, and what each reason
        means. From ``/api/uctovna-zavierka``, ``/api/uctovny-vykaz`` and ``/api/sablona``.

        Args:
            units: Ids (whole numbers) or IČO (texts of 8 or 12 digits), one or several; a Series of
                either; records, as `units.get` returns them; or another frame with a column
                ``unit_id``, ``id`` or ``ico``, the first of these that it has. Of an IČO that
                several units share all are taken.
            year: Year in which the period ends: one, several, or None for all. ``"latest"`` is one
                row per unit: of the last year with any figure, whatever its reason and *items*; of
                a unit without any, the reason of its newest year.
            consolidated: The consolidated statements instead of the individual ones.
            from_previous: Whether to add rows for the period before, from the previous-period
                column of each filing; ten years take five filings.
            filed_until: As known on this day, as of `filings`.
            items: One item or several; a ratio brings the items that it is computed from. None is
                all, whatever the data. `items()` lists them.
            family: Instead of *items*: those of a family, or of several: ``"business"``,
                ``"public"``, ``"non_profit"``, ``"single_entry"``. It narrows the columns, never
                the rows.
            activity: Column of costs and revenue that is read: ``"total"``, or the ``"main"`` or
                ``"business"`` activity of a public body or a non-profit.
            dry_run: Send no request, and return how many the figures take, without templates.
            max_requests: Maximum number of requests to be expected, as of *dry_run*; None is 10,000
                for a real host and no limit elsewhere.
            progress: Show a bar; None shows one for a real host in a notebook or on a terminal.

        Returns:
            By unit in the order given, then by year: ``unit_id`` (Int64), ``ico``, ``name``
            (String) and ``year`` (Int32, of the end of the period); then a column per item
            (Float64, euro; null if it is blank or not on the form): ``total_assets``, ``equity``,
            ``sales``, ``net_profit`` and the others of `items`; then their provenance: ``kraj``,
            ``okres``, ``pravnaForma``, ``skNace``, ``velkostOrganizacie`` (String, of
            today), ``nace`` (String, ``2`` or ``2.1``: the revision of that activity by the
            register's list, null of a code that the list lacks),
            ``datumZalozenia``, ``datumZrusenia`` (Date, founded and dissolved), ``nace_filed``,
            ``seat_filed``, ``postcode_filed`` (String, activity and seat on the report's title
            page), ``period_from``, ``period_to`` (Date), ``months``, ``periods_in_year`` (Int16),
            ``source_column`` (Enum ``current``, ``previous``), ``kind`` (String),
            ``consolidated`` (Boolean), ``fund`` (String), ``filed`` (Date), ``supersedes`` (Int16,
            number of filings that it corrects), ``statement_id`` (Int64, the filing taken),
            ``superseded_by`` (Int64, a later filing without figures; `reports.check` of its
            reports says why), ``report_id`` (Int64; of two reports the balance sheet),
            ``family`` (Enum ``business``, ``public``, ``non_profit``, ``single_entry``, null
            without a form of a family), ``template`` (Int32), ``currency`` (String, null if not
            filed: euro; ``SKK`` of periods that ended before 2009), ``sums_failing`` (Int32),
            ``balance_difference`` (Float64; these two as by `reports.check`), ``has_figures``
            (Boolean: whether any item has a value) and ``reason`` (Enum, null if the figures are
            complete).

            Reasons are those of `filings` and `reports.check`, and ``interim_only``,
            ``other_kind``, ``ambiguous``, ``other_currency``, ``caption_mismatch`` and
            ``item_not_in_form``. Figures can stand beside a reason: those that can be read, with
            ``not_a_number`` or ``caption_mismatch``; those of one of two reports, with the reason
            why the other gives none.

            With *dry_run* one row for each of ``units``, ``statements`` and ``reports``:
            ``collection`` (String), ``requests`` (Int64, the number to be expected), ``at_most``
            (Int64, null for reports, whose number the statements show), and of the expected
            requests ``seconds_low`` and ``seconds_high`` (Float64: the duration, equal once the
            register has replied) and ``bytes`` (Int64).

        Raises:
            UsageError: *units* are neither ids nor IČO, or more than *max_requests*.
            RegisterError, Interrupted: With ``.partial``, the rows of the units finished so far.

        Warns:
            RegisterWarning: A year lies after the register's day.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     money = fk.financials("00372491", year=[2014, 2015])
            >>> money.select("year", "template", "total_assets", "net_profit", "reason").rows()
            [(2014, 699, 29192.0, 1334.0, None), (2015, 699, 25269.0, 4898.0, None)]
        """
        wanted = methods.financials.wanted(
            year, consolidated=consolidated, from_previous=from_previous, filed_until=filed_until,
            items=items, family=family, activity=activity,
        )  # fmt: skip
        if dry_run:
            return methods.financials.plan(self._source, units, wanted)
        allowance = Allowance(max_requests, progress)
        return methods.financials.financials(self._source, units, wanted, allowance)

    def statement(
        self,
        unit: int | str | pl.DataFrame | pl.LazyFrame,
        years: int | Iterable[int] | Literal["latest"] | None = None,
        table: Statement = "income",
        *,
        blanks: bool = False,
        lang: Lang | None = None,
    ) -> History:
        r"""Show a statement of one unit over years: a row per row of the form, a column per year.

        The filing of each year is the one that `financials` takes, the figures are those of its own
        period: of the assets the net column, of several activities their total. Where the forms of
        the years differ, the rows are the items that `items` lists.

        Args:
            unit: The id of one unit (a whole number), its IČO (a text of 8 or 12 digits), or its
                record, as `units.get` returns it.
            years: The newest so many (``5``), one year (``2024``), several
                (``range(2015, 2025)``), or None for all; ``"latest"`` is the one that `financials`
                takes.
            table: ``"income"``, ``"balance"``, or one side of it: ``"assets"``,
                ``"liabilities"``.
            blanks: Also rows that are blank in all years.
            lang: ``"sk"`` or ``"en"``; None is the register's own. Captions are those of
                `as_filed`.

        Returns:
            A `History`: text when printed, a table in Jupyter, in euro (a year in another currency
            has no numbers). ``.frame`` has a row per row: ``label`` (String), ``number`` (Int32, as
            printed on the form) and ``item`` (String), one of which is null, and a column per year
            (Float64, null if blank), named by the year, as ``"2024"``. ``.filings`` has a row per
            year: ``year``, ``period_from``, ``period_to``, ``months``, ``kind``, ``filed``,
            ``statement_id``, ``superseded_by``, ``report_id`` (that with the table), ``template``,
            ``currency`` and ``reason``, as of `financials`; a year with a reason other than
            ``not_a_number`` is blank.

        Raises:
            UsageError: *unit* is not one unit, such as an IČO that several share, which are then
                listed; or *years* or *table* is not known.
            NotFound: There is no unit with this id or IČO.
            RegisterError, Interrupted: The records cannot be fetched.

        Warns:
            RegisterWarning: A year lies after the register's day.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     shown = fk.statement("00372491", 3, "assets", lang="en")
            >>> shown.frame.row(1)
            ('Non-current assets line 03 + line 11 + line 21', 2, None, 9501.0, 8611.0, 4256.0)
            >>> shown.filings.select("year", "template", "report_id").row(0)
            (2017, 699, 4750175)
        """
        history = methods.financials.statement(
            self._source, unit, years, table, blanks=blanks, lang=self._language(lang),
            source_name=self._source_name(self._language(lang)),
        )  # fmt: skip
        history.source = self._citation(history.lang)
        return history

    def _source_name(self, lang: Lang) -> str:
        return source_name(self.base_url, bool(self.invented), lang)

    def _citation(self, lang: Lang) -> str:
        words = WORDS[lang]
        first, last = self.stats.first_reply, self.stats.last_reply
        when = words["no reply"]
        if first and last:
            when = words["received"].format(first=moment(first), last=moment(last))
        source = source_name(self.base_url, bool(self.invented), lang, cited=True)
        return f"{source}, {when}."


def is_live(url: str) -> bool:
    """Return whether a URL leads to the real register."""
    return urlsplit(url).hostname == urlsplit(LIVE).hostname


def source_name(url: str, invented: bool, lang: Lang, *, cited: bool = False) -> str:
    """Name the source behind a URL: only the live host is the Register of Financial Statements.

    In a citation the live register has its address and licence.
    """
    words = WORDS[lang]
    if invented:
        return f"{url}, {words['invented']}"
    if not is_live(url):
        return url
    return f"{words['live']}, {url}, {words['licence']}" if cited else words["live"]


def _checked_url(base_url: object) -> str:
    if isinstance(base_url, str) and "@" in base_url.partition("://")[2].partition("/")[0]:
        raise invalid(
            "base_url",
            ...,
            ": it contains a name or a password, which would appear in every message",
            cure="the register needs none",
        )
    try:
        if isinstance(base_url, str) and _is_base(base_url):
            # In one spelling: whether a host is real, and whose a cache file is, depend on it.
            parts = urlsplit(base_url)
            return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}".rstrip("/")
    except ValueError:  # of brackets, the port or the host's name
        pass
    raise invalid(
        "base_url", base_url, "is not a base URL", give=f"the part before /api, such as {LIVE!r}"
    )


_FIT: Final = re.compile(r"[!-~]{0,1000}")  # a path, with escapes where needed


def _is_base(url: str) -> bool:
    parts = urlsplit(url)  # it drops line breaks and tabs
    host = parts.hostname or ""
    host.encode("idna")
    return bool(
        parts.scheme in ("http", "https")
        and _FIT.fullmatch(url.partition(parts.netloc)[2])
        and host
        and parts.port != 0
        and not (parts.query or parts.fragment or parts.path.rstrip("/").endswith("/api"))
    )


def moment(seconds: float) -> str:
    """Return seconds since 1970 as a date and time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def language_of_environment() -> Lang:
    """Return the language in FINSTAT_KIT_LANG, Slovak if it is not set."""
    return arguments.lang(os.environ.get(_LANG) or "sk", _LANG)


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"  # a frame has no truth value


def _checked_rate(rate: object) -> float | None:
    return None if rate is None else arguments.positive("rate", rate)
