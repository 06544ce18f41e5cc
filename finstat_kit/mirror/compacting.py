"""Many small files put together, and those that were replaced removed after a while."""

from __future__ import annotations

from typing import Final

from finstat_kit.errors import UsageError
from finstat_kit.mirror.held import Held

_MOST_HOURS: Final = 1_000_000  # a century; the storage cannot count to any number


def checked_hours(keep_hours: object) -> float:
    """Return the hours for which replaced files stay.

    Raises:
        UsageError: They are none.
    """
    if (
        not isinstance(keep_hours, int | float)
        or isinstance(keep_hours, bool)
        or not (0 <= keep_hours <= _MOST_HOURS)
    ):
        raise UsageError(
            f"keep_hours={_shown(keep_hours)} is not allowed; give hours, 0 to {_MOST_HOURS:,}"
        )
    return keep_hours


def compact(held: Held, keep_hours: float) -> None:
    """Put the files of each table together; the caller holds the folder for writing.

    Raises:
        MirrorError: A file is damaged, or the disk cannot be written.
    """
    for table in held.tables:
        table.refresh(anew=True)
        table.seal(doubted=True)  # what has no checksum must not get one unseen
        table.compact(keep_hours)


def _shown(given: object) -> str:
    try:
        return repr(given)[:80]
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"
