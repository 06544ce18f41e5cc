"""Signatures as help() and Shift+Tab show them: plain types instead of the names of aliases."""

from __future__ import annotations

import inspect
import re
from typing import Final

# What each alias stands for; the texts that an alias of texts allows are in the docstring.
_PLAIN: Final = {
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
_NAME: Final = re.compile(rf"\b(?:[a-z_]+\.)?({'|'.join(_PLAIN)})\b")


class _Type(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def show(public: object) -> None:
    """Show the signature of a function, or of the creation of a class, with plain types."""
    function = vars(public).get("__init__") if inspect.isclass(public) else public
    if inspect.isfunction(function) and "__signature__" not in vars(function):
        vars(function)["__signature__"] = plain(inspect.signature(function))


def plain(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature with plain types.

    >>> def draw(frame: labels.Frame, by: Grouping | None, lang: Lang | None = None): ...
    >>> plain(inspect.signature(draw))
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
    text = _NAME.sub(lambda name: _PLAIN[name[1]], annotation)
    # Each type once: an alias may stand for one that is beside it.
    return _Type(" | ".join(dict.fromkeys(re.split(r" \| (?![^\[]*\])", text))))
