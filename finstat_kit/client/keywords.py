"""Calls with unknown arguments: an error that names the fix."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from datetime import date, timedelta
from functools import wraps
from typing import Final, ParamSpec, TypeVar

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
_UPPER_BOUNDS: Final = ("changed_until", "changed_before", "until", "to", "to_date", "before")


class WrongCall(UsageError, TypeError):
    """A call with arguments unknown to a method; also a TypeError, as Python's own error is."""


def with_cures(method: Callable[P, T]) -> Callable[P, T]:
    """Raise a UsageError that names the fix if a call does not match the method's signature."""
    signature = inspect.signature(method)

    @wraps(method)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        try:
            signature.bind(*args, **options)
        except TypeError:
            raise WrongCall(_cure(method.__name__, signature, args, options)) from None
        return method(*args, **options)

    return checked


def _cure(
    name: str, signature: inspect.Signature, args: tuple[object, ...], options: dict[str, object]
) -> str:
    own = [parameter for parameter in signature.parameters if parameter != "self"]
    for option, value in options.items():
        if option not in own:
            return f"{name}() has no argument {option}={value!r}: {_instead(option, own)}"
    surplus = args[sum(1 for p in signature.parameters.values() if p.kind != p.KEYWORD_ONLY) :]
    if surplus and "changed_since" in own and isinstance(surplus[0], str | date | timedelta):
        return f"{name}() takes its arguments by name: give changed_since={surplus[0]!r}"
    if surplus:
        return f"{name}() takes its arguments by name: {surplus[0]!r} may be one of {own}"
    return f"{name}() lacks an argument; it takes {own}"


def _instead(option: str, own: list[str]) -> str:
    if option in _UPPER_BOUNDS:
        return (
            "the register keeps only the day of the latest change and has no upper bound; give "
            f"changed_since, fetch the records and filter them by {wire.CHANGED}"
        )
    place = {**dict.fromkeys(wire.BY_FIELD), **{c.label: None for c in wire.CODELISTS.values()}}
    if option in place and _MEANT.get(option) not in own:
        return (
            "the register filters by day of change, IČO, DIČ and legal form alone; fetch the "
            "records and filter those: fk.units.get(ids).filter(pl.col('kraj') == 'SK010')"
        )
    near = _MEANT.get(option) or next(iter(difflib.get_close_matches(option, own, 1)), None)
    return f"did you mean {near}=?" if near in own else f"it takes {own}"
