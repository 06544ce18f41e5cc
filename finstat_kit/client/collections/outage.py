"""Whether a register is down, or only some of its records cannot be had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from finstat_kit.client.session import Session
from finstat_kit.client.source import Outcome
from finstat_kit.errors import RegisterError, RegisterUnavailable, TransportError
from finstat_kit.protocol import requests
from finstat_kit.protocol.records import Kind, Record

# An outage, or a fault of one record.
DOUBTFUL: Final = (RegisterUnavailable, TransportError)
# Ours: a register that is down answers nothing, so that a few requests show it.
_IN_A_ROW: Final = 3  # records that cannot be had before another is requested
_PROBES: Final = 10  # records from all over the list, where none was had yet


def unless_down(
    outcomes: Iterable[Outcome],
    session: Session,
    kind: Kind[Record],
    ids: Sequence[int],
    readable: int | None = None,
) -> Iterator[Outcome]:
    """Yield the outcomes of records as they are, once it is clear that the register is not down.

    It is not if another record comes, or a reply that is about one record alone: after some in a
    row that could not be had, and at the end, one is requested that was had before, or some from
    all over the list.

    Args:
        outcomes: Ids, in order, with their records or errors.
        session: Of the register.
        kind: Of the records.
        ids: All that are wanted.
        readable: The id of a record that was had before, if there is one.

    Raises:
        RegisterError: The register is down, or refuses this client.
    """
    waiting: list[Outcome] = []

    def see_that_it_is_up() -> None:
        tried = {id_ for id_, _ in waiting}
        others = [id_ for id_ in ids if id_ not in tried]
        probes = others[:: max(len(others) // _PROBES, 1)][:_PROBES]
        for id_ in probes if readable is None or readable in tried else [readable]:
            try:
                session.exchange.get(requests.record(kind, id_))
            except DOUBTFUL:
                continue
            except RegisterError:
                pass
            return
        error = waiting[-1][1]
        assert isinstance(error, RegisterError)
        raise error

    for id_, record in outcomes:
        if isinstance(record, RegisterUnavailable) and record.blocked:
            raise record
        if isinstance(record, DOUBTFUL):
            waiting.append((id_, record))
            if len(waiting) < _IN_A_ROW:
                continue
            see_that_it_is_up()
        yield from waiting
        waiting.clear()
        if not isinstance(record, DOUBTFUL):
            yield id_, record
        if isinstance(record, Record):
            readable = id_
    if waiting:
        see_that_it_is_up()
        yield from waiting
