"""Which filing the figures of each unit and year are taken from, as its reports show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from finstat_kit.frames.financials import items
from finstat_kit.frames.financials.filings import IN_MEMORY, KEY, KINDS, ORDINARY, by_age, undated
from finstat_kit.frames.financials.readings import (
    OWN,
    REFUSED,
    Readings,
    any_of_items,
    has_tables,
    of_none,
)
from finstat_kit.frames.reports.cells import REASON

INTERIM: Final = "Priebežná"
_USUAL_MONTHS: Final = 12
_EACH: Final = ("unit_id", "year", "undated")  # what one filing is taken for
_BOTH: Final = 2  # statements with numbers
_RANKED: Final = ("statement_id", "reason", "rank")
# What reports beside a missing one are: files, and tables of other forms.
_OF_OTHERS: Final = ("attachments_only", "item_not_in_form")
_WITH_NUMBERS: Final = pl.Schema({"statement_id": pl.Int64(), "with_numbers": pl.Int32()})
# Filings of a unit and year that are tried one after the other; of more, twice as many each time.
_ONE_BY_ONE: Final = 4


class Choice:
    """Which filing the figures of each unit and year are taken from, as its reports show it.

    Reports are added until none is wanted: all of the newest filing, of the one that it supersedes
    only where the newest does not have both statements.

    Args:
        filings: Result of `filings.by_rule`.
        reports: None yet, in the columns of those that are added.
        read: Returns what reports say, as `FigureReader` does.

    Attributes:
        reports: Those added.
        listed: As of `listed_reports`, of all filings.
        readings: What the reports say.
    """

    def __init__(
        self, filings: pl.DataFrame, reports: pl.DataFrame, read: Callable[[pl.DataFrame], Readings]
    ) -> None:
        self._filings = filings
        self._ids = report_ids(filings).sort("report_id", "statement_id", descending=True)
        self._read = read
        self.reports = reports
        self.readings = of_none()
        self.listed = listed_reports(self._ids, reports)
        self._added = 0  # times
        self._not_held = reports["id"].clear()
        without_kind = filings.filter(pl.col("kind").is_null(), pl.col("reason").is_null())
        self._lacks_kinds = not without_kind.is_empty()
        self._kinded = filings
        self._candidates = candidates_of(filings)
        self._with_numbers = pl.DataFrame(schema=_WITH_NUMBERS)

    def add(self, reports: pl.DataFrame, not_held: pl.Series | None = None) -> None:
        """Add reports that were wanted.

        Args:
            reports: Their records.
            not_held: Ids of wanted ones that are not held: their filings are taken untried.
        """
        self._added += 1
        # Whether reports contradict each other is seen only where they are read together.
        more = self._read(pl.concat([reports, self._beside(reports)]))
        self.readings = Readings(
            *(
                pl.concat([former, new.join(former, on="report_id", how="anti")], how="diagonal")
                for former, new in zip(self.readings, more, strict=True)
            )
        )
        self.reports = pl.concat([self.reports, reports])
        if not_held is not None:
            self._not_held = pl.concat([self._not_held, not_held])
        self.listed = listed_reports(self._ids, self.reports)
        if self._lacks_kinds:
            self._kinded = with_kinds(self._filings, self.listed)
            self._candidates = candidates_of(self._kinded)
        self._with_numbers = self._count_statements()

    def wanted(self, *, contested: bool = False) -> pl.Series:
        """Return the ids of the reports to add next, none where all filings are chosen.

        Args:
            contested: Only those of filings that supersede others or that have no kind.
        """
        untried = self._untried()
        if self._lacks_kinds:
            unkinded = self._kinded.filter(pl.col("kind").is_null(), pl.col("reason").is_null())
            rest = untried.join(unkinded, on="statement_id", how="semi", maintain_order="left")
            if rest.height:
                return rest["report_id"].unique(maintain_order=True)
        candidates = self._candidates
        if contested:
            candidates = candidates.filter((pl.col("age") + pl.col("supersedes")) > 0)
        if candidates.is_empty():
            return untried["report_id"].clear()
        at_once = 2 ** max(self._added - _ONE_BY_ONE, 0)
        is_decided = (
            (pl.col("with_numbers").fill_null(0) == _BOTH).cum_max().shift(1, fill_value=False)
        )
        tried = (
            candidates.join(self._with_numbers, on="statement_id", how="left")
            .sort(*_EACH, "age")
            .filter(~is_decided.over(_EACH))
            .join(untried, on="statement_id", how="semi", maintain_order="left")
            .filter(pl.int_range(pl.len()).over(_EACH) < at_once)
        )
        reports = tried.join(untried, on="statement_id", maintain_order="left_right")
        return reports["report_id"].unique(maintain_order=True)

    def taken(self) -> pl.DataFrame:
        """Return the filing of each unit and year, or the reason why there is none.

        The columns of `candidates_of`.
        """
        return chosen(self._kinded, self._candidates, self._with_numbers)

    def _beside(self, reports: pl.DataFrame) -> pl.DataFrame:
        """Return the reports added before that a filing lists beside one of some others."""
        if self.reports.is_empty():
            return self.reports
        new = self._ids.filter(pl.col("report_id").is_in(reports["id"].implode()))
        beside = self._ids.filter(pl.col("statement_id").is_in(new["statement_id"].implode()))
        return self.reports.filter(pl.col("id").is_in(beside["report_id"].implode()))

    def _untried(self) -> pl.DataFrame:
        """Return ``statement_id`` and ``report_id`` of the reports that were not added."""
        tried = pl.concat([self.reports["id"], self._not_held])
        return self._ids.filter(~pl.col("report_id").is_in(tried.implode()))

    def _count_statements(self) -> pl.DataFrame:
        """Return how many statements of filings, balance sheet and income, have numbers."""
        now = figures_of_filings(self.readings, self.listed.lazy()).filter(period="current")
        there = items.columns_of(self.readings.figures)
        parts = [
            any_of_items(set(names).intersection(there)).cast(pl.Int32)
            for names in items.by_statement()
        ]
        with_numbers = now.select("statement_id", with_numbers=pl.sum_horizontal(parts)).collect(
            engine=IN_MEMORY
        )
        if self._not_held.is_empty():
            return with_numbers
        presumed = (
            self._ids.filter(pl.col("report_id").is_in(self._not_held.implode()))
            .select("statement_id", with_numbers=pl.lit(_BOTH, pl.Int32))
            .unique()
        )
        return pl.concat([presumed, with_numbers.join(presumed, on="statement_id", how="anti")])


def parted(filings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part the filings of units that have one in each year, and nothing to choose, from the others.

    Args:
        filings: Result of `filings.by_rule`.

    Returns:
        Those as `Choice.taken` returns them, and the others as they are.
    """
    is_plain = pl.col("year").is_not_null() & pl.col("reason").is_null()
    is_plain &= pl.col("kind").is_in(KINDS).fill_null(value=False)
    is_plain &= pl.struct("unit_id", "year").is_unique()
    odd_units = filings.filter(~is_plain)["unit_id"]
    is_odd = pl.col("unit_id").is_in(odd_units.implode())
    plain = filings.filter(~is_odd).with_columns(
        age=pl.lit(0, pl.Int64),
        undated=undated(),
        periods_in_year=pl.lit(1, pl.Int16),
        supersedes=pl.lit(0, pl.Int16),
    )
    return plain, filings.filter(is_odd)


def with_kinds(filings: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    """Return filings with the kinds that their reports give where their record has none.

    Args:
        filings: Result of `by_rule`.
        listed: Result of `listed_reports`.
    """
    kind = pl.col("titulnaStrana").struct.field("typZavierky")
    by_reports = (
        listed.filter("own")
        .select("statement_id", "report_id", by_reports=kind)
        .drop_nulls()
        .sort("report_id", descending=True)
        .unique("statement_id", keep="first", maintain_order=True)
    )
    return (
        filings.join(by_reports, on="statement_id", how="left", maintain_order="left")
        .with_columns(kind=pl.coalesce("kind", "by_reports"))
        .select(filings.columns)
    )


def candidates_of(filings: pl.DataFrame) -> pl.DataFrame:
    """Return the filings that the figures of a unit and year can be taken from.

    These are the first one by `in_preference` and those that it supersedes.

    Args:
        filings: Result of `with_kinds`.

    Returns:
        Their columns; ``age`` (0 for the newest), ``undated`` (the statement where it has no
        period, which is then by itself), ``periods_in_year`` and ``supersedes`` (Int16): how many
        periods end in the year, and how many filings this one corrects.
    """
    key = [*KEY[:-1], "counted_as", "undated"]
    rows = filings.lazy().with_columns(counted_as=_counted_as(), undated=undated())
    of_kind = rows.filter(pl.col("counted_as").is_in(KINDS), pl.col("reason").is_null())
    candidates = by_age(of_kind, key).with_columns(
        supersedes=(pl.col("filings") - 1 - pl.col("age")).cast(pl.Int16)
    )
    periods = pl.struct("period_from", "period_to").n_unique().over(_EACH)
    newest = in_preference(
        candidates.filter(age=0).with_columns(periods_in_year=periods.cast(pl.Int16))
    ).unique(_EACH, keep="first", maintain_order=True)
    return (
        candidates.join(newest.select(*key, "periods_in_year"), on=key, nulls_equal=True)
        .sort("unit_id", "year", "age")
        .select(*filings.columns, "age", "undated", "periods_in_year", "supersedes")
        .collect(engine=IN_MEMORY)
    )


def in_preference(filings: pl.LazyFrame) -> pl.LazyFrame:
    """Sort filings of a year by which one is taken first.

    The statement of the unit itself goes before one of a fund or of several units, an ordinary one
    before an extraordinary one and that before any other, a longer period before a shorter one, the
    later of two equally long ones before the earlier. Where neither record nor reports have a kind,
    a period of twelve months counts as ordinary.
    """
    of_several = pl.col("fund").is_not_null() | pl.col("central_government") | pl.col("summary")
    rank = _counted_as().replace_strict(KINDS, [0, 1], default=None, return_dtype=pl.Int8)
    return filings.sort(
        of_several, rank, "months", "period_to", "statement_id",
        descending=[False, False, True, True, True], nulls_last=True,
    )  # fmt: skip


def _counted_as() -> pl.Expr:
    usual = pl.when(pl.col("months") == _USUAL_MONTHS).then(pl.lit(ORDINARY))
    return pl.coalesce("kind", usual)


def chosen(
    filings: pl.DataFrame, candidates: pl.DataFrame, with_numbers: pl.DataFrame
) -> pl.DataFrame:
    """Return the one filing of each unit and year that its figures are taken from, or a reason.

    It is the newest whose balance sheet and income statement have numbers, else the newest with
    either of them, else the newest.

    Args:
        filings: Result of `with_kinds`.
        candidates: Result of `candidates_of`.
        with_numbers: ``statement_id`` of filings, and how many of the two statements have numbers.

    Returns:
        The columns of `candidates_of`; ``superseded_by`` is the newest filing where another one is
        taken.
    """
    rows_of_candidates, columns = candidates.lazy(), candidates.columns
    newest = rows_of_candidates.filter(age=0).select(*_EACH, newest="statement_id")
    best = (
        rows_of_candidates.join(with_numbers.lazy(), on="statement_id", how="left")
        .sort(pl.col("with_numbers").fill_null(0), -pl.col("age"), descending=True)
        .unique(_EACH, keep="first", maintain_order=True)
        .join(newest, on=_EACH, nulls_equal=True)
        .with_columns(superseded_by=pl.when(pl.col("age") > 0).then("newest"))
        .select(columns)
    )
    # What is left of a unit and year is a reason, or statements that are never taken; records that
    # have no year are left only to units without any.
    rows = filings.lazy()
    dated = pl.concat([rows.drop_nulls("year").select("unit_id"), best.select("unit_id")])
    dated = dated.unique().with_columns(is_dated=pl.lit(value=True))
    of_kind = (
        pl.when(pl.col("kind") == INTERIM).then(pl.lit("interim_only", REASON))
        .when(~pl.col("kind").is_in(KINDS)).then(pl.lit("other_kind", REASON))
    )  # fmt: skip
    never = (
        pl.when(pl.col("reason") == "period_mismatch").then(pl.coalesce(of_kind, "reason"))
        .when(pl.col("statement_id").is_null())
        .then(pl.coalesce("reason", pl.lit("no_filing_for_year", REASON)))
        .otherwise(pl.coalesce("reason", of_kind, pl.lit("other_kind", REASON)))
    )  # fmt: skip
    nothing = [
        pl.lit(None, candidates.schema[name]).alias(name)
        for name in ("age", "periods_in_year", "supersedes", "superseded_by", "report_ids")
    ]
    reason_rows = (
        rows.with_columns(undated=undated())
        .join(best.select(_EACH), on=_EACH, how="anti", nulls_equal=True, maintain_order="left")
        .join(dated, on="unit_id", how="left", maintain_order="left")
        .filter(
            pl.any_horizontal(pl.col("year", "undated").is_not_null(), pl.col("is_dated").is_null())
        )
        .with_columns(never.alias("reason"), *nothing)
        .sort("reason", maintain_order=True)
        .unique(_EACH, keep="first", maintain_order=True)
        .select(columns)
    )
    return pl.concat([best, reason_rows]).collect(engine=IN_MEMORY)


def report_ids(filings: pl.DataFrame) -> pl.DataFrame:
    """Return the reports of filings, in no guaranteed order.

    Args:
        filings: Their ``statement_id`` and ``report_ids``.

    Returns:
        ``statement_id`` and ``report_id``; and ``alone``, whether there is nothing to compare it
        with: of most filings there is one report.
    """
    is_alone = pl.col("report_ids").list.len() == 1
    each = filings.lazy().select("statement_id", report_id="report_ids", alone=is_alone)
    each = each.explode("report_id").drop_nulls()
    return each.unique(["statement_id", "report_id"]).collect(engine=IN_MEMORY)


def listed_reports(ids: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each report of filings with its statement, in no guaranteed order.

    Args:
        ids: Result of `report_ids`, of the filings.
        reports: Records of their reports, as many as were wanted.

    Returns:
        The columns of *ids* and *reports*; ``own``, whether the report names no other statement as
        its own, and ``is_source``, whether figures are read from it: of the own ones on a form of
        the items the highest id of each form, of forms that are not filed together those that come
        first in the items.
    """
    together = {template: n for n, forms in enumerate(items.WHOLE) for template in forms}
    forms = pl.col("idSablony").replace_strict(together, default=None, return_dtype=pl.Int8)
    own_statement = pl.col("idUctovnejZavierky").is_null() | (
        pl.col("idUctovnejZavierky") == pl.col("statement_id")
    )
    listed = (
        ids.lazy()
        .join(reports.lazy(), left_on="report_id", right_on="id")
        .with_columns(own=own_statement, forms=forms)
        .with_columns(is_source=pl.col("own") & pl.col("forms").is_not_null())
        .collect(engine=IN_MEMORY)
    )
    place = (~listed["alone"]).arg_true()
    if place.is_empty():
        return listed
    first_forms = pl.col("forms").filter("own", has_tables()).min().over("statement_id")
    highest_id = pl.col("report_id").filter("own").max().over("statement_id", "idSablony")
    is_source = listed[place].select(
        pl.col("is_source")
        & (pl.col("forms") == pl.coalesce(first_forms, "forms"))
        & (pl.col("report_id") == highest_id)
    )["is_source"]
    return listed.with_columns(listed["is_source"].scatter(place, is_source))


def ambiguous(readings: Readings, listed: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ``statement_id`` of filings with reports on one form that are not the same."""
    return (
        listed.filter("own")
        .join(readings.contents.lazy(), on="report_id")
        .group_by("statement_id", "idSablony")
        .agg(pl.col("content").n_unique())
        .filter(pl.col("content") > 1)
        .select(pl.col("statement_id").unique())
    )


def figures_of_filings(readings: Readings, listed: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row for each filing and period: each item and what `Readings` has beside these.

    Reports that contradict each other give none.
    """
    keys = ["statement_id", "period"]
    item_names = items.columns_of(readings.figures)
    flags = ["has_figure", "has_text", "has_other_caption"]
    columns = pl.col([*keys, *flags, *item_names])
    sources = listed.filter("is_source").select("report_id", "statement_id", "alone")
    if readings.contents.height:
        sources = sources.join(
            ambiguous(readings, listed), on="statement_id", how="anti", maintain_order="left"
        )
    rows = readings.figures.lazy()
    of_single = rows.join(sources.filter("alone"), on="report_id").select(columns)
    of_several = (
        rows.join(sources.filter(~pl.col("alone")), on="report_id")
        .group_by(keys, maintain_order=True)
        .agg(pl.col(flags).any(), pl.col(item_names).drop_nulls().first())
    )
    return pl.concat([of_single, of_several.select(columns)])


def reasons_of_filings(listed: pl.LazyFrame, readings: Readings) -> pl.LazyFrame:
    """Return as ``without`` why each filing has no figures, if it has none."""
    blank = _ranked(listed.filter("is_source"), "all_blank", OWN)
    of_all = [_of_reports(listed, readings), blank]
    if readings.contents.height:
        of_all.append(_ranked(ambiguous(readings, listed), "ambiguous", REFUSED))
    return _first(pl.concat(of_all)).select("statement_id", without="reason")


def reasons_of_halves(listed: pl.LazyFrame, readings: Readings) -> pl.LazyFrame:
    """Return by period as ``half`` why one report of a filing gives none beside another's figures.

    A blank report gives none, without a reason; nor has a filing one whose form holds everything.
    """
    keys = ["statement_id", "period"]
    read = readings.figures.lazy().select("report_id", "period", "has_figure")
    sources = listed.filter("is_source", pl.col("forms").is_in(items.PAIRS)).join(
        read, on="report_id"
    )
    halves = (
        sources.group_by(keys)
        .agg(pl.col("has_figure").any(), pl.col("idSablony").n_unique())
        .filter("has_figure", pl.col("idSablony") == 1)
        .select(keys)
    )
    if readings.contents.height:
        halves = halves.join(ambiguous(readings, listed), on="statement_id", how="anti")
    others = listed.join(halves, on="statement_id", how="semi").join(
        sources, on="report_id", how="anti"
    )
    # Notes and other forms beside a report that is not there do not say why.
    says_why = (pl.col("rank") == REFUSED) | ~pl.col("reason").is_in(_OF_OTHERS)
    reasons = _first(_of_reports(others, readings).filter(says_why))
    return halves.join(reasons, on="statement_id", how="left").select(
        *keys, half=pl.col("reason").fill_null(pl.lit("no_content", REASON))
    )


def _of_reports(listed: pl.LazyFrame, readings: Readings) -> pl.LazyFrame:
    """Return the reasons of reports, and those that name another statement, by their filing."""
    own_statements = listed.filter("own").select("report_id", "statement_id")
    own_reasons = readings.reasons.lazy().join(own_statements, on="report_id").select(_RANKED)
    return pl.concat([own_reasons, _ranked(listed.filter(~pl.col("own")), "not_own", REFUSED)])


def _ranked(filings: pl.LazyFrame, reason: str, rank: int) -> pl.LazyFrame:
    reasons = filings.with_columns(reason=pl.lit(reason, REASON), rank=pl.lit(rank))
    return reasons.select(_RANKED)


def _first(reasons: pl.LazyFrame) -> pl.LazyFrame:
    return (
        reasons.sort("rank", "reason")
        .group_by("statement_id", maintain_order=True)
        .agg(pl.col("reason").first())
    )
