"""Requests of the health check, sent below the client's checks and limited in number."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from finstat_kit.client.register import Register
from finstat_kit.errors import PYTHON, CacheError, MirrorError, RegisterError
from finstat_kit.protocol import wire
from finstat_kit.protocol.requests import Request
from finstat_kit.protocol.untrusted import first_words
from finstat_kit.protocol.wire import Reply

_SECOND_TRIES: Final = 6  # in a whole report: temporary errors are common
_SILENCE: Final = 3  # failed requests in a row after which the register counts as unreachable
_WANTS_A_PAUSE: Final = frozenset({403, 429})
_MAY_PASS: Final = frozenset({408, 500, 502, 503, 504})
_BOM: Final = b"\xef\xbb\xbf"


class Fault(Exception):
    """A reply, or a failure, that cannot be checked."""


class NotHeldFault(Fault):
    """A mirror, or a recording, does not hold what was requested."""


class EndedError(Exception):
    """Why no further request is sent, and what to do about it."""

    def __init__(self, seen: str, meaning: str) -> None:
        super().__init__(seen)
        self.seen = seen
        self.meaning = meaning


class Probe:
    """Sends requests to a register, and notes what several checks share.

    Attributes:
        in_process: Whether nothing is sent over a network.
        recorded: Whether the replies come from a file, which has no headers.
        seconds: How long each good reply took.
        headers: Of the good replies, names in small letters.
        codes: Codes of each codelist.
        marks: Number of bodies with a byte order mark.
        sent: Number of requests, second attempts included.
    """

    def __init__(self, register: Register) -> None:
        self._exchange = register._session.exchange
        self.in_process = not register.base_url.startswith("http")
        self.recorded = register._session.replayed
        self.seconds: list[float] = []
        self.headers: list[Mapping[str, str]] = []
        self.codes: dict[str, set[str]] = {}
        self.marks = 0
        self.sent = 0
        self._began = self._exchange.clock()
        self._second_tries = _SECOND_TRIES
        self._unanswered = 0
        self._bad = 0

    @property
    def duration(self) -> float:
        """Seconds since the first request."""
        return self._exchange.clock() - self._began

    def header(self, name: str) -> Counter[str]:
        """Return how often the good replies have each value of a header; "none" is without it."""
        return Counter(headers.get(name, "none") for headers in self.headers)

    def ask(self, path: str, query: Mapping[str, str | int] | None = None) -> bytes:
        """Return the body for a path below /api, if it may be JSON.

        Raises:
            Fault: The reply is anything else.
            EndedError: The register does not reply, or requires a pause.
        """
        request = Request(f"/api/{path}", bytes, query or {}, wire.CODELIST_CAP)
        try:
            return self._once(request)
        except _PassingFault:
            if not self._second_tries:
                raise
        self._second_tries -= 1
        return self._once(request)

    def refusal(self, path: str, query: Mapping[str, str | int] | None = None) -> Reply:
        """Return the reply to a request that is to be refused, whatever its status is.

        Raises:
            Fault: There is none, or it is a temporary one.
            EndedError: The register does not reply, or requires a pause.
        """
        request = Request(f"/api/{path}", bytes, query or {})
        reply, _ = self._sent(request)
        self._exchange.keep(request, reply)
        return reply

    def _once(self, request: Request[bytes]) -> bytes:
        reply, seconds = self._sent(request)
        if reply.status != 200:
            raise self._failed(Fault(observed(reply)))
        beginning = reply.body.lstrip(_BOM + b" \t\r\n")[:1]
        if beginning != b"{":
            what = "HTML" if beginning == b"<" else "no JSON object"
            raise self._failed(Fault(f"{what} under {observed(reply)}"))
        self._exchange.keep(request, reply)
        self.seconds.append(seconds)
        self.headers.append({name.lower(): value for name, value in reply.headers.items()})
        self.marks += reply.body.startswith(_BOM)
        return reply.body

    def _sent(self, request: Request[bytes]) -> tuple[Reply, float]:
        self.sent += 1
        try:
            reply, seconds = self._exchange.once(request)
        except MirrorError as error:  # no later request changes it
            raise EndedError(error.message, PYTHON.phrase(error.cure)) from None
        except CacheError:
            raise NotHeldFault("the recording has no such reply") from None
        except RegisterError as error:
            self._unanswered += 1
            raise self._failed(_PassingFault(error.message)) from None
        self._unanswered = 0
        names = {name.lower() for name in reply.headers}
        if reply.status == 503 and wire.NOT_HELD.lower() in names:
            raise NotHeldFault(observed(reply))
        if reply.status in _WANTS_A_PAUSE or (reply.status != 200 and "retry-after" in names):
            meaning = "it asked for a pause: wait, further requests prolong it"
            raise EndedError(observed(reply), meaning)
        if reply.status in _MAY_PASS:
            raise self._failed(_PassingFault(observed(reply)))
        return reply, seconds

    def _failed(self, fault: Fault) -> Exception:
        """Return the fault, or the end of the report after too many."""
        self._bad += 1
        nothing_good = not self.seconds and self._bad == _SILENCE
        if nothing_good or self._unanswered == _SILENCE:
            return EndedError(str(fault), "check the base URL and the network, or try later")
        return fault


class _PassingFault(Fault):
    """A temporary fault, worth another attempt."""


def observed(reply: Reply) -> str:
    """Return status and first words of a reply, without numbers: pages of errors have addresses."""
    return f"status {reply.status}{re.sub(r'[0-9]', '9', first_words(reply.body))}"


def as_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body from `Probe.ask`, valid or not."""
    try:
        content: dict[str, Any] = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Fault("no JSON") from None
    return content
