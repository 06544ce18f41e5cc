"""Records in a shell, and what is left of them when the command ends early."""

from __future__ import annotations

import io
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.files.write import rendered
from tests.cli.test_commands import COMMAND, called, run, started
from tests.support.examples import quick, slow
from tests.support.faults import HANG, FaultServer, Step, reply


def record(id_: int) -> Sequence[Step]:
    return [reply(f'{{"id":{id_},"kraj":"SK010"}}'.encode())]


BROKEN: Sequence[Step] = [reply(b'{"id":5,"kraj":7}')]
GONE: Sequence[Step] = [reply(b"", 404)]
REFUSED: Sequence[Step] = [reply(b"", 400)]


def ids_of(csv: str) -> list[int]:
    return pl.read_csv(io.StringIO(csv))["id"].to_list() if csv else []


@pytest.mark.slow
def test_records_before_an_interruption_are_written() -> None:
    """Ctrl-C while the third record hangs writes the two before it."""
    with (
        FaultServer(record(3), record(4), [HANG]) as server,
        started("get", "3", "4", "5", "6", "--url", server.url) as process,
    ):
        while len(server.asked) < 3:
            pass
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=10)

    assert ids_of(printed) == [3, 4]
    assert process.returncode == 130
    assert "interrupted after 2 of 4 records" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("form", ["csv", *slow("ndjson", "table", "parquet")])
def test_records_before_an_error_are_written(tmp_path: Path, form: str) -> None:
    """On standard output and in a file, in every format; exit code 1, and the error of Python."""
    file = tmp_path / f"units.{form}"
    with FaultServer(record(3), record(4), REFUSED) as server:
        output = ["-o", str(file)] if form == "parquet" else ["--format", form]
        seen = called("get", "3", "4", "5", "6", "--url", server.url, *output)

    assert seen.returncode == 1
    assert seen.stderr.startswith("cut off after 2 rows, written\nError: the register refuses")
    assert len(server.asked) == 3
    if form == "csv":
        assert ids_of(seen.stdout) == [3, 4]
    elif form == "ndjson":
        assert pl.read_ndjson(io.StringIO(seen.stdout))["id"].to_list() == [3, 4]
    elif form == "table":
        assert "│ 3 " in seen.stdout
        assert "│ 4 " in seen.stdout
    else:
        assert pl.read_parquet(file)["id"].to_list() == [3, 4]


@pytest.mark.parametrize("fault", quick([GONE, BROKEN], 1))
def test_an_id_without_a_readable_record_is_a_row_of_its_own(fault: Sequence[Step]) -> None:
    """As `errors="keep"` makes it; the exit code is 1, and the ids are named."""
    with FaultServer(record(3), fault, record(6)) as server:
        seen = called("get", "3", "5", "6", "--columns", "id,kraj", "--url", server.url)

    assert seen.returncode == 1
    assert seen.stdout == "id,kraj\n3,SK010\n5,\n6,SK010\n"
    assert seen.stderr == "without a readable record: 1: 5\n"


@pytest.mark.slow
def test_rows_are_those_of_python() -> None:
    """The rows of `fk.units.get`, repeats included."""
    sample = fk.sample(1_200)
    ids = sample.units.ids().sample(fraction=1, shuffle=True, seed=1)["id"].to_list()
    ids += ids[:5]

    with sample.serve() as url:
        seen = called("get", "-", "--url", url, stdin="\n".join(map(str, ids)))

    assert seen.returncode == 0
    assert seen.stdout == rendered(sample.units.get(ids), "csv").decode()


def test_no_ids_give_the_columns_alone() -> None:
    """A frame without rows has its columns."""
    empty = called("get", "-", "--sample", stdin="id\n")

    assert (empty.returncode, empty.stderr) == (0, "")
    assert empty.stdout.startswith("id,ico,dic,")
    assert empty.stdout.count("\n") == 1


@pytest.mark.slow
def test_a_closed_pipe_ends_it_silently() -> None:
    """`finstat-kit get - | head -2` prints two lines and not a word more."""
    ids = "\n".join(map(str, fk.sample().units.ids()["id"]))
    line = " ".join(f"'{part}'" for part in [*COMMAND, "get", "-", "--sample"])

    seen = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} | head -2"],
        input=ids, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (ids_of(seen.stdout), seen.stderr, seen.returncode) == ([210], "", 0)


@pytest.mark.parametrize("command", [["get", "210", "365"], ["financials", "210", "365"]])
def test_long_work_is_refused_before_the_first_record(command: list[str]) -> None:
    """With the way out, an argument whose name is an option here."""
    seen = called(*command, "--sample", "--max-requests", "1")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith("Error: max_requests=1: this needs ")
    assert "or allow it by max_requests=" in seen.stderr
    assert "cut off after" not in seen.stderr


def test_records_of_another_collection() -> None:
    """``--collection`` chooses whose; what csv cannot hold is an error that names the cure."""
    sample = fk.sample()
    ids = [str(id_) for id_ in sample.reports.ids(limit=2)["id"]]

    found = called("get", *ids, "--sample", "--collection", "reports", "--format", "ndjson")
    refused = called("get", *ids, "--sample", "--collection", "reports", "--format", "csv")

    rows = pl.read_ndjson(io.StringIO(found.stdout), infer_schema_length=None)
    assert rows["id"].to_list() == [int(id_) for id_ in ids]
    assert rows["idSablony"].to_list() == sample.reports.get(rows["id"])["idSablony"].to_list()
    assert "parquet or ndjson" in refused.stderr
    assert refused.returncode == 2


@pytest.mark.parametrize("by", ["velkostOrganizacie", *slow("kraj")])
def test_the_pipe_of_three_commands_is_a_table_of_counts(by: str) -> None:
    """`ids | get - | count - --by`: the table of `count_by` over the records, labelled."""
    sample = fk.sample()
    units = sample.units.get(sample.units.ids(changed_since="2026-06-01", after_id=100_000))
    counts = sample.count_by(units, by, lang="en")  # type: ignore[arg-type]

    ids = run("ids", "--sample", "--changed-since", "2026-06-01", "--after-id", "100000").stdout
    for form in ("csv", "ndjson"):
        records = run("get", "-", "--sample", "--format", form, stdin=ids).stdout
        printed = run("count", "-", "--by", by, "--sample", "--lang", "en", stdin=records).stdout

        assert printed == rendered(counts, "csv").decode()
