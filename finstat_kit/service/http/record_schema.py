"""The records that the embedded register serves, described in OpenAPI from their shapes."""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

from finstat_kit.protocol import wire
from finstat_kit.protocol.shaped import bare, hints
from finstat_kit.protocol.shapes import (
    AnnualReport,
    Day,
    First,
    Last,
    Report,
    Statement,
    Text,
    Title,
    Truth,
)
from finstat_kit.service.state.store import STATES

Json = dict[str, object]

_ID: Final[Json] = {"type": "integer", "minimum": 1, "maximum": wire.MAX_ID}
_DATE: Final[Json] = {"type": "string", "format": "date"}
_MONTH: Final[Json] = {"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}
_KINDS: Final[dict[Any, Json]] = {
    Text: {"type": "string", "minLength": 1},
    Day: _DATE,
    First: _MONTH,
    Last: _MONTH,
    Truth: {"type": "boolean"},
    str: {"type": "string", "description": "Empty where the cell is blank"},
}
_FORMS: Final[Json] = {
    "ico": {"type": "string", "pattern": "^([0-9]{8}|[0-9]{12})$"},
    "dic": {"type": "string", "pattern": "^[0-9]{10}$"},
    "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "pocetStran": {"type": "integer", "minimum": 0},
}


def records() -> Json:
    """Return the schemas of statements, reports and annual reports."""
    shapes = {"Statement": Statement, "Report": Report, "AnnualReport": AnnualReport}
    states = {"enum": [state for state in STATES if state is not None]}
    gone = _object({"id": _ID, wire.STATE: states, wire.CHANGED: _DATE}, all_of_them=True)
    return {name: {"oneOf": [_shape(shape), gone]} for name, shape in shapes.items()}


def _shape(shape: Any) -> Json:  # noqa: ANN401 - a type of msgspec
    fields = {
        name: _FORMS.get(name) or _value(hint)
        for name, hint in hints(shape).items()
        if name != wire.STATE
    }
    if shape is Title:
        # They are sent as texts, too.
        texts = {"anyOf": [{"type": "boolean"}, {"enum": ["true", "false"]}]}
        fields = {n: texts if hints(shape)[n] == Truth else value for n, value in fields.items()}
    return _object(fields)


def _value(hint: Any) -> object:  # noqa: ANN401
    if hint in _KINDS:
        return _KINDS[hint]
    kind = bare(hint)
    if get_origin(kind) is list:
        return {"type": "array", "items": _value(get_args(kind)[0])}
    return _shape(kind) if hasattr(kind, "__struct_fields__") else _ID


def _object(properties: Json, *, all_of_them: bool = False) -> Json:
    needed = properties if all_of_them else [n for n in ("id", wire.CHANGED) if n in properties]
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }
