"""A million ids over loopback into one frame, against the loops that people write today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import peers
from serving import served
from timing import Figure, side_by_side

import finstat_kit as fk

_SUBJECT = "one connection"


def figures(quick: bool) -> Iterator[Figure]:
    """Measure walks over one connection, all guards on."""
    with served(1_000_000) as server, fk.Register(server.url) as register:
        for page_size, goal in ((10_000, 2.5), (1_000, 2.0)):
            works: dict[str, Callable[[], object]] = {
                "ours": partial(register.units.ids, page_size=page_size),
                "bare": partial(peers.with_httpx_and_orjson, server.url, page_size),
                "requests": partial(peers.with_requests, server.url, page_size),
                "httpx": partial(peers.with_httpx, server.url, page_size),
                "dlt": partial(peers.with_dlt, server.url, page_size),
            }
            large = page_size == 10_000
            times = side_by_side((3 if large else 1) if quick else (7 if large else 3), **works)
            ours, size = times["ours"], f"page {page_size:,}"
            yield Figure(
                _SUBJECT, f"{size}: requests + json + pandas to ours", times["requests"] / ours,
                goal,
            )  # fmt: skip
            yield Figure(_SUBJECT, f"{size}: httpx + json to ours", times["httpx"] / ours)
            yield Figure(_SUBJECT, f"{size}: dlt to ours", times["dlt"] / ours)
            yield Figure(
                _SUBJECT, f"{size}: ours to bare httpx + orjson", ours / times["bare"],
                1.15, least=False,
            )  # fmt: skip
