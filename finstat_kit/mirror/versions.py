"""Rows of a log of versions: what they hold, which of them is the newest, what they changed.

Pure functions over frames. The newest version of an id is the one of the greatest number; a row
with a ``problem`` only says that the record could not be read, and never hides the one before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from finstat_kit.errors import MirrorError, RegisterError, UsageError
from finstat_kit.protocol.records import decode as shaped

# What stands in a log beside the content of a record.
META: Final = pl.Schema(
    {
        "version": pl.Int64(),  # of the batch: ascending, once per id
        "seen": pl.Date(),  # the register's day
        "gone": pl.String(),  # null, deleted, non-public, missing
        "problem": pl.String(),  # why the record could not be read
        "digest": pl.Int64(),  # of everything else in the row
    }
)
CHANGES: Final = pl.Schema(
    {
        "id": pl.Int64(),
        "field": pl.String(),
        "old": pl.String(),
        "new": pl.String(),
        "seen": pl.Date(),
    }
)
MISSING: Final = "missing"
# What `Known` reads of a log: truths in place of texts, which would take eight times the memory.
KEYS: Final = (
    pl.col("id", "version", "seen", "digest"),
    pl.col("gone").eq_missing(pl.lit(MISSING)).alias("missing"),
    pl.col("problem").is_not_null().alias("unread"),
)
_FEW: Final = 200  # ids that are compared one by one
_PIECE: Final = 131_072  # rows, or units with all their versions, looked at together
_GONE: Final = {"ZMAZANÉ": "deleted", "NEVEREJNÁ": "non-public"}

# What polars raises where a file is not what it was written as.
UNREADABLE: Final = (
    pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError,
)  # fmt: skip


@contextlib.contextmanager
def legible(path: Path) -> Iterator[None]:
    """Turn what polars raises of a file that is not what it was into an error with the cure."""
    try:
        yield
    except RegisterError:
        raise
    except UNREADABLE as error:
        raise MirrorError(f"the mirror at {path} cannot be read: {error}; see verify()") from error


Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def near(column: str, ids: pl.Series) -> pl.Expr:
    """Return a condition that the rows of some ids fulfil, and in their neighbourhood few others.

    It reaches the statistics of the files: each commit has ids of its own. What an ``is_in`` of a
    Series keeps is found among all rows instead, and a join reads all columns of these.
    """
    if ids.len() <= _FEW:
        return pl.col(column).is_in(ids.to_list())
    first, last = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
    between = pl.col(column).is_between(first, last)
    return (
        between if last - first < 2 * ids.len() else between & pl.col(column).is_in(ids.implode())
    )


def is_among(values: pl.Series, ordered: pl.Series) -> pl.Series:
    """Return which values stand in an ascending list."""
    all_, some = ordered.to_numpy(), values.to_numpy()
    if not len(all_):
        return pl.Series(np.zeros(len(some), dtype=np.bool_))
    at = np.minimum(np.searchsorted(all_, some), len(all_) - 1)
    return pl.Series(all_[at] == some)


class Row(NamedTuple):
    """The content of a record, or the reason why it could not be read."""

    content: Mapping[str, object]
    gone: str | None = None
    problem: str | None = None

    @property
    def id(self) -> int:
        """The id it is about."""
        id_ = self.content["id"]
        assert isinstance(id_, int)
        return id_

    def digest(self, version: int, seen: date) -> int:
        """Return the digest of this row as a batch would write it."""
        sealed = [self.content, self.gone, self.problem, version, seen]
        text = orjson.dumps(sealed, option=orjson.OPT_SORT_KEYS)
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


def row_of(record: Mapping[str, object]) -> Row:
    """Return the row of a record that could be read."""
    return Row(record, state_of(record))


def state_of(record: Mapping[str, object]) -> str | None:
    """Return why a record says nothing: ``deleted``, ``non-public``, or None."""
    state = record.get("stav")
    return None if state is None else _GONE.get(str(state).upper(), str(state))


def to_frame(rows: Iterable[Row], schema: pl.Schema, version: int, seen: date) -> pl.DataFrame:
    """Make the frame of a batch: the columns of *schema*, then those of `META`."""
    rows = list(rows)
    series = [
        pl.Series(name, [row.content.get(name) for row in rows], dtype=dtype)
        for name, dtype in schema.items()
    ]
    n = len(rows)
    meta: dict[str, list[Any]] = {
        "version": [version] * n,
        "seen": [seen] * n,
        "gone": [row.gone for row in rows],
        "problem": [row.problem for row in rows],
        "digest": [row.digest(version, seen) for row in rows],
    }
    return pl.DataFrame(series).with_columns(
        pl.Series(name, values, dtype=META[name]) for name, values in meta.items()
    )


def damaged(frame: pl.DataFrame) -> int:
    """Return how many rows do not have the digest that they were written with."""
    count = 0
    for values in frame.iter_rows(named=True):
        gone, problem, version, seen, digest = (
            values.pop(name) for name in ("gone", "problem", "version", "seen", "digest")
        )
        content = {name: value for name, value in values.items() if value is not None}
        count += Row(content, gone, problem).digest(version, seen) != digest
    return count


def damaged_rows(file: str, rows: int) -> int:
    """Return how many rows of a data file do not have the digest that they were written with."""
    return sum(
        damaged(pl.scan_parquet(file, glob=False).slice(start, _PIECE).collect())
        for start in range(0, max(rows, 1), _PIECE)
    )


def newest(ids: Ints, versions: Ints, among: Mask) -> Mask:
    """Return which rows are the newest of their id *among* those marked."""
    rows = np.flatnonzero(among)
    order = rows[np.lexsort((versions[rows], ids[rows]))]
    last = np.ones(len(order), dtype=bool)
    last[:-1] = ids[order[1:]] != ids[order[:-1]]
    mask = np.zeros(len(ids), dtype=bool)
    mask[order[last]] = True
    return mask


def latest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the row of the newest version of each id, by ascending id."""
    ordered = rows.sort("id", "version")
    return ordered.filter(pl.col("id").ne_missing(pl.col("id").shift(-1)))


class Known:
    """The newest version of each id in a log: enough to detect changes."""

    def __init__(self, log: pl.LazyFrame) -> None:
        keys = log.select(KEYS).collect(engine="streaming")
        ids, versions = keys["id"].to_numpy(), keys["version"].to_numpy()
        mask = newest(ids, versions, np.ones(len(ids), dtype=bool))
        latest = keys.filter(mask).sort("id")
        self._ids = latest["id"].to_numpy()
        self._versions = latest["version"].to_numpy()
        self._seen = latest["seen"]
        self._digests = latest["digest"].to_numpy()
        self.version = int(versions.max(initial=0))  # the greatest
        self.listed = self._ids[~latest["missing"].to_numpy()]
        unread = latest.filter("unread")["id"]
        self.unread: list[int] = unread.to_list()
        older = keys.filter(~pl.col("unread") & pl.col("id").is_in(unread.implode()))
        self._never_read = set(self.unread) - set(older["id"])

    def says(self, row: Row) -> bool:
        """Return whether the newest version of an id equals a row."""
        at = self._place(row.id)
        if at is None:
            return False
        digest = row.digest(int(self._versions[at]), self._seen[at])
        return bool(digest == self._digests[at])

    def has(self, id_: int) -> bool:
        """Return whether an id has a record."""
        at = self._place(id_)
        return at is not None and id_ not in self._never_read

    def _place(self, id_: int) -> int | None:
        at = int(self._ids.searchsorted(id_))
        return at if at < len(self._ids) and self._ids[at] == id_ else None


def completed_by(completed: pl.DataFrame, day: date) -> pl.DataFrame:
    """Return the runs completed by a day.

    Raises:
        UsageError: None was completed by then.
    """
    by_then = completed.filter(pl.col("completed") <= day)
    if not by_then.height:
        raise UsageError(
            f": the first sync of this mirror was completed on {completed['completed'][0]}",
            argument="as_of",
            value=day.isoformat(),
            cure="give that day or a later one",
        )
    return by_then


def unread_in(log: pl.LazyFrame) -> pl.DataFrame:
    """Return the ids whose newest row has a problem, ascending."""
    waiting = log.filter(pl.col("id").is_in(Known(log).unread))
    return latest(waiting.select("id", "problem", "seen", "version").collect()).drop("version")


def changes_in(log: pl.LazyFrame, since: date, after: int) -> pl.DataFrame:
    """Return what the versions in a log changed; see `changes_between` for the arguments."""
    rows = log.filter(pl.col("problem").is_null())
    later = (pl.col("seen") >= since) & (pl.col("version") > after)
    found = [pl.DataFrame(schema=CHANGES)]
    ids = rows.filter(later).select(pl.col("id").unique()).collect()["id"].sort()
    for start in range(0, len(ids), _PIECE):
        some = ids[start : start + _PIECE]
        near = pl.col("id").is_between(some[0], some[-1])
        here = rows.filter(near & pl.col("id").is_in(some.implode()))
        found.append(changes_between(here.collect(), since, after))
    return pl.concat(found).sort("seen", "id", maintain_order=True)


def changes_between(rows: pl.DataFrame, since: date, after: int) -> pl.DataFrame:
    """Return what each version changed in the one before it, field by field.

    Args:
        rows: All readable versions of some units, in any order.
        since: Only versions seen on this day or later.
        after: Only versions after this one.
    """
    rows = rows.sort("id", "version").with_columns(
        (pl.col(name).list.sort() for name, dtype in rows.schema.items() if dtype == pl.List),
    )
    former = rows.select(pl.all().shift())
    follows = (rows["id"] == former["id"]).fill_null(value=False)
    counted = (rows["seen"] >= since) & (rows["version"] > after)
    stays = counted & follows & rows["gone"].is_null() & former["gone"].is_null()
    masks = {name: stays & rows[name].ne_missing(former[name]) for name in shaped.UNITS}
    masks["id"] = counted & ~follows
    masks["gone"] = counted & follows & rows["gone"].ne_missing(former["gone"])
    frames = [
        pl.DataFrame(
            {
                "id": rows["id"].filter(mask),
                "field": pl.repeat(name, int(mask.sum()), dtype=pl.String, eager=True),
                "old": pl.repeat(None, int(mask.sum()), dtype=pl.String, eager=True)
                if name == "id"
                else _text(former[name].filter(mask)),
                "new": _text(rows[name].filter(mask)),
                "seen": rows["seen"].filter(mask),
            },
            schema=CHANGES,
        )
        for name, mask in masks.items()
    ]
    order = {name: place for place, name in enumerate(masks)}
    found = pl.concat(frames)
    return found.sort("seen", "id", pl.col("field").replace_strict(order, return_dtype=pl.Int64))


def _text(values: pl.Series) -> pl.Series:
    if values.dtype == pl.List:
        return values.cast(pl.List(pl.String)).list.join(" ")
    return values.cast(pl.String)
