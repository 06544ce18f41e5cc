"""Summaries and peers of a million filings, beside collecting their columns and beside DuckDB.

Of a frame here; of a mirror in `contents_mirror`, which writes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import polars as pl
from by_region import TABLES
from timing import Figure, seconds, side_by_side

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

# Of the files of a mirror: the newest records, and the rows that sales are a sum of.
_FILINGS: Final = """
    WITH filed AS (
        SELECT id AS report_id, version, idUctovnejZavierky AS statement
        FROM read_parquet($reports) WHERE kind = 'record'
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
    ), years AS (
        SELECT id AS statement, year(obdobieDo) AS year
        FROM read_parquet($statements) WHERE kind = 'record'
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
    ), owners AS (
        SELECT id AS unit_id, substr(skNace, 1, 2) AS division,
            unnest(idUctovnychZavierok) AS statement
        FROM read_parquet($units) WHERE kind = 'record'
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
    ), amounts AS (
        SELECT report_id, version, sum(value) AS sales FROM read_parquet($cells)
        WHERE "table" = 2 AND "column" = 0
            AND (template = 699 AND "row" IN (2, 3, 4) OR template = 687 AND "row" IN (1, 2))
        GROUP BY ALL
    ), filings AS (
        SELECT * FROM owners JOIN years USING (statement) JOIN filed USING (statement)
            LEFT JOIN amounts USING (report_id, version)
    )
"""
_SUMMARY_ON_MIRROR: Final = f"""
    {_FILINGS}
    SELECT division, year, count(*), count(sales), sum(sales), avg(sales),
        quantile_cont(sales, [0.1, 0.25, 0.5, 0.75, 0.9])
    FROM filings GROUP BY ALL
"""
# Of all sizes: which of them peers are of is computed from more of their numbers.
_PEERS_ON_MIRROR: Final = f"""
    {_FILINGS}, own AS (
        SELECT substr(skNace, 1, 2) AS division FROM read_parquet($units)
        WHERE id = $unit AND kind = 'record' ORDER BY version DESC LIMIT 1
    )
    SELECT count(sales), quantile_cont(sales, [0.25, 0.5, 0.75])
    FROM filings JOIN own USING (division) WHERE year = $year
"""
_YEAR_ON_MIRROR: Final = f"{_FILINGS} SELECT unit_id, sales FROM filings WHERE year = $year"
_UNIT_ON_MIRROR: Final = f"{_YEAR_ON_MIRROR} AND unit_id = $unit"


def figures(quick: bool) -> Iterator[Figure]:
    """Measure `summary` by section and year, and `peers`, on a parquet file of figures."""
    import duckdb

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


def on_mirror(
    mirror: fk.Mirror, unit: int, year: int
) -> list[tuple[str, float, float | None, str]]:
    """Return text, value, goal and unit of what findings take on a mirror of businesses.

    Both numbers are of one call, because the time of reading a mirror varies by more than the rest.
    """
    import duckdb  # not before memory was measured

    money = mirror.scan_financials()
    ours: list[pl.DataFrame] = []
    summary, read = _apart(lambda: ours.append(fk.summary(money, "sales", by="section")))
    peers, read_of_peers = _apart(lambda: ours.append(fk.peers(money, unit, "sales", year=year)))
    files = {name: mirror.files(name) for name in TABLES}
    rows: list[Any] = []
    duck = seconds(lambda: rows.extend(duckdb.execute(_SUMMARY_ON_MIRROR, files).fetchall()))
    of_peer = files | {"unit": unit, "year": year}
    group: list[Any] = []
    duck_peers = seconds(lambda: group.extend(duckdb.execute(_PEERS_ON_MIRROR, of_peer).fetchall()))
    of_year = files | {"year": year}
    duck_year = seconds(lambda: duckdb.execute(_YEAR_ON_MIRROR, of_year).fetchall())
    duck_unit = seconds(lambda: duckdb.execute(_UNIT_ON_MIRROR, of_peer).fetchall())
    # Each division here is of another section.
    amounts = sorted((row[1:4], round(row[4])) for row in rows)
    of_sections = ours[0].select("year", "units", "n", pl.col("sum").round()).rows()
    assert sorted((row[:3], row[3]) for row in of_sections) == amounts
    assert ours[1]["n"][0] <= group[0][0]
    return [
        ("collecting the columns of a summary by section and year", read, 3 * duck, " s"),
        ("the summary beyond collecting", summary - read, _MOST, " s"),
        ("the summary's numbers in DuckDB, from the files", duck, None, " s"),
        ("collecting the columns of the peers of a unit", read_of_peers, duck_peers + 0.3, " s"),
        ("the peers beyond collecting", peers - read_of_peers, _MOST, " s"),
        ("sales of that section and year in DuckDB, from the files", duck_peers, None, " s"),
        ("sales of all units, one year, in DuckDB, from the files", duck_year, None, " s"),
        ("sales of one unit, one year, in DuckDB, from the files", duck_unit, None, " s"),
    ]


def _apart(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a call, and those in which it collects its lazy frame."""
    collect, taken, inside = pl.LazyFrame.collect, [0.0], [False]

    def timed(frame: pl.LazyFrame, **options: Any) -> object:  # noqa: ANN401
        if inside[0]:  # by the mirror
            return collect(frame, **options)
        inside[0] = True
        result: list[object] = []
        taken[0] += seconds(lambda: result.append(collect(frame, **options)))
        inside[0] = False
        return result[0]

    with patch.object(pl.LazyFrame, "collect", timed):
        return seconds(work), taken[0]
