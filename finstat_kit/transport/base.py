"""The interface of transports, the limits of a request, and the transport in process."""

from __future__ import annotations

import math
import os
import random
import re
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

from finstat_kit.errors import TransportError, UsageError
from finstat_kit.protocol.wire import Reply

_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|0\.0\.0\.0")


class Stopped(Exception):
    """A request abandoned because the work it belongs to was stopped."""


# Ends all work of a caller who waits for it no longer, such as a cancelled call of an assistant.
CALLER: Final[ContextVar[threading.Event | None]] = ContextVar("CALLER", default=None)


class Stop(threading.Event):
    """An event that is also set when one of some outer events or `CALLER` is, or at a time.

    Attributes:
        end: The time on the clock, or the earlier one of an outer event; infinity for none.
    """

    def __init__(
        self,
        *outer: threading.Event | None,
        clock: Callable[[], float] = time.monotonic,
        end: float = math.inf,
    ) -> None:
        super().__init__()
        self._outer = [event for event in (*outer, CALLER.get()) if event is not None]
        self._clock, self._end = clock, end
        ends = [event.end for event in self._outer if isinstance(event, Stop)]
        self.end: float = min([end, *ends])

    def is_set(self) -> bool:
        """Return whether the work is to end."""
        return (
            super().is_set()
            or any(event.is_set() for event in self._outer)
            or (self._end < math.inf and self._clock() >= self._end)
        )

    def wait(self, timeout: float | None = None) -> bool:
        """Refuse: it would not end when an outer event is set. Look at `is_set` again instead."""
        raise NotImplementedError


def refuse_child(opened_by: int) -> None:
    """Refuse what another process opened: its connections and locks are that one's.

    Args:
        opened_by: Id of the process.

    Raises:
        UsageError: This one was forked from it.
    """
    if os.getpid() != opened_by:
        raise UsageError(
            "this process was forked from the one that opened the register (or mirror)",
            cure="open it there, in the new process, or start processes by 'spawn' or 'forkserver'",
        )


class TimedOut(TransportError):
    """The timeout of an attempt has passed."""


class Unreachable(TransportError):
    """The host name is unknown, or the host refuses connections."""


class FinalTransportError(TransportError):
    """A permanent failure below HTTP, not worth another attempt."""


@dataclass(slots=True)
class Limits:
    """The limits of one attempt."""

    deadline: float  # on the clock
    clock: Callable[[], float]
    cap: int  # bytes of the body, unpacked
    stop: threading.Event | None = None
    idle: float | None = None  # seconds by which each byte that comes moves the deadline on

    def came(self) -> None:
        """Note that bytes have come."""
        if self.idle is not None:
            self.deadline = self.clock() + self.idle

    def left(self) -> float:
        """Return the seconds left; raise if the work was stopped."""
        if self.stop is not None and self.stop.is_set():
            raise Stopped
        return self.deadline - self.clock()


@dataclass(frozen=True, slots=True)
class Timing:
    """Injectable clock, sleep and randomness."""

    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


@runtime_checkable
class Transport(Protocol):
    """Sends one GET and returns the reply with its body already unpacked."""

    timing: Timing

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Return the reply and the number of bytes received."""

    def close(self) -> None:
        """Close the connections."""


class InProcess:
    """The transport to a register in this process: no port, no thread."""

    def __init__(
        self, answer: Callable[[str, str, str], Reply], timing: Timing | None = None
    ) -> None:
        self._answer = answer
        self.timing = timing or Timing()

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Call the service."""
        _, _, target = url.partition(":")
        path, _, query = target.partition("?")
        reply = self._answer("GET", path, query)
        limits.left()
        return reply, len(reply.body)

    def close(self) -> None:
        """Do nothing: there are no connections."""


def is_loopback(url: str) -> bool:
    """Return whether a URL points to this machine."""
    return bool(_LOOPBACK.fullmatch(urlsplit(url).hostname or ""))
