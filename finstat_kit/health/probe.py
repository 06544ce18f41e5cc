"""Requests of the health check, sent below the client's checks and limited in number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from finstat_kit.client.register import Register
from finstat_kit.errors import PYTHON, MirrorError, RegisterError
from finstat_kit.protocol import wire
from finstat_kit.protocol.requests import Request
from finstat_kit.protocol.untrusted import first_words

_SECOND_TRIES: Final = 6  # in a whole report: temporary errors are common
_SILENCE: Final = 3  # failed requests in a row after which the register counts as unreachable
_ASKS_FOR_PEACE: Final = frozenset({403, 429})
_MAY_PASS: Final = frozenset({408, 500, 502, 503, 504})


class Fault(Exception):
    """A reply, or a failure, that cannot be checked."""


class NotThere(Fault):
    """A mirror does not hold what was requested."""


class Ended(Exception):
    """Why no further request is sent, and what to do about it."""

    def __init__(self, seen: str, meaning: str) -> None:
        super().__init__(seen)
        self.seen = seen
        self.meaning = meaning


class Patient:
    """Sends requests to a register, and keeps results that several checks share."""

    def __init__(self, register: Register) -> None:
        self._exchange = register._session.exchange
        self.in_process = not register.base_url.startswith("http")
        self.seconds: list[float] = []  # of the good replies
        self.versions: Counter[str] = Counter()
        self.codes: dict[str, set[str]] = {}
        self._second_tries = _SECOND_TRIES
        self._unanswered = 0
        self._bad = 0

    def ask(self, path: str, query: Mapping[str, str | int] | None = None) -> bytes:
        """Return the body for a path below /api, if it may be JSON.

        Raises:
            Fault: The reply is anything else.
            Ended: The register does not reply, or requires a pause.
        """
        request = Request(f"/api/{path}", bytes, query or {}, wire.CODELIST_CAP)
        try:
            return self._once(request)
        except _MayPass:
            if not self._second_tries:
                raise
        self._second_tries -= 1
        return self._once(request)

    def _once(self, request: Request[bytes]) -> bytes:
        try:
            reply, seconds = self._exchange.once(request)
        except MirrorError as error:  # no later request changes it
            raise Ended(error.message, PYTHON.phrase(error.cure)) from None
        except RegisterError as error:
            self._unanswered += 1
            raise self._failed(_MayPass(error.message)) from None
        self._unanswered = 0
        headers = {name.lower(): value for name, value in reply.headers.items()}
        observation = f"status {reply.status}{first_words(reply.body)}"
        if reply.status == 503 and wire.NOT_HELD.lower() in headers:
            raise NotThere(observation)
        if reply.status in _ASKS_FOR_PEACE or (reply.status != 200 and "retry-after" in headers):
            raise Ended(observation, "it asked for a pause: wait, further requests prolong it")
        if reply.status in _MAY_PASS:
            raise self._failed(_MayPass(observation))
        if reply.status != 200:
            raise self._failed(Fault(observation))
        beginning = reply.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if beginning != b"{":
            found = "HTML" if beginning == b"<" else "no JSON object"
            raise self._failed(Fault(f"{found} under status 200{first_words(reply.body)}"))
        self.seconds.append(seconds)
        self.versions[headers.get("x-api-version", "none")] += 1
        return reply.body

    def _failed(self, fault: Fault) -> Exception:
        """Return the fault, or the end of the report after too many."""
        self._bad += 1
        nothing_good = not self.seconds and self._bad == _SILENCE
        if nothing_good or self._unanswered == _SILENCE:
            return Ended(str(fault), "check the base URL and the network, or try later")
        return fault


class _MayPass(Fault):
    """A temporary fault, worth another attempt."""


def as_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body from `Patient.ask`, valid or not."""
    try:
        found: dict[str, Any] = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Fault("no JSON") from None
    return found
