"""What a mirror holds, as the register's service and collections answer from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.mirror import codelists
from finstat_kit.mirror.versions import MISSING, Ints
from finstat_kit.protocol.wire import BEGINNING, CHANGED, LISTS, UNITS
from finstat_kit.service.state.line import Line
from finstat_kit.service.state.store import Json, Store

# What the service compares: numbers that stand for an IČO, with those of twelve digits above all.
_ICO: Final = (
    pl.when(pl.col("ico").str.len_bytes() == 8)
    .then(pl.col("ico").cast(pl.Int64, strict=False))
    .when(pl.col("ico").str.len_bytes() == 12)
    .then(pl.col("ico").cast(pl.Int64, strict=False) + 10**13)
    .fill_null(-1)
)
_DAY: Final = (pl.col(CHANGED) - pl.lit(BEGINNING)).dt.total_days().fill_null(0).clip(0, 65_535)
_FORMS: Final = "pravnaForma"
# Lists without days of change are returned whole for every day.
_ANY_DAY: Final = 65_535


@dataclass(frozen=True, slots=True)
class CopiedStore(Store):
    """A state of the register as a mirror holds it: its records stay on disk."""

    find: Callable[[int], pl.DataFrame] = field(kw_only=True)

    def record(self, collection: str, id_: int) -> Json | None:
        """Return the record of a unit as the register would send it, or None."""
        rows = self.find(id_).rows(named=True) if collection == UNITS else []
        return next(({k: v for k, v in row.items() if v is not None} for row in rows), None)


def copied_store(
    units: pl.LazyFrame,
    others: Mapping[str, Ints],
    lists: Path,
    today: date,
    find: Callable[[int], pl.DataFrame],
) -> CopiedStore:
    """Make what the service answers from.

    Args:
        units: The newest version of each unit.
        others: The ids of the other lists.
        lists: The file of the codelists.
        today: The day up to which the mirror is in step.
        find: Returns the newest version of a unit, or no row.

    Raises:
        MirrorError: A file is lost or damaged.
    """
    listed = units.filter(pl.col("gone").ne_missing(MISSING))
    forms = listed.select(pl.col(_FORMS).unique()).drop_nulls().collect()[_FORMS].sort()
    columns = (
        listed.select(
            "id",
            _DAY.cast(pl.UInt16).alias("changed"),
            _ICO.alias("ico"),
            pl.col("dic").cast(pl.Int64, strict=False).fill_null(-1),
            pl.col(_FORMS).replace_strict(
                forms, pl.int_range(len(forms), eager=True), default=-1, return_dtype=pl.Int64
            ).alias("legal_form"),
            pl.col("stav").is_not_null().cast(pl.Int8).alias("state"),
        )
        .collect()
        .sort("id")
    )  # fmt: skip
    lines = {
        LISTS[name]: Line(ids, np.full(len(ids), _ANY_DAY, dtype=np.uint16))
        for name, ids in others.items()
    }
    lines[UNITS] = Line(columns["id"].to_numpy(), columns["changed"].to_numpy())
    return CopiedStore(
        lines,
        {name: columns[name].to_numpy() for name in ("ico", "dic", "legal_form", "state")},
        {"legal_form": forms.to_list()},
        places=(),
        codelists=codelists.bodies(codelists.stored(lists)),
        today=today,
        find=find,
    )
