"""Our connections as the transport of a register, and how long they stay open."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable

import pytest

import finstat_kit as fk
from finstat_kit.transport.http import Sockets
from tests.support.faults import FaultServer, reply
from tests.support.memory import new_garbage_only

COUNT = b'{"pocetZostavajucichId":7}'
OTHER = b'{"pocetZostavajucichId":9}'


def test_a_register_has_its_own_transport_and_no_other() -> None:
    """Its requests would go elsewhere with the headers and the proxy of another host."""
    with FaultServer([reply(COUNT)]) as server:
        with fk.Register(f"{server.url}/", transport=Sockets(f"{server.url}/")) as reg:
            assert reg.units.count() == 7
        for base_url in (f"{server.url}/xy", "http://register.example/x"):
            with fk.Register(base_url, transport=Sockets(f"{server.url}/x")) as reg:
                with pytest.raises(fk.UsageError, match=f"is for {server.url}/x, not for"):
                    reg.units.count()

    assert len(server.asked) == 1


USED: dict[str, Callable[[str], object]] = {
    "a register": lambda url: fk.Register(url).units.count(),
    "a register with a transport": lambda url: fk.Register(
        url, transport=Sockets(url)
    ).units.count(),
}


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_connections_end_with_the_transport(use: Callable[[str], object]) -> None:
    """Also where it was never closed."""
    with new_garbage_only(), FaultServer([reply(COUNT)]) as server:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            use(server.url)
            gc.collect()

    assert server.connections == 1
    assert [str(warning.message) for warning in seen] == []


def test_a_transport_that_is_held_keeps_its_connections() -> None:
    """Registers may share it one after the other."""
    with FaultServer([reply(COUNT)], [reply(OTHER)]) as server:
        transport = Sockets(server.url)
        with new_garbage_only():
            assert fk.Register(server.url, transport=transport).units.count() == 7
            gc.collect()
        assert fk.Register(server.url, transport=transport).reports.count() == 9

        assert server.connections == 1
        transport.close()
