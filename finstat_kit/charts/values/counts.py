"""The counts that charts draw: given or made of units, compared, or estimated with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import Grouping, Lang
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames.counts import estimate as estimation
from finstat_kit.frames.counts.compare import COMPARISON
from finstat_kit.frames.counts.count_by import COUNTS, are_those_of, checked
from finstat_kit.frames.counts.estimate import ESTIMATES
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words

_UNTIL: Final = " – "
_MANY: Final = 100_000  # from here on, tiles show thousands
_TO: Final = "\u00a0–\u00a0"  # no line breaks in an interval
_WORDS: Final = Words("counts")


def of_frame(
    frame: labels.Frame, by: Grouping, lang: Lang, register: Register | None
) -> pl.DataFrame:
    """Return the counts to draw: the given ones, or those of the given units."""
    if not are_those_of(frame, COUNTS):
        return (register or current.register()).count_by(frame, by, lang=lang)
    return checked(frame, by, COUNTS, "fk.count_by")


def without_figures(frame: labels.Frame, by: str) -> int:
    """Return the number of units that are in no group because none of their rows has figures."""
    schema = labels.schema_of(frame)
    if not groups.is_of_figures(by) or are_those_of(frame, COUNTS):
        return 0
    unit = pl.col("unit_id") if "unit_id" in schema else pl.int_range(pl.len())
    rows = frame.lazy().select(unit.alias("unit"), has=has_figures(schema))
    return rows.group_by("unit").agg(pl.col("has").any()).filter(~pl.col("has")).collect().height


def is_comparison(frame: labels.Frame) -> bool:
    """Whether a frame is one of `Register.compare`."""
    return are_those_of(frame, COMPARISON)


def comparison(frame: labels.Frame, by: Grouping) -> pl.DataFrame:
    """Return the given comparison, checked."""
    return checked(frame, by, COMPARISON, "fk.compare")


def both_numbers(frame: labels.Frame, table: pl.DataFrame, lang: Lang) -> str:
    """Return the numbers of units of both sides of a comparison, with their names."""
    a, b = [f"{name}: " for name in _sides(frame, lang) or ()] or ["", ""]
    before, after = (int(table[count].sum()) for count in ("count_a", "count_b"))
    return f"{a}{number_format.whole(before, lang)} → {b}{number_format.units(after, lang)}"


def compared(frame: labels.Frame, words: str, lang: Lang) -> str:
    """Return what a difference is of: the second side against the first, in words."""
    names = _sides(frame, lang)
    if names is None:
        return _WORDS[lang]["unnamed"] + words
    return _WORDS[lang]["sides"].format(a=names[0], b=names[1]) + words


def _sides(frame: labels.Frame, lang: Lang) -> tuple[str, str] | None:
    """Return the names of both sides of a comparison, days in the language; None without any."""
    if not {"name_a", "name_b"} <= set(labels.schema_of(frame)):
        return None
    names = frame.lazy().select("name_a", "name_b").drop_nulls().head(1).collect().rows()
    if not names:
        return None
    a, b = (_in_language(name, lang) for name in names[0])
    return a, b


def _in_language(name: str, lang: Lang) -> str:
    """Return the name of a side: the days of a window as the language writes them."""
    try:
        first, last = map(date.fromisoformat, name.split(_UNTIL))
    except ValueError:  # a name that the caller gave
        return name
    return _UNTIL.join(number_format.day_text(day, lang) for day in (first, last))


def windows(frame: labels.Frame, lang: Lang) -> str:
    """Return the note of a comparison of two windows of last changes, "" for another frame."""
    if not is_comparison(frame) or labels.schema_of(frame).get("windows") != pl.Boolean:
        return ""
    are_windows = frame.lazy().select(pl.col("windows").any()).collect().item()
    return _WORDS[lang]["windows"] if are_windows else ""


class Estimate(NamedTuple):
    """Estimated counts: the columns of `counts.COUNTS`, with ``hits``, from n of N units."""

    table: pl.DataFrame
    n: int
    N: int

    def drawn(self, lang: Lang) -> str:
        """Return the text of the title: n of N units."""
        units = _WORDS[lang]["one" if self.N == 1 else "many"]
        n, number = (
            number_format.from_slovak(size) if lang == "sk" else number_format.whole(size, lang)
            for size in (self.n, self.N)
        )
        return _WORDS[lang]["drawn"].format(n=n, N=number, units=units)

    def intervals(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add counts and bounds to rows with ``hits``, including sums of several codes."""
        return estimation.with_intervals(rows, self.n, self.N)


class Short:
    """Estimates as written on the tiles of a map: large numbers in thousands."""

    def __init__(self, estimate: Estimate, lang: Lang) -> None:
        self._estimate, self._lang = estimate, lang
        self._rows = estimate.intervals(estimate.table)
        largest = self._rows["count_high"].max()
        self._thousands = isinstance(largest, int) and largest >= _MANY

    @property
    def measure(self) -> str:
        """The quantity shown."""
        words = _WORDS[self._lang]
        return f"{words['thousands' if self._thousands else 'count']}, {words['interval']}"

    def write(self, number: float, rounded: Callable[[float], float] = round) -> str:
        """Write a count."""
        if not self._thousands or not number:
            return number_format.whole(int(number), self._lang)
        places = 0 if number >= 10_000 else 1
        thousands = rounded(number / 1000 * 10**places) / 10**places
        return number_format.decimal(thousands, self._lang, places)

    def intervals(self) -> dict[str, str]:
        """Return the interval of each code."""
        rows = self._rows.select("code", "count_low", "count_high").iter_rows()
        return {code: self._interval(low, high) for code, low, high in rows}

    def of_sum(self, rows: pl.DataFrame) -> str:
        """Write the total count of some rows, and its interval."""
        (row,) = self._estimate.intervals(rows.select(pl.col("hits").sum())).to_dicts()
        return f"{self.write(row['count'])} ({self._interval(row['count_low'], row['count_high'])})"

    def _interval(self, low: int, high: int) -> str:
        # Rounded outwards: never narrower than the interval.
        return _TO.join((self.write(low, math.floor), self.write(high, math.ceil)))


def estimate_of(frame: labels.Frame, by: Grouping) -> Estimate | None:
    """Return a frame as an estimate; None if it is not one, or all units were drawn.

    Raises:
        UsageError: The frame has columns of an estimate but is not one of `fk.estimate`.
    """
    if not are_those_of(frame, ESTIMATES):
        return None
    table = checked(frame, by, COUNTS, "fk.estimate")
    sizes = frame.lazy().select("n", "N").unique().collect()
    n, number = sizes.row(0) if sizes.height == 1 else (0, 0)
    if n == number and sizes.height <= 1:
        return None
    hits = table["share"] * n
    if not (isinstance(n, int) and isinstance(number, int) and 0 < n < number) or not (
        hits.is_between(0, n).all() and hits.null_count() == 0
    ):
        raise UsageError(
            "the columns 'share', 'n' and 'N' do not fit an estimate",
            cure="give one as fk.estimate returns it",
        )
    return Estimate(table.with_columns(hits.round().cast(pl.Int64).alias("hits")), n, number)


def interval(low: int, high: int, lang: Lang) -> str:
    """Write an interval."""
    return _TO.join(number_format.whole(end, lang) for end in (low, high))


def measure(lang: Lang) -> str:
    """Return the axis text of an estimate's bars."""
    return "{count}, {interval} ({alone})".format(**_WORDS[lang])
