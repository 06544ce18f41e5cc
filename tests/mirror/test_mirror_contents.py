"""A mirror that keeps records of statements, reports and annual reports beside units."""

from __future__ import annotations

import contextlib
import json
import random
import re
from datetime import date, timedelta
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, MirrorError, RegisterUnavailable, UsageError
from finstat_kit.mirror.local_register import CollectionName, Frozen
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import Form
from finstat_kit.protocol.wire import Reply
from tests.support.kills import at_writes
from tests.support.mirrors import (
    CONTENTS,
    RECORDS,
    assert_contents_in_step,
    assert_in_step,
    contents,
    listings_of_runs,
)
from tests.support.registers import Watched
from tests.support.syncs import FIRST, day_of_filings, next_day, well

WITH_CONTENTS = True


def a_register() -> Watched:
    return Watched(fk.sample(12), page_size=1_000)


def records(register: Watched) -> list[str]:
    """Return which records beside units were requested since the last look."""
    paths = [RECORDS[name] for name in CONTENTS]
    found = [target for target in register.asked if target.partition("?")[0] in paths]
    register.asked.clear()
    return found


@pytest.mark.slow
def test_all_records_are_answered_from_disk(mirror: fk.Mirror, register: Watched) -> None:
    """Each record is the register's, by id and all at once, without a request."""
    register.asked.clear()

    assert_contents_in_step(mirror, register.sample)
    assert register.asked == []
    assert set(mirror.verify()["meaning"]) == {""}


@pytest.mark.slow
def test_numbers_are_answered_from_disk(mirror: fk.Mirror, register: Watched) -> None:
    """Cells, checks and the printed form are those of the register."""
    ids = register.sample.reports.ids()
    reports, local = register.sample.reports.get(ids), mirror.reports.get(ids)
    one = reports.filter(idSablony=699).head(1)

    with pytest.warns(UserWarning, match=r"reports\.check"):
        assert_frame_equal(mirror.reports.cells(local), register.sample.reports.cells(reports))
    assert_frame_equal(mirror.reports.check(local), register.sample.reports.check(reports))
    assert str(mirror.as_filed(one)) == str(register.sample.as_filed(one))


@pytest.mark.slow
def test_figures_are_answered_from_disk(mirror: fk.Mirror, register: Watched) -> None:
    """Filings and figures of all units are those of the register, without a request."""
    ids = mirror.units.ids()
    register.asked.clear()

    filed, money = mirror.filings(ids), mirror.financials(ids, year=range(2010, 2026))

    assert register.asked == []
    assert money["total_assets"].is_not_null().sum() > 20
    assert_frame_equal(filed, register.sample.filings(ids))
    assert_frame_equal(money, register.sample.financials(ids, year=range(2010, 2026)))
    for unit in money.drop_nulls("template")["unit_id"].unique(maintain_order=True).head(1):
        local, own = (source.statement(unit) for source in (mirror, register.sample))
        assert_frame_equal(local.frame, own.frame)
        assert_frame_equal(local.filings, own.filings)
    assert mirror.financials(ids, 2020, dry_run=True)["requests"].sum() == 0


@pytest.mark.slow
def test_years_of_a_statement_have_the_report_that_counts(tmp_path: Path) -> None:
    """Of two on one form, both of which a mirror holds, the one that a register reads."""
    sample = fk.sample(12)
    unit = int(sample.filings(sample.units.ids()).filter("counts")["unit_id"][0])
    for year, case in ((2024, "two_equal"), (2025, "two_of_one_form")):
        sample.file([unit], year=year, case=case)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=sample)
    mirror.sync()

    local, own = (source.statement(unit) for source in (mirror, sample))

    assert local.filings["year"].to_list()[-1] == 2025
    assert_frame_equal(local.frame, own.frame)
    assert_frame_equal(local.filings, own.filings)


def reports_with_cells(mirror: fk.Mirror) -> pl.Series:
    """Return the ids of the reports that have cells, ascending."""
    return mirror.scan_cells().select("report_id").unique().sort("report_id").collect()["report_id"]


def test_the_report_has_every_request(tmp_path: Path) -> None:
    """Each request is in the row of the list or of the records that it was sent for."""
    register = Watched(fk.sample(5))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)

    report = mirror.sync().filter(pl.col("list").str.ends_with(" records"))

    of_templates = [target for target in register.asked if target.startswith("/api/sablona?")]
    assert report["list"].to_list() == [f"{name} records" for name in CONTENTS]
    assert report["requests"].sum() == len(records(register)) + len(of_templates)
    assert (report["requests"] >= report["new"]).all()
    assert report["new"].min() > 0  # type: ignore[operator]


@pytest.mark.slow
def test_a_report_of_a_resumed_sync_has_one_window(tmp_path: Path) -> None:
    """Records that an earlier sync of the day left are in the window of the lists beside them."""
    register = Watched(fk.sample(5))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    statement = RECORDS["statements"]
    register.instead = lambda path, query: Reply(500, {}, b"") if path == statement else None
    with pytest.raises(fk.RegisterError):
        mirror.sync()
    well(register)

    report = mirror.sync().filter(pl.col("list") != "codelists")

    assert report["window"].n_unique() == 1
    assert report.filter(list="statements records")["new"].item() > 0


@pytest.mark.slow
def test_a_budget_that_ends_within_reports_counts_no_request_twice(tmp_path: Path) -> None:
    """The reports of a batch of statements are fetched within it."""
    register = Watched(fk.sample(4), page_size=20, rate=0.2)
    mirror = fk.Mirror(tmp_path / "ruz", contents=["statements", "reports"], register=register)
    ends = 0
    for budget in (600, 150, 150):
        register.asked.clear()

        report = mirror.sync(budget=budget).filter(pl.col("list").str.ends_with(" records"))

        of_templates = sum(target.startswith("/api/sablona?") for target in register.asked)
        assert report["requests"].sum() == len(records(register)) + of_templates
        ends += report.filter(list="reports records")["new"].item() > 0
    assert ends > 1


@pytest.mark.slow
def test_what_is_held_is_never_asked_again(mirror: fk.Mirror, register: Watched) -> None:
    """A sync requests the lists, and of the records those that they name."""
    for _ in range(2):  # what changed on the first day lies before the window then
        next_day(register)
        mirror.sync()
    records(register)
    next_day(register)
    mirror.sync()
    assert records(register) == []

    day_of_filings(register)
    window = mirror.sync()["window"][0]
    wanted = {
        f"{RECORDS[name]}?id={id_}"
        for name in CONTENTS
        for id_ in getattr(register.sample, name).ids(changed_since=window)["id"]
    }
    found = records(register)
    assert set(found) == wanted
    assert len(found) == len(wanted)


@pytest.mark.slow
def test_filings_and_corrections_are_kept_as_versions(mirror: fk.Mirror, register: Watched) -> None:
    """The copy follows the register, and a former day stays as it was."""
    before = {name: getattr(mirror, name).scan().collect() for name in CONTENTS}
    for _ in range(2):
        day_of_filings(register)
        mirror.sync()
        assert_in_step(mirror, register.sample)
        assert_contents_in_step(mirror, register.sample)
    assert_contents_in_step(mirror, register.sample)

    frozen = mirror.as_of(FIRST)
    for name, frame in before.items():
        assert_frame_equal(getattr(frozen, name).scan().collect(), frame)
        assert_frame_equal(getattr(frozen, name).get(frame["id"]), frame)
    assert not mirror.reports.scan().collect().equals(before["reports"])
    assert set(mirror.verify()["meaning"]) == {""}


@pytest.mark.slow
def test_contents_can_be_added_later_and_stay(tmp_path: Path, register: Watched) -> None:
    """Only the records are requested then; the mirror itself knows that it keeps them."""
    fk.Mirror(tmp_path / "ruz", register=register).sync()
    records(register)
    fk.Mirror(tmp_path / "ruz", contents="statements", register=register).sync()
    assert {target.partition("?")[0] for target in records(register)} == {RECORDS["statements"]}
    fk.Mirror(tmp_path / "ruz", contents=["reports", "annual_reports"], register=register).sync()
    day_of_filings(register)
    plain = fk.Mirror(tmp_path / "ruz", register=register)
    plain.sync()

    assert_contents_in_step(plain, register.sample)


@pytest.mark.slow
def test_contents_that_are_given_later_stay_where_nothing_is_fetched(tmp_path: Path) -> None:
    """Where there is none yet, and where the time ends before."""
    register = Watched(fk.sample(1, seed=3), rate=1.0)
    path = tmp_path / "ruz"
    assert not register.sample.annual_reports.count()
    fk.Mirror(path, register=register).sync()
    fk.Mirror(path, contents="annual_reports", register=register).sync()
    assert fk.Mirror(path).holdings()["collection"].to_list() == ["units", "annual_reports"]
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    for name in ("reports", "statements"):  # the second resumes
        fk.Mirror(path, contents=name, register=register).sync(budget=2)
    fk.Mirror(path, register=register).sync()
    assert fk.Mirror(path).holdings().height == 4


@pytest.mark.slow
def test_the_newest_statements_come_first(tmp_path: Path, register: Watched) -> None:
    """From the highest id down, each with its reports, and within the time given."""
    slow = Watched(register.sample, page_size=40, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=slow)
    mirror.sync(budget=170)
    held = mirror.holdings().rows_by_key("collection", named=True, unique=True)
    statements = held["statements"]
    assert 0 < statements["held"] < statements["listed"]
    assert statements["seconds"] == statements["lacking"] / 1.0
    ids = register.sample.statements.ids()["id"]
    assert ids.filter(ids >= statements["from_id"]).len() == statements["held"]

    upper = mirror.statements.get(ids.filter(ids >= statements["from_id"]).tail(30))
    owned = upper["idUctovnychVykazov"].explode().drop_nulls()
    assert_frame_equal(mirror.reports.get(owned), register.sample.reports.get(owned))
    while mirror.holdings()["lacking"].sum():
        slow.asked.clear()
        mirror.sync(budget="1min")
        assert len(slow.asked) < 250
    assert_contents_in_step(mirror, register.sample)


@pytest.mark.slow
def test_a_budget_stops_the_units_too(tmp_path: Path, register: Watched) -> None:
    """What was fetched is committed, and the next sync resumes there."""
    slow = Watched(fk.sample(300), page_size=100, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", register=slow)
    report = mirror.sync(budget=150)
    assert 20 < report["new"][0] < 250
    with pytest.raises(MirrorError, match="no complete sync yet"):
        mirror.units.count()
    slow.asked.clear()
    mirror.sync()
    assert len(slow.records()) < 250
    assert_in_step(mirror, slow.sample)
    with pytest.raises(fk.UsageError, match="budget='soon' is not a valid duration"):
        mirror.sync(budget="soon")


@pytest.mark.slow
def test_a_question_outside_is_an_error(tmp_path: Path, register: Watched) -> None:
    """What is not held yet is refused; what the register has not is not found."""
    slow = Watched(register.sample, page_size=40, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", contents=["statements"], register=slow)
    mirror.sync(budget=60)
    ids = register.sample.statements.ids()["id"]
    first = int(mirror.holdings().filter(collection="statements")["from_id"][0])

    assert mirror.statements.get(ids[-1])["id"].to_list() == [ids[-1]]
    with pytest.raises(fk.UsageError, match=r"1 of 2 statements are not held yet: \["):
        mirror.statements.get([ids[0], ids[-1]])
    with pytest.raises(fk.errors.NotFound):
        mirror.statements.get(ids[-1] + 1)
    with pytest.raises(fk.UsageError, match="are not held yet"):
        mirror.statements.scan().collect()
    upper = mirror.statements.scan().filter(pl.col("id") >= first).collect()
    assert upper["id"].to_list() == ids.filter(ids >= first).to_list()
    with pytest.raises(fk.UsageError, match="of reports this mirror holds the ids alone; fetch"):
        mirror.reports.get([1])
    with pytest.raises(fk.UsageError, match="of reports this mirror holds the ids alone; fetch"):
        mirror.reports.scan().collect()
    assert mirror.snapshot("statements").select(pl.len()).collect().item() < len(ids)


@pytest.mark.slow
def test_a_snapshot_is_whole_in_a_mirror_just_opened(mirror: fk.Mirror, register: Watched) -> None:
    """Nothing else has to be read first, and what is synced meanwhile is in the next one."""
    frozen = fk.Mirror(mirror.path).as_of("2026-06-30")
    names: tuple[CollectionName, ...] = get_args(CollectionName)
    opened = {name: fk.Mirror(mirror.path) for name in names}

    def assert_whole(name: CollectionName, held: fk.Mirror | Frozen) -> None:
        found = held.snapshot(name).select("id").collect()["id"].sort()
        assert found.to_list() == getattr(mirror, name).ids()["id"].to_list()

    for name, other in opened.items():
        assert_whole(name, other)
        assert_whole(name, frozen)
    day_of_filings(register)
    mirror.sync()
    for name, other in opened.items():
        assert_whole(name, other)


def test_a_snapshot_has_the_records_that_are_held(tmp_path: Path, register: Watched) -> None:
    """Listed ids without a record are absent, and reports come without their tables."""
    slow = Watched(register.sample, page_size=40, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", contents=["statements", "reports"], register=slow)
    mirror.sync(budget=200)
    held = dict(mirror.holdings().select("collection", "held").rows())

    for name in ("statements", "reports"):
        kept = getattr(register.sample, name)
        rows = mirror.snapshot(name).collect().sort("id")
        assert 0 < rows.height == held[name] < kept.count()
        wanted = kept.get(rows["id"]).drop("tabulky", strict=False)
        assert_frame_equal(rows.drop("gone", "seen"), wanted)
        fresh = fk.Mirror(tmp_path / "ruz").snapshot(name)
        assert_frame_equal(fresh.collect().sort("id"), rows)
        # It reaches the files of the records.
        assert re.search(r'SELECTION: .*col\("id"\)', fresh.filter(id=7).explain())
    ids = mirror.snapshot("annual_reports").collect()
    assert ids.columns == ["id", "gone", "seen"]
    assert ids.height == register.sample.annual_reports.count()


@pytest.mark.slow
def test_what_a_mirror_does_not_hold_is_not_said_of_the_register(
    mirror: fk.Mirror, tmp_path: Path
) -> None:
    """Templates of neither a report nor the package, their list, and attachments."""
    file = pl.DataFrame({"id": [1], "report_id": [1]})
    with pytest.raises(UsageError, match="does not hold template 4242"):
        mirror.template(4242)
    with pytest.raises(UsageError, match="does not hold the list of templates"):
        mirror.template()
    assert mirror.template(699).height
    problem = mirror.reports.download(file, tmp_path / "files")["problem"][0]
    assert problem.startswith("a mirror does not hold")


@pytest.mark.slow
def test_a_report_that_a_statement_names_and_no_list_has_is_fetched(tmp_path: Path) -> None:
    """In the same sync, once, and it stays: it is missing from no list that ever named it."""
    sample = fk.sample(4)
    register = Watched(sample)
    statements = sample.statements.get(sample.statements.ids())
    owner = statements.filter(pl.col("idUctovnychVykazov").list.len() > 0).row(-1, named=True)
    new, own = 99_999_999, owner["idUctovnychVykazov"][0]

    def instead(path: str, query: str) -> Reply | None:
        if (path, query) == (RECORDS["statements"], f"id={owner['id']}"):
            record = json.loads(sample._answer("GET", path, query).body)
            record["idUctovnychVykazov"].append(new)
        elif (path, query) == (RECORDS["reports"], f"id={new}"):
            record = json.loads(sample._answer("GET", path, f"id={own}").body) | {"id": new}
        else:
            return None
        return Reply(200, {}, json.dumps(record).encode())

    register.instead = instead
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    for _ in range(2):
        for full in (False, True):
            mirror.sync(full=full)
            assert_frame_equal(mirror.reports.get(new), register.reports.get(new))
            assert mirror.holdings()["lacking"].sum() == 0
        next_day(register)
    asked = register.asked.count(f"{RECORDS['reports']}?id={new}")
    assert asked - 4 == 1  # without the comparisons: by the first sync


@pytest.mark.slow
def test_a_report_that_is_named_and_not_yet_fetched_is_lacking(
    tmp_path: Path, register: Watched
) -> None:
    """It is not held, and not said to be none."""
    bad = 99_999_999
    sample = register.sample

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORDS["statements"]:
            record = json.loads(sample._answer("GET", path, query).body)
            record["idUctovnychVykazov"] = [bad]
            return Reply(200, {}, json.dumps(record).encode())
        if (path, query) == (RECORDS["reports"], f"id={bad}"):
            raise KeyboardInterrupt
        return None

    register.instead = instead
    mirror = fk.Mirror(tmp_path / "ruz", contents=["statements", "reports"], register=register)
    with pytest.raises(Interrupted):
        mirror.sync()
    with pytest.raises(fk.UsageError, match=r"not held yet: \[99999999\]"):
        mirror.reports.get(bad)


@pytest.mark.slow
def test_a_change_that_is_not_fetched_is_not_answered(mirror: fk.Mirror, register: Watched) -> None:
    """Once a list names a record, its former version is no answer."""
    day_of_filings(register)
    changed = register.sample.statements.ids(changed_since=register.today)["id"]
    register.instead = lambda path, query: (
        Reply(500, {}, b"") if path == RECORDS["statements"] else None
    )
    with pytest.raises(RegisterUnavailable, match="the next sync"):
        mirror.sync()
    with pytest.raises(fk.UsageError, match="are not held yet"):
        mirror.statements.get(changed)
    register.instead = lambda path, query: None
    mirror.sync()

    assert_contents_in_step(mirror, register.sample)


@pytest.mark.slow
def test_cells_of_a_changed_report_are_no_answer(mirror: fk.Mirror, register: Watched) -> None:
    """Once the list names a report, its former cells are left out until it is fetched again."""
    held = mirror.scan_cells().select("report_id").unique().sort("report_id")
    before = held.collect()["report_id"]
    page = b'{"id":[%d],"existujeDalsieId":false}' % before[0]
    replies = {
        ("/api/uctovne-vykazy", ""): Reply(200, {}, page),
        (RECORDS["reports"], f"id={before[0]}"): Reply(500, {}, b""),
    }
    next_day(register)
    register.instead = lambda path, query: replies.get((path, query if "id=" in query[:3] else ""))
    mirror.sync()
    left = reports_with_cells(mirror)
    register.instead = lambda path, query: None
    next_day(register)
    mirror.sync()
    again = reports_with_cells(mirror)

    assert left.to_list() == before[1:].to_list()
    assert again.to_list() == before.to_list()


@pytest.mark.slow
def test_cells_of_a_report_that_is_no_longer_listed_are_left_out(
    mirror: fk.Mirror, register: Watched
) -> None:
    """A full sync finds that the list does not name it, and its cells are no answer."""
    held = reports_with_cells(mirror)
    gone = int(held[3])

    def without(path: str, query: str) -> Reply | None:
        if path != "/api/uctovne-vykazy":
            return None
        reply = register.sample._answer("GET", path, query)
        said = json.loads(reply.body)
        said["id"] = [id_ for id_ in said["id"] if id_ != gone]
        return reply._replace(body=json.dumps(said).encode())

    register.instead = without
    mirror.sync(full=True)
    left = reports_with_cells(mirror)

    assert left.to_list() == held.filter(held != gone).to_list()


@pytest.mark.slow
def test_a_period_of_the_year_202_comes_back_as_it_was(tmp_path: Path, register: Watched) -> None:
    """A filer's slip, which the register keeps."""
    id_ = int(register.sample.statements.ids()["id"][0])

    def slipped(path: str, query: str) -> Reply | None:
        if (path, query) != (RECORDS["statements"], f"id={id_}"):
            return None
        reply = register.sample._answer("GET", path, query)
        record = json.loads(reply.body) | {"obdobieDo": "0202-12"}
        return reply._replace(body=json.dumps(record).encode())

    register.instead = slipped
    mirror = fk.Mirror(tmp_path / "ruz", contents=["statements"], register=register)
    mirror.sync()

    assert mirror.statements.get(id_)["obdobieDo"][0].year == 202


@pytest.mark.slow
def test_an_unreadable_record_delays_itself_alone(tmp_path: Path, register: Watched) -> None:
    """It is requested again by each sync, and is a row of nulls until it can be read."""
    bad = int(register.sample.statements.ids()["id"][5])
    register.instead = lambda path, query: (
        Reply(200, {}, b"{}") if (path, query) == (RECORDS["statements"], f"id={bad}") else None
    )
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    report = mirror.sync()
    assert report.filter(list="statements records")["unreadable"].to_list() == [1]
    with pytest.raises(fk.errors.NotFound, match=rf"1 are unreadable: \[{bad}\]") as caught:
        mirror.statements.get([bad, bad + 10**6])
    assert caught.value.ids == [bad, bad + 10**6]
    assert mirror.unreadable().select("collection", "id").rows() == [("statements", bad)]
    records(register)
    mirror.sync()
    assert f"{RECORDS['statements']}?id={bad}" in records(register)
    register.instead = lambda path, query: None
    mirror.sync()

    assert_contents_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reply"),
    [("statements", Reply(404, {}, b"")), ("reports", Reply(200, {}, b"{}"))],
    ids=str,
)
def test_an_unreadable_record_hides_no_other(
    tmp_path: Path, register: Watched, name: str, reply: Reply
) -> None:
    """All others are answered, and it has a row of nulls."""
    whole = getattr(register.sample, name).get(getattr(register.sample, name).ids())
    bad = int(whole["id"][2])
    register.instead = lambda path, query: (
        reply if (path, query) == (RECORDS[name], f"id={bad}") else None
    )
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    kept = getattr(mirror, name)
    wanted = whole.with_columns(
        pl.when(pl.col("id") != bad).then(pl.col(column)).alias(column)
        for column in whole.columns[1:]
    )

    assert_frame_equal(kept.get(whole["id"], errors="keep"), wanted)
    assert_frame_equal(kept.scan().collect(), wanted)
    found = mirror.financials(mirror.units.ids())
    assert found["total_assets"].is_not_null().sum() > 20
    assert mirror.unreadable()["id"].to_list() == [bad]


@pytest.mark.slow
@pytest.mark.parametrize("reply", [Reply(500, {}, b""), Reply(200, {}, b"{}")], ids=str)
def test_an_unreadable_template_delays_its_reports_alone(
    tmp_path: Path, register: Watched, reply: Reply
) -> None:
    """All others are fetched and kept; its own come with the first sync that gets it."""
    reports = register.sample.reports.get(register.sample.reports.ids())
    bad = 699
    others = reports.filter(pl.col("idSablony").ne_missing(bad))
    register.instead = lambda path, query: (
        reply if (path, query) == ("/api/sablona", f"id={bad}") else None
    )
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    report = mirror.sync().rows_by_key("list", named=True, unique=True)

    assert report["reports records"]["unreadable"] == reports.height - others.height > 0
    assert report["annual_reports records"]["unreadable"] == 0
    assert_frame_equal(mirror.reports.get(others["id"]), others)
    register.instead = lambda path, query: None
    mirror.sync()
    assert_contents_in_step(mirror, register.sample)
    assert bad in mirror.scan_cells().select("template").collect()["template"]


def records_of(register: fk.Register) -> list[pl.DataFrame]:
    return [getattr(register, name).scan().collect() for name in RECORDS]


@pytest.mark.slow
def test_a_full_sync_of_an_unchanged_register_adds_no_second_copy(
    mirror: fk.Mirror, register: Watched
) -> None:
    """What the window names is a row without content, and cells stay as they are."""

    def rows(name: str) -> int:
        return pl.read_parquet(mirror.files(name)).height  # type: ignore[arg-type]

    cells, before = rows("cells"), records_of(mirror)
    next_day(register)
    report = mirror.sync(full=True)

    assert rows("cells") == cells
    assert report.filter(pl.col("list").str.ends_with("records"))["changed"].sum() == 0
    assert report["changed"][0] == 0
    for name in get_args(CollectionName):
        new = pl.scan_parquet(mirror.files(name)).filter(seen=register.today).collect()
        assert set(new["kind"]) <= {"listed", "unchanged"}
        unchanged = new.filter(kind="unchanged")
        assert unchanged["id"].sort().equals(new.filter(kind="listed")["id"].sort())
        assert (unchanged["same_as"] < unchanged["version"]).all()
    for was, now in zip(before, records_of(mirror), strict=True):
        assert_frame_equal(was, now)


@pytest.mark.slow
def test_a_full_sync_of_an_unchanged_register_adds_few_bytes(tmp_path: Path) -> None:
    """Most of them are the columns that each file names."""
    register = fk.sample(100)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    before = set(contents(mirror.path))
    register.set_today("2026-07-01")
    mirror.sync(full=True)

    files = {name: body for name, body in contents(mirror.path).items() if name not in before}
    added = sum(len(body) for name, body in files.items() if name.endswith(".parquet"))
    assert added / mirror.holdings()["held"].sum() < 40


@pytest.mark.slow
def test_an_id_that_is_listed_again_is_held_again(mirror: fk.Mirror, register: Watched) -> None:
    """A statement was missing in one full sync, and is there in the next."""
    id_ = int(register.sample.statements.ids()["id"][0])

    def without(path: str, query: str) -> Reply | None:
        if path != "/api/uctovne-zavierky":
            return None
        reply = register.sample._answer("GET", path, query)
        said = json.loads(reply.body)
        said["id"] = [other for other in said["id"] if other != id_]
        return reply._replace(body=json.dumps(said).encode())

    register.instead = without
    next_day(register)
    mirror.sync(full=True, max_missing=1)
    assert id_ not in mirror.statements.ids()["id"]
    register.instead = lambda path, query: None
    next_day(register)
    mirror.sync(full=True)

    assert_contents_in_step(mirror, register.sample)
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_templates_are_parsed_once_and_when_a_report_needs_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many batches of reports need them; a sync without reports parses none."""
    parsed: list[int] = []

    def parse(body: bytes, template: int) -> Form:
        parsed.append(template)
        return whole(body, template)

    whole = forms.parse_template
    register = Watched(fk.sample(8, seed=3), rate=1)  # a batch is a minute of requests
    fk.Mirror(tmp_path / "other", contents=True, register=register).sync()  # the sample has its own
    monkeypatch.setattr(forms, "parse_template", parse)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    for is_first in (True, False):
        parsed.clear()
        mirror.sync()
        next_day(register)

        assert len(parsed) == len(set(parsed))
        assert (len(parsed) > 3) == is_first  # later no report needs one


@pytest.mark.parametrize("frozen", [False, True])
def test_five_reports_are_read_with_one_look_at_the_state(
    mirror: fk.Mirror, monkeypatch: pytest.MonkeyPatch, frozen: bool
) -> None:
    """Whether there is a newer run is looked up once."""
    register = mirror.as_of(mirror.today) if frozen else mirror
    ids = register.reports.ids(limit=5)
    listings = listings_of_runs(monkeypatch)
    assert register.reports.get(ids).height == 5
    assert len(listings) == 1


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("units", "contents='units' is not known"),
        (["report"], "did you mean 'reports'"),
        (5, "contents=5"),
    ],
)
def test_contents_that_are_none(tmp_path: Path, contents: object, message: str) -> None:
    with pytest.raises(fk.UsageError, match=message):
        fk.Mirror(tmp_path / "ruz", contents=contents)  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_extract_has_the_contents_of_its_units(
    mirror: fk.Mirror, register: Watched, tmp_path: Path
) -> None:
    """Statements, reports and annual reports of the units, and nothing of others."""
    unit = mirror.units.scan().filter(pl.col("idVyrocnychSprav").is_not_null()).collect().head(1)
    small = mirror.extract(tmp_path / "small", unit)
    statements = unit["idUctovnychZavierok"].explode()
    filed = register.sample.statements.get(statements)
    reports = filed["idUctovnychVykazov"].explode().drop_nulls()

    assert_frame_equal(small.statements.get(statements), filed)
    assert_frame_equal(small.reports.get(reports), register.sample.reports.get(reports))
    annual = unit["idVyrocnychSprav"].explode()
    assert_frame_equal(small.annual_reports.get(annual), register.sample.annual_reports.get(annual))
    others = register.sample.reports.ids()["id"]
    with pytest.raises(fk.errors.NotHeld, match="mirror of 1 given units"):
        small.reports.get(others.filter(~others.is_in(reports.implode()))[0])
    assert small.snapshot("reports").select("id").collect().height == len(reports)
    assert set(fk.Mirror(tmp_path / "small").verify()["meaning"]) == {""}


@pytest.mark.slow
def test_an_extract_has_the_cells_of_the_newest_version(
    mirror: fk.Mirror, register: Watched, tmp_path: Path
) -> None:
    """Of a report whose content changed, those that were fetched last, and each once."""
    report = int(mirror.scan_cells().select(pl.col("report_id").min()).collect().item())
    path, query = RECORDS["reports"], f"id={report}"
    record = json.loads(register.sample._answer("GET", path, query).body)
    filled = record["obsah"]["tabulky"][0]["data"]
    at = next(i for i, text in enumerate(filled) if text)
    filled[at] = "987654"
    page = b'{"id":[%d],"existujeDalsieId":false}' % report
    next_day(register)

    def changed(asked: str, of: str) -> Reply | None:
        if (asked, of) == (path, query):
            return Reply(200, {}, json.dumps(record).encode())
        return Reply(200, {}, page) if asked == "/api/uctovne-vykazy" else None

    register.instead = changed
    mirror.sync()
    statement = int(mirror.reports.get([report])["idUctovnejZavierky"][0])
    unit = int(mirror.statements.get([statement])["idUJ"][0])
    small = mirror.extract(tmp_path / "small", [unit])

    place = ["table", "row", "column"]
    own, extracted = (
        source.scan_cells().filter(report_id=report).sort(place).collect()
        for source in (mirror, small)
    )
    assert 987654 in own["value"].to_list()
    assert_frame_equal(extracted, own)
    assert_frame_equal(small.reports.cells(small.reports.get([report])).sort(place), own)


@pytest.mark.slow
def test_an_extract_without_records_says_so(tmp_path: Path, register: Watched) -> None:
    """The way out is a sync of it, which fetches them."""
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    small = mirror.extract(tmp_path / "small", mirror.units.ids(limit=1))

    with pytest.raises(fk.UsageError, match=r"alone; fetch the records: .*sync\(\)"):
        small.reports.get([1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["statements", "reports"])
def test_an_extract_is_whole_or_refused(register: Watched, tmp_path: Path, name: str) -> None:
    """Records that are listed and not fetched yet are named, and nothing is written."""
    register.instead = lambda path, query: Reply(500, {}, b"") if path == RECORDS[name] else None
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    with pytest.raises(RegisterUnavailable):
        mirror.sync()
    ids = mirror.units.ids()

    with pytest.raises(fk.UsageError, match=rf"{name} are not held yet: \[\d.*sync\(\) goes on"):
        mirror.extract(tmp_path / "small", ids)
    with pytest.raises(fk.UsageError, match=r"are not held yet: \[\d.*take a later one"):
        mirror.as_of(FIRST).extract(tmp_path / "small", ids)
    assert [path.name for path in tmp_path.iterdir()] == ["ruz"]


@pytest.mark.slow
def test_an_extract_has_the_unreadable_records_too(tmp_path: Path, register: Watched) -> None:
    """They are as unreadable in it, and no reason to refuse it."""
    bad = int(register.sample.reports.ids()["id"][5])
    register.instead = lambda path, query: (
        Reply(200, {}, b"{}") if (path, query) == (RECORDS["reports"], f"id={bad}") else None
    )
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    small = mirror.extract(tmp_path / "small", mirror.units.ids())

    log = pl.read_parquet(fk.Mirror(tmp_path / "small").files("reports"))
    assert log.filter(pl.col("problem").is_not_null())["id"].to_list() == [bad]
    # The reports of non-public statements are named by no record, and are not of a unit.
    every = register.sample.reports.get(register.sample.reports.ids())
    hidden = every.filter(pl.col("id") != bad, pl.col("stav").is_not_null())
    of_units = mirror.holdings().with_columns(
        pl.col("listed", "held") - pl.when(collection="reports").then(hidden.height).otherwise(0)
    )
    assert 0 < hidden.height < 10
    assert_frame_equal(fk.Mirror(tmp_path / "small").holdings(), of_units)
    others = every.filter(pl.col("id") != bad, pl.col("stav").is_null()).select("id")
    assert_frame_equal(small.reports.get(others), register.sample.reports.get(others))
    assert set(fk.Mirror(tmp_path / "small").verify()["meaning"]) == {""}


@pytest.mark.slow
def test_days_of_filings_faults_and_crashes(tmp_path: Path) -> None:
    """Mirror and register agree record by record, as of every day."""
    chance = random.Random(5)
    folder = tmp_path / "ruz"
    register = Watched(fk.sample(6), page_size=200)
    mirror = fk.Mirror(folder, contents=True, register=register)
    former: dict[date, dict[str, pl.DataFrame]] = {}

    def instead(path: str, query: str) -> Reply | None:
        return Reply(500, {}, b"") if chance.random() < 0.02 else None

    def crashing() -> None:
        raise KeyboardInterrupt

    for day in range(8):
        if day:
            day_of_filings(register)
        register.instead = instead
        if day % 3 == 1:
            where, number = [("runs", 4), ("data", 6), ("newest.json", 1)][day // 3 % 3]
            with (
                contextlib.suppress(KeyboardInterrupt, fk.RegisterError),
                at_writes(where, number, "before", crashing),
            ):
                mirror.sync()
            mirror = fk.Mirror(folder, register=register)
        for _ in range(20):
            with contextlib.suppress(fk.RegisterError):
                mirror.sync()
                break
        register.instead = lambda path, query: None
        mirror.sync()
        former[register.today] = {
            name: getattr(register.sample, name).scan().collect() for name in RECORDS
        }
    for then, records in former.items():
        frozen = mirror.as_of(then)
        for name, frame in records.items():
            assert_frame_equal(getattr(frozen, name).scan().collect(), frame)
    assert set(mirror.verify()["meaning"]) == {""}


@pytest.mark.slow
def test_a_window_overlaps_so_that_no_change_is_lost(mirror: fk.Mirror, register: Watched) -> None:
    """What changes after the sync, on the same day, comes with the next one."""
    day_of_filings(register)
    mirror.sync()
    sample = register.sample
    sample.correct(sample.statements.ids()["id"][-1:])
    sample.set_today(sample.today + timedelta(days=1))
    mirror.sync()

    assert_contents_in_step(mirror, sample)
