"""What a mirror of the contents takes: batches, one item of all filings, disk and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from statistics import mean, median

import numpy as np
import polars as pl
from numpy.typing import NDArray
from timing import Figure, memory, side_by_side

import finstat_kit as fk
from finstat_kit.mirror.contents import LISTED, schema_of, with_meta
from finstat_kit.mirror.folder import About, Folder, Origin
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.stored_cells import split
from finstat_kit.mirror.syncing import RUNS, STATE
from finstat_kit.mirror.tables import MANY_FILES
from finstat_kit.mirror.versions import META, Row, to_frame
from finstat_kit.protocol.forms.form import shipped
from finstat_kit.protocol.records import decode as shaped
from finstat_kit.protocol.records.decode import KINDS

_SUBJECT = "mirror of the contents"
_BATCH = 10_000
_YEARS = range(2014, 2024)  # each unit files once a year, all units of a year before the next
_DAY = date(2026, 6, 30)
_VIEW = """
    WITH newest AS (
        SELECT id, version FROM read_parquet($reports) WHERE problem IS NULL
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
    )
    SELECT count(*), sum(value)
    FROM read_parquet($cells) AS c
    JOIN newest AS r ON c.report_id = r.id AND c.version = r.version
    WHERE template = 687 AND "table" = 0 AND "row" = 0 AND "column" = 0
"""


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in a process of its own, so that its peak memory is that of the mirror."""
    filings = 100_000 if quick else 1_000_000
    seen = subprocess.run(
        [sys.executable, __file__, str(filings)], check=True, stdout=subprocess.PIPE, text=True
    )
    what = f"{filings:,} filings of 699 and 687"
    for text, value, goal, unit in json.loads(seen.stdout.splitlines()[-1]):
        yield Figure(_SUBJECT, f"{what}: {text}", value, goal, least=False, unit=unit)


def main(filings: int) -> None:
    """Write a mirror of so many filings, read it, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        times = write(Path(folder), filings)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        fifth = max(len(times) // 5, 1)
        mirror = fk.Mirror(folder)
        units = filings // len(_YEARS)
        year = mirror.financials(year=_YEARS[-1])
        of_year = f"figures of {units:,} units, one year"
        cells = mirror.cells()
        key = {"template": 687, "table": 0, "column": 0}
        rows = pl.col("row").is_in(list(range(10)))
        taken = side_by_side(
            3,
            one=lambda: cells.filter(**key, row=0).select("report_id", "value").collect(),
            ten=lambda: cells.filter(rows, **key).select("report_id", "row", "value").collect(),
            again=lambda: mirror.cells().filter(**key, row=0).select("value").collect(),
            year=lambda: year.drop("sums_failing").collect(),
            few=lambda: year.select("unit_id", "template", "equity", "net_profit").collect(),
            narrow=lambda: year.filter(unit_id=units // 2, template=687).collect(),
            sums=lambda: year.collect(),
            report=lambda: mirror.reports.get([filings // 2]),
        )
        peak = memory("VmHWM")  # without what DuckDB keeps for itself
        taken |= side_by_side(3, duckdb=lambda: by_duckdb(Path(folder)))
        found: list[tuple[str, float, float | None, str]] = [
            ("one item of all", taken["one"], 0.5, " s"),
            ("one item of all, from a new call of cells()", taken["again"], None, " s"),
            ("ten items of all", taken["ten"], 3.0, " s"),
            ("one item by DuckDB, by the view of the docs", taken["duckdb"], None, " s"),
            (f"{of_year}, without sums_failing", taken["year"], 3.0, " s"),
            (f"{of_year}, all columns", taken["sums"], None, " s"),
            (f"{of_year}, two items", taken["few"], None, " s"),
            (f"figures of one unit of {units:,}, one year", taken["narrow"], None, " s"),
            ("one report by its id", taken["report"], None, " s"),
            ("batch of 10,000 reports, median", median(times), 2.0, " s"),
            ("batch of 10,000 reports, with compaction", mean(times), None, " s"),
            ("last fifth of the batches to the first",
             median(times[-fifth:]) / median(times[:fifth]), 1.5, "x"),
            ("bytes on disk per filing", size / filings, 1_300.0, " B"),
            ("peak memory of all but DuckDB", peak, 600.0, " MB"),
        ]  # fmt: skip
        print(json.dumps(found))


def by_duckdb(folder: Path) -> object:
    """Return one item of all filings as the docs read it by SQL."""
    import deltalake
    import duckdb

    files = {
        name: deltalake.DeltaTable(folder / table).file_uris()
        for name, table in (("cells", "cells"), ("reports", "reports_records"))
    }
    return duckdb.execute(_VIEW, files).fetchall()


def write(folder: Path, filings: int) -> list[float]:
    """Write a complete mirror of so many reports; return the seconds of each batch."""
    records = _records()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins here
    origin = Origin("sample:", f"finstat_kit sample; seed=0; units={filings}")
    held, version, times = Held(folder), 0, []
    for start in range(0, filings, _BATCH):
        ids = np.arange(start, min(start + _BATCH, filings)) + 1
        batch = records.head(len(ids)).with_columns(pl.Series("id", ids))
        version += 1
        state = dict.fromkeys(STATE, 0) | {"version": version, "register": origin.number, "run": 1}
        listed = to_frame((Row({"id": id_}) for id_ in ids.tolist()), pl.Schema({"id": pl.Int64()}),
                          version, _DAY)  # fmt: skip
        for name in ("reports", "statements"):
            held.lists[name].append(listed, state)
        statements = with_meta(_statements(ids, filings), [None] * len(ids), version, _DAY)
        held.contents["statements"].append(statements, {"version": version})
        if ids[0] <= (many := filings // len(_YEARS)):
            rows = (_unit(id_, filings) for id_ in ids[ids <= many].tolist())
            held.lists["units"].append(to_frame(rows, shaped.UNITS, version, _DAY), state)
        began = time.perf_counter()
        stored, cells = split(batch, version, shipped)
        stored = stored.with_columns(pl.lit(version).cast(pl.Int64).alias(LISTED))
        stored = stored.select(name for name in schema_of("reports") if name not in META)
        held.cells.append(cells, {"version": version})
        frame = with_meta(stored, [None] * len(ids), version, _DAY)
        held.contents["reports"].append(frame, {"version": version, "cells": held.cells.rows})
        if version % MANY_FILES == 0:
            for table in held.tables:
                table.tidy()
        times.append(time.perf_counter() - began)
    run = {
        "run": 1, "since": date(2000, 1, 1), "started": _DAY, "completed": _DAY,
        "version": held.lists["units"].state()["version"], "rows_units": filings // len(_YEARS),
        "rows_statements": filings, "version_statements": version,
        "rows_reports": filings, "version_reports": version,
    }  # fmt: skip
    held.runs.append(pl.DataFrame([run], schema=RUNS))
    for table in held.tables:
        table.seal()
    Folder(folder).write(About(origin, date(2000, 1, 1), contents=("statements", "reports")))
    return times


def _unit(id_: int, filings: int) -> Row:
    """Return a unit with a statement of each year."""
    own = [id_ + year * (filings // len(_YEARS)) for year in range(len(_YEARS))]
    return Row(
        {
            "id": id_, "ico": f"{id_:08}", "nazovUJ": f"Firma {id_}", "kraj": f"SK0{id_ % 8}0",
            "datumPoslednejUpravy": _DAY, "idUctovnychZavierok": own,
        }
    )  # fmt: skip


def _statements(ids: NDArray[np.int64], filings: int) -> pl.DataFrame:
    """Return statements, each with the report of the same id."""
    schema = KINDS["statements"].schema
    year = _YEARS[0] + (pl.col("id") - 1) // (filings // len(_YEARS))
    filled = pl.DataFrame({"id": ids}).with_columns(
        obdobieOd=pl.date(year, 1, 1), obdobieDo=pl.date(year, 12, 31), typ=pl.lit("Riadna"),
        datumPodania=pl.date(year + 1, 3, 31), datumPoslednejUpravy=pl.lit(_DAY),
        idUctovnychVykazov=pl.concat_list("id"), listed=(pl.col("id") - 1) // _BATCH + 1,
    )  # fmt: skip
    empty = [pl.lit(None, t).alias(n) for n, t in schema.items() if n not in filled.columns]
    columns = (*schema, LISTED)
    return (
        filled.with_columns(empty).select(columns).cast(pl.Schema({**schema, LISTED: pl.Int64()}))
    )


def _records() -> pl.DataFrame:
    """Return 10,000 invented reports on the two forms of businesses, as the register sends them."""
    sample, kind = fk.sample(), KINDS["reports"]
    found: list[pl.DataFrame] = []
    ids = sample.reports.ids()["id"].sample(fraction=1.0, shuffle=True, seed=1)
    for some in ids.to_frame().iter_slices(10_000):
        records = sample.reports.get(some)
        fits = pl.col("idSablony").is_in([687, 699]) & (pl.col("tabulky").list.len() > 0)
        found.append(records.filter(fits))
        if sum(frame.height for frame in found) >= _BATCH:
            break
    return pl.concat(found).select(kind.schema.names()).head(_BATCH)


if __name__ == "__main__":
    main(int(sys.argv[1]))
