"""What a mirror of the contents takes: batches, one item of all filings, disk and memory.

The first answer of a new process is measured apart.
"""

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

import findings
import numpy as np
import polars as pl
from numpy.typing import NDArray
from timing import Figure, memory, side_by_side

import finstat_kit as fk
from finstat_kit.mirror.storage.cells import split
from finstat_kit.mirror.storage.folder import Folder
from finstat_kit.mirror.storage.logs import CODELISTS, TEMPLATES
from finstat_kit.mirror.storage.rows import LISTED, RECORD, answers_of, rows_of, schema_of
from finstat_kit.mirror.storage.runs import Settings
from finstat_kit.mirror.storage.writer import Batch, Writer
from finstat_kit.protocol.forms import shipped
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.shipped import template_bodies

_SUBJECT = "mirror of the contents"
_BATCH = 10_000
_YEARS = range(2014, 2024)  # each unit files once a year, all units of a year before the next
_DAY = date(2026, 6, 30)
_IMPORTED = memory("VmRSS")
_SECTORS = ("01110", "10710", "41200", "47110", "56101", "62010", "69201", "86210")
_FIRST_ANSWER = """
import time
import finstat_kit as fk
fk.Mirror, fk.sample
began = time.perf_counter()
fk.Mirror({folder!r}).{answer}
print(time.perf_counter() - began)
"""
_VIEW = """
    WITH newest AS (
        SELECT id, version FROM read_parquet($reports) WHERE kind = 'record'
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
    )
    SELECT count(*), sum(value)
    FROM read_parquet($cells) AS c
    JOIN newest AS r ON c.report_id = r.id AND c.version = r.version
    WHERE template = 687 AND "table" = 0 AND "row" = 0 AND "column" = 0
"""


def figures(quick: bool) -> Iterator[Figure]:
    """Write in a process and read in another, so that each peak of memory is that of the mirror."""
    filings = 100_000 if quick else 1_000_000
    what = f"{filings:,} filings of 699 and 687"
    with tempfile.TemporaryDirectory() as folder:
        for task in ("write", "read"):
            seen = subprocess.run(
                [sys.executable, __file__, task, folder, str(filings)],
                check=True, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            for text, value, goal, unit in json.loads(seen.stdout.splitlines()[-1]):
                yield Figure(_SUBJECT, f"{what}: {text}", value, goal, least=False, unit=unit)


Found = list[tuple[str, float, float | None, str]]


def written(folder: str, filings: int) -> Found:
    """Write a mirror of so many filings; return the figures of that."""
    records = invented_reports()
    held = memory("VmRSS") - _IMPORTED  # the reports, and what the register drew for them
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins here
    times = write(Path(folder), filings, records)
    peak = memory("VmHWM") - held
    size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    fifth = max(len(times) // 5, 1)
    return [
        ("batch of 10,000 reports, median", median(times), 0.9, " s"),
        ("batch of 10,000 reports, with compaction", mean(times), None, " s"),
        ("last fifth of the batches to the first",
         median(times[-fifth:]) / median(times[:fifth]), 1.5, "x"),
        ("bytes on disk per filing", size / filings, 900.0, " B"),
        ("peak memory while it is written, without the register", peak, 1_000.0, " MB"),
    ]  # fmt: skip


def read(folder: str, filings: int) -> Found:
    """Read a mirror of so many filings; return the figures of that."""
    mirror = fk.Mirror(folder)
    units = filings // len(_YEARS)
    year = mirror.scan_financials(year=_YEARS[-1])
    assert year.select("equity").collect()["equity"].count() > units / 2
    of_year = f"figures of {units:,} units, one year"
    cells = mirror.scan_cells()
    key = {"template": 687, "table": 0, "column": 0}
    rows = pl.col("row").is_in(list(range(10)))
    taken = side_by_side(
        3,
        one=lambda: cells.filter(**key, row=0).select("report_id", "value").collect(),
        ten=lambda: cells.filter(rows, **key).select("report_id", "row", "value").collect(),
        again=lambda: mirror.scan_cells().filter(**key, row=0).select("value").collect(),
        year=lambda: year.drop("sums_failing").collect(),
        few=lambda: year.select("unit_id", "template", "equity", "net_profit").collect(),
        narrow=lambda: year.filter(unit_id=units // 2).collect(),
        sums=lambda: year.collect(),
        report=lambda: mirror.reports.get([filings // 2]),
        screen=lambda: screened(mirror),
    )
    peak = memory("VmHWM")  # without what DuckDB keeps for itself
    taken |= side_by_side(3, duckdb=lambda: by_duckdb(Path(folder)))
    return [
        ("one item of all", taken["one"], 0.2, " s"),
        ("one item of all, from a new call of scan_cells()", taken["again"], None, " s"),
        ("ten items of all", taken["ten"], 0.3, " s"),
        ("one item by DuckDB, by the view of the docs", taken["duckdb"], None, " s"),
        (f"{of_year}, without sums_failing", taken["year"], 3.0, " s"),
        (f"{of_year}, all columns", taken["sums"], 1.5, " s"),
        (f"{of_year}, two items", taken["few"], None, " s"),
        (f"figures of one unit of {units:,}, one year", taken["narrow"], 0.06, " s"),
        ("one report by its id", taken["report"], None, " s"),
        (f"the screen of the docs over {units:,} units", taken["screen"], None, " s"),
        ("peak memory of all but DuckDB and findings", peak, 1_000.0, " MB"),
        *_in_new_processes(folder, filings // 2),
        *findings.on_mirror(mirror, units // 2, _YEARS[-1]),
    ]


def _in_new_processes(folder: str, id_: int) -> Iterator[tuple[str, float, float | None, str]]:
    """Yield the seconds of a first answer beyond importing."""
    answers = {
        "one report by its id": f"reports.get([{id_}])",
        "one item of all": (
            "scan_cells().filter(template=687, table=0, column=0, row=0).select('value').collect()"
        ),
    }
    for what, answer in answers.items():
        code = _FIRST_ANSWER.format(folder=folder, answer=answer)
        times = [
            float(subprocess.run(
                [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
            ).stdout)
            for _ in range(3)
        ]  # fmt: skip
        yield f"{what}, in a new process", median(times), 0.3, " s"


def screened(mirror: fk.Mirror) -> pl.DataFrame:
    """Return the best of a screen of all units, as the page on mirrors has it."""
    latest = mirror.scan_financials("latest", items=["sales", "net_profit"])
    firms = latest.filter(pl.col("skNace").str.starts_with("4"), pl.col("kraj") != "SK010")
    small = firms.filter(pl.col("velkostOrganizacie") < "10")
    recent = small.filter(pl.col("filed") >= pl.date(2023, 1, 1), pl.col("sales") > 10_000)
    best = recent.sort("sales", descending=True).head(20)
    return best.select("year", "filed", "kraj", "sales").collect()


def by_duckdb(folder: Path) -> object:
    """Return one item of all filings as the docs read it by SQL."""
    import duckdb

    mirror = fk.Mirror(folder)
    files = {"cells": mirror.files("cells"), "reports": mirror.files("reports")}
    return duckdb.execute(_VIEW, files).fetchall()


def write(folder: Path, filings: int, records: pl.DataFrame) -> list[float]:
    """Write a complete mirror of so many reports; return the seconds of each batch."""
    invented = f"finstat_kit sample; seed=0; units={filings}"
    writer, times = begun(folder, invented, ("statements", "reports")), []
    many = filings // len(_YEARS)
    forms = {id_: template_bodies()[id_].decode() for id_ in (687, 699)}
    templates = {"version": 1, "id": forms.keys(), "seen": _DAY, "body": forms.values()}
    writer.append(Batch("templates", pl.DataFrame(templates, schema=TEMPLATES)))
    activities = {"version": 1, "name": "activities", "code": [*_SECTORS, "45200"]}
    entries = pl.DataFrame(activities, schema_overrides={"version": pl.Int64})
    empty = pl.DataFrame(schema=CODELISTS)
    writer.append(Batch("codelists", pl.concat([empty, entries], how="diagonal")))
    for start in range(0, filings, _BATCH):
        ids = np.arange(start, min(start + _BATCH, filings)) + 1
        for name in ("reports", "statements"):
            writer.append_ids(name, pl.DataFrame({"id": ids}), LISTED, _DAY)
        answers = {"statements": _statements(ids, filings)}
        if ids[0] <= many:
            answers["units"] = _units(ids[ids <= many], filings)
            writer.append_ids("units", answers["units"].select("id"), LISTED, _DAY)
        for name, contents in answers.items():
            rows = rows_of(name, answers_of(contents), RECORD, writer.next(name), _DAY)
            writer.append(Batch(name, rows))
        batch = records.head(len(ids)).with_columns(
            pl.Series("id", ids), pl.Series("idUctovnejZavierky", ids)
        )
        began, version = time.perf_counter(), writer.next("reports")
        stored, cells = split(batch, version, shipped)
        columns = [name for name in schema_of("reports") if name in stored.columns]
        answered = answers_of(stored.select(columns))
        rows = rows_of("reports", answered, RECORD, version, _DAY)
        writer.append(Batch("cells", cells), Batch("reports", rows))
        times.append(time.perf_counter() - began)
    writer.point(["units", "statements", "reports"])
    return times


def begun(folder: Path, invented: str, contents: tuple[str, ...] = ()) -> Writer:
    """Begin the first run of an invented mirror."""
    writer = Writer(Folder(folder), Settings("sample:", invented, contents), lambda: _DAY)
    writer.begin({})
    return writer


def _units(ids: NDArray[np.int64], filings: int) -> pl.DataFrame:
    """Return units with a statement of each year."""
    years, many = range(len(_YEARS)), filings // len(_YEARS)
    return pl.DataFrame({"id": ids}).with_columns(
        ico=pl.col("id").cast(pl.String).str.zfill(8), nazovUJ=pl.format("Firma {}", "id"),
        kraj=pl.format("SK0{}0", pl.col("id") % 8), datumPoslednejUpravy=pl.lit(_DAY),
        skNace=pl.lit(list(_SECTORS)).list.get(pl.col("id") % len(_SECTORS)),
        velkostOrganizacie=pl.format("0{}", pl.col("id") % 8),
        idUctovnychZavierok=pl.concat_list(pl.col("id") + year * many for year in years),
    )  # fmt: skip


def _statements(ids: NDArray[np.int64], filings: int) -> pl.DataFrame:
    """Return statements, each with the report of the same id."""
    schema = KINDS["statements"].schema
    year = _YEARS[0] + (pl.col("id") - 1) // (filings // len(_YEARS))
    filled = pl.DataFrame({"id": ids}).with_columns(
        obdobieOd=pl.date(year, 1, 1), obdobieDo=pl.date(year, 12, 31), typ=pl.lit("Riadna"),
        datumPodania=pl.date(year + 1, 3, 31), datumPoslednejUpravy=pl.lit(_DAY),
        idUctovnychVykazov=pl.concat_list("id"),
    )  # fmt: skip
    return filled.cast({name: schema[name] for name in filled.columns})


def invented_reports() -> pl.DataFrame:
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
    task = {"write": written, "read": read}[sys.argv[1]]
    print(json.dumps(task(sys.argv[2], int(sys.argv[3]))))
