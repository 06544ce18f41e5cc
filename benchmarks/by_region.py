"""One item of all filings by region, as each engine reads it from the files of a mirror.

    python benchmarks/by_region.py ruz

prints total assets (form 699, net) as JSON: engine, region, number of filings, sum in cents. Sums
of whole numbers do not depend on the order of addition, so that all engines give the same.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, get_args

import polars as pl

import finstat_kit as fk

Table = Literal["cells", "reports", "statements", "units"]
TABLES: tuple[Table, ...] = get_args(Table)
ITEM = {"template": 699, "table": 0, "row": 0, "column": 2}
Found = dict[str | None, tuple[int, int]]
_NEWEST = """
    SELECT * FROM {} WHERE kind IN ('record', 'missing')
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
"""
SQL = f"""
    WITH r AS ({_NEWEST.format("reports")}),
         s AS ({_NEWEST.format("statements")}),
         u AS ({_NEWEST.format("units")})
    SELECT kraj, count(value), sum(CAST(round(100 * value) AS BIGINT))
    FROM cells AS c
    JOIN r ON c.report_id = r.id AND c.version = r.version
    LEFT JOIN s ON s.id = r.idUctovnejZavierky
    LEFT JOIN u ON u.id = s.idUJ AND u.gone IS NULL
    WHERE template = 699 AND "table" = 0 AND "row" = 0 AND "column" = 2
    GROUP BY kraj
"""


def files(folder: str, name: Table, root: str | None = None) -> list[str]:
    """Return the files of a mirror; see `Mirror.files`."""
    return fk.Mirror(folder).files(name, root)


def by_mirror(folder: str) -> Found:
    """Read it by the frames of the package, streaming."""
    mirror = fk.Mirror(folder)
    frames = {name: mirror.snapshot(name) for name in ("reports", "statements", "units")}
    return _summed(mirror.scan_cells().filter(**ITEM), frames)


def by_polars(tables: Mapping[str, pl.LazyFrame]) -> Found:
    """Read it from the files themselves, streaming."""
    newest = {}
    for name in ("reports", "statements", "units"):
        rows = tables[name].filter(pl.col("kind").is_in(["record", "missing"]))
        last = rows.group_by("id").agg(pl.col("version").max())
        newest[name] = rows.join(last, on=["id", "version"], how="semi")
    item = tables["cells"].filter(**ITEM)
    counted = newest["reports"].select("version", report_id="id")
    return _summed(item.join(counted, on=["report_id", "version"], how="semi"), newest)


def _summed(item: pl.LazyFrame, newest: Mapping[str, pl.LazyFrame]) -> Found:
    reports = newest["reports"].select(report_id="id", statement="idUctovnejZavierky")
    statements = newest["statements"].select(statement="id", unit="idUJ")
    units = newest["units"].filter(pl.col("gone").is_null()).select("kraj", unit="id")
    cents = (100 * pl.col("value")).round().cast(pl.Int64)
    rows = (
        item.join(reports, on="report_id", how="left")
        .join(statements, on="statement", how="left")
        .join(units, on="unit", how="left")
        .group_by("kraj")
        .agg(pl.col("value").count(), cents.sum().alias("cents"))
        .collect(engine="streaming")
        .rows()
    )
    return {kraj: (count, total) for kraj, count, total in rows}


def by_duckdb(connection: Any) -> Found:  # noqa: ANN401 - duckdb is optional
    """Read it by SQL from the views cells, reports, statements and units."""
    return {kraj: (count, total) for kraj, count, total in connection.execute(SQL).fetchall()}


def by_daft(tables: Mapping[str, Any]) -> Found:
    """Read it from frames of Daft, by whichever runner is set."""
    from daft import col

    newest = {}
    for name in ("reports", "statements", "units"):
        rows = tables[name].where(col("kind").is_in(["record", "missing"]))
        last = rows.groupby("id").agg(col("version").max())
        newest[name] = rows.join(last, on=["id", "version"])
    reports, statements, units = (newest[name] for name in ("reports", "statements", "units"))
    item = tables["cells"]
    for name, place in ITEM.items():
        item = item.where(col(name) == place)
    sums = (
        item.select(col("report_id").alias("id"), "version", "value")
        .join(
            reports.select("id", "version", col("idUctovnejZavierky").alias("statement")),
            on=["id", "version"],
        )
        .join(
            statements.select(col("id").alias("statement"), col("idUJ").alias("unit")),
            on="statement", how="left",
        )
        .join(
            units.where(col("gone").is_null()).select(col("id").alias("unit"), "kraj"),
            on="unit", how="left",
        )
        .with_column("cents", (col("value") * 100).round().cast("int64"))
        .groupby("kraj")
        .agg(col("value").count(), col("cents").sum())
        .to_pydict()
    )  # fmt: skip
    pairs = zip(sums["value"], sums["cents"], strict=True)
    return dict(zip(sums["kraj"], pairs, strict=True))


def polars_locally(folder: str) -> Found:
    """Read it from the files in a directory by polars."""
    return by_polars({name: pl.scan_parquet(files(folder, name)) for name in TABLES})


def duckdb_locally(folder: str) -> Found:
    """Read it from the files in a directory by DuckDB."""
    import duckdb

    connection = duckdb.connect()
    for name in TABLES:
        connection.read_parquet(files(folder, name)).create_view(name)
    return by_duckdb(connection)


def daft_locally(folder: str) -> Found:
    """Read it from the files in a directory by Daft."""
    import daft

    return by_daft({name: daft.read_parquet(files(folder, name)) for name in TABLES})


if __name__ == "__main__":
    for engine in (by_mirror, polars_locally, duckdb_locally, daft_locally):
        for kraj, numbers in engine(sys.argv[1]).items():
            print(json.dumps([engine.__name__, kraj, *numbers]))
    sys.stdout.flush()
    os._exit(0)  # daft's threads may crash while the interpreter is taken down
