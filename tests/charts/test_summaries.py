"""Charts of summaries, of distributions and of one unit among others: the numbers of the frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.values import figures
from tests.support.charts import PLACES as SAMPLE, of_2016
from tests.support.examples import quick, slow
from tests.support.pictures import axes, check_legible, tile_numbers, written

LANGS: list[Lang] = ["sk", "en"]
COUNTED = SAMPLE.count_by(pl.DataFrame({"kraj": ["SK010"]}))


@pytest.fixture(scope="module")
def money() -> pl.DataFrame:
    return of_2016()


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)


def text(ax: Axes) -> str:
    return written(ax).replace("\n", " ")


def xs(line: Line2D) -> list[float]:
    return [float(x) for x in np.asarray(line.get_xdata(), dtype=np.float64)]


def boxes(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


@pytest.mark.slow
def test_a_summary_is_drawn_with_what_it_covers(money: pl.DataFrame) -> None:
    """As bars, boxes and tiles: its own groups, and n of all units in the title."""
    summary = fk.summary(money, "sales", by="kraj")
    n, units = int(summary["n"].sum()), int(summary["units"].sum())
    covered = f"{n} z celkovo {units} jednotiek"

    bars = fk.plot_counts(summary, lang="sk", ax=axes(9, 6))
    spread = fk.plot_spread(summary, value="sales", lang="sk", ax=axes(9, 6))
    tiles = fk.plot_map(summary, value="sales", statistic="sum", lang="sk", ax=axes(9, 6))

    for ax in (bars, spread, tiles):
        assert covered in ax.get_title()
        assert "2016" in ax.get_title()
        check_legible(ax)
    enough = summary.drop_nulls("kraj").filter(pl.col("n") >= 5)
    assert {round(box.get_x(), 4) for box in boxes(spread)} >= {round(x, 4) for x in enough["p25"]}
    assert max(box.get_width() for box in boxes(bars)) == summary["n"].max()
    assert len(tile_numbers(tiles)) == 8


@pytest.mark.parametrize(
    ("lang", "item"), [("en", "sales"), *slow(("sk", "tržby z predaja tovaru, výrobkov a služieb"))]
)
def test_under_a_title_of_ones_own_the_notes_say_what_is_drawn(
    lang: Lang, item: str, money: pl.DataFrame
) -> None:
    """The item, the groups and the year; the title may have none of them."""
    summary = fk.summary(money, "sales", by="kraj")
    by = {"sk": " podľa kraja", "en": " by region"}[lang]
    given: Any = {"title": "Nadpis", "lang": lang}
    drawings = {
        fk.plot_spread(money, value="sales", **given, ax=axes()): f"{by}, 2016.",
        fk.plot_spread(summary, value="sales", **given, ax=axes()): f"{by}, 2016.",
        fk.plot_map(summary, **given, ax=axes()): f"{by}, 2016.",
        fk.plot_counts(summary, **given, ax=axes()): f"{by}, 2016.",
        fk.plot_history(money.head(1), value="sales", **given, ax=axes()): "",
    }

    for ax, end in drawings.items():
        note = text(ax).lower()
        assert item in note
        assert end in note
        assert "2016" not in ax.get_title()
        check_legible(ax)


@pytest.mark.parametrize("statistic", ["sum", *slow("n", None)])
def test_a_statistic_is_the_same_of_figures_as_of_their_summary(
    statistic: str | None, money: pl.DataFrame
) -> None:
    """Value and statistic are named alike, and the tiles show the column of the summary."""
    summary = fk.summary(money, ["sales", "equity"])
    given: Any = {"value": "sales", "statistic": statistic, "lang": "en"}

    of_figures = fk.plot_map(money, **given, ax=axes())
    of_summary = fk.plot_map(summary, **given, ax=axes())

    assert tile_numbers(of_figures) == tile_numbers(of_summary)
    column = summary.filter(value="sales").sort("kraj")[statistic or "median"]
    largest = column.max()
    assert isinstance(largest, float | int)
    shown = figures.written("sales", largest, "en") if statistic != "n" else str(largest)
    assert shown in tile_numbers(of_figures)


def test_a_statistic_is_of_figures_and_of_one_year(money: pl.DataFrame) -> None:
    """Numbers of units and values by code have none; the error says what to do."""
    several = pl.concat([money, money.with_columns(year=pl.lit(2017, pl.Int32))])
    rates = pl.DataFrame({"code": ["SK010"], "rate": [1.5]})

    with pytest.raises(fk.UsageError, match=r"column 'year': \[2016, 2017\]; take one of them"):
        fk.plot_map(several, value="sales", statistic="sum")
    for frame, value in ((money, None), (rates, "rate")):
        with pytest.raises(fk.UsageError, match=r"statistic='sum': these values have none"):
            fk.plot_map(frame, value=value, statistic="sum")
    with pytest.raises(fk.UsageError, match=r"statistic='total' is not known.*'sum'"):
        fk.plot_map(money, value="sales", statistic="total")


def test_groups_of_two_stand_in_the_order_of_their_weighted_means() -> None:
    """A region of many units with small values goes after one of few units with large ones.

    By the mean of medians, not weighted, they would stand the other way round.
    """
    # By region and section: how many units, and the value of all of them.
    units = {
        ("SK010", "62010"): (50, 10.0), ("SK010", "47110"): (5, 100.0),
        ("SK021", "62010"): (5, 40.0), ("SK021", "47110"): (5, 50.0),
    }  # fmt: skip
    rows = [(*codes, x) for codes, (many, x) in units.items() for _ in range(many)]
    frame = pl.DataFrame(rows, schema=["kraj", "skNace", "x"], orient="row")
    frame = frame.with_columns(unit_id=pl.int_range(pl.len()), year=2024, nace=pl.lit("2"))

    ax = fk.plot_spread(frame, value="x", by=["kraj", "section"], lang="en", ax=axes(9, 6))

    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["Trnava", "Bratislava"]


@pytest.mark.slow
def test_two_groups_stand_side_by_side(money: pl.DataFrame) -> None:
    """One name per code of the first, one colour per code of the second, in the order of both."""
    fields: Any = ["age", "size_by_law"]
    pairs = fk.summary(money, "sales", by=fields)
    enough = {"bars": pairs.filter(pl.col("n") > 0), "boxes": pairs.filter(pl.col("n") >= 5)}
    drawn = {
        "bars": fk.plot_counts(pairs, lang="en", ax=axes(9, 9)),
        "boxes": fk.plot_spread(pairs, value="sales", by=fields, lang="en", ax=axes(9, 9)),
    }

    for kind, ax in drawn.items():
        check_legible(ax)
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert names[0] == "0–1 years"
        assert names.count("5–9 years") == 1
        legend = ax.get_legend()
        assert legend is not None
        colours = {
            entry.get_text(): patch.get_facecolor()
            for entry, patch in zip(legend.get_texts(), legend.get_patches(), strict=True)
        }
        micro = [box for box in boxes(ax) if box.get_facecolor() == colours["micro"]]
        assert len(boxes(ax)) == enough[kind].height
        assert len(micro) == enough[kind].filter(size_by_law="micro").height
        assert "by age and size group" in text(ax)


@pytest.mark.slow
def test_whiskers_and_order_are_those_of_a_summary(money: pl.DataFrame) -> None:
    """A picture of figures is that of their summary, by one group and by two."""
    for by in ("section", ["kraj", "age"]):
        fields: Any = by
        summary = fk.summary(money, "sales", by=fields)

        of_figures = fk.plot_spread(money, value="sales", by=fields, lang="en", ax=axes(9, 12))
        of_summary = fk.plot_spread(summary, value="sales", by=fields, lang="en", ax=axes(9, 12))

        lines = [[xs(line) for line in ax.lines] for ax in (of_figures, of_summary)]
        assert np.concatenate(lines[0]) == pytest.approx(np.concatenate(lines[1]))
        named = [[label.get_text() for label in ax.get_yticklabels()]
                 for ax in (of_figures, of_summary)]  # fmt: skip
        assert named[0] == named[1]
        assert "whiskers: 10th to 90th percentile" in text(of_figures)


def test_the_colours_of_ages_are_shades_of_one(money: pl.DataFrame) -> None:
    """Older is darker, and the median is seen on each; groups without an order differ in hue."""
    fields: Any = ["kraj", "age"]
    ax = fk.plot_spread(money, value="sales", by=fields, lang="en", ax=axes(9, 12))

    legend = ax.get_legend()
    assert legend is not None
    colours = [to_hex(patch.get_facecolor()) for patch in legend.get_patches()]
    assert [drawing.contrast(colour, "white") for colour in colours] == sorted(
        drawing.contrast(colour, "white") for colour in colours
    )
    assert all(to_rgb(colour)[2] == max(to_rgb(colour)) for colour in colours)
    medians = [line for line in ax.lines if len(set(xs(line))) == 1]
    of_boxes = zip(boxes(ax), medians, strict=True)
    assert all(
        drawing.contrast(str(line.get_color()), to_hex(box.get_facecolor())) > 3
        for box, line in of_boxes
    )


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_units_without_figures_have_no_size(lang: Lang, money: pl.DataFrame) -> None:
    """No title counts them among the units of a size; titles and notes say how many there are."""
    bare = money.filter(pl.col("reason").is_not_null()).height
    fields: Any = ["kraj", "size_by_law"]
    sizes = fk.summary(money, "equity_ratio", by="size_by_law")
    pairs = fk.summary(money, "equity_ratio", by=fields)
    drawn = pairs.drop_nulls(fields).filter(pl.col("n") > 0)
    in_drawn = bare - money.filter(
        pl.col("reason").is_not_null(), ~pl.col("kraj").is_in(drawn["kraj"].implode())
    ).height  # fmt: skip
    written_as = {"en": "{n} units without figures have no size",
                  "sk": "bez údajov, a preto bez veľkosti: {n} jednotiek"}[lang]  # fmt: skip

    titles = {
        fk.plot_counts(sizes, by="size_by_law", lang=lang, ax=axes(9, 6)): (sizes, bare),
        fk.plot_spread(drawn, value="equity_ratio", by=fields, lang=lang, ax=axes(9, 9)): (
            drawn, in_drawn
        ),
    }  # fmt: skip
    of_figures: Any = {"by": "size_by_law", "lang": lang}
    notes = [
        fk.plot_counts(money, **of_figures, ax=axes(9, 6)),
        fk.plot_spread(money, value="equity_ratio", **of_figures, ax=axes(9, 6)),
    ]

    for ax, (summary, number) in titles.items():
        title = ax.get_title().replace("\n", " ")
        assert written_as.format(n=number) in title
        assert f"{summary['n'].sum()} {'units' if lang == 'en' else 'jednotiek'};" in title
        check_legible(ax)
    bars, of_boxes = notes
    assert {"en": "without figures", "sk": "bez údajov"}[lang] + f": {bare}." in text(bars)
    assert written_as.format(n=bare).lower() in text(of_boxes).lower()
    for ax in notes:
        check_legible(ax)
    assert "bez údajov" not in text(
        fk.plot_spread(money, value="equity_ratio", lang=lang, ax=axes())
    )


BESIDE_REASONS: dict[str, Callable[[pl.DataFrame], Axes]] = {
    "boxes": lambda frame: fk.plot_spread(frame, value="turnover", lang="en", ax=axes(9, 6)),
    "map": lambda frame: fk.plot_map(frame, value="turnover", lang="en", ax=axes(9, 6)),
    "summary": lambda frame: fk.plot_counts(fk.summary(frame, "turnover"), lang="en", ax=axes()),
}


@pytest.mark.parametrize("chart", ["map", *slow("boxes", "summary")])
def test_a_value_beside_a_reason_is_not_drawn(chart: str, money: pl.DataFrame) -> None:
    """A sum over nothing is 0: what is drawn is that of the figures, and the note has the rest."""
    own = money.with_columns(turnover=pl.sum_horizontal("sales", "net_turnover"))
    filed = own.filter(pl.col("reason").is_null())
    left_out = own.height - filed.height
    assert own["turnover"].null_count() == 0 < left_out

    whole, part = (BESIDE_REASONS[chart](frame) for frame in (own, filed))

    assert f"Without a value: {left_out} (" in text(whole)
    assert "Without a value" not in text(part)
    assert f"{filed.height} " in whole.get_title()
    assert [(box.get_x(), box.get_width()) for box in boxes(whole)] == [
        (box.get_x(), box.get_width()) for box in boxes(part)
    ]
    assert [label.get_text() for label in whole.texts] == [label.get_text() for label in part.texts]


@pytest.mark.slow
def test_a_history_has_no_point_beside_a_reason(money: pl.DataFrame) -> None:
    """The note names the reason."""
    unit = money.filter(pl.col("reason").is_null())["unit_id"][0]
    company = SAMPLE.financials([unit], [2015, 2016, 2026])
    own = company.with_columns(turnover=pl.sum_horizontal("sales", "net_turnover"))
    assert own.filter(year=2026)["turnover"].item() == 0

    ax = fk.plot_history(own, value="turnover", lang="en", ax=axes())

    years = {x for line in ax.lines for x in xs(line)}
    assert 2016 in years
    assert 2026 not in years
    assert "no filing" in text(ax)


def test_a_summary_without_rows_has_nothing_to_show(money: pl.DataFrame) -> None:
    """In each chart, under the title of its groups."""
    regions = fk.summary(money.filter(pl.col("year") < 0), "sales", by="kraj")

    for draw in (fk.plot_counts, fk.plot_map, lambda s, **o: fk.plot_spread(s, value="sales", **o)):
        ax = draw(regions, lang="en", ax=axes())

        heading, units = ax.get_title().split("\n")
        assert heading in ("Units with a value by region", "(median) by region", "Sales by region")
        assert units == "0 of 0 units"


@pytest.mark.slow
def test_bars_of_a_summary_fit_into_small_axes(money: pl.DataFrame) -> None:
    """As those of counts do; a note has the number of the others."""
    summary = fk.summary(money, "sales", by="section")
    large, small = (fk.plot_counts(summary, ax=axes(8, height)) for height in (9, 2.5))

    assert len(boxes(small)) < len(boxes(large)) == summary.filter(pl.col("n") > 0).height
    left_out = sum(b.get_width() for b in boxes(large)) - sum(b.get_width() for b in boxes(small))
    assert f"(jednotiek: {left_out:.0f})." in text(small)
    check_legible(small)


@pytest.mark.slow
def test_bars_of_a_summary_are_of_the_value_that_is_named(money: pl.DataFrame) -> None:
    """As if there was no other; one alone need not be named."""
    several, alone = fk.summary(money, ["roa", "sales"]), fk.summary(money, "sales")

    assert written(fk.plot_counts(several, value="sales", ax=axes())) == written(
        fk.plot_counts(alone, ax=axes())
    )


@pytest.mark.parametrize(
    ("draw", "message"),
    quick(
        [
            (lambda s: fk.plot_spread(s, value="sales"), r"several entries in the column 'year'"),
            (
                lambda s: fk.plot_counts(s.filter(year=2016)),
                r"several entries in the column 'value'",
            ),
            (lambda s: fk.plot_spread(s, value="roe"), r"value='roe' is not in the summary"),
            (lambda s: fk.plot_map(s.filter(year=2016, value="roa")), r"was made by \['section'\]"),
            (
                lambda s: fk.plot_map(s.filter(year=2016), value="sum"),
                r"give statistic='sum'; value= is",
            ),
            (
                lambda s: fk.plot_map(s.filter(year=2016)),
                r"in the column 'value'.*; name one: value='",
            ),
            (lambda s: fk.plot_counts(s, value="roe"), r"value='roe' is not in the summary"),
            (
                lambda _: fk.plot_counts(COUNTED, value="roe"),
                "only a summary says of which value; leave",
            ),
            (
                lambda s: fk.plot_spread(s, value="roa", by="okres"),
                r"by='okres': the summary was made by",
            ),
            (
                lambda s: fk.plot_map(s.filter(value="roa"), by="okres", statistic="sum"),
                r"was made by \['section'\]",
            ),
        ],
        4,
    ),
)
def test_a_chart_is_of_one_value_and_year(draw: Any, message: str, money: pl.DataFrame) -> None:
    """Of several the error names the filter."""
    several = pl.concat([money, money.with_columns(year=pl.lit(2017, pl.Int32))])
    summary = fk.summary(several, ["sales", "roa"], by="section")

    with pytest.raises(fk.UsageError, match=message):
        draw(summary)


@pytest.mark.slow
def test_forms_that_differ_are_named_in_a_summary_too(money: pl.DataFrame) -> None:
    """With what the comparable ratio is called."""
    summary = fk.summary(money, "current_ratio")
    english, slovak = (fk.plot_map(summary, lang=lang, ax=axes(9, 6)) for lang in LANGS[::-1])

    told = "are not comparable here. Comparable: current ratio comparable across forms."
    assert told in text(english)
    assert "Porovnateľné: bežná likvidita porovnateľná medzi výkazmi." in text(slovak)


def test_most_units_without_a_size_group_filed_nothing(money: pl.DataFrame) -> None:
    """A note says how many of the bar have no figures."""
    ax = fk.plot_counts(money, by="size_by_law", lang="en", ax=axes())

    bare = money.filter(pl.col("reason").is_not_null()).height
    counts = SAMPLE.count_by(money, "size_by_law").filter(kind="no code")["count"].item()
    assert f"No code: {counts}, of which without figures: {bare}." in text(ax)
