"""A data file is compared with its name when a process first opens it, unless a note says so."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import finstat_kit as fk
from finstat_kit.errors import MirrorError, RegisterWarning
from tests.support.harm import FAULTS, empty, flipped, halve
from tests.support.mirrors import assert_in_step, data
from tests.support.registers import Watched
from tests.support.syncs import day_of_filings, next_day

MONTH = 30 * 86_400


def decay(file: Path) -> None:
    """Flip a bit as a disk does: size and time of change stay."""
    status = file.stat()
    flipped(0.5)(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def aged(note: Path, seconds: float) -> None:
    """Let time pass since the files were checked."""
    checks = json.loads(note.read_bytes())
    aged_checks = {name: [size, at, when - seconds] for name, (size, at, when) in checks.items()}
    note.write_text(json.dumps(aged_checks))


def looks(mirror: fk.Mirror) -> bool:
    """Return whether another process answers from a mirror."""
    try:
        fk.Mirror(mirror.path).regions()
    except MirrorError:
        return False
    return True


def test_what_was_checked_is_not_read_again_for_a_month(mirror: fk.Mirror) -> None:
    """By no process; `verify` reads every byte all the same."""
    assert looks(mirror)
    file, note = data(mirror.path, "codelists")[0], mirror.path / "checked.json"
    decay(file)
    assert looks(mirror)
    aged(note, MONTH - 60)
    assert looks(mirror)
    assert mirror.verify()["file"][0] == f"data/{file.name}"
    assert not looks(mirror)  # that it is damaged is written down


@pytest.mark.parametrize("harm", [Path.unlink, empty, halve, lambda note: aged(note, MONTH + 60)])
def test_without_the_note_files_are_checked_again(
    mirror: fk.Mirror, harm: Callable[[Path], None]
) -> None:
    """A note that is lost, damaged or too old costs time, and no answer."""
    assert looks(mirror)
    decay(data(mirror.path, "codelists")[0])
    harm(mirror.path / "checked.json")

    assert not looks(mirror)


def test_a_file_that_was_changed_is_checked_again(mirror: fk.Mirror) -> None:
    """It has another time, or another size."""
    assert looks(mirror)
    FAULTS["flipped in its last byte"](data(mirror.path, "codelists")[0])

    assert not looks(mirror)


def test_a_file_that_is_not_needed_is_not_read(mirror: fk.Mirror) -> None:
    """Opening a mirror and reading its codelists reads no other file."""
    (mirror.path / "checked.json").unlink(missing_ok=True)
    assert looks(mirror)

    checked = {*json.loads((mirror.path / "checked.json").read_bytes())}
    assert checked == {file.stem for file in data(mirror.path, "codelists")}


@pytest.mark.slow
def test_each_sync_checks_some_files_anew(tmp_path: Path) -> None:
    """Those checked longest ago first; one that has decayed is made good."""
    register = Watched(fk.sample(6))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    for _ in range(2):
        mirror.sync()
        day_of_filings(register)
    mirror.verify()
    decay(data(mirror.path, "cells")[1])
    next_day(register)
    with pytest.warns(RegisterWarning, match="rows of cells"):
        fk.Mirror(mirror.path, register=register).sync()

    assert_in_step(mirror, register.sample)
    assert set(mirror.verify()["meaning"]) == {""}
    now = time.time()
    checks = json.loads((mirror.path / "checked.json").read_bytes()).values()
    assert all(now - at < 600 for _, _, at in checks)


def test_an_extract_is_read_without_a_note(mirror: fk.Mirror, tmp_path: Path) -> None:
    """It lies in a repository, where reading must change nothing."""
    small = mirror.extract(tmp_path / "small", mirror.units.ids(limit=3))
    before = sorted(path.name for path in (tmp_path / "small").iterdir())
    assert small.regions().height

    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == before
