"""The lists of a mirror: pages and counts of the ids that match a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.rows import MISSING
from finstat_kit.mirror.storage.standing import Standing
from finstat_kit.protocol import wire
from finstat_kit.protocol.requests import Page, Query

_NAMES: Final = {endpoint: name for name, endpoint in wire.LISTS.items()}
_COLUMNS: Final = {
    wire.FILTERS["ico"]: "ico",
    wire.FILTERS["dic"]: "dic",
    wire.FILTERS["legal_form_code"]: "pravnaForma",
}


@dataclass
class Lists:
    """The lists of one state of a mirror, each read when it is first needed.

    Args:
        path: Of the folder.
        newest: Returns the newest records of a collection.
        standing: Returns what the log of a collection says of each id.
    """

    path: Path
    newest: Callable[[str], pl.LazyFrame]
    standing: Callable[[str], Standing]
    _listed: dict[str, pl.DataFrame] = field(default_factory=dict)

    def page(self, query: Query) -> Page:
        """Return a page of a list."""
        ids = self._matching(query)
        return Page(ids.head(query.page_size), ids.len() > query.page_size)

    def count(self, query: Query) -> int:
        """Return the number of ids of a query."""
        return self._matching(query).len()

    def numbered(self, numbers: Sequence[tuple[str, str]]) -> list[tuple[str, str, int]]:
        """Return the units with some numbers; see `Source.numbered`."""
        units = self._of(wire.UNITS)
        rows: list[tuple[str, str, int]] = []
        for kind in ("id", "ico", "dic"):
            wanted = pl.Series([number for of, number in numbers if of == kind], dtype=pl.String)
            values = wanted.cast(units.schema[kind])
            found = units.filter(pl.col(kind).is_in(values.implode()))
            rows += found.select(pl.lit(kind), number=pl.col(kind).cast(pl.String), id="id").rows()
        return rows

    def _matching(self, query: Query) -> pl.Series:
        listed = self._of(query.endpoint)
        above = listed.slice(int(listed["id"].search_sorted(query.after_id, "right")))
        conditions = [pl.col(_COLUMNS[name]) == value for name, value in query.filters.items()]
        if conditions:
            # Former values of a deleted or non-public record cannot be searched.
            conditions.append(pl.col(wire.STATE).is_null())
        if query.changed_since > wire.BEGINNING:
            conditions.append(pl.col(wire.CHANGED) >= query.changed_since)
        return (above.filter(conditions) if conditions else above)["id"]

    def _of(self, endpoint: str) -> pl.DataFrame:
        if endpoint not in self._listed:
            with legible(self.path):
                if endpoint == wire.UNITS:
                    units = self.newest("units").filter(pl.col("gone").ne_missing(MISSING))
                    columns = ("id", *_COLUMNS.values(), wire.STATE, wire.CHANGED)
                    self._listed[endpoint] = units.select(columns).collect().sort("id")
                else:
                    ids = self.standing(_NAMES[endpoint]).listed
                    self._listed[endpoint] = ids.alias("id").to_frame()
        return self._listed[endpoint]
