"""Which data files are as they were written: checked when opened, and now and then by each sync.

A bit that flips in a Parquet file mostly reads back as another number, so that a file is compared
with its name, which is the SHA-256 of its bytes. ``checked.json`` is only a memory of that: without
it everything is checked again.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.storage.files import (
    CURE,
    File,
    LostError,
    digest,
    is_refusal,
    see_own_process,
    stamp,
    unreadable,
    write_whole,
)

_NOTE: Final = "checked.json"
_VALID: Final = 30 * 86_400.0  # seconds for which a check holds
_SYNCS: Final = 30  # one a day, in which each file is checked
_SHARE: Final = 2.0  # seconds of such checks in a sync, at least
_DAMAGED: Final = 0.0  # instead of the time of a check: it comes first in the next sync
_NEVER: Final = 1.0


class _Check(msgspec.Struct, frozen=True, array_like=True):
    size: int
    modified: int  # nanoseconds
    at: float  # seconds since 1970


class Checks:
    """The checks of the data files of a folder.

    Args:
        folder: Of the mirror.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checks: dict[str, _Check] | None = None
        self._is_noted = True

    def paths(self, files: Sequence[File], *, note: bool = True, anew: bool = False) -> list[str]:
        """Return the paths of files that are as they were written.

        Args:
            files: The files.
            note: Whether what was checked is written down.
            anew: Whether the bytes of each are read, whenever they were checked.

        Raises:
            LostError: One does not exist.
            MirrorError: One is damaged, or cannot be read.
        """
        see_own_process()
        try:
            for file in files:
                if anew:
                    self._read().pop(file.name, None)
                if fault := self._fault(file):
                    raise fault
        finally:
            if note:
                self._note()
        return [self._path(file) for file in files]

    def lost(self, read: Iterable[File], others: Iterable[File], *, all_: bool) -> list[File]:
        """Return which files are lost or damaged.

        Args:
            read: Files that are about to be read.
            others: Of these the ones checked longest ago are read; of each is seen that it is
                there, with its size.
            all_: Whether the bytes of each are read, whenever they were checked.

        Raises:
            UnreadableError: The system does not read one: it is not known to be lost.
        """
        read, others, checks = list(read), list(others), self._read()
        names = {file.name for file in (*read, *others)}
        for name in [name for name in checks if all_ or name not in names]:
            del checks[name]
        lost = [file for file in read if self._fault(file)]
        rest = sorted(others, key=lambda file: self._checked(file.name))
        started, least = time.monotonic(), math.ceil(len(rest) / _SYNCS)
        for number, file in enumerate(rest):
            if all_ or number < least or time.monotonic() - started < _SHARE:
                checks.pop(file.name, None)
                is_whole = self._fault(file) is None
            else:
                there = stamp(self._path(file))
                is_whole = there is not None and there[1] == file.bytes
            lost += [] if is_whole else [file]
        self._note()
        return lost

    def _fault(self, file: File) -> MirrorError | None:
        """Return what is wrong with a file, None where nothing is."""
        checks, path = self._read(), self._path(file)
        check, there = checks.get(file.name), stamp(path)
        modified, size = (0, 0) if there is None else there[:2]
        if (
            check is not None and there is not None
            and (size, modified) == (check.size, check.modified)
            and size == file.bytes and time.time() - check.at < _VALID
        ):  # fmt: skip
            return None
        fault: MirrorError | None = None
        try:
            if there is None:
                fault = LostError(f"{path} is lost; {CURE}")
            elif size != file.bytes or digest(path) != file.name:
                fault = MirrorError(f"{path} is not as it was written; {CURE}")
        except OSError as error:
            if is_refusal(error):
                raise unreadable(path, error) from error
            fault = LostError(f"{path} is lost; {CURE}")
        self._is_noted = False
        checks[file.name] = _Check(size, modified, _DAMAGED if fault else time.time())
        return fault

    def _path(self, file: File) -> str:
        return f"{self._folder}/{file.path}"

    def _checked(self, name: str) -> float:
        check = self._read().get(name)
        return _NEVER if check is None else check.at

    def _read(self) -> dict[str, _Check]:
        if self._checks is None:
            self._checks = {}
            with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
                text = (self._folder / _NOTE).read_bytes()
                self._checks = msgspec.json.decode(text, type=dict[str, _Check])
        return self._checks

    def _note(self) -> None:
        """Write the memory down where that is possible: a folder may be read-only."""
        if not self._is_noted and self._folder.is_dir():
            self._is_noted = True
            with contextlib.suppress(OSError):
                write_whole(self._folder / _NOTE, msgspec.json.encode(self._read()), lasting=False)
