"""What tests of registers and collections share."""

from __future__ import annotations

from pathlib import Path

import pytest

import finstat_kit as fk
from tests.support.remote_sample import Behind


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ruz.cache"


@pytest.fixture
def behind() -> Behind:
    return Behind(fk.sample(2_000))
