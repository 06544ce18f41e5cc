"""Where bars and boxes are drawn, the names beside them, and the texts around them."""

from __future__ import annotations

from itertools import groupby
from typing import Final, NamedTuple

import polars as pl
from matplotlib.axes import Axes

from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.texts import Captions
from finstat_kit.charts.values.drawn_table import DrawnTable

_GAP: Final = 0.6  # of a row, between groups
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
    def beside(self) -> float:
        """The inches of the names."""
        return max(map(drawing.breadth, self.names), default=0)

    def write_names(self, ax: Axes) -> None:
        """Write the names beside the axes."""
        ax.set_yticks(self.ticks, list(map(drawing.literal, self.names)))
        ax.tick_params(axis="y", length=0)


def placed(table: DrawnTable, drawn: pl.DataFrame) -> Rows:
    """Return the places of rows: those of a group without a gap, its name at their middle."""
    gap = 0.0
    blocks = [(name, 1) for name in drawing.names(drawn, table.lang, among=table.rows)]
    if "group" in drawn.columns:
        gap = _GAP
        blocks = [(name, len(list(same))) for name, same in groupby(drawn["group"])]
    at: list[float] = []
    ticks = []
    for _, number in blocks:
        start = at[-1] + 1 + gap if at else 0.0
        at += [start + row for row in range(number)]
        ticks.append(start + (number - 1) / 2)
    return Rows(at, ticks, [name for name, _ in blocks])


def write_around(
    ax: Axes,
    table: DrawnTable,
    drawn: pl.DataFrame,
    captions: Captions,
    notes: list[str],
    *,
    beside: float,
    ticks: float,
) -> None:
    """Write title, legend and notes around rows.

    Args:
        ax: The axes.
        table: What is drawn.
        drawn: The rows of it that are.
        captions: The texts.
        notes: The notes.
        beside: Inches of the names.
        ticks: Points of the numbers below the axes.
    """
    captions.write_title(ax, table.heading, table.units, beside=beside)
    pad = 4.0
    if "member" in drawn.columns and drawn.height:
        members = drawn.sort("member_rank").unique("member", maintain_order=True)
        entries = texts.patches(members.select("colour", "member").rows())
        pad = texts.legend_below(ax, entries, beside=beside, ticks=ticks)
    captions.write_notes(ax, notes, key=table.measure, beside=beside, pad=pad)
