"""One row per unit and year: the filing that is taken, its items, its checks, or the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Final

import polars as pl

from finstat_kit.errors import invalid
from finstat_kit.frames.financials import filings, items
from finstat_kit.frames.financials.choice import (
    figures_of_filings,
    reasons_of_filings,
    reasons_of_halves,
)
from finstat_kit.frames.financials.readings import Readings, has_tables, of_items
from finstat_kit.frames.reports.cells import REASON
from finstat_kit.frames.reports.currency import EURO, KORUNA, in_koruna, named
from finstat_kit.frames.reports.templates import PERIOD

# Carried along from the records of units, so that frames can be grouped and labelled at once.
CARRIED: Final = ("kraj", "okres", "pravnaForma", "skNace", "velkostOrganizacie")
DAYS: Final = ("datumZalozenia", "datumZrusenia")
# As the title page of the report has them, because those of the unit are today's.
FILED: Final = ("nace_filed", "seat_filed", "postcode_filed")
SCALE_DOUBTFUL: Final = "scale_doubtful"  # of panels and growth
IDENTITY: Final = pl.Schema(
    {"unit_id": pl.Int64(), "ico": pl.String(), "name": pl.String(), "year": pl.Int32()}
)
PROVENANCE: Final = pl.Schema(
    {
        **dict.fromkeys(CARRIED, pl.String()),
        "nace": pl.String(),
        **dict.fromkeys(DAYS, pl.Date()),
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
        "report_id": pl.Int64(),
        "family": items.FAMILY,
        "template": pl.Int32(),
        "currency": pl.String(),
        "sums_failing": pl.Int32(),
        "balance_difference": pl.Float64(),
        "has_figures": pl.Boolean(),
        "reason": REASON,
    }
)

_ITEMS: Final = frozenset(items.names())
_CHECKS: Final = ("sums_failing", "balance_difference")
_ORDER: Final = ("unit_id", "year", "source_column", "period_to", "statement_id")
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
    expected = schema() | {SCALE_DOUBTFUL: pl.Boolean()}
    for name in used:
        expected_type, dtype = expected.get(name), columns.get(name, pl.Null())
        if expected_type is None or holds(dtype, expected_type):
            continue
        is_text = isinstance(expected_type, pl.String | pl.Enum)
        why = ": a code read as a number loses its leading zeros" if is_text else ""
        raise invalid(
            argument,
            ...,
            f": the column {name!r} is {dtype}",
            give=f"it as {'String' if is_text else expected_type}{why}",
        )


def holds(dtype: pl.DataType, expected: pl.DataType) -> bool:
    """Return whether a column of a type can have the values of another."""
    if dtype == pl.Null:
        return True
    if isinstance(expected, pl.List):
        return dtype in (expected, pl.List(pl.Null))
    if isinstance(expected, pl.String | pl.Enum):
        return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)
    if expected == pl.Date:
        return isinstance(dtype, pl.Date | pl.Datetime)
    if expected == pl.Boolean:
        return dtype == pl.Boolean
    return dtype.is_numeric() if expected.is_float() else dtype.is_integer()


def numbers(columns: Iterable[str]) -> list[pl.Expr]:
    """Return columns of amounts, of any width or exactness, as they are computed with.

    Float64, of which products and differences neither overflow nor wrap; null for NaN and infinity.
    """
    floats = {name: pl.col(name).cast(pl.Float64) for name in columns}
    return [pl.when(x.is_finite()).then(x).alias(name) for name, x in floats.items()]


# The fields of title pages that are read, and those of their addresses.
PAGE: Final = ("typZavierky", "predchadzajuceObdobieOd", "predchadzajuceObdobieDo", "skNace")
SEAT: Final = ("mesto", "psc")


def assembled(
    taken: pl.DataFrame,
    units: pl.DataFrame,
    listed: pl.DataFrame,
    readings: Readings,
    *,
    from_previous: bool,
    columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """Return the rows of financials.

    Args:
        taken: Result of `Choice.taken`: one filing for each unit and year, or a reason.
        units: Their records.
        listed: Result of `listed_reports`.
        readings: What these reports say.
        from_previous: Add a row for the year before out of each filing.
        columns: Those that are used, None for all. Rows have these, and those of their order.
    """
    used = frozenset(schema() if columns is None else columns).union(_ORDER)
    reports = listed.lazy()
    described = taken.lazy().join(
        carried(units.lazy()), on="unit_id", how="left", maintain_order="left"
    )
    described = described.with_columns(READ_FROM)
    figures, item_names = figures_of_filings(readings, reports), items.columns_of(readings.figures)
    filing_facts = sources(reports)
    if not used.isdisjoint(_CHECKS):
        checks = _checks(readings.checks, reports)
        filing_facts = filing_facts.join(checks, on="statement_id", how="left")
    if "reason" in used:
        with_figure = figures.filter("has_figure", period="current").select("statement_id")
        bare = reports.join(with_figure, on="statement_id", how="anti")
        reasons = reasons_of_filings(bare, readings)
        filing_facts = filing_facts.join(reasons, on="statement_id", how="full", coalesce=True)
        halves = reasons_of_halves(reports, readings)
        figures = figures.join(halves, on=["statement_id", "period"], how="left")
    rows = [_of_this_year(described, filing_facts, figures, item_names, used)]
    if from_previous:
        rows.append(_of_the_year_before(described, filing_facts, figures, item_names, used))
    return _in_order(pl.concat(rows), units.lazy()).collect(engine=filings.IN_MEMORY)


def _in_order(rows: pl.LazyFrame, units: pl.LazyFrame) -> pl.LazyFrame:
    """Sort rows by the places of their units, and by time."""
    places = units.select(unit_id="id").with_row_index(" place")
    return (
        rows.join(places, on="unit_id", how="left", maintain_order="left")
        .sort(" place", *_ORDER[1:], nulls_last=True, maintain_order=True)
        .drop(" place")
    )


def _of_this_year(
    described: pl.LazyFrame,
    filing_facts: pl.LazyFrame,
    figures: pl.LazyFrame,
    item_names: Sequence[str],
    used: Collection[str],
) -> pl.LazyFrame:
    now = filing_facts.join(figures.filter(period="current"), on="statement_id", how="left")
    # All at once: a join that keeps the order of rows takes three times as long as others.
    rows = described.join(
        now, left_on="read_from", right_on="statement_id", how="left", maintain_order="left"
    )
    nothing = pl.coalesce("reason", "without", pl.lit("no_content", REASON))
    described_rows = with_currency(rows).with_columns(
        source_column=pl.lit("current", PERIOD), undated=pl.lit(value=False)
    )
    return _with_reasons(described_rows, nothing, item_names, used)


def _of_the_year_before(
    described: pl.LazyFrame,
    filing_facts: pl.LazyFrame,
    figures: pl.LazyFrame,
    item_names: Sequence[str],
    used: Collection[str],
) -> pl.LazyFrame:
    """Return what filings contain of the year before theirs, where they contain anything."""
    is_there = pl.any_horizontal("has_text", "has_figure")
    before = filing_facts.join(figures.filter(is_there, period="previous"), on="statement_id")
    begins = pl.col("period_from")
    last = pl.when(filings.is_plausible(begins)).then(begins.dt.offset_by("-1d"))
    # Title pages are typed by filers: where theirs ends on another day, its length is not known.
    stated = pl.when(pl.col("before_to") == last).then("before_from")
    months = filings.months(stated, last)
    nothing = ("periods_in_year", "supersedes", *_CHECKS)
    rows = described.join(before, left_on="read_from", right_on="statement_id")
    rows = with_currency(rows).with_columns(
        *(pl.lit(None).alias(name) for name in nothing),
        year=last.dt.year(),
        period_from=pl.when(months.is_not_null()).then(stated),
        period_to=last,
        months=months,
        source_column=pl.lit("previous", PERIOD),
        undated=last.is_null(),
    )
    return _with_reasons(rows, pl.lit("not_a_number", REASON), item_names, used)


def _with_reasons(
    rows: pl.LazyFrame, nothing: pl.Expr, item_names: Sequence[str], used: Collection[str]
) -> pl.LazyFrame:
    """Return the used columns of rows, with the reason why figures that were filed are not there.

    Amounts of another currency are none: they are not added up, and not divided, with euros. Nor
    are those of the year before where that is not known.
    """
    reason = (
        pl.when("undated").then(pl.lit("unreadable", REASON))
        .when(~pl.col("has_figure")).then(nothing)
        .when(pl.col("half").is_not_null()).then("half")
        .when("has_text").then(pl.lit("not_a_number", REASON))
        .when("foreign").then(pl.lit("other_currency", REASON))
        .when("has_other_caption").then(pl.lit("caption_mismatch", REASON))
    )  # fmt: skip
    is_foreign = (pl.col("currency") != EURO).fill_null(value=False)
    shown = pl.col("has_figure") & ~pl.col("foreign") & ~pl.col("undated")
    columns = pl.Schema((name, dtype) for name, dtype in schema().items() if name in used)
    numbers_read = [name for name in columns if name in item_names or name in _CHECKS]
    absent = [name for name in columns if name in _ITEMS and name not in item_names]
    return (
        rows.with_columns(pl.col("has_figure").fill_null(value=False), foreign=is_foreign)
        .with_columns(has_figures=shown)
        .with_columns(
            pl.when("has_figures").then(pl.col(numbers_read)),
            *map(_no_amount, absent),
            **{"reason": reason} if "reason" in columns else {},
        )
        .select(pl.col(columns.names()))
        .cast({name: dtype for name, dtype in columns.items() if name not in _ITEMS})
    )


@cache
def _no_amount(item: str) -> pl.Expr:
    return pl.lit(None, pl.Float64).alias(item)


def carried(units: pl.LazyFrame) -> pl.LazyFrame:
    """Return what rows carry along from the records of units, and their ``nace`` if known."""
    nace = pl.col("nace") if "nace" in units.collect_schema() else pl.lit(None, pl.String)
    fields = {name: pl.col(name) for name in (*CARRIED, *DAYS)}
    return units.select(unit_id="id", name="nazovUJ", **fields, nace=nace)


def form_order() -> pl.Expr:
    """Return the place of a report among those of its filing: the balance sheet comes first."""
    return pl.col("idSablony").replace_strict(
        items.TEMPLATES, range(len(items.TEMPLATES)), default=None, return_dtype=pl.Int64
    )


def sources(listed: pl.LazyFrame) -> pl.LazyFrame:
    """Return what each filing's figures come from: of two reports the balance sheet.

    What title pages have is null where *listed* is without them.
    """
    page = pl.col("titulnaStrana").struct
    seat = page.field("adresa").struct
    of_pages = {
        "before_from": page.field("predchadzajuceObdobieOd"),
        "before_to": page.field("predchadzajuceObdobieDo"),
        "nace_filed": page.field("skNace"),
        "seat_filed": seat.field("mesto"),
        "postcode_filed": seat.field("psc"),
    }
    has_pages = "titulnaStrana" in listed.collect_schema()
    read = listed.filter(_is_read()).select(
        "statement_id",
        "report_id",
        "is_source",
        "alone",
        "idSablony",
        template=pl.col("idSablony").cast(pl.Int32),
        currency=named(),
        unnamed=named().is_null(),
        **of_pages if has_pages else dict.fromkeys(of_pages, pl.lit(None)),
    )
    firsts = ("report_id", "template", *of_pages)
    columns = ("statement_id", *firsts, "currency", "unnamed")
    several = (
        read.filter(~pl.col("alone"))
        .with_columns(order=form_order())
        .sort(
            "statement_id", "order", "report_id", descending=[False, False, True], nulls_last=True
        )
        .group_by("statement_id", maintain_order=True)
        .agg(
            pl.col(firsts).first(),
            # Half a filing in another currency is none in euros. What is no source has a say only
            # where nothing else has.
            currency=pl.coalesce(
                pl.col("currency").filter("is_source", pl.col("currency") != EURO).first(),
                pl.col("currency").filter("is_source").drop_nulls().first(),
                pl.col("currency").filter(~pl.col("is_source").any()).drop_nulls().first(),
            ),
            unnamed=pl.col("unnamed").filter("is_source").any(),
        )
    )
    return pl.concat([read.filter("alone").select(columns), several.select(columns)]).with_columns(
        family=pl.col("template").replace_strict(
            items.FAMILY_OF, default=None, return_dtype=items.FAMILY
        )
    )


def with_currency(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows of `sources` and their filings with the currency of those that name none.

    By law, which goes by the end of the filing's own period; it is the euro where it stays null.
    """
    by_law = pl.col("unnamed") & in_koruna(pl.col("period_to"))
    is_euro = pl.col("currency").fill_null(EURO) == EURO
    korunas = pl.when(by_law & is_euro).then(pl.lit(KORUNA))
    return rows.with_columns(currency=pl.coalesce(korunas, "currency"))


def _is_read() -> pl.Expr:
    """Return whether figures are from a report, or the reason: without items, another form."""
    is_source = pl.col("is_source") | ~of_items()
    return pl.col("own") & has_tables() & pl.col("idSablony").is_not_null() & is_source


def _checks(checks: pl.DataFrame, listed: pl.LazyFrame) -> pl.LazyFrame:
    return (
        checks.lazy()
        .join(listed.filter("is_source").select("report_id", "statement_id"), on="report_id")
        .group_by("statement_id")
        .agg(
            sums_failing=pl.col("failing").sum(),
            balance_difference=pl.col("balance_difference").drop_nulls().first(),
        )
    )
