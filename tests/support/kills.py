"""Processes that sync a mirror and are killed where it is said, or where it is cut off."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[2]

# Syncs a folder, and kills itself where it is told to: before or after it puts a file of that kind
# and number into its place, or deletes one.
KILLED = """
import os, signal, sys
from finstat_kit.mirror.mirror import Mirror
from tests.support.kills import at_writes
from tests.support.mirrors import register_on

folder, day, where, number, moment = sys.argv[1:]
with at_writes(where, int(number), moment, lambda: os.kill(os.getpid(), signal.SIGKILL)):
    mirror = Mirror(folder, register=register_on(int(day)))
    mirror.sync()
"""


def kind_of(target: Path) -> str:
    """Return what kind of a file is written: data, runs, or newest.json."""
    return target.parent.name if target.parent.name in ("data", "runs") else target.name


@contextlib.contextmanager
def at_writes(where: str, number: int, moment: str, end: Callable[[], Any]) -> Iterator[None]:
    """Call a function where the system is told to replace or delete a file.

    Args:
        where: The kind of the file, or "any"; with ``-`` before it where it is deleted.
        number: The how manyth.
        moment: Whether ``"before"`` or ``"after"``.
        end: The function.
    """
    left = [number]

    def ending(change: Callable[..., Any], mark: str) -> Callable[..., Any]:
        def changed(path: Path, *arguments: Any, **options: Any) -> Any:
            target = Path(arguments[0]) if arguments else path
            here = where == "any" or mark + kind_of(target) == where
            left[0] -= here
            last = here and left[0] == 0
            if last and moment == "before":
                end()
            result = change(path, *arguments, **options)
            if last and moment == "after":
                end()
            return result

        return changed

    with (
        mock.patch.object(Path, "replace", ending(Path.replace, "")),
        mock.patch.object(Path, "unlink", ending(Path.unlink, "-")),
    ):
        yield


def run(script: str, *arguments: object) -> int:
    """Run a script in a process of its own and return how it ended."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in seen.stderr, seen.stderr
    return seen.returncode
