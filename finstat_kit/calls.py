"""Calls of public functions: an argument that is unknown or of the wrong kind is named."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, ClassVar, Final, ParamSpec, TypeVar

from finstat_kit.arguments import near, no_attribute
from finstat_kit.errors import UsageError, invalid, value_in_python
from finstat_kit.given_frames import polars_of
from finstat_kit.protocol import wire

P = ParamSpec("P")
T = TypeVar("T")
_SWITCHES: Final = {"bool": "give True or False", "bool | None": "give True, False or None"}
# Parameters that take frames or columns, by their annotations.
_FRAMES: Final = re.compile(r"\b(?:DataFrame|LazyFrame|Series|Frame|AnyFrame|Given)\b")
_FORMER_KEYWORDS: Final = {"peers": "among", "attachments": "files"}
_CALLED_UPPER_BOUND: Final = ("changed_until", "changed_before", "until", "to", "to_date", "before")


class WrongCall(UsageError, TypeError):
    """A call with arguments unknown to a method; also a TypeError, as Python's own error is."""


class Checked:
    """Base of classes that raise a UsageError for a call that does not fit, of them or a method.

    Attributes:
        _former: What its public names were called, and what they are called now.
    """

    _former: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # else every name would be one

        def __getattr__(self, name: str) -> object:
            raise no_attribute(type(self).__name__, name, self._former, dir(type(self)))

    def __init_subclass__(cls) -> None:
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and (name == "__init__" or name[0] != "_"):
                setattr(cls, name, checked_call(member))


def checked_call(method: Callable[P, T]) -> Callable[P, T]:
    """Raise a UsageError for a call that does not fit, also for what is no boolean."""
    signature = inspect.signature(method)
    # Annotations are texts here. Any other value would silently count as True: "no", too.
    switches = {
        n: p.annotation for n, p in signature.parameters.items() if p.annotation in _SWITCHES
    }
    frames = [n for n, p in signature.parameters.items() if _FRAMES.search(str(p.annotation))]
    owner, _, called = method.__qualname__.rpartition(".")
    if called == "__init__":
        called = owner.rpartition(".")[2]

    @wraps(method)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **options)
        except TypeError as error:
            fault = f"{called}(){_fault_of_call(signature, args, options, str(error))}"
            raise WrongCall(fault) from None
        given = bound.arguments
        for name in frames:
            if name in given:
                given[name] = polars_of(name, given[name])
        for name, annotation in switches.items():
            value = given.get(name, False)
            if not isinstance(value, bool) and (value is not None or annotation == "bool"):
                raise invalid(name, value, "is not a boolean", cure=_SWITCHES[annotation])
        return method(*bound.args, **bound.kwargs)

    return checked


def _fault_of_call(
    signature: inspect.Signature, args: tuple[object, ...], options: dict[str, object], fault: str
) -> str:
    arguments = [parameter for parameter in signature.parameters if parameter != "self"]
    for option, value in options.items():
        if option not in arguments:
            passed = f"{option}={value_in_python(value)}"
            return f" has no argument {passed}: {_other_keyword(option, arguments)}"
    by_name = [p for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
    surplus = args[len(signature.parameters) - len(by_name) :]
    keywords = [
        p.name for p in by_name
        if p.annotation not in _SWITCHES or (surplus and isinstance(surplus[0], bool))
    ]  # fmt: skip
    if surplus and "changed_since" in keywords and isinstance(surplus[0], str | date | timedelta):
        return f" takes its arguments by name: give changed_since={surplus[0]!r}"
    if {"by", "value"} <= set(keywords):
        keywords = ["by", "value"]  # of a chart; another one has them in another order
    if surplus and keywords:
        passed = value_in_python(surplus[0])
        return f" takes its arguments by name: {passed} may be one of {keywords}"
    return f": {fault}; it takes {arguments}"


def _other_keyword(option: str, arguments: list[str]) -> str:
    by_day = "changed_since" in arguments
    if by_day and option in _CALLED_UPPER_BOUND:
        return (
            "the register keeps only the day of the latest change and has no upper bound; give "
            f"changed_since, fetch the records and filter them by {wire.CHANGED}"
        )
    fields = {**dict.fromkeys(wire.BY_FIELD), **{c.label: None for c in wire.CODELISTS.values()}}
    if by_day and option in fields:
        return (
            "the register filters only by day of change, IČO, DIČ and legal form; fetch the "
            "records and filter those: fk.units.get(ids).filter(pl.col('kraj') == 'SK010')"
        )
    if (now := _FORMER_KEYWORDS.get(option)) in arguments:
        return f"it is {now}= now"
    return f"{near(option, arguments)}it takes {arguments}"
