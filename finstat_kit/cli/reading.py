"""The files that the command reads, and their numeric and date columns."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from finstat_kit.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

STANDARD_INPUT: Final = Path("-")
# A column is converted only if every text in it round-trips: a text with a leading zero is not a
# number.
_WHOLE: Final = r"^-?(0|[1-9][0-9]{0,17})$"
_DECIMAL: Final = r"^-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$"
_DAY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_NUMBERS_KEPT_AS_TEXT: Final = ("ico", "dic", "sid", "psc")


def as_text(file: Path) -> pl.DataFrame:
    """Read a csv or parquet file with every column as text: a number would lose its zeros."""
    import polars as pl

    frame = _read(file)
    return frame.cast(pl.String)


def with_types(file: Path) -> pl.DataFrame:
    """Read a csv or parquet file; numbers and dates become values, codes remain text."""
    import polars as pl

    frame = _read(file)
    codes = [name for name in frame.columns if name in _codes()]
    frame = frame.cast(dict.fromkeys(codes, pl.String))
    return frame.with_columns(
        [_inferred(frame[name]) for name in frame.columns if name not in codes]
    )


def _codes() -> set[str]:
    from finstat_kit.protocol.wire import BY_FIELD

    return {*BY_FIELD, *_NUMBERS_KEPT_AS_TEXT}


def _inferred(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype != pl.String or column.null_count() == column.len():
        return column
    for pattern, dtype in ((_WHOLE, pl.Int64), (_DECIMAL, pl.Float64)):
        if column.str.contains(pattern).all():
            return column.cast(dtype)
    if column.is_in(["true", "false"]).all():
        return column == "true"
    if column.str.contains(_DAY).all():
        days = column.str.to_date("%Y-%m-%d", strict=False)
        return days if days.null_count() == column.null_count() else column
    return column


def _read(file: Path) -> pl.DataFrame:
    import polars as pl

    if file == STANDARD_INPUT:
        return _csv(sys.stdin.buffer.read(), "standard input")
    named = f"FILE {str(file)!r}"
    if file.suffix.lower() == ".csv":
        return _csv(file.read_bytes(), named)
    if file.suffix.lower() != ".parquet":
        raise UsageError(f"{named}: give a name that ends in .csv or .parquet")
    try:
        frame = pl.read_parquet(file)
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"{named} cannot be read: {_first(error)}") from error
    if any(frame.schema[name].is_nested() for name in frame.columns):
        from finstat_kit.frames.writing import flat

        frame = flat(frame)
    return frame


def _csv(data: bytes, named: str) -> pl.DataFrame:
    import polars as pl

    try:
        first = data.partition(b"\n")[0].decode("utf-8-sig")
        separator = ";" if first.count(";") > first.count(",") else ","
        return pl.read_csv(io.BytesIO(data), infer_schema=False, separator=separator)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise UsageError(f"{named} cannot be read: {_first(error)}") from error


def _first(error: Exception) -> str:
    """Return the first line; in the others polars recommends arguments of its own functions."""
    return str(error).partition("\n\n")[0]
