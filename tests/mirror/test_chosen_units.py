"""A mirror that keeps the contents of some units alone."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import RegisterWarning
from tests.support.mirrors import CONTENTS, RECORDS, assert_in_step
from tests.support.registers import Watched
from tests.support.syncs import next_day


@pytest.fixture
def register() -> Watched:
    return Watched(fk.sample(18, seed=1), page_size=100)


@pytest.fixture
def units(register: Watched) -> pl.DataFrame:
    """Return records of six units that exist and have filed."""
    records = register.sample.units.get(register.sample.units.ids())
    filed = pl.col("idUctovnychZavierok").list.len().fill_null(0) > 2
    found = records.filter(pl.col("stav").is_null(), filed)[:6]
    register.asked.clear()
    return found


@pytest.fixture
def mirror(tmp_path: Path, register: Watched, units: pl.DataFrame) -> fk.Mirror:
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, only=units[:3], register=register)
    mirror.sync()
    return mirror


def owned(sample: fk.Register, units: pl.DataFrame) -> dict[str, set[int]]:
    """Return the ids that belong to units, as the register has them now."""
    now = sample.units.get(units["id"])
    found = {
        "statements": set(now["idUctovnychZavierok"].explode().drop_nulls()),
        "annual_reports": set(now["idVyrocnychSprav"].explode().drop_nulls()),
    }
    records = [getattr(sample, name).get(sorted(ids)) for name, ids in found.items()]
    named = pl.concat(frame.select("idUctovnychVykazov").explode(pl.all()) for frame in records)
    return {**found, "reports": set(named["idUctovnychVykazov"].drop_nulls())}


def requested(register: Watched) -> dict[str, set[int]]:
    """Return which records beside units were requested since the last look."""
    paths = {path: name for name, path in RECORDS.items()}
    found: dict[str, set[int]] = {name: set() for name in CONTENTS}
    for target in register.asked:
        path, _, query = target.partition("?id=")
        if path in paths and paths[path] in found:
            found[paths[path]].add(int(query))
    register.asked.clear()
    return found


def assert_figures(mirror: fk.Mirror, register: Watched, units: pl.DataFrame) -> None:
    """See that a mirror answers all of some units without a request, and of no others."""
    assert_figures_of(mirror, register, units)
    ids = register.sample.units.ids()["id"]
    reasons = mirror.financials(ids.filter(~ids.is_in(units["id"].implode())), 2018)["reason"]
    assert set(reasons) <= {"not_held", "no_filing", "deleted", "non_public"}
    assert "not_held" in reasons
    assert register.asked == []


def assert_figures_of(mirror: fk.Mirror, register: Watched, units: pl.DataFrame) -> None:
    register.asked.clear()
    wanted = register.sample.financials(units["id"].sort())
    assert wanted["total_assets"].is_not_null().sum() > 5
    assert_frame_equal(mirror.financials().select(wanted.columns).collect(), wanted)
    for name, ids in owned(register.sample, units).items():
        kept, whole = getattr(mirror, name), getattr(register.sample, name)
        assert_frame_equal(kept.get(sorted(ids)), whole.get(sorted(ids)))
    assert register.asked == []


@pytest.mark.slow
def test_the_contents_of_some_units(
    mirror: fk.Mirror, register: Watched, units: pl.DataFrame
) -> None:
    """All units are there, and of those named alone what they filed."""
    some = units[:3]
    wanted = owned(register.sample, some)
    assert requested(register) == wanted
    assert_figures(mirror, register, some)
    assert_in_step(mirror, register.sample)
    held = mirror.holdings().rows_by_key("collection", named=True, unique=True)
    assert {name: held[name]["listed"] for name in CONTENTS} == {
        name: len(ids) for name, ids in wanted.items()
    }
    assert mirror.holdings()["lacking"].sum() == 0
    assert_frame_equal(fk.Mirror(mirror.path).holdings(), mirror.holdings())
    assert "contents of 3 units" in repr(mirror)
    assert set(mirror.verify()["meaning"]) == {""}

    other = units["idUctovnychZavierok"][4].to_list()[:1]
    with pytest.raises(fk.UsageError, match=r"the contents of 3 units alone; .*only=units"):
        mirror.statements.get(other)
    with pytest.raises(fk.UsageError, match="are not held yet"):
        mirror.reports.scan().collect()


@pytest.mark.slow
def test_later_syncs_follow_these_units(
    mirror: fk.Mirror, register: Watched, units: pl.DataFrame
) -> None:
    """Also reopened without naming them: what they file and correct, and nothing of others."""
    some, before = units[:3], mirror.financials().collect()
    requested(register)
    day, sample = register.today, register.sample
    for _ in range(2):
        next_day(register)
        sample.file(units.select("id"), year=2025)
        sample.correct(units["idUctovnychZavierok"].list.first().drop_nulls())
        sample.touch(units.select("id")[3:])
        again = fk.Mirror(mirror.path, register=register)
        again.sync()

        found = requested(register)
        assert found["statements"]
        for name, ids in owned(sample, some).items():
            assert found[name] <= ids
        assert_figures(again, register, some)
    assert_in_step(again, sample)
    assert not before.equals(again.financials().collect())
    assert_frame_equal(again.as_of(day).financials().collect(), before)


@pytest.mark.slow
def test_units_can_be_added(mirror: fk.Mirror, register: Watched, units: pl.DataFrame) -> None:
    """What is missing is fetched, nothing again, and a former day stays as it was."""
    before, day = mirror.financials().collect(), register.today
    requested(register)
    next_day(register)
    wider = fk.Mirror(mirror.path, only=units["id"][2:5].to_list(), register=register)
    wider.sync()

    found, there = requested(register), owned(register.sample, units[:3])
    assert found["statements"]
    assert all(found[name].isdisjoint(there[name]) for name in CONTENTS)
    for reader in (wider, pickle.loads(pickle.dumps(fk.Mirror(mirror.path)))):
        assert_figures(reader, register, units[:5])
    assert_frame_equal(mirror.as_of(day).financials().collect(), before)
    small = wider.extract(mirror.path.parent / "small", units["id"][3:5])
    assert_frame_equal(small.financials().collect(), wider.financials(units["id"][3:5].sort()))
    with pytest.raises(fk.UsageError, match=r"are not held yet.* contents of 5 units alone"):
        wider.extract(mirror.path.parent / "other", units["id"][5])


@pytest.mark.slow
def test_the_budget_and_the_end(tmp_path: Path, register: Watched, units: pl.DataFrame) -> None:
    """What is not fetched yet is not held, and the next sync resumes with it."""
    slow = Watched(register.sample, page_size=100, rate=1.0)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, only=units[:3], register=slow)
    mirror.sync(budget=60)
    assert mirror.holdings()["lacking"].sum() > 0
    assert "not_held" in mirror.financials(year=2015).collect()["reason"]
    while mirror.holdings()["lacking"].sum():
        fk.Mirror(tmp_path / "ruz", register=slow).sync(budget="1min")
    mirror.sync()
    assert_figures_of(mirror, slow, units[:3])


@pytest.mark.slow
def test_the_list_of_units_outlives_a_loss_of_all_data(
    mirror: fk.Mirror, register: Watched, units: pl.DataFrame
) -> None:
    """It stands in the run: what is lost never makes it all units."""
    shutil.rmtree(mirror.path / "data")
    register.asked.clear()
    with pytest.warns(RegisterWarning, match="has lost"):
        fk.Mirror(mirror.path, register=register).sync()

    assert requested(register) == owned(register.sample, units[:3])
    assert_figures(mirror, register, units[:3])
    assert set(mirror.verify()["meaning"]) == {""}


@pytest.mark.slow
def test_what_cannot_be_kept(tmp_path: Path, register: Watched, units: pl.DataFrame) -> None:
    """Refused before anything is written, with the way out."""
    path = tmp_path / "ruz"
    with pytest.raises(fk.UsageError, match="only is for the contents of units; give contents="):
        fk.Mirror(path, only=units)
    with pytest.raises(fk.UsageError, match="there is no unit in it"):
        fk.Mirror(path, contents=True, only=[])
    with pytest.raises(fk.UsageError, match="statements name the reports of units"):
        fk.Mirror(path, contents="reports", only=units)
    with pytest.raises(fk.UsageError, match="the frame has no column 'id'"):
        fk.Mirror(path, contents=True, only=units.select("ico"))
    fk.Mirror(path, register=register).sync()
    assert fk.Mirror(path, contents=True, only=units, register=register).sync().height > 5
    whole = tmp_path / "whole"
    early = fk.Mirror(whole, contents=["statements"], only=units, register=register)
    fk.Mirror(whole, contents=["statements"], register=register).sync()
    for late in (lambda: fk.Mirror(whole, only=units), early.sync):
        with pytest.raises(fk.UsageError, match=r"keeps \['statements'\] of all units already"):
            late()
