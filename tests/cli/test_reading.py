"""Files and standard input: which ids and columns a command takes from them."""

from __future__ import annotations

import io
import os
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.files.write import rendered
from tests.cli.test_commands import called, run
from tests.support.examples import slow

SAMPLE = fk.sample()
UNITS = SAMPLE.units.get(SAMPLE.units.ids(limit=9))
COUNTED = rendered(SAMPLE.count_by(UNITS, "kraj"), "csv").decode()


@pytest.mark.parametrize("name", ["u.parquet", *slow("u.csv", "u.ndjson")])
def test_a_file_of_records_is_counted(name: str, tmp_path: Path) -> None:
    """Whatever it is called: what is in it says what it is; as a FILE or by ``-``."""
    file = tmp_path / name
    fk.write(UNITS, file)
    renamed = tmp_path / "records"
    renamed.write_bytes(file.read_bytes())

    for given in (file, renamed):
        assert called("count", str(given), "--by", "kraj", "--sample").stdout == COUNTED
    piped = called("count", "-", "--by", "kraj", "--sample", stdin=file.read_bytes())
    assert piped.stdout == COUNTED


def test_figures_of_units_are_counted_once_each() -> None:
    """As `count_by` does: a unit has a row for each year."""
    figures = run("financials", *map(str, UNITS["id"]), "--sample").stdout_bytes

    assert called("count", "-", "--by", "kraj", "--sample", stdin=figures).stdout == COUNTED


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_records_lead_to_those_they_name(form: str) -> None:
    """From units to statements, to reports and back: each command takes what another prints."""
    unit = UNITS.filter(pl.col("idUctovnychZavierok").list.len() > 1).head(1)
    statements = SAMPLE.statements.get(unit["idUctovnychZavierok"].explode())

    def piped(data: bytes, *arguments: str) -> bytes:
        result = run(*arguments, "-", "--sample", "--format", form, stdin=data)
        assert result.exit_code == 0, result.exception
        return result.stdout_bytes

    def ids(data: bytes) -> list[int]:
        name = {"csv": pl.read_csv, "ndjson": pl.read_ndjson}[form]
        return name(io.BytesIO(data))["id"].to_list()  # type: ignore[operator, no-any-return]

    first = piped(b"id\n%d\n" % unit["id"][0], "get")
    filed = piped(first, "get", "--collection", "statements")
    assert ids(filed) == statements["id"].to_list()
    assert ids(piped(filed, "get")) == unit["id"].to_list()
    money = piped(filed, "financials")
    assert ids(piped(money, "get")) == unit["id"].to_list()
    assert set(ids(piped(money, "get", "--collection", "statements"))) <= set(statements["id"])
    if form != "csv":  # which cannot hold reports
        reports = piped(filed, "get", "--collection", "reports")
        assert ids(reports) == statements["idUctovnychVykazov"].explode().to_list()
        assert ids(piped(reports, "get", "--collection", "statements")) == ids(filed)
        refused = run("get", "-", "--sample", stdin=reports)
        assert "its ids are not of units" in str(refused.exception)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("unit_id,x\n210\u00a0365,1\n", "'210\\xa0365' is not an id"),
        ("id\n00061387\n", "'00061387' is not an id; an IČO belongs in a column named ico"),
        *slow(
            ('id\n"210 365"\n', "'210 365' is not an id"),
            ("id;kraj\n210 365;SK010\n", "'210 365' is not an id"),
            ("5\nx7\n", "ID='x7' is not an IČO, which has 8 or 12 digits; look the unit up"),
            ("5\n9999999999999999999\n", "ID='9999999999999999999' is not an IČO"),
            ("ico\n00061387\n372491\n", "ID['ico'][1]='372491' is not an IČO"),
            ("id,kraj\n,SK010\n", "None is not an id"),
        ),
    ],
)
def test_what_is_no_id_is_refused(data: str, shown: str) -> None:
    """Two ids in a field, or an IČO: figures of other units would be wrong without a word."""
    for command in ("get", "financials"):
        seen = called(command, "-", "--sample", stdin=data.encode())

        assert (seen.stdout, seen.returncode) == ("", 2)
        assert seen.stderr.startswith(f"Error: {shown}")


def test_plain_ids_have_any_blanks_between_them() -> None:
    """And no header."""
    seen = called("get", "-", "--sample", "--columns", "id", stdin=b"210\n365 578\n\n")

    assert seen.stdout == "id\n210\n365\n578\n"


def test_a_loop_of_the_shell_keeps_its_lines() -> None:
    """A command within ``while read`` takes none of the lines that the loop goes on with."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(b"365\n578\n")
    with os.fdopen(reading, encoding="utf-8") as lines:
        called("count", "--sample", stdin=lines)
        assert lines.read() == "365\n578\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_files_that_excel_saves_are_read(end: str, separator: str, tmp_path: Path) -> None:
    """With a byte order mark, the ends of lines of Windows, and semicolons by Slovak settings."""
    file = tmp_path / "u.csv"
    text = UNITS["id", "kraj", "nazovUJ"].write_csv(separator=separator).replace("\n", end)
    file.write_bytes(text.encode("utf-8-sig"))

    assert called("count", str(file), "--by", "kraj", "--sample").stdout == COUNTED


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (b"", "standard input is empty: did the command before it fail?"),
        (b"code,label\nSK010,x\n", "ids: the frame has no column 'id'; it has ['code', 'label']"),
        ("id;názov\n210;Žiar\n".encode("cp1250"), "standard input is not a csv in UTF-8; save"),
        *slow(
            (None, "standard input is empty"),
            (b" \n", "standard input is empty"),
            (b"a,b\n1,2,3,4\n", "standard input cannot be read: "),
            (b"PAR1", "standard input cannot be read: "),
            (b"{x", "standard input cannot be read: "),
        ),
    ],
)
def test_input_that_cannot_be_read_is_refused(stdin: bytes | None, told: str) -> None:
    """With a sentence and exit code 2, never with a traceback."""
    for command in ("get", "financials"):
        seen = called(command, "-", "--sample", stdin=stdin)

        assert (seen.returncode, seen.stdout) == (2, "")
        assert seen.stderr.startswith(f"Error: {told}")


def test_a_file_without_the_code_is_refused(tmp_path: Path) -> None:
    """With its columns."""
    (tmp_path / "no.csv").write_text("a,b\n1,2\n")

    seen = called("count", str(tmp_path / "no.csv"), "--by", "kraj", "--sample")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert "'kraj'" in seen.stderr
    assert "['a', 'b']" in seen.stderr
