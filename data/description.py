"""The embedded register described in OpenAPI 3.1, from the tables that requests are judged by.

`make.py` writes the descriptions, lenient and strict, to ``openapi/``; the register serves them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import orjson

from finstat_kit.protocol import wire
from finstat_kit.protocol.records import (
    AnnualReport,
    Day,
    First,
    Last,
    Report,
    Statement,
    Text,
    Title,
    Truth,
    Unit,
)
from finstat_kit.service.http import routes
from finstat_kit.service.state.store import STATES

Json = dict[str, object]

_TEXT: Final = """\
Invented data behind the interface of Slovakia's Register of Financial Statements, for tests and
for learning. HEAD is answered as GET without the body; an address that is not listed here is 404.
Besides a wrong value, 400 answers a parameter given twice, bytes that are not UTF-8 and more than
{parameters} parameters{strict}. A whole number is written with ASCII digits, at most 100, and
nothing else. Codelists that were given to the sample are served as they are."""
_LENIENT: Final = """. Unknown parameters are ignored"""
_STRICT: Final = """, an unknown parameter"""

_ABOUT: Final = {
    wire.CHANGED_SINCE: "Only ids changed on this day or later; of a moment (`…Z`) its day.",
    wire.PAGE_SIZE: "The most ids of a page; a count checks it and needs it not.",
    wire.AFTER_ID: "Only ids above this one.",
    "ico": "Only units of exactly this IČO.",
    "dic": "Only units of exactly this DIČ.",
    wire.FILTERS["legal_form_code"]: "Only units of exactly this legal form.",
    "id": "The record.",
}


_FILE: Final[Json] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "integer", "minimum": 0},
}


def bodies() -> dict[str, bytes]:
    """Return the bodies of the descriptions by the name of their file."""
    return {
        f"{name}.json": orjson.dumps(description(strict=strict))
        for name, strict in (("lenient", False), ("strict", True))
    }


def description(*, strict: bool) -> Json:
    """Return the description of the lenient or the strict register."""
    paths: Json = {}
    for name in wire.LISTS.values():
        about = f"Ids of {name}" + (", filters combined by AND" if name == wire.UNITS else "")
        parameters = _parameters(routes.rules_of_list(name), strict=strict)
        paths[f"/api/{name}"] = _path(about, parameters, "Page")
        paths[f"/api/{wire.COUNTS}/{name}"] = _path(
            f"How many {name} a list would give", parameters, "Count"
        )
    for codelist in wire.CODELISTS.values():
        name, schema = codelist.endpoint, "Locations" if codelist.located else "Classifications"
        paths[f"/api/{name}"] = _path(f"The codelist {name}, complete", [], schema)
    record = _parameters(routes.RECORD_RULES, strict=strict)
    for endpoint, about, schema in (
        (wire.UNIT, "a unit", "Unit"),
        (wire.STATEMENT, "a statement", "Statement"),
        (wire.REPORT, "a report", "Report"),
        (wire.ANNUAL_REPORT, "an annual report", "AnnualReport"),
    ):
        paths[f"/api/{endpoint}"] = _path(f"The record of {about}", record, schema, unknown=True)
    paths[f"/api/{wire.TEMPLATES}"] = _path("The templates of reports", [], "Templates")
    paths[f"/api/{wire.TEMPLATE}"] = _path(
        "A template of reports", record, "Template", unknown=True
    )
    for folder, about, whose in (
        (wire.ATTACHMENT, "The file of an attachment", "attachment"),
        (wire.PRINTED, "A report with its content as a PDF", "report"),
    ):
        file = _FILE | {"description": f"The {whose}."}
        paths[f"/{folder}/{{id}}"] = _path(about, [file], "", unknown=True)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "SAMPLE DATA in the manner of the Register of Financial Statements",
            "version": f"{wire.API_VERSION}.0",
            "description": _TEXT.format(
                parameters=routes.MAX_PARAMETERS, strict=_STRICT if strict else _LENIENT
            ),
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(strict=strict),
            "headers": {
                "Version": {"required": True, "schema": {"const": wire.API_VERSION}},
                "Length": {"required": True, "schema": {"type": "integer", "minimum": 0}},
                "Invented": {
                    "required": True,
                    "description": "The data are invented; of which sample",
                    "schema": {
                        "type": "string",
                        "pattern": "^finstat_kit sample(; [a-z]+=[0-9a-f]+)*$",
                    },
                },
                "Allow": {"required": True, "schema": {"const": "GET, HEAD"}},
            },
        },
    }


def _parameters(rules: routes.Rules, *, strict: bool) -> list[Json]:
    required = {"id", wire.CHANGED_SINCE} if strict else {"id"}
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": _ABOUT[name],
            "schema": _value(name, pattern, strict=strict),
        }
        for name, (pattern, _) in rules.items()
    ]


def _value(name: str, pattern: str, *, strict: bool) -> Json:
    text: Json = {"type": "string", "pattern": f"^{pattern}$"}
    if name == wire.CHANGED_SINCE:
        # The pattern alone would admit the 30th of February.
        return {"anyOf": [text | {"format": "date"}, text | {"format": "date-time"}]}
    if name in (wire.AFTER_ID, "id"):
        return {"type": "integer", "minimum": 0}
    if name != wire.PAGE_SIZE:
        return text
    most = wire.MAX_PAGE
    lenient = {"description": f"What is above {most} is taken for {most}."}
    return {
        "type": "integer",
        "minimum": 1,
        "default": wire.DEFAULT_PAGE,
        **({"maximum": most} if strict else lenient),
    }


def _path(about: str, parameters: list[Json], schema: str, *, unknown: bool = False) -> Json:
    answers: dict[str, tuple[str, str | None]] = {"200": ("What was asked for", schema)}
    if unknown:
        answers["404"] = ("No such record; the body is empty", None)
    answers |= {
        "400": ("The query is wrong; the reason names the parameter", "Refusal"),
        "405": ("Reading is all there is", "Refusal"),
        "414": (f"The query is longer than {routes.MAX_QUERY} characters", "Refusal"),
    }
    return {
        method: {
            "summary": about,
            "parameters": parameters,
            "responses": {
                status: _response(status, text, None if method == "head" else body)
                for status, (text, body) in answers.items()
            },
        }
        for method in ("get", "head")
    }


def _response(status: str, text: str, schema: str | None) -> Json:
    headers = {
        "X-API-Version": "Version",
        "Content-Length": "Length",
        wire.INVENTED: "Invented",
    }
    if status == "405":
        headers["Allow"] = "Allow"
    response: Json = {
        "description": text,
        "headers": {
            name: {"$ref": f"#/components/headers/{header}"} for name, header in headers.items()
        },
    }
    if schema == "":
        response["content"] = {"application/pdf": {"schema": {"type": "string"}}}
    elif schema is not None:
        body = {"schema": {"$ref": f"#/components/schemas/{schema}"}}
        response["content"] = {"application/json;charset=UTF-8": body}
    return response


_ID: Final[Json] = {"type": "integer", "minimum": 1, "maximum": wire.MAX_ID}
_STRING: Final[Json] = {"type": "string", "minLength": 1}
_IDS: Final[Json] = {"type": "array", "items": _ID, "uniqueItems": True, "minItems": 1}
_DATE: Final[Json] = {"type": "string", "format": "date"}
_MONTH: Final[Json] = {"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}
_TYPES: Final[dict[Any, Json]] = {
    Text: {"type": "string", "minLength": 1},
    Day: _DATE,
    First: _MONTH,
    Last: _MONTH,
    Truth: {"type": "boolean"},
    str: {"type": "string", "description": "Empty where the cell is blank"},
}
_PATTERNS: Final[Json] = {
    "ico": {"type": "string", "pattern": "^([0-9]{8}|[0-9]{12})$"},
    "dic": {"type": "string", "pattern": "^[0-9]{10}$"},
    "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "pocetStran": {"type": "integer", "minimum": 0},
    **dict.fromkeys(
        ("idUctovnychZavierok", "idVyrocnychSprav"), _IDS | {"description": "In no promised order"}
    ),
}


def _schemas(*, strict: bool) -> Json:
    page = {"id": _IDS, wire.MORE: {"type": "boolean"}}
    ids: Json = {"description": "Ascending", "maxItems": wire.MAX_PAGE}
    parent = "nadradenaLokacia"
    entry = {"kod": _STRING, "nazov": _object({"sk": _STRING, "en": _STRING})}
    place = entry | {parent: _STRING}
    return {
        # Strict leaves out what is empty, lenient sends an empty list.
        "Page": _object(page | {"id": _IDS | ids}, absent={"id"})
        if strict
        else _object(page | {"id": _IDS | ids | {"minItems": 0}}),
        "Count": _object({wire.COUNT: {"type": "integer", "minimum": 0}}),
        "Locations": _object({wire.LOCATIONS: _list(_object(place, absent={parent}))}),
        "Classifications": _object({wire.CLASSIFICATION: _list(_object(entry))}),
        **_records(),
        "Refusal": _object({"chyba": _STRING}),
        **_templates(strict=strict),
    }


def _list(items: object, least: int = 0) -> Json:
    return {"type": "array", "items": items} | ({"minItems": least} if least else {})


def _gone() -> Json:
    states = [state for state in STATES if state is not None]
    return _object({"id": _ID, wire.STATE: {"enum": states}, wire.CHANGED: _DATE})


def _records() -> Json:
    """Return the schemas of units, statements, reports and annual reports."""
    shapes = {"Unit": Unit, "Statement": Statement, "Report": Report, "AnnualReport": AnnualReport}
    return {name: {"oneOf": [_shape(shape), _gone()]} for name, shape in shapes.items()}


def _shape(shape: Any) -> Json:  # noqa: ANN401 - a type of msgspec
    fields = {
        name: _PATTERNS.get(name) or _field(hint)
        for name, hint in _hints(shape).items()
        if name != wire.STATE
    }
    if shape is Title:
        # They are sent as texts, too.
        texts = {"anyOf": [{"type": "boolean"}, {"enum": ["true", "false"]}]}
        fields = {n: texts if _hints(shape)[n] == Truth else value for n, value in fields.items()}
    # What is null is left out, and any of these can be.
    return _object(fields, absent=set(fields) - {"id", wire.CHANGED})


def _hints(shape: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the types of a shape's fields as they are written."""
    hints = get_type_hints(shape, include_extras=True)
    return {name: hints[name] for name in shape.__struct_fields__}


def _field(hint: Any) -> object:  # noqa: ANN401
    if hint in _TYPES:
        return _TYPES[hint]
    kinds = get_args(hint)
    optional = type(None) in kinds
    bare_hint = Union[tuple(k for k in kinds if k is not type(None))] if optional else hint  # noqa: UP007
    if get_origin(bare_hint) is list:
        return _list(_field(get_args(bare_hint)[0]))
    return _shape(bare_hint) if hasattr(bare_hint, "__struct_fields__") else _ID


def _templates(*, strict: bool) -> Json:
    """Return the schemas of a template and of the list of them."""
    number: Json = {"type": "integer", "minimum": 1, "maximum": 1_000}
    text = _object({"sk": _STRING, "en": _STRING}, absent={"en"})
    places = ("riadok", "stlpec", "sirkaStlpca", "vyskaRiadku")
    cell = _object({"text": text, **dict.fromkeys(places, number)})
    labels = {"oznacenie": _STRING, "cisloRiadku": number}
    row = _object({"text": text, **labels}, absent=set(labels))
    counts = dict.fromkeys(("pocetStlpcov", "pocetDatovychStlpcov"), number)
    table = _object({"nazov": text, **counts, "hlavicka": _list(cell, 1), "riadky": _list(row, 1)})
    whole: Json = {
        "id": {"type": "integer", "minimum": 1},
        "nazov": _STRING,
        "nariadenieMF": _STRING,
        "platneOd": _DATE,
        wire.TABLES: _list(table, 1),
    }
    listed = {name: value for name, value in whole.items() if name != wire.TABLES or not strict}
    entries = _list(_object(listed, absent={wire.TABLES}), 1)
    entries["description"] = "Strict leaves the tables out"
    return {
        "Template": _object(whole, absent={wire.TABLES}),
        "Templates": _object({wire.TEMPLATE_LIST: entries}),
    }


def _object(properties: Mapping[str, object], *, absent: set[str] | None = None) -> Json:
    """Describe an object of these properties and no others; *absent* may be left out."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in (absent or ())],
        "additionalProperties": False,
    }
