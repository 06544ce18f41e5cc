"""Bar charts of the units per code, or of the differences between two counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl
from matplotlib.axes import Axes

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts.parts import drawing, rows, texts
from finstat_kit.charts.parts.rows import Groups, Rows, drawn_rows
from finstat_kit.charts.parts.texts import Texts
from finstat_kit.charts.values import counts, figures, summaries
from finstat_kit.charts.values.summaries import Summary
from finstat_kit.client.register import Register
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words

MOST_BARS: Final = 200
_BARS: Final = 30  # by default
_BAR_HEIGHT: Final = 0.27  # inches
_LEAST_HEIGHT: Final = 0.19  # of a bar in the caller's axes
_LEAST_LEFT: Final = 0.13  # of a bar in what title and notes leave of them
_GAP: Final = 0.15  # inches between a bar, its number and the edge
_TOO_LONG: Final = 2  # times the longest bar; a longer rest would dwarf all others
_WORDS: Final = Words("plot_counts")


@arguments.checked_call
def plot_counts(
    frame: labels.Frame,
    by: Grouping | Sequence[Grouping] = "kraj",
    *,
    top: int | None = None,
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw the number of units per code: horizontal bars, largest first, with count and share.

    Size classes keep their own order. Rows without a label are grey bars at the bottom, one per
    kind: unknown codes, no code, gone. A repeated label is shown with its code. A single bar is
    replaced by a sentence. A comparison is drawn as differences, increases to the right of zero and
    decreases to the left; codes without a difference, if they are most, are in the note. An
    estimate shows the interval of each bar, including sums of several codes.

    Args:
        frame: Units, counts as `count_by` returns them, whose labels and shares are kept, a
            summary as `summary` returns it, of which the units with a value are drawn, a
            comparison as `compare` returns it, or an estimate as `estimate` returns it.
        by: The code field to count by, or the one the counts were made by; as in `count_by`.
        top: Maximum number of labelled bars, 1 to 200; the others are summed in one pale bar. None
            shows the first 30, or as many as fit into a given *ax*.
        title: Replaces the heading, with which the notes of a summary then begin; the number of
            units and the source below it stay.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Axes to draw on; their figure needs ``layout="constrained"`` to make room for long
            labels. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one, if any is
            needed: counts need none.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``).

    Raises:
        UsageError: An argument is wrong, or the counts were made by another field than *by*.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_counts(fk.units.get(fk.units.ids(limit=50)), lang="en")
        >>> print(ax.get_title())
        Accounting units by region
        50 units, sample (invented) data
    """
    around = texts.given(register, lang, title, note)
    source, lang = around.source, around.lang
    if top is not None:
        top = arguments.whole("top", top, 1, MOST_BARS)
    if summaries.is_summary(frame):
        return _summary(summaries.of_frame(frame, by, lang, source), around, top, ax)
    by = labels.field(by)
    assert isinstance(by, str)
    value = "difference" if counts.is_comparison(frame) else "count"
    units: int | str
    estimate = counts.estimate_of(frame, by)
    same = 0
    if value == "difference":
        table = counts.comparison(frame, by)
        units = counts.both_numbers(frame, table, lang)
        table, same = _without_equal(table)
    elif estimate:
        table, units = estimate.table, estimate.drawn(lang)
    else:
        table = counts.of_frame(frame, by, lang, source)
        units = int(table["count"].sum())
    order = groups.in_order(by, pl.col("code")) if by in groups.ORDERED else None
    bars = drawn_rows(table, _BARS if top is None else top, value=value, order=order)
    heading = drawing.WORDS[lang]["by" if value == "count" else value]
    heading = heading.format(by=drawing.WORDS[lang][by])
    measure = "number" if value == "count" and not table["share"].count() else value
    meaning = counts.measure(lang) if estimate else _WORDS[lang][measure]
    without = figures.ungrouped(counts.without_figures(frame, by), lang)
    notes = [meaning, figures.sentence(without)]
    if value == "difference":
        equal = " ".join(figures.numbered(_WORDS[lang], {"same": same}, lang))
        notes = [counts.compared(frame, meaning, lang), equal, counts.windows(frame, lang)]

    def laid_out(ax: Axes, number: int) -> _Bars:
        bars = drawn_rows(table, number, value=value, order=order)
        bars = estimate.intervals(bars) if estimate else bars
        short = by == "kraj" and drawing.inches(ax)[0] < drawing.NARROW

        def placed_of(lines: int) -> Rows:
            longest = lines * drawing.LONGEST
            names = drawing.names(bars, lang, among=table, longest=longest, short=short)
            return rows.placed(bars["code"], names, None)

        def write(beside: float) -> None:
            around.write_title(ax, heading, units, beside=beside)
            _write_notes(ax, bars, value, around, notes, beside)

        return _Bars(bars, *rows.with_texts(ax, placed_of, write, ticks=False, grows=own))

    own = ax is None
    with drawing.axes(ax, 8, 1.3 + _BAR_HEIGHT * max(bars.height, 3)) as ax:
        drawn = _fitting(ax, laid_out, top, own=own)
        if drawn.table.is_empty():
            around.write_nothing(ax)
        elif (alone := _sentence_of_one(drawn.table, drawn.placed.names, lang)) is not None:
            around.write_sentence(ax, alone)
        else:
            _draw_bars(ax, drawn, value, lang)
    return ax


class _Bars(NamedTuple):
    """Bars, where they are, and the inches of the names beside them."""

    table: pl.DataFrame
    placed: Rows
    beside: float


def _fitting(
    ax: Axes, laid_out: Callable[[Axes, int], _Bars], top: int | None, *, own: bool
) -> _Bars:
    """Lay out as many bars as are wanted, or as fit into the caller's axes."""
    drawn = laid_out(ax, _BARS if top is None else top)
    if top is not None or own:
        return drawn
    for height_of, least in ((_height, _LEAST_HEIGHT), (_height_left, _LEAST_LEFT)):
        room = int(height_of(ax) / least)
        if drawn.placed.height > room and drawn.table.height > 1:
            drawn = laid_out(ax, max(1, room - 4))
    return drawn


def _height(ax: Axes) -> float:
    return drawing.inches(ax)[1]


def _height_left(ax: Axes) -> float:
    """Return the inches that title and notes leave to the bars."""
    return texts.height_left(ax, ticks=False)


def _without_equal(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return a comparison without labelled rows of no difference, and their number, if most are."""
    labelled = pl.col("kind") == "labelled"
    same = labelled & (pl.col("difference") == 0)
    number = table.filter(same).height
    others = table.filter(labelled).height - number
    return (table.filter(~same), number) if number > others > 1 else (table, 0)


def _summary(summary: Summary, around: Texts, top: int | None, ax: Axes | None) -> Axes:
    """Draw the number of units with a value of each group of a summary, and its notes.

    The codes of the last of several groups are side by side, each in a colour, in their order.
    """
    lang = around.lang
    count = pl.col("n").alias("count")
    table = summary.table.select("code", "label", count, share=count / count.sum(), kind="kind",
                                 place="place").filter(pl.col("count") > 0)  # fmt: skip
    order = pl.col("place") if summary.ordered else None
    heading = summary.heading(lang, f"{figures.called(summary.item, lang)}: {_WORDS[lang]['with']}")

    covered = " ".join(around.replaced(heading) + summary.notes(lang))

    def laid_out(ax: Axes, number: int) -> _Bars:
        bars = drawn_rows(table, number, order=order)
        # A sum of codes belongs to none of the groups.
        bars = bars.with_columns(code=pl.when(pl.col("kind") != "rest").then("code"))

        def placed_of(lines: int) -> Rows:
            longest = max(summary.longest, lines * drawing.LONGEST)
            names = drawing.names(bars, lang, among=table, longest=longest)
            return rows.placed(bars["code"], names, summary.groups, longest)

        def write(beside: float) -> None:
            around.write_title(ax, heading, summary.covered(lang), beside=beside)
            notes = [_WORDS[lang]["count"], covered]
            _write_notes(ax, bars, "count", around, notes, beside, summary.groups)

        return _Bars(bars, *rows.with_texts(ax, placed_of, write, ticks=False, grows=own))

    own = ax is None
    bars = drawn_rows(table, _BARS if top is None else top, order=order)
    height = rows.placed(bars["code"], bars["code"].fill_null(""), summary.groups).height
    with drawing.axes(ax, 8, 1.5 + _BAR_HEIGHT * height) as ax:
        drawn = _fitting(ax, laid_out, top, own=own)
        if drawn.table.is_empty():
            around.write_nothing(ax, covered)
        else:
            _draw_bars(ax, drawn, "count", lang, summary.groups)
    return ax


def _sentence_of_one(bars: pl.DataFrame, names: list[str], lang: Lang) -> str | None:
    """Return the sentence that replaces a single bar; None if there are several."""
    if bars.height > 1:
        return None
    if "difference" in bars.columns:
        a, b, by = bars.select("count_a", "count_b", "difference").row(0)
        both = " → ".join(number_format.whole(count, lang) for count in (a, b))
        return f"{names[0]}: {both} ({drawing.signed(by, lang)})"
    share = bars["share"][0]
    if "hits" in bars.columns:
        return None
    # A row selected from counts does not represent all units.
    if share is not None and share < 1:
        return None
    return f"{drawing.all_units(bars['count'][0], lang)}: {names[0]}"


def _write_notes(
    ax: Axes,
    bars: pl.DataFrame,
    value: str,
    around: Texts,
    notes: Sequence[str],
    beside: float,
    groups: Groups | None = None,
) -> None:
    """Write the notes, and the legend of groups above them."""
    pad = 4.0
    if groups is not None and bars.height:
        pad = texts.legend_below(ax, groups.drawn(bars["code"]), beside=beside)
    off_text = _WORDS[around.lang]["off"] if _bar_that_runs_off(bars, value) is not None else ""
    around.write_notes(ax, notes[0], off_text, *notes[1:], beside=beside, pad=pad)


def _bar_that_runs_off(bars: pl.DataFrame, value: str) -> int | None:
    """Return which bar, that of the rest, would dwarf all others; None without one."""
    at = bars["kind"].index_of("rest")
    if at is None:
        return None
    too_long = abs(float(bars[value][at])) > _TOO_LONG * _longest_other(bars, value)
    return at if too_long else None


def _longest_other(bars: pl.DataFrame, value: str) -> float:
    """Return the length of the longest bar but that of the rest, with its interval."""
    end = "count_high" if "hits" in bars.columns else value
    return float(bars.filter(pl.col("kind") != "rest")[end].abs().max() or 1)  # type: ignore[arg-type]


def _draw_bars(
    ax: Axes, drawn: _Bars, value: str, lang: Lang, groups: Groups | None = None
) -> None:
    """Draw bars under the title and above the notes that are written."""
    bars, placed = drawn.table, drawn.placed
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    size = placed.size(_height_left(ax))
    ink = drawing.ink(ax)
    lengths = [float(length) for length in bars[value]]
    ends = [float(end) for end in bars["count_high"]] if "hits" in bars.columns else lengths
    marks = ax.barh(
        placed.at,
        lengths,
        height=0.72 if groups is None else 0.9,
        color=[
            _colour(kind, x) if groups is None else groups.colour_of.get(code or "", drawing.PALE)
            for kind, x, code in zip(bars["kind"], lengths, bars["code"], strict=True)
        ],
        xerr=_errors(bars),
        error_kw={"ecolor": ink, "elinewidth": 1, "capsize": 2},
    )
    numbers = _numbers(bars, value, lang)
    rest_index = _bar_that_runs_off(bars, value)
    if rest_index is not None:
        # This bar runs off the axis to keep the others visible; its number is inside it.
        side = math.copysign(1, lengths[rest_index])
        ends[rest_index] = side * _longest_other(bars, value)
        _write_inside(ax, placed.at[rest_index], side, numbers[rest_index], size)
        numbers[rest_index] = ""
    ax.set_xlim(_ends(ends, drawing.inches(ax)[0] - drawn.beside, size, numbers))
    ax.bar_label(marks, numbers, padding=3, fontsize=size, color=ink)
    names = [drawing.literal(name) for name in placed.names]
    ax.set_yticks(placed.ticks, names, fontsize=size, linespacing=placed.linespacing)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    if value == "difference":
        ax.axvline(0, color=ink, linewidth=0.8)
        ax.spines["left"].set_visible(False)
    # A few bars keep the thickness of bars among many.
    ax.set_ylim(placed.height - 0.5, -0.5)


def _colour(kind: str, length: float) -> str:
    if kind == "labelled":
        return drawing.BLUE if length >= 0 else drawing.ORANGE
    return drawing.PALE if kind == "rest" else drawing.GREY


def _numbers(bars: pl.DataFrame, value: str, lang: Lang) -> list[str]:
    if value == "difference":
        return [drawing.signed(by, lang) for by in bars["difference"]]
    if "hits" in bars.columns:
        return [
            f"{number_format.whole(count, lang)}  ({counts.interval(low, high, lang)})"
            for count, low, high in bars.select("count", "count_low", "count_high").iter_rows()
        ]
    return [
        number_format.whole(count, lang)
        + ("" if share is None else f"  ({number_format.percent(share, lang)})")
        for count, share in bars.select("count", "share").iter_rows()
    ]


def _errors(bars: pl.DataFrame) -> list[list[int]] | None:
    """Return the distances from a bar's end to both bounds of its interval."""
    if "hits" not in bars.columns:
        return None
    low = bars["count"] - bars["count_low"]
    return [low.to_list(), (bars["count_high"] - bars["count"]).to_list()]


def _write_inside(ax: Axes, row: float, side: float, number: str, size: float) -> None:
    """Write the number inside a bar that runs off the axis, and an arrow at the edge."""
    near, far = ("left", "right") if side > 0 else ("right", "left")
    edge, arrow = (0.992, "→") if side > 0 else (0.008, "←")
    ink = drawing.ink_on(drawing.PALE)
    ax.annotate(
        number, (0, row), (4 * side, 0), textcoords="offset points",
        ha=near, va="center", fontsize=size, color=ink,
    )  # fmt: skip
    ax.text(
        edge, row, arrow, transform=ax.get_yaxis_transform(),
        ha=far, va="center", fontsize=size, color=ink,
    )  # fmt: skip


def _ends(
    lengths: list[float], width: float, size: float, numbers: list[str]
) -> tuple[float, float]:
    """Return the ends of the axis: the bars, and room for the numbers beside them."""
    low, high = min(0, *lengths), max(0, *lengths)
    if low == high:
        high = 1
    number = max(drawing.breadth(number, size) for number in numbers) + _GAP
    sides = (low < 0) + (high > 0)
    bars = max(width - sides * number, 0.25 * width, 0.1)
    room = number * (high - low) / bars
    return low - room * (low < 0), high + room * (high > 0)
