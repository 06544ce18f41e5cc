"""Filings of two reports of which one gives no numbers: the other's figures, and the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.frames.financials import items
from tests.support.examples import slow
from tests.support.registers import Watched, altered
from tests.support.two_forms import BALANCE, INCOME, SAMPLE, whole

WHOLE = ["statement_id", "period_to", "filed", "total_assets", "equity"]
Change = Callable[[dict[str, Any]], object]


def cut(record: dict[str, Any]) -> None:
    record["obsah"]["tabulky"][0]["data"].pop()


def hide(record: dict[str, Any]) -> None:
    record["pristupnostDat"] = "Neverejné"
    record.pop("obsah")


def empty(record: dict[str, Any]) -> None:
    record["obsah"] = {}


def blank(record: dict[str, Any]) -> None:
    for table in record["obsah"]["tabulky"]:
        table["data"] = [""] * len(table["data"])


def of_another(record: dict[str, Any]) -> None:
    record["idUctovnejZavierky"] += 1


def register_of(change: Change, template: int = INCOME) -> Watched:
    """Return a register whose reports on a form, of the one filing, are changed."""

    def other(record: dict[str, Any]) -> None:
        own = record.get("idUctovnejZavierky") == whole()["statement_id"]
        if own and record.get("idSablony") == template:
            change(record)

    return altered(SAMPLE, other)


HALVES = [
    (cut, "length_mismatch"), *slow((hide, "non_public"), (empty, "no_content")),
    (of_another, "not_own"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), HALVES)
def test_the_missing_half_is_the_reason_beside_the_figures_of_the_other(
    change: Change, reason: str
) -> None:
    """Of both columns; what a summary counts without a value has this reason."""
    unit = whole()["unit_id"]
    register = register_of(change)

    money = register.financials([unit], 2012, from_previous=True)

    rows = money.to_dicts()
    assert [row["reason"] for row in rows] == [reason] * len(rows) == [reason] * 2
    assert [row["has_figures"] for row in rows] == [True] * 2
    assert [rows[-1][name] for name in WHOLE] == [whole()[name] for name in WHOLE]
    _, income = items.by_statement()
    columns = [name for name in income if name in money.columns]
    assert money.select(pl.any_horizontal(pl.col(columns).is_not_null()).any()).item() is False
    now = money.filter(source_column="current")
    counts = fk.summary(now, ["total_assets", "sales"], None).select("n", "without", "reasons")
    assert counts.rows() == [(1, 0, []), (0, 1, [{"reason": reason, "count": 1}])]
    notes = register.statement(unit, 2012, lang="en").notes
    assert any("2012 (" in note for note in notes)
    notes = register.statement(unit, 2012, "balance", lang="en").notes
    assert not any("2012 (" in note for note in notes)


def test_the_income_statement_can_be_the_half_that_is_there() -> None:
    """Its figures are there, and the ratios that need both are not."""
    row = register_of(cut, BALANCE).financials([whole()["unit_id"]], 2012)

    (now,) = row.to_dicts()
    assert (now["reason"], now["total_assets"]) == ("length_mismatch", None)
    assert (now["sales"], now["net_profit"]) == (whole()["sales"], whole()["net_profit"])
    ratios = fk.ratios(row)
    assert ratios["net_margin"].null_count() == 0
    assert ratios["roa"].null_count() == 1
    assert fk.summary(ratios, "net_margin", None)["n"].to_list() == [1]


def test_a_blank_half_and_a_form_that_holds_everything_have_no_reason() -> None:
    """Nothing is filled there, which is not a fault; whole filings keep theirs."""
    register = register_of(blank)
    row = register.financials([whole()["unit_id"]], 2012)

    assert row.select("reason", "has_figures", "sales").rows() == [(None, True, None)]
    reasons = fk.summary(row, "sales", None)["reasons"].to_list()
    assert reasons == [[{"reason": "all_blank", "count": 1}]]
    money = SAMPLE.financials(SAMPLE.units.ids(), [2012, 2016])
    given = money.filter("has_figures")
    assert given["template"].n_unique() > 3
    assert given["reason"].null_count() == given.height


def test_a_half_that_is_not_listed_has_no_content() -> None:
    """Notes beside it do not say why."""
    sample, unit = fk.sample(20), whole()["unit_id"]
    ids = sample.statements.get([whole()["statement_id"]])["idUctovnychVykazov"][0]
    reports = sample.reports.get(ids)
    notes = reports.filter(pl.col("tabulky").is_null())["id"].to_list()
    kept = [*reports.filter(idSablony=BALANCE)["id"], *notes]

    def listed(record: dict[str, Any]) -> None:
        if record["id"] == whole()["statement_id"] and "typ" in record:
            record["idUctovnychVykazov"] = kept

    row = altered(sample, listed, "uctovna-zavierka").financials([unit], 2012)

    assert row.select("reason", "total_assets", "sales").rows() == [
        ("no_content", whole()["total_assets"], None)
    ]


def test_findings_and_charts_go_by_the_figures() -> None:
    """A year of half a filing is there: in panels, growth, counts, sizes and on charts."""
    unit = whole()["unit_id"]
    money = register_of(cut).financials([unit], [2011, 2012, 2013])
    assert dict(money.select("year", "reason").rows())[2012] == "length_mismatch"

    panel, flows = SAMPLE.panel(money)
    grown = fk.growth(panel, ["total_assets", "sales"]).filter(year=2013).to_dicts()[0]

    assert panel.filter(year=2012)["status"].to_list() == ["filed"]
    assert flows.filter(year=2012)["pause"].to_list() == [0]
    usual = SAMPLE.financials([unit], 2012)["total_assets"].item()
    assert grown["total_assets_before"] == usual
    assert grown["sales_reason"] == "no_value_before"
    sizes = fk.summary(money, "total_assets", "size_by_law").filter(year=2012)
    assert sizes.select("n", "n_ungrouped").rows() == [(1, 0)]
    with fk.using(SAMPLE):
        ax = fk.plot_history(money, value="total_assets", lang="en")
    assert usual in [y for line in ax.lines for y in np.asarray(line.get_ydata())]


def test_half_a_filing_goes_before_a_previous_column_whatever_is_asked_for() -> None:
    """Whichever value is summarized, and of a lazy frame, too, the row of a year is the same."""
    unit = whole()["unit_id"]
    money = register_of(cut).financials([unit], [2012, 2013], from_previous=True)
    own = money.filter(year=2012)
    assert own.select("source_column", "reason").rows() == [
        ("current", "length_mismatch"), ("previous", None),
    ]  # fmt: skip

    for frame in (money, money.lazy(), money.drop("has_figures").lazy()):
        alone = fk.summary(frame, "sales", None).filter(year=2012)
        beside = fk.summary(frame, ["sales", "total_assets"], None).filter(year=2012)

        assert alone.equals(beside.filter(value="sales"))
        assert alone.select("n", "without").rows() == [(0, 1)]


@pytest.mark.parametrize("change", [cut, *slow(hide, empty, of_another)])
def test_a_mirror_says_the_same(tmp_path: Path, change: Change) -> None:
    """Also of some columns alone."""
    unit = whole()["unit_id"]
    register = register_of(change)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()

    expected = register.financials([unit], from_previous=True)

    assert_frame_equal(mirror.financials([unit], from_previous=True), expected)
    columns = ["year", "sales", "has_figures", "reason"]
    lazy = mirror.scan_financials(from_previous=True).filter(unit_id=unit).select(columns).collect()
    assert_frame_equal(lazy, expected.select(columns))
    flags = mirror.scan_financials().filter(unit_id=unit).select("year", "has_figures").collect()
    assert flags.equals(
        expected.filter(source_column="current").select("year", "has_figures").sort("year")
    )
