"""Charts of last changes: stacks that are the counts, colours, empty years, the last period."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

import finstat_kit as fk
from finstat_kit.arguments import By, Lang
from finstat_kit.charts.parts import drawing
from tests.support.examples import slow
from tests.support.pictures import axes, check_legible, notes
from tests.support.units import all_units

LANGS: list[Lang] = ["sk", "en"]


def outlines(ax: Axes) -> list[StepPatch]:
    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def heights(outline: StepPatch) -> list[float]:
    values, _, baseline = outline.get_data()
    return [float(height) for height in values - (0 if baseline is None else baseline)]


def stacked(ax: Axes) -> dict[str, StepPatch]:
    """Return each outline of a stack by its name in the legend."""
    legend = ax.get_legend()
    assert legend is not None
    names = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
    return dict(zip(names[::-1], outlines(ax), strict=True))


def drawn_heights(ax: Axes) -> dict[str, list[float]]:
    """Return what is drawn of each series."""
    return {name: heights(outline) for name, outline in stacked(ax).items()}


def hatched(ax: Axes) -> list[Any]:
    return [patch for patch in ax.patches if patch.get_hatch()]


@pytest.mark.parametrize("every", ["month", "year"])
def test_last_changes_are_the_counts(every: Any) -> None:
    """What is drawn of a period is what was last changed in it, by code."""
    units = all_units().filter(pl.col("datumPoslednejUpravy") >= date(2025, 1, 1))
    changes = fk.count_by(units, last_change=every)
    ax = fk.plot_last_changes(units, every=every, ax=axes(9, 4.8))

    sizes = drawn_heights(ax)
    by_code = dict(changes.group_by("code").agg(pl.col("count").sum()).rows())
    named = [name for name in sizes if name.endswith(" kraj")]
    assert len(named) == 5
    assert list(sizes)[5:] == ["ostatné (5)", "bez známeho kódu, zmazané, neverejné"]
    assert sum(sum(numbers) for numbers in sizes.values()) == units.height
    assert sum(sizes["Bratislavský kraj"]) == by_code["SK010"]
    bare = changes.filter(pl.col("kind") != "labelled")["count"].sum()
    assert sum(sizes["bez známeho kódu, zmazané, neverejné"]) == bare
    last = changes["period"].max()
    assert sum(numbers[-1] for numbers in sizes.values()) == (
        changes.filter(period=last)["count"].sum()
    )
    assert len(next(iter(sizes.values()))) >= changes["period"].n_unique()
    assert "Nie je to vývoj počtu zmien: " in ax.get_xlabel()


@pytest.mark.parametrize(
    ("every", "field"), [("month", "kraj"), *slow(("day", "okres"), ("quarter", "pravnaForma"))]
)
def test_last_changes_add_up_and_are_legible(every: Any, field: By) -> None:
    """No unit is lost, whatever the period and the code."""
    changes = fk.count_by(all_units(), field, last_change=every)
    ax = fk.plot_last_changes(all_units(), field, every=every, lang="en", ax=axes(9, 4.8))

    assert changes["count"].sum() == all_units().height
    check_legible(ax)


@pytest.mark.parametrize(
    ("width", "height", "lang"),
    [(9, 2.5, "sk"), *slow((5, 3.5, "en"), (4, 3, "sk"), (5, 2.5, "en"))],
)  # fmt: skip
def test_the_legend_lies_beside_the_axes_and_not_on_the_notes(
    width: float, height: float, lang: Lang
) -> None:
    """Where the figure is too low for all series, fewer codes are separate ones."""
    units = all_units().filter(pl.col("datumPoslednejUpravy") >= date(2026, 1, 1))
    ax = fk.plot_last_changes(units, lang=lang, ax=axes(width, height))

    renderer = check_legible(ax)
    legend = ax.get_legend()
    assert legend is not None
    box = legend.get_window_extent(renderer)
    assert not box.overlaps(ax.xaxis.label.get_window_extent(renderer))
    assert box.y0 > 0
    # A legend as high as the figure would leave no height to the axes.
    assert ax.get_window_extent(renderer).height > 0.25 * ax.figure.bbox.height
    assert sum(map(sum, drawn_heights(ax).values())) == units.height


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", *slow("sk")])
def test_nearly_empty_years_before_others_are_cut(lang: Lang) -> None:
    """With more than 24 periods, and with a note of the number; not those between full ones."""
    years = [2019] * 3 + [2022] * 200 + [2023] * 3 + [2024] * 100 + [2025] * 20 + [2026] * 2
    days = [date(year, 1 + n % 6, 5) for n, year in enumerate(years)]
    frame = pl.DataFrame({"datumPoslednejUpravy": days, "kraj": ["SK010", "SK021"] * 164})

    months = fk.plot_last_changes(frame, lang=lang, ax=axes(9, 4.8))
    by_year = fk.plot_last_changes(frame, every="year", lang=lang, ax=axes(9, 4.8))

    told = {"sk": "pred rokom 2022 (nezobrazené): 3.", "en": "before 2022 (not shown): 3."}[lang]
    assert told in notes(months)
    (drawn,) = {len(numbers) for numbers in drawn_heights(months).values()}
    assert drawn == 4 * 12 + 4
    assert sum(map(sum, drawn_heights(months).values())) == 325
    assert "2022" not in notes(by_year)
    assert sum(map(sum, drawn_heights(by_year).values())) == 328
    check_legible(months)


def test_a_colour_belongs_to_its_code() -> None:
    """The same in each selection; a long codelist has the first colours, no two of them equal."""
    regions = fk.regions()
    few = all_units().filter(pl.col("kraj").is_in(["SK042", "SK023"]))
    charts = [
        fk.plot_last_changes(units, every="year", ax=axes(9, 4.8)) for units in (all_units(), few)
    ]

    seen = 0
    for n, (code, name) in enumerate(regions.select("code", "name_sk").iter_rows()):
        for ax in charts:
            if name in stacked(ax):
                seen += 1
                assert to_hex(stacked(ax)[name].get_facecolor()) == drawing.CODE_COLOURS[n], code
    assert seen == 5 + 2
    districts = stacked(fk.plot_last_changes(all_units(), "okres", every="year", ax=axes(9, 4.8)))
    colours = [to_hex(outline.get_facecolor()) for outline in districts.values()]
    assert colours[:5] == list(drawing.CODE_COLOURS[:5])
    assert len(set(drawing.CODE_COLOURS)) == len(drawing.CODE_COLOURS) >= regions.height


@pytest.mark.parametrize(
    ("today", "every", "sk", "en", "long"),
    [
        ("2026-06-15", "month", "do 15. júna", "to 15 June", True),
        *slow(
            ("2026-06-30", "quarter", None, None, True),
            ("2026-06-30", "year", "do 30. júna", "to 30 June", True),
            ("2026-06-30", "week", "do 30. júna", "to 30 June", False),
            ("2026-06-30", "day", None, None, False),
            ("2026-12-31", "year", None, None, False),
        ),
    ],
)
def test_the_unfinished_period_is_hatched(
    today: str, every: Any, sk: str | None, en: str | None, long: bool
) -> None:
    """By the register's day, among few periods and many; a period that is over is not hatched."""
    register = fk.sample(10)
    register.set_today(today)
    days = [date(2026, 6, 10), date(2026, 6, 30)]
    days += [days[0] - timedelta(days=400 * n) for n in range(1, 27)] if long else []
    frame = pl.DataFrame({"datumPoslednejUpravy": days, "kraj": ["SK010"] * len(days)})

    for lang, to in zip(LANGS, (sk, en), strict=True):
        ax = fk.plot_last_changes(frame, every=every, register=register, lang=lang, ax=axes(9, 4.8))

        assert len(hatched(ax)) == (to is not None)
        if to is None:
            assert not any(word in ax.get_xlabel() for word in ("hatched", "šrafovaný"))
        else:
            assert f": {to}." in ax.get_xlabel()
            (patch,) = hatched(ax)
            assert patch.get_x() + patch.get_width() == outlines(ax)[0].get_data()[1][-1]
        check_legible(ax)


@pytest.mark.parametrize("every", ["day", "year"])
def test_days_that_cannot_be_right_are_counted_below(every: Any) -> None:
    """Neither the end of the calendar nor its beginning is an end of the axis."""
    slips = [date(9999, 12, 31), date(1, 1, 1), None]
    units = (
        all_units()
        .head(53)
        .with_columns(datumPoslednejUpravy=pl.Series([*slips, *[date(2026, 3, 2)] * 50]))
    )

    ax = fk.plot_last_changes(units, every=every, lang="en", ax=axes())

    below = notes(ax)
    assert "Without a date of change (not shown): 1." in below
    assert "With a date outside the years 1990 to 2100 (not shown): 2." in below
    assert "53 units" in ax.get_title()
    assert sum(map(sum, drawn_heights(ax).values())) == 50
