"""Calls with unknown arguments: an error that names the fix, for every public method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import date, timedelta
from functools import wraps
from types import FunctionType
from typing import Final, ParamSpec, TypeVar

from finstat_kit.arguments import near
from finstat_kit.errors import UsageError
from finstat_kit.protocol import wire

P = ParamSpec("P")
T = TypeVar("T")

_ALSO_CALLED: Final = {
    "changed_since": ("since", "changed", "changed_from", "from_date", "date", "zmenene_od"),
    "after_id": ("cursor", "start", "from_id", "pokracovat_za_id"),
    "limit": ("n", "head", "max_ids"),
    "page_size": ("batch_size", "max_zaznamov"),
    "connections": ("workers", "threads"),
    "legal_form_code": ("legal_form", "pravnaForma", "pravna_forma"),
}
_MEANT: Final = {other: name for name, others in _ALSO_CALLED.items() for other in others}
_SWITCH: Final = {"bool": "give True or False", "bool | None": "give True, False or None"}
_UPPER_BOUNDS: Final = ("changed_until", "changed_before", "until", "to", "to_date", "before")


class WrongCall(UsageError, TypeError):
    """A call with arguments unknown to a method; also a TypeError, as Python's own error is."""


class Checked:
    """Base of classes whose public methods raise a UsageError for a call that does not fit."""

    def __init_subclass__(cls) -> None:
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _checked(member))


def _checked(method: Callable[P, T]) -> Callable[P, T]:
    signature = inspect.signature(method)
    # Annotations are texts here. Any other value would silently count as True: "no", too.
    switches = {n: p.annotation for n, p in signature.parameters.items() if p.annotation in _SWITCH}

    @wraps(method)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        try:
            given = signature.bind(*args, **options).arguments
        except TypeError as error:
            fault = f"{method.__name__}(){_cure(signature, args, options, str(error))}"
            raise WrongCall(fault) from None
        for name, annotation in switches.items():
            value = given.get(name, False)
            if not isinstance(value, bool) and (value is not None or annotation == "bool"):
                raise UsageError(
                    "is not a boolean", argument=name, value=value, cure=_SWITCH[annotation]
                )
        return method(*args, **options)

    return checked


def _cure(
    signature: inspect.Signature, args: tuple[object, ...], options: dict[str, object], fault: str
) -> str:
    arguments = [parameter for parameter in signature.parameters if parameter != "self"]
    for option, value in options.items():
        if option not in arguments:
            return f" has no argument {option}={value!r}: {_instead(option, arguments)}"
    named = [p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
    surplus = args[len(signature.parameters) - len(named) :]
    if surplus and "changed_since" in named and isinstance(surplus[0], str | date | timedelta):
        return f" takes its arguments by name: give changed_since={surplus[0]!r}"
    if surplus and named:
        return f" takes its arguments by name: {surplus[0]!r} may be one of {named}"
    return f": {fault}; it takes {arguments}"


def _instead(option: str, arguments: list[str]) -> str:
    by_day = "changed_since" in arguments
    if by_day and option in _UPPER_BOUNDS:
        return (
            "the register keeps only the day of the latest change and has no upper bound; give "
            f"changed_since, fetch the records and filter them by {wire.CHANGED}"
        )
    fields = {**dict.fromkeys(wire.BY_FIELD), **{c.label: None for c in wire.CODELISTS.values()}}
    if by_day and option in fields and _MEANT.get(option) not in arguments:
        return (
            "the register filters only by day of change, IČO, DIČ and legal form; fetch the "
            "records and filter those: fk.units.get(ids).filter(pl.col('kraj') == 'SK010')"
        )
    return f"{near(_MEANT.get(option, option), arguments)}it takes {arguments}"
