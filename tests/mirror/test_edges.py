"""The mirror's edges: names of folders, other formats, codelists that change alone, compaction."""

from __future__ import annotations

import json
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit import arguments
from finstat_kit.errors import MirrorError
from finstat_kit.mirror.runs import FORMAT
from finstat_kit.protocol.wire import Reply
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.mirrors import assert_in_step, contents
from tests.support.registers import Watched
from tests.support.small_mirror import looked_at, two_days_more
from tests.support.syncs import RECORD


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


# Names of folders


@pytest.mark.parametrize(
    "name",
    [
        "i*",
        "n%4",
        "emoji 😀",
        *slow("a b", "ľ#m", "j?k", "{o}", "n%", "q:r", "~", "..x", "a&b=c"),
    ],
)
def test_a_name_is_any_name(tmp_path: Path, name: str) -> None:
    """What means something to a pattern or an address is a letter like any other."""
    sample = fk.sample(30)
    mirror = fk.Mirror(tmp_path / name, register=sample)
    mirror.sync()
    sample.set_today("2026-07-02")
    sample.touch(sample.units.ids(limit=9))
    mirror.sync()
    mirror.compact()

    assert_in_step(fk.Mirror(tmp_path / name), sample)
    assert set(mirror.verify()["meaning"]) == {""}
    assert names(tmp_path) == [name]


@pytest.mark.parametrize(
    "name",
    ["[1]", "a[1]b", "%41", "a%2Fb", "back\\slash", "line\nbreak", "tab\t", "a|b", "^", "\x7f",
     "\udcff"],
)  # fmt: skip
def test_a_name_that_delta_lake_mistakes_is_refused(
    tmp_path: Path, name: str, matrix: Told
) -> None:
    """It is refused before anything is written, here or elsewhere."""
    with pytest.raises(fk.UsageError, match=r"Delta Lake cannot keep a table in .*another name"):
        fk.Mirror(tmp_path / name, register=fk.sample(5))
    with pytest.raises(fk.UsageError, match="another name"):
        fk.Mirror(tmp_path / name / "ruz")

    assert names(tmp_path) == []
    matrix(f"a mirror in {name!a}", "UsageError before anything is written", "UsageError")


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/ruz", "s3a://bucket/ruz", "gs://bucket/ruz", "az://container/ruz",
     "abfss://container@account.dfs.core.windows.net/ruz", "hdfs://host:8020/ruz",
     "https://example.org/ruz", "file:///ruz"],
)  # fmt: skip
def test_a_url_in_the_place_of_the_folder_is_refused(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, matrix: Told
) -> None:
    """It names the way to an object store, in place of a folder of that name on the disk."""
    monkeypatch.chdir(tmp_path)
    refused = re.escape(f"path='{url}' is a URL") + ".* local directory only; sync to one, copy it"
    with pytest.raises(fk.UsageError, match=refused):
        fk.Mirror(url, register=fk.sample(5))
    with pytest.raises(fk.UsageError, match="sync to one, copy it there"):
        fk.Mirror(Path(url))
    for suffix in ("", "@2026-06-30"):
        value = f"mirror:{url}{suffix}"
        with pytest.raises(fk.UsageError, match=re.escape(f"register={value!r} is a URL")):
            fk.use(value)
    monkeypatch.setenv("FINSTAT_KIT_URL", f"mirror:{url}")
    with pytest.raises(fk.UsageError, match=re.escape(f"FINSTAT_KIT_URL='mirror:{url}' is")):
        fk.units.count()

    assert names(tmp_path) == []
    matrix(f"a mirror at {url}", "UsageError before anything is written", "UsageError")


def test_an_extract_goes_to_no_url(mirror: fk.Mirror) -> None:
    """It is refused as a mirror is."""
    with pytest.raises(fk.UsageError, match="path='s3://bucket/small' is a URL"):
        mirror.extract("s3://bucket/small", mirror.units.ids(limit=3))


@pytest.mark.parametrize(
    "path", ["C:\\ruz", "C:/ruz", "c:ruz", "\\\\host\\ruz", "//host/ruz", "a:b/c"]
)
def test_a_drive_or_a_share_is_no_url(path: str) -> None:
    """A letter and a colon name a drive of Windows, two slashes another machine's folder."""
    arguments.refuse_url("path", path)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """It is told as one, also where it comes on the way, and stays as it is."""
    file = tmp_path / "ruz"
    file.write_text("notes")
    with pytest.raises(fk.UsageError, match="is a file; give a folder"):
        fk.Mirror(file)
    with pytest.raises(fk.UsageError, match="is a file; give a folder"):
        fk.Mirror(file / "ruz", register=fk.sample(5))
    with pytest.raises(fk.UsageError, match="File name too long"):
        fk.Mirror(tmp_path / ("x" * 300), register=fk.sample(5))

    assert file.read_text() == "notes"
    assert names(tmp_path) == ["ruz"]


def test_a_relative_path_is_settled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the process goes later, it is the folder that was meant."""
    monkeypatch.chdir(tmp_path)
    sample = fk.sample(30)
    mirror = fk.Mirror("ruz", register=sample)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    mirror.sync()
    sample.publish(2)
    mirror.sync()

    assert_in_step(mirror, sample)
    assert names(Path()) == []
    assert mirror.path == tmp_path / "ruz"
    assert "<Mirror ruz of " in repr(mirror)


# Other formats


def described(mirror: fk.Mirror, **values: object) -> None:
    """Describe the runs of a mirror otherwise."""
    about = json.loads(looked_at(mirror).about or "")
    commit = min((mirror.path / "runs" / "_delta_log").glob("*.json"))
    old, new = (json.dumps(json.dumps(said))[1:-1] for said in (about, about | values))
    commit.write_text(commit.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1, str(FORMAT), None])
def test_another_format_is_refused(mirror: fk.Mirror, number: object, matrix: Told) -> None:
    """It is refused with the cure, and nothing is written."""
    described(mirror, format=number)
    before = contents(mirror.path)
    words = rf"runs is of format {number}, and this version of finstat_kit knows {FORMAT}: pip"

    fresh = fk.Mirror(mirror.path, register=fk.sample(60))
    for call in (fresh.snapshot, fresh.units.count, fresh.sync):
        with pytest.raises(MirrorError, match=words):
            call()
    assert "format" in fresh.verify()["meaning"][0]
    assert repr(fresh)
    assert contents(mirror.path) == before
    matrix(f"a mirror of format {number}", "MirrorError with the cure", "MirrorError")


@pytest.mark.parametrize(
    "values",
    [{"register": "https://register.example"}, {"first": "x"}, *slow(
        {"invented": "finstat_kit sample; seed=9; units=60"}, {"first": "2020-01-01"},
        {"extract": 3}, {"more": 1},
    )],
    ids=str,
)  # fmt: skip
def test_a_description_that_was_changed_is_noticed_and_cured(
    mirror: fk.Mirror, register: Watched, values: dict[str, object], matrix: Told
) -> None:
    """Reading, verify and sync say so; a full sync writes the runs anew."""
    described(mirror, **values)
    fresh = fk.Mirror(mirror.path, register=register)

    for call in (fresh.snapshot, fresh.units.count, fresh.sync):
        with pytest.raises(MirrorError, match=r"sync\(full=True\)"):
            call()
    assert fresh.verify()["damaged"].sum() > 0
    fresh.sync(full=True)
    assert_in_step(fresh, register.sample)
    assert set(fresh.verify()["meaning"]) == {""}
    matrix(f"a description with {values}", "MirrorError; a full sync heals", "MirrorError")


@pytest.mark.parametrize("said", ["[]", "{}", "7", "\udcff"])
def test_a_broken_note_of_the_writer_stops_nothing(
    mirror: fk.Mirror, register: Watched, said: str
) -> None:
    """Who writes is then not known, and that is all."""
    texts: list[str] = []

    def instead(path: str, query: str) -> Reply | None:
        if not texts:
            note = said.encode(errors="surrogateescape")
            (mirror.path / "writer.lock").write_bytes(note)
            with pytest.raises(MirrorError) as caught:
                fk.Mirror(mirror.path, register=fk.sample(10)).compact()
            texts.append(str(caught.value))
        return None

    register.instead = instead
    mirror.sync()
    assert "is being written by another process" in texts[0]


# Codelists that change alone


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
    commits = deltalake.DeltaTable(mirror.path / "units").version()
    mirror.sync()

    assert looked_at(mirror).entries() == looked_at(reader).entries()
    newest = deltalake.DeltaTable(mirror.path / "units").version()
    assert newest == commits + 1  # the note of the run alone
    for each in (mirror, reader):
        assert "Bratislavský KRAJ" in each.regions()["name_sk"].to_list()
        assert each.resolve_labels(frame)["region"][0] == "Bratislavský KRAJ"
        assert "Bratislavský KRAJ" in each.regions(refresh=True)["name_sk"].to_list()
        assert "Bratislavský KRAJ" in each.locations()["name_sk"].to_list()
    matrix("codelists that change alone", "seen at once, by readers too", "seen")


# What no test noticed


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


def test_a_reader_whose_commits_were_compacted_away_reads_on(
    mirror: fk.Mirror, register: Watched
) -> None:
    """It opens the table anew: the commits between its last look and now are no more."""
    reader = fk.Mirror(mirror.path)
    before = reader.snapshot().collect().height
    for _ in range(3):
        register.sample.set_today(register.today + timedelta(days=1))
        register.sample.publish(2)
        mirror.sync()
    mirror.compact(keep_hours=0)
    log = mirror.path / "units" / "_delta_log"
    newest = max(log.glob("*.checkpoint.parquet")).name[:20]
    for commit in log.glob("*.json"):  # as it is when the day for which they are kept is over
        if commit.name[:20] < newest:
            commit.unlink()

    assert reader.snapshot().collect().height == before + 6
    assert_in_step(reader, register.sample)


def test_storage_that_fails_is_an_error_with_the_cure(mirror: fk.Mirror, register: Watched) -> None:
    """What Delta Lake raises when it writes is a MirrorError with the cure."""
    register.sample.set_today(register.today + timedelta(days=1))
    register.sample.touch(register.sample.units.ids())
    table = mirror.path / "units"

    def instead(path: str, query: str) -> Reply | None:
        if path == RECORD and table.is_dir():
            shutil.move(table, mirror.path / "away")
            table.write_text("no folder")
        return None

    register.instead = instead
    with pytest.raises(MirrorError, match=r"cannot be (read or )?written: (.|\n)*then sync again"):
        mirror.sync()
    table.unlink()
    shutil.move(mirror.path / "away", table)
    register.instead = lambda path, query: None
    mirror.sync()
    assert_in_step(mirror, register.sample)


def test_compacting_again_changes_nothing(mirror: fk.Mirror) -> None:
    """It changes nothing that was sealed."""
    for _ in range(3):
        mirror.compact()
        before = contents(mirror.path)
        assert set(fk.Mirror(mirror.path).verify()["meaning"]) == {""}
    mirror.compact()
    assert contents(mirror.path) == before


# One object, several threads


def test_verify_leaves_the_tables_of_the_object_alone(mirror: fk.Mirror) -> None:
    """What a sync is walking on stays what it is."""
    logs = mirror._folder.logs.values()
    before = [log._delta for log in logs]
    mirror.verify()

    assert all(log._delta is b for log, b in zip(logs, before, strict=True))


@pytest.mark.slow
def test_verify_runs_beside_a_sync_of_the_same_object(mirror: fk.Mirror, register: Watched) -> None:
    """The versions go up, and the copy is in step."""
    ended = threading.Event()

    def look() -> int:
        looks = 0
        while not ended.is_set():
            mirror.verify()
            mirror.units.count()  # looks at all tables, as every question does
            looks += 1
        return looks

    versions = []
    with ThreadPoolExecutor(1) as pool:
        looks = pool.submit(look)
        try:
            for _ in range(6):
                register.sample.set_today(register.today + timedelta(days=1))
                register.sample.touch(register.sample.units.ids(limit=20))
                mirror.sync()
                versions.append(max(e.last for e in looked_at(fk.Mirror(mirror.path)).entries()))
        finally:
            ended.set()

    assert looks.result() > 0
    assert versions == sorted(set(versions))
    assert_in_step(fk.Mirror(mirror.path), register.sample)


# Compaction


@pytest.mark.parametrize(
    "hours", [1e300, pytest.param(10**5000, id="huge"), 10**400, 1_000_001, -1, float("nan"), "1"]
)
def test_hours_that_cannot_be_kept_are_refused(mirror: fk.Mirror, hours: Any) -> None:
    """They are refused before anything is done."""
    before = contents(mirror.path)
    with pytest.raises(fk.UsageError, match=r"is not allowed; give hours, 0 to 1,000,000"):
        mirror.compact(keep_hours=hours)
    assert contents(mirror.path) == before
    mirror.compact(keep_hours=1_000_000)
    assert set(mirror.verify()["meaning"]) == {""}


def test_a_part_of_an_hour_is_kept(mirror: fk.Mirror, register: Watched) -> None:
    """A replaced file stays at least as long as was asked."""
    two_days_more(mirror, register)
    before = mirror.snapshot()
    mirror.compact(keep_hours=0.9)

    assert before.collect().height == 60


def test_compaction_names_nothing_that_is_damaged(mirror: fk.Mirror, register: Watched) -> None:
    """Rows of a damaged file are not written into another one, whose name would fit them."""
    two_days_more(mirror, register)
    file = min((mirror.path / "units").glob("*.parquet"))
    rows = pl.read_parquet(file).with_columns(nazovUJ=pl.lit("another"))
    rows.write_parquet(file)
    before = contents(mirror.path)
    with pytest.raises(MirrorError, match="is not as it was written"):
        fk.Mirror(mirror.path).compact()

    assert contents(mirror.path) == before
    assert mirror.verify()["damaged"].sum() == rows.height


# What may not be read


@pytest.mark.parametrize("method", ["stat", "open", "is_dir"])
def test_a_file_that_may_not_be_read_is_named(
    mirror: fk.Mirror, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """It is a MirrorError that names the path, and what the mirror says of itself is no error."""
    whole = getattr(Path, method)

    def refused(path: Path, *args: Any, **options: Any) -> Any:
        if path.parent.parent == mirror.path or path.parent.parent.parent == mirror.path:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path, *args, **options)

    monkeypatch.setattr(Path, method, refused)
    fresh = fk.Mirror(mirror.path)
    with pytest.raises(MirrorError, match=f"{mirror.path}/.*Permission denied"):
        fresh.units.count()
    assert repr(fresh)
    assert fresh.verify()["damaged"].sum() > 0
