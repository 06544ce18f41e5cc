"""Many requests: in order, over several threads, with bounded memory, stopped at once by Ctrl-C."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Iterable
from contextvars import copy_context
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

from finstat_kit.transport.base import Stop

Item = TypeVar("Item")
Result = TypeVar("Result")
Task = TypeVar("Task")

_LOOK_UP: Final = 0.1  # seconds between checks for Ctrl-C
_AHEAD: Final = 4  # items in flight or waiting to be consumed, per connection


class Finished(Generic[Result]):
    """What a piece of work returned or raised."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self.error: BaseException | None = None
        try:
            self._value = work()
        except BaseException as error:  # noqa: BLE001  (it is raised where it is waited for)
            self.error = error

    def result(self) -> Result:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self._value


class Workers(Generic[Task, Result]):
    """Threads that a Ctrl-C cannot block, whenever it interrupts the calling thread.

    `concurrent.futures` takes locks in the thread that submits and waits: a KeyboardInterrupt that
    is raised between taking one and releasing it leaves the threads waiting for it forever.
    `SimpleQueue` has no lock in Python.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun = 0
        self._threads: list[threading.Thread] = []
        self._ended: list[bool] = []
        self._tasks: SimpleQueue[tuple[Task, Callable[[], Result]] | None] = SimpleQueue()
        self._finished: SimpleQueue[tuple[Task, Finished[Result]]] = SimpleQueue()
        # Where a Ctrl-C comes before `end` or in it, the threads end with this object.
        self._dropped = weakref.finalize(self, _let_go, self._tasks, self._ended, most)
        self._dropped.atexit = False

    def submit(self, task: Task, work: Callable[[], Result]) -> None:
        """Do *work* in one of the threads."""
        self._tasks.put((task, work))
        if self._begun < self._most:
            self._begun += 1
            queues = self._tasks, self._finished, self._ended
            run = partial(copy_context().run, partial(_run, *queues))
            thread = threading.Thread(target=run, name="finstat_kit", daemon=True)
            thread.start()
            self._threads.append(thread)

    def finished(self) -> tuple[Task, Finished[Result]] | None:
        """Return a finished task and its outcome, None if none finishes within a moment."""
        # With polars loaded, a wait for a lock continues after SIGINT: Python would raise Ctrl-C
        # only at its end. Short waits let it through.
        try:
            return self._finished.get(timeout=_LOOK_UP)
        except Empty:
            return None

    def end(self) -> None:
        """End the threads; their work must already be stopped by its own event."""
        _let_go(self._tasks, self._ended, self._begun)
        for thread in self._threads:
            thread.join()
        self._dropped.detach()


def _let_go(
    tasks: SimpleQueue[tuple[Task, Callable[[], Result]] | None], ended: list[bool], number: int
) -> None:
    """Let threads end when they have done what they are at."""
    ended.append(True)
    for _ in range(number):
        tasks.put(None)


def _run(
    tasks: SimpleQueue[tuple[Task, Callable[[], Result]] | None],
    finished: SimpleQueue[tuple[Task, Finished[Result]]],
    ended: list[bool],
) -> None:
    while (task := tasks.get()) is not None and not ended:
        finished.put((task[0], Finished(task[1])))


def in_order(
    items: Iterable[Item],
    work: Callable[[Item, threading.Event], Result],
    connections: int,
    outer: threading.Event | None = None,
) -> Generator[tuple[Item, Result], None, None]:
    """Do *work* on each item over some threads; yield items and results in the order of items.

    The first error is raised at its item's turn, after everything before it was yielded; so is a
    Ctrl-C, after what had arrived without a gap. Any end of the loop, *outer* included, stops the
    threads first.
    """
    stop = Stop(outer)
    if connections == 1:
        for item in items:
            yield item, work(item, stop)
        return
    workers: Workers[int, None] = Workers(connections)
    waiting, next_number, turn = iter(items), 0, 0
    # Filled by the threads: a Ctrl-C while a result is taken out loses none.
    arrived: dict[int, tuple[Item, Finished[Result]]] = {}

    def do(number: int, item: Item) -> None:
        arrived[number] = item, Finished(partial(work, item, stop))

    try:
        while True:
            for item in islice(waiting, _AHEAD * connections - (next_number - turn)):
                workers.submit(next_number, partial(do, next_number, item))
                next_number += 1
            if turn == next_number:
                return
            if turn in arrived:
                item, outcome = arrived[turn]
                result = outcome.result()
                turn += 1
                yield item, result
                del arrived[turn - 1]
            else:
                workers.finished()
    except KeyboardInterrupt:
        stop.set()
        workers.end()
        while turn in arrived and arrived[turn][1].error is None:
            item, outcome = arrived[turn]
            result = outcome.result()
            turn += 1
            yield item, result
        raise
    finally:
        stop.set()
        workers.end()
