"""Summaries and peers of a million filings, beside collecting their columns and beside DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
import polars as pl
from timing import Figure, side_by_side

import finstat_kit as fk
from finstat_kit.frames.financials.assemble import CARRIED

_ROWS: Final = 1_000_000
_SUBJECT: Final = "findings"
_MOST: Final = 0.5  # seconds beyond collecting
_NEEDED: Final = [
    "unit_id", "year", "reason", "source_column", "months", "period_to", "consolidated", "family",
    "template", "currency", "sales", "net_turnover", "total_assets", "skNace", "velkostOrganizacie",
]  # fmt: skip
_QUERY: Final = """
    SELECT substr(skNace, 1, 2) AS division, year, count(*), count(sales), sum(sales), avg(sales),
        quantile_cont(sales, [0.1, 0.25, 0.5, 0.75, 0.9])
    FROM '{path}' GROUP BY ALL
"""


def figures(quick: bool) -> Iterator[Figure]:
    """Measure `summary` by section and year, and `peers`, on a parquet file of figures."""
    with fk.using(fk.sample()):
        money = fk.financials(fk.units.get(fk.units.ids(limit=300)), range(2014, 2024))
    copies = _ROWS // money.height + 1
    step = money["unit_id"].max()
    many = pl.concat(
        money.with_columns(pl.col("unit_id") + copy * (step + 1))  # type: ignore[operator]
        for copy in range(copies)
    ).head(_ROWS)
    known = money.filter(pl.col("year") == 2018).drop_nulls(["sales", *CARRIED])
    unit = int(known["unit_id"][0])
    with TemporaryDirectory() as folder:
        path = f"{folder}/figures.parquet"
        many.write_parquet(path)
        lazy = pl.scan_parquet(path)
        times = side_by_side(
            3 if quick else 7,
            collect=lambda: lazy.select(_NEEDED).collect(),
            summary=lambda: fk.summary(lazy, "sales", by="section"),
            peers=lambda: fk.peers(lazy, unit, "sales"),
            duckdb=lambda: duckdb.execute(_QUERY.format(path=path)).fetchall(),
        )
    rows = f"{_ROWS:,} rows"
    yield Figure(_SUBJECT, f"{rows}: collecting the columns", times["collect"], unit=" s")
    for name in ("summary", "peers"):
        beyond = times[name] - times["collect"]
        yield Figure(
            _SUBJECT, f"{rows}: {name} beyond collecting", beyond, _MOST, least=False, unit=" s"
        )
    yield Figure(_SUBJECT, f"{rows}: the summary's numbers in DuckDB", times["duckdb"], unit=" s")
