"""Syncs: in step with the register after any undisturbed one, whatever came before."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from itertools import count
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.register import Register
from finstat_kit.errors import Interrupted, MirrorError, ProtocolError, RegisterUnavailable
from finstat_kit.mirror.storage.rows import answers_of
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.examples import slow
from tests.support.mirrors import assert_in_step, contents, newest_run
from tests.support.registers import Watched
from tests.support.syncs import (
    RECORD,
    SEED,
    UNITS,
    fail_at,
    next_day,
    register_of_syncs,
    well,
)

a_register = register_of_syncs


def test_the_first_sync_brings_everything(new: fk.Mirror, register: Watched) -> None:
    """Records, ids and codelists are the register's; the report counts them."""
    report = new.sync()

    assert_in_step(new, register.sample)
    rows = {row["list"]: row for row in report.to_dicts()}
    assert rows["units"]["new"] + rows["units"]["gone"] == UNITS
    assert rows["units"]["requests"] >= UNITS
    assert rows["statements"]["new"] == register.sample.statements.count()
    assert rows["units"]["window"] == date(2000, 1, 1)
    assert report["unreadable"].sum() == 0


def test_a_repeated_sync_writes_nothing(mirror: fk.Mirror, register: Watched) -> None:
    """On the same day the window is asked again, and what is equal is not written."""
    before = contents(mirror.path)
    register.asked.clear()

    report = mirror.sync()

    assert contents(mirror.path) == before
    assert report.select("new", "changed", "gone", "unreadable").sum().row(0) == (0, 0, 0, 0)
    assert register.records()  # the day before the last sync is looked at again


def test_a_day_without_news_is_a_sync_all_the_same(mirror: fk.Mirror, register: Watched) -> None:
    """A sync that brings nothing is one all the same: the mirror is in step as of its day."""
    began = register.today
    next_day(register, 30)

    report = mirror.sync()

    assert report.select("new", "changed", "gone").sum().row(0) == (0, 0, 0)
    assert mirror.today == register.today > began


def test_an_increment_fetches_what_changed(mirror: fk.Mirror, register: Watched) -> None:
    """The window is the day before the last sync started; only what changed since is fetched."""
    started = register.today
    next_day(register, 30)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids[:5])
    register.sample.delete(ids[5:7])
    register.sample.hide(ids[7:8])
    new = register.sample.publish(2, kraj="SK010")["id"]
    register.asked.clear()

    report = mirror.sync()

    assert report.row(0)[:5] == ("units", started - timedelta(days=1), 2, 5, 3)
    assert len(register.records()) < 60
    assert set(new) <= set(register.records())
    assert_in_step(mirror, register.sample)


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (KeyboardInterrupt(), 170),
        *slow((Reply(403, {}, b"<p>Forbidden"), 170), (KeyboardInterrupt(), 1)),
    ],
)
def test_an_interrupted_sync_resumes_and_fetches_nothing_twice(
    new: fk.Mirror, register: Watched, number: int, error: BaseException | Reply
) -> None:
    """What came is kept; the next sync resumes behind it and fetches nothing twice."""
    fail_at(register, number, error)
    with pytest.raises((fk.RegisterError, Interrupted), match=r"the next sync\(\) resumes"):
        new.sync()
    with pytest.raises(MirrorError, match="no complete sync yet"):
        new.snapshot()
    well(register)
    first = register.records()
    register.asked.clear()
    new.sync()

    assert_in_step(new, register.sample)
    assert len(first) == number
    rest = register.sample.units.ids()["id"][number - 1 :].to_list()
    assert register.records()[: len(rest)] == rest  # then comes what changed since
    assert len(register.records()) < len(rest) + 50


@pytest.mark.slow
def test_a_sync_that_was_cut_off_shows_nothing_of_itself(
    mirror: fk.Mirror, register: Watched
) -> None:
    """What it has written is in no answer until it is done: counts fit the day they cite."""
    before, units = mirror.cite(), mirror.units.get(mirror.units.ids())
    next_day(register, 20)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids[:30])
    register.sample.publish(5)
    fail_at(register, 20, Reply(403, {}, b"<p>Forbidden"))
    with pytest.raises(fk.RegisterError):
        mirror.sync()

    for reader in (mirror, fk.Mirror(mirror.path)):
        assert_frame_equal(reader.units.get(reader.units.ids()), units)
        assert (reader.units.count(), reader.cite()) == (UNITS, before)
        assert reader.snapshot().select(pl.len()).collect().item() == UNITS
        assert reader.changes().is_empty()
    well(register)
    mirror.sync()
    assert mirror.units.count() == UNITS + 5


def test_a_clock_that_is_set_back_does_not_prolong_a_budget(tmp_path: Path) -> None:
    """A budget is measured by a clock that nobody sets."""
    sample, seconds = fk.sample(UNITS, seed=SEED), count()

    def wall() -> float:
        return 1_800_000_000 - 86_400.0 * next(seconds)

    def answer(method: str, path: str, query: str) -> Reply:
        clock.now += 1
        wall()
        return sample._answer(method, path, query)

    clock = FakeClock()
    timing = replace(clock.timing(), wall=wall)
    register = Register("watched:", rate=None, transport=InProcess(answer, timing))
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    report = mirror.sync(budget=20)

    assert 10 < report["requests"].sum() < UNITS // 2
    with pytest.raises(MirrorError, match="no complete sync yet"):
        mirror.units.count()


@pytest.mark.slow
def test_the_window_only_moves_at_the_end(mirror: fk.Mirror, register: Watched) -> None:
    """A run that was cut off keeps its window and the day on which it started."""
    started = register.today
    next_day(register, 20)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids[:50])
    fail_at(register, 40, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        mirror.sync()
    well(register)
    second = register.today
    # Behind the cursor, while the run was interrupted: no walk of this run meets it.
    next_day(register, 5)
    register.sample.touch(ids[:3])
    # Before the cursor, and later: no reason to ask for less.
    next_day(register, 15)
    register.sample.touch(ids[45:48])

    assert mirror.sync().row(0)[1] == started - timedelta(days=1)
    assert_in_step(mirror, register.sample)
    windows = [query for query in register.asked if query.startswith("/api/vyrocne-spravy")]
    assert f"zmenene-od={second - timedelta(days=1)}" in windows[-1]


@pytest.mark.parametrize("when", ["during", *slow("before", "after")])
def test_what_changes_during_a_walk_comes_with_the_next_sync(
    mirror: fk.Mirror, register: Watched, when: str
) -> None:
    """Days are the register's grain: what changes while it is walked comes with the next sync."""
    next_day(register, 10)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids)
    chosen, number = int(ids[100]), {"before": 5, "during": 101, "after": 200}[when]
    count = iter(range(1, 10**9))

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and next(count) == number:
            register.sample.delete(chosen)
        return None

    register.instead = instead
    mirror.sync()
    well(register)
    mirror.sync()

    assert_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Reply(200, {}, b'{"id":1}'), id="another record"),
        pytest.param(Reply(500, {}, b""), id="500", marks=pytest.mark.slow),
        pytest.param(Reply(404, {}, b""), id="404", marks=pytest.mark.slow),
        pytest.param(Reply(400, {}, b"{}"), id="400", marks=pytest.mark.slow),
    ],
)
def test_a_record_that_cannot_be_read_is_tried_again(
    new: fk.Mirror, register: Watched, answer: Reply
) -> None:
    """It holds back only itself, is listed, and is tried again until it can be read."""
    id_ = int(register.sample.units.ids()["id"][168])
    target = f"id={id_}"
    register.instead = lambda path, query: answer if (path, query) == (RECORD, target) else None

    report = new.sync()
    before = contents(new.path)
    again = new.sync()

    assert report.row(0)[2] + report.row(0)[4] == UNITS - 1
    assert (report["unreadable"][0], again["unreadable"][0]) == (1, 1)
    assert new.unreadable()["id"].to_list() == [id_]
    assert new.unreadable()["problem"][0]
    assert contents(new.path) == before
    assert id_ not in new.snapshot().collect()["id"]
    next_day(register, 30)
    well(register)
    assert new.sync().row(0)[2:6] == (1, 0, 0, 0)
    assert_in_step(new, register.sample)
    assert new.unreadable().height == 0


@pytest.mark.slow
def test_what_is_tried_again_moves_no_cursor(new: fk.Mirror, register: Watched) -> None:
    """A sync cut off after its second attempts has still to walk its list from the start."""
    late = int(register.sample.units.ids()["id"][237])
    target = f"id={late}"
    register.instead = lambda path, query: Reply(404, {}, b"") if query == target else None
    new.sync()
    next_day(register, 5)
    register.sample.touch(register.sample.units.ids(limit=120))
    next_day(register, 5)
    register.sample.touch(late)
    fail_at(register, 2, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        new.sync()
    well(register)
    new.sync()

    assert_in_step(new, register.sample)


@pytest.mark.slow
def test_a_version_that_cannot_be_read_hides_nothing(mirror: fk.Mirror, register: Watched) -> None:
    """What was known of the unit stays until its new version can be read."""
    id_ = int(register.sample.units.ids()["id"][0])
    before = mirror.units.get(id_)
    next_day(register)
    register.sample.touch(id_)
    target = f"id={id_}"
    register.instead = lambda path, query: Reply(200, {}, b"{}") if query == target else None
    mirror.sync()

    assert_frame_equal(mirror.units.get(id_), before)
    assert id_ in mirror.unreadable()["id"]
    well(register)
    assert mirror.sync().row(0)[3] == 1
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_an_outage_is_not_the_records_fault(new: fk.Mirror, register: Watched) -> None:
    """When three records in a row cannot be had the sync stops, and marks none of them."""
    count = iter(range(10**9))
    register.instead = lambda path, query: (
        Reply(503, {}, b"") if path == RECORD and next(count) >= 150 else None
    )
    with pytest.raises(RegisterUnavailable, match=r"the next sync\(\) resumes"):
        new.sync()
    well(register)
    asked = len(set(register.records()))
    register.asked.clear()
    report = new.sync()

    assert asked == 153
    assert register.records()[0] == register.sample.units.ids()["id"][150]
    assert report["unreadable"][0] == 0
    assert_in_step(new, register.sample)


def test_a_sync_over_midnight_belongs_to_the_day_on_which_it_was_done(
    mirror: fk.Mirror, register: Watched
) -> None:
    """The day before is still that of the sync before it."""
    before, ids = register.today, mirror.units.ids()
    next_day(register)
    register.sample.publish(3)

    def instead(path: str, query: str) -> Reply | None:
        if path == "/api/kraje" and register.today == before + timedelta(days=1):
            next_day(register)
        return None

    register.instead = instead
    mirror.sync()

    assert register.today == before + timedelta(days=2)
    assert_frame_equal(mirror.as_of(before + timedelta(days=1)).units.ids(), ids)
    assert mirror.as_of(register.today).units.count() == len(ids) + 3
    assert mirror.today == before + timedelta(days=1)  # on which it began


@pytest.mark.slow
def test_vanished_units_are_found_by_a_full_sync(mirror: fk.Mirror, register: Watched) -> None:
    """Only a full sync can find them; more than 1 % are not believed unasked."""
    ids = register.sample.units.ids()["id"]
    register.sample.vanish(ids[:2])
    assert mirror.sync()["gone"][0] == 0
    assert mirror.sync(full=True)["gone"][0] == 2
    assert_in_step(mirror, register.sample)

    register.sample.vanish(ids[100:200])
    with pytest.raises(ProtocolError, match=r"no longer lists 100 of 238.*max_missing=100"):
        mirror.sync(full=True)
    assert mirror.snapshot().filter(pl.col("gone") == "missing").collect().height == 2
    assert mirror.sync(full=True, max_missing=100)["gone"][0] == 100
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_a_full_sync_ends_what_was_cut_off(tmp_path: Path) -> None:
    """Also where the run that was cut off left it nothing to write."""
    register = Watched(fk.sample(100))
    mirror = fk.Mirror(tmp_path, register=register)
    mirror.sync()
    register.sample.touch(register.sample.units.ids(limit=50))

    def interrupt(path: str, query: str) -> Reply | None:
        if path == "/api/vyrocne-spravy":
            raise KeyboardInterrupt
        return None

    register.instead = interrupt
    with pytest.raises(Interrupted):
        mirror.sync()
    well(register)
    mirror.sync(full=True)
    before = contents(mirror.path)
    mirror.sync()

    assert_in_step(mirror, register.sample)
    assert contents(mirror.path) == before


@pytest.mark.slow
def test_a_cursor_above_all_ids_loses_nothing(new: fk.Mirror, register: Watched) -> None:
    """A run was cut off, and what its cursor points to and all above it are no more."""
    ids = register.sample.units.ids()["id"]
    fail_at(register, 240, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        new.sync()
    well(register)
    register.sample.vanish(ids[238:])
    new.sync()
    new.sync(full=True)

    assert_in_step(new, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize("days", [-400, 400])
def test_a_changed_clock_costs_no_change(new: fk.Mirror, register: Watched, days: int) -> None:
    """A clock that was wrong during a sync, by a year either way, costs no change."""
    sample, right = register.sample, register.today
    ids = sample.units.ids()["id"]
    sample.touch(ids[:1])
    sample.set_today(right + timedelta(days=days))
    new.sync()
    for clock in (0, days, days):  # it is put right, or stays wrong
        right += timedelta(days=2)
        sample.touch(ids[5:20], on=right)
        sample.set_today(right + timedelta(days=clock))
        new.sync()
        assert_in_step(new, sample)


@pytest.mark.slow
def test_a_codelist_that_shrinks_to_nothing_is_kept(mirror: fk.Mirror, register: Watched) -> None:
    """It is kept and counted; when the register has it again all is as before."""
    regions = mirror.regions()
    register.instead = lambda path, query: (
        Reply(200, {}, b'{"lokacie":[]}') if path == "/api/kraje" else None
    )
    report = mirror.sync()

    assert report.row(4)[0] == "codelists"
    assert report["unreadable"][4] == 1
    assert_frame_equal(mirror.regions(), regions)
    broken = Reply(200, {}, b'{"lokacie":7}')
    register.instead = lambda path, query: broken if path == "/api/kraje" else None
    assert mirror.sync()["unreadable"][4] == 1
    well(register)
    assert mirror.sync()["unreadable"][4] == 0
    assert_in_step(mirror, register.sample)


def test_changed_codelists_are_counted_and_used(mirror: fk.Mirror, register: Watched) -> None:
    """New, changed and dropped entries are counted, and the labels are the new ones."""
    body = json.loads(register.sample._answer("GET", "/api/kraje", "").body)
    body["lokacie"][0]["nazov"]["en"] = "Another"
    body["lokacie"][1]["kod"] = "SK099"
    reply = Reply(200, {}, json.dumps(body).encode())
    register.instead = lambda path, query: reply if path == "/api/kraje" else None

    report = mirror.sync()

    assert report.row(4)[2:6] == (1, 1, 1, 0)
    assert "Another" in mirror.regions()["name_en"].to_list()


def test_codelists_that_change_alone_are_observed(
    mirror: fk.Mirror, register: Watched, matrix: Told
) -> None:
    """They are seen at once by the same object and by readers, with and without refresh."""
    reader = fk.Mirror(mirror.path)
    frame = pl.DataFrame({"kraj": ["SK010"]})
    for each in (mirror, reader):
        each.regions()
        assert each.resolve_labels(frame)["region"][0] == "Bratislavský kraj"
    body = json.loads(register.sample._answer("GET", "/api/kraje", "").body)
    first = next(entry for entry in body["lokacie"] if entry["kod"] == "SK010")
    first["nazov"]["sk"] = "Bratislavský KRAJ"  # as many bytes as before
    reply = Reply(200, {}, json.dumps(body).encode())
    register.instead = lambda path, query: reply if path == "/api/kraje" else None
    before = newest_run(mirror.path)["files"]
    mirror.sync()

    after = newest_run(mirror.path)["files"]
    assert {name for name in after if after[name] != before[name]} == {"codelists"}
    for each in (mirror, reader):
        assert "Bratislavský KRAJ" in each.regions()["name_sk"].to_list()
        assert each.resolve_labels(frame)["region"][0] == "Bratislavský KRAJ"
        assert "Bratislavský KRAJ" in each.regions(refresh=True)["name_sk"].to_list()
        assert "Bratislavský KRAJ" in each.locations()["name_sk"].to_list()
    matrix("codelists that change alone", "seen at once, by readers too", "seen")


@pytest.mark.slow
def test_a_new_field_is_left_out(new: fk.Mirror, register: Watched) -> None:
    """A field that nobody knows yet is left out, and breaks nothing."""

    def instead(path: str, query: str) -> Reply | None:
        if path != RECORD:
            return None
        reply = register.sample._answer("GET", path, query)
        return reply._replace(body=reply.body[:-1] + b',"novy":{"x":[1]}}')

    register.instead = instead
    new.sync()
    assert_in_step(new, register.sample)


@pytest.mark.slow
def test_an_increment_of_everything_keeps_the_day_before(
    mirror: fk.Mirror, register: Watched
) -> None:
    """Everything changes at once: all of it comes, and the one before stays to be looked at."""
    first = register.today
    before = mirror.snapshot().collect().sort("id")
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    report = mirror.sync()

    assert report.row(0)[3] + report.row(0)[4] == UNITS
    assert_in_step(mirror, register.sample)
    assert_frame_equal(mirror.as_of(first).snapshot().collect().sort("id"), before)


@pytest.mark.slow
def test_batches_are_a_minute_of_requests(tmp_path: Path) -> None:
    """At a polite rate little is lost when the machine is switched off."""
    register = Watched(fk.sample(300), page_size=200, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()

    assert len(mirror.files("units")) == 300 // 60 + 1  # pages of 200 and 100: 4 and 2 batches
    assert_in_step(mirror, register.sample)


def test_an_interruption_in_the_codelists_is_told_as_in_a_list(
    mirror: fk.Mirror, register: Watched
) -> None:
    """Ctrl-C and an outage say that the next sync resumes."""
    answer: list[BaseException | Reply] = [KeyboardInterrupt(), Reply(500, {}, b"")]

    def instead(path: str, query: str) -> Reply | None:
        if path != "/api/kraje":
            return None
        if isinstance(answer[0], Reply):
            return answer[0]
        raise answer[0]

    register.instead = instead
    with pytest.raises(Interrupted, match=r"interrupted; .* the next sync\(\) resumes"):
        mirror.sync()
    del answer[0]
    with pytest.raises(RegisterUnavailable, match=r"the next sync\(\) resumes"):
        mirror.sync()


def test_a_codelist_that_is_empty_at_first_is_an_empty_list(
    new: fk.Mirror, register: Watched
) -> None:
    """And no error later."""
    register.instead = lambda path, query: (
        Reply(200, {}, b'{"lokacie":[]}') if path == "/api/kraje" else None
    )
    new.sync()

    assert new.regions().is_empty()
    assert new.regions().columns == register.sample.regions().columns
    assert new.districts().height == register.sample.districts().height
    well(register)
    new.sync()
    assert_in_step(new, register.sample)


def test_a_budget_shorter_than_the_lists_makes_progress(tmp_path: Path) -> None:
    """Each sync goes on with a list at the id that it named last, and requests no page twice."""
    register = Watched(fk.sample(60), page_size=20, rate=1)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    syncs = 0
    while not list(mirror.path.glob("newest.json")):
        mirror.sync(budget="20s")
        syncs += 1
    pages = [target for target in register.asked if "pokracovat-za-id" in target]

    assert 5 < syncs < 20
    assert len(pages) == len(set(pages))
    mirror.sync()
    assert_in_step(mirror, register.sample)


def test_what_changes_between_two_parts_of_a_sync_comes_with_the_second(tmp_path: Path) -> None:
    """Days later, below the id where the list was cut off, and among what had come."""
    register = Watched(fk.sample(60), page_size=20)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    next_day(register)
    ids = register.sample.units.ids()["id"]
    register.sample.touch(ids)
    fail_at(register, 30, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        mirror.sync()
    well(register)
    next_day(register, 5)
    register.sample.delete(ids[:2])
    register.sample.file(ids[5:6], year=2025)
    mirror.sync()

    assert_in_step(mirror, register.sample)


def test_a_field_that_a_later_version_adds_changes_no_digest(register: Watched) -> None:
    """It is null in the rows of before: they are not stored once more."""
    records = register.sample.units.get(register.sample.units.ids(limit=5))
    later = records.with_columns(novePole=pl.lit(None, pl.String))

    assert answers_of(later)["digest"].equals(answers_of(records)["digest"])
    assert answers_of(records)["digest"].n_unique() == 5


def test_the_first_sync_is_no_change(tmp_path: Path) -> None:
    """Whenever its points were, and however often it was cut off."""
    register = Watched(fk.sample(8), page_size=20)
    fail_at(register, 5, KeyboardInterrupt())
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    with pytest.raises(Interrupted):
        mirror.sync()
    well(register)
    mirror.sync()

    assert mirror.changes().is_empty()
    next_day(register)
    register.sample.publish(1)
    mirror.sync()
    assert mirror.changes()["field"].to_list() == ["id"]
