"""The memory of a process, as Linux tells it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)


@contextmanager
def new_garbage_only() -> Iterator[None]:
    """Leave what is there out of ``gc.collect()``: it looks at what comes, which is quick."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def memory(field: str, pid: int | str = "self") -> float:
    """Return a field of a process's status in MB: VmRSS is what it holds, VmHWM its most.

    The most that `resource` tells is no use in a child: it begins with that of the parent.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024
