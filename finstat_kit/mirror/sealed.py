"""Files that start with the checksum of their rest, and the detection of changed files."""

from __future__ import annotations

import os
from hashlib import file_digest, sha256
from pathlib import Path

from finstat_kit.errors import MirrorError

Stamp = tuple[int, int, int]


def stamp(path: Path | str) -> Stamp | None:
    """Return a value that changes with a file, None if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116  # a Path of text takes as long as the look itself
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MirrorError(f"{path} cannot be read: {error}; check the disk") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def read_sealed(path: Path, cure: str) -> bytes | None:
    """Return the body written by `write_sealed`, None if the file does not exist.

    Raises:
        MirrorError: The file was altered; the message names the fix.
    """
    try:
        checksum, _, body = path.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MirrorError(f"{path} cannot be read: {error}; check the disk") from error
    if sha256(body).hexdigest().encode() != checksum:
        raise MirrorError(f"{path} is damaged; {cure}")
    return body


def write_sealed(path: Path, body: bytes) -> None:
    """Replace a whole file, its checksum first."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(sha256(body).hexdigest().encode() + b"\n" + body)
    draft.replace(path)
