"""LazyFrames over the register: what a query does not need is not fetched.

The predicate that polars hands over is read where its form is known. What is read only narrows what
is asked of the register; the whole predicate is applied again to what came, so that a form that is
not known costs time and never a wrong row.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, Final

import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit.errors import Interrupted, RegisterError
from finstat_kit.protocol.wire import BEGINNING, CHANGED, MAX_ID
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import heeding_interrupts

_STOPS: Final = 0.4  # seconds in which a scan that is stopped ends
_PARAMETERS: Final = {"ico": "ico", "dic": "dic", "pravnaForma": "legal_form_code"}
_FLIPPED: Final = {"Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq", "Eq": "Eq"}


class RecordsStopped(Stopped):
    """Records given up because the work they belong to was stopped.

    Attributes:
        so_far: Makes the frame of those before. Not made at once: while polars holds back a
            Ctrl-C, all that it is called for ends in a KeyboardInterrupt.
    """

    def __init__(self, so_far: Callable[[], pl.DataFrame]) -> None:
        super().__init__()
        self.so_far = so_far


@dataclass(frozen=True, slots=True)
class Needs:
    """What the register is asked for.

    Attributes:
        after_id: Only ids greater than it.
        last_id: Only ids up to it, None for all.
        since: Changed on this day or later.
        parameters: Equalities that the register understands, by their Python names.
        limit: No more rows than this, None for all.
        records: Records are wanted, not only ids.
    """

    after_id: int
    last_id: int | None
    since: date
    limit: int | None
    records: bool
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """True when nothing narrows the scan: it asks for the whole register."""
        narrowed = self.after_id or self.last_id is not None or self.since > BEGINNING
        return not (narrowed or self.parameters or self.limit is not None)


Fetch = Callable[[Needs, threading.Event], Iterator[pl.DataFrame]]


def lazy(name: str, schema: pl.Schema, since: date, fetch: Fetch) -> pl.LazyFrame:
    """Return a LazyFrame of the rows that *fetch* yields, as few columns as the query needs."""
    runs = _Runs()

    def source(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        wanted = schema.names() if columns is None else columns
        used = set(wanted) | set(predicate.meta.root_names() if predicate is not None else ())
        needs = Needs(0, None, since, n_rows, records=bool(used - {"id"}))
        # polars counts n_rows before the predicate: then the predicate may not narrow what is
        # asked, or other rows would be counted.
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
                error.partial = error.cursor = None  # a sink has the rows, or nobody
            raise
        finally:
            rows.over.set()

    return _scan(register_io_source(source, schema=schema), runs)


class _Runs:
    """Which rows `collect` wants to keep, for the error that may end it; sinks keep none."""

    def __init__(self) -> None:
        self.collecting = 0
        self.newest: _Rows | None = None

    def begin(self, rows: _Rows) -> None:
        rows.kept = self.collecting > 0
        if rows.kept:
            self.newest = rows


class _Rows:
    """The rows of a scan so far, as the query wants them, for the error that may end it."""

    def __init__(
        self, name: str, since: date, columns: list[str], predicate: pl.Expr | None
    ) -> None:
        self.kept = False
        self.error: RegisterError | KeyboardInterrupt | None = None
        self.over = threading.Event()
        self._name, self._since = name, since
        self._columns, self._predicate = columns, predicate
        self._taken: pl.DataFrame | None = None  # fetched, but perhaps not among the frames yet
        self._frames: list[tuple[pl.DataFrame, int]] = []  # each with the last id it is of

    def of(self, frame: pl.DataFrame, *, keep: bool = True) -> pl.DataFrame:
        """Return what the query wants of a frame that was fetched, by ascending ids."""
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
        """Return the error that a scan ends with: it has all rows that were fetched before it.

        Not to be called before polars is done: of Ctrl-C it holds back every call is refused.
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
                ".partial of this error; to go on, with the rest of the query behind it:\n"
                f'  fk.{self._name}.scan({since}).filter(pl.col("id") > {self._cursor})'
            )
        error.partial, error.cursor = rows, self._cursor or None
        return error


def _scan(frame: pl.LazyFrame, runs: _Runs) -> pl.LazyFrame:
    """Make a LazyFrame, and what is derived from it, raise what ended its scan.

    Of Ctrl-C polars raises a KeyboardInterrupt of its own; before 1.36 it wraps all errors.
    """

    class Scan(pl.LazyFrame):
        # Whatever polars takes and returns: its arguments differ from version to version.
        def collect(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            runs.collecting += 1
            try:
                try:
                    return super().collect(*arguments, **options)
                except KeyboardInterrupt:
                    time.sleep(0)  # Python raises the same Ctrl-C once more, here
                    raise
            except (RegisterError, KeyboardInterrupt, pl.exceptions.ComputeError) as error:
                rows = runs.newest
                if rows:
                    rows.over.wait(_STOPS)  # in a thread of polars it may be about to end
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
    narrowed = needs
    try:
        for column, operator, value in _terms(json.loads(predicate.meta.serialize(format="json"))):
            narrowed = _with(narrowed, column, operator, value)
    except (ValueError, TypeError, OverflowError, pl.exceptions.PolarsError):
        return needs
    return narrowed


def _with(needs: Needs, column: str, operator: str, value: object) -> Needs:
    """Narrow the needs by one comparison, where the register can."""
    if column == "id" and type(value) is int:
        low, high = _id_range(operator, value)
        last = MAX_ID if needs.last_id is None else needs.last_id
        return replace(
            needs,
            after_id=min(max(needs.after_id, low), MAX_ID),
            last_id=None if min(last, high) == MAX_ID else min(last, high),
        )
    if column == CHANGED and isinstance(value, date):
        day = {"GtEq": value, "Eq": value, "Gt": value + timedelta(days=1)}.get(operator)
        return needs if day is None else replace(needs, since=max(needs.since, day))
    if operator == "Eq" and column in _PARAMETERS and _askable(column, value):
        known = needs.parameters.get(_PARAMETERS[column], value)
        if known == value:
            added = {**needs.parameters, _PARAMETERS[column]: str(value)}
            return replace(needs, parameters=added)
    return needs


def _id_range(operator: str, value: int) -> tuple[int, int]:
    """Return the cursor and the last id that a comparison of ids leaves."""
    return {
        "Gt": (value, MAX_ID),
        "GtEq": (value - 1, MAX_ID),
        "Lt": (0, value - 1),
        "LtEq": (0, value),
        "Eq": (value - 1, value),
    }.get(operator, (0, MAX_ID))


def _askable(column: str, value: object) -> bool:
    """Tell whether a value has the form that the register's parameter takes."""
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
    """Return the value of a literal, None where its form is not known."""
    match node:
        case {"Literal": {"Scalar": {"Date": int(days)}}}:
            return date(1970, 1, 1) + timedelta(days=days)
        case {"Literal": {"Scalar": {"String": str(text)}}}:
            return text
        case {
            "Literal": {"Scalar": {"Int64": int(number)}}
            | {"Scalar": {"Int32": int(number)}}
            | {"Dyn": {"Int": int(number)}}
        }:
            return number
    return None
