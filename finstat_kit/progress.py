"""Progress of long work: a bar where somebody is looking, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], object]


@contextmanager
def bar(
    what: str, total: Callable[[], int | None], *, remote: bool, progress: bool | None
) -> Iterator[Advance]:
    """Show a bar with rate and time left as long as the block lasts.

    Args:
        what: What is counted: ids, records.
        total: How many there will be, asked only if there is a bar; None where nobody knows.
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
    with shown(total=total(), unit=f" {what}", unit_scale=False, smoothing=0.1) as one:
        yield one.update


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"
