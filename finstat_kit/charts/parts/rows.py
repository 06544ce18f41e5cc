"""The rows of a chart of bars or boxes: which are drawn, where, and the names beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl
import polars.selectors as cs
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.frames.counts.count_by import KINDS, MADE_BY

_APART: Final = 0.6  # of a row, between groups
_MOST_BESIDE: Final = 0.5  # of the width of axes
_END: Final = 15  # letters; a code of a municipality in brackets
_LETTER: Final = 0.72  # of the height of a row
_SMALLEST: Final = 3  # points
_LINES: Final = 2  # of a long name
_TWO_LINES: Final = 0.27  # inches
_LEAST: Final = 3  # rows that keep their thickness among many


class Groups(NamedTuple):
    """The rows of a summary by two groups, or several.

    Attributes:
        name_of: The name of the group of a row, by its code: that of all fields but the last.
        colour_of: The colour of a row by its code: that of its code of the last field.
        legend: Colour and text of each code of the last field.
    """

    name_of: dict[str, str]
    colour_of: dict[str, str]
    legend: list[tuple[str, str]]

    def drawn(self, codes: Iterable[str | None]) -> list[tuple[str, str]]:
        """Return the entries of the legend that some rows have."""
        drawn = {self.colour_of.get(code or "") for code in codes}
        return [entry for entry in self.legend if entry[0] in drawn]


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

    def size(self, height: float) -> float:
        """Return the points of the letters beside rows that have so many inches."""
        if height <= 0:  # too small to be laid out: the axes keep their height
            return TEXT_SIZE
        return min(TEXT_SIZE, max(_LETTER * 72 * height / self.height, _SMALLEST))

    def broken(self, ax: Axes) -> tuple[Rows, float] | None:
        """Return the rows, long names in lines, and the inches of the names.

        None if no name is long, or if some would be the same.
        """
        room = drawing.inches(ax)[0] * _MOST_BESIDE
        names = [_broken(name, room) for name in self.names]
        if names == self.names or len(set(names)) < len(set(self.names)):
            return None
        parts = (part for name in names for part in name.split("\n"))
        return self._replace(names=names), max(drawing.breadth(part, TEXT_SIZE) for part in parts)

    def beside(self, ax: Axes) -> tuple[Rows, float]:
        """Return the rows, names cut to leave room in narrow axes, and the inches of the names.

        Names that would be the same are cut before their ends, such as codes, or stay whole.
        """
        room = drawing.inches(ax)[0] * _MOST_BESIDE
        for end in (0, _END):
            names = [drawing.fitted(name, room, TEXT_SIZE, end=end) for name in self.names]
            if len(set(names)) == len(set(self.names)):
                break
        else:
            names = self.names
        longest = max((drawing.breadth(name, TEXT_SIZE) for name in names), default=0)
        return self._replace(names=names), longest


def with_texts(
    ax: Axes,
    placed_of: Callable[[int], Rows],
    write: Callable[[float], None],
    *,
    ticks: bool,
    grows: bool,
) -> tuple[Rows, float]:
    """Write title and notes, and return the rows with their names, and the inches of the names.

    Long names have two lines where these have room, and are cut elsewhere.

    Args:
        ax: The axes.
        placed_of: The rows, with names for so many lines.
        write: Writes title and notes, for names of so many inches.
        ticks: Whether the axes have numbers below.
        grows: Whether the figure may become taller.
    """
    if (broken := placed_of(_LINES).broken(ax)) is not None:
        placed, longest = broken
        write(longest)
        missing = _TWO_LINES * placed.height - texts.height_left(ax, ticks=ticks)
        if grows and missing > 0 and isinstance(figure := ax.figure, Figure):
            figure.set_figheight(figure.get_figheight() * (1 + missing / drawing.inches(ax)[1]))
        if grows or missing <= 0:
            return broken
    placed, longest = placed_of(1).beside(ax)
    write(longest)
    return placed, longest


def _broken(name: str, room: float) -> str:
    """Break a name that is too long for a line."""
    if len(name) <= drawing.LONGEST and drawing.breadth(name, TEXT_SIZE) <= room:
        return name
    return "\n".join(drawing.in_lines(name, _LINES, room, TEXT_SIZE))


def grouped(table: pl.DataFrame, lang: Lang) -> Groups | None:
    """Return the groups of labelled rows of a summary; None if they have too few or many codes."""
    if "member" not in table.columns:
        return None
    members = table.unique("member").sort("member_place", nulls_last=True)["member"].to_list()
    if not 2 <= len(members) <= len(drawing.CODE_COLOURS):
        return None
    colour_of = dict(zip(members, drawing.CODE_COLOURS, strict=False))
    groups = table.select("code", "member", label="group", group="group_code", kind="kind")
    whole = groups.unique("group").select("label", "kind", code="group")
    names = drawing.names(whole, lang, among=whole, longest=drawing.LONGEST_BROKEN)
    name_of = dict(zip(whole["code"], names, strict=True))
    rows = groups.select("code", "group", "member").rows()
    return Groups(
        {code: name_of[group] for code, group, _ in rows},
        {code: colour_of[member] for code, _, member in rows},
        [(colour, drawing.shortened(member)) for member, colour in colour_of.items()],
    )


def placed(
    codes: Iterable[str | None],
    names: Iterable[str],
    groups: Groups | None,
    longest: int = drawing.LONGEST,
) -> Rows:
    """Return the places of rows: those of a group without a gap, its name at their middle.

    Args:
        codes: Of the rows.
        names: Of the rows, which those of groups replace.
        groups: None for rows that are by themselves.
        longest: Letters of a name.
    """
    if groups is not None:
        names = [drawing.shortened(groups.name_of.get(code or "", name), longest)
                 for code, name in zip(codes, names, strict=True)]  # fmt: skip
        blocks = [(name, len(list(same))) for name, same in groupby(names)]
    else:
        blocks = [(name, 1) for name in names]
    gap = 0.0 if groups is None else _APART
    at: list[float] = []
    ticks = []
    for _, number in blocks:
        start = at[-1] + 1 + gap if at else 0.0
        at += [start + place for place in range(number)]
        ticks.append(start + (number - 1) / 2)
    return Rows(at, ticks, [name for name, _ in blocks])


def drawn_rows(
    table: pl.DataFrame, top: int, *, value: str = "count", order: pl.Expr | None = None
) -> pl.DataFrame:
    """Return the rows to draw: `top` labelled ones, one for the rest, one per other kind.

    The labelled rows are those furthest from zero, in the order of their values or of *order*. The
    columns are those of the table, without those that name what it was made by, and ``codes``, the
    number of codes summed in a row; the total is unchanged. The rest has the kind ``rest``. Other
    kinds without a unit are left out.
    """
    table = table.drop(MADE_BY, strict=False)
    labelled = table.filter(pl.col("kind") == "labelled").sort(
        pl.col(value).abs(), "code", descending=[True, False]
    )
    largest = labelled.head(top)
    largest = (
        largest.sort(value, "code", descending=[True, False])
        if order is None
        else largest.sort(order, "code")
    )
    groups = [labelled.slice(top).with_columns(kind=pl.lit("rest"))]
    others = table.filter(pl.any_horizontal(cs.numeric() != 0))
    groups += [others.filter(pl.col("kind") == kind) for kind in KINDS[1:]]
    rows = [largest.with_columns(pl.lit(1, pl.Int64).alias("codes"))]
    rows += [_summed(group) for group in groups if group.height]
    return pl.concat(part.select(*table.columns, "codes") for part in rows)


def _summed(group: pl.DataFrame) -> pl.DataFrame:
    only = group["code"][0] if group.height == 1 else None
    numbers = group.select(cs.numeric())
    return group.select(
        pl.lit(only, pl.String).alias("code"),
        pl.lit(None, pl.String).alias("label"),
        # A share that is not known is none of zero.
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)
          for name in numbers.columns),
        pl.col("kind").first(),
        pl.len().cast(pl.Int64).alias("codes"),
    )  # fmt: skip
