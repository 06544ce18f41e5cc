"""Runs that are lost, or ``open.json``, as far as the data files say what was in them."""

from __future__ import annotations

import contextlib
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import polars as pl

from finstat_kit.errors import warn
from finstat_kit.mirror.storage.files import BROKEN, File, legible
from finstat_kit.mirror.storage.folder import COLLECTIONS, LOGS
from finstat_kit.mirror.storage.runs import FORMAT, Loss, Open, Run, Runs
from finstat_kit.mirror.storage.versions import RECORD


class Restored(NamedTuple):
    """What data files say.

    Attributes:
        run: The newest run that is known, with all files that are there; None without any.
        pending: What was appended after it; None for nothing.
        lost: Versions that no file has.
    """

    run: Run | None
    pending: Open | None
    lost: tuple[Loss, ...] = ()


def restored(runs: Runs, run: Run | None) -> Restored:
    """Return what the data files of a folder say of lost runs, or of what no run lists yet.

    Args:
        runs: Of the folder.
        run: The newest run that can be read, None without any.
    """
    known = run.names | run.retired.keys() if run else frozenset()
    origins = [(path, origin) for path, origin in runs.origins() if path.stem not in known]
    if not origins:
        if run is None:
            return Restored(None, None)
        only = None if run.last.only is None else run.only
        pending = Open(FORMAT, run.last.run, run.about, run.last.contents, only, None, {})
        return Restored(run, pending)
    newest = origins[0][1]
    replaced = {name for _, origin in origins for name in origin.replaces}
    files: dict[str, list[File]] = {log: [] for log in LOGS}
    for path, origin in origins:  # the newest first: a file that a crash left may be doubled
        log = origin.log
        if path.stem in replaced or log not in LOGS or origin.about != newest.about:
            continue
        file = _described(path, log)
        reached = run.last.reached.get(log, 0) if run else 0
        if file is None or file.first <= reached:
            continue
        if not any(file.first <= other.last and other.first <= file.last for other in files[log]):
            files[log].append(file)
    listed = {
        log: tuple(sorted(own, key=lambda file: file.first)) for log, own in files.items() if own
    }
    last = max((o.last for _, o in origins if o.last), key=lambda point: point.run, default=None)
    walk, lost = newest.walk, list[Loss]()
    if run is None and last is not None:
        for log in COLLECTIONS:
            lost += _gaps(log, listed.get(log, ()), last.reached.get(log, 0))
        lost += _without_cells(runs.path, listed)
        run = Run(FORMAT, last.run, newest.about, (last,), listed, {}, newest.only or ())
        walk, listed = None, {}
        warn(
            f"the runs of the mirror at {runs.path} are lost; the newest that its data files know "
            f"of, of {last.day}, is restored from them, the days before it are not"
        )
    after = 0 if run is None else run.last.run
    pending = Open(FORMAT, after, newest.about, newest.contents, newest.only, walk, listed)
    return Restored(run, pending, tuple(lost))


def _described(path: Path, log: str) -> File | None:
    """Return what is said of a file, None of one that is damaged."""
    with contextlib.suppress(*BROKEN):
        content = path.read_bytes()
        if sha256(content).hexdigest() == path.stem:
            return LOGS[log].described(path.stem, content)
    return None


def _gaps(log: str, files: tuple[File, ...], reached: int) -> list[Loss]:
    """Return the versions of a collection, up to one that was reached, that are in no file."""
    ends = [0, *(file.last for file in files)]
    starts = [*(file.first for file in files), reached + 1]
    return [
        Loss(log, "", end + 1, start - 1)
        for end, start in zip(ends, starts, strict=True)
        if start > end + 1
    ]


def _without_cells(folder: Path, files: dict[str, tuple[File, ...]]) -> list[Loss]:
    """Return the versions of reports that have cells in no file: lost, or none was filled in."""
    paths = [f"{folder}/{file.path}" for file in files.get("reports", ())]
    records = LOGS["reports"].scan(paths).filter(kind=RECORD)
    with legible(folder):
        versions = records.select(pl.col("version").unique()).collect()["version"]
    spans = [(file.first, file.last) for file in files.get("cells", ())]
    bare = [v for v in versions if not any(first <= v <= last for first, last in spans)]
    return [Loss("cells", "", version, version) for version in bare]
