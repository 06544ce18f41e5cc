"""A register: where the address, the exchange, the replies and the labels meet."""

from __future__ import annotations

import re
import threading
from datetime import UTC, date, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self, overload
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.collection import Collection
from finstat_kit.client.session import Session
from finstat_kit.client.units import Units
from finstat_kit.errors import UsageError
from finstat_kit.frames import labels, places
from finstat_kit.protocol import requests, wire
from finstat_kit.transport import forks
from finstat_kit.transport.base import Transport, is_loopback
from finstat_kit.transport.exchange import Exchange, Stats

if TYPE_CHECKING:
    from finstat_kit.transport.http import BaseTransport

LIVE: Final = "https://www.registeruz.sk/cruz-public"
Auto = Literal["auto"]


class Register:
    """The register behind a base URL.

    Args:
        base_url: Address before ``/api``, such as `fk.LIVE`.
        page_size: Ids a request of a list, 1 to 10,000.
        connections: Requests at the same time; ``"auto"`` is 4 towards a real host, 1 on loopback.
        rate: Requests a second at most, None for no limit; ``"auto"`` is 5 towards a real host,
            none on loopback.
        deadline: Seconds one attempt of a request may take, from connecting to the last byte. Only
            the look-up of the host's name is not covered.
        tries: Attempts of a request that fails in a way that may pass, 1 to 20; all of them and the
            waits between take 120 seconds at most.
        transport: What carries the requests in the place of connections of the register's own: any
            ``httpx.BaseTransport``, such as a mock, a WSGI application or a recording one. The
            size limit and the packing of replies are checked as ever; the deadline and Ctrl-C only
            between the parts of a body. It is closed by `close` and at the end of ``with``.

    Example:
        >>> import finstat_kit as fk
        >>> fk.Register("https://register.example/cruz-public", rate=2)
        <Register https://register.example/cruz-public, 4 connections, 2 requests/s>
    """

    def __init__(
        self,
        base_url: str,
        *,
        page_size: int = 10_000,
        connections: int | Auto = "auto",
        rate: float | Auto | None = "auto",
        deadline: float = 30.0,
        tries: int = 5,
        transport: Transport | BaseTransport | None = None,
    ) -> None:
        # In this process a register has a name in the place of a URL: "sample:".
        named = transport is not None and isinstance(base_url, str) and "://" not in base_url
        self.base_url = base_url if named else _checked_url(base_url)
        self.page_size = arguments.whole("page_size", page_size, 1, wire.MAX_PAGE)
        near = is_loopback(self.base_url) or not self.base_url.startswith("http")
        if connections == "auto":
            connections = 1 if near else 4
        self.connections = arguments.whole("connections", connections, 1, 256)
        self.rate = (None if near else 5.0) if rate == "auto" else _checked_rate(rate)
        self._deadline = arguments.positive("deadline", deadline)
        self._tries = arguments.whole("tries", tries, 1, 20)
        self._transport = transport
        exchange = Exchange(
            self.base_url,
            self._carrier(),
            rate=self.rate,
            deadline=self._deadline,
            tries=self._tries,
        )
        self._session = Session(exchange, self.page_size, self.connections, self.rate, not near)
        self.units = Units("units", lambda: self._session)
        self.statements = Collection("statements", lambda: self._session)
        self.reports = Collection("reports", lambda: self._session)
        self.annual_reports = Collection("annual_reports", lambda: self._session)
        self._codelists: dict[str, pl.DataFrame] = {}
        self._lock = threading.Lock()
        forks.renew_in_child(self)

    def _carrier(self) -> Transport:
        if self._transport is None:
            # Only here: a sample needs no httpx, and starts sooner without it.
            from finstat_kit.transport.http import Sockets

            return Sockets(self.base_url)
        if isinstance(self._transport, Transport):
            return self._transport
        from finstat_kit.transport.http import Adapted

        return Adapted(self._transport)

    def after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as a new register with the same settings."""
        again = partial(
            type(self),
            page_size=self.page_size,
            connections=self.connections,
            rate=self.rate,
            deadline=self._deadline,
            tries=self._tries,
            transport=self._transport,
        )
        return again, (self.base_url,)

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
        return f"<Register {self.base_url}, {self.connections} connection{many}, {rate}>"

    @property
    def invented(self) -> bool:
        """Whether the data are a sample's; charts say so."""
        return False

    @property
    def today(self) -> date:
        """The register's day: today in Bratislava."""
        return datetime.now(ZoneInfo("Europe/Bratislava")).date()

    @property
    def stats(self) -> Stats:
        """Requests, retries and bytes so far."""
        return self._session.exchange.stats

    def close(self) -> None:
        """Close the connections; they open again when they are needed."""
        self._session.exchange.close()

    def regions(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the regions (kraje).

        From ``/api/kraje``; fetched once a register.

        Args:
            refresh: Fetch again.

        Returns:
            ``code``, ``name_sk``, ``name_en``, ``parent_code`` (all String), sorted by code. A
            live list has more rows than the map: two entries stand for abroad.

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
        return self._codelist("regions", refresh)

    def districts(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the districts (okresy), from ``/api/okresy``; otherwise as `regions`.

        ``parent_code`` is the region's code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.districts().height
            79
        """
        return self._codelist("districts", refresh)

    def municipalities(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the municipalities (sídla), from ``/api/sidla``; otherwise as `regions`.

        ``parent_code`` is the district's code, null on a few. Names repeat: never join on a name.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.municipalities()["name_sk"].to_list().count("Lúčka")
            4
        """
        return self._codelist("municipalities", refresh)

    def legal_forms(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the legal forms, from ``/api/pravne-formy``.

        Returns:
            ``code``, ``name_sk``, ``name_en`` (all String), sorted by code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.legal_forms().row(3)
            ('112', 'Spol. s r. o.', 'Limited liability comp.')
        """
        return self._codelist("legal_forms", refresh)

    def activities(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the economic activities (SK NACE), from ``/api/sk-nace``; as `legal_forms`.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.activities().row(0)
            ('01110', 'Pestov.obilnín', 'Growing of cereals')
        """
        return self._codelist("activities", refresh)

    def ownership_types(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the types of ownership, from ``/api/druhy-vlastnictva``; as `legal_forms`.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.ownership_types().row(2)
            ('2', 'Súkromné tuzemské', 'Private inland')
        """
        return self._codelist("ownership_types", refresh)

    def size_classes(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the size classes, from ``/api/velkosti-organizacie``; as `legal_forms`.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.size_classes().row(2)
            ('02', '1 zamestnanec', '1 employees')
        """
        return self._codelist("size_classes", refresh)

    def locations(self, *, refresh: bool = False) -> pl.DataFrame:
        """Put regions, districts and municipalities into one frame, with the path up.

        From ``/api/kraje``, ``/api/okresy`` and ``/api/sidla``.

        Returns:
            ``level`` (``region``, ``district``, ``municipality``), ``code``, ``name_sk``,
            ``name_en``, ``parent_code``, ``district_code``, ``region_code`` (all String); the last
            two are filled for the entry's own level too and null where a parent is missing.
            Regions first, each level sorted by code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.locations().row(10)
            ('district', 'SK0101', 'Bratislava I', 'Bratislava I', 'SK010', 'SK0101', 'SK010')
        """
        return places.locations(
            self.regions(refresh=refresh),
            self.districts(refresh=refresh),
            self.municipalities(refresh=refresh),
        )

    def find_places(self, text: str, level: places.Level | None = None) -> pl.DataFrame:
        """Search regions, districts and municipalities by name or code.

        Args:
            text: Part of a name, accents and case ignored, or the beginning of a code.
            level: Only this level: ``"region"``, ``"district"`` or ``"municipality"``.

        Returns:
            ``level``, ``code``, ``name_sk``, ``name_en``, ``district``, ``region`` (Slovak names
            of the path up); all String. First what begins so, then what has a word that does,
            then any other hit.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.find_places("ziar", level="municipality").row(0)[1:5]
            ('SK032D516589', 'Žiar nad Hronom', 'Žiar nad Hronom', 'Žiar nad Hronom')
        """
        return places.find(self.locations(), text, level)

    def cite(self, lang: Lang = "sk") -> str:
        """Write one line for a footnote: the register, its URL and licence, and when it answered.

        The only text of this package that carries the time. A sample's says that it is invented.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     print(fk.cite(lang="en"))
            Invented data of the finstat_kit sample (20,000 units, as of 2026-06-30), not of the
            Register of Financial Statements.
        """
        first, last = self.stats.first_reply, self.stats.last_reply
        if arguments.lang(lang) == "sk":
            read = "zatiaľ bez odpovede"
            if first and last:
                read = f"údaje prevzaté {_moment(first)} až {_moment(last)}"
            return f"Register účtovných závierok, {self.base_url}, licencia CC0, {read}."
        read = "no reply yet"
        if first and last:
            read = f"data received {_moment(first)} to {_moment(last)}"
        return f"Register of Financial Statements (Slovakia), {self.base_url}, CC0, {read}."

    def codelists(self) -> pl.DataFrame:
        """List the seven codelists and what each is for. Asks nothing of the register.

        Returns:
            ``name`` (of the function), ``endpoint``, ``source`` (list of the Statistical Office,
            null where not known), ``field`` (of the records) and ``label`` (the column that
            `resolve_labels` adds); all String.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.codelists().row(0)
            ('regions', '/api/kraje', '0023/RSUJ3', 'kraj', 'region')
        """
        rows = [
            (c.name, f"/api/{c.endpoint}", c.source, c.field, c.label)
            for c in wire.CODELISTS.values()
        ]
        names = ("name", "endpoint", "source", "field", "label")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")

    @overload
    def resolve_labels(
        self, frame: pl.DataFrame, *, lang: Lang = "sk", columns: labels.Columns = None
    ) -> pl.DataFrame: ...
    @overload
    def resolve_labels(
        self, frame: pl.LazyFrame, *, lang: Lang = "sk", columns: labels.Columns = None
    ) -> pl.LazyFrame: ...
    def resolve_labels(
        self,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        lang: Lang = "sk",
        columns: labels.Columns = None,
    ) -> pl.DataFrame | pl.LazyFrame:
        """Add the label behind each code, directly after the code's column.

        The rule is equality of codes and nothing else; what has no entry gets null.

        Args:
            frame: Any frame with code columns; a LazyFrame stays lazy.
            lang: ``"sk"`` or ``"en"``.
            columns: Which columns: None for those of ``kraj``, ``okres``, ``sidlo`` that are
                there; a list of record fields, ``["kraj", "pravnaForma"]``; or a mapping of your
                own columns to codelists, ``{"home": "regions"}``, which adds ``home_label``.

        Returns:
            The same rows in the same order, with ``region``, ``district``, ``municipality``,
            ``legal_form``, ``activity``, ``ownership``, ``size_class`` (String) after their
            codes. A label column that is there already is replaced.

        Raises:
            UsageError: No such column, a code column that is not text, or not a polars frame.

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
        return labels.resolve_labels(frame, self._lookup, lang=lang, columns=columns)

    def unresolved_codes(
        self, frame: pl.DataFrame | pl.LazyFrame, *, columns: labels.Columns = None
    ) -> pl.DataFrame:
        """Tell which codes of a frame have no label, and how often they stand there.

        Args:
            frame: Any frame with code columns.
            columns: As in `resolve_labels`.

        Returns:
            ``column``, ``code`` (String), ``count`` (Int64) and ``likely`` (String): today's code
            where the code is an old one (``1``, ``103``, ``529354``), else null. `resolve_labels`
            never uses it.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.unresolved_codes(pl.DataFrame({"okres": ["613", "613", "SK0101"]})).row(0)
            ('okres', '613', 2, 'SK032D')
        """
        return labels.unresolved_codes(frame, self._lookup, columns=columns)

    def count_by(
        self, frame: pl.DataFrame | pl.LazyFrame, by: str, *, lang: Lang = "sk"
    ) -> pl.DataFrame:
        """Count the rows of a frame by code; every row is counted, also those without a label.

        Args:
            frame: Records, or any frame with the column *by*.
            by: A code field: ``kraj``, ``okres``, ``sidlo``, ``pravnaForma``, ``skNace``,
                ``druhVlastnictva`` or ``velkostOrganizacie``.
            lang: Language of the labels.

        Returns:
            ``code``, ``label`` (String), ``count`` (Int64), ``share`` (Float64, 0 to 1, of all
            rows) and ``kind``: ``labelled`` by count descending, then by code; ``unknown code``;
            one row ``no code``; one row ``gone`` (rows with ``stav``). Counts add up to the height
            of the frame.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.count_by(pl.DataFrame({"kraj": ["SK010", None, "SK010"]}), "kraj").rows()
            [('SK010', 'Bratislavský kraj', 2, 0.666..., 'labelled'),
             (None, None, 1, 0.333..., 'no code')]
        """
        return labels.count_by(frame, by, self._lookup, lang=lang)

    def count_last_changes(
        self,
        units: pl.DataFrame | pl.LazyFrame,
        by: str = "kraj",
        *,
        every: labels.Every = "1mo",
        lang: Lang = "sk",
    ) -> pl.DataFrame:
        """Count units by the period of their **last** change and by code.

        No series of events: the register keeps only the latest change. A unit changed in February
        and again in May has left February, so earlier periods shrink on every later run.

        Args:
            units: Records, or any frame with ``datumPoslednejUpravy`` (Date) and the column *by*.
            by: A code field, as in `count_by`.
            every: Length of a period: ``"1d"``, ``"1w"`` (from Monday), ``"1mo"``, ``"1q"`` or
                ``"1y"``.
            lang: Language of the labels.

        Returns:
            ``period`` (Date, its first day; null for units without a date, last), ``code``,
            ``label`` (String), ``count`` (Int64, never 0: what did not occur has no row) and
            ``kind`` as in `count_by`, sorted by period, then as there. Counts add up to the
            height of the frame.

        Raises:
            UsageError: No such column, or one of another type; another *by*, *every* or *lang*.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> from datetime import date
            >>> days = [date(2026, 3, 2), date(2026, 3, 30), date(2026, 5, 4)]
            >>> units = pl.DataFrame({"datumPoslednejUpravy": days, "kraj": ["SK010"] * 3})
            >>> with fk.using(fk.sample()):
            ...     fk.count_last_changes(units, lang="en").rows()
            [(datetime.date(2026, 3, 1), 'SK010', 'Region of Bratislava', 2, 'labelled'),
             (datetime.date(2026, 5, 1), 'SK010', 'Region of Bratislava', 1, 'labelled')]
        """
        return labels.count_last_changes(units, by, self._lookup, every=every, lang=lang)

    def _lookup(self, name: str) -> pl.DataFrame:
        return self._codelist(name, refresh=False)

    def _codelist(self, name: str, refresh: bool) -> pl.DataFrame:
        with self._lock:
            known = self._codelists.get(name)
        if known is not None and not refresh:
            return known
        fresh = self._session.exchange.get(requests.codelist(wire.CODELISTS[name]))
        with self._lock:
            self._codelists[name] = fresh
        return fresh


def _checked_url(base_url: object) -> str:
    if isinstance(base_url, str) and "@" in base_url.partition("://")[2].partition("/")[0]:
        raise UsageError(
            "base_url: it holds a name or a password, which would stand in every message; the "
            "register needs none"
        )
    try:
        if isinstance(base_url, str) and _is_base(base_url):
            return base_url.rstrip("/")
    except ValueError:  # of brackets, the port or the host's name
        pass
    raise UsageError(
        f"base_url={base_url!r} is no base URL; give what stands before /api, such as {LIVE!r}"
    )


_FIT: Final = re.compile(r"[!-~]{0,1000}")  # a path, escapes where they are needed


def _is_base(url: str) -> bool:
    parts = urlsplit(url)  # which leaves out line breaks and tabs
    host = parts.hostname or ""
    host.encode("idna")
    return bool(
        parts.scheme in ("http", "https")
        and _FIT.fullmatch(url.partition(parts.netloc)[2])
        and host
        and parts.port != 0
        and not (parts.query or parts.fragment or parts.path.rstrip("/").endswith("/api"))
    )


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _checked_rate(rate: object) -> float | None:
    return None if rate is None else arguments.positive("rate", rate)
