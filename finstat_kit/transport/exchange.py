"""The exchange with a register: what a reply means, and rate, retries and pauses of all threads."""

from __future__ import annotations

import email.utils
import logging
import math
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Final, TypeVar

from finstat_kit.errors import (
    BadRequest,
    NotFound,
    ProtocolError,
    RateLimited,
    RegisterError,
    RegisterUnavailable,
    TransportError,
)
from finstat_kit.protocol.requests import Request
from finstat_kit.protocol.untrusted import NotJson, first_words, is_markup, shown
from finstat_kit.protocol.wire import INVENTED, Reply
from finstat_kit.transport.base import (
    CALLER,
    FinalTransportError,
    Limits,
    Stop,
    Stopped,
    TimedOut,
    Transport,
    Unreachable,
    refuse_child,
)

if TYPE_CHECKING:
    from finstat_kit.transport.cache_file import CacheFile

T = TypeVar("T")
log = logging.getLogger("finstat_kit")

# Ours, as the register publishes no limits: its errors pass on retry, and it slows down under load.
TOTAL_SECONDS: Final = 120.0  # of a request, with all attempts and pauses
_FAILURES_IN_A_ROW: Final = 20  # attempts, over all connections, after which none is retried
_FIRST_BACKOFF: Final = 0.5  # seconds, doubled each time
_FIRST_CONTACT: Final = 1.6  # total seconds of pauses before the first connection
_LONGEST_BACKOFF: Final = 30.0  # seconds
_LOOK_UP: Final = 0.2  # seconds between checks for a stop
_RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
_FIREWALL_CURE: Final = "probably a firewall: wait, further requests prolong a ban"
_FIREWALL: Final = re.compile(
    r"request rejected|support id|access denied|forbidden|blocked|captcha|firewall|zablokovan",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stats:
    """The requests to a register so far.

    Attributes:
        requests: Requests sent, including all attempts.
        from_cache: Cached replies used instead of requests.
        retries: Number of requests that were further attempts.
        bytes: Bytes of bodies received, before unpacking.
        first_reply: Time of the first good reply in seconds since 1970 (UTC), including cached
            replies; None before it.
        last_reply: Time of the last one.
    """

    requests: int = 0
    from_cache: int = 0
    retries: int = 0
    bytes: int = 0
    first_reply: float | None = field(default=None, repr=False)
    last_reply: float | None = field(default=None, repr=False)


class Exchange:
    """Sends requests to one register, one rate and one back-off for all its threads.

    Attributes:
        base_url: Of the register.
        cache: The file that keeps good replies; None for none.
        end: No request is sent or waited for after this time on the clock.
    """

    def __init__(
        self,
        base_url: str,
        transport: Transport,
        *,
        rate: float | None,
        deadline: float,
        tries: int,
    ) -> None:
        self.cache: CacheFile | None = None
        self.end = math.inf
        self.base_url = base_url
        self._transport = transport
        self._rate = rate
        self._deadline = deadline
        self._attempts = tries
        self._timing = transport.timing
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._next_slot = -math.inf
        self._pause_until = -math.inf
        self._failures = 0
        self._reached = False  # whether the register has ever replied
        self.stats = Stats()
        self.latency = math.inf  # seconds of the last good reply
        # Name of the invented data in the newest good reply: "" for none, None before the first.
        self.invented: str | None = None
        self.sent = ""  # the day and time of the newest good reply, by the register's clock

    @property
    def clock(self) -> Callable[[], float]:
        """The transport's clock for durations, in seconds."""
        return self._timing.clock

    @property
    def now(self) -> float:
        """Seconds since 1970, by the transport's clock."""
        return self._timing.wall()

    def cached_or_sent(
        self, request: Request[T], stop: threading.Event | None = None, *, day: date | None = None
    ) -> T:
        """Return the value of the cached reply to a request; send the request if none is usable.

        Args:
            request: The request.
            stop: Ends the work when it is set.
            day: Use only a reply of this day of the register; None for any day.

        Raises:
            RegisterError: As `get` does.
            Stopped: As `get` does.
        """
        refuse_child(self._process)
        found = None if self.cache is None else self.cache.find(request.target)
        if found is None or (day and found[0].day != day.isoformat()):
            return self.get(request, stop)
        facts, reply = found
        try:
            value = value_of(request, reply, facts.fetched)
        except NotFound as error:
            error.url = self.base_url + request.target
            self._count_cached(reply, facts.fetched)
            raise
        except (RegisterError, MayPass):  # kept by a version with fewer checks
            return self.get(request, stop)
        self._count_cached(reply, facts.fetched)
        return value

    def get(self, request: Request[T], stop: threading.Event | None = None) -> T:
        """Send a request until its reply can be read, or no further attempt is due.

        Args:
            request: The request.
            stop: Ends the work when it is set.

        Raises:
            RegisterError: The last failure, with address and number of attempts.
            UsageError: This process was forked from the one that opened the register.
            Stopped: *stop* was set meanwhile, or `end` has passed.
        """
        refuse_child(self._process)
        if self.end < math.inf or CALLER.get() is not None:
            stop = Stop(stop, clock=self._timing.clock, end=self.end)
        target = request.target
        url = self.base_url + target
        started, attempt = math.inf, 0
        while True:
            attempt += 1
            self._wait_for_turn(stop)
            started = min(started, self._timing.clock())
            try:
                return self._once(request, url, target, started, attempt, stop)
            except MayPass as fault:
                passing = fault
            error = passing.error
            error.attempts = attempt
            error.url = error.url or url
            if request.is_file:  # that bytes came for long is no reason to give up
                started = self._timing.clock()
            seconds_left = started + TOTAL_SECONDS - self._timing.clock()
            if passing.retry_after is not None and passing.retry_after > seconds_left:
                raise RateLimited(
                    f"{request.who} asked for a pause of {passing.retry_after:.0f} seconds "
                    "(Retry-After), longer than a request may wait; resume after that",
                    retry_after=passing.retry_after, url=url, attempts=attempt,
                ) from error  # fmt: skip
            pause = self._backoff(attempt) if passing.retry_after is None else passing.retry_after
            if passing.unreachable and not self._reached:
                # A wrong address or no network is more likely than a starting register.
                pause = min(pause, _FIRST_CONTACT / self._attempts)
            is_given_up = self._failures >= _FAILURES_IN_A_ROW
            if attempt >= self._attempts or pause >= seconds_left or is_given_up:
                raise error
            if passing.pressing:
                # It requires fewer requests, or is too slow: all threads pause.
                with self._lock:
                    self._pause_until = max(self._pause_until, self._timing.clock() + pause)
            else:
                self._sleep(pause, stop)

    def close(self) -> None:
        """Close the transport's connections."""
        self._transport.close()

    def _once(
        self,
        request: Request[T],
        url: str,
        target: str,
        started: float,
        attempt: int,
        stop: threading.Event | None,
    ) -> T:
        sent_at = self._timing.clock()
        end = stop.end if isinstance(stop, Stop) else math.inf
        idle = self._deadline if request.is_file else None
        deadline = min(sent_at + self._deadline, started + TOTAL_SECONDS, end)
        try:
            limits = Limits(deadline, self._timing.clock, request.cap, stop, idle)
            reply, wire = self._transport.send(url, limits)
        except TransportError as error:
            if deadline == end and isinstance(error, TimedOut):
                raise Stopped from error
            self._note(target, type(error).__name__, 0, attempt, good=False)
            if isinstance(error, FinalTransportError):
                raise TransportError(error.message, url=url) from error.__cause__
            failure = TransportError(
                f"{error.message}; check that {self.base_url} can be reached from this machine, "
                "or try later",
                url=url,
            )
            failure.__cause__ = error.__cause__
            raise MayPass(
                failure,
                pressing=isinstance(error, TimedOut),
                unreachable=isinstance(error, Unreachable),
            ) from error
        except ProtocolError as error:
            self._note(target, type(error).__name__, 0, attempt, good=False)
            error.url = url
            raise
        try:
            value = value_of(request, reply, self._timing.wall())
        except MayPass:
            self._note(target, reply.status, wire, attempt, good=False)
            raise
        except RegisterError as error:
            # A reply, though an error: the register is there.
            self._note(target, reply.status, wire, attempt, good=True)
            error.url = url
            if isinstance(error, NotFound):
                self._keep(request, reply, stop)
            raise
        self._note(target, reply.status, wire, attempt, good=True)
        self.latency = self._timing.clock() - sent_at
        self.invented = shown(reply.headers.get(INVENTED, ""))
        self.sent = reply.headers.get("Date", self.sent)
        self._keep(request, reply, stop)
        return value

    def _keep(self, request: Request[T], reply: Reply, stop: threading.Event | None) -> None:
        if self.cache is not None and request.is_kept:
            self.cache.keep(request.target, reply, stop)
        elif self.cache is not None:
            self.cache.note(reply)

    def _count_cached(self, reply: Reply, fetched: float) -> None:
        """Count a cached reply and record its time."""
        with self._lock:
            stats = self.stats
            self.stats = replace(
                stats,
                from_cache=stats.from_cache + 1,
                first_reply=min(stats.first_reply or fetched, fetched),
                last_reply=max(stats.last_reply or fetched, fetched),
            )
        self.invented = shown(reply.headers.get(INVENTED, ""))

    def _wait_for_turn(self, stop: threading.Event | None) -> None:
        """Wait for a slot of the rate outside any pause that the register asked for."""
        turn: float | None = None
        while True:
            if stop is not None and stop.is_set():
                raise Stopped  # without one more request
            with self._lock:
                now = self._timing.clock()
                # A slot within a pause is void: used all at once at the end of the pause, such
                # slots would exceed the rate.
                if turn is None or turn < self._pause_until:
                    turn = max(now, self._next_slot, self._pause_until)
                    if self._rate is not None:
                        self._next_slot = turn + 1 / self._rate
            if turn <= now:
                return
            self._sleep(turn - now, stop)

    def _sleep(self, seconds: float, stop: threading.Event | None) -> None:
        end = self._timing.clock() + seconds
        while (left := end - self._timing.clock()) > 0:
            if stop is not None and stop.is_set():
                raise Stopped
            self._timing.sleep(min(left, _LOOK_UP))

    def _backoff(self, attempt: int) -> float:
        """Return a pause with full jitter: a random value up to a bound that doubles."""
        return self._timing.random() * min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0**attempt)

    def _note(self, target: str, status: object, wire: int, attempt: int, *, good: bool) -> None:
        now = self._timing.wall()
        with self._lock:
            self._reached = self._reached or good
            self._failures = 0 if good else self._failures + 1
            stats = self.stats
            # All fields, not `replace`: that would take longer than the rest of this method.
            self.stats = Stats(
                requests=stats.requests + 1,
                from_cache=stats.from_cache,
                retries=stats.retries + (attempt > 1),
                bytes=stats.bytes + wire,
                first_reply=stats.first_reply or (now if good else None),
                last_reply=now if good else stats.last_reply,
            )
        path, _, query = target.partition("?")
        log.info("GET %s %s -> %s, %d bytes", path, query, status, wire)


class MayPass(Exception):
    """A temporary fault, worth another attempt.

    Attributes:
        error: The error to raise if no further attempt is made.
        retry_after: Pause in seconds that the register asked for, None without one.
        pressing: Whether it asked for fewer requests from all connections.
        unreachable: Whether no connection could be made.
    """

    def __init__(
        self,
        error: RegisterError,
        retry_after: float | None = None,
        *,
        pressing: bool = False,
        unreachable: bool = False,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.retry_after = retry_after
        self.pressing = pressing
        self.unreachable = unreachable


def value_of(request: Request[T], reply: Reply, now: float) -> T:
    """Return the value of a good reply.

    Args:
        request: The request that was answered.
        reply: Status, headers and body, unpacked.
        now: Seconds since 1970, to compare with a Retry-After date.

    Raises:
        MayPass: A temporary fault.
        RegisterError: A permanent one.
    """
    status, headers, body = reply
    who = request.who
    if status in _RETRIED:
        raise _busy(who, status, body, seconds_to_wait(headers.get("Retry-After"), now))
    # The first byte decides, not the status: an unknown id is 404 with an empty body.
    if status in (403, 404) and is_markup(body):
        raise _page_of_html(who, status, body)
    if status != 200:
        raise _refusal(who, status, headers.get("Location"), body)
    try:
        return request.read(body)
    except (NotJson, ProtocolError) as error:
        if is_markup(body):
            raise _page_of_html(who, status, body) from error
        if isinstance(error, ProtocolError):
            raise
        broken = RegisterUnavailable(
            f"expected JSON, got {error}{first_words(body)}; try later", status=status
        )
        raise MayPass(broken) from error


def _busy(who: str, status: int, body: bytes, retry_after: float | None) -> MayPass:
    if status == 429:
        limited = RateLimited(f"{who} requires fewer requests (429)", retry_after=retry_after)
        return MayPass(limited, retry_after, pressing=True)
    unavailable = RegisterUnavailable(
        f"{who} answers {status}{first_words(body)}; this is often temporary: try later",
        status=status,
    )
    return MayPass(unavailable, retry_after, pressing=status == 503)


def _page_of_html(who: str, status: int, body: bytes) -> RegisterUnavailable:
    words = first_words(body)
    blocked = status == 403 or bool(_FIREWALL.search(words))
    cure = "most likely an outage page: try later"
    if blocked:
        cure = _FIREWALL_CURE
    elif status == 404:
        cure = "check the base URL; if it is right, this is most likely an outage page: try later"
    return RegisterUnavailable(
        f"{who} sent a page of HTML under status {status}{words}; {cure}",
        blocked=blocked,
        status=status,
    )


def _refusal(who: str, status: int, location: str | None, body: bytes) -> RegisterError:
    if 300 <= status < 400 and location is not None:
        return RegisterUnavailable(
            f"{who} redirects to {shown(location)}, which is not followed; if {who} has moved, "
            "give its new base URL",
            status=status,
        )
    if status == 403:
        return RegisterUnavailable(
            f"{who} refuses this machine (403){first_words(body)}; {_FIREWALL_CURE}",
            blocked=True,
            status=status,
        )
    if status == 404:
        return NotFound(f"{who} has nothing at this address (404)")
    if 400 <= status < 500:
        return BadRequest(f"{who} refuses the request ({status}){first_words(body)}")
    return RegisterUnavailable(
        f"expected status 200, got {status}{first_words(body)}", status=status
    )


def seconds_to_wait(value: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After header, None if it is not usable."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]+", value.strip(), re.ASCII):
        return float(value)
    try:
        moment: float = email.utils.parsedate_to_datetime(value).timestamp()
        return max(moment - now, 0.0)
    except (ValueError, OverflowError):
        return None
