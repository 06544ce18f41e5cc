"""Quartile boxes of an item or a ratio by region, activity or size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from finstat_kit import arguments, calls
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts import rows
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.rows import Rows
from finstat_kit.charts.values import drawn_table, figures
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.client.register import Register
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_MOST_BOXES: Final = 30
_BOX_HEIGHT: Final = 2.2  # of letters, with the gap below
_BOX_PART: Final = 0.56
_WIDE_BOXES: Final = 100  # from here on, highest by lowest, values are drawn on a log scale
_TICK: Final = 10  # letters that a number below the axes takes
_WORDS: Final = Words("plot_spread")


@calls.checked_call
def plot_spread(
    frame: labels.Frame,
    *,
    value: str,
    by: Grouping | Sequence[Grouping] = "kraj",
    unknown: bool = False,
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw how an item or a ratio spreads: quartile boxes for each code, by median.

    The median and the number of values, ``n``, are beside each box, and all statistics include all
    values; codes of fewer than five units have no box. One row is taken per unit and year: one with
    figures first, then the current column, the longer period, the later end. Notes give the number
    of rows left out, of values not drawn, of rows without a value by reason, of units without a
    known code, and of forms that are not comparable. Amounts that differ by a factor of more than a
    hundred, with quartiles above zero, are on a logarithmic scale. Among more than 30 codes, those
    with the most values are drawn. The whiskers end at the 10th and the 90th percentile. Two groups
    are drawn side by side, a colour per code of the second, as a summary by them is.

    Args:
        frame: Financials, ratios, a summary as `summary` returns it, or any frame with the columns
            *value* and *by*; a ratio is computed if it is not a column. Each year of a unit is a
            value.
        value: Column of numbers, such as ``"equity_ratio"``.
        by: A code field or derived group, as in `count_by`, or two in a list, of figures of one
            year.
        unknown: Whether units without a known code have a box; else a note has their number.
        title: Replaces the heading, with which the notes then begin; the number of units
            below it stays.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``); ``.notes`` has all notes, of which
        those that fit are below the chart.

    Raises:
        UsageError: An argument is wrong, a column is missing, or the frame has individual and
            consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     money = fk.financials(fk.units.get(fk.units.ids(limit=120)), year=2016)
        ...     ax = fk.plot_spread(money, value="equity_ratio", lang="en")
        >>> print(ax.get_title())
        Equity ratio by region, 2016
        55 units
    """
    captions = texts.captions(register, lang, title, note)
    source, lang = captions.source, captions.lang
    arguments.text("value", value)
    table = drawn_table.of_spread(frame, value, by, lang, source).known(unknown=unknown)
    with_median = table.rows.drop_nulls("value")
    is_shown = pl.col("n").rank("ordinal", descending=True) <= _MOST_BOXES
    boxes = drawn_table.in_order(with_median.filter(is_shown))
    log = _needs_log(boxes)
    left_out = {"few": table.rows.filter(pl.col("value").is_null()),
                "more": with_median.filter(~is_shown)}  # fmt: skip
    numbers = {"log": int(log), "lost": int(boxes["lost"].sum()) if log else 0}
    notes = [
        *figures.numbered(_WORDS[lang], numbers, lang),
        *(_WORDS[lang][key].format(n=number_format.whole(rows.height, lang),
                                   values=number_format.whole(int(rows["n"].sum()), lang))
          for key, rows in left_out.items() if rows.height),
    ]  # fmt: skip
    notes = captions.noted(table.heading, [*notes, *table.notes])
    placed = rows.placed(table, boxes)
    height = drawing.points() / 72 * (_BOX_HEIGHT * placed.height + 13)
    with drawing.axes(ax, 8, height) as ax:
        ticks = texts.ticks_height()
        rows.write_around(ax, table, boxes, captions, notes, beside=placed.beside, ticks=ticks)
        if boxes.is_empty():
            captions.write_nothing(ax, notes)
        else:
            _draw_boxes(ax, table, boxes, placed, item=value, log=log)
    return ax


def _needs_log(boxes: pl.DataFrame) -> bool:
    """Return whether the boxes are too far apart for a linear scale, and fit on a log one."""
    if boxes.is_empty() or (boxes["q1"] <= 0).any():
        return False
    return float(boxes["q3"].to_numpy().max()) > _WIDE_BOXES * float(boxes["q1"].to_numpy().min())


def _draw_boxes(
    ax: Axes, table: DrawnTable, boxes: pl.DataFrame, placed: Rows, *, item: str, log: bool
) -> None:
    """Draw boxes, with the median and the number of values to the right of the axes."""
    faces = boxes["colour"] if "colour" in boxes.columns else [drawing.PALE] * boxes.height
    ink = drawing.ink(ax)
    half = _BOX_PART / 2
    broadest = 0.0
    for row, face, box in zip(placed.at, faces, boxes.iter_rows(named=True), strict=True):
        # On a log scale a whisker down to zero, or below, runs off the left edge.
        ax.plot([box["low"], box["high"]], [row, row], color=ink, linewidth=0.9, zorder=1)
        ax.add_patch(
            Rectangle(
                (box["q1"], row - half), box["q3"] - box["q1"], _BOX_PART,
                facecolor=face, edgecolor=ink, linewidth=0.7, zorder=2,
                hatch=drawing.HATCHES.get(face),
            )
        )  # fmt: skip
        line = drawing.ink_on(face)
        ax.plot([box["value"]] * 2, [row - half, row + half], color=line, lw=2, zorder=3)
        n = number_format.whole(box["n"], table.lang)
        text = f"{table.write(box['value'], 0)}  (n = {n})"
        ax.annotate(
            text, (1, row), (6, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
            va="center", color=ink, annotation_clip=False,
        )  # fmt: skip
        broadest = max(broadest, drawing.breadth(text))
    width = drawing.inches(ax)[0] * drawing.GROWTH - placed.beside - broadest
    most = min(max(int(width * 72 / drawing.points() / _TICK * 1.8), 2), 8)
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=most))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.xaxis.set_major_locator(drawing.ticks(most))
    lang = table.lang
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: figures.tick(item, x, lang)))
    placed.write_names(ax)
    ax.set_ylim(placed.height - 0.4, -0.6)
    ax.spines[["top", "right"]].set_visible(False)
