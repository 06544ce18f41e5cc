"""What one request of each endpoint needs: path, parameters, and the reader of its reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlencode

import polars as pl

from finstat_kit.protocol import replies, wire
from finstat_kit.protocol.forms import form as forms
from finstat_kit.protocol.forms.form import Form
from finstat_kit.protocol.paging import Query, check
from finstat_kit.protocol.records.decode import Kind
from finstat_kit.protocol.records.fields import Record
from finstat_kit.protocol.replies import Page

T = TypeVar("T")
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One GET.

    Attributes:
        path: Below the base URL.
        parameters: As the register spells them.
        read: Makes the value of a good reply's body; raises ProtocolError or NotJson.
        cap: Maximum number of bytes of a body, unpacked.
    """

    path: str
    read: Callable[[bytes], T]
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    cap: int = wire.PAGE_CAP

    @property
    def target(self) -> str:
        """Path and query as sent."""
        return self.path + ("?" + urlencode(self.parameters) if self.parameters else "")


def page(query: Query, before: int = 0) -> Request[Page]:
    """Return the request of a page, whose reply is checked; *before* ids of the walk precede it."""

    def read(body: bytes) -> Page:
        found = replies.parse_page(body)
        check(query, found, before)
        return found

    return Request(f"/api/{query.endpoint}", read, query.parameters())


def count(query: Query) -> Request[int]:
    """Return the request of the number of ids of a walk."""
    parameters = query.parameters()
    del parameters[wire.PAGE_SIZE]
    return Request(f"/api/{wire.COUNTS}/{query.endpoint}", replies.parse_count, parameters)


def record(kind: Kind[R], id_: int) -> Request[R]:
    """Return the request of one record."""
    return Request(kind.path, lambda body: kind.read(body, id_), {"id": id_})


def templates() -> Request[tuple[list[Form], bool]]:
    """Return the request of the list of templates."""
    return Request(f"/api/{wire.TEMPLATES}", forms.parse_templates, cap=wire.CODELIST_CAP)


def template(id_: int) -> Request[Form]:
    """Return the request of a template."""
    return Request(
        f"/api/{wire.TEMPLATE}", lambda body: forms.parse_template(body, id_), {"id": id_}
    )


def attachment(id_: int, cap: int) -> Request[bytes]:
    """Return the request of a file, whose bytes are not decoded."""
    return Request(f"/{wire.ATTACHMENT}/{id_}", bytes, cap=cap)


def codelist(of: wire.Codelist) -> Request[pl.DataFrame]:
    """Return the request of a codelist."""
    read = replies.parse_locations if of.located else replies.parse_classification
    return Request(f"/api/{of.endpoint}", read, cap=wire.CODELIST_CAP)
