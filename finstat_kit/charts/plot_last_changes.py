"""Units by the period of their last change, stacked by code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Final, NamedTuple

import matplotlib.dates as mdates
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.ticker import FuncFormatter

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang
from finstat_kit.charts.parts import drawing, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.values import figures
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames.counts.count_by import PERIODS, Every
from finstat_kit.frames.financials.filings import is_plausible
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import MONTHS
from finstat_kit.protocol import wire

_MOST_PERIODS: Final = 24  # of more, those of nearly empty years are cut
_EMPTY: Final = 0.1  # of the units of the fullest year
_BROAD: Final = 5.6  # inches of a line of text that is read with ease
_FEW_PERIODS: Final = 7  # with fewer bounds, periods have the width of those of so many
_BESIDE_LEGEND: Final = 0.75  # of the width of axes is used for dates, at most
_LEGEND_HANDLE: Final = 0.4  # inches of an entry besides its text
_LEGEND_LINE: Final = 0.205  # inches
_GAP: Final = 0.15  # inches between dates
_WORDS: Final = Words("plot_last_changes")
_MOST_SERIES: Final = 5  # codes with a separate series
_REST_COLOUR: Final = "#ababab"
_UNLABELLED_COLOUR: Final = "#767676"
_BESIDE_AXES: Final = 0.7  # inches for the labels of the numbers
_Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
_FORMATS: Final[dict[Every, str]] = {
    "day": "%Y-%m-%d",
    "week": "%Y-%m-%d",
    "month": "%Y-%m",
    "quarter": "%Y-%m",
    "year": "%Y",
}


@arguments.checked_call
def plot_last_changes(
    units: labels.Frame,
    by: By = "kraj",
    *,
    every: Every = "month",
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw units by the period of their **last** change, and by code.

    This is not a time series of events: the register keeps only the latest change. A unit changed
    in February and again in May counts for May only, so earlier periods shrink on every later run.
    The numbers are those of `count_by` with ``last_change``.

    The codes are stacked; those of a short codelist, such as regions, have the same colour in every
    chart. With more than 24 periods the chart begins with the first year that has a tenth of the
    units of the fullest one, and a note has the number of units before. The last period is hatched
    if the register's day does not complete it.

    Args:
        units: Records, or any frame with ``datumPoslednejUpravy`` (Date) and the column *by*.
        by: A code field, as in `count_by`. The five commonest codes, or fewer on small axes, are
            separate series; the other labelled codes are one series, and rows without a label
            or with ``stav`` another.
        every: Length of a period: ``"day"``, ``"week"`` (from Monday), ``"month"``,
            ``"quarter"`` or ``"year"``.
        title: Replaces the heading; the number of units below it stays.
        note: Written below the notes of the chart.
        lang: Language of title, labels and numbers, ``"sk"`` or ``"en"``; None is the register's.
        ax: Axes to draw on; their figure needs ``layout="constrained"`` to make room for the
            legend beside the axes. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes. A note below gives the number of units without a date, and of those whose date is
        not in the years 1990 to 2100.

    Raises:
        UsageError: An argument is wrong, or a column is missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_last_changes(fk.units.get(fk.units.ids(limit=50)), lang="en")
        >>> print(ax.get_title())
        Accounting units by month of last change and region
        50 units
    """
    captions = texts.captions(register, lang, title, note)
    lang = captions.lang
    reg = captions.source or current.register()
    by = labels.field(by, wire.BY_FIELD)
    arguments.one_of("every", every, tuple(PERIODS))
    changes = reg.count_by(units, by, last_change=every, lang=lang)
    codes = reg._lookup(wire.BY_FIELD[by].name)["code"]
    today = reg.today
    words = _WORDS[lang]
    with_date = changes.drop_nulls("period")
    dated = with_date.filter(is_plausible(pl.col("period")))
    parts = (changes, with_date, dated)
    total, with_day, shown_units = (int(part["count"].sum()) for part in parts)
    left_out_counts = {"undated": total - with_day, "implausible": with_day - shown_units}
    with drawing.axes(ax, 9, 4.8) as ax:
        heading = words["heading"].format(period=words[every], by=drawing.WORDS[lang][by])
        captions.write_title(ax, heading, total, beside=_BESIDE_AXES / 2)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=TEXT_SIZE)
        without_day = " ".join(figures.numbered(words, left_out_counts, lang))
        if dated.is_empty():
            captions.write_nothing(ax, without_day)
        else:
            shown, older = _without_empty_years(dated, every, lang)
            bounds = _bounds_of(shown, every)
            end_text = _unfinished(bounds, today, lang)
            period = words[f"axis {every}"]
            unfinished = words["part"].format(period=period, to=end_text) if end_text else ""
            notes = [words["not"], unfinished, words["moves"], older, without_day]
            # Before the series, which have the room that the notes leave.
            captions.write_notes(
                ax, *notes, key=words["axis"].format(period=period), beside=_BESIDE_AXES,
                most=_BROAD, lines=2,
            )  # fmt: skip
            series_of = partial(
                _series_of, shown, bounds.head(-1), codes, lang,
                short=drawing.inches(ax)[0] < drawing.NARROW,
            )  # fmt: skip
            all_series = _with_room_for_legend(ax, series_of)
            _draw_stack(ax, all_series, bounds, every, lang, part=end_text is not None)
            ax.set_ylabel(words["count"], fontsize=TEXT_SIZE)
    return ax


def _without_empty_years(dated: pl.DataFrame, every: Every, lang: Lang) -> tuple[pl.DataFrame, str]:
    """Return the counts without the nearly empty years before others, and a note about these."""
    if _bounds_of(dated, every).len() <= _MOST_PERIODS + 1:
        return dated, ""
    year = pl.col("period").dt.year()
    years = dated.group_by(year).agg(pl.col("count").sum())
    first = years.filter(pl.col("count") >= _EMPTY * pl.col("count").max())["period"].min()
    older = number_format.whole(int(dated.filter(year < first)["count"].sum()), lang)
    note = "" if older == "0" else _WORDS[lang]["older"].format(year=first, n=older)
    return dated.filter(year >= first), note


def _with_room_for_legend(ax: Axes, series_of: Callable[..., list[_Series]]) -> list[_Series]:
    """Return as many series as a legend beside the axes has room for, after title and notes.

    Where the notes end before the legend begins, it may go down beside them.

    Args:
        ax: The axes, with title and notes.
        series_of: Returns the series, given how many codes are separate ones.
    """
    notes = max(drawing.breadth(line, TEXT_SIZE) for line in ax.get_xlabel().split("\n"))
    for most in range(_MOST_SERIES, 0, -1):
        all_series = series_of(most=most)
        beside_notes = notes < _width_beside_legend(ax, all_series)
        number = sum(len(each.name.split("\n")) for each in all_series)
        if _LEGEND_LINE * number <= texts.height_left(ax, beside_notes=beside_notes):
            break
    return all_series


def _width_beside_legend(ax: Axes, all_series: Sequence[_Series]) -> float:
    """Return the inches that a legend beside the axes leaves to them, at least."""
    lines = [line for each in all_series for line in each.name.split("\n")]
    legend = max(drawing.breadth(line, TEXT_SIZE) for line in lines) + _LEGEND_HANDLE
    return drawing.inches(ax)[0] * drawing.GROWTH - _BESIDE_AXES - legend


def _draw_stack(
    ax: Axes,
    all_series: Sequence[_Series],
    bounds: pl.Series,
    every: Every,
    lang: Lang,
    *,
    part: bool,
) -> None:
    """Draw one outline per series, each on top of the one before."""
    edges = _numbers(bounds)
    floor = np.zeros(len(edges) - 1)
    outlines = []
    for values in all_series:
        outline = StepPatch(floor + values.counts, edges, facecolor=values.colour, linewidth=0)
        outline.set_data(baseline=floor)  # type: ignore[arg-type]
        # Not ax.stairs: its loop over corners in Python takes seconds for the days of ten years.
        ax.add_artist(outline)
        outlines.append(outline)
        floor = floor + values.counts
    if part:
        _hatch(ax, edges, float(floor[-1]))
    # A few periods keep the width of periods among many.
    spare = max(0, _FEW_PERIODS - bounds.len()) * (edges[1] - edges[0]) / 2
    ax.set_xlim(edges[0] - spare, edges[-1] + spare)
    ax.set_ylim(0, float(floor.max()) * 1.05)
    _write_stack_axes(ax, bounds, every, lang, _width_beside_legend(ax, all_series))
    # In the order of the stack, from the top down.
    ax.legend(
        outlines[::-1], [drawing.literal(values.name) for values in all_series[::-1]],
        loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False,
        fontsize=TEXT_SIZE, labelcolor=drawing.ink(ax), handlelength=1.1, handleheight=1.1,
        labelspacing=0.5,
    )  # fmt: skip


def _write_stack_axes(ax: Axes, bounds: pl.Series, every: Every, lang: Lang, width: float) -> None:
    ax.yaxis.set_major_locator(drawing.ticks(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: number_format.whole(round(y), lang)))
    edges = _numbers(bounds)
    names = bounds.head(-1).dt.to_string(_FORMATS[every]).to_list()
    # Below the middle of its period, each as broad as the first; as many as there is room for.
    low, high = ax.get_xlim()
    room = max(min(drawing.inches(ax)[0] * _BESIDE_LEGEND, width), _GAP)
    room *= (edges[-1] - edges[0]) / (high - low)
    step = math.ceil(len(names) * (drawing.breadth(names[0], TEXT_SIZE) + _GAP) / room)
    ax.set_xticks(((edges[:-1] + edges[1:]) / 2)[::step], names[::step])


class _Series(NamedTuple):
    """The number of units in each period."""

    name: str
    colour: str
    counts: _Numbers


def _series_of(
    changes: pl.DataFrame,
    periods: pl.Series,
    codes: pl.Series,
    lang: Lang,
    *,
    most: int,
    short: bool,
) -> list[_Series]:
    """Return the series, commonest code first, then the rest, then rows without a label.

    Args:
        changes: Counts as `count_by` with ``last_change`` returns them.
        periods: All periods.
        codes: The codelist. If there are enough colours for its codes, each code has a fixed
            colour; otherwise the commonest have the first colours.
        lang: Language of the names.
        most: Maximum number of codes with a separate series.
        short: Whether names must be short.
    """
    ordered = codes.sort().to_list()
    labelled = changes.filter(kind="labelled")
    unlabelled = changes.filter(pl.col("kind") != "labelled")
    totals = (
        labelled.group_by("code", "label", "kind")
        .agg(pl.col("count").sum())
        .sort("count", "code", descending=[True, False])
    )
    commonest = totals["code"].head(most)
    names = drawing.names(totals, lang, among=totals, longest=30, short=short)
    few = len(ordered) <= len(drawing.CODE_COLOURS)
    groups = [
        (
            name,
            drawing.CODE_COLOURS[ordered.index(code) if few else rank],
            labelled.filter(code=code),
        )
        for rank, (name, code) in enumerate(zip(names, commonest, strict=False))
    ]
    if totals.height > most:
        name = f"{drawing.WORDS[lang]['rest']} ({number_format.whole(totals.height - most, lang)})"
        rest = labelled.filter(~pl.col("code").is_in(commonest.implode()))
        groups.append((name, _REST_COLOUR, rest))
    if not unlabelled.is_empty():
        groups.append((_WORDS[lang]["unlabelled"], _UNLABELLED_COLOUR, unlabelled))
    frame = pl.DataFrame({"period": periods})
    return [_Series(name, colour, _counts_by_period(rows, frame)) for name, colour, rows in groups]


def _counts_by_period(changes: pl.DataFrame, periods: pl.DataFrame) -> _Numbers:
    sums = changes.group_by("period").agg(pl.col("count").sum())
    column = periods.join(sums, on="period", how="left", maintain_order="left")["count"]
    return column.fill_null(0).cast(pl.Float64).to_numpy()


def _bounds_of(changes: pl.DataFrame, every: Every) -> pl.Series:
    """Return the first day of each period, including empty ones, and the end of the last."""
    first, last = changes["period"].min(), changes["period"].max()
    end = pl.lit(last).dt.offset_by(PERIODS[every])
    return pl.date_range(pl.lit(first), end, PERIODS[every], eager=True)


def _unfinished(bounds: pl.Series, today: date, lang: Lang) -> str | None:
    """Return up to which day the last period has data, None if it is complete.

    >>> bounds = pl.Series([date(2026, 4, 1), date(2026, 7, 1)])
    >>> _unfinished(bounds, date(2026, 6, 15), "en"), _unfinished(bounds, date(2026, 6, 30), "en")
    ('to 15 June', None)
    """
    start, end = bounds[-2], bounds[-1]
    if not start <= today < end - timedelta(days=1):
        return None
    month = MONTHS[lang][str(today.month)]
    return f"do {today.day}. {month}" if lang == "sk" else f"to {today.day} {month}"


def _hatch(ax: Axes, edges: _Numbers, height: float) -> None:
    """Hatch the last period."""
    ax.add_artist(
        Rectangle(
            (edges[-2], 0), edges[-1] - edges[-2], height,
            facecolor="none", edgecolor=ax.get_facecolor(), hatch="////", linewidth=0,
        )
    )  # fmt: skip


def _numbers(days: pl.Series) -> _Numbers:
    """Return days as matplotlib's date numbers."""
    return np.asarray(mdates.date2num(days.to_numpy()), dtype=np.float64)  # type: ignore[no-untyped-call]
