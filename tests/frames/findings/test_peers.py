"""One unit among its peers, against plain Python."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from tests.frames.findings.plain import quantile, section_of, size_of

NO_UNIT: Any = "365"


def test_a_unit_stands_where_plain_python_puts_it(figures: pl.DataFrame) -> None:
    """In its group, or the next wider one that has ten values; the result names the group."""
    rows = [row | {"section": section_of(row), "size_by_law": size_of(row)}
            for row in figures.to_dicts()]  # fmt: skip
    units = figures.drop_nulls("sales")["unit_id"].unique().sort()
    used = []
    for unit in units.gather_every(9):
        found = fk.peers(figures, unit, "sales").row(0, named=True)

        own = [row for row in rows if row["unit_id"] == unit and row["sales"] is not None]
        mine = max(own, key=lambda row: row["year"])
        year = [r for r in rows if r["year"] == mine["year"] and r["sales"] is not None]
        for by in (["section", "size_by_law"], ["section"], []):
            group = [row["sales"] for row in year if all(row[k] == mine[k] for k in by)]
            known = all(mine[key] not in (None, "unknown") for key in by)
            if not by or (known and len(group) >= 10):
                break
        assert found["unit_id"] == unit
        assert (found["by"], found["group"]) == (by, [mine[key] for key in by])
        assert (found["year"], found["own"], found["n"]) == (
            mine["year"], mine["sales"], len(group),
        )  # fmt: skip
        below = sum(value < mine["sales"] for value in group)
        equal = sum(value == mine["sales"] for value in group)
        assert found["percentile"] == pytest.approx((below + equal / 2) / len(group))
        assert found["median"] == pytest.approx(median(group))
        quarters = quantile(group, 0.25), quantile(group, 0.75)
        assert (found["p25"], found["p75"]) == pytest.approx(quarters)
        used.append(len(by))
    assert set(used) == {0, 1, 2}


def test_several_values_in_a_year_of_ones_choice(figures: pl.DataFrame) -> None:
    """One row per value, lazily too; without a value the group is described nonetheless."""
    some = figures.filter(pl.col("sales").is_null(), pl.col("year") == 2016).row(0, named=True)

    several = fk.peers(figures.lazy(), some["unit_id"], ["roa", "sales"], by="kraj", year=2016)

    assert several["value"].to_list() == ["roa", "sales"]
    assert several["own"].to_list()[1] is several["percentile"].to_list()[1] is None
    assert several["median"].null_count() == 0
    whole = fk.peers(figures, some["unit_id"], "sales", by=None, year=2016)
    assert whole["n"][0] == figures.filter(year=2016)["sales"].count()


def test_a_filing_without_a_period_is_of_no_year(figures: pl.DataFrame) -> None:
    """It is not the unit's latest, and alone it has no peers."""
    place = pl.int_range(pl.len())
    unit = figures.filter(pl.col("year") == 2016).drop_nulls("sales")["unit_id"][0]
    undated = figures.with_columns(
        year=pl.when((pl.col("unit_id") != unit) | (place % 2 == 0)).then("year")
    )

    one = fk.peers(undated, unit, "sales")

    assert (
        one["year"][0] == undated.filter(unit_id=unit).drop_nulls(["year", "sales"])["year"].max()
    )
    with pytest.raises(fk.UsageError, match=f"unit={unit} is in no year of the figures"):
        fk.peers(undated.filter(pl.col("year").is_null()), unit, "sales")


def test_units_without_a_code_are_nobodys_peers() -> None:
    """Neither of each other nor of a unit with a code: the group is widened to all."""
    codes = ["SK010"] * 12 + [None] * 12
    figures = pl.DataFrame(
        {"unit_id": range(24), "year": [2020] * 24, "sales": range(24), "kraj": codes}
    )

    for unit, by, group, n in ((0, ["kraj"], ["SK010"], 12), (23, [], [], 24)):
        found = fk.peers(figures, unit, "sales", by="kraj").row(0, named=True)
        assert (found["by"], found["group"], found["n"]) == (by, group, n)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"unit": 1}, "unit=1 is in no year of the figures"),
        (
            {"unit": NO_UNIT},
            "unit='365' is not an IČO, .* give an id as 365, or ",
        ),
        ({"year": 1999}, "year=1999: the unit has no row of it; give one of 2012, "),
        ({"by": "sekcia"}, "by='sekcia' is not known"),
        ({"value": "salse"}, "did you mean 'sales'"),
    ],
)
def test_what_has_no_peers(options: dict[str, Any], text: str, figures: pl.DataFrame) -> None:
    """The error names the argument, its value and the cure."""
    arguments = {"unit": figures["unit_id"][0], "value": "sales"} | options

    with pytest.raises(fk.UsageError, match=text):
        fk.peers(figures, **arguments)
