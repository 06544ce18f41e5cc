"""Many requests: in order, over several threads, with bounded memory, stopped at once by Ctrl-C."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Item, threading.Event], Result]

_LOOK_UP: Final = 0.1  # seconds between two looks for Ctrl-C
_AHEAD: Final = 4  # items in flight or waiting to be taken, for each connection


def in_order(
    items: Iterable[Item], work: Callable[[Item, threading.Event], Result], connections: int
) -> Iterator[tuple[Item, Result]]:
    """Do *work* on each item over some threads; yield items and results in the order of items.

    The first error is raised at its item's turn, after everything before it was yielded. Whatever
    ends the loop, Ctrl-C too, stops the threads before it goes on.
    """
    stop = threading.Event()
    if connections == 1:
        for item in items:
            yield item, work(item, stop)
        return
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    pool = ThreadPoolExecutor(connections, thread_name_prefix="finstat_kit")
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item, stop)))
            if len(waiting) >= _AHEAD * connections:
                first, result = waiting.popleft()
                yield first, _awaited(result)
        while waiting:
            first, result = waiting.popleft()
            yield first, _awaited(result)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _awaited(result: Future[Result]) -> Result:
    # polars handles SIGINT so that a wait for a lock goes on after it: Python would see Ctrl-C only
    # when the wait is over. Short waits let it through.
    while not result.done():
        wait([result], timeout=_LOOK_UP)
    return result.result()
