"""Calls of public functions: an argument that is unknown or of the wrong kind is named."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from finstat_kit.arguments import no_attribute
from finstat_kit.errors import UsageError, invalid
from finstat_kit.given_frames import polars_of

P = ParamSpec("P")
T = TypeVar("T")
_SWITCHES: Final = {"bool": "give True or False", "bool | None": "give True, False or None"}
# Parameters that take frames or columns, by their annotations.
_FRAMES: Final = re.compile(r"\b(?:DataFrame|LazyFrame|Series|Frame|AnyFrame|Given)\b")


class WrongCall(UsageError, TypeError):
    """A call with arguments unknown to a method; also a TypeError, as Python's own error is."""


class Checked:
    """Base of classes that raise a UsageError for a call that does not fit, of them or a method."""

    if not TYPE_CHECKING:  # else every name would be one

        def __getattr__(self, name: str) -> object:
            raise no_attribute(type(self).__name__, name, dir(self))

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
            takes = [parameter for parameter in signature.parameters if parameter != "self"]
            raise WrongCall(f"{called}(): {error}", cure=f"it takes {takes}") from None
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
