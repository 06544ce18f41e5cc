"""Figures over the years: items of units, or the groups of a summary; many side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, cycle
from statistics import fmean
from typing import Final, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import ScaledTranslation

from finstat_kit import arguments, calls
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.texts import Captions
from finstat_kit.charts.values import drawn_table, figures, summaries
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.charts.values.figures import Figures
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.financials.history import other_periods
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_MOST: Final = len(drawing.CODE_COLOURS)  # lines in one panel
_MOST_PANELS: Final = 24
_COLUMNS: Final = 4  # of panels, and of narrow axes 2
_PANEL_HEIGHT: Final = 1.5  # inches
_ABOVE: Final = 0.28  # of the height of a panel, for its name
_BETWEEN: Final = 0.06  # of its breadth
_N: Final = " (n = "  # after the name of a group
_YEAR: Final = 5.5  # letters that a year takes, where names at the ends make axes narrower

_NEEDED: Final = ("unit_id", "year", "months", "source_column", "supersedes", "name")
_LONGEST_HEADING: Final = 60  # letters
_MARKS: Final = ("gap", "few", "corrected", "previous", "short")
_WORDS: Final = Words("plot_history")
_NAME_LINE: Final = 1.35  # of the height of letters
_NARROW: Final = 40  # letters; narrower axes have no room for names beside them
_NAME_GAP: Final = 12  # points from the axes to the names


class _Line(NamedTuple):
    """A line: its name, how it is drawn, and its points by year, each with a value.

    Attributes:
        name: The name.
        look: Colour, dash and marker.
        points: The points.
    """

    name: str
    look: tuple[str, str, str]
    points: pl.DataFrame


class _Panel(NamedTuple):
    """Lines that share axes, and the name of these; "" of axes alone."""

    name: str
    lines: list[_Line]


class _Chart(NamedTuple):
    """What is drawn, and the words around it.

    Attributes:
        panels: One, or several side by side.
        heading: What is drawn.
        facts: Whose values these are, or how many; None if lines say that.
        notes: Those of the values, after those of the marks.
        item: By which the numbers on the axis are written.
        legend: Look and name of the lines that panels have in common.
        gap: The word for why a line breaks.
    """

    panels: list[_Panel]
    heading: str
    facts: str | int | None
    notes: list[str]
    item: str
    legend: list[tuple[tuple[str, str, str], str]]
    gap: str = "gap"

    @property
    def lines(self) -> Iterator[_Line]:
        """All lines with points."""
        return (line for panel in self.panels for line in panel.lines if line.points.height)


@calls.checked_call
def plot_history(
    frame: labels.Frame,
    *,
    value: str | Sequence[str] | None = None,
    statistic: str | None = None,
    unknown: bool = False,
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw figures over the years: items of units, or the groups of a summary.

    Up to twelve lines share the axes, each of its own colour, dash and marker, and are named at
    their ends, in narrow axes below; more
    groups or units stand side by side, each in a small chart of the same scales, up to 24. So do
    several items of several units, and a summary by two groups: a small chart per code of the
    first, a colour per code of the second. A year without a number breaks the line.

    Of units: a value from a filing that corrects another has a ring, one from the previous-period
    column is hollow, and a year whose period has other than 12 months is hatched. One row is drawn
    per unit and year, as in `plot_spread`; a year in which another period ends too is named in a
    note. Of a summary: each name has the least and the largest ``n`` of its years, and a statistic
    of fewer than five units is none.

    Args:
        frame: As `financials` returns it, of up to 24 units; a ratio is computed if it is not a
            column. Or a summary as `summary` returns it, of several years.
        value: An item or ratio, or several of the same kind (amounts, shares, or other numbers). Of
            a summary one; None is its only one.
        statistic: Of a summary: ``"mean"`` or another column of numbers of `summary`; ``"sum"``
            and ``"share_top5"`` are of items alone, ``"weighted"`` of ratios. None is the median.
        unknown: Whether units without a known code have a line; else a note has their number.
        title: Replaces the heading, with which the notes then begin; the number of units below it
            stays.
        note: Written below the notes of the chart.
        lang: Language of title, numbers and names, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``); small charts are its ``child_axes``,
        and ``.notes`` has all notes, of which those that fit are below the chart.

    Raises:
        UsageError: No item, a repeated item, items of several kinds, too many items, units or
            codes, a missing column, or a frame with individual and consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_history(fk.financials([365]), value="equity", lang="en")
        >>> print(ax.get_title())
        Equity by year
        Skúška Orol 510, s. r. o.
    """
    captions = texts.captions(register, lang, title, note)
    lang = captions.lang
    if statistic is not None:
        arguments.one_of("statistic", statistic, (*summaries.STATISTICS, *summaries.COUNTS))
    item = value if value is None or isinstance(value, str) else arguments.names("value", value)[0]
    table = drawn_table.of_years(
        frame, item, statistic or "median", lang, captions.source, unknown=unknown
    )
    if table is None:
        if statistic is not None:
            raise invalid("statistic", statistic, ": figures have none", give="a summary of them")
        chart = _of_units(frame, arguments.names("value", value), lang)
    else:
        if item is not None and len(arguments.names("value", value)) > 1:
            raise invalid("value", value, ": a summary is drawn by one", give=repr(item))
        chart = _of_groups(table, statistic or "median", item)
    number = len(chart.panels)
    height = 1.6 + _PANEL_HEIGHT * -(-number // _COLUMNS)
    if number == 1:
        line = _NAME_LINE * drawing.points() / 72
        height = max(4.2, 1.6 + 1.5 * line * len(chart.panels[0].lines))
    with drawing.axes(ax, 8, height) as ax:
        _draw(ax, chart, captions)
    return ax


def _of_units(frame: labels.Frame, item_names: list[str], lang: Lang) -> _Chart:
    """Return a line for each unit or item, or for each unit a panel with its items."""
    words = _WORDS[lang]
    _check_kinds(item_names)
    schema = labels.schema_of(frame)
    if absent := [name for name in _NEEDED if name not in schema]:
        raise invalid("frame", ..., f": no column {absent[0]!r}", give="what fk.financials returns")
    values = [figures.of_frame(frame, item) for item in item_names]
    named = values[0].rows.select("unit_id", "name").unique("unit_id", maintain_order=True)
    units = {unit: drawing.shortened(str(name or unit)) for unit, name in named.iter_rows()}
    if len(units) > _MOST_PANELS or len(values) > _MOST:
        raise UsageError(
            f"{len(values)} items of {len(units)} units are too many lines",
            cure=f"give up to {_MOST} items of up to {_MOST_PANELS} units; more are drawn together "
            "as fk.summary(…)",
        )

    def line(name: str, look: tuple[str, str, str], unit: int, value: Figures) -> _Line:
        of_unit = pl.col("unit_id").eq_missing(pl.lit(unit))
        points = value.present.drop_nulls("year").filter(of_unit).sort("year")
        return _Line(name, look, points)

    looks = _looks(drawing.CODE_COLOURS)
    called = [figures.called(value.item, lang) for value in values]
    if len(units) == 1:
        of_items = zip(called, looks, values, strict=False)
        panels = [_Panel("", [line(name, look, next(iter(units)), value)
                              for name, look, value in of_items])]  # fmt: skip
    elif len(values) == 1 and len(units) <= _MOST:
        of_units = zip(units.items(), looks, strict=False)
        panels = [_Panel("", [line(name, look, unit, values[0])
                              for (unit, name), look in of_units])]  # fmt: skip
    else:
        panels = [
            _Panel(name, [line(item, look, unit, value)
                          for item, look, value in zip(called, looks, values, strict=False)])
            for unit, name in units.items()
        ]  # fmt: skip
    heading = words["by year"].format(item=figures.capitalized(_listed(called, lang)))
    notes = [*_other_periods(values, units, lang), *_notes(values, lang)]
    facts = " ".join(str(named.row(0)[1] or named.row(0)[0]).split()) if len(units) == 1 else None
    legend = list(zip(looks, called, strict=False))
    return _Chart(panels, heading, facts, notes, values[0].item, legend)


def _looks(colours: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return colour, dash and marker of each line: no two are alike, in grey either."""
    return list(zip(colours, cycle(drawing.DASHES), cycle(drawing.MARKERS), strict=False))


def _handle(look: tuple[str, str, str]) -> Line2D:
    colour, dash, marker = look
    return Line2D([], [], color=colour, ls=dash, marker=marker, markersize=5, linewidth=1.8)


def _listed(called: Sequence[str], lang: Lang) -> str:
    """Return the names of items, or of too many that of the first and how many follow."""
    words = _WORDS[lang]
    *others, last = called
    whole = words["and"].join([", ".join(others), last]) if others else last
    if len(whole) <= _LONGEST_HEADING or not others:
        return whole
    return called[0] + words["and"] + words["more"].format(n=len(others))


def _of_groups(table: DrawnTable, statistic: str, item: str | None) -> _Chart:
    """Return a line for each group of a summary, or panels of them."""
    lang, rows = table.lang, table.rows
    parts = rows.partition_by("group_code", maintain_order=True)
    groups = [(part["group"][0] + _written_n(part, lang), part) for part in parts]
    has_members = bool((rows["member"] != "").any())
    if not has_members and len(groups) <= _MOST:
        looks = _looks([part["colour"][0] for _, part in groups])
        lines = [_line(name, look, part)
                 for (name, part), look in zip(groups, looks, strict=True)]  # fmt: skip
        panels = [_Panel("", lines)]
        legend = []
    else:
        members = rows.sort("member_rank", nulls_last=True).unique("member", maintain_order=True)
        looks = _looks(members["colour"].to_list())
        look_of = dict(zip(members["member"], looks, strict=True))
        legend = [(look, member) for member, look in look_of.items()]
        if not has_members:  # each line is named above it
            look_of, legend = {"": (drawing.BLUE, "-", "o")}, []
        largest = sorted(groups, key=lambda group: group[1]["n"].sum(), reverse=True)
        largest_names = {name for name, _ in largest[:_MOST_PANELS]}
        groups = [group for group in groups if group[0] in largest_names]
        panels = [
            _Panel(name, [_line(member["member"][0], look_of[member["member"][0]], member)
                          for member in group.partition_by("member", maintain_order=True)])
            for name, group in groups
        ]  # fmt: skip
    left_out = {"panels": rows["group_code"].n_unique() - len(groups)}
    notes = [*table.notes, *figures.numbered(_WORDS[lang], left_out, lang)]
    written = item or (rows["value_name"][0] if rows.height else "")
    item = statistic if statistic in ("share_top5", *summaries.COUNTS) else written
    return _Chart(panels, table.heading, table.units, notes, item, legend, "few")


def _line(name: str, look: tuple[str, str, str], rows: pl.DataFrame) -> _Line:
    return _Line(name, look, rows.drop_nulls(["year", "value"]).sort("year"))


def _written_n(rows: pl.DataFrame, lang: Lang) -> str:
    """Write the least and the largest number of units with a value of the years of a group."""
    numbers = rows.group_by("year").agg(pl.col("n").sum())["n"].to_list()
    ends = sorted({min(numbers), max(numbers)})
    return f"{_N}{'–'.join(number_format.whole(end, lang) for end in ends)})"


def _draw(ax: Axes, chart: _Chart, captions: Captions) -> None:
    """Draw all lines, with the texts around them."""
    words, lang = _WORDS[captions.lang], captions.lang
    lines = list(chart.lines)
    if not lines:
        captions.write_title(ax, chart.heading, chart.facts)
        captions.write_nothing(ax, captions.noted(chart.heading, chart.notes))
        return
    in_panels = len(chart.panels) > 1
    if in_panels:
        marks, beside = _draw_panels(ax, chart, lang)
    else:
        marks = set().union(*(_draw_line(ax, line) for line in lines))
        _finish(ax, chart.item, lang)
        beside = _breadth_of_ticks(ax)
    marks = {chart.gap if mark == "gap" else mark for mark in marks}
    of_marks = [words[mark] for mark in _MARKS if mark in marks]
    notes = captions.noted(chart.heading, [*of_marks, *chart.notes])
    captions.write_title(ax, chart.heading, chart.facts, beside=beside)
    names_below = drawing.inches(ax)[0] * 72 / drawing.points() < _NARROW
    ticks = texts.ticks_height()
    pad = ticks if in_panels else 4.0
    legend = chart.legend if in_panels else [(line.look, line.name) for line in lines]
    if (in_panels and legend) or (names_below and len(legend) > 1):
        handles = [(_handle(look), name) for look, name in legend]
        pad = texts.legend_below(ax, handles, beside=beside, ticks=ticks)
        pad += ticks if in_panels else 0
    captions.write_notes(ax, notes, beside=beside, pad=pad)
    if len(legend) > 1 and not in_panels and not names_below:
        _write_names(ax, lines)


def _draw_panels(ax: Axes, chart: _Chart, lang: Lang) -> tuple[set[str], float]:
    """Draw panels side by side, of the same scales; return marks, and the inches beside them."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    width, _ = drawing.inches(ax)
    columns = min(_COLUMNS if width >= drawing.NARROW else 2, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    breadth, height = 1 / columns, 1 / rows
    letters = int(width * breadth * 72 / drawing.points() / 0.6)
    marks, axes = set[str](), list[Axes]()
    for place, panel in enumerate(chart.panels):
        row, column = divmod(place, columns)
        bounds = (column * breadth, 1 - (row + 1) * height,
                  breadth * (1 - _BETWEEN), height * (1 - _ABOVE))  # fmt: skip
        inner = ax.inset_axes(bounds)
        for line in panel.lines:
            if line.points.height:
                marks |= _draw_line(inner, line)
        name, sign, n = panel.name.rpartition(_N)
        end = f"\n{(sign + n).strip()}" if sign else ""
        title = drawing.shortened(name or panel.name, letters) + end
        inner.set_title(drawing.literal(title), x=0, ha="left", fontsize="medium", pad=3)
        axes.append(inner)
    years = [int(year) for line in chart.lines for year in line.points["year"]]
    values = [float(value) for line in chart.lines for value in line.points["value"]]
    first, last = min(years), max(years)
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.05 * (high - low or 1)
    for place, inner in enumerate(axes):
        _finish(inner, chart.item, lang)
        inner.set_xlim(first - 0.5, last + 0.5)
        inner.set_xticks(sorted({first, last}))
        # The labels of panels side by side would touch.
        inner.get_xticklabels()[0].set_horizontalalignment("left" if first < last else "center")
        inner.get_xticklabels()[-1].set_horizontalalignment("right" if first < last else "center")
        inner.set_ylim(low - room * (low < 0), high + room)
        inner.yaxis.set_major_locator(drawing.ticks(4))
        is_lowest = place + columns >= len(axes)
        inner.tick_params(labelbottom=is_lowest, labelleft=place % columns == 0)
    return marks, _breadth_of_ticks(axes[0])


def _breadth_of_ticks(ax: Axes) -> float:
    """Return the inches of the numbers beside axes."""
    ticks = ax.yaxis.get_major_formatter().format_ticks(list(ax.get_yticks()))
    return max(map(drawing.breadth, ticks))


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
        for note in other_periods(rows.filter(pl.col("unit_id").eq_missing(pl.lit(unit))), lang)
    ]


def _draw_line(ax: Axes, line: _Line) -> set[str]:
    """Draw a line with its marks; return the marks that need a note."""
    points, (colour, dash, marker) = line.points, line.look
    rows = points.cast({"year": pl.Int64}).upsample("year", every="1i")
    ax.plot(rows["year"], rows["value"].fill_null(float("nan")), color=colour,
            linestyle=dash, linewidth=1.8)  # fmt: skip
    seen = {"gap"} if points.height < rows.height else set[str]()
    if "source_column" not in points.columns:  # of a summary
        ax.plot(points["year"], points["value"], marker, color=colour, markersize=5)
        return seen
    hollow = points.filter(pl.col("source_column") == "previous")
    full = points.filter(pl.col("source_column") != "previous")
    ax.plot(full["year"], full["value"], marker, color=colour, markersize=5)
    face = ax.get_facecolor()
    ax.plot(
        hollow["year"], hollow["value"], marker, color=colour, markersize=5, markerfacecolor=face
    )
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
    return seen | {name for name, marked in marks.items() if marked.height}


def _finish(ax: Axes, item: str, lang: Lang) -> None:
    most = max(int(drawing.inches(ax)[0] * 72 / drawing.points() / _YEAR), 1)
    ax.xaxis.set_major_locator(drawing.ticks(most, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f}"))
    # Hatches end between years.
    has_years = ax.dataLim.width >= 1
    first, last = (math.ceil(ax.dataLim.x0), math.floor(ax.dataLim.x1)) if has_years else (0, 0)
    if sum(first <= year <= last for year in ax.get_xticks()) < 2 and last > first:
        ax.set_xticks([first, last])
    if 0 <= ax.dataLim.width < 1:  # of a single year, whose axis would have parts of it, or decades
        year = round((ax.dataLim.x0 + ax.dataLim.x1) / 2)
        ax.set_xlim(year - 0.5, year + 0.5)
    lines = drawing.inches(ax)[1] * 72 / drawing.points() / 4
    ax.yaxis.set_major_locator(drawing.ticks(min(max(int(lines), 2), 8)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: figures.tick(item, y, lang)))
    low, high = ax.get_ylim()
    if low > 0:
        ax.set_ylim(0, high)
    elif low < 0 < high:
        ax.axhline(0, color=drawing.ink(ax), linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)


def _write_names(ax: Axes, lines: Sequence[_Line]) -> None:
    """Write the name of each line beside its end, joined to it by a thin line of its colour.

    Title, notes and the scale of the axes must not change afterwards.
    """
    low, high = ax.get_ylim()
    line_height = _NAME_LINE * drawing.points() / 72
    height = max(texts.height_left(ax), line_height * len(lines))
    ends = [(*line.points.select("year", "value").row(-1), line) for line in lines]
    ends.sort(key=lambda end: end[1])
    best_middles = [(y - low) / (high - low) for _, y, _ in ends]
    beside = ax.transAxes + ScaledTranslation(_NAME_GAP / 72, 0, ax.figure.dpi_scale_trans)
    places = _places_of_texts(best_middles, [line_height / height] * len(lines))
    for (x, y, line), place in zip(ends, places, strict=True):
        joined = {"arrowstyle": "-", "color": line.look[0], "linewidth": 1, "linestyle": ":"}
        ax.annotate(
            drawing.literal(line.name), (x, y), (1, place), textcoords=beside,
            va="center", color=drawing.ink(ax), annotation_clip=False,
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
