"""The forms of a register: its templates, each fetched once, unknown ones included."""

from __future__ import annotations

import threading
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.kept import kept_for_the_day
from finstat_kit.client.session import Session
from finstat_kit.errors import Either, NotFound
from finstat_kit.frames.reports import templates as frames
from finstat_kit.protocol import requests
from finstat_kit.protocol.forms.form import Form

_HIGHEST: Final = 2**31 - 1  # the largest value of a column `template`


def form(
    session: Session, template: int, *, refresh: bool = False, stop: threading.Event | None = None
) -> Form | None:
    """Return a form, None where the register has no template of that id.

    Threads that need the same form wait for the one that requests it.
    """
    if session.copy is not None and (copied := session.copy.form(template)) is not None:
        return copied
    forms = session.fetched.forms
    with session.fetched.lock:
        if template not in forms or refresh:
            try:
                request = requests.template(template)
                forms[template] = kept_for_the_day(session, request, stop, refresh=refresh)
            except NotFound:
                forms[template] = None
        return forms[template]


def listed(session: Session, *, refresh: bool) -> pl.DataFrame:
    """Return a row for each template; see `Register.templates`."""
    fetched = session.fetched
    with fetched.lock:
        if fetched.listed_forms is None or refresh:
            fetched.listed_forms, with_tables = kept_for_the_day(
                session, requests.templates(), refresh=refresh
            )
            if with_tables:
                fetched.forms |= {form.id: form for form in fetched.listed_forms}
        rows = []
        for listed_form in fetched.listed_forms:
            whole = fetched.forms.get(listed_form.id)
            rows.append((whole or listed_form, whole is not None))
    return frames.listed(rows)


def part_of(session: Session, template: int, part: str, *, refresh: bool) -> pl.DataFrame:
    """Return the rows or the columns of a form; see `Register.template`."""
    template = arguments.whole("template", template, 0, _HIGHEST)
    requested = form(session, template, refresh=refresh)
    if requested is None:
        raise NotFound(
            f"the register has no template {template}",
            cure=Either("fk.templates() lists those it has"),
            ids=[template],
        )
    return frames.rows_of(requested) if part == "rows" else frames.columns_of(requested)
