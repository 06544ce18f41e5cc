"""Bytes put in the place of a file, whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from finstat_kit.errors import RegisterError, invalid


def put(data: bytes, path: Path) -> None:
    """Put bytes in the place of a file, whole or not at all.

    A link is kept and its target is replaced.

    Raises:
        UsageError: The path cannot be a file.
        RegisterError: The disk is full.
    """
    refuse_unwritable(path)
    try:
        with put_in_place(Path(os.path.realpath(path))) as file:
            file.write(data)
    except OSError as error:
        raise RegisterError(
            f"{path} cannot be written: {error.strerror}",
            cure="free some space, close it where it is open, or give another folder",
        ) from error


@contextmanager
def put_in_place(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes a name at the end of a block without an error.

    A link of that name is replaced, not followed. A file leaves its permissions to the new one.
    """
    # In the directory of the target, so that the last step is an atomic rename. With a random name
    # and exclusive, so that two writers share no file and no link is followed.
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    file = part.open("xb")
    try:
        with file:
            _keep_mode(part, target)
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def refuse_unwritable(path: Path) -> None:
    """Refuse a place where no file can be put; what is there stays as it is.

    Raises:
        UsageError: The path cannot be a file.
    """
    try:
        # No file takes the place of a folder, a pipe or a device.
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(path.stat().st_mode):
                raise OSError(errno.EEXIST, "not a file")
        with tempfile.TemporaryFile(dir=Path(os.path.realpath(path)).parent):
            pass
    except OSError as error:
        raise invalid(
            "path",
            str(path),
            f"cannot be written ({error.strerror})",
            give="a name in an existing folder",
        ) from error


def _keep_mode(part: Path, target: Path) -> None:
    """Give a new file the permissions of the one that it replaces, before anything is in it."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISREG(mode):
        part.chmod(stat.S_IMODE(mode))
