"""As known on a day: what had been filed by then, without the corrections that came later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from tests.support.examples import slow
from tests.support.mirrors import synced
from tests.support.remote_sample import Behind

FIRST, SECOND = "2024-06-30", "2024-09-30"
# With which the second day begins in Bratislava; it is two hours before it in UTC.
MIDNIGHT: Final = datetime(2024, 9, 30, tzinfo=ZoneInfo("Europe/Bratislava"))


@cache
def sample() -> tuple[Sample, int, list[int]]:
    """Return a sample with a unit whose statement of 2023 was corrected once, and its ids."""
    register = fk.sample(20)
    without = register.filings(register.units.find("vzor"), 2023)
    unit = int(without.filter(reason="no_filing_for_year")["unit_id"][0])
    filed = register.file([unit], year=2023, on=FIRST)
    corrected = register.correct(filed, on=SECOND)
    return register, unit, [*filed["id"], *corrected["id"]]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    register, _, _ = sample()
    path = synced(tmp_path_factory.mktemp("mirrors") / "ruz", register, contents=True)
    return fk.Mirror(path)


@pytest.fixture(params=["sample", *slow("mirror", "network")])
def source(request: pytest.FixtureRequest, mirror: fk.Mirror) -> Iterator[fk.Register]:
    """Give the sample, a register behind an address, or a mirror."""
    register, _, _ = sample()
    if request.param == "mirror":
        yield mirror
    else:
        yield register if request.param == "sample" else Behind(register).register()


def test_a_later_correction_is_left_out(source: fk.Register) -> None:
    """From its day on it counts."""
    _, unit, (first, second) = sample()
    for day, taken, supersedes in (
        (SECOND, second, 1), ("2024-09-29", first, 0), (date(2024, 6, 30), first, 0),
        (MIDNIGHT, second, 1), (MIDNIGHT - timedelta(seconds=1), first, 0),
    ):  # fmt: skip
        money = source.financials([unit], 2023, filed_until=day)
        filings = source.filings([unit], 2023, filed_until=day)

        assert money.select("statement_id", "supersedes").rows() == [(taken, supersedes)]
        assert filings.filter("counts")["statement_id"].to_list() == [taken]
        assert filings["superseded_by"].drop_nulls().len() == supersedes


def test_before_its_day_there_is_no_filing(source: fk.Register) -> None:
    """The row has the reason, as in a year without one."""
    _, unit, _ = sample()

    money = source.financials([unit], 2023, filed_until="2024-06-29")
    filings = source.filings([unit], 2023, filed_until="2024-06-29")

    assert money["reason"].to_list() == filings["reason"].to_list() == ["no_filing_for_year"]
    assert source.filings([unit], filed_until="1999-01-01")["reason"].to_list() == ["no_filing"]


def test_before_the_first_filing_there_is_none_whatever_the_year(source: fk.Register) -> None:
    """As all years say, and a mirror of that day; after an older one the year has none."""
    register, _, _ = sample()
    filings = register.filings(register.units.ids()).drop_nulls("statement_id")
    unread = filings.filter(pl.col("reason").is_not_null() | pl.col("filed").is_null())["unit_id"]
    unit, first, year = (
        filings.filter(~pl.col("unit_id").is_in(unread.implode()))
        .group_by("unit_id", maintain_order=True)
        .agg(pl.col("filed").min(), pl.col("year").max())
        .filter(pl.col("filed").dt.year() + 2 < pl.col("year"))
        .row(0)
    )
    before = first - timedelta(days=1)

    for day, reason in ((before, "no_filing"), (first, "no_filing_for_year")):
        money = source.financials([unit], year, filed_until=day)
        filings = source.filings([unit], year, filed_until=day)
        assert money["reason"].to_list() == filings["reason"].to_list() == [reason]
    assert source.filings([unit], filed_until=before)["reason"].to_list() == ["no_filing"]


def test_a_filing_without_a_day_counts_as_filed_when_its_period_ends(source: fk.Register) -> None:
    """Its day stays null."""
    units = source.units.ids()
    filings = source.filings(units)
    undated = filings.filter(
        pl.col("filed").is_null(), pl.col("reason").is_null(), pl.col("period_to").is_not_null()
    )
    last = undated.sort("period_to").row(undated.height // 2, named=True)
    day = last["period_to"]

    known = source.filings(units, filed_until=day)
    expected = filings.filter(
        pl.coalesce("filed", "period_to") <= day, pl.col("statement_id").is_not_null()
    )

    assert last["statement_id"] in known["statement_id"]
    assert known.filter(statement_id=last["statement_id"])["filed"].to_list() == [None]
    dated = known.drop_nulls("period_to")
    assert set(dated["statement_id"]) == set(expected.drop_nulls("period_to")["statement_id"])
    assert 0 < dated.height < filings.height


@pytest.mark.slow
def test_a_mirror_answers_for_all_units_as_for_some(mirror: fk.Mirror) -> None:
    """Its lazy frame, too."""
    _, unit, _ = sample()
    some = mirror.financials(mirror.units.ids(), 2023, filed_until=FIRST)

    assert mirror.scan_financials(2023, filed_until=FIRST).collect().equals(some)
    assert some.filter(unit_id=unit)["supersedes"].to_list() == [0]


def test_what_is_no_day_is_refused() -> None:
    """Before any request."""
    with pytest.raises(fk.UsageError, match=r"filed_until='30\.6\.2024' is not a valid date"):
        fk.sample(1).financials([1], filed_until="30.6.2024")
