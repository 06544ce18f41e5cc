"""What a mirror holds, as the register's service and collections answer from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.mirror.versions import MISSING
from finstat_kit.protocol.wire import BEGINNING, CHANGED, UNITS
from finstat_kit.service.store import Line, Store

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


@dataclass(frozen=True, slots=True)
class CopiedStore(Store):
    """A state of the register as a mirror holds it: its records stay on disk."""

    find: Callable[[int], pl.DataFrame]

    def record(self, id_: int) -> dict[str, object] | None:
        """Return the record of a unit as the register would send it, or None."""
        for record in self.find(id_).iter_rows(named=True):
            return {name: value for name, value in record.items() if value is not None}
        return None


def copied_store(
    units: pl.LazyFrame,
    ids: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]],
    codelists: dict[str, bytes],
    today: date,
    find: Callable[[int], pl.DataFrame],
) -> CopiedStore:
    """Make what the service answers from.

    Args:
        units: The newest version of each unit.
        ids: The ids of the other lists, ascending, by the name of their endpoint.
        codelists: The bodies of the codelists, by the name of their endpoint.
        today: The day up to which the mirror is in step.
        find: Returns the newest version of a unit, or no row.
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
    lines = {name: Line(line, np.zeros(len(line), dtype=np.uint16)) for name, line in ids.items()}
    lines[UNITS] = Line(columns["id"].to_numpy(), columns["changed"].to_numpy())
    return CopiedStore(
        lines,
        {name: columns[name].to_numpy() for name in ("ico", "dic", "legal_form", "state")},
        {"legal_form": forms.to_list()},
        places=(),
        owned={},
        fields={},
        codelists=codelists,
        today=today,
        find=find,
    )
