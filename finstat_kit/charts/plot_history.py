"""Figures over the years: several items of one unit, or one item of a few units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import Final, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import ScaledTranslation

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.parts.texts import Captions
from finstat_kit.charts.values import figures
from finstat_kit.charts.values.figures import Figures
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.financials.history import other_periods
from finstat_kit.frames.places import labels
from finstat_kit.frames.text.catalogue import Words

_MOST: Final = 6  # lines
_YEARS: Final = 1.4  # per inch of the axes that names at the ends of lines make narrower
_NEEDED: Final = ("unit_id", "year", "months", "source_column", "supersedes", "name")
_WORDS: Final = Words("plot_history")
_NAME_WIDTH: Final = 2.0  # inches of a name in a line
_NAME_LINE: Final = 0.17  # inches
_NAME_GAP: Final = 12  # points from the axes to the names


@arguments.checked_call
def plot_history(
    frame: labels.Frame,
    value: str | Sequence[str],
    *,
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw figures over the years: several items of one unit, or one item of up to six units.

    Several lines are named at their ends. A year without a number breaks the line. A value from a
    filing that corrects another has a ring, one from the previous-period column is hollow, and a
    year whose period has other than 12 months is hatched. One row is drawn per unit and year, as in
    `plot_spread`; a year in which another period ends too is named in a note.

    Args:
        frame: As `financials` returns it, of one or a few units; a ratio is computed if it is not
            a column.
        value: An item or ratio, or several of the same kind (amounts, shares, or other numbers).
        title: Replaces the heading, with which the notes then begin if the lines are of one item;
            the number of units and the source below it stay.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and names, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``).

    Raises:
        UsageError: No item, a repeated item, items of several kinds, several items of several
            units, more than six lines, a missing column, or a frame with individual and
            consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_history(fk.financials([365]), "equity", lang="en")
        >>> print(ax.get_title())
        Equity by year
        Skúška Orol 510, s. r. o., sample (invented) data
    """
    captions = texts.captions(register, lang, title, note)
    item_names = arguments.names("value", value)
    _check_kinds(item_names)
    schema = labels.schema_of(frame)
    if absent := [name for name in _NEEDED if name not in schema]:
        raise invalid("frame", ..., f": no column {absent[0]!r}", give="what fk.financials returns")
    values = [figures.of_frame(frame, item) for item in item_names]
    named = values[0].rows.select("unit_id", "name").unique("unit_id", maintain_order=True)
    units = {unit: str(name or unit) for unit, name in named.iter_rows()}
    if len(values) > 1 < len(units) or len(values) * len(units) > _MOST:
        raise UsageError(
            f"{len(values)} items of {len(units)} units are too many lines",
            cure=f"give one unit and up to {_MOST} items, or up to {_MOST} units and one item",
        )
    with drawing.axes(ax, 8, 4.2) as ax:
        _draw(ax, values, units, captions)
    return ax


def _draw(
    ax: Axes, values: Sequence[Figures], units: Mapping[int, str], captions: Captions
) -> None:
    """Draw a line for each item or unit, with the texts around them.

    Args:
        ax: Where.
        values: The rows of each item.
        units: Their names.
        captions: Writes the texts.
    """
    lang, words, item = captions.lang, _WORDS[captions.lang], values[0].item
    heading, item_note = words["items"], list[str]()
    if len(values) == 1:
        called = figures.capitalized(figures.called(item, lang))
        heading = words["by year"].format(item=called)
        item_note = captions.replaced(heading)
    names = [drawing.shortened(name, drawing.LONGEST_BROKEN) for name in units.values()]
    unit_name = names[0] if len(names) == 1 else None
    value_notes = _notes(values, lang)
    if all(value.present.is_empty() for value in values):
        captions.write_title(ax, heading, unit_name)
        captions.write_nothing(ax, *item_note, *value_notes)
        return
    ends, marks = _draw_lines(ax, values, units, lang)
    _finish(ax, item, lang)
    notes = [words[mark] for mark in ("gap", "corrected", "previous", "short") if mark in marks]
    notes = [*item_note, *notes, *_other_periods(values, units, lang), *value_notes]
    ticks = ax.yaxis.get_major_formatter().format_ticks(list(ax.get_yticks()))
    beside = max(drawing.breadth(tick, TEXT_SIZE) for tick in ticks)
    captions.write_title(ax, heading, unit_name, beside=beside)
    captions.write_notes(ax, " ".join(notes), beside=beside)
    if len(values) * len(units) > 1:
        _write_names(ax, ends)


def _draw_lines(
    ax: Axes, values: Sequence[Figures], units: Mapping[int, str], lang: Lang
) -> tuple[list[_End], set[str]]:
    """Draw the lines; return their ends, and the marks that need a note."""
    ends, marks = list[_End](), set[str]()
    lines = [(unit, of_item) for unit in units for of_item in values]
    for colour, (unit, of_item) in zip(drawing.CODE_COLOURS, lines, strict=False):
        name = units[unit] if len(units) > 1 else figures.called(of_item.item, lang)
        points = of_item.present.drop_nulls("year").filter(unit_id=unit).sort("year")
        if not points.is_empty():
            marks |= _draw_line(ax, points, colour)
            year, number = points.select("year", "value").row(-1)
            ends.append(_End(year, number, name, colour))
    return ends, marks


def _check_kinds(item_names: Sequence[str]) -> None:
    """Refuse items that one axis cannot have."""
    kinds: dict[str, str] = {}
    for item in item_names:
        kinds.setdefault(figures.kind(item), item)
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise invalid(
            "value",
            ...,
            f": {first!r} is of the kind {one!r}, {second!r} of the kind {other!r}",
            give="items of one kind, and draw the others in another chart",
        )


def _notes(values: Sequence[Figures], lang: Lang) -> list[str]:
    """Return the notes of all items, with the name of the item if not all have the note."""
    notes = [value.notes(lang) for value in values]
    common = [note for note in notes[0] if all(note in others for others in notes)]
    return common + [
        f"{figures.capitalized(figures.called(value.item, lang))}: {note[0].lower()}{note[1:]}"
        for value, notes_of_item in zip(values, notes, strict=True)
        for note in notes_of_item
        if note not in common
    ]


def _other_periods(values: Sequence[Figures], units: Mapping[int, str], lang: Lang) -> list[str]:
    """Return a note for each year in which another period ends than the one that is drawn."""
    rows = pl.concat([value.present for value in values], how="diagonal_relaxed")
    return [
        (f"{units[unit]}, " if len(units) > 1 else "") + note
        for unit in units
        for note in other_periods(rows.filter(unit_id=unit), lang)
    ]


def _draw_line(ax: Axes, points: pl.DataFrame, colour: str) -> set[str]:
    """Draw a line with its marks; return the marks that need a note."""
    rows = points.cast({"year": pl.Int64}).upsample("year", every="1i")
    ax.plot(rows["year"], rows["value"].fill_null(float("nan")), color=colour, linewidth=1.8)
    hollow = points.filter(pl.col("source_column") == "previous")
    full = points.filter(pl.col("source_column") != "previous")
    ax.plot(full["year"], full["value"], "o", color=colour, markersize=5)
    face = ax.get_facecolor()
    ax.plot(hollow["year"], hollow["value"], "o", color=colour, markersize=5, markerfacecolor=face)
    ringed = full.filter(pl.col("supersedes") > 0)
    ax.plot(
        ringed["year"], ringed["value"], "o", color=drawing.ink(ax), markersize=11,
        markerfacecolor="none", markeredgewidth=1.2,
    )  # fmt: skip
    short = points.filter(pl.col("months") != 12)
    for year in short["year"]:
        ax.axvspan(
            year - 0.4, year + 0.4, facecolor="none", edgecolor=drawing.GREY, hatch="///",
            linewidth=0, alpha=0.6, zorder=0,
        )  # fmt: skip
    marks = {"corrected": ringed, "previous": hollow, "short": short}
    seen = {name for name, marked in marks.items() if marked.height}
    return seen | ({"gap"} if points.height < rows.height else set())


def _finish(ax: Axes, item: str, lang: Lang) -> None:
    most = max(int(drawing.inches(ax)[0] * _YEARS), 1)
    ax.xaxis.set_major_locator(drawing.ticks(most, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f}"))
    if ax.dataLim.width < 1:  # of a single year, whose axis would have parts of it, or decades
        year = round((ax.dataLim.x0 + ax.dataLim.x1) / 2)
        ax.set_xlim(year - 0.5, year + 0.5)
    ax.yaxis.set_major_locator(drawing.ticks(8))
    ax.yaxis.set_major_formatter(figures.Ticks(item, lang))
    ax.tick_params(labelsize=TEXT_SIZE)
    low, high = ax.get_ylim()
    if low > 0:
        ax.set_ylim(0, high)
    elif low < 0 < high:
        ax.axhline(0, color=drawing.ink(ax), linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)


class _End(NamedTuple):
    """The last point of a line, its name and colour."""

    x: float
    y: float
    name: str
    colour: str


def _write_names(ax: Axes, ends: Sequence[_End]) -> None:
    """Write the name of each line beside its end, joined to it by a thin line of its colour.

    Title, notes and the scale of the axes must not change afterwards.
    """
    low, high = ax.get_ylim()
    height = max(texts.height_left(ax), _NAME_LINE * len(ends))
    unit = 1 / height  # an inch, by the height of the axes
    ordered = sorted(ends, key=lambda end: end.y)
    for longest in (drawing.LONGEST_BROKEN, drawing.LONGEST):
        texts_of_ends = [drawing.shortened(end.name, longest) for end in ordered]
        names = [drawing.wrapped(text, _NAME_WIDTH, TEXT_SIZE) for text in texts_of_ends]
        if _NAME_LINE * sum(map(len, names)) <= height:
            break
    heights = [_NAME_LINE * len(lines) * unit for lines in names]
    best_middles = [(end.y - low) / (high - low) for end in ordered]
    beside = ax.transAxes + ScaledTranslation(_NAME_GAP / 72, 0, ax.figure.dpi_scale_trans)
    for end, lines, y in zip(ordered, names, _places_of_texts(best_middles, heights), strict=True):
        joined = {"arrowstyle": "-", "color": end.colour, "linewidth": 1, "linestyle": ":"}
        ax.annotate(
            drawing.literal("\n".join(lines)), (end.x, end.y), (1, y), textcoords=beside,
            va="center", fontsize=TEXT_SIZE, color=drawing.ink(ax), annotation_clip=False,
            arrowprops={**joined, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)},
        )  # fmt: skip


def _places_of_texts(best_middles: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return the middles of texts between 0 and 1: near where they are wanted, none over another.

    >>> _places_of_texts([0.1, 0.5, 0.5], [0.1, 0.1, 0.1])
    [0.1, 0.45, 0.55]
    """
    heaps: list[tuple[list[float], list[float]]] = []
    for middle, height in zip(best_middles, heights, strict=True):
        heap = [middle], [height]
        # Texts that touch move as one.
        while heaps and _heap_bottom(*heaps[-1]) + sum(heaps[-1][1]) > _heap_bottom(*heap):
            below = heaps.pop()
            heap = below[0] + heap[0], below[1] + heap[1]
        heaps.append(heap)
    return [
        round(_heap_bottom(middles, of_heap) + start + height / 2, 9)
        for middles, of_heap in heaps
        for start, height in zip(accumulate(of_heap, initial=0.0), of_heap, strict=False)
    ]


def _heap_bottom(middles: Sequence[float], heights: Sequence[float]) -> float:
    """Return where a heap of texts begins, near the places of all."""
    starts = accumulate(heights, initial=0.0)
    bottoms = (middle - start - height / 2
              for middle, start, height in zip(middles, starts, heights, strict=False))  # fmt: skip
    return max(0.0, min(fmean(bottoms), 1 - sum(heights)))
