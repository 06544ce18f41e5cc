"""What answers by requests; the records behind ids: one request each, except cached ones."""

from __future__ import annotations

import math
import threading
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.outage import DOUBTFUL, settled
from finstat_kit.client.session import Session
from finstat_kit.client.source import Outcome, Source
from finstat_kit.errors import (
    NotFound,
    NotHeld,
    ProtocolError,
    RegisterError,
    attaching,
    invalid,
)
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.records import KINDS, Kind, Record
from finstat_kit.protocol.requests import Query, Request, next_query
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import in_order

if TYPE_CHECKING:
    from finstat_kit.protocol.forms import Form
    from finstat_kit.transport.cache_database import Kept
    from finstat_kit.transport.cache_file import CacheFile

_BATCH: Final = 2_000  # records that wait to become a frame; a report has 10 kB
# Record requests sent to a real host by default: half an hour to an hour.
_MOST_REQUESTS: Final = 10_000


class Requested(Source):
    """What answers for a register by requests."""

    def codelist(self, name: str, *, refresh: bool = False) -> pl.DataFrame:
        """Return a codelist, fetched at the first call.

        A clone, which shares the data: what a user does to the frame stays with the user.
        """
        known = self.session.fetched.codelists
        if name not in known or refresh:
            request = requests.codelist(wire.CODELISTS[name])
            known[name] = self.session.cached_for_the_day(request, refresh=refresh)
        return known[name].clone()

    def form(self, template: int, *, refresh: bool = False) -> Form | None:
        """Return a form, None where the register has no template of that id.

        Threads that need the same form wait for the one that requests it.
        """
        fetched = self.session.fetched.forms
        with self.session.fetched.lock:
            if template not in fetched or refresh:
                try:
                    request = requests.template(template)
                    form = self.session.cached_for_the_day(request, refresh=refresh)
                    fetched[template] = form
                except NotFound:
                    fetched[template] = None
            return fetched[template]

    def records(
        self,
        name: str,
        ids: pl.Series,
        *,
        keep: bool,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Return the records of ids, none repeated, in their order; see `Collection.get`."""
        session = self.session
        with bar("records", ids.len(), watched=session.watched, progress=progress) as advance:
            return fetch_records(
                KINDS[name], ids.to_list(), session, advance, keep=keep, max_requests=max_requests
            )


def get_records(
    name: str,
    ids: pl.Series,
    source: Source,
    *,
    keep: bool,
    max_requests: int | None = None,
    progress: bool | None = None,
) -> pl.DataFrame:
    """Return the records of ids, in the order requested; see `Collection.get`."""
    unique = ids.unique(maintain_order=True)
    session = source.session
    refuse_long_work(requests_for(session, KINDS[name], unique.to_list()), session, max_requests)
    frame = source.records(name, unique, keep=keep, max_requests=max_requests, progress=progress)
    if unique.len() == ids.len():
        return frame
    return ids.to_frame().join(frame, on="id", how="left", maintain_order="left")


def outcomes(
    kind: Kind[Record],
    ids: Sequence[int],
    session: Session,
    *,
    max_requests: int | None = None,
    keep: bool = False,
) -> Generator[Outcome, None, None]:
    """Yield each id, in their order, with its record or the error of that record alone.

    Args:
        kind: Kind of records.
        ids: None repeated.
        session: The register's session.
        max_requests: Maximum number of requests for records that the cache does not have.
        keep: Whether a record that the register fails to send, or a proxy before it, is taken for
            a fault of that record as long as the register is not down; see `settled`.

    Raises:
        UsageError: More requests than *max_requests*, before the first record.
        RegisterError: Any fault that does not concern a single record, after all records before it.
    """
    cached_ids = ids_unchanged_in_cache(session, kind, ids, max_requests)

    def fetch(id_: int, stop: threading.Event) -> Record | RegisterError:
        if stop.is_set():
            raise Stopped  # without another request
        request: Request[Record] = requests.record(kind, id_)
        exchange = session.exchange
        try:
            return (exchange.kept if id_ in cached_ids else exchange.get)(request, stop)
        except faults as error:
            return error

    faults: tuple[type[RegisterError], ...] = (NotFound, ProtocolError, *(DOUBTFUL if keep else ()))
    fetched = in_order(ids, fetch, session.connections)
    with closing(fetched):  # an error ends its threads at once
        yield from settled(fetched, session, kind, ids) if keep else fetched


def fetch_records(
    kind: Kind[Record],
    ids: Sequence[int],
    session: Session,
    advance: Advance,
    *,
    keep: bool,
    max_requests: int | None = None,
) -> pl.DataFrame:
    """Fetch the records of ids as a frame; see `outcomes` and `Collection.get`."""
    frames: list[pl.DataFrame] = []
    batch: list[Record] = []
    missing_ids: list[int] = []

    def so_far() -> pl.DataFrame:
        last = kind.frame(batch)
        return pl.concat([*frames, last], rechunk=True) if frames else last

    def text() -> str:
        number = so_far().height + len(missing_ids)
        return f"interrupted after {number:,} of {len(ids):,} records, which are in .partial"

    fetched = outcomes(kind, ids, session, max_requests=max_requests, keep=keep)
    with attaching(so_far, text, going_on=session.going_on()), closing(fetched):
        for id_, record in fetched:
            advance(1)
            if isinstance(record, ProtocolError) and not keep:
                raise record
            if not isinstance(record, RegisterError):
                batch.append(record)
            elif keep:
                batch.append(kind.shape(id=id_))
            else:
                missing_ids.append(id_)
            if len(batch) >= _BATCH:
                frames.append(kind.frame(batch))
                batch.clear()
    if missing_ids:
        raise not_found(missing_ids, len(ids), so_far())
    return so_far()


def records_or_ids(name: str, ids: pl.Series, source: Source) -> pl.DataFrame:
    """Return the records of ids, none repeated; an id without a readable one is a row of its id.

    The number of requests has been checked already.
    """
    return get_records(name, ids, source, keep=True, max_requests=ids.len(), progress=False)


def not_found(missing: list[int], number: int, partial: pl.DataFrame) -> NotFound:
    """Return the error for ids without a record, some of a number."""
    shown = ", ".join(map(str, missing[:5])) + (" …" if len(missing) > 5 else "")
    others = "the others are in .partial of this error" if partial.height else "leave them out"
    return NotFound(
        f"{len(missing)} of {number} ids have no record: {shown}",
        cure=f'{others}, or get(ids, errors="keep") makes each a row of nulls',
        ids=missing,
        partial=partial,
    )


def refuse_long_work(
    requests: int, session: Session, max_requests: int | None, at_most: int | None = None
) -> None:
    """Refuse unexpectedly long work before the first request.

    Args:
        requests: How many are to be expected.
        session: Of the register.
        max_requests: As given by the user.
        at_most: How many there can be, if not as many as expected.

    Raises:
        UsageError: With the number, the time it would take, and the alternatives.
    """
    most = most_requests(session, max_requests)
    if requests <= most:
        return
    low, high = map(duration, session.seconds_of(requests))
    number, _, unit = low.partition(" ")
    span = high if low == high else f"{number if high.endswith(unit) else low} to {high}"
    took = f", about {span}" if session.remote else ""
    needed = f"this needs {requests:,} requests"
    beyond = "" if at_most in (None, requests) else f" (at most {at_most:,})"
    fault = f"{needed}{beyond}, one per record{took}"
    # The limit is named where somebody gave it.
    raise invalid(
        None if max_requests is None else "max_requests",
        most,
        f": {fault}" if max_requests is not None else f"{fault}; the limit is {most:,}",
        cure="give fewer ids, such as those changed since a later day, take a sample of them, keep "
        "a mirror (fk.Mirror), which resumes after an interruption, or allow it by "
        f"max_requests={requests}",
    )


def most_requests(session: Session, max_requests: int | None) -> float:
    """Return how many record requests may be sent at once."""
    if max_requests is None:
        return _MOST_REQUESTS if session.remote else math.inf
    return arguments.whole("max_requests", max_requests, 0, wire.MAX_ID)


def duration(seconds: float) -> str:
    """Return about how long something takes, in words."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def requests_for(session: Session, kind: Kind[Record], ids: Sequence[int]) -> int:
    """Return how many requests the records of ids need: none for cached ones.

    Which of these have changed is not known yet: `ids_unchanged_in_cache` checks the number again.
    """
    file = session.exchange.cache
    if session.replayed:
        return 0
    ages = {} if file is None else file.ages(kind.path, ids)
    return len(ids) - sum(bool(age.since) or _is_young(age, session) for age in ages.values())


def ids_unchanged_in_cache(
    session: Session,
    kind: Kind[Record],
    ids: Sequence[int],
    max_requests: int | None,
) -> frozenset[int]:
    """Return the ids whose cached records are still current, unless too many are not.

    The ids changed since the day before the oldest check are listed once, unless all records are
    younger than the register's ``max_age``.

    Args:
        session: The register's session.
        kind: Kind of records.
        ids: Ids of the requested records.
        max_requests: Maximum number of requests for the other records.

    Raises:
        UsageError: The other records need more requests than *max_requests*.
        RegisterError: The changes cannot be listed.
    """
    if session.exchange.cache is None:  # then the caller has checked the number
        return frozenset()
    cached_ids = _unchanged(session, session.exchange.cache, kind, ids)
    refuse_long_work(len(ids) - len(cached_ids), session, max_requests)
    return cached_ids


def _unchanged(
    session: Session, file: CacheFile, kind: Kind[Record], ids: Sequence[int]
) -> frozenset[int]:
    if file.undecided:  # any reply shows whether the file is of this register
        newest = Query(kind.listed, session.today(), wire.MAX_PAGE)
        with suppress(NotHeld):
            session.exchange.get(requests.count(newest), keep=False)
    checked_at = session.exchange.now
    ages = file.ages(kind.path, ids)
    young = {id_ for id_, age in ages.items() if _is_young(age, session)}
    # Our clock may be wrong: only the register's day can be compared with its days of change.
    check_days = {
        id_: date.fromisoformat(age.since)
        for id_, age in ages.items()
        if age.since and id_ not in young
    }
    if not check_days:
        return frozenset(young)
    checked = _ids_not_in_changes(session, kind.listed, check_days)
    if checked:
        file.confirm(kind.path, sorted(checked), checked_at)
    return frozenset(young | checked)


def _is_young(age: Kept, session: Session) -> bool:
    # An age is negative after a clock was set back.
    return 0 <= session.exchange.now - age.checked < session.max_age


def _ids_not_in_changes(session: Session, endpoint: str, old: dict[int, date]) -> set[int]:
    """Return the ids absent from the list of changes since the oldest check.

    The list takes at most as many requests as the records themselves would; ids above the point
    where it is abandoned count as changed, and all where the register is a served mirror, which
    does not know the days.
    """
    since = min(old.values()) - timedelta(days=1)
    last_id = max(old)
    query: Query | None = Query(
        endpoint, max(since, wire.BEGINNING), wire.MAX_PAGE, max(min(old) - 1, 0)
    )
    unchanged_ids = set(old)
    for _ in range(len(old)):
        assert query is not None
        try:
            page = session.exchange.get(requests.page(query), keep=False)
        except NotHeld:
            return set()
        unchanged_ids.difference_update(page.ids.to_list())
        query = next_query(query, page)
        if query is None or query.after_id >= last_id:
            return unchanged_ids
    assert query is not None
    return {id_ for id_ in unchanged_ids if id_ <= query.after_id}
