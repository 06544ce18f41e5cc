"""The register as one pure function: method, path and query in; status, headers and body out.

Where the specification is open the service is lenient; ``strict`` answers 400 to everything open.
Values of parameters match an ASCII pattern before they are converted, because ``int`` and
``fromisoformat`` take far more than the specification does (``1_000``, Arabic digits,
``2024-W01-1``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from email.utils import format_datetime
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

import orjson

from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.shipped import data_folder, template_bodies
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.state.line import Condition
from finstat_kit.service.state.store import Store, day_number, ico_number

FILES: Final = (wire.ATTACHMENT, wire.PRINTED)
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
MAX_QUERY: Final = 8_192
MAX_PARAMETERS: Final = 100
_DIGITS: Final = re.compile(r"[0-9]{1,100}")
_DAY: Final = re.compile(
    r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?"
)


class ParameterRule(NamedTuple):
    """The allowed values of a parameter."""

    pattern: re.Pattern[str]
    form: str  # the pattern in words
    least: int | None = None  # of a number
    most: int | None = None
    cut: bool = False  # the lenient service reduces larger values to the largest


PAGING_RULES: Final = {
    wire.CHANGED_SINCE: ParameterRule(_DAY, "dátum RRRR-MM-DD"),
    wire.PAGE_SIZE: ParameterRule(
        _DIGITS, f"celé číslo 1 až {wire.MAX_PAGE}", 1, wire.MAX_PAGE, cut=True
    ),
    wire.AFTER_ID: ParameterRule(_DIGITS, f"celé číslo 0 až {wire.MAX_ID}", 0, wire.MAX_ID),
}
FILTER_RULES: Final = {
    "ico": ParameterRule(_DIGITS, "IČO z číslic"),
    "dic": ParameterRule(_DIGITS, "DIČ z číslic"),
    wire.FILTERS["legal_form_code"]: ParameterRule(
        re.compile(r"[0-9A-Za-z]{1,12}"), "kód právnej formy"
    ),
}
RECORD_RULES: Final = {"id": ParameterRule(_DIGITS, "nezáporné celé číslo", 0)}
_RULES: Final = PAGING_RULES | FILTER_RULES | RECORD_RULES


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
    folder, _, name = path[1:].rpartition("/")
    if folder in FILES:
        route = partial(_file, folder, name)
    if route is None:
        return refusal(404, "neznáma cesta", method)
    if method not in ("GET", "HEAD"):
        reply = refusal(405, "povolené sú iba GET a HEAD", method)
        return reply._replace(headers=reply.headers | {"Allow": "GET, HEAD"})
    try:
        return route(store, _Parameters(query, strict), method)
    except _Refused as refused:
        return refusal(refused.status, str(refused), method)


def refusal(status: int, reason: str, method: str = "GET") -> Reply:
    """Return the answer to a request that is not served: the reason under ``chyba``."""
    return _json(status, {"chyba": reason}, method)


@lru_cache(maxsize=1)
def dated(day: date) -> dict[str, str]:
    """Return the header with the service's day: noon of that day, independent of our clock."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return {"Date": format_datetime(noon, usegmt=True)}


class _Parameters:
    """The query's parameters; each is read once, by name, and the remaining ones are checked."""

    def __init__(self, query: str, strict: bool) -> None:
        self.strict = strict
        self._values: dict[str, str] = {}
        if len(query) > MAX_QUERY:
            raise _Refused("adresa je príliš dlhá", 414)
        pairs = query.split("&") if query else []
        if len(pairs) > MAX_PARAMETERS:
            raise _Refused(f"viac ako {MAX_PARAMETERS} parametrov")
        for pair in pairs:
            name, _, value = pair.partition("=")
            name = _unescaped(name)
            if name in self._values:
                raise _Refused(f"parameter {_shown(name)} je zadaný dvakrát")
            self._values[name] = _unescaped(value)

    def take(self, name: str) -> str | None:
        value, rule = self._values.pop(name, None), _RULES[name]
        if value is not None and not rule.pattern.fullmatch(value):
            raise _unexpected(name, value)
        return value

    def number(self, name: str) -> int | None:
        value, rule = self.take(name), _RULES[name]
        if value is None:
            return None
        number = int(value)
        if rule.most is not None and number > rule.most:
            if self.strict or not rule.cut:
                raise _unexpected(name, value)
            return rule.most
        if rule.least is not None and number < rule.least:
            raise _unexpected(name, value)
        return number

    def record_id(self) -> int:
        """Read the one parameter of a record."""
        id_ = self.number("id")
        self.end()
        if id_ is None:
            raise _Refused("chýba povinný parameter id")
        return id_

    def end(self) -> None:
        if self.strict and self._values:
            raise _Refused(f"neznámy parameter {_shown(next(iter(self._values)))}")


def _unexpected(name: str, value: str) -> _Refused:
    form = _RULES[name].form
    return _Refused(f"parameter {name}: očakáva sa {form}, prišlo '{_shown(value)}'")


def _unescaped(text: str) -> str:
    if _BROKEN_ESCAPE.search(text):
        raise _Refused(f"chybný zápis so znakom %: '{_shown(text)}'")
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")
    except UnicodeError:
        raise _Refused("parametre nie sú v UTF-8") from None


def _shown(text: str) -> str:
    """Truncate and escape input that is echoed in a message."""
    return html.escape("".join(c if c.isprintable() else "?" for c in text[:100]))


def _selection(
    store: Store, name: str, parameters: _Parameters
) -> tuple[int, int, int, tuple[Condition, ...]]:
    """Return day, cursor, page size and conditions, which a list and its count share."""
    since = parameters.take(wire.CHANGED_SINCE)
    if since is None and parameters.strict:
        raise _Refused(f"chýba povinný parameter {wire.CHANGED_SINCE}")
    size = parameters.number(wire.PAGE_SIZE)
    after = parameters.number(wire.AFTER_ID)
    where = _unit_conditions(store, parameters) if name == wire.UNITS else ()
    parameters.end()
    day = 0 if since is None else day_number(_day(since))
    return day, after or 0, size or wire.DEFAULT_PAGE, where


def _day(text: str) -> date:
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        raise _Refused(
            f"parameter {wire.CHANGED_SINCE}: taký deň nie je: '{_shown(text)}'"
        ) from None


def _unit_conditions(store: Store, parameters: _Parameters) -> tuple[Condition, ...]:
    conditions = []
    ico = parameters.take("ico")
    if ico is not None:
        # No row carries -2: an IČO of another length than ours matches nothing.
        number = ico_number(ico)
        conditions.append(Condition(store.columns["ico"], number if number >= 0 else -2))
    dic = parameters.take("dic")
    if dic is not None:
        # Neither a number of another length nor zeros, which stand for none, match a row.
        number = int(dic) if len(dic) == 10 else 0
        conditions.append(Condition(store.columns["dic"], number or -2))
    form = parameters.take(wire.FILTERS["legal_form_code"])
    if form is not None:
        forms = store.tables["legal_form"]
        position = forms.index(form) if form in forms else len(forms)
        conditions.append(Condition(store.columns["legal_form"], position))
    if conditions:
        # Former values of a deleted or non-public record cannot be searched.
        conditions.append(Condition(store.columns["state"], 0))
    return tuple(conditions)


_Route = Callable[[Store, _Parameters, str], Reply]


def _list(name: str, store: Store, parameters: _Parameters, method: str) -> Reply:
    since, after, size, where = _selection(store, name, parameters)
    ids, more = store.line(name).page(since, after, size, where)
    page: dict[str, object] = {"id": ids, wire.MORE: more}
    if parameters.strict and not len(ids):
        del page["id"]  # null attributes are left out, empty lists may be
    return _json(200, page, method)


def _count(name: str, store: Store, parameters: _Parameters, method: str) -> Reply:
    since, after, _, where = _selection(store, name, parameters)
    return _json(200, {wire.COUNT: store.line(name).count(since, after, where)}, method)


def _codelist(name: str, store: Store, parameters: _Parameters, method: str) -> Reply:
    parameters.end()
    return sent(200, store.codelists[name], method)


def _record(collection: str, store: Store, parameters: _Parameters, method: str) -> Reply:
    id_ = parameters.record_id()
    record = store.record(collection, id_) if id_ <= wire.MAX_ID else None
    return sent(404, b"", method) if record is None else _json(200, record, method)


def _templates(store: Store, parameters: _Parameters, method: str) -> Reply:
    parameters.end()
    return sent(200, _template_list(strict=parameters.strict), method)


@cache
def _template_list(*, strict: bool) -> bytes:
    listed = (orjson.loads(body) for body in template_bodies().values())
    # Whether the list has the tables is open: one of the two registers sends them.
    left_out = wire.TABLES if strict else None
    entries = [{k: v for k, v in entry.items() if k != left_out} for entry in listed]
    return orjson.dumps({wire.TEMPLATE_LIST: entries})


def _template(store: Store, parameters: _Parameters, method: str) -> Reply:
    body = template_bodies().get(parameters.record_id())
    return sent(404, b"", method) if body is None else sent(200, body, method)


def _file(folder: str, name: str, store: Store, parameters: _Parameters, method: str) -> Reply:
    parameters.end()
    id_ = int(name) if RECORD_RULES["id"].pattern.fullmatch(name) else -1
    file_of = store.attachment if folder == wire.ATTACHMENT else store.printed
    body = file_of(id_) if 0 <= id_ <= wire.MAX_ID else None
    if body is None:
        return sent(404, b"", method)
    reply = sent(200, body, method)
    return reply._replace(headers=reply.headers | {"Content-Type": "application/pdf"})


def _description(store: Store, parameters: _Parameters, method: str) -> Reply:
    parameters.end()
    return sent(200, _descriptions()[parameters.strict], method)


@cache
def _descriptions() -> tuple[bytes, bytes]:
    folder = data_folder() / "openapi"
    return (folder / "lenient.json").read_bytes(), (folder / "strict.json").read_bytes()


_ROUTES: Final[dict[str, _Route]] = {
    **{f"/api/{name}": partial(_list, name) for name in wire.LISTS.values()},
    **{f"/api/{wire.COUNTS}/{name}": partial(_count, name) for name in wire.LISTS.values()},
    **{f"/api/{c.endpoint}": partial(_codelist, c.endpoint) for c in wire.CODELISTS.values()},
    **{kind.path: partial(_record, kind.listed) for kind in KINDS.values()},
    f"/api/{wire.TEMPLATES}": _templates,
    f"/api/{wire.TEMPLATE}": _template,
    "/openapi.json": _description,
}


def _json(status: int, content: object, method: str) -> Reply:
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return sent(status, body, method)


def sent(status: int, body: bytes, method: str) -> Reply:
    """Return a reply with the headers that the register sends."""
    headers = {
        "Content-Type": "application/json;charset=UTF-8",
        "Content-Length": str(len(body)),
        "X-API-Version": wire.API_VERSION,
        "Cache-Control": "no-cache, no-store, max-age=0",
    }
    return Reply(status, headers, b"" if method == "HEAD" else body)


def rules_of_list(name: str) -> dict[str, ParameterRule]:
    """Return the rules of a list and its count."""
    return PAGING_RULES | FILTER_RULES if name == wire.UNITS else PAGING_RULES
