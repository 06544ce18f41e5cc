"""The folder of a mirror: what it was begun with, and who may write to it."""

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

from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.protocol.wire import BEGINNING

HERE: Final = "this machine"  # what format 1 says of every register that was no real host
FORMAT: Final = 2
_TABLES: Final = ("units", "runs")
# What it takes for something else in an address: escapes, brackets, what cannot be printed.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f\[\]\\^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")


@dataclass(frozen=True)
class Origin:
    """Which register a mirror is of.

    Attributes:
        register: The base URL.
        invented: Which invented data they are, as the register's replies say; None for none.
    """

    register: str
    invented: str | None

    @property
    def name(self) -> str:
        """What tells the register from others: what it says of itself, or its URL."""
        return self.register if self.invented is None else self.invented

    @property
    def number(self) -> int:
        """The name as a number, which stands in every commit."""
        digest = blake2b(self.name.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little", signed=True)


@dataclass(frozen=True)
class About:
    """What a mirror was begun with.

    Attributes:
        origin: The register.
        changed_since: The day that the copy begins with.
        format: Of the folder; 1 did not write down which register of this machine it was.
    """

    origin: Origin
    changed_since: date
    format: int = FORMAT

    @property
    def since(self) -> date | None:
        """The day that a part of the register begins with, None for all of it."""
        return part(self.changed_since)

    @property
    def invented(self) -> bool:
        """Whether the data are a sample's."""
        # Of a sample and of a tunnel alike format 1 says no more than that it was on this machine.
        return self.origin.invented is not None or self.origin.register == HERE


def part(changed_since: date | None) -> date | None:
    """Return the day of a copy that holds less than the whole register, None for a whole one."""
    return changed_since if changed_since and changed_since > BEGINNING else None


class Folder:
    """A folder that one process at a time writes and any number read.

    Attributes:
        file: ``mirror.json``.
        codelists: The file of the codelists.
        known: What the folder was begun with, as last read or written; None before that.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.file = path / "mirror.json"
        self.codelists = path / "codelists.json"
        self.known: About | None = None

    @property
    def is_begun(self) -> bool:
        """Whether there is a mirror, or a part of one."""
        return self.file.exists() or any((self._path / name).is_dir() for name in _TABLES)

    @property
    def about(self) -> About | None:
        """What the folder was begun with, None before that.

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
        """Return what the folder was begun with.

        Raises:
            MirrorError: There is no mirror in it, or ``mirror.json`` cannot be read.
        """
        about = self.about
        if about is None:
            raise MirrorError(
                f"there is no mirror in {self._path}; sync() begins one, or give the folder of one"
            )
        return about

    def read(self) -> About | None:
        """Return what ``mirror.json`` says, None where there is none."""
        try:
            text = self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MirrorError(f"{self.file} cannot be read: {error}; see to the disk") from error
        try:
            self.known = _about(json.loads(text), self.file)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise MirrorError(
                f"{self.file} is damaged ({type(error).__name__}: {error}); remove {self.file}: "
                "the next sync() writes it anew, if it is given the register that the mirror is of"
            ) from error
        return self.known

    def write(self, about: About) -> None:
        """Write down what the folder was begun with."""
        said: dict[str, object] = {
            "register": about.origin.register,
            "invented": about.origin.invented,
            "changed_since": about.changed_since.isoformat(),
            "format": FORMAT,
        }
        text = json.dumps(said | {"checksum": _checksum(said)}, indent=1) + "\n"
        draft = self._path / "mirror.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.file)
        self.known = about

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder as its only writer; the system lets go of it whatever ends the process.

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
                f"the mirror at {self._path} is being written by {who}; read it meanwhile, or wait "
                "until that has ended"
            ) from None
        except OSError as error:
            raise MirrorError(
                f"the mirror at {self._path} cannot be written: {error}; what was committed before "
                "is untouched: see to the disk, then sync again"
            ) from error


def _about(said: dict[str, Any], file: Path) -> About:
    number = int(said["format"])
    if number > FORMAT:
        raise MirrorError(
            f"{file} is of format {number}, which a newer version of finstat_kit wrote; this one "
            f"knows {FORMAT}: pip install --upgrade finstat-kit"
        )
    checksum = said.pop("checksum", None)
    if number == FORMAT and checksum != _checksum(said):
        raise ValueError("it is not as it was written")
    register, invented = said["register"], said.get("invented")
    if number < 1 or type(register) is not str or not isinstance(invented, str | None):
        raise ValueError("it is of another form")
    return About(Origin(register, invented), date.fromisoformat(said["changed_since"]), number)


def _checksum(said: Mapping[str, object]) -> str:
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def checked_path(path: object) -> Path:
    """Return the folder that a path names.

    Raises:
        UsageError: It names none, or one that cannot hold a table.
    """
    # An empty name, often a variable that nobody set, would be the folder one happens to be in.
    if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
        raise UsageError(f'path={path!r} is not a directory name; give its name, such as "ruz"')
    folder = Path(path)
    whole = folder.absolute().as_posix()
    unfit = _UNFIT.search(whole)
    if unfit:
        raise UsageError(
            f"path={str(path)!r}: Delta Lake cannot keep a table in {whole!r}, because of "
            f"{unfit[0]!r} in it; give a folder of another name"
        )
    for each in (folder, *folder.parents):
        try:
            if each.exists() and not each.is_dir():
                raise UsageError(f"path={str(path)!r}: {str(each)!r} is a file; give a folder")
        except OSError as error:
            raise UsageError(f"path={str(path)!r} cannot be a folder: {error.strerror}") from error
    return folder
