"""Charts of figures: boxes, histories and medians are the numbers of the frame, and legible."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import finstat_kit as fk
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.values import drawn_table, figures
from finstat_kit.frames.financials import ratios
from tests.support.charts import PLACES as SAMPLE, of_2016
from tests.support.examples import slow
from tests.support.pictures import axes, check_legible, laid_out, tile_numbers, written

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


def spread(frame: pl.DataFrame, item: str, by: Grouping) -> pl.DataFrame:
    """Return the quartiles of each code, as they are drawn."""
    return drawn_table.of_spread(frame, item, by, "en", None).rows.rename({"value": "median"})


@pytest.fixture(scope="module")
def money() -> pl.DataFrame:
    return of_2016()


@pytest.fixture(scope="module")
def years() -> pl.DataFrame:
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=300))
    long = units.filter(pl.col("idUctovnychZavierok").list.len() >= 13)
    return SAMPLE.financials(long.head(14), from_previous=True)


@pytest.fixture(scope="module")
def two_years() -> pl.DataFrame:
    units = SAMPLE.units.get(SAMPLE.units.ids().sample(120, seed=2))
    return SAMPLE.financials(units, [2015, 2016], from_previous=True)


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)


def boxes(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_areas_of_two_groups_are_told_apart_in_grey() -> None:
    """By the hatch that the legend has, of boxes and bars; colours of a scale need none."""
    rows = [(unit, 2016, ("112", "121")[unit % 3 % 2], f"SK0{code}", float(unit), float(unit))
            for unit, code in enumerate(["10", "21", "22", "23"] * 20)]  # fmt: skip
    columns = ["unit_id", "year", "pravnaForma", "kraj", "x", "sales"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    summary = fk.summary(frame, "x", by=["pravnaForma", "kraj"])

    for ax in (fk.plot_spread(summary, value="x", by=["pravnaForma", "kraj"]),
               fk.plot_counts(summary, by=["pravnaForma", "kraj"])):  # fmt: skip
        legend = ax.get_legend()
        assert legend is not None
        hatches = {p.get_facecolor(): p.get_hatch() or "" for p in legend.get_patches()}
        assert len(hatches) == len(set(hatches.values())) == 4
        assert {p.get_facecolor(): p.get_hatch() or "" for p in boxes(ax)} == hatches
    assert not set(drawing.BLUES) & drawing.HATCHES.keys()


@pytest.mark.slow
def test_quartiles_are_those_of_plain_python(money: pl.DataFrame) -> None:
    """And the whiskers the deciles; every value is in n. Few units have only n."""
    table = fk.ratios(money)
    for row in spread(table, "equity_ratio", "kraj").iter_rows(named=True):
        values = sorted(table.filter(kraj=row["code"])["equity_ratio"].drop_nulls())
        assert (row["n"], row["units"]) == (len(values), len(values))
        if len(values) < 5:
            assert row["median"] is row["q1"] is row["high"] is None
            continue
        assert row["median"] == pytest.approx(statistics.median(values))
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        assert (row["q1"], row["q3"]) == pytest.approx((low, high))
        deciles = statistics.quantiles(values, n=10, method="inclusive")
        assert (row["low"], row["high"]) == pytest.approx((deciles[0], deciles[-1]))


@pytest.mark.slow
def test_a_ratio_is_computed_where_it_is_no_column(money: pl.DataFrame) -> None:
    """The same picture from financials as from ratios; a box for each region with enough units."""
    one = fk.plot_spread(money, value="net_margin", by="kraj", lang="en", ax=axes())
    other = fk.plot_spread(fk.ratios(money), value="net_margin", by="kraj", lang="en", ax=axes())

    assert written(one) == written(other)
    drawn = spread(fk.ratios(money), "net_margin", "kraj").filter(pl.col("n") >= 5)
    assert sorted(box.get_x() for box in boxes(one)) == pytest.approx(sorted(drawn["q1"]))
    assert "Without a value: " in written(one)
    assert "Net margin by region, 2016" in written(one)


def test_sizes_stand_in_their_order(money: pl.DataFrame) -> None:
    """Codes of fewer than five units are not among them, and are counted below."""
    ax = fk.plot_spread(money, value="total_assets", by="velkostOrganizacie", lang="sk", ax=axes())

    groups = spread(money, "total_assets", "velkostOrganizacie")
    few = groups.filter(pl.col("units") < 5)
    sizes = [label.get_text() for label in ax.get_yticklabels()]
    assert sizes[:3] == ["nezistený", "0 zamestnancov", "1 zamestnanec"]
    assert len(sizes) == groups.height - few.height < groups.height
    note = f"Kódy s menej ako 5 jednotkami, nezobrazené: {few.height} (n = {few['n'].sum()})."
    assert note in written(ax).replace("\n", " ")


@pytest.mark.parametrize("zeros", [188, 300])
def test_statistics_on_a_log_scale_are_of_all_values(zeros: int) -> None:
    """Only the drawing leaves out zeros and losses; a quartile at zero keeps the scale linear."""
    rising = [10.0 + n * n for n in range(1_000 - zeros)]
    values = {"SK010": [0.0] * (zeros - 8) + [-5.0] * 8 + rising, "SK021": [1.0, 2, 3, 4, 5]}
    frame = (
        pl.DataFrame({"kraj": list(values), "sales": list(values.values()), "unit_id": [[0], [1]]})
        .explode("sales")
        .with_columns(unit_id=pl.int_range(pl.len()))
    )

    ax = fk.plot_spread(frame, value="sales", lang="en", ax=axes())

    text = written(ax).replace("\n", " ")
    median = figures.written("sales", statistics.median(values["SK010"]), "en")
    assert f"{median}  (n = 1,000)" in text
    assert ax.get_title() == "Sales by region\n1,005 units"
    told = f"Logarithmic scale. Zeros and negative values, left of the chart: {zeros}."
    assert (ax.get_xscale(), told in text) == (("log", True) if zeros == 188 else ("linear", False))
    assert "Without a value" not in text
    whole = spread(frame, "sales", "kraj").filter(code="SK010").row(0, named=True)
    assert boxes(ax)[0].get_x() == pytest.approx(whole["q1"])
    assert ax.get_lines()[0].get_xdata()[0] == whole["low"] <= 0  # type: ignore[index]


@pytest.mark.slow
def test_everything_can_be_read(money: pl.DataFrame, years: pl.DataFrame) -> None:
    """Boxes, histories and a map in figures of their own."""
    units = years["unit_id"].unique(maintain_order=True)
    pictures: list[Callable[[], Axes]] = [
        lambda: fk.plot_spread(money, value="equity_ratio", lang="en"),
        lambda: fk.plot_spread(money, value="net_profit", by="okres", lang="en"),
        lambda: fk.plot_spread(money, value="total_assets", by="velkostOrganizacie", lang="en"),
        lambda: fk.plot_history(
            years.filter(unit_id=units[0]), value=["sales", "equity"], lang="en"
        ),
        lambda: fk.plot_history(
            years.filter(pl.col("unit_id").is_in(units[:3].implode())), value="roa", lang="en"
        ),
        lambda: fk.plot_map(money, by="okres", value="equity_ratio", lang="en"),
    ]
    for draw in pictures:
        ax = draw()
        check_legible(ax)
        plt.close(ax.figure)  # type: ignore[arg-type]


@pytest.mark.slow
def test_euro_is_written_as_the_language_does(money: pl.DataFrame) -> None:
    """In short: 1,2 mil. € and €1.2m."""
    large = money.with_columns(pl.col("total_assets") * 1_000)
    texts = {
        lang: written(fk.plot_spread(large, value="total_assets", lang=lang, ax=axes()))
        for lang in LANGS
    }

    assert "mil.\xa0€  (n = " in texts["sk"]
    assert "m  (n = " in texts["en"]


@pytest.mark.parametrize(
    ("value", "text", "by"),
    [
        (-3.0, "−€3", "kraj"),
        *slow((0.0, "€0", "kraj"), (7.0, "€7", "kraj"), (84_100.0, "€84k", "kraj")),
    ],
)
def test_numbers_on_an_axis_are_written_once(
    value: float, text: str, by: str, money: pl.DataFrame
) -> None:
    """Also where all units have the same, and zero has no sign."""
    same = money.with_columns(sales=pl.lit(value))

    ax = fk.plot_spread(same, value="sales", by=by, lang="en", register=SAMPLE)  # type: ignore[arg-type]

    texts = [label.get_text() for label in ax.get_xticklabels()]
    assert text in texts
    assert len(texts) == len(set(texts))
    assert not {"−€0", "-€0"} & set(texts)


@pytest.mark.slow
def test_a_district_of_few_is_grey(money: pl.DataFrame) -> None:
    """The median of fewer than five units is not shown."""
    values = fk.ratios(money).drop_nulls(["equity_ratio", "okres"])
    enough = {code for code in values["okres"] if values.filter(okres=code).height >= 5}
    table = spread(fk.ratios(money), "equity_ratio", "okres")
    ax = fk.plot_map(money, by="okres", value="equity_ratio", lang="en", ax=axes(10, 6.4))

    assert set(table.drop_nulls("median")["code"]) == enough
    tiled = table.filter(pl.col("code").str.len_chars() == 6)
    numbers = tile_numbers(ax)
    assert len(numbers) == 79
    shown = tiled.drop_nulls("median").height
    assert 0 < shown < 79
    assert sum(text != "–" for text in numbers) == shown
    grey = [b for b in boxes(ax) if b.get_facecolor()[:3] == pytest.approx((0.769,) * 3, abs=0.01)]
    assert len(grey) == 79 - shown
    assert drawing.NO_VALUE_COLOUR == "#c4c4c4"
    assert "fewer than 5 units with a value" in [t.get_text() for t in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert ax.get_title().startswith("Equity ratio (median) by district, 2016")


@pytest.mark.slow
def test_a_gap_is_a_gap(years: pl.DataFrame) -> None:
    """A year without a number breaks the line; marks show where a number is from."""
    current = years.filter(source_column="current")
    marked = current.filter(pl.col("supersedes") > 0, pl.col("total_assets").is_not_null())
    corrected = marked.filter(~pl.col("year").is_in([2014, 2016, 2017]))["unit_id"][0]
    own = years.filter(unit_id=corrected).drop_nulls("total_assets")
    cut = own.filter(~pl.col("year").is_in([2014, 2016, 2017]))

    ax = fk.plot_history(cut, value="total_assets", lang="en", ax=axes())

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


@pytest.mark.slow
def test_lines_are_named_at_their_ends(years: pl.DataFrame) -> None:
    """Each once, beside the axes and over nothing, also where all lines end at one value."""
    filled = years.drop_nulls("equity").group_by("unit_id").len().sort("len", "unit_id")
    units = years.filter(pl.col("unit_id").is_in(filled["unit_id"].tail(6).implode()))
    level = units.with_columns(equity=pl.when(pl.col("equity").is_not_null()).then(1_000.0))

    for frame in (units, level):
        ax = fk.plot_history(frame, value="equity", lang="sk", ax=axes(8, 3))

        check_legible(ax)
        names = sorted(" ".join(note.get_text().split()) for note in ax.texts)
        assert names == sorted(set(units["name"]))
        assert ax.get_legend() is None


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_names_of_lines_are_whole(lang: Lang, years: pl.DataFrame) -> None:
    """Also those of more than a line, and that of the unit."""
    unit = years.filter(unit_id=years.drop_nulls(["equity", "sales"])["unit_id"][0])
    name = "Obecná poľnohospodárska a lesná spoločnosť pri Hrone, s. r. o."
    items = ["sales", "liabilities_with_accruals", "net_profit"]

    ax = fk.plot_history(unit.with_columns(name=pl.lit(name)), value=items, lang=lang, ax=axes())

    check_legible(ax)
    drawn = {" ".join(note.get_text().split()) for note in ax.texts}
    assert drawn == {figures.called(item, lang) for item in items}
    assert name in ax.get_title().replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_the_title_of_a_narrow_history_ends_inside_the_figure(
    lang: Lang, years: pl.DataFrame
) -> None:
    """Its lines are shorter than the figure by the numbers beside the axes."""
    unit = years.filter(unit_id=years.drop_nulls("equity")["unit_id"][0])

    for letters in (12, 20, 26):
        named = unit.with_columns(name=pl.lit("n" * letters))
        check_legible(fk.plot_history(named, value="equity", lang=lang, ax=axes(4, 3)))


def test_a_break_in_a_line_is_noted_only_where_it_is(years: pl.DataFrame) -> None:
    """Not for years without a number before the first value and after the last."""
    unit = years.filter(months=12).drop_nulls("equity")
    unit = unit.filter(pl.col("unit_id") == unit["unit_id"][0]).unique("year").sort("year")
    assert unit.height >= 4
    whole = unit.with_columns(year=(pl.int_range(pl.len()) + 2010).cast(unit["year"].dtype))
    last, inner = (
        whole.with_columns(equity=pl.when(pl.col("year") != year).then("equity"))
        for year in (whole["year"][-1], whole["year"][1])
    )

    ended, broken = (fk.plot_history(frame, value="equity", lang="en", ax=axes())
                     for frame in (last, inner))  # fmt: skip

    assert "Where the line breaks" not in written(ended)
    assert "Where the line breaks" in written(broken)


def test_a_short_period_is_hatched(years: pl.DataFrame) -> None:
    """And told below."""
    short = years.filter(pl.col("months") < 12).drop_nulls("equity")
    unit = short["unit_id"][0]

    ax = fk.plot_history(years.filter(unit_id=unit), value="equity", lang="sk", ax=axes())

    assert [patch.get_hatch() for patch in ax.patches].count("///") >= 1
    assert "Šrafované: obdobie iné ako 12 mesiacov." in written(ax).replace("\n", " ")


def test_no_median_is_of_fewer_than_five_units() -> None:
    """However many years each has; of five there is one."""
    rows = [
        {"unit_id": unit, "year": year, "equity": 100.0 * unit, "kraj": kraj}
        for kraj, units in (("SK010", range(1, 5)), ("SK021", range(11, 16)))
        for unit in units
        for year in (2015, 2016)
    ]

    ax = fk.plot_spread(pl.DataFrame(rows), value="equity", by="kraj", lang="en", ax=axes())

    assert len(boxes(ax)) == 1
    ax = fk.plot_map(pl.DataFrame(rows), value="equity", by="kraj", lang="en", ax=axes())
    assert len([number for number in tile_numbers(ax) if "€" in number]) == 1


@pytest.mark.slow
def test_a_period_that_is_not_shown_is_named(years: pl.DataFrame) -> None:
    """Where two end in a year, below the chart and below the statement, with the one shown."""
    unit, year = years.filter(pl.col("periods_in_year") == 2).select("unit_id", "year").row(0)
    rows = years.filter(unit_id=unit)
    others = years.filter(pl.col("unit_id") != unit, ~(pl.col("periods_in_year") > 1))
    note = f"{year}: the period 1 January {year} – 31 December {year}; another one that ends"

    one = fk.plot_history(rows, value="equity", lang="en", ax=axes())
    two = pl.concat([rows, others.filter(unit_id=others["unit_id"][0])])
    of_two = fk.plot_history(two, value="equity", lang="en", ax=axes(12, 5))
    statement = SAMPLE.statement(unit, lang="en")

    texts = [written(one), written(of_two), *statement.notes]
    plain = [" ".join(text.split()) for text in texts]
    assert sum(note in text for text in plain) == 3
    assert f"{rows['name'][0]}, {note}" in plain[1]
    assert "another one" not in written(
        fk.plot_history(rows.filter(pl.col("year") != year), value="equity", lang="en", ax=axes())
    )


@pytest.mark.slow
def test_rows_of_a_unit_are_not_called_units(two_years: pl.DataFrame) -> None:
    """Counts are of units; statistics of unit-years, one row each, and the others are told."""
    each = two_years.unique(["unit_id", "year"])
    valued = two_years.drop_nulls("sales").unique(["unit_id", "year"]).drop_nulls("kraj")
    units = two_years["unit_id"].n_unique()
    assert units < each.height < two_years.height

    counts = fk.plot_counts(two_years, lang="en", ax=axes(8, 6))
    counted_map = fk.plot_map(two_years, lang="en", ax=axes())
    box = fk.plot_spread(two_years, value="sales", lang="en", ax=axes())
    tiles = fk.plot_map(two_years, value="sales", lang="en", ax=axes())
    slovak = fk.plot_map(two_years, value="sales", lang="sk", ax=axes())

    for ax in (counts, counted_map):
        assert ax.get_title().split("\n")[1].startswith(f"{units} units")
    number = f"{valued['unit_id'].n_unique()} units, {valued.height} unit-years"
    left_out = f"One row is taken per unit and year, left out: {two_years.height - each.height}."
    for ax in (box, tiles):
        assert number in ax.get_title()
        assert left_out in written(ax).replace("\n", " ")
    assert "n: unit-years." in written(box).replace("\n", " ")
    assert f"{valued.height} jednotkorokov" in slovak.get_title()


def test_many_years_of_few_units_are_few_units() -> None:
    """A median of six years of four units would be called one of a region."""
    years = range(2010, 2016)
    rows = [(unit, year, "SK010") for unit in range(4) for year in years]
    rows += [(10 + unit, 2015, "SK021") for unit in range(5)]
    frame = pl.DataFrame(rows, schema=["unit_id", "year", "kraj"], orient="row")
    frame = frame.with_columns(sales=pl.int_range(1, pl.len() + 1))

    box = fk.plot_spread(frame, value="sales", lang="en", ax=axes())
    tiles = fk.plot_map(frame, value="sales", lang="en", ax=axes())

    assert [label.get_text() for label in box.get_yticklabels()] == ["Trnava"]
    assert "Codes of fewer than 5 units, not shown: 1 (n = 24)." in written(box).replace("\n", " ")
    assert sum(text != "–" for text in tile_numbers(tiles)) == 1


@pytest.mark.slow
def test_a_year_alone_is_of_units(money: pl.DataFrame) -> None:
    """Nobody reads of unit-years where each unit stands once; a frame without ids has rows."""
    ax = fk.plot_spread(money, value="sales", lang="en", ax=axes())
    own = fk.plot_spread(money.drop("unit_id"), value="sales", lang="en", ax=axes())

    number = money.drop_nulls(["sales", "kraj"]).height
    assert f"\n{number} units" in ax.get_title()
    assert "unit-year" not in written(ax)
    assert "left out" not in written(ax)
    assert f"\n{number} rows" in own.get_title()


@pytest.mark.slow
@pytest.mark.parametrize("item", ["roe", *slow("sales")])
def test_map_and_boxes_tell_the_same(item: str, money: pl.DataFrame) -> None:
    """Their number of units, their medians, and the rows without a value by reason."""
    negative = pl.when(pl.int_range(pl.len()) % 7 == 0).then(-pl.col("equity")).otherwise("equity")
    money = money.with_columns(equity=negative)
    box = fk.plot_spread(money, value=item, lang="en", ax=axes(9, 9))
    tiles = fk.plot_map(money, value=item, lang="en", ax=axes())

    assert box.get_title().split("\n")[1] == tiles.get_title().split("\n")[1]
    rows = fk.ratios(money) if item in ratios.NUMBERS else money
    absent = rows.filter(pl.col(item).is_null())
    # Some of the texts, each with its number by a count of its own.
    expected = {
        "no filing": absent.filter(pl.col("reason").cast(pl.String).str.starts_with("no_filing")),
        "non-public": absent.filter(reason="non_public"),
        "PDF only": absent.filter(reason="attachments_only"),
    }
    if item == "roe":
        equity = (pl.col("equity") <= 0) & pl.col("net_profit").is_not_null()
        expected["negative or zero equity"] = money.filter(equity)
    for ax in (box, tiles):
        text = written(ax).replace("\n", " ")
        assert f"Without a value: {absent.height} (" in text
        for why, among in expected.items():
            assert among.height
            assert f"{why} {among.height}" in text
    numbers = re.search(r"Without a value: (\d+) \((.*?)\)", written(box).replace("\n", " "))
    assert numbers is not None
    told = [int(part.rsplit(" ", 1)[1]) for part in numbers[2].split(", ")]
    assert sum(told) == int(numbers[1]) == absent.height
    shown = {text for text in written(box).split("\n") if "(n = " in text}
    medians = {text.split("  (n")[0] for text in shown}
    assert set(tile_numbers(tiles)) - {"–"} <= medians
    # The same from ratios, which have no items.
    again = fk.plot_map(rows, value=item, lang="en", ax=axes())
    assert written(again) == written(tiles)


def test_an_item_that_a_form_lacks_is_not_called_blank(money: pl.DataFrame) -> None:
    """Form 687 has no row for net turnover, and none is expected of it."""
    micro = money.filter(pl.col("template") == 687, pl.col("reason").is_null())

    ax = fk.plot_spread(micro, value="net_turnover", lang="en", ax=axes())

    told = f"Without a value: {micro.height} (not on the form {micro.height})."
    assert told in written(ax).replace("\n", " ")


def test_below_a_map_of_medians_stand_counts_alone(money: pl.DataFrame) -> None:
    """No median of values off the map beside a number of units."""
    elsewhere = money.with_columns(
        kraj=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("SKZZ")).otherwise("kraj")
    )
    number = elsewhere.filter(kraj="SKZZ").drop_nulls("equity").height

    ax = fk.plot_map(elsewhere, value="equity", lang="en", ax=axes())

    below = ax.get_xlabel().replace("\n", " ")
    assert f"Not on the map: Abroad (SKZZ): {number} units;" in below
    assert "€" not in below


@pytest.mark.slow
def test_forms_that_are_not_comparable_are_told(money: pl.DataFrame) -> None:
    """In a value that holds something else on 687, where both are shown, with their numbers."""
    micro = pl.col("template") == 687
    present = fk.ratios(money).drop_nulls(["current_ratio", "kraj"])
    numbers = [present.filter(which).height for which in (micro, ~micro)]
    note = "Form 687 ({}) and the others ({}) are not comparable here.".format(*numbers)
    assert min(numbers) > 0

    def text(ax: Axes) -> str:
        return written(ax).replace("\n", " ")

    for item, frame, expected in (
        ("current_ratio", money, True),
        ("current_ratio", money.filter(micro), False),
        ("current_ratio", money.filter(~micro), False),
        ("roa", money, False),
    ):
        for ax in (
            fk.plot_spread(frame, value=item, lang="en", ax=axes()),
            fk.plot_map(frame, value=item, lang="en", ax=axes()),
        ):
            assert (note in text(ax)) is ("not comparable" in text(ax)) is expected
    assert "nie sú porovnateľné" in text(
        fk.plot_spread(money, value="liabilities", lang="sk", ax=axes())
    )
    for item, comparable in ratios.COMPARABLE.items():
        told = text(fk.plot_spread(money, value=item, lang="en", ax=axes()))
        assert f"Comparable: {figures.called(comparable, 'en')}." in told
        assert comparable not in told
        other = text(fk.plot_spread(money, value=comparable, lang="en", ax=axes()))
        assert "Comparable: " not in other


@pytest.mark.slow
def test_a_history_over_two_forms_tells_them(years: pl.DataFrame) -> None:
    """Of the item that differs, by its name."""
    micro = pl.col("template") == 687
    both = (micro.any() & (~micro).any()).over("unit_id")
    unit = years.drop_nulls("liabilities").filter(both)["unit_id"][0]

    ax = fk.plot_history(
        years.filter(unit_id=unit), value=["sales", "liabilities"], lang="en", ax=axes()
    )

    assert "Liabilities: form 687 (" in written(ax).replace("\n", " ")


@pytest.mark.parametrize("items", [["equity", "sales"], *slow("equity")])
def test_a_unit_without_filings_has_a_reason_instead_of_lines(items: str | list[str]) -> None:
    """And its name in the title."""
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=300))
    none = units.filter(pl.col("idUctovnychZavierok").is_null()).drop_nulls("nazovUJ")

    ax = fk.plot_history(SAMPLE.financials(none.head(1)), value=items, lang="en", ax=axes())

    assert "Nothing to show. Without a value: 1 (no filing 1)." in written(ax).replace("\n", " ")
    assert none["nazovUJ"][0] in ax.get_title()


@pytest.mark.parametrize(("item", "other"), [("roe", "roa")])
@pytest.mark.parametrize(
    "emptied",
    [
        lambda m: m.lazy().filter(pl.lit(value=False)),
        *slow(
            lambda m: m.head(3).with_columns(pl.lit(None).alias(name) for name in m.columns),
            lambda m: m.clear(),
        ),
    ],
)
def test_an_empty_frame_draws_a_sentence(
    emptied: Any, item: str, other: str, money: pl.DataFrame
) -> None:
    """Or an empty map; none ends in an error of a library."""
    frame = emptied(money)

    for ax in (
        fk.plot_spread(frame, value=item, lang="en", ax=axes()),
        fk.plot_history(frame, value=item, lang="en", ax=axes()),
        fk.plot_history(frame, value=[item, other], lang="en", ax=axes()),
    ):
        assert "Nothing to show." in written(ax)
    for ax in (fk.plot_map(frame, value=item, ax=axes()), fk.plot_map(frame, ax=axes())):
        assert set(tile_numbers(ax)) <= {"–", "0"}
    assert fk.plot_counts(frame, ax=axes()).get_title()


def test_individual_and_consolidated_figures_are_not_one_picture(money: pl.DataFrame) -> None:
    """The error names the filter."""
    both = pl.concat([money, money.with_columns(consolidated=pl.lit(value=True))])

    drawings: list[Callable[[], Axes]] = [
        lambda: fk.plot_spread(both, value="sales"),
        lambda: fk.plot_map(both, value="roa"),
        lambda: fk.plot_history(both, value="sales"),
    ]
    for draw in drawings:
        with pytest.raises(fk.UsageError, match=r'filter\(pl.col\("consolidated"\) == False\)'):
            draw()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda m: fk.plot_spread(m, value="below_crisis_ratio"),
            "'below_crisis_ratio' is of yes or no; give its mean",
        ),
        (lambda m: fk.plot_spread(m, value="revenue"), "'revenue' is not a column"),
        (lambda m: fk.plot_spread(m, value="name"), "'name' is String"),
        (lambda m: fk.plot_spread(m, value="equity", by=NO_CODE), "by='sidlisko'"),
        (lambda m: fk.plot_spread(m.drop("kraj"), value="equity"), "by='kraj' is not a column"),
        (lambda m: fk.plot_history(m, value="equity"), "give up to 12 items of up to 24 units"),
        (lambda m: fk.plot_history(m), "value=None is not allowed; give a name"),
        (lambda m: fk.plot_history(m, value="equity", statistic="sum"), "figures have none"),
        (lambda m: fk.plot_history(m.drop("months"), value="equity"), "no column 'months'"),
        (lambda m: fk.plot_history(m, value=[]), r"value=\[\] is not allowed; give a name"),
        (lambda m: fk.plot_history(m, value=NO_ITEM), "value=5 is not allowed; give a name"),
        (lambda m: fk.plot_history(m, value=["sales", "equity", "sales"]), "'sales' appears twice"),
        (
            lambda m: fk.plot_history(m, value=["roa", "equity"]),
            "'roa' is of the kind 'share', 'equity'",
        ),
        (lambda m: fk.plot_history(m, value=["sales", "ebitda", "current_ratio"]), "kind 'number'"),
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
        fk.plot_spread(money, value=misspelt)
    with pytest.raises(fk.UsageError, match=cure):
        fk.plot_history(money.head(1), value=misspelt)
    with pytest.raises(fk.UsageError, match=cure):
        fk.plot_map(money, value=misspelt)


def test_nothing_to_show(money: pl.DataFrame) -> None:
    """A sentence in the place of a picture."""
    none = money.filter(pl.col("reason").is_not_null())

    assert "Nothing to show." in written(fk.plot_spread(none, value="equity", lang="en", ax=axes()))
    history = fk.plot_history(none.head(1), value="equity", lang="sk", ax=axes())
    assert "Nie je čo zobraziť." in written(history)


def test_numbers_that_no_axis_can_hold_have_no_value() -> None:
    """They are left out as infinite ones are, and counted below."""
    x = [1.7e308, -1.7e308, 1e300, float("inf"), 1.0, 2.0, 3.0, 4.0, 5.0]
    frame = pl.DataFrame({"kraj": ["SK010"] * len(x), "x": x})

    ax = fk.plot_spread(frame, value="x", lang="en", ax=axes())

    assert "5 rows" in ax.get_title()
    assert "Without a value: 4." in ax.get_xlabel()
    check_legible(ax)


def shown_ticks(ax: Axes) -> tuple[list[str], list[str]]:
    """Return the years and the values that are written on the axes of a history."""
    laid_out(ax)
    axes_of = ((ax.xaxis, ax.get_xlim(), 0), (ax.yaxis, ax.get_ylim(), 1))
    years, values = (
        [
            label.get_text()
            for label in axis.get_ticklabels()
            if low <= label.get_position()[at] <= high
        ]
        for axis, (low, high), at in axes_of
    )
    return years, values


@pytest.mark.slow
@pytest.mark.parametrize("months", [12, 8])
def test_a_single_year_is_the_only_one_on_its_axis(months: int, years: pl.DataFrame) -> None:
    """Neither a part of it, nor decades around it; the same of a short period."""
    row = years.drop_nulls("equity").head(1).with_columns(months=pl.lit(months, pl.Int16))

    ax = fk.plot_history(row, value="equity", lang="en", ax=axes())

    assert shown_ticks(ax)[0] == [str(row["year"][0])]
    middle = sum(ax.get_xlim()) / 2
    assert middle == pytest.approx(row["year"][0])


@pytest.mark.parametrize("item", ["net_profit", *slow("roa")])
def test_the_values_on_an_axis_differ(item: str, years: pl.DataFrame) -> None:
    """Negative ones close together have as many decimals as that takes."""
    unit = years["unit_id"][0]
    close = -1_234_000 - pl.col("year") if item == "net_profit" else -1 - pl.col("year") / 1e8
    frame = years.filter(unit_id=unit).with_columns(close.cast(pl.Float64).alias(item))

    _, values = shown_ticks(fk.plot_history(frame, value=item, lang="en", ax=axes()))

    assert len(set(values)) == len(values) > 2
    assert all(value.startswith("−") for value in values)


@pytest.mark.slow
def test_years_are_whole_in_any_style(years: pl.DataFrame) -> None:
    """Also in those whose axes take a number from all labels and write it at the end."""
    frame = years.filter(unit_id=years["unit_id"][0]).drop_nulls("equity")

    with plt.style.context("classic"):
        drawn, _ = shown_ticks(fk.plot_history(frame, value="equity", lang="en", ax=axes()))

    assert len(drawn) > 2
    assert all(re.fullmatch(r"20\d\d", year) for year in drawn)
