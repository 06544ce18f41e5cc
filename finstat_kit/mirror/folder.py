"""The folder of a mirror: what it was begun with, and who may write to it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

import filelock

from finstat_kit.checks import BEGINNING
from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.registers import Register

HERE: Final = "this machine"  # the register of a sample, whatever its port
_FORMAT: Final = 1


class Folder:
    """A folder that one process at a time writes and any number read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def about(self) -> dict[str, str]:
        """What the folder was begun with, empty before that."""
        file = self._path / "mirror.json"
        try:
            about: dict[str, str] = json.loads(file.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise MirrorError(
                f"{file} is damaged: {error}; put it right by hand, it holds the register's URL "
                "and the day that the mirror began with"
            ) from error
        return about

    def begun(self, register: Register, since: date | None) -> dict[str, str]:
        """Return what the folder was begun with; begin it where it is new.

        Raises:
            UsageError: It was begun with another register.
        """
        source = register.base_url if register.remote else HERE
        about = self.about
        if not about:
            first = (since or BEGINNING).isoformat()
            about = {"register": source, "changed_since": first, "format": str(_FORMAT)}
            draft = self._path / "mirror.draft"
            draft.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            draft.replace(self._path / "mirror.json")
        if about["register"] != source:
            raise UsageError(
                f"the mirror at {self._path} is of {about['register']}, not of {source}; give "
                "register= or another folder"
            )
        return about

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
            with contextlib.suppress(OSError, ValueError):
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
