"""What a mirror replies to requests, as the register's service would."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin
from urllib.parse import parse_qs

import numpy as np
import orjson
import polars as pl

from finstat_kit.errors import UsageError
from finstat_kit.mirror.state import State
from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.rows import MISSING
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import shipped
from finstat_kit.protocol.records import KINDS, Content, First, Last, field_types, without_none
from finstat_kit.protocol.wire import BEGINNING, CHANGED, LISTS, UNITS, Reply
from finstat_kit.service.http import routes
from finstat_kit.service.state.line import Line
from finstat_kit.service.state.store import Store
from finstat_kit.transport import forks

# What the service compares: numbers that stand for an IČO, with those of twelve digits above all.
_ICO: Final = (
    pl.when(pl.col("ico").str.len_bytes() == 8)
    .then(pl.col("ico").cast(pl.Int64, strict=False))
    .when(pl.col("ico").str.len_bytes() == 12)
    .then(pl.col("ico").cast(pl.Int64, strict=False) + 10**13)
    .fill_null(-1)
)
_DAY: Final = (pl.col(CHANGED) - pl.lit(BEGINNING)).dt.total_days().fill_null(0).clip(0, 65_535)
_FORMS: Final = "pravnaForma"
# Lists without days of change are returned whole for every day.
_ANY_DAY: Final = 65_535
_NAMES: Final = {endpoint: name for name, endpoint in LISTS.items()}
_PATHS: Final = {kind.path: name for name, kind in KINDS.items()}
_TEMPLATE: Final = f"/api/{wire.TEMPLATE}"
Records = Callable[[str, pl.Series], pl.DataFrame]
Value = TypeVar("Value")


class Answers:
    """Replies of a mirror.

    Args:
        state: Returns the state to answer from.
        records: Returns the records of some ids of a collection.
    """

    def __init__(self, state: Callable[[], State], records: Records) -> None:
        self._state = state
        self._records = records
        self._store: tuple[State, Store] | None = None
        self._lock = forks.free_in_child(threading.Lock())

    def answer(self, method: str, path: str, query: str) -> Reply:
        """Answer one request; what is not held is 503: a 404 would say that there is none."""
        state = self._state()
        id_ = parse_qs(query).get("id", [""])[0]
        if id_.isascii() and id_.isdigit() and len(id_) < 19 and method in ("GET", "HEAD"):
            if path in _PATHS:
                return self._record(state, _PATHS[path], int(id_), method)
            if path == _TEMPLATE and (body := state.body(int(id_))):
                return routes.sent(200, body.encode(), method)
            # The forms of the package are the register's; that it has none of a report's template
            # is known where the report is.
            if path == _TEMPLATE and not (shipped(int(id_)) or state.uses(int(id_))):
                return not_held(state, method)
        if path == f"/api/{wire.TEMPLATES}" or path[1:].rpartition("/")[0] in routes.FILES:
            return not_held(state, method)
        with self._lock:
            if self._store is None or self._store[0] is not state:
                self._store = state, _store_of(state)
            store = self._store[1]
        return routes.answer(store, method, path, query)

    def _record(self, state: State, name: str, id_: int, method: str) -> Reply:
        try:
            records = self._records(name, pl.Series("id", [id_], dtype=pl.Int64))
        except UsageError:
            return not_held(state, method)
        if records.is_empty() and state.is_part:
            return not_held(state, method)  # the register may have it
        if records.is_empty() and id_ in state.unreadable(name):
            return not_held(state, method)
        if records.is_empty():
            return routes.sent(404, b"", method)
        body = _record(records.row(0, named=True), KINDS[name].shape)
        return routes.sent(200, orjson.dumps(body), method)


def not_held(state: State, method: str) -> Reply:
    """Return the reply to a request for what a mirror does not hold."""
    kept = ", ".join(("units", *state.point.contents))
    reason = f"not_held: kópia registra k {state.today} to neobsahuje; má {kept}"
    reply = routes.refusal(503, reason, method)
    return reply._replace(headers=reply.headers | {wire.NOT_HELD: str(state.today)})


class _WhenRead(dict[str, Value]):
    """Values that are made when they are first read: each needs other files of the mirror."""

    def __init__(self, state: State, make: Callable[[str], Value]) -> None:
        super().__init__()
        self._path = state.path
        self._make = make

    def __missing__(self, key: str) -> Value:
        with legible(self._path):
            value = self[key] = self._make(key)
        return value


def _store_of(state: State) -> Store:
    @cache
    def units() -> tuple[pl.DataFrame, list[str]]:
        return _units_of(state)

    def line(endpoint: str) -> Line:
        if endpoint == UNITS:
            return Line(units()[0]["id"].to_numpy(), units()[0]["changed"].to_numpy())
        ids = state.standing(_NAMES[endpoint]).listed.to_numpy()
        return Line(ids, np.full(len(ids), _ANY_DAY, dtype=np.uint16))

    return Store(
        _WhenRead(state, line),
        _WhenRead(state, lambda column: units()[0][column].to_numpy()),
        _WhenRead(state, lambda table: units()[1]),
        places=(),
        codelists=_WhenRead(state, lambda endpoint: _body(state.codelists, endpoint)),
        today=state.today,
    )


def _units_of(state: State) -> tuple[pl.DataFrame, list[str]]:
    """Return what lists of units are filtered by, by ascending id, and their legal forms."""
    listed = state.newest("units").filter(pl.col("gone").ne_missing(MISSING))
    forms = listed.select(pl.col(_FORMS).unique()).drop_nulls().collect()[_FORMS].sort()
    columns = listed.select(
        "id",
        _DAY.cast(pl.UInt16).alias("changed"),
        _ICO.alias("ico"),
        pl.col("dic").cast(pl.Int64, strict=False).fill_null(-1),
        pl.col(_FORMS).replace_strict(
            forms, pl.int_range(len(forms), eager=True), default=-1, return_dtype=pl.Int64
        ).alias("legal_form"),
        pl.col("stav").is_not_null().cast(pl.Int8).alias("state"),
    )  # fmt: skip
    return columns.collect().sort("id"), forms.to_list()


def _body(lists: Mapping[str, pl.DataFrame], endpoint: str) -> bytes:
    """Return a codelist as the body of a reply."""
    name = next(name for name, known in wire.CODELISTS.items() if known.endpoint == endpoint)
    entries, listed = lists.get(name), []
    for code, slovak, english, parent in () if entries is None else entries.iter_rows():
        names = {"sk": slovak, "en": english}
        entry = {"kod": code, "nazov": {k: v for k, v in names.items() if v is not None}}
        listed.append(entry if parent is None else entry | {"nadradenaLokacia": parent})
    located = wire.CODELISTS[name].located
    return orjson.dumps({wire.LOCATIONS if located else wire.CLASSIFICATION: listed})


def _record(row: Mapping[str, Any], shape: Any) -> dict[str, object]:  # noqa: ANN401
    """Return a record as the register would send it, from its row."""
    fields = {}
    for name, hint in field_types(shape).items():
        if without_none(hint) is Content:
            tables, title = row[wire.TABLES], row["titulnaStrana"]
            content = {
                "titulnaStrana": None
                if title is None
                else _value(title, field_types(Content)["titulnaStrana"]),
                wire.TABLES: None
                if tables is None
                else [{"data": t} if t is not None else {} for t in tables],
            }
            held = {n: v for n, v in content.items() if v is not None}
            fields[name] = held or None
        else:
            fields[name] = _value(row[name], hint)
    return {name: value for name, value in fields.items() if value is not None}


def _value(value: Any, hint: Any) -> Any:  # noqa: ANN401
    kind = without_none(hint)
    if value is None:
        return None
    if isinstance(value, date):
        return value.isoformat()[:7] if hint in (First, Last) else value.isoformat()
    if get_origin(kind) is list:
        return [_value(element, get_args(kind)[0]) for element in value]
    return _record(value, kind) if isinstance(value, dict) else value
