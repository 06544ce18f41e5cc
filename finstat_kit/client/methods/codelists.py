"""The codelists of a register: fetched once, or taken from its copy on disk."""

from __future__ import annotations

import threading

import polars as pl

from finstat_kit.client.session import Session
from finstat_kit.frames.places import locations as places
from finstat_kit.protocol import requests, wire


def codelist(
    session: Session, name: str, *, refresh: bool = False, stop: threading.Event | None = None
) -> pl.DataFrame:
    """Return a codelist, fetched at the first call, unless *stop* is set meanwhile."""
    if session.copy is not None:
        return session.copy.codelist(name, refresh=refresh)
    known = session.fetched.codelists
    if name not in known or refresh:
        request = requests.codelist(wire.CODELISTS[name])
        known[name] = session.cached_for_the_day(request, stop, refresh=refresh)
    return known[name]


def locations(session: Session, *, refresh: bool = False) -> pl.DataFrame:
    """Return regions, districts and municipalities in one frame; see `Register.locations`."""
    levels = ("regions", "districts", "municipalities")
    return places.locations(*(codelist(session, name, refresh=refresh) for name in levels))


def all_codelists() -> pl.DataFrame:
    """Return a row for each of the seven codelists; see `Register.codelists`."""
    rows = [
        (entry.name, f"/api/{entry.endpoint}", entry.source, entry.field, entry.label)
        for entry in wire.CODELISTS.values()
    ]
    names = ("name", "endpoint", "source", "field", "label")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
