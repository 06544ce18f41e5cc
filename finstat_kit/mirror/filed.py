"""The filings of units out of the records that a mirror holds: many units at once, no walk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

import polars as pl

from finstat_kit.frames import filing_order, filings as rule
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.versions import is_among, legible, near
from finstat_kit.protocol import wire
from finstat_kit.protocol.shaped import KINDS

_READ: Final = (
    "id", "obdobieOd", "obdobieDo", "konsolidovana", "typ", "datumPodania", "idUctovnychVykazov",
    wire.STATE, wire.CHANGED,
)  # fmt: skip
_ENDS: Final = pl.col("obdobieDo")


class Records:
    """The records of a collection, as of now or of the day answered for."""

    def __init__(self, answers: Answers, name: str) -> None:
        self._listed, self._lacking = answers.state_of(name)
        self._rows = answers.newest_records(name)

    def lacking(self, ids: pl.Series) -> pl.Series:
        """Return which of some ids are listed but not held; unreadable ones are not among them."""
        lack = self._lacking.filter(pl.col("readable").ne_missing(pl.lit(value=False)))
        return lack.join(ids.alias("id").to_frame(), on="id", how="semi")["id"]

    def rows(self, ids: pl.Series, *, where: pl.Expr | None = None) -> pl.LazyFrame:
        """Return the records that are held of some ids, in no guaranteed order."""
        wanted = ids.alias("id").unique().sort()
        wanted = wanted.filter(is_among(wanted, self._listed["id"]))
        lack = self._lacking.select("id")
        named = wanted.to_frame().join(lack, on="id", how="anti")
        found = self._rows.filter(near("id", named["id"]), *([] if where is None else [where]))
        return found.join(named.lazy(), on="id", how="semi")

    def unread(self, ids: pl.Series, found: pl.DataFrame) -> pl.DataFrame:
        """Return a row of nulls for each id that is neither lacking nor found."""
        rest = ids.alias("id").unique().to_frame().join(found, on="id", how="anti")
        rest = rest.filter(~pl.col("id").is_in(self.lacking(ids).implode()))
        return rest.with_columns(
            pl.lit(None, dtype).alias(name) for name, dtype in found.schema.items() if name != "id"
        ).select(found.columns)


def filings_of(
    answers: Answers,
    units: pl.DataFrame,
    years: Sequence[int] | None,
    ends: tuple[date, date] | None,
    *,
    consolidated: bool,
) -> pl.DataFrame:
    """Return the filings of units by `by_rule`, ``not_held`` where a statement may be lacking.

    Args:
        answers: Of the mirror.
        units: Records of units, each once.
        years: None is every year.
        ends: The days within which the periods of the wanted filings end, None for any; filings of
            other years may be left out.
        consolidated: As of `by_rule`.
    """
    if not answers.keeps("statements"):
        found, closed = KINDS["statements"].frame([]), units["id"]
    else:
        with legible(answers.path):
            found, closed = _statements_of(Records(answers, "statements"), units, years, ends)
    return rule.by_rule(units, found, years, consolidated=consolidated, not_held=closed)


def _statements_of(
    statements: Records,
    units: pl.DataFrame,
    years: Sequence[int] | None,
    ends: tuple[date, date] | None,
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the statements of units in some years, and the units that may have others there."""
    held = rule.held_by(units)
    ids = held["statement_id"]
    if ends is None:
        found = statements.rows(ids).select(_READ).collect(engine="streaming")
        found = pl.concat([found, statements.unread(ids, found)])
    else:
        # Unreadable ones are of no year.
        within = _ENDS.is_between(*ends)
        found = statements.rows(ids, where=within).select(_READ).collect(engine="streaming")
    lacking = statements.lacking(ids)
    if lacking.is_empty():
        return found, pl.Series(dtype=pl.Int64)
    owners = held.filter(pl.col("statement_id").is_in(lacking.implode()))
    if years is not None:
        own = held.join(owners, on="unit_id", how="semi")
        known = statements.rows(own["statement_id"]).select(_READ).collect(engine="streaming")
        known = pl.concat([known, statements.unread(own["statement_id"], known)])
        hints = rule.known_of(known)
        if filing_order.grows_with_filing(hints):
            needed = filing_order.next_ids(own, hints, list(years))
            owners = owners.filter(pl.col("statement_id").is_in(needed.implode()))
    return found, owners["unit_id"].unique()
