"""Charts of figures: boxes, histories and medians are the numbers of the frame, and legible."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts import colours
from finstat_kit.frames.spread import medians, spread
from tests.support.examples import slow
from tests.support.pictures import axes, check_legible, tile_numbers, written

SAMPLE = fk.sample(3_000, seed=5)
LANGS: list[Lang] = ["sk", "en"]
NO_CODE: Any = "sidlisko"
NO_ITEM: Any = 5
FORMER = {
    "current_liabilities": "current_payables",
    "non_current_liabilities": "non_current_payables",
    "cost_of_goods_sold": "cost_of_merchandise_sold",
    "sales_of_goods": "sales_of_merchandise",
    "services": "services_purchased",
    "materials_and_energy": "materials_and_energy_used",
    "debt_to_equity": "liabilities_to_equity",
}


@pytest.fixture(scope="module")
def money() -> pl.DataFrame:
    drawn = SAMPLE.units.ids().sample(350, seed=1)
    return SAMPLE.financials(SAMPLE.units.get(drawn), 2016)


@pytest.fixture(scope="module")
def years() -> pl.DataFrame:
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=600))
    long = units.filter(pl.col("idUctovnychZavierok").list.len() >= 13)
    return SAMPLE.financials(long.head(20), from_previous=True)


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)


def boxes(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


@pytest.mark.slow
def test_quartiles_are_those_of_plain_python(money: pl.DataFrame) -> None:
    """And whiskers end at values; every value is in n, none is lost."""
    table = fk.ratios(money)
    for row in spread(table, "equity_ratio", "kraj").iter_rows(named=True):
        values = sorted(table.filter(kraj=row["code"])["equity_ratio"].drop_nulls())
        assert row["n"] == len(values)
        assert row["median"] == pytest.approx(statistics.median(values))
        if len(values) < 2:
            continue
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        assert (row["q1"], row["q3"]) == pytest.approx((low, high))
        inside = [x for x in values if low - 1.5 * (high - low) <= x <= high + 1.5 * (high - low)]
        assert (row["low"], row["high"]) == (inside[0], inside[-1])
        assert row["beyond"] == len(values) - len(inside)


def test_a_ratio_is_computed_where_it_is_no_column(money: pl.DataFrame) -> None:
    """The same picture from financials as from ratios; a box for each region with enough units."""
    one = fk.plot_spread(money, "net_margin", by="kraj", lang="en", ax=axes())
    other = fk.plot_spread(fk.ratios(money), "net_margin", by="kraj", lang="en", ax=axes())

    assert written(one) == written(other)
    drawn = spread(fk.ratios(money), "net_margin", "kraj").filter(pl.col("n") >= 5)
    assert sorted(box.get_x() for box in boxes(one)) == pytest.approx(sorted(drawn["q1"]))
    assert "Without a value: " in written(one)
    assert "Net margin by region, 2016" in written(one)


def test_amounts_far_apart_are_on_a_log_scale(money: pl.DataFrame) -> None:
    """Zeros and losses are not on it, and are told."""
    by_size = fk.plot_spread(money, "total_assets", by="velkostOrganizacie", lang="sk", ax=axes())
    shares = fk.plot_spread(money, "equity_ratio", lang="sk", ax=axes())

    assert (by_size.get_xscale(), shares.get_xscale()) == ("log", "linear")
    assert "Logaritmická mierka." in written(by_size).replace("\n", " ")
    sizes = [label.get_text() for label in by_size.get_yticklabels()]
    assert sizes[:3] == ["nezistený", "0 zamestnancov", "1 zamestnanec"]
    lost = pl.DataFrame({"kraj": ["SK010"] * 9, "x": [1.0] * 4 + [900.0] * 4 + [0.0]})
    both = fk.plot_spread(lost, "x", lang="en", ax=axes())
    assert "Zeros and negative values, not shown: 1." in written(both).replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize(("style", "lang"), [("default", "sk"), *slow(("dark_background", "en"))])
def test_everything_can_be_read(
    style: str, lang: Lang, money: pl.DataFrame, years: pl.DataFrame
) -> None:
    """In both languages, light and dark."""
    units = years["unit_id"].unique(maintain_order=True)
    pictures: list[Callable[[], Axes]] = [
        lambda: fk.plot_spread(money, "equity_ratio", lang=lang),
        lambda: fk.plot_spread(money, "net_profit", by="okres", lang=lang),
        lambda: fk.plot_spread(money, "total_assets", by="velkostOrganizacie", lang=lang),
        lambda: fk.plot_history(years.filter(unit_id=units[0]), ["sales", "equity"], lang=lang),
        lambda: fk.plot_history(
            years.filter(pl.col("unit_id").is_in(units[:3].implode())), "roa", lang=lang
        ),
        lambda: fk.plot_map(money, "okres", value="equity_ratio", lang=lang),
    ]
    with plt.style.context(style):
        for draw in pictures:
            ax = draw()
            check_legible(ax)
            plt.close(ax.figure)  # type: ignore[arg-type]


def test_euro_is_written_as_the_language_does(money: pl.DataFrame) -> None:
    """In short: 1,2 mil. € and €1.2m."""
    texts = {
        lang: written(
            fk.plot_spread(money, "total_assets", by="velkostOrganizacie", lang=lang, ax=axes())
        )
        for lang in LANGS
    }

    assert "mil.\xa0€  (n = " in texts["sk"]
    assert "m  (n = " in texts["en"]


def test_a_district_of_few_is_grey(money: pl.DataFrame) -> None:
    """The median of fewer than five units is not shown."""
    values = fk.ratios(money).drop_nulls(["equity_ratio", "okres"])
    enough = {code for code in values["okres"] if values.filter(okres=code).height >= 5}
    table = medians(fk.ratios(money), "equity_ratio", "okres").drop_nulls("code")
    ax = fk.plot_map(money, "okres", value="equity_ratio", lang="en", ax=axes(10, 6.4))

    assert set(table.drop_nulls("value")["code"]) == enough
    tiled = table.filter(pl.col("code").str.len_chars() == 6)
    numbers = tile_numbers(ax)
    assert len(numbers) == 79
    shown = tiled.drop_nulls("value").height
    assert 0 < shown < 79
    assert sum(text != "–" for text in numbers) == shown
    grey = [b for b in boxes(ax) if b.get_facecolor()[:3] == pytest.approx((0.769,) * 3, abs=0.01)]
    assert len(grey) == 79 - shown
    assert colours.NO_VALUE == "#c4c4c4"
    assert "fewer than 5 units with a value" in [t.get_text() for t in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert ax.get_title().startswith("Equity ratio (median) by district, 2016")


def test_a_gap_is_a_gap(years: pl.DataFrame) -> None:
    """A year without a number breaks the line; marks show where a number is from."""
    current = years.filter(source_column="current")
    marked = current.filter(pl.col("supersedes") > 0, pl.col("total_assets").is_not_null())
    corrected = marked.filter(~pl.col("year").is_in([2014, 2016, 2017]))["unit_id"][0]
    own = years.filter(unit_id=corrected).drop_nulls("total_assets")
    cut = own.filter(~pl.col("year").is_in([2014, 2016, 2017]))

    ax = fk.plot_history(cut, "total_assets", lang="en", ax=axes())

    line = ax.get_lines()[0]
    values = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))  # type: ignore[arg-type]
    expected = {
        row["year"]: row["total_assets"]
        for row in cut.sort("source_column", descending=True).iter_rows(named=True)
    }
    assert {k: v for k, v in values.items() if v == v} == expected
    assert {2016, 2017} <= {k for k, v in values.items() if v != v}
    assert "Where the line breaks there are no numbers." in written(ax)
    assert "Ring: from a correction." in written(ax)
    rings = [one for one in ax.get_lines() if one.get_markersize() == 11]
    assert [len(one.get_xdata()) > 0 for one in rings] == [True]  # type: ignore[arg-type]


def test_a_short_period_is_hatched(years: pl.DataFrame) -> None:
    """And told below."""
    short = years.filter(pl.col("months") < 12).drop_nulls("equity")
    unit = short["unit_id"][0]

    ax = fk.plot_history(years.filter(unit_id=unit), "equity", lang="sk", ax=axes())

    assert [patch.get_hatch() for patch in ax.patches].count("///") >= 1
    assert "Šrafované: obdobie iné ako 12 mesiacov." in written(ax).replace("\n", " ")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: fk.plot_spread(m, "revenue"), "'revenue' is no column"),
        (lambda m: fk.plot_spread(m, "name"), "'name' is String"),
        (lambda m: fk.plot_spread(m, "equity", by=NO_CODE), "by='sidlisko'"),
        (lambda m: fk.plot_spread(m.drop("kraj"), "equity"), "by='kraj' is no column"),
        (lambda m: fk.plot_history(m, "equity"), "give one unit"),
        (lambda m: fk.plot_history(m.head(2), ["equity", "sales"]), "give one unit"),
        (lambda m: fk.plot_history(m.drop("months"), "equity"), "no column 'months'"),
        (lambda m: fk.plot_history(m, []), r"items=\[\] is not allowed; give a name"),
        (lambda m: fk.plot_history(m, NO_ITEM), "items=5 is not allowed; give a name"),
        (lambda m: fk.plot_history(m, ["sales", "equity", "sales"]), "'sales' stands there twice"),
    ],
)
def test_what_cannot_be_drawn(
    call: Callable[[pl.DataFrame], Axes], says: str, money: pl.DataFrame
) -> None:
    """Is refused with the cure, and no figure is left open."""
    before = plt.get_fignums()

    with pytest.raises(fk.UsageError, match=says):
        call(money)

    assert plt.get_fignums() == before


@pytest.mark.parametrize("misspelt", ["equity_rato", "Equity_Ratio", *FORMER])
def test_a_misspelt_or_former_item_names_its_neighbours(misspelt: str, money: pl.DataFrame) -> None:
    """Wherever a chart takes an item or a ratio."""
    cure = rf"did you mean [^?]*'{FORMER.get(misspelt, 'equity_ratio')}'"
    with pytest.raises(fk.UsageError, match=cure):
        fk.plot_spread(money, misspelt)
    with pytest.raises(fk.UsageError, match=cure):
        fk.plot_history(money.head(1), misspelt)
    with pytest.raises(fk.UsageError, match=cure):
        fk.plot_map(money, value=misspelt)


def test_nothing_to_show(money: pl.DataFrame) -> None:
    """A sentence in the place of a picture."""
    none = money.filter(pl.col("reason").is_not_null())

    assert "Nothing to show." in written(fk.plot_spread(none, "equity", lang="en", ax=axes()))
    history = fk.plot_history(none.head(1), "equity", lang="sk", ax=axes())
    assert "Nie je čo zobraziť." in written(history)
