"""Of several rows of a unit and year one is taken, by one rule."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.findings.values import one_row_per_year

ROW = {
    "unit_id": 1,
    "year": 2015,
    "source_column": "current",
    "months": 12,
    "period_to": date(2015, 12, 31),
    "reason": None,
    "consolidated": False,
}


def rows(*changes: dict[str, object]) -> pl.DataFrame:
    """Return rows of financials, each with a number of its own."""
    schema = {"reason": pl.String, "months": pl.Int16, "period_to": pl.Date}
    return pl.DataFrame([ROW | change for change in changes], schema_overrides=schema).with_columns(
        row=pl.int_range(pl.len())
    )


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"source_column": "previous"}, {"reason": "non_public", "months": 18}),
        ({"months": 6}, {"source_column": "previous"}),
        ({"months": 12, "period_to": date(2015, 6, 30)}, {"months": 6}),
        ({"months": 6}, {"months": 6, "period_to": date(2015, 6, 30)}),
        ({"months": 6}, {"months": None}),
    ],
)
def test_the_rule_in_its_order(better: dict[str, object], worse: dict[str, object]) -> None:
    """Figures before a reason, current before previous, longer, then later; in either order."""
    for given, taken in ((rows(better, worse), 0), (rows(worse, better), 1)):
        table, left_out = one_row_per_year(given)

        assert table["row"].to_list() == [taken]
        assert left_out == 1


def test_units_and_years_stay_apart_and_in_their_order() -> None:
    """One row each, also of a unit without any year; of equal rows the first."""
    given = rows({"unit_id": 7}, {"year": None}, {"unit_id": 7}, {"unit_id": 7, "year": 2014}, {})

    table, left_out = one_row_per_year(given)

    assert table["row"].to_list() == [0, 1, 3, 4]
    assert left_out == 1


def test_a_frame_without_units_or_years_is_taken_whole() -> None:
    """Nothing shows that its rows are of one unit and year."""
    for column in ("unit_id", "year"):
        given = rows({}, {}).drop(column)

        assert one_row_per_year(given).table.equals(given)


def test_individual_and_consolidated_statements_are_not_mixed() -> None:
    """The error names the filter; a unit without any filing is of either kind."""
    both = rows({}, {"consolidated": True}, {"consolidated": None, "unit_id": 2})

    with pytest.raises(fk.UsageError, match=r'filter\(pl.col\("consolidated"\) == False\)'):
        one_row_per_year(both)

    assert one_row_per_year(both.filter(pl.col("consolidated").eq(other=False))).left_out == 0
    assert one_row_per_year(both.slice(1)).table.height == 2


@pytest.mark.parametrize("reason", ["not_a_number", "caption_mismatch"])
def test_a_row_with_some_figures_is_that_of_its_year(reason: str) -> None:
    """A cell that cannot be read does not hand the year over to the column of the next filing."""
    table, _ = one_row_per_year(rows({"source_column": "previous"}, {"reason": reason}))

    assert table["row"].to_list() == [1]
