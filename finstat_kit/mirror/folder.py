"""The directory of a mirror: the settings it was created with, and its write lock."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final

import filelock

from finstat_kit import arguments
from finstat_kit.errors import Either, MirrorError, UsageError
from finstat_kit.protocol.wire import BEGINNING

HERE: Final = "this machine"  # the name in format 1 of every register on this machine
# 1: units alone, whichever register of this machine. 2: the name of the register, and a checksum.
# 3: an extract is marked as one, and which collections are kept with their records, of which units.
FORMAT: Final = 3
NAMED: Final = 2  # the first that records which register it is of
_TABLES: Final = ("units", "runs")
# Characters with a meaning of their own in its addresses: escapes, brackets, unprintable ones.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f\[\]\\^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")


@dataclass(frozen=True)
class Origin:
    """The register of a mirror.

    Attributes:
        register: The base URL.
        invented: Name of the invented data according to the register's replies; None for none.
    """

    register: str
    invented: str | None

    @property
    def name(self) -> str:
        """The identity of the register: the one in its replies, or its URL."""
        return self.register if self.invented is None else self.invented

    @property
    def number(self) -> int:
        """The name as a number, stored in every commit."""
        digest = blake2b(self.name.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little", signed=True)


@dataclass(frozen=True)
class About:
    """The settings a mirror was created with.

    Attributes:
        origin: The register.
        changed_since: The first day of change in the copy.
        format: Format of the directory; 1 did not record which register of this machine it was.
        extract: Number of units of an extract; None for a mirror that syncs.
        contents: The collections beside units that are kept with their records.
        only: Number of the units whose records of these collections are kept; None is all.
    """

    origin: Origin
    changed_since: date
    format: int = FORMAT
    extract: int | None = None
    contents: tuple[str, ...] = ()
    only: int | None = None

    @property
    def since(self) -> date | None:
        """The first day of change of a partial copy, None for a whole one."""
        return part(self.changed_since)

    @property
    def invented(self) -> bool:
        """Whether the data are a sample's."""
        # Format 1 does not distinguish a sample from a tunnel: both were on this machine.
        return self.origin.invented is not None or self.origin.register == HERE


def part(changed_since: date | None) -> date | None:
    """Return the first day of change of a partial copy, None for a whole one."""
    return changed_since if changed_since and changed_since > BEGINNING else None


class Folder:
    """A directory with one writing process at a time and any number of readers.

    Attributes:
        file: ``mirror.json``.
        codelists: The file of the codelists.
        templates: The file of the templates of kept reports.
        only: The file of the units whose contents are kept, where not those of all are.
        known: The settings as last read or written; None before that.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.file = path / "mirror.json"
        self.codelists = path / "codelists.json"
        self.templates = path / "templates.json"
        self.only = path / "only.json"
        self.known: About | None = None

    @property
    def is_begun(self) -> bool:
        """Whether a mirror, or a remnant of one, exists."""
        return self.file.exists() or any((self._path / name).is_dir() for name in _TABLES)

    @property
    def about(self) -> About | None:
        """The settings of the mirror, None before it is created.

        Raises:
            MirrorError: It cannot be read.
        """
        about = self.read()
        if about is None and self.is_begun:
            raise MirrorError(
                f"{self.file} is lost; the next sync() writes it anew, if it is given the "
                "register that the mirror is of"
            )
        return about

    def begun(self) -> About:
        """Return the settings of the mirror.

        Raises:
            MirrorError: There is no mirror in it, or ``mirror.json`` cannot be read.
        """
        about = self.about
        if about is None:
            raise MirrorError(
                f"there is no mirror in {self._path}",
                cure=Either(
                    "sync() creates one, or give another folder",
                    "finstat-kit sync creates one; or give another folder",
                ),
            )
        return about

    def read(self) -> About | None:
        """Return the content of ``mirror.json``, None if it does not exist."""
        try:
            text = self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MirrorError(f"{self.file} cannot be read: {error}; check the disk") from error
        try:
            self.known = _about(json.loads(text), self.file)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise MirrorError(
                f"{self.file} is damaged ({type(error).__name__}: {error}); remove {self.file}: "
                "the next sync() writes it anew, if it is given the register that the mirror is of"
            ) from error
        return self.known

    def write(self, about: About) -> None:
        """Write the settings of the mirror."""
        said: dict[str, object] = {
            "register": about.origin.register,
            "invented": about.origin.invented,
            "changed_since": about.changed_since.isoformat(),
            "format": FORMAT,
            "extract": about.extract,
            "contents": list(about.contents),
            "only": about.only,
        }
        text = json.dumps(said | {"checksum": _checksum(said)}, indent=1) + "\n"
        draft = self._path / "mirror.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.file)
        self.known = about

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the directory for writing; the system releases the lock when the process ends.

        Raises:
            MirrorError: Another process holds it, or the disk cannot be written.
        """
        holder = self._path / "writer.json"
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(self._path / "writer.lock", timeout=0):
                me = {"process": os.getpid(), "machine": socket.gethostname()}
                holder.write_text(json.dumps(me), encoding="utf-8")
                yield
        except filelock.Timeout:
            who = "another process"
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                told = json.loads(holder.read_bytes())
                who = f"process {told['process']} on {told['machine']}"
            raise MirrorError(
                f"the mirror at {self._path} is being written by {who}; wait until that has ended; "
                "reading it is possible meanwhile"
            ) from None
        except OSError as error:
            raise MirrorError(
                f"the mirror at {self._path} cannot be written: {error}; earlier commits are "
                "intact: check the disk, then sync again"
            ) from error


def _about(said: dict[str, Any], file: Path) -> About:
    number = int(said["format"])
    if number > FORMAT:
        raise MirrorError(
            f"{file} is of format {number}, which a newer version of finstat_kit wrote; this one "
            f"knows {FORMAT}: pip install --upgrade finstat-kit"
        )
    checksum = said.pop("checksum", None)
    if number >= NAMED and checksum != _checksum(said):
        raise ValueError("it is not as it was written")
    register, invented, units = said["register"], said.get("invented"), said.get("extract")
    only = said.get("only")
    fits = type(register) is str and isinstance(invented, str | None)
    if (
        number < 1
        or not fits
        or not isinstance(units, int | None)
        or not isinstance(only, int | None)
    ):
        raise ValueError("it is of another form")
    since = date.fromisoformat(said["changed_since"])
    contents = tuple(said.get("contents", ()))
    return About(Origin(register, invented), since, number, units, contents, only)


def _checksum(said: Mapping[str, object]) -> str:
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def checked_path(path: object) -> Path:
    """Return the directory that a path names.

    Raises:
        UsageError: It names none, or one that cannot hold a table.
    """
    # An empty name, often an unset variable, would mean the current directory.
    if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
        raise UsageError(
            "is not a directory name",
            argument="path",
            value=path,
            cure='give its name, such as "ruz"',
        )
    arguments.refuse_url("path", path)
    folder = Path(path)
    whole = folder.absolute().as_posix()
    unfit = _UNFIT.search(whole)
    if unfit:
        raise UsageError(
            f": Delta Lake cannot keep a table in {whole!r}, because of {unfit[0]!r} in it",
            argument="path",
            value=str(path),
            cure="give a folder of another name",
        )
    for each in (folder, *folder.parents):
        try:
            if each.exists() and not each.is_dir():
                raise UsageError(
                    f": {str(each)!r} is a file",
                    argument="path",
                    value=str(path),
                    cure="give a folder",
                )
        except OSError as error:
            raise UsageError(
                f"cannot be a folder: {error.strerror}", argument="path", value=str(path)
            ) from error
    return folder
