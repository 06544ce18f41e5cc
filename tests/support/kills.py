"""Processes that sync a mirror and are killed where it is told."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import polars as pl

from finstat_kit.mirror.log import Log
from tests.support.syncs import Crash

ROOT = Path(__file__).parents[2]

# Syncs a folder, and kills itself where it is told to: before or after the commit of that number
# to a table, or the replacement of a file.
KILLED = """
import os, pathlib, signal, sys
from finstat_kit.mirror import log as logs, mirror
from tests.support.mirrors import register_on

folder, day, where, number, moment = sys.argv[1:]
left = int(number)

def killing(change, name):
    def changed(self, *arguments, **options):
        global left
        here = name(self) == where
        left -= here
        last = here and left == 0
        if last and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = change(self, *arguments, **options)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return changed

log = logs.Log
log._written = killing(log._written, lambda self: f"{self.path.name} file")
log.append = killing(log.append, lambda self: self.path.name)
log.note = killing(log.note, lambda self: f"{self.path.name} note")
log.compact = killing(log.compact, lambda self: "compact")
pathlib.Path.replace = killing(pathlib.Path.replace, lambda self: self.name)
mirror = mirror.Mirror(folder, register=register_on(int(day)))
mirror.sync()
mirror.compact(keep_hours=0)
"""


def run(script: str, *arguments: object) -> int:
    """Run a script in a process of its own and return how it ended."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in seen.stderr, seen.stderr
    return seen.returncode


@contextlib.contextmanager
def killed_after(name: str) -> Iterator[None]:
    """End what runs in the block after its first commit to a log."""
    append = Log.append

    def append_once(log: Log, rows: pl.DataFrame, about: str) -> None:
        append(log, rows, about)
        if log.path.name == name:
            raise Crash

    with contextlib.suppress(Crash), mock.patch.object(Log, "append", append_once):
        yield
        raise AssertionError(f"nothing was committed to {name}")
