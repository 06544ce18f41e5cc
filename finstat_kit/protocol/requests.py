"""What is requested of each endpoint, how its reply is read, and the rules of paging.

No request is made here. A walk through a list ends only by the rule of the specification: the flag
“more” is false, or a page has no ids [Lists of identifiers]. It never ends by a short page, an
error or a count, which is advisory [Counts].
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from urllib.parse import urlencode

import msgspec
import numpy as np
import polars as pl

from finstat_kit.errors import PagingError
from finstat_kit.protocol import codelists, wire
from finstat_kit.protocol.records import Id, Kind, Record, decoded
from finstat_kit.protocol.wire import COUNT, MORE

if TYPE_CHECKING:
    from finstat_kit.protocol.forms import Form

log = logging.getLogger("finstat_kit")
T = TypeVar("T")
R = TypeVar("R", bound=Record)
IDS: Final = pl.Schema({"id": pl.Int64})


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One GET.

    Attributes:
        path: Below the base URL.
        parameters: As the register spells them.
        read: Makes the value of a good reply's body; raises ProtocolError or NotJson. It alone
            decides what a body may be: some files are pages of HTML.
        cap: Maximum number of bytes of a body, unpacked.
        is_file: Whether it is a file of a web server: its deadline is for the next byte, and none
            is for the whole.
        is_kept: Whether a good reply to it is written to a cache file.
    """

    path: str
    read: Callable[[bytes], T]
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    cap: int = wire.PAGE_CAP
    is_file: bool = False
    is_kept: bool = True

    @property
    def target(self) -> str:
        """Path and query as sent."""
        return self.path + ("?" + urlencode(self.parameters) if self.parameters else "")

    @property
    def who(self) -> str:
        """Who answers it, for messages."""
        return "the server" if self.is_file else "the register"


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of one request of a list."""

    endpoint: str
    changed_since: date
    page_size: int
    after_id: int = 0
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The collection that is listed."""
        return next(name for name, endpoint in wire.LISTS.items() if endpoint == self.endpoint)

    def parameters(self) -> dict[str, str | int]:
        """Return the query as the register spells it [Lists of identifiers].

        The day is always sent: the live register requires it (observed).
        """
        return {
            wire.CHANGED_SINCE: self.changed_since.isoformat(),
            wire.PAGE_SIZE: self.page_size,
            **({wire.AFTER_ID: self.after_id} if self.after_id else {}),
            **self.filters,
        }


class _Ids(msgspec.Struct, gc=False):
    more: bool = msgspec.field(name=MORE)
    id: list[Id] = []


class _Count(msgspec.Struct, gc=False):
    count: Id = msgspec.field(name=COUNT)


@dataclass(frozen=True, slots=True)
class Page:
    """One reply of a list: its ids in the order received, and whether the register has more."""

    ids: pl.Series  # Int64, no nulls, none negative
    more: bool


def page(query: Query, before: int | None = None) -> Request[Page]:
    """Return the request of a page, whose reply is checked.

    Args:
        query: The query.
        before: Number of ids of the walk before the page; None if it is not known.
    """

    def read(body: bytes) -> Page:
        page = parse_page(body)
        check(query, page, before)
        return page

    return Request(f"/api/{query.endpoint}", read, query.parameters())


def count(query: Query) -> Request[int]:
    """Return the request of the number of ids of a walk: a list's, without page size [Counts]."""
    parameters = query.parameters()
    del parameters[wire.PAGE_SIZE]
    return Request(f"/api/{wire.COUNTS}/{query.endpoint}", parse_count, parameters)


def check(query: Query, page: Page, seen: int | None = None) -> None:
    """Refuse a page that does not move forward from its query.

    Every id lies above the cursor sent and above the id before it [Lists of identifiers], so no
    cycle of any length can exist.

    Args:
        query: The query.
        page: Its page.
        seen: Number of ids of the walk before this page, for the message; None if it is not known.

    Raises:
        PagingError: The page repeats, goes back or does not advance.
    """
    line = np.insert(page.ids.to_numpy(), 0, query.after_id)
    backwards = line[1:] <= line[:-1]
    if not backwards.any():
        return
    place = int(backwards.argmax())
    fault = f"its first id {line[1]} is not above the cursor"
    if place:
        fault = f"id {line[place + 1]} follows {line[place]}"
    before = "" if seen is None else f"; {seen} ids precede it"
    raise PagingError(
        f"page {query.endpoint} after id {query.after_id} does not move forward: {fault}"
        f"{before}. The register is changing its order or is broken: request the "
        "same page again, or try later",
        cursor=query.after_id,
    )


def next_query(query: Query, page: Page) -> Query | None:
    """Return the query after a checked page, or None at the end of the walk.

    A walk ends with a page whose flag is false, or without ids [Lists of identifiers].
    """
    if page.more and len(page.ids):
        return replace(query, after_id=int(page.ids[-1]))
    if page.more:
        log.warning(
            "%s after id %d: no ids but a flag for more; this ends the walk by the rule",
            query.endpoint,
            query.after_id,
        )
    return None


def parse_page(body: bytes) -> Page:
    """Read the reply of a list [Lists of identifiers].

    A missing ``id`` is an empty list: attributes without a value are left out (observed). A missing
    flag is a broken reply, never an end (ours).
    """
    reply = decoded(body, _Ids)
    return Page(pl.Series("id", reply.id, dtype=pl.Int64), reply.more)


def parse_count(body: bytes) -> int:
    """Read the reply of a count [Counts]."""
    return decoded(body, _Count).count


def record(kind: Kind[R], id_: int) -> Request[R]:
    """Return the request of one record [Details]."""
    return Request(kind.path, lambda body: kind.read(body, id_), {"id": id_})


def templates() -> Request[tuple[list[Form], bool]]:
    """Return the request of the list of templates [Details]."""
    from finstat_kit.protocol.forms import parse_templates  # compiles its patterns

    return Request(f"/api/{wire.TEMPLATES}", parse_templates, cap=wire.CODELIST_CAP)


def template(id_: int) -> Request[Form]:
    """Return the request of a template [Details]."""
    from finstat_kit.protocol.forms import parse_template  # compiles its patterns

    return Request(f"/api/{wire.TEMPLATE}", lambda body: parse_template(body, id_), {"id": id_})


def attachment(id_: int, read: Callable[[bytes], bytes], cap: int) -> Request[bytes]:
    """Return the request of a file, whose bytes *read* checks [Details]."""
    return Request(f"/{wire.ATTACHMENT}/{id_}", read, cap=cap, is_kept=False)


def codelist(of: wire.Codelist) -> Request[pl.DataFrame]:
    """Return the request of a codelist, which is complete and has no parameters [Codelists]."""
    read = codelists.parse_locations if of.located else codelists.parse_classification
    return Request(f"/api/{of.endpoint}", read, cap=wire.CODELIST_CAP)
