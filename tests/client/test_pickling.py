"""Registers that go to another process, or are copied: samples, mirrors, none that sends."""

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
from tests.support.examples import slow

WAYS: list[Callable[[fk.Register], fk.Register]] = [
    lambda reg: pickle.loads(pickle.dumps(reg)),
    copy.deepcopy,
    copy.copy,
]
each_way = pytest.mark.parametrize("again", [WAYS[0], *slow(*WAYS[1:])])


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


def test_a_collection_of_a_changed_sample_refuses() -> None:
    """As the sample itself does."""
    sample = fk.sample(30)
    sample.publish(1)

    with pytest.raises(fk.UsageError, match=r"was changed after fk\.sample\(\)"):
        pickle.dumps(sample.units.get)


@each_way
def test_a_register_that_sends_is_refused(again: Callable[[object], object]) -> None:
    """Each copy would have a rate of its own; its collections and their methods, too."""
    reg = fk.Register("https://register.example")

    with pytest.raises(fk.UsageError, match=r"open it there: fk\.Register\('https://reg"):
        again(reg)
    for thing in (reg.units, reg.units.get):
        with pytest.raises(fk.UsageError, match=r"open it there: fk\.Register\('https://reg"):
            pickle.dumps(thing)


@each_way
@pytest.mark.parametrize("name", ["units", "statements", "reports", "annual_reports"])
def test_a_collection_goes_with_its_sample(
    again: Callable[[object], Callable[..., object]], name: str
) -> None:
    """Its methods too, as a pool of processes sends them."""
    collection = getattr(fk.sample(300), name)

    assert repr(again(collection)) == repr(collection)
    assert again(collection.count)() == collection.count()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:some reports gave no number")
def test_lazy_frames_are_collected_in_another_process(tmp_path: Path) -> None:
    """Those of a sample and of a mirror, figures of all its units too."""
    sample = fk.sample(20)
    mirror = fk.Mirror(tmp_path / "m", contents=True, register=sample)
    mirror.sync()
    lazy = [
        sample.units.scan(), sample.reports.cells(sample.reports.scan()), mirror.units.scan(),
        mirror.reports.scan(), mirror.scan_cells(), mirror.scan_financials(2020),
    ]  # fmt: skip
    script = (
        "import pickle, sys; print(*(f.collect().height for f in pickle.load(sys.stdin.buffer)))"
    )

    seen = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps(lazy), capture_output=True, timeout=60
    )

    assert seen.stdout.split() == [b"%d" % frame.collect().height for frame in lazy], seen.stderr
