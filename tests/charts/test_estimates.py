"""Estimates as bars and maps: each interval is shown, and the title says how much was drawn."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, tiles
from finstat_kit.frames.counts import estimation
from tests.support.examples import slow
from tests.support.pictures import axes, bars, check_legible, own, tile_numbers, written

SAMPLE = fk.sample(3_000)
LANGS: list[Lang] = ["sk", "en"]
NUMBER = 2_620_000


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)


@functools.cache
def estimate(by: Any, lang: Lang, n: int = 900, number: int | None = None) -> pl.DataFrame:
    """Return an estimate from the sample, as it would be of a register of another size."""
    if number is None:
        return SAMPLE.estimate(by, n=n, lang=lang)
    drawn = estimate(by, lang, n)
    hits = (pl.col("share") * n).round().cast(pl.Int64)
    again = estimation.with_intervals(drawn.select("code", "label", "kind", hits=hits), n, number)
    return again.with_columns(by=pl.lit(by)).select(drawn.columns)


def intervals(ax: Axes) -> list[tuple[float, float]]:
    """Return the ends of the error bars, from the first bar on."""
    (container,) = (one for one in ax.containers if isinstance(one, ErrorbarContainer))
    (lines,) = container.lines[2]
    assert isinstance(lines, LineCollection)
    return [
        (float(path[0, 0]), float(path[-1, 0])) for path in map(np.asarray, lines.get_segments())
    ]


def test_error_bars_are_the_intervals() -> None:
    """Each bar is the estimate, its error bar the interval, both stand in numbers beside it."""
    table = estimate("kraj", "en")

    ax = fk.plot_counts(table, lang="en", ax=axes())

    labelled = table.filter(kind="labelled")
    ends = labelled.select("count_low", "count_high").rows()
    assert list(bars(ax).values())[: len(ends)] == labelled["count"].to_list()
    assert np.allclose(intervals(ax)[: len(ends)], ends)
    count, low, high = labelled.select("count", "count_low", "count_high").row(0)
    assert f"{count:,}  ({low:,}\u00a0–\u00a0{high:,})" in written(ax)
    assert ax.get_xlim()[1] > max(high for _, high in ends)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "number", "lang"),
    [("kraj", None, "en"), ("okres", NUMBER, "sk")],
)
def test_pictures_are_legible(by: Any, number: int | None, lang: Lang) -> None:
    """Bars and maps, of a small register and of one of the size of the real one."""
    table = estimate(by, lang, number=number)
    rows = 15 if by == "kraj" else 34

    check_legible(fk.plot_counts(table, by=by, lang=lang, ax=own(rows)))
    ax = fk.plot_map(table, by=by, lang=lang, ax=axes(*((8, 3.9) if by == "kraj" else (10, 6.4))))
    check_legible(ax)

    numbers = tile_numbers(ax)
    assert len(numbers) == len(tiles.LEVELS[by])
    assert not any("–" in text for text in numbers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "title"),
    [
        ("sk", "odhad z výberu 900 z celkovo 2 620 000 jednotiek"),
        *slow(("en", "estimate from 900 of 2,620,000 units")),
    ],
)
def test_the_title_says_how_much_was_drawn(lang: Lang, title: str) -> None:
    """In both charts; what the numbers are is said below."""
    table = estimate("kraj", lang, number=NUMBER)
    word = {"sk": "odhad počtu jednotiek", "en": "estimated number of units"}[lang]

    bars_, map_ = (plot(table, lang=lang, ax=axes()) for plot in (fk.plot_counts, fk.plot_map))

    for ax in (bars_, map_):
        assert ax.get_title().split("\n")[1].replace("\u00a0", " ") == title
    assert bars_.get_xlabel().startswith(word)
    legend = map_.get_legend()
    assert legend is not None
    assert legend.get_title().get_text().startswith(word)
    # Whoever has none of the columns of an estimate draws counts.
    ax = fk.plot_counts(table.drop("n"), lang=lang, ax=axes())
    assert "estimate" not in ax.get_title() + ax.get_xlabel()


@pytest.mark.slow
def test_all_units_are_no_estimate() -> None:
    """With n = N there is nothing to be unsure of, and the charts are those of counts."""
    table = SAMPLE.estimate(n=3_000, lang="en")
    units = SAMPLE.units.get(SAMPLE.units.ids())

    for plot in (fk.plot_counts, fk.plot_map):
        ax, known = (plot(frame, lang="en", ax=axes()) for frame in (table, units))
        told = re.sub(r"unknown codes \([0-9]+\)", "unknown codes", written(known))
        assert written(ax).split() == told.split()


@pytest.mark.slow
def test_kinds_of_estimates_are_named() -> None:
    """Ids without a record have a bar of their own, in both languages."""
    rows = [("SK010", None, None)] * 5 + [(None, None, "no record")] * 2
    schema = dict.fromkeys(("kraj", "stav", "problem"), pl.String)
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    for lang in LANGS:
        table = estimation.estimated(frame, "kraj", SAMPLE._lookup, 50, lang=lang)
        words = drawing.WORDS[lang]

        ax = fk.plot_counts(table, lang=lang, ax=axes())

        assert list(bars(ax))[-1] == words["no record"]
        told = fk.plot_map(table, lang=lang, ax=axes()).get_xlabel()
        assert words["no record"] in " ".join(told.split())


def test_what_is_no_estimate() -> None:
    """Frames that fk.estimate never makes are refused, with what would be drawn."""
    table = estimate("kraj", "en")
    for wrong in (
        pl.concat([table, SAMPLE.estimate(n=50, lang="en")]),
        table.with_columns(n=table["listed"] + 1),
    ):
        with pytest.raises(fk.UsageError, match=r"give one as fk\.estimate returns it"):
            fk.plot_counts(wrong)
    for column, value in (("code", 1), ("n", "a"), ("share", "a")):
        with pytest.raises(fk.UsageError, match=f"'{column}' is"):
            fk.plot_counts(table.with_columns(pl.lit(value).alias(column)))


def test_a_share_of_an_estimate_is_a_value_like_any_other() -> None:
    """Counts alone are called an estimate."""
    ax = fk.plot_map(estimate("kraj", "en"), value="share", lang="en", ax=axes(8, 3.9))

    assert ax.get_title().startswith("share by region")
    assert "estimate" not in written(ax)


def test_an_estimate_of_one_code_keeps_its_bar() -> None:
    """It is not told as if all units had that code."""
    table = estimate("kraj", "en").filter(code="SK010")

    ax = fk.plot_counts(table, lang="en", ax=axes())

    assert len(ax.patches) == 1
    assert "estimate from 900 of" in ax.get_title()
