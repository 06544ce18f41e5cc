"""The ids of a collection and their days of change: what lists and counts are answered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
# Rows scanned at first for a page; four times as many until it is full, so that a page costs about
# what it has to look at, whatever the change date.
_FIRST_CHUNK: Final = 16_384


Condition = tuple[NDArray[np.generic], int]  # a column aligned with the ids, and the value it has


@dataclass(frozen=True, slots=True)
class Line:
    """The ids of a collection in ascending order, and the day each was last changed."""

    ids: Ints
    changed: NDArray[np.uint16]

    def page(
        self, since: int, after: int, size: int, where: Sequence[Condition] = ()
    ) -> tuple[Ints, bool]:
        """Return up to *size* matching ids above *after*, and whether more remain."""
        start = self._row_above(after)
        if since <= 0 and not where:
            return self.ids[start : start + size], start + size < len(self.ids)
        chunk = max(_FIRST_CHUNK, size + 1)
        while True:
            stop = start + chunk
            rows = np.flatnonzero(self._mask(slice(start, stop), since, where))
            if len(rows) > size or stop >= len(self.ids):
                return self.ids[start + rows[:size]], len(rows) > size
            chunk *= 4

    def count(self, since: int, after: int, where: Sequence[Condition] = ()) -> int:
        """Return how many matching ids are above *after*."""
        start = self._row_above(after)
        if since <= 0 and not where:
            return len(self.ids) - start
        return int(np.count_nonzero(self._mask(slice(start, None), since, where)))

    def position(self, id_: int) -> int | None:
        """Return the row of an id, or None."""
        row = int(np.searchsorted(self.ids, id_))
        return row if row < len(self.ids) and int(self.ids[row]) == id_ else None

    def _row_above(self, after: int) -> int:
        return int(np.searchsorted(self.ids, after, side="right"))

    def _mask(self, rows: slice, since: int, where: Sequence[Condition]) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.changed[rows] >= since
        for column, value in where:
            mask &= column[rows] == value
        return mask
