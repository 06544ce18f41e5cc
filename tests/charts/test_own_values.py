"""Comparisons of two counts as bars and maps."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest
from matplotlib.colors import to_hex

import finstat_kit as fk
from finstat_kit.charts.parts import drawing
from tests.support.pictures import (
    axes,
    check_legible,
    notes,
    written,
)
from tests.support.units import all_units


@cache
def part_a() -> pl.DataFrame:
    return all_units().filter(pl.col("id") % 3 == 0)


def test_a_map_of_own_values_speaks_of_them() -> None:
    """Heading and unit are the reader's, nothing speaks of units of account."""
    rates = pl.DataFrame({"code": ["SK010", "SK021", "SKZZ", None], "count": [-1.5, 2.5, 3.5, 4.5]})

    ax = fk.plot_map(
        rates, title="Nonprofits", per="per 1,000 inhabitants", lang="en", ax=axes(8, 3.9)
    )

    legend = ax.get_legend()
    assert legend is not None
    check_legible(ax)
    assert ax.get_title() == "Nonprofits"
    assert legend.get_title().get_text() == "per 1,000 inhabitants"
    assert notes(ax) == "count by region. Not on the map: Abroad: 3.50; no code: 4.50."
    assert "units" not in written(ax)
    assert [text.get_text() for text in legend.get_texts()] == ["−1.50", "2.50", "no value"]
    fall, rise, _ = (to_hex(handle.get_facecolor()) for handle in legend.get_patches())
    assert fall in drawing.ORANGES
    assert rise in drawing.BLUES


def test_a_title_of_counts_keeps_their_number() -> None:
    """A heading of one's own does not hide how many units there are, nor whose."""
    ax = fk.plot_map(part_a(), title="Mine", lang="en", ax=axes())

    assert ax.get_title() == f"Mine\n{part_a().height:,} units"


def test_whole_numbers_of_any_size_are_drawn() -> None:
    """Those without a sign are in the same order as others."""
    codes = ["SK010", "SK021", "X", None]
    for dtype in (pl.UInt8, pl.UInt64, pl.Int128):
        numbers = pl.DataFrame({"code": codes, "v": pl.Series([5, 9, 200, 7], dtype=dtype)})
        ax = fk.plot_map(numbers, value="v", lang="en", ax=axes())
        assert notes(ax) == "Not on the map: unknown code X: 200; no code: 7."


@pytest.mark.parametrize("number", [-1, 1.5])
def test_what_is_no_number_of_units_is_not_called_so(number: float) -> None:
    """A column named count is one of units unless its owner says of what; 1.5 + 2 were 3 units."""
    frame = pl.DataFrame({"code": ["SK010", "SK021"], "count": [number, number + 2]})
    with pytest.raises(fk.UsageError, match=rf"{number} in 'count' is no number of units.*per="):
        fk.plot_map(frame)
    fk.plot_map(frame, per="on average", ax=axes())


@pytest.mark.slow
def test_maps_side_by_side_have_equal_classes() -> None:
    """With bounds that are given, one legend fits both maps."""
    legends = []
    for units in (part_a(), all_units()):
        ax = fk.plot_map(units, classes=[100, 200.5, 1000], lang="en", ax=axes(8, 3.9))
        check_legible(ax)
        legend = ax.get_legend()
        assert legend is not None
        legends.append(
            [
                (text.get_text(), to_hex(handle.get_facecolor()))
                for text, handle in zip(legend.get_texts(), legend.get_patches(), strict=True)
            ]
        )
        assert legend.get_title().get_text() == "number of units"

    assert legends[0] == legends[1]
    assert [text for text, _ in legends[0]] == ["≤ 100", "100 – 200.5", "200.5 – 1,000", "> 1,000"]


plot_map: Any = fk.plot_map  # wrong on purpose


@pytest.mark.parametrize(
    "classes",
    [[], [2, 1], [1, 1], [float("nan")], [1, float("inf")], "12", 3, ["x"], range(9), [10**400]],
)
def test_bounds_that_are_none_are_refused(classes: Any) -> None:
    """What cannot divide values is refused, with what can."""
    with pytest.raises(fk.UsageError, match=r"^classes=.* 1 to 8 ascending numbers"):
        plot_map(all_units(), classes=classes)
