"""The fields of records: the meaning of each column, in both languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.unit_names import MATCHED_BY
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

FIELDS: Final = pl.Schema(
    dict.fromkeys(("field", "dtype", "meaning_sk", "meaning_en", "codelist"), pl.String())
)

_MEANINGS: Final = Words("fields")
_BY_SEARCH: Final = {"units": {"matched_by": MATCHED_BY}}  # beside the columns of records


def fields(collection: str = "units") -> pl.DataFrame:
    """List the columns of the records of a collection, with their meaning. Sends no request.

    Args:
        collection: ``"units"``, ``"statements"``, ``"reports"`` or ``"annual_reports"``, as
            in `fk.units.get` and the like.

    Returns:
        One row per column, in the order of the records, of units with the column that `find` adds;
        all String: ``field``, ``dtype``,
        ``meaning_sk``, ``meaning_en`` and ``codelist`` (the function that lists its codes, null
        where the column holds no codes). The fields within a Struct, or a List of them, follow
        their column, with its name before a dot: ``titulnaStrana.ico``.

    Raises:
        UsageError: *collection* is not one of these.

    Example:
        >>> import finstat_kit as fk
        >>> fk.fields("units").filter(field="kraj").row(0)
        ('kraj', 'String', 'kód kraja sídla', 'code of the region of the seat', 'regions')
        >>> fk.fields("reports").filter(field="titulnaStrana.obdobieDo").row(0)[1:4:2]
        ('Date', 'last day of the accounting period')
    """
    arguments.one_of("collection", collection, tuple(KINDS))
    columns = KINDS[collection].schema | _BY_SEARCH.get(collection, {})
    rows = [
        (field, dtype, *_meanings(collection, field), _codelist(field))
        for field, dtype in _nested(columns.items())
    ]
    return pl.DataFrame(rows, schema=FIELDS, orient="row")


def _nested(
    columns: Iterable[tuple[str, pl.DataType]], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the names and types of columns, each followed by those of the fields within."""
    for name, dtype in columns:
        within = dtype.inner if isinstance(dtype, pl.List) else dtype
        if not isinstance(within, pl.Struct):
            yield prefix + name, "Enum" if isinstance(dtype, pl.Enum) else str(dtype)
            continue
        yield prefix + name, "Struct" if within is dtype else "List(Struct)"
        inner = [(field.name, field.dtype) for field in within.fields]
        yield from _nested(inner, f"{prefix}{name}.")  # type: ignore[arg-type]


def _meanings(collection: str, field: str) -> tuple[str, str]:
    """Return what a field means; most mean the same in all records."""
    keys = (f"{collection}.{field}", field, field.rpartition(".")[2])
    key = next(key for key in keys if key in _MEANINGS["sk"])
    return _MEANINGS["sk"][key], _MEANINGS["en"][key]


def _codelist(field: str) -> str | None:
    name = field.rpartition(".")[2]
    return wire.BY_FIELD[name].name if name in wire.BY_FIELD else None
