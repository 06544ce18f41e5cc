"""Records one by one as they arrive, for output that does not wait for the last one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import closing

import polars as pl

from finstat_kit.client.collections.kept import requests_for, unchanged
from finstat_kit.client.collections.records import fetch_record, refuse_long_work
from finstat_kit.client.session import Session
from finstat_kit.errors import NotFound, ProtocolError, UsageError
from finstat_kit.progress import bar
from finstat_kit.protocol.shaped import KINDS, Kind
from finstat_kit.protocol.shapes import Record
from finstat_kit.transport.threads import in_order

Fetched = tuple[int, Record | NotFound | ProtocolError]


def stream_records(
    kind: Kind[Record],
    ids: pl.Series,
    session: Session,
    *,
    max_requests: int | None,
    progress: bool | None,
) -> Generator[Fetched, None, None]:
    """Yield each id, in the order given, with its record or the error of that record alone.

    An id that repeats is fetched once.

    Raises:
        UsageError: More requests than *max_requests*, before the first one.
        RegisterError: Any fault that is not of a single record, after all records before it.
    """
    unique = ids.unique(maintain_order=True)
    refuse_long_work(requests_for(session, kind, unique.to_list()), session, max_requests)
    if session.copy is not None and kind is not KINDS["units"]:
        raise UsageError(
            f"records of /api/{kind.endpoint} are not read one by one from a mirror; read them in "
            "Python: fk.reports.get(ids) and its siblings, or ask the register"
        )
    return _streamed(kind, ids, unique, session, progress)


def _streamed(
    kind: Kind[Record], ids: pl.Series, unique: pl.Series, session: Session, progress: bool | None
) -> Generator[Fetched, None, None]:
    repeats = {id_ for id_, times in Counter(ids).items() if times > 1}
    kept: dict[int, Record | NotFound | ProtocolError] = {}
    fetched = (_local if session.copy else _fetched)(kind, unique, session)
    with (
        closing(fetched),
        bar("records", unique.len(), remote=session.watched, progress=progress) as advance,
    ):
        for id_ in ids:
            if id_ in kept:
                yield id_, kept[id_]
                continue
            _, record = next(fetched)
            advance(1)
            if id_ in repeats:
                kept[id_] = record
            yield id_, record


def _fetched(
    kind: Kind[Record], ids: pl.Series, session: Session
) -> Generator[Fetched, None, None]:
    def fetch(id_: int, stop: threading.Event) -> Record | NotFound | ProtocolError:
        try:
            return fetch_record(session, kind, id_, stop, kept)
        except (NotFound, ProtocolError) as error:
            return error

    kept = unchanged(session, kind, ids.to_list())
    yield from in_order(ids.to_list(), fetch, session.connections)


def _local(kind: Kind[Record], ids: pl.Series, session: Session) -> Generator[Fetched, None, None]:
    assert session.copy is not None
    found = session.copy.records("units", ids).select(kind.schema.names()).collect()
    records = {row["id"]: kind.shape(**row) for row in found.iter_rows(named=True)}
    return ((id_, records.get(id_) or NotFound("no record", ids=[id_])) for id_ in ids)
