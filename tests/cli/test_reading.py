"""The files that `label` reads, and which of their columns are numbers and days."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from tests.cli.test_commands import run

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
    """What is a number or a day already stays one; a code that is a number becomes text."""
    frame = pl.DataFrame({"id": [1], "kraj": [1], "day": [date(2024, 1, 2)], "x": ["5"]})
    frame.write_parquet(tmp_path / "u.parquet")

    output = tmp_path / "l.parquet"
    run("label", str(tmp_path / "u.parquet"), "--sample", "--output", str(output))

    schema = pl.read_parquet(output).schema
    assert dict(schema) == {
        "id": pl.Int64, "kraj": pl.String, "region": pl.String, "day": pl.Date, "x": pl.Int64
    }  # fmt: skip


def test_standard_input_is_read_as_text() -> None:
    """`label -` reads csv, with every text as it was."""
    seen = run("label", "-", "--sample", stdin=CSV)

    assert seen.exit_code == 0
    rows = [line.split(",") for line in seen.stdout.splitlines()]
    given = [line.split(",") for line in CSV.splitlines()]
    labels = [rows[0].index("region"), rows[0].index("district")]
    assert [[c for i, c in enumerate(row) if i not in labels] for row in rows] == given


@pytest.mark.parametrize("data", ["a,b\n1,2,3,4\n", ""])
def test_standard_input_that_cannot_be_read_is_refused(data: str) -> None:
    """It is named, and nothing recommends Python."""
    seen = run("label", "-", "--sample", stdin=data)

    assert seen.stdout == ""
    assert str(seen.exception).startswith("standard input cannot be read: ")
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
