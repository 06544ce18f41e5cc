"""Line items: where each stands on each form, and the rows that others took for them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.financials import items
from finstat_kit.protocol.forms import Form, shipped
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.shipped import data_folder
from tests.support.examples import quick
from tests.support.expected_figures import FACTS, figures_of
from tests.support.filings import BUSINESSES, drawn, frame, items_of, report, sizes
from tests.support.scripts import script


def recorded_reports(folder: Path) -> pl.DataFrame:
    kind = KINDS["reports"]
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("report-*.json"))]
    return kind.frame([kind.read(json.dumps(one).encode(), one["id"]) for one in found])


def found(reports: pl.DataFrame, period: str = "current") -> dict[str, float]:
    """Return the items of reports, of those that have each."""
    rows = items_of(reports, period)
    return {
        name: rows[name].drop_nulls()[0] for name in items.columns_of(rows) if rows[name].count()
    }


def filled(template: int, values: dict[tuple[int, int], str]) -> pl.DataFrame:
    """Return a report with some rows filled in the current net column, by table and number."""
    form = shipped(template)
    assert form is not None
    tables = [[""] * size for size in sizes(template)]
    for (table, number), value in values.items():
        part = form.tables[table]
        row = next(place for place, line in enumerate(part.rows) if line.number == number)
        tables[table][row * len(part.columns) + len(part.columns) - 2] = value
    return frame(report(1, template, tables))


@pytest.fixture(scope="module")
def make() -> ModuleType:
    return script("make")


@pytest.mark.slow
def test_the_file_is_what_is_made(make: ModuleType) -> None:
    """data/items.json is what data/make.py would write now."""
    assert (data_folder() / "items.json").read_bytes() == make.items()


def test_nothing_is_called_revenue() -> None:
    """There are three meanings of it, with three names."""
    assert "revenue" not in items.names()
    assert {"net_turnover", "operating_revenue", "sales"} <= set(items.names())
    assert len(set(items.names())) == 131


def test_captions_of_the_table_are_those_of_the_recorded_forms(recorded: Path) -> None:
    """Another reading of the register's forms agrees on the row of each item."""
    with (recorded / "templates" / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    own = {item.name: item.forms for item in items.item_table()}
    compared = 0
    for row in rows:
        forms = own.get(row["metric"], {})
        if int(row["template"]) in forms:
            table, lines = forms[int(row["template"])]
            if table != int(row["table"]) or len(lines) != 1:
                continue
            assert lines[0].number == int(row["cisloRiadku"]), row["metric"]
            form = shipped(int(row["template"]))
            assert form is not None
            printed = form.tables[table].rows[lines[0].row]
            assert printed.label_sk.split() == row["text_sk"].split()
            compared += 1
    assert compared > 90


def test_recorded_filings_come_out_as_filed(recorded: Path) -> None:
    """A filing of 2013 on two forms, and one of 2023."""
    reports = recorded_reports(recorded / "templates" / "recorded")
    old = found(reports.filter(pl.col("idSablony") != 699))
    new = found(reports.filter(idSablony=699))
    before = found(reports.filter(pl.col("idSablony") != 699), "previous")

    assert [old[n] for n in ("total_assets", "equity_and_liabilities")] == [500466.0] * 2
    assert [before[n] for n in ("total_assets", "cash_and_bank")] == [510451.0, 12542.0]
    expected = {
        "non_current_assets": 497909.0, "current_assets": 2557.0, "current_receivables": 500.0,
        "cash_and_bank": 2057.0, "equity": 289336.0, "share_capital": 6640.0,
        "net_profit_in_balance": 6756.0, "liabilities": 211130.0, "current_payables": 18040.0,
        "bank_loans_current": 193090.0, "sales": 13500.0, "net_profit": 6756.0,
        "profit_before_tax": 8774.0, "income_tax": 2018.0,
    }  # fmt: skip
    assert {name: old[name] for name in expected} == expected
    assert {name: new[name] for name in (
        "total_assets", "non_current_assets", "current_assets", "cash_and_bank", "equity",
        "share_capital", "liabilities", "current_payables", "net_turnover", "sales",
        "operating_result", "profit_before_tax", "income_tax", "net_profit",
    )} == {
        "total_assets": 10152.0, "non_current_assets": 3777.0, "current_assets": 6375.0,
        "cash_and_bank": 2875.0, "equity": 8627.0, "share_capital": 5000.0, "liabilities": 1525.0,
        "current_payables": 1525.0, "net_turnover": 2850.0, "sales": 2850.0,
        "operating_result": 497.0, "profit_before_tax": 497.0, "income_tax": 75.0,
        "net_profit": 422.0,
    }  # fmt: skip


MISTAKES = [
    # What stands beside the right row, and what the item is.
    (699, {(0, 71): "145096", (0, 72): "17658"}, {"cash_and_bank": 145096.0}),
    (687, {(0, 21): "900", (0, 22): "500"}, {"cash_and_bank": 500.0}),
    (21, {(0, 55): "900", (0, 56): "20", (0, 57): "300"}, {"cash_and_bank": 320.0}),
    (699, {(1, 101): "900", (1, 102): "70"},
     {"liabilities": 900.0, "non_current_payables": 70.0}),
    (699, {(1, 100): "5", (1, 101): "900"}, {"net_profit_in_balance": 5.0}),
    (699, {(1, 136): "1", (1, 139): "2", (1, 140): "3", (1, 141): "4"},
     {"provisions_current": 1.0, "bank_loans_current": 2.0,
      "short_term_financial_assistance": 3.0, "accruals_liabilities": 4.0}),
    (687, {(0, 16): "1", (0, 17): "2"},
     {"non_current_receivables": 1.0, "current_receivables": 2.0}),
    (699, {(1, 102): "1000", (1, 113): "300", (1, 118): "40", (1, 121): "200", (1, 122): "500",
           (1, 136): "30", (1, 139): "70", (1, 140): "6", (1, 141): "9"},
     {"non_current_payables": 1000.0, "non_current_liabilities_total": 1240.0,
      "current_payables": 500.0, "current_liabilities_total": 606.0, "financial_debt": 576.0}),
    (687, {(1, 35): "1000", (1, 36): "40", (1, 37): "200", (1, 38): "500", (1, 43): "30",
           (1, 44): "70", (1, 45): "6"},
     {"non_current_payables": 1000.0, "non_current_liabilities_total": 1240.0,
      "current_payables": 500.0, "current_liabilities_total": 606.0, "financial_debt": 276.0}),
    (21, {(1, 94): "1000", (1, 102): "300", (1, 90): "40", (1, 92): "2", (1, 119): "200",
          (1, 106): "500", (1, 91): "30", (1, 93): "1", (1, 120): "70", (1, 118): "270",
          (1, 117): "6", (1, 121): "9"},
     {"non_current_liabilities_total": 1242.0, "current_liabilities_total": 607.0,
      "financial_debt": 576.0}),
    (699, {(0, 33): "100", (0, 74): "20", (0, 41): "7", (0, 75): "3", (0, 76): "5", (0, 77): "2",
           (0, 78): "10"},
     {"current_assets_with_accruals": 120.0, "non_current_receivables_with_accruals": 12.0}),
    (687, {(0, 14): "100", (0, 16): "7", (1, 34): "50", (1, 38): "30", (1, 43): "4", (1, 32): "-8",
           (1, 33): "3"},
     {"current_assets_with_accruals": 100.0, "non_current_receivables_with_accruals": 7.0,
      "liabilities_with_accruals": 50.0, "current_liabilities_with_accruals": 34.0,
      "retained_earnings": -5.0}),
    (21, {(0, 30): "100", (0, 61): "20", (0, 38): "7", (0, 62): "3", (0, 63): "5", (0, 64): "2",
          (0, 65): "10", (1, 88): "90", (1, 121): "40", (1, 122): "1", (1, 123): "2",
          (1, 124): "4", (1, 125): "8", (1, 106): "30", (1, 84): "-8", (1, 87): "3"},
     {"current_assets_with_accruals": 120.0, "non_current_receivables_with_accruals": 12.0,
      "liabilities_with_accruals": 130.0, "current_liabilities_with_accruals": 40.0,
      "retained_earnings": -5.0}),
    (699, {(1, 101): "90", (1, 141): "40", (1, 142): "1", (1, 143): "2", (1, 144): "4",
           (1, 145): "8", (1, 122): "30", (1, 97): "-8", (1, 100): "3"},
     {"liabilities_with_accruals": 130.0, "current_liabilities_with_accruals": 40.0,
      "retained_earnings": -5.0}),
    (699, {(1, 101): "0"},  # the sum row of the block shows that there is no debt
     {"financial_debt": 0.0, "current_liabilities_total": 0.0}),
    (699, {(2, 1): "1950307", (2, 2): "2005372", (2, 3): "1", (2, 4): "2", (2, 5): "1781754"},
     {"net_turnover": 1950307.0, "operating_revenue": 2005372.0, "sales": 1781757.0}),
    (699, {(2, 3): "100", (2, 5): "40"}, {"sales": 140.0, "sales_of_products_and_services": 40.0}),
    (22, {(0, 48): "7", (0, 55): "2"}, {"income_tax": 9.0}),
]  # fmt: skip


def test_rows_that_others_took() -> None:
    """Each item is read from its own row, beside those that were taken for it."""
    reports = pl.concat(
        filled(template, values).with_columns(id=pl.lit(id_, pl.Int64))
        for id_, (template, values, _) in enumerate(MISTAKES)
    )
    rows = items_of(reports)

    for id_, (template, _, expected) in enumerate(MISTAKES):
        got = rows.filter(report_id=id_).row(0, named=True)
        assert {name: got[name] for name in expected} == expected, (template, expected)


def test_rows_of_another_form_are_never_read() -> None:
    """The rows of 699 on a 687: the same cells mean other items, or no number comes out at all."""
    tables = [["7", ""] * 23, ["7", ""] * 22, ["7", ""] * 38]
    own = found(frame(report(1, 687, tables)))

    assert set(own).isdisjoint(
        fact["item"] for fact in FACTS if fact["form_699"] and not fact["form_687"]
    )
    assert own["equity"] == 7.0
    assert items_of(frame(report(1, 699, tables))).is_empty()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({(0, 55): "900"}, 0.0),  # the sum row of the block shows that both are noughts
        ({(0, 57): "300"}, 300.0),
        ({(0, 61): "5"}, None),
    ],
)
def test_blanks_in_an_item_of_several_rows(
    values: dict[tuple[int, int], str], expected: float | None
) -> None:
    """They count as nothing where another row or the sum row of the block is filled."""
    assert found(filled(21, values)).get("cash_and_bank") == expected


def test_a_blank_item_stays_blank() -> None:
    """It is not 0: sales are null where no row of them is filled."""
    rows = items_of(filled(699, {(2, 2): "5"}))

    assert rows["sales"].to_list() == [None]
    assert rows.select("has_text", "has_other_caption").row(0) == (False, False)
    assert rows["operating_revenue"].to_list() == [5.0]
    on_form = [item.name for item in items.item_table() if 699 in item.forms]
    assert items.columns_of(rows) == on_form


@pytest.mark.parametrize("template", quick(BUSINESSES, 2))
def test_items_of_drawn_reports(template: int) -> None:
    """Every item in both periods is what plain Python reads by the facts."""
    records = [drawn(100 * template + number, template) for number in range(8)]
    for period in ("current", "previous"):
        rows = items_of(frame(*records), period)
        for record in records:
            tables = {template: record["tabulky"]}
            expected = figures_of(tables, previous=period == "previous")  # type: ignore[arg-type]
            own = rows.filter(report_id=record["id"]).row(0, named=True)
            got = {name: own[name] for name in items.columns_of(rows)}
            # The items of other forms have no columns.
            assert dict.fromkeys(expected) | got == {
                k: None if v is None else float(v) for k, v in expected.items()
            }


def test_another_caption_gives_no_number() -> None:
    """Where the register's form says something else in a row, no item of it is read."""

    def altered(template: int) -> Form | None:
        form = shipped(template)
        assert form is not None
        table = form.tables[1]
        rows = [
            row._replace(label_sk=row.label_sk.replace("Vlastné imanie r. 81", "Vlastné zdroje"))
            for row in table.rows
        ]
        return form._replace(
            tables=(form.tables[0], table._replace(rows=tuple(rows)), form.tables[2])
        )

    reports = filled(699, {(1, 80): "7", (1, 101): "9"})
    (own,) = items_of(reports, live=altered).to_dicts()

    # That of another item, too, whose block it is.
    assert own.keys().isdisjoint(["equity", "retained_earnings"])
    assert (own["liabilities"], own["has_other_caption"]) == (9.0, True)


def test_the_list_of_items_needs_no_register() -> None:
    """Each once, named in both languages, with the forms that have it."""
    listed = fk.items()

    assert listed.schema == items.LISTED
    assert listed["item"].to_list() == items.names()
    families = list(items.FAMILIES)
    assert not listed.select(pl.exclude("note", *families)).null_count().sum_horizontal()[0]
    assert listed.select(pl.any_horizontal(pl.col(families).is_not_null())).to_series().all()
    assert all(not listed[label].is_duplicated().any() for label in ("label_sk", "label_en"))
    sales = listed.row(by_predicate=pl.col("item") == "sales", named=True)
    assert sales["forms"] == [699, 687, 22, 727, 521, 696, 1180, 385]
    assert [sales[family] for family in families] == [2009, 2012, 2013, None]
    assert set(listed.filter(pl.col("forms").list.contains(22))["statement"]) == {"income"}


@pytest.mark.slow
def test_the_sum_of_a_block_that_is_no_number_leaves_its_parts() -> None:
    """It only shows that blanks are zeros: the item is the sum of its parts."""
    parts = {(1, 122): "30", (1, 136): "2", (1, 139): "3", (1, 140): "1"}

    values = found(filled(699, parts | {(1, 101): "x"}))

    name = "current_liabilities_total"
    assert values[name] == found(filled(699, parts))[name]
