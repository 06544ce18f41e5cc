"""Questions answered in the background, of which only the newest counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_PAUSE: Final = 0.2  # seconds in which a question may be overtaken before it costs a request


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Question, Answer]):
    """What came of a question: an answer, or why there is none."""

    question: Question
    answer: Answer | None
    error: Exception | None = None


class LatestWins(Generic[Question, Answer]):
    """Do *work* on a question on a thread of its own and *tell* when the newest is answered.

    Args:
        work: Called with the question and with a function that says whether a newer one was
            asked, so that long work can end early; what it returns then is dropped.
        tell: Called on that thread when `outcome` has changed. It is told to look, not what to
            show: so it shows the newest state in whatever order threads get their turn.
        at_once: Do the work on the caller's thread, before `ask` returns: it takes no time that
            anybody notices, and what depends on it is the same on every run.
    """

    def __init__(
        self,
        work: Callable[[Question, Callable[[], bool]], Answer],
        tell: Callable[[], object],
        *,
        at_once: bool = False,
    ) -> None:
        self._work = work
        self._tell = tell
        self._at_once = at_once
        self._changed = threading.Condition()
        self._newer = threading.Event()
        self._outcome: Outcome[Question, Answer] | None = None
        self._pending = False

    def ask(self, question: Question) -> None:
        """Ask, and forget what was asked before."""
        with self._changed:
            # The first question goes at once; those that come while it is open wait a little.
            pause = _PAUSE if self._pending else 0.0
            self._newer.set()
            self._newer = newer = threading.Event()
            self._outcome, self._pending = None, True
        if self._at_once:
            self._run(question, newer, 0.0)
            return
        # A daemon: nobody waits at the end of a session for an answer that nobody will see.
        threading.Thread(
            target=self._run, args=(question, newer, pause), name="finstat_kit", daemon=True
        ).start()

    @property
    def outcome(self) -> Outcome[Question, Answer] | None:
        """The outcome of the newest question, None as long as it is open."""
        return self._outcome

    def settled(self, timeout: float | None = None) -> Outcome[Question, Answer] | None:
        """Wait for the outcome of the newest question, None when it took too long."""
        with self._changed:
            self._changed.wait_for(lambda: self._outcome is not None, timeout)
            return self._outcome

    def result(self) -> Answer:
        """Wait for the newest answer and return it, or raise its error."""
        outcome = self.settled()
        assert outcome is not None
        if outcome.error is not None:
            raise outcome.error
        return outcome.answer  # type: ignore[return-value]

    def _run(self, question: Question, newer: threading.Event, pause: float) -> None:
        if pause and newer.wait(pause):
            return
        try:
            outcome = Outcome(question, self._work(question, newer.is_set))
        except Exception as error:  # noqa: BLE001 - on this thread nobody else would see it
            outcome = Outcome(question, None, error)
        with self._changed:
            if newer.is_set():
                return
            self._outcome, self._pending = outcome, False
            self._changed.notify_all()
        self._tell()
