"""How ``pytest -n`` divides the tests among its workers, and what makes them quick."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# The workers fill all cores: threads of polars beside them would only wait.
# It reads this when it is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

# Workers, kernels and other processes of tests take over what one of them has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what it runs in the background with Ctrl-C ignored; tests raise it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each group shares what is slow to start, a kernel or a browser with JupyterLab.
_IN_A_BROWSER = (
    "test_browser.py", "test_keyboard.py", "test_themes.py", "test_viewer_browser.py",
)  # fmt: skip


_FORWARDED = "finstat_kit/__init__.py::finstat_kit."


class _Groups(LoadScopeScheduling):  # type: ignore[misc]
    """The tests of a file to one worker, which computes once what they share.

    Those in a browser and those of findings share over several files. Pages of docs share nothing.

    ``--dist=loadgroup`` would do the same by markers, but has no effect since pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.endswith(_IN_A_BROWSER):
            return "browser"
        folder, _, name = path.rpartition("/")
        if folder.endswith("findings"):
            return folder
        return nodeid if name == "test_docs.py" else path


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Give slow tests one worker more than cores: some wait for a browser or a process.

    The quick ones are as soon done by as many, and each loads and collects everything.
    """
    return (yield) + ("not slow" not in str(config.getoption("markexpr")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Give pytest-xdist the scheduler."""
    return _Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in the package alone: no test has any."""
    found = yield
    outside = "finstat_kit" not in file_path.relative_to(Path(__file__).parent).parts
    return [one for one in found if not (outside and isinstance(one, DoctestModule))]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take each example once, and the cells of a notebook in their order.

    The functions of the package have the docstrings of a register's methods. Plugins may shuffle
    tests.
    """
    items[:] = [item for item in items if not item.nodeid.startswith(_FORWARDED)]
    cells = [item for item in items if item.path.suffix == ".ipynb"]
    ordered = iter(sorted(cells, key=lambda cell: (cell.path, vars(cell)["cell_num"])))
    items[:] = [next(ordered) if item.path.suffix == ".ipynb" else item for item in items]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Close what examples of docs have drawn: pyplot keeps it, and warns of many figures."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected: all that is made stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spare the tests looking again and again for garbage among all modules and test functions."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # extension modules report what is left at the very end as leaked
