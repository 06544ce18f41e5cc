"""The cells of kept reports: one long table, written once, sorted by cell within each commit.

One item of many filings is what is asked for, so that the rows of a cell lie together and readers
skip all others. The record of a report keeps the lengths of its tables instead of them, and a
digest: both together give back every text as it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import orjson
import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.frames.cells import FormOf, values_of
from finstat_kit.frames.reasons import by_the_record
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import Form

# Cells of each table of a report as sent, null for a table without any list of cells.
LENGTHS: Final = "lengths"
DIGEST: Final = "tables"  # of all texts
STORED: Final = pl.Schema(
    {
        "template": pl.Int32(),
        "table": pl.Int16(),
        "row": pl.Int16(),  # null, as column is, where the report does not fit its template
        "column": pl.Int16(),
        "report_id": pl.Int64(),
        "place": pl.Int32(),  # within the table, as sent
        "value": pl.Float64(),  # null where the text is no number
        "raw": pl.String(),  # the text, where the value does not give it back
        "version": pl.Int64(),  # of the record
    }
)
ORDER: Final = ("template", "table", "row", "column", "report_id")
_TABLES: Final = pl.List(pl.List(pl.String))
_WHOLE: Final = 2.0**53  # below it every whole number is a value of its own
_CENTS: Final = 10.0**13  # below it every number of cents is


def split(
    reports: pl.DataFrame, version: int, form_of: FormOf
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return records with the lengths and the digest of their tables, and their filled cells.

    Args:
        reports: Records as `reports.get` returns them.
        version: Of the batch.
        form_of: Returns a template, None where there is none.
    """
    tables = reports[wire.TABLES].cast(_TABLES)
    lengths = tables.list.eval(pl.element().list.len()).cast(pl.List(pl.Int32)).alias(LENGTHS)
    columns = _columns(reports, lengths, form_of)
    texts = (
        pl.DataFrame({"at": np.arange(reports.height), "cells": tables})
        .explode("cells")
        .with_columns(table=pl.int_range(pl.len()).over("at").cast(pl.Int16))
        .with_columns(place=pl.int_ranges(pl.col("cells").list.len()))
        .explode("cells", "place")
        .filter(pl.col("cells") != "")
    )
    values = values_of(texts["cells"])
    owner = reports.select(
        pl.int_range(pl.len()).alias("at"), pl.col("idSablony").cast(pl.Int32).alias("template"),
        pl.col("id").alias("report_id"), pl.lit(version).alias("version"),
    )  # fmt: skip
    place, width = pl.col("place"), pl.col("width")
    cells = (
        texts.with_columns(values.alias("value"))
        .with_columns(
            raw=pl.when(text_of(pl.col("value")).ne_missing(pl.col("cells"))).then("cells")
        )
        .join(owner, on="at", how="left", maintain_order="left")
        .join(columns, on=["at", "table"], how="left", maintain_order="left")
        .with_columns(row=(place // width).cast(pl.Int16), column=(place % width).cast(pl.Int16))
        .select(pl.col(name).cast(dtype) for name, dtype in STORED.items())
        .sort(ORDER)
    )
    digests = pl.Series(DIGEST, [_digest(one) for one in tables.to_list()], dtype=pl.Int64)
    return reports.with_columns(lengths, digests).drop(wire.TABLES), cells


def _digest(tables: object) -> int:
    """Return a number that depends on every text of a report."""
    digest = blake2b(orjson.dumps(tables), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _columns(reports: pl.DataFrame, lengths: pl.Series, form_of: FormOf) -> pl.DataFrame:
    """Return the number of columns of each table, of the reports that fit their template."""
    held = lengths.list.len().fill_null(0).to_numpy() > 0
    open_ = held.copy()
    for _, applies in by_the_record(reports, held):
        open_ &= ~applies
    templates = reports["idSablony"]
    found = [pl.DataFrame(schema={"at": pl.Int64, "table": pl.Int16, "width": pl.Int32})]
    for template in templates.filter(pl.Series(open_)).drop_nulls().unique():
        form: Form | None = form_of(template)
        if form is None or not form.tables:
            continue
        own = open_ & (templates == template).fill_null(value=False).to_numpy()
        wanted = [table.cells for table in form.tables]
        at = [place for place in np.flatnonzero(own).tolist() if lengths[place].to_list() == wanted]
        for table, one in enumerate(form.tables):
            width = len(one.columns)
            rows = {"at": at, "table": [table] * len(at), "width": [width] * len(at)}
            found.append(pl.DataFrame(rows, schema=found[0].schema))
    return pl.concat(found)


def text_of(value: pl.Expr) -> pl.Expr:
    """Return the text that stands for a value where no other is kept: 5, -12, 3.50."""
    whole = value.cast(pl.Int64, strict=False).cast(pl.String)
    cents = (value.abs() * 100).round().cast(pl.Int64, strict=False)
    sign = pl.when(value < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    parts = (cents // 100).cast(pl.String), (cents % 100).cast(pl.String).str.zfill(2)
    decimal = pl.concat_str(sign, parts[0], pl.lit("."), parts[1])
    exact = cents.cast(pl.Float64) / 100 == value.abs()
    return (
        pl.when((value == value.round()) & (value.abs() < _WHOLE)).then(whole)
        .when(exact & (value.abs() < _CENTS)).then(decimal)
    )  # fmt: skip


def joined(records: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Return records with their tables as they were sent.

    Args:
        records: With `LENGTHS` and ``version``.
        cells: The stored cells of these records, at least.

    Raises:
        MirrorError: Some cells are missing.
    """
    lengths: list[list[int | None] | None] = records[LENGTHS].to_list()
    flat = [sum(n or 0 for n in one or ()) for one in lengths]
    starts = np.concatenate([[0], np.cumsum(flat)])[:-1]
    offsets = [
        (at, table, int(starts[at]) + sum(n or 0 for n in (one or ())[:table]))
        for at, one in enumerate(lengths)
        for table in range(len(one or ()))
    ]
    schema = {"at": pl.Int64, "table": pl.Int16, "offset": pl.Int64}
    owners = records.select("id", "version", at=pl.int_range(pl.len()))
    own = cells.join(
        owners, left_on=["report_id", "version"], right_on=["id", "version"], how="inner"
    ).join(pl.DataFrame(offsets, schema=schema, orient="row"), on=["at", "table"], how="left")
    own = own.with_columns(text=pl.coalesce("raw", text_of(pl.col("value"))))
    texts = np.full(int(sum(flat)), "", dtype=object)
    texts[(own["offset"] + own["place"]).to_numpy()] = own["text"].to_numpy()
    whole = texts.tolist()
    tables = [_tables(whole, int(start), one) for start, one in zip(starts, lengths, strict=True)]
    for id_, one, digest in zip(records["id"], tables, records[DIGEST], strict=True):
        if _digest(one) != digest:
            raise MirrorError(
                f"the cells of report {id_} are not as they were received: see verify()"
            )
    made = pl.Series(wire.TABLES, tables, dtype=_TABLES)
    return records.with_columns(made).drop(LENGTHS, DIGEST)


def current(
    cells: pl.LazyFrame, records: pl.DataFrame, layout: pl.DataFrame, schema: pl.Schema
) -> pl.LazyFrame:
    """Return stored cells in the columns of `fk.cells`; filters on the key reach the files.

    Args:
        cells: All that are stored.
        records: ``id`` and ``version`` of the records that count.
        layout: What the cells of the forms mean, by template, table, row and column.
        schema: Columns to return.
    """
    own = records.lazy().select(pl.col("id").alias("report_id"), "version")
    key = ["template", "table", "row", "column"]
    return (
        cells.filter(pl.col("row").is_not_null())
        .join(own, on=["report_id", "version"], how="semi")
        .join(layout.lazy(), on=key, how="left")
        .select(schema.names())
    )


def _tables(
    texts: Sequence[str], start: int, lengths: Sequence[int | None] | None
) -> list[list[str] | None] | None:
    if lengths is None:
        return None
    found: list[list[str] | None] = []
    for length in lengths:
        found.append(None if length is None else list(texts[start : start + length]))
        start += length or 0
    return found
