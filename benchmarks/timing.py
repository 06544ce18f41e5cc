"""Times measured side by side, memory, and the figures made of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        subject: The part of the product that is measured.
        what: What is compared with what.
        value: What was measured.
        goal: What it must reach, None where it is told for comparison only.
        least: Whether the goal is a lower bound; otherwise it is an upper one.
        unit: What follows the number.
    """

    subject: str
    what: str
    value: float
    goal: float | None = None
    least: bool = True
    unit: str = "x"

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached, None without one."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.least else self.value <= self.goal


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(repeats: int, **works: Callable[[], object]) -> dict[str, float]:
    """Return the median seconds of each work, all of them run once in every round."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        # In turns, so that a machine that slows down for a while slows them all.
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: median(taken) for name, taken in times.items()}


def memory(field: str) -> float:
    """Return a field of this process's status in MiB: VmRSS is what it holds, VmHWM its most."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def peak_of(script: str, rows: int) -> float:
    """Return what a script prints for so many rows, in a fresh process: MiB that it needed."""
    command = [sys.executable, script, str(rows)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
