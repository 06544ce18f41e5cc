"""The mirror: what it answers, what it changes, what it refuses."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from finstat_kit.protocol import wire
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.support.mirrors import assert_in_step, newest_run, points
from tests.support.registers import Watched
from tests.support.syncs import RECORD, SEED, UNITS, next_day, register_of_syncs

a_register = register_of_syncs


def test_changes_are_one_row_per_field(mirror: fk.Mirror, register: Watched) -> None:
    """Each changed field is a row; new, gone and returned units are one row each."""
    first = register.today
    next_day(register)
    new = int(register.sample.publish(1, kraj="SK010", nazovUJ="A")["id"][0])
    touched, gone = register.sample.units.ids(limit=2)["id"]
    before = mirror.units.get(touched)["datumPoslednejUpravy"][0]
    register.sample.touch(touched)
    register.sample.delete(gone)
    mirror.sync()
    second = register.today

    assert mirror.changes().rows() == [
        (touched, "datumPoslednejUpravy", str(before), str(second), second),
        (gone, "gone", None, "deleted", second),
        (new, "id", None, str(new), second),
    ]
    assert mirror.changes(second + timedelta(days=1)).height == 0
    assert mirror.changes(first).schema == mirror.changes(second + timedelta(days=1)).schema


@pytest.mark.slow
def test_a_unit_that_comes_back_is_two_changes(new: fk.Mirror, register: Watched) -> None:
    """It was there, is missing, and is there again: two changes."""
    id_ = int(register.sample.units.ids(limit=1)["id"][0])
    new.sync()
    before = new.units.get(id_)
    register.sample.vanish(id_)
    new.sync(full=True)
    assert new.snapshot().filter(pl.col("gone") == "missing").collect()["id"].to_list() == [id_]
    with pytest.raises(fk.errors.NotFound) as caught:
        new.units.get(id_)
    assert caught.value.ids == [id_]
    register.sample = fk.sample(UNITS, seed=SEED)  # as it was made, with the unit
    new.sync(full=True)

    assert_frame_equal(new.units.get(id_), before)
    assert new.changes().select("field", "old", "new").rows() == [
        ("gone", None, "missing"), ("gone", "missing", None),
    ]  # fmt: skip


def test_as_of_shows_the_last_sync_of_that_day(mirror: fk.Mirror, register: Watched) -> None:
    """A day shows what the last sync completed by then had seen."""
    first = register.today
    states = {}
    for _ in range(3):
        next_day(register, 10)
        register.sample.touch(register.sample.units.ids(limit=20))
        mirror.sync()
        states[register.today] = mirror.snapshot().collect().sort("id")

    for day, state in states.items():
        for later in (0, 9) if day < register.today else (0,):
            frozen = mirror.as_of(day + timedelta(days=later)).snapshot()
            assert_frame_equal(frozen.collect().sort("id"), state)
    assert mirror.as_of(str(first)).snapshot().collect()["seen"].max() == first
    with pytest.raises(fk.UsageError, match=f"completed on {first}"):
        mirror.as_of(first - timedelta(days=1))


@pytest.mark.parametrize("days", [-1, 1, 400])
def test_a_day_before_the_first_sync_or_after_the_last_is_refused(
    mirror: fk.Mirror, days: int
) -> None:
    """A later sync would change the latter."""
    with pytest.raises(fk.UsageError, match="completed on 2026-06-30"):
        mirror.as_of(mirror.today + timedelta(days=days))


def test_a_mirror_answers_in_place_of_the_register(mirror: fk.Mirror, register: Watched) -> None:
    """All names answer from disk, and ask the register nothing."""
    register.asked.clear()
    sample = register.sample
    some = sample.units.ids(limit=30)

    with fk.using(mirror):
        for filters in ({}, {"changed_since": "2026-06-01"}, {"legal_form_code": "112"}):
            assert fk.units.count(**filters) == sample.units.count(**filters)  # type: ignore[arg-type]
            assert_frame_equal(fk.units.ids(**filters), sample.units.ids(**filters))  # type: ignore[arg-type]
        one = sample.units.get(some).filter(pl.col("ico").is_not_null())[0]
        for name in ("ico", "dic"):
            value = one[name][0]
            assert_frame_equal(fk.units.ids(**{name: value}), sample.units.ids(**{name: value}))
        assert_frame_equal(
            pl.concat(fk.units.pages(page_size=70, after_id=500)),
            pl.concat(sample.units.pages(page_size=70, after_id=500)),
        )
        assert_frame_equal(fk.units.get(some.reverse()), sample.units.get(some.reverse()))
        assert_frame_equal(fk.units.scan().collect(), sample.units.scan().collect())
        found = []
        for units in (fk.units, sample.units):
            scan = units.scan(changed_since="2025-01-01").filter(pl.col("id") < 100_000)
            found.append(scan.select("kraj", "id").collect())
        assert_frame_equal(*found)
        counted = fk.count_by(mirror.snapshot(), "kraj")
        with pytest.raises(fk.UsageError, match="leave out changed_since"):
            fk.statements.count(changed_since="2026-01-01")
        with pytest.raises(fk.UsageError, match="ids alone"):
            fk.reports.get(1)
        for collection in (fk.statements, fk.reports):
            with pytest.raises(fk.UsageError, match="ids alone"):
                collection.scan().collect()
        assert set(fk.doctor()["status"]) == {"ok"}
    assert_frame_equal(counted, sample.count_by(sample.units.scan().collect(), "kraj"))
    assert not register.asked


def test_records_that_are_not_there_are_named_as_by_a_register(
    mirror: fk.Mirror, register: Watched
) -> None:
    """As a register has it: an error with the others, or a row of the id alone."""
    here = int(register.sample.units.ids(limit=1)["id"][0])

    with pytest.raises(fk.errors.NotFound) as caught:
        mirror.units.get([here, 1, here, 2])
    assert caught.value.ids == [1, 2]
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [here]
    kept = mirror.units.get([1, here], errors="keep")
    assert kept["id"].to_list() == [1, here]
    assert kept.drop("id").row(0) == (None,) * 22


@pytest.mark.slow
def test_an_ico_of_twelve_digits_is_found(tmp_path: Path) -> None:
    """It is found by all of its digits, and by no others."""
    sample = fk.sample(30)
    for ico in ("000012345678", "123456789012", "12345678", "00000001"):
        sample.publish(1, ico=ico)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()

    for ico in ("000012345678", "123456789012", "12345678", "00000001", "000000000001"):
        ids = sample.units.ids(ico=ico)
        assert ids.height == (ico != "000000000001")
        assert_frame_equal(mirror.units.ids(ico=ico), ids)
        assert mirror.units.count(ico=ico) == ids.height


@pytest.mark.slow
def test_a_reader_during_a_sync_sees_nothing_of_it(tmp_path: Path, first: Path) -> None:
    """It sees what the last sync left, until this one is done; batches are appended meanwhile."""
    register = Watched(fk.sample(UNITS, seed=SEED), page_size=100, rate=100 / 60)
    mirror = fk.Mirror(shutil.copytree(first, tmp_path / "ruz"), register=register)
    next_day(register)
    register.sample.touch(register.sample.units.ids())
    reader = fk.Mirror(mirror.path)
    seen: list[int] = []
    rows: list[int] = []

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and len(register.asked) % 40 == 0:
            today = pl.col("seen") == register.today
            units = reader.snapshot().collect()
            assert units.height == reader.units.count() == UNITS
            seen.append(units.filter(today).height)
            upto = points(mirror.path)[-1]["upto"]["units"]
            files = newest_run(mirror.path)["files"]["units"]
            rows.append(sum(f["rows"] for f in files if f["first"] > upto and not f["names"]))
        return None

    register.instead = instead
    mirror.sync()

    assert set(seen) == {0}
    assert set(rows) == {0, 100, 200}
    assert reader.snapshot().filter(pl.col("seen") == register.today).collect().height == UNITS


def test_a_second_writer_is_refused(new: fk.Mirror, register: Watched) -> None:
    """It is told so, and touches nothing."""
    told: list[str] = []

    def instead(path: str, query: str) -> Reply | None:
        if not told:
            with pytest.raises(MirrorError) as caught:
                fk.Mirror(new.path, register=fk.sample(10)).sync()
            told.append(str(caught.value))
        return None

    register.instead = instead
    new.sync()

    assert "is being written by another process" in told[0]
    assert_in_step(new, register.sample)


def test_wrong_use_is_refused_with_the_cure(
    new: fk.Mirror, register: Watched, tmp_path: Path
) -> None:
    """What cannot be meant is refused, with the cure."""
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: fk.Mirror(tmp_path / "none").sync(), fk.UsageError, "no register is chosen"),
        (lambda: fk.Mirror(tmp_path / "none").snapshot(), MirrorError, r"no mirror.*sync\(\)"),
        (lambda: new.snapshot("unit"), fk.UsageError, "collection='unit'"),  # type: ignore[arg-type]
        (lambda: fk.Mirror(tmp_path / "none").cite(), MirrorError, r"no mirror in"),
        (lambda: fk.Mirror(tmp_path / "none").verify(), MirrorError, r"no mirror in"),
        (lambda: fk.Mirror(""), fk.UsageError, "path=''"),
        (lambda: fk.Mirror("a\0b"), fk.UsageError, "path="),
        (lambda: fk.Mirror(None), fk.UsageError, "path=None"),  # type: ignore[arg-type]
        (lambda: new.sync(max_missing=-1), fk.UsageError, "max_missing=-1"),
        (lambda: new.changes("today"), fk.UsageError, "since='today'"),
        (lambda: new.as_of(5), fk.UsageError, "day=5"),  # type: ignore[arg-type]
    ]  # fmt: skip
    new.sync()
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
    assert not (tmp_path / "none").exists()
    with fk.using(new), pytest.raises(fk.UsageError, match=r"not with a mirror"):
        fk.Mirror(tmp_path / "y").sync()
    with pytest.raises(
        fk.UsageError, match=r"is of finstat_kit sample; seed=14; units=240, not of https"
    ):
        fk.Mirror(new.path, register="https://register.example").sync()


def test_a_mirror_of_a_sample_says_so(tmp_path: Path) -> None:
    """A mirror of invented data says so; a footnote has its day."""
    register = fk.sample(100)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    assert repr(mirror) == f"<Mirror {tmp_path / 'ruz'} of nothing yet, no complete sync yet>"
    mirror.sync()

    assert repr(mirror) == (
        f"SAMPLE DATA <Mirror {tmp_path / 'ruz'} of finstat_kit sample; seed=0; units=100, "
        "copied as of 2026-06-30>"
    )
    assert mirror.today == date(2026, 6, 30)
    assert mirror.invented
    assert mirror.cite() == "Vymyslené údaje ukážky finstat_kit, kópia k 2026-06-30."


@pytest.mark.slow
def test_a_mirror_of_the_real_register_names_it(tmp_path: Path) -> None:
    """Replies that do not say that their data are invented, at the register's own address."""

    def real(method: str, path: str, query: str) -> Reply:
        reply = sample._answer(method, path[path.index("/api") :], query)
        headers = {k: v for k, v in reply.headers.items() if k != wire.INVENTED}
        return reply._replace(headers=headers)

    sample = fk.sample(100)
    register = fk.Register(fk.LIVE, rate=None, transport=InProcess(real))
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()

    assert mirror.cite(lang="en").endswith(f"{fk.LIVE}, CC0, copied as of {mirror.today}.")
    assert mirror.cite(lang="sk").endswith(f"{fk.LIVE}, licencia CC0, kópia k {mirror.today}.")
    assert repr(mirror).startswith(f"<Mirror {tmp_path / 'ruz'} of {fk.LIVE}")
    assert not mirror.invented


def test_a_snapshot_of_another_collection_is_its_ids(mirror: fk.Mirror, register: Watched) -> None:
    """The ids of the other lists, today's and those of a former day."""
    first = register.today
    next_day(register)
    register.sample.file(register.sample.units.ids(limit=1), year=2025)
    mirror.sync()

    held = {
        "statements": mirror.snapshot("statements").collect(),
        "reports": mirror.snapshot("reports").collect(),
        "annual_reports": mirror.snapshot("annual_reports").collect(),
    }
    for name, frame in held.items():
        assert frame.columns == ["id", "gone", "seen"]
        assert frame["id"].sort().to_list() == getattr(register, name).ids()["id"].to_list()
        before = mirror.as_of(first).snapshot(name).collect()  # type: ignore[arg-type]
        assert before["id"].sort().to_list() == frame.filter(seen=first)["id"].sort().to_list()
    assert mirror.as_of(first).snapshot("statements").collect().height < held["statements"].height


def test_the_health_check_of_a_mirror_says_the_cure_of_a_mirror(tmp_path: Path) -> None:
    """There is no network to look at."""
    line = fk.doctor(register=fk.Mirror(tmp_path / "none")).row(0, named=True)

    assert line["status"] == "fail"
    assert line["seen"].startswith("there is no mirror in")
    assert line["meaning"] == "sync() creates one, or give another folder"
