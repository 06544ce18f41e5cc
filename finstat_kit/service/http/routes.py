"""The register as one pure function: method, path and query in; status, headers and body out.

Where the specification is open the service is lenient; ``strict`` answers 400 to everything open.
Values of parameters match an ASCII pattern before they are converted, because ``int`` and
``fromisoformat`` take far more than the specification does (``1_000``, Arabic digits,
``2024-W01-1``). No value comes back in a reason, so none has to be escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from email.utils import format_datetime
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

import orjson

from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.shipped import data_folder, template_bodies
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.filings import bodies
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.line import Condition
from finstat_kit.service.state.store import Store, day_number, ico_number, position_of

FILES: Final = (wire.ATTACHMENT, wire.PRINTED)
MAX_QUERY: Final = 8_192
MAX_PARAMETERS: Final = 100
_DIGITS: Final = "[0-9]{1,100}"
_DAY: Final = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?"
_FORM: Final = wire.FILTERS["legal_form_code"]
Rules = Mapping[str, tuple[str, str]]  # of parameters: the pattern of their values, and in words

PAGING_RULES: Final[Rules] = {
    wire.CHANGED_SINCE: (_DAY, "dátum RRRR-MM-DD"),
    wire.PAGE_SIZE: ("0*[1-9][0-9]{0,99}", f"celé číslo 1 až {wire.MAX_PAGE}"),
    wire.AFTER_ID: (_DIGITS, "nezáporné celé číslo"),
}
FILTER_RULES: Final[Rules] = {
    "ico": (_DIGITS, "IČO z číslic"),
    "dic": (_DIGITS, "DIČ z číslic"),
    _FORM: ("[0-9A-Za-z]{1,12}", "kód právnej formy"),
}
RECORD_RULES: Final[Rules] = {"id": (_DIGITS, "nezáporné celé číslo")}


class _Request(NamedTuple):
    """What a route answers: the state of the register, the parameters, and how strictly."""

    store: Store
    values: Mapping[str, str]
    strict: bool


class _Refused(Exception):
    """A request that is not served: status and reason."""

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
    folder, _, name = path[1:].rpartition("/")
    is_file = folder in FILES
    rules, route = ({}, partial(_file, folder, name)) if is_file else _ROUTES.get(path, ({}, None))
    headers = {
        "Content-Type": "application/json;charset=UTF-8",
        "X-API-Version": wire.API_VERSION,
        "Cache-Control": "no-cache, no-store, max-age=0",
    }
    try:
        if route is None:
            raise _Refused("neznáma cesta", 404)
        if method not in ("GET", "HEAD"):
            headers["Allow"] = "GET, HEAD"
            raise _Refused("povolené sú iba GET a HEAD", 405)
        content = route(_Request(store, _values(query, rules, strict), strict))
        status = 404 if content is None else 200
        if is_file and status == 200:
            headers["Content-Type"] = "application/pdf"
    except _Refused as refused:
        status, content = refused.status, {"chyba": str(refused)}
    if not isinstance(content, bytes):
        empty = content is None
        content = b"" if empty else orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    headers["Content-Length"] = str(len(content))
    return Reply(status, headers, b"" if method == "HEAD" else content)


@lru_cache(maxsize=1)
def dated(day: date) -> dict[str, str]:
    """Return the header with the service's day: noon of that day, independent of our clock."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return {"Date": format_datetime(noon, usegmt=True)}


def _values(query: str, rules: Rules, strict: bool) -> Mapping[str, str]:
    """Return the query's parameters; those without a rule are ignored, by a strict one refused."""
    if len(query) > MAX_QUERY:
        raise _Refused("adresa je príliš dlhá", 414)
    try:
        query.encode("ascii")
        pairs = parse_qsl(query, True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError:
        reason = f"parametre nie sú v UTF-8 alebo je ich viac ako {MAX_PARAMETERS} parametrov"
        raise _Refused(reason) from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _Refused("parameter je zadaný dvakrát")
    for name, value in values.items():
        pattern, words = rules.get(name, (None, ""))
        if pattern is None and strict:
            raise _Refused(f"neznámy parameter; známe sú: {', '.join(rules) or 'žiadne'}")
        if pattern is not None and not re.fullmatch(pattern, value):
            raise _Refused(f"parameter {name}: očakáva sa {words}")
    for name in ("id", wire.CHANGED_SINCE) if strict else ("id",):
        if name in rules and name not in values:
            raise _Refused(f"chýba povinný parameter {name}")
    return values


def _selection(name: str, request: _Request) -> tuple[int, int, int, list[Condition]]:
    """Return day, cursor, page size and conditions, which a list and its count share."""
    store, values, strict = request
    size = int(values.get(wire.PAGE_SIZE, wire.DEFAULT_PAGE))
    after = min(int(values.get(wire.AFTER_ID, 0)), wire.MAX_ID)
    if strict and size > wire.MAX_PAGE:
        raise _Refused(f"parameter {wire.PAGE_SIZE}: najviac {wire.MAX_PAGE}")
    try:
        since = datetime.fromisoformat(values.get(wire.CHANGED_SINCE, "0001-01-01"))
    except ValueError:
        raise _Refused(f"parameter {wire.CHANGED_SINCE}: taký deň nie je") from None
    where = _unit_conditions(store, values) if name == wire.UNITS else []
    return day_number(since.date()), after, min(size, wire.MAX_PAGE), where


def _unit_conditions(store: Store, values: Mapping[str, str]) -> list[Condition]:
    conditions: list[Condition] = []
    # No row carries -2: a number of another length than ours, or zeros, which stand for no DIČ,
    # match nothing.
    if "ico" in values:
        number = ico_number(values["ico"])
        conditions.append((store.columns["ico"], number if number >= 0 else -2))
    if "dic" in values:
        number = int(values["dic"]) if len(values["dic"]) == 10 else 0
        conditions.append((store.columns["dic"], number or -2))
    if _FORM in values:
        position = position_of(values[_FORM], store.tables["legal_form"])
        conditions.append((store.columns["legal_form"], position))
    if conditions:
        # Former values of a deleted or non-public record cannot be searched.
        conditions.append((store.columns["state"], 0))
    return conditions


# What a route returns is sent: bytes as they are, None as 404, all else as JSON.
_Route = Callable[[_Request], object]


def _list(name: str, request: _Request) -> object:
    since, after, size, where = _selection(name, request)
    ids, more = request.store.line(name).page(since, after, size, where)
    # Null attributes are left out, empty lists may be.
    return {wire.MORE: more} if request.strict and not len(ids) else {"id": ids, wire.MORE: more}


def _count(name: str, request: _Request) -> object:
    since, after, _, where = _selection(name, request)
    return {wire.COUNT: request.store.line(name).count(since, after, where)}


def _codelist(name: str, request: _Request) -> object:
    return request.store.codelists[name]


def _record(collection: str, request: _Request) -> object:
    (store, values, _), filings = request, request.store.filings
    id_ = int(values["id"])
    if collection == wire.UNITS:
        return store.record(id_) if id_ <= wire.MAX_ID else None
    return bodies.record(filings, collection, id_) if isinstance(filings, Filings) else None


def _file(folder: str, name: str, request: _Request) -> object:
    if not isinstance(request.store.filings, Filings) or not re.fullmatch(_DIGITS, name):
        return None
    return bodies.file_of(request.store.filings, folder, int(name))


def _template(request: _Request) -> object:
    return template_bodies().get(int(request.values["id"]))


@cache
def _template_list(*, strict: bool) -> bytes:
    listed = (orjson.loads(body) for body in template_bodies().values())
    # Whether the list has the tables is open: one of the two registers sends them.
    left_out = wire.TABLES if strict else None
    entries = [{k: v for k, v in entry.items() if k != left_out} for entry in listed]
    return orjson.dumps({wire.TEMPLATE_LIST: entries})


@cache
def _description(*, strict: bool) -> bytes:
    name = "strict.json" if strict else "lenient.json"
    return (data_folder() / "openapi" / name).read_bytes()


def rules_of_list(name: str) -> Rules:
    """Return the rules of a list and its count."""
    return {**PAGING_RULES, **FILTER_RULES} if name == wire.UNITS else PAGING_RULES


_ROUTES: Final[dict[str, tuple[Rules, _Route]]] = {
    **{f"/api/{n}": (rules_of_list(n), partial(_list, n)) for n in wire.LISTS.values()},
    **{
        f"/api/{wire.COUNTS}/{n}": (rules_of_list(n), partial(_count, n))
        for n in wire.LISTS.values()
    },
    **{f"/api/{c.endpoint}": ({}, partial(_codelist, c.endpoint)) for c in wire.CODELISTS.values()},
    **{kind.path: (RECORD_RULES, partial(_record, kind.listed)) for kind in KINDS.values()},
    f"/api/{wire.TEMPLATE}": (RECORD_RULES, _template),
    f"/api/{wire.TEMPLATES}": ({}, lambda request: _template_list(strict=request.strict)),
    "/openapi.json": ({}, lambda request: _description(strict=request.strict)),
}
