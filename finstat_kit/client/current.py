"""The current register, and the names of a register as functions of the current one."""

from __future__ import annotations

import inspect
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar, overload

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.calls import checked_call
from finstat_kit.client import openers
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.register import LIVE, Register, language_of_environment
from finstat_kit.client.reports import Documents, Reports
from finstat_kit.client.sample import sample
from finstat_kit.client.source import Source
from finstat_kit.client.units import Units
from finstat_kit.errors import UsageError, invalid

P = ParamSpec("P")
T = TypeVar("T")
_VARIABLE: Final = "FINSTAT_KIT_URL"
_CHOICES: Final = (
    "  fk.use(fk.sample())   # invented data, no network\n"
    "  fk.use(fk.LIVE)       # the real register"
)
_DAY: Final = re.compile(r"(.*)@([0-9]{4}-[0-9]{2}-[0-9]{2})", re.ASCII | re.DOTALL)


@dataclass(eq=False, slots=True)
class _Choice:
    """What `use` or a block of `using` made current; None is no register."""

    register: Register | None = None
    is_over: bool = False


_lock: Final = threading.Lock()
_global: Final = _Choice()
# Those of the blocks around this code, the innermost last. A task may outlive a block of these.
_blocks: Final[ContextVar[tuple[_Choice, ...]]] = ContextVar("_blocks", default=())


def _current() -> _Choice:
    """Return the choice that holds here: of the innermost block, else the global one."""
    return next((block for block in reversed(_blocks.get()) if not block.is_over), _global)


@overload
def use(
    register: Register | str,
    *,
    lang: Lang | None = None,
    cache: str | Path | None = None,
    max_age: str | float | timedelta | None = None,
) -> Register: ...
@overload
def use(register: None) -> None: ...
@checked_call
def use(
    register: Register | str | None,
    *,
    lang: Lang | None = None,
    cache: str | Path | None = None,
    max_age: str | float | timedelta | None = None,
) -> Register | None:
    """Set the register that the module-level functions use, until another is set.

    It holds in all threads, except in blocks of `using`. Within a block it holds for this block,
    until its end. The former register is not closed.

    Args:
        register: A URL, `fk.LIVE`, a `Register`, sample or mirror, ``"live"``, ``"sample"``,
            ``"mirror:PATH"`` (a mirror on disk), ``"mirror:PATH@2026-06-30"`` (as of that day) or
            ``"cache:FILE"`` (recorded replies, replayed without a network); None forgets the
            current one.
        lang: Language of the register from now on; None keeps it; a register created from a
            URL or a name has that of FINSTAT_KIT_LANG, else ``"sk"``.
        cache: A file that keeps the replies of a URL or of a name; see `Register`.
        max_age: For how long cached records are used without checking for changes; see
            `Register`.

    Returns:
        The Register.

    Raises:
        UsageError: Neither a register nor a URL; an unknown *lang*; *cache* or *max_age* with a
            `Register`, which has its own; a *cache* that is another register's.
        CacheError: The file of ``"cache:FILE"`` is missing or damaged.

    Example:
        >>> import finstat_kit as fk
        >>> reg = fk.use(fk.sample())
        >>> reg.units.count() == fk.units.count()
        True
        >>> fk.use(None)
    """
    chosen = None if register is None else _register_of(register, "register", lang, cache, max_age)
    with _lock:
        _current().register = chosen
    return chosen


@checked_call
@contextmanager
def using(
    register: Register | str,
    *,
    lang: Lang | None = None,
    cache: str | Path | None = None,
    max_age: str | float | timedelta | None = None,
) -> Iterator[Register]:
    """Set the register that the module-level functions use, for one block.

    It holds for the thread of the block and the asyncio tasks that it starts, and for no others: a
    thread that you start yourself uses the register that `use` set, unless it runs in a copy of the
    block's context (``contextvars.copy_context().run``). A picker keeps the register that was
    current when it was made. At the end of the block the former register is current again. A
    register created here, from a URL or a name, is closed; one passed in stays open, and its former
    language is restored.

    Args:
        register: As in `use`, except None.
        lang: As in `use`.
        cache: As in `use`.
        max_age: As in `use`.

    Yields:
        The Register.

    Raises:
        UsageError: As in `use`.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()) as reg:
        ...     reg.units.count() == fk.units.count()
        True
    """
    former_lang = register.lang if isinstance(register, Register) else "sk"
    block_register = _register_of(register, "register", lang, cache, max_age)
    block = _Choice(block_register)
    _blocks.set((*_blocks.get(), block))
    try:
        yield block_register
    finally:
        block.is_over = True
        # Not by a token: blocks of one thread may end in any order.
        _blocks.set(tuple(other for other in _blocks.get() if other is not block))
        if block_register is not register:
            block_register.close()
        elif lang is not None:
            block_register.lang = former_lang


@checked_call
def register() -> Register:
    """Return the current register: that of the block, of `use`, or named by FINSTAT_KIT_URL.

    Raises:
        UsageError: No register is chosen; the message has the lines to choose from.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     fk.register()
        SAMPLE DATA <20,000 invented units in process, today 2026-06-30>
    """
    choice = _current()
    if (chosen := choice.register) is None:
        named = os.environ.get(_VARIABLE)
        if not named:
            raise UsageError("no register is chosen", cure=f"choose one first:\n{_CHOICES}")
        made = _register_of(named, _VARIABLE)  # without the lock, which a fork would leave taken
        with _lock:
            choice.register = chosen = choice.register or made  # another thread may be faster
    return chosen


def _register_of(
    register: Register | str,
    name: str,
    lang: Lang | None = None,
    cache: str | Path | None = None,
    max_age: str | float | timedelta | None = None,
) -> Register:
    if isinstance(register, Register):
        _refuse_cache(cache, max_age, "a Register has its own: Register(…, cache=)")
        if lang is not None:
            register.lang = arguments.lang(lang)
        return register
    text = register if isinstance(register, str) else ""  # a frame has no truth value
    scheme, _, path = text.partition(":")
    if text == "live":
        return Register(LIVE, lang=lang, cache=cache, max_age=max_age)
    if text == "sample":
        made = sample(lang=lang)
        made._keep(cache, max_age)
        return made
    if scheme.lower() in ("http", "https"):
        return Register(text, lang=lang, cache=cache, max_age=max_age)
    if scheme == "mirror" and path:
        _refuse_cache(cache, max_age, "a mirror answers from disk")
        return _register_of(_mirror(path, name), name, lang)
    if scheme == "cache" and path:
        _refuse_cache(cache, max_age, "recorded replies are only read")
        from finstat_kit.client.replay import Replay  # loads sqlite

        return Replay(path, lang=lang)
    choices = _CHOICES
    if isinstance(register, str | Path) and arguments.exists(Path(register, "runs")):
        choices += f"\n  fk.use('mirror:{register}')   # the mirror in this folder"
    meant = arguments.near(register, ("live", "sample"))
    raise invalid(
        name, register, "is not a register", cure=f"{meant}give a URL, or one of\n{choices}"
    )


def _refuse_cache(cache: object, max_age: object, why: str) -> None:
    for name, value in (("cache", cache), ("max_age", max_age)):
        if value is not None:
            raise invalid(name, value, f": {why}", cure="leave it out")


def _mirror(path: str, name: str) -> Register:
    arguments.refuse_url(name, path, "mirror:")
    day = None
    if (dated := _DAY.fullmatch(path)) and not arguments.exists(path):
        path, day = dated.groups()
    if not any(arguments.exists(Path(path, part)) for part in ("runs", "units")):
        raise invalid(
            name,
            f"mirror:{path}",
            f": there is no mirror in {path!r}",
            cure=f"make it: fk.Mirror({path!r}, register=fk.LIVE).sync()",
        )
    opened: Register = openers["mirror"](path, day)
    return opened


def named(choice: Register | str | None) -> Register:
    """Return the register for an argument: None is the current one."""
    return register() if choice is None else _register_of(choice, "register")


def drawn_from(choice: Register | str | None, lang: Lang | None) -> tuple[Register | None, Lang]:
    """Return the register and the language for the arguments of a chart.

    There may be no register: a chart of given numbers needs none.
    """
    chosen = None if choice is None and not _is_chosen() else named(choice)
    if chosen is None:
        return None, language_of_environment() if lang is None else arguments.lang(lang)
    return chosen, chosen._language(lang)


def _is_chosen() -> bool:
    """Return whether a register is current, or named by the environment."""
    return _current().register is not None or bool(os.environ.get(_VARIABLE))


class _OfCurrent(Collection):
    """A collection of the register that is current at each call."""

    def __init__(self, name: str) -> None:
        super().__init__(name, None)

    @property
    def _source(self) -> Source:
        return register()._source

    def __reduce__(self) -> tuple[object, ...]:
        return _by_name, (self._name,)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            own = f"fk.{vars(self).get('_name')}"
            raise arguments.no_attribute(own, name, dir(self))


class CurrentUnits(_OfCurrent, Units):
    """The accounting units of the register that is current at each call."""


class CurrentDocuments(_OfCurrent, Documents):
    """The annual reports of the register that is current at each call."""


class CurrentReports(_OfCurrent, Reports):
    """The financial reports of the register that is current at each call."""


def _by_name(name: str) -> object:
    return globals()[name]


def _forwarded(method: Callable[Concatenate[Register, P], T]) -> Callable[P, T]:
    """Return a method as a function that is called on the register that is current at the call."""

    @wraps(method)
    def forwarded(*args: P.args, **options: P.kwargs) -> T:
        own = getattr(register(), method.__name__)  # a mirror has some of its own
        result: T = own(*args, **options)
        return result

    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())[1:]  # without self
    vars(forwarded)["__signature__"] = signature.replace(parameters=parameters)
    # Where pickle finds it by its name.
    forwarded.__module__, forwarded.__qualname__ = "finstat_kit", method.__name__
    return forwarded


units: Final = CurrentUnits("units")
statements: Final = _OfCurrent("statements")
reports: Final = CurrentReports("reports")
annual_reports: Final = CurrentDocuments("annual_reports")
regions = _forwarded(Register.regions)
districts = _forwarded(Register.districts)
municipalities = _forwarded(Register.municipalities)
codelist = _forwarded(Register.codelist)
locations = _forwarded(Register.locations)
resolve_labels = _forwarded(Register.resolve_labels)
unresolved_codes = _forwarded(Register.unresolved_codes)
count_by = _forwarded(Register.count_by)
panel = _forwarded(Register.panel)
estimate = _forwarded(Register.estimate)
match_places = _forwarded(Register.match_places)
match_units = _forwarded(Register.match_units)
cite = _forwarded(Register.cite)
template = _forwarded(Register.template)
as_filed = _forwarded(Register.as_filed)
filings = _forwarded(Register.filings)
financials = _forwarded(Register.financials)
statement = _forwarded(Register.statement)
