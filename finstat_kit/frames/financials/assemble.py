"""One row per unit and year: the filing that is taken, its items, its checks, or the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import polars as pl

from finstat_kit.errors import UsageError
from finstat_kit.frames.financials import filings, items
from finstat_kit.frames.financials.content import (
    OWN,
    REFUSED,
    Content,
    any_of_items,
    has_tables,
    of_items,
    of_none,
)
from finstat_kit.frames.reports.cells import REASON
from finstat_kit.frames.reports.templates import PERIOD

EURO: Final = "EUR"  # what is meant where a report names no currency
# Carried along from the records of units, so that frames can be grouped and labelled at once.
CARRIED: Final = ("kraj", "okres", "pravnaForma", "skNace", "velkostOrganizacie")
_DAYS: Final = ("datumZalozenia", "datumZrusenia")
# As the title page of the report has them, because those of the unit are today's.
FILED: Final = ("nace_filed", "seat_filed", "postcode_filed")
IDENTITY: Final = pl.Schema(
    {"unit_id": pl.Int64(), "ico": pl.String(), "name": pl.String(), "year": pl.Int32()}
)
PROVENANCE: Final = pl.Schema(
    {
        **dict.fromkeys(CARRIED, pl.String()),
        **dict.fromkeys(_DAYS, pl.Date()),
        **dict.fromkeys(FILED, pl.String()),
        "period_from": pl.Date(),
        "period_to": pl.Date(),
        "months": pl.Int16(),
        "periods_in_year": pl.Int16(),
        "source_column": PERIOD,
        "kind": pl.String(),
        "consolidated": pl.Boolean(),
        "fund": pl.String(),
        "filed": pl.Date(),
        "supersedes": pl.Int16(),
        "statement_id": pl.Int64(),
        "superseded_by": pl.Int64(),
        "superseded_by_reason": REASON,
        "report_id": pl.Int64(),
        "family": items.FAMILY,
        "template": pl.Int32(),
        "currency": pl.String(),
        "sums_failing": pl.Int32(),
        "balance_difference": pl.Float64(),
        "reason": REASON,
    }
)

# A statement that another unit lists, too, is read for its own alone.
READ_FROM: Final = pl.when(pl.col("reason").is_null()).then("statement_id").alias("read_from")


def schema(items_chosen: Sequence[str] | None = None) -> pl.Schema:
    """Return the columns of financials with some items, by default with all."""
    figures = items.names() if items_chosen is None else items_chosen
    return pl.Schema({**IDENTITY, **dict.fromkeys(figures, pl.Float64()), **PROVENANCE})


def check_types(columns: pl.Schema, used: Iterable[str], argument: str) -> None:
    """Refuse columns of financials whose type does not hold what they mean.

    Categories are as good as texts, times as days, and any width of a number.
    """
    expected = schema()
    for name in used:
        wanted, dtype = expected.get(name), columns.get(name, pl.Null())
        if wanted is None or dtype == pl.Null or _holds(dtype, wanted):
            continue
        is_text = isinstance(wanted, pl.String | pl.Enum)
        why = ": a code read as a number loses its leading zeros" if is_text else ""
        raise UsageError(
            f": the column {name!r} is {dtype}",
            argument=argument,
            cure=f"give it as {'String' if is_text else wanted}{why}",
        )


def _holds(dtype: pl.DataType, wanted: pl.DataType) -> bool:
    if isinstance(wanted, pl.String | pl.Enum):
        return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)
    if wanted == pl.Date:
        return isinstance(dtype, pl.Date | pl.Datetime)
    if wanted == pl.Boolean:
        return dtype == pl.Boolean
    return dtype.is_numeric() if wanted.is_float() else dtype.is_integer()


def with_own_items(figures: pl.DataFrame) -> pl.DataFrame:
    """Return financials with the items of the families that occur, of businesses if none does."""
    families = figures["family"].drop_nulls().unique().to_list() or ["business"]
    return figures.select(schema(items.of_families(families)).names())


# The fields of title pages that are read, and those of their addresses.
PAGE: Final = ("typZavierky", "predchadzajuceObdobieOd", "predchadzajuceObdobieDo", "skNace")
SEAT: Final = ("mesto", "psc")


class Choice:
    """Which filing the figures of each unit and year are taken from, as its reports show it.

    Reports are added until none is wanted: those of the newest filing, of the one that it
    supersedes only where the newest does not have both statements.

    Args:
        filings: Result of `filings.by_rule`.
        reports: None yet, in the columns of those that are added.
        read: Returns what reports say, as `content.Contents` does.

    Attributes:
        reports: Those added.
        listed: As of `listed_reports`, of all filings.
        content: What the reports say.
    """

    def __init__(
        self,
        filings: pl.DataFrame,
        reports: pl.DataFrame,
        read: Callable[[pl.DataFrame], Content],
    ) -> None:
        self._filings = filings
        self._ids = report_ids(filings)
        self._read = read
        self.reports = reports
        self.content = of_none()
        self._not_held = reports["id"].clear()
        self._kinds: pl.DataFrame | None = None
        self._look()

    def add(self, reports: pl.DataFrame, not_held: pl.Series | None = None) -> None:
        """Add reports that were wanted.

        Args:
            reports: Their records.
            not_held: Ids of wanted ones that are not held: their filings are taken untried.
        """
        self.reports = pl.concat([self.reports, reports])
        more = self._read(reports)
        self.content = Content(
            *(pl.concat(parts, how="diagonal") for parts in zip(self.content, more, strict=True))
        )
        if not_held is not None:
            self._not_held = pl.concat([self._not_held, not_held])
        self._look()

    def wanted(self, *, contested: bool = False) -> pl.Series:
        """Return the ids of the reports to add next, none where all filings are chosen.

        Args:
            contested: Only those of filings that supersede others or that have no kind.
        """
        unkinded = self._kinded.filter(pl.col("kind").is_null(), pl.col("reason").is_null())
        next_ids = self._next.join(unkinded, on="statement_id", how="semi", maintain_order="left")[
            "report_id"
        ]
        if next_ids.len():
            return next_ids
        able = self._able
        if contested:
            able = able.filter((pl.col("turn") + pl.col("supersedes")) > 0)
        if able.is_empty():
            return next_ids
        each = ["unit_id", "year", "undated"]
        settled = (pl.col("merit").fill_null(0) == _BOTH).cum_max().shift(1, fill_value=False)
        return (
            able.join(self._merits, on="statement_id", how="left")
            .join(self._next, on="statement_id", how="left")
            .sort(*each, "turn")
            .filter(~settled.over(each))
            .drop_nulls("report_id")
            .unique(each, keep="first", maintain_order=True)["report_id"]
            .unique(maintain_order=True)
        )

    def taken(self) -> pl.DataFrame:
        """Return the filing of each unit and year, or the reason why there is none.

        The columns of `filings.chosen`, and ``superseded_by_reason``.
        """
        taken = filings.chosen(self._kinded, self._able, self._merits)
        newest = taken.select(statement_id="superseded_by").drop_nulls().unique()
        listed = self.listed.join(newest, on="statement_id", how="semi", maintain_order="left")
        # Of half a filing the other half is not there.
        half = self._merits.filter(merit=1).join(_whole(listed), on="statement_id", how="anti")
        why = newest.join(
            _reasons(listed, self.content.reasons, half["statement_id"]),
            on="statement_id", how="left",
        ).select(
            superseded_by="statement_id",
            superseded_by_reason=pl.col("without").fill_null(pl.lit("no_content", REASON)),
        )  # fmt: skip
        return taken.join(why, on="superseded_by", how="left")

    def _look(self) -> None:
        """See what the reports added so far show: kinds, merits, and what follows next."""
        self.listed = listed_reports(self._ids, self.reports)
        next_ids = next_reports(self._ids, self.listed)
        self._next = next_ids.filter(~pl.col("report_id").is_in(self._not_held.implode()))
        kind = pl.col("titulnaStrana").struct.field("typZavierky")
        kinds = (
            self.listed.filter("own")
            .select("statement_id", kind=kind)
            .drop_nulls()
            .unique("statement_id", keep="first", maintain_order=True)
        )
        if self._kinds is None or not self._kinds.equals(kinds):
            self._kinds = kinds
            self._kinded = filings.with_kinds(self._filings, kinds)
            self._able = filings.rivals(self._kinded)
        self._merits = self._merits_of()

    def _merits_of(self) -> pl.DataFrame:
        """Return of how many statements, balance sheet and income, filings have numbers."""
        now = _figures(self.content.figures.filter(period="current"), self.listed)
        parts = [any_of_items(now, names).cast(pl.Int32) for names in items.by_statement()]
        merits = now.select("statement_id", merit=pl.sum_horizontal(parts))
        if self._not_held.is_empty():
            return merits
        untried = (
            self._ids.filter(pl.col("report_id").is_in(self._not_held.implode()))
            .select("statement_id", merit=pl.lit(_BOTH, pl.Int32))
            .unique()
        )
        return pl.concat([untried, merits.join(untried, on="statement_id", how="anti")])


_BOTH: Final = 2  # statements with numbers


def report_ids(filings: pl.DataFrame) -> pl.DataFrame:
    """Return ``statement_id`` and ``report_id`` of each report of filings, by descending id.

    Args:
        filings: Their ``statement_id`` and ``report_ids``.
    """
    each = filings.select("statement_id", report_id="report_ids").explode("report_id").drop_nulls()
    return each.unique(maintain_order=True).sort("report_id", descending=True)


def next_reports(ids: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    """Return ``statement_id`` and ``report_id``, the highest, of the reports to fetch next.

    One of each filing whose tables are not all there yet.

    Args:
        ids: Result of `report_ids`.
        listed: Result of `listed_reports`: the reports fetched so far.
    """
    if not listed.is_empty():
        ids = ids.join(listed, on="report_id", how="anti", maintain_order="left").join(
            _whole(listed), on="statement_id", how="anti", maintain_order="left"
        )
    return ids.unique("statement_id", keep="first", maintain_order=True)


def _whole(listed: pl.DataFrame) -> pl.DataFrame:
    """Return the ``statement_id`` of filings whose tables are all there."""
    has = [
        pl.all_horizontal((pl.col("idSablony") == template).any() for template in together)
        for together in items.WHOLE
    ]
    return (
        listed.filter("own")
        .group_by("statement_id")
        .agg(whole=pl.any_horizontal(has))
        .filter(pl.col("whole").fill_null(value=False))
        .select("statement_id")
    )


def listed_reports(ids: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each report of filings with its statement, by descending id.

    Args:
        ids: Result of `report_ids`, of the filings.
        reports: Records of their reports, as many as were wanted.

    Returns:
        ``statement_id``, ``report_id`` and the columns of *reports*; ``own``, whether the report
        names no other statement as its own, and ``counts``, whether figures are read from it: of
        the own ones on a form of the items the highest id of each form, of forms that are not
        filed together those that come first in the items.
    """
    together = {template: n for n, forms in enumerate(items.WHOLE) for template in forms}
    forms = pl.col("idSablony").replace_strict(together, default=None, return_dtype=pl.Int8)
    own_statement = pl.col("idUctovnejZavierky").is_null() | (
        pl.col("idUctovnejZavierky") == pl.col("statement_id")
    )
    first = pl.col("forms").filter("own", has_tables()).min().over("statement_id")
    return (
        ids.join(reports, left_on="report_id", right_on="id", maintain_order="left")
        .with_columns(own=own_statement, forms=forms)
        .with_columns(
            counts=pl.col("own")
            & (pl.col("forms") == pl.coalesce(first, "forms")).fill_null(value=False)
            & (pl.col("report_id") == pl.col("report_id").filter("own").max()
               .over("statement_id", "idSablony"))
        )
    )  # fmt: skip


def assembled(
    taken: pl.DataFrame,
    units: pl.DataFrame,
    listed: pl.DataFrame,
    content: Content,
    *,
    from_previous: bool,
) -> pl.DataFrame:
    """Return the rows of financials.

    Args:
        taken: Result of `Choice.taken`: one filing for each unit and year, or a reason.
        units: Their records.
        listed: Result of `listed_reports`.
        content: What these reports say.
        from_previous: Add a row for the year before out of each filing.
    """
    described = (
        taken.join(carried(units), on="unit_id", how="left")
        .with_columns(READ_FROM)
        .join(sources(listed), left_on="read_from", right_on="statement_id", how="left")
        .join(
            _checks(content.checks, listed),
            left_on="read_from",
            right_on="statement_id",
            how="left",
        )
        .join(
            _reasons(listed, content.reasons),
            left_on="read_from",
            right_on="statement_id",
            how="left",
        )
    )
    figures = _figures(content.figures, listed)
    rows = [_of_this_year(described, figures)]
    if from_previous:
        rows.append(_of_the_year_before(described, figures))
    return _in_order(pl.concat(rows), units)


def _in_order(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by the places of their units, and by time."""
    places = units.select(unit_id="id").with_row_index("place")
    by = ("place", "year", "source_column", "period_to", "statement_id")
    order = (
        rows.lazy().join(places.lazy(), on="unit_id", how="left", maintain_order="left")
        .select(*by).with_row_index().sort(by, nulls_last=True, maintain_order=True)
        .collect()["index"]
    )  # fmt: skip
    return rows if order.is_sorted() else rows[order]  # a copy takes as much memory again


def _of_this_year(described: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    now = figures.filter(period="current")
    rows = described.join(now, left_on="read_from", right_on="statement_id", how="left")
    nothing = pl.coalesce("reason", "without", pl.lit("no_content", REASON))
    return _with_reasons(rows.with_columns(source_column=pl.lit("current", PERIOD)), nothing)


def _of_the_year_before(described: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """Return what filings contain of the year before theirs, where they contain anything."""
    before = figures.filter(pl.col("period") == "previous", pl.col("odd") | any_of_items(figures))
    first, last = pl.col("before_from"), pl.col("before_to")
    plausible = filings.is_plausible(last).fill_null(value=False)
    nothing = ("periods_in_year", "supersedes", "sums_failing", "balance_difference")
    rows = described.join(before, left_on="read_from", right_on="statement_id").with_columns(
        *(pl.lit(None).alias(name) for name in nothing),
        year=pl.when(plausible).then(last.dt.year()).otherwise(pl.col("year") - 1),
        period_from=pl.when(plausible).then(first),
        period_to=pl.when(plausible).then(last),
        months=pl.when(plausible).then(filings.months(first, last)),
        source_column=pl.lit("previous", PERIOD),
    )
    return _with_reasons(rows, pl.lit("not_a_number", REASON))


def _with_reasons(rows: pl.DataFrame, nothing: pl.Expr) -> pl.DataFrame:
    """Return rows with the reason why they have no figures, or not all that were filed.

    Amounts of another currency are none: they are not added up, and not divided, with euros.
    """
    absent = [name for name in items.names() if name not in rows.columns]
    reason = (
        pl.when(~pl.col("any_figure")).then(nothing)
        .when("odd").then(pl.lit("not_a_number", REASON))
        .when("foreign").then(pl.lit("other_currency", REASON))
    )  # fmt: skip
    rows = rows.with_columns(
        any_figure=any_of_items(rows), foreign=(pl.col("currency") != EURO).fill_null(value=False)
    ).with_columns(in_euros=pl.col("any_figure") & ~pl.col("foreign"))
    figures = ["sums_failing", "balance_difference"]
    if rows["foreign"].any():  # else a copy of the items would be all the same
        figures += items.columns_of(rows)
    return (
        rows.with_columns(
            reason.alias("reason"),
            *(pl.when("in_euros").then(name).alias(name) for name in figures),
            *(pl.lit(None, pl.Float64).alias(name) for name in absent),
        )
        .select(schema().names())
        .cast(schema())
    )


def carried(units: pl.DataFrame) -> pl.DataFrame:
    """Return what rows carry along from the records of units."""
    columns = ("id", "nazovUJ", *CARRIED, *_DAYS)
    return units.select(columns).rename({"id": "unit_id", "nazovUJ": "name"})


def form_order() -> pl.Expr:
    """Return the place of a report among those of its filing: the balance sheet comes first."""
    return pl.col("idSablony").replace_strict(
        items.TEMPLATES, range(len(items.TEMPLATES)), default=None, return_dtype=pl.Int64
    )


def sources(listed: pl.DataFrame) -> pl.DataFrame:
    """Return what each filing's figures come from: of two reports the balance sheet."""
    currency = pl.col("mena").str.strip_chars().str.to_uppercase()
    currency = pl.when(currency != "").then(currency)
    seat = pl.col("page").struct.field("adresa")
    # Without a form of the items, the one with tables on another form.
    return (
        listed.filter(
            pl.col("own") & has_tables(),
            pl.col("idSablony").is_not_null(),
            pl.col("counts") | ~of_items(),
        )
        .with_columns(currency=currency, order=form_order(), page=pl.col("titulnaStrana"))
        .sort(
            "statement_id", "order", "report_id", descending=[False, False, True], nulls_last=True
        )
        .group_by("statement_id", maintain_order=True)
        .agg(
            pl.col("report_id").first(),
            template=pl.col("idSablony").first().cast(pl.Int32),
            # Half a filing in another currency is none in euros.
            currency=pl.coalesce(
                pl.col("currency").filter("counts", pl.col("currency") != EURO).first(),
                pl.col("currency").drop_nulls().first(),
            ),
            before_from=pl.col("page").struct.field("predchadzajuceObdobieOd").first(),
            before_to=pl.col("page").struct.field("predchadzajuceObdobieDo").first(),
            nace_filed=pl.col("page").struct.field("skNace").first(),
            seat_filed=seat.struct.field("mesto").first(),
            postcode_filed=seat.struct.field("psc").first(),
        )
        .with_columns(
            family=pl.col("template").replace_strict(
                items.FAMILY_OF, default=None, return_dtype=items.FAMILY
            )
        )
    )


def _figures(figures: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each filing and period, a column for each item, and whether one is odd."""
    each = ["statement_id", "period"]
    own = items.columns_of(figures)
    columns = [*each, "odd", *own]
    rows = figures.join(listed.filter("counts").select("report_id", "statement_id"), on="report_id")
    alone = rows.select(pl.struct(each).is_unique()).to_series()
    several = (
        rows.filter(~alone)
        .group_by(each, maintain_order=True)
        .agg(pl.col("odd").any(), pl.col(own).drop_nulls().first())
    )
    return pl.concat([rows.filter(alone).select(columns), several.select(columns)])


def _checks(checks: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    return (
        checks.join(listed.filter("counts").select("report_id", "statement_id"), on="report_id")
        .group_by("statement_id")
        .agg(
            sums_failing=pl.col("failing").sum(),
            balance_difference=pl.col("balance_difference").drop_nulls().first(),
        )
    )


def _reasons(
    listed: pl.DataFrame, reasons: pl.DataFrame, halves: pl.Series | None = None
) -> pl.DataFrame:
    """Return as ``without`` why each filing has no figures, if it has none.

    Of half a filing that is why it does not have the other half.
    """
    owners = listed.filter("own").select("report_id", "statement_id")
    blank = listed.filter("counts").select("statement_id", reason=pl.lit("all_blank", REASON))
    if halves is not None:
        blank = blank.filter(~pl.col("statement_id").is_in(halves.implode()))
    others = listed.filter(~pl.col("own")).select("statement_id", reason=pl.lit("not_own", REASON))
    columns = ("statement_id", "reason", "rank")
    return (
        pl.concat(
            [
                reasons.join(owners, on="report_id").select(columns),
                blank.with_columns(rank=pl.lit(OWN)).select(columns),
                others.with_columns(rank=pl.lit(REFUSED)).select(columns),
            ]
        )
        .sort("rank", "reason")
        .group_by("statement_id", maintain_order=True)
        .agg(without=pl.col("reason").first())
    )
