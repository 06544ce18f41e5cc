"""What all tests share: no connection leaves this machine, no register is left chosen."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from tqdm import tqdm

import finstat_kit as fk
from finstat_kit.protocol.shipped import data_folder
from tests.support.examples import slow

tqdm.monitor_interval = 0  # its thread outlives every bar

# No deadline: a busy machine is not a fault of the code.
settings.register_profile("thorough", deadline=None, max_examples=30)
settings.register_profile("quick", deadline=None, max_examples=10)
# For mutations, of which it matters that a test fails, not by how little.
settings.register_profile(
    "unshrunk", deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
settings.load_profile("quick")  # --hypothesis-profile=thorough is what CI takes


def _only_loopback(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple):
        host = str(address[0])
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise AssertionError(f"a test wants to connect to {host}")


sys.addaudithook(_only_loopback)


Told = Callable[[str, object, object], None]


@pytest.fixture
def matrix(request: pytest.FixtureRequest) -> Told:
    """Give what tests of the fault matrix tell their case, what must happen and what did to."""

    def tell(case: str, expected: object, seen: object) -> None:
        request.node.user_properties.append(("matrix", (case, str(expected), str(seen))))

    return tell


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the fault matrix: each case, what must happen, what was seen."""
    reports = [r for name in ("passed", "failed") for r in terminalreporter.getreports(name)]
    rows = [
        (report.nodeid.partition("[")[0].rpartition("::")[2].removeprefix("test_"), *value)
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "matrix" and report.when == "call"
    ]
    if not rows:
        return
    terminalreporter.section("the fault matrix: what must happen and what was seen")
    heads = ("test", "case", "expected", "seen")
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line(line.rstrip())


_OVER_SOCKETS = (
    "test_replies.py", "test_connections.py", "test_report.py", "test_fault_server.py",
    "test_faults.py", "test_interruptions.py", "test_load.py", "test_patience.py",
    "test_proxies.py", "test_retries.py", "test_served.py", "test_server.py", "test_sockets.py",
)  # fmt: skip
_WITH_JUPYTER = (
    "test_browser.py", "test_keyboard.py", "test_notebooks.py", "test_themes.py",
    "test_viewer_browser.py",
)  # fmt: skip


def _sockets() -> set[str]:
    """Return the sockets of this process, where the system tells them."""
    folder = Path("/proc/self/fd")
    links = set()
    for entry in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError):
            links.add(str(entry.readlink()))
    return {link for link in links if link.startswith("socket:")}


def _ours() -> set[threading.Thread]:
    """Return Python's threads; dummies stand for those of others, such as polars."""
    threads = threading.enumerate()
    return {thread for thread in threads if not isinstance(thread, threading._DummyThread)}


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test leaves a thread, none of those that speak over sockets leaves a socket."""
    speaks = request.path.name in _OVER_SOCKETS
    threads, sockets = set(threading.enumerate()), _sockets() if speaks else set()
    yield
    if request.path.name in _WITH_JUPYTER:  # it has its own
        return
    # polars may go on with the other query of a `collect_all`, whose scan begins one thread after
    # another: a list of them may name one that is not started yet, and that cannot be joined.
    end = time.monotonic() + 10
    while (left := _ours() - threads) and time.monotonic() < end:
        time.sleep(0.005)
    assert not left
    if speaks and not _sockets() <= sockets:
        gc.collect()  # a register that nobody closed closes its connections when it is gone
        assert _sockets() <= sockets


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts and ends with no current register."""
    monkeypatch.delenv("FINSTAT_KIT_URL", raising=False)
    fk.use(None)
    yield
    fk.use(None)


@pytest.fixture(scope="session")
def full_size(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of codelists of real size: about 2,940 municipalities, most invented."""
    folder = tmp_path_factory.mktemp("codelists")
    with fk.using(fk.sample()):
        districts = fk.districts()["code"].to_list()
    entries: list[dict[str, object]] = []
    for number in range(2_933):
        district = districts[number % len(districts)]
        # Every tenth name stands four times, as the commonest real ones do.
        name = f"Lehota {number // 40}" if number % 10 == 0 else f"Vymyslená Nová Ves {number}"
        entries.append(
            {
                "kod": f"{district}{500_000 + number}",
                "nazov": {"sk": name, "en": name},
                "nadradenaLokacia": district,
            }
        )
    for number in range(7):
        name = f"Bez okresu {number}"
        entries.append({"kod": str(590_000 + number), "nazov": {"sk": name, "en": name}})
    (folder / "sidla.json").write_text(json.dumps({"lokacie": entries}), encoding="utf-8")
    return folder


@pytest.fixture(params=["shipped", *slow("recorded")])
def collected(request: pytest.FixtureRequest) -> Path:
    """Give the facts of forms: of those that the package ships, of all where they are there."""
    if request.param == "shipped":
        return data_folder()
    folder: Path = request.getfixturevalue("recorded")
    return folder


@pytest.fixture(scope="session")
def recorded() -> Path:
    """Give the folder of recorded codelists, where it is there."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the recorded codelists are not here")
    return folder
