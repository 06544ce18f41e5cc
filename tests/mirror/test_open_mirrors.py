"""What a mirror knows without a look at the disk: its day, its register, what it says of itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pytest

import finstat_kit as fk
from finstat_kit.errors import MirrorError, RegisterWarning
from tests.support.examples import slow
from tests.support.harm import FAULTS, delete, empty

DAY = date(2026, 7, 2)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a mirror of three days."""
    register = fk.sample(40)
    path = tmp_path_factory.mktemp("sound") / "ruz"
    mirror = fk.Mirror(path, register=register)
    for day in ("2026-07-01", str(DAY)):
        mirror.sync()
        register.set_today(day)
        register.touch(register.units.ids(limit=3))
    mirror.sync()
    return path


class Said(NamedTuple):
    """All that is said without a look at the disk."""

    today: date
    invented: bool | None
    text: str


def said(mirror: fk.Mirror) -> Said:
    return Said(mirror.today, mirror.invented, repr(mirror))


def expected(path: Path) -> Said:
    source = "finstat_kit sample; seed=0; units=40"
    text = f"SAMPLE DATA <Mirror {path} of {source}, copied as of 2026-07-02>"
    return Said(DAY, True, text)


KINDS = ["writer.lock", "newest.json", "data/*.parquet", "runs/*.json"]


@pytest.mark.slow
def test_every_file_of_a_mirror_is_of_a_kind(sound: Path) -> None:
    """No file of a mirror is left out of the tests below."""
    every = {file for file in sound.rglob("*") if file.is_file()}

    assert {file for kind in KINDS for file in sound.glob(kind)} == every


@pytest.mark.parametrize("fault", ["emptied", *slow(*(f for f in FAULTS if f != "emptied"))])
@pytest.mark.parametrize("kind", KINDS)
def test_an_open_mirror_outlives_a_damaged_file(
    sound: Path, tmp_path: Path, kind: str, fault: str
) -> None:
    """An open mirror says what it said; opened afterwards, its repr raises nothing."""
    files = [file.relative_to(sound) for file in sorted(sound.glob(kind))]
    assert files
    for number, file in enumerate(files):
        path = Path(shutil.copytree(sound, tmp_path / str(number)))
        mirror = fk.Mirror(path)
        FAULTS[fault](path / file)

        assert said(mirror) == expected(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RegisterWarning)  # the one before is read
            fresh = fk.Mirror(path)
        assert repr(fresh) == expected(path).text or file.parts[0] == "runs"
        assert fresh.today == DAY or file.parts[0] == "runs"


@pytest.mark.parametrize("harm", [delete, empty])
@pytest.mark.parametrize("name", ["", "data", "runs"])
def test_an_open_mirror_outlives_a_lost_folder(
    sound: Path, tmp_path: Path, name: str, harm: Callable[[Path], None]
) -> None:
    """The same of all data, of all runs, and of all of the mirror."""
    path = Path(shutil.copytree(sound, tmp_path / "ruz"))
    mirror = fk.Mirror(path)
    harm(path / name)

    assert said(mirror) == expected(path)
    assert repr(fk.Mirror(path))


def test_damage_at_opening_is_no_error_of_the_repr(sound: Path, tmp_path: Path) -> None:
    """It is an error of the property, as of all that reads, and none of the repr."""
    path = Path(shutil.copytree(sound, tmp_path / "ruz"))
    damaged = f"<Mirror {path}, damaged: see verify()>"
    shutil.rmtree(path / "runs")
    mirror = fk.Mirror(path)
    assert repr(mirror) == damaged
    with pytest.raises(MirrorError, match=r"runs of the mirror at .* are lost"):
        assert mirror.today
    with pytest.raises(MirrorError, match=r"runs of the mirror at .* are lost"):
        assert mirror.invented
    shutil.copytree(sound / "runs", path / "runs")
    assert said(mirror) == expected(path)


@pytest.mark.slow
def test_a_sync_of_another_process_is_observed(tmp_path: Path) -> None:
    """It is seen at opening, and by the next read of an object that was open."""
    sample = fk.sample(40)
    writer = fk.Mirror(tmp_path / "ruz", register=sample)
    early = fk.Mirror(tmp_path / "ruz")
    with pytest.raises(MirrorError, match="there is no mirror in"):
        assert early.today
    assert not early.invented
    writer.sync()
    assert early.today == date(2026, 6, 30)  # none was known, so it looked
    assert early.invented
    for day, read in (
        (date(2026, 7, 1), lambda: early.units.count()),
        (date(2026, 7, 2), lambda: early.statements.ids()),
        (date(2026, 7, 3), lambda: early.snapshot()),
        (date(2026, 7, 4), lambda: early.units.get(sample.units.ids(limit=1))),
        (date(2026, 7, 5), lambda: early.units.count(changed_since="2026-07-05")),
        (date(2026, 7, 6), lambda: early.units.count(changed_since="-1d")),
    ):
        before = early.today
        sample.set_today(day)
        writer.sync()
        assert writer.today == fk.Mirror(tmp_path / "ruz").today == day
        assert (early.today, f"as of {before}" in repr(early)) == (before, True)
        read()
        assert (early.today, f"as of {day}" in repr(early)) == (day, True)


@pytest.mark.parametrize("days", [[str(DAY)], ["2026-07-01", str(DAY)]])
def test_a_mirror_knows_its_own_sync(tmp_path: Path, days: list[str]) -> None:
    """What it has synced it knows, the first time too, also where all of it is lost at once."""
    sample = fk.sample(40)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    for day in days:
        sample.set_today(day)
        mirror.sync()
    shutil.rmtree(tmp_path / "ruz")

    assert said(mirror) == expected(tmp_path / "ruz")


FORKED = """
import os, signal, sys
import finstat_kit as fk

mirror = fk.Mirror(sys.argv[1])
mirror.units.count()
again = fk.Mirror(sys.argv[1], register=fk.sample(5))
for call in (lambda: again.sync(full=True), lambda: fk.Mirror(sys.argv[1]).units.count()):
    if os.fork() == 0:
        signal.alarm(30)
        try:
            call()
        except fk.RegisterError as error:
            print(error, flush=True)
        finally:
            os._exit(0)
    os.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_is_told_how_to_start_one(tmp_path: Path) -> None:
    """An error that can be caught, where polars waits for ever."""
    mirror = fk.Mirror(tmp_path / "ruz", register=fk.sample(5))
    mirror.sync()
    done = subprocess.run(
        [sys.executable, "-c", FORKED, mirror.path], capture_output=True, text=True, check=True
    )

    assert done.stdout.count("start processes by 'spawn' or 'forkserver'") == 2
    assert mirror.units.count() == 5
