"""Which statements are fetched next: the likeliest first, and all where ids mislead."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from finstat_kit.frames.financials.filing_order import (
    PROBES,
    grows_with_filing,
    next_ids,
    possible,
    probes,
)

KNOWN = pl.Schema(
    {
        "statement_id": pl.Int64, "owner": pl.Int64, "year": pl.Int32, "ends": pl.Date,
        "filed": pl.Date, "answers": pl.Boolean,
    }
)  # fmt: skip


def known(*rows: tuple[int, int, date]) -> pl.DataFrame:
    """Return statements of calendar years: id, year, day of filing."""
    each = [(id_, None, year, date(year, 12, 31), filed, True) for id_, year, filed in rows]
    return pl.DataFrame(each, schema=KNOWN, orient="row")


def held(*ids: int, founded: date | None = None, dissolved: date | None = None) -> pl.DataFrame:
    days = pl.lit(founded, pl.Date).alias("founded"), pl.lit(dissolved, pl.Date).alias("dissolved")
    return pl.DataFrame({"unit_id": [1] * len(ids), "statement_id": ids}).with_columns(days)


# Other units: an id grows by a thousand in a year, from April to April.
OTHERS = known(*(
    (1_000 * n + 83 * k, 2009 + n, date(2010 + n + (3 + k) // 12, 1 + (3 + k) % 12, 1))
    for n in range(1, 16) for k in range(12)
))  # fmt: skip
OWN = held(*(1_000 * n + 7 for n in range(1, 16)))


def test_probes_are_from_all_over() -> None:
    """At equal distances, the ends among them; all of them where there are few."""
    many = probes(pl.Series(range(1_000, 0, -1)))

    assert many.len() == PROBES
    assert (many.min(), many.max()) == (1, 1_000)
    assert many.diff().drop_nulls().is_between(31, 34).all()
    assert probes(pl.Series([3, 1, 3])).to_list() == [1, 3]


def test_an_order_has_to_be_seen() -> None:
    """Weeks out of order are a filing on paper; a year is not; few days show nothing."""
    many = known(*((n, 2000, date(2000 + n // 4, 1 + 3 * (n % 4), 1)) for n in range(40)))
    late = many.with_columns(
        filed=pl.when(pl.col("statement_id") == 20).then(date(2004, 10, 1)).otherwise("filed")
    )
    wrong = many.with_columns(
        filed=pl.when(pl.col("statement_id") == 20).then(date(2004, 4, 1)).otherwise("filed")
    )

    assert grows_with_filing(many)
    assert grows_with_filing(late)
    assert not grows_with_filing(wrong)
    assert not grows_with_filing(many.head(5))


def test_the_likeliest_first_and_no_more() -> None:
    """The year was found where it was looked for; earlier ids were filed before its end."""
    first = next_ids(OWN, OTHERS, [2016])
    found = pl.concat([OTHERS, known((first[0], 2016, date(2017, 4, 2)))])

    assert first.to_list() == [7_007]
    assert next_ids(OWN, found, [2016]).is_empty()


def test_what_may_have_been_filed_after_the_end_is_fetched() -> None:
    """A unit that files months late: the id before can be of the same year."""
    late = held(6_007, 6_907, 7_307)  # the second was filed in March 2017, about
    found = pl.concat([OTHERS, known((7_307, 2016, date(2017, 7, 20)))])

    assert next_ids(late, found, [2016]).to_list() == [6_907]


def test_a_year_that_is_missing() -> None:
    """It is when nothing is open but what was filed before one filed before its end."""
    ids = held(5_007, 6_007, 8_007, 9_007)
    found = pl.concat([OTHERS, known((8_007, 2017, date(2018, 4, 2)))])

    assert next_ids(ids, found, [2016]).to_list() == [6_007]
    found = pl.concat([found, known((6_007, 2015, date(2016, 4, 2)))])
    assert next_ids(ids, found, [2016]).to_list() == [9_007]  # it may have been filed late
    found = pl.concat([found, known((9_007, 2018, date(2019, 4, 2)))])
    assert next_ids(ids, found, [2016]).is_empty()


def test_a_year_after_all_that_was_filed() -> None:
    """The newest statement shows that those below it were filed before."""
    assert next_ids(held(5_007, 6_007, 7_007), OTHERS, [2024]).to_list() == [7_007]
    found = pl.concat([OTHERS, known((7_007, 2016, date(2017, 4, 2)))])
    assert next_ids(held(5_007, 6_007, 7_007), found, [2024]).is_empty()


@pytest.mark.parametrize(
    ("founded", "dissolved", "fetched"),
    [
        (date(2017, 1, 1), None, False),
        (date(2016, 12, 31), None, True),
        (None, date(2015, 12, 31), False),
        (None, date(2016, 1, 1), True),
    ],
)
def test_years_in_which_a_unit_did_not_exist(
    founded: date | None, dissolved: date | None, fetched: bool
) -> None:
    """Nothing is fetched for them."""
    ids = held(6_007, 8_007, founded=founded, dissolved=dissolved)

    assert next_ids(ids, OTHERS, [2016]).is_empty() != fetched
    assert possible(ids, OTHERS, [2016]).is_empty() != fetched


def test_ids_out_of_order_exclude_nothing() -> None:
    """A statement below one that was filed before can be of the year, where another was too."""
    ids = held(5_007, 6_007, 8_007)
    ordered = pl.concat([OTHERS, known((6_007, 2015, date(2016, 4, 2)))])
    mixed = pl.concat([ordered, known((8_007, 2015, date(2016, 3, 2)))])

    assert possible(ids, ordered, [2016])["statement_id"].to_list() == [8_007]
    assert possible(ids, mixed, [2016])["statement_id"].to_list() == [5_007, 6_007, 8_007]


def test_a_statement_of_another_unit_is_no_year_of_this_one() -> None:
    """Its year is looked for as if it were not there."""
    ids = held(6_007, 7_007, 8_007)
    other = known((7_007, 2016, date(2017, 4, 2))).with_columns(owner=pl.lit(2, pl.Int64))

    assert next_ids(ids, pl.concat([OTHERS, other]), [2016]).len() > 0


@pytest.mark.parametrize(
    ("ids", "late"),
    [
        ((6_007, 7_007, 8_007, 8_207, 9_007), [8_007, 8_207]),  # two in a year
        ((6_007, 7_007, 9_007, 10_007), [9_007]),  # none in the year before
        ((6_007, 7_007, 8_007, 9_007, 10_007, 15_007), [15_007]),  # the newest, after years
    ],
)
def test_filings_out_of_step_are_fetched(ids: tuple[int, ...], late: list[int]) -> None:
    """A correction of an old year is."""
    found = pl.concat([OTHERS, known((7_007, 2016, date(2017, 4, 2)))])

    assert next_ids(held(*ids), found, [2016]).to_list() == late


def test_a_unit_whose_years_contradict_its_ids() -> None:
    """All of its statements are fetched, wherever they lie."""
    found = pl.concat([
        OTHERS, known((7_007, 2016, date(2017, 4, 2)), (8_007, 2015, date(2018, 4, 2))),
    ])  # fmt: skip

    rest = next_ids(OWN, found, [2016])

    assert set(rest) == set(OWN["statement_id"]) - {7_007, 8_007}
