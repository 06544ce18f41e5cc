"""The templates that the embedded register serves, described in OpenAPI."""

from __future__ import annotations

from typing import Final

from finstat_kit.protocol import wire

Json = dict[str, object]

_STRING: Final[Json] = {"type": "string", "minLength": 1}
_PLACE: Final[Json] = {"type": "integer", "minimum": 1, "maximum": 1_000}


def _object(properties: Json, *required: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Json) -> Json:
    return {"type": "array", "items": items, "minItems": 1}


def templates(*, strict: bool) -> Json:
    """Return the schemas of a template and of the list of them."""
    text = _object({"sk": _STRING, "en": _STRING}, "sk")
    places = ("riadok", "stlpec", "sirkaStlpca", "vyskaRiadku")
    cell = _object({"text": text, **dict.fromkeys(places, _PLACE)}, "text", *places)
    row = _object({"text": text, "oznacenie": _STRING, "cisloRiadku": _PLACE}, "text")
    counts = ("pocetStlpcov", "pocetDatovychStlpcov")
    parts = {"hlavicka": _list(cell), "riadky": _list(row)}
    table = _object(
        {"nazov": text, **dict.fromkeys(counts, _PLACE), **parts}, "nazov", *counts, *parts
    )
    known: Json = {
        "id": {"type": "integer", "minimum": 1},
        "nazov": _STRING,
        "nariadenieMF": _STRING,
        "platneOd": {"type": "string", "format": "date"},
    }
    whole = known | {wire.TABLES: _list(table)}
    listed = known if strict else whole
    entries = _list(_object(listed, *known)) | {"description": "Strict leaves the tables out"}
    return {
        "Template": _object(whole, *known),
        "Templates": _object({wire.TEMPLATE_LIST: entries}, wire.TEMPLATE_LIST),
    }
