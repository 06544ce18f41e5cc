"""Bar charts of the units per code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from matplotlib.axes import Axes

from finstat_kit import arguments, calls
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts import rows
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.rows import Rows
from finstat_kit.charts.values import drawn_table
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.client.register import Register
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

MOST_BARS: Final = 200
_BARS: Final = 30  # by default
_BAR_HEIGHT: Final = 1.95  # of letters
_LEAST_HEIGHT: Final = 1.35  # of a bar in the caller's axes
_AROUND: Final = 6  # lines of title and notes
_GAP: Final = 0.15  # inches between a bar, its number and the edge
_WORDS: Final = Words("plot_counts")


@calls.checked_call
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
    kind: unknown codes, no code, gone. A repeated label is shown with its code. An estimate shows
    the interval of each bar.

    Args:
        frame: Units, counts as `count_by` returns them, whose labels and shares are kept, a
            summary as `summary` returns it, of which the units with a value are drawn, or an
            estimate as `estimate` returns it.
        by: The code field to count by, or the one the counts were made by; as in `count_by`.
        value: Of a summary: the item or ratio whose units are counted; None is its only one.
        top: Maximum number of labelled bars, 1 to 200; a note has the number of the others and of
            their units. None shows the first 30, or as many as fit into a given *ax*.
        title: Replaces the heading, with which the notes then begin; the number of units below it
            stays.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Axes to draw on; their figure needs ``layout="constrained"`` to make room for long
            labels. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one, if any is
            needed: counts need none.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``); ``.notes`` has all notes, of which
        those that fit are below the chart.

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
    line = drawing.points() / 72
    if top is None:
        top = _BARS
        if isinstance(ax, Axes):
            room = drawing.inches(ax)[1] * drawing.GROWTH / line - 1.4 * _AROUND
            kinds = table.rows["kind"].n_unique() - 1
            top = min(top, max(int(room / _LEAST_HEIGHT) - kinds, 1))
    bars = drawn_table.drawn_rows(table.rows, top)
    others, units = drawn_table.left_out(table.rows, bars)
    rest = {"n": number_format.whole(others, lang), "units": number_format.whole(units, lang)}
    notes = [_WORDS[lang]["rest"].format(**rest)] if others else []
    notes = captions.noted(table.heading, [*notes, *table.notes])
    placed = rows.placed(table, bars)
    with drawing.axes(ax, 8, line * (_BAR_HEIGHT * placed.height + 10)) as ax:
        rows.write_around(ax, table, bars, captions, notes, beside=placed.beside, ticks=0)
        if bars.is_empty():
            captions.write_nothing(ax, notes)
        else:
            _draw_bars(ax, table, bars, placed)
    return ax


def _draw_bars(ax: Axes, table: DrawnTable, bars: pl.DataFrame, placed: Rows) -> None:
    """Draw bars under the title and above the notes that are written."""
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ink = drawing.ink(ax)
    lengths = bars["value"].cast(pl.Float64)
    ends, errors = lengths, None
    if "high" in bars.columns:
        ends = bars["high"]
        errors = [(lengths - bars["low"]).to_list(), (ends - lengths).to_list()]
    of_kind = [drawing.BLUE if kind == "labelled" else drawing.GREY for kind in bars["kind"]]
    colours = bars["colour"].to_list() if "colour" in bars.columns else of_kind
    has_groups = "group" in bars.columns
    marks = ax.barh(
        placed.at,
        lengths.to_list(),
        height=0.9 if has_groups else 0.72,
        color=colours,
        edgecolor=[drawing.ink_on(colour) for colour in colours],
        hatch=[drawing.HATCHES.get(colour, "") if has_groups else "" for colour in colours],
        linewidth=0,
        xerr=errors,
        error_kw={"ecolor": ink, "elinewidth": 1, "capsize": 2},
    )
    numbers = [
        table.write(value, 0) + (f"  ({beside})" if beside else "")
        for value, beside in zip(bars["value"], drawn_table.beside(bars, table.lang), strict=True)
    ]
    # Room for the numbers beside the bars.
    number = max(map(drawing.breadth, numbers)) + _GAP
    width = drawing.inches(ax)[0] - placed.beside
    ax.set_xlim(0, max([*ends, 1]) * (1 + number / max(width - number, 0.25 * width, 0.1)))
    ax.bar_label(marks, numbers, padding=3, color=ink)
    placed.write_names(ax)
    ax.set_xticks([])
    # A few bars keep the thickness of bars among many.
    ax.set_ylim(placed.height - 0.5, -0.5)
