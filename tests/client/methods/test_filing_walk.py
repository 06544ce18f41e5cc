"""The filings of units of a sample: all of a year, or a reason, and what they take."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.errors import TransportError
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.support.clock import FakeClock
from tests.support.examples import examples
from tests.support.registers import Watched

SAMPLE = fk.sample(300, seed=5)
UNITS = SAMPLE.units.get(SAMPLE.units.ids())
COUNTS = UNITS["idUctovnychZavierok"].list.len().fill_null(0)


@cache
def filed() -> pl.DataFrame:
    return SAMPLE.filings(UNITS)


def of(units: pl.DataFrame, years: list[int]) -> pl.DataFrame:
    """Return what the filings of years are, by those of all years."""
    return filed().filter(
        pl.col("unit_id").is_in(units["id"].implode()), pl.col("year").is_in(years)
    )


@pytest.mark.slow
@examples(20)
@given(st.integers(0, 10**6), st.integers(1, 60), st.sets(st.integers(2010, 2026), min_size=1))
def test_filings_of_years_are_those_of_all_years(seed: int, many: int, years: set[int]) -> None:
    """Whichever units and years are asked for together."""
    units = UNITS.sample(many, seed=seed)

    found = SAMPLE.filings(units, sorted(years))

    order = {id_: place for place, id_ in enumerate(units["id"])}
    expected = of(units, sorted(years)).with_columns(
        place=pl.col("unit_id").replace_strict(order, return_dtype=pl.Int64)
    )
    expected = expected.sort("place", maintain_order=True).drop("place")
    assert found.drop_nulls("statement_id").equals(expected)


@pytest.mark.slow
def test_a_correction_that_comes_years_later() -> None:
    """It has an id above those of later years."""
    sample = fk.sample(400, seed=4)
    units = sample.units.get(sample.units.ids())
    filings = sample.filings(units)
    former = filings.filter("counts", year=2016, kind="Riadna").sort("statement_id")
    late = sample.correct(former["statement_id"].head(40))
    units = sample.units.get(units)

    found = sample.filings(units, 2016)

    everything = sample.filings(units).filter(year=2016)
    assert found.drop_nulls("statement_id").equals(everything)
    assert everything.filter("counts")["statement_id"].is_in(late["id"].implode()).sum() == 40
    superseded = everything.filter(pl.col("superseded_by").is_in(late["id"].implode()))
    assert set(former["statement_id"].head(40)) <= set(superseded["statement_id"])


def test_units_of_one_ico() -> None:
    """All of them, whichever of them filed."""
    sample = fk.sample(600, seed=5)
    records = sample.units.get(sample.units.ids())
    icos = records["ico"].drop_nulls()
    shared = icos.filter(icos.is_duplicated())[0]
    units = records.filter(ico=shared)

    found = sample.filings(shared)

    assert units.height > 1
    assert found.equals(sample.filings(units))
    assert set(found["unit_id"]) == set(units["id"])


def test_ids_in_the_place_of_records() -> None:
    """The records are fetched first; an id without one has a row that says so."""
    ids = UNITS["id"].head(30)

    found = SAMPLE.filings([*ids, 1], year=[2018])

    assert found.filter(pl.col("unit_id") != 1).equals(SAMPLE.filings(UNITS.head(30), 2018))
    assert found.filter(unit_id=1)["reason"].to_list() == ["unreadable"]


def test_a_mirror_holds_no_statements(tmp_path: object) -> None:
    """Without a request each unit has its reason."""
    watched = Watched(fk.sample(200, seed=1))
    mirror = fk.Mirror(str(tmp_path) + "/copy", register=watched)
    mirror.sync(progress=False)
    units = mirror.units.get(mirror.units.ids())
    before = len(watched.asked)

    found = mirror.filings(units, 2020)

    assert len(watched.asked) == before
    assert set(found["reason"]) == {"deleted", "non_public", "no_filing", "not_held"}
    assert mirror.financials(units, 2020, dry_run=True)["requests"].sum() == 0


@pytest.mark.slow
def test_consolidated_and_individual_never_mix() -> None:
    """Each call returns one kind."""
    twins = SAMPLE.filings(UNITS, consolidated=True).drop_nulls("statement_id")

    assert twins.height > 10
    assert twins["consolidated"].all()
    assert not filed()["consolidated"].drop_nulls().any()
    assert set(twins["statement_id"]).isdisjoint(filed()["statement_id"].drop_nulls())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "missing a required argument: 'units'"),
        ({"units": UNITS, "ico": "12345678"}, "unexpected keyword argument 'ico'; it takes"),
        ({"units": UNITS, "year": "20"}, "year="),
        ({"units": UNITS, "year": []}, "year"),
        ({"units": UNITS, "year": True}, "year="),
        ({"units": "123"}, "units='123' is not an IČO"),
        ({"units": UNITS.select("ico")}, r"give units\['ico'\]\.drop_nulls"),
        ({"units": UNITS.with_columns(idUctovnychZavierok=pl.lit("5"))}, "idUctovnychZavierok"),
        ({"units": UNITS, "year": 2020, "max_requests": 10}, "max_requests=10: this needs"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], says: str) -> None:
    """They are refused before any request."""
    watched = Watched(SAMPLE)

    with pytest.raises(fk.UsageError, match=says):
        watched.filings(**arguments)  # type: ignore[arg-type]

    assert watched.asked == []


@pytest.mark.slow
def test_an_error_keeps_the_finished_units() -> None:
    """They are in ``.partial``, as they would have been returned."""
    watched = Watched(SAMPLE, base_url="http://register.example")
    units = UNITS.head(400)

    def fails(path: str, query: str) -> None:
        if "zavierka" in path and len(watched.asked) > 900:
            raise TransportError("cut")

    watched.instead = fails
    with pytest.raises(TransportError) as caught:
        watched.filings(units, 2018, progress=False)

    partial = caught.value.partial
    assert partial is not None
    assert 100 <= partial["unit_id"].n_unique() < 400
    assert partial.equals(SAMPLE.filings(units.head(partial["unit_id"].n_unique()), 2018))


@pytest.mark.slow
def test_what_is_planned() -> None:
    """Of statements about as many are requested; nothing is sent for the plan."""
    watched = Watched(SAMPLE)
    units = UNITS.head(200)
    listed = units["idUctovnychZavierok"].list.len().sum()
    for year in (2012, 2018, [2017, 2018, 2019], None):
        planned = watched.financials(units, year, dry_run=True)
        asked = len(watched.asked)
        watched.filings(units, year)
        sent = len(watched.asked) - asked
        assert sent == pytest.approx(planned["requests"][1], rel=0.2), year
        assert planned["at_most"].to_list() == [0, listed, None]
        assert (sent == listed) == (year is None), year
    of_two = watched.financials(units, [2018, 2019], dry_run=True)
    assert watched.financials(units, iter([2018, 2019]), dry_run=True).equals(of_two)
    of_a_year = SAMPLE.financials([1, 2, 3], 2020, dry_run=True)
    assert of_a_year["requests"].to_list() == [3, 24, 5]
    assert of_a_year["at_most"].to_list() == [3, 36, None]
    assert SAMPLE.financials([1, 2, 3], dry_run=True)["requests"].to_list() == [3, 36, 61]


def test_a_plan_says_a_range_until_the_first_reply() -> None:
    """Of a sample what the live register takes, of a real host then what its replies take."""
    fake = FakeClock()

    def answer(method: str, path: str, query: str) -> Reply:
        fake.now += 2
        return SAMPLE._answer(method, path.removeprefix("//register.example"), query)

    live = fk.Register("http://register.example", transport=InProcess(answer, fake.timing()))
    for register in (SAMPLE, live):
        plan = register.financials([1, 2, 3], dry_run=True)
        assert plan["seconds_low"].to_list() == pytest.approx([0.6, 7.2, 12.2])  # 5 per second
        assert plan["seconds_high"].to_list() == [1.125, 13.5, 22.875]  # 4 of 1.5 s at a time

    live.units.count()

    plan = live.financials([1, 2, 3], dry_run=True)
    assert plan["seconds_low"].to_list() == plan["seconds_high"].to_list() == [1.5, 18.0, 30.5]


@pytest.mark.parametrize("units", ["365", [-1], pl.DataFrame({"ico": ["1"]})])
@pytest.mark.parametrize("dry_run", [True, False])
def test_the_argument_with_the_units_is_named(units: object, dry_run: bool) -> None:
    """What is wrong is said of the argument that was given, in a dry run as well."""
    with pytest.raises(fk.UsageError, match=r"^units"):
        SAMPLE.financials(units, dry_run=dry_run)  # type: ignore[arg-type]


def gap(year: int) -> pl.DataFrame:
    """Return units that existed in a year, filed before and after it, and not for it."""
    filings = filed().drop_nulls("year")
    around = filings.group_by("unit_id").agg(
        none=~(pl.col("year") == year).any(), first=pl.col("year").min(), last=pl.col("year").max()
    )
    some = around.filter("none", pl.col("first") < year, pl.col("last") > year + 2)
    return UNITS.filter(
        pl.col("id").is_in(some["unit_id"].implode()),
        pl.col("datumZalozenia").dt.year() < year,
        pl.col("datumZrusenia").is_null() | (pl.col("datumZrusenia").dt.year() > year),
    )


@pytest.mark.slow
def test_the_only_filing_of_a_year_that_was_filed_late_is_found() -> None:
    """Its id is above those of all later years."""
    sample = fk.sample(300, seed=5)
    year = 2016
    late = sample.file(gap(year), year=year)
    units = sample.units.get(UNITS)

    found = sample.filings(units, year)

    expected = sample.filings(units).filter(year=year)
    assert found.drop_nulls("statement_id").equals(expected)
    of_these = late.filter(pl.col("id").is_in(expected["statement_id"].implode()))
    assert of_these.height > 5


@pytest.mark.slow
def test_a_year_of_interim_or_consolidated_statements_alone_is_not_found() -> None:
    """The ordinary one that was filed late is."""
    sample = fk.sample(300, seed=5)
    units = gap(2016).head(8)
    for case in ("interim", "consolidated", "not_own_statement"):
        sample.file(units, year=2016, case=case, on="2017-04-01")
    late = sample.file(units, year=2016)
    units = sample.units.get(pl.concat([units, UNITS.head(20)])["id"].unique())
    expected = sample.financials(units).filter(year=2016)

    money = sample.financials(units, 2016).drop_nulls("statement_id")

    # Other years have columns of families that file nothing for this one.
    assert money.equals(expected.drop_nulls("statement_id").select(money.columns))
    assert money["statement_id"].is_in(late["id"].implode()).sum() > 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:2029 lies after the register")
def test_an_unreadable_statement_is_the_reason_of_the_years_that_it_can_be_of() -> None:
    """Not of a year that was found, nor of one after which an earlier id was filed."""
    sample = fk.sample(300, seed=5)
    unit = gap(2016).head(1)
    sample.file(unit, year=2016, case="unreadable")
    sample.set_today("2028-06-30")
    sample.file(unit, year=2027)
    unit = sample.units.get(unit)
    filings = sample.filings(unit)
    years = sorted({*filings["year"].drop_nulls(), 2016, 2029})

    found = sample.filings(unit, years)

    reasons = dict(found.drop_nulls("reason").select("year", "reason").iter_rows())
    assert reasons == {2016: "unreadable", 2029: "no_filing_for_year"}
