"""Progress of long work: a bar on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], object]
Total = Callable[[], int | None]


@contextmanager
def bar(
    what: str, total: int | Total, *, watched: bool, progress: bool | None, scaled: bool = False
) -> Iterator[Advance]:
    """Show a bar with rate and time left as long as the block lasts.

    Args:
        what: The noun of the counted things: ids, records.
        total: The expected number, or a function that fetches it, which is called only for a bar.
            Without a number the bar has no end.
        watched: Whether the work may take long enough for a bar, as requests to a real host do.
        progress: True or False forces the choice; None shows a bar for such work in a notebook or
            on a terminal.
        scaled: Whether numbers are shown in thousands and millions, as those of bytes are.

    Yields:
        A function to call with the number of things done.
    """
    notebook = _in_notebook()
    if progress is None:
        progress = watched and (notebook or sys.stderr.isatty())
    if not progress:
        yield lambda n: None
        return
    if notebook:
        from tqdm.notebook import tqdm as shown
    else:
        from tqdm import tqdm as shown  # type: ignore[assignment]
    number = total if isinstance(total, int) else total()
    with shown(total=number, unit=f" {what}", unit_scale=scaled, smoothing=0.1) as tqdm_bar:
        yield tqdm_bar.update


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"
