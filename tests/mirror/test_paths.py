"""Where a mirror lies: names of folders, relative paths, URLs, and a file in its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import finstat_kit as fk
from finstat_kit import arguments
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.mirrors import assert_in_step


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "%41",
        *slow("a[1]b"),
        *slow(
            "i* n%4 emoji 😀 ľ#m j?k {o} a&b=c a%2Fb [1] n%",
            "..x back\\slash line\nbreak tab\t a|b ^ q:r \x7f",
            "~",
        ),
    ],
)
def test_a_name_is_any_name(tmp_path: Path, name: str) -> None:
    """What means something to a pattern or an address is a letter like any other."""
    sample = fk.sample(4)
    mirror = fk.Mirror(tmp_path / name, register=sample)
    mirror.sync()
    sample.set_today("2026-07-02")
    sample.touch(sample.units.ids(limit=2))
    mirror.sync()

    assert_in_step(fk.Mirror(tmp_path / name), sample)
    assert set(mirror.verify()["meaning"]) == {""}
    assert names(tmp_path) == [name]


def test_a_name_that_is_no_text_is_refused(tmp_path: Path, matrix: Told) -> None:
    """It is refused before anything is written, here or elsewhere."""
    for path in (tmp_path / "\udcff", tmp_path / "\udcff" / "ruz"):
        with pytest.raises(fk.UsageError, match=r"is no text, .*give a folder of another name"):
            fk.Mirror(path, register=fk.sample(5))

    assert names(tmp_path) == []
    matrix("a mirror in a name that is no text", "UsageError before anything", "UsageError")


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


@pytest.mark.slow
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
