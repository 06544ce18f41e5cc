"""The classes that a tile map colours by."""

from __future__ import annotations

from itertools import combinations, pairwise
from statistics import fmean

import pytest
from matplotlib.colors import to_rgb

from finstat_kit.charts.parts import drawing
from finstat_kit.charts.values import classes


def spread(found: list[list[float]]) -> float:
    """Return the squares of what lies between values and the mean of their class."""
    return sum((value - fmean(part)) ** 2 for part in found for value in part)


def whole(value: float, _: int) -> str:
    return str(value)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "values",
    [
        [6897, 2071, 1985, 1747, 1732, 1730, 1602, 1525],
        [1, 1, 1, 2, 50, 50, 51, 100],
        [10.0**15 + n for n in (0, 1, 5, 6, 7, 20, 21, 40)],
        [-5.5, -5.0, 0.0, 0.25, 3.0, 3.5, 9.0, 11.0],
    ],
)
def test_natural_breaks_are_the_best_division(values: list[float], number: int) -> None:
    """No division into as many runs of the sorted values is tighter."""
    ordered = sorted(values)
    all_others = [
        [ordered[a:b] for a, b in pairwise((0, *cuts, len(ordered)))]
        for cuts in combinations(range(1, len(ordered)), number - 1)
    ]

    found = classes.natural(values, number)

    assert len(found) == number
    assert spread(found) == pytest.approx(min(map(spread, all_others)))


def test_natural_breaks_lose_nothing() -> None:
    """Equal values are together, all values in order, and no more classes than values."""
    values = [float(n % 7) for n in range(79)]

    found = classes.natural(values, 5)

    assert sorted(values) == [value for part in found for value in part]
    assert all(max(a) < min(b) for a, b in pairwise(found))
    assert [len(part) for part in classes.natural(list(range(80)), 5)] == [16] * 5
    assert classes.natural([3.0] * 8, 4) == [[3.0] * 8]
    assert classes.natural([], 4) == []


def test_what_is_alike_has_one_colour() -> None:
    """1,730 and 1,747 are one class, and 6,897 stands apart from 2,071."""
    scale = classes.by_breaks([6897, 2071, 1747, 1730, 1732, 1525], 4, whole)

    assert scale.colour_of(1730) == scale.colour_of(1747)
    assert scale.colour_of(6897) != scale.colour_of(2071)
    assert [text for _, text in scale.entries] == ["1525", "1730 – 1747", "2071", "6897"]


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_low_is_pale_and_high_is_dark(number: int) -> None:
    """Of one hue, each class darker than the one below it."""
    scale = classes.by_breaks(list(range(number)), number, whole)
    shades = [drawing.contrast("white", scale.colour_of(value)) for value in range(number)]

    assert shades == sorted(set(shades))
    for value in range(number):
        red, green, blue = to_rgb(scale.colour_of(value))
        assert red < green < blue


def test_the_same_size_is_as_deep_on_either_side_of_zero() -> None:
    """Falls are orange, rises blue, zero neither; the only fall is not deep when it is small."""
    scale = classes.around_zero([-2, 0, 1, 3, 50, 52, 900], whole, "en")

    assert scale.colour_of(-2) == drawing.ORANGES[0]
    assert scale.colour_of(3) == drawing.BLUES[0]
    assert scale.colour_of(0) == drawing.NO_CHANGE_COLOUR
    assert scale.colour_of(900) == drawing.BLUES[-1]
    assert [text for _, text in scale.entries] == ["-2", "0", "1 to 3", "50 to 52", "900"]
    assert classes.around_zero([-900, -50, 2], whole, "en").colour_of(-900) == drawing.ORANGES[-1]


def test_bounds_make_equal_classes_of_any_values() -> None:
    """The legend has every class; a value on a bound belongs below it."""
    scale = classes.by_bounds([10, 20.5], "sk", centred=False)

    assert [text for _, text in scale.entries] == ["≤ 10", "10 – 20,5", "> 20,5"]
    assert scale.colour_of(10) == scale.colour_of(-1) != scale.colour_of(11)
    assert scale.colour_of(1000) == scale.entries[2][0]


def test_bounds_around_zero_are_as_deep_on_either_side() -> None:
    """The nth class from zero is as deep on either side; zero as a bound is a class of its own."""
    scale = classes.by_bounds([-10, 0, 10, 20], "en", centred=True)
    wide = classes.by_bounds([-5, 5], "en", centred=True)

    assert [text for _, text in scale.entries] == [
        "≤ −10", "−10 to 0", "0", "0 to 10", "10 to 20", "> 20",
    ]  # fmt: skip
    assert scale.colour_of(-1) == drawing.ORANGES[0]
    assert scale.colour_of(1) == drawing.BLUES[0]
    assert scale.colour_of(0) == wide.colour_of(3) == drawing.NO_CHANGE_COLOUR
    assert scale.colour_of(-99) == drawing.ORANGES[1]
