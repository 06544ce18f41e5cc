"""Counts for charts: how an estimate and its intervals are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import Grouping, Lang
from finstat_kit.errors import UsageError
from finstat_kit.frames.counts import estimation
from finstat_kit.frames.counts.count_by import COUNTS, checked
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_MANY: Final = 100_000  # from here on, tiles show thousands
_TO: Final = "\u00a0–\u00a0"  # no line breaks in an interval
_WORDS: Final = Words("counts")


class Estimate(NamedTuple):
    """Counts estimated from n of N units, and how they and their intervals are written.

    Attributes:
        hits: The units drawn, of each row of the frame.
        n: The units drawn.
        N: All units.
        lang: Language of the words.
        in_thousands: Whether large numbers are written in thousands.
    """

    hits: pl.Series
    n: int
    N: int
    lang: Lang
    in_thousands: bool = False

    @property
    def drawn(self) -> str:
        """The text of the title: n of N units."""
        words = _WORDS[self.lang]
        n, number = (
            number_format.from_slovak(size)
            if self.lang == "sk"
            else number_format.whole(size, self.lang)
            for size in (self.n, self.N)
        )
        return words["drawn"].format(n=n, N=number, units=words["one" if self.N == 1 else "many"])

    @property
    def measure(self) -> str:
        """The quantity shown."""
        words = _WORDS[self.lang]
        return f"{words['thousands' if self.in_thousands else 'count']}, {words['interval']}"

    def in_short(self, rows: pl.DataFrame) -> Estimate:
        """Return it as written on tiles: numbers in thousands, if some of the rows are large."""
        return self._replace(in_thousands=(rows["high"] >= _MANY).any())

    def with_bounds(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Set value and bounds of rows with ``hits``, including sums of several codes."""
        bounded = estimation.with_intervals(rows, self.n, self.N)
        return rows.with_columns(
            bounded.select(value="count", low="count_low", high="count_high").get_columns()
        )

    def write(self, number: float, rounded: Callable[[float], float] = round) -> str:
        """Write a count."""
        if not self.in_thousands or not number:
            return number_format.whole(int(number), self.lang)
        places = 0 if number >= 10_000 else 1
        thousands = rounded(number / 1000 * 10**places) / 10**places
        return number_format.decimal(thousands, self.lang, places)

    def interval(self, low: int, high: int) -> str:
        """Write an interval, rounded outwards: never narrower than it is."""
        return _TO.join((self.write(low, math.floor), self.write(high, math.ceil)))

    def of_sum(self, rows: pl.DataFrame) -> str:
        """Write the total count of some rows, and its interval."""
        total = self.with_bounds(rows.select(pl.col("hits").sum()))
        value, low, high = total.select("value", "low", "high").row(0)
        return f"{self.write(value)} ({self.interval(low, high)})"


def estimate_of(frame: labels.Frame, by: Grouping, lang: Lang) -> Estimate | None:
    """Return how the counts of an estimate were estimated; None if all units were drawn.

    Raises:
        UsageError: The frame has columns of an estimate but is not one of `fk.estimate`.
    """
    table = checked(frame, by, COUNTS, "fk.estimate")
    sizes = frame.lazy().select("n", "listed").unique().collect()
    n, number = sizes.row(0) if sizes.height == 1 else (0, 0)
    if n == number and sizes.height <= 1:
        return None
    hits = (table["share"] * n).alias("hits")
    if not (isinstance(n, int) and isinstance(number, int) and 0 < n < number) or not (
        hits.is_between(0, n).all() and hits.null_count() == 0
    ):
        raise UsageError(
            "the columns 'share', 'n' and 'listed' do not fit an estimate",
            cure="give one as fk.estimate returns it",
        )
    return Estimate(hits.round().cast(pl.Int64), n, number, lang)
