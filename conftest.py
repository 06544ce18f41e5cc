"""How ``pytest -n`` divides the tests among its workers, and what makes them quick."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Generator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# The workers fill all cores: threads of polars and deltalake beside them would only wait.
# Both read this when they are imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("TOKIO_WORKER_THREADS", "1")

# Each group shares what is slow to start, a kernel or a browser with JupyterLab.
_IN_A_BROWSER = (
    "test_browser.py", "test_keyboard.py", "test_themes.py", "test_viewer_browser.py",
)  # fmt: skip


class _AnyTest(LoadScopeScheduling):  # type: ignore[misc]
    """Any test to any worker, but the cells of a notebook to one, and those in a browser.

    Those of completion too: what jedi has parsed once stays in the memory of its process.

    ``--dist=loadgroup`` would do the same by markers, but has no effect since pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.endswith(_IN_A_BROWSER):
            return "browser"
        return path if path.endswith((".ipynb", "test_completion.py")) else nodeid


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Give one worker more than cores: some wait for a kernel, a process or a timeout."""
    return (yield) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Give pytest-xdist the scheduler."""
    return _AnyTest(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the cells of a notebook in their order, also where plugins shuffle the tests."""
    cells = [item for item in items if item.path.suffix == ".ipynb"]
    ordered = iter(sorted(cells, key=lambda cell: (cell.path, vars(cell)["cell_num"])))
    items[:] = [next(ordered) if item.path.suffix == ".ipynb" else item for item in items]


def pytest_collection_finish() -> None:
    """Spare the tests looking again and again for garbage among all modules and test functions."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # extension modules report what is left at the very end as leaked
