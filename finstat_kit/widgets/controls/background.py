"""Background work for questions of which only the newest counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_PAUSE: Final = 0.2  # seconds in which a newer question replaces one before its request is sent


@dataclass(frozen=True, slots=True)
class FinishedWork(Generic[Question, Answer]):
    """The outcome of a question: an answer, or an error."""

    question: Question
    answer: Answer | None
    error: BaseException | None = None


class LatestWins(Generic[Question, Answer]):
    """Runs *work* for a question on a separate thread and calls *notify* for the newest outcome.

    Args:
        work: Called with the question and a function that returns whether a newer question
            exists, so that long work can end early; its result is then dropped.
        notify: Called without arguments on that thread when `outcome` has changed. It must read
            `outcome` itself, so that it shows the newest state in any order of threads.
        at_once: Do the work on the caller's thread, before `submit` returns. For fast work, to make
            its results the same on every run.
    """

    def __init__(
        self,
        work: Callable[[Question, Callable[[], bool]], Answer],
        notify: Callable[[], object],
        *,
        at_once: bool = False,
    ) -> None:
        self._work = work
        self._notify = notify
        self._at_once = at_once
        self._changed = threading.Condition()
        self._newer = threading.Event()
        self._outcome: FinishedWork[Question, Answer] | None = None
        self._pending = False

    def submit(self, question: Question) -> None:
        """Set the newest question and drop the one before it."""
        with self._changed:
            # The first question starts at once; further ones wait a little while it is open.
            pause = _PAUSE if self._pending else 0.0
            self._newer.set()
            self._newer = newer = threading.Event()
            self._outcome, self._pending = None, True
        if self._at_once:
            self._run(question, newer, 0.0)
            return
        # A daemon, so that the end of a session does not wait for it.
        run = partial(copy_context().run, self._run, question, newer, pause)
        threading.Thread(target=run, name="finstat_kit", daemon=True).start()

    @property
    def outcome(self) -> FinishedWork[Question, Answer] | None:
        """The outcome of the newest question, None while it is open."""
        return self._outcome

    def settled(self, timeout: float | None = None) -> FinishedWork[Question, Answer] | None:
        """Wait for the outcome of the newest question; None after the timeout."""
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
            outcome = FinishedWork(question, self._work(question, newer.is_set))
        except Exception as error:  # noqa: BLE001 - on this thread it would be lost otherwise
            outcome = FinishedWork(question, None, error)
        except BaseException as error:
            # An interrupted cell ends here, and nobody waits for an outcome that never comes.
            self._conclude(FinishedWork(question, None, error), newer)
            raise
        self._conclude(outcome, newer)

    def _conclude(self, outcome: FinishedWork[Question, Answer], newer: threading.Event) -> None:
        with self._changed:
            if newer.is_set():
                return
            self._outcome, self._pending = outcome, False
            self._changed.notify_all()
        self._notify()
