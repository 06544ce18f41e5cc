"""The forms of reports as frames: the list of them, the rows of one, the columns of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from finstat_kit.protocol.forms import MEASURES, PERIODS, Form, Row

PERIOD: Final = pl.Enum(PERIODS)
MEASURE: Final = pl.Enum(MEASURES)
TERM: Final = pl.Struct({"sign": pl.Int8, "table": pl.Int16, "row": pl.Int16})
TEMPLATES: Final = pl.Schema(
    {
        "id": pl.Int64(),
        "name": pl.String(),
        "decree": pl.String(),
        "valid_from": pl.Date(),
        "valid_to": pl.Date(),
        "tables": pl.Int16(),
    }
)
ROWS: Final = pl.Schema(
    {
        "table": pl.Int16(),
        "row": pl.Int16(),
        "number": pl.Int32(),
        "mark": pl.String(),
        "path": pl.String(),
        "level": pl.Int8(),
        "label_sk": pl.String(),
        "label_en": pl.String(),
        "terms": pl.List(TERM),
    }
)
COLUMNS: Final = pl.Schema(
    {
        "table": pl.Int16(),
        "column": pl.Int16(),
        "period": PERIOD,
        "measure": MEASURE,
        "header_sk": pl.String(),
        "header_en": pl.String(),
    }
)


def listed(forms: Iterable[tuple[Form, bool]]) -> pl.DataFrame:
    """Return the list of templates; the number of tables is null if unknown."""
    rows = sorted((*form[:5], len(form.tables) if known else None) for form, known in forms)
    return pl.DataFrame(rows, schema=TEMPLATES, orient="row")


def rows_of(form: Form) -> pl.DataFrame:
    """Return the rows of a form, in its order."""
    rows = [
        (table, place, *_row(row))
        for table, one in enumerate(form.tables)
        for place, row in enumerate(one.rows)
    ]
    return pl.DataFrame(rows, schema=ROWS, orient="row")


def _row(row: Row) -> tuple[object, ...]:
    path = "".join(f"{part}." for part in row.path) or None
    terms = [term._asdict() for term in row.terms] or None
    return (
        row.number, row.mark, path, len(row.path), row.label_sk or None, row.label_en, terms,
    )  # fmt: skip


def columns_of(form: Form) -> pl.DataFrame:
    """Return the data columns of a form, in its order."""
    rows = [
        (table, place, c.period, c.measure, c.header_sk or None, c.header_en)
        for table, one in enumerate(form.tables)
        for place, c in enumerate(one.columns)
    ]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")
