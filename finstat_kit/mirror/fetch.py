"""Records fetched in batches: one that cannot be had delays itself alone, an outage ends it all."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from finstat_kit.client.register import Register
from finstat_kit.errors import (
    BadRequest,
    NotFound,
    NotHeld,
    ProtocolError,
    RegisterError,
    RegisterUnavailable,
    TransportError,
)
from finstat_kit.progress import Advance
from finstat_kit.protocol import requests
from finstat_kit.protocol.records import Kind, Record
from finstat_kit.transport.threads import in_order

_BATCH_SECONDS: Final = 60  # of requests at the register's rate: what a crash can cost
_OUTAGE: Final = 3  # records in a row that cannot be had: it is not the records' fault
_ITS_FAULT: Final = (ProtocolError, NotFound, BadRequest)  # of one record, and of no other
# A served mirror may lack one record, or still be filled.
_DOUBTFUL: Final = (RegisterUnavailable, TransportError, NotHeld)

Ids = TypeVar("Ids", Sequence[int], NDArray[np.int64])

# An id with its record, or with the reason why it could not be read.
Fetched = tuple[int, Record | str]


class OutOfTimeError(Exception):
    """The budget of a sync is spent: what was fetched is committed, the next sync resumes."""


class Budget:
    """The time that a sync may take; None is any."""

    def __init__(self, register: Register, seconds: float | None) -> None:
        self._exchange = register._session.exchange
        self._end = math.inf if seconds is None else self._exchange.clock() + seconds

    def check(self) -> None:
        """Raise OutOfTimeError when the time is over; between two batches."""
        if self._exchange.clock() >= self._end:
            raise OutOfTimeError


class Fetcher:
    """Fetches the records of one kind."""

    def __init__(self, register: Register, kind: Kind[Record], budget: Budget) -> None:
        self._register = register
        self._kind = kind
        self._budget = budget
        self._doubtful: dict[int, str] = {}  # could not be had, for a reason yet unknown

    def batches(self, ids: Ids, most: int) -> Iterator[Ids]:
        """Yield ids in batches of a minute of requests, *most* at the most, within the budget."""
        rate = math.inf if self._register.rate is None else self._register.rate
        for batch in sliced(ids, int(min(max(rate * _BATCH_SECONDS, 1), most))):
            self._budget.check()
            yield batch

    def fetch(
        self,
        ids: Sequence[int],
        advance: Advance,
        commit: Callable[[list[Fetched]], None],
        *,
        moves: bool,
    ) -> None:
        """Fetch a batch and commit it, also the records before an error.

        Args:
            ids: In the order in which they are fetched.
            advance: Called once per record.
            commit: Called once, with what was fetched.
            moves: Whether failures may be an outage; records that failed before, and fail again,
                do not indicate one.
        """
        fetched: list[Fetched] = []

        def fetch(id_: int, stop: threading.Event) -> Record | RegisterError:
            try:
                request = requests.record(self._kind, id_)
                return self._register._session.exchange.get(request, stop)
            except (*_ITS_FAULT, *_DOUBTFUL) as error:
                return error

        try:
            for id_, record in in_order(ids, fetch, self._register.connections):
                advance(1)
                if isinstance(record, RegisterUnavailable) and record.blocked:
                    raise record
                if moves and isinstance(record, _DOUBTFUL):
                    self._doubtful[id_] = record.message
                    if len(self._doubtful) == _OUTAGE:
                        raise record
                    continue
                fetched += self.given_up()
                fetched.append(
                    (id_, record.message if isinstance(record, RegisterError) else record)
                )
        finally:
            commit(fetched)

    def given_up(self) -> list[Fetched]:
        """Return the records that could not be had, now that another could."""
        fetched: list[Fetched] = list(self._doubtful.items())
        self._doubtful.clear()
        return fetched


def sliced(ids: Ids, size: int) -> Iterator[Ids]:
    """Yield ids in pieces of a size."""
    return (ids[start : start + size] for start in range(0, len(ids), size))
