"""Rows of the log of a collection, and ids in them: pure functions over frames.

A list names ids, records answer them, and both are rows of one log, in files of their own. What was
named after it was last answered is lacking, and so is what could not be read; see `standing`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

LISTED: Final = "listed"  # a list names the id
NAMED: Final = "named"  # a statement or an annual report names the id, and no list did
RECORD: Final = "record"
UNCHANGED: Final = "unchanged"  # a record whose content an earlier row has
UNREADABLE: Final = "unreadable"
MISSING: Final = "missing"  # the register's list names the id no longer
NAMES: Final = (LISTED, NAMED, MISSING)
ANSWERS: Final = (RECORD, UNCHANGED, UNREADABLE)
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
# Where records name others.
OWNED: Final = {"statements": "idUctovnychZavierok", "annual_reports": "idVyrocnychSprav"}
REPORTS_OF: Final = "idUctovnychVykazov"
_FEW: Final = 200  # ids that are compared one by one
_GONE: Final = {"ZMAZANÉ": "deleted", "NEVEREJNÁ": "non-public"}

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
