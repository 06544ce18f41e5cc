"""The cached records that may be used: those not changed since they were last checked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

from finstat_kit.client.session import Session
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.paging import Query, next_query
from finstat_kit.protocol.records.decode import Kind
from finstat_kit.protocol.records.fields import Record
from finstat_kit.protocol.requests import Request
from finstat_kit.transport.cache_format import Age

T = TypeVar("T")


def unchanged(
    session: Session,
    kind: Kind[Record],
    ids: Sequence[int],
    stop: threading.Event | None = None,
) -> frozenset[int]:
    """Return the ids whose cached records are still current.

    The ids changed since the day before the oldest check are listed once, unless all records are
    younger than the register's ``max_age``.

    Args:
        session: The register's session.
        kind: Kind of records.
        ids: Ids of the requested records.
        stop: Ends the work when it is set.

    Raises:
        RegisterError: The changes cannot be listed.
    """
    file = session.exchange.cache
    if file is None:
        return frozenset()
    if file.undecided:  # any reply shows whether the file is of this register
        newest = Query(kind.listed, session.today(), wire.MAX_PAGE)
        session.exchange.get(requests.count(newest), stop, keep=False)
    now = session.exchange.now
    ages = file.ages(kind.path, ids)
    young = {id_ for id_, age in ages.items() if _is_young(age, session)}
    # Our clock may be wrong: only the register's day can be compared with its days of change.
    dated = {id_: age.since for id_, age in ages.items() if age.since and id_ not in young}
    if not dated:
        return frozenset(young)
    checked = _not_named(session, kind.listed, dated, stop)
    if checked:
        file.confirm(kind.path, sorted(checked), now)
    return frozenset(young | checked)


def _is_young(age: Age, session: Session) -> bool:
    # An age is negative after a clock was set back.
    return 0 <= session.exchange.now - age.checked < session.max_age


def _not_named(
    session: Session, endpoint: str, old: dict[int, date], stop: threading.Event | None
) -> set[int]:
    """Return the ids absent from the list of changes since the oldest check.

    The list takes at most as many requests as the records themselves would; ids above the point
    where it is abandoned count as changed.
    """
    since = min(old.values()) - timedelta(days=1)
    last = max(old)
    query: Query | None = Query(
        endpoint, max(since, wire.BEGINNING), wire.MAX_PAGE, max(min(old) - 1, 0)
    )
    left = set(old)
    for _ in range(len(old)):
        assert query is not None
        page = session.exchange.get(requests.page(query), stop, keep=False)
        left.difference_update(page.ids.to_list())
        query = next_query(query, page)
        if query is None or query.after_id >= last:
            return left
    assert query is not None
    return {id_ for id_ in left if id_ <= query.after_id}


def requests_for(session: Session, kind: Kind[Record], ids: Sequence[int]) -> int:
    """Return how many requests the records of ids need: none for cached ones."""
    file = session.exchange.cache
    if session.replayed:
        return 0
    ages = {} if file is None else file.ages(kind.path, ids)
    return len(ids) - sum(bool(age.since) or _is_young(age, session) for age in ages.values())


def kept_for_the_day(
    session: Session,
    request: Request[T],
    stop: threading.Event | None = None,
    *,
    refresh: bool = False,
) -> T:
    """Return the value of a reply cached on the register's day, else send the request.

    Raises:
        RegisterError: As `Exchange.get` does, a cached 404 included.
        Stopped: As `Exchange.get` does.
    """
    exchange = session.exchange
    if refresh:
        return exchange.get(request, stop)
    return exchange.kept(request, stop, day=session.today())
