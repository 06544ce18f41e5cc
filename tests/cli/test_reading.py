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


def test_columns_of_a_csv_are_texts(tmp_path: Path) -> None:
    """In every format, as a number would lose its zeros."""
    (tmp_path / "u.csv").write_text(CSV, encoding="utf-8")

    for form in ("parquet", "xlsx"):
        output = str(tmp_path / f"l.{form}")
        assert run("label", str(tmp_path / "u.csv"), "--sample", "--output", output).exit_code == 0

    labelled = pl.read_parquet(tmp_path / "l.parquet")
    assert set(labelled.dtypes) == {pl.String}
    assert labelled["ico"].to_list() == ["00470439", "00372491"]
    sheet = openpyxl.load_workbook(tmp_path / "l.xlsx").active
    assert [cell.value for cell in next(sheet.iter_rows(min_row=2))][:3] == [
        "210", "00470439", "31401",
    ]  # fmt: skip


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
    ("data", "problem"),
    [("a,b\n1,2,3,4\n", "cannot be read: "), ("", "is empty: the command")],
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
    ("printed", "form"),
    [
        (["get", *map(str, [*UNITS["id"], *UNITS["id"]])], "parquet"),
        *slow(
            (["ids", "--limit", "9"], "ndjson"),
            (["ids", "--limit", "9"], "csv"),
            (["financials", *map(str, UNITS["id"])], "csv"),
        ),
    ],
)
def test_what_a_command_prints_is_counted_in_a_pipe(
    printed: list[str], form: str, tmp_path: Path
) -> None:
    """Piped, redirected, as a FILE or ``-``: the units in it count once, and no others."""
    data = run(*printed, "--sample", "--format", form).stdout_bytes
    file = tmp_path / f"given.{form}"
    file.write_bytes(data)
    named = [] if form == "csv" else ["--input-format", form]

    for given in (named, ["-", *named]):
        assert called("count", *given, "--by", "kraj", "--sample", stdin=data).stdout == COUNTED
        assert called("count", *given, "--sample", stdin=data).stdout == "9\n"
    assert called("count", str(file), "--by", "kraj", "--sample").stdout == COUNTED
    assert called("count", str(file), "--sample").stdout == "9\n"
    with file.open() as redirected:
        assert called("count", *named, "--sample", stdin=redirected).stdout == "9\n"


def test_plain_ids_are_counted() -> None:
    """With any blanks between them."""
    data = " ".join(map(str, UNITS["id"])).encode()

    assert called("count", "--by", "kraj", "--sample", stdin=data).stdout == COUNTED
    assert called("count", "-", "--sample", stdin=b"210\n365 578\n\n").stdout == "3\n"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", *slow("parquet", "ndjson")])
def test_records_lead_to_those_they_name(form: str) -> None:
    """From units to statements, to reports and back: each command takes what another prints."""
    unit = UNITS.filter(pl.col("idUctovnychZavierok").list.len() > 1).head(1)
    statements = SAMPLE.statements.get(unit["idUctovnychZavierok"].explode())

    def piped(data: bytes, *arguments: str) -> bytes:
        read = "csv" if data.startswith(b"id\n") else form
        result = run(*arguments, "-", "--sample", "--format", form, "--input-format", read,
                     stdin=data)  # fmt: skip
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
        refused = run("get", "-", "--sample", "--input-format", form, stdin=reports)
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
            "Error: standard input is empty: the command before it may have failed\n"
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
        ("unit_id,x\n210\u00a0365,1\n", r"210\xa0365"),
        *slow(("id\n210 365\n", "210 365")),
        *slow(
            ('id\n"210 365"\n', "210 365"),
            ("id;kraj\n210 365;SK010\n", "210 365"),
            ("id,x\n1 234 567,1\n", "1 234 567"),
            ("id,idUctovnychZavierok\n210,1 2\n1 2,1\n", "1 2"),
        ),
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


def test_a_count_of_changes_refuses_input() -> None:
    """Its answer would be to another question."""
    for option in (["--changed-since", "-30d"], ["--after-id", "5"]):
        seen = called("count", *option, "--sample", stdin=b"id\n210\n")
        assert (seen.returncode, seen.stdout) == (2, "")
        assert "select from the register, not FILE or standard input" in seen.stderr
    assert called("count", "x.csv", "--changed-since", "-30d", "--sample").returncode == 2


def test_a_loop_of_the_shell_keeps_its_lines() -> None:
    """A command within ``while read`` takes none of the lines that the loop goes on with."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(b"365\n578\n")
    with os.fdopen(reading, encoding="utf-8") as lines:
        called("get", "210", "--sample", stdin=lines)
        assert lines.read() == "365\n578\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_files_that_excel_saves_are_read(end: str, separator: str, tmp_path: Path) -> None:
    """With a byte order mark, the ends of lines of Windows, and semicolons by Slovak settings."""
    file = tmp_path / "u.csv"
    text = UNITS["id", "kraj", "nazovUJ"].write_csv(separator=separator).replace("\n", end)
    file.write_bytes(text.encode("utf-8-sig"))

    assert called("count", str(file), "--by", "kraj", "--sample").stdout == COUNTED
    assert called("count", "--by", "kraj", "--sample", stdin=file.read_bytes()).stdout == COUNTED


def test_a_csv_in_another_encoding_is_refused_with_the_cure(tmp_path: Path) -> None:
    """As Excel with Slovak settings saves it unless told otherwise."""
    file = tmp_path / "u.csv"
    file.write_bytes("id;kraj;názov\n210;SK010;Žiar\n".encode("cp1250"))

    for command in (["label", str(file)], ["count", str(file)]):
        seen = called(*command, "--sample")
        assert (seen.returncode, seen.stdout) == (2, "")
        assert "is not a csv in UTF-8; save it as 'CSV UTF-8' in Excel" in seen.stderr


def test_a_name_written_for_excel_is_read_as_it_was(tmp_path: Path) -> None:
    """The apostrophe before it is taken away, and no other."""
    names = ["=1+1", "'x", "@a"]
    file, output = tmp_path / "u.csv", tmp_path / "l.parquet"
    fk.write(pl.DataFrame({"nazovUJ": names, "kraj": ["SK010"] * 3}), file)

    run("label", str(file), "--sample", "--output", str(output))

    assert pl.read_parquet(output)["nazovUJ"].to_list() == names


def test_a_file_without_a_known_suffix_needs_its_format(tmp_path: Path) -> None:
    """The suffix of a path names its format; --input-format does so for any other."""
    file = tmp_path / "ids.txt"
    file.write_text("210\n365\n")

    refused = called("count", str(file), "--sample")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "give a name that ends in .csv, .ndjson or .parquet, or --input-format" in refused.stderr
    assert called("count", str(file), "--input-format", "csv", "--sample").stdout == "2\n"


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (b"", "standard input is empty: the command before it may have failed"),
        (b"code,label\nSK010,x\n", "standard input has no ids of units; its columns are"),
        *slow(
            (None, "standard input is closed; give a file, or pipe the data"),
            (b"5\nx7\n", "ID 'x7' is not an id"),
            (b" \n", "standard input is empty: the command before it may have failed"),
            (b"id\n5\nx7\n", "ID 'x7' is not an id"),
            (b"\xff\xfe\x00", "standard input is not a csv in UTF-8"),
            (b'{"id":5}', "standard input has no ids of units; its columns are"),
        ),
    ],
)
def test_input_without_ids_is_refused(stdin: bytes | None, told: str) -> None:
    """With a sentence and exit code 2, never with a traceback."""
    for command in ("get", "financials", "count"):
        seen = called(command, "-", "--sample", stdin=stdin)
        assert (seen.returncode, seen.stdout) == (2, "")
        assert seen.stderr.startswith(f"Error: {told}")


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_input_that_is_not_of_its_format_is_refused(form: str) -> None:
    """With the reason that polars gives."""
    seen = called("get", "-", "--input-format", form, "--sample", stdin=b"PAR1")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith("Error: standard input cannot be read: ")


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


def test_a_repeated_column_is_refused(tmp_path: Path) -> None:
    """Instead of renaming it in silence."""
    (tmp_path / "u.csv").write_text("id,kraj,kraj\n1,SK010,x\n", encoding="utf-8")

    seen = called("label", str(tmp_path / "u.csv"), "--sample")

    assert (seen.returncode, seen.stdout) == (2, "")
    assert "has the column 'kraj' more than once; rename or remove it" in seen.stderr
