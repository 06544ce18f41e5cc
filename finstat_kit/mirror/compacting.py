"""Compaction: many small files are merged, and replaced ones removed after a while."""

from __future__ import annotations

from typing import Final

from finstat_kit.errors import UsageError
from finstat_kit.mirror.held import Held

_MOST_HOURS: Final = 1_000_000  # a century; the storage has an upper bound too


def checked_hours(keep_hours: object) -> float:
    """Return the hours for which replaced files are kept.

    Raises:
        UsageError: The value is not a number of hours.
    """
    if (
        not isinstance(keep_hours, int | float)
        or isinstance(keep_hours, bool)
        or not (0 <= keep_hours <= _MOST_HOURS)
    ):
        raise UsageError(
            "is not allowed",
            argument="keep_hours",
            value=keep_hours,
            cure=f"give hours, 0 to {_MOST_HOURS:,}",
        )
    return keep_hours


def compact(held: Held, keep_hours: float) -> None:
    """Merge the files of each table; the caller holds the directory for writing.

    Raises:
        MirrorError: A file is damaged, or the disk cannot be written.
    """
    for table in held.tables:
        table.refresh(anew=True)
        table.seal(doubted=True)  # files without a checksum must be verified first
        table.compact(keep_hours)
