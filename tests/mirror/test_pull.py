"""A published mirror is pulled: forward or not at all, each file compared with its name."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import (
    MirrorError,
    NotFound,
    ProtocolError,
    RegisterError,
    RegisterUnavailable,
    RegisterWarning,
    TransportError,
    UsageError,
)
from finstat_kit.protocol.wire import Reply
from tests.cli.test_commands import called
from tests.support.examples import slow
from tests.support.faults import PAGE, Step, reply
from tests.support.harm import flipped, halve
from tests.support.kills import run
from tests.support.mirrors import contents, data, newest_run, points, sealed
from tests.support.published import FileServer, as_it_is
from tests.support.registers import Watched
from tests.support.syncs import Crash, day_of_filings, fail_at, next_day, small_register

WITH_CONTENTS = True


def a_register() -> Watched:
    return Watched(fk.sample(10), page_size=50)


@pytest.fixture
def server(mirror: fk.Mirror) -> Iterator[FileServer]:
    """Give a web server of the folder of `mirror`, which is upstream."""
    with FileServer(mirror.path) as server:
        yield server


@pytest.fixture
def copy(tmp_path: Path) -> fk.Mirror:
    """Give a mirror that is not there yet."""
    return fk.Mirror(tmp_path / "copy")


def assert_equal(copy: fk.Mirror, mirror: fk.Mirror, days: Sequence[Any] = ()) -> None:
    """Compare what two mirrors answer, and answered on days."""
    for day in (None, *days):
        of = [each if day is None else each.as_of(day) for each in (copy, mirror)]
        for name in ("units", "statements", "reports", "annual_reports"):
            mine, its = (each.snapshot(name).collect().sort("id") for each in of)
            assert_frame_equal(mine, its)
        cells = [each.scan_cells().collect().sort(pl.all()) for each in of]
        assert_frame_equal(*cells)
        figures = [each.financials(each.units.ids()) for each in of]
        assert_frame_equal(*figures)


def test_a_first_pull_copies_the_whole_mirror(
    mirror: fk.Mirror, server: FileServer, copy: fk.Mirror
) -> None:
    """And says in its report what came, and everywhere where from."""
    plan = copy.pull(server.url, dry_run=True)
    assert not copy.path.exists()
    report = copy.pull(f"{server.url}/")

    assert_equal(copy, mirror)
    assert_frame_equal(report, plan)
    files = {file["name"] for own in newest_run(mirror.path)["files"].values() for file in own}
    assert report["files"].sum() == len(files) == len(server.requested("data/"))
    assert report.filter(log="points")["new"].item() == len(points(mirror.path))
    assert str(report["day"][0]) == points(mirror.path)[-1]["day"]
    assert set(copy.holdings()["pulled"]) == {server.url}
    assert f"pulled from {server.url}" in repr(copy)
    assert copy.cite(lang="en").endswith(f", pulled from {server.url}.")
    assert copy.cite(lang="sk").endswith(f", prevzatá z {server.url}.")
    assert set(mirror.holdings()["pulled"]) == {None}
    said = json.loads((copy.path / "newest.json").read_bytes())
    run_file = copy.path / "runs" / f"{said['number']:08}.json"
    assert said["sha256"] == sha256(run_file.read_bytes()).hexdigest()
    assert said["number"] > newest_run(mirror.path)["number"]


def test_a_pull_without_news_fetches_nothing_and_changes_nothing(
    mirror: fk.Mirror, server: FileServer, copy: fk.Mirror
) -> None:
    """But what is missing."""
    copy.pull(server.url)
    before, asked = contents(copy.path), len(server.asked)

    assert copy.pull(server.url)["files"].sum() == 0
    assert contents(copy.path) == before
    assert len(server.asked) == asked + 2  # newest.json, and its run
    data(copy.path, "cells")[0].unlink()
    assert copy.pull(server.url)["files"].sum() == 1
    assert contents(copy.path) == before


def test_a_directory_is_pulled_as_a_web_server_is(mirror: fk.Mirror, copy: fk.Mirror) -> None:
    """A network drive, or a mounted bucket; and a copy can be pulled on."""
    copy.pull(mirror.path)
    again = fk.Mirror(copy.path.parent / "again")
    again.pull(str(copy.path))

    assert_equal(again, mirror)
    assert set(again.holdings()["pulled"]) == {copy.path.as_posix()}


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://host/ruz", "is not the address of a published mirror"),
        ("https://user:secret@host/ruz", "without a password"),
        ("https://host/ruz?x=1", "is not the address"),
        ("https://[::1/ruz", "is not the address"),
        ("nowhere", "there is no such directory"),
        (7, "url=7"),
    ],
)
def test_what_is_no_published_mirror_is_refused(copy: fk.Mirror, url: Any, text: str) -> None:
    """Before anything is requested or written."""
    with pytest.raises(UsageError, match=text):
        copy.pull(url)

    assert not copy.path.exists()


def test_a_mirror_is_not_pulled_into_itself(mirror: fk.Mirror) -> None:
    """It would be its own copy."""
    with pytest.raises(UsageError, match="it is this mirror"):
        mirror.pull(mirror.path)


def test_an_empty_server_says_what_is_not_there(tmp_path: Path, copy: fk.Mirror) -> None:
    """And the address of newest.json."""
    with FileServer(tmp_path) as server, pytest.raises(NotFound, match=r"newest\.json"):
        copy.pull(server.url)
    with pytest.raises(NotFound, match=r"newest\.json is not there"):
        copy.pull(tmp_path)


# Days


@pytest.mark.slow
def test_thirty_days_of_pulls_equal_the_mirror_and_cost_little(tmp_path: Path) -> None:
    """Frames of each day, former days and changes; at most three times the new rows in bytes."""
    register = Watched(fk.sample(40))
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    copy = fk.Mirror(tmp_path / "copy")
    copy.pull(mirror.path)
    days, rows, pulled = [register.today], 0, 0
    for _ in range(30):
        upto = points(mirror.path)[-1]["upto"]
        day_of_filings(register)
        register.sample.touch(register.sample.units.ids(after_id=30_000, limit=5))
        mirror.sync()
        rows += new_bytes(mirror, upto)
        pulled += int(copy.pull(mirror.path)["bytes"].sum())
        days.append(register.today)
        assert copy.today == register.today
        assert_equal(copy, mirror, [days[len(days) // 2]])
        assert_frame_equal(copy.changes(), mirror.changes())

    assert pulled < 3 * rows
    assert_equal(copy, mirror, days[::5])
    assert copy.verify()["damaged"].sum() == 0
    assert [point["id"] for point in points(copy.path)] == [
        point["id"] for point in points(mirror.path)
    ]


def new_bytes(mirror: fk.Mirror, upto: dict[str, int]) -> int:
    """Return the size of the rows of each log above a version, each log in one file."""
    size = 0
    for log, last in upto.items():
        paths = mirror.files(log)  # type: ignore[arg-type]
        rows = pl.scan_parquet(paths).filter(pl.col("version") > last).collect()
        if rows.height:
            rows.write_parquet(mirror.path.parent / "new.parquet", compression_level=1)
            size += (mirror.path.parent / "new.parquet").stat().st_size
    return size


def test_a_day_of_changes_is_pulled_alone(
    mirror: fk.Mirror, register: Watched, server: FileServer, copy: fk.Mirror
) -> None:
    """What is here is not fetched again, and a reader that was there before sees the new day."""
    copy.pull(server.url)
    before, reader = copy.today, fk.Mirror(copy.path)
    units = reader.snapshot().collect()
    lazy = reader.snapshot()
    day_of_filings(register)
    mirror.sync()
    report = copy.pull(server.url)

    assert_equal(copy, mirror, [before])
    assert copy.today == register.today != before
    reader.units.count()
    assert reader.today == register.today
    assert_frame_equal(lazy.collect().sort("id"), units.sort("id"))
    assert 0 < report["files"].sum() < len(newest_run(mirror.path)["files"]["templates"]) + 9
    assert report.filter(log="points")["new"].item() >= 1


# Forward, or not at all


def test_an_older_state_there_pulls_nothing_and_says_so(
    mirror: fk.Mirror, register: Watched, tmp_path: Path, copy: fk.Mirror
) -> None:
    """So does a mirror that was synced here since."""
    old = shutil.copytree(mirror.path, tmp_path / "old")
    day_of_filings(register)
    mirror.sync()
    copy.pull(mirror.path)
    before = contents(copy.path)

    with pytest.warns(RegisterWarning, match=r"as of 2026-06-30, this one of 2026-07-01: nothing"):
        report = copy.pull(old)
    assert report.select("new", "dropped", "files", "bytes").sum().row(0) == (0, 0, 0, 0)
    assert contents(copy.path) == before
    next_day(register)
    on = fk.Mirror(copy.path, register=register)
    on.sync()
    assert on.today == register.today
    assert_frame_equal(on.units.get(on.units.ids()), register.units.get(register.units.ids()))
    with pytest.warns(RegisterWarning, match="nothing is pulled"):
        on.pull(mirror.path)


def test_another_history_is_refused_with_what_differs(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror
) -> None:
    """A pull anew replaces it, and keeps files of equal name."""
    copy.pull(mirror.path)
    day_of_filings(register)
    fk.Mirror(copy.path, register=register).sync()
    next_day(register)
    mirror.sync()
    before = contents(copy.path)

    with pytest.raises(UsageError, match=r"has a point of 2026-07-01 in the place of") as caught:
        copy.pull(mirror.path)
    assert "another folder, or pull(anew=True)" in str(caught.value)
    assert contents(copy.path) == before
    report = copy.pull(mirror.path, anew=True)
    assert_equal(copy, mirror)
    assert report["files"].sum() < newest_files(mirror.path)
    assert report.filter(log="points")["dropped"].item() >= 1
    kept = {path for path in before if path.startswith("data/")}
    assert kept <= set(contents(copy.path))


def test_another_register_or_set_of_units_is_refused(
    mirror: fk.Mirror, tmp_path: Path, copy: fk.Mirror
) -> None:
    """What a mirror of given units has lies among the rows of others there."""
    other = fk.Mirror(tmp_path / "other", register=fk.sample(20))
    other.sync()
    small = mirror.extract(tmp_path / "small", mirror.units.ids(limit=2))
    copy.pull(mirror.path)

    with pytest.raises(UsageError, match=r"is of finstat_kit sample.*=10, and .*=20"):
        copy.pull(other.path)
    with pytest.raises(UsageError, match=r"is of all units, and .* of 2 given units"):
        copy.pull(small.path)
    with pytest.raises(UsageError, match="each of its files holds rows of many units"):
        fk.Mirror(tmp_path / "mine", units=mirror.units.ids(limit=2)).pull(mirror.path)
    assert not (tmp_path / "mine").exists()
    with pytest.raises(UsageError, match=r"is of 2 given units.*extract\(\) these units"):
        fk.Mirror(small.path).pull(mirror.path)
    fresh = fk.Mirror(tmp_path / "fresh")
    fresh.pull(small.path)
    assert_frame_equal(fresh.units.get(small.snapshot().collect()["id"].sort()),
                       small.units.get(small.snapshot().collect()["id"].sort()))  # fmt: skip


def test_a_newer_format_is_refused(mirror: fk.Mirror, copy: fk.Mirror) -> None:
    """With the cure."""
    run_file = max(mirror.path.glob("runs/*.json"))
    sealed(run_file, format=99)
    note(mirror.path)

    with pytest.raises(MirrorError, match=r"format 99, and this version .* --upgrade finstat-kit"):
        copy.pull(mirror.path)


def note(folder: Path, **changes: Any) -> None:
    """Let newest.json say what the newest run is, but for some changes."""
    file = folder / "newest.json"
    digest = sha256(max(folder.glob("runs/*.json")).read_bytes()).hexdigest()
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "sha256": digest, **changes}))


def test_a_point_whose_run_was_lost_there_is_taken_out(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror
) -> None:
    """Its days are refused here too, and the report says so."""
    copy.pull(mirror.path)
    next_day(register)
    lost_day = register.today
    register.sample.touch(register.sample.units.ids(limit=2))
    mirror.sync()
    copy.pull(mirror.path)
    lost = {point["run"] for point in points(mirror.path) if point["day"] == str(lost_day)}
    for number in lost:
        halve(mirror.path / "runs" / f"{number:08}.json")
    next_day(register, 2)
    with pytest.warns(RegisterWarning, match="is read as of run"):
        mirror.sync()

    with pytest.warns(RegisterWarning, match=r"2026-07-01, are taken out: the runs"):
        report = copy.pull(mirror.path)
    assert report.filter(log="points")["dropped"].item() == len(lost) > 0
    assert_equal(copy, mirror)
    for each in (copy, mirror):
        with pytest.raises(UsageError, match="was lost"):
            each.as_of(lost_day)


def test_rows_of_a_sync_that_was_cut_off_are_dropped(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror
) -> None:
    """The state is that of the newest point there; a sync here begins after it."""
    copy.pull(mirror.path)
    here = fk.Mirror(copy.path, register=register)
    day_of_filings(register)
    fail_at(register, 2, Crash())
    with pytest.raises(Crash):
        here.sync()
    above = sum(
        file["rows"]
        for log, files in newest_run(copy.path)["files"].items()
        for file in files
        if file["first"] > points(copy.path)[-1]["upto"].get(log, 0)
    )
    assert above

    with pytest.warns(RegisterWarning, match=f"{above} rows above the newest point"):
        report = copy.pull(mirror.path)
    assert report["dropped"].sum() == above
    assert_equal(copy, mirror)
    mirror.sync()
    copy.pull(mirror.path)
    assert_equal(copy, mirror)


# Damage here


@pytest.mark.parametrize("harm", [flipped(0.5), *slow(halve)])
def test_damage_is_cured_by_a_pull_of_all(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror, harm: Callable[[Path], None]
) -> None:
    """What verify and sync name is the cure: a sync would request the records of a whole file."""
    copy.pull(mirror.path)
    harm(data(copy.path, "statements")[-1])
    here = fk.Mirror(copy.path, register=register)

    verified = here.verify()
    assert "pull(full=True) fetches it again" in verified["meaning"][0]
    with pytest.raises(MirrorError, match=r"was pulled from .*; pull\(full=True\) fetches"):
        here.sync(full=True)
    assert here.pull(mirror.path, full=True)["files"].sum() == 1
    assert_equal(here, mirror)
    assert here.verify()["damaged"].sum() == 0
    here.sync(full=True)


def test_all_runs_lost_here_are_pulled_again(mirror: fk.Mirror, copy: fk.Mirror) -> None:
    """And nothing of the data is."""
    copy.pull(mirror.path)
    for file in copy.path.glob("runs/*.json"):
        halve(file)
    again = fk.Mirror(copy.path)

    with pytest.raises(MirrorError, match=r"pull\(\) one"):
        again.units.count()
    assert again.pull(mirror.path)["files"].sum() == 0
    assert_equal(again, mirror)


def test_a_damaged_newest_run_here_is_pulled_again(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror
) -> None:
    """It is moved aside; no day is lost, as all points come again."""
    copy.pull(mirror.path)
    first = copy.today
    day_of_filings(register)
    mirror.sync()
    copy.pull(mirror.path)
    halve(max(copy.path.glob("runs/*.json")))

    with pytest.warns(RegisterWarning, match=r"the next sync\(\) or pull\(\) goes on"):
        fk.Mirror(copy.path).pull(mirror.path)
    assert_equal(fk.Mirror(copy.path), mirror, [first])
    assert list(copy.path.glob("runs/damaged/*.json"))


def test_runs_of_syncs_after_a_pull_leave_what_newest_json_names(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror, tmp_path: Path
) -> None:
    """So that a copy of the copy can be pulled at any time."""
    copy.pull(mirror.path)
    day_of_filings(register)
    here = fk.Mirror(copy.path, register=register)
    fail_at(register, 5, Crash())
    with pytest.raises(Crash):
        here.sync()
    assert newest_run(copy.path)["number"] >= points(copy.path)[-1]["run"] + 3

    again = fk.Mirror(tmp_path / "again")
    again.pull(copy.path)
    assert_equal(again, mirror)


def test_a_disk_that_is_too_small_is_said_before_the_first_byte(
    server: FileServer, copy: fk.Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it would take."""
    usage = shutil.disk_usage("/")._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)

    with pytest.raises(MirrorError, match=r"has 1,000 bytes left, and [\d,]+ are to be pulled"):
        copy.pull(server.url)
    assert not server.requested("data/")


# What a server may do


def changed(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        sealed(max(folder.glob("runs/*.json")), **changes)
        note(folder)

    return change


def with_name(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        run_file = max(folder.glob("runs/*.json"))
        files = json.loads(run_file.read_bytes())["content"]["files"]
        files["units"][0]["name"] = name
        sealed(run_file, files=files)
        note(folder)

    return change


@pytest.mark.parametrize(
    ("lie", "text"),
    [
        (with_name("../x"), "names a file '../x'"),
        (with_name("/etc/passwd"), "names a file '/etc/passwd'"),
        (with_name("A" * 64), "names a file 'AAAA"),
        (changed(points=[]), "0 points"),
        (changed(number=3), "is of run 3"),
        (changed(files=7), "is no run"),
        (lambda folder: note(folder, number=-1), "names run -1"),
        (lambda folder: note(folder, number=10**9), "names run 1000000000"),
        (lambda folder: note(folder, number="../../x"), "is not what it has to be"),
        (lambda folder: note(folder, sha256="0" * 64), r"is not what newest\.json says"),
        (lambda folder: note(folder, more="x" * 5_000), "larger than 4,000 bytes"),
        (lambda folder: (folder / "newest.json").write_text("[]"), "is not what it has to be"),
    ],
)
def test_what_the_server_says_of_itself_is_checked(
    mirror: fk.Mirror, server: FileServer, copy: fk.Mirror, lie: Callable[[Path], Any], text: str
) -> None:
    """Begun again three times, then an error: nothing is written, wherever a name leads."""
    lie(mirror.path)

    with pytest.raises(ProtocolError, match=text) as caught:
        copy.pull(server.url)
    assert "it was begun again 3 times" in str(caught.value)
    assert len(server.requested("newest.json")) == 4
    assert contents(copy.path) == {}
    with pytest.raises(MirrorError, match="there is no mirror"):
        copy.units.count()


Lie = Callable[[bytes], Sequence[Step]]


@pytest.mark.parametrize(
    ("lie", "error", "text", "begun"),
    [
        (lambda content: [reply(content[:-1])], ProtocolError, "what its name and its run say", 4),
        (lambda content: [reply(content + b"x")], ProtocolError, "is larger than", 4),
        (lambda content: [reply(content[:-1] + b"x")], ProtocolError, "what its name and its", 4),
        (lambda content: [reply(b"", 404)], NotFound, "has nothing at this address", 4),
        (lambda content: [reply(PAGE, Content_Type="text/html")], RegisterUnavailable, "mimo", 1),
        (lambda content: [reply(PAGE, 403)], RegisterUnavailable, "under status 403", 1),
        (lambda content: [reply(b"", 410)], RegisterError, "the server refuses", 1),
        (lambda content: [reply(b"", 302, Location="http://127.0.0.1:1/x")],
         RegisterUnavailable, "the server redirects to http://127.0.0.1:1/x", 1),
        (lambda content: [reply(b"", 302, Location="https://[x")],
         RegisterUnavailable, "the server redirects to", 1),
        (lambda content: [reply(content, Content_Encoding="br")], TransportError,
         "packed as br", 1),
        (lambda content: [reply(b"", 429, Retry_After="86400")], RegisterError, "a pause", 1),
    ],
)  # fmt: skip
def test_what_the_server_sends_is_checked(
    mirror: fk.Mirror, server: FileServer, copy: fk.Mirror, lie: Lie, error: Any, text: str,
    begun: int,
) -> None:  # fmt: skip
    """The state here stays as it was, and what came is not fetched again."""
    victim = f"data/{newest_run(mirror.path)['files']['units'][0]['name']}"
    if text == "packed as br":  # worth four attempts more, each after a pause
        server.instead[victim] = [lie, as_it_is]
        copy.pull(server.url)
        assert len(server.requested(victim)) == 2
        return
    server.instead[victim] = [lie]

    with pytest.raises(error, match=text):
        copy.pull(server.url)
    assert len(server.requested("newest.json")) == begun
    assert not list(copy.path.glob("runs/*"))
    came = len(list(copy.path.glob("data/*.parquet")))
    server.instead.clear()
    report = copy.pull(server.url)
    assert report["files"].sum() == newest_files(mirror.path) - came
    assert_equal(copy, mirror)


def newest_files(folder: Path) -> int:
    return len({f["name"] for own in newest_run(folder)["files"].values() for f in own})


def test_a_merge_there_meanwhile_begins_again(
    mirror: fk.Mirror, register: Watched, server: FileServer, copy: fk.Mirror
) -> None:
    """The newer newest.json names files that are there."""
    old = (mirror.path / "newest.json").read_bytes()
    before = max(mirror.path.glob("runs/*.json"))
    day_of_filings(register)
    mirror.sync()
    before.unlink(missing_ok=True)
    server.instead["newest.json"] = [lambda content: [reply(old)], as_it_is]

    copy.pull(server.url)

    assert len(server.requested("newest.json")) == 2
    assert_equal(copy, mirror)


# Kills

KILLED = """
import os, signal, sys
import finstat_kit as fk
from tests.support.kills import at_writes

source, folder, where, number, moment = sys.argv[1:]
with at_writes(where, int(number), moment, lambda: os.kill(os.getpid(), signal.SIGKILL)):
    fk.Mirror(folder).pull(source)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("day", [1, 2])
@pytest.mark.parametrize(
    ("where", "number", "moment"),
    [
        ("data", 1, "before"), ("data", 1, "after"), ("data", 3, "before"), ("data", 7, "after"),
        ("runs", 1, "before"), ("runs", 1, "after"), ("newest.json", 1, "before"),
        ("newest.json", 1, "after"), ("-runs", 1, "before"), ("-data", 1, "before"),
    ],
)  # fmt: skip
def test_a_killed_pull_is_before_or_after(
    mirror: fk.Mirror, register: Watched, copy: fk.Mirror,
    day: int, where: str, number: int, moment: str,
) -> None:  # fmt: skip
    """Never between; and what has come is not fetched again."""
    state: dict[str, Any] = {}
    if day == 2:
        copy.pull(mirror.path)
        state = {"day": copy.today}
        day_of_filings(register)
        mirror.sync()
    ended = run(KILLED, mirror.path, copy.path, where, number, moment)

    assert ended in (-signal.SIGKILL, 0)
    again = fk.Mirror(copy.path)
    lacking = again.pull(mirror.path, dry_run=True)["files"].sum()
    committed = where in ("newest.json", "-runs", "-data") or (where, moment) == ("runs", "after")
    if committed or where == "runs":
        assert lacking == 0
    if day == 2 and not committed:
        assert again.today == state["day"]
        assert again.units.count() > 0
    elif day == 1 and not committed:
        with pytest.raises(MirrorError):
            again.units.count()
    else:
        assert_equal(again, mirror)
    assert again.pull(mirror.path)["files"].sum() == lacking
    assert_equal(again, mirror)
    said = json.loads((copy.path / "newest.json").read_bytes())
    assert said["number"] == newest_run(copy.path)["number"]


def test_another_process_that_writes_is_waited_for_by_the_user(
    mirror: fk.Mirror, copy: fk.Mirror
) -> None:
    """A pull takes the lock of writers."""
    with copy._folder.writing(), pytest.raises(MirrorError, match="being written by another"):
        fk.Mirror(copy.path).pull(mirror.path)


# Publishing


def test_a_sync_between_the_lines_of_publishing_breaks_nothing(
    mirror: fk.Mirror, register: Watched, tmp_path: Path, copy: fk.Mirror
) -> None:
    """newest.json set aside, then data, runs, the list of what must be there, and newest.json."""
    place, aside = tmp_path / "bucket", tmp_path / "newest.json"
    before = fk.Mirror(shutil.copytree(mirror.path, tmp_path / "before"))

    def sync() -> None:
        day_of_filings(register)
        mirror.sync()

    shutil.copy(mirror.path / "newest.json", aside)
    sync()
    shutil.copytree(mirror.path / "data", place / "data")
    sync()
    shutil.copytree(mirror.path / "runs", place / "runs")
    sync()
    listed = called("mirror", str(mirror.path), "--files", str(aside))
    shutil.copy(aside, place / "newest.json")

    assert listed.returncode == 0
    paths = listed.stdout.split()
    assert paths[0].startswith("runs/")
    assert len(paths) == 1 + newest_files(before.path)
    assert all((place / path).exists() for path in paths)
    copy.pull(place)
    assert_equal(copy, before)


def test_what_must_be_there_and_is_not_starts_over(mirror: fk.Mirror, tmp_path: Path) -> None:
    """The run or a file of it may be gone."""
    aside = tmp_path / "newest.json"
    shutil.copy(mirror.path / "newest.json", aside)
    data(mirror.path, "units")[0].unlink()

    missing = called("mirror", str(mirror.path), "--files", str(aside))
    assert missing.returncode == 1
    assert "it is lost; copy newest.json aside again, and begin with it" in missing.stderr
    for file in mirror.path.glob("runs/*.json"):
        file.unlink()
    assert called("mirror", str(mirror.path), "--files", str(aside)).returncode == 1
    aside.write_text("{}")
    assert called("mirror", str(mirror.path), "--files", str(aside)).returncode == 2


def test_the_command_pulls(mirror: fk.Mirror, server: FileServer, copy: fk.Mirror) -> None:
    """Planned first, and with the report."""
    planned = called("pull", server.url, str(copy.path), "--dry-run")
    assert not copy.path.exists()
    pulled = called("pull", server.url, str(copy.path))

    assert pulled.returncode == 0
    assert pulled.stdout == planned.stdout
    assert pulled.stdout.splitlines()[0] == "log,new,dropped,files,bytes,day"
    assert_equal(copy, mirror)


def test_a_damaged_run_with_the_point_leaves_a_copy_to_begin_with(tmp_path: Path) -> None:
    """Also while the next sync, of which there are rows, is not done: newest.json names another."""
    register, folder = small_register(), tmp_path / "ruz"
    mirror = fk.Mirror(folder, register=register)
    mirror.sync()
    noted = json.loads((folder / "newest.json").read_bytes())["number"]

    def cut_off() -> None:
        next_day(register)
        register.sample.touch(register.sample.units.ids(limit=20))
        number = len(register.asked)
        register.instead = lambda path, query: (
            Reply(403, {}, b"") if len(register.asked) > number + 20 else None
        )
        with pytest.raises(fk.RegisterError):
            fk.Mirror(folder, register=register).sync()
        register.instead = lambda path, query: None

    cut_off()
    (folder / f"runs/{noted:08}.json").write_bytes(b"{")
    cut_off()

    assert json.loads((folder / "newest.json").read_bytes())["number"] > noted
    copy = fk.Mirror(tmp_path / "copy")
    copy.pull(folder)
    assert copy.units.count() == 60


# Trust, but compare


def test_random_records_are_compared_with_the_register(
    mirror: fk.Mirror, register: Watched
) -> None:
    """Equal ones, with the bound of the share that may differ."""
    seen = mirror.compare_with(register, n=5)

    assert seen["collection"].to_list() == ["units", "statements", "reports", "annual_reports"]
    assert seen["compared"].to_list() == seen["equal"].to_list() == [5, 5, 5, 3]
    many = [getattr(register.sample, name).count() for name in seen["collection"]]
    expected = [greatest(0, n, number) for n, number in zip((5, 5, 5, 3), many, strict=True)]
    assert seen["bound"].to_list() == pytest.approx(expected)
    assert expected[3] == 0  # all were compared
    assert seen["ids"].to_list() == [[]] * 4
    asked = len(register.asked)
    assert mirror.compare_with(register, n=1)["equal"].to_list() == [1] * 4
    assert len(register.asked) - asked == 4
    with pytest.raises(UsageError, match="n=0 is not allowed"):
        mirror.compare_with(register, n=0)


def greatest(differing: int, n: int, number: int) -> float:
    """Return the greatest share of records that may well differ, if so many of *n* do."""
    sizes = [
        size for size in range(differing, number - n + differing + 1)
        if sum(comb(size, k) * comb(number - size, n - k) for k in range(differing + 1))
        > 0.025 * comb(number, n)
    ]  # fmt: skip
    return max(sizes) / number


def test_what_was_changed_is_told_from_what_differs(tmp_path: Path) -> None:
    """By its day of change there; what is gone or unreadable there is counted apart."""
    register = small_register()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    ids = register.units.ids()["id"].to_list()
    next_day(register)
    register.sample.touch(ids[:3])

    def instead(path: str, query: str) -> Any:
        id_ = int(query.rpartition("=")[2]) if path == "/api/uctovna-jednotka" else 0
        if id_ in ids[3:5]:
            body = json.loads(register.sample._answer("GET", path, query).body)
            text = json.dumps(body | {"nazovUJ": "Iná firma"}).encode()
            return register.sample._answer("GET", path, query)._replace(body=text)
        if id_ == ids[5]:
            return register.sample._answer("GET", path, query)._replace(status=404, body=b"")
        if id_ == ids[6]:
            return register.sample._answer("GET", path, query)._replace(body=b'{"id": 1}')
        return None

    register.instead = instead
    (row,) = mirror.compare_with(register, n=100).rows(named=True)

    assert row["bound"] == pytest.approx(greatest(2, 55, 60))
    del row["bound"]
    assert row == {
        "collection": "units", "compared": 60, "equal": 53, "changed": 3, "gone": 1,
        "unreadable": 1, "differing": 2, "ids": ids[3:5],
    }  # fmt: skip
