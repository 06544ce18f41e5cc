"""Many requests: in order, over several threads, with bounded memory, stopped at once by Ctrl-C."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

from finstat_kit.errors import RegisterError
from finstat_kit.replies import Page
from finstat_kit.split import Ask, Recount, SplitWalk
from finstat_kit.walk import Query

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


def split(
    walk: SplitWalk,
    connections: int,
    fetch: Callable[[Query, threading.Event], Page],
    count: Callable[[Query, threading.Event], int],
    *,
    pressure: Callable[[], int],
    pays: Callable[[], bool],
    advance: Callable[[int], object],
) -> None:
    """Walk a list over several connections, as *walk* cuts it.

    Args:
        walk: The walk, fresh.
        connections: Requests at the same time; halved each time *pressure* has risen.
        fetch: Fetches and checks a page.
        count: Fetches a count.
        pressure: How often the register asked for less, or was too slow, so far.
        pays: Whether several connections are faster than one; until then the walk is not cut.
        advance: Called with the number of ids of each page.
    """
    stop = threading.Event()
    pool = ThreadPoolExecutor(connections, thread_name_prefix="finstat_kit")
    under_way: dict[Future[Page | int], Ask | Recount] = {}
    pressed = pressure()
    # The count of the whole is fetched beside the pages, which do not wait for it.
    whole: Recount | None = None
    total: int | None = None
    try:
        while not walk.done:
            tasks = walk.tasks(connections - len(under_way))
            if whole is None and pays():
                tasks.append(whole := Recount(walk.query))
            for task in tasks:
                work: Callable[[Query, threading.Event], Page | int]
                work = fetch if isinstance(task, Ask) else count
                under_way[pool.submit(work, task.query, stop)] = task
            for future in wait(under_way, _LOOK_UP, FIRST_COMPLETED).done:
                task = under_way.pop(future)
                if isinstance(task, Ask):
                    page = future.result()
                    assert isinstance(page, Page)
                    advance(walk.deliver(task, page))
                elif task is whole:
                    total = _count_or_none(future)
                else:
                    walk.recounted(task, _count_or_none(future))
            if total is not None and walk.begun:
                walk.expect(total, connections)
                total = None
            if pressure() > pressed:
                connections, pressed = max(connections // 2, 1), pressure()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _count_or_none(future: Future[Page | int]) -> int | None:
    try:
        count = future.result()
    except RegisterError:
        return None
    return count if isinstance(count, int) else None
