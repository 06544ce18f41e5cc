"""A cache file, replayed without a network; a mirror chosen by its name."""

from __future__ import annotations

import pickle
import socket
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.errors import CacheError
from tests.support.remote_sample import Behind, unchanged_ids


def test_what_is_recorded_is_replayed(
    behind: Behind, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(reg: fk.Register) -> list[object]:
        ids = reg.units.ids(changed_since="-30d")
        return [
            ids.rows(),
            reg.units.get(ids).rows(),
            reg.statements.get(reg.statements.ids(limit=3)).rows(),
            reg.resolve_labels(reg.units.get(ids.head(3)), lang="en").rows(),
            reg.units.count(changed_since=reg.today - timedelta(days=7)),
            [page.height for page in reg.reports.pages(page_size=900)],
            reg.today,
            reg.invented,
            reg._source_name("en"),
        ]

    behind.time.now = -17_152_000  # 2026-06-30
    with behind.register(cache=file, page_size=500, connections=4) as recorded:
        expected = everything(recorded)

    def no_socket(*arguments: object, **options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    behind.sample.publish(5)
    monkeypatch.setenv("FINSTAT_KIT_URL", f"cache:{file}")
    fk.use(None)
    replayed = fk.register()

    assert everything(replayed) == expected
    assert replayed.today == date(2026, 6, 30)
    assert (replayed.stats.requests, replayed.stats.from_cache > 0) == (0, True)
    assert replayed.cite(lang="en") == (
        "https://ruz.example, invented data, replies recorded 2026-06-30 19:33:20 UTC to "
        "2026-06-30 19:33:20 UTC."
    )
    assert replayed.cache == recorded.cache
    with fk.using(pickle.loads(pickle.dumps(replayed))) as again:
        assert again.units.count(changed_since=again.today - timedelta(days=7)) == expected[4]
    fk.use(None)


@pytest.mark.slow
def test_a_replay_shows_no_bar(
    behind: Behind,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not of figures either, on a terminal."""
    ids = unchanged_ids(behind.sample, 2)
    behind.register(cache=file).financials(ids, 2020, progress=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    with fk.using(f"cache:{file}") as replayed:
        replayed.financials(ids, 2020)

    assert capsys.readouterr().err == ""


def test_what_is_not_recorded_is_an_error_with_the_line_that_records_it(
    behind: Behind, file: Path
) -> None:
    recorded, other = unchanged_ids(behind.sample, 2)
    behind.register(cache=file).units.get(recorded)
    with (
        fk.using(f"cache:{file}") as replayed,
        pytest.raises(CacheError) as caught,
    ):
        replayed.units.get([recorded, other])
    assert f"/api/uctovna-jednotka?id={other} is not in {file}" in str(caught.value)
    assert f"fk.use('https://ruz.example', cache='{file}')" in str(caught.value)
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [recorded]


def test_replies_of_a_later_recording_replace_older_ones(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.sample.delete(ids[0])
    behind.register(cache=file).units.get(ids)

    with fk.using(f"cache:{file}") as replayed:
        assert replayed.units.get(ids)["stav"].to_list() == ["ZMAZANÉ", *[None] * 4]


@pytest.mark.parametrize(
    ("register", "options", "message"),
    [
        (fk.sample(0), {"cache": "x"}, "cache='x': a Register has its own"),
        (fk.sample(0), {"max_age": 5}, "max_age=5: a Register has its own"),
        ("cache:x", {"cache": "x"}, "recorded replies are only read; leave it out"),
        ("mirror:x", {"cache": "x"}, "a mirror answers from disk; leave it out"),
        (fk.LIVE, {"max_age": 5}, "max_age needs cache=: it limits the age of cached"),
        (fk.LIVE, {"cache": "/no/where/x"}, "there is no folder '/no/where'; create it"),
        (fk.LIVE, {"cache": "/tmp"}, "cache='/tmp' is a folder"),
        (fk.LIVE, {"cache": 5}, "cache=5 is not a path"),
        (fk.LIVE, {"cache": ""}, "cache='' is not a path"),
        (fk.LIVE, {"cache": "x\0"}, r"cache='x\\x00' is not a path"),
        (fk.LIVE, {"cache": "x" * 5_000}, "cache.* is not a path: File name too long"),
        (fk.LIVE, {"cache": "x", "max_age": "1 hour"}, "max_age='1 hour' is not a valid duration"),
        (fk.LIVE, {"cache": "x", "max_age": -1}, "max_age=-1 is not a valid duration"),
        (fk.LIVE, {"cache": "x", "max_age": True}, "max_age=True is not a valid duration"),
        ("mirror:/no/where", {}, "there is no mirror in '/no/where'; make it"),
        ("mirror:/no/where@2026-06-30", {}, "there is no mirror in '/no/where'; make it"),
        ("mirror:", {}, "is not a register"),
        ("cache:", {}, "is not a register"),
    ],
)
def test_bad_choices_name_the_cure(
    register: Any, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fk.UsageError, match=message):
        fk.use(register, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match=r"there is no file .*record it: fk\.use\(fk\.LIVE"):
        fk.use(f"cache:{tmp_path}/ruz.cache")


def test_the_state_of_a_file(behind: Behind, file: Path) -> None:
    register = behind.register(cache=file)
    assert register.cache is not None
    assert register.cache.replies == 0
    register.units.get(unchanged_ids(behind.sample, 2))
    state = register.cache
    assert state is not None
    assert (state.file, state.replies, state.bytes) == (file, 2, file.stat().st_size)
    assert state.first_day == state.last_day == register.today
    assert f"cache {file}>" in repr(register)
    assert fk.sample(0).cache is None


@pytest.mark.slow
def test_a_mirror_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a@b"
    fk.Mirror(folder, register=fk.sample(50)).sync()
    with fk.using(f"mirror:{folder}", lang="en") as mirror:
        assert (mirror.units.count(), mirror.lang) == (50, "en")
    monkeypatch.setenv("FINSTAT_KIT_URL", f"mirror:{folder}")
    fk.use(None)
    assert fk.units.count() == 50
    fk.use(None)
