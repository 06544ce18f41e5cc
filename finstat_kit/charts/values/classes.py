"""The colour classes of a map: natural breaks, around zero, or the caller's bounds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate, groupby, pairwise
from typing import Final, NamedTuple

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.errors import invalid
from finstat_kit.frames.text import number_format

_MOST_BOUNDS: Final = 8
_MOST_DECIMALS: Final = 10  # that may tell two classes apart
_TO: Final[dict[Lang, str]] = {"sk": " až ", "en": " to "}


Write = Callable[[float, int], str]  # a value, with so many more decimals than usual


class Scale(NamedTuple):
    """The colour of a value, and the entries of the legend: colour and text of each class.

    Attributes:
        colour_of: The colour of a value.
        entries: Colour and text of each class.
        more: The decimals, besides the usual ones, that tell values of different classes apart.
    """

    colour_of: Callable[[float], str]
    entries: list[tuple[str, str]]
    more: int = 0


def bounds(classes: Sequence[float]) -> list[float]:
    """Return the upper bounds of classes, checked."""
    try:
        tops = [] if isinstance(classes, str) else [float(bound) for bound in classes]
    except (TypeError, ValueError, OverflowError):
        tops = []
    rising = all(a < b for a, b in pairwise(tops)) and all(map(math.isfinite, tops))
    if not rising or not 1 <= len(tops) <= _MOST_BOUNDS:
        raise invalid(
            "classes",
            classes,
            "is not allowed",
            give=f"upper bounds, 1 to {_MOST_BOUNDS} ascending numbers",
        )
    return tops


def by_breaks(values: Sequence[float], number: int, write: Write) -> Scale:
    """Grade values from pale to dark by natural breaks, into at most *number* classes."""
    groups = natural(values, number)
    shades = drawing.graded(drawing.BLUES, len(groups))
    colour_of = {value: shade for shade, c in zip(shades, groups, strict=True) for value in c}
    return _of_values(values, colour_of.__getitem__, write, " – ")


def around_zero(values: Sequence[float], write: Write, lang: Lang) -> Scale:
    """Grade decreases and increases alike: equal sizes have equal depth on both sides of zero."""
    sizes = natural([abs(value) for value in values if value], len(drawing.ORANGES))
    depth = {size: n for n, c in enumerate(sizes) for size in c}
    falls, rises = (drawing.graded(scale, len(sizes)) for scale in (drawing.ORANGES, drawing.BLUES))

    def colour_of(value: float) -> str:
        if not value:
            return drawing.NO_CHANGE_COLOUR
        return (falls if value < 0 else rises)[depth[abs(value)]]

    return _of_values(values, colour_of, write, _TO[lang])


def by_bounds(tops: Sequence[float], lang: Lang, *, centred: bool) -> Scale:
    """Grade by upper bounds, centred on zero or not; the legend is equal for all values."""
    ends = [-math.inf, *tops, math.inf]
    spans = list(pairwise(ends))
    scale = _colours_around_zero(spans) if centred else drawing.graded(drawing.BLUES, len(spans))
    has_zero = centred and 0 in tops  # a class: neither a decrease nor an increase

    def colour_of(value: float) -> str:
        return (
            drawing.NO_CHANGE_COLOUR if has_zero and not value else scale[bisect_left(tops, value)]
        )

    to = _TO[lang] if centred else " – "
    entries = list(zip(scale, (_span_text(*span, to, lang) for span in spans), strict=True))
    if has_zero:
        entries.insert(list(tops).index(0) + 1, (drawing.NO_CHANGE_COLOUR, "0"))
    return Scale(colour_of, entries)


def natural(values: Sequence[float], number: int) -> list[list[float]]:
    """Divide values into at most *number* classes of similar values.

    These are Jenks natural breaks, computed exactly: no other division has a smaller sum of squared
    distances from the class means. Equal values stay together. The classes, and the values in each,
    are sorted.

    >>> natural([1730, 6897, 1747, 2071], 3)
    [[1730, 1747], [2071], [6897]]
    """
    counts = Counter(values)
    distinct = sorted(counts)
    if not distinct:
        return []
    # Relative to the middle value, so that squares of large values keep their precision.
    middle = distinct[len(distinct) // 2]
    totals = [0, *accumulate(counts[value] for value in distinct)]
    sums = [0.0, *accumulate(counts[value] * float(value - middle) for value in distinct)]
    squares = [0.0, *accumulate(counts[value] * float(value - middle) ** 2 for value in distinct)]

    def spread(start: int, end: int) -> float:
        total = sums[end] - sums[start]
        return squares[end] - squares[start] - total**2 / (totals[end] - totals[start])

    # The best division of each prefix of the values: its cost, and where its classes begin.
    size = len(distinct)
    best = [(spread(0, end), (0,)) if end else (0.0, ()) for end in range(size + 1)]
    for classes in range(2, min(number, size) + 1):
        best = [
            min((best[cut][0] + spread(cut, end), (*best[cut][1], cut)) for cut in range(1, end))
            if end >= classes
            else best[end]
            for end in range(size + 1)
        ]
    starts = best[size][1]
    return [
        [value for value in distinct[start:end] for _ in range(counts[value])]
        for start, end in pairwise((*starts, size))
    ]


def _colours_around_zero(spans: Sequence[tuple[float, float]]) -> list[str]:
    """Return the colours of spans: the nth from zero is equally deep on both sides."""
    falls = sum(high <= 0 for _, high in spans)
    rises = sum(low >= 0 for low, _ in spans)
    deep = max(falls, rises)
    falling = drawing.graded(drawing.ORANGES, deep)[:falls][::-1]
    neither = [drawing.NO_CHANGE_COLOUR] * (len(spans) - falls - rises)
    return falling + neither + drawing.graded(drawing.BLUES, deep)[:rises]


def _of_values(
    values: Sequence[float], colour_of: Callable[[float], str], write: Write, to: str
) -> Scale:
    """Return a scale whose legend has the smallest and the largest value of each colour."""
    classes = [(colour, list(same)) for colour, same in groupby(sorted(values), colour_of)]
    neighbours = [(below[-1], above[0]) for (_, below), (_, above) in pairwise(classes)]
    more = next((more for more in range(_MOST_DECIMALS)
                 if all(write(low, more) != write(high, more) for low, high in neighbours)),
                0)  # fmt: skip
    entries = []
    for colour, same in classes:
        texts = [write(value, more) for value in (same[0], same[-1])]
        entries.append((colour, to.join(dict.fromkeys(texts))))
    return Scale(colour_of, entries, more)


def _span_text(low: float, high: float, to: str, lang: Lang) -> str:
    if math.isinf(low):
        return f"≤ {_bound_text(high, lang)}"
    if math.isinf(high):
        return f"> {_bound_text(low, lang)}"
    return f"{_bound_text(low, lang)}{to}{_bound_text(high, lang)}"


def _bound_text(bound: float, lang: Lang) -> str:
    """Write a bound with as many decimals as it has."""
    places = len(f"{Decimal(repr(bound)).normalize():f}".partition(".")[2])
    return number_format.decimal(bound, lang, min(places, 9)).replace("-", "−")
