"""Quartile boxes of an item or a ratio by region, activity or size; without groups a histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import AsinhLocator, FuncFormatter, LogLocator, MaxNLocator
from numpy.typing import NDArray

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts.parts import drawing, rows, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.parts.rows import Groups, Rows
from finstat_kit.charts.parts.texts import Texts
from finstat_kit.charts.values import figures, summaries
from finstat_kit.charts.values.figures import Figures
from finstat_kit.charts.values.summaries import Summary
from finstat_kit.client.register import Register
from finstat_kit.errors import invalid
from finstat_kit.frames.findings.summary import FEWEST, spread
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol.wire import MAX_ID

_MOST_BOXES: Final = 30  # boxes
_BOX_HEIGHT: Final = 0.3  # inches of a box and the gap below it
_BOX_PART: Final = 0.56
_TICKS: Final = 22  # points of the numbers below the axes
_WIDE_BOXES: Final = 100  # from here on, highest by lowest, values are drawn on a log scale
_WORDS: Final = Words("plot_spread")
_MOST_BINS: Final = 40
_SKEWED: Final = 100  # from here on, the largest by a quarter of the values, the scale is a log one
_HISTOGRAM_ENDS: Final = (0.005, 0.995)  # a linear scale shows the values between these shares
_HISTOGRAM_WORDS: Final = Words("histogram")


@arguments.checked_call
def plot_spread(
    frame: labels.Frame,
    value: str,
    *,
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
    drawn. Of a summary the boxes are its quartiles, and the whiskers its 10th and 90th percentile.

    Args:
        frame: Financials, ratios, a summary as `summary` returns it, or any frame with the columns
            *value* and *by*; a ratio is computed if it is not a column. Each year of a unit is a
            value.
        value: Column of numbers, such as ``"equity_ratio"``.
        by: A code field or derived group, as in `count_by`. None draws the distribution of all
            values: a histogram with the median, negative values in orange, on a logarithmic scale
            where they span decades.
        mark: ``unit_id`` of a unit whose value, of its latest year, is marked; a note below gives
            its name, or why it is not marked.
        limits: Two shares, such as ``(0.01, 0.99)``: values beyond these quantiles of their year
            are drawn at them; the medians are of all values. The title gives the limits.
        max_difference: Euro: filings whose balance differs by more, and those with a failing sum,
            are left out, and counted below.
        title: Replaces the heading, with which the notes then begin; the number of units and the
            source below it stay.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``).

    Raises:
        UsageError: An argument is wrong, a column is missing, or the frame has individual and
            consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     money = fk.financials(fk.units.get(fk.units.ids(limit=120)), year=2016)
        ...     ax = fk.plot_spread(money, "equity_ratio", lang="en")
        >>> print(ax.get_title())
        Equity ratio by region, 2016
        55 units, sample (invented) data
    """
    around = texts.given(register, lang, title, note)
    source, lang = around.source, around.lang
    arguments.text("value", value)
    if mark is not None:
        arguments.whole("mark", mark, 0, MAX_ID)
    if summaries.is_summary(frame):
        of_units = {"mark": mark, "limits": limits, "max_difference": max_difference}
        for name, option in of_units.items():
            if option is not None:
                raise invalid(
                    name,
                    option,
                    ": a summary has no values of units",
                    give="the figures that it was made of",
                )
        summary = summaries.of_frame(frame, by, lang, source, value)
        return _chart_of_boxes(_of_summary(summary, lang), around, ax)
    if by is not None:
        by = labels.field(by)
        assert isinstance(by, str)
        if by in groups.GROUPS:
            frame = groups.with_group(frame.lazy(), by)
        elif by not in labels.schema_of(frame):
            raise invalid("by", by, "is not a column of the frame")
    values = figures.of_frame(frame, value, limits=limits, max_difference=max_difference)
    marked = None if mark is None else values.marked(mark)
    if by is None:
        return _chart_of_histogram(values, marked, around, ax)
    return _chart_of_boxes(_of_units(values, by, marked, lang, source), around, ax)


class _Content(NamedTuple):
    boxes: pl.DataFrame  # one row per code, the median null of too few units
    item: str
    heading: str
    number: str
    order: pl.Expr | None  # None: by median
    how: Sequence[str]  # the chart is read
    notes: Sequence[str]
    marked: dict[str, Any] | None = None  # the row of a unit, its code as ``code``
    several_years: bool = False
    groups: Groups | None = None
    longest: int = drawing.LONGEST


def _of_units(
    values: Figures,
    by: Grouping,
    marked: dict[str, Any] | None,
    lang: Lang,
    source: Register | None,
) -> _Content:
    """Return the boxes of the units of a frame."""
    words, item, coded = _WORDS[lang], values.item, values.present.drop_nulls(by)
    code = pl.col(by).cast(pl.String).alias("code")
    lost = coded.filter(pl.col("value") <= 0).group_by(code).len("lost")
    boxes = spread(coded, "value", by, limited="limited").join(
        lost, on="code", how="left", maintain_order="left"
    )
    marked = None if marked is None else {**marked, "code": marked[by]}
    own = marked or {"code": None, "limited": None}
    is_marked = pl.col("code") == pl.lit(own["code"], pl.String)
    boxes = boxes.with_columns(marked=pl.when(is_marked).then(pl.lit(own["limited"], pl.Float64)))
    heading = words["heading"].format(
        item=figures.capitalized(figures.called(item, lang)), by=drawing.WORDS[lang][by]
    )
    return _Content(
        _labelled(boxes, by, lang, source),
        item,
        heading + values.years + _limits_text(values.rows, item, lang),
        figures.number_of(coded, lang),
        groups.in_order(by, pl.col("code")) if by in groups.ORDERED else None,
        [words["how"]] + [words["unit-years"]] * (figures.counted(coded) == "unit-years"),
        values.notes(lang, by),
        marked,
        values.several_years,
    )


def _of_summary(summary: Summary, lang: Lang) -> _Content:
    """Return the quartiles of a summary; groups without any value are in its notes alone."""
    boxes = summary.table.filter(pl.col("n") > 0).with_columns(
        median=pl.when(pl.col("n") >= FEWEST).then("median"),
        low="p10", q1="p25", q3="p75", high="p90",
        beyond=0, lost=0, marked=pl.lit(None, pl.Float64),
    )  # fmt: skip
    return _Content(
        boxes,
        summary.item,
        summary.heading(lang, figures.called(summary.item, lang)),
        summary.covered(lang),
        pl.col("place") if summary.ordered else None,
        [_WORDS[lang]["of a summary"]],
        summary.notes(lang),
        groups=summary.groups,
        longest=summary.longest,
    )


def _chart_of_boxes(content: _Content, around: Texts, ax: Axes | None) -> Axes:
    """Draw boxes with a title, and notes below."""
    lang, of_groups = around.lang, content.groups
    with_median = content.boxes.drop_nulls("median")
    is_shown = pl.col("n").rank("ordinal", descending=True) <= _MOST_BOXES
    is_shown |= pl.col("marked").is_not_null()
    by_median = [-pl.col("median")] if content.order is None else [content.order]
    shown_boxes = with_median.filter(is_shown).sort(*by_median, "code")
    log = _needs_log(shown_boxes)
    apart = {
        "few": content.boxes.filter(pl.col("median").is_null()),
        "more": with_median.filter(~is_shown),
    }
    beyond, lost = (int(shown_boxes[name].sum()) for name in ("beyond", "lost"))
    counts = {"beyond": beyond, "log": int(log), "lost": lost if log else 0}
    notes = [*around.replaced(content.heading), *(content.how if shown_boxes.height else []), *(
        _WORDS[lang][key].format(n=number_format.whole(boxes.height, lang),
                                 values=number_format.whole(int(boxes["n"].sum()), lang))
        for key, boxes in apart.items() if boxes.height
    )]  # fmt: skip
    notes += [*figures.numbered(_WORDS[lang], counts, lang), *content.notes]
    if (unit := content.marked) is not None:
        why_not = _why_unmarked(unit, shown_boxes, log=log)
        notes.append(_mark_note(unit, why_not, content.item, lang, dated=content.several_years))

    def placed_of(lines: int, *, short: bool = False) -> Rows:
        longest = max(content.longest, lines * drawing.LONGEST)
        names = drawing.names(shown_boxes, lang, among=shown_boxes, longest=longest, short=short)
        return rows.placed(shown_boxes["code"], names, of_groups, longest)

    own = ax is None
    with drawing.axes(ax, 8, 1.7 + _BOX_HEIGHT * placed_of(1).height) as ax:

        def write(beside: float) -> None:
            around.write_title(ax, content.heading, content.number, beside=beside)
            pad = 4.0
            if of_groups is not None and shown_boxes.height:
                legend = of_groups.drawn(shown_boxes["code"])
                pad = texts.legend_below(ax, legend, beside=beside, ticks=_TICKS)
            around.write_notes(ax, " ".join(notes), beside=beside, pad=pad)

        short = partial(placed_of, short=drawing.inches(ax)[0] < drawing.NARROW)
        placed, beside = rows.with_texts(ax, short, write, ticks=True, grows=own)
        if shown_boxes.is_empty():
            around.write_nothing(ax, *notes)
            return ax
        colour_of = {} if of_groups is None else of_groups.colour_of
        colour = [colour_of.get(code, drawing.PALE) for code in shown_boxes["code"]]
        numbers = _draw_boxes(ax, shown_boxes, content.item, placed, colour, lang, log=log)
        width = drawing.inches(ax)[0]
        room = max(width * drawing.GROWTH - beside - numbers, 0.3)
        _write_with_room(ax, content.item, lang, room / width)
    return ax


def _chart_of_histogram(
    values: Figures,
    marked: dict[str, Any] | None,
    around: Texts,
    ax: Axes | None,
) -> Axes:
    """Draw all values as a histogram."""
    lang, item, present = around.lang, values.item, values.present
    heading = figures.capitalized(figures.called(item, lang)) + values.years
    heading += _limits_text(values.rows, item, lang)
    with drawing.axes(ax, 8, 4.2) as ax:
        mark = None if marked is None else marked["limited"]
        # Above the median's number, and that of the marked unit.
        pad = 10 if present.is_empty() else 22 if mark is None else 34
        around.write_title(ax, heading, figures.number_of(present, lang), pad=pad)
        notes = values.notes(lang)
        if marked is not None:
            why_not = "unmarked" if mark is None else None
            notes.append(_mark_note(marked, why_not, item, lang, dated=values.several_years))
        if present.is_empty():
            around.write_nothing(ax, *around.replaced(heading), *notes)
            return ax
        notes = _draw_histogram(ax, present, item, lang, mark=mark) + notes
        notes = around.replaced(heading) + notes
        around.write_notes(ax, " ".join(notes), beside=0.6)
    return ax


def _mark_note(
    marked: dict[str, Any], why_not: str | None, item: str, lang: Lang, *, dated: bool
) -> str:
    """Return which unit is marked, with its value and year among several; or why it is not."""
    name = drawing.shortened(str(marked.get("name") or marked["unit_id"]), drawing.LONGEST_BROKEN)
    if why_not is None:
        year = f"{marked['year']}: " if dated else ""
        name += f" ({year}{figures.written(item, marked['value'], lang)})"
    return _WORDS[lang][why_not or "marked"].format(name=name).removesuffix(".") + "."


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


def _labelled(
    boxes: pl.DataFrame, by: Grouping, lang: Lang, source: Register | None
) -> pl.DataFrame:
    """Add the label of each code, without a register the code itself."""
    if source is None and by not in groups.GROUPS:
        return boxes.with_columns(label="code", kind=pl.lit("labelled"))
    columns = {"code": labels.FIELDS[by].codelist}
    lookup = source._lookup if source is not None else groups.codelist
    label = pl.col("code_label")
    return labels.resolve_labels(boxes, lookup, lang=lang, columns=columns).with_columns(
        label=label, kind=labels.kind_of(pl.col("code"), label)
    )


def _draw_boxes(
    ax: Axes,
    boxes: pl.DataFrame,
    item: str,
    placed: Rows,
    colour: Sequence[str],
    lang: Lang,
    *,
    log: bool,
) -> float:
    """Draw boxes, and return the inches of the numbers to the right of the axes."""
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
        ax.plot([box["median"]] * 2, [row - half, row + half], color="black", lw=2, zorder=3)
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=8))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.tick_params(axis="x", labelsize=TEXT_SIZE)
    size = placed.size(texts.height_left(ax))
    names = [drawing.literal(name) for name in placed.names]
    ax.set_yticks(placed.ticks, names, fontsize=size, linespacing=placed.linespacing)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(placed.height - 0.4, -0.6)
    ax.spines[["top", "right"]].set_visible(False)
    # The median and the number of values, to the right of the axes.
    broadest = 0.0
    for row, n, median in zip(placed.at, boxes["n"], boxes["median"], strict=True):
        text = f"{figures.written(item, median, lang)}  (n = {number_format.whole(n, lang)})"
        ax.annotate(
            text, (1, row), (6, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
            va="center", fontsize=size, color=ink, annotation_clip=False,
        )  # fmt: skip
        broadest = max(broadest, drawing.breadth(text, size))
    return broadest


def _draw_histogram(
    ax: Axes, rows: pl.DataFrame, item: str, lang: Lang, *, mark: float | None
) -> list[str]:
    """Draw a histogram with the median and limits; return the notes on how it is read.

    Args:
        ax: Where.
        rows: With ``value`` and, limited, ``limited``; ``limit_low`` and ``limit_high``.
        item: The value.
        lang: Language of texts and numbers.
        mark: A value to mark.
    """
    words = _HISTOGRAM_WORDS[lang]
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
        ax.xaxis.set_major_locator(MaxNLocator(6))
    counts, _ = np.histogram(numbers, edges)
    ink = drawing.ink(ax)
    colour = [drawing.ORANGE if right <= 0 else drawing.PALE for right in edges[1:]]
    ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colour, edgecolor=ink,
           linewidth=0.4)  # fmt: skip
    median = float(rows["value"].median())  # type: ignore[arg-type]
    written = figures.written(item, median, lang)
    _draw_upright_line(ax, median, words["median"].format(x=written), ink, "-")
    if mark is not None:
        _draw_upright_line(
            ax, mark, figures.written(item, mark, lang), drawing.BLUE, "--", above=TEXT_SIZE + 3
        )
    ax.set_xlim(edges[0], edges[-1])
    _write_with_room(ax, item, lang)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.tick_params(labelsize=TEXT_SIZE)
    ax.set_ylabel(words["years" if figures.counted(rows) == "unit-years" else "rows"],
                  fontsize=TEXT_SIZE)  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
    outside = int(numbers.size - counts.sum())
    notes = {"log": int(log), "negative": int((numbers < 0).sum()), "outside": outside}
    return figures.numbered(words, notes, lang)


def _limits_text(rows: pl.DataFrame, item: str, lang: Lang) -> str:
    """Return the limits of values for a title; "" where there are none."""
    low, high = rows["limit_low"].min(), rows["limit_high"].max()
    if not isinstance(low, float) or not isinstance(high, float):
        return ""
    ends = {"low": figures.written(item, low, lang), "high": figures.written(item, high, lang)}
    return ", " + _HISTOGRAM_WORDS[lang]["limits"].format(**ends)


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


def _draw_upright_line(
    ax: Axes, x: float, text: str, colour: str, style: str, *, above: float = 0
) -> None:
    ax.axvline(x, color=colour, linewidth=1.6, linestyle=style)
    ax.annotate(
        text, (x, 1), (0, 3 + above), xycoords=ax.get_xaxis_transform(), textcoords="offset points",
        ha="center", va="bottom", fontsize=TEXT_SIZE, color=drawing.ink(ax), annotation_clip=False,
    )  # fmt: skip


def _write_with_room(ax: Axes, item: str, lang: Lang, width: float = 1.0) -> None:
    """Write the numbers on the axis that have room beside each other in a part of its width."""
    low, high = ax.get_xlim()
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
    ax.set_xticks(fitting_ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: figures.tick(item, x, lang, more)))
    ax.minorticks_off()
