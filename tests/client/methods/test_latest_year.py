"""The latest year of each unit is the last one with figures among all, by fewer requests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from tests.support.histories import Filed, Histories, history

BARE: dict[str, Any] = {"idUctovnychVykazov": []}  # a filing without any report


def year(number: int, filed: str | None = None, **fields: Any) -> Filed:
    """Return a filing of a calendar year, in June of the next unless said otherwise."""
    return Filed(f"{number}-01", f"{number}-12", filed or f"{number + 1}-06-20", fields)


def latest(register: fk.Register, units: pl.DataFrame) -> list[tuple[Any, ...]]:
    return register.financials(units, "latest").select("year", "has_figures", "reason").rows()


def expected(everything: pl.DataFrame) -> pl.DataFrame:
    """Return the row of each unit that is to be returned, of those of all years."""
    rows = []
    for unit in everything["unit_id"].unique(maintain_order=True):
        own = everything.filter(unit_id=unit)
        with_figures = own.filter("has_figures", pl.col("year").is_not_null())
        rows.append((own if with_figures.is_empty() else with_figures).sort("year").tail(1))
    return pl.concat(rows)


def random_history(luck: random.Random) -> list[Filed]:
    """Draw the statements of a unit, of which some have no reports: more of the newest."""
    statements = history(luck)
    quiet_since = luck.randint(2012, 2030)
    return [
        replace(filed, fields={**(filed.fields or {}), **BARE})
        if luck.random() < (0.9 if int(filed.period_to[:4]) >= quiet_since else 0.1)
        else filed
        for filed in statements
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_latest_year_is_that_of_all_years(tmp_path: Path, seed: int) -> None:
    """Of forty random histories: by requests, by ids, in a mirror, in its query, whatever items."""
    luck = random.Random(seed)
    histories = [random_history(luck) for _ in range(38)]
    register = Histories([*histories, [], [year(2015, **BARE)]], ordered=True)
    units = register.records
    rows = expected(register.financials(units))
    assert rows["has_figures"].sum() > 25
    assert rows["reason"].drop_nulls().n_unique() > 1

    before = register.statement_requests()
    found = register.financials(units, "latest")
    requests = register.statement_requests() - before

    assert_frame_equal(found, rows)
    assert 10 * requests < 8 * int(units["idUctovnychZavierok"].list.len().sum())
    few = register.financials(units["id"], "latest", items="sales", family=None)
    assert_frame_equal(few, rows.select(few.columns))
    filings = register.filings(units)
    filed = register.filings(units, "latest")
    assert_frame_equal(
        filed.drop_nulls("year"),
        filings.join(
            rows.drop_nulls("year"), on=["unit_id", "year"], how="semi", maintain_order="left"
        ),
    )
    assert filed["unit_id"].unique(maintain_order=True).to_list() == units["id"].to_list()
    mirror = fk.Mirror(tmp_path, contents=True, register=register)
    mirror.sync(progress=False)
    assert_frame_equal(mirror.financials(units, "latest"), rows)
    assert_frame_equal(mirror.filings(units, "latest"), filed)
    own = pl.col("unit_id").is_in(units["id"].implode())
    query = mirror.scan_financials("latest", items=["sales", "equity"]).filter(own).collect()
    assert_frame_equal(query, rows.sort("unit_id").select(query.columns))
    # A filter on filings chooses among the latest ones, and never another year instead.
    of_year = mirror.scan_financials("latest").filter(own, pl.col("year") <= 2018).collect()
    assert_frame_equal(of_year, rows.sort("unit_id").filter(pl.col("year") <= 2018))


@pytest.mark.parametrize(
    ("statements", "row"),
    [
        ([year(2019), year(2020)], (2020, True, None)),
        ([year(2019), year(2020, **BARE)], (2019, True, None)),
        ([year(2019, **BARE), year(2020, **BARE)], (2020, False, "no_content")),
        ([], (None, False, "no_filing")),
        ([year(2019), year(2020, typ="Priebežná")], (2019, True, None)),
        ([year(2019), year(2020, stav="ZMAZANÉ")], (2019, True, None)),
        # The correction of the latest year was entered after the filing of the next one.
        ([year(2018), year(2019, **BARE), year(2020, **BARE), year(2019, "2021-07-01")],
         (2019, True, None)),
        ([year(2018), year(2019), year(2019, "2020-09-01", **BARE)], (2019, True, None)),
    ],
)  # fmt: skip
def test_the_last_year_with_figures_counts_whatever_the_reason_of_later_ones(
    statements: Sequence[Filed], row: tuple[Any, ...]
) -> None:
    register = Histories([statements])
    assert latest(register, register.records) == [row]


def test_the_way_down_ends_where_the_rule_of_the_year_ends() -> None:
    """Of a unit that files each year three statements and the report of one are requested."""
    steady = [year(number) for number in range(2010, 2026)]
    register = Histories([steady, [*steady[:-1], year(2025, **BARE)]])
    first, second = register.records.head(1), register.records.tail(1)

    def requests(units: pl.DataFrame, years: Any) -> list[str]:
        before = len(register.asked)
        register.financials(units, years)
        return [target for target in register.asked[before:] if "uctovn" in target]

    assert sorted(requests(first, "latest")) == sorted(requests(first, 2025))
    assert len(requests(first, "latest")) == 4
    # One year further down, of which two are known already.
    assert len(requests(second, "latest")) == 5
    plan = register.financials(register.records, "latest", dry_run=True)
    assert plan.select("collection", "requests", "at_most").rows() == [
        ("units", 0, 0), ("statements", 6, 32), ("reports", 3, None)
    ]  # fmt: skip


def test_the_latest_year_as_known_on_a_day() -> None:
    """What was filed later is not there, and the year before it is the last one."""
    register = Histories([[year(2018), year(2019), year(2020)]])
    found = register.financials(register.records, "latest", filed_until="2021-01-01")
    assert found["year"].to_list() == [2019]


def test_the_year_before_comes_out_of_the_same_filing(tmp_path: Path) -> None:
    """One row of the year, and one of its previous column."""
    register = Histories([[year(2018), year(2019), year(2020, **BARE)]])
    mirror = fk.Mirror(tmp_path, contents=True, register=register)
    mirror.sync(progress=False)
    for source in (register, mirror):
        found = source.financials(register.records, "latest", from_previous=True)
        assert found.select("year", "source_column").rows() == [
            (2018, "previous"), (2019, "current")
        ]  # fmt: skip
        assert found["statement_id"].n_unique() == 1


def test_a_statement_of_the_latest_year(tmp_path: Path) -> None:
    """It has the column of that year, by the requests of one year."""
    register = Histories([[year(2018), year(2019), year(2020, **BARE)]])
    mirror = fk.Mirror(tmp_path, contents=True, register=register)
    mirror.sync(progress=False)
    unit = register.records
    before = len(register.asked)
    shown = register.statement(unit, "latest")
    assert sum("uctovn" in target for target in register.asked[before:]) == 4
    assert shown.frame.columns[-1] == "2019"
    assert mirror.statement(unit, "latest").frame.equals(shown.frame)
    assert shown.frame.equals(register.statement(unit, 2019).frame)


def test_no_other_word_names_years() -> None:
    """The error names the parameter."""
    register = Histories([[]])
    wrong: Any = "newest"
    with pytest.raises(fk.UsageError, match="year='newest'"):
        register.financials(register.records, wrong)
