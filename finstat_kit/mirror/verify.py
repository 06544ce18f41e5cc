"""Every byte of a mirror compared with the name of its file, and every table with its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.log import CURE, Log
from finstat_kit.mirror.runs import About, parsed
from finstat_kit.mirror.state import Folder

VERIFIED: Final = pl.Schema(
    {"file": pl.String(), "rows": pl.Int64(), "damaged": pl.Int64(), "meaning": pl.String()}
)
_Row = tuple[str, int, int, str]


def verified(folder: Folder) -> pl.DataFrame:
    """Return one row per file, damaged files first; see `Mirror.verify`."""
    about: About | None = None
    least: Mapping[str, int] = {}
    rows: list[_Row] = []
    try:
        about, history = folder.begun(), folder.history()
        least = history.done[-1].rows if history.done else {}
        if not history.done or (history.open and history.open.lost):
            rows.append(("runs", 0, 0, "no sync is complete: sync() resumes it"))
        runs = ""
    except MirrorError as error:
        runs = str(error)
    for name, log in {"runs": folder.runs, **folder.logs}.items():
        rows += _log(name, log, least.get(name, 0), about)
    if runs and not any(file.startswith("runs") for file, _, damaged, _ in rows if damaged):
        rows.append(("runs", 1, 1, runs))
    return pl.DataFrame(rows, schema=VERIFIED, orient="row").sort(pl.col("meaning") == "", "file")


def _log(name: str, log: Log, least: int, about: About | None) -> Iterator[_Row]:
    try:
        log.reopen()
        own = None if log.about is None else parsed(log.about, log.path)
    except MirrorError as error:
        yield name, max(least, 1), max(least, 1), str(error)
        return
    if own is not None and about is not None and own != about:
        meaning = f"it is of another register or another mirror than the runs; {CURE}"
        yield name, log.rows, log.rows, meaning
    if log.rows < least:
        yield name, least, least - log.rows, f"rows are lost; {CURE}"
    damaged = {entry.path: meaning for entry, meaning in log.damage()}
    for entry in log.entries():
        file = f"{name}/{Path(entry.path).name}"
        if entry.path in damaged:
            many = max(entry.rows, 1)
            yield file, many, many, f"{damaged[entry.path]}; {CURE}"
        else:
            yield file, entry.rows, 0, ""
