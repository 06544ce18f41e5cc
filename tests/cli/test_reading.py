"""Files and standard input: which ids and columns a command takes from them, and when."""

from __future__ import annotations

import io
import os
from datetime import date
from pathlib import Path

import openpyxl
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.protocol.wire import BY_FIELD
from tests.cli.test_commands import called, run
from tests.support.examples import slow

CSV = (
    "id,ico,psc,kraj,okres,sid,sum,share,day,yes,padded,odd day,name,none\n"
    "210,00470439,31401,1,SK0106,7,12,0.5,2024-12-10,true,007,2024-13-10,Žena,\n"
    "365,00372491,51679,SK023,SK0237,8,-3,2,,false,12,2024-01-01,5,\n"
)
TYPES = {
    "id": pl.Int64, "ico": pl.String, "psc": pl.String, "kraj": pl.String, "region": pl.String,
    "okres": pl.String, "district": pl.String, "sid": pl.String, "sum": pl.Int64,
    "share": pl.Float64, "day": pl.Date, "yes": pl.Boolean, "padded": pl.String,
    "odd day": pl.String, "name": pl.String, "none": pl.String,
}  # fmt: skip


def test_numbers_and_days_are_values_and_codes_are_text(tmp_path: Path) -> None:
    """In parquet and xlsx; nothing that a number would change is one."""
    (tmp_path / "u.csv").write_text(CSV, encoding="utf-8")

    for form in ("parquet", "xlsx"):
        output = str(tmp_path / f"l.{form}")
        assert run("label", str(tmp_path / "u.csv"), "--sample", "--output", output).exit_code == 0

    labelled = pl.read_parquet(tmp_path / "l.parquet")
    assert dict(labelled.schema) == TYPES
    assert labelled["kraj"].to_list() == ["1", "SK023"]
    assert labelled["ico"].to_list() == ["00470439", "00372491"]
    assert labelled["day"].to_list() == [date(2024, 12, 10), None]
    assert labelled["padded"].to_list() == ["007", "12"]
    sheet = openpyxl.load_workbook(tmp_path / "l.xlsx").active
    cells = dict(
        zip(*(tuple(c.value for c in row) for row in sheet.iter_rows(max_row=2)), strict=True)
    )
    assert (cells["id"], cells["sum"], cells["share"]) == (210, 12, 0.5)
    assert (cells["ico"], cells["psc"], cells["kraj"]) == ("00470439", "31401", "1")
    assert cells["day"].date() == date(2024, 12, 10)


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    """Numbers, days, texts and lists alike; only a code that is a number becomes text."""
    frame = pl.DataFrame(
        {"id": [1], "kraj": [1], "day": [date(2024, 1, 2)], "x": ["5"], "s": [[{"a": 1}]]}
    )
    frame.write_parquet(tmp_path / "u.parquet")

    output = tmp_path / "l.parquet"
    run("label", str(tmp_path / "u.parquet"), "--sample", "--output", str(output))

    schema = pl.read_parquet(output).schema
    assert dict(schema) == {
        "id": pl.Int64, "kraj": pl.String, "region": pl.String, "day": pl.Date, "x": pl.String,
        "s": pl.List(pl.Struct({"a": pl.Int64})),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_labelled_records_and_figures_have_their_types_again(form: str, tmp_path: Path) -> None:
    """Codes, postal codes and lists of one id are not numbers, whatever all their values are."""
    units = UNITS.with_columns(pl.lit("81101").alias("psc"))
    units = units.with_columns(pl.col("idUctovnychZavierok", "idVyrocnychSprav").list.head(1))
    figures = SAMPLE.financials(UNITS.head(3), 2014, items=["sales"]).with_columns(
        postcode_filed=pl.lit("81101"), nace_filed=pl.lit("62010")
    )
    for frame in (units, figures):
        fk.write(frame, tmp_path / f"given.{form}")

        output = ["--output", str(tmp_path / "l.parquet")]
        seen = run("label", str(tmp_path / f"given.{form}"), "--sample", *output)

        assert seen.exit_code == 0, seen.exception
        labelled = pl.read_parquet(tmp_path / "l.parquet").select(frame.columns)
        assert labelled.cast(frame.schema).equals(frame)
        for given, dtype in zip(frame.dtypes, labelled.dtypes, strict=True):
            # JSON has one kind of numbers.
            assert dtype == given or (
                form == "ndjson" and dtype.is_integer() and given.is_integer()
            )


def test_a_text_that_is_not_of_its_columns_type_stays_a_text(tmp_path: Path) -> None:
    """With all others of its column."""
    columns = {
        "kraj": ["SK010", "SK010"], "year": ["2014", "2014/15"], "idVyrocnychSprav": ["1 2", "1 x"],
        "datumZalozenia": ["2024-01-02", "2.1.2024"],
    }  # fmt: skip
    pl.DataFrame(columns).write_csv(tmp_path / "u.csv")

    output = ["--output", str(tmp_path / "l.parquet")]
    run("label", str(tmp_path / "u.csv"), "--sample", *output)

    labelled = pl.read_parquet(tmp_path / "l.parquet")
    assert labelled.select(*columns).to_dict(as_series=False) == columns


def test_a_file_without_codes_is_named_with_the_columns_that_have_labels(tmp_path: Path) -> None:
    """All seven, not the places alone."""
    (tmp_path / "no.csv").write_text("a,b\n1,2\n")

    seen = called("label", str(tmp_path / "no.csv"), "--sample")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith("Error: FILE '/")
    assert f"no.csv' has none of the columns {list(BY_FIELD)}; its columns are ['a', 'b']" in (
        seen.stderr
    )


def test_standard_input_is_read_as_text() -> None:
    """`label -` reads csv, with every text as it was."""
    seen = run("label", "-", "--sample", stdin=CSV)

    assert seen.exit_code == 0
    rows = [line.split(",") for line in seen.stdout.splitlines()]
    given = [line.split(",") for line in CSV.splitlines()]
    labels = [rows[0].index("region"), rows[0].index("district")]
    assert [[c for i, c in enumerate(row) if i not in labels] for row in rows] == given


@pytest.mark.parametrize(
    ("data", "problem"), [("a,b\n1,2,3,4\n", "cannot be read: "), ("", "is empty; give csv")]
)
def test_standard_input_that_cannot_be_read_is_refused(data: str, problem: str) -> None:
    """It is named, and nothing recommends Python."""
    seen = run("label", "-", "--sample", stdin=data)

    assert seen.stdout == ""
    assert str(seen.exception).startswith(f"standard input {problem}")
    assert "=" not in str(seen.exception)


def test_find_names_places_in_one_language() -> None:
    """One name each, and the path up, in the language asked."""
    slovak = run("find", "zilina", "--sample", "--level", "district").stdout.splitlines()
    english = run("find", "zilina", "--sample", "--level", "district", "--lang", "en").stdout

    assert slovak == [
        "level,code,name,district,region",
        "district,SK031B,Žilina,Žilina,Žilinský kraj",
    ]
    assert english.splitlines()[1] == "district,SK031B,Žilina,Žilina,Region of Žilina"


SAMPLE = fk.sample()
UNITS = SAMPLE.units.get(SAMPLE.units.ids(limit=9))
COUNTED = SAMPLE.count_by(UNITS, "kraj").with_columns(pl.col("share").round_sig_figs(6)).write_csv()


@pytest.mark.parametrize(
    "printed",
    [
        ["ids", "--limit", "9"],
        ["ids", "--limit", "9", "--format", "ndjson"],
        ["get", *map(str, UNITS["id"])],
        ["get", *map(str, [*UNITS["id"], *UNITS["id"]]), "--format", "parquet"],
        ["financials", *map(str, UNITS["id"])],
    ],
)
def test_what_a_command_prints_is_counted_in_a_pipe(printed: list[str], tmp_path: Path) -> None:
    """Piped, redirected, as a FILE or ``-``: the units in it count once, and no others."""
    data = run(*printed, "--sample").stdout_bytes
    file = tmp_path / "given"
    file.write_bytes(data)

    for given in ([], ["-"]):
        assert called("count", *given, "--by", "kraj", "--sample", stdin=data).stdout == COUNTED
        assert called("count", *given, "--sample", stdin=data).stdout == "9\n"
    assert called("count", str(file), "--by", "kraj", "--sample").stdout == COUNTED
    assert called("count", str(file), "--sample").stdout == "9\n"
    with file.open() as redirected:
        assert called("count", "--sample", stdin=redirected).stdout == "9\n"


@pytest.mark.parametrize("form", ["csv", "parquet", *slow("ndjson")])
def test_records_lead_to_those_they_name(form: str) -> None:
    """From units to statements, to reports and back: each command takes what another prints."""
    unit = UNITS.filter(pl.col("idUctovnychZavierok").list.len() > 1).head(1)
    statements = SAMPLE.statements.get(unit["idUctovnychZavierok"].explode())

    def piped(data: bytes, *arguments: str) -> bytes:
        result = run(*arguments, "-", "--sample", "--format", form, stdin=data)
        assert result.exit_code == 0, result.exception
        return result.stdout_bytes

    def ids(data: bytes) -> list[int]:
        name = {"csv": pl.read_csv, "ndjson": pl.read_ndjson, "parquet": pl.read_parquet}[form]
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
        assert str(refused.exception).startswith("standard input has no ids of units; its columns")


@pytest.mark.slow
def test_statements_named_by_figures_are_printed() -> None:
    """Each as it was filed, one after the other; the same as by their ids."""
    money = run("financials", "365", "--year", "2015", "--year", "2016", "--sample").stdout
    ids = pl.read_csv(io.StringIO(money), infer_schema_length=None)["statement_id"]

    printed = run("statement", "-", "--sample", stdin=money).stdout

    assert ids.n_unique() == 2
    assert printed == run("statement", *map(str, ids), "--sample").stdout
    for id_ in ids:
        assert run("statement", str(id_), "--sample").stdout in printed


@pytest.mark.parametrize("stdin", ["", None, "null"])
def test_without_a_pipe_the_ids_of_the_register_are_counted(stdin: str | None) -> None:
    """Standard input that is closed, /dev/null or that of pytest has no ids to count."""
    with open(os.devnull) as null:  # noqa: PTH123 - no path
        seen = called("count", "--sample", stdin=null if stdin == "null" else stdin)

    assert (seen.stdout, seen.stderr, seen.returncode) == ("20000\n", "", 0)


def test_an_empty_pipe_is_not_counted_as_the_whole_register() -> None:
    """The command before it may have failed: an error with the cure, and exit code 2."""
    for by in ([], ["--by", "kraj"]):
        seen = called("count", *by, "--sample", stdin=b"")

        assert (seen.stdout, seen.returncode) == ("", 2)
        assert seen.stderr == (
            "Error: standard input is empty; add < /dev/null to count the register's ids\n"
        )


def test_a_list_without_ids_is_counted_as_zero() -> None:
    """It has its header, whether the register was asked or not."""
    for nothing in (["--limit", "0"], ["--after-id", "999999999"]):
        printed = run("ids", "--sample", *nothing).stdout_bytes

        assert printed == b"id\n"
        assert called("count", "--sample", stdin=printed).stdout == "0\n"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ('id\n"210 365"\n', "210 365"),
        ("id\n210 365\n", "210 365"),
        ("id;kraj\n210 365;SK010\n", "210 365"),
        ("unit_id,x\n210\u00a0365,1\n", r"210\xa0365"),
        ("id,x\n1 234 567,1\n", "1 234 567"),
        ("id,idUctovnychZavierok\n210,1 2\n1 2,1\n", "1 2"),
    ],
)
def test_an_id_with_a_blank_is_refused(data: str, shown: str) -> None:
    """It is not two ids; only fields of lists have several, and plain ids without a header."""
    for command in ("get", "financials", "count"):
        seen = called(command, "-", "--sample", stdin=data.encode())

        assert (seen.stdout, seen.returncode) == ("", 2)
        assert seen.stderr.startswith(f"Error: ID '{shown}' is not an id")
    assert called("count", "--sample", stdin=b"210 365\n").stdout == "2\n"


@pytest.mark.parametrize("column", ["id", "unit_id"])
def test_rows_without_an_id_are_counted_each(column: str) -> None:
    """A missing id does not make two units one; the same id does."""
    data = f"{column},kraj\n,SK010\n,SK010\n1,SK021\n1,SK021\n".encode()

    seen = called("count", "--by", "kraj", "--columns", "code,count", "--sample", stdin=data)

    assert seen.stdout.splitlines()[:3] == ["code,count", "SK010,2", "SK021,1"]


def test_input_that_a_command_cannot_use_is_mentioned() -> None:
    """Refused where the answer would be to another question, else warned of; nothing is lost."""
    ids = UNITS.select("id").write_csv().encode()

    for command in (["ids"], ["count", "--changed-since", "-30d"], ["count", "--after-id", "5"]):
        seen = called(*command, "--sample", stdin=ids)
        assert (seen.returncode, seen.stdout) == (2, "")
        assert "does not read standard input, which has data" in seen.stderr
    for command in (["codelist", "regions"], ["get", "210"], ["find", "ziar"]):
        seen = called(*command, "--sample", stdin=ids)
        assert (seen.returncode, seen.stdout) == (0, run(*command, "--sample").stdout)
        assert seen.stderr.startswith("Warning: standard input has data, which this command does")
        assert called(*command, "--sample", stdin=b"").stderr == ""
    assert called("get", "-", "--sample", stdin=ids).stderr == ""
    assert called("count", "x.csv", "--changed-since", "-30d", "--sample").returncode == 2


def test_a_loop_of_the_shell_keeps_its_lines() -> None:
    """A command within ``while read`` takes none of the lines that the loop goes on with."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(b"365\n578\n")
    with os.fdopen(reading, encoding="utf-8") as lines:
        called("get", "210", "--sample", stdin=lines)
        assert lines.read() == "365\n578\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_other_systems_are_read(encoding: str, end: str, tmp_path: Path) -> None:
    """With a byte order mark, as our own files have, and the ends of lines of Windows."""
    own = tmp_path / "own.csv"
    run("ids", "--sample", "--limit", "9", "--output", str(own))
    assert own.read_bytes().startswith(b"\xef\xbb\xbf")
    assert called("count", "--sample", stdin=own.read_bytes() * 2).stdout == "9\n"

    records = UNITS["id", "kraj"]
    for text in (UNITS.select("id").write_csv(), records.write_csv(), records.write_ndjson()):
        data = text.replace("\n", end).encode(encoding)
        assert called("count", "--by", "kraj", "--sample", stdin=data).stdout == COUNTED


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (None, "standard input is closed; give a file, or pipe the data"),
        (b"", "standard input is empty; give csv, ndjson or parquet"),
        (b" \n", "standard input is empty; give csv, ndjson or parquet"),
        (b"id\n5\nx7\n", "ID 'x7' is not an id"),
        (b"PK\x03\x04", "standard input is an xlsx file; give csv, ndjson or parquet"),
        (b"shape: (1, 1)\n", "standard input is a table; give csv, ndjson or parquet"),
        (b"PAR1", "standard input cannot be read: "),
        (b'{"id":', "standard input cannot be read: "),
        (b"\xff\xfe\x00", "standard input"),
        (b"code,label\nSK010,x\n", "standard input has no ids of units; its columns are"),
    ],
)
def test_input_without_ids_is_refused(stdin: bytes | None, told: str) -> None:
    """With a sentence and exit code 2, never with a traceback."""
    for command in ("get", "financials", "count"):
        seen = called(command, "-", "--sample", stdin=stdin)
        assert (seen.returncode, seen.stdout) == (2, "")
        assert seen.stderr.startswith(f"Error: {told}")


@pytest.mark.parametrize("command", [["count", "--by", "kraj"], ["label"]])
def test_codes_that_are_no_texts_are_refused(command: list[str], tmp_path: Path) -> None:
    """In words, as in Python; whole numbers and a column without values are read as texts."""
    file = tmp_path / "u.parquet"
    for codes, told in (
        ([["SK010"]], "is List(String); codes are text"),
        ([1.5], "is Float64; codes are text"),
        ([1], ""),
        ([None], ""),
    ):
        pl.DataFrame({"id": [1], "kraj": codes}).write_parquet(file)
        seen = called(*command, str(file), "--sample")
        assert (seen.returncode, bool(seen.stdout)) == ((2, False) if told else (0, True))
        assert told in seen.stderr


@pytest.mark.parametrize(
    ("header", "named"),
    [("id,kraj,kraj", "the column 'kraj'"), ("id,,", "a column without a name")],
)
def test_a_repeated_column_is_refused(header: str, named: str, tmp_path: Path) -> None:
    """Instead of renaming it in silence."""
    (tmp_path / "u.csv").write_text(f"{header}\n1,SK010,x\n", encoding="utf-8")

    seen = called("label", str(tmp_path / "u.csv"), "--sample")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert f"has {named} 2 times; rename or remove it" in seen.stderr
