"""Periods of time on an axis: their bounds, their labels, and an unfinished last one."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import matplotlib.dates as mdates
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from finstat_kit.arguments import Lang
from finstat_kit.frames.counts.count_by import PERIODS, Every
from finstat_kit.frames.text.numbers import MONTHS

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]

FORMATS: Final[dict[Every, str]] = {
    "day": "%Y-%m-%d",
    "week": "%Y-%m-%d",
    "month": "%Y-%m",
    "quarter": "%Y-%m",
    "year": "%Y",
}


def bounds_of(changes: pl.DataFrame, every: Every) -> pl.Series:
    """Return the first day of each period, including empty ones, and the end of the last."""
    first, last = changes["period"].min(), changes["period"].max()
    end = pl.lit(last).dt.offset_by(PERIODS[every])
    return pl.date_range(pl.lit(first), end, PERIODS[every], eager=True)


def unfinished(bounds: pl.Series, today: date, lang: Lang) -> str | None:
    """Return up to which day the last period has data, None if it is complete.

    >>> bounds = pl.Series([date(2026, 4, 1), date(2026, 7, 1)])
    >>> unfinished(bounds, date(2026, 6, 15), "en"), unfinished(bounds, date(2026, 6, 30), "en")
    ('to 15 June', None)
    """
    start, end = bounds[-2], bounds[-1]
    if not start <= today < end - timedelta(days=1):
        return None
    month = MONTHS[lang][str(today.month)]
    return f"do {today.day}. {month}" if lang == "sk" else f"to {today.day} {month}"


def hatch(ax: Axes, edges: Numbers, height: float) -> None:
    """Hatch the last period."""
    ax.add_artist(
        Rectangle(
            (edges[-2], 0), edges[-1] - edges[-2], height,
            facecolor="none", edgecolor=ax.get_facecolor(), hatch="////", linewidth=0,
        )
    )  # fmt: skip


def numbers(days: pl.Series) -> Numbers:
    """Return days as matplotlib's date numbers."""
    return np.asarray(mdates.date2num(days.to_numpy()), dtype=np.float64)  # type: ignore[no-untyped-call]
