"""Many requests: in order, over several threads, with bounded memory, stopped at once by Ctrl-C."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

import polars as pl

from finstat_kit.errors import RegisterError
from finstat_kit.protocol.paging import Query
from finstat_kit.protocol.replies import Page
from finstat_kit.protocol.split_walk import Ask, Recount, SplitWalk
from finstat_kit.transport.base import Stop

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK_UP: Final = 0.1  # seconds between checks for Ctrl-C
_AHEAD: Final = 4  # items in flight or waiting to be consumed, per connection


def in_order(
    items: Iterable[Item],
    work: Callable[[Item, threading.Event], Result],
    connections: int,
    outer: threading.Event | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Do *work* on each item over some threads; yield items and results in the order of items.

    The first error is raised at its item's turn, after everything before it was yielded. Whatever
    ends the loop, Ctrl-C too or *outer*, stops the threads before it goes on.
    """
    stop = Stop(outer)
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


def heeding_interrupts(
    produce: Callable[[threading.Event], Iterator[Result]],
) -> Generator[Result, None, None]:
    """Yield what *produce* yields in a thread of its own, so that Ctrl-C ends any wait for it.

    For code that polars calls, in a thread of its own or with Ctrl-C held back until it is done.

    Raises:
        KeyboardInterrupt: With the error that the thread ended with, if any, as its cause.
    """
    stop = threading.Event()
    pool = ThreadPoolExecutor(1, thread_name_prefix="finstat_kit scan")
    results = produce(stop)
    try:
        while True:
            coming = pool.submit(next, results, None)
            try:
                while not coming.done():
                    wait([coming], timeout=_LOOK_UP)
                    pl.select(pl.lit(0))  # raises the Ctrl-C that polars holds back
            except KeyboardInterrupt as interrupt:
                stop.set()
                raise interrupt from coming.exception()
            result = coming.result()
            if result is None:
                return
            yield result
    finally:
        while True:
            # Python raises a Ctrl-C that polars held back once more, wherever it can: also here.
            with contextlib.suppress(KeyboardInterrupt):
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                break


def split(
    walk: SplitWalk,
    connections: int,
    fetch: Callable[[Query, threading.Event], Page],
    count: Callable[[Query, threading.Event], int],
    *,
    pressure: Callable[[], int],
    pays: Callable[[], bool],
    outer: threading.Event | None = None,
) -> Generator[int, None, None]:
    """Walk a list over several connections, as *walk* cuts it; yield how many ids each page has.

    Args:
        walk: The walk, fresh.
        connections: Requests at the same time; halved each time *pressure* has risen.
        fetch: Fetches and checks a page.
        count: Fetches a count.
        pressure: How often the register asked for less, or was too slow, so far.
        pays: Whether several connections are faster than one; until then the walk is not cut.
        outer: Ends the walk when it is set.
    """
    stop = Stop(outer)
    # One thread more than connections: a count that hangs leaves room for every page.
    pool = ThreadPoolExecutor(connections + 1, thread_name_prefix="finstat_kit")
    under_way: dict[Future[Page | int], Ask | Recount] = {}
    pressed = pressure()
    # The count of the whole is fetched beside the pages, which do not wait for it.
    whole: Recount | None = None
    total: int | None = None
    try:
        while not walk.done:
            pages = sum(isinstance(task, Ask) for task in under_way.values())
            tasks = walk.tasks(connections - pages)
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
                    yield walk.deliver(task, page)
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
