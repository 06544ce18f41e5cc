"""Charts of last changes: stacks and panels that are the counts, colours, the unfinished period."""

from __future__ import annotations

import re
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
from finstat_kit.frames.counts.count_by import PERIODS
from tests.support.examples import slow
from tests.support.pictures import axes, check_legible
from tests.support.units import all_units

LANGS: list[Lang] = ["sk", "en"]


def panels(ax: Axes) -> dict[str, Axes]:
    """Return each panel by its heading."""
    return {
        one.get_title(loc="left").replace("\n", " "): one
        for one in ax.child_axes
        if isinstance(one, Axes)
    }


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
    """Return what is drawn of each series, in a stack or in panels."""
    if ax.get_legend() is not None:
        return {name: heights(outline) for name, outline in stacked(ax).items()}
    return {name: heights(*outlines(panel)) for name, panel in panels(ax).items()}


def hatched(ax: Axes) -> list[Any]:
    return [patch for patch in ax.patches if patch.get_hatch()]


@pytest.mark.parametrize("every", ["month", "year"])
def test_last_changes_are_the_counts(every: Any) -> None:
    """What is drawn of a period is what was last changed in it, by code."""
    changes = fk.count_by(all_units(), last_change=every)
    ax = fk.plot_last_changes(all_units(), every=every, ax=axes(9, 4.8))

    sizes = drawn_heights(ax)
    by_code = dict(changes.group_by("code").agg(pl.col("count").sum()).rows())
    short = "" if every == "month" else " kraj"
    assert (ax.get_legend() is None) == (every == "month")
    assert sum(sum(numbers) for numbers in sizes.values()) == all_units().height
    assert sum(sizes[f"Bratislavský{short}"]) == by_code["SK010"]
    assert sum(sizes["ostatné (2)"]) == by_code["SKZZ"] + by_code["SKZZZ"]
    bare = changes.filter(pl.col("kind") != "labelled")["count"].sum()
    assert sum(sizes["bez známeho kódu, zmazané, neverejné"]) == bare
    last = changes["period"].max()
    assert sum(numbers[-1] for numbers in sizes.values()) == (
        changes.filter(period=last)["count"].sum()
    )
    assert len(next(iter(sizes.values()))) >= changes["period"].n_unique()
    assert "Nie je to vývoj počtu zmien." in ax.get_xlabel()


@pytest.mark.parametrize(
    ("every", "field"),
    [
        ("month", "kraj"),
        *slow(
            *zip(PERIODS, ("okres", "pravnaForma", "kraj", "okres", "pravnaForma"), strict=False)
        ),
    ],
)
def test_last_changes_add_up_and_are_legible(every: Any, field: By) -> None:
    """No unit is lost, whatever the period and the code."""
    changes = fk.count_by(all_units(), field, last_change=every)
    ax = fk.plot_last_changes(all_units(), field, every=every, lang="en", ax=axes(9, 4.8))

    assert changes["count"].sum() == all_units().height
    check_legible(ax)


@pytest.mark.parametrize(
    ("size", "lang", "field"),
    [
        ((5, 4), "sk", "sidlo"),
        *slow(
            ((5, 4), "en", "velkostOrganizacie"),
            ((5, 4), "en", "kraj"),
            ((9, 4.8), "en", "sidlo"),
            ((14, 8), "sk", "kraj"),
        ),
    ],
)
def test_panels_are_legible_in_any_size(field: By, lang: Lang, size: tuple[float, float]) -> None:
    """Headings and labels of panels lie on nothing, in figures of any shape."""
    for every in ("day", "month"):
        check_legible(
            fk.plot_last_changes(all_units(), field, every=every, lang=lang, ax=axes(*size))
        )


@pytest.mark.parametrize(
    ("lang", "width", "height"),
    [
        ("sk", 9, 2.5),
        ("en", 5, 3.5),
        *slow(("sk", 4, 3), ("en", 5, 2.5), ("sk", 5, 3), ("en", 9, 3)),
    ],
)
def test_the_legend_lies_beside_the_axes_and_not_on_the_notes(
    lang: Lang, width: float, height: float
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


@pytest.mark.parametrize(
    ("lang", "field"), [("sk", "velkostOrganizacie"), *slow(("en", "okres"), ("en", "sidlo"))]
)
def test_panels_of_low_figures_are_legible(field: By, lang: Lang) -> None:
    """They are beside each other, and a scale of its own is written to its end."""
    units = all_units().filter(pl.col("datumPoslednejUpravy") >= date(2026, 1, 1))
    ax = fk.plot_last_changes(units, field, lang=lang, ax=axes(5, 3))

    check_legible(ax)
    scale = {"sk": r"ostatné .* iná mierka: do [\d\s]+$", "en": r"other .* other scale: to [\d,]+$"}
    assert any(re.match(scale[lang], heading) for heading in panels(ax))


def test_panels_begin_at_24_periods() -> None:
    """One stack too few is a stack still; panels share their scales."""
    months = [date(2024 + n // 12, n % 12 + 1, 5) for n in range(24)]
    frame = pl.DataFrame(
        {"datumPoslednejUpravy": months * 3, "kraj": (["SK010"] * 2 + ["SK021"]) * 24}
    )

    stack = fk.plot_last_changes(
        frame.filter(pl.col("datumPoslednejUpravy") < months[-1]), ax=axes()
    )
    apart = fk.plot_last_changes(frame, ax=axes())

    assert not panels(stack)
    assert stack.get_legend() is not None
    assert list(panels(apart)) == ["Bratislavský", "Trnavský"]
    assert not outlines(apart)
    assert len({(one.get_xlim(), one.get_ylim()) for one in panels(apart).values()}) == 1


@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_panels_of_fewer_than_five_units_are_named_instead(lang: Lang) -> None:
    """With their numbers; with five a code has a panel."""
    codes = ["SK010"] * 40 + ["SK021"] * 4 + ["SK022"] * 5
    day = pl.date(2024, 1, 5).dt.offset_by(pl.format("{}mo", pl.int_range(pl.len()) % 30))
    frame = pl.DataFrame({"kraj": codes}).with_columns(datumPoslednejUpravy=day)

    ax = fk.plot_last_changes(frame, lang=lang, ax=axes(9, 4.8))
    few = fk.plot_last_changes(frame.filter(kraj="SK021"), ax=axes())

    check_legible(ax)
    assert len(panels(ax)) == 2
    assert {"sk": "nezobrazené: Trnavský 4.", "en": "not drawn: Trnava 4."}[lang] in ax.get_xlabel()
    assert not panels(few)


def test_a_great_rest_flattens_nothing() -> None:
    """A sum that is higher than any code has a scale of its own, which its heading names."""
    few = fk.plot_last_changes(all_units(), "okres", every="year", lang="en", ax=axes(9, 4.8))

    found = panels(few)
    (name,) = [name for name in found if "other scale" in name]
    rest = found.pop(name)
    most = max(heights(*outlines(rest)))
    assert name == f"other (71) other scale: to {most:,.0f}"
    assert rest.get_ylim()[1] >= most
    assert len({one.get_ylim() for one in found.values()}) == 1
    greatest = max(max(heights(*outlines(one))) for one in found.values())
    assert greatest > 0.9 * next(iter(found.values())).get_ylim()[1]


def colour_of(ax: Axes, name: str) -> str:
    """Return the colour of a region, whether it is stacked or has a panel."""
    if ax.get_legend() is not None:
        return to_hex(stacked(ax)[name].get_facecolor())
    (outline,) = outlines(panels(ax)[name.removesuffix(" kraj")])
    return to_hex(outline.get_facecolor())


def test_a_colour_belongs_to_its_code() -> None:
    """The same in each selection, in stacks and in panels; no two codes share one."""
    regions = fk.regions()
    charts = [
        fk.plot_last_changes(all_units(), every="year", ax=axes(9, 4.8)),
        fk.plot_last_changes(all_units(), ax=axes(9, 4.8)),
        fk.plot_last_changes(all_units().filter(kraj="SK042"), every="year", ax=axes(9, 4.8)),
    ]

    for n, (code, name) in enumerate(regions.head(8).select("code", "name_sk").iter_rows()):
        for ax in charts[: 3 if code == "SK042" else 2]:
            assert colour_of(ax, name) == drawing.CODE_COLOURS[n]
    assert len(set(drawing.CODE_COLOURS)) == regions.height == len(drawing.CODE_COLOURS)


@pytest.mark.parametrize(
    ("today", "every", "sk", "en", "long"),
    [
        ("2026-06-15", "month", "do 15. júna", "to 15 June", True),
        ("2026-06-30", "quarter", None, None, True),
        ("2026-06-30", "year", "do 30. júna", "to 30 June", False),
        *slow(
            ("2026-06-30", "month", None, None, False),
            ("2026-06-30", "week", "do 30. júna", "to 30 June", False),
            ("2026-06-30", "day", None, None, True),
            ("2026-07-01", "month", None, None, True),
            ("2026-12-30", "year", "do 30. decembra", "to 30 December", True),
            ("2026-12-31", "year", None, None, False),
        ),
    ],
)
def test_the_unfinished_period_is_hatched(
    today: str, every: Any, sk: str | None, en: str | None, long: bool
) -> None:
    """By the register's day, in stacks and panels; a period that is over is not hatched."""
    register = fk.sample(10)
    register.set_today(today)
    days = [date(2026, 6, 10), date(2026, 6, 30)]
    days += [days[0] - timedelta(days=400 * n) for n in range(1, 27)] if long else []
    frame = pl.DataFrame({"datumPoslednejUpravy": days, "kraj": ["SK010"] * len(days)})

    for lang, to in zip(LANGS, (sk, en), strict=True):
        ax = fk.plot_last_changes(frame, every=every, register=register, lang=lang, ax=axes(9, 4.8))

        places = list(panels(ax).values()) or [ax]
        assert bool(panels(ax)) == long
        for place in places:
            assert len(hatched(place)) == (to is not None)
        if to is None:
            assert not any(word in ax.get_xlabel() for word in ("hatched", "šrafovaný"))
        else:
            assert ax.get_xlabel().endswith(f": {to}.")
            (patch,) = hatched(places[0])
            assert patch.get_x() + patch.get_width() == outlines(places[0])[0].get_data()[1][-1]
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

    below = ax.get_xlabel().replace("\n", " ")
    assert "Without a date of change (not shown): 1." in below
    assert "With a date outside the years 1990 to 2100 (not shown): 2." in below
    assert "53 units" in ax.get_title()
    assert sum(map(sum, drawn_heights(ax).values())) == 50
