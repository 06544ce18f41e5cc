"""What changed in units from version to version, as syncs observed it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

import polars as pl

from finstat_kit.mirror.storage.rows import MISSING, RECORD, UNCHANGED, near
from finstat_kit.protocol.records import UNITS as UNIT_FIELDS

CHANGES: Final = pl.Schema(
    {
        "id": pl.Int64(),
        "field": pl.String(),
        "old": pl.String(),
        "new": pl.String(),
        "seen": pl.Date(),
    }
)
_PIECE: Final = 262_144  # ids with all their versions, looked at together


def changes_in(log: pl.LazyFrame, since: date, points: list[int], *, given: bool) -> pl.DataFrame:
    """Return what the versions in a log of units changed.

    Args:
        log: Of units.
        since: Only versions seen on this day or later.
        points: The last version that each point counts. The records up to the first of them are no
            changes.
        given: Whether the units are given ones: the records of each up to the first point that
            counts one of them are no changes.
    """
    rows = log.filter(pl.col("kind").is_in([RECORD, UNCHANGED, MISSING]))
    later = (pl.col("seen") >= since) & (pl.col("version") > points[0])
    pieces = [pl.DataFrame(schema=CHANGES)]
    changed = rows.filter(later, pl.col("kind") != UNCHANGED)
    ids = changed.select(pl.col("id").unique()).collect()["id"].sort()
    for start in range(0, len(ids), _PIECE):
        some = ids[start : start + _PIECE]
        here = rows.filter(near("id", some), pl.col("id").is_in(some.implode())).collect()
        first = pl.col("version") == pl.col("version").min().over("id")
        here = here.with_columns(first=first, counted=later).filter(pl.col("kind") != UNCHANGED)
        if given:
            begun = pl.col("version").min().over("id")
            counts = pl.Series(points).search_sorted(here.select(begun).to_series(), side="left")
            upto = pl.Series(points).gather(counts)
            here = here.with_columns(counted=here["counted"] & (here["version"] > upto))
        pieces.append(changes_of(here))
    return pl.concat(pieces).sort("seen", "id", maintain_order=True)


def changes_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what each version changed in the one before it, field by field.

    Args:
        rows: All readable versions of some units, in any order, and whether each is the ``first``
            that was ever observed, and whether it is ``counted``.
    """
    rows = rows.sort("id", "version").with_columns(
        pl.col(name).list.sort() for name, dtype in rows.schema.items() if dtype == pl.List
    )
    former = rows.select(pl.all().shift())
    follows = (rows["id"] == former["id"]).fill_null(value=False)
    counted = rows["counted"]
    stays = counted & follows & rows["gone"].is_null() & former["gone"].is_null()
    masks = {name: stays & rows[name].ne_missing(former[name]) for name in UNIT_FIELDS}
    masks["id"] = counted & rows["first"]
    masks["gone"] = counted & follows & rows["gone"].ne_missing(former["gone"])
    nothing = pl.lit(None, pl.String)
    frames = [
        pl.DataFrame({"id": rows["id"], "seen": rows["seen"]})
        .with_columns(
            field=pl.lit(name),
            old=nothing if name == "id" else _text(former[name]),
            new=_text(rows[name]),
        )
        .filter(mask)
        .select(CHANGES.names())
        for name, mask in masks.items()
    ]
    places: Sequence[int] = range(len(masks))
    order = pl.col("field").replace_strict(list(masks), places, return_dtype=pl.Int64)
    return pl.concat(frames).sort("seen", "id", order)


def _text(values: pl.Series) -> pl.Series:
    if values.dtype == pl.List:
        return values.cast(pl.List(pl.String)).list.join(" ")
    return values.cast(pl.String)
