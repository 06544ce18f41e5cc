"""Ratios of any figures, blank or filled: equal to each formula written out once more."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.frames.financials import items, ratios
from tests.support.examples import examples
from tests.support.expected_figures import NOTHING, ratios_of

PARTS = sorted({part for name in ratios.NAMES for part in ratios.parts_of_value(name)})
ROWS = st.lists(
    st.fixed_dictionaries(
        {name: st.none() | st.integers(-50, 10**9) for name in PARTS}
        | {"year": st.integers(2013, 2025), "template": st.sampled_from([699, 687, 21])}
    ),
    min_size=1,
    max_size=8,
)


FORM = 699  # where none is given


def financials(rows: list[dict[str, int | None]], currency: str | None = None) -> pl.DataFrame:
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "year": pl.Int32, "currency": pl.String, "template": pl.Int32
    }  # fmt: skip
    schema |= dict.fromkeys(items.names(), pl.Float64)
    given = [{name: row.get(name) for name in schema} for row in rows]
    frame = pl.DataFrame(given, schema=schema).with_columns(pl.col("template").fill_null(FORM))
    family = pl.col("template").replace_strict(items.FAMILY_OF, default=None)
    return frame.with_columns(currency=pl.lit(currency, pl.String), family=family)


@examples(60)
@given(ROWS)
def test_ratios_are_the_formulas(rows: list[dict[str, int | None]]) -> None:
    """Null where an essential part is blank or the divisor is not above zero, never infinite."""
    computed = fk.ratios(financials(rows))

    for row, found in zip(rows, computed.iter_rows(named=True), strict=True):
        figures = NOTHING | {n: None if (v := row[n]) is None else Decimal(v) for n in PARTS}
        year = row["year"]
        assert year is not None
        for name, value in ratios_of(figures, year, row["template"]).items():
            expected = value if value is None or isinstance(value, bool) else float(value)
            assert found[name] == (pytest.approx(expected, rel=1e-9) if expected else expected)


def test_an_excluded_divisor_is_named() -> None:
    """Not a blank one, nor a ratio of other parts that are blank, nor another currency."""
    full: dict[str, int | None] = {
        name: 2020 if name == "year" else 100 for name in (*PARTS, "year")
    }
    rows = [
        full,
        full | {"equity": -50},
        full | {"equity": 0, "interest_expense": 0, "net_profit": None},
        full | {"equity": None},
    ]

    excluded = fk.ratios(financials(rows))["excluded"]

    assert excluded.to_list() == [
        [],
        ["liabilities_to_equity", "roe", "liabilities_to_equity_comparable"],
        ["liabilities_to_equity", "interest_coverage", "liabilities_to_equity_comparable"],
        [],
    ]
    assert fk.ratios(financials(rows, "CZK"))["excluded"].list.len().sum() == 0


def test_values_that_differ_by_form_are_those_with_accruals_or_without_bonds() -> None:
    """A ratio is as its parts are."""
    differing = set(filter(ratios.differs_by_form, (*items.names(), *ratios.NUMBERS)))

    computed = {"liabilities_to_equity", "current_ratio", "quick_ratio", "cash_ratio"}
    computed |= {"altman_z", "in05"}
    assert differing == {
        *items.WITH_ACCRUALS_ON_687, "financial_debt", "income_tax", *computed,
    }  # fmt: skip
    assert set(ratios.COMPARABLE) <= differing
    assert differing.isdisjoint(ratios.COMPARABLE.values())


def test_another_currency_has_none() -> None:
    """Whatever is filed, and on whichever form."""
    row: dict[str, int | None] = {
        name: 100 if name != "year" else 2020 for name in (*PARTS, "year")
    }
    full = financials([row, row | {"template": 690}], "CZK")

    assert fk.ratios(full).select(ratios.NAMES).null_count().row(0) == (2,) * len(ratios.NAMES)
    euro = fk.ratios(full.with_columns(currency=pl.lit("EUR"))).select(ratios.NAMES)
    # Each is of businesses or of public bodies.
    assert euro.null_count().row(0) == (1,) * len(ratios.NAMES)


def test_the_list_of_ratios_needs_no_register() -> None:
    """Each with its formula, the items it is computed from and the forms that have them."""
    listed = fk.ratios()

    assert listed.schema == ratios.LISTED
    assert listed["ratio"].to_list() == list(ratios.NAMES)
    assert not listed.null_count().sum_horizontal()[0]
    roa = listed.row(by_predicate=pl.col("ratio") == "roa", named=True)
    assert (roa["formula"], roa["items"]) == (
        "net_profit / total_assets",
        ["net_profit", "total_assets"],
    )
    # Of form 22 there is no net turnover, on 21 and 22 no operating revenue.
    margin = listed.row(by_predicate=pl.col("ratio") == "operating_margin", named=True)
    assert margin["forms"] == [699, 687]


@pytest.mark.slow
@examples(10)
@given(ROWS)
def test_the_listed_items_suffice_for_a_ratio(rows: list[dict[str, int | None]]) -> None:
    """With fewer it is not computed: a blank counts as zero only where its sum row shows it."""
    whole = financials(rows)
    computed = fk.ratios(whole.lazy()).collect()

    for name, needed in fk.ratios().select("ratio", "items").iter_rows():
        few = whole.lazy().select("year", "currency", "family", "template", *needed)
        assert fk.ratios(few).collect()[name].equals(computed[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ratios left out")
def test_without_one_of_its_items_a_ratio_is_no_column() -> None:
    """Each of the listed items is needed."""
    whole = financials([dict.fromkeys((*PARTS, "year"), 1)])
    without = {item: fk.ratios(whole.drop(item)).columns for item in PARTS}

    for name, needed in fk.ratios().select("ratio", "items").iter_rows():
        assert all(name not in without[item] for item in needed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ratios left out")
def test_ratios_stand_where_the_items_stood() -> None:
    """Beside them where they are kept."""
    with fk.using(fk.sample()):
        money = fk.financials([365], year=2015, family="business")
    figures = items.of_families(["business"])
    of_business = [name for name in ratios.NAMES if 699 in ratios.forms_of(name)]

    replaced, beside = fk.ratios(money).columns, fk.ratios(money, keep=True).columns

    before = money.columns[: money.columns.index(figures[0])]
    after = money.columns[len(before) + len(figures) :]
    assert before == ["unit_id", "ico", "name", "year"]
    assert replaced == [*before, *of_business, "excluded", *after]
    assert beside == [*before, *figures, *of_business, "excluded", *after]
    assert fk.ratios(fk.ratios(money, keep=True)).equals(fk.ratios(money))
