"""Connections that are used again: each answer belongs to its request, in every process."""

from __future__ import annotations

import contextlib
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

# Case, what is sent for an answer.
BEHIND: list[tuple[str, Callable[[bytes], Sequence[Step]]]] = [
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


@pytest.mark.parametrize("connections", [1, 4])
def test_equal_answers_are_no_reason_for_another_request(connections: int) -> None:
    """Four equal counts are four requests, on connections that stay open."""
    with FaultServer([reply(b'{"pocetZostavajucichId":0}')]) as server:
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
import contextlib, multiprocessing, os, signal, stat, sys, threading
from concurrent.futures import ThreadPoolExecutor
import polars
import finstat_kit as fk
from finstat_kit.client import current
signal.alarm(60)  # a child that hangs is a failure too
n = int(sys.argv[2])
reg = fk.use(fk.Register(sys.argv[1], connections=4, page_size=200))
def wrong(walks=5):
    return sum(reg.units.ids()["id"].to_list() != list(range(1, n + 1)) for _ in range(walks))
def child(work):
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(tell, repr(work()).encode())
        except BaseException as error:
            os.write(tell, repr(error)[:500].encode())
        os._exit(0)
    os.close(tell)
    def end():
        with open(told) as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        return said
    return end
def sockets():
    found = 0
    for number in range(256):
        with contextlib.suppress(OSError):
            found += stat.S_ISSOCK(os.fstat(number).st_mode)
    return found
wrong(1)
"""

# Case, what the script goes on with, what it prints.
IN_CHILDREN: list[tuple[str, str, str]] = [
    (
        "fork after use, all walk",
        "ends = [child(wrong) for _ in range(3)]\nprint(wrong(), *(end() for end in ends))",
        "0 0 0 0",
    ),
    (
        "fork while threads walk",
        """
with ThreadPoolExecutor(3) as pool:
    walks = [pool.submit(wrong, 5) for _ in range(3)]
    ends = [child(lambda: wrong(3)) for _ in range(3)]
    print(sum(w.result() for w in walks), *(end() for end in ends))
""",
        "0 0 0 0",
    ),
    (
        "multiprocessing with fork",
        """
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(*pool.map(wrong, [5] * 3), wrong())
""",
        "0 0 0 0",
    ),
    (
        "a thread of the parent holds all locks",
        """
held, over = threading.Event(), threading.Event()
def hold():
    with reg._session.exchange._lock, reg._source.fetched.lock, current._lock:
        held.set()
        over.wait()
reg._source.fetched.codelists["regions"] = polars.DataFrame({"code": ["A"]})
thread = threading.Thread(target=hold)
thread.start()
held.wait()
def work():
    signal.alarm(5)
    return fk.units.count(), reg.regions().height
end = child(work)
print(end())
over.set()
thread.join()
""",
        "(3000, 1)",
    ),
    (
        "the child leaves the parent's connections open, and holds none of them",
        "before = sockets()\nend = child(sockets)\nprint(before > 0, end(), wrong())",
        "True 0 0",
    ),
]


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system does not fork")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "script", "expected"), IN_CHILDREN, ids=[row[0] for row in IN_CHILDREN]
)
def test_a_child_opens_its_own_connections(
    matrix: Told, case: str, script: str, expected: str
) -> None:
    """A connection is used only by the process that opened it, and no child waits for ever."""
    with ListServer(IDS) as server:
        seen = subprocess.run(
            [sys.executable, "-c", FORKED + script, server.url, str(IDS)],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    told = seen.stdout.strip() or seen.stderr[-200:]
    matrix(case, f"walks wrong: {expected}", f"walks wrong: {told}")
    assert told == expected, seen.stderr


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
