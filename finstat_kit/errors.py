"""Everything this package raises on purpose.

    RegisterError                what happened, where, and what to do next
    ├── UsageError               an argument is wrong; raised before any request (also a ValueError)
    ├── TransportError           no whole answer: connect, reset, deadline, cut body, TLS
    ├── RegisterUnavailable      an answer, but not the register's: a page of HTML, 5xx; `.blocked`
    ├── RateLimited              429 for longer than we may wait; `.retry_after` in seconds
    ├── BadRequest               the register refuses the request (4xx)
    ├── NotFound                 no record behind an id; `.ids`
    ├── ProtocolError            valid JSON that breaks the contract, with the path of the value
    │   └── PagingError          a page that does not move forward
    ├── CacheError               the file of kept replies: damage, or a reply that is not in it
    └── MirrorError              the copy on disk: no complete sync yet, held, full disk, damage
    Interrupted                  Ctrl-C (a KeyboardInterrupt); `.cursor` and `.partial`

Imports the standard library only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceback import FrameSummary

    import polars as pl


class RegisterError(Exception):
    """The root of the tree: catch it to catch everything the register can do to you.

    Attributes:
        url: Address of the request that failed, if one was sent.
        attempts: How often it was tried.
        cursor: The last id that is surely in `partial`; go on with ``after_id=cursor``.
        partial: What came before the fault: the id frame of ``ids()``, the rows of ``get()``,
            None where the caller has the pages.
    """

    def __init__(
        self,
        message: str = "",
        *,
        url: str | None = None,
        attempts: int | None = None,
        cursor: int | None = None,
        partial: pl.DataFrame | None = None,
    ) -> None:
        # Only the message is positional, so that the default pickling (args, then __dict__) works.
        super().__init__(message)
        self.message = message
        self.url = url
        self.attempts = attempts
        self.cursor = cursor
        self.partial = partial

    def __str__(self) -> str:
        where = ""
        if self.url is not None:
            tried = f", tried {self.attempts} times" if (self.attempts or 0) > 1 else ""
            where = f"\n  at {self.url}{tried}"
        if self.cursor:
            where += (
                f"\n  nothing is lost up to id {self.cursor}: go on with after_id={self.cursor}"
            )
        return self.message + where

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: the calls of the reader, the text and its causes."""
        lines = [f"----> {call.lineno} {call.line}" for call in _calls(self) if call.line]
        lines.append(f"{type(self).__name__}: {self}")
        cause = self.__cause__
        while cause is not None:
            lines.append(f"  because of {type(cause).__name__}: {cause}")
            cause = cause.__cause__
        return lines


def _calls(error: BaseException) -> Iterator[FrameSummary]:
    """Return the reader's calls that led to an error: up to the first one of a library."""
    import traceback

    ours = str(Path(__file__).parent)

    def is_librarys(call: FrameSummary) -> bool:
        return call.filename.startswith(ours) or "site-packages" in call.filename

    calls = iter(traceback.extract_tb(error.__traceback__))
    # What runs the cells of a notebook stands before them.
    within = dropwhile(lambda call: "IPython" in call.filename, calls)
    return takewhile(lambda call: not is_librarys(call), within)


def warn(text: str) -> None:
    """Warn of a call that is allowed and hardly meant, at the reader's own line."""
    ours = str(Path(__file__).parent)
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


class UsageError(RegisterError, ValueError):
    """An argument is wrong. Raised before any request; the text names the cure."""


class TransportError(RegisterError):
    """No whole answer arrived: connection, deadline, a body that was cut, TLS."""


class RegisterUnavailable(RegisterError):
    """Something answered, but not the register: an HTML page, or 5xx on every attempt.

    Attributes:
        blocked: True for 403 and firewall pages. Retrying makes a ban longer: wait, or ask
            the operator.
        status: The last HTTP status.
    """

    def __init__(
        self,
        message: str = "",
        *,
        blocked: bool = False,
        status: int | None = None,
        url: str | None = None,
        attempts: int | None = None,
    ) -> None:
        super().__init__(message, url=url, attempts=attempts)
        self.blocked = blocked
        self.status = status


class RateLimited(RegisterError):
    """The register asks for a longer pause than the request may wait.

    Attributes:
        retry_after: Seconds until it wants to be asked again, or None when it did not say.
    """

    def __init__(
        self,
        message: str = "",
        *,
        retry_after: float | None = None,
        url: str | None = None,
        attempts: int | None = None,
    ) -> None:
        super().__init__(message, url=url, attempts=attempts)
        self.retry_after = retry_after


class BadRequest(RegisterError):
    """The register refuses the request as it stands (4xx); asking again would not help."""


class NotFound(RegisterError):
    """No record behind an id.

    Attributes:
        ids: The ids without a record, in the order asked.
    """

    def __init__(
        self,
        message: str = "",
        *,
        ids: Sequence[int] = (),
        url: str | None = None,
        partial: pl.DataFrame | None = None,
    ) -> None:
        super().__init__(message, url=url, partial=partial)
        self.ids = list(ids)


class ProtocolError(RegisterError):
    """The reply is JSON, but not what the register documents; the text names the path."""


class PagingError(ProtocolError):
    """A page that does not move forward: ids repeated, out of order, or not after the cursor."""


class CacheError(RegisterError):
    """The file of kept replies cannot be used, or does not hold the reply that is replayed."""


class MirrorError(RegisterError):
    """The copy on disk cannot be used: not complete yet, held by another, a full or broken disk."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or an interrupted cell, with what came before it.

    Attributes:
        cursor: The last id that is surely in `partial`, or None.
        partial: What came before, or None.
    """

    def __init__(
        self,
        message: str = "",
        *,
        cursor: int | None = None,
        partial: pl.DataFrame | None = None,
    ) -> None:
        super().__init__(message)
        self.cursor = cursor
        self.partial = partial
