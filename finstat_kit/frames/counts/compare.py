"""Two counts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.errors import invalid, warn
from finstat_kit.frames.counts import count_by as counts
from finstat_kit.frames.places import labels
from finstat_kit.protocol.wire import BY_FIELD, CHANGED

COMPARISON: Final = pl.Schema(
    {
        "code": pl.String(),
        "label": pl.String(),
        "count_a": pl.Int64(),
        "count_b": pl.Int64(),
        "difference": pl.Int64(),
        "share_a": pl.Float64(),
        "share_b": pl.Float64(),
        "kind": pl.String(),
        "by": pl.String(),
        "windows": pl.Boolean(),
        "name_a": pl.String(),
        "name_b": pl.String(),
    }
)
_ENOUGH: Final = 5  # units; days of fewer units may differ by chance


def compare(
    a: labels.Frame,
    b: labels.Frame,
    by: str,
    lookup: labels.Lookup,
    *,
    names: Sequence[str] | None,
    lang: Lang,
) -> pl.DataFrame:
    """Count two frames and align the counts; see `Register.compare`."""
    by = labels.field(by, BY_FIELD)
    given_names = _checked(names)
    days = _days(a, b)
    windows = None if days is None else _are_windows(days)
    if windows:
        warn(
            "both frames are windows of last changes: a unit that changes again leaves the earlier "
            "one, so that their difference is not a change over time; compare a mirror as of two "
            "days, or two groups of units"
        )
    name_a, name_b = given_names or (_periods(days) if days and windows else (None, None))
    counted_a, counted_b = (_counts_of(frame, by, lookup, lang) for frame in (a, b))
    # Nulls are equal here: "no code" and "gone" are rows of both, distinguished by kind.
    table = counted_a.join(
        counted_b, on=["code", "kind"], how="full", coalesce=True, nulls_equal=True, suffix="_b"
    )
    order = pl.col("kind").cast(pl.Enum(counts.KINDS))
    # A frame without units has null shares; in others the share of an absent code is zero.
    some_a, some_b = (pl.lit(bool(side["count"].sum())) for side in (counted_a, counted_b))
    return (
        table.with_columns(
            label=pl.coalesce("label", "label_b"),
            count_a=pl.col("count").fill_null(0),
            count_b=pl.col("count_b").fill_null(0),
            share_a=pl.when(some_a).then(pl.col("share").fill_null(0.0)),
            share_b=pl.when(some_b).then(pl.col("share_b").fill_null(0.0)),
        )
        .with_columns(
            difference=pl.col("count_b") - pl.col("count_a"),
            by=pl.lit(by),
            windows=pl.lit(windows),
            name_a=pl.lit(name_a),
            name_b=pl.lit(name_b),
        )
        .sort(order, "count_a", "count_b", "code", descending=[False, True, True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in COMPARISON.items())
    )


def _counts_of(frame: labels.Frame, by: str, lookup: labels.Lookup, lang: Lang) -> pl.DataFrame:
    """Return the counts of a frame, or the frame itself if it holds counts."""
    if counts.are_those_of(frame, counts.COUNTS):
        given_counts = counts.checked(frame, by, counts.COUNTS, "fk.count_by")
        twice = given_counts.filter(pl.struct("code", "kind").is_duplicated())
        if twice.height:
            raise invalid(
                "counts",
                ...,
                f": {twice['code'][0] or twice['kind'][0]!r} appears in two rows",
                give="counts as fk.count_by returns them",
            )
        return given_counts
    return counts.count_by(frame, by, lookup, lang=lang).drop("by")


def _checked(names: object) -> tuple[str, str] | None:
    """Return the names of both sides; None without any."""
    if names is None:
        return None
    sides = list(names) if isinstance(names, Sequence) and not isinstance(names, str) else []
    if len(sides) != len(("a", "b")) or not all(isinstance(name, str) and name for name in sides):
        raise invalid(
            "names",
            names,
            "is not allowed",
            give="a name of each side, such as ('before', 'after')",
        )
    return sides[0], sides[1]


def _days(a: labels.Frame, b: labels.Frame) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Return the units and days of change of both frames; None if they have none, or few."""
    sides = []
    for frame in (a, b):
        schema = labels.schema_of(frame)
        if schema.get(CHANGED) != pl.Date or not schema.get("id", pl.Null()).is_integer():
            return None
        sides.append(frame.lazy().select("id", CHANGED).drop_nulls().unique().collect())
    return None if min(side.height for side in sides) < _ENOUGH else (sides[0], sides[1])


def _are_windows(days: tuple[pl.DataFrame, pl.DataFrame]) -> bool:
    """Return whether two frames hold the same units except for the days of their last change.

    Such frames begin on different days and hold the same units on the days that they share, if any.
    """
    ends = pl.concat(side.select(first=pl.col(CHANGED).min(), last=pl.col(CHANGED).max())
                     for side in days)  # fmt: skip
    shared = pl.col(CHANGED).is_between(ends["first"].max(), ends["last"].min())
    a_shared, b_shared = (side.filter(shared).sort("id", CHANGED) for side in days)
    return ends["first"].n_unique() == len(days) and a_shared.equals(b_shared)


def _periods(days: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[str, str]:
    """Return the first and the last day of each window."""
    ends = pl.concat_str(pl.col(CHANGED).min(), pl.col(CHANGED).max(), separator=" – ")
    a, b = (side.select(ends).item() for side in days)
    return a, b
