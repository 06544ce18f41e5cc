"""What large logs hold, noted for the next process: computing it takes as long as reading them.

A note is named by all that it was computed from: data files never change, and are named by their
content. It is only a memory: without it, or where it is damaged, the same is computed again.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.mirror.storage.files import BROKEN, write_whole

_FOLDER: Final = "looks"
_FORMAT: Final = "2"  # changes with what is computed
_MANY: Final = 100_000  # ids of a log that is worth a note
_SUM: Final = 64  # letters of a SHA-256
_SIZE: Final = 8  # bytes of the length of a frame

Frames = tuple[pl.DataFrame, pl.DataFrame]


class Looks:
    """The notes in the folder of a mirror, one of each log.

    Args:
        folder: Of the mirror.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER

    def read(self, log: str, basis: Sequence[object]) -> Frames | None:
        """Return what was noted of a log; None if nothing was, or of another basis."""
        with contextlib.suppress(*BROKEN):
            note = (self._folder / log).read_bytes()
            sum_, body = note[:_SUM], note[_SUM:]
            if sum_.decode() != _sum_of(basis, body):
                return None
            end = _SIZE + int.from_bytes(body[:_SIZE], "big")
            return pl.read_parquet(body[_SIZE:end]), pl.read_parquet(body[end:])
        return None

    def note(self, log: str, basis: Sequence[object], frames: Frames) -> None:
        """Note what a large log holds, where the folder can be written.

        Args:
            log: Its name.
            basis: All that it depends on.
            frames: Of these the first has a row per id.
        """
        if frames[0].height < _MANY:
            return
        parts = []
        for frame in frames:
            part = io.BytesIO()
            frame.write_parquet(part, compression="zstd", compression_level=1)
            parts.append(part.getvalue())
        body = len(parts[0]).to_bytes(_SIZE, "big") + b"".join(parts)
        with contextlib.suppress(OSError):
            write_whole(self._folder / log, _sum_of(basis, body).encode() + body, lasting=False)


def _sum_of(basis: Sequence[object], body: bytes) -> str:
    return sha256(repr((_FORMAT, *basis)).encode() + body).hexdigest()
