"""Counts by code of a whole register, estimated from records drawn at random."""

from __future__ import annotations

from contextlib import closing

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang, Since
from finstat_kit.client.collections import walk
from finstat_kit.client.collections.fetching import outcomes, refuse_long_work
from finstat_kit.client.source import Source
from finstat_kit.errors import Interrupted, NotFound, ProtocolError, RegisterError, warn
from finstat_kit.frames.counts import estimation
from finstat_kit.frames.counts.estimation import NO_RECORD, UNREADABLE
from finstat_kit.frames.places import labels
from finstat_kit.progress import bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS, Record

_Drawn = tuple[str | None, str | None, str | None]  # code, state and problem of a unit


def estimate(
    source: Source,
    by: By,
    *,
    n: int,
    seed: int,
    changed_since: Since,
    max_requests: int | None,
    lang: Lang,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the estimated counts of a whole register; see `Register.estimate`."""
    by = labels.field(by, wire.BY_FIELD)
    n, seed = arguments.whole("n", n, 1, wire.MAX_ID), arguments.whole("seed", seed, 0, wire.MAX_ID)
    query = walk.query_of(source, "units", changed_since)
    if not source.session.replayed:
        refuse_long_work(n * source.cost, source.session, max_requests)
    rows = list[_Drawn]()

    def estimated(rows: pl.DataFrame) -> pl.DataFrame:
        return estimation.estimated(rows, by, source.codelist, ids.len(), lang=lang)

    def so_far() -> pl.DataFrame:
        schema = dict.fromkeys((by, wire.STATE, "problem"), pl.String)
        return estimated(pl.DataFrame(rows, schema, orient="row"))

    try:
        ids = walk.ids(source, "units", query, progress=progress)["id"]
        # Before the records, so that any number of them gives an estimate.
        source.codelist(wire.BY_FIELD[by].name)
        sampled_ids = estimation.drawn(ids, seed).head(n)
        if not source.cost:
            records = source.records("units", sampled_ids, keep=True)
            missing = pl.when(pl.col(wire.CHANGED).is_null()).then(pl.lit(NO_RECORD))
            return estimated(records.with_columns(problem=missing))
        drawn = sampled_ids.to_list()
        fetched = outcomes(KINDS["units"], drawn, source.session, max_requests=max_requests)
        with (
            closing(fetched),
            bar(
                "records", sampled_ids.len(), watched=source.session.watched, progress=progress
            ) as advance,
        ):
            for _, record in fetched:
                rows.append(_drawn(record, by))
                advance(1)
    except RegisterError as error:
        error.partial, error.cursor = so_far() if rows else None, None  # ids are no estimate
        error.going_on = source.session.going_on()
        raise
    except KeyboardInterrupt as interrupt:
        if not rows:
            raise Interrupted("interrupted before the first record") from interrupt
        warn(f"interrupted: an estimate from {len(rows):,} of {len(drawn):,} records")
    return so_far()


def _drawn(record: Record | Exception, by: str) -> _Drawn:
    if isinstance(record, NotFound):
        return None, None, NO_RECORD
    if isinstance(record, ProtocolError):
        return None, None, UNREADABLE
    code, state = getattr(record, by), getattr(record, wire.STATE)
    return None if code is None else str(code), None if state is None else str(state), None
