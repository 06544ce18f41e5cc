"""What a pull of a published mirror takes, beside `cp -r` of its folder."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from itertools import count
from pathlib import Path

import contents_mirror
from timing import Figure, side_by_side

import finstat_kit as fk

_SUBJECT = "pull of a published mirror"
_SERVER = """
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    def log_message(self, *_): pass
    def copyfile(self, source, _): self.connection.sendfile(source)
server = http.server.ThreadingHTTPServer(
    ("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1])
)
print(server.server_port, flush=True)
server.serve_forever()
"""
_FIRST_ANSWER = """
import time
import finstat_kit as fk
fk.Mirror
began = time.perf_counter()
fk.Mirror({folder!r}).units.count()
print(time.perf_counter() - began)
"""


def figures(quick: bool) -> Iterator[Figure]:
    """Pull over loopback, and from a directory."""
    filings = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as room:
        source, numbers = Path(room, "ruz"), count(1)
        subprocess.run(
            [sys.executable, __file__, str(source), str(filings)], check=True
        )  # so that the memory of writing it is another process's
        size = sum(file.stat().st_size for file in source.glob("data/*")) / 2**20

        def new() -> Path:
            number = next(numbers)
            shutil.rmtree(Path(room, f"copy-{number - 1}"), ignore_errors=True)
            return Path(room, f"copy-{number}")

        def copied() -> None:
            subprocess.run(["cp", "-r", source, new()], check=True)

        def synced() -> None:
            copied()
            subprocess.run(["sync"], check=True)

        with serving(source) as url:
            taken = side_by_side(
                3,
                cp=copied,
                cp_and_sync=synced,
                pull=lambda: fk.Mirror(new()).pull(url),
                directory=lambda: fk.Mirror(new()).pull(source),
                compare=lambda: compared(source),
            )
            last = new()
            fk.Mirror(last).pull(url)
            taken |= side_by_side(3, again=lambda: fk.Mirror(last).pull(url))
        fresh = subprocess.run(
            [sys.executable, "-c", _FIRST_ANSWER.format(folder=str(last))],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    what = f"{filings:,} filings, {size:,.0f} MB"
    beyond = max(taken["pull"] - taken["compare"], 0.0)
    yield Figure(_SUBJECT, f"{what}: cp -r", taken["cp"], unit=" s")
    yield Figure(_SUBJECT, f"{what}: cp -r, and sync", taken["cp_and_sync"], unit=" s")
    yield Figure(_SUBJECT, f"{what}: comparing bytes", taken["compare"], unit=" s")
    yield Figure(_SUBJECT, f"{what}: pull over loopback", taken["pull"], unit=" s")
    yield Figure(_SUBJECT, f"{what}: pull of a directory", taken["directory"], unit=" s")
    yield Figure(
        _SUBJECT, "pull over loopback without comparing bytes, to cp -r and sync",
        beyond / taken["cp_and_sync"], 2.0, least=False,
    )  # fmt: skip
    yield Figure(_SUBJECT, f"{what}: pull without news", taken["again"], unit=" s")
    yield Figure(
        _SUBJECT, "count of units in a new process", float(fresh.stdout), 1.0, least=False,
        unit=" s",
    )  # fmt: skip


def compared(folder: Path) -> None:
    """Compare the bytes of all files with their names, as many at a time as a pull does."""

    def digest(path: Path) -> bool:
        with path.open("rb") as opened:
            return file_digest(opened, "sha256").hexdigest() == path.stem

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(digest, folder.glob("data/*.parquet")))


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder by a process of its own; give the URL."""
    command = [sys.executable, "-c", _SERVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


if __name__ == "__main__":
    contents_mirror.write(Path(sys.argv[1]), int(sys.argv[2]), contents_mirror.invented_reports())
