"""A year's filing depends on the unit and the year alone, and is found by few statements."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from tests.support.examples import examples, slow
from tests.support.histories import Filed, Histories, history
from tests.support.registers import Watched

YEARS = range(2010, 2026)
ROW = ("unit_id", "year", "statement_id", "periods_in_year", "supersedes", "total_assets", "reason")


def calendar_years(first: int, last: int) -> list[Filed]:
    """Return a filing of each year, in June of the next."""
    return [Filed(f"{y}-01", f"{y}-12", f"{y + 1}-06-20") for y in range(first, last + 1)]


def taken(figures: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Return year, last month, months and periods in the year of each filing, or the reason."""
    return figures.select(
        "year", pl.col("period_to").dt.to_string("%Y-%m"), "months", "periods_in_year", "reason"
    ).rows()


def assert_same_everywhere(register: Histories, folder: Path, year: int) -> None:
    """Each way gives the same filings and figures, and rows without one the same reason.

    All years of all units together; of *year* a unit alone, and all in a call for it alone.
    """
    units = register.records

    def figures(source: fk.Register, *wanted: Any) -> pl.DataFrame:
        return source.financials(*wanted, items="total_assets").select(ROW)

    everything, together = figures(register, units), figures(register, units, YEARS)
    assert_frame_equal(
        together.drop_nulls("statement_id"),
        everything.filter(pl.col("year").is_in(YEARS)).drop_nulls("statement_id"),
    )
    of_year = together.filter(year=year)
    assert_frame_equal(figures(register, units[:1], year), of_year.head(1))
    mirror = fk.Mirror(folder / "mirror", contents=True, register=register)
    mirror.sync(progress=False)
    cached = fk.Register("watched:", transport=register._transport, cache=folder / "ruz.cache")
    for _ in range(2):  # requested, and from the file
        assert_frame_equal(figures(cached, units, year), of_year)
    cached.close()
    assert_frame_equal(figures(mirror, units, YEARS), together)
    filings = register.filings(units)
    for each in (year, *YEARS[::5]):
        expected = register.filings(units, each)
        assert_frame_equal(expected.drop_nulls("statement_id"), filings.filter(year=each))
        assert_frame_equal(mirror.filings(units, each), expected)
        assert_frame_equal(
            register.filings(units[-1], each), expected.filter(unit_id=units["id"][-1])
        )


@pytest.mark.slow
@examples(10, deadline=None)
@given(st.integers(0, 10**9))
def test_any_history_gives_one_answer_whoever_is_asked_beside_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Thirty units each; statements get their ids up to 90 days after the day of filing."""
    luck = random.Random(seed)
    days = {
        place: {"datumZrusenia": "2018-06-30", "datumZalozenia": "2016-01-01"}
        for place in luck.sample(range(30), 10)
    }
    register = Histories([history(luck) for _ in range(30)], days, ordered=True)

    assert_same_everywhere(register, tmp_path_factory.mktemp("ways"), luck.choice(YEARS))


CHANGED = [  # a fiscal year to March that became a calendar year
    *(Filed(f"{y - 1}-04", f"{y}-03", f"{y}-06-20") for y in range(2010, 2015)),
    Filed("2014-04", "2014-12", "2015-06-20"),
    *calendar_years(2015, 2025),
]


def test_two_periods_of_a_year_are_seen_in_any_company() -> None:
    """Twelve months to March, then nine; the longer is taken, and both are counted."""
    register = Histories([CHANGED, *(calendar_years(2011, 2017) for _ in range(34))])

    found = register.financials(register.records, 2014).head(1)

    assert taken(found) == [(2014, "2014-03", 12, 2, None)]


@pytest.mark.slow
def test_two_periods_of_a_year_are_seen_in_every_way(tmp_path: Path) -> None:
    assert_same_everywhere(Histories([CHANGED, calendar_years(2012, 2020)]), tmp_path, 2014)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "year"),
    [({"datumZrusenia": "2018-06-30"}, 2019), ({"datumZalozenia": "2012-03-01"}, 2010)],
)
def test_days_of_founding_and_dissolution_leave_nothing_out(
    days: dict[str, str], year: int
) -> None:
    """A company in liquidation files for years; a company may be founded again."""
    register = Histories([calendar_years(2009, 2020)] * 35, {0: days})

    found = register.financials(register.records, year).head(1)

    assert taken(found) == [(year, f"{year}-12", 12, 1, None)]


def test_filings_are_by_unit_in_the_order_given_then_by_period() -> None:
    register = Histories([calendar_years(2019, 2021), calendar_years(2020, 2022), []])
    units = register.records.reverse()
    rows = register.filings(units).select("unit_id", "year").rows()
    third, second, first = units["id"]
    assert rows == [
        (third, None), *((second, y) for y in (2020, 2021, 2022)),
        *((first, y) for y in (2019, 2020, 2021)),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_late_filing_of_an_earlier_year_hides_none() -> None:
    """The fiscal year to March 2013 was filed in September; one to March 2011 in December."""
    late = [
        Filed("2009-04", "2010-03", "2010-06-20"),
        Filed("2011-04", "2012-03", "2012-06-20"),
        Filed("2012-04", "2013-03", "2013-09-20"),
        Filed("2010-04", "2011-03", "2013-12-10"),
        Filed("2013-04", "2014-03", "2014-06-20"),
    ]
    register = Histories([late])

    found = register.financials(register.records, [2011, 2013])

    assert taken(found) == [(2011, "2011-03", 12, 1, None), (2013, "2013-03", 12, 1, None)]


@pytest.mark.parametrize(
    ("first", "filed", "found"),
    [
        ("2014-01", "2013-10-02", True),  # 91 days before 1 January: nothing below is of 2014
        ("2014-01", "2013-10-03", False),  # entered on 1 January at the latest
    ],
)
def test_a_filing_is_entered_within_ninety_days(first: str, filed: str, found: bool) -> None:
    """The walk ends at one that was filed more than 90 days before the year."""
    register = Histories([[
        Filed("2012-01", "2012-12", "2013-06-20"), Filed("2012-02", "2013-01", filed),
        *calendar_years(2014, 2015),
    ]])  # fmt: skip

    register.filings(register.records, 2014)

    assert register.statement_requests() == 3 + (not found)


def test_an_old_filing_that_was_entered_late_hides_none() -> None:
    """What was filed years before the year ends a walk only if the one below is older."""
    entered_late = Filed("2005-01", "2005-12", "2006-06-20")
    register = Histories([[*calendar_years(2018, 2025), entered_late], calendar_years(2009, 2012)])

    found = register.filings(register.records, 2024)

    assert found["reason"].to_list() == [None, "no_filing_for_year"]
    assert register.statement_requests() == 9 + 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"idUJ": 7},
        {"datumPodania": "2002-06-20"},  # before its period ends
        {"obdobieDo": None},
        *slow({"idUJ": None}, {"stav": "NEVEREJNÁ"}, {"stav": "ZMAZANÉ"}, {"datumPodania": None}),
        *slow({"datumPodania": "0202-06-20"}, {"obdobieDo": "9999-12"}),
    ],
)
def test_what_shows_no_day_of_filing_ends_no_walk(fields: dict[str, Any]) -> None:
    """Foreign, unreadable and undated statements neither end it nor contradict the others."""
    odd = Filed("2009-01", "2009-12", "2010-06-20", fields)
    register = Histories([[*calendar_years(2010, 2018), odd, *calendar_years(2019, 2025)]])

    found = register.filings(register.records, [2017, 2018]).filter("counts")

    assert found["year"].to_list() == [2017, 2018]
    # Nine years since, the odd one, and two before: nothing showed that ids are out of order.
    assert register.statement_requests() == 9 + 1 + 2


@pytest.mark.slow
def test_where_ids_contradict_days_of_filing_all_is_fetched() -> None:
    """Among those that were fetched; otherwise it is not seen, and few are."""
    of_years = calendar_years(2009, 2025)
    mixed = [*of_years[:1], *of_years[-1:], *of_years[1:-1]]
    register = Histories([mixed])
    assert register.filings(register.records, 2025)["reason"].to_list() == ["no_filing_for_year"]
    assert register.statement_requests() == 2

    swapped = [of_years[-2], *of_years[:-3], of_years[-1], of_years[-3]]
    register = Histories([swapped])
    found = register.filings(register.records, 2024)
    assert found["year"].to_list() == [2024]
    assert found["reason"].to_list() == [None]
    assert register.statement_requests() == len(of_years)


@pytest.mark.slow
def test_an_old_year_takes_nearly_all_statements_and_the_newest_few() -> None:
    """So it is planned: one for each year since, two before, and at most all."""
    register = Histories([calendar_years(2009, 2025)] * 4)
    units = register.records

    for year, each in ((2025, 3), (2024, 4), (2018, 10), (2010, 17)):
        planned = register.financials(units, year, dry_run=True).filter(collection="statements")
        before = register.statement_requests()
        register.filings(units, year)
        sent = register.statement_requests() - before
        assert sent == planned["requests"].item() == 4 * each, year
        assert planned["at_most"].item() == 4 * 17


@pytest.mark.slow
def test_few_statements_are_fetched_for_the_newest_year_of_a_sample() -> None:
    """At most three and a half of each unit that has any."""
    register = Watched(fk.sample(2_000))
    units = register.units.get(register.units.ids(limit=300))
    filers = units.filter(pl.col("idUctovnychZavierok").list.len() > 0)
    before = len(register.asked)

    register.filings(filers, 2024)

    assert (len(register.asked) - before) / filers.height < 3.5
