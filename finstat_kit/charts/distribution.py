"""The distribution of one value: a histogram, on a log scale where it spans decades."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import AsinhLocator, FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import colours, drawing
from finstat_kit.charts.parts.drawing import TEXT_SIZE
from finstat_kit.charts.values import figures
from finstat_kit.frames.text.catalogue import Words

_BINS: Final = 40
_WIDE: Final = 100  # from here on, the largest by a quarter of the values, the scale is a log one
_ENDS: Final = (0.005, 0.995)  # a linear scale shows almost all values, between these shares
_WORDS: Final = Words("distribution")


def draw(ax: Axes, rows: pl.DataFrame, item: str, lang: Lang, *, mark: float | None) -> list[str]:
    """Draw a histogram with the median and limits; return the notes on how it is read.

    Args:
        ax: Where.
        rows: With ``value`` and, limited, ``limited``; ``limit_low`` and ``limit_high``.
        item: The value.
        lang: Language of texts and numbers.
        mark: A value to mark.
    """
    words = _WORDS[lang]
    numbers = rows["limited"].to_numpy()
    size = np.abs(numbers[numbers != 0])
    log = bool(size.size) and np.quantile(size, 0.99) > _WIDE * np.quantile(size, 0.25)
    shown = numbers if mark is None else np.append(numbers, mark)
    if log:
        near_zero = 10.0 ** math.floor(math.log10(float(np.quantile(size, 0.05))))
        bent = np.arcsinh(shown / near_zero)
        edges = near_zero * np.sinh(_aligned(float(bent.min()), float(bent.max())))
        ax.set_xscale("asinh", linear_width=near_zero)
        ax.xaxis.set_major_locator(AsinhLocator(near_zero, numticks=9))
    else:
        ends = [*np.quantile(numbers, _ENDS), *shown[numbers.size :]]  # the mark is never cut off
        edges = _aligned(float(min(ends)), float(max(ends)))
        ax.xaxis.set_major_locator(MaxNLocator(6))
    counts, _ = np.histogram(numbers, edges)
    ink = colours.ink(ax)
    colour = [colours.ORANGE if right <= 0 else colours.PALE for right in edges[1:]]
    ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colour, edgecolor=ink,
           linewidth=0.4)  # fmt: skip
    median = float(rows["value"].median())  # type: ignore[arg-type]
    written = figures.written(item, median, lang)
    _line(ax, median, words["median"].format(x=written), ink, "-")
    if mark is not None:
        _line(ax, mark, figures.written(item, mark, lang), colours.BLUE, "--", above=TEXT_SIZE + 3)
    ax.set_xlim(edges[0], edges[-1])
    thin(ax, item, lang)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.tick_params(labelsize=TEXT_SIZE)
    ax.set_ylabel(words["years" if figures.counted(rows) == "unit-years" else "rows"],
                  fontsize=TEXT_SIZE)  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
    outside = int(numbers.size - counts.sum())
    notes = {"log": int(log), "negative": int((numbers < 0).sum()), "outside": outside}
    return figures.numbered(words, notes, lang)


def limits_text(rows: pl.DataFrame, item: str, lang: Lang) -> str:
    """Return the limits of values for a title; "" where there are none."""
    low, high = rows["limit_low"].min(), rows["limit_high"].max()
    if not isinstance(low, float) or not isinstance(high, float):
        return ""
    ends = {"low": figures.written(item, low, lang), "high": figures.written(item, high, lang)}
    return ", " + _WORDS[lang]["limits"].format(**ends)


def _aligned(low: float, high: float) -> NDArray[np.float64]:
    """Return edges from below one end to above the other.

    Zero is one of them if it lies within, so that no bin mixes losses with gains.
    """
    width = (high - low) / _BINS or 1.0
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return width * np.arange(first, last + 1, dtype=np.float64)


def _line(ax: Axes, x: float, text: str, colour: str, style: str, *, above: float = 0) -> None:
    ax.axvline(x, color=colour, linewidth=1.6, linestyle=style)
    ax.annotate(
        text, (x, 1), (0, 3 + above), xycoords=ax.get_xaxis_transform(), textcoords="offset points",
        ha="center", va="bottom", fontsize=TEXT_SIZE, color=colours.ink(ax), annotation_clip=False,
    )  # fmt: skip


def thin(ax: Axes, item: str, lang: Lang, width: float = 1.0) -> None:
    """Write the numbers on the axis that have room beside each other in a part of its width."""
    low, high = ax.get_xlim()
    of_text: dict[str, list[float]] = {}
    places = [ax.dataLim.x0] if ax.dataLim.width == 0 else ax.get_xticks()
    for x in sorted(float(x) for x in places if low <= x <= high):
        of_text.setdefault(figures.tick(item, x, lang), []).append(x)
    # A text that several ticks would have, in a narrow range, is that of the roundest.
    ticks = [min(several, key=lambda x: len(f"{x:g}".rstrip("0"))) for several in of_text.values()]
    kept: list[float] = []
    end = -math.inf  # inches, of the last number that is written
    for x in ticks:
        middle = float(ax.transData.transform((x, 0))[0]) / ax.figure.dpi * width
        half = drawing.breadth(figures.tick(item, x, lang), TEXT_SIZE) / 2
        if middle - half > end + 0.1:
            kept.append(x)
            end = middle + half
    ax.set_xticks(kept)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: figures.tick(item, x, lang)))
    ax.minorticks_off()
