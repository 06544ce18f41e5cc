"""Ctrl-C at the worst moment: in the midst of a lock that a request takes."""

from __future__ import annotations

import subprocess
import sys

from tests.support.faults import FaultServer, reply

# httpcore's locks are written in Python: Ctrl-C may strike when one is taken and its block has not
# begun, or before it is let go. This raises it at each such step in turn.
STRUCK = """
import contextlib, faulthandler, itertools, sys
import finstat_kit as fk

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


def test_ctrl_c_in_a_lock_blocks_neither_the_next_request_nor_the_end() -> None:
    """Wherever it strikes, the next request is answered and the connections are closed."""
    with FaultServer([reply(b'{"pocetZostavajucichId":7}')]) as server:
        seen = subprocess.run(
            [sys.executable, "-c", STRUCK, server.url], capture_output=True, text=True, timeout=60
        )

    assert seen.returncode == 0, seen.stderr
    assert int(seen.stdout) > 20
