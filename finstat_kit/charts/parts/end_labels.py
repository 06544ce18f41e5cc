"""Names of lines at their ends, to the right of the axes, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from statistics import fmean
from typing import Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from finstat_kit.charts.parts import colours, drawing
from finstat_kit.charts.parts.drawing import TEXT_SIZE

_BROAD: Final = 2.0  # inches of a name in a line
_LINE: Final = 0.17  # inches
_AROUND: Final = 0.2  # inches of a line of the title or of a note, and of the labels of the years
_ACROSS: Final = 12  # points from the axes to the names


class End(NamedTuple):
    """The last point of a line, its name and colour."""

    x: float
    y: float
    name: str
    colour: str


def draw(ax: Axes, ends: Sequence[End]) -> None:
    """Write the name of each line beside its end, joined to it by a thin line of its colour.

    Title, notes and the scale of the axes must not change afterwards.
    """
    low, high = ax.get_ylim()
    around = f"{ax.get_title()}\n\n{ax.get_xlabel()}".count("\n") + 1
    room = drawing.inches(ax)[1] * drawing.GROWTH - _AROUND * around
    unit = 1 / max(room, _LINE * len(ends))  # an inch, by the height of the axes
    ordered = sorted(ends, key=lambda end: end.y)
    names = [drawing.wrapped(end.name, _BROAD, TEXT_SIZE) for end in ordered]
    heights = [_LINE * len(lines) * unit for lines in names]
    wanted = [(end.y - low) / (high - low) for end in ordered]
    beside = ax.transAxes + ScaledTranslation(_ACROSS / 72, 0, ax.figure.dpi_scale_trans)
    for end, lines, y in zip(ordered, names, apart(wanted, heights), strict=True):
        joined = {"arrowstyle": "-", "color": end.colour, "linewidth": 1, "linestyle": ":"}
        ax.annotate(
            drawing.literal("\n".join(lines)), (end.x, end.y), (1, y), textcoords=beside,
            va="center", fontsize=TEXT_SIZE, color=colours.ink(ax), annotation_clip=False,
            arrowprops={**joined, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)},
        )  # fmt: skip


def apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return the middles of texts between 0 and 1: near where they are wanted, none over another.

    >>> apart([0.1, 0.5, 0.5], [0.1, 0.1, 0.1])
    [0.1, 0.45, 0.55]
    """
    heaps: list[tuple[list[float], list[float]]] = []
    for middle, height in zip(wanted, heights, strict=True):
        heap = [middle], [height]
        # Texts that touch move as one.
        while heaps and _bottom(*heaps[-1]) + sum(heaps[-1][1]) > _bottom(*heap):
            below = heaps.pop()
            heap = below[0] + heap[0], below[1] + heap[1]
        heaps.append(heap)
    return [
        round(_bottom(middles, of_heap) + start + height / 2, 9)
        for middles, of_heap in heaps
        for start, height in zip(accumulate(of_heap, initial=0.0), of_heap, strict=False)
    ]


def _bottom(middles: Sequence[float], heights: Sequence[float]) -> float:
    """Return where a heap of texts begins, near the places of all."""
    starts = accumulate(heights, initial=0.0)
    wanted = (middle - start - height / 2
              for middle, start, height in zip(middles, starts, heights, strict=False))  # fmt: skip
    return max(0.0, min(fmean(wanted), 1 - sum(heights)))
