"""One browser and one JupyterLab for all tests that need them: both are slow to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser

from tests.support import lab


class Served(NamedTuple):
    """A JupyterLab that is running, and the folder that it serves."""

    url: str
    folder: Path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with lab.browser() as shown:
        yield shown


@pytest.fixture(scope="session")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("lab")
    with lab.jupyterlab(folder) as url:
        yield Served(url, folder)
