"""Whatever happens to a file of a mirror: an answer is the whole one or an error with the cure.

Each kind of file is deleted, emptied, cut, flipped in one bit and exchanged for another, in turn.
Then all is read, by an object that has read before and by a new one, verified and synced; at last
the one cure is taken, and the mirror equals the register.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import MirrorError
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.harm import FAULTS, delete, empty
from tests.support.mirrors import CODELISTS, LISTS, assert_in_step, data

QUESTIONS: dict[str, Callable[[fk.Mirror], Any]] = {
    "units()": lambda m: m.snapshot().collect().sort("id"),
    "as_of": lambda m: m.snapshot(as_of="2026-07-01").collect().sort("id"),
    "changes": lambda m: m.changes(),
    "unreadable": lambda m: m.unreadable(),
    "get": lambda m: m.units.get(m.units.ids(limit=5)),
    "scan": lambda m: m.units.scan().collect(),
    "today": lambda m: m.today,
    "cite": lambda m: m.cite(lang="en"),
    "invented": lambda m: m.invented,
    **{f"count {n}": lambda m, n=n: getattr(m, n).count() for n in LISTS},  # type: ignore[misc]
    **{f"ids {n}": lambda m, n=n: getattr(m, n).ids() for n in LISTS},  # type: ignore[misc]
    **{n: lambda m, n=n: m.codelist(n) for n in CODELISTS},  # type: ignore[misc]
}
FOUR = ("deleted", "emptied", "flipped in a bit", "exchanged")
# Name of the kind, a pattern within the folder, and whether anything is lost with such a file.
KINDS = [
    ("writer.lock", "writer.lock", False), ("writer.json", "writer.json", False),
    ("data", "data/*.parquet", True), ("runs", "runs/*.json", False),
]  # fmt: skip
CASES = [
    pytest.param(kind, pattern, told, fault, id=f"{kind} {fault}")
    for kind, pattern, told in KINDS
    for fault in FAULTS
]


class Sound(NamedTuple):
    """A mirror in sound health, its register, and what it answers."""

    path: Path
    register: Sample
    answers: dict[str, object]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """Give a mirror of four days, compacted on the way, of which the last run changed nothing."""
    register = fk.sample(40)
    mirror = fk.Mirror(tmp_path_factory.mktemp("sound") / "ruz", register=register)
    for day in ("2026-07-01", "2026-07-02", "2026-07-03"):
        mirror.sync()
        mirror.compact(keep_hours=0)
        register.set_today(day)
        register.touch(register.units.ids(limit=3))
        register.publish(2)
    mirror.sync()
    mirror.compact()
    assert mirror.changes().height > 9
    return Sound(mirror.path, register, {name: ask(mirror) for name, ask in QUESTIONS.items()})


def refused(mirror: fk.Mirror, sound: Sound) -> list[str]:
    """Put all questions; return the errors: what is no error is the whole answer."""
    errors = []
    for name, question in QUESTIONS.items():
        try:
            seen = question(mirror)
        except MirrorError as error:
            errors.append(f"{name}: {error}")
            continue
        expected = sound.answers[name]
        if isinstance(expected, pl.DataFrame):
            assert_frame_equal(seen, expected)
        else:
            assert seen == expected
    assert repr(mirror)
    return errors


def meanings(mirror: fk.Mirror) -> list[str]:
    report = mirror.verify()
    return [f"{file}: {meaning}" for file, _, _, meaning in report.rows() if meaning]


def synced(path: Path, register: Sample, *, full: bool) -> str | None:
    """Sync; return what the error says, None where it is in step."""
    try:
        mirror = fk.Mirror(path, register=register)
        mirror.sync(full=full)
    except MirrorError as error:
        return str(error)
    assert_in_step(mirror, register)
    assert meanings(mirror) == []
    return None


def cured(path: Path, register: Sample, *, full: bool) -> list[str]:
    """Sync, and take the one cure where the error names it; return what it said."""
    said: list[str] = []
    while (error := synced(path, register, full=full)) is not None:
        said.append(error)
        assert len(said) < 2, said
        assert "sync(full=True)" in error, said
        full = True
    return said


def survives(sound: Sound, folder: Path, harm: Callable[[Path], None], within: Path) -> str:
    """Do harm to a mirror, look at it from all sides, heal it; return what verify said."""
    path = Path(shutil.copytree(sound.path, folder / "ruz"))
    knows = fk.Mirror(path, register=sound.register)
    assert refused(knows, sound) == []
    harm(path / within)

    errors = refused(knows, sound)
    try:
        errors += refused(fk.Mirror(path), sound)
    except MirrorError as error:
        errors.append(str(error))
    found = meanings(knows)
    assert found or not errors
    for full in (False, True):
        again = Path(shutil.copytree(path, folder / f"again {full}"))
        for line in cured(again, sound.register, full=full):
            assert found, line
    return "; ".join(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")  # the run before is read
@pytest.mark.parametrize(("kind", "pattern", "told", "fault"), CASES)
def test_a_damaged_file_is_noticed_and_cured(
    sound: Sound, tmp_path: Path, kind: str, pattern: str, told: bool, fault: str, matrix: Told
) -> None:
    """Nothing less is answered unnoticed, verify names it, and the cure brings all of it back."""
    files = sorted(sound.path.glob(pattern))
    if kind == "data":  # one of each log that the questions need
        files = [data(sound.path, log)[0] for log in ("units", "statements", "codelists")]
    assert files
    for number, file in enumerate(files):
        within = file.relative_to(sound.path)
        folder = tmp_path / str(number)
        folder.mkdir()
        said = survives(sound, folder, FAULTS[fault], within)
        assert bool(said) == told, within
    seen = re.sub(r"/\S*/|[0-9a-f]{64}", "…", said)[:100] or "nothing is lost"
    matrix(f"{kind} {fault}", "the whole or MirrorError; its cure heals", seen)


@pytest.mark.slow
@pytest.mark.parametrize("harm", [delete, *slow(empty)])
@pytest.mark.parametrize("name", ["data", "runs"])
def test_a_damaged_folder_is_noticed_and_cured(
    sound: Sound, tmp_path: Path, name: str, harm: Callable[[Path], None], matrix: Told
) -> None:
    """The same of all data, or all runs."""
    said = survives(sound, tmp_path, harm, Path(name))

    assert said
    matrix(f"{name} {harm.__name__}", "MirrorError; its cure heals", said[:100])
