"""Years in thousands: marked in panels and growth, counted apart in summaries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.charts.values import summaries

FIRST_YEAR = 2015
Amounts = Sequence[float | None]


def history(**columns: Amounts) -> pl.DataFrame:
    """Return the years of one unit from 2015 on."""
    years = range(FIRST_YEAR, FIRST_YEAR + len(next(iter(columns.values()))))
    return pl.DataFrame({"unit_id": 1, "year": list(years), **columns}, strict=False)


def marks(frame: pl.DataFrame) -> list[bool | None]:
    return fk.panel(frame)[0]["scale_doubtful"].to_list()


@pytest.mark.parametrize(
    ("sales", "expected"),
    [
        ([1e6, 1e3, 1e6], [None, True, None]),
        ([1e3, 1e6, 1e3], [None, True, None]),
        ([1e6, 5e2, 1e6], [None, True, None]),
        ([1e6, 2e3, 1e6], [None, True, None]),
        ([1e6, 499, 1e6], [None, False, None]),
        ([1e6, 2_001, 1e6], [None, False, None]),
        ([1e6, 1e3, 1.0], [None, False, None]),  # not in the same direction
        ([1e6, 1e3, 1e3, 1e6], [None, False, False, None]),  # a year beside has its scale
        ([1e6, 0.0, 1e6], [None, False, None]),
        ([1e6, -1e3, 1e6], [None, False, None]),
        ([1e6, None, 1e6], [None, None, None]),
        ([1e6, 1e3, None], [None, None, None]),
        ([1e6, 1e3], [None, None]),
    ],
)
def test_a_year_a_thousandth_of_both_beside_it_is_doubtful(
    sales: Amounts, expected: list[bool | None]
) -> None:
    """Or a thousand times both; the first and the last year have nothing to compare with."""
    assert marks(history(sales=sales)) == expected
    assert marks(history(total_assets=sales)) == expected


def test_either_amount_decides_alone_where_the_other_is_missing() -> None:
    """And one that is doubtful is enough; a frame without both has the column, all null."""
    known, unknown, steady = [1e6, 1e3, 1e6], [1e6, None, 1e6], [5.0, 5.0, 5.0]
    assert marks(history(sales=known, total_assets=unknown))[1] is True
    assert marks(history(sales=steady, total_assets=unknown))[1] is False
    assert marks(history(sales=steady, total_assets=known))[1] is True
    assert marks(history(equity=known)) == [None] * 3


def test_only_adjacent_periods_are_compared() -> None:
    """Of a filing nine months after the former one nothing is known."""
    days = [(date(2014, 7, 1), date(2015, 6, 30)), (date(2015, 7, 1), date(2016, 6, 30))]
    for first, expected in ((date(2016, 7, 1), True), (date(2016, 10, 1), None)):
        period_from, period_to = zip(*days, (first, date(2017, 6, 30)), strict=True)
        frame = history(sales=[1e6, 1e3, 1e6]).with_columns(
            period_from=pl.Series(period_from), period_to=pl.Series(period_to)
        )
        assert marks(frame)[1] is expected


def test_marks_are_those_of_plain_python(figures: pl.DataFrame) -> None:
    """Of a sample, some years of which are in thousands; also where they are no years of it."""
    place = pl.int_range(pl.len())
    amounts = ["total_assets", "sales"]
    money = figures.with_columns(
        pl.when(place % 5 == 0).then(pl.col(amounts) / 1_000).otherwise(pl.col(amounts))
    )
    panel, _ = fk.panel(money)
    some_years, _ = fk.panel(money, years=[2016, 2018])

    rows = {(row["unit_id"], row["year"]): row for row in panel.iter_rows(named=True)}
    expected = {key: plain_mark(rows, key) for key in rows}
    assert {key: row["scale_doubtful"] for key, row in rows.items()} == expected
    assert list(expected.values()).count(True) > 30
    for unit, year, mark in some_years.select("unit_id", "year", "scale_doubtful").iter_rows():
        assert mark == expected[unit, year]
    assert fk.panel(panel)[0].equals(panel)
    # Growth of a panel takes its marks, and computes the same of figures.
    for frame in (panel, money):
        changes = fk.growth(frame, "sales").filter(pl.col("sales_before").is_not_null())
        for unit, year, mark in changes.select("unit_id", "year", "scale_doubtful").iter_rows():
            pair = {expected[unit, year], expected[unit, year - 1]}
            assert mark == (True if True in pair else None if None in pair else False)


def plain_mark(rows: dict[tuple[int, int], dict[str, Any]], key: tuple[int, int]) -> bool | None:
    unit, year = key
    own, before, after = (rows.get((unit, year + step)) for step in (0, -1, 1))
    if own is None or before is None or after is None:
        return None
    if {own["status"], before["status"], after["status"]} != {"filed"}:
        return None
    day = timedelta(days=1)
    if before["period_to"] + day != own["period_from"]:
        return None
    if own["period_to"] + day != after["period_from"]:
        return None
    answers = []
    for name in ("total_assets", "sales"):
        here, *beside = (row[name] for row in (own, before, after))
        if here is None or None in beside:
            continue
        down = all(500 * here <= other <= 2_000 * here for other in beside) and here > 0
        up = all(500 * other <= here <= 2_000 * other for other in beside) and here > 0
        answers.append(down or up)
    return any(answers) if answers else None


def test_pairs_with_a_doubtful_year_are_counted_apart() -> None:
    """Neither with a value nor without; *doubtful* counts them as others."""
    frame = pl.concat(
        [
            history(sales=[1e6, 1e3, 1e6, 2e6]),
            history(sales=[1e6, 2e6, None, 1e6]).with_columns(pl.lit(2).alias("unit_id")),
        ]
    ).with_columns(template=699)
    changes = fk.growth(frame, ["sales"])
    assert changes["scale_doubtful"].to_list()[:4] == [None, True, True, None]

    summary = fk.summary(changes, ["sales_growth", "sales_change", "sales"], by=None)
    counts = summary.filter(value="sales_growth").select(
        "year", "units", "n", "without", "n_doubtful", "median"
    )
    assert counts.rows() == [
        (2015, 2, 0, 2, 0, None),
        (2016, 2, 1, 0, 1, 1.0),
        (2017, 2, 0, 1, 1, None),
        (2018, 2, 1, 1, 0, 1.0),
    ]
    of_2017 = summary.filter(value="sales_change", year=2017).row(0, named=True)
    assert (of_2017["reasons"], of_2017["forms"]) == ([{"reason": "no_value", "count": 1}], [])
    # The amounts themselves are no pairs.
    assert summary.filter(value="sales")["n_doubtful"].to_list() == [None] * 4
    assert summary.filter(value="sales")["n"].to_list() == [2, 2, 1, 2]
    one_year = fk.summary(changes.filter(year=2016), "sales_growth", by=None)
    notes = summaries.of_frame(one_year, None).notes("en")
    assert notes == ["Left out, either year may be in thousands: 1."]

    others = fk.summary(changes, "sales_growth", by=None, doubtful=True)
    assert others.select("n", "without", "n_doubtful").rows() == [
        (0, 2, 0), (2, 0, 0), (1, 1, 0), (1, 1, 0)
    ]  # fmt: skip


def test_a_mark_of_another_type_is_refused() -> None:
    """Before anything is computed of it."""
    frame = history(sales=[1.0, 2.0, 3.0]).with_columns(scale_doubtful=pl.lit("no"))
    with pytest.raises(fk.UsageError, match="'scale_doubtful' is String"):
        fk.growth(frame, "sales")
