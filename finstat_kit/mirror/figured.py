"""The methods of a mirror that give filings and figures, without a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import polars as pl

from finstat_kit.client.methods.filings import Given, Year, years_of
from finstat_kit.client.register import Register
from finstat_kit.errors import Interrupted
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.figures import Figures, Query
from finstat_kit.mirror.filed import filings_of


class Figured(Register):
    """A register whose statements, reports and cells are in the directory of a mirror."""

    _answers: Answers

    @overload
    def financials(
        self,
        units: None = None,
        year: Year = None,
        *,
        ico: None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.LazyFrame: ...
    @overload
    def financials(
        self,
        units: Given = None,
        year: Year = None,
        *,
        ico: str | None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame: ...
    def financials(
        self,
        units: Given = None,
        year: Year = None,
        *,
        ico: str | None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame | pl.LazyFrame:
        """Read the figures of units: of some, as `fk.financials` does, or of all that are listed.

        Args:
            units: Records or ids of units; None, without *ico*, is all units of the mirror, or
                those whose contents alone it keeps (``only=``).
            year: Year in which the period ends: one, several, or None for all.
            ico: In the place of *units*: all units that share this IČO.
            consolidated: The consolidated statements, in the place of the individual ones.
            from_previous: Add rows for the year before; see `fk.financials`.
            max_requests: Of no effect: no request is sent.
            progress: Of no effect.

        Returns:
            The columns of `fk.financials`. Without *units* and *ico* a LazyFrame, by ascending id
            of the unit: filters on units, filings and ``template`` narrow the records and cells
            that are read, and of the items only the cells of those that the query uses. ``reason``
            needs all items, ``sums_failing`` all cells: leave them out where they are not needed.
            A filing whose statement or reports are not held has the reason ``not_held``.

        Raises:
            UsageError: Both *units* and *ico*, or the mirror keeps statements without reports.
            MirrorError: No sync is complete yet, or something is lost.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> import polars as pl
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), contents=True, register=fk.sample(50))
            >>> report = mirror.sync()
            >>> money = mirror.financials(year=2020).filter(template=687)
            >>> money.select(pl.col("equity", "net_profit").median()).collect().rows()
            [(24987.0, 123.0)]
        """
        if units is not None or ico is not None:
            return super().financials(
                units, year, ico=ico, consolidated=consolidated, from_previous=from_previous,
                max_requests=max_requests, progress=progress,
            )  # fmt: skip
        self._answers.complete()
        query = Query(years_of(year), consolidated, from_previous)
        return Figures(self._answers, self._forms_at_call()).lazy(query)

    def _filed_at_hand(
        self, units: pl.DataFrame, years: Sequence[int] | None, *, consolidated: bool
    ) -> pl.DataFrame:
        ends = Query(years, consolidated, from_previous=False).ends()
        return filings_of(self._answers, units, years, ends, consolidated=consolidated)

    def _figures_at_hand(
        self,
        units: pl.DataFrame,
        years: Sequence[int] | None,
        *,
        consolidated: bool,
        from_previous: bool,
    ) -> pl.DataFrame:
        query = Query(years, consolidated, from_previous)
        done: list[pl.DataFrame] = []
        try:
            for frame in Figures(self._answers, self._forms_at_call()).of(units, query):
                done.append(frame)  # noqa: PERF402  (they are kept where it is interrupted)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(
                "interrupted while figures were read; .partial holds the rows before",
                partial=pl.concat(done) if done else None,
            ) from interrupt
        return pl.concat(done)
