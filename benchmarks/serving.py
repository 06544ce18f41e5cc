"""A register served from a process of its own, so that it does not share the client's interpreter.

Run as a script it is that process: it prints its URL, answers each line on its standard input with
the seconds of CPU it has used, and ends with its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import uvicorn

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.service.http.server import Message, Receive, Scope, Send, app_of


@dataclass(frozen=True, slots=True)
class Served:
    """A register in another process."""

    url: str
    _lines: IO[str]
    _answers: IO[str]

    def cpu(self) -> float:
        """Return the seconds of CPU that the process has used."""
        self._lines.write("\n")
        self._lines.flush()
        return float(self._answers.readline())


@contextlib.contextmanager
def served(units: int, *, latency: float = 0.0) -> Iterator[Served]:
    """Serve a sample in another process; with a latency, each answer waits so many seconds."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(units), str(latency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Served(process.stdout.readline().strip(), process.stdin, process.stdout)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def _late(sample: Sample, latency: float) -> Iterator[str]:
    """Serve a sample whose answers wait, many of them at the same time."""
    app = app_of(sample._answer)

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                await asyncio.sleep(latency)
            await send(message)

        await app(scope, receive, sent)

    # With its protocol named asyncio sends small replies at once.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(waiting, lifespan="off", access_log=False, log_level="critical")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def _main(units: int, latency: float) -> None:
    sample = fk.sample(units)
    with _late(sample, latency) if latency else sample.serve() as url:
        print(url, flush=True)
        for _ in sys.stdin:
            print(time.process_time(), flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]), float(sys.argv[2]))
