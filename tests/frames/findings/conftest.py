"""Figures of a sample for all tests of findings: hundreds of filings, read once."""

from __future__ import annotations

import polars as pl
import pytest

import finstat_kit as fk

SAMPLE = fk.sample(3_000, seed=5)


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)


@pytest.fixture(scope="session")
def figures() -> pl.DataFrame:
    units = SAMPLE.units.get(SAMPLE.units.ids().sample(140, seed=4))
    money = SAMPLE.financials(units, range(2012, 2025))
    assert money["total_assets"].count() > 600
    # What a sample draws rarely: negative equity, and balances that differ.
    place = pl.int_range(pl.len())
    return money.with_columns(
        equity=pl.when(place % 17 == 0).then(-pl.col("equity").abs()).otherwise("equity"),
        balance_difference=pl.when(place % 29 == 0, pl.col("balance_difference").is_not_null())
        .then(40.0)
        .otherwise("balance_difference"),
    )
