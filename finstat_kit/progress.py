"""Progress of long work: a bar where somebody is looking, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

Advance = Callable[[int], object]
Total = Callable[[threading.Event], int | None]


@contextmanager
def bar(what: str, total: int | Total, *, remote: bool, progress: bool | None) -> Iterator[Advance]:
    """Show a bar with rate and time left as long as the block lasts.

    Args:
        what: What is counted: ids, records.
        total: How many there will be, or what fetches that number: called only if there is a bar,
            beside the work, which does not wait for it, and given an event that is set when the
            block ends. Without a number the bar has no end.
        remote: The work asks a real host.
        progress: True or False as the user wants it; None shows a bar for a real host in a
            notebook or on a terminal.

    Yields:
        What to call with the number of things done.
    """
    notebook = _in_notebook()
    if progress is None:
        progress = remote and (notebook or sys.stderr.isatty())
    if not progress:
        yield lambda n: None
        return
    if notebook:
        from tqdm.notebook import tqdm as shown
    else:
        from tqdm import tqdm as shown  # type: ignore[assignment]
    known = total if isinstance(total, int) else None
    with shown(total=known, unit=f" {what}", unit_scale=False, smoothing=0.1) as one:
        if isinstance(total, int):
            yield one.update
            return
        over = threading.Event()
        pool = ThreadPoolExecutor(1, thread_name_prefix="finstat_kit total")
        counted = pool.submit(total, over)

        def advance(n: int) -> None:
            if one.total is None and counted.done():
                one.total = counted.result()
            one.update(n)

        try:
            yield advance
        finally:
            over.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"
