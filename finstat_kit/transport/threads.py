"""Many requests: in order, over several threads, with bounded memory, stopped at once by Ctrl-C.

Code in threads of polars is stopped by it too, and before the interpreter ends.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import copy_context
from functools import cache, partial
from itertools import islice
from queue import Empty, SimpleQueue
from types import FrameType
from typing import IO, Final, Generic, TypeVar

import polars as pl

from finstat_kit.transport.base import Stop

Item = TypeVar("Item")
Result = TypeVar("Result")
Task = TypeVar("Task")

_LOOK_UP: Final = 0.1  # seconds between checks for Ctrl-C
_AHEAD: Final = 4  # items in flight or waiting to be consumed, per connection
_EXIT: Final = 2.0  # seconds that the end of the interpreter waits at most
_exiting: Final = threading.Event()


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


def heeding_interrupts(
    produce: Callable[[threading.Event], Iterator[Result]],
) -> Generator[Result, None, None]:
    """Yield what *produce* yields in a separate thread, so that Ctrl-C ends any wait for it.

    For code that polars calls, in its own threads or while it defers Ctrl-C.

    Raises:
        KeyboardInterrupt: With the error that the thread ended with, if any, as its cause.
    """
    stop, interrupted = Stop(_exiting), _ctrl_c()
    results = produce(stop)
    while True:
        # One thread per result: polars leaves a generator that it needs no more where it stands.
        workers: Workers[None, None] = Workers(1)
        arrived: list[Finished[Result | None]] = []
        advance = partial(next, results, None)
        workers.submit(None, lambda: arrived.append(Finished(advance)))  # noqa: B023
        try:
            while not arrived:
                workers.finished()
                pl.select(pl.lit(0))  # raises the Ctrl-C that polars deferred
                if interrupted() or stop.is_set():
                    raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            stop.set()
            while not arrived:
                workers.finished()
            raise interrupt from arrived[0].error
        finally:
            _end(workers)
        if (result := arrived[0].result()) is None:
            return
        yield result


def _end(workers: Workers[None, None]) -> None:
    while True:
        # Python raises a Ctrl-C that polars deferred once more, anywhere: also here.
        with contextlib.suppress(KeyboardInterrupt):
            workers.end()
            return


def _ctrl_c() -> Callable[[], bool]:
    """Return a function that returns whether there was a Ctrl-C since, in any thread.

    Python calls its handler in the main thread alone, which waits for polars, and a notebook's
    kernel replaces the handler of polars in each cell. `faulthandler` writes in the handler itself.
    """
    if sys.platform == "win32":  # it has none such: polars alone can tell
        return lambda: False
    log = _log_of_interrupts()
    begin = os.fstat(log.fileno()).st_size
    faulthandler.unregister(signal.SIGINT)  # else it stays below a handler that was set since
    faulthandler.register(signal.SIGINT, log, all_threads=False, chain=True)
    return lambda: os.fstat(log.fileno()).st_size > begin


@cache
def _log_of_interrupts() -> IO[bytes]:
    return tempfile.TemporaryFile()


@atexit.register
def _end_code_in_polars() -> None:
    """Stop what our code in threads of polars waits for, and wait until they have left Python.

    After a Ctrl-C, or an error in another part of a query, polars leaves such threads as they are.
    One that needs the interpreter when it has ended aborts the process.
    """
    _exiting.set()
    end = time.monotonic() + _EXIT
    while _polars_runs_python() and time.monotonic() < end:
        time.sleep(0.001)


def _polars_runs_python() -> bool:
    own = threading.get_ident()
    return any(
        _is_called_by_polars(frame)
        for thread, frame in sys._current_frames().items()
        if thread != own
    )


def _is_called_by_polars(frame: FrameType) -> bool:
    """Return whether a thread of polars has called our code, or one of Python has called polars."""
    modules = []
    caller: FrameType | None = frame
    while caller is not None:
        modules.append(str(caller.f_globals.get("__name__")))
        caller = caller.f_back
    # A thread that Python has started begins in `threading`.
    return modules[-1].startswith("finstat_kit.") or any(
        module.startswith("polars.") for module in modules
    )
