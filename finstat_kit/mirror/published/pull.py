"""One pull: a published mirror is copied, the first time whole, then what is new in it.

A mirror is files named by their content and a chain of runs, so that copying it is what git does:
the newest run, the files that are not here yet, and then a run of our own, which is one commit.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
import polars as pl
from msgspec.structs import replace

from finstat_kit.errors import (
    Interrupted,
    MirrorError,
    NotFound,
    ProtocolError,
    RegisterError,
    UsageError,
    warn,
)
from finstat_kit.mirror.published.place import OnDisk, OnTheWeb
from finstat_kit.mirror.storage.files import DamagedError, File, failures_named, write_whole
from finstat_kit.mirror.storage.folder import NEWEST, Folder, Newest, path_of
from finstat_kit.mirror.storage.logs import LOGS
from finstat_kit.mirror.storage.runs import FORMAT, Point, Pulled, Run, unsealed
from finstat_kit.progress import bar
from finstat_kit.transport.threads import in_order

PULLED: Final = pl.Schema(
    {
        "log": pl.String(),
        "new": pl.Int64(),
        "dropped": pl.Int64(),
        "files": pl.Int64(),
        "bytes": pl.Int64(),
        "day": pl.Date(),
    }
)
_NAME: Final = re.compile(r"[0-9a-f]{64}")
_CONNECTIONS: Final = 4
_TIMES: Final = 3  # that it is begun again, as a merge there may have replaced files
_NEWEST_CAP: Final = 4_000
_RUN_CAP: Final = 64 * 2**20
_LAST: Final = 99_999_999  # the greatest number of a run
_GOES_ON: Final = "; what has come is here, and the next pull() goes on"


@dataclass
class Pull:
    """A pull into one folder, which the caller holds for writing.

    Args:
        folder: The folder.
        source: Where from.
        full: Whether the bytes of all files are compared with their names.
        anew: Whether what is here may be of another history.
        progress: As of `Mirror.pull`.
    """

    folder: Folder
    source: OnTheWeb | OnDisk
    full: bool
    anew: bool
    progress: bool | None

    def go(self) -> pl.DataFrame:
        """Bring the copy in step; return the report."""
        with self._resumable(), contextlib.closing(self.source):
            for time in range(_TIMES + 1):
                try:
                    report = self._once()
                    break
                except (NotFound, ProtocolError) as error:
                    if time == _TIMES:
                        error.cure = f"it was begun again {_TIMES} times; pull later, or tell who "
                        error.cure += f"publishes {self.source.name}"
                        raise
        self.folder.sweep()
        return report

    def plan(self) -> pl.DataFrame:
        """Return the report of what a pull would do, and write nothing."""
        with contextlib.closing(self.source):
            _, there = self._newest()
            here = self._here()
            report, _ = self._compared(here, there)
            return report

    def _once(self) -> pl.DataFrame:
        newest, there = self._newest()
        here = self._here()
        report, files = self._compared(here, there)
        if files is None:
            return report
        lost = None
        if here is None:
            self.folder.move_damaged()
        else:
            _, lost = self.folder.mended()  # what it knew comes again
        self._fetch(files)
        latest = self.folder.latest()
        number = max(latest, newest.number) + 1
        pulled = Pulled(self.source.name, newest.number, newest.sha256, there.newest.day, number)
        run = replace(there, format=FORMAT, number=number, pulled=pulled)
        is_same = here is not None and replace(run, number=here.number, pulled=here.pulled) == here
        if not is_same or lost or here is None or here.pulled is None:
            self.folder.commit(run, here, latest)
        return report

    # What is there, and what is here

    def _newest(self) -> tuple[Newest, Run]:
        """Return what ``newest.json`` says, and its run: of its files those up to its point."""

        def read(content: bytes) -> Newest:
            try:
                newest = msgspec.json.decode(content, type=Newest)
            except msgspec.MsgspecError as error:
                raise ProtocolError(f"{NEWEST} is not what it has to be: {error}") from error
            if not 0 < newest.number <= _LAST:
                raise ProtocolError(f"{NEWEST} names run {newest.number}")
            return newest

        newest = self.source.read(NEWEST, _NEWEST_CAP, read)
        path = path_of(newest.number)

        def read_run(content: bytes) -> Run:
            if sha256(content).hexdigest() != newest.sha256:
                raise ProtocolError(f"{path} is not what {NEWEST} says")
            try:
                run = unsealed(f"{self.source.name}/{path}", content)
            except (DamagedError, msgspec.MsgspecError) as error:
                raise ProtocolError(f"{path} is no run: {error}") from error
            if run.number != newest.number or not run.points:
                raise ProtocolError(f"{path} is of run {run.number}, {len(run.points)} points")
            for file in (file for files in run.files.values() for file in files):
                if not _NAME.fullmatch(file.name) or file.bytes < 0:
                    raise ProtocolError(f"{path} names a file {file.name[:80]!r}")
            return run

        run = self.source.read(path, _RUN_CAP, read_run)
        files = {
            log: own for log in LOGS
            if (own := tuple(f for f in run.files.get(log, ()) if f.first <= run.upto(log)))
        }  # fmt: skip
        return newest, replace(run, files=files, under_way=None)

    def _here(self) -> Run | None:
        """Return the newest run here; None where there is none, or none can be read."""
        try:
            return self.folder.newest()
        except DamagedError:
            return None

    def _compared(self, here: Run | None, there: Run) -> tuple[pl.DataFrame, list[File] | None]:
        """Return the report, and the files that are to be fetched; None where nothing is pulled.

        Raises:
            UsageError: It would not be a step forward.
        """
        dropped: tuple[Point, ...] = ()
        if here is not None and not self.anew:
            points, dropped = _known(here, there)
            self._see_forward(here, points, there)
            if len(points) > len(there.points):
                warn(
                    f"the mirror at {self.source.name} is as of {there.newest.day}, this one of "
                    f"{points[-1].day}: nothing is pulled"
                )
                return _report(here, here, []), None
            if dropped:
                warn(
                    f"{len(dropped)} points of the mirror at {self.folder.path}, of "
                    f"{', '.join(str(point.day) for point in dropped)}, are taken out: the runs "
                    f"that they are of were lost at {self.source.name}"
                )
        files = self._lacking(here, there)
        report = _report(here, there, files)
        if above := report.filter(pl.col("log") != "points")["dropped"].sum():
            warn(
                f"{above:,} rows above the newest point of the mirror at {self.folder.path}, of a "
                "sync that was cut off, are dropped"
            )
        return report, files

    def _see_forward(self, here: Run, points: tuple[Point, ...], there: Run) -> None:
        own, other = here.settings, there.settings
        fault = ""
        cure = "give another folder, or pull(anew=True), which keeps files of equal name"
        if own.name != other.name:
            fault = f"is of {own.name}, and {self.source.name} of {other.name}"
        elif (own.units is None) != (other.units is None):
            fault = f"is {_of_units(own.units)}, and {self.source.name} {_of_units(other.units)}"
            if own.units is not None:
                cure = (
                    "pull it whole into another folder, and extract() these units: each of its "
                    "files holds rows of many"
                )
        else:
            for mine, its in zip(points, there.points, strict=False):
                if mine.id != its.id:
                    fault = (
                        f"has a point of {mine.day} in the place of which {self.source.name} has "
                        f"another, of {its.day}: one of them was synced since it was copied"
                    )
                    break
        if fault:
            raise UsageError(f"the mirror at {self.folder.path} {fault}", cure=cure)

    def _lacking(self, here: Run | None, there: Run) -> list[File]:
        """Return the files that are not here, each once."""
        damaged = {loss.file.name for loss in here.lost} - here.names if here else frozenset()
        files = {file.name: file for files in there.files.values() for file in files}
        return [
            file for file in files.values()
            if file.name in damaged or file.fault(self.folder.path, whole=self.full)
        ]  # fmt: skip

    # Files

    def _fetch(self, files: list[File]) -> None:
        size = sum(file.bytes for file in files)
        with failures_named(self.folder.path):
            free = shutil.disk_usage(self.folder.path).free
        if size > free:
            raise MirrorError(
                f"the disk of {self.folder.path} has {free:,} bytes left, and {size:,} are to be "
                "pulled",
                cure="make room, or give a folder on another disk",
            )

        def fetch(file: File, stop: threading.Event) -> None:
            def place(content: bytes) -> None:
                if len(content) != file.bytes or sha256(content).hexdigest() != file.name:
                    raise ProtocolError(f"{file.path} is not what its name and its run say")
                with failures_named(self.folder.path):
                    write_whole(self.folder.path / file.path, content)

            self.source.read(file.path, file.bytes, place, stop)

        with (
            bar("B", size, watched=True, progress=self.progress, scaled=True) as advance,
            contextlib.closing(in_order(files, fetch, _CONNECTIONS)) as done,
        ):
            for file, _ in done:
                advance(file.bytes)

    @contextlib.contextmanager
    def _resumable(self) -> Iterator[None]:
        try:
            yield
        except RegisterError as error:
            if not isinstance(error, UsageError | MirrorError):
                error.message += _GOES_ON
            raise
        except KeyboardInterrupt as interrupt:
            raise Interrupted(f"interrupted while files were pulled{_GOES_ON}") from interrupt


def _known(here: Run, there: Run) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Return the points here, apart from those whose run was lost there; and these."""
    ids = {point.id for point in there.points}
    lost = {lost.run for lost in there.lost_runs}
    upto = here.pulled.number if here.pulled else 0  # points of syncs here are of later runs
    gone = [p for p in here.points if p.id not in ids and p.run in lost and p.run <= upto]
    return tuple(point for point in here.points if point not in gone), tuple(gone)


def _of_units(units: tuple[object, ...] | None) -> str:
    return "of all units" if units is None else f"of {len(units)} given units"


def _report(here: Run | None, there: Run, files: list[File]) -> pl.DataFrame:
    """Return what a pull does, log by log, and of the points."""
    names = {file.name for file in files}
    rows: list[tuple[object, ...]] = []
    for log in LOGS:
        upto = here.upto(log) if here else 0
        own = here.files.get(log, ()) if here else ()
        before = sum(file.rows for file in own if file.first <= upto)
        above = sum(file.rows for file in own if file.first > upto) if here is not there else 0
        listed = there.files.get(log, ())
        new = sum(file.rows for file in listed) - before if here is not there else 0
        fetched = [file.bytes for file in listed if file.name in names]
        rows.append((log, max(new, 0), above, len(fetched), sum(fetched), there.newest.day))
    own_points = {point.id for point in here.points} if here else set()
    points = {point.id for point in there.points}
    new, gone = len(points - own_points), len(own_points - points)
    rows.append(("points", new, gone, 0, 0, there.newest.day))
    return pl.DataFrame(rows, schema=PULLED, orient="row")


def needed(folder: Path, newest: Path) -> list[str]:
    """Return the files that must be at the place of a copy before ``newest.json`` is.

    Args:
        folder: Of the mirror.
        newest: A copy of its ``newest.json``.

    Raises:
        MirrorError: One of them is no longer here: what is copied is to be begun again.
        UsageError: It is no ``newest.json``.
    """
    source = OnDisk(folder)
    try:
        said = msgspec.json.decode(newest.read_bytes(), type=Newest)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(
            f"is not a copy of {NEWEST}: {error}", argument="files", value=str(newest)
        ) from error
    path = path_of(said.number)
    again = f"copy {NEWEST} aside again, and begin with it"

    def read(content: bytes) -> Run:
        if sha256(content).hexdigest() != said.sha256:
            raise MirrorError(f"{folder / path} is not what {newest} says", cure=again)
        return unsealed(folder / path, content)

    try:
        run = source.read(path, _RUN_CAP, read)
    except NotFound as error:
        raise MirrorError(error.message, cure=again) from error
    files = [file for files in run.files.values() for file in files]
    for file in files:
        if fault := file.fault(folder, whole=False):
            raise MirrorError(f"{folder / file.path}: {fault}", cure=again)
    return [path, *sorted({file.path for file in files})]
