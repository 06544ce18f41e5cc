"""Items of public bodies, non-profits and single-entry filers: which cells they are read from."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.financials import items
from finstat_kit.protocol.forms import Form, shipped
from tests.support.filings import frame, items_of, report

# Items that mean something else than those of businesses of the same name.
RENAMED = {
    "tax_payables": "tax_payables_without_subsidies",
    "financial_costs": "financial_costs_without_impairment",
    "share_capital": "endowment_capital",
}
NEW_FORMS = [template for template in items.TEMPLATES if template not in (699, 687, 21, 22)]

# (table, printed row, column) and what is filed there.
Cells = dict[tuple[int, int, int], str]


def form_of(template: int) -> Form:
    form = shipped(template)
    assert form is not None
    return form


def filed(template: int, cells: Cells) -> pl.DataFrame:
    """Return a report with these cells and no others."""
    tables = []
    for at, table in enumerate(form_of(template).tables):
        numbers = [row.number for row in table.rows]
        data = [""] * table.cells
        for (place, number, column), text in cells.items():
            if place == at:
                data[numbers.index(number) * len(table.columns) + column] = text
        tables.append(data)
    return frame(report(1, template, tables))


def figures(
    reports: pl.DataFrame, *, activity: items.Activity = "total", period: str = "current"
) -> dict[str, float]:
    """Return the items that are not null."""
    (own,) = items_of(reports, period, activity=activity).to_dicts()
    return {name: own[name] for name in items.names() if own.get(name) is not None}


def test_items_are_the_rows_of_another_reading_of_the_forms(recorded: Path) -> None:
    """The table and the rows of every public item on every form of the package."""
    path = recorded / "templates" / "items_public.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["template"]) in NEW_FORMS]
    own = {item.name: item.forms for item in items.item_table()}

    for row in rows:
        template = int(row["template"])
        name = RENAMED.get(row["item"], row["item"])
        if name == "liabilities" and items.FAMILY_OF[template] == "single_entry":
            name = "liabilities_single_entry"
        table, lines = own[name][template]
        added = [(line.sign, line.number) for line in lines if line.sign]
        signed = [
            (-1 if s == "-" else 1, int(n)) for s, n in re.findall(r"([+-])(\d+)", row["rows"])
        ]
        assert (table, added) == (int(row["table"]), signed), (name, template)
    assert len(rows) > 350


@pytest.mark.parametrize(
    ("template", "cells", "expected"),
    [
        (
            690,
            {
                (0, 1, 2): "900.50", (0, 1, 0): "1000", (0, 1, 3): "800", (0, 86, 2): "1.25",
                (0, 88, 2): "10", (0, 89, 2): "500", (1, 126, 0): "300", (1, 126, 1): "7",
                (1, 180, 0): "250",
            },
            {
                "total_assets": 900.5, "cash_and_bank": 11.25, "liabilities": 300.0,
                "accruals_liabilities": 250.0, "current_assets": None,
            },
        ),
        (
            727,
            {
                (0, 64, 2): "70", (0, 64, 0): "60", (0, 64, 1): "10", (0, 64, 3): "1",
                (1, 114, 2): "5", (1, 124, 2): "45.5", (1, 134, 2): "80", (1, 138, 2): "10",
            },
            {
                "costs_total": 70.0, "revenue_total": 80.0, "transfers_received_total": 50.5,
                "net_profit": 10.0, "personnel_costs": None,
            },
        ),
        pytest.param(
            684,
            {(0, 1, 0): "12", (0, 1, 1): "9", (1, 130, 0): "3", (1, 119, 0): "8"},
            {"total_assets": 12.0, "liabilities": 3.0, "equity": 8.0},
            marks=pytest.mark.slow,
        ),
        (
            1180,
            {
                (0, 60, 2): "50", (0, 60, 0): "55", (1, 100, 0): "4", (1, 102, 0): "1",
                (1, 103, 0): "3", (2, 8, 2): "20", (2, 12, 2): "2", (3, 55, 2): "6",
                (3, 74, 2): "30", (3, 74, 0): "29",
            },
            {
                "total_assets": 50.0, "deferred_income": 4.0, "personnel_costs": 22.0,
                "donations_received": 6.0, "revenue_total": 30.0, "sales": None,
            },
        ),
        pytest.param(
            385,
            {(1, 101, 0): "9", (1, 103, 0): "9", (1, 73, 0): "-2", (3, 78, 2): "-2"},
            {"accruals_liabilities": 9.0, "deferred_income": 9.0, "net_profit_in_balance": -2.0,
             "net_profit": -2.0},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            1180,
            {
                (2, 38, 2): "9.5", (2, 38, 0): "9", (3, 70, 2): "1", (3, 71, 2): "2",
                (3, 72, 2): "3", (3, 73, 2): "4", (1, 63, 0): "6638", (1, 63, 1): "1",
            },
            {
                "costs_total": 9.5, "membership_fees": 1.0, "income_tax_share_received": 2.0,
                "public_collections": 3.0, "subsidies_received": 4.0, "endowment_capital": 6638.0,
                "share_capital": None,
            },
            marks=pytest.mark.slow,
        ),
        (
            383,
            {(0, 4, 1): "3", (1, 19, 0): "8", (1, 19, 1): "-1", (1, 27, 1): "2", (3, 15, 0): "7"},
            {
                "membership_fee_receipts": 3.0, "wage_payments": 7.0, "income_tax_paid": 2.0,
                "loans_total": 7.0, "receipts_total": None,
            },
        ),
        pytest.param(
            383,
            {(2, 5, 0): "4", (2, 5, 1): "5", (2, 2, 0): "100.01", (0, 10, 0): "0"},
            {"receivables_total": 4.0, "tangible_assets": 100.01, "subsidy_receipts": 0.0},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            1164,
            {
                (0, 16, 0): "100", (0, 16, 1): "20.5", (0, 5, 0): "7", (1, 25, 0): "90",
                (1, 26, 0): "10", (1, 26, 1): "20.5", (2, 11, 0): "60", (2, 6, 0): "50",
                (2, 11, 1): "55", (3, 16, 0): "5", (3, 17, 0): "55",
            },
            {
                "receipts_total": 120.5, "income_tax_share_receipts": 7.0, "payments_total": 90.0,
                "cash_result": 30.5, "total_assets": 60.0, "cash_and_bank": 50.0,
                "liabilities_single_entry": 5.0, "net_assets": 55.0, "liabilities": None,
            },
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_figures_computed_by_hand(
    template: int, cells: Cells, expected: dict[str, float | None]
) -> None:
    """Of the net column and of the total of all activities; blanks are no zeros."""
    amounts = figures(filed(template, cells))

    assert {name: amounts.get(name) for name in expected} == expected


def test_the_former_period_is_the_last_column() -> None:
    """Single entry has none for receipts and payments."""
    public = figures(filed(727, {(0, 64, 2): "70", (0, 64, 3): "60"}), period="previous")
    single = figures(filed(1164, {(0, 16, 0): "5", (2, 11, 1): "4"}), period="previous")

    assert public == {"costs_total": 60.0}
    assert single == {"total_assets": 4.0}


@pytest.mark.slow
def test_an_activity_is_its_column() -> None:
    """Balances have none; single entry has others, businesses one for all."""
    income = filed(1180, {(3, 74, 0): "29", (3, 74, 1): "1", (3, 74, 2): "30", (0, 60, 2): "8"})
    cash = filed(1164, {(0, 16, 0): "5", (0, 16, 1): "4", (2, 11, 0): "3"})
    business = filed(687, {(2, 1, 0): "6"})

    revenue = [figures(income, activity=a)["revenue_total"] for a in ("total", "main", "business")]
    assert revenue == [30.0, 29.0, 1.0]
    assert figures(income, activity="main")["total_assets"] == 8.0
    assert figures(cash, activity="main") == {"total_assets": 3.0}
    assert figures(business, activity="business") == {"operating_revenue": 6.0}


@pytest.mark.parametrize("template", NEW_FORMS)
def test_a_row_of_another_place_is_refused_and_another_spelling_is_not(template: int) -> None:
    """A transcription can misread a letter, but no number."""
    for table in form_of(template).tables:
        for row, after in zip(table.rows, [*table.rows[1:], table.rows[0]], strict=True):
            letter = next(i for i, c in enumerate(row.label_sk) if c.isalpha() and c not in "Xx")
            spelt = f"{row.label_sk[:letter]}ž{row.label_sk[letter + 1 :]}".replace("-", "–")
            respelt = row._replace(label_sk=spelt.upper())
            renumbered = row._replace(number=(row.number or 0) + 1)
            remarked = row._replace(mark=f"{row.mark or ''} 9.")
            moved = after._replace(number=row.number)

            assert items.same_row(respelt, row, template)
            assert not items.same_row(renumbered, row, template)
            assert not items.same_row(remarked, row, template)
            assert items.same_row(row._replace(mark=f" {row.mark or ''}."), row, template)
            assert not items.same_row(after, row, template)
            # Rows without accounts and marks of their own differ by number alone.
            if re.findall(r"\d+", after.label_sk) != re.findall(r"\d+", row.label_sk):
                assert not items.same_row(moved, row, template)


def test_ratios_are_of_their_family() -> None:
    """Those of businesses are null for a town, and those of public bodies for a business."""
    columns = {name: [10.0, 10.0] for name in items.of_families(["business", "public"])}
    money = pl.DataFrame(
        {"year": [2020, 2020], **columns, "currency": [None, "EUR"],
         "family": ["business", "public"], "template": [699, 690]},
    )  # fmt: skip

    computed = fk.ratios(money)

    assert computed["roa"].to_list() == [1.0, None]
    assert computed["debt_to_revenue"].to_list() == [None, 1.0]
    assert computed["personnel_cost_share"].to_list() == [None, 1.0]
    # The consolidated form has no row of transfers: nothing counts as zero there.
    consolidated = money.with_columns(
        template=684, transfers_received_total=pl.lit(None, pl.Float64)
    )
    assert fk.ratios(consolidated)["transfer_share"].to_list() == [None, None]
    assert fk.ratios(consolidated)["debt_to_revenue"].to_list() == [1.0, 1.0]


def test_no_loans_are_a_ratio_of_zero() -> None:
    """Where the form shows that they are none: its liabilities are filled."""
    row = {"year": 2020, "currency": None, "family": "public", "template": 690}
    amounts = {"financial_debt": None, "liabilities": 5.0, "revenue_total": 100.0}
    money = pl.DataFrame(
        [row | amounts, row | amounts | {"liabilities": None}],
        schema_overrides={"financial_debt": pl.Float64, "currency": pl.String},
    )

    assert fk.ratios(money)["debt_to_revenue"].to_list() == [0.0, None]
