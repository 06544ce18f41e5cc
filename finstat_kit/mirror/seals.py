"""The checksums of a table: of its data files, and of the commits that list them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.sealed import Stamp, checksum_of, read_sealed, stamp, write_sealed

SEALS: Final = "_seals.txt"  # other readers ignore names with an underscore
COMMITS: Final = "_delta_log"
_OLD: Final = "_checksums.txt"  # of format 1


class Sealed(NamedTuple):
    """The state of a table when its seals were written."""

    commit: int  # the newest
    files: dict[str, str]  # SHA-256 by name within the folder


class Seals:
    """The seals of one table; a verified file is not read again until it changes."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / SEALS
        self._folder = folder
        self._read: tuple[Stamp, Sealed] | None = None
        self._sound: dict[str, tuple[Stamp, str]] = {}  # by path, with its checksum

    def read(self) -> Sealed | None:
        """Return the newest seals, None if there are none.

        Raises:
            MirrorError: The seals are damaged.
        """
        now = stamp(self.file)
        if now is None:
            return None
        if self._read is None or self._read[0] != now:
            body = read_sealed(
                self.file,
                f"the data may be intact: remove {self.file}: the next sync() verifies every row "
                "and writes it anew",
            )
            if body is None:
                return None
            commit, files = json.loads(body)
            self._read = now, Sealed(commit, files)
        return self._read[1]

    def write(self, sealed: Sealed) -> None:
        """Replace the seals."""
        write_sealed(self.file, json.dumps(sealed).encode())
        (self._folder / _OLD).unlink(missing_ok=True)

    def fits(self, file: str) -> bool:
        """Return whether a data file matches its seal, or has none."""
        now, sealed = stamp(file), self.read()
        checksum = None if sealed is None else sealed.files.get(Path(file).name)
        if now is None or checksum is None or self._sound.get(file) == (now, checksum):
            return True
        if checksum_of(Path(file)) != checksum:
            return False
        self._sound[file] = now, checksum
        return True

    def broken_commit(self) -> str | None:
        """Return the name of an altered commit file, None if there is none."""
        sealed = self.read()
        for name, checksum in () if sealed is None else sealed.files.items():
            if name.startswith(COMMITS):
                try:
                    whole = checksum_of(self._folder / name) == checksum
                except FileNotFoundError:  # removed, as commits before a checkpoint are
                    continue
                except OSError as error:
                    file = self._folder / name
                    raise MirrorError(f"{file} cannot be read: {error}; check the disk") from error
                if not whole:
                    return name
        return None
