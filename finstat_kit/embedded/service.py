"""The register as one pure function: method, path and query in; status, headers and body out.

Where the specification is open the service is lenient; ``strict`` answers 400 to everything open.
Values match an ASCII pattern before they are converted, because ``int`` and ``fromisoformat`` take
far more than the specification does (``1_000``, Arabic digits, ``2024-W01-1``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

import orjson

from finstat_kit.embedded.store import (
    ANNUAL_REPORTS,
    REPORTS,
    STATEMENTS,
    UNITS,
    Condition,
    Store,
    day_number,
    ico_number,
)

LISTS: Final = (UNITS, STATEMENTS, REPORTS, ANNUAL_REPORTS)
CODELISTS: Final = (
    "kraje", "okresy", "sidla", "pravne-formy", "sk-nace", "druhy-vlastnictva",
    "velkosti-organizacie",
)  # fmt: skip
DEFAULT_SIZE: Final = 1_000
MAX_SIZE: Final = 10_000
MAX_ID: Final = 2**63 - 1
_MAX_QUERY: Final = 8_192
_MAX_PARAMETERS: Final = 100

_DIGITS: Final = re.compile(r"[0-9]{1,100}", re.ASCII)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?", re.ASCII)
_CODE: Final = re.compile(r"[0-9A-Za-z]{1,12}", re.ASCII)
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Reply(NamedTuple):
    """One answer: status, headers, body."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Refused(Exception):
    """A request that is answered with 400 or 414 and the reason."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


def answer(store: Store, method: str, path: str, query: str = "", *, strict: bool = False) -> Reply:
    """Answer one request.

    Args:
        store: The state of the register to answer from.
        method: HTTP method.
        path: Path as it was sent, escapes included: ``/api/kraje``.
        query: Query as it was sent, without the question mark.
        strict: Answer 400 to everything that the specification leaves open.
    """
    route = _ROUTES.get(path)
    if route is None:
        return _json(404, {"chyba": "neznáma cesta"}, method)
    if method not in ("GET", "HEAD"):
        reply = _json(405, {"chyba": "povolené sú iba GET a HEAD"}, method)
        return reply._replace(headers=reply.headers | {"Allow": "GET, HEAD"})
    try:
        return route(store, _Parameters(query, strict), method)
    except _Refused as refusal:
        return _json(refusal.status, {"chyba": str(refusal)}, method)


class _Parameters:
    """The query's parameters; each is asked for once, by name, and what is left over is judged."""

    def __init__(self, query: str, strict: bool) -> None:
        self.strict = strict
        self._values: dict[str, str] = {}
        if len(query) > _MAX_QUERY:
            raise _Refused("adresa je príliš dlhá", 414)
        pairs = query.split("&") if query else []
        if len(pairs) > _MAX_PARAMETERS:
            raise _Refused(f"viac ako {_MAX_PARAMETERS} parametrov")
        for pair in pairs:
            name, _, value = pair.partition("=")
            name = _unescaped(name)
            if name in self._values:
                raise _Refused(f"parameter {_shown(name)} je zadaný dvakrát")
            self._values[name] = _unescaped(value)

    def take(self, name: str, pattern: re.Pattern[str], form: str) -> str | None:
        value = self._values.pop(name, None)
        if value is not None and not pattern.fullmatch(value):
            raise _Refused(f"parameter {name}: očakáva sa {form}, prišlo '{_shown(value)}'")
        return value

    def number(self, name: str) -> int | None:
        value = self.take(name, _DIGITS, "nezáporné celé číslo")
        return None if value is None else int(value)

    def end(self) -> None:
        if self.strict and self._values:
            raise _Refused(f"neznámy parameter {_shown(next(iter(self._values)))}")


def _unescaped(text: str) -> str:
    if _BROKEN_ESCAPE.search(text):
        raise _Refused(f"chybný zápis so znakom %: '{_shown(text)}'")
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")
    except UnicodeDecodeError:
        raise _Refused("parametre nie sú v UTF-8") from None


def _shown(text: str) -> str:
    """Cut and escape input that is told back."""
    return html.escape("".join(c if c.isprintable() else "?" for c in text[:100]))


class _Selection(NamedTuple):
    since: int
    after: int
    size: int
    where: tuple[Condition, ...]


def _selection(store: Store, name: str, parameters: _Parameters) -> _Selection:
    """Read the parameters that a list and its count share."""
    since = parameters.take("zmenene-od", _DAY, "dátum RRRR-MM-DD")
    if since is None and parameters.strict:
        raise _Refused("chýba povinný parameter zmenene-od")

    size = parameters.number("max-zaznamov")
    if size == 0 or (parameters.strict and size is not None and size > MAX_SIZE):
        raise _Refused(f"parameter max-zaznamov: očakáva sa 1 až {MAX_SIZE}")

    after = parameters.number("pokracovat-za-id") or 0
    if after > MAX_ID:
        raise _Refused(f"parameter pokracovat-za-id: očakáva sa 0 až {MAX_ID}")

    where = _unit_conditions(store, parameters) if name == UNITS else ()
    parameters.end()
    return _Selection(
        since=0 if since is None else day_number(_day(since)),
        after=after,
        size=min(size or DEFAULT_SIZE, MAX_SIZE),
        where=where,
    )


def _day(text: str) -> date:
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        raise _Refused(f"parameter zmenene-od: taký deň nie je: '{_shown(text)}'") from None


def _unit_conditions(store: Store, parameters: _Parameters) -> tuple[Condition, ...]:
    found = []
    ico = parameters.take("ico", _DIGITS, "IČO z číslic")
    if ico is not None:
        # No row carries -2: an IČO of another length than ours matches nothing.
        number = ico_number(ico)
        found.append(Condition(store.columns["ico"], number if number >= 0 else -2))
    dic = parameters.take("dic", _DIGITS, "DIČ z číslic")
    if dic is not None:
        number = int(dic) if len(dic) == 10 and dic[0] != "0" else -2
        found.append(Condition(store.columns["dic"], number))
    form = parameters.take("pravna-forma", _CODE, "kód právnej formy")
    if form is not None:
        forms = store.tables["legal_form"]
        position = forms.index(form) if form in forms else len(forms)
        found.append(Condition(store.columns["legal_form"], position))
    if found:
        # What a deleted or non-public record once said is not there to be found.
        found.append(Condition(store.columns["state"], 0))
    return tuple(found)


_Route = Callable[[Store, _Parameters, str], Reply]


def _list(name: str) -> _Route:
    def route(store: Store, parameters: _Parameters, method: str) -> Reply:
        since, after, size, where = _selection(store, name, parameters)
        ids, more = store.lines[name].page(since, after, size, where)
        page: dict[str, object] = {"id": ids, "existujeDalsieId": more}
        if parameters.strict and not len(ids):
            del page["id"]  # null attributes are left out, empty lists may be
        return _json(200, page, method)

    return route


def _count(name: str) -> _Route:
    def route(store: Store, parameters: _Parameters, method: str) -> Reply:
        since, after, _, where = _selection(store, name, parameters)
        return _json(
            200, {"pocetZostavajucichId": store.lines[name].count(since, after, where)}, method
        )

    return route


def _codelist(name: str) -> _Route:
    def route(store: Store, parameters: _Parameters, method: str) -> Reply:
        parameters.end()
        return _reply(200, store.codelists[name], method)

    return route


def _unit(store: Store, parameters: _Parameters, method: str) -> Reply:
    id_ = parameters.number("id")
    parameters.end()
    if id_ is None:
        raise _Refused("chýba povinný parameter id")
    record = store.record(id_) if id_ <= MAX_ID else None
    return _reply(404, b"", method) if record is None else _json(200, record, method)


_ROUTES: Final[dict[str, _Route]] = {
    **{f"/api/{name}": _list(name) for name in LISTS},
    **{f"/api/zostavajuce-id/{name}": _count(name) for name in LISTS},
    **{f"/api/{name}": _codelist(name) for name in CODELISTS},
    "/api/uctovna-jednotka": _unit,
}


def _json(status: int, content: object, method: str) -> Reply:
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return _reply(status, body, method)


def _reply(status: int, body: bytes, method: str) -> Reply:
    headers = {
        "Content-Type": "application/json;charset=UTF-8",
        "Content-Length": str(len(body)),
        "X-API-Version": "2.5",
        "Cache-Control": "no-cache, no-store, max-age=0",
    }
    return Reply(status, headers, b"" if method == "HEAD" else body)
