"""Estimates for charts: how they are called, and how their intervals are written."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.arguments import Grouping, Lang
from finstat_kit.errors import UsageError
from finstat_kit.frames.counts.count_by import checked
from finstat_kit.frames.counts.estimation import ESTIMATES
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_TO: Final = "\u00a0–\u00a0"  # no line breaks in an interval
_WORDS: Final = Words("counts")


def of_estimate(frame: labels.Frame, by: Grouping) -> tuple[pl.DataFrame, int, int]:
    """Return an estimate with its bounds ``low`` and ``high``, units drawn and all units.

    Without bounds if all units were drawn.

    Raises:
        UsageError: It is made by another field, or none of `fk.estimate`.
    """
    table = checked(frame, by, ESTIMATES, "fk.estimate")
    sizes = table.select("n", "listed").unique().rows()
    if len(sizes) > 1 or any(not 0 < n <= listed for n, listed in sizes if listed):
        raise UsageError(
            "the columns 'n' and 'listed' do not fit an estimate",
            cure="give one as fk.estimate returns it",
        )
    ((n, listed),) = sizes or [(0, 0)]
    rows = table.rename({"count_low": "low", "count_high": "high"})
    return (rows if n < listed else rows.drop("low", "high")), n, listed


def drawn(n: int, listed: int, lang: Lang) -> str:
    """Return the text of the title: n of all units."""
    words, sizes = _WORDS[lang], [number_format.whole(size, lang) for size in (n, listed)]
    noun = words["one" if listed == 1 else "many"]
    return words["drawn"].format(n=sizes[0], N=sizes[1], units=noun)


def measure(lang: Lang, *, mapped: bool = False) -> str:
    """Return what the bars of an estimate are, or the tiles, which have no intervals."""
    return _WORDS[lang]["map" if mapped else "measure"]


def interval(low: int, high: int, lang: Lang) -> str:
    """Write an interval."""
    return _TO.join((number_format.whole(low, lang), number_format.whole(high, lang)))
