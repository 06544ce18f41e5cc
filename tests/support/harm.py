"""Harm that is done to a file or a folder of a mirror."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def delete(file: Path) -> None:
    shutil.rmtree(file) if file.is_dir() else file.unlink()


def empty(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
        file.mkdir()
    else:
        file.write_bytes(b"")


def halve(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def flipped(part: float) -> Callable[[Path], None]:
    def flip(file: Path) -> None:
        whole = bytearray(file.read_bytes())
        if whole:
            whole[int(part * (len(whole) - 1))] ^= 2
        file.write_bytes(whole)

    return flip


def exchange(file: Path) -> None:
    """Put another file of the mirror in its place, of the same kind where there is one."""
    mirror = next(parent for parent in file.parents if (parent / "runs").is_dir())
    files = [other for other in sorted(mirror.rglob(f"*{file.suffix}")) if other.is_file()]
    own = file.read_bytes()
    others = [o for o in files if o.suffix == file.suffix and o.read_bytes() != own]
    if others:
        shutil.copy(others[0], file)


FAULTS = {
    "deleted": delete,
    "emptied": empty,
    "halved": halve,
    "flipped in a bit": flipped(0.3),
    "flipped in its last byte": flipped(1),
    "exchanged": exchange,
}
