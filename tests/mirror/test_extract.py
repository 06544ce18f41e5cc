"""An extract: a few units copied into a mirror of given units."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from finstat_kit.protocol.wire import Reply
from tests.support.mirrors import CODELISTS
from tests.support.registers import Watched

DAY = date(2026, 6, 30)


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror of two days, which no test changes."""
    register = fk.sample(100)
    mirror = fk.Mirror(tmp_path_factory.mktemp("whole") / "ruz", register=register)
    mirror.sync()
    register.set_today("2026-07-01")
    register.touch(register.units.ids(limit=5))
    mirror.sync()
    return mirror


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, mirror: fk.Mirror) -> fk.Register:
    """Give an extract of three units, which no test changes."""
    return mirror.extract(tmp_path_factory.mktemp("small") / "small", mirror.units.ids(limit=3))


def test_an_extract_answers_for_its_units(mirror: fk.Mirror, small: fk.Register) -> None:
    """Their records and all codelists are those of the mirror, and every byte has its checksum."""
    ids = mirror.units.ids(limit=3)
    with fk.using(small):
        units = fk.units.get(ids)
        counted = fk.count_by(units, "kraj")

    assert_frame_equal(units, mirror.units.get(ids))
    assert_frame_equal(counted, mirror.count_by(units, "kraj"))
    for name in CODELISTS:
        assert_frame_equal(small.codelist(name), mirror.codelist(name))
    assert small.today == mirror.today
    again = fk.Mirror(small.path)  # type: ignore[attr-defined]
    assert_frame_equal(again.snapshot().drop("gone", "seen").collect().sort("id"), units.sort("id"))
    assert set(again.verify()["meaning"]) == {""}


def test_an_extract_says_what_it_is(small: fk.Register) -> None:
    """Citation, title and repr name source, units and day."""
    assert small.cite(lang="en") == (
        "Invented data of a finstat_kit sample, given units: 3, copied as of 2026-07-01."
    )
    assert small.cite(lang="sk") == (
        "Vymyslené údaje ukážky finstat_kit, dané jednotky: 3, kópia k 2026-07-01."
    )
    assert "seed=0; units=100, given units: 3, copied as of 2026-07-01>" in repr(small)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, e, p: m.extract(p, [210]), fk.UsageError, "exists already; give the name"),
        (lambda m, e, p: m.extract(p / "y" / "x", [210]), fk.UsageError, "there is no folder"),
        (lambda m, e, p: m.extract(p / "x", []), fk.UsageError, "an extract needs units"),
        (lambda m, e, p: m.extract(p / "x", [210, 1]), fk.errors.NotFound,
         r"not in this mirror: \[1"),
        (lambda m, e, p: m.extract("", [210]), fk.UsageError, "is not a path"),
    ],
)  # fmt: skip
def test_what_is_refused_writes_nothing(
    mirror: fk.Mirror,
    small: fk.Register,
    tmp_path: Path,
    call: Callable[[fk.Mirror, fk.Register, Path], object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        call(mirror, small, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_extract_without_its_settings_stays_one(small: fk.Register, tmp_path: Path) -> None:
    """It is an error, and no sync turns it into a mirror of the whole register."""
    moved = Path(shutil.copytree(small.path, tmp_path / "small"))  # type: ignore[attr-defined]
    shutil.rmtree(moved / "runs")

    with pytest.raises(MirrorError, match=r"the runs of the mirror at .* are lost"):
        fk.Mirror(moved).snapshot()
    for full in (False, True):
        with pytest.raises(MirrorError, match=r"the runs of the mirror at .* are lost"):
            fk.Mirror(moved, register=fk.sample(100)).sync(full=full)
    assert not (moved / "runs").exists()


@pytest.mark.slow
def test_an_extract_of_a_day_between_two_syncs_answers(mirror: fk.Mirror, tmp_path: Path) -> None:
    """It is the state of the last sync by that day, and no sync of its own was later."""
    ids = mirror.units.ids(limit=3)
    frozen = fk.Mirror(mirror.path).as_of(DAY)
    path = shutil.copytree(mirror.path, tmp_path / "ruz")
    again = fk.sample(100)
    again.set_today("2026-07-09")
    fk.Mirror(path, register=again).sync()
    between = fk.Mirror(path).as_of("2026-07-05")
    small = between.extract(tmp_path / "small", ids)

    assert small.units.get(ids).equals(between.units.get(ids))
    assert small.today == between.today != frozen.today


@pytest.mark.slow
def test_an_extract_of_a_frozen_day_is_of_that_day(mirror: fk.Mirror, tmp_path: Path) -> None:
    """Its records are the former ones, and the day chooses it from the environment too."""
    ids = mirror.units.ids(limit=3)
    frozen = mirror.as_of(DAY)
    frozen.extract(tmp_path / "small", ids)

    with fk.using(f"mirror:{tmp_path / 'small'}@{DAY}") as small:
        assert_frame_equal(small.units.get(ids), frozen.units.get(ids))
        assert small.cite(lang="en").endswith("given units: 3, copied as of 2026-06-30.")
    assert not frozen.units.get(ids).equals(mirror.units.get(ids))
    again = fk.Mirror(tmp_path / "small")
    assert again.snapshot().select(pl.len()).collect().item() == 3


def test_an_extract_agrees_with_itself(mirror: fk.Mirror, tmp_path: Path) -> None:
    """As of its own day it holds what it holds, and of no other day."""
    small = mirror.extract(tmp_path / "small", mirror.units.ids(limit=3))
    assert isinstance(small, fk.Mirror)
    then = small.as_of(small.today)

    for name in ("units", "statements", "reports", "annual_reports"):
        now = small.snapshot(name).collect().sort("id")
        assert_frame_equal(then.snapshot(name).collect().sort("id"), now)
    ids = small.snapshot().select("id").collect()
    assert_frame_equal(then.units.get(ids), small.units.get(ids))
    assert then.cite() == small.cite()
    with pytest.raises(fk.UsageError, match="first sync of this mirror was completed on"):
        small.as_of(DAY)


def test_an_extract_can_be_moved_and_is_small(small: fk.Register, tmp_path: Path) -> None:
    """Nothing in it depends on where it lies; it fits into a repository."""
    moved = Path(shutil.copytree(small.path, tmp_path / "elsewhere"))  # type: ignore[attr-defined]

    assert fk.Mirror(moved).snapshot().collect().height == 3
    assert sum(file.stat().st_size for file in moved.rglob("*") if file.is_file()) < 100_000
    assert (moved / ".gitattributes").read_text() == "* -text\n"


@pytest.mark.slow
def test_an_extract_holds_the_newest_codelists_and_templates_alone(tmp_path: Path) -> None:
    """Each code once, as it is now, and no code that was removed."""
    register = Watched(fk.sample(5))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    body = json.loads(register.sample._answer("GET", "/api/kraje", "").body)
    removed = body["lokacie"].pop()["kod"]
    body["lokacie"][0]["nazov"]["en"] = "Another"
    reply = Reply(200, {}, json.dumps(body).encode())
    register.instead = lambda path, query: reply if path == "/api/kraje" else None
    mirror.sync()
    units = mirror.units.get(mirror.units.ids(limit=3))
    small = mirror.extract(tmp_path / "small", units)
    assert isinstance(small, fk.Mirror)

    assert_frame_equal(small.regions(), mirror.regions())
    assert removed not in small.regions()["code"]
    assert_frame_equal(small.resolve_labels(units), mirror.resolve_labels(units))
    stored = pl.read_parquet(small.files("codelists"))
    assert not stored.select("name", "code").is_duplicated().any()
    template = small.reports.get(_reports(small))["idSablony"][0]
    assert_frame_equal(small.template(template), mirror.template(template))


def _reports(small: fk.Mirror) -> pl.DataFrame:
    reports = small.snapshot("reports").filter(pl.col("idSablony").is_not_null())
    return reports.select("id").head(1).collect()
