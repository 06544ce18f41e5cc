"""Registers that go to another process, or are copied: new ones with the same settings."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.transport.base import Timing
from finstat_kit.transport.exchange import Stats
from finstat_kit.transport.http import Sockets
from tests.support.examples import slow
from tests.support.faults import ListServer

WAYS: list[Callable[[fk.Register], fk.Register]] = [
    lambda reg: pickle.loads(pickle.dumps(reg)),
    copy.deepcopy,
    copy.copy,
]
each_way = pytest.mark.parametrize("again", [WAYS[0], *slow(*WAYS[1:])])


@each_way
def test_a_register_is_a_new_one_with_the_same_settings(
    again: Callable[[fk.Register], fk.Register],
) -> None:
    """All settings are carried along, nothing of what happened since, and no connection."""
    with ListServer(500) as server:
        with fk.Register(
            server.url, page_size=100, connections=3, rate=250, deadline=7, tries=2, lang="en"
        ) as reg:
            reg.units.ids()
            with again(reg) as other:
                assert repr(other) == repr(reg)
                (made, _), (former, _) = other.__reduce__(), reg.__reduce__()
                settings = {"page_size": 100, "rate": 250, "deadline": 7, "tries": 2, "lang": "en"}
                assert made.keywords == former.keywords  # type: ignore[attr-defined]
                assert settings.items() <= made.keywords.items()  # type: ignore[attr-defined]
                assert other.stats == Stats()
                assert other.units.ids().equals(reg.units.ids())


@each_way
def test_a_transport_is_carried_along(again: Callable[[fk.Register], fk.Register]) -> None:
    """Our own one too: the copy opens connections anew, with the same timing."""
    with ListServer(500) as server:
        timing = Timing(sleep=print)
        with fk.Register(server.url, transport=Sockets(server.url, timing)) as reg:
            reg.units.ids()
            with again(reg) as other:
                assert other.units.ids().height == 500
                assert other._session.exchange._timing.sleep is print


@each_way
def test_defaults_are_carried_as_they_were_settled(
    again: Callable[[fk.Register], fk.Register],
) -> None:
    """What was left to the address is the same again."""
    reg = again(fk.Register(fk.LIVE))

    assert (reg.connections, reg.rate) == (4, 5.0)


@each_way
def test_a_sample_comes_from_its_use_arguments(again: Callable[[Sample], Sample]) -> None:
    """The same call makes the same units."""
    sample = fk.sample(300, seed=7, strict=True)
    sample.lang = "en"

    other = again(sample)

    assert (repr(other), other.lang) == (repr(sample), "en")
    assert other._use_arguments == sample._use_arguments
    assert other.units.get(other.units.ids()).equals(sample.units.get(sample.units.ids()))


@each_way
@pytest.mark.parametrize(
    "change",
    [
        lambda sample: sample.set_today("2026-07-01"),
        lambda sample: sample.publish(1),
        lambda sample: sample.delete(sample.units.ids(limit=1)),
    ],
    ids=["set_today", "publish", "delete"],
)
def test_a_changed_sample_refuses(
    again: Callable[[Sample], Sample], change: Callable[[Sample], object]
) -> None:
    """A recipe does not hold what was changed: the copy would be another register."""
    sample = fk.sample(30)
    change(sample)

    with pytest.raises(fk.UsageError, match=r"was changed after fk\.sample\(\)"):
        again(sample)


def test_own_codelists_go_along_by_their_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may stand in another folder."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "kraje.json").write_text('{"lokacie":[{"kod":"X","nazov":{"sk":"Y"}}]}')
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(fk.sample(3, codelists="own"))
    monkeypatch.chdir("/")

    assert pickle.loads(pickled).regions()["code"].to_list() == ["X"]


@each_way
def test_a_mirror_goes_by_its_path(
    again: Callable[[fk.Mirror], fk.Mirror], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy reads the same folder, from wherever it stands, and copies the same register."""
    monkeypatch.chdir(tmp_path)
    mirror = fk.Mirror("m", register=fk.sample(200))
    mirror.sync()
    mirror.lang = "en"
    monkeypatch.chdir("/")

    other = again(mirror)

    assert (other.path, other.lang) == (tmp_path / "m", "en")
    assert other.units.ids().equals(mirror.units.ids())
    assert other.sync()["new"].sum() == 0


@each_way
@pytest.mark.parametrize("name", ["units", "statements", "reports", "annual_reports"])
def test_a_collection_goes_with_its_register(
    again: Callable[[object], Callable[..., object]], name: str
) -> None:
    """Its methods too, as a pool of processes sends them."""
    with ListServer(500) as server, fk.Register(server.url) as reg:
        for owner in (reg, fk.sample(300)):
            collection = getattr(owner, name)
            assert repr(again(collection)) == repr(collection)
            assert again(collection.count)() == collection.count()


def test_a_collection_of_a_changed_sample_refuses() -> None:
    """As the sample itself does."""
    sample = fk.sample(30)
    sample.publish(1)

    with pytest.raises(fk.UsageError, match=r"was changed after fk\.sample\(\)"):
        pickle.dumps(sample.units.get)


@pytest.mark.slow
def test_another_process_asks_what_was_sent_to_it() -> None:
    """A pickle is enough: the process that loads it opens connections of its own."""
    script = """
import pickle, sys
for reg in pickle.load(sys.stdin.buffer):
    print(reg.units.count())
"""
    with ListServer(500) as server, fk.Register(server.url) as reg:
        reg.units.count()
        seen = subprocess.run(
            [sys.executable, "-c", script],
            input=pickle.dumps([reg, fk.sample(300)]), capture_output=True, timeout=60,
        )  # fmt: skip

    assert seen.stdout.split() == [b"500", b"%d" % fk.sample(300).units.count()], seen.stderr
