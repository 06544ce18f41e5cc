"""The last year with figures of each unit, looked for from the newest year down."""

from __future__ import annotations

from typing import Final

import polars as pl

# The columns of figures that show which year is the last one with any.
COLUMNS: Final = frozenset(["unit_id", "year", "source_column", "statement_id", "has_figures"])
_ROUND: Final = " round"
_CURRENT: Final = pl.col("source_column").cast(pl.String) == "current"


class Latest:
    """Looks for the last year with figures of each unit, whatever the reason beside them.

    Of a unit without any it is the newest year.

    Args:
        units: Records, each unit once.

    Attributes:
        open_ids: Ids of the units whose year is still looked for.
    """

    def __init__(self, units: pl.DataFrame) -> None:
        self._units = units
        self.open_ids = units["id"]
        self._seen = pl.DataFrame(
            schema={"unit_id": pl.Int64, "year": pl.Int32, "filings": pl.UInt32}
        )
        self._filed: list[pl.DataFrame] = []
        self._figures: list[pl.DataFrame] = []

    @property
    def open_units(self) -> pl.DataFrame:
        """Records of the units whose year is still looked for."""
        return self._units.filter(pl.col("id").is_in(self.open_ids.implode()))

    def newest(self, filed: pl.DataFrame) -> pl.DataFrame:
        """Return ``unit_id`` and ``year``: the newest year of each unit that was not looked at.

        A year is looked at again where another filing of it turns up.

        Args:
            filed: Result of `filings.by_rule`, without years, of open units.
        """
        years = filed.drop_nulls("year").group_by("unit_id", "year").agg(filings=pl.len())
        unseen = years.join(self._seen, on=years.columns, how="anti")
        return unseen.group_by("unit_id").agg(pl.col("year").max())

    def next_filings(self, filed: pl.DataFrame) -> pl.DataFrame:
        """Return the filings to look at next, by *filed* of all open units; none at the end.

        Those of the newest year of each; of a unit that has filings of no year, all of them. Units
        whose years were all looked at are no longer open.
        """
        newest = self.newest(filed)
        dated = filed.drop_nulls("year")["unit_id"]
        is_undated = ~pl.col("unit_id").is_in(dated.implode())
        left = pl.concat([newest["unit_id"], filed.filter(is_undated)["unit_id"]])
        self.open_ids = self.open_ids.filter(self.open_ids.is_in(left.implode()))
        of_year = filed.join(newest, on=["unit_id", "year"], how="semi", maintain_order="left")
        rows = pl.concat([of_year, filed.filter(is_undated)])
        seen = of_year.group_by("unit_id", "year").agg(filings=pl.len())
        self._seen = pl.concat([self._seen, seen])
        return rows

    def add(self, filed: pl.DataFrame, figures: pl.DataFrame) -> None:
        """Add the figures of `next_filings`; units with any, or with no year, are closed."""
        self._filed.append(filed)
        self._figures.append(figures)
        has_any = figures.filter(_CURRENT, "has_figures")["unit_id"]
        closed = pl.concat([has_any, filed.filter(pl.col("year").is_null())["unit_id"]])
        self.open_ids = self.open_ids.filter(~self.open_ids.is_in(closed.implode()))

    def filings(self) -> pl.DataFrame:
        """Return the filings of the year of each unit."""
        return self._of_rounds(self._filed)

    def figures(self) -> pl.DataFrame:
        """Return the figures of the year of each unit: one row, and beside it the year before."""
        rows = self._of_rounds(self._figures)
        own = rows.filter(_CURRENT).unique("unit_id", keep="last", maintain_order=True)
        on = ["unit_id", "statement_id"]
        return rows.join(own.select(on), on=on, how="semi", nulls_equal=True, maintain_order="left")

    def _of_rounds(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        """Return the rows of each unit that were added when its year was looked at."""
        rounds = [frame.with_columns(pl.lit(n).alias(_ROUND)) for n, frame in enumerate(frames)]
        figures = [
            frame.filter(_CURRENT).select("unit_id", "year", "has_figures", pl.lit(n).alias(_ROUND))
            for n, frame in enumerate(self._figures)
        ]
        last = (
            pl.concat(figures)
            .sort("has_figures", "year", _ROUND, nulls_last=False)
            .unique("unit_id", keep="last", maintain_order=True)
            .select("unit_id", _ROUND)
        )
        places = self._units.select(unit_id="id").with_row_index(" place")
        return (
            pl.concat(rounds)
            .join(last, on=["unit_id", _ROUND], how="semi", maintain_order="left")
            .join(places, on="unit_id", how="left", maintain_order="left")
            .sort(" place", maintain_order=True)
            .drop(_ROUND, " place")
        )
