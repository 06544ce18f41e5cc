"""Bar charts of the units per code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl
from matplotlib.axes import Axes

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts import rows
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.rows import Rows
from finstat_kit.charts.values import drawn_table
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.client.register import Register
from finstat_kit.frames.places import labels
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
    *,
    by: Grouping | Sequence[Grouping] = "kraj",
    value: str | None = None,
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
    replaced by a sentence. An estimate shows the interval of each bar, including sums of several
    codes.

    Args:
        frame: Units, counts as `count_by` returns them, whose labels and shares are kept, a
            summary as `summary` returns it, of which the units with a value are drawn, or an
            estimate as `estimate` returns it.
        by: The code field to count by, or the one the counts were made by; as in `count_by`.
        value: Of a summary: the item or ratio whose units are counted; None is its only one.
        top: Maximum number of labelled bars, 1 to 200; the others are summed in one pale bar. None
            shows the first 30, or as many as fit into a given *ax*.
        title: Replaces the heading, with which the notes of a summary then begin; the number of
            units below it stays.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Axes to draw on; their figure needs ``layout="constrained"`` to make room for long
            labels. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one, if any is
            needed: counts need none.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``); ``.notes`` has all notes, of which
        the line below the chart has those that fit.

    Raises:
        UsageError: An argument is wrong, or the counts were made by another field than *by*.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_counts(fk.units.get(fk.units.ids(limit=50)), lang="en")
        >>> print(ax.get_title())
        Accounting units by region
        50 units
    """
    captions = texts.captions(register, lang, title, note)
    source, lang = captions.source, captions.lang
    if top is not None:
        top = arguments.whole("top", top, 1, MOST_BARS)
    if value is not None:
        arguments.text("value", value)
    table = drawn_table.of_bars(frame, by, value, lang, source)
    notes, is_new = list(table.notes), ax is None
    if table.of_figures:
        notes = [*captions.replaced(table.heading), *notes]

    def laid_out(ax: Axes, number: int) -> _Bars:
        bars = table.drawn(number)
        runs_off = _bar_that_runs_off(table, bars) is not None
        lines = [_WORDS[lang]["off"] if runs_off else "", *notes]
        layout = rows.laid_out(
            ax, table, bars, captions, lines, key=table.measure, ticks=False, grows=is_new
        )
        return _Bars(bars, *layout)

    height = rows.placed(table, table.drawn(_BARS if top is None else top)).height
    with drawing.axes(ax, 8, (1.5 if table.of_figures else 1.3) + _BAR_HEIGHT * height) as ax:
        drawn = _fitting(ax, laid_out, top, is_new=is_new)
        if drawn.bars.is_empty():
            captions.write_nothing(ax, *(notes if table.of_figures else []))
        elif (alone := _sentence_of_one(table, drawn)) is not None:
            captions.write_sentence(ax, alone)
        else:
            _draw_bars(ax, table, drawn)
    return ax


class _Bars(NamedTuple):
    """Bars, where they are, and the inches of the names beside them."""

    bars: pl.DataFrame
    rows: Rows
    beside: float


def _fitting(
    ax: Axes, laid_out: Callable[[Axes, int], _Bars], top: int | None, *, is_new: bool
) -> _Bars:
    """Lay out as many bars as are wanted, or as fit into the caller's axes."""
    drawn = laid_out(ax, _BARS if top is None else top)
    if top is not None or is_new:
        return drawn
    for height_of, least in ((_height, _LEAST_HEIGHT), (_height_left, _LEAST_LEFT)):
        room = int(height_of(ax) / least)
        if drawn.rows.height > room and drawn.bars.height > 1:
            drawn = laid_out(ax, max(1, room - 4))
    return drawn


def _height(ax: Axes) -> float:
    return drawing.inches(ax)[1]


def _height_left(ax: Axes) -> float:
    """Return the inches that title and notes leave to the bars."""
    return texts.height_left(ax, ticks=False)


def _sentence_of_one(table: DrawnTable, drawn: _Bars) -> str | None:
    """Return the sentence that replaces a single bar of units; None for any others."""
    if drawn.bars.height > 1 or table.of_figures or table.estimate is not None:
        return None
    (bar,), (name,), lang = drawn.bars.to_dicts(), drawn.rows.names, table.lang
    # A row selected from counts does not represent all units.
    if bar["share"] is not None and bar["share"] < 1:
        return None
    return f"{drawing.all_units(bar['value'], lang)}: {name}"


def _bar_that_runs_off(table: DrawnTable, bars: pl.DataFrame) -> int | None:
    """Return which bar, that of the rest, would dwarf all others; None without one."""
    row = bars["kind"].index_of("rest")
    if row is None:
        return None
    too_long = abs(float(bars["value"][row])) > _TOO_LONG * _longest_other(table, bars)
    return row if too_long else None


def _longest_other(table: DrawnTable, bars: pl.DataFrame) -> float:
    """Return the length of the longest bar but that of the rest, with its interval."""
    end = "value" if table.estimate is None else "high"
    return float(bars.filter(pl.col("kind") != "rest")[end].abs().max() or 1)  # type: ignore[arg-type]


def _draw_bars(ax: Axes, table: DrawnTable, drawn: _Bars) -> None:
    """Draw bars under the title and above the notes that are written."""
    bars, placed, groups = drawn.bars, drawn.rows, table.groups
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    size = placed.size(ax, _height_left(ax))
    ink = drawing.ink(ax)
    lengths = [float(length) for length in bars["value"]]
    ends, errors = lengths, None
    if table.estimate is not None:
        ends = [float(end) for end in bars["high"]]
        below, above = bars["value"] - bars["low"], bars["high"] - bars["value"]
        errors = [below.to_list(), above.to_list()]
    marks = ax.barh(
        placed.at,
        lengths,
        height=0.72 if groups is None else 0.9,
        color=[
            _colour(kind, x) if groups is None else groups.colour_of.get(code or "", drawing.PALE)
            for kind, x, code in zip(bars["kind"], lengths, bars["code"], strict=True)
        ],
        xerr=errors,
        error_kw={"ecolor": ink, "elinewidth": 1, "capsize": 2},
    )
    numbers = [
        table.write(value, 0) + (f"  ({beside})" if beside else "")
        for value, beside in zip(bars["value"], table.beside(bars), strict=True)
    ]
    if (rest := _bar_that_runs_off(table, bars)) is not None:
        # This bar runs off the axis to keep the others visible; its number is inside it.
        side = math.copysign(1, lengths[rest])
        ends[rest] = side * _longest_other(table, bars)
        _write_inside(ax, placed.at[rest], side, numbers[rest], size)
        numbers[rest] = ""
    ax.set_xlim(_ends(ends, drawing.inches(ax)[0] - drawn.beside, size, numbers))
    ax.bar_label(marks, numbers, padding=3, fontsize=size, color=ink)
    names = [drawing.literal(name) for name in placed.names]
    ax.set_yticks(placed.ticks, names, fontsize=size, linespacing=placed.linespacing)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    # A few bars keep the thickness of bars among many.
    ax.set_ylim(placed.height - 0.5, -0.5)


def _colour(kind: str, length: float) -> str:
    if kind == "labelled":
        return drawing.BLUE if length >= 0 else drawing.ORANGE
    return drawing.PALE if kind == "rest" else drawing.GREY


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
