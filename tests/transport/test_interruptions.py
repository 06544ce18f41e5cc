"""Ctrl-C while requests are under way, and in the midst of a lock that one takes."""

from __future__ import annotations

import _thread
import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.transport import threads
from tests.support.faults import (
    HANG,
    FaultServer,
    Step,
    record,
    reply,
)


def test_a_stop_ends_all_threads() -> None:
    """Ctrl-C in get ends within half a second, with what came; no thread goes on."""

    class First(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            body = record(request)
            if body in (b'{"id":1}', b'{"id":2}'):
                return [reply(body)]
            if not seen:
                seen.append(time.monotonic())
                _thread.interrupt_main()
            return [HANG]

    seen: list[float] = []
    with First([]) as server, fk.Register(server.url, connections=4) as reg:
        with pytest.raises(fk.errors.Interrupted) as caught:
            reg.units.get(range(1, 9))
        took = time.monotonic() - seen[0]

    assert took < 5
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() in ([], [1], [1, 2])


class Hanging(FaultServer):
    """Answers the records of the ids up to *last*, and no other; `all_hang` when none is read."""

    def __init__(self, last: int, connections: int) -> None:
        super().__init__([])
        self.all_hang = threading.Event()
        self._last = last
        self._left = connections

    def _next(self, request: str) -> Sequence[Step]:
        super()._next(request)
        if "?id=" not in request:
            ids = b",".join(b"%d" % i for i in range(1, 3_001))
            return [reply(b'{"id":[%b],"existujeDalsieId":false}' % ids)]
        body = record(request)
        if int(body[6:-1]) <= self._last:
            return [reply(body)]
        with self._lock:
            self._left -= 1
        if self._left == 0:
            self.all_hang.set()
        return [HANG]


def struck(script: str, server: Hanging, *arguments: str) -> str:
    """Return what a script prints that is struck by Ctrl-C when all its connections hang."""
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", start + script, server.url, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert server.all_hang.wait(60)
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            printed, errors = process.communicate(timeout=20)
            assert time.monotonic() - begun < 5  # the deadline of a request is 30 s
        finally:
            process.kill()
    assert errors == ""
    assert process.returncode == 0
    return printed


@pytest.mark.slow
def test_a_real_ctrl_c_ends_many_records_at_once() -> None:
    """The signal itself, while threads wait for a register that hangs: over long before that."""
    script = """
import threading
import finstat_kit as fk
try:
    fk.Register(sys.argv[1], connections=4).units.get(range(1, 99))
except fk.errors.Interrupted as error:
    left = [t.name for t in threading.enumerate() if t.name.startswith("finstat_kit")]
    print(error.partial["id"].to_list(), left)
"""
    with Hanging(2, 4) as server:
        assert struck(script, server) == "[1, 2] []\n"


# httpcore's locks are written in Python: Ctrl-C may strike when one is taken and its block has not
# begun, or before it is released. This raises it at each such step in turn.
STRUCK = """
import contextlib, faulthandler, gc, itertools, sys
import finstat_kit as fk

gc.disable()  # a Ctrl-C that meets the end of a former register, in a finalizer, is not raised
faulthandler.dump_traceback_later(50, exit=True)


def struck(reg, number):
    '''Send a request that Ctrl-C meets at a step; return whether there were so many.'''
    steps = itertools.count(1)

    def step(frame, event, argument):
        if next(steps) == number:
            raise KeyboardInterrupt
        return step

    def called(frame, event, argument):
        in_a_lock = frame.f_code.co_filename.endswith("_synchronization.py")
        return step(frame, event, argument) if in_a_lock else None

    sys.settrace(called)
    try:
        reg.units.count()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


steps = 0
for warm in (False, True):
    for number in itertools.count(1):
        with fk.Register(sys.argv[1]) as reg:
            if warm:
                reg.units.count()
            if not struck(reg, number):
                break
            assert reg.units.count() == 7
            steps += 1
print(steps)
"""


@pytest.mark.slow
def test_ctrl_c_in_a_lock_blocks_neither_the_next_request_nor_the_end() -> None:
    """Wherever it strikes, the next request is answered and the connections are closed."""
    with FaultServer([reply(b'{"pocetZostavajucichId":7}')]) as server:
        seen = subprocess.run(
            [sys.executable, "-c", STRUCK, server.url], capture_output=True, text=True, timeout=60
        )

    assert seen.returncode == 0, seen.stderr
    assert int(seen.stdout) > 20


def test_ctrl_c_while_work_is_handed_over_loses_nothing_and_blocks_nothing() -> None:
    """At any step of it: what came is a part from the beginning, and the threads end."""
    whole = (threads.Workers.submit, threads.Workers.finished, threads.Workers.end)
    handing_over = {function.__code__ for function in whole}

    def struck(number: int) -> tuple[list[int], bool]:
        steps = itertools.count(1)
        results: list[int] = []

        def step(frame: FrameType, event: str, argument: object) -> Any:
            if next(steps) == number:
                raise KeyboardInterrupt
            return step

        def called(frame: FrameType, event: str, argument: object) -> Any:
            return step(frame, event, argument) if frame.f_code in handing_over else None

        sys.settrace(called)
        try:
            for _, result in threads.in_order(range(9), lambda item, stop: 2 * item, 3):
                results.append(result)
        except KeyboardInterrupt:
            return results, True
        finally:
            sys.settrace(None)
        return results, False

    strikes = 0
    for number in itertools.count(1):
        results, interrupted = struck(number)
        assert results == [2 * item for item in range(len(results))]
        if not interrupted:
            break
        strikes += 1
    assert results == [2 * item for item in range(9)]
    assert strikes > 20
    left = [thread for thread in threading.enumerate() if thread.name == "finstat_kit"]
    for thread in left:
        thread.join(5)
    assert not [thread for thread in left if thread.is_alive()]
