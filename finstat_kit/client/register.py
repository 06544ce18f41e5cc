"""A register: where the address, the exchange, the replies and the labels meet."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial, update_wrapper
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang, Span
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.collections.kept import kept_for_the_day
from finstat_kit.client.collections.units import Units
from finstat_kit.client.methods.estimate import Estimating
from finstat_kit.client.methods.financials import Financials
from finstat_kit.client.methods.templates import Forms
from finstat_kit.client.session import Session
from finstat_kit.errors import UsageError
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.forms import Form
from finstat_kit.transport import forks
from finstat_kit.transport.base import Transport, is_loopback
from finstat_kit.transport.exchange import Exchange, Stats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from finstat_kit.transport.cache_file import CacheFile
    from finstat_kit.transport.cache_format import CacheState
    from finstat_kit.transport.http import BaseTransport

LIVE: Final = "https://www.registeruz.sk/cruz-public"
Auto = Literal["auto"]
_LANG: Final = "FINSTAT_KIT_LANG"
_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "live": "Register účtovných závierok",
        "licence": "licencia CC0",
        "invented": "vymyslené údaje",
        "no reply": "zatiaľ bez odpovede",
        "received": "údaje prevzaté {first} až {last}",
    },
    "en": {
        "live": "Register of Financial Statements (Slovakia)",
        "licence": "CC0",
        "invented": "invented data",
        "no reply": "no reply yet",
        "received": "data received {first} to {last}",
    },
}
T = TypeVar("T")


class _Above(Generic[T]):
    """A public name of a layer above, called with the register on which it is looked up.

    It is found through the names of the package at its first use: nothing here imports it.
    """

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, register: Register | None, owner: type[object]) -> Callable[..., T]:
        function: Callable[..., T] = getattr(import_module("finstat_kit"), self._name)
        if register is None:
            return function
        return update_wrapper(partial(function, register=register), function)


class Register(Estimating, Financials):
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
        lang: Language of labels, titles and numbers, ``"sk"`` or ``"en"``, where a call names
            none; None is that of the environment variable FINSTAT_KIT_LANG, else ``"sk"``.
        transport: What carries the requests in the place of the register's own connections: any
            ``httpx.BaseTransport``, such as a mock, a WSGI application or a recording one. The
            size limit and the packing of replies are checked as ever; the deadline and Ctrl-C only
            between the parts of a body. It is closed by `close` and at the end of ``with``.
        cache: A file that keeps replies, made where there is none; see `cache`. Kept records are
            used until a list of changes names them, codelists and templates for the register's day;
            lists and counts are requested anew. Lists are walked over one connection, so that
            ``fk.use("cache:FILE")`` can replay them.
        max_age: For how long kept records are used without a look at what changed: a `timedelta`,
            ``"7d"``, ``"12h"`` or seconds; None always looks, once per call.

    Attributes:
        lang: Language where a call names none; settable.

    Example:
        >>> import finstat_kit as fk
        >>> fk.Register("https://register.example/cruz-public", rate=2)
        <Register https://register.example/cruz-public, 4 connections, 2 requests/s>
    """

    _mark: str | None = None  # which invented data these are, where that is known without a reply

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
        max_age: Span | None = None,
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
            exchange, self.page_size, self.connections, self.rate, not near, lambda: self.today
        )
        self._max_age: float | None = None
        self._keep(cache, max_age)
        self.units = Units("units", lambda: self._session)
        self.statements = Collection("statements", lambda: self._session)
        self.reports = Collection("reports", lambda: self._session)
        self.annual_reports = Collection("annual_reports", lambda: self._session)
        self._codelists: dict[str, pl.DataFrame] = {}
        self._forms = Forms()
        self._lock = threading.Lock()
        forks.renew_in_child(self)

    def _keep(self, cache: str | Path | None, max_age: Span | None) -> None:
        """Keep replies in a file, if one is given."""
        if cache is None:
            if max_age is not None:
                raise UsageError(f"max_age={max_age!r} is of kept replies; give cache= too")
            return
        # Only here: few registers keep replies.
        from finstat_kit.transport.cache_file import CacheFile
        from finstat_kit.transport.cache_format import About

        path, exchange = arguments.file("cache", cache), self._session.exchange
        self._max_age = None if max_age is None else arguments.span("max_age", max_age)
        mark = "" if is_live(self.base_url) else self._mark
        about = About(self.base_url, mark, self.page_size)
        exchange.cache = CacheFile(path, about, lambda: self.today, lambda: exchange.now)
        self._session = replace(self._session, max_age=self._max_age or 0.0)

    def _carrier(self) -> Transport:
        if self._transport is None:
            # Only here: a sample needs no httpx, and starts sooner without it.
            from finstat_kit.transport.http import Sockets

            return Sockets(self.base_url)
        if isinstance(self._transport, Transport):
            return self._transport
        from finstat_kit.transport.http import Adapted

        return Adapted(self._transport)

    def _after_fork(self) -> None:
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
            lang=self.lang,
            cache=None if self._cache is None else self._cache.path.absolute(),
            max_age=self._max_age,
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
        source = source_name(self.base_url, True, "en") if self.invented else self.base_url
        cache = "" if self._cache is None else f", cache {self._cache.path}"
        return f"<Register {source}, {self.connections} connection{many}, {rate}{cache}>"

    @property
    def invented(self) -> bool | None:
        """Whether the data are invented, by the newest reply; None before the first one."""
        mark = self._session.exchange.invented
        return None if mark is None else bool(mark)

    @property
    def today(self) -> date:
        """The register's day: today in Bratislava."""
        now = self._session.exchange.now
        return datetime.fromtimestamp(now, ZoneInfo("Europe/Bratislava")).date()

    @property
    def since(self) -> date | None:
        """The day that a copy of a part of the register begins with; None for all of it."""
        return None

    @property
    def stats(self) -> Stats:
        """Requests, kept replies used in their place, retries and bytes so far."""
        return self._session.exchange.stats

    @property
    def _cache(self) -> CacheFile | None:
        return self._session.exchange.cache

    @property
    def cache(self) -> CacheState | None:
        """What the file of kept replies holds; None for a register without one."""
        return None if self._cache is None else self._cache.state

    def close(self) -> None:
        """Close the connections and the file of kept replies; they open again when needed."""
        self._session.exchange.close()

    plot_counts: _Above[Axes] = _Above()
    plot_map: _Above[Axes] = _Above()
    plot_last_changes: _Above[Axes] = _Above()
    plot_spread: _Above[Axes] = _Above()
    plot_history: _Above[Axes] = _Above()
    doctor: _Above[pl.DataFrame] = _Above()
    LocationPicker: _Above[Any] = _Above()
    ChangePicker: _Above[Any] = _Above()
    Explorer: _Above[Any] = _Above()
    StatementViewer: _Above[Any] = _Above()
    Mirror: _Above[Register] = _Above()

    def _source_name(self, lang: Lang) -> str:
        """Name the source of the data, for titles, panels and citations.

        Only the live host is called the Register of Financial Statements.
        """
        return source_name(self.base_url, bool(self.invented), lang)

    def _citation(self, lang: Lang) -> str:
        words = _WORDS[lang]
        first, last = self.stats.first_reply, self.stats.last_reply
        when = words["no reply"]
        if first and last:
            when = words["received"].format(first=moment(first), last=moment(last))
        source = source_name(self.base_url, bool(self.invented), lang, cited=True)
        return f"{source}, {when}."

    @property
    def _is_live(self) -> bool:
        return not self.invented and is_live(self.base_url)

    def _now(self) -> Register:
        return self

    def _language(self, lang: Lang | None) -> Lang:
        return arguments.lang(self.lang if lang is None else lang)

    def _codelist(self, name: str, refresh: bool) -> pl.DataFrame:
        with self._lock:
            known = self._codelists.get(name)
        if known is not None and not refresh:
            return known
        request = requests.codelist(wire.CODELISTS[name])
        fresh = kept_for_the_day(self._session, request, refresh=refresh)
        with self._lock:
            self._codelists[name] = fresh
        return fresh

    def _form(
        self, template: int, *, refresh: bool, stop: threading.Event | None = None
    ) -> Form | None:
        return self._forms.get(template, self._session, refresh=refresh, stop=stop)

    def _own_session(self) -> Session:
        return self._session

    def _listed_forms(self, *, refresh: bool) -> list[tuple[Form, bool]]:
        return self._forms.listed(self._session, refresh=refresh)


def is_live(url: str) -> bool:
    """Tell whether a URL leads to the real register."""
    return urlsplit(url).hostname == urlsplit(LIVE).hostname


def source_name(url: str, invented: bool, lang: Lang, *, cited: bool = False) -> str:
    """Name the source behind a URL: only the live host is the Register of Financial Statements.

    Cited, the live register has its address and licence with it.
    """
    words = _WORDS[lang]
    if invented:
        return f"{url}, {words['invented']}"
    if not is_live(url):
        return url
    return f"{words['live']}, {url}, {words['licence']}" if cited else words["live"]


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
        f"base_url={base_url!r} is not a base URL; give the part before /api, such as {LIVE!r}"
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


def moment(seconds: float) -> str:
    """Return seconds since 1970 as a date and time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def language_of_environment() -> Lang:
    """Return the language that FINSTAT_KIT_LANG names, Slovak where it names none."""
    return arguments.lang(os.environ.get(_LANG) or "sk", _LANG)


def _checked_rate(rate: object) -> float | None:
    return None if rate is None else arguments.positive("rate", rate)
