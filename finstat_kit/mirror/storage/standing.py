"""What the log of a collection says of each id: whether it is listed, held, lacking.

Lists name ids, records answer them. What was named after it was last answered is lacking, and so is
what could not be read. The newest record of an id is that of the greatest version; a row that only
says why a record could not be read never hides the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.mirror.storage.rows import (
    ANSWERS,
    FILLED,
    LENGTHS,
    MISSING,
    NAMES,
    RECORD,
    UNCHANGED,
    UNREADABLE,
    Ints,
    places_in,
)

KEYS: Final = ("id", "version", "kind", "same_as", "digest")
# Whether a report has a cell that is stored.
_HAS_CELLS: Final = (pl.col(LENGTHS).list.sum() > 0).fill_null(value=False) & pl.col(
    FILLED
).ne_missing(0)
_KINDS: Final = (*NAMES, *ANSWERS)
_KIND: Final = pl.Enum(_KINDS)
_OUTDATED: Final = {"id": pl.Int64, "version": pl.Int64}

Bools = NDArray[np.bool_]
Versions = NDArray[np.int32]
# Returns rows with `KEYS`, piece by piece and by ascending version.
Pieces = Callable[[], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class Standing:
    """What a log says of each id that it names.

    Attributes:
        ids: Ascending.
        named: The newest version that names each, 0 without any.
        answered: The newest version that answers it, 0 without any.
        content: The version of its newest record, 0 without any.
        digests: Of that record.
        gone: The newest version that says that it is missing from the register's list, 0 without.
        is_readable: Whether the newest answer is a record.
        outdated: ``id`` and ``version`` of rows with content that are not the newest of their id.
    """

    ids: Ints
    named: Versions
    answered: Versions
    content: Versions
    digests: Ints
    gone: Versions
    is_readable: Bools
    outdated: pl.DataFrame

    @property
    def is_listed(self) -> Bools:
        """Whether each is listed: False once it is missing."""
        is_listed: Bools = (self.named > self.gone) | (self.gone == 0)
        return is_listed

    @property
    def is_current(self) -> Bools:
        """Whether each was answered since it was last named."""
        return (self.answered >= self.named) & (self.answered > 0)

    @property
    def is_unreadable(self) -> Bools:
        """Whether its newest answer is that it cannot be read."""
        return self.is_current & ~self.is_readable

    @property
    def is_held(self) -> Bools:
        """Whether it is listed, and so is its record; the others that are listed are lacking."""
        return self.is_listed & self.is_current & self.is_readable

    @property
    def listed(self) -> pl.Series:
        """The ids that are listed, ascending."""
        return pl.Series("id", self.ids[self.is_listed])

    @property
    def held(self) -> pl.Series:
        """Those of them whose record is held."""
        return pl.Series("id", self.ids[self.is_held])

    @property
    def unread(self) -> pl.Series:
        """Those that cannot be read."""
        return pl.Series("id", self.ids[self.is_listed & self.is_unreadable])

    @property
    def absent(self) -> pl.Series:
        """Those that were not answered since they were named."""
        return pl.Series("id", self.ids[self.is_listed & ~self.is_current])


def standing(
    names: Pieces, answers: Pieces, *, void: Sequence[tuple[int, int]] = (), missing: bool = False
) -> Standing:
    """Return what the rows of a log say of each id.

    Args:
        names: The rows that name ids.
        answers: The rows that answer them.
        void: First and last versions of reports whose cells are lost; the rows have what says
            whether there were any.
        missing: Whether a row that says that an id is missing is a version of its record too.
    """
    ids = np.array([], dtype=np.int64)
    for pieces in (names, answers):
        for rows in pieces():
            own = rows["id"].to_numpy()
            if (places_in(ids, own) < 0).any():
                ids = np.sort(np.concatenate([ids, own]), kind="stable")
                ids = ids[np.append(True, ids[1:] != ids[:-1])]  # far faster than union1d
    named, gone, content, unchanged, same, unread = np.zeros((6, len(ids)), dtype=np.int32)
    digests = np.zeros(len(ids), dtype=np.int64)
    outdated = [pl.DataFrame(schema=_OUTDATED)]

    def add(at: Ints, versions: Ints) -> None:
        pairs = {"id": ids[at], "version": versions.astype(np.int64)}
        outdated.append(pl.DataFrame(pairs, schema=_OUTDATED))

    def rows_in(pieces: Pieces) -> Iterator[tuple[pl.DataFrame, Ints, Ints, NDArray[np.uint8]]]:
        for rows in pieces():
            kinds = rows["kind"].cast(_KIND).to_physical().to_numpy()
            yield (
                rows,
                np.searchsorted(ids, rows["id"].to_numpy()),
                rows["version"].to_numpy(),
                kinds,
            )

    # Versions ascend, so that of several rows of an id the last one stays.
    for _, at, version, kind in rows_in(names):
        is_gone = kind == _KINDS.index(MISSING)
        named[at[~is_gone]] = version[~is_gone]
        if is_gone.any():
            former = gone[at[is_gone]]
            gone[at[is_gone]] = version[is_gone]
            if missing:
                add(at[is_gone][former > 0], former[former > 0])
    for rows, at, version, kind in rows_in(answers):
        is_record = kind == _KINDS.index(RECORD)
        for first, last in void:
            has_cells = rows.select(_HAS_CELLS).to_series().to_numpy()
            is_void = is_record & (version >= first) & (version <= last) & has_cells
            add(at[is_void], version[is_void])
            is_record &= ~is_void
        places, versions = at[is_record], version[is_record]
        former = content[places]
        content[places] = versions
        digests[places] = rows["digest"].fill_null(0).to_numpy()[is_record]
        add(places[former > 0], former[former > 0])
        is_old = versions != content[places]
        add(places[is_old], versions[is_old])
        is_same = kind == _KINDS.index(UNCHANGED)
        unchanged[at[is_same]] = version[is_same]
        same[at[is_same]] = rows["same_as"].fill_null(0).to_numpy()[is_same]
        unread[at[kind == _KINDS.index(UNREADABLE)]] = version[kind == _KINDS.index(UNREADABLE)]
    if missing:  # the newer of a record and of its being missing hides the other
        both = np.flatnonzero((gone > 0) & (content > 0))
        add(both, np.minimum(gone[both], content[both]))
    # Unchanged is what has the content of another row, if that is there.
    records = np.where(same == content, np.maximum(content, unchanged), content)
    answered = np.maximum(records, unread)
    is_readable = (records == answered) & (answered > 0)
    return Standing(ids, named, answered, content, digests, gone, is_readable, pl.concat(outdated))
