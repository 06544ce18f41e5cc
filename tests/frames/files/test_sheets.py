"""Every kind of column in every format: the right value, or an error before anything is written."""

from __future__ import annotations

import re
import zipfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import finstat_kit as fk
from tests.support.examples import quick, slow

INF, NAN = float("inf"), float("nan")


def cells(path: Path) -> list[list[object]]:
    """Return the values below the header."""
    sheet = openpyxl.load_workbook(path).active
    assert sheet is not None
    return [list(row) for row in sheet.iter_rows(min_row=2, values_only=True)]


# Case, a column, its cells.
CELLS: list[tuple[str, pl.Series, list[object]]] = [
    ("formulas and links", pl.Series(["=1+1", "{=1}", "http://x.example", "007", "@SUM(1)"]),
     ["=1+1", "{=1}", "http://x.example", "007", "@SUM(1)"]),
    ("ids", pl.Series([2_618_000_123, None]), [2_618_000_123, None]),
    ("not finite", pl.Series([INF, NAN, 1.5, None]), ["=1/0", None, 1.5, None]),
    ("Decimal", pl.Series([Decimal("1.10"), None]), [1.1, None]),
    ("Boolean", pl.Series([True, False, None]), [True, False, None]),
    ("Date", pl.Series([date(1901, 1, 1), None]), [datetime(1901, 1, 1), None]),
    ("old days", pl.Series([date(1850, 1, 1), date(2026, 6, 30)]), ["1850-01-01", "2026-06-30"]),
    ("Datetime", pl.Series([datetime(2026, 6, 30, 1, 2, 3)]), [datetime(2026, 6, 30, 1, 2, 3)]),
    ("a zone", pl.Series([datetime(2026, 6, 30)]).dt.replace_time_zone("UTC"),
     ["2026-06-30 00:00:00.000000+00:00"]),
    ("Time", pl.Series([time(1, 2, 3), None]), [time(1, 2, 3), None]),
    ("Duration", pl.Series([timedelta(days=400), None]), [timedelta(days=400), None]),
    ("Categorical", pl.Series(["a", None], dtype=pl.Categorical), ["a", None]),
    ("Enum", pl.Series(["a", None], dtype=pl.Enum(["a"])), ["a", None]),
    ("Null", pl.Series([None, None]), [None, None]),
    ("lists of ids", pl.Series([[1, 2], [], None]), ["1 2", None, None]),
    ("arrays", pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)), ["1 2"]),
    ("lists of texts", pl.Series([["a", "b"]]), ["a b"]),
    ("the longest text", pl.Series(["x" * 32_767]), ["x" * 32_767]),
]  # fmt: skip


@pytest.mark.parametrize(("case", "column", "expected"), quick(CELLS, 6), ids=[c[0] for c in CELLS])
def test_cells_hold_the_values(
    tmp_path: Path, case: str, column: pl.Series, expected: list[object]
) -> None:
    """A cell holds the value itself, or of moments that a spreadsheet does not have the text."""
    frame = pl.DataFrame({"x": range(len(expected)), case: column})

    written = cells(fk.write(frame, tmp_path / "x.xlsx"))

    assert [row[1] for row in written] == expected
    assert [type(row[1]) for row in written] == [type(value) for value in expected]


def test_numbers_are_shown_as_they_are(tmp_path: Path) -> None:
    """An id is shown as it is, with no separator and no exponent; days as ISO writes them."""
    frame = pl.DataFrame(
        {
            "id": [2_618_000_123],
            "n": pl.Series([20_000], dtype=pl.UInt32),
            "d": [date(2026, 6, 30)],
            "t": [datetime(2026, 6, 30)],
            "h": [timedelta(hours=30)],
        }
    )

    sheet = openpyxl.load_workbook(fk.write(frame, tmp_path / "x.xlsx")).active

    assert sheet is not None
    assert [cell.number_format for cell in next(sheet.iter_rows(min_row=2))] == [
        "0", "0", "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", "[h]:mm:ss",
    ]  # fmt: skip


def test_columns_may_have_names_that_mean_something_elsewhere(tmp_path: Path) -> None:
    """A wildcard of polars, a formula and a link are names as others are."""
    names = ["*", "=1+1", "http://x.example"]

    path = fk.write(pl.DataFrame({name: [name] for name in names}), tmp_path / "x.xlsx")

    sheet = openpyxl.load_workbook(path).active
    assert sheet is not None
    assert list(sheet.iter_rows(values_only=True)) == [tuple(names)] * 2


@pytest.mark.parametrize(
    "names", [["a", "A"], ["straße", "STRASSE"], ["", "a"], ["n" * 256], ["a\x1b"]]
)
def test_names_that_a_sheet_cannot_have_are_refused(tmp_path: Path, names: list[str]) -> None:
    """Else the file would be broken, or a column left out."""
    with pytest.raises(fk.UsageError, match=r"(?s)the column '.*cannot have this name.*rename it"):
        fk.write(pl.DataFrame({name: [1] for name in names}), tmp_path / "x.xlsx")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet", "ndjson"])
@pytest.mark.parametrize(
    "frame", [pl.DataFrame(), pl.DataFrame(schema={"a": pl.Int64, "b": pl.Date})]
)
def test_empty_frames_are_written(tmp_path: Path, suffix: str, frame: pl.DataFrame) -> None:
    """A frame with no rows, or none at all, is written as such."""
    path = fk.write(frame.lazy(), tmp_path / f"x.{suffix}")

    if suffix == "parquet":
        assert pl.read_parquet(path).schema == frame.schema
    elif suffix == "ndjson":
        assert path.read_bytes() == b""
    elif suffix == "csv":
        assert path.read_text(encoding="utf-8-sig").strip() == ",".join(frame.columns)
    else:
        assert cells(path) in ([], [[None, None]])


def test_control_characters_in_cells_are_escaped(tmp_path: Path) -> None:
    """They are escaped as the format has it, and so is a text that looks like an escape."""
    texts = ["\x1b[31m\x00", "a\r\nb\tc", "_x0041_", "\ufffe\uffff"]

    with zipfile.ZipFile(fk.write(pl.DataFrame({"x": texts}), tmp_path / "x.xlsx")) as file:
        shared = file.read("xl/sharedStrings.xml").decode()

    listed = re.findall(r"<t(?: xml:space=\"preserve\")?>([^<]*)</t>", shared)
    assert listed[1:] == ["_x001B_[31m_x0000_", "a_x000D_\nb\tc", "_x005F_x0041_", "_xFFFE__xFFFF_"]


# Formats, a column that they cannot hold, words of the error.
REFUSED: list[tuple[str, pl.Series, str]] = [
    ("csv xlsx", pl.Series([b"\xff"]), "Binary, which csv and xlsx cannot"),
    ("csv xlsx", pl.Series([[b"\xff"]]), "of Binary"),
    ("csv xlsx", pl.Series([{"a": 1}]), "Struct.*unnest"),
    ("csv xlsx", pl.Series([[[1]]]), "of List"),
    ("csv xlsx", pl.Series([[{"a": [1]}]]), "of Struct"),
    ("csv xlsx", pl.Series([object()], dtype=pl.Object), "Object"),
    ("xlsx", pl.Series(["a", "x" * 32_768]), "a text of 32,768 characters.*32,767"),
    ("xlsx", pl.Series([list(range(10_000))]), "48,889 characters"),
]


@pytest.mark.parametrize(
    ("suffix", "column", "words"),
    [(suffix, column, words) for all_, column, words in REFUSED for suffix in all_.split()],
    ids=lambda value: str(value.dtype)[:20] if isinstance(value, pl.Series) else value[:20],
)
def test_columns_that_cannot_be_written_are_refused(
    tmp_path: Path, suffix: str, column: pl.Series, words: str
) -> None:
    """The error names column and cure; the file that was there stays as it was."""
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"before")

    with pytest.raises(fk.UsageError, match=rf"(?s)the column 'k' .*({words})"):
        fk.write(pl.DataFrame({"*": 1, "k": column}), path)

    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_what_polars_cannot_write_is_a_usage_error(tmp_path: Path, form: str) -> None:
    """With the reason that polars gives."""
    frame = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})

    with pytest.raises(fk.UsageError, match=f"{form} cannot hold a column .*'Object' datatype"):
        fk.write(frame, tmp_path / f"x.{form}")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("height", "width"), [(1_048_576, 1), *slow((1, 16_385))])
def test_frames_larger_than_a_sheet_are_refused(tmp_path: Path, height: int, width: int) -> None:
    """Rows and columns that do not fit are not left out."""
    zeros = pl.zeros(height, eager=True)
    frame = pl.DataFrame([zeros.alias(f"c{n}") for n in range(width)])

    with pytest.raises(fk.UsageError, match="a sheet of xlsx can hold 1,048,575 and 16,384"):
        fk.write(frame, tmp_path / "x.xlsx")

    assert list(tmp_path.iterdir()) == []


def test_each_line_of_a_note_has_a_cell(tmp_path: Path) -> None:
    """A note longer than a cell can hold is written, line by line."""
    lines = [f"{n} " + "x" * 1_000 for n in range(40)]

    path = fk.write(pl.DataFrame({"x": [1]}), tmp_path / "x.xlsx", note="\n".join(lines))

    sheet = openpyxl.load_workbook(path)["source"]
    assert [row[0].value for row in sheet.iter_rows()] == lines


def test_a_sheet_can_be_handed_on(tmp_path: Path) -> None:
    """The header stays in sight, names and dates fit, long texts do not push the rest away."""
    frame = pl.DataFrame(
        {"datum": [date(2026, 6, 30)], "a_rather_long_name": [1], "x": ["y" * 900]}
    )

    sheet = openpyxl.load_workbook(fk.write(frame, tmp_path / "x.xlsx")).active

    assert sheet is not None
    assert sheet.freeze_panes == "A2"
    widths = [sheet.column_dimensions[letter].width for letter in "ABC"]
    assert widths[0] >= len("2026-06-30")
    assert widths[1] >= len("a_rather_long_name")
    assert len("y" * 30) < widths[2] < len("y" * 80)


def test_shares_are_in_per_cent_and_other_numbers_are_not(tmp_path: Path) -> None:
    """In columns of ratios, of shares and of growth, and in the rows of a summary of a share."""
    ratio: dict[str, list[Any]] = {
        "equity_ratio": [0.25],
        "equity_ratio_before": [0.2],
        "current_ratio": [1.5],
    }
    change: dict[str, list[Any]] = {
        "sales": [8.0],
        "sales_growth": [0.1],
        "sales_before": [7.0],
        "share": [1],
    }
    summary: dict[str, list[Any]] = {
        "value": ["roe", "sales"],
        "median": [0.1, 5.0],
        "share_top5": [0.3, 0.4],
    }
    formats = {}
    for name, columns in (("r", ratio), ("c", change | {"share_low": [0.5]}), ("s", summary)):
        path = fk.write(pl.DataFrame(columns), tmp_path / f"{name}.xlsx")
        rows = list(openpyxl.load_workbook(path).active.iter_rows())
        for place, column in enumerate(columns):
            cells = [row[place] for row in rows[1:]]
            assert [cell.value for cell in cells] == list(columns[column])
            formats[name, column] = ["%" in cell.number_format for cell in cells]

    assert formats == {
        ("r", "equity_ratio"): [True], ("r", "equity_ratio_before"): [True],
        ("r", "current_ratio"): [False],
        ("c", "sales"): [False], ("c", "sales_growth"): [True], ("c", "sales_before"): [False],
        ("c", "share"): [False], ("c", "share_low"): [True],
        ("s", "value"): [False, False], ("s", "median"): [False, False],
        ("s", "share_top5"): [True, True],
    }  # fmt: skip


WHOLE, TWO, THREE, PER_CENT = (
    f"{form};[Red]-{form}" for form in ("#,##0", "#,##0.00", "#,##0.000", "0.0%")
)
# Case, a column named by the last word of the case, the columns beside it, its number formats.
FORMS: list[tuple[str, list[float | None], dict[str, Any], list[str]]] = [
    ("whole sales", [154_599.0, -1.0], {}, [WHOLE, WHOLE]),
    ("cents sales", [154_599.0, 0.5], {}, [TWO, TWO]),
    ("whole ebitda", [2.0], {}, [WHOLE]),
    ("whole balance_difference", [0.0], {}, [WHOLE]),
    ("cents largest_difference", [0.01], {}, [TWO]),
    ("whole sales_change", [-3.0], {}, [WHOLE]),
    ("cents ebitda_before", [-3.5], {}, [TWO]),
    ("current_ratio", [2.0], {}, [TWO]),
    ("altman_z", [1.23456], {}, [TWO]),
    ("in05_change", [-0.5], {}, [TWO]),
    ("roa", [1.0], {}, [PER_CENT]),
    ("any whole own_name", [154_599.0], {}, [WHOLE]),
    ("any other own_name", [154_599.0, 1 / 3], {}, [THREE, THREE]),
    ("own_name_growth", [0.5], {"own_name": [1.5]}, [PER_CENT]),
    ("own_name_growth", [0.5], {}, [THREE]),
    ("summary sum", [7.0, 8.0], {"value": ["sales", "ebitda"]}, [WHOLE, WHOLE]),
    ("summary p10", [0.5, None], {"value": ["roa", "sales"]}, [PER_CENT, PER_CENT]),
    ("mixed median", [7.0, 0.5], {"value": ["sales", "roa"]}, ["General", "General"]),
    ("own median", [8.5, 0.5], {"value": ["own_name", None]}, [THREE, THREE]),
    ("items value", [7.0, 1.25], {"item": ["sales", "sales"]}, [TWO, TWO]),
    ("history 2024", [7.5], {"label": ["a"], "number": [1], "item": [None]}, [TWO]),
    ("any 2024", [7.5], {}, [THREE]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "column", "beside", "expected"), quick(FORMS, 5), ids=[case[0] for case in FORMS]
)
def test_numbers_have_the_decimals_of_what_they_are(
    tmp_path: Path,
    case: str,
    column: list[float | None],
    beside: dict[str, Any],
    expected: list[str],
) -> None:
    """By the whole column: amounts whole or in cents, shares in per cent, other ratios by two."""
    columns = {case.split()[-1]: column, **beside}
    frame = pl.DataFrame({name: [None, *values] for name, values in columns.items()})

    sheet = openpyxl.load_workbook(fk.write(frame, tmp_path / "x.xlsx")).active

    assert sheet is not None
    cells = [row[0] for row in sheet.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == [None, *column]
    assert [cell.number_format for cell in cells[1:]] == expected


@cache
def money() -> pl.DataFrame:
    sample = fk.sample(1_000)
    return sample.financials(sample.units.ids(limit=60), 2016)


@pytest.mark.slow
def test_figures_of_a_register_are_shown_as_they_are_meant(tmp_path: Path) -> None:
    """No amount in euro has a third decimal, no ratio more than two."""
    for frame in (money(), fk.ratios(money())):
        sheet = openpyxl.load_workbook(fk.write(frame, tmp_path / "x.xlsx")).active
        assert sheet is not None
        for place, (name, dtype) in enumerate(frame.schema.items(), 1):
            if dtype.is_float():
                column = frame[name].drop_nulls()
                forms = {
                    cell.number_format
                    for (cell,) in sheet.iter_rows(min_row=2, min_col=place, max_col=place)
                    if cell.value is not None
                }
                cents = TWO if (column % 1 != 0).any() else WHOLE
                is_amount = name in money().columns or name == "ebitda"
                assert forms <= ({cents} if is_amount else {TWO, PER_CENT}), name


def test_columns_are_as_wide_as_their_numbers_are_shown(tmp_path: Path) -> None:
    """Separators and decimals of twelve digits fit; what does not is shown as ``#####``."""
    frame = pl.DataFrame(
        {"sales": [-1e12 / 9, 1.5], "a_name_that_is_longer": [-123_456_789_012.123, 1.0],
         "at": pl.Series([datetime(2026, 6, 30, 12, 30)] * 2)}
    )  # fmt: skip

    sheet = openpyxl.load_workbook(fk.write(frame, tmp_path / "x.xlsx")).active

    assert sheet is not None
    widths = [
        dimension.width
        for dimension in sheet.column_dimensions.values()
        for _ in range(dimension.min, dimension.max + 1)
    ]
    shown = ["-111,111,111,111.11", "a_name_that_is_longer", "2026-06-30 12:30:00"]
    assert [width >= len(text) for width, text in zip(widths, shown, strict=True)] == [True] * 3


def test_csv_has_every_digit(tmp_path: Path) -> None:
    """What is read again is the same number; lists of numbers by name are joined."""
    third = 1 / 3
    frame = pl.DataFrame({"current_ratio": [third, None], "share": [1 / 3_000_000, INF]})

    lines = fk.write(frame, tmp_path / "x.csv").read_text("utf-8-sig").splitlines()

    assert lines[1:] == [f"{third},3.3333333333333335e-7", ",inf"]
    summary = fk.summary(money(), "roe", by=None)
    again = pl.read_csv(fk.write(summary, tmp_path / "s.csv"), infer_schema=False)
    reasons = [f"{entry['reason']} {entry['count']}" for entry in summary["reasons"][0]]
    assert again["reasons"].to_list() == ["; ".join(reasons)]
    assert reasons


@pytest.mark.slow
def test_each_statistic_is_written_as_the_value_that_it_is_of(tmp_path: Path) -> None:
    """In csv with every digit; in xlsx, where it is of one ratio, as a share in per cent."""
    unit = money().drop_nulls("total_assets")["unit_id"][0]
    values = ["roa", "current_ratio", "sales"]
    frames = {
        "s": fk.summary(money(), values),
        "r": fk.summary(money(), "roa"),
        "p": fk.peers(money(), unit, values),
    }
    for name, frame in frames.items():
        csv = pl.read_csv(fk.write(frame, tmp_path / f"{name}.csv"), infer_schema=False)
        sheet = openpyxl.load_workbook(fk.write(frame, tmp_path / f"{name}.xlsx")).active
        assert sheet is not None
        statistics = [name for name, dtype in frame.schema.items() if dtype.is_float()]
        none = {"sum", "share_top5"} if name == "r" else set()  # of a ratio
        assert {n for n in statistics if frame[n].count() == 0} == none
        for row, value in enumerate(frame["value"]):
            for column in statistics:
                number = frame[column][row]
                if number is None:
                    continue
                where = (name, value, column, number)
                cell = sheet.cell(row + 2, frame.columns.index(column) + 1)
                of_one = name == "r" or column in ("share_top5", "percentile")
                assert ("%" in cell.number_format) == of_one, where
                assert float(csv[column][row]) == number, where


# Case, a column, what stands in csv.
TEXTS: list[tuple[str, pl.Series, list[str]]] = [
    ("Duration", pl.Series([timedelta(days=1, microseconds=5), None]), ["P1DT0.000005S", ""]),
    ("arrays", pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)), ["1 2"]),
    ("lists of categories", pl.Series([["a", "b"]], dtype=pl.List(pl.Categorical)), ["a b"]),
    ("not finite", pl.Series([INF, NAN]), ["inf", "NaN"]),
    ("large", pl.Series([2**63 - 1]), [str(2**63 - 1)]),
    ("Decimal", pl.Series([Decimal("1.10")]), ["1.10"]),
]


@pytest.mark.parametrize(("case", "column", "expected"), TEXTS, ids=[c[0] for c in TEXTS])
def test_csv_holds_any_text(
    tmp_path: Path, case: str, column: pl.Series, expected: list[str]
) -> None:
    """What a csv file can hold as text, it holds."""
    path = fk.write(pl.DataFrame({"^x$": 1, case: column}), tmp_path / "x.csv")

    lines = path.read_text(encoding="utf-8-sig").splitlines()
    assert lines == [f"^x$,{case}", *(f"1,{text}" for text in expected)]


def test_other_formats_keep_what_they_hold(tmp_path: Path) -> None:
    """Parquet keeps bytes and infinity, ndjson whatever JSON has."""
    odd: dict[str, Any] = {"b": [b"\xff"], "f": [INF], "s": [{"a": [1.5]}], "^x$": [None]}
    plain: dict[str, Any] = {"s": [{"a": [1.5]}], "n": [2**63 - 1], "*": [None]}

    kept = pl.read_parquet(fk.write(pl.DataFrame(odd), tmp_path / "x.parquet"))
    json = pl.read_ndjson(fk.write(pl.DataFrame(plain), tmp_path / "x.ndjson"))

    assert kept.to_dicts() == pl.DataFrame(odd).to_dicts()
    assert json.to_dicts() == pl.DataFrame(plain).to_dicts()
