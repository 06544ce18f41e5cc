"""A mirror before and after its first sync, the latter copied for each test.

A module says by `a_register` of which register, and by `WITH_CONTENTS` whether it keeps contents.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import finstat_kit as fk
from tests.support.mirrors import synced
from tests.support.registers import Watched
from tests.support.syncs import small_register


def _register_of(request: pytest.FixtureRequest) -> Watched:
    made: Watched = getattr(request.module, "a_register", small_register)()
    return made


@pytest.fixture
def register(request: pytest.FixtureRequest) -> Watched:
    """Give the register of the module, unchanged by other tests."""
    return _register_of(request)


@pytest.fixture(scope="module")
def first(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a mirror after its first sync, which no test changes."""
    contents: bool = getattr(request.module, "WITH_CONTENTS", False)
    folder = tmp_path_factory.mktemp("first") / "ruz"
    return synced(folder, _register_of(request), contents=contents)


@pytest.fixture
def mirror(tmp_path: Path, register: Watched, first: Path) -> fk.Mirror:
    """Give a mirror after its first sync."""
    return fk.Mirror(shutil.copytree(first, tmp_path / "ruz"), register=register)


@pytest.fixture
def new(tmp_path: Path, register: Watched) -> fk.Mirror:
    """Give a mirror before its first sync."""
    return fk.Mirror(tmp_path / "ruz", register=register)
