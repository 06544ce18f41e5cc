"""Pages as the specification has them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from finstat_kit.protocol.requests import Page, Query


def page_of(ids: Sequence[int], query: Query) -> Page:
    """Answer as the specification says."""
    due = [i for i in ids if i > query.after_id]
    return Page(pl.Series("id", due[: query.page_size], dtype=pl.Int64), len(due) > query.page_size)
