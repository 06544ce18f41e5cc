"""The mirror's edges: names of folders, mirror.json, codelists that change alone, compaction."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit import arguments
from finstat_kit.errors import MirrorError
from finstat_kit.protocol.wire import Reply
from tests.conftest import Told
from tests.support.mirrors import assert_in_step, contents
from tests.support.registers import Watched
from tests.support.small_mirror import RECORD, looked_at, two_days_more


def a_register() -> Watched:
    return Watched(fk.sample(60), page_size=1_000)


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


# Names of folders


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "i*",
        "ľ#m",
        "n%4",
        "emoji 😀",
        "j?k",
        "{o}",
        "n%",
        "q:r",
        "~",
        "..x",
        "a&b=c",
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


# mirror.json


def changed(said: dict[str, Any], **values: object) -> str:
    return json.dumps({**said, **values})


SHAPES: dict[str, Callable[[dict[str, Any]], str]] = {
    "a list": lambda said: "[]",
    "null": lambda said: "null",
    "a number": lambda said: "7",
    "a text": lambda said: '"register"',
    "nothing": lambda said: "",
    "no JSON": lambda said: "{",
    "brackets": lambda said: "[" * 200_000,
    "no key": lambda said: "{}",
    "a list in its place": lambda said: changed(said, register=[]),
    "a number in its place": lambda said: changed(said, register=5),
    "another register": lambda said: changed(said, register="https://register.example"),
    "another sample": lambda said: changed(said, invented="finstat_kit sample; seed=9; units=60"),
    "no day": lambda said: changed(said, changed_since="2023-02-29"),
    "a day of format 1 that is none": lambda said: changed(said, changed_since="x", format="1"),
    "another day": lambda said: changed(said, changed_since="2020-01-01"),
    "a day that is a number": lambda said: changed(said, changed_since=5),
    "no format": lambda said: changed(said, format=None),
    "format 0": lambda said: changed(said, format=0),
    "a format that is none": lambda said: changed(said, format="two"),
    "a mirror marked as an extract": lambda said: changed(said, extract=3),
    "no checksum": lambda said: changed(said, checksum=None),
    **{
        f"without {key}": lambda said, key=key: json.dumps(  # type: ignore[misc]
            {name: value for name, value in said.items() if name != key}
        )
        for key in ("register", "invented", "changed_since", "format", "checksum")
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_mirror_json_of_another_shape_is_named_and_written_anew(
    mirror: fk.Mirror, register: Watched, shape: str, matrix: Told
) -> None:
    """Reading, verify and sync say so; removed as they say, it is written anew."""
    file = mirror.path / "mirror.json"
    before = file.read_bytes()
    file.write_text(SHAPES[shape](json.loads(before)), encoding="utf-8")

    for call in (mirror.snapshot, mirror.sync, mirror.units.count, lambda: mirror.sync(full=True)):
        with pytest.raises(MirrorError, match=rf"mirror\.json is damaged .*remove {file}: the"):
            call()
    row = mirror.verify().row(0, named=True)
    assert (row["file"], row["damaged"]) == ("mirror.json", 1)
    assert repr(mirror)
    file.unlink()
    mirror.sync()
    assert file.read_bytes() == before
    assert_in_step(mirror, register.sample)
    matrix(f"mirror.json: {shape}", "MirrorError; removed, it is written anew", "MirrorError")


@pytest.mark.parametrize("number", [4, "4", "99", 10**30])
def test_a_newer_format_is_refused(mirror: fk.Mirror, number: object, matrix: Told) -> None:
    """It is refused with a clear word, and nothing is written."""
    file = mirror.path / "mirror.json"
    file.write_text(changed(json.loads(file.read_bytes()), format=number), encoding="utf-8")
    before = contents(mirror.path)
    words = rf"of format {number}, which a newer version of finstat_kit wrote; this one knows 3"

    with pytest.raises(MirrorError, match=words):
        fk.Mirror(mirror.path)
    for call in (mirror.snapshot, mirror.sync, mirror.compact, lambda: mirror.sync(full=True)):
        with pytest.raises(MirrorError, match=words):
            call()
    assert "newer version" in mirror.verify()["meaning"][0]
    assert contents(mirror.path) == before
    matrix(f"mirror.json of format {number}", "MirrorError: a newer version", "MirrorError")


@pytest.mark.parametrize("said", ["[]", "{}", "7", "\udcff"])
def test_a_broken_note_of_the_writer_stops_nothing(
    mirror: fk.Mirror, register: Watched, said: str
) -> None:
    """Who writes is then not known, and that is all."""
    told: list[str] = []

    def instead(path: str, query: str) -> Reply | None:
        if not told:
            note = said.encode(errors="surrogateescape")
            (mirror.path / "writer.json").write_bytes(note)
            with pytest.raises(MirrorError) as caught:
                fk.Mirror(mirror.path, register=fk.sample(10)).compact()
            told.append(str(caught.value))
        return None

    register.instead = instead
    mirror.sync()
    assert "is being written by another process" in told[0]


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
    commits = [table.commit for table in mirror._held.tables]
    mirror.sync()

    assert [table.commit for table in mirror._held.tables] == commits
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
    with pytest.raises(MirrorError, match=r"cannot be read or written: (.|\n)*then sync again"):
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


def test_a_look_anew_never_shows_an_empty_table(
    mirror: fk.Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the table is open again, who asks is answered by the look before."""
    table = looked_at(mirror)
    before = table.commit, table.state(), table.rows
    seen = []

    def asked() -> None:
        seen.append((table.commit, table.state(), table.rows))

    monkeypatch.setattr(table.seals, "broken_commit", asked)
    table.refresh(anew=True)

    assert seen == [before]
    assert before[1]["version"] > 0


def test_verify_leaves_the_tables_of_the_object_alone(mirror: fk.Mirror) -> None:
    """What a sync is walking on stays what it is."""
    before = [table._delta for table in mirror._held.tables]
    mirror.verify()

    assert all(t._delta is b for t, b in zip(mirror._held.tables, before, strict=True))


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
                versions.append(looked_at(fk.Mirror(mirror.path)).state()["version"])
        finally:
            ended.set()

    assert looks.result() > 0
    assert versions == sorted(set(versions))
    assert_in_step(fk.Mirror(mirror.path), register.sample)


def test_a_version_is_never_numbered_twice(mirror: fk.Mirror, register: Watched) -> None:
    """Rows that would hide behind older ones are refused, and the cure makes the copy whole."""
    table = looked_at(mirror)
    table.append(pl.DataFrame(schema=table.schema), {"version": 0})
    register.sample.set_today(register.today + timedelta(days=1))
    register.sample.touch(register.sample.units.ids(limit=9))

    with pytest.raises(MirrorError, match=r"that 1 is; remove .*/units: sync\(full=True\)"):
        fk.Mirror(mirror.path, register=register).sync()
    shutil.rmtree(table.path)
    again = fk.Mirror(mirror.path, register=register)
    again.sync(full=True)
    assert_in_step(again, register.sample)


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


def test_compaction_seals_nothing_unseen(mirror: fk.Mirror) -> None:
    """Where the checksums are gone, values are compared with the digests of their rows before."""
    (mirror.path / "units" / "_seals.txt").unlink()
    file = next((mirror.path / "units").glob("*.parquet"))
    rows = pl.read_parquet(file)
    changed = rows.with_columns(nazovUJ=pl.lit("another"))
    changed.write_parquet(file)
    with pytest.raises(MirrorError, match=r"60 rows of .* are not as they were written"):
        fk.Mirror(mirror.path).compact()

    assert not (mirror.path / "units" / "_seals.txt").exists()
    assert mirror.verify()["damaged"].sum() == 60


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
