"""Estimates of counts from a sample: the order of the draw, the table, its intervals.

Pure functions over frames and numbers.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.arguments import Lang
from finstat_kit.frames.counts import count_by as counts
from finstat_kit.frames.places import labels
from finstat_kit.protocol.wire import BY_FIELD

ESTIMATES: Final = pl.Schema(
    {
        "code": pl.String(),
        "label": pl.String(),
        "kind": pl.String(),
        "count": pl.Int64(),
        "count_low": pl.Int64(),
        "count_high": pl.Int64(),
        "share": pl.Float64(),
        "share_low": pl.Float64(),
        "share_high": pl.Float64(),
        "n": pl.Int64(),
        "listed": pl.Int64(),
        "by": pl.String(),
    }
)
NO_RECORD: Final = "no record"
_WITHOUT_LABEL: Final = ("unknown codes", "no code", "gone", NO_RECORD)
_TAIL: Final = 0.025  # on either side


def drawn(ids: pl.Series, seed: int) -> pl.Series:
    """Return ids in the order of the draw: ascending by SplitMix64(SplitMix64(seed) XOR id).

    The place of an id is independent of all other ids. So a longer draw begins with a shorter one,
    and a draw from a changed list differs only by the removed and the added ids. The arithmetic
    is fixed here: the same on every machine and with every version of numpy and polars.
    """
    key = _split_mix(ids.to_numpy().astype(np.uint64) ^ _split_mix(np.array([seed], np.uint64)))
    # Each step is invertible, so that no two ids share a key.
    return ids.gather(pl.Series(np.argsort(key)))


def _split_mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the first output of the generator SplitMix64 (Steele, Lea, Flood 2014) per state."""
    mixed = state + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def estimated(
    rows: pl.DataFrame, by: str, lookup: labels.Lookup, number: int, *, lang: Lang = "sk"
) -> pl.DataFrame:
    """Estimate the counts by code of all units from a sample; see `Register.estimate`.

    Args:
        rows: One row per unit drawn: the column *by*, the others that `counts.count_by` uses, and
            ``problem`` (String): null or `NO_RECORD`.
        by: A code field.
        lookup: Returns a codelist by its name.
        number: Number of units in the whole.
        lang: Language of the labels.
    """
    codelist = lookup(BY_FIELD[by].name)
    table = counts.count_by(rows.filter(pl.col("problem").is_null()), by, lookup, lang=lang)
    # One row per group, drawn or not: an interval that appears only where the group was drawn
    # would miss too often.
    listed = codelist.select("code", label=f"name_{lang}", kind=pl.lit("labelled"))
    groups = [listed, pl.DataFrame({"kind": _WITHOUT_LABEL})]
    lost = rows.drop_nulls("problem").group_by(kind="problem").agg(count=pl.len().cast(pl.Int64))
    drawn_units = pl.concat([table.select("code", "kind", "count"), lost], how="diagonal")
    labelled = pl.col("kind") == "labelled"
    drawn_units = (
        drawn_units.with_columns(
            pl.col("kind").replace("unknown code", "unknown codes"), pl.when(labelled).then("code")
        )
        .group_by("kind", "code")
        .agg(hits=pl.col("count").sum())
    )
    hits = (
        pl.concat(groups, how="diagonal")
        .join(drawn_units, on=["kind", "code"], how="left", nulls_equal=True)
        .with_columns(pl.col("hits").fill_null(0))
    )
    order = pl.col("kind").cast(pl.Enum(counts.KINDS))
    hits = hits.sort(order, "hits", "code", descending=[False, True, False])
    table = with_intervals(hits, rows.height, number).with_columns(by=pl.lit(by))
    return table.select(ESTIMATES.names()).cast(ESTIMATES)


def with_intervals(table: pl.DataFrame, n: int, number: int) -> pl.DataFrame:
    """Add counts and shares in the whole, with bounds, to groups with ``hits`` in a sample.

    Args:
        table: One row per group, with ``hits``; existing columns of the added names are replaced.
        n: Size of the sample.
        number: Size of the whole.
    """
    hits = table["hits"].to_list()
    ends = [bounds(hit, n, number) for hit in hits]
    shares = {"share": ("hits", n), "share_low": ("count_low", number)}
    shares["share_high"] = ("count_high", number)
    return table.with_columns(
        # Rounded half up; with all units drawn these are the hits.
        pl.Series("count", [(2 * hit * number + n) // (2 * n or 1) for hit in hits], pl.Int64),
        pl.Series("count_low", [low for low, _ in ends], pl.Int64),
        pl.Series("count_high", [high for _, high in ends], pl.Int64),
        n=pl.lit(n, pl.Int64),
        listed=pl.lit(number, pl.Int64),
    ).with_columns(
        # Divided as in `count_by`, so that shares of a complete sample agree to the last bit.
        pl.when(pl.lit(of > 0)).then(pl.col(part) / of).alias(name)
        for name, (part, of) in shares.items()
    )


@lru_cache(maxsize=100_000)
def bounds(hits: int, n: int, number: int) -> tuple[int, int]:
    """Return the 95 % confidence bounds of a group's size, given its *hits* in the sample.

    The hypergeometric distribution is inverted, as Clopper and Pearson did with the binomial: a
    size is excluded if the probability of at least, or at most, *hits* is 2.5 % or less. So for
    every true size, at least 95 % of samples have bounds that contain it.

    >>> bounds(40, 100, 100), bounds(0, 3_000, 2_620_000)
    ((40, 40), (0, 3217))
    """
    if n == 0:
        return 0, number
    # The complement is a group too.
    return number - _greatest(n - hits, n, number), _greatest(hits, n, number)


def _greatest(hits: int, n: int, number: int) -> int:
    """Return the largest group size with a probability above 2.5 % of *hits* or fewer."""
    # Start with a group in proportion to its hits: the median lies within one of the mean, so the
    # probability is at least one half.
    low, high = hits * number // n, hits + number - n
    while low < high:
        middle = (low + high + 1) // 2
        if _chance(hits, n, number, middle) > _TAIL:  # or equal: it is a little too great
            low = middle
        else:
            high = middle - 1
    return low


def _chance(hits: int, n: int, number: int, group: int) -> float:
    """Return the probability of *hits* or fewer from a group in a sample, never underestimated.

    An overestimate widens the interval a little; an underestimate could make it miss.
    """
    outside_group = number - group
    log = _log_choose(group, hits) + _log_choose(outside_group, n - hits) - _log_choose(number, n)
    # Each of the nine log-factorials has an error of a few units in the last place.
    log += 64 * sys.float_info.epsilon * math.lgamma(number + 2)
    # Each term follows from the one before it. The ratios decrease, so that far from the middle
    # the remaining terms are bounded by a geometric series.
    terms = min(hits, 64 + 10 * math.isqrt(n))
    x = np.arange(hits, hits - terms, -1, dtype=np.float64)
    ratio = np.maximum(x * (outside_group - n + x), 0) / ((group - x + 1) * (n - x + 1))
    term = np.cumprod(ratio)
    rest = 0.0
    if terms < hits:
        last = float(ratio[-1])
        rest = float(term[-1]) * last / (1 - last) if last < 1 else math.inf
    return math.exp(min(log, 0.0)) * (1 + float(term.sum()) + rest)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
