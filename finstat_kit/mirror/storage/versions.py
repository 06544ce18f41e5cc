"""Rows of the log of a collection: what they hold, which of them is the newest, what is lacking.

Pure functions over frames. A list names ids, records answer them, and both are rows of one log.
What was named after it was last answered is lacking, and so is what could not be read. The newest
version of an id is the one of the greatest number; a row that only says why a record could not be
read never hides the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
VOID: Final = "void"  # of a report whose cells are lost; in no file
_KINDS: Final = (LISTED, NAMED, RECORD, UNCHANGED, UNREADABLE, MISSING, VOID)
_KIND: Final = pl.Enum(_KINDS)
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
# The columns of its tables that have a filled cell, the n-th of all as bit n; null where it does
# not fit its template, or where an earlier version wrote the row.
FILLED: Final = "filled"
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
_KEYS: Final = ("id", "version", "same_as")

Ints = NDArray[np.int64]


def schema_of(name: str) -> pl.Schema:
    """Return the columns of the log of a collection."""
    columns = dict(KINDS[name].schema)
    if name == "reports":  # whose cells are a table of their own
        del columns[wire.TABLES]
        columns |= {LENGTHS: pl.List(pl.Int32()), TEXTS: pl.Int64(), FILLED: pl.Int64()}
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
    return in_log(name, contents.with_columns(kind=pl.lit(kind), seen=pl.lit(seen)), version)


def in_log(name: str, rows: pl.DataFrame, version: int) -> pl.DataFrame:
    """Return rows of one version in the columns of the log of a collection, absent ones null."""
    schema = schema_of(name)
    absent = [pl.lit(None, t).alias(n) for n, t in schema.items() if n not in rows.columns]
    numbered = rows.with_columns(*absent).with_columns(version=pl.lit(version, pl.Int64))
    return numbered.select(schema.names())


def answers_of(records: pl.DataFrame) -> pl.DataFrame:
    """Add ``gone`` and ``digest`` to the contents of records that could be read."""
    gone = pl.lit(None, pl.String)
    if wire.STATE in records.columns:
        state = pl.col(wire.STATE)
        gone = state.str.to_uppercase().replace_strict(_GONE, default=state)
    own = pl.exclude(FILLED)  # which follows from the rest and from a template
    contents = records.select(pl.struct(own).struct.json_encode()).to_series()
    # A field that a later version knows is null in rows of before, and changes no digest.
    contents = contents.str.replace_all(r',?"\w+":null', "")
    return records.with_columns(gone=gone, digest=digests(contents))


def digests(texts: pl.Series) -> pl.Series:
    """Return a number per text that depends on all of it."""
    hashes = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return pl.Series("digest", [int.from_bytes(h, "little", signed=True) for h in hashes], pl.Int64)


def keys_of(log: pl.LazyFrame, *more: str) -> pl.DataFrame:
    """Return the keys of rows of a log, by ascending id and version."""
    keys = log.select(*more, *_KEYS, pl.col("kind").cast(_KIND)).collect(engine="streaming")
    # Far faster than polars sorts by two columns.
    return keys[np.lexsort((keys["version"].to_numpy(), keys["id"].to_numpy()))]


def standing(keys: pl.DataFrame, base: int) -> pl.DataFrame:
    """Return what a log says of each id that it names, by ascending id.

    Args:
        keys: Of all rows that count; see `keys_of`.
        base: The last version before the last full run, 0 without any. Its being begun names anew
            what lists named until then.

    Returns:
        ``id``; ``named`` (Int64: the newest version of a list or record that names it, 0 without
        any), ``answered`` (Int64: the newest version that answers it, 0 without any), ``readable``
        (Boolean: whether that is a record), ``known`` (Boolean: whether any is), ``listed``
        (Boolean: False once it is missing), ``lacking`` (Boolean: whether its record has to be
        fetched) and ``unreadable`` (Boolean: whether its newest answer is no record).
    """
    starts, versions = _starts(keys), keys["version"].to_numpy()

    def newest_of(*kinds: str) -> Ints:
        return np.maximum.reduceat(np.where(_is_of(keys, *kinds), versions, 0), starts)

    lists, records = newest_of(LISTED, NAMED), newest_of(RECORD, UNCHANGED)
    answered = np.maximum(records, newest_of(UNREADABLE))
    named = np.where(lists > 0, np.maximum(lists, base + 1), 0)
    readable = (records == answered) & (answered > 0)
    current = (answered >= named) & (answered > 0)
    listed = ~_is_of(keys, MISSING)[_ends(keys)]
    return pl.DataFrame(
        {
            "id": keys["id"].gather(starts), "named": named, "answered": answered,
            "readable": readable, "known": records > 0, "listed": listed,
            "lacking": listed & ~(current & readable), "unreadable": current & ~readable,
        }
    )  # fmt: skip


def contents(keys: pl.DataFrame) -> pl.DataFrame:
    """Return what the newest row of each id stands for, by ascending id.

    Args:
        keys: Of all rows, with ``digest``; see `keys_of`.

    Returns:
        ``id``, ``digest`` (Int64: of the content or problem, null where no row has it) and
        ``same_as`` (Int64: the version of that row); ids without a record, and without a reason why
        it could not be read, are left out.
    """
    rows = keys.filter(pl.col("kind") != LISTED)
    last = rows[_ends(rows)].lazy().filter(pl.col("kind").is_in([RECORD, UNCHANGED, UNREADABLE]))
    last = last.select("id", same_as=pl.coalesce("same_as", "version"))
    digests = rows.lazy().select("id", "digest", same_as="version")
    return (
        last.join(digests, on=["id", "same_as"], how="left", maintain_order="left")
        .select("id", "digest", "same_as")
        .collect()
    )


def has_content() -> pl.Expr:
    """Return whether a row holds a record, or that there is none."""
    return ~pl.col("kind").is_in([LISTED, NAMED, UNCHANGED, UNREADABLE])


def outdated(keys: pl.DataFrame, *, missing: bool) -> pl.DataFrame:
    """Return which rows with content are not the newest of their id.

    Args:
        keys: Of the rows that count; see `keys_of`.
        missing: Whether a row that says that an id is missing is a version too.

    Returns:
        ``id`` and ``version`` of rows, which no two rows with content share.
    """
    counted = np.flatnonzero(_is_of(keys, RECORD, UNCHANGED, *([MISSING] if missing else [])))
    newest_rows = counted[_ends(keys.select(pl.col("id").gather(counted)))]
    with_content = keys.select(has_content().arg_true()).to_series()
    # The content of an unchanged record stands in another row.
    unchanged = _is_of(keys, UNCHANGED)[newest_rows]
    if not unchanged.any() and len(with_content) == len(newest_rows):
        return keys.clear().select("id", "version")
    newest = keys[newest_rows]
    same = newest.filter(unchanged).select("id", version="same_as")
    current = pl.concat([newest.filter(~unchanged).select("id", "version"), same])
    rows = keys[with_content].select("id", "version")
    return rows.join(current, on=["id", "version"], how="anti")


def _is_of(keys: pl.DataFrame, *kinds: str) -> NDArray[np.bool_]:
    """Return whether each row is of one of some kinds."""
    numbers = keys["kind"].to_physical().to_numpy()
    return np.isin(numbers, [_KINDS.index(kind) for kind in kinds])


def _starts(keys: pl.DataFrame) -> Ints:
    """Return the places of the first row of each id."""
    ids = keys["id"].to_numpy()
    return np.flatnonzero(np.append(True, ids[1:] != ids[:-1])[: len(ids)])


def _ends(keys: pl.DataFrame) -> Ints:
    """Return the places of the last row of each id."""
    return np.append(_starts(keys)[1:], keys.height)[: keys.height] - 1


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
