"""A mirror after its first sync, copied for each test of the modules that have `a_register`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import finstat_kit as fk
from tests.support.mirrors import synced
from tests.support.registers import Watched


@pytest.fixture
def register(request: pytest.FixtureRequest) -> Watched:
    """Give the register of the module, unchanged by other tests."""
    made: Watched = request.module.a_register()
    return made


@pytest.fixture(scope="module")
def first(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a mirror after its first sync, which no test changes."""
    contents: bool = getattr(request.module, "WITH_CONTENTS", False)
    folder = tmp_path_factory.mktemp("first") / "ruz"
    return synced(folder, request.module.a_register(), contents=contents)


@pytest.fixture
def mirror(tmp_path: Path, register: Watched, first: Path) -> fk.Mirror:
    """Give a mirror after its first sync."""
    return fk.Mirror(shutil.copytree(first, tmp_path / "ruz"), register=register)
