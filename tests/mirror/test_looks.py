"""What a large log holds is noted for the next process, and is only a memory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.mirror.storage import looks, versions
from tests.support.examples import slow
from tests.support.mirrors import filings_on, synced

LOGS: Final = ("units", "statements", "annual_reports", "reports")


@pytest.fixture(autouse=True)
def _small_logs_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "_MANY", 1)


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a mirror of two days, which no test changes."""
    path = synced(tmp_path_factory.mktemp("mirrored") / "ruz", filings_on(1), contents=True)
    return synced(path, filings_on(2), contents=True)


def answers(path: Path) -> list[pl.DataFrame]:
    """Return what a new object of a mirror answers out of all its logs."""
    mirror = fk.Mirror(path)
    return [
        *(getattr(mirror, name).ids() for name in LOGS),
        *(mirror.snapshot(name).collect().sort("id") for name in LOGS),
        mirror.cells().collect().sort("report_id", "table", "row", "column"),
    ]


def assert_same(path: Path, expected: list[pl.DataFrame]) -> None:
    for found, wanted in zip(answers(path), expected, strict=True):
        assert_frame_equal(found, wanted)


def test_the_next_process_does_not_look_again(
    mirrored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers as the first one, out of the notes."""
    path = shutil.copytree(mirrored, tmp_path / "ruz")
    expected = answers(path)
    monkeypatch.setattr(versions, "keys_of", None)

    assert sorted(note.name for note in (path / "looks").iterdir()) == sorted(LOGS)
    assert_same(path, expected)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["flipped", "of another log", *slow("empty")])
def test_a_damaged_note_is_none(mirrored: Path, tmp_path: Path, damage: str) -> None:
    """Everything is computed again."""
    path = shutil.copytree(mirrored, tmp_path / "ruz")
    expected = answers(path)
    for name in LOGS:
        note = path / "looks" / name
        body = note.read_bytes()
        if damage == "of another log":
            shutil.copy(path / "looks" / LOGS[LOGS.index(name) - 1], note)
        else:
            flipped = bytearray(body)
            flipped[len(body) * 2 // 3] ^= 4
            note.write_bytes({"flipped": bytes(flipped), "empty": b""}[damage])

    assert_same(path, expected)


@pytest.mark.slow
def test_a_note_is_of_the_newest_run(tmp_path: Path) -> None:
    """After a sync that changes something another one is made; of a former day none is."""
    path = synced(tmp_path / "ruz", filings_on(1), contents=True)
    first = answers(path)
    synced(path, filings_on(2), contents=True)
    second, day = answers(path), fk.Mirror(path).as_of("2026-06-30")

    shutil.rmtree(path / "looks")
    assert_same(path, second)
    assert_frame_equal(day.statements.ids(), first[1])
    assert not first[1].equals(second[1])


@pytest.mark.slow
def test_without_a_place_for_notes_nothing_is_noted(mirrored: Path, tmp_path: Path) -> None:
    """A folder that cannot be written to is read without them."""
    path = shutil.copytree(mirrored, tmp_path / "ruz")
    shutil.rmtree(path / "looks", ignore_errors=True)
    (path / "looks").write_text("in the way")

    assert_same(path, answers(mirrored))
