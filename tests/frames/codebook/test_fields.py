"""The codebook: what the columns of records and of results mean."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Final

import openpyxl
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.reports.cells import REASONS
from finstat_kit.protocol.records import KINDS, UNITS

SAMPLE: Final = fk.sample(300)
MEANINGS: Final = ("meaning_sk", "meaning_en")


def test_every_column_of_a_record_is_explained() -> None:
    """A row per column, also of what `find` adds, in both languages, with each code's codelist."""
    table = fk.fields("units")

    with fk.using(fk.sample(3)):
        assert table["field"].to_list() == fk.units.find("s").columns
    assert table["dtype"].to_list() == [*map(str, UNITS.dtypes()), "Enum"]
    assert table.select(MEANINGS).null_count().sum_horizontal().item() == 0
    coded = dict(table.drop_nulls("codelist").select("codelist", "field").iter_rows())
    assert coded == dict(fk.sample(1).codelist().select("name", "field").iter_rows())


@pytest.mark.parametrize("collection", list(KINDS))
def test_every_column_of_every_record_is_explained(collection: str) -> None:
    """The columns of a frame in their order, those within a Struct behind it, in both languages."""
    table = fk.fields(collection)
    schema = KINDS[collection].schema

    outer = table.filter(~pl.col("field").str.contains(".", literal=True))
    columns = outer["field"].to_list()
    assert [name for name in columns if name != "matched_by"] == schema.names()
    assert table.select(MEANINGS).null_count().sum_horizontal().item() == 0
    assert table["field"].is_unique().all()


def test_fields_within_a_title_page() -> None:
    """They stand behind it, with its name before theirs."""
    table = fk.fields("reports")
    start = table["field"].to_list().index("titulnaStrana")

    assert table["dtype"][start] == "Struct"
    assert table["field"][start + 1] == "titulnaStrana.nazovUctovnejJednotky"
    title = KINDS["reports"].schema["titulnaStrana"]
    assert isinstance(title, pl.Struct)
    within = table.filter(pl.col("field").str.count_matches(".", literal=True) == 1)["field"]
    names = [n.partition(".")[2] for n in within if n.startswith("titulnaStrana")]
    assert names == [field.name for field in title.fields]
    assert table.filter(field="prilohy")["dtype"].item() == "List(Struct)"
    assert table.filter(field="titulnaStrana.skNace")["codelist"].item() == "activities"


def results(folder: Path) -> dict[str, pl.DataFrame]:
    """Return what the functions of the package return."""
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=25))
    reports = SAMPLE.reports.get(SAMPLE.reports.ids(limit=10))
    money = SAMPLE.financials(units, [2014, 2015])
    cells = SAMPLE.reports.cells(reports, labels=True)
    panel, flows = SAMPLE.panel(money)
    unit = int(money.filter(pl.col("reason").is_null())["unit_id"][0])
    history = SAMPLE.statement(unit)
    mirror = fk.Mirror(folder / "ruz", contents=True, register=fk.sample(3))
    mirror.sync()
    all_codes = [*SAMPLE.codelist()["field"]]
    return {
        "units": units, "reports": reports, "find": SAMPLE.units.find(["vzor"]),
        "financials": money, "filings": SAMPLE.filings(units, 2015), "cells": cells,
        "list of items": fk.items(),
        "ratios": fk.ratios(money), "list of ratios": fk.ratios(), "panel": panel, "flows": flows,
        "growth": fk.growth(panel, ["sales", "roa"]),
        "summary": fk.summary(money, "sales", by=["kraj", "section"]),
        "peers": fk.peers(money, unit, "total_assets"), "history": history.frame,
        "its filings": history.filings, "checks": SAMPLE.reports.check(reports),
        "count_by": SAMPLE.count_by(units),
        "estimate": SAMPLE.estimate("kraj", n=20),
        "match_places": SAMPLE.match_places(["Nitra"], level="district"),
        "match_units": SAMPLE.match_units({"n": ["x"]}, name="n"),
        "locations": SAMPLE.locations(), "codelists": SAMPLE.codelist(), "list": SAMPLE.regions(),
        "labels": SAMPLE.resolve_labels(units, columns=all_codes),
        "unresolved": SAMPLE.unresolved_codes(units), "templates": SAMPLE.template(),
        "template": SAMPLE.template(699), "columns": SAMPLE.template(699, part="columns"),
        "attachments": fk.reports.files(reports),
        "fields": fk.fields(), "snapshot": mirror.snapshot().collect(),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")
def test_every_column_of_every_result_is_explained(tmp_path: Path) -> None:
    """In both languages, in the order of the frame, with its type."""
    for name, frame in results(tmp_path).items():
        table = fk.fields(frame)
        unknown = table.filter(pl.any_horizontal(pl.col(MEANINGS).is_null()))["field"].to_list()
        outer = table.filter(~pl.col("field").str.contains(".", literal=True))

        assert (name, unknown) == (name, [])
        assert (name, outer["field"].to_list()) == (name, frame.columns)
        assert table.columns == fk.fields("units").columns
        # A sheet of xlsx and SQL do not tell names apart by case.
        assert len({column.casefold() for column in frame.columns}) == frame.width
        if name in ("count_by", "estimate"):
            assert table["meaning_en"].to_list() == fk.fields(name)["meaning_en"].to_list()


def test_a_result_by_its_name_has_the_columns_that_it_has() -> None:
    """Without a call of the function."""
    money = SAMPLE.financials([], 2015)

    assert fk.fields("financials").equals(fk.fields(money))
    assert fk.fields("ratios").equals(fk.fields(fk.ratios(money)))
    assert fk.fields("filings").equals(fk.fields(SAMPLE.filings([], 2015)))


def test_an_item_has_its_forms_and_rows_and_a_ratio_its_formula() -> None:
    """The tables by their numbers as of cells, the rows as they are printed."""
    table = fk.fields("financials")
    ratios = fk.fields("ratios")
    sales = dict(part.split(" table ") for part in _of(table, "sales", "read_from").split("; "))

    assert (sales["699"], sales["687"], sales["22"]) == ("2: +3 +4 +5", "2: +2 +3", "0: +1 +5")
    assert _of(ratios, "roa", "read_from") == "net_profit / total_assets"
    assert [_of(table, name, "unit") for name in ("sales", "months", "template")] == [
        "EUR", "months", None,
    ]  # fmt: skip
    assert [_of(ratios, name, "unit") for name in ("roa", "current_ratio", "ebitda")] == [
        "share, 1 is 100 %", "ratio", "EUR",
    ]  # fmt: skip


def test_what_the_values_mean_stands_beside_them() -> None:
    """Of each reason, and of every other Enum."""
    table = fk.fields("financials")
    for lang in ("sk", "en"):
        reasons = _of(table, "reason", f"values_{lang}").split("; ")
        assert [text.partition(": ")[0] for text in reasons] == list(REASONS)
        enums = table.filter(dtype="Enum")
        assert enums[f"values_{lang}"].null_count() == 0
    assert "gap: without figures, which follow later" in _of(
        fk.fields("panel"), "status", "values_en"
    )


def _of(table: pl.DataFrame, field: str, column: str) -> str:
    return str(value) if (value := table.filter(field=field)[column].item()) is not None else value  # type: ignore[return-value]


def test_the_same_name_means_what_the_frame_is() -> None:
    """The kind of a count is no kind of statement, and its code, label and count say of what."""
    counts = fk.fields(SAMPLE.count_by(SAMPLE.units.get(SAMPLE.units.ids(limit=3))))
    money_and_units = SAMPLE.financials([], 2015).join(
        SAMPLE.units.get([]), left_on="unit_id", right_on="id"
    )

    assert "unknown code" in _of(counts, "kind", "meaning_en")
    assert "ordinary" in _of(fk.fields("financials"), "kind", "meaning_en")
    assert counts.head(3)["meaning_en"].to_list() == [
        "code of the group; by says of which column",
        "name of the group in the codelist; null where it lacks the code",
        "number of units in the group",
    ]
    joined = fk.fields(money_and_units)
    assert (
        joined.filter(pl.col("field").is_in(["sales", "nazovUJ"]))["meaning_en"].null_count() == 0
    )


@pytest.mark.parametrize(
    ("result", "own"),
    [
        ("count_by", ["mine", "year", "sales", "kraj", "median", "2015"]),
        ("financials", ["mine", "label", "count", "status", "velkostPrilohy", "score", "a_label"]),
        ("units", ["sales", "value", "age", "region_code", "x_growth"]),
    ],
)
def test_a_column_of_ones_own_has_no_meaning(result: str, own: list[str]) -> None:
    """Also where another result has its name: no unit and no codelist either."""
    columns = [name for name in fk.fields(result)["field"] if "." not in name]
    frame = pl.DataFrame(schema=dict.fromkeys((*columns, *own), pl.Float64()))

    table = fk.fields(frame).filter(pl.col("field").is_in(own)).drop("field", "dtype")

    assert table.height == len(own)
    assert table.null_count().row(0) == (len(own),) * table.width


def test_what_is_added_to_a_result_is_explained_by_its_column() -> None:
    """The labels of a column of codes with a name of one's own, and the growth of own values."""
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=3)).rename({"kraj": "home"})
    labelled = fk.fields(SAMPLE.resolve_labels(units, columns={"home": "regions"}))
    panel = SAMPLE.financials([], 2015).with_columns(scale_doubtful=False, x=1.0, x_growth=1.0)

    assert _of(labelled, "home", "meaning_en") is None
    assert _of(labelled, "home_label", "meaning_en") == "label of the code in the column home"
    assert "x: change as a share" in _of(fk.fields(panel), "x_growth", "meaning_en")


@cache
def money() -> pl.DataFrame:
    return SAMPLE.financials(SAMPLE.units.ids(limit=8), [2014, 2015])


@pytest.mark.slow
def test_the_codebook_goes_through_xlsx_and_parquet(tmp_path: Path) -> None:
    """On a third sheet and in the metadata, with the citation; also by the names read back."""
    book, note = fk.fields(money()), SAMPLE.cite()
    xlsx = fk.write(money(), tmp_path / "money.xlsx", note=note)
    parquet = fk.write(money(), tmp_path / "money.parquet", note=note)

    sheets = openpyxl.load_workbook(xlsx)
    rows = [tuple(cell.value for cell in row) for row in sheets["fields"].iter_rows()]
    assert sheets.sheetnames == ["Sheet1", "source", "fields"]
    assert rows == [tuple(book.columns), *book.rows()]
    assert sheets["source"]["A1"].value == note
    metadata = pl.read_parquet_metadata(parquet)
    read = pl.read_json(io.StringIO(metadata["finstat_kit.fields"]), schema=book.schema)
    assert read.equals(book)
    assert metadata["finstat_kit.source"] == note
    assert fk.fields(pl.read_parquet(parquet)).equals(book)


def test_a_frame_of_ones_own_has_no_codebook(tmp_path: Path) -> None:
    """It is no result of this package, whatever its columns are called."""
    own = pl.DataFrame({"mine": [1], "year": [2015], "label": ["a"]})
    path = fk.write(own, tmp_path / "mine.xlsx")
    parquet = fk.write(own, tmp_path / "mine.parquet")

    assert openpyxl.load_workbook(path).sheetnames == ["Sheet1"]
    assert "finstat_kit.fields" not in pl.read_parquet_metadata(parquet)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("dlhodobe uvery", ["bank_loans_non_current"]),
        ("Total ASSETS", ["total_assets"]),
        ("interest", ["interest_expense"]),
        ("nákladové úroky", ["interest_expense"]),
        ("unicorns", []),
    ],
)
def test_items_are_searched_in_both_languages(text: str, items: list[str]) -> None:
    """Words or their beginnings, in any order, without accents and case; without a register."""
    assert fk.items(text)["item"].to_list() == items
    assert fk.items(text).schema == fk.items().schema


def test_ratios_are_searched_as_items_are() -> None:
    """By name and label, in both languages; what is neither is no frame either."""
    assert fk.ratios("roe")["ratio"].to_list() == ["roe"]
    assert fk.ratios("rentabilita aktiv")["ratio"].to_list() == ["roa"]
    assert fk.ratios("unicorns").schema == fk.ratios().schema
    with pytest.raises(fk.UsageError, match="give words of a name, or figures"):
        fk.ratios("…")


def test_a_search_without_words_is_refused() -> None:
    """It would list all items."""
    with pytest.raises(fk.UsageError, match="give words of a name"):
        fk.items("…")
    with pytest.raises(fk.UsageError, match="has 201 characters; give at most 200") as refused:
        fk.items("a" * 201)
    assert len(str(refused.value)) < 300


def test_what_is_no_result_names_those_that_are() -> None:
    """With the names that are near."""
    with pytest.raises(
        fk.UsageError, match=r"collection='filing' is not known; did you mean 'fili"
    ):
        fk.fields("filing")
