"""Lines over the years of groups and of several units: the numbers of a summary, side by side."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import finstat_kit as fk
from finstat_kit.arguments import Lang
from tests.support.examples import slow
from tests.support.pictures import axes, check_legible, written

SAMPLE = fk.sample(3_000, seed=5)
YEARS = range(2014, 2018)


@pytest.fixture(scope="module")
def money() -> pl.DataFrame:
    units = SAMPLE.units.get(SAMPLE.units.ids().sample(250, seed=1))
    return SAMPLE.financials(units, YEARS)


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)


def panels(ax: Axes) -> list[Axes]:
    return [child for child in ax.child_axes if isinstance(child, Axes)]


def values(ax: Axes) -> list[float]:
    """Return the values of all lines."""
    lines = [
        np.asarray(line.get_ydata(), dtype=float)
        for line in ax.lines
        if line.get_linestyle() == "-"
    ]
    return sorted(float(y) for line in lines for y in line if not np.isnan(y))


def test_panels_have_names_and_years_of_their_own(money: pl.DataFrame) -> None:
    """A name too long to stand before its n stands above it if there is room; no years touch."""
    codes = pl.Series(SAMPLE.districts()["code"][:14])
    of_districts = money.with_columns(okres=codes.gather(money["unit_id"] % codes.len()))

    summary = fk.summary(of_districts, "sales", by="okres")
    ax = fk.plot_history(summary, statistic="units", ax=axes(8, 9))
    low = fk.plot_history(summary, statistic="units", ax=axes(8, 4))

    names = [panel.get_title() for panel in panels(ax)]
    assert "Dunajská Streda\n(n = 6–8)" in names
    assert "Bratislava III (n = 5–6)" in names
    assert not any("\n" in panel.get_title() for panel in panels(low))
    years = [year.get_horizontalalignment() for year in panels(ax)[-1].get_xticklabels()]
    assert years == ["left", "right"]


@pytest.mark.parametrize("statistic", [None, *slow("n")])
def test_a_line_is_a_group_over_the_years(money: pl.DataFrame, statistic: str | None) -> None:
    """The numbers are those of the summary, none of fewer than five units; names have n."""
    summary = fk.summary(money.filter(pl.col("kraj").str.starts_with("SK0")), "sales", by="kraj")
    column = statistic or "median"
    enough = summary if column == "n" else summary.filter(pl.col("n") >= 5)

    ax = fk.plot_history(summary, statistic=statistic, lang="en", ax=axes(9, 5))

    drawn = enough.drop_nulls(column)[column].cast(pl.Float64)
    assert values(ax) == pytest.approx(sorted(drawn))
    check_legible(ax)
    of_nitra = summary.filter(kraj="SK023")["n"].to_list()
    assert f"Nitra (n = {min(of_nitra)}–{max(of_nitra)})" in written(ax).replace("\n", " ")
    assert ax.get_title().startswith("Sales (")
    assert "by region, 2014–2017" in ax.get_title()
    assert f"{summary['n'].sum()} of {summary['units'].sum():,} unit-years" in ax.get_title()


def test_a_year_of_few_units_breaks_the_line(money: pl.DataFrame) -> None:
    """And a note says why."""
    summary = fk.summary(money, "sales", by="kraj").filter(kraj="SK010")
    cut = summary.with_columns(n=pl.when(year=2016).then(4).otherwise("n"))

    whole, broken = (fk.plot_history(frame, lang="en", ax=axes()) for frame in (summary, cut))

    assert len(values(whole)) - len(values(broken)) == 1
    assert "Where a line breaks, fewer than 5 units have a value." in written(broken)
    assert "breaks" not in written(whole)


@pytest.mark.slow
def test_many_groups_stand_side_by_side(money: pl.DataFrame) -> None:
    """Above twelve each has axes of its own, in the same scales; above 24 those of most units."""
    districts = fk.summary(money, "total_assets", by="okres").with_columns(
        n=pl.lit(5, pl.Int64), median=pl.lit(1.0)
    )
    for number in (12, 30):
        some = districts["okres"].drop_nulls().unique().sort().head(number)
        ax = fk.plot_history(districts.filter(pl.col("okres").is_in(some.implode())), lang="en")

        assert len(panels(ax)) == {12: 0, 30: 24}[number]
        assert len({panel.get_ylim() for panel in panels(ax)}) <= 1
        assert ("Further groups, not shown: 6." in written(ax)) == (number == 30)


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "width"), [("en", 8), *slow(("sk", 3.54))])
def test_two_groups_are_axes_and_colours(money: pl.DataFrame, lang: Lang, width: float) -> None:
    """Axes for each code of the first, a colour for each of the second, the same in all."""
    fields: Any = ["kraj", "age"]
    summary = fk.summary(money, "sales", by=fields)
    enough = summary.filter(pl.col("n") >= 5)

    ax = fk.plot_history(summary, value="sales", lang=lang, ax=axes(width, 7))

    check_legible(ax)
    assert len(panels(ax)) == enough["kraj"].n_unique()
    assert sorted(y for panel in panels(ax) for y in values(panel)) == pytest.approx(
        sorted(enough["median"])
    )
    legend = ax.get_legend()
    assert legend is not None
    in_legend = {patch.get_facecolor() for patch in legend.get_patches()}
    assert len(in_legend) == enough["age"].n_unique()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "items"),
    [(13, ["sales"]), *slow((2, ["sales", "equity"]))],
)
def test_several_units_stand_side_by_side(
    money: pl.DataFrame, number: int, items: list[str]
) -> None:
    """More than twelve of them, or several items of several: a unit in each, items in colours."""
    having = money.filter(pl.col("sales").is_not_null(), pl.col("equity").is_not_null())
    ids = having["unit_id"].unique(maintain_order=True)
    some = money.filter(pl.col("unit_id").is_in(ids.head(number).implode()))

    ax = fk.plot_history(some, value=items, lang="en", ax=axes(9, 8))

    check_legible(ax)
    assert len(panels(ax)) == number
    names = [panel.get_title() for panel in panels(ax)]
    assert len(set(names)) == len(names)


def test_years_follow_each_other(money: pl.DataFrame) -> None:
    """From the least to the largest, whatever the order of the rows."""
    ax = fk.plot_history(
        fk.summary(money, "sales", by=None).sample(4, seed=1, shuffle=True), ax=axes()
    )

    xs = [float(x) for x in np.asarray(ax.lines[0].get_xdata(), dtype=float)]
    assert all(after - before == 1 for before, after in pairwise(xs))
    assert xs == list(map(float, YEARS))


def test_what_no_trend_has(money: pl.DataFrame) -> None:
    """Several values, an unknown statistic, and more codes of the second group than colours."""
    fields: Any = ["kraj", "okres"]
    of_two = fk.summary(money, ["sales", "equity"], by=None)
    with pytest.raises(fk.UsageError, match="several entries in the column 'value'"):
        fk.plot_history(of_two)
    with pytest.raises(fk.UsageError, match="a summary is drawn by one"):
        fk.plot_history(of_two, value=["sales", "equity"])
    with pytest.raises(fk.UsageError, match="statistic='middle'"):
        fk.plot_history(of_two, value="sales", statistic="middle")
    many = fk.summary(money, "sales", by=fields).with_columns(
        n=pl.lit(5, pl.Int64), median=pl.lit(1.0)
    )
    with pytest.raises(fk.UsageError, match="the second group, 'okres', has"):
        fk.plot_history(many)
