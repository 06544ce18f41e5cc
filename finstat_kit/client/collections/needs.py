"""The data that a query needs from the register, read out of its predicate.

A comparison whose form is unknown narrows nothing: the whole predicate is applied again to the
fetched rows, so it costs time but never gives a wrong row.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl

from finstat_kit import arguments
from finstat_kit.protocol.wire import BEGINNING, CHANGED, MAX_ID

Spans = tuple[tuple[int, int], ...]  # first and last ids, ascending, none touching another
EVERY: Final[Spans] = ((1, MAX_ID),)
_PARAMETERS: Final = {"ico": "ico", "dic": "dic", "pravnaForma": "legal_form_code"}
_FLIPPED: Final = {
    "Gt": "Lt",
    "GtEq": "LtEq",
    "Lt": "Gt",
    "LtEq": "GtEq",
    "Eq": "Eq",
    "NotEq": "NotEq",
}


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


def narrowed(needs: Needs, predicate: pl.Expr) -> Needs:
    """Return what is needed of the rows that meet a predicate."""
    try:
        node = json.loads(predicate.meta.serialize(format="json"))
        narrower = replace(needs, spans=_spans(node))
        for column, operator, value in _terms(node):
            narrower = _narrowed_by(narrower, column, operator, value)
    except (ValueError, TypeError, OverflowError, RecursionError, pl.exceptions.PolarsError):
        return needs
    return narrower


def _narrowed_by(needs: Needs, column: str, operator: str, value: object) -> Needs:
    """Narrow the needs by one comparison, if the register supports it."""
    if column == CHANGED and type(value) is date:
        day = {"GtEq": value, "Eq": value, "Gt": value + timedelta(days=1)}.get(operator)
        return needs if day is None else replace(needs, since=max(needs.since, day))
    if operator == "Eq" and column in _PARAMETERS and _is_parameter(column, value):
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
        case {"Function": {"input": [negated], "function": {"Boolean": "Not"}}}:
            return EVERY if (ids := _ids_in(negated)) is None else _all_except(ids)
        case {"Literal": _}:  # an empty is_in
            return () if _value(node) is False else EVERY
    if (ids := _ids_in(node)) is not None:
        return _merged((id_, id_) for id_ in ids)
    spans = EVERY
    for column, operator, value in _terms(node):
        if column == "id" and type(value) is int:
            spans = _shared(spans, _compared(operator, value))
    return spans


def _ids_in(node: object) -> list[Any] | None:
    """Return the values of ``id.is_in(values)``, None of any other predicate."""
    match node:
        case {"Function": {"input": [{"Column": "id"}, ids], "function": {"Boolean": {"IsIn": _}}}}:
            values = _value(ids)
            return values if isinstance(values, list) else None
    return None


def _compared(operator: str, value: int) -> Spans:
    """Return the ids that satisfy a comparison of ids."""
    if operator == "NotEq":
        return _all_except([value])
    span = {
        "Gt": (value + 1, MAX_ID),
        "GtEq": (value, MAX_ID),
        "Lt": (1, value - 1),
        "LtEq": (1, value),
        "Eq": (value, value),
    }.get(operator, EVERY[0])
    return (span,)


def _all_except(values: list[object]) -> Spans:
    """Return all ids except some values."""
    ids = sorted({id_ for id_ in values if type(id_) is int and 1 <= id_ <= MAX_ID})
    bounds = pairwise([0, *ids, MAX_ID + 1])
    return tuple((low + 1, high - 1) for low, high in bounds if high - low > 1)


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


def _is_parameter(column: str, value: object) -> bool:
    """Return whether a value has the form of the register's parameter."""
    lengths = {"ico": arguments.ICO, "dic": arguments.DIC, "pravnaForma": (1, 2, 3, 4)}[column]
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
