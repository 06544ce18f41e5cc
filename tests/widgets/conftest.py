"""One JupyterLab for all tests that need it, and a browser for each module."""

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # For a module: as long as playwright runs, no other test of the process can run a loop.
    with lab.browser() as shown:
        yield shown


@pytest.fixture(scope="session")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("lab")
    with lab.jupyterlab(folder) as url:
        yield Served(url, folder)
