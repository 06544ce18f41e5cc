"""The mirror as a table that other engines read: DuckDB, polars streaming, Daft."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deltalake
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
    files = deltalake.DeltaTable(mirror.path / "units").file_uris()
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

versions = daft.read_deltalake(sys.argv[1]).where(col("kind").is_in(["record", "missing"]))
newest = versions.groupby("id").agg(col("version").max())
here = versions.join(newest, on=["id", "version"]).where(col("gone").is_null())
counts = here.groupby("kraj").agg(col("id").count()).to_pydict()
print(json.dumps(list(zip(counts["kraj"], counts["id"]))), flush=True)
os._exit(0)  # daft's threads may crash while the interpreter is taken down
"""


@pytest.mark.slow
def test_daft_reads_the_table_as_it_is(mirror: fk.Mirror) -> None:
    """Daft reads the table as it is; in a process of its own, which its threads outlive."""
    command = [sys.executable, "-c", DAFT, str(mirror.path / "units")]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert seen.returncode == 0, seen.stderr
    assert dict(json.loads(seen.stdout)) == counted(mirror)


JOINED = """
import sys
import polars as pl, finstat_kit as fk
mirror = fk.Mirror(sys.argv[1])
now, before = (mirror.financials(year=year).select("unit_id", "equity") for year in (2023, 2022))
print(now.join(before, on="unit_id").collect().height, pl.concat([now, before]).collect().height)
print(*(frame.height for frame in pl.collect_all([now, before])))
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_queries_in_one_plan_do_not_wait_for_each_other(filings: fk.Mirror, threads: str) -> None:
    """Each queries files itself, which needs a thread of polars while the other holds one."""
    seen = subprocess.run(
        [sys.executable, "-c", JOINED, filings.path], capture_output=True, text=True, timeout=60,
        cwd=ROOT, env=os.environ | {"POLARS_MAX_THREADS": threads},
    )  # fmt: skip

    assert seen.returncode == 0, seen.stderr
    assert seen.stdout.split() == ["40", "80", "40", "40"]


@pytest.fixture(scope="module")
def register() -> Sample:
    return fk.sample(40)


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
    cells = register.cells(reports.filter(idSablony=699))
    found: dict[str | None, list[int]] = {}
    item = cells.filter(table=0, row=0, period="current", measure="net")
    for id_, value in item.select("report_id", "value").rows():
        entry = found.setdefault(region_of.get(unit_of.get(owner_of[id_])), [0, 0])
        entry[0] += 1
        entry[1] += round(100 * value)
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*check_reports")
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
    stored = pl.scan_delta(filings.path / "cells").filter(template=699, table=0, row=0, column=2)
    assert stored.collect().height > sum(count for count, _ in expected.values())


DAFT_SQL = """
import json, os, sys, daft

cells, reports = (daft.read_deltalake(f"{sys.argv[1]}/{name}") for name in ("cells", "reports"))
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
    item = filings.cells().filter(template=699, table=0, row=0, column=2).collect()
    tables = {name: pl.scan_delta(filings.path / name) for name in ("cells", "reports")}
    connection = duckdb.connect()
    for name in tables:
        files = deltalake.DeltaTable(filings.path / name).file_uris()
        connection.sql(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files})")
    command = [sys.executable, "-c", DAFT_SQL, str(filings.path), sql]
    daft = subprocess.run(command, capture_output=True, text=True, timeout=120)

    expected = (item.height, item["value"].sum())
    assert connection.sql(sql).fetchall() == [expected]
    assert pl.SQLContext(tables).execute(sql).collect().rows() == [expected]
    assert daft.returncode == 0, daft.stderr
    assert tuple(json.loads(daft.stdout)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ("reports", ["id", "version"]),
        ("cells", ["template", "table", "row", "column", "report_id", "version"]),
    ],
)
def test_commits_state_rows_and_bounds_of_the_keys_alone(
    filings: fk.Mirror, table: str, keys: list[str]
) -> None:
    """Of each file; statistics of other columns would be parsed at every look."""
    log = filings._folder.logs[table]
    log.refresh()
    adds = deltalake.DeltaTable(log.path).get_add_actions(flatten=True)
    stated = pl.DataFrame(adds)

    assert {n.removeprefix("min.") for n in stated.columns if n.startswith("min.")} == set(keys)
    assert stated.height > 1
    for row in stated.iter_rows(named=True):
        rows = pl.read_parquet(log.path / row["path"], columns=keys)
        assert row["num_records"] == rows.height
        assert {n: (row[f"min.{n}"], row[f"max.{n}"]) for n in keys} == {
            n: (rows[n].min(), rows[n].max()) for n in keys
        }


@pytest.mark.slow
def test_a_filter_opens_only_the_files_that_it_needs(tmp_path: Path) -> None:
    """By what the commits say of the cells in each file: the others may be gone.

    Daft 0.7 opens them all.
    """
    register = fk.sample(25)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    cells = mirror._folder.logs["cells"]
    rows = mirror._folder.scan(cells).collect()
    for template in (687, 699):
        part = rows.filter(template=template).with_columns(version=pl.lit(1_000 + template))
        cells.append(part.cast(rows.schema), cells.about or "")
    wanted = {"template": 687, "table": 0, "row": 0, "version": 1_687}
    expected = rows.filter(template=687, table=0, row=0).height
    for entry in cells.entries():
        if entry.first != 1_687:
            Path(entry.path).unlink()
    path = str(mirror.path / "cells")

    assert expected > 10
    assert pl.scan_delta(path).filter(**wanted).collect().height == expected
    stored = deltalake.DeltaTable(path).to_pyarrow_dataset()
    where = " AND ".join(f'"{name}" = {value}' for name, value in wanted.items())
    connection = duckdb.connect()
    connection.register("stored", stored)
    found = connection.execute(f"SELECT count(*) FROM stored WHERE {where}").fetchone()
    assert found == (expected,)


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
write(Path(sys.argv[1]), np.arange(1, 1_500_001))
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
    """Streaming, all columns of 1.5 million units go through less memory than they would take."""
    subprocess.run([sys.executable, "-c", GREAT, tmp_path], cwd=ROOT, check=True)
    megabytes = 400

    def limited(what: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LIMITED, str(tmp_path), str(megabytes), what]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)

    streamed, whole = limited("streamed"), limited("whole")

    assert streamed.returncode == 0, streamed.stderr
    assert streamed.stdout.strip().endswith(", 1500000)")
    assert whole.stdout == ""  # the same limit is too little for all at once
    assert "memory allocation of" in whole.stderr
