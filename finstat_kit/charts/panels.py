"""Small multiples: one panel per series within one Axes, with shared scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Bbox

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import colours, drawing
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.values import periods
from finstat_kit.charts.values.series import Series
from finstat_kit.frames.counts.count_by import Every
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words

UNDER: Final = 22  # points for the labels of the periods
_SIZE: Final = TEXT_SIZE - 1
_LEAST_WIDTH: Final = 1.5  # inches
_LEAST_HEIGHT: Final = 0.65
_AROUND: Final = 1.9  # inches for title and notes
BESIDE: Final = 0.7  # inches for the labels of the numbers
_GAP: Final = 0.14  # inches between panels
_WORDS: Final = Words("panels")
_LINE: Final = 0.16  # inches


def room(ax: Axes) -> int:
    """Return the number of panels that fit into the axes."""
    width, height = _inches(ax)
    return max(int(width / _LEAST_WIDTH), 1) * max(int(height / _LEAST_HEIGHT), 1)


def draw(
    ax: Axes, series: Sequence[Series], bounds: pl.Series, every: Every, lang: Lang, *, part: bool
) -> None:
    """Draw a panel per series, as child axes of *ax*, which keeps title and labels."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    width, _ = _inches(ax)
    rows = -(-len(series) // max(int(width / _LEAST_WIDTH), 1))
    columns = -(-len(series) // rows)
    # The rest of a long codelist would flatten all others.
    highest = max((float(values.counts.max()) for values in series if not values.is_sum), default=0)
    shared = highest or max(float(values.counts.max()) for values in series)
    room = width / columns - _GAP
    lines = [_heading(values, shared, room, lang) for values in series]
    heading = _LINE * max(map(len, lines)) + 0.04
    edges = periods.numbers(bounds)
    ink = colours.ink(ax)
    for n, values in enumerate(series):
        row, column = divmod(n, columns)
        panel = ax.inset_axes((0, 0, 1, 1))
        panel.set_axes_locator(_Place(ax, row, column, rows, columns, heading))
        # In the style of the surrounding axes, which may no longer be the current one.
        panel.set_facecolor(ax.get_facecolor())
        panel.spines[:].set_color(ink)
        outline = StepPatch(values.counts, edges, facecolor=values.colour, linewidth=0)
        panel.add_artist(outline)
        if part:
            periods.hatch(panel, edges, float(values.counts[-1]))
        greatest = float(values.counts.max())
        panel.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.05 * max(shared, greatest)))
        panel.set_title(
            drawing.literal("\n".join(lines[n])), loc="left", fontsize=TEXT_SIZE, pad=2, color=ink
        )
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=_SIZE, colors=ink, labelleft=column == 0 and greatest <= shared)
        panel.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=3, min_n_ticks=1))
        panel.yaxis.set_major_formatter(
            FuncFormatter(lambda y, _: number_format.whole(round(y), lang))
        )
        _write_periods(panel, bounds, edges, every, room, lowest=n + columns >= len(series))
    number = drawing.breadth(number_format.whole(math.ceil(shared), lang), _SIZE)
    ax.yaxis.labelpad = 72 * number + 12


def _inches(ax: Axes) -> tuple[float, float]:
    """Return width and height left for panels after the texts around them."""
    width, height = drawing.inches(ax)
    return width * drawing.GROWTH - BESIDE, height * drawing.GROWTH - _AROUND


def _heading(one: Series, shared: float, room: float, lang: Lang) -> list[str]:
    """Return a panel's name in at most two lines of *room* inches, and its scale if different."""
    lines = drawing.wrapped(" ".join(one.name.split()), room, TEXT_SIZE)
    if (greatest := float(one.counts.max())) > shared:
        most = number_format.whole(round(greatest), lang)
        lines = [" ".join(lines), _WORDS[lang]["other scale"].format(most=most)]
    lines = [lines[0], " ".join(lines[1:])] if len(lines) > 1 else lines
    return [drawing.fitted(line, room, TEXT_SIZE) for line in lines]


def _write_periods(
    panel: Axes,
    bounds: pl.Series,
    edges: periods.Numbers,
    every: Every,
    room: float,
    *,
    lowest: bool,
) -> None:
    """Label the first and the last period at the ends, so that labels of panels do not touch.

    In a narrow panel they are shortened to months or years, or the first alone is labelled.
    """
    days = bounds.head(-1).gather([0, -1] if bounds.len() > 2 else [0])
    shorter = [form for form in ("%Y-%m-%d", "%Y-%m", "%Y") if form in periods.FORMATS[every]]
    for form in shorter:
        names = days.dt.to_string(form).to_list()
        if sum(drawing.breadth(name, _SIZE) + _GAP for name in names) <= room:
            break
    else:
        names = names[:1]
    at = (edges[:-1] + edges[1:]) / 2
    panel.set_xticks(at if bounds.len() == 2 else [at[0], at[-1]][: len(names)], names)
    if bounds.len() > 2:
        first, *last = panel.get_xticklabels()
        first.set_horizontalalignment("left")
        for label in last:
            label.set_horizontalalignment("right")
    panel.tick_params(axis="x", labelbottom=lowest)


@dataclass(frozen=True)
class _Place:
    """The place of a panel in the surrounding axes, whatever their final size."""

    around: Axes
    row: int
    column: int
    rows: int
    columns: int
    heading: float  # inches above it

    def __call__(self, ax: object, renderer: object) -> Bbox:
        whole, inch = self.around.bbox, self.around.figure.dpi
        width = (whole.width - _GAP * inch * (self.columns - 1)) / self.columns
        height = whole.height / self.rows
        left = whole.x0 + self.column * (width + _GAP * inch)
        top = whole.y1 - self.row * height - self.heading * inch
        bottom = min(whole.y1 - (self.row + 1) * height + _GAP / 2 * inch, top - 1)
        box = Bbox.from_extents(left, bottom, left + width, top)
        return box.transformed(self.around.figure.transSubfigure.inverted())
