"""Completion in a notebook: jedi, which it asks, finds what is public on every name and object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jedi
import pytest

import finstat_kit as fk
from tests.support.examples import slow


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed files are kept per process: jedi reads half a file that another one is writing."""
    folder = tmp_path_factory.getbasetemp() / "jedi"
    monkeypatch.setattr(jedi.settings, "cache_directory", folder)


def completed(thing: object) -> set[str]:
    found = jedi.Interpreter("thing.", [{"thing": thing}]).complete()
    return {completion.name for completion in found}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize(
    "name", ["the package", "units", "financials", "errors", *slow("Register", "Mirror")]
)
def test_public_names_are_completed(name: str) -> None:
    """The package, and a name of each kind."""
    thing = fk if name == "the package" else getattr(fk, name)

    found = completed(thing)

    assert found
    assert public(thing) <= found


OBJECTS: dict[str, Callable[[], object]] = {
    "register": lambda: fk.Register("https://register.example"),
    "units": lambda: fk.sample(20).units,
    "pages": lambda: fk.sample(20).units.pages(),
    "a field": lambda: fk.LocationPicker(register=fk.sample(20)).district,
    "StatementViewer": lambda: fk.StatementViewer(register=fk.sample(20)),
    "error": lambda: fk.UsageError("wrong"),
}


@pytest.mark.parametrize(
    "name", ["register", *slow("units", "pages", "error"), *slow("a field", "StatementViewer")]
)
def test_what_calls_return_is_completed(name: str) -> None:
    """What one holds after a call."""
    thing = OBJECTS[name]()

    assert len(public(thing)) > 1
    assert public(thing) <= completed(thing)


@pytest.mark.slow
def test_a_mirror_is_completed(tmp_path: Path) -> None:
    """A mirror, too, which needs a folder."""
    mirror = fk.Mirror(tmp_path / "mirror")

    assert public(mirror) <= completed(mirror)
