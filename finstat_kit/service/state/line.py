"""The ids of a collection and their days of change: what lists and counts are answered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
# Rows scanned at first for a page; doubled until the page is full, so that a page costs what it
# has to look at, whatever the change date.
_FIRST_CHUNK: Final = 16_384
_BLOCK: Final = 16  # rows whose latest change is known, so that others are not looked at
_SPARSE: Final = 64  # with fewer than one match in so many rows the blocks are the faster way


class Condition(NamedTuple):
    """An equality that a row must meet: a column aligned with the ids, and the value."""

    column: NDArray[np.generic]
    value: int


@dataclass(frozen=True, slots=True)
class Line:
    """The ids of a collection in ascending order, and the day each was last changed."""

    ids: Ints
    changed: NDArray[np.uint16]
    _latest: NDArray[np.uint16] = field(init=False, repr=False, compare=False)  # of each block

    def __post_init__(self) -> None:
        latest = self.changed[: len(self.changed) // _BLOCK * _BLOCK]
        for _ in range(_BLOCK.bit_length() - 1):  # by halves: max(axis=1) takes six times as long
            latest = np.maximum(latest[::2], latest[1::2])
        object.__setattr__(self, "_latest", latest)

    def page(
        self, since: int, after: int, size: int, where: Sequence[Condition] = ()
    ) -> tuple[Ints, bool]:
        """Return up to *size* matching ids above *after*, and whether more remain."""
        start = self._row_above(after)
        if since <= 0 and not where:
            return self.ids[start : start + size], start + size < len(self.ids)
        ids = self.ids[self._rows(start, since, size + 1, where)]  # the last is of the next page
        return ids[:size], len(ids) > size

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

    def _rows(self, start: int, since: int, need: int, where: Sequence[Condition]) -> Ints:
        """Return the first rows from *start* that match, up to *need* of them."""
        parts: list[Ints] = []
        chunk = max(_FIRST_CHUNK, need)
        while start < len(self.changed) and need > 0:
            stop = (start + chunk) // _BLOCK * _BLOCK
            hits = np.flatnonzero(self._mask(slice(start, stop), since, where))
            parts.append(start + hits[:need])
            need -= len(parts[-1])
            if need > 0 and not where and len(hits) * _SPARSE < chunk:
                parts.append(self._rows_by_blocks(stop, since, need))
                break
            start, chunk = stop, chunk * 2
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _rows_by_blocks(self, start: int, since: int, most: int) -> Ints:
        """Return the first rows from *start*, where a block starts, that changed since a day."""
        first, end = start // _BLOCK, len(self._latest) * _BLOCK
        # Each of these holds a match, so that no more of them are needed than rows.
        blocks = first + np.flatnonzero(self._latest[first:] >= since)[:most]
        within = self.changed[:end].reshape(-1, _BLOCK).take(blocks, axis=0) >= since
        block, row = np.divmod(np.flatnonzero(within), _BLOCK)
        rest = max(start, end)
        behind = rest + np.flatnonzero(self.changed[rest:] >= since)
        return np.concatenate([blocks[block] * _BLOCK + row, behind])[:most]

    def _mask(self, rows: slice, since: int, where: Sequence[Condition]) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.changed[rows] >= since
        for condition in where:
            mask &= condition.column[rows] == condition.value
        return mask
