"""Figures of all units of a mirror: as the register has them, and read no further than needed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.frames.financials import items
from finstat_kit.frames.financials.readings import FigureReader
from finstat_kit.mirror.figures import Records
from finstat_kit.mirror.local_register import LocalRegister
from finstat_kit.mirror.state import State
from finstat_kit.mirror.storage.rows import LENGTHS
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import shipped
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.filings.filing import all_cases
from tests.support.examples import examples, slow
from tests.support.mirrors import RECORDS
from tests.support.registers import Watched
from tests.support.syncs import next_day

REGISTER = fk.sample(40, seed=1)
UNITS = REGISTER.units.ids()["id"]
SOME = pl.Series(UNITS.head(25))

Read = Callable[[], list[tuple[int, int]]]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    mirror = fk.Mirror(tmp_path_factory.mktemp("ruz"), contents=True, register=REGISTER)
    mirror.sync()
    return mirror


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror for what has to be seen of any filings."""
    mirror = fk.Mirror(
        tmp_path_factory.mktemp("small"), contents=True, register=fk.sample(12, seed=1)
    )
    mirror.sync()
    return mirror


@pytest.fixture
def read(capfd: pytest.CaptureFixture[str]) -> Read:
    """Return a function that lists how many row groups of how many were read since its last call.

    polars itself says so, of each file that a filter reaches.
    """
    pattern = re.compile(r"Predicate pushdown: reading (\d+) / (\d+) row groups")

    def since() -> list[tuple[int, int]]:
        found = pattern.findall(capfd.readouterr().err)
        return [(int(some), int(all_)) for some, all_ in found]

    return since


@cache
def wanted(year: Any, consolidated: bool, from_previous: bool) -> pl.DataFrame:
    return REGISTER.financials(
        UNITS, year, consolidated=consolidated, from_previous=from_previous, items=items.names()
    )


CONDITIONS = (
    pl.col("year") == 2018, pl.col("year").is_null(), pl.col("template") == 687,
    (pl.col("template") == 699) | (pl.col("months") < 12), pl.col("kraj") == "SK010",
    pl.col("unit_id").is_in(SOME.implode()) & (pl.col("kind") == "Riadna"),
    pl.col("reason").is_null() & (pl.col("sales") > 1_000), pl.col("reason") == "no_content",
    pl.col("supersedes") > 0, pl.col("filed").is_null(), pl.col("sums_failing") > 0,
    (pl.col("ico") > "4") & (pl.col("balance_difference") == 0), pl.col("currency").is_null(),
)  # fmt: skip
COLUMNS = (
    None, ["sales"], ["unit_id", "reason"], ["equity", "balance_difference"],
    ["net_profit", "template", "year"], ["sums_failing"],
)  # fmt: skip


@pytest.mark.slow
def test_a_changed_report_is_read_by_its_newest_version(tmp_path: Path) -> None:
    """Cells of the former version are not mixed in, not even where the new one has none."""
    register = Watched(fk.sample(12, seed=1))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    amounts = pl.col("total_assets", "equity").is_not_null()
    former = mirror.scan_financials().filter(amounts, template=687).head(1).collect()
    (unit,), (report,) = former["unit_id"].to_list(), former["report_id"].to_list()
    path, query = RECORDS["reports"], f"id={report}"
    record = json.loads(register.sample._answer("GET", path, query).body)
    for table in record["obsah"]["tabulky"]:
        table["data"] = ["" if place % 3 else text for place, text in enumerate(table["data"])]
    page = b'{"id":[%d],"existujeDalsieId":false}' % report

    def changed(asked: str, of: str) -> Reply | None:
        if (asked, of) == (path, query):
            return Reply(200, {}, json.dumps(record).encode())
        return Reply(200, {}, page) if asked == "/api/uctovne-vykazy" else None

    register.instead = changed
    next_day(register)
    mirror.sync()
    wanted = register.financials([unit])

    own = [name for name in items.names() if wanted[name].null_count() < wanted.height]
    assert wanted.filter(report_id=report).select(own).rows() != former.select(own).rows()
    assert_frame_equal(mirror.financials([unit]), wanted)
    assert_frame_equal(mirror.scan_financials().filter(unit_id=unit).collect(), wanted)


@pytest.mark.slow
@examples(6)
@given(
    year=st.sampled_from([None, 2013, 2018, (2014, 2017, 2020), tuple(range(2016, 2022))]),
    consolidated=st.booleans(),
    from_previous=st.booleans(),
    conditions=st.lists(st.sampled_from(CONDITIONS), max_size=2),
    columns=st.sampled_from(COLUMNS),
    rows=st.sampled_from([None, None, 1, 30]),
)
def test_a_query_gives_what_the_register_gives(
    mirror: fk.Mirror,
    year: Any,
    consolidated: bool,
    from_previous: bool,
    conditions: list[pl.Expr],
    columns: list[str] | None,
    rows: int | None,
) -> None:
    """Whatever is filtered, selected and cut off, in columns, types and order."""
    lazy: pl.LazyFrame = mirror.scan_financials(
        year=year, consolidated=consolidated, from_previous=from_previous
    )
    whole = wanted(year, consolidated, from_previous)

    def asked(frame: Any) -> Any:
        frame = frame if rows is None else frame.head(rows)
        for condition in conditions:
            frame = frame.filter(condition)
        return frame if columns is None else frame.select(columns)

    assert lazy.collect_schema() == whole.schema
    assert_frame_equal(asked(lazy).collect(), asked(whole))


@pytest.mark.slow
def test_every_column_of_every_year(mirror: fk.Mirror) -> None:
    """Of all units, of those given in their order, and of those that share an IČO."""
    whole = wanted(None, False, True)
    assert whole["template"].n_unique() == 7
    assert whole["reason"].n_unique() > 5

    assert_frame_equal(mirror.scan_financials(from_previous=True).collect(), whole)
    for units in (UNITS.reverse(), REGISTER.units.get(UNITS.reverse())):
        assert_frame_equal(
            mirror.financials(units, [2016, 2018]), REGISTER.financials(units, [2016, 2018])
        )
    ico = whole["ico"].drop_nulls()[0]
    with fk.using(mirror):
        assert_frame_equal(fk.financials(ico), REGISTER.financials(ico))
    assert_frame_equal(mirror.filings(UNITS, 2018), REGISTER.filings(UNITS, 2018))


@pytest.mark.slow
def test_corrections_changes_and_removals(tmp_path: Path) -> None:
    """The newest version of each filing counts, and of a former day that of the day."""
    register = fk.sample(16, seed=1)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    first = register.financials(register.units.ids())
    day = register.today
    for _ in range(2):
        next_day(Watched(register))
        living = register.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
        register.file(living.head(2), year=2025)
        register.correct(register.statements.ids(limit=2))
        register.delete(living.tail(1))
        mirror.sync()
        now = register.financials(register.units.ids())
        assert_frame_equal(mirror.scan_financials().collect(), now)

    assert not now.equals(first)
    assert_frame_equal(mirror.as_of(day).scan_financials().collect(), first)
    small = mirror.extract(tmp_path / "small", living["id"].head(2))
    assert_frame_equal(
        small.scan_financials(year=2025).collect(),
        mirror.financials(living.head(2), 2025),
    )


Awkward = tuple[LocalRegister, Sample, pl.DataFrame]


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Awkward]:
    """Return what makes a mirror of filings with each difficulty, or with some, and remembers it.

    It is that of a sample in which they were filed and corrected, beside it, and its units.
    """

    @cache
    def made(step: int) -> Awkward:
        sample = fk.sample(100, seed=3)
        units = sample.units.scan().filter(pl.col("stav").is_null()).collect()
        filings = sample.filings(units.head(5 + 60 // step)).filter("counts", kind="Riadna")
        found: list[int] = []
        cases = [case for case in all_cases() if case != "half"][::step]
        for year, of_year in ((2016, cases), (2012, ["half"])):
            filed = filings.filter(year=year, months=12).unique("unit_id", maintain_order=True)
            filed = filed.filter(~pl.col("unit_id").is_in(found)).head(len(of_year))
            for case, (unit, statement) in zip(
                of_year, filed.select("unit_id", "statement_id").iter_rows(), strict=True
            ):
                sample.correct([statement], case=case)
                sample.file([unit], year=2024, case=case if year == 2016 else None)
                found.append(unit)
        folder = tmp_path_factory.mktemp("awkward")
        whole = fk.Mirror(folder / "ruz", contents=True, register=sample)
        whole.sync()
        return whole.extract(folder / "some", found), sample, sample.units.get(found)

    return made


@pytest.mark.parametrize(
    ("step", "year", "unit_by_unit"),
    [(8, None, False), *slow((1, 2024, False), (4, 2016, True))],
)  # fmt: skip
def test_every_difficulty_is_what_the_register_makes_of_it(
    awkward: Callable[[int], Awkward], step: int, year: int | None, unit_by_unit: bool
) -> None:
    """The filing taken, the reason, and what supersedes it."""
    mirror, sample, units = awkward(step)
    # A unit alone has few statements, all of which are requested.
    parts = list(units.iter_slices(1)) if unit_by_unit else [units]
    years = year if unit_by_unit else None  # of many units the register has a hint, no rule

    for part in parts:
        assert_frame_equal(mirror.filings(part, years), sample.filings(part, years))
        if not unit_by_unit:
            wanted = sample.financials(part, years, from_previous=True)
            assert_frame_equal(mirror.financials(part, years, from_previous=True), wanted)
    lazy = mirror.scan_financials(year=year).filter(pl.col("unit_id").is_in(units["id"].implode()))
    taken = ["unit_id", "statement_id", "superseded_by", "sales"]
    assert_frame_equal(
        lazy.select(taken).collect(), mirror.financials(units["id"].sort(), year).select(taken)
    )


@pytest.mark.slow
def test_a_unit_outside_a_part_is_not_held(tmp_path: Path) -> None:
    """In an extract; elsewhere it is none."""
    register = fk.sample(10, seed=1)
    whole = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    whole.sync()
    ids = register.units.ids()["id"]
    small = whole.extract(tmp_path / "small", ids.head(2))

    for mirror, unit, reason in ((small, ids[-1], "not_held"), (whole, 1, "unreadable")):
        assert mirror.financials([unit], 2018)["reason"].to_list() == [reason]
        assert mirror.filings([unit])["reason"].to_list() == [reason]


def test_reports_with_numbers_of_the_year_before_alone(tmp_path: Path) -> None:
    """They are blank, also where no other is on their form, and as the corrections of a filing."""
    sample = fk.sample(30, seed=1)
    filings = sample.filings(sample.units.ids()).filter("counts", kind="Riadna", year=2018)
    filings = filings.filter(pl.col("report_ids").list.len() == 1, months=12)
    (unit, statement), *_ = filings.select("unit_id", "statement_id").rows()
    sample.file([unit], year=2024, case="previous_only")
    for _ in range(2):
        sample.correct([statement], case="previous_only")
    whole = fk.Mirror(tmp_path / "ruz", contents=True, register=sample)
    whole.sync()
    mirror = whole.extract(tmp_path / "some", [unit])

    for year in (2018, 2024):
        expected = sample.financials([unit], year)
        assert_frame_equal(mirror.financials([unit], year), expected)
        columns = ["reason", "sales"]
        lazy = mirror.scan_financials(year=year).select(columns)
        assert_frame_equal(lazy.collect(), expected.select(columns))
    assert expected["reason"].to_list() == ["all_blank"]


@pytest.mark.parametrize(
    ("previous", "captioned"), [("7", True), *slow(("7", False), ("", False), ("", True))]
)
def test_one_of_two_reports_without_a_number_of_the_year(
    tmp_path: Path, previous: str, captioned: bool
) -> None:
    """Its sums fail, and its captions differ, as those of a register do."""
    sample = fk.sample(40, seed=1)
    report, statement = 2_704_819, 1_802_435  # a balance sheet on 690, beside 727
    units = sample.statements.get([statement])["idUJ"].to_list()
    register = Watched(sample)

    def altered(path: str, query: str) -> Reply | None:
        reply = sample._answer("GET", path, query)
        if (path, query) == ("/api/sablona", "id=690") and not captioned:
            other = re.sub(rb'("text":\{"sk":")', rb"\1Iny ", reply.body)
            return reply._replace(body=other)
        if (path, query) != (RECORDS["reports"], f"id={report}"):
            return None
        record = json.loads(reply.body)
        assert record["idSablony"] == 690
        for table, width in zip(record["obsah"]["tabulky"], (4, 2), strict=True):
            of_before = [place % width == width - 1 for place in range(len(table["data"]))]
            table["data"] = [previous if is_before else "" for is_before in of_before]
        return reply._replace(body=json.dumps(record).encode())

    register.instead = altered
    whole = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    whole.sync()
    mirror = whole.extract(tmp_path / "some", units)
    for from_previous in (False, True):
        expected = register.financials(units, from_previous=from_previous)
        assert_frame_equal(mirror.financials(units, from_previous=from_previous), expected)
    row = expected.filter(statement_id=statement, source_column="current").row(0, named=True)
    assert row["reason"] == (None if captioned else "caption_mismatch")
    assert (row["sums_failing"] > 0) == bool(previous)
    columns = ["unit_id", "year", "reason", "total_assets"]
    assert_frame_equal(
        mirror.scan_financials().select(columns).collect(),
        register.financials(units).select(columns),
    )


@pytest.mark.slow
def test_a_cell_that_is_no_number(tmp_path: Path) -> None:
    """An item with one is null, and has the reason, as a report of nothing else has.

    Whatever other items are read beside the reason, and of a report without assets, too.
    """
    sample = fk.sample(12)
    whole = sample.reports.get(sample.reports.ids()).filter(idSablony=687)
    ids = whole.filter(pl.col("tabulky").list.get(0).list.get(0) != "")["id"].head(4).to_list()
    register = Watched(sample)

    def altered(path: str, query: str) -> Reply | None:
        if path != RECORDS["reports"] or query not in [f"id={id_}" for id_ in ids]:
            return None
        body = sample._answer("GET", path, query).body
        if query == f"id={ids[0]}":  # its first cell, total assets
            return Reply(200, {}, re.sub(rb'("data":\[)"[^"]*"', rb'\1"abc"', body, count=1))
        if query == f"id={ids[3]}":  # its non-current assets
            third = rb'("data":\["[^"]*","[^"]*",)"[^"]*"'
            return Reply(200, {}, re.sub(third, rb'\1"abc"', body, count=1))
        if query == f"id={ids[2]}":  # all of its assets
            blanks = b'"data":[""' + b',""' * 45 + b"]"
            return Reply(200, {}, re.sub(rb'"data":\[[^]]*\]', blanks, body, count=1))
        tables = b'"tabulky":[{"data":["x"' + b',""' * 45 + b"]}"
        rest = b"".join(b',{"data":[""' + b',""' * (n - 1) + b"]}" for n in (44, 76))
        return Reply(200, {}, re.sub(rb'"tabulky":\[.*?\]\}\]', tables + rest + b"]", body))

    register.instead = altered
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    money = register.financials(sample.units.ids())

    assert_frame_equal(mirror.scan_financials().collect(), money)
    one = money.filter(report_id=ids[0]).row(0, named=True)
    assert one["total_assets"] is None
    assert one["reason"] == "not_a_number"
    assert money.filter(report_id=ids[1])["reason"].to_list() == ["not_a_number"]
    assert money.filter(report_id=ids[2])["reason"].to_list() == [None]
    assert money.filter(report_id=ids[3])["reason"].to_list() == ["not_a_number"]
    for item in ("total_assets", "inventories", "sales"):
        columns = ["report_id", item, "reason"]
        assert_frame_equal(
            mirror.scan_financials().select(columns).collect(), money.select(columns)
        )


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["one", "all"])
def test_a_form_with_another_caption_gives_no_number(tmp_path: Path, rows: str) -> None:
    """Where the register's own form says something else, its items are null, as from a register."""
    sample = fk.sample(12)
    register = Watched(sample)
    body = sample._answer("GET", "/api/sablona", "id=687").body
    of_a_row = rb'(?=[^{}]*\}(?:,"oznacenie":"[^"]*")?,"cisloRiadku")'
    caption = rb'("text":\{"sk":")' + (of_a_row if rows == "all" else rb"(?=SPOLU MAJETOK)")
    other = Reply(200, {}, re.sub(caption, rb"\1Iny ", body))
    assert other.body != body
    register.instead = lambda path, query: (
        other if (path, query) == ("/api/sablona", "id=687") else None
    )
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    money = register.financials(sample.units.ids())

    assert_frame_equal(mirror.scan_financials().collect(), money)
    assert_frame_equal(mirror.financials(sample.units.ids()), money)
    micro = money.filter(template=687)
    assert micro.height > 3
    assert micro["total_assets"].is_null().all()
    assert (micro["reason"] == "caption_mismatch").any()
    assert micro["equity"].is_not_null().any() == (rows == "one")


@pytest.mark.slow
def test_what_is_not_held_has_the_reason(tmp_path: Path) -> None:
    """The newest years are answered before the older ones are there, each row or its reason."""
    patient = Watched(REGISTER, page_size=100, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", contents=["statements", "reports"], register=patient)
    mirror.sync(budget=350)
    of_years = {year: mirror.scan_financials(year=year).collect() for year in (2024, 2016)}

    for year, found in of_years.items():
        whole = REGISTER.financials(UNITS, year, items=items.names())
        held = found["reason"].ne_missing("not_held")
        assert_frame_equal(found.filter(held), whole.filter(held))
        assert found["unit_id"].equals(whole["unit_id"])
        filed = mirror.filings(UNITS, year).filter(reason="not_held")
        assert set(filed["unit_id"]) <= set(found.filter(~held)["unit_id"])
    assert of_years[2024]["total_assets"].is_not_null().sum() > 2
    # Of units whose newest statement is older than all that is held it is not known.
    open_ids = of_years[2024].filter(reason="not_held")["unit_id"]
    assert REGISTER.filings(open_ids.to_list(), 2024)["statement_id"].null_count() == open_ids.len()
    assert (of_years[2016]["reason"] == "not_held").sum() > 10
    while mirror.holdings()["lacking"].sum():
        mirror.sync(budget="10min")
    assert_frame_equal(
        mirror.scan_financials(year=2016).collect(), REGISTER.financials(UNITS, 2016)
    )


@pytest.mark.slow
def test_a_mirror_without_statements_or_reports(tmp_path: Path) -> None:
    """Units alone answer why; statements alone are no figures."""
    mirror = fk.Mirror(tmp_path / "ruz", register=REGISTER)
    mirror.sync()
    reasons = mirror.scan_financials(year=2018).collect()["reason"]
    assert set(reasons) == {"deleted", "no_filing", "not_held"}

    fk.Mirror(tmp_path / "ruz", contents="statements", register=REGISTER).sync()
    with pytest.raises(
        (fk.UsageError, pl.exceptions.ComputeError),
        match="of reports this mirror holds the ids alone",
    ):
        mirror.scan_financials(year=2018).collect()
    assert_frame_equal(mirror.filings(UNITS, 2018), REGISTER.filings(UNITS, 2018))


@pytest.mark.slow
def test_the_first_rows_are_counted_before_a_filter(small: fk.Mirror) -> None:
    """As of any frame: what a filter spares is no row less."""
    money = small.scan_financials().select("unit_id", "year", "name")
    whole, late = money.collect(), pl.col("year") > 2018

    assert_frame_equal(money.head(60).filter(late).collect(), whole.head(60).filter(late))
    assert_frame_equal(money.filter(late).head(60).collect(), whole.filter(late).head(60))


@pytest.mark.slow
def test_rows_of_the_year_before_survive_a_filter_on_years(small: fk.Mirror) -> None:
    """They are out of filings of the year after, which the filter must not leave out."""
    columns = ["unit_id", "year", "period_to", "source_column", "total_assets"]
    money = small.scan_financials(from_previous=True).select(columns)
    of_year = money.filter(year=2018).collect()

    assert "previous" in of_year["source_column"]
    assert_frame_equal(of_year, money.collect().filter(year=2018))


@pytest.mark.slow
def test_figures_write_nothing_to_stderr(
    small: fk.Mirror, capfd: pytest.CaptureFixture[str]
) -> None:
    """No bar: nothing is requested."""
    small.financials(small.units.ids(limit=3))
    small.scan_financials(year=2019).collect()

    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_filters_reach_the_files(tmp_path: Path, read: Read) -> None:
    """Of a year and of a unit the files of later filings alone are read."""
    register = fk.sample(20, seed=3)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    unit = register.units.scan().filter(pl.col("stav").is_null()).select("id").collect()[:1]
    for _ in range(3):
        next_day(Watched(register))
        register.file(unit, year=2025)
        mirror.sync()
    mirror.scan_financials().collect()
    read()

    def groups(query: pl.LazyFrame) -> int:
        with pl.Config(verbose=True):
            query.collect()
        return sum(some for some, _ in read())

    money = mirror.scan_financials()
    every = groups(money)
    assert groups(mirror.scan_financials(year=2025)) < every
    assert groups(money.filter(year=2025)) < every
    assert groups(money.filter(pl.col("unit_id") == unit["id"][0], pl.col("year") > 2024)) < every
    assert groups(money.select("unit_id", "year")) < every  # no cells
    reports = mirror.snapshot("reports").filter(pl.col("id") > register.reports.ids()["id"][-2])
    assert groups(reports) < groups(mirror.snapshot("reports").filter(pl.col("id") > 0))


@pytest.mark.slow
def test_items_read_their_cells_alone(mirror: fk.Mirror, tmp_path: Path, read: Read) -> None:
    """In cells sorted as they are stored, a few row groups for one item, most for all."""
    mirror.scan_cells().collect()
    stored = pl.read_parquet(mirror.files("cells"))
    fitting = stored.filter(pl.col("template").is_in([687, 699]), pl.col("row").is_not_null())
    key = ["template", "table", "row", "column", "report_id"]
    fitting.sort(key).write_parquet(tmp_path / "cells.parquet", row_group_size=500)
    cells = pl.scan_parquet(tmp_path / "cells.parquet")
    reports = mirror._state().newest("reports").rename({LENGTHS: wire.TABLES}).collect()

    def groups(names: list[str]) -> tuple[int, int]:
        with pl.Config(verbose=True):
            contents = FigureReader(shipped, shipped, "total", names, previous=False)
            contents.of_cells(reports, lambda _: cells)
        of_each_form = read()
        return sum(some for some, _ in of_each_form), of_each_form[0][1]

    one, all_ = groups(["net_profit"])
    assert one <= 4
    assert groups(items.of_families(["business"]))[0] > 4 * one
    assert all_ > 20


def test_records_of_some_ids_are_theirs_alone() -> None:
    """Among ids that follow each other too, of which a condition on the ids admits others."""
    rows = pl.LazyFrame({"id": range(1_000)}, schema={"id": pl.Int64})
    state = mock.Mock(spec=State)
    state.newest.return_value = rows
    stands = state.standing.return_value
    stands.held = rows.filter(~pl.col("id").is_in([400, 500])).collect()["id"]
    stands.unread = pl.Series([400])
    records, ids = Records(state, "reports"), rows.collect()["id"]
    for some in (ids, ids.gather_every(2), ids[:700].shuffle(seed=1).head(400), ids[7:8], ids[:0]):
        expected = sorted(set(some) - {500})
        assert records.rows(some, ["id"])["id"].sort().to_list() == expected
