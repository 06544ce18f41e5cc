"""The columns of figures: they depend on the arguments, never on the data."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, Final, get_args

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import RegisterWarning
from finstat_kit.frames.financials.items import FAMILIES, Family
from tests.support.examples import slow
from tests.support.remote_sample import Behind

SAMPLE: Final = fk.sample()
ITEMS: Final = fk.items()


FORMS: Final = {"business": "112", "public": "801", "non_profit": "117", "single_entry": "701"}


@cache
def units_of(family: str) -> list[int]:
    """Return a unit of the sample that files on forms of a family."""
    ids = SAMPLE.units.ids(legal_form_code=FORMS[family])["id"]
    money = SAMPLE.financials(ids.slice(7, 7), 2016, items="total_assets")
    return money.filter(family=family)["unit_id"].head(1).to_list()


def one_of_each() -> list[int]:
    return [id_ for family in FAMILIES for id_ in units_of(family)]


OPTIONS: Final = [
    {}, *slow({"family": ["public", "non_profit"]}, {"items": ["sales"]}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_any_two_results_are_concatenated(options: dict[str, Any]) -> None:
    """Of whichever families, years and sources, of no unit and of units without figures."""
    results = [SAMPLE.financials(ids, 2016, **options) for ids in map(units_of, FAMILIES)]
    results += [
        SAMPLE.financials([], 2016, **options),
        SAMPLE.financials(units_of("business"), None, from_previous=True, **options),
        SAMPLE.financials(one_of_each(), [2015, 2016], **options),
        SAMPLE.financials(units_of("public"), 1995, **options),
        SAMPLE.financials(units_of("public"), 2016, consolidated=True, **options),
    ]

    for a, b in pairwise([*results, results[0]]):
        assert pl.concat([a, b]).height == a.height + b.height
    assert [money["family"].to_list() for money in results[:4]] == [[f] for f in FAMILIES]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    mirror = fk.Mirror(tmp_path_factory.mktemp("ruz"), contents=True, register=fk.sample(4))
    mirror.sync()
    return mirror


@pytest.mark.parametrize("options", OPTIONS)
def test_a_mirror_has_the_same_columns(options: dict[str, Any], mirror: fk.Mirror) -> None:
    """Of some units, and lazily of all."""
    expected = SAMPLE.financials([], **options).schema

    assert mirror.financials(mirror.units.ids(), 2016, **options).schema == expected
    assert mirror.scan_financials(year=2016, **options).collect_schema() == expected
    assert mirror.scan_financials(year=2016, **options).collect().schema == expected


@pytest.mark.slow
def test_an_interrupted_result_has_the_same_columns() -> None:
    """What is in .partial is concatenated with the rest."""
    behind = Behind(SAMPLE)
    register = behind.register()
    units = register.units.get(units_of("business"))
    behind.instead = KeyboardInterrupt()
    with pytest.raises(fk.errors.Interrupted) as interrupted:
        register.financials(units, 2016)

    assert interrupted.value.partial is not None
    assert interrupted.value.partial.schema == SAMPLE.financials([]).schema


def test_the_shared_items_come_first() -> None:
    """After id, IČO, name and year: those of several families, then those of each alone."""
    columns = SAMPLE.financials([]).columns
    families = [
        [family for family in get_args(Family) if row[family] is not None]
        for row in ITEMS.iter_rows(named=True)
    ]
    own = [names[0] for names in families if len(names) == 1]

    assert columns[:6] == ["unit_id", "ico", "name", "year", "total_assets", "non_current_assets"]
    assert columns[4 : 4 + ITEMS.height] == ITEMS["item"].to_list()
    assert [len(names) > 1 for names in families] == [True] * (len(families) - len(own)) + [
        False
    ] * len(own)
    assert list(dict.fromkeys(own)) == list(FAMILIES)


def test_a_family_has_its_items_and_all_rows() -> None:
    """In the same order as among all."""
    ids = one_of_each()
    money = SAMPLE.financials(ids, 2016)
    narrow = SAMPLE.financials(ids, 2016, family="non_profit")
    of_family = ITEMS.drop_nulls("non_profit")["item"].to_list()

    assert narrow.equals(money.select(narrow.columns))
    assert [name for name in narrow.columns if name in ITEMS["item"]] == of_family
    assert len(of_family) < ITEMS.height


def test_a_family_and_items_exclude_each_other() -> None:
    """And a family that there is none of is named."""
    with pytest.raises(fk.UsageError, match="give either items or family"):
        SAMPLE.financials([], items="sales", family="public")
    with pytest.raises(fk.UsageError, match=r"family='publik' is not known; did you mean 'public'"):
        SAMPLE.financials([], family="publik")


def test_ratios_of_a_frame_depend_on_its_columns() -> None:
    """Not on the families of its rows: towns have the columns of businesses, null."""
    towns = fk.ratios(SAMPLE.financials(units_of("public"), 2016))
    firms = fk.ratios(SAMPLE.financials(units_of("business"), 2016))
    of_business = SAMPLE.financials(units_of("public"), 2016, family="business")
    with pytest.warns(RegisterWarning, match=r"left out for lack of items: debt_to_revenue \("):
        narrow = fk.ratios(of_business)

    assert towns.schema == firms.schema
    assert towns["roa"].to_list() == [None]
    assert towns["debt_to_revenue"].null_count() == 0
    assert "debt_to_revenue" not in narrow.columns


def test_debt_is_an_item_of_all_families() -> None:
    """And what a ratio divides is an item, too."""
    debt = ITEMS.row(by_predicate=pl.col("item") == "financial_debt", named=True)
    parts = fk.ratios().filter(ratio="debt_to_revenue").row(0, named=True)

    assert None not in [debt[family] for family in FAMILIES]
    assert parts["formula"] == "financial_debt / revenue_total"
    assert set(fk.ratios()["items"].explode()) <= set(ITEMS["item"])


@pytest.mark.slow
def test_debt_of_a_town_is_its_loans_assistance_and_bonds() -> None:
    """As the form states them."""
    towns = SAMPLE.units.ids(legal_form_code="801").head(10)
    money = SAMPLE.financials(towns, 2016, family="public").drop_nulls("financial_debt")
    bonds = pl.col("bonds_non_current").fill_null(0)
    loans = pl.col("bank_loans_and_assistance").fill_null(0)

    assert money.filter(pl.col("financial_debt") > 0).height > 0
    assert money.filter((pl.col("financial_debt") - loans - bonds).abs() > 0.005).rows() == []
