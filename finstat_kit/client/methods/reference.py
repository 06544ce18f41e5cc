"""The codelists and forms of a register as frames, and the forms by which reports are read."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.source import Source
from finstat_kit.errors import NotFound
from finstat_kit.frames.places import locations as places
from finstat_kit.frames.reports import templates
from finstat_kit.protocol import wire

_LARGEST_TEMPLATE: Final = 2**31 - 1  # the largest value of a column `template`


def locations(source: Source, *, refresh: bool = False) -> pl.DataFrame:
    """Return regions, districts and municipalities in one frame; see `Register.locations`."""
    levels = ("regions", "districts", "municipalities")
    return places.locations(*(source.codelist(name, refresh=refresh) for name in levels))


def all_codelists() -> pl.DataFrame:
    """Return a row for each of the seven codelists; see `Register.codelist`."""
    rows = [
        (entry.name, f"/api/{entry.endpoint}", entry.source, entry.field, entry.label)
        for entry in wire.CODELISTS.values()
    ]
    names = ("name", "endpoint", "source", "field", "label")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def listed_templates(source: Source, *, refresh: bool) -> pl.DataFrame:
    """Return a row for each template; see `Register.template`."""
    return templates.listed(source.forms(refresh=refresh))


def template_part(source: Source, template: int, part: str, *, refresh: bool) -> pl.DataFrame:
    """Return the rows or the columns of a form; see `Register.template`."""
    template = arguments.whole("template", template, 0, _LARGEST_TEMPLATE)
    requested = source.form(template, refresh=refresh)
    if requested is None:
        raise NotFound(
            f"the register has no template {template}",
            cure="fk.template() lists those it has",
            ids=[template],
        )
    return templates.rows_of(requested) if part == "rows" else templates.columns_of(requested)
