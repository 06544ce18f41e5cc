"""Records of many units over many connections, against the plain loop."""

from __future__ import annotations

from collections.abc import Iterator

import peers
from serving import served
from timing import Figure, seconds

import finstat_kit as fk

_UNITS = 20_000
_CONNECTIONS = 32


def figures(quick: bool) -> Iterator[Figure]:
    """Measure `units.get` behind 20 ms a request.

    The plain loop would take seven minutes for all of them: it fetches a part, and the time of a
    record is compared.
    """
    fetched, looped = (2_000, 100) if quick else (_UNITS, 500)
    with (
        served(_UNITS, latency=0.02) as server,
        fk.Register(server.url, connections=_CONNECTIONS) as register,
    ):
        ids = register.units.ids()["id"].to_list()
        # Half of the loop before and half after, so that neither has the quieter machine.
        half = looped // 2
        plain = seconds(lambda: peers.records_with_requests(server.url, ids[:half]))
        ours = seconds(lambda: register.units.get(ids[:fetched]))
        plain += seconds(lambda: peers.records_with_requests(server.url, ids[half:looped]))
    yield Figure(
        "units.get",
        f"{fetched:,} units, {_CONNECTIONS} connections, 20 ms: requests loop to ours",
        (plain / looped) / (ours / fetched),
        15.0,
    )
