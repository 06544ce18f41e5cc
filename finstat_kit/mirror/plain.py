"""Rows as Arrow that every engine reads."""

from __future__ import annotations

import polars as pl
from arro3.core import ChunkedArray, DataType, Field, Schema, Table as ArrowTable


def plain_arrow(rows: pl.DataFrame) -> ArrowTable:
    """Return rows as Arrow with plain strings: some engines do not read string views."""
    table = ArrowTable.from_arrow(rows)
    types = [_plain(kind) for kind in table.schema.types]
    columns = [
        column
        if column.type == kind
        else ChunkedArray([chunk.cast(kind) for chunk in column.chunks], kind)
        for column, kind in zip(table.columns, types, strict=True)
    ]
    fields = [Field(name, kind) for name, kind in zip(table.schema.names, types, strict=True)]
    return ArrowTable(columns, schema=Schema(fields))


def _plain(kind: DataType) -> DataType:
    """Return a type with plain strings in the place of string views, also within it."""
    if kind == DataType.string_view():
        return DataType.string()
    if DataType.is_struct(kind):
        return DataType.struct([Field(one.name, _plain(one.type)) for one in kind.fields])
    if DataType.is_large_list(kind):
        return DataType.large_list(Field("item", _plain(kind.value_type)))
    return kind
