"""A wide table: a row per unit, a column per item and year, as a colleague reads it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import openpyxl
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.reports.cells import REASON

SAMPLE: Final = fk.sample(300)
IDENTITY: Final = ["Unit id", "IČO", "Name"]


@cache
def money() -> pl.DataFrame:
    figures = SAMPLE.financials(SAMPLE.units.ids(limit=12), [2014, 2015], items=["sales", "equity"])
    assert figures["sales"].null_count()
    assert figures["reason"].null_count()
    return figures


def read(path: Path, separator: str = ",") -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False, separator=separator)


def test_a_row_per_unit_and_a_column_per_item_and_year(tmp_path: Path) -> None:
    """Each number of the frame is where its unit, item and year are; else there is a reason."""
    figures = money()
    table = read(fk.write(figures, tmp_path / "x.csv", wide="year", lang="en"))

    heads = [f"{item} {year}" for item in ("Sales", "Equity") for year in (2014, 2015)]
    assert table.columns == [*IDENTITY, *heads]
    assert table["Unit id"].to_list() == [str(id_) for id_ in figures["unit_id"].unique().sort()]
    assert table["IČO"].str.len_chars().eq(8).all()
    for unit, year, sales, equity in figures.select("unit_id", "year", "sales", "equity").rows():
        row = table.row(by_predicate=pl.col("Unit id") == str(unit), named=True)
        for head, number in (("Sales", sales), ("Equity", equity)):
            cell = row[f"{head} {year}"]
            assert cell == str(number) if number is not None else cell[0].isalpha(), cell


def frame(**columns: object) -> pl.DataFrame:
    """Return rows of units 1 and 2 as financials has them."""
    rows = {"unit_id": [1, 1, 2], "ico": ["00000001", "00000001", "00000002"], "name": ["a"] * 3,
            "year": [2014, 2015, 2015], "sales": [5.0, None, None], "template": [699] * 3,
            "reason": [None, None, "attachments_only"]}  # fmt: skip
    schema: dict[str, pl.DataType] = {"reason": REASON, "sales": pl.Float64()}
    return pl.DataFrame(rows | columns, schema_overrides=schema, strict=False)


def test_each_reason_is_said_in_the_language(tmp_path: Path) -> None:
    """Of the row, of the value, and of the year that has no row; of an IČO without a unit."""
    unknown = (
        frame()
        .tail(1)
        .with_columns(
            unit_id=pl.lit(None, pl.Int64),
            ico=pl.lit("00000009"),
            reason=pl.lit("no_such_unit", REASON),
        )
    )
    path = fk.write(pl.concat([frame(), unknown]), tmp_path / "x.csv", wide="year", lang="en")

    assert read(path).select("Sales 2014", "Sales 2015").rows() == [
        ("5.0", "blank"), ("no filing", "PDF only"), ("no filing", "an IČO that no unit has"),
    ]  # fmt: skip
    slovak = read(fk.write(frame(), tmp_path / "y.csv", wide="year", decimal_comma=True), ";")
    assert slovak.columns[:3] == ["Id jednotky", "IČO", "Názov"]
    assert slovak.to_series(3).to_list() == ["5,0", "bez závierky"]
    assert slovak.to_series(4).to_list() == ["nevyplnené", "len PDF"]


def test_koruna_are_no_euro(tmp_path: Path) -> None:
    """One column has one unit of measure."""
    figures = frame(currency=["SKK", None, None])

    table = read(fk.write(figures, tmp_path / "x.csv", wide="year", lang="en"))

    assert table["Sales 2014"].to_list() == ["another currency", "no filing"]


def test_ratios_and_numbers_of_ones_own_have_columns_and_other_columns_not(tmp_path: Path) -> None:
    """A small share is no formula, though it has a letter; a divisor is a reason."""
    figures = frame(roa=[-1e-7, 0.25, None], mine=[1, 2, 3], months=[12] * 3).with_columns(
        excluded=pl.Series([[], [], []], dtype=pl.List(pl.String))
    )

    table = read(fk.write(figures, tmp_path / "x.csv", wide="year", lang="en"))

    assert table.columns[5:] == [
        "Return on assets 2014", "Return on assets 2015", "mine 2014", "mine 2015",
    ]  # fmt: skip
    assert table["Return on assets 2014"][0] == "-1e-7"
    assert table["mine 2015"].to_list() == ["2", "3"]


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "sheets"), [
    ("sk", ["Údaje", "Zdroj", "Vysvetlivky"]), ("en", ["Figures", "Source", "Codebook"]),
])  # fmt: skip
def test_a_workbook_has_sheets_heads_and_a_codebook_in_the_language(
    tmp_path: Path, lang: str, sheets: list[str]
) -> None:
    """Numbers are numbers, reasons texts; items without any number are left out."""
    figures = frame(equity=pl.Series([None] * 3, dtype=pl.Float64), roa=[0.5, None, None])
    path = tmp_path / "x.xlsx"
    fk.write(figures, path, wide="year", lang=lang, note="Invented")  # type: ignore[arg-type]

    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    heads = [cell.value for cell in sheet[1]]
    assert book.sheetnames == sheets
    assert len(heads) == 3 + 2 * 2
    assert [cell.value for cell in sheet[2]][:5] == [
        1, "00000001", "a", 5, "nevyplnené" if lang == "sk" else "blank",
    ]  # fmt: skip
    assert sheet["F2"].number_format.startswith("0.0%")
    assert (sheet.page_setup.orientation, sheet.page_setup.fitToHeight) == ("landscape", 0)
    fields = book.worksheets[2]
    long = max(fields["E"], key=lambda cell: len(cell.value or ""))
    assert long.alignment.wrap_text
    lines = fields.row_dimensions[long.row].height / 15
    assert lines * fields.column_dimensions["E"].width > len(long.value)
    rows = [[cell.value for cell in row] for row in fields.iter_rows()]
    assert rows[0][0] == ("Stĺpec" if lang == "sk" else "Column")
    assert [row[3] for row in rows[1:]] == ["unit_id", "ico", "name", "sales", "roa"]
    assert rows[5][2] == ("podiel, 1 je 100 %" if lang == "sk" else "share, 1 is 100 %")


def test_where_no_item_has_a_number_all_stand_with_their_reasons(tmp_path: Path) -> None:
    """What was asked for is answered."""
    path = tmp_path / "x.csv"
    nothing = frame(sales=pl.Series([None] * 3, dtype=pl.Float64))
    fk.write(nothing, path, wide="year", lang="en")
    head, *rows = path.read_text(encoding="utf-8-sig").splitlines()
    assert head == "Unit id,IČO,Name,Sales 2014,Sales 2015"
    assert all(row.count(",") == 4 and row[-1] != "," for row in rows)


@pytest.mark.parametrize(
    ("figures", "options", "fault"),
    [
        (frame(year=[2015] * 3), {}, "the unit 1 has two rows of 2015.*source_column"),
        (frame().drop("year"), {}, "no column 'year'; give what fk.financials"),
        (frame().drop("sales"), {}, "no column of numbers"),
        (frame(), {"wide": "month"}, "wide='month' is not known"),
        (frame(), {"lang": "de"}, "lang='de' is not known"),
        (frame(), {"wide": None, "lang": "en"}, "only a wide table has words"),
    ],
)
def test_what_cannot_be_wide_is_refused(
    tmp_path: Path, figures: pl.DataFrame, options: dict[str, str | None], fault: str
) -> None:
    """With its cure, and no file is there."""
    with pytest.raises(fk.UsageError, match=fault):
        fk.write(figures, tmp_path / "x.csv", **{"wide": "year", **options})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_only_csv_and_xlsx_are_wide(tmp_path: Path) -> None:
    """The others are for programs."""
    with pytest.raises(fk.UsageError, match="a parquet file cannot hold it; write csv or xlsx"):
        fk.write(frame(), tmp_path / "x.parquet", wide="year")
