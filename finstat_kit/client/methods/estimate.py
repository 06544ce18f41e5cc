"""Counts by code of a whole register, estimated from records drawn at random."""

from __future__ import annotations

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang, Since
from finstat_kit.client.collections.fetching import refuse_long_work
from finstat_kit.client.collections.listing import query_of, walked
from finstat_kit.client.source import Allowance, Source
from finstat_kit.frames.counts import estimation
from finstat_kit.frames.counts.estimation import NO_RECORD
from finstat_kit.frames.places import labels
from finstat_kit.protocol import wire


def estimate(
    source: Source,
    by: By,
    drawn: tuple[int, int],
    changed_since: Since,
    allowance: Allowance,
    lang: Lang,
) -> pl.DataFrame:
    """Return the estimated counts of a whole register; see `Register.estimate`.

    Args:
        source: What answers.
        by: As given by the user.
        drawn: How many units are drawn, and the seed of the draw.
        changed_since: As given by the user.
        allowance: What it may take.
        lang: Language of the labels.
    """
    by = labels.field(by, wire.BY_FIELD)
    query = query_of(source, "units", changed_since)
    n, seed = (
        arguments.whole(name, value, least, wire.MAX_ID)
        for name, value, least in zip(("n", "seed"), drawn, (1, 0), strict=True)
    )
    refuse_long_work(source, n, allowance.max_requests)
    with source.session.working("records", n, lambda: None, progress=False):
        ids = walked(source, query, progress=allowance.progress)["id"]
        source.codelist(wire.BY_FIELD[by].name)  # before the records: its error loses none of them
    sample = estimation.drawn(ids, seed).head(n)
    records = source.records("units", sample, allowance, null_rows=True)
    missing = pl.when(pl.col(wire.CHANGED).is_null()).then(pl.lit(NO_RECORD))
    rows = records.with_columns(problem=missing)
    return estimation.estimated(rows, by, source.codelist, ids.len(), lang=lang)
