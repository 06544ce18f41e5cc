"""Units by the period of their last change: stacked by code, or a panel for each code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang
from finstat_kit.charts import panels
from finstat_kit.charts.parts import colours, drawing, texts
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.values import periods, series
from finstat_kit.charts.values.series import Series
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames.counts.count_by import PERIODS, Every
from finstat_kit.frames.financials.quartiles import FEWEST
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol import wire

_MOST_STACKS: Final = 23  # beside each other
_BROAD: Final = 5.6  # inches of a line of text that is read with ease
_FEW_PERIODS: Final = 7  # with fewer bounds, periods have the width of those of so many
_BESIDE_LEGEND: Final = 0.75  # of the width of axes is left beside a legend, at least
_GAP: Final = 0.15  # inches between dates
_WORDS: Final = Words("plot_last_changes")


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

    The codes are stacked, each with the same colour in every chart. From 24 periods on, or if the
    codelist has more codes than there are colours (ten), each code has a panel instead, with shared
    scales; codes of fewer than five units have no panel and are named in the note, and only a sum
    of other codes that is higher than any of them has its own scale. The last period is
    hatched if the register's day does not complete it.

    Args:
        units: Records, or any frame with ``datumPoslednejUpravy`` (Date) and the column *by*.
        by: A code field, as in `count_by`. The eight commonest codes, or fewer on small axes, are
            separate series; the other labelled codes are one series, and rows without a label
            or with ``stav`` another.
        every: Length of a period: ``"day"``, ``"week"`` (from Monday), ``"month"``,
            ``"quarter"`` or ``"year"``.
        title: Replaces the heading; the number of units and the source below it stay.
        note: Written below the notes of the chart.
        lang: Language of title, labels and numbers, ``"sk"`` or ``"en"``; None is the register's.
        ax: Axes to draw on; their figure needs ``layout="constrained"`` to make room for the
            legend beside the axes. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes; panels are its ``child_axes``. A note below gives the number of units without a
        date.

    Raises:
        UsageError: An argument is wrong, or a column is missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_last_changes(fk.units.get(fk.units.ids(limit=50)), lang="en")
        >>> print(ax.get_title())
        Accounting units by month of last change and region
        50 units, sample (invented) data
    """
    around = texts.given(register, lang, title, note)
    lang = around.lang
    reg = around.source or current.register()
    arguments.one_of("by", by, tuple(wire.BY_FIELD))
    arguments.one_of("every", every, tuple(PERIODS))
    changes = reg.count_by(units, by, last_change=every, lang=lang)
    codes = reg._lookup(wire.BY_FIELD[by].name)["code"]
    today = reg.today
    words = _WORDS[lang]
    dated = changes.drop_nulls("period")
    undated = int(changes["count"].sum()) - int(dated["count"].sum())
    with drawing.axes(ax, 9, 4.8) as ax:
        heading = words["heading"].format(period=words[every], by=drawing.WORDS[lang][by])
        around.write_title(ax, heading, int(changes["count"].sum()), beside=panels.BESIDE / 2)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=TEXT_SIZE)
        n_undated = number_format.whole(undated, lang)
        without_day = words["undated"].format(n=n_undated) if undated else ""
        if dated.is_empty():
            around.write_nothing(ax, without_day)
        else:
            bounds = periods.bounds_of(dated, every)
            to = periods.unfinished(bounds, today, lang)
            apart = bounds.len() - 1 > _MOST_STACKS or codes.len() > len(colours.OF_CODES)
            short = apart or drawing.inches(ax)[0] < drawing.NARROW
            # Two of the panels show sums.
            most = min(series.MOST, max(panels.room(ax) - 2, 1)) if apart else series.MOST
            all_series = series.of_changes(
                dated, bounds.head(-1), codes, lang, most=most, short=short
            )
            least = FEWEST if apart else 0
            few = [each for each in all_series if each.counts.sum() < least]
            shown = [each for each in all_series if each.counts.sum() >= least]
            if not apart:
                _draw_stack(ax, shown, bounds, every, lang, part=to is not None)
            elif shown:
                panels.draw(ax, shown, bounds, every, lang, part=to is not None)
            else:
                around.write_nothing(ax)
            ax.set_ylabel(words["count"] if shown else "", fontsize=TEXT_SIZE)
            around.write_notes(
                ax,
                words["axis"].format(period=words[f"axis {every}"]) if shown else "",
                words["not"] if shown else "",
                words["part"].format(period=words[f"axis {every}"], to=to) if to and shown else "",
                words["few"].format(names=series.named(few, lang)) if few else "",
                without_day,
                beside=panels.BESIDE, pad=panels.UNDER if apart else 4, most=_BROAD,
            )  # fmt: skip
    return ax


def _draw_stack(
    ax: Axes,
    all_series: Sequence[Series],
    bounds: pl.Series,
    every: Every,
    lang: Lang,
    *,
    part: bool,
) -> None:
    """Draw one outline per series, each on top of the one before."""
    edges = periods.numbers(bounds)
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
        periods.hatch(ax, edges, float(floor[-1]))
    # A few periods keep the width of periods among many.
    spare = max(0, _FEW_PERIODS - bounds.len()) * (edges[1] - edges[0]) / 2
    ax.set_xlim(edges[0] - spare, edges[-1] + spare)
    ax.set_ylim(0, float(floor.max()) * 1.05)
    _write_axes(ax, bounds, every, lang)
    # In the order of the stack, from the top down.
    ax.legend(
        outlines[::-1], [drawing.literal(values.name) for values in all_series[::-1]],
        loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False,
        fontsize=TEXT_SIZE, labelcolor=colours.ink(ax), handlelength=1.1, handleheight=1.1,
    )  # fmt: skip


def _write_axes(ax: Axes, bounds: pl.Series, every: Every, lang: Lang) -> None:
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: number_format.whole(round(y), lang)))
    edges = periods.numbers(bounds)
    names = bounds.head(-1).dt.to_string(periods.FORMATS[every]).to_list()
    # Below the middle of its period, each as broad as the first; as many as there is room for.
    low, high = ax.get_xlim()
    room = drawing.inches(ax)[0] * _BESIDE_LEGEND * (edges[-1] - edges[0]) / (high - low)
    step = math.ceil(len(names) * (drawing.breadth(names[0], TEXT_SIZE) + _GAP) / room)
    ax.set_xticks(((edges[:-1] + edges[1:]) / 2)[::step], names[::step])
