"""Every error this package raises.

    RegisterError                base class: what happened, where, and what to do next
    ├── UsageError               invalid argument; raised before any request (also a ValueError)
    │   └── NotHeld              a mirror does not hold it; the register may have it
    ├── TransportError           no complete reply: connection, reset, timeout, truncated body, TLS
    ├── RegisterUnavailable      a reply, but not the register's: an HTML page, 5xx; `.blocked`
    ├── RateLimited              429 for longer than a request may wait; `.retry_after` in seconds
    ├── BadRequest               the register refuses the request (4xx)
    ├── NotFound                 no record for an id; `.ids`
    ├── ProtocolError            valid JSON that breaks the contract, with the path of the value
    │   └── PagingError          a page that does not move forward
    ├── CacheError               the cache file: damage, or a missing reply
    └── MirrorError              the copy on disk: no complete sync, in use, full disk, damage
    Interrupted                  Ctrl-C (a KeyboardInterrupt); `.cursor` and `.partial`
    RegisterWarning              a valid call that is probably a mistake (a UserWarning)

Imports the standard library only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from traceback import FrameSummary

    import polars as pl


_LONGEST: Final = 200  # characters of a value in a message


def value_in_python(value: object) -> str:
    """Return a value as a message shows it: on one line, and of a limited length."""
    try:
        shown = repr(value)
    except ValueError:  # Python does not print integers of thousands of digits
        shown = ""
    if not shown or "\n" in shown:  # a drawn table says less than its kind
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


@dataclass(eq=False, repr=False, kw_only=True)
class RegisterError(Exception):
    """Base class of every error this package raises.

    Attributes:
        message: What happened.
        cure: What to do.
        url: Address of the failed request, if one was sent.
        attempts: Number of attempts made.
        cursor: All ids up to this one are in `partial`; resume with ``after_id=cursor``.
        partial: The rows fetched before the error: ids of ``ids()``, records of ``get()``. None
            for ``pages()``, whose caller already has them.
        going_on: How the work goes on after the error, for a notebook.
    """

    message: str = field(default="", kw_only=False)  # also in `args`, by which it is pickled
    cure: str = ""
    url: str | None = None
    attempts: int | None = None
    cursor: int | None = None
    partial: pl.DataFrame | None = None
    going_on: str = ""

    def __str__(self) -> str:
        where = ""
        if self.url is not None:
            tried = f", tried {self.attempts} times" if (self.attempts or 0) > 1 else ""
            where = f"\n  at {self.url}{tried}"
        if self.cursor:
            where += (
                f"\n  nothing is lost up to id {self.cursor}: resume with after_id={self.cursor}"
            )
        return "; ".join(part for part in (self._happened(), self.cure) if part) + where

    def _happened(self) -> str:
        return self.message

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: the user's calls, the message and its causes."""
        lines = [f"----> {call.lineno} {call.line}" for call in _calls(self) if call.line]
        lines.append(f"{type(self).__name__}: {self}")
        cause = self.__cause__
        while cause is not None:
            lines.append(f"  because of {type(cause).__name__}: {cause}")
            cause = cause.__cause__
        return [*lines, *_what_is_left(self)]


def _what_is_left(error: RegisterError | Interrupted) -> Iterator[str]:
    """Yield the lines for a notebook that say how the work goes on, and where the rows are."""
    if error.going_on:
        yield f"  {error.going_on}"
    if error.partial is not None and error.partial.height:
        yield f"  the {error.partial.height:,} rows before it are in sys.last_value.partial"


def _calls(error: BaseException) -> Iterator[FrameSummary]:
    """Return the user's calls that led to an error, up to the first call within a library."""
    import traceback

    ours = str(Path(__file__).parent)

    def is_librarys(call: FrameSummary) -> bool:
        return call.filename.startswith(ours) or "site-packages" in call.filename

    calls = iter(traceback.extract_tb(error.__traceback__))
    # IPython's own frames come before those of the cell.
    within = dropwhile(lambda call: "IPython" in call.filename, calls)
    return takewhile(lambda call: not is_librarys(call), within)


class RegisterWarning(UserWarning):
    """A call is valid, but probably a mistake, or its result lacks something.

    Every warning of this package is one, for the filters of `warnings`.
    """


_heard: Final[ContextVar[list[str] | None]] = ContextVar("_heard", default=None)


@contextmanager
def hearing() -> Iterator[list[str]]:
    """Yield a list to which the warnings of a block are added, in this thread and those it starts.

    In their place: `warnings.catch_warnings` changes what other threads see.
    """
    texts: list[str] = []
    token = _heard.set(texts)
    try:
        yield texts
    finally:
        _heard.reset(token)


def warn(text: str) -> None:
    """Warn of a call that is valid but probably a mistake, at the user's own line."""
    if (texts := _heard.get()) is not None:
        texts.append(text)
        return
    ours = str(Path(__file__).parent)
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RegisterWarning, stacklevel=level)


@dataclass(eq=False, repr=False, kw_only=True)
class UsageError(RegisterError, ValueError):
    """An argument is invalid. Raised before any request; the text names the cure.

    Attributes:
        argument: Name of the argument at fault, None if it concerns several.
        value: Its value, ``...`` to leave it out of the text.
        message: What is wrong with it: "is not a valid date", or ": …" for a sentence.
    """

    argument: str | None = None
    value: object = ...

    def _happened(self) -> str:
        if self.argument is None:
            return self.message.removeprefix(": ")
        value = "" if self.value is ... else f"={value_in_python(self.value)}"
        space = "" if self.message.startswith(":") else " "
        return f"{self.argument}{value}{space}{self.message}"


class NotHeld(UsageError):
    """A mirror does not hold what was asked for; the register itself may have it."""


def invalid(
    argument: str | None, value: object, fault: str, *, give: str = "", cure: str = ""
) -> UsageError:
    """Return the error of an argument, whose cure is ``give …`` or any other.

    >>> print(invalid("year", 16, "is not a year", give="one such as 2016"))
    year=16 is not a year; give one such as 2016
    """
    return UsageError(fault, argument=argument, value=value, cure=f"give {give}" if give else cure)


class TransportError(RegisterError):
    """No complete reply arrived: connection failure, timeout, truncated body, TLS."""


@dataclass(eq=False, repr=False, kw_only=True)
class RegisterUnavailable(RegisterError):
    """A reply arrived, but not the register's: an HTML page, or 5xx on every attempt.

    Attributes:
        blocked: True for 403 and firewall pages. Retrying prolongs a ban: wait, or contact the
            operator.
        status: The last HTTP status.
    """

    blocked: bool = False
    status: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class RateLimited(RegisterError):
    """The register requires a longer pause than the request may wait.

    Attributes:
        retry_after: Seconds to wait before the next request; None if the register gave none.
    """

    retry_after: float | None = None


class BadRequest(RegisterError):
    """The register refuses the request (4xx); repeating it would not help."""


@dataclass(eq=False, repr=False, kw_only=True)
class NotFound(RegisterError):
    """No record for an id.

    Attributes:
        ids: The ids without a record, in the order requested.
    """

    ids: list[int] = field(default_factory=list)


class ProtocolError(RegisterError):
    """The reply is JSON that does not match the register's format; the message names the path."""


class PagingError(ProtocolError):
    """A page that does not move forward: ids repeat, are out of order, or precede the cursor."""


class CacheError(RegisterError):
    """The cache file cannot be used, or lacks the reply to be replayed."""


class MirrorError(RegisterError):
    """The copy on disk cannot be used: incomplete, held by another process, damaged, disk full."""


@dataclass(eq=False, repr=False, kw_only=True)
class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or an interrupted cell, with the rows fetched before it.

    Attributes:
        message: How far it was, and what to do.
        cursor: All ids up to this one are in `partial`; None without one.
        partial: The rows fetched before the interruption, or None.
        going_on: How the work goes on, for a notebook.
    """

    message: str = field(default="", kw_only=False)
    cursor: int | None = None
    partial: pl.DataFrame | None = None
    going_on: str = ""

    def __str__(self) -> str:
        return self.message

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: how far it was, how it goes on, where the rows are.

        The calls are left out: nothing is wrong with them.
        """
        return [f"Interrupted: {self}", *_what_is_left(self)]


@contextmanager
def attaching(
    partial: Callable[[], pl.DataFrame | None],
    text: Callable[[], str],
    cursor: Callable[[], int | None] = lambda: None,
    going_on: str = "",
) -> Iterator[None]:
    """Attach the rows fetched so far to the error or the Ctrl-C that ends a block.

    Args:
        partial: Returns the rows so far.
        text: Returns the message of an interruption.
        cursor: Returns the position to resume from.
        going_on: How the work goes on, for a notebook.

    Raises:
        Interrupted: Instead of a KeyboardInterrupt.
    """
    try:
        yield
    except RegisterError as error:
        error.partial, error.cursor = partial(), cursor()
        error.going_on = going_on or error.going_on
        raise
    except KeyboardInterrupt as interrupt:
        ended = Interrupted(text(), cursor=cursor(), partial=partial())
        ended.going_on = going_on or getattr(interrupt, "going_on", "")
        raise ended from interrupt
