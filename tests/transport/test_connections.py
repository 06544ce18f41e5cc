"""Connections that are used again: each answer belongs to its request, in every process."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.transport.http import Sockets
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.faults import FaultServer, ListServer, Step, reply
from tests.support.registers import timed

IDS = 3_000
WALKS = 5
OTHER = reply(b'{"id":[2900],"existujeDalsieId":false}')


def chunked(good: bytes) -> bytes:
    """Return an answer with its body in two chunks."""
    body = good.partition(b"\r\n\r\n")[2]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:9], body[9:], b""))
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


# Case, what is sent for an answer.
BEHIND: list[tuple[str, Callable[[bytes], Sequence[Step]]]] = [
    ("sent twice, in chunks", lambda good: [2 * chunked(good)]),
    ("in chunks, followed by another answer", lambda good: [chunked(good) + OTHER]),
    ("sent twice, in one piece", lambda good: [good + good]),
    ("followed by another answer", lambda good: [good + OTHER]),
    ("followed by half a line", lambda good: [good + b"HTTP/1.1 2"]),
    ("followed by an empty line", lambda good: [good + b"\r\n"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "sent"), BEHIND, ids=[row[0] for row in BEHIND])
def test_no_answer_is_taken_for_another(
    matrix: Told, case: str, sent: Callable[[bytes], Sequence[Step]]
) -> None:
    """Split walks are whole, whatever lies behind the bodies on their connections."""
    wrong = 0
    with ListServer(IDS, sent) as server, fk.Register(server.url, connections=4) as reg:
        for _ in range(WALKS):
            ids = reg.units.ids(page_size=200)["id"].to_list()
            wrong += ids != list(range(1, IDS + 1))

    matrix(case, f"0 of {WALKS} walks wrong", f"{wrong} of {WALKS} walks wrong")
    assert wrong == 0


def test_bytes_that_come_while_a_connection_is_idle_answer_nothing() -> None:
    """What arrives before the next request is no answer to it: another connection is opened."""
    first = reply(b'{"id":[1],"existujeDalsieId":true}')
    second = reply(b'{"id":[2],"existujeDalsieId":false}')
    read = threading.Event()
    with FaultServer([first, read, OTHER], [second]) as server:
        transport = Sockets(server.url)
        pages = fk.Register(server.url, transport=transport).units.pages()
        next(pages)
        stream = transport._idle[0].stream
        assert stream is not None
        read.set()
        waiting: Any = stream.get_extra_info("socket")
        assert select.select([waiting], [], [], 5)[0]

        assert next(pages)["id"].to_list() == [2]
        assert server.connections == 2
        transport.close()


@pytest.mark.parametrize("made", [bytes, chunked], ids=["by length", "in chunks"])
@pytest.mark.parametrize("connections", [1, 4])
def test_equal_answers_are_no_reason_for_another_request(
    connections: int, made: Callable[[bytes], bytes]
) -> None:
    """Four equal counts are four requests, on connections that stay open."""
    with FaultServer([made(reply(b'{"pocetZostavajucichId":0}'))]) as server:
        with fk.Register(server.url, tries=1, connections=connections) as reg:
            names = ("units", "statements", "reports", "annual_reports")
            counts = [getattr(reg, name).count() for name in names]

    assert counts == [0, 0, 0, 0]
    assert (len(server.asked), server.connections, reg.stats.requests) == (4, 1, 4)


@pytest.mark.parametrize(("idle", "connections"), [(49.9, 1), (50.1, 2)])
def test_idle_connections_are_not_used_for_ever(idle: float, connections: int) -> None:
    """The register closes them after 60 s: after 50 s another one is opened."""
    fake = FakeClock()
    with ListServer(1) as server, timed(server.url, fake) as reg:
        reg.units.ids()
        fake.now += idle
        reg.units.ids()

    assert server.connections == connections


FORKED = """
import multiprocessing, os, signal, sys, threading
import finstat_kit as fk
signal.alarm(60)  # a child that hangs is a failure too
n = int(sys.argv[2])
reg = fk.use(fk.Register(sys.argv[1], connections=4, page_size=200))
def wrong(register, walks=2):
    whole = list(range(1, n + 1))
    return sum(register.units.ids()["id"].to_list() != whole for _ in range(walks))
def child(work):
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(20)
        try:
            os.write(tell, repr(work()).encode())
        except BaseException as error:
            os.write(tell, type(error).__name__.encode())
        os._exit(0)
    os.close(tell)
    with open(told) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said
wrong(reg)
"""

# Case, what the script goes on with, what it prints.
IN_CHILDREN: list[tuple[str, str, str]] = [
    (
        "a register used in a child",
        """
calls = reg.units.ids, reg.regions, lambda: reg.units.get(1), reg.template, fk.units.count
print(*(child(call) for call in calls), wrong(reg))
""",
        "UsageError " * 5 + "0",
    ),
    (
        "a register opened in the child",
        """
def opened():
    return wrong(fk.use(fk.Register(sys.argv[1], connections=4, page_size=200)))
print(child(opened), child(opened), wrong(reg))
""",
        "0 0 0",
    ),
    (
        "a register sent to forked workers",
        """
with multiprocessing.get_context("fork").Pool(3) as pool:
    try:
        pool.map(wrong, [reg] * 3)
    except fk.UsageError as error:
        print(type(error).__name__, wrong(reg))
""",
        "UsageError 0",
    ),
    (
        "a thread of the parent holds all locks",
        """
held, over = threading.Event(), threading.Event()
def hold():
    with reg._session.exchange._lock, reg._source.lock:
        held.set()
        over.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
print(*(child(call) for call in (reg.units.count, reg.template, lambda: wrong(reg))))
over.set()
thread.join()
""",
        "UsageError UsageError UsageError",
    ),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "script", "expected"), IN_CHILDREN, ids=[row[0] for row in IN_CHILDREN]
)
def test_a_register_is_of_the_process_that_opened_it(
    matrix: Told, case: str, script: str, expected: str
) -> None:
    """A forked child is refused, at once, and opens one of its own."""
    with ListServer(IDS) as server:
        seen = subprocess.run(
            [sys.executable, "-c", FORKED + script, server.url, str(IDS)],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    told = seen.stdout.strip() or seen.stderr[-200:]
    matrix(case, expected, told)
    assert told == expected, seen.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_the_refusal_names_the_cure() -> None:
    reg = fk.sample(30)
    child = os.fork()
    if child == 0:
        try:
            reg.units.count()
        except fk.UsageError as error:
            os._exit(0 if "open it there" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


class Stammering(FaultServer):
    """Has no record of every tenth id, and says so once more when the next request has arrived."""

    def _converse(self, connection: socket.socket) -> None:
        late = b""
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65_536):
                id_ = int(data.partition(b"id=")[2].partition(b" ")[0])
                connection.sendall(late)
                late = reply(b"", 404) if id_ % 10 == 3 else b""
                connection.sendall(late or reply(b'{"id":%d,"ico":"00000001"}' % id_))


@pytest.mark.parametrize("connections", [1, 4])
def test_a_404_sent_twice_answers_one_request(matrix: Told, connections: int) -> None:
    """It is not taken for the answer to the next request."""
    with Stammering([]) as server, fk.Register(server.url, connections=connections) as reg:
        records = reg.units.get(range(1, 41), errors="keep")

    missing = records.filter(pl.col("ico").is_null())["id"].to_list()
    matrix(f"a 404 sent twice, {connections} connections", [3, 13, 23, 33], missing)
    assert missing == [3, 13, 23, 33]
