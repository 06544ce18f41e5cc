"""Panels and growth: rows, flows and changes against plain Python."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.frames.findings import growth as changes

NO_YEAR: Any = "20"


def filed_years(figures: pl.DataFrame) -> dict[int, set[int]]:
    years: dict[int, set[int]] = {}
    for row in figures.iter_rows(named=True):
        if row["reason"] in (None, "not_a_number"):
            years.setdefault(row["unit_id"], set()).add(row["year"])
    return years


def test_a_panel_has_each_unit_and_year_once(figures: pl.DataFrame) -> None:
    """Whatever the order of the rows and where rows are absent; gaps are marked."""
    shuffled = figures.sample(fraction=1, seed=1, shuffle=True)
    sparse = shuffled.filter(pl.col("reason").is_null())
    doubled = pl.concat([shuffled, shuffled.head(500)])

    panel, flows = fk.panel(doubled)
    again, flows_of_sparse = fk.panel(sparse.lazy())

    filed = filed_years(figures)
    assert panel.select("unit_id", "year").rows() == [
        (unit, year) for unit in sorted(filed) for year in range(2012, 2025)
    ]
    for unit, year, status in panel.select("unit_id", "year", "status").iter_rows():
        years = filed[unit]
        expected = (
            "filed" if year in years
            else "before" if year < min(years)
            else "after" if year > max(years)
            else "gap"
        )  # fmt: skip
        assert status == expected
    assert again.select("unit_id", "year", "status", "name", "kraj").equals(
        panel.select("unit_id", "year", "status", "name", "kraj")
    )
    assert flows.equals(flows_of_sparse)


def test_name_and_codes_are_the_latest() -> None:
    """Whatever the order of the rows, in every year of the unit; a blank is no later code."""
    rows = pl.DataFrame(
        {
            "unit_id": [1, 1, 1],
            "year": [2018, 2016, 2015],
            "name": [None, "later", "former"],
            "kraj": ["SK031", "SK021", "SK010"],
            "sales": [3.0, 2.0, 1.0],
        }
    )
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        panel, _ = fk.panel(rows[order])
        assert panel["year"].to_list() == [2015, 2016, 2017, 2018]
        assert set(panel.select("name", "kraj").rows()) == {("later", "SK031")}
        assert panel["sales"].to_list() == [1.0, 2.0, None, 3.0]


def test_a_filing_none_of_whose_figures_can_be_read_is_not_filed() -> None:
    """One of which some can be read is."""
    rows = pl.DataFrame(
        {
            "unit_id": [1, 1, 1], "year": [2015, 2016, 2017],
            "sales": [1.0, None, None], "equity": [1.0, None, 2.0],
            "reason": [None, "not_a_number", "not_a_number"],
        }
    )  # fmt: skip

    panel, flows = fk.panel(rows)

    assert panel["status"].to_list() == ["filed", "gap", "filed"]
    assert panel["reason"].to_list() == [None, "not_a_number", "not_a_number"]
    assert flows["units"].to_list() == [1, 0, 1]


def test_years_that_are_not_wanted_are_seen(figures: pl.DataFrame) -> None:
    """Who returns later does not leave, and who was there before does not enter."""
    whole, flows = fk.panel(figures)
    years = [2014, 2016]

    panel, some = fk.panel(figures, years=years)

    assert some.equals(flows.filter(pl.col("year").is_in(years)))
    in_them = panel.filter(status="filed")["unit_id"].unique()
    assert set(panel["unit_id"]) == set(in_them)
    kept = whole.filter(pl.col("year").is_in(years), pl.col("unit_id").is_in(in_them.implode()))
    assert panel.equals(kept)


def test_flows_add_up(figures: pl.DataFrame) -> None:
    """A pause is no exit; who leaves is given with days of dissolution."""
    _, flows = fk.panel(figures)

    filed = filed_years(figures)
    dissolved = {row["unit_id"] for row in figures.to_dicts() if row["datumZrusenia"] is not None}
    before = None
    for row in flows.to_dicts():
        year = row["year"]
        now = {unit for unit, years in filed.items() if year in years}
        assert row["units"] == len(now)
        if before is None:
            assert row["enter"] is row["leave"] is None
        else:
            later = {unit for unit, years in filed.items() if max(years) > year}
            earlier = {unit for unit, years in filed.items() if min(years) < year}
            leaving = before - now - later
            expected = {
                "enter": len(now - earlier), "stay": len(now & before),
                "return": len((now & earlier) - before), "pause": len((before - now) & later),
                "leave": len(leaving), "dissolved": len(leaving & dissolved),
            }  # fmt: skip
            assert {name: row[name] for name in expected} == expected
        before = now
    assert flows["return"].sum() > 10
    assert flows["leave"].sum() > 10


def test_the_last_year_is_incomplete_while_filings_arrive(figures: pl.DataFrame) -> None:
    """Until the end of the next year, by the register's day; all other years are complete."""
    for today, expected in ((date(2025, 12, 31), True), (date(2026, 1, 1), False)):
        sample = fk.sample(3_000, seed=5)
        sample.set_today(today)
        _, flows = sample.panel(figures, years=range(2018, 2025))

        assert flows["incomplete"].to_list() == [False] * 6 + [expected]


def form_of(row: dict[str, Any]) -> str:
    """Return which form a filing is on, as far as its current assets are concerned."""
    return {687: "micro", 21: "old", 22: "old"}.get(row["template"], "other")


def test_growth_is_null_where_years_do_not_compare(figures: pl.DataFrame) -> None:
    """Over a gap, another length of period, another form and a change of sign; with the reason.

    The period before is the one that ends the day before.
    """
    panel, _ = fk.panel(figures)
    odd = panel.with_columns(net_profit=pl.when(pl.int_range(pl.len()) % 5 == 0)
                             .then(-pl.col("net_profit")).otherwise("net_profit"))  # fmt: skip

    result = fk.growth(odd, ["sales", "net_profit", "current_ratio"])

    every = fk.ratios(odd, keep=True).to_dicts()
    rows = {(row["unit_id"], row["year"]): row for row in every}
    by_end = {(row["unit_id"], row["period_to"]): row for row in every if row["status"] == "filed"}
    seen: Counter[str] = Counter()
    for found in result.to_dicts():
        now = rows[found["unit_id"], found["year"]]
        first = now["period_from"] or date(now["year"], 1, 1)
        former = by_end.get((found["unit_id"], first - timedelta(days=1)))
        for name in ("sales", "net_profit", "current_ratio"):
            value, before = now[name], former[name] if former else None
            other = former is not None and form_of(now) != form_of(former)
            if value is None:
                why = "no_value"
            elif former is None:
                why = "gap"
            elif before is None:
                why = "no_value_before"
            elif now["months"] != former["months"]:
                why = "months"
            elif name == "current_ratio" and other:
                why = "form"
            elif value * before < 0:
                why = "sign"
            else:
                why = None
            seen[str(why)] += 1
            assert found[f"{name}_reason"] == why
            assert found[f"{name}_before"] == before
            if why is not None:
                assert found[f"{name}_change"] is found[f"{name}_growth"] is None
            else:
                assert before is not None
                assert found[f"{name}_change"] == pytest.approx(value - before)
                growth = (value - before) / abs(before) if before else None
                assert found[f"{name}_growth"] == (growth and pytest.approx(growth))
    assert set(seen) == {"None", *changes.REASONS}
    assert seen["None"] > 1_000


def test_a_year_that_a_frame_has_no_row_of_is_a_gap(figures: pl.DataFrame) -> None:
    """In a panel of the rows with figures alone, and in a panel of a panel; with its reason."""
    filed = figures.filter(pl.col("reason").is_null())

    panel, flows = fk.panel(filed)
    again, flows_again = fk.panel(panel)

    assert_frame_equal(again, panel)
    assert_frame_equal(flows_again, flows)
    rows = ["unit_id", "year", "sales_before", "sales_change", "sales_reason"]
    of_rows = fk.growth(filed, "sales").select(rows)
    of_panel = fk.growth(panel, "sales").join(of_rows, on=["unit_id", "year"], how="semi")
    assert_frame_equal(of_panel.select(rows), of_rows)
    absent = panel.filter(pl.col("status") != "filed")
    assert set(absent["reason"]) == {"no_filing_for_year"}
    reasons = fk.summary(panel, "total_assets", by=None)["reasons"].explode().struct.unnest()
    counted = reasons.filter(reason="no_filing_for_year")["count"].sum()
    assert counted == absent.height > 100


def test_what_a_frame_does_not_have_is_null_in_its_flows(figures: pl.DataFrame) -> None:
    """Without days of dissolution and without reasons: a frame of one's own."""
    own = figures.filter(pl.col("reason").is_null()).select("unit_id", "year", "sales")

    panel, flows = fk.panel(own)

    _, whole = fk.panel(figures.filter(pl.col("reason").is_null()))
    assert flows["dissolved"].null_count() == flows.height
    assert_frame_equal(flows.drop("dissolved"), whole.drop("dissolved"))
    assert panel.columns == [*own.columns, "status", "scale_doubtful"]
    gaps = fk.growth(panel, "sales").filter(sales_reason="gap")
    assert gaps.height == fk.growth(own, "sales").filter(sales_reason="gap").height > 50


def of_year(figures: pl.DataFrame, year: int) -> pl.DataFrame:
    return figures.filter(pl.col("reason").is_null()).head(1).with_columns(year=year)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda m: fk.panel(m, years=NO_YEAR),
            "years='20' is not allowed; give a whole number, 19",
        ),
        (lambda m: fk.panel(m, years=20155555), "years=20155555 is not allowed"),
        (lambda m: fk.panel(m, years=range(2015, 10**12)), "years=2101 is not allowed"),
        (lambda m: fk.panel(m, years=[]), "years: it is empty"),
        (lambda m: fk.panel(of_year(m, 20155555)), "figures=20155555 "),
        (lambda m: fk.panel(m, years=1999), "years: no unit has figures in 1999"),
        (lambda m: fk.panel(m.drop("year")), "figures: no column 'year'"),
        (lambda m: fk.panel(m.clear()), "figures: no row has figures; give figures of units that"),
        (lambda m: fk.growth(m, "salse"), "'salse' is not a column; did you mean 'sales'"),
    ],
)
def test_what_is_no_panel(call: Any, text: str, figures: pl.DataFrame) -> None:
    """The error names the argument, its value and the cure."""
    with pytest.raises(fk.UsageError, match=text):
        call(figures)
