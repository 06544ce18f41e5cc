"""Cells of reports against the loop that people write, and the memory of a long LazyFrame.

Run as a script it reads the cells of so many reports, which come a thousand at a time as those of a
scan do, in a fresh process, and prints the MiB that it needed. (A scan of parquet files adds what
polars reads ahead of a consumer: up to 128 row groups.)
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pandas as pd
import polars as pl
from polars.io.plugins import register_io_source
from timing import Figure, memory, peak_of, side_by_side

import finstat_kit as fk
from finstat_kit.protocol import forms

_SUBJECT: Final = "contents"
_TEMPLATE: Final = 699
_MANY: Final = 10_000
_DIFFERENT: Final = 500  # reports; the others repeat them under ids of their own
_FILLED: Final = 0.33
_BATCH: Final = 1_000


def measured(quick: bool) -> Iterator[Figure]:
    """Measure `cells` on filings of businesses; `contents` has the figures among its own."""
    reports, register = _reports(1_000 if quick else _MANY), fk.sample(0)

    def read() -> int:
        return register.reports.cells(reports).height

    def looped() -> int:
        return len(_loop(reports))

    times = side_by_side(1 if quick else 3, loop=looped, cells=read)
    yield Figure(
        _SUBJECT, f"{reports.height:,} reports of 699: loop of dicts and pandas to cells",
        times["loop"] / times["cells"], 8.0,
    )  # fmt: skip
    each = times["cells"] / reports.height * 1e6
    yield Figure(_SUBJECT, "cells of one report of 699", each, unit=" µs")
    if Path("/proc/self/clear_refs").exists():
        for many in (40_000, 200_000)[: 1 if quick else 2]:
            yield Figure(
                _SUBJECT, f"LazyFrame of {many:,} reports: peak memory",
                peak_of(__file__, many), 250.0, least=False, unit=" MiB",
            )  # fmt: skip


def _reports(many: int) -> pl.DataFrame:
    form = forms.shipped(_TEMPLATE)
    assert form is not None
    chance = random.Random(0)
    different = [
        [
            [str(chance.randrange(10**7)) if chance.random() < _FILLED else "" for _ in range(size)]
            for size in (table.cells for table in form.tables)
        ]
        for _ in range(min(many, _DIFFERENT))
    ]
    tables = pl.Series("tabulky", different, dtype=pl.List(pl.List(pl.String)))
    ids = pl.int_range(many, eager=True).alias("id")
    return pl.DataFrame([ids, tables.gather(ids % len(different))]).with_columns(
        idSablony=pl.lit(_TEMPLATE, pl.Int64)
    )


def _loop(reports: pl.DataFrame) -> pd.DataFrame:
    """Read cells as people do: a dict per cell, a frame of the dicts."""
    form = forms.shipped(_TEMPLATE)
    assert form is not None
    found = []
    for report in reports.iter_rows(named=True):
        for number, (table, data) in enumerate(zip(form.tables, report["tabulky"], strict=True)):
            width = len(table.columns)
            for place, text in enumerate(data):
                if text != "":
                    row, column = table.rows[place // width], table.columns[place % width]
                    found.append(
                        {
                            "report_id": report["id"],
                            "template": form.id,
                            "table": number,
                            "row": place // width,
                            "column": place % width,
                            "number": row.number,
                            "period": column.period,
                            "measure": column.measure,
                            "value": float(text),
                        }
                    )
    return pd.DataFrame(found)


def _main(reports: int) -> None:
    base, register = _reports(_BATCH), fk.sample(0)

    def source(
        columns: list[str] | None, predicate: object, n_rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        for start in range(0, reports, _BATCH):
            yield base.with_columns(pl.col("id") + start).select(columns or base.columns)

    lazy = register.reports.cells(register_io_source(source, schema=base.schema))
    register.reports.cells(base.head(100))  # what is loaded on first use is no cost of rows
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the former peak
    before = memory("VmRSS")
    sums = lazy.group_by("table").agg(pl.col("value").sum(), pl.len())
    assert sums.collect(engine="streaming")["len"].sum() > 100 * reports
    print(memory("VmHWM") - before)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
