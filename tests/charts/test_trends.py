"""Lines over the years of groups and of several units: the numbers of a summary, side by side."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import tiles
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
        if line.get_linestyle() != "None"
    ]
    return sorted(float(y) for line in lines for y in line if not np.isnan(y))


def test_panels_have_names_and_years_of_their_own(money: pl.DataFrame) -> None:
    """Each name stands above its n; no years touch."""
    codes = pl.Series(SAMPLE.districts()["code"][:14])
    of_districts = money.with_columns(okres=codes.gather(money["unit_id"] % codes.len()))

    summary = fk.summary(of_districts, "sales", by="okres")
    ax = fk.plot_history(summary, statistic="units", ax=axes(8, 9))

    names = [panel.get_title() for panel in panels(ax)]
    assert "Dunajská Streda\n(n = 6–8)" in names
    assert "Bratislava III\n(n = 5–6)" in names
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
        known = pl.col("okres").is_in(list(tiles.DISTRICTS))
        some = districts.filter(known)["okres"].unique().sort().head(number)
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
    in_legend = {(line.get_color(), line.get_linestyle()) for line in legend.get_lines()}
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


def grey(ax: Axes) -> list[tuple[object, ...]]:
    """Return what tells the lines of a legend apart where all colours are greys."""
    legend = ax.get_legend()
    assert legend is not None
    return [(line.get_linestyle(), line.get_marker()) for line in legend.get_lines()]


def test_lines_are_told_apart_in_grey(money: pl.DataFrame) -> None:
    """By dash and marker; in a column of print too every name has its n, which no note lists."""
    summary = fk.summary(money.filter(pl.col("kraj").str.starts_with("SK0")), "sales", by="kraj")

    ax = fk.plot_history(summary, lang="en", ax=axes(3.54, 5))

    legend = ax.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == len(set(grey(ax))) > 4
    assert all("(n = " in name for name in names)
    assert not any("(n = " in note for note in ax.notes)  # type: ignore[attr-defined]
    drawn = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert {(line.get_color(), line.get_linestyle()) for line in legend.get_lines()} <= drawn


@pytest.mark.parametrize("chart", ["lines", *slow("boxes", "boxes of a summary")])
def test_units_without_a_known_code_are_a_note(chart: str, money: pl.DataFrame) -> None:
    """Unless they are asked for, as one line or box; the note has their number."""
    unit = pl.col("unit_id").rank("dense")
    strange = pl.when(unit <= 4).then(pl.lit("X")).when(unit <= 7).then(None).otherwise("kraj")
    some = money.drop_nulls("sales").with_columns(kraj=strange)
    summary = fk.summary(some, "sales", by="kraj")
    if chart == "boxes of a summary":
        some = summary.filter(year=2016)
    draw: Any = {
        "lines": lambda **given: fk.plot_history(summary, lang="en", ax=axes(8, 6), **given),
        "boxes": lambda **given: fk.plot_spread(
            some, value="sales", lang="en", ax=axes(8, 6), **given
        ),
    }[chart.split()[0]]

    without, whole = draw(), draw(unknown=True)

    left_out = "Without a known code, not shown: "
    assert left_out in written(without)
    assert left_out not in written(whole)
    if chart == "boxes":
        number = some.filter(unit <= 7)["unit_id"].n_unique()
        assert f"{left_out}{number} units." in written(without)
        assert [label.get_text() for label in whole.get_yticklabels()][-1] == "unknown"
        assert "unknown" not in [label.get_text() for label in without.get_yticklabels()]


@pytest.mark.parametrize("statistic", ["weighted", "n_excluded"])
def test_a_statistic_that_a_value_does_not_have_is_refused(
    statistic: str, money: pl.DataFrame
) -> None:
    """An empty chart would say that all groups are small, or that there are no figures."""
    summary = fk.summary(money, "sales", by="kraj")
    for draw, frame in ((fk.plot_history, summary), (fk.plot_map, summary.filter(year=2016))):
        with pytest.raises(fk.UsageError, match=f"{statistic}.*none of 'sales'.*'median'"):
            draw(frame, statistic=statistic)


def test_a_group_without_a_value_is_not_called_small(money: pl.DataFrame) -> None:
    """Of five units or more, whose statistic is null: the note does not blame their number."""
    summary = fk.summary(money, "sales", by="kraj")
    n = pl.col("n")
    blank = summary.with_columns(median=pl.when(pl.col("kraj") != "SK010").then("median"))
    assert summary.filter(n >= 5, kraj="SK010").height

    ax, whole = (fk.plot_history(of, lang="en", ax=axes()) for of in (blank, summary))

    assert "Groups without a value in every year, not shown: 1." in ax.notes  # type: ignore[attr-defined]
    small, of_whole = (
        [note for note in chart.notes if "fewer than 5 units in every year" in note]  # type: ignore[attr-defined]
        for chart in (ax, whole)
    )
    assert small == of_whole


def test_codes_that_are_numbers_are_refused(money: pl.DataFrame) -> None:
    """As by bars: without their leading zeros they would be other codes, or none."""
    numbers = money.with_columns(skNace=pl.col("skNace").cast(pl.Int64))
    with pytest.raises(fk.UsageError, match="'skNace' is Int64; codes are text"):
        fk.plot_spread(numbers, value="sales", by="skNace")


@pytest.mark.parametrize("statistic", ["sum", "share_top5"])
def test_ratios_are_not_added_up(statistic: str, money: pl.DataFrame) -> None:
    """Refused with what they have; amounts are added up."""
    given: Any = {"statistic": statistic, "ax": axes()}
    ratios = fk.ratios(money, keep=True)
    calls: list[Callable[[], Axes]] = [
        lambda: fk.plot_map(ratios.filter(year=2016), value="roe", **given),
        lambda: fk.plot_history(fk.summary(ratios, "roe", by="kraj"), **given),
    ]
    for call in calls:
        with pytest.raises(fk.UsageError, match=rf"{statistic}.*'roe' has none.*'weighted'"):
            call()
    fk.plot_map(ratios.filter(year=2016), value="sales", **given)
