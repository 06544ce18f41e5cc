"""Why a report, a table or an item gave no number: the only list of reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol import wire

Ints = NDArray[np.int64]

# In order of priority: if several apply, the first is given.
REASONS: Final = (
    "deleted",
    "non_public",
    "unreadable",
    "not_held",
    "not_own",
    "no_filing",
    "interim_only",
    "other_kind",
    "no_filing_for_year",
    "attachments_only",
    "no_content",
    "template_missing",
    "template_mismatch",
    "no_tables_in_template",
    "length_mismatch",
    "not_a_number",
    "all_blank",
    "other_currency",
    "caption_mismatch",
    "item_not_in_form",
)
REASON: Final = pl.Enum(REASONS)
TEXTS: Final = Words("reasons")
WITHOUT: Final = pl.Schema({"report_id": pl.Int64(), "table": pl.Int16(), "reason": REASON})
# The columns of records that are read if present.
READ: Final = (
    "id", "idSablony", wire.TABLES, wire.STATE, "pristupnostDat", "prilohy", wire.CHANGED,
)  # fmt: skip


class Refusals:
    """The reports and tables of a slice that gave no number, each with its first reason."""

    def __init__(self, ids: pl.Series) -> None:
        self._ids = ids
        self.refused = np.zeros(len(ids), dtype=np.bool_)
        self._rows: list[Ints] = []
        self._tables: list[int | None] = []
        self._reasons: list[str] = []

    def add(self, reason: str, applies: NDArray[np.bool_]) -> None:
        """Record a reason for reports without an earlier one."""
        rows = np.flatnonzero(applies & ~self.refused)
        self.refused[rows] = True
        self._add(reason, rows, None)

    def add_table(self, reason: str, rows: Ints, table: int) -> None:
        """Record a reason for a table of some reports."""
        self._add(reason, rows, table)

    def _add(self, reason: str, rows: Ints, table: int | None) -> None:
        if len(rows):
            self._rows.append(rows)
            self._tables.append(table)
            self._reasons.append(reason)

    def frame(self) -> pl.DataFrame:
        """Return the reasons in the order of the reports."""
        if not self._rows:
            return pl.DataFrame(schema=WITHOUT)
        sizes = [len(rows) for rows in self._rows]
        rows = np.concatenate(self._rows)
        tables = pl.Series("table", self._tables, dtype=pl.Int16)
        reasons = pl.Series("reason", self._reasons, dtype=REASON)
        entry = np.repeat(np.arange(len(sizes)), sizes)
        return (
            pl.DataFrame(
                [
                    self._ids.gather(rows).alias("report_id"),
                    tables.gather(entry),
                    reasons.gather(entry),
                    pl.Series("place", rows),
                ]
            )
            .sort("place", "table", "reason", maintain_order=True)
            .drop("place")
        )


def by_the_record(
    reports: pl.DataFrame, has_tables: NDArray[np.bool_]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the reasons visible in a record alone, in their order, and where each applies."""
    columns = reports.columns
    state = pl.col(wire.STATE) if wire.STATE in columns else pl.lit(None, pl.String)
    access = pl.col("pristupnostDat") if "pristupnostDat" in columns else pl.lit(None, pl.String)
    hidden = state.cast(pl.String).str.to_lowercase() == "neverejná"
    closed = access.cast(pl.String).str.to_lowercase() == "neverejné"
    bare = pl.Series("bare", ~has_tables)
    applies = {
        "deleted": state.cast(pl.String).str.to_lowercase() == "zmazané",
        "non_public": hidden.fill_null(value=False) | closed.fill_null(value=False),
    }
    if wire.CHANGED in columns:
        # A missing or broken record is a row with only its id.
        others = pl.all_horizontal(pl.col(n).is_null() for n in READ if n in columns and n != "id")
        applies["unreadable"] = others & bare
    if "prilohy" in columns and reports.schema["prilohy"] != pl.Null:
        applies["attachments_only"] = (pl.col("prilohy").list.len() > 0) & bare
    applies["no_content"] = pl.lit(bare)
    rows = reports.select(bare, **{name: e.fill_null(value=False) for name, e in applies.items()})
    for reason in applies:
        yield reason, rows[reason].to_numpy()
