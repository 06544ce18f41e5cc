"""Quartile boxes of an item or a ratio by region, activity or size; without groups a histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import AsinhLocator, FuncFormatter, LogLocator
from numpy.typing import NDArray

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts import rows
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.parts.texts import Captions
from finstat_kit.charts.rows import Rows
from finstat_kit.charts.values import drawn_table, figures
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.client.register import Register
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol.wire import MAX_ID

_MOST_BOXES: Final = 30  # boxes
_BOX_HEIGHT: Final = 0.3  # inches of a box and the gap below it
_BOX_PART: Final = 0.56
_WIDE_BOXES: Final = 100  # from here on, highest by lowest, values are drawn on a log scale
_WORDS: Final = Words("plot_spread")
_MOST_BINS: Final = 40
_SKEWED: Final = 50  # from here on, the largest by a quarter of the values, the scale is a log one
_MOST_TICKS: Final = 8  # numbers on a linear scale
_HISTOGRAM_ENDS: Final = (0.005, 0.995)  # a linear scale shows the values between these shares
_HISTOGRAM_WORDS: Final = Words("histogram")


@arguments.checked_call
def plot_spread(
    frame: labels.Frame,
    *,
    value: str,
    by: Grouping | Sequence[Grouping] | None = "kraj",
    mark: int | None = None,
    limits: tuple[float, float] | None = None,
    max_difference: float | None = None,
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw how an item or a ratio spreads: quartile boxes for each code, by median.

    The median and the number of values, ``n``, are beside each box, and all statistics include all
    values; codes of fewer than five units have no box. One row is taken per unit and year: one with
    figures first, then the current column, the longer period, the later end. A note below gives the
    number of rows left out, of values not drawn, of rows without a value by reason, and of forms
    that are not comparable. Amounts that differ by a factor of more than a hundred, with quartiles
    above zero, are on a logarithmic scale. Among more than 30 codes, those with the most values are
    drawn. The whiskers end at the 10th and the 90th percentile. Two groups are drawn side by side,
    a colour per code of the second, as a summary by them is.

    Args:
        frame: Financials, ratios, a summary as `summary` returns it, or any frame with the columns
            *value* and *by*; a ratio is computed if it is not a column. Each year of a unit is a
            value.
        value: Column of numbers, such as ``"equity_ratio"``.
        by: A code field or derived group, as in `count_by`, or two in a list, of figures of one
            year. None draws the distribution of all values: a histogram with the median, negative
            values in orange, on a logarithmic scale where they span decades.
        mark: ``unit_id`` of a unit whose value, of its latest year, is marked; the legend
            below boxes, or a note, gives its name, or why it is not marked.
        limits: Two shares, such as ``(0.01, 0.99)``: values beyond these quantiles of their year
            are drawn at them; the medians are of all values. The title gives the limits.
        max_difference: Euro: filings whose balance differs by more, and those with a failing sum,
            are left out, and counted below.
        title: Replaces the heading, with which the notes then begin; the number of units
            below it stays.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``); ``.notes`` has all notes, of which
        the line below the chart has those that fit.

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
    if mark is not None:
        arguments.whole("mark", mark, 0, MAX_ID)
    table = drawn_table.of_spread(
        frame, value, by, lang, source, mark=mark, limits=limits, max_difference=max_difference
    )
    draw = _draw_chart_of_boxes if table.are_boxes else _draw_histogram
    return draw(table, captions, ax)


def _draw_chart_of_boxes(table: DrawnTable, captions: Captions, ax: Axes | None) -> Axes:
    """Draw boxes with a title, and notes below."""
    lang = table.lang
    with_median = table.rows.drop_nulls("value")
    is_shown = pl.col("n").rank("ordinal", descending=True) <= _MOST_BOXES
    is_shown |= pl.col("marked").is_not_null()
    boxes = drawn_table.in_order(with_median.filter(is_shown), table.order)
    log = _needs_log(boxes)
    left_out = {"few": table.rows.filter(pl.col("value").is_null()),
                "more": with_median.filter(~is_shown)}  # fmt: skip
    numbers = {"log": int(log), "lost": int(boxes["lost"].sum()) if log else 0}
    notes = [*captions.replaced(table.heading), *([table.measure] if boxes.height else []), *(
        _WORDS[lang][key].format(n=number_format.whole(rows.height, lang),
                                 values=number_format.whole(int(rows["n"].sum()), lang))
        for key, rows in left_out.items() if rows.height
    )]  # fmt: skip
    notes += [*figures.numbered(_WORDS[lang], numbers, lang), *table.notes]
    why_not, marked = None, ""
    if table.marked is not None:
        why_not = _why_unmarked(table.marked, boxes, log=log)
        notes += [_mark_note(table, why_not)] if why_not else []
        marked = "" if why_not else _marked_name(table, table.marked)
    is_new = ax is None
    with drawing.axes(ax, 8, 1.7 + _BOX_HEIGHT * rows.placed(table, boxes).height) as ax:
        placed, beside = rows.laid_out(
            ax, table, boxes, captions, notes, marked=marked, ticks=True, grows=is_new
        )
        if boxes.is_empty():
            captions.write_nothing(ax, *notes)
            return ax
        numbers_width = _draw_boxes(ax, table, boxes, placed, log=log)
        width = drawing.inches(ax)[0]
        room = max(width * drawing.GROWTH - beside - numbers_width, 0.3)
        _write_with_room(ax, table.item, lang, room / width)
    return ax


def _draw_histogram(table: DrawnTable, captions: Captions, ax: Axes | None) -> Axes:
    """Draw all values as a histogram, with a title, and notes below."""
    with drawing.axes(ax, 8, 4.2) as ax:
        mark = None if table.marked is None else table.marked["limited"]
        # Above the median's number, and that of the marked unit.
        pad = 10 if table.rows.is_empty() else 22 if mark is None else 34
        captions.write_title(ax, table.heading, table.units, pad=pad)
        notes = list(table.notes)
        if table.marked is not None:
            notes.append(_mark_note(table, "unmarked" if mark is None else None))
        heading = captions.replaced(table.heading)
        if table.rows.is_empty():
            captions.write_nothing(ax, *heading, *notes)
            return ax
        notes = [*heading, *_draw_bins(ax, table, mark), *notes]
        captions.write_notes(ax, *notes, beside=0.6)
    return ax


def _mark_note(table: DrawnTable, why_not: str | None) -> str:
    """Return which unit is marked, or why it is not."""
    assert table.marked is not None
    name = _marked_name(table, table.marked, with_value=why_not is None)
    return _WORDS[table.lang][why_not or "marked"].format(name=name).removesuffix(".") + "."


def _marked_name(table: DrawnTable, marked: dict[str, Any], *, with_value: bool = True) -> str:
    """Return the name of a unit, with its value, and its year among several."""
    name = drawing.shortened(str(marked.get("name") or marked["unit_id"]), drawing.LONGEST_BROKEN)
    if not with_value:
        return name
    year = f"{marked['year']}: " if table.dated else ""
    return f"{name} ({year}{table.write(marked['value'], 0)})"


def _why_unmarked(marked: dict[str, Any], shown: pl.DataFrame, *, log: bool) -> str | None:
    """Return the word for why a unit has no mark among the boxes shown; None if it has one."""
    at = marked["limited"]
    if at is None:
        return "unmarked"
    if marked["code"] is None:
        return "unmarked without code"
    if marked["code"] not in shown["code"]:
        return "unmarked without box"
    return "unmarked left of the chart" if log and at <= 0 else None


def _needs_log(boxes: pl.DataFrame) -> bool:
    """Return whether the boxes are too far apart for a linear scale, and fit on a log one."""
    if boxes.is_empty() or (boxes["q1"] <= 0).any():
        return False
    return float(boxes["q3"].to_numpy().max()) > _WIDE_BOXES * float(boxes["q1"].to_numpy().min())


def _draw_boxes(
    ax: Axes, table: DrawnTable, boxes: pl.DataFrame, placed: Rows, *, log: bool
) -> float:
    """Draw boxes, and return the inches of the numbers to the right of the axes."""
    colour_of = {} if table.groups is None else table.groups.colour_of
    colour = [colour_of.get(code, drawing.PALE) for code in boxes["code"]]
    ink = drawing.ink(ax)
    half = _BOX_PART / 2
    of_boxes = zip(placed.at, colour, boxes.iter_rows(named=True), strict=True)
    for row, face, box in of_boxes:
        # On a log scale a whisker down to zero, or below, runs off the left edge.
        ax.plot([box["low"], box["high"]], [row, row], color=ink, linewidth=0.9, zorder=1)
        ax.add_patch(
            Rectangle(
                (box["q1"], row - half), box["q3"] - box["q1"], _BOX_PART,
                facecolor=face, edgecolor=ink, linewidth=0.7, zorder=2,
            )
        )  # fmt: skip
        if box["marked"] is not None:
            ax.plot(box["marked"], row, "D", color=drawing.BLUE, markersize=8, zorder=4,
                    markeredgecolor=ax.get_facecolor())  # fmt: skip
        line = drawing.ink_on(face)
        ax.plot([box["value"]] * 2, [row - half, row + half], color=line, lw=2, zorder=3)
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=8))
    ax.tick_params(axis="x", labelsize=texts.size_in(ax))
    size = placed.size(ax, texts.height_left(ax))
    names = [drawing.literal(name) for name in placed.names]
    ax.set_yticks(placed.ticks, names, fontsize=size, linespacing=placed.linespacing)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(placed.height - 0.4, -0.6)
    ax.spines[["top", "right"]].set_visible(False)
    # The median and the number of values, to the right of the axes.
    broadest = 0.0
    for row, n, median in zip(placed.at, boxes["n"], boxes["value"], strict=True):
        text = f"{table.write(median, 0)}  (n = {number_format.whole(n, table.lang)})"
        ax.annotate(
            text, (1, row), (6, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
            va="center", fontsize=size, color=ink, annotation_clip=False,
        )  # fmt: skip
        broadest = max(broadest, drawing.breadth(text, size))
    return broadest


def _draw_bins(ax: Axes, table: DrawnTable, mark: float | None) -> list[str]:
    """Draw the bars of a histogram, the median and a marked value; return how they are read."""
    words, rows = _HISTOGRAM_WORDS[table.lang], table.rows
    numbers = rows["limited"].to_numpy()
    size = np.abs(numbers[numbers != 0])
    log = bool(size.size) and np.quantile(size, 0.99) > _SKEWED * np.quantile(size, 0.25)
    numbers_and_mark = numbers if mark is None else np.append(numbers, mark)
    if log:
        near_zero = 10.0 ** math.floor(math.log10(float(np.quantile(size, 0.05))))
        bent = np.arcsinh(numbers_and_mark / near_zero)
        edges = near_zero * np.sinh(_aligned(bent, float(bent.min()), float(bent.max())))
        ax.set_xscale("asinh", linear_width=near_zero)
        ax.xaxis.set_major_locator(AsinhLocator(near_zero, numticks=9))
    else:
        # The mark is never cut off.
        ends = [*np.quantile(numbers, _HISTOGRAM_ENDS), *numbers_and_mark[numbers.size :]]
        edges = _aligned(numbers, float(min(ends)), float(max(ends)))
    counts, _ = np.histogram(numbers, edges)
    ink = drawing.ink(ax)
    colour = [drawing.ORANGE if right <= 0 else drawing.PALE for right in edges[1:]]
    ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colour, edgecolor=ink,
           linewidth=0.4)  # fmt: skip
    median = float(rows["value"].median())  # type: ignore[arg-type]
    _draw_value(ax, median, words["median"].format(x=table.write(median, 0)), ink, "-")
    if mark is not None:
        _draw_value(ax, mark, table.write(mark, 0), drawing.BLUE, "--", above=TEXT_SIZE + 3)
    ax.set_xlim(edges[0], edges[-1])
    _write_with_room(ax, table.item, table.lang)
    ax.yaxis.set_major_locator(drawing.ticks(5, integer=True))
    ax.tick_params(labelsize=TEXT_SIZE)
    ax.set_ylabel(words["years" if figures.counted(rows) == "unit-years" else "rows"],
                  fontsize=TEXT_SIZE)  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
    outside = int(numbers.size - counts.sum())
    notes = {"log": int(log), "negative": int((numbers < 0).sum()), "outside": outside}
    return figures.numbered(words, notes, table.lang)


def _aligned(numbers: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Return edges from below one end to above the other.

    Zero is one of them if it lies within, so that no bin mixes losses with gains. Bins are as wide
    as Freedman and Diaconis or Sturges advise, the narrower ones, but few enough to be seen.
    """
    quarter, three_quarters = np.quantile(numbers, (0.25, 0.75))
    best_width = 2 * (three_quarters - quarter) / np.cbrt(numbers.size)
    most = (high - low) / best_width if best_width else 0.0
    width = (high - low) / min(max(most, np.log2(numbers.size) + 1), _MOST_BINS) or 1.0
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return width * np.arange(first, last + 1, dtype=np.float64)


def _draw_value(
    ax: Axes, x: float, text: str, colour: str, style: str, *, above: float = 0
) -> None:
    ax.axvline(x, color=colour, linewidth=1.6, linestyle=style)
    ax.annotate(
        text, (x, 1), (0, 3 + above), xycoords=ax.get_xaxis_transform(), textcoords="offset points",
        ha="center", va="bottom", fontsize=TEXT_SIZE, color=drawing.ink(ax), annotation_clip=False,
    )  # fmt: skip


def _write_with_room(ax: Axes, item: str, lang: Lang, width: float = 1.0) -> None:
    """Write numbers on the axis that have room beside each other in a part of its width.

    Of a linear scale so many that all have; of another those that have.
    """
    low, high = ax.get_xlim()
    several: list[float] = []
    for most in range(_MOST_TICKS, 0, -1):
        if ax.get_xscale() == "linear":
            ax.xaxis.set_major_locator(drawing.ticks(most))
        places = [ax.dataLim.x0] if ax.dataLim.width == 0 else ax.get_xticks()
        ticks = sorted(float(x) for x in places if low <= x <= high)
        more = figures.more_decimals(item, ticks, lang)
        fitting_ticks: list[float] = []
        end = -math.inf  # inches, of the last number that is written
        for x in ticks:
            middle = float(ax.transData.transform((x, 0))[0]) / ax.figure.dpi * width
            half = drawing.breadth(figures.tick(item, x, lang, more), TEXT_SIZE) / 2
            if middle - half > end + 0.1:
                fitting_ticks.append(x)
                end = middle + half
        if fitting_ticks == ticks or ax.get_xscale() != "linear":
            break
        several = ticks
    if len(fitting_ticks) == 1 < len(several):  # one number is no scale
        fitting_ticks = [several[0], several[-1]]
    ax.set_xticks(fitting_ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: figures.tick(item, x, lang, more)))
    ax.minorticks_off()
