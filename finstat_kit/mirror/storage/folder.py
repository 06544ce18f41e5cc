"""The folder of a mirror: which run is the newest, what is kept, and what is deleted.

Writing a run is the one atomic commit for all logs. ``newest.json`` names the newest run with a
point, so that its loss is noticed, and a copy over HTTP knows where to begin.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final

import filelock
import msgspec

from finstat_kit.errors import MirrorError, warn
from finstat_kit.mirror.storage.files import (
    DATA,
    DRAFT,
    DamagedError,
    deleted,
    failures_named,
    keep_names,
    moved,
    see_own_process,
    unreadable,
    write_whole,
)
from finstat_kit.mirror.storage.runs import Run, opened, sealed
from finstat_kit.transport.base import refuse_child

NEWEST: Final = "newest.json"
_RUNS: Final = "runs"
_DAMAGED: Final = "damaged"  # in it: runs that could not be read
_NAME: Final = re.compile(r"(\d{8})\.json")
_OURS: Final = re.compile(rf"[0-9a-f]{{64}}\.parquet|.+{re.escape(DRAFT)}")
_KEPT: Final = 2  # of the newest runs, whatever they hold
_KEPT_POINTS: Final = 10  # of the newest runs with a point
_DAY: Final = 86_400.0  # seconds


class Newest(msgspec.Struct, frozen=True):
    """What ``newest.json`` says: the newest run with a point.

    Attributes:
        number: Its number.
        sha256: Of its file.
        day: Of the point.
    """

    number: int
    sha256: str
    day: date


class Folder:
    """The directory of a mirror.

    Args:
        path: Absolute.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = os.getpid()
        self._lock = threading.RLock()
        self.last_read: Run | None = None  # nothing is read for it
        self._read: tuple[int, int] | None = None  # the number and the time of that run

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by its path, within a LazyFrame of figures."""
        return type(self), (self.path,)

    @property
    def lock(self) -> threading.RLock:
        """The lock of whoever reads; a forked child, which might wait for ever, is refused."""
        refuse_child(self._process)
        return self._lock

    def newest(self) -> Run | None:
        """Return the newest run that can be read, None where there is none.

        Raises:
            DamagedError: All runs are lost.
            UnreadableError: They are of another format, or the system does not read them.
        """
        with self.lock:
            while True:
                noted = self.noted()  # before the runs are listed: it is written after them
                numbers = self._numbers()
                latest = max([noted.number if noted else 0, *numbers], default=0)
                if not latest and not self.exists():
                    self.last_read = None
                    return None
                key = latest, self._written(latest)
                if self.last_read is not None and self._read == key:
                    return self.last_read
                faults: list[str] = []
                for number in sorted({latest, *numbers}, reverse=True):
                    try:
                        self.last_read, self._read = opened(self._file(number)), key
                    except DamagedError as error:
                        faults.append(str(error))
                        continue
                    if faults:
                        warn(
                            f"{faults[0]}: the mirror at {self.path} is read as of run {number}, "
                            "the one before; the next sync() or pull() goes on from it"
                        )
                    return self.last_read
                if numbers == self._numbers():  # else one was written meanwhile
                    raise DamagedError(
                        f"the runs of the mirror at {self.path} are lost: {faults[0]}",
                        cure="put a copy of the folder in its place, pull() one, or let "
                        "sync(anew=True) request everything again",
                    )

    def complete(self) -> Run:
        """Return the newest run, which has a point.

        Raises:
            MirrorError: There is no mirror, no complete sync, or all is lost.
        """
        run = self.newest()
        if run is None:
            raise MirrorError(
                f"there is no mirror in {self.path}",
                cure="sync() creates one, or give another folder",
            )
        if not run.points:
            raise MirrorError(
                f"the mirror at {self.path} has no complete sync yet, and a part would be taken "
                "for the whole; sync() resumes where the last one ended"
            )
        return run

    def exists(self) -> bool:
        """Return whether there is a mirror, or a remnant of one."""
        data = next((self.path / DATA).glob("*.parquet"), None)
        return bool(self._numbers()) or (self.path / NEWEST).exists() or data is not None

    def noted(self) -> Newest | None:
        """Return what ``newest.json`` says, None where it cannot be read."""
        with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
            return msgspec.json.decode((self.path / NEWEST).read_bytes(), type=Newest)
        return None

    # Writing

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the directory for writing; the system releases the lock when the process ends.

        Raises:
            MirrorError: Another process holds it, or the disk cannot be written.
        """
        see_own_process()
        with failures_named(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                with filelock.FileLock(self.path / "writer.lock", timeout=0):
                    yield
            except filelock.Timeout:
                raise MirrorError(
                    f"the mirror at {self.path} is being written by another process; wait until "
                    "that has ended; reading it is possible meanwhile"
                ) from None

    def latest(self) -> int:
        """Return the greatest number of a run, whether it can be read or not; 0 without any."""
        noted = self.noted()
        aside = [int(path.stem) for path in (self.path / _RUNS / _DAMAGED).glob("*.json")]
        return max([noted.number if noted else 0, *self._numbers(), *aside], default=0)

    def mended(self) -> tuple[Run | None, int | None]:
        """Move runs that cannot be read aside, and renew ``newest.json`` where it is behind.

        Returns:
            The newest run, and the number of a newer one with a point that is lost.
        """
        run, noted = self.newest(), self.noted()
        self.move_damaged()
        if run is not None and noted is not None and noted.number > run.number:
            return run, noted.number
        is_behind = run is not None and run.points and (not noted or noted.number < run.shown)
        if run is not None and (is_behind or (noted and not self._file(noted.number).exists())):
            self._note(run)
        return run, None

    def damaged(self) -> list[int]:
        """Return the numbers of runs that are there, or noted, and cannot be read."""
        noted, found = self.noted(), []
        for number in sorted({*self._numbers(), *([noted.number] if noted else [])}):
            try:
                opened(self._file(number))
            except DamagedError:
                found.append(number)
        return found

    def move_damaged(self) -> None:
        """Move runs that cannot be read aside."""
        for number in self.damaged():
            if self._file(number).exists():
                (self.path / _RUNS / _DAMAGED).mkdir(exist_ok=True)
                moved(self._file(number), self.path / _RUNS / _DAMAGED / f"{number:08}.json")

    def commit(self, run: Run, former: Run | None, latest: int | None = None) -> None:
        """Write a run: from now on it is the newest.

        Args:
            run: The run.
            former: The one that it was made from.
            latest: The greatest number of a run when it was begun; None for the one before it.

        Raises:
            MirrorError: Another process has written a run, or the disk cannot be written.
        """
        with failures_named(self.path):
            now = self.latest()
            if now != (run.number - 1 if latest is None else latest):
                raise MirrorError(
                    f"another process has written run {now} of the mirror at {self.path} "
                    "meanwhile, and its lock was not seen by this one; sync again, from one "
                    "machine at a time"
                )
            dropped = former.names - run.names if former else frozenset()
            for name in dropped:  # they stay a day, for those who read them
                with contextlib.suppress(OSError):
                    os.utime(self.path / DATA / f"{name}.parquet")
            keep_names(self.path / DATA)  # of all that the run lists, whatever happens then
            write_whole(self._file(run.number), sealed(run))
            keep_names(self.path / _RUNS)
            self.last_read, self._read = run, (run.number, self._written(run.number))
            numbers = sorted(self._numbers())
            kept = {*numbers[-_KEPT:], *(point.run for point in run.points[-_KEPT_POINTS:])}
            stay = kept.intersection(numbers)
            if run.points and (run.shown == run.number or run.shown not in stay):
                self._note(run)
            for number in numbers:
                if number not in kept:
                    with contextlib.suppress(OSError):
                        deleted(self._file(number))

    def sweep(self) -> None:
        """Delete files with a name of ours that no run lists, and that are older than a day."""
        names: set[str] = set()
        with contextlib.suppress(MirrorError):
            for number in self._numbers():
                names |= opened(self._file(number)).names
            for folder in (DATA, _RUNS, "."):
                self._swept(self.path / folder, names)

    def set_aside(self) -> None:
        """Give what there is another name, so that a mirror can be made anew."""
        number = 1
        while (target := self.path / f"before-{number}").exists():
            number += 1
        target.mkdir()
        for name in (NEWEST, _RUNS, DATA):
            if (self.path / name).exists():
                moved(self.path / name, target / name)

    def _swept(self, folder: Path, names: set[str]) -> None:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in list(entries):
                if not _OURS.fullmatch(entry.name) or entry.name[:64] in names:
                    continue  # of another program, or needed
                with contextlib.suppress(OSError):  # it is tried again by the next sync
                    if time.time() - entry.stat().st_mtime >= _DAY:
                        deleted(Path(entry.path))

    def _note(self, run: Run) -> None:
        numbers = [n for n in sorted(self._numbers()) if n in (run.shown, run.number)]
        digest = sha256(self._file(numbers[0]).read_bytes()).hexdigest()
        newest = Newest(numbers[0], digest, run.newest.day)
        write_whole(self.path / NEWEST, msgspec.json.encode(newest) + b"\n")

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self.path / _RUNS)  # noqa: PTH208  # a tenth of the time
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unreadable(self.path / _RUNS, error) from error
        return [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]

    def _written(self, number: int) -> int:
        try:
            return os.stat(self._file(number)).st_mtime_ns  # noqa: PTH116
        except OSError:
            return 0

    def _file(self, number: int) -> Path:
        return self.path / path_of(number)


def path_of(run: int) -> str:
    """Return the path of a run within the folder of a mirror."""
    return f"{_RUNS}/{run:08}.json"
