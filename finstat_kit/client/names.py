"""What the package itself needs of its names: signatures, former names, openers of registers.

Imports nothing of the package at run time: it is loaded with it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import date
from typing import Any, Final

# What each alias stands for; the texts that an alias of texts allows are in the docstring.
_PLAIN_TYPES: Final = {
    "CodelistName": "str",
    "Grouping": "str",
    "Activity": "str",
    "Statement": "str",
    "Basis": "str",
    "Every": "str",
    "Level": "str",
    "Lang": "str",
    "Auto": "str",
    "By": "str",
    "Either": "str",
    "Frame": "pl.DataFrame | pl.LazyFrame",
    "Columns": "Sequence[str] | Mapping[str, str] | None",
    "Since": "str | date | timedelta | None",
    "Span": "str | float | timedelta",
    "Given": "int | Iterable[int] | pl.Series | pl.DataFrame | pl.LazyFrame | None",
    "Year": "int | Iterable[int] | None",
}
_ALIAS: Final = re.compile(rf"\b(?:[a-z_]+\.)?({'|'.join(_PLAIN_TYPES)})\b")
_FORMER_NAMES: Final = {
    **{
        name: f'codelist("{name}")'
        for name in ("legal_forms", "activities", "ownership_types", "size_classes")
    },
    "find_places": "locations(text)",
    "count_last_changes": 'count_by(units, by, last_change="month")',
    "plan": "financials(units, year, dry_run=True)",
    "reports_without_cells": 'check_reports(reports)["reasons"]',
    "template_columns": 'template(id, part="columns")',
    **{
        name: f"errors.{name}"
        for name in (
            "BadRequest", "CacheError", "MirrorError", "PagingError", "ProtocolError",
            "RateLimited", "RegisterUnavailable", "TransportError",
        )
    },
}  # fmt: skip
# Opens a register of a layer above by its name, such as "mirror:PATH"; set by the package, which is
# above all layers.
openers: Final[dict[str, Callable[[str, date | str | None], Any]]] = {}


class _Type(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def show_plain_signature(public: object) -> None:
    """Show the signature of a function, or of the creation of a class, with plain types."""
    function = vars(public).get("__init__") if inspect.isclass(public) else public
    if inspect.isfunction(function) and "__signature__" not in vars(function):
        vars(function)["__signature__"] = plain_signature(inspect.signature(function))


def plain_signature(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature with plain types.

    >>> def draw(frame: labels.Frame, by: Grouping | None, lang: Lang | None = None): ...
    >>> plain_signature(inspect.signature(draw))
    <Signature (frame: pl.DataFrame | pl.LazyFrame, by: str | None, lang: str | None = None)>
    """
    parameters = [
        parameter.replace(annotation=_written(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=_written(signature.return_annotation)
    )


def _written(annotation: object) -> object:
    if not isinstance(annotation, str):
        return annotation
    text = _ALIAS.sub(lambda name: _PLAIN_TYPES[name[1]], annotation)
    # Each type once: an alias may stand for one that is beside it.
    return _Type(" | ".join(dict.fromkeys(re.split(r" \| (?![^\[]*\])", text))))


def former_name(name: str, fault: str) -> AttributeError:
    """Return the error for an unknown name; for a former name it gives the new one."""
    if name in _FORMER_NAMES:
        fault += f"; it is {_FORMER_NAMES[name]} now"
    return AttributeError(fault)
