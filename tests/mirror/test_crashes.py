"""The mirror and the machine: killed anywhere, a full disk; the next sync puts everything right."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import finstat_kit as fk
from tests.support.kills import KILLED, ROOT, run
from tests.support.mirrors import (
    QUARTER,
    assert_contents_in_step,
    assert_in_step,
    contents,
    filings_on,
    newest_run,
    points,
    register_on,
    synced,
)

if sys.platform == "win32":
    pytest.skip("Windows has no SIGKILL", allow_module_level=True)

# Where a sync of units writes: a data file, a run, what names the newest; and where it deletes.
# It is killed before: the moment after is the one before the next of them.
WRITES = [
    ("data", 1), ("data", 7), ("runs", 1), ("runs", 2), ("runs", 6), ("runs", 7),
    ("newest.json", 1), ("-runs", 1),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("where", "number"), WRITES)
def test_a_first_sync_that_was_killed_is_put_right(tmp_path: Path, where: str, number: int) -> None:
    """Whatever was being written, an undisturbed sync brings the mirror in step."""
    ended = run(KILLED, tmp_path, 1, where, number, "before")

    assert ended == -signal.SIGKILL
    register = register_on(1)
    mirror = fk.Mirror(tmp_path, register=register)
    mirror.sync()
    assert_in_step(mirror, register.sample)
    assert {point["started"] for point in points(tmp_path)} == {"2026-06-30"}
    assert mirror.verify()["damaged"].sum() == 0
    before = contents(tmp_path)
    mirror.sync()
    assert contents(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "number", "moment"),
    [("data", 5, "before"), ("runs", 4, "before"), ("newest.json", 1, "before")],
)
def test_an_increment_that_was_killed_loses_no_record(
    tmp_path: Path, where: str, number: int, moment: str
) -> None:
    """Before or after, never between; what was appended is not fetched again."""
    fk.Mirror(tmp_path, register=register_on(1)).sync()
    ended = run(KILLED, tmp_path, 2, where, number, moment)

    assert ended == -signal.SIGKILL
    register = register_on(2)
    mirror = fk.Mirror(tmp_path, register=register)
    is_done = where == "newest.json"
    assert len(points(tmp_path)) == 1 + is_done
    assert mirror.units.count() == (260 if is_done else 240)
    upto = points(tmp_path)[0]["upto"]["units"]
    files = [file for file in newest_run(tmp_path)["files"]["units"] if not file["names"]]
    answered = sum(file["rows"] for file in files if file["first"] > upto)
    mirror.sync()
    assert_in_step(mirror, register.sample)
    assert points(tmp_path)[1]["started"] == "2026-07-01"
    if not is_done:
        rest = register.sample.units.ids()["id"][answered:].to_list()
        assert register.records()[: len(rest)] == rest
        assert answered >= QUARTER


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_sync_killed_at_any_moment_is_put_right(tmp_path: Path, seed: int) -> None:
    """By another process, at random; what no run lists is not read, and is deleted some day."""
    command = [sys.executable, "-c", KILLED, str(tmp_path), "1", "nowhere", "1", "before"]
    with subprocess.Popen(command, cwd=ROOT) as child:
        while child.poll() is None and not list(tmp_path.glob("data/*.parquet")):
            pass
        time.sleep(random.Random(seed).random() / 4)
        child.kill()

    register = register_on(1)
    mirror = fk.Mirror(tmp_path, register=register)
    mirror.sync()
    assert_in_step(mirror, register.sample)


FULL_DISK = """
import subprocess, sys
import finstat_kit as fk
from finstat_kit.errors import MirrorError
from tests.support.mirrors import assert_in_step, register_on

folder = sys.argv[1]
full = 0
for kilobytes in (8, 60, 100, 140):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", folder], check=True)
    register = register_on(1)
    mirror = fk.Mirror(folder + "/ruz", register=register)
    try:
        mirror.sync()
    except MirrorError as error:
        full += 1
        assert "No space left" in str(error), error
        assert "check the disk, then sync again" in str(error), error
    subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
    mirror.sync()
    assert_in_step(mirror, register.sample)
    subprocess.run(["umount", folder], check=True)
sys.exit(full)
"""
MAY_MOUNT = subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not MAY_MOUNT, reason="this machine does not let us mount a small disk")
def test_a_full_disk_stops_a_sync_and_breaks_nothing(tmp_path: Path) -> None:
    """Wherever the disk is full it is told; with more room the next sync resumes."""
    command = ["unshare", "-rm", sys.executable, "-c", FULL_DISK, str(tmp_path)]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert "Traceback" not in seen.stderr, seen.stderr
    assert seen.returncode >= 3


SHORT_FILES = """
import resource, signal, sys
import finstat_kit as fk
from finstat_kit.errors import MirrorError
from tests.support.mirrors import assert_in_step, register_on

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
register = register_on(1)
mirror = fk.Mirror(sys.argv[1], register=register)
resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, resource.RLIM_INFINITY))
try:
    mirror.sync()
except MirrorError as error:
    assert "check the disk" in str(error), error
else:
    sys.exit(1)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
mirror.sync()
assert_in_step(mirror, register.sample)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit for the size of files")
@pytest.mark.slow
def test_a_limit_of_size_stops_a_sync_and_breaks_nothing(tmp_path: Path) -> None:
    """The same where the system refuses to make a file longer."""
    assert run(SHORT_FILES, tmp_path) == 0


FILLED = KILLED.replace(
    "register=register_on(int(day))", "contents=True, register=filings_on(int(day))"
)
FILLED = FILLED.replace("import register_on", "import filings_on")


# Of statements with their reports, cells and templates; on the second day there are fewer.
WRITTEN = {
    1: [("data", 8), ("data", 9), ("data", 10), ("runs", 9), ("newest.json", 2), ("-runs", 9)],
    2: [("data", 4), ("data", 7), ("runs", 3), ("newest.json", 1)],
}  # fmt: skip


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a mirror of the first day, which no test changes."""
    return synced(tmp_path_factory.mktemp("first") / "ruz", filings_on(1), contents=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("day", "where", "number"),
    [(day, *place) for day, places in WRITTEN.items() for place in places],
)
def test_a_killed_sync_of_contents_is_put_right(
    tmp_path: Path, first_day: Path, day: int, where: str, number: int
) -> None:
    """Whatever was being written, the next sync fetches what is lacking, and nothing twice."""
    if day == 2:
        shutil.copytree(first_day, tmp_path, dirs_exist_ok=True)
    assert run(FILLED, tmp_path, day, where, number, "before") == -signal.SIGKILL

    register = filings_on(day)
    mirror = fk.Mirror(tmp_path, contents=True, register=register)
    mirror.sync()
    asked = [t for t in register.asked if "?id=" in t and "jednotka" not in t]
    assert len(asked) == len(set(asked))  # units of the window are looked at twice
    assert_contents_in_step(mirror, register.sample)
    assert_in_step(mirror, register.sample)
    places = mirror.scan_cells().select("report_id", "table", "row", "column").collect()
    assert not places.is_duplicated().any()  # of one version
    assert set(mirror.verify()["meaning"]) == {""}
