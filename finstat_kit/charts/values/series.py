"""Series over time: one for each of the commonest codes, and two for all others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import colours, drawing
from finstat_kit.charts.values.periods import Numbers
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words

MOST: Final = 8  # codes with a separate series
_REST_COLOUR: Final = "#ababab"
_UNLABELLED_COLOUR: Final = "#767676"
_WORDS: Final = Words("series")


class Series(NamedTuple):
    """The number of units in each period."""

    name: str
    colour: str
    counts: Numbers
    is_sum: bool  # of many codes, or of rows without a label


def of_changes(
    changes: pl.DataFrame,
    periods: pl.Series,
    codes: pl.Series,
    lang: Lang,
    *,
    most: int,
    short: bool,
) -> list[Series]:
    """Return the series, commonest code first, then the rest, then rows without a label.

    Args:
        changes: Counts as `count_by` with ``last_change`` returns them.
        periods: All periods.
        codes: The codelist. If there are enough colours for its codes, each code has a fixed
            colour; otherwise all share one colour.
        lang: Language of the names.
        most: Maximum number of codes with a separate series.
        short: Whether names must be short.
    """
    ordered = codes.sort().to_list()
    labelled = changes.filter(kind="labelled")
    others = changes.filter(pl.col("kind") != "labelled")
    totals = (
        labelled.group_by("code", "label", "kind")
        .agg(pl.col("count").sum())
        .sort("count", "code", descending=[True, False])
    )
    commonest = totals["code"].head(most)
    names = drawing.names(totals, lang, among=totals, longest=30, short=short)
    few = len(ordered) <= len(colours.OF_CODES)
    groups = [
        (
            name,
            colours.OF_CODES[ordered.index(code)] if few else colours.BLUE,
            labelled.filter(code=code),
        )
        for name, code in zip(names, commonest, strict=False)
    ]
    if totals.height > most:
        name = f"{drawing.WORDS[lang]['rest']} ({number_format.whole(totals.height - most, lang)})"
        rest = labelled.filter(~pl.col("code").is_in(commonest.implode()))
        groups.append((name, _REST_COLOUR, rest))
    if not others.is_empty():
        groups.append((_WORDS[lang]["unlabelled"], _UNLABELLED_COLOUR, others))
    frame = pl.DataFrame({"period": periods})
    return [
        Series(name, colour, _counts(rows, frame), is_sum=n >= commonest.len())
        for n, (name, colour, rows) in enumerate(groups)
    ]


def named(several: Iterable[Series], lang: Lang) -> str:
    """Return the names of series and their numbers of units."""
    numbers = ((one.name, number_format.whole(int(one.counts.sum()), lang)) for one in several)
    return ", ".join(f"{' '.join(name.split())} {number}" for name, number in numbers)


def _counts(changes: pl.DataFrame, periods: pl.DataFrame) -> Numbers:
    sums = changes.group_by("period").agg(pl.col("count").sum())
    column = periods.join(sums, on="period", how="left", maintain_order="left")["count"]
    return column.fill_null(0).cast(pl.Float64).to_numpy()
