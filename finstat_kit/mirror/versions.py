"""Rows of the log of a collection: what they hold, which of them is the newest, what is lacking.

Pure functions over frames. A list names ids, records answer them, and both are rows of one log.
What was named after it was last answered is lacking, and so is what could not be read. The newest
version of an id is the one of the greatest number; a row that only says why a record could not be
read never hides the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS, UNITS as UNIT_FIELDS

LISTED: Final = "listed"  # a list names the id
NAMED: Final = "named"  # a statement or an annual report names the id, and no list did
RECORD: Final = "record"
UNCHANGED: Final = "unchanged"  # a record whose content an earlier row has
UNREADABLE: Final = "unreadable"
MISSING: Final = "missing"  # the register's list names the id no longer
# What a log says beside the content of a record.
META: Final = pl.Schema(
    {
        "version": pl.Int64(),  # of the batch: ascending
        "seen": pl.Date(),  # the register's day
        "kind": pl.String(),
        "gone": pl.String(),  # null, deleted, non-public, missing
        "problem": pl.String(),  # why the record could not be read
        "digest": pl.Int64(),  # of the content
        "same_as": pl.Int64(),  # of an unchanged record, the version of the row with its content
    }
)
LENGTHS: Final = "lengths"  # cells of each table of a report; null for one without a list of cells
TEXTS: Final = "texts"  # digest of all of them
CHANGES: Final = pl.Schema(
    {
        "id": pl.Int64(),
        "field": pl.String(),
        "old": pl.String(),
        "new": pl.String(),
        "seen": pl.Date(),
    }
)
# Where records name others.
OWNED: Final = {"statements": "idUctovnychZavierok", "annual_reports": "idVyrocnychSprav"}
REPORTS_OF: Final = "idUctovnychVykazov"
_FEW: Final = 200  # ids that are compared one by one
_PIECE: Final = 262_144  # ids with all their versions, looked at together
_GONE: Final = {"ZMAZANÉ": "deleted", "NEVEREJNÁ": "non-public"}
_KEYS: Final = ("id", "version", "kind", "digest", "same_as")
ROW: Final = "row of the log"

Ints = NDArray[np.int64]


def schema_of(name: str) -> pl.Schema:
    """Return the columns of the log of a collection."""
    columns = dict(KINDS[name].schema)
    if name == "reports":  # whose cells are a table of their own
        del columns[wire.TABLES]
        columns |= {LENGTHS: pl.List(pl.Int32()), TEXTS: pl.Int64()}
    return pl.Schema({"id": columns["id"], **META, **columns})


def rows_of(name: str, contents: pl.DataFrame, kind: str, version: int, seen: date) -> pl.DataFrame:
    """Return the rows of a batch.

    Args:
        name: Of the collection.
        contents: ``id`` and whatever columns of the log are filled.
        kind: Of all rows.
        version: Of the batch.
        seen: The register's day.
    """
    schema = schema_of(name)
    told = contents.with_columns(
        kind=pl.lit(kind), version=pl.lit(version, pl.Int64), seen=pl.lit(seen)
    )
    absent = [pl.lit(None, t).alias(n) for n, t in schema.items() if n not in told.columns]
    return told.with_columns(absent).select(schema.names())


def answers_of(records: pl.DataFrame) -> pl.DataFrame:
    """Add ``gone`` and ``digest`` to the contents of records that could be read."""
    gone = pl.lit(None, pl.String)
    if wire.STATE in records.columns:
        state = pl.col(wire.STATE)
        gone = state.str.to_uppercase().replace_strict(_GONE, default=state)
    contents = records.select(pl.struct(pl.all()).struct.json_encode()).to_series()
    # A field that a later version knows is null in rows of before, and changes no digest.
    contents = contents.str.replace_all(r',?"\w+":null', "")
    return records.with_columns(gone=gone, digest=digests(contents))


def digests(texts: pl.Series) -> pl.Series:
    """Return a number per text that depends on all of it."""
    hashes = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return pl.Series("digest", [int.from_bytes(h, "little", signed=True) for h in hashes], pl.Int64)


def standing(log: pl.LazyFrame, base: int, *, contents: bool = False) -> pl.DataFrame:
    """Return what a log says of each id that it names, by ascending id.

    Args:
        log: All rows that count.
        base: The last version before the last full run, 0 without any. Its being begun names anew
            what lists named until then.
        contents: Whether the contents of records are looked at too.

    Returns:
        ``id``; ``named`` (Int64: the newest version of a list or record that names it),
        ``answered`` (Int64: the newest version that answers it, null without any), ``readable``
        (Boolean: whether that is a record), ``known`` (Boolean: whether any is), ``listed``
        (Boolean: False once it is missing), ``lacking`` (Boolean: whether its record has to be
        fetched) and ``unreadable`` (Boolean: whether its newest answer is no record). With
        *contents* ``digest`` (Int64: of the content or problem that the newest row stands for, null
        where no row has it) and ``same_as`` (Int64: the version of that row).
    """
    stands = pl.concat(
        _standing(rows, base).join(_contents(rows), on="id", how="left", maintain_order="left")
        if contents
        else _standing(rows, base)
        for rows in pieces(log)
    )
    current = (pl.col("answered") >= pl.col("named").fill_null(0)).fill_null(value=False)
    is_record = pl.col("readable").fill_null(value=False)
    return stands.with_columns(
        lacking=pl.col("listed") & ~(current & is_record), unreadable=current & ~is_record
    )


def pieces(log: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
    """Yield the rows of ids that follow each other, few enough to be in memory at once."""
    ids = log.select("id").collect(engine="streaming")["id"].unique().sort()
    if ids.is_empty():
        yield log
    for start in range(0, len(ids), _PIECE):
        some = ids[start : start + _PIECE]
        yield log.filter(pl.col("id").is_between(some[0], some[-1]))


def _standing(log: pl.LazyFrame, base: int) -> pl.DataFrame:
    kind, version = pl.col("kind"), pl.col("version")
    readable = kind.is_in([RECORD, UNCHANGED])
    # Each with what it says in its last bit: the greatest is the newest, and many are fast.
    return (
        log.select(
            "id",
            named=pl.when(kind.is_in([LISTED, NAMED])).then(version.clip(base + 1)),
            answer=pl.when(readable | (kind == UNREADABLE)).then(2 * version + readable),
            known=readable,
            last=2 * version + (kind != MISSING),
        )
        .group_by("id")
        .agg(pl.all().max())
        .select(
            "id", "named", "known", answered=pl.col("answer") // 2,
            readable=pl.col("answer") % 2 == 1, listed=pl.col("last") % 2 == 1,
        )
        .sort("id")
        .collect(engine="streaming")
    )  # fmt: skip


def _contents(log: pl.LazyFrame) -> pl.DataFrame:
    rows = log.filter(pl.col("kind") != LISTED).select(_KEYS).collect()
    last = newest(rows).filter(pl.col("kind").is_in([RECORD, UNCHANGED, UNREADABLE]))
    last = last.select("id", same_as=pl.coalesce("same_as", "version"))
    digests = rows.select("id", "digest", same_as="version")
    return last.join(digests, on=["id", "same_as"], how="left").select("id", "digest", "same_as")


def has_content() -> pl.Expr:
    """Return whether a row holds a record, or that there is none."""
    return ~pl.col("kind").is_in([LISTED, NAMED, UNCHANGED, UNREADABLE])


def outdated(keys: pl.DataFrame, *, missing: bool) -> pl.DataFrame:
    """Return which rows with content are not the newest of their id.

    Args:
        keys: ``id``, ``version``, ``kind`` and ``same_as`` of the rows of a log that count, and
            `ROW`, their numbers; rows of lists may be left out.
        missing: Whether a row that says that an id is missing is a version too.

    Returns:
        `ROW`, ``id`` and ``version`` of rows.
    """
    ids, versions = keys["id"].to_numpy(), keys["version"].to_numpy()
    counted = keys["kind"].is_in([RECORD, UNCHANGED, *([MISSING] if missing else [])])
    candidates = np.flatnonzero(counted.to_numpy())
    newest_rows = candidates[_last_of_each(ids[candidates], versions[candidates])]
    is_unchanged = (keys["kind"] == UNCHANGED).to_numpy()[newest_rows]
    is_newest = np.zeros(len(keys), dtype=np.bool_)
    is_newest[newest_rows[~is_unchanged]] = True
    if is_unchanged.any():
        # The content of an unchanged record stands in another row.
        contents = keys.select("id", "version", at=pl.int_range(pl.len())).filter(
            keys["kind"] == RECORD
        )
        wanted = keys[newest_rows[is_unchanged]].select("id", version="same_as")
        is_newest[contents.join(wanted, on=["id", "version"])["at"].to_numpy()] = True
    return keys.select(ROW, "id", "version").filter(
        keys.select(has_content()).to_series() & ~pl.Series(is_newest)
    )


def _last_of_each(ids: Ints, versions: Ints) -> Ints:
    """Return the places of the greatest version of each id."""
    order = np.lexsort((versions, ids))
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = ids[order[1:]] != ids[order[:-1]]
    return order[last]


def newest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the row of the greatest version of each id, by ascending id."""
    return rows.sort("id", "version").unique("id", keep="last", maintain_order=True)


def without(rows: pl.LazyFrame, some: pl.DataFrame, on: list[str]) -> pl.LazyFrame:
    """Return rows but for some, which are few and often none: a join would copy all rows."""
    return rows if some.is_empty() else rows.join(some.lazy(), on=on, how="anti")


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


def of_ids(column: str, ids: pl.Series) -> pl.Expr:
    """Return whether a row is of one of some ids, with what reaches the statistics of the files."""
    return near(column, ids) & pl.col(column).is_in(ids.implode())


def places_in(ascending: Ints, ids: Ints) -> Ints:
    """Return the place of each id, -1 where it is not among them."""
    if not len(ascending):
        return np.full(len(ids), -1)
    at = np.searchsorted(ascending, ids)
    np.minimum(at, len(ascending) - 1, out=at)
    at[ascending[at] != ids] = -1
    return at


def is_among(values: pl.Series, ascending: pl.Series) -> pl.Series:
    """Return which values stand in an ascending list."""
    return pl.Series(places_in(ascending.to_numpy(), values.to_numpy()) >= 0, dtype=pl.Boolean)


def ids_named(frames: Iterable[pl.LazyFrame], column: str) -> pl.Series:
    """Return the ids that a column of lists names, each once."""
    columns = [frame.select(pl.col(column).explode()).drop_nulls().collect() for frame in frames]
    return pl.concat(columns)[column].unique().sort()


def changes_in(log: pl.LazyFrame, since: date, after: int) -> pl.DataFrame:
    """Return what the versions in a log of units changed; see `_changes` for the arguments."""
    rows = log.filter(pl.col("kind").is_in([RECORD, UNCHANGED, MISSING]))
    later = (pl.col("seen") >= since) & (pl.col("version") > after)
    pieces = [pl.DataFrame(schema=CHANGES)]
    changed = rows.filter(later, pl.col("kind") != UNCHANGED)
    ids = changed.select(pl.col("id").unique()).collect()["id"].sort()
    for start in range(0, len(ids), _PIECE):
        here = rows.filter(of_ids("id", ids[start : start + _PIECE])).collect()
        first = pl.col("version") == pl.col("version").min().over("id")
        here = here.with_columns(first=first).filter(pl.col("kind") != UNCHANGED)
        pieces.append(_changes(here, since, after))
    return pl.concat(pieces).sort("seen", "id", maintain_order=True)


def _changes(rows: pl.DataFrame, since: date, after: int) -> pl.DataFrame:
    """Return what each version changed in the one before it, field by field.

    Args:
        rows: All readable versions of some units, in any order, and whether each is the ``first``
            that was ever observed.
        since: Only versions seen on this day or later.
        after: Only versions after this one.
    """
    rows = rows.sort("id", "version").with_columns(
        pl.col(name).list.sort() for name, dtype in rows.schema.items() if dtype == pl.List
    )
    former = rows.select(pl.all().shift())
    follows = (rows["id"] == former["id"]).fill_null(value=False)
    counted = (rows["seen"] >= since) & (rows["version"] > after)
    stays = counted & follows & rows["gone"].is_null() & former["gone"].is_null()
    masks = {name: stays & rows[name].ne_missing(former[name]) for name in UNIT_FIELDS}
    masks["id"] = counted & rows["first"]
    masks["gone"] = counted & follows & rows["gone"].ne_missing(former["gone"])
    nothing = pl.lit(None, pl.String)
    frames = [
        pl.DataFrame({"id": rows["id"], "seen": rows["seen"]})
        .with_columns(
            field=pl.lit(name),
            old=nothing if name == "id" else _text(former[name]),
            new=_text(rows[name]),
        )
        .filter(mask)
        .select(CHANGES.names())
        for name, mask in masks.items()
    ]
    places: Sequence[int] = range(len(masks))
    order = pl.col("field").replace_strict(list(masks), places, return_dtype=pl.Int64)
    return pl.concat(frames).sort("seen", "id", order)


def _text(values: pl.Series) -> pl.Series:
    if values.dtype == pl.List:
        return values.cast(pl.List(pl.String)).list.join(" ")
    return values.cast(pl.String)
