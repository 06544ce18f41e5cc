"""The filings of units out of the records that a mirror holds: many units at once, no walk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

import polars as pl

from finstat_kit.frames.financials import filing_order, filings as rule
from finstat_kit.frames.reports.reasons import REASON
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.versions import is_among, legible, near
from finstat_kit.protocol import wire
from finstat_kit.protocol.records.decode import KINDS

_ENDS: Final = pl.col("obdobieDo")


class Records:
    """The records of a collection, as of now or of the day answered for."""

    def __init__(self, answers: Answers, name: str) -> None:
        self._listed, self._lacking = answers.state_of(name)
        self._rows = answers.newest_records(name)

    def lacking(self, ids: pl.Series) -> pl.Series:
        """Return which of some ids are not held; unreadable ones are not among them."""
        named = ids.alias("id").unique().sort()
        lack = self._lacking.filter(pl.col("readable").ne_missing(pl.lit(value=False)))["id"]
        return named.filter(named.is_in(lack.implode()) | ~is_among(named, self._listed["id"]))

    def unreadable(self, ids: pl.Series) -> pl.Series:
        """Return which of some ids are listed and have an unreadable record."""
        named = ids.alias("id").unique().to_frame()
        return named.join(self._lacking.filter(readable=False), on="id", how="semi")["id"]

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
            statements = Records(answers, "statements")
            found, closed = _statements_of(
                statements, units, years, ends, consolidated=consolidated
            )
    filed = rule.by_rule(units, found, years, consolidated=consolidated, not_held=closed)
    if not answers.extracted() and answers.since() is None:
        return filed
    # Of a part of the register a unit without a record is outside, and no fault of its record.
    outside = units.filter(pl.col(wire.CHANGED).is_null())["id"].implode()
    not_held = pl.when(pl.col("unit_id").is_in(outside)).then(pl.lit("not_held", REASON))
    return filed.with_columns(reason=pl.coalesce(not_held, "reason"))


def _statements_of(
    statements: Records,
    units: pl.DataFrame,
    years: Sequence[int] | None,
    ends: tuple[date, date] | None,
    *,
    consolidated: bool,
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the statements of units in some years, and the units that may have others there."""
    held = rule.held_by(units)
    ids = held["statement_id"]

    def read(ids: pl.Series, where: pl.Expr | None = None) -> pl.DataFrame:
        return statements.rows(ids, where=where).select(rule.STATEMENT).collect(engine="streaming")

    if ends is None:
        found = read(ids)
        found = pl.concat([found, statements.unread(ids, found)])
    else:
        found = read(ids, _ENDS.is_between(*ends) | ~rule.is_plausible(_ENDS))
    lacking = statements.lacking(ids)
    odd = found.filter(~rule.is_plausible(_ENDS))["id"]
    unclear = pl.concat([lacking, odd, statements.unreadable(ids)])
    owners = held.filter(pl.col("statement_id").is_in(unclear.implode()))
    closed = owners.filter(pl.col("statement_id").is_in(lacking.implode()))
    if years is None or owners.is_empty():
        return found, closed["unit_id"].unique()
    # Which years their statements can be of is shown by all that these units filed.
    own = held.join(owners, on="unit_id", how="semi")
    known = read(own["statement_id"])
    known = pl.concat([known, statements.unread(own["statement_id"], known)])
    hints = rule.known_of(known, consolidated=consolidated)
    if filing_order.grows_with_filing(hints):
        needed = filing_order.next_ids(own, hints, list(years), confirm=False)
        closed = closed.filter(pl.col("statement_id").is_in(needed.implode()))
    found = pl.concat([found.join(known, on="id", how="anti"), known])
    return found, closed["unit_id"].unique()
