"""A legend below a chart: the colours of classes or groups, in as few rows as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from finstat_kit.charts.parts import colours, drawing
from finstat_kit.charts.parts.drawing import TEXT_SIZE

_HANDLE: Final = 0.5  # inches of an entry besides its text
_GAP: Final = 7  # points between the axes and the legend


def below(
    ax: Axes,
    entries: Sequence[tuple[str, str]],
    heading: str = "",
    *,
    beside: float = 0,
    ticks: float = 0,
) -> float:
    """Draw a legend below the axes, and return the points that notes leave free for it.

    Args:
        ax: The axes.
        entries: Colour and text of each entry.
        heading: The line above the entries.
        beside: Inches taken by labels to the left of the axes.
        ticks: Points taken by the labels of the axis.
    """
    breadths = [drawing.breadth(text, TEXT_SIZE) + _HANDLE for _, text in entries]
    room = drawing.inches(ax)[0] * drawing.GROWTH - beside
    columns = len(entries)
    if sum(breadths) > room:
        rows = -(-columns // max(int(room / max(breadths)), 1))
        columns = -(-columns // rows)  # fill the rows equally
    lines = drawing.wrapped(heading, room, TEXT_SIZE) if heading else []
    down = ScaledTranslation(0, -(_GAP + ticks) / 72, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        [Patch(facecolor=colour) for colour, _ in entries],
        [drawing.literal(text) for _, text in entries],
        title=drawing.literal("\n".join(lines)) or None, title_fontsize=TEXT_SIZE, alignment="left",
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=ax.transAxes + down,
        borderaxespad=0, borderpad=0, ncols=columns, frameon=False, fontsize=TEXT_SIZE,
        labelcolor=colours.ink(ax), columnspacing=1.6, handlelength=1.4,
    )  # fmt: skip
    legend.get_title().set_color(colours.ink(ax))
    rows = -(-len(entries) // columns)
    return TEXT_SIZE * (1.9 * rows + 1.4 * len(lines) + 0.9)
