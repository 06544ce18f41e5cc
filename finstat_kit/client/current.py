"""The current register, and every name of a register as a function that asks it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar, overload

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.client.collection import Collection
from finstat_kit.client.register import LIVE, Register
from finstat_kit.client.sample import sample
from finstat_kit.client.session import Session
from finstat_kit.client.units import Units
from finstat_kit.errors import UsageError
from finstat_kit.frames import counts, labels, places
from finstat_kit.transport import forks

F = TypeVar("F", bound=Callable[..., object])

_VARIABLE: Final = "FINSTAT_KIT_URL"
_CHOICES: Final = (
    "  fk.use(fk.sample())   # invented data, no network\n"
    "  fk.use(fk.LIVE)       # the real register"
)

# A plain global under a lock: threads of widgets do not inherit a ContextVar. The only one that
# changes.
_lock = threading.RLock()
_current: Register | None = None


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


forks.in_child(_renew_lock)  # a thread of the parent may have held it


@overload
def use(register: Register | str) -> Register: ...
@overload
def use(register: None) -> None: ...
def use(register: Register | str | None) -> Register | None:
    """Set the register that the module-level functions ask, until another is set.

    Nothing else: a former register is not closed. `using` chooses one for a block.

    Args:
        register: A URL, `fk.LIVE`, a `Register` or sample, ``"live"`` or ``"sample"``; None
            forgets the current one.

    Returns:
        The Register.

    Raises:
        UsageError: Neither a register nor a URL.

    Example:
        >>> import finstat_kit as fk
        >>> reg = fk.use(fk.sample())
        >>> reg.units.count() == fk.units.count()
        True
        >>> fk.use(None)
    """
    global _current
    chosen = None if register is None else _made(register, "register")
    with _lock:
        _current = chosen
    return chosen


@contextmanager
def using(register: Register | str) -> Iterator[Register]:
    """Set the register that the module-level functions ask, for one block.

    At its end the former register is current again, and a register that was made here, of a URL or
    a name, is closed; one that was given stays open.

    Args:
        register: As in `use`.

    Yields:
        The Register.

    Raises:
        UsageError: Neither a register nor a URL.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()) as reg:
        ...     reg.units.count() == fk.units.count()
        True
    """
    global _current
    chosen = _made(register, "register")
    with _lock:
        former, _current = _current, chosen
    try:
        yield chosen
    finally:
        with _lock:
            _current = former
        if chosen is not register:
            chosen.close()


def register() -> Register:
    """Return the current register: the one `use` set, else the one FINSTAT_KIT_URL names.

    Raises:
        UsageError: There is none; the text has the lines to choose from.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     fk.register()
        SAMPLE DATA <20,000 invented units in process, today 2026-06-30>
    """
    global _current
    with _lock:
        if _current is None:
            named = os.environ.get(_VARIABLE)
            if not named:
                raise UsageError(f"no register is chosen; choose one first:\n{_CHOICES}")
            _current = _made(named, _VARIABLE)
        return _current


def _made(register: Register | str, name: str) -> Register:
    if isinstance(register, Register):
        return register
    if register == "live":
        return Register(LIVE)
    if register == "sample":
        return sample()
    if isinstance(register, str) and register.startswith(("http://", "https://")):
        return Register(register)
    raise UsageError(f"{name}={register!r} is no register; give a URL, or one of\n{_CHOICES}")


def named(choice: Register | str | None) -> Register:
    """Return the register that an argument means: None is the current one."""
    return register() if choice is None else _made(choice, "register")


def _documented_by(method: object) -> Callable[[F], F]:
    def document(function: F) -> F:
        function.__doc__ = method.__doc__
        return function

    return document


def _session() -> Session:
    return register()._session


units: Final = Units("units", _session)
statements: Final = Collection("statements", _session)
reports: Final = Collection("reports", _session)
annual_reports: Final = Collection("annual_reports", _session)


@_documented_by(Register.regions)
def regions(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().regions(refresh=refresh)


@_documented_by(Register.districts)
def districts(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().districts(refresh=refresh)


@_documented_by(Register.municipalities)
def municipalities(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().municipalities(refresh=refresh)


@_documented_by(Register.legal_forms)
def legal_forms(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().legal_forms(refresh=refresh)


@_documented_by(Register.activities)
def activities(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().activities(refresh=refresh)


@_documented_by(Register.ownership_types)
def ownership_types(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().ownership_types(refresh=refresh)


@_documented_by(Register.size_classes)
def size_classes(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().size_classes(refresh=refresh)


@_documented_by(Register.locations)
def locations(*, refresh: bool = False) -> pl.DataFrame:  # noqa: D103
    return register().locations(refresh=refresh)


@_documented_by(Register.find_places)
def find_places(text: str, level: places.Level | None = None) -> pl.DataFrame:  # noqa: D103
    return register().find_places(text, level)


@_documented_by(Register.cite)
def cite(lang: Lang = "sk") -> str:  # noqa: D103
    return register().cite(lang)


@_documented_by(Register.codelists)
def codelists() -> pl.DataFrame:  # noqa: D103
    return register().codelists()


@overload
def resolve_labels(
    frame: pl.DataFrame, *, lang: Lang = "sk", columns: labels.Columns = None
) -> pl.DataFrame: ...
@overload
def resolve_labels(
    frame: pl.LazyFrame, *, lang: Lang = "sk", columns: labels.Columns = None
) -> pl.LazyFrame: ...
@_documented_by(Register.resolve_labels)
def resolve_labels(  # noqa: D103
    frame: pl.DataFrame | pl.LazyFrame, *, lang: Lang = "sk", columns: labels.Columns = None
) -> pl.DataFrame | pl.LazyFrame:
    return register().resolve_labels(frame, lang=lang, columns=columns)


@_documented_by(Register.unresolved_codes)
def unresolved_codes(  # noqa: D103
    frame: pl.DataFrame | pl.LazyFrame, *, columns: labels.Columns = None
) -> pl.DataFrame:
    return register().unresolved_codes(frame, columns=columns)


@_documented_by(Register.count_by)
def count_by(  # noqa: D103
    frame: pl.DataFrame | pl.LazyFrame, by: str, *, lang: Lang = "sk"
) -> pl.DataFrame:
    return register().count_by(frame, by, lang=lang)


@_documented_by(Register.count_last_changes)
def count_last_changes(  # noqa: D103
    units: pl.DataFrame | pl.LazyFrame,
    by: str = "kraj",
    *,
    every: counts.Every = "1mo",
    lang: Lang = "sk",
) -> pl.DataFrame:
    return register().count_last_changes(units, by, every=every, lang=lang)
