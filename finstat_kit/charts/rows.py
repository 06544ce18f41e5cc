"""Where bars and boxes are drawn, the names beside them, and the texts around them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.parts.texts import Captions
from finstat_kit.charts.values.drawn_table import DrawnTable

_GAP: Final = 0.6  # of a row, between groups
_MOST_BESIDE: Final = 0.5  # of the width of axes
_END: Final = 15  # letters; a code of a municipality in brackets
_LETTER: Final = 0.72  # of the height of a row
_SMALLEST: Final = 3  # points
_LINES: Final = 2  # of a long name
_TWO_LINES: Final = 0.27  # inches
_TICKS: Final = 22  # points of the numbers below the axes
_LEAST: Final = 3  # rows that keep their thickness among many


class Rows(NamedTuple):
    """Where rows are drawn, from the top down, and their names beside them."""

    at: list[float]
    ticks: list[float]
    names: list[str]

    @property
    def height(self) -> float:
        """The height of all rows, by that of one."""
        return max(self.at[-1] + 1 if self.at else 0, _LEAST)

    @property
    def linespacing(self) -> float:
        """The distance between the lines of names, by the height of a line."""
        return 1.0 if any("\n" in name for name in self.names) else 1.2

    def size(self, ax: Axes, height: float) -> float:
        """Return the points of the letters beside rows that have so many inches."""
        largest = texts.size_in(ax)
        if height <= 0:  # too small to be laid out: the axes keep their height
            return largest
        return min(largest, max(_LETTER * 72 * height / self.height, _SMALLEST))

    def broken(self, ax: Axes) -> tuple[Rows, float] | None:
        """Return the rows, long names in lines, and the inches of the names.

        None if no name is long, or if some would be the same.
        """
        room = drawing.inches(ax)[0] * _MOST_BESIDE
        names = [_broken(name, room) for name in self.names]
        if names == self.names or len(set(names)) < len(set(self.names)):
            return None
        parts = (part for name in names for part in name.split("\n"))
        size = texts.size_in(ax)
        return self._replace(names=names), max(drawing.breadth(part, size) for part in parts)

    def beside(self, ax: Axes) -> tuple[Rows, float]:
        """Return the rows, names cut to leave room in narrow axes, and the inches of the names.

        Names that would be the same are cut before their ends, such as codes, or stay whole.
        """
        room, size = drawing.inches(ax)[0] * _MOST_BESIDE, texts.size_in(ax)
        for end in (0, _END):
            names = [drawing.fitted(name, room, size, end=end) for name in self.names]
            if len(set(names)) == len(set(self.names)):
                break
        else:
            names = self.names
        longest = max((drawing.breadth(name, size) for name in names), default=0)
        return self._replace(names=names), longest


def laid_out(
    ax: Axes,
    table: DrawnTable,
    drawn: pl.DataFrame,
    captions: Captions,
    notes: Sequence[str],
    *,
    key: str = "",
    marked: str = "",
    ticks: bool,
    grows: bool,
) -> tuple[Rows, float]:
    """Write title, legend and notes; return the rows with their names, and the inches of these.

    Long names have two lines where these have room, and are cut elsewhere.

    Args:
        ax: The axes.
        table: What is drawn.
        drawn: The rows of it that are.
        captions: Writes the texts.
        notes: Most important first.
        key: What the numbers are.
        marked: The name of a unit that has a diamond, for the legend.
        ticks: Whether the axes have numbers below.
        grows: Whether the figure may become taller.
    """
    short = drawing.inches(ax)[0] < drawing.NARROW

    def write(beside: float) -> None:
        captions.write_title(ax, table.heading, table.units, beside=beside)
        pad, legend = 4.0, list[tuple[str, str]]()
        if table.groups is not None and drawn.height:
            legend = table.groups.drawn(drawn["code"])
        if marked:
            legend.append((drawing.BLUE, marked))
        if legend:
            pad = texts.legend_below(
                ax, legend, beside=beside, ticks=_TICKS if ticks else 0, marked=bool(marked)
            )
        captions.write_notes(ax, *notes, key=key, beside=beside, pad=pad)

    if (broken := placed(table, drawn, _LINES, short=short).broken(ax)) is not None:
        rows, longest = broken
        write(longest)
        missing = _TWO_LINES * rows.height - texts.height_left(ax, ticks=ticks)
        if grows and missing > 0 and isinstance(figure := ax.figure, Figure):
            figure.set_figheight(figure.get_figheight() * (1 + missing / drawing.inches(ax)[1]))
        if grows or missing <= 0:
            return broken
    rows, longest = placed(table, drawn, short=short).beside(ax)
    write(longest)
    return rows, longest


def placed(table: DrawnTable, drawn: pl.DataFrame, lines: int = 1, *, short: bool = False) -> Rows:
    """Return the places of rows: those of a group without a gap, its name at their middle.

    Args:
        table: What is drawn.
        drawn: The rows of it that are.
        lines: Of a name, at most.
        short: Whether regions have short names.
    """
    longest = max(table.longest, lines * drawing.LONGEST)
    names = drawing.names(drawn, table.lang, among=table.rows, longest=longest, short=short)
    gap = 0.0
    blocks = [(name, 1) for name in names]
    if (groups := table.groups) is not None:
        gap = _GAP
        names = [drawing.shortened(groups.name_of.get(code or "", name), longest)
                 for code, name in zip(drawn["code"], names, strict=True)]  # fmt: skip
        blocks = [(name, len(list(same))) for name, same in groupby(names)]
    at: list[float] = []
    ticks = []
    for _, number in blocks:
        start = at[-1] + 1 + gap if at else 0.0
        at += [start + row for row in range(number)]
        ticks.append(start + (number - 1) / 2)
    return Rows(at, ticks, [name for name, _ in blocks])


def _broken(name: str, room: float) -> str:
    """Break a name that is too long for a line."""
    if len(name) <= drawing.LONGEST and drawing.breadth(name, TEXT_SIZE) <= room:
        return name
    return "\n".join(drawing.in_lines(name, _LINES, room, TEXT_SIZE))
