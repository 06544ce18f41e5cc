"""The records behind ids: one request each, over the register's connections."""

from __future__ import annotations

import math
import threading
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.kept import gathering, to_fetch, unchanged
from finstat_kit.client.scan import RecordsStopped
from finstat_kit.client.session import Session
from finstat_kit.errors import Interrupted, NotFound, ProtocolError, RegisterError, UsageError
from finstat_kit.progress import Advance
from finstat_kit.protocol import replies, requests, wire
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import in_order

UNIT_PATH: Final = f"/api/{wire.UNIT}"
_BATCH: Final = 10_000  # records that wait to become a frame
_MOST_REQUESTS: Final = 10_000  # record requests that a real host is sent unasked


def refuse_long_work(requests: int, session: Session, max_requests: int | None) -> None:
    """Refuse unexpectedly long work before the first request.

    Raises:
        UsageError: With the number, the time it would take, and the ways out.
    """
    most = most_requests(session, max_requests)
    if requests <= most:
        return
    took = "" if session.rate is None else f", about {_duration(requests / session.rate)}"
    raise UsageError(
        f"this needs {requests:,} requests, one a record{took} at the register's rate; more than "
        f"max_requests={most:,} are not sent. Ask for fewer ids, such as those changed since a "
        "later day, take a sample of them, keep a mirror (fk.Mirror), which resumes where it was "
        f"cut off, or allow it by max_requests={requests}"
    )


def most_requests(session: Session, max_requests: int | None) -> float:
    """Return how many record requests may be sent at once."""
    if max_requests is None:
        return _MOST_REQUESTS if session.remote else math.inf
    return arguments.whole("max_requests", max_requests, 0, wire.MAX_ID)


def refuse_the_whole(session: Session, most: int) -> None:
    """Refuse to scan the records of a whole register, whose number nobody has asked for yet."""
    rate = "" if session.rate is None else f" at {session.rate:g} requests per second"
    raise UsageError(
        f"this scan needs the record of every unit, one request each{rate}: some 2.6 million, "
        f"about six days; more than max_requests={most:,} are not sent. Narrow it by id, "
        "datumPoslednejUpravy, ico, dic or pravnaForma, or by head() (before any other filter: "
        "behind one it may need every record), keep a mirror (fk.Mirror), or allow it by "
        "max_requests="
    )


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def fetch_unit(
    session: Session, id_: int, stop: threading.Event, kept: frozenset[int] = frozenset()
) -> dict[str, object]:
    """Fetch the record of an id, unless *stop* is set meanwhile, or take it from *kept* ones."""
    request = requests.unit(id_)
    exchange = session.exchange
    return exchange.kept(request, stop) if id_ in kept else exchange.get(request, stop)


def requests_for(session: Session, ids: list[int]) -> int:
    """Return how many requests the records of ids need: none for those that are kept."""
    return to_fetch(session, UNIT_PATH, ids)


def kept_units(
    session: Session, ids: list[int], stop: threading.Event | None = None
) -> frozenset[int]:
    """Return the ids whose records are kept and have not changed; see `unchanged`."""
    return unchanged(session, UNIT_PATH, wire.UNITS, ids, stop)


def fetch_units(
    ids: list[int],
    session: Session,
    advance: Advance,
    *,
    keep: bool,
    stop: threading.Event | None = None,
    kept: frozenset[int] | None = None,
) -> pl.DataFrame:
    """Fetch the records of ids, none repeated, unless *stop* is set; see `Units.get`.

    Those in *kept* are taken from the file; None finds out which may be.
    """

    def fetch(id_: int, stop: threading.Event) -> dict[str, object] | RegisterError:
        try:
            return fetch_unit(session, id_, stop, usable)
        except NotFound as error:
            return error
        except ProtocolError as error:
            if keep:
                return error
            raise

    frames = [replies.unit_frame([])]
    batch: list[dict[str, object]] = []
    missing: list[int] = []

    def so_far() -> pl.DataFrame:
        return pl.concat([*frames, replies.unit_frame(batch)], rechunk=True)

    try:
        usable = kept_units(session, ids, stop) if kept is None else kept
        with gathering(session):
            for id_, record in in_order(ids, fetch, session.connections, stop):
                advance(1)
                if isinstance(record, RegisterError):
                    if keep:
                        batch.append({"id": id_})
                    else:
                        missing.append(id_)
                else:
                    batch.append(record)
                if len(batch) >= _BATCH:
                    frames.append(replies.unit_frame(batch))
                    batch.clear()
    except RegisterError as error:
        error.partial = so_far()
        raise
    except Stopped as stopped:
        raise RecordsStopped(so_far) from stopped
    except KeyboardInterrupt as interrupt:
        done = so_far()
        raise Interrupted(
            f"interrupted after {done.height + len(missing):,} of {len(ids):,} records; "
            "the rows fetched so far are in .partial of this error",
            partial=done,
        ) from interrupt
    if missing:
        raise _not_found(missing, len(ids), so_far())
    return so_far()


def units_at_hand(ids: pl.Series, found: pl.DataFrame, *, keep: bool) -> pl.DataFrame:
    """Return records that needed no request, in the order of their ids, as `fetch_units` does."""
    lost = ids.filter(~ids.is_in(found["id"].implode()))
    frame = ids.to_frame().join(found, on="id", how="left", maintain_order="left")
    if lost.len() and not keep:
        there = frame.filter(~frame["id"].is_in(lost.implode()))
        raise _not_found(lost.to_list(), ids.len(), there)
    return frame


def _not_found(missing: list[int], asked: int, partial: pl.DataFrame) -> NotFound:
    shown = ", ".join(map(str, missing[:5])) + (" …" if len(missing) > 5 else "")
    return NotFound(
        f"{len(missing)} of {asked} ids have no record: {shown}; the others are in .partial of "
        'this error, or give errors="keep"',
        ids=missing,
        partial=partial,
    )
