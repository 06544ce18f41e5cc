"""The files of a mirror as other engines read them: DuckDB, polars streaming, Daft."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.protocol import wire
from finstat_kit.protocol.wire import Reply
from tests.support.mirrors import RECORDS
from tests.support.registers import Watched

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror with older versions, gone, missing and unreadable units in it."""
    register = fk.sample(800)
    mirror = fk.Mirror(tmp_path_factory.mktemp("engines") / "ruz", register=register)
    mirror.sync()
    register.set_today("2026-07-02")
    ids = register.units.ids()["id"]
    register.touch(ids[:200])
    register.delete(ids[200:220])
    register.publish(7, kraj="SK010")
    mirror.sync()
    register.vanish(ids[300:307])
    mirror.sync(full=True)
    return mirror


def counted(mirror: fk.Mirror) -> dict[str | None, int]:
    """Count the units that are there by region, with what the package has for it."""
    with fk.using(mirror):
        table = fk.count_by(mirror.snapshot(), "kraj")
    return dict(table.filter(pl.col("kind") != "gone").select("code", "count").rows())


@pytest.mark.slow
def test_gone_units_are_counted_as_such(mirror: fk.Mirror) -> None:
    """Deleted, non-public and missing units are one bar, whatever they once said."""
    with fk.using(mirror):
        table = fk.count_by(mirror.snapshot(), "kraj")
    gone = mirror.snapshot().filter(pl.col("gone").is_not_null()).collect().height

    assert gone > 30
    assert table.filter(pl.col("kind") == "gone")["count"].to_list() == [gone]
    assert sum(counted(mirror).values()) == 807 - gone


@pytest.mark.slow
def test_duckdb_reads_the_newest_versions(mirror: fk.Mirror) -> None:
    """The newest version of each unit is one clause of SQL."""
    files = mirror.files("units")
    rows = duckdb.execute(
        """
        SELECT kraj, count(*)
        FROM (
            SELECT * FROM read_parquet($files) WHERE kind IN ('record', 'missing')
            QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
        )
        WHERE gone IS NULL GROUP BY kraj
        """,
        {"files": files},
    ).fetchall()

    assert dict(rows) == counted(mirror)


DAFT = """
import json, os, sys, daft
from daft import col

versions = daft.read_parquet(json.loads(sys.argv[1]))
versions = versions.where(col("kind").is_in(["record", "missing"]))
newest = versions.groupby("id").agg(col("version").max())
here = versions.join(newest, on=["id", "version"]).where(col("gone").is_null())
counts = here.groupby("kraj").agg(col("id").count()).to_pydict()
print(json.dumps(list(zip(counts["kraj"], counts["id"]))), flush=True)
os._exit(0)  # daft's threads may crash while the interpreter is taken down
"""


@pytest.mark.slow
def test_daft_reads_the_files_as_they_are(mirror: fk.Mirror) -> None:
    """Daft reads the files as they are; in a process of its own, which its threads outlive."""
    command = [sys.executable, "-c", DAFT, json.dumps(mirror.files("units"))]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert seen.returncode == 0, seen.stderr
    assert dict(json.loads(seen.stdout)) == counted(mirror)


JOINED = """
import sys
import polars as pl, finstat_kit as fk
mirror = fk.Mirror(sys.argv[1])
wanted = ["unit_id", "equity"]
now, before = (mirror.scan_financials(year).select(wanted) for year in (2023, 2022))
both = now.join(before, on="unit_id"), pl.concat([now, before])
print(*(frame.height for frame in pl.collect_all(both)))
"""


@pytest.mark.slow
def test_queries_in_one_plan_do_not_wait_for_each_other(filings: fk.Mirror) -> None:
    """Each queries files itself, which needs a thread of polars while the other holds one."""
    seen = subprocess.run(
        [sys.executable, "-c", JOINED, filings.path], capture_output=True, text=True, timeout=60,
        cwd=ROOT, env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )  # fmt: skip

    assert seen.returncode == 0, seen.stderr
    assert seen.stdout.split() == ["16", "32"]


@pytest.fixture(scope="module")
def register() -> Sample:
    return fk.sample(16)


@pytest.fixture(scope="module")
def filings(register: Sample, tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror with two versions of most filings and with units that are gone in it."""

    def earlier(path: str, query: str) -> Reply | None:
        reply = register._answer("GET", path, query)
        record = json.loads(reply.body) if path == RECORDS["reports"] else {}
        if wire.CHANGED not in record:
            return None
        body = json.dumps(record | {wire.CHANGED: "2020-01-01"}).encode()
        return reply._replace(headers=reply.headers | {"Content-Length": str(len(body))}, body=body)

    path = tmp_path_factory.mktemp("filings") / "ruz"
    before = Watched(register)
    before.instead = earlier
    fk.Mirror(path, contents=True, register=before).sync()
    mirror = fk.Mirror(path, contents=True, register=register)
    register.set_today("2026-07-01")
    owners = register.statements.scan().filter(pl.col("idUJ").is_not_null()).collect()
    register.correct(owners.select("id").head(10))
    register.delete(owners["idUJ"].unique().sort().to_frame("id").tail(5))
    mirror.sync(full=True)
    return mirror


def assets_by_region(register: fk.Register) -> dict[str | None, list[int]]:
    """Count filings with total assets and sum them in cents, from what the register itself says."""
    unit_of = dict(register.statements.scan().select("id", "idUJ").collect().rows())
    living = register.units.scan().filter(pl.col("stav").is_null()).collect()
    region_of = dict(living.select("id", "kraj").rows())
    reports = register.reports.get(register.reports.ids())
    owner_of = dict(reports.select("id", "idUctovnejZavierky").rows())
    cells = register.reports.cells(reports.filter(idSablony=699))
    found: dict[str | None, list[int]] = {}
    item = cells.filter(table=0, row=0, period="current", measure="net")
    for id_, value in item.select("report_id", "value").rows():
        entry = found.setdefault(region_of.get(unit_of.get(owner_of[id_])), [0, 0])
        entry[0] += 1
        entry[1] += round(100 * value)
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*reports.check")
def test_one_item_by_region_is_the_same_by_every_engine(
    filings: fk.Mirror, register: Sample
) -> None:
    """Each joins cells with the newest versions of reports, statements and units as they lie."""
    command = [sys.executable, "benchmarks/by_region.py", str(filings.path)]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert seen.returncode == 0, seen.stderr
    found: dict[str, dict[str | None, list[int]]] = {}
    for engine, region, *numbers in map(json.loads, seen.stdout.splitlines()):
        found.setdefault(engine, {})[region] = numbers
    expected = assets_by_region(register)
    assert found == dict.fromkeys(
        ("by_mirror", "polars_locally", "duckdb_locally", "daft_locally"), expected
    )
    assert {None} < expected.keys()  # of units that are gone


DAFT_SQL = """
import json, os, sys, daft

cells, reports = map(daft.read_parquet, json.loads(sys.argv[1]))
(row,) = daft.sql(sys.argv[2], cells=cells, reports=reports).to_pylist()
print(json.dumps([row["reports"], row["total"]]), flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_the_statement_of_the_docs_is_right_in_every_engine(filings: fk.Mirror) -> None:
    """What it counts and adds are the cells of the newest reports, as the mirror has them."""
    page = (ROOT / "docs" / "howto" / "mirror.md").read_text(encoding="utf-8")
    sql = page.partition('ITEM = """')[2].partition('"""')[0]
    # An item of a form of which some reports have former versions.
    sql = sql.replace("template = 687", "template = 699").replace('"column" = 0', '"column" = 2')
    item = filings.scan_cells().filter(template=699, table=0, row=0, column=2).collect()
    files = {"cells": filings.files("cells"), "reports": filings.files("reports")}
    tables = {name: pl.scan_parquet(paths) for name, paths in files.items()}
    connection = duckdb.connect()
    for name, paths in files.items():
        connection.sql(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({paths})")
    command = [sys.executable, "-c", DAFT_SQL, json.dumps(list(files.values())), sql]
    daft = subprocess.run(command, capture_output=True, text=True, timeout=120)

    expected = (item.height, item["value"].sum())
    assert connection.sql(sql).fetchall() == [expected]
    assert pl.SQLContext(tables).execute(sql).collect().rows() == [expected]
    assert daft.returncode == 0, daft.stderr
    assert tuple(json.loads(daft.stdout)) == expected


def test_files_are_those_of_the_newest_run(filings: fk.Mirror) -> None:
    """Of runs that are done alone, in the folder or under the root of a copy."""
    run = json.loads(max(filings.path.glob("runs/*.json")).read_bytes())["content"]
    for name in ("units", "cells"):
        names = [f"data/{file['name']}.parquet" for file in run["files"][name]]
        assert filings.files(name) == [f"{filings.path}/{path}" for path in names]
        assert filings.files(name, "s3://b/ruz/") == [f"s3://b/ruz/{path}" for path in names]
    with pytest.raises(fk.UsageError, match="name='cell'"):
        filings.files("cell")  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="has no files of its own"):
        filings.as_of(filings.today).files("cells")


@pytest.mark.parametrize("name", ["reports", "cells"])
def test_a_run_states_rows_and_bounds_of_each_file(filings: fk.Mirror, name: str) -> None:
    """So that a reader opens only those that it needs."""
    run = json.loads(max(filings.path.glob("runs/*.json")).read_bytes())["content"]
    key = "id" if name == "reports" else "report_id"

    assert len(run["files"][name]) > 1
    for file in run["files"][name]:
        path = filings.path / "data" / f"{file['name']}.parquet"
        rows = pl.read_parquet(path, columns=[key, "version"])
        assert (file["rows"], file["bytes"]) == (rows.height, path.stat().st_size)
        assert (file["first"], file["last"]) == (rows["version"].min(), rows["version"].max())
        assert file["ids"] == [rows[key].min(), rows[key].max()]


def test_a_record_opens_only_the_files_that_may_hold_it(tmp_path: Path) -> None:
    """By the ids that the run states: the others may be gone."""
    register = fk.sample(30)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    first = mirror.files("units")
    new = register.publish(1)["id"]
    mirror.sync()
    for file in first:
        Path(file).unlink()

    assert fk.Mirror(mirror.path).units.get(new)["id"].to_list() == new.to_list()


@pytest.mark.slow
def test_the_line_of_the_docs_writes_a_table_of_delta_lake(
    filings: fk.Mirror, tmp_path: Path
) -> None:
    """For those who want one; delta-rs reads it."""
    deltalake = pytest.importorskip("deltalake")
    cells = pl.scan_parquet(filings.files("cells"))
    cells.sink_delta(tmp_path / "cells")
    table = deltalake.DeltaTable(tmp_path / "cells")

    assert table.version() == 0
    assert pl.scan_delta(table).select(pl.len()).collect().equals(cells.select(pl.len()).collect())


@pytest.mark.slow
def test_a_query_gives_what_the_whole_gives(mirror: fk.Mirror) -> None:
    """Whatever is asked of the frame, and by which engine, it is what the whole has."""
    units = mirror.snapshot()
    whole = units.collect()
    there = units.filter(pl.col("gone").is_null()).select("id")
    queries: list[Callable[[pl.LazyFrame], pl.LazyFrame]] = [
        lambda f: f.select("kraj"),
        lambda f: f.filter(pl.col("kraj") == "SK010").select("id", "seen"),
        lambda f: f.filter(pl.col("gone").is_not_null(), pl.col("id") > 10_000),
        lambda f: f.group_by("kraj").len(),
        lambda f: f.select(pl.len()),
        lambda f: f.filter(pl.col("id") < 0),
        lambda f: f.join(there, on="id", how="semi"),
        lambda f: f.sort("id").head(17),
        lambda f: f.sort("id").head(900).filter(pl.col("konsolidovana")),
    ]
    for query in queries:
        expected = query(whole.lazy()).collect()
        for engine in ("in-memory", "streaming"):
            seen = query(units).collect(engine=engine)
            assert_frame_equal(seen, expected, check_row_order=False)
    assert units.filter(pl.col("konsolidovana")).head(5).collect().height == 5


GREAT = """
import sys
sys.path.insert(0, "benchmarks")
import numpy as np
from pathlib import Path
from local_copy import write
write(Path(sys.argv[1]), np.arange(1, 600_001))
"""
# The memory that is left to the process beyond what it holds when all is imported.
LIMITED = """
import resource, sys
from pathlib import Path
import polars as pl
import finstat_kit as fk

mirror = fk.Mirror(sys.argv[1])
units = mirror.snapshot()
units.select("kraj").head(1).collect()  # starts the threads
held = int(Path("/proc/self/status").read_text().partition("VmData:")[2].split()[0]) * 1024
limit = held + int(sys.argv[2]) * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if sys.argv[3] == "whole":
    print(units.collect().height)
else:
    texts = [name for name, dtype in units.collect_schema().items() if dtype == pl.String]
    print(units.select(pl.concat_str(texts, ignore_nulls=True).str.len_bytes().sum(), pl.len())
          .collect(engine="streaming").row(0))
"""


@pytest.mark.slow
def test_more_than_fits_into_memory_is_streamed(tmp_path: Path) -> None:
    """Streaming, all columns of 600,000 units go through less memory than they would take."""
    subprocess.run([sys.executable, "-c", GREAT, tmp_path], cwd=ROOT, check=True)
    megabytes = 160

    def limited(what: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LIMITED, str(tmp_path), str(megabytes), what]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)

    streamed, whole = limited("streamed"), limited("whole")

    assert streamed.returncode == 0, streamed.stderr
    assert streamed.stdout.strip().endswith(", 600000)")
    assert whole.stdout == ""  # the same limit is too little for all at once
    assert "memory allocation of" in whole.stderr
