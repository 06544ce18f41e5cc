"""LazyFrames over the register: only the data that a query needs are fetched.

Known forms of polars' predicate narrow the requests. The whole predicate is applied again to the
fetched rows, so that an unknown form costs time but never gives a wrong row.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit.errors import Interrupted, RegisterError
from finstat_kit.protocol.wire import BEGINNING, CHANGED, MAX_ID
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import heeding_interrupts

_STOPS: Final = 0.4  # seconds within which a stopped scan ends
_PARAMETERS: Final = {"ico": "ico", "dic": "dic", "pravnaForma": "legal_form_code"}
Spans = tuple[tuple[int, int], ...]  # first and last ids, ascending, none touching another
EVERY: Final[Spans] = ((1, MAX_ID),)
_FLIPPED: Final = {"Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq", "Eq": "Eq"}


class RecordsStopped(Stopped):
    """Records abandoned because the work they belong to was stopped.

    Attributes:
        so_far: Builds the frame of the records before. Deferred: while polars holds back a
            Ctrl-C, every call of polars ends in a KeyboardInterrupt.
    """

    def __init__(self, so_far: Callable[[], pl.DataFrame]) -> None:
        super().__init__()
        self.so_far = so_far


@dataclass(frozen=True, slots=True)
class Needs:
    """The data that a query needs from the register.

    Attributes:
        spans: Only ids within these.
        since: Changed on this day or later.
        parameters: Equalities that the register supports, by their Python names.
        limit: Maximum number of rows, None for all.
        records: Whether records are needed, not only ids.
    """

    spans: Spans
    since: date
    limit: int | None
    records: bool
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """True if the scan covers the whole register."""
        narrowed = self.spans != EVERY or self.since > BEGINNING
        return not (narrowed or self.parameters or self.limit is not None)


Fetch = Callable[[Needs, threading.Event], Iterator[pl.DataFrame]]


def lazy(name: str, schema: pl.Schema, since: date, fetch: Fetch) -> pl.LazyFrame:
    """Return a LazyFrame of the rows that *fetch* yields, with the columns the query needs."""
    runs = _Runs()

    def source(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        wanted = schema.names() if columns is None else columns
        used = set(wanted) | set(predicate.meta.root_names() if predicate is not None else ())
        needs = Needs(EVERY, since, n_rows, records=bool(used - {"id"}))
        # polars applies n_rows before the predicate: narrowing the requests by the predicate would
        # then count other rows.
        if predicate is not None and n_rows is None:
            needs = _narrowed(needs, predicate)
        rows = _Rows(name, since, wanted, predicate)
        runs.begin(rows)
        try:
            for frame in heeding_interrupts(lambda stop: fetch(needs, stop)):
                yield rows.of(frame, keep=rows.kept)
        except (RegisterError, KeyboardInterrupt) as error:
            rows.error = error
            if isinstance(error, RegisterError) and not rows.kept:
                error.partial = error.cursor = None  # the rows went to the sink
            raise
        finally:
            rows.over.set()

    return _scan(register_io_source(source, schema=schema), runs)


class _Runs:
    """The runs whose rows `collect` keeps, for a possible error; sinks keep none."""

    def __init__(self) -> None:
        self.collecting = 0
        self.newest: _Rows | None = None

    def begin(self, rows: _Rows) -> None:
        rows.kept = self.collecting > 0
        if rows.kept:
            self.newest = rows


class _Rows:
    """The rows of a scan so far, as the query selects them, for a possible error."""

    def __init__(
        self, name: str, since: date, columns: list[str], predicate: pl.Expr | None
    ) -> None:
        self.kept = False
        self.error: RegisterError | KeyboardInterrupt | None = None
        self.over = threading.Event()
        self._name, self._since = name, since
        self._columns, self._predicate = columns, predicate
        self._taken: pl.DataFrame | None = None  # fetched, but possibly not in the frames yet
        self._frames: list[tuple[pl.DataFrame, int]] = []  # each with its last id

    def of(self, frame: pl.DataFrame, *, keep: bool = True) -> pl.DataFrame:
        """Return the query's selection from a fetched frame, by ascending ids."""
        self._taken = frame if keep else None
        rows = frame if self._predicate is None else frame.filter(self._predicate)
        rows = rows.select(self._columns)
        if keep:
            last = int(frame["id"][-1]) if frame.height else self._cursor
            self._frames.append((rows, last))
        return rows

    @property
    def _cursor(self) -> int:
        return self._frames[-1][1] if self._frames else 0

    def _add(self, frame: pl.DataFrame | None) -> None:
        if frame is not None and frame.height and frame["id"][-1] > self._cursor:
            self.of(frame)

    def completed(self, error: RegisterError | KeyboardInterrupt) -> BaseException:
        """Return the error that a scan ends with, with all rows fetched before it.

        Call it only once polars has finished: while it holds back a Ctrl-C, its calls fail.
        """
        self._add(self._taken)
        cause = error.__cause__
        if isinstance(error, RegisterError | Interrupted):
            self._add(error.partial)
        else:
            self._add(cause.so_far() if isinstance(cause, RecordsStopped) else None)
        rows = pl.concat([rows for rows, _ in self._frames]) if self._frames else None
        if not isinstance(error, RegisterError):
            since = "" if self._since == BEGINNING else f'changed_since="{self._since}"'
            error = Interrupted(
                f"interrupted after {0 if rows is None else rows.height:,} rows, which are in "
                ".partial of this error; to resume, with the rest of the query behind it:\n"
                f'  fk.{self._name}.scan({since}).filter(pl.col("id") > {self._cursor})'
            )
        error.partial, error.cursor = rows, self._cursor or None
        return error


def _scan(frame: pl.LazyFrame, runs: _Runs) -> pl.LazyFrame:
    """Make a LazyFrame, and those derived from it, raise the error that ended its scan.

    For Ctrl-C polars raises its own KeyboardInterrupt; before 1.36 it wraps all errors.
    """

    class Scan(pl.LazyFrame):
        # Any arguments and result: polars' own differ between versions.
        def collect(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            runs.collecting += 1
            try:
                try:
                    return super().collect(*arguments, **options)
                except KeyboardInterrupt:
                    time.sleep(0)  # Python raises the same Ctrl-C again here
                    raise
            except (RegisterError, KeyboardInterrupt, pl.exceptions.ComputeError) as error:
                rows = runs.newest
                if rows:
                    rows.over.wait(_STOPS)  # a polars thread may be about to end it
                ended = rows.error if rows else None
                if ended is None and isinstance(error, KeyboardInterrupt):
                    ended = error  # polars ended it between two frames
                if rows is None or ended is None:
                    raise
                raise rows.completed(ended) from error.__cause__
            finally:
                runs.collecting -= 1
                runs.newest = None

    return Scan._from_pyldf(frame._ldf)


def _narrowed(needs: Needs, predicate: pl.Expr) -> Needs:
    try:
        node = json.loads(predicate.meta.serialize(format="json"))
        narrowed = replace(needs, spans=_spans(node))
        for column, operator, value in _terms(node):
            narrowed = _with(narrowed, column, operator, value)
    except (ValueError, TypeError, OverflowError, RecursionError, pl.exceptions.PolarsError):
        return needs
    return narrowed


def _with(needs: Needs, column: str, operator: str, value: object) -> Needs:
    """Narrow the needs by one comparison, if the register supports it."""
    if column == CHANGED and type(value) is date:
        day = {"GtEq": value, "Eq": value, "Gt": value + timedelta(days=1)}.get(operator)
        return needs if day is None else replace(needs, since=max(needs.since, day))
    if operator == "Eq" and column in _PARAMETERS and _askable(column, value):
        known = needs.parameters.get(_PARAMETERS[column], value)
        if known == value:
            added = {**needs.parameters, _PARAMETERS[column]: str(value)}
            return replace(needs, parameters=added)
    return needs


def _spans(node: object) -> Spans:
    """Return the ids that can satisfy a predicate; all where its form is unknown."""
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return _shared(_spans(left), _spans(right))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return _merged([*_spans(left), *_spans(right)])
        case {"Function": {"input": [{"Column": "id"}, ids], "function": {"Boolean": {"IsIn": _}}}}:
            values = _value(ids)
            return _merged((id_, id_) for id_ in values) if isinstance(values, list) else EVERY
        case {"Literal": _}:  # an empty is_in
            return () if _value(node) is False else EVERY
    spans = EVERY
    for column, operator, value in _terms(node):
        if column == "id" and type(value) is int:
            spans = _shared(spans, (_id_range(operator, value),))
    return spans


def _id_range(operator: str, value: int) -> tuple[int, int]:
    """Return the first and the last id that satisfy a comparison of ids."""
    return {
        "Gt": (value + 1, MAX_ID),
        "GtEq": (value, MAX_ID),
        "Lt": (1, value - 1),
        "LtEq": (1, value),
        "Eq": (value, value),
    }.get(operator, EVERY[0])


def _shared(some: Spans, others: Spans) -> Spans:
    """Return the ids within both."""
    spans = []
    i = j = 0
    while i < len(some) and j < len(others):
        low, high = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if low <= high:
            spans.append((low, high))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return tuple(spans)


def _merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """Return spans in any order as ascending ones that do not touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return _shared(tuple(merged), EVERY)


def within(page: pl.DataFrame, spans: Spans) -> pl.DataFrame:
    """Return the ids of a page that lie within spans."""
    ids = page["id"].to_numpy()
    bounds = np.array(spans)
    place = bounds[:, 0].searchsorted(ids, side="right") - 1
    return page.filter((place >= 0) & (ids <= bounds[place, 1]))


def _askable(column: str, value: object) -> bool:
    """Return whether a value has the form of the register's parameter."""
    lengths = {"ico": (8, 12), "dic": (10,), "pravnaForma": (1, 2, 3, 4)}[column]
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) in lengths


def _terms(node: object) -> Iterator[tuple[str, str, object]]:
    """Yield the comparisons of a column with a value that must all hold."""
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            yield from _terms(left)
            yield from _terms(right)
        case {"BinaryExpr": {"left": {"Column": str(name)}, "op": str(op), "right": literal}}:
            yield name, op if op in _FLIPPED else "?", _value(literal)
        case {"BinaryExpr": {"left": literal, "op": str(op), "right": {"Column": str(name)}}}:
            yield name, _FLIPPED.get(op, "?"), _value(literal)
        case {
            "Function": {
                "input": [{"Column": str(name)}, low, high],
                "function": {"Boolean": {"IsBetween": {"closed": str(closed)}}},
            }
        }:
            yield name, "GtEq" if closed in ("Both", "Left") else "Gt", _value(low)
            yield name, "LtEq" if closed in ("Both", "Right") else "Lt", _value(high)


def _value(node: object) -> object:
    """Return the value of a literal, the values of a list, None if its form is unknown."""
    match node:
        case {"Alias": [literal, _]}:  # such as a Series in is_in
            return _value(literal)
        case {"Literal": _}:
            literal = pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
            values = pl.select(literal).to_series()
            value = values.explode().drop_nulls() if values.dtype == pl.List else values.item()
            return value.to_list() if isinstance(value, pl.Series) else value
    return None
