"""A sample behind an address of its own, whose requests are listed."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import polars as pl

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.support.clock import FakeClock


class Behind:
    """A sample behind an address of its own, and the requests that reached it.

    Attributes:
        instead: What answers each request, if anything.
        most: The largest page, if it is smaller than requested.
    """

    def __init__(self, sample: Sample, url: str = "https://ruz.example") -> None:
        self.sample, self.url = sample, url
        self.requests: list[str] = []
        self.instead: Reply | BaseException | None = None
        self.most: int | None = None
        self.time = FakeClock()

    def register(self, **options: Any) -> fk.Register:
        options = {"rate": None, "connections": 1} | options
        return fk.Register(
            self.url, transport=InProcess(self._answer, self.time.timing()), **options
        )

    def sent(self, path: str = "") -> list[str]:
        """Return the requests since the last look, those to a path if one is given."""
        sent, self.requests = self.requests, []
        return [target for target in sent if target.partition("?")[0].startswith(path)]

    def _answer(self, method: str, path: str, query: str) -> Reply:
        path = urlsplit(path).path
        self.requests.append(f"{path}?{query}")
        if isinstance(self.instead, BaseException):
            raise self.instead
        if self.most is not None:
            query = re.sub(r"(?<=max-zaznamov=)[0-9]+", str(self.most), query)
        return self.instead or self.sample._answer(method, path, query)


def unchanged_ids(sample: Sample, n: int = 5, collection: str = "units") -> list[int]:
    """Return ids that did not change of late."""
    records = getattr(sample, collection)
    late = records.ids(changed_since="2026-06-01")["id"].implode()
    found: list[int] = records.ids().filter(~pl.col("id").is_in(late))["id"].head(n).to_list()
    return found
