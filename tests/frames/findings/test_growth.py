"""Changes from period to period, of filings written by hand."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk

SCHEMA = pl.Schema(
    {
        "unit_id": pl.Int64(), "year": pl.Int32(), "period_from": pl.Date(),
        "period_to": pl.Date(), "months": pl.Int16(), "source_column": pl.String(),
        "statement_id": pl.Int64(), "template": pl.Int32(), "reason": pl.String(),
        "sales": pl.Float64(), "current_assets": pl.Float64(),
    }
)  # fmt: skip
Row = dict[str, Any]


def last_day(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def filing(first: str, last: str, sales: float | None, **more: Any) -> Row:
    """Return the row of a filing from a month to a month."""
    (from_year, from_month), (to_year, to_month) = (
        map(int, day.split("-")) for day in (first, last)
    )
    return {
        "unit_id": 1, "year": to_year, "period_from": date(from_year, from_month, 1),
        "period_to": last_day(to_year, to_month),
        "months": 12 * (to_year - from_year) + to_month - from_month + 1,
        "source_column": "current", "statement_id": 100 * to_year + to_month, "template": 699,
        "sales": sales,
    } | more  # fmt: skip


def column(of: Row, sales: float | None, months: int | None = None, **more: Any) -> Row:
    """Return the row of the previous column of a filing, with the length of its period or none."""
    last = of["period_from"] - timedelta(days=1)
    period = {"year": last.year, "period_from": None, "period_to": last, "months": months}
    return of | period | {"source_column": "previous", "sales": sales} | more


def grown(*rows: Row, value: str = "sales") -> list[Row]:
    """Return the changes of the rows, without the name of the value."""
    frame = pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA)
    changes = fk.growth(frame, value)
    return changes.rename(lambda name: name.removeprefix(f"{value}_")).to_dicts()


YEAR = filing("2015-01", "2015-12", 100.0)
NEXT = filing("2016-01", "2016-12", 150.0)


def test_a_fall_to_nothing_is_a_change() -> None:
    """From nothing there is no rate, and over a change of sign neither."""
    for before, now, change, rate, reason in (
        (100.0, 0.0, -100.0, -1.0, None), (0.0, 100.0, 100.0, None, None),
        (-50.0, 0.0, 50.0, 1.0, None), (-50.0, 100.0, None, None, "sign"),
    ):  # fmt: skip
        row = grown(YEAR | {"sales": before}, NEXT | {"sales": now})[-1]
        assert (row["change"], row["growth"], row["reason"]) == (change, rate, reason)


@pytest.mark.parametrize(
    ("former", "now", "reason"),
    [
        (("2015-01", "2015-12"), ("2016-01", "2016-12"), None),
        (("2014-07", "2015-06"), ("2015-07", "2016-06"), None),
        (("2013-01", "2014-06"), ("2014-07", "2015-12"), None),  # 18 months, twice
        (("2015-01", "2015-12"), ("2016-01", "2017-12"), "months"),
        (("2014-01", "2015-12"), ("2016-01", "2016-12"), "months"),
        (("2013-04", "2014-03"), ("2015-01", "2015-12"), "gap"),  # nine months are between them
        (("2015-01", "2015-12"), ("2016-02", "2016-12"), "gap"),
        (("2015-01", "2015-12"), ("2015-07", "2016-06"), "gap"),
    ],
)
def test_the_former_filing_ends_the_day_before(
    former: tuple[str, str], now: tuple[str, str], reason: str | None
) -> None:
    """And is as long; whatever the years in which the periods end."""
    row = grown(filing(*former, 100.0), filing(*now, 150.0))[-1]

    assert (row["reason"], row["change"]) == (reason, None if reason else 50.0)
    assert row["before"] == (None if reason == "gap" else 100.0)


def test_a_period_of_unknown_length_is_not_equal() -> None:
    """Nor are two of them."""
    unknown = {"period_from": None, "months": None}
    for former, now in (
        (YEAR | unknown, NEXT),
        (YEAR, NEXT | unknown),
        (YEAR | unknown, NEXT | unknown),
    ):
        assert grown(former, now)[-1]["reason"] == "months"


def test_a_frame_without_periods_has_calendar_years() -> None:
    """A frame of one's own, of units, years and values."""
    own = pl.DataFrame({"unit_id": [1, 1, 1], "year": [2015, 2016, 2018], "sales": [1.0, 3.0, 4.0]})

    changes = fk.growth(own, "sales")

    assert changes["sales_change"].to_list() == [None, 2.0, None]
    assert changes["sales_reason"].to_list() == ["gap", None, "gap"]


def test_a_previous_column_is_no_filing() -> None:
    """Neither as a row nor as what another is compared with."""
    assert grown(NEXT, column(NEXT, 120.0, 12)) == grown(NEXT)
    assert [row["reason"] for row in grown(NEXT)] == ["gap"]
    frame = pl.DataFrame(
        [dict.fromkeys(SCHEMA) | row for row in (NEXT, column(NEXT, 120.0, 12))], schema=SCHEMA
    )
    panel, flows = fk.panel(frame)
    assert panel.select("year", "status", "sales").rows() == [(2016, "filed", 150.0)]
    assert flows["units"].to_list() == [1]


@pytest.mark.parametrize(
    ("value", "former", "now", "reason"),
    [
        ("current_assets", 21, 699, "form"), ("current_assets", 687, 699, "form"),
        ("current_assets", 21, 687, "form"), ("current_assets", 21, 21, None),
        ("non_current_assets", 21, 699, "form"), ("non_current_assets", 687, 699, None),
        ("non_current_financial_assets", 21, 699, "form"), ("total_assets", 21, 699, None),
        ("current_assets_with_accruals", 21, 699, "form"), ("sales", 21, 699, None),
        ("current_assets_with_accruals", 687, 699, None), ("equity", 690, 699, "form"),
    ],
)  # fmt: skip
def test_a_value_that_was_another_on_the_former_form_does_not_grow(
    value: str, former: int, now: int, reason: str | None
) -> None:
    """As the page of figures names them: until 2013 current assets held long deposits."""
    rows = [YEAR | {"template": former, value: 1.0}, NEXT | {"template": now, value: 2.0}]
    schema = SCHEMA | {value: pl.Float64()}
    frame = pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)

    assert fk.growth(frame, value)[f"{value}_reason"].to_list() == ["gap", reason]


@pytest.mark.slow
def test_amounts_of_any_width_are_computed_as_floats() -> None:
    """Whole numbers do not wrap, decimals keep their quotients, and what is no number is none."""
    rows = [YEAR | {"sales": 5.0}, NEXT | {"sales": 3.0}]
    frame = pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA)
    for dtype in (pl.UInt8, pl.Int64, pl.Decimal(10, 2), pl.Float32):
        changes = fk.growth(frame.with_columns(pl.col("sales").cast(dtype)), "sales")
        assert changes.select("sales_change", "sales_growth").row(1) == (-2.0, -0.4)
        assert changes.schema["sales"] == changes.schema["sales_change"] == pl.Float64
    for odd in (float("nan"), float("inf")):
        changes = fk.growth(frame.with_columns(sales=pl.Series([5.0, odd])), "sales")
        assert changes.select("sales", "sales_reason").row(1) == (None, "no_value")
    own = {"total_assets": [2**62, 2**62], "net_profit": [2**60, -(2**60)], "year": [2020, 2020],
           "unit_id": [1, 2], "family": ["business"] * 2, "currency": ["EUR"] * 2}  # fmt: skip
    assert fk.ratios(pl.DataFrame(own))["roa"].to_list() == [0.25, -0.25]
    huge = pl.DataFrame(own | {"total_assets": [1e-300] * 2, "net_profit": [1e300, 1e-301]})
    assert fk.ratios(huge)["roa"].to_list() == [None, 0.1]
    rising = frame.with_columns(sales=pl.Series([1e-300, 1e300]))
    assert fk.growth(rising, "sales")["sales_growth"].to_list() == [None, None]
    cents = pl.DataFrame(own | {"total_assets": [Decimal("3.00")] * 2, "net_profit": [1, None]})
    assert fk.ratios(cents)["roa"].to_list() == [1 / 3, None]
    assert fk.summary(cents, "roa", by=None)["weighted"].item() == 1 / 3
    assert fk.peers(cents, 1, "roa", by=None)["own"].item() == 1 / 3
    for odd in (float("nan"), float("inf"), float("-inf")):
        frame = pl.DataFrame(own | {"net_profit": [odd, 1.0]})
        assert fk.ratios(frame)["roa"].to_list() == [None, 1 / 2**62]
        assert fk.ratios(frame, keep=True)["net_profit"].to_list() == [None, 1.0]
        assert fk.summary(frame, ["net_profit", "roa"], by=None)["n"].to_list() == [1, 1]
        assert fk.peers(frame, 2, "net_profit", by=None)["n"].item() == 1


def test_growth_is_summarized_by_the_groups_of_its_units(figures: pl.DataFrame) -> None:
    """The columns of units stay, and why there is no change is counted as growth says it."""
    panel, _ = fk.panel(figures)
    growth = fk.growth(panel, "sales")

    carried = [name for name in growth.columns if name in figures.columns]
    by_region = fk.summary(growth, "sales_growth")
    by_age = fk.summary(growth, "sales_growth", by=["section", "age"])

    assert {"kraj", "okres", "pravnaForma", "skNace", "velkostOrganizacie"} <= {*carried}
    codes = [frame.select("unit_id", "kraj").unique().sort("unit_id") for frame in (growth, panel)]
    assert codes[0].equals(codes[1])
    assert by_region["n"].sum() == by_age["n"].sum() == growth["sales_growth"].count() > 0
    reasons = by_region["reasons"].explode().struct.field("reason").drop_nulls()
    assert set(growth["sales_reason"].drop_nulls()) <= set(reasons)
