"""LazyFrames of the records of a mirror or a sample, where all are at hand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from finstat_kit.arguments import Since
from finstat_kit.client.collections import walk
from finstat_kit.errors import UsageError
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

if TYPE_CHECKING:
    from finstat_kit.client.collections.collection import Collection
    from finstat_kit.client.session import Session


def at_hand(session: Session) -> bool:
    """Return whether all records are at hand, so that a scan of them takes no requests."""
    # What a sample answers to a scan could not be replayed: its records are no list.
    return not session.source.cost or (session.source.in_process and session.exchange.cache is None)


def scan(collection: Collection, changed_since: Since) -> pl.LazyFrame:
    """Return the records of a collection as a LazyFrame; see `Collection.scan`."""
    session, name = collection._session, collection._name
    source = session.source
    if not at_hand(session):
        raise UsageError(
            "a scan needs all records at hand, as a mirror or a sample has them; this register "
            "takes a request for each",
            cure=f"fetch those you need, fk.{name}.get(fk.{name}.ids(changed_since=…)), or keep a "
            "copy: fk.Mirror('ruz').sync()",
        )
    query = walk.query_of(session, name, changed_since)
    if (records := source.all_records(name)) is not None:
        changed = pl.col(wire.CHANGED) >= query.changed_since
        return (records if changed_since is None else records.filter(changed)).sort("id")
    ids = walk.ids(session, name, query, connections=1, progress=False)
    # An unreadable record of a mirror hides no other.
    read = partial(_records, collection, keep=not source.cost)
    return ids.lazy().map_batches(
        read,
        schema=KINDS[name].schema,
        predicate_pushdown=True,  # a row is one id, so that filters by id and head() come first
        slice_pushdown=True,
        streamable=True,
    )


def _records(collection: Collection, ids: pl.DataFrame, *, keep: bool) -> pl.DataFrame:
    """Return the records of some ids; a function of the module, so that pickle finds it."""
    return collection.get(ids, errors="keep" if keep else "raise")
