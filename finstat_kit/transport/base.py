"""What carries a GET to a register and brings the reply; how far it may go; the one in process."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

from finstat_kit.errors import TransportError
from finstat_kit.protocol.wire import Reply

_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|0\.0\.0\.0")


class Stopped(Exception):
    """A request given up because the work it belongs to was stopped."""


class TimedOut(TransportError):
    """The deadline of an attempt has passed."""


class Unreachable(TransportError):
    """The host's name is not known, or it refuses connections."""


class FinalTransportError(TransportError):
    """A failure below HTTP that another attempt would only repeat."""


class Repeated(TransportError):
    """An answer that may belong to the request before it: its connection is closed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far one attempt may go."""

    deadline: float  # on the clock
    clock: Callable[[], float]
    cap: int  # bytes of the body, unpacked
    stop: threading.Event | None = None

    def left(self) -> float:
        """Return the seconds left; raise when the work was stopped."""
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
    """What carries one GET and brings back the reply, its body already unpacked."""

    timing: Timing

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Return the reply and the bytes that came over the wire."""

    def close(self) -> None:
        """Let go of connections."""


class InProcess:
    """The transport to a register in this very process: no port, no thread."""

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
        """Nothing to let go of."""


def is_loopback(url: str) -> bool:
    """Tell whether a URL leads to this very machine."""
    return bool(_LOOPBACK.fullmatch(urlsplit(url).hostname or ""))
