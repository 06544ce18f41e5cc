"""Records as they arrive, and what is left of them when the command ends early."""

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


def ids_of(csv: str) -> list[int]:
    return pl.read_csv(io.StringIO(csv))["id"].to_list() if csv else []


@pytest.mark.slow
def test_rows_are_there_before_the_last_record_and_after_ctrl_c() -> None:
    """The first row is read while the third record hangs; Ctrl-C writes the second one."""
    with (
        FaultServer(record(3), record(4), [HANG]) as server,
        started("get", "3", "4", "5", "6", "--url", server.url) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline() + process.stdout.readline()
        while len(server.asked) < 3:
            pass
        process.send_signal(signal.SIGINT)
        rest, said = process.stdout.read(), process.stderr.read()
        process.wait(10)

    assert ids_of(first) == [3]
    assert ids_of(first + rest) == [3, 4]
    assert process.returncode == 130
    assert said.splitlines()[0] == (
        "cut off after 2 rows; to resume, give the ids from 5 on, number 3 of 4"
    )
    assert "Traceback" not in said


@pytest.mark.parametrize("fault", quick([BROKEN, GONE, [reply(b"", 400)]], 1))
@pytest.mark.parametrize("form", ["csv", "ndjson", "table", "parquet"])
def test_what_was_fetched_before_an_error_is_written(
    tmp_path: Path, fault: Sequence[Step], form: str
) -> None:
    """On standard output, in a file, in every format; exit code 1, and where to resume."""
    output = tmp_path / f"units.{form}"
    with FaultServer(record(3), record(4), fault) as server:
        arguments = ["get", "3", "4", "5", "6", "--url", server.url]
        if form == "parquet":
            seen = called(*arguments, "--output", str(output))
        else:
            seen = called(*arguments, "--format", form)

    assert seen.returncode == 1
    assert "cut off after 2 rows; to resume, give the ids from 5 on" in seen.stderr
    assert len(server.asked) == 3
    if form == "csv":
        assert ids_of(seen.stdout) == [3, 4]
    elif form == "ndjson":
        assert pl.read_ndjson(io.StringIO(seen.stdout))["id"].to_list() == [3, 4]
    elif form == "table":
        assert "│ 3 " in seen.stdout
        assert "│ 4 " in seen.stdout
    else:
        assert pl.read_parquet(output)["id"].to_list() == [3, 4]


def test_keep_going_reports_unreadable_ids_at_the_end() -> None:
    """A row for each readable record; the others are reported at the end, exit code 1."""
    with FaultServer(record(3), GONE, BROKEN, record(6)) as server:
        seen = called("get", "3", "4", "5", "6", "--keep-going", "--url", server.url)

    assert seen.returncode == 1
    assert ids_of(seen.stdout) == [3, 6]
    told = seen.stderr.splitlines()
    assert told[:2] == ["ids without a readable record: 2", "id 4: no record"]
    assert told[2].startswith("id 5: $.kraj: expected a text, got 7")


def test_keep_going_ends_at_other_faults() -> None:
    """An error that is not of one record ends the command; what was unreadable is reported."""
    with FaultServer(GONE, record(4), [reply(b"", 400)]) as server:
        seen = called("get", "3", "4", "5", "--keep-going", "--url", server.url)

    assert (seen.returncode, ids_of(seen.stdout)) == (1, [4])
    assert "resume, give the ids from 5 on" in seen.stderr
    assert "id 3: no record" in seen.stderr


@pytest.mark.slow
def test_rows_are_those_of_python() -> None:
    """The rows of a stream are those of `fk.units.get`, repeats included."""
    sample = fk.sample(1_200)  # more than are written at once
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


@pytest.mark.parametrize("by", ["velkostOrganizacie", *slow("kraj")])
def test_count_by_prints_the_table(by: str) -> None:
    """The table of `count_by` over the records of the selection, in the language asked."""
    sample = fk.sample()
    units = sample.units.get(sample.units.ids(changed_since="2026-06-01", after_id=100_000))
    arguments = ["--sample", "--changed-since", "2026-06-01", "--after-id", "100000"]

    csv = run("count", "--by", by, *arguments, "--lang", "en")
    table = run("count", "--by", by, *arguments, "--format", "table")

    counts = sample.count_by(units, by, lang="en")  # type: ignore[arg-type]
    assert csv.stdout == counts.with_columns(pl.col("share").round_sig_figs(6)).write_csv()
    assert str(sample.count_by(units, by)["label"][0]) in table.stdout  # type: ignore[arg-type]


@pytest.mark.parametrize("command", [["count", "--by", "kraj"], ["get", "210", "365"]])
def test_long_work_is_refused_before_the_first_record(command: list[str]) -> None:
    """The way out that the message names is an option of the shell."""
    seen = called(*command, "--sample", "--max-requests", "1")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith("Error: --max-requests 1: this needs 2")
    assert "or allow it by --max-requests 2" in seen.stderr
    assert "cut off after" not in seen.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--lang", "en"],
        ["--max-requests", "9"],
        ["--format", "csv"],
        ["--output", "x.csv"],
        ["--columns", "code"],
        ["--wide"],
    ],
)
def test_options_that_would_do_nothing_are_refused(options: list[str]) -> None:
    """Without --by, and of a mirror without --verify; --by counts units alone."""
    assert run("count", "--sample", *options).exit_code == 2
    seen = called("mirror", ".", *options)
    assert (seen.returncode, seen.stdout) == (2, "")
    assert run("count", "--sample", "--collection", "reports", "--by", "kraj").exit_code == 2


def test_ids_into_a_file_that_were_cut_off_are_kept(tmp_path: Path) -> None:
    """The ids before an error are in the file, and the message says where to resume, once."""
    output = tmp_path / "ids.csv"
    page = [reply(b'{"id":[1,2],"existujeDalsieId":true}')]
    with FaultServer(page, [reply(b"", 400)]) as server:
        seen = called("ids", "--url", server.url, "--output", str(output))

    assert (seen.stdout, seen.returncode) == ("", 1)
    assert ids_of(output.read_text(encoding="utf-8-sig")) == [1, 2]
    assert seen.stderr.startswith("cut off after 2 ids; to resume, add --after-id 2")
    assert seen.stderr.count("after") == 2


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
