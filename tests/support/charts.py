"""One drawing by every chart, for tests of what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import polars as pl
from matplotlib.axes import Axes

import finstat_kit as fk
from tests.support.units import SAMPLE, all_units

PLACES = fk.sample(3_000, seed=5)


@cache
def of_2016() -> pl.DataFrame:
    """Return figures of units in all regions."""
    return PLACES.financials(PLACES.units.get(PLACES.units.ids().sample(250, seed=1)), 2016)


@cache
def figures(number: int = 60) -> pl.DataFrame:
    return SAMPLE.financials(all_units().head(number), 2016)


EVERY: dict[str, Callable[..., Axes]] = {
    "plot_counts": lambda **options: fk.plot_counts(all_units(), **options),
    "plot_map": lambda **options: fk.plot_map(all_units(), **options),
    "plot_spread": lambda **options: fk.plot_spread(figures(), value="equity", **options),
    "plot_history": lambda **options: fk.plot_history(figures().head(1), value="equity", **options),
}
