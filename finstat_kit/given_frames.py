"""Frames, columns and ids that users pass: from any library, polars comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import time
from typing import Any, Final, Protocol, TypeVar

import polars as pl

from finstat_kit.arguments import LOOK_UP, whole
from finstat_kit.errors import UsageError, invalid, value_in_python
from finstat_kit.protocol.wire import MAX_ID


class ArrowStream(Protocol):
    """A frame of any library that exports an Arrow stream, such as one of pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream."""


AnyFrame = (
    pl.DataFrame | pl.LazyFrame | ArrowStream | Mapping[str, Any] | Sequence[Mapping[str, Any]]
)
# One kind of frame in, the same out.
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
# Whole numbers in frames of this package; in pandas they are floats where one is missing.
_WHOLE: Final = frozenset({
    "id", "unit_id", "idUJ", "statement_id", "report_id", "superseded_by", "idSablony",
    "idUctovnejZavierky", "idVyrocnejSpravy", "year", "months", "periods_in_year", "supersedes",
    "template", "table", "row", "column", "number", "count", "sums_failing",
})  # fmt: skip
# By collection: columns that name its records where they are not its own, and those that its own
# records never have.
NAMED_IN: Final = {
    "units": ("idUJ", "unit_id"),
    "statements": ("idUctovnychZavierok", "idUctovnejZavierky", "statement_id"),
    "reports": ("idUctovnychVykazov", "report_ids", "report_id"),
    "annual_reports": ("idVyrocnychSprav", "idVyrocnejSpravy"),
}
# The two last are of files and of templates.
_FOREIGN: Final = {
    "units": {"idUJ", "idUctovnejZavierky", "velkostPrilohy", "decree"},
    "statements": {
        "idUctovnychZavierok", "idUctovnejZavierky", "pristupnostDat", "prilohy", "velkostPrilohy",
        "decree",
    },
    "reports": {"idUctovnychVykazov", "idUctovnychZavierok", "velkostPrilohy", "decree"},
    "annual_reports": {
        "idVyrocnychSprav", "idVyrocnejSpravy", "datumZostavenia", "velkostPrilohy", "decree",
    },
}  # fmt: skip


def not_polars(name: str, value: object, expected: str = "a frame") -> UsageError:
    """Return the error for a value that is no frame; *expected* is what is."""
    kind, module = type(value).__name__, type(value).__module__.partition(".")[0]
    if isinstance(value, int) and name in ("report", "reports"):
        return invalid(name, value, "is an id", give=f"its record: fk.reports.get({value})")
    cure = f"{expected}: of polars, pandas or Arrow, a list of dicts or a dict of columns"
    if isinstance(getattr(value, "frame", None), pl.DataFrame):  # such as a statement over years
        cure = "the polars DataFrame in it, .frame"
    elif expected != "a frame":
        cure = expected
    whose = "" if module == "builtins" else f"{module} "
    article = "an" if whose == "" and kind[0] in "aeiou" else "a"
    return invalid(name, ..., f"is {article} {whose}{kind}", give=cure)


def polars_of(name: str, value: object) -> object:
    """Return a frame or a column from anywhere as one of polars, and any other value as it is.

    The one door for frames: of pandas, whatever exports an Arrow stream, a list of dicts, a dict of
    columns; a numpy array becomes a list.

    Raises:
        UsageError: It is a frame that polars cannot hold.
    """
    if value is None or isinstance(value, pl.DataFrame | pl.LazyFrame | pl.Series | str | int):
        return value
    if isinstance(value, tuple) and any(isinstance(part, pl.DataFrame) for part in value):
        raise invalid(
            name,
            ...,
            "is a tuple",
            give="one of the frames in it, as in: panel, flows = fk.panel(figures)",
        )
    modules = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    try:
        if "pandas" in modules and hasattr(value, "isna"):
            return _of_pandas(value)
        if hasattr(value, "__arrow_c_stream__"):
            column = pl.Series(value)
            return column.struct.unnest() if isinstance(column.dtype, pl.Struct) else column
        if "numpy" in modules and hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, Mapping):
            return pl.DataFrame(dict(value), strict=False)
        if isinstance(value, list | tuple) and value and all(isinstance(x, Mapping) for x in value):
            return pl.DataFrame(list(value), infer_schema_length=None, strict=False)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise invalid(name, ..., f"cannot be read as a frame: {reason}") from error
    return value


def _of_pandas(value: Any) -> pl.DataFrame | pl.Series:  # noqa: ANN401 - pandas is not imported
    """Return a frame of pandas, with the levels of its index that have a name, or a column.

    pyarrow is not needed.
    """
    if not hasattr(value, "columns"):
        return _column("" if value.name is None else str(value.name), value)
    levels = [x for x in value.index.names if x is not None and x not in value.columns]
    table = value.reset_index(level=levels) if levels else value
    columns = [_column(str(name), table.iloc[:, i]) for i, name in enumerate(table.columns)]
    return pl.DataFrame(columns)


def _column(name: str, column: Any) -> pl.Series:  # noqa: ANN401 - of pandas, too
    """Return a column of pandas, which has no type for days, and none for integers with a gap."""
    kind = getattr(column.dtype, "kind", "O") if "numpy" in str(type(column.dtype)) else "O"
    if kind == "M":
        moments = pl.Series(name, column.to_numpy().astype("datetime64[us]"))
        is_day = (moments.dt.time() == time()).all() and moments.null_count() < moments.len()
        return moments.cast(pl.Date) if is_day else moments
    if kind in "biuf":
        series = pl.Series(name, column.to_numpy(), nan_to_null=True)
    else:
        absent = column.isna().tolist()
        items = zip(column.astype(object).tolist(), absent, strict=True)
        series = pl.Series(name, [None if gone else _plain(x) for x, gone in items], strict=False)
    if name in _WHOLE and series.dtype.is_float() and (series == series.round()).all():
        return series.cast(pl.Int64, strict=False)
    return series


def _plain(value: object) -> object:
    """Return what numpy holds in a cell as values of Python."""
    return value.tolist() if hasattr(value, "tolist") else value


def collected(name: str, value: object) -> pl.DataFrame:
    """Return a frame from anywhere, collected."""
    value = polars_of(name, value)
    if not isinstance(value, pl.DataFrame | pl.LazyFrame):
        raise not_polars(name, value)
    return value.lazy().collect()


def ids(value: object, name: str = "ids", of: str = "units") -> pl.Series:
    """Return the ids given as an int, an iterable, a Series or a frame with a column ``id``.

    Args:
        value: What was given.
        name: Of the argument.
        of: The collection whose ids they are.
    """
    value = polars_of(name, value)
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        return ids_of_column(own_ids(value, name, of), name, f"{name}['id']")
    if isinstance(value, pl.Series):
        return ids_of_column(value, name, name)
    if hasattr(value, "__index__") and not isinstance(value, bool):  # numpy's integers, too
        value = [whole(name, value, 0, MAX_ID)]
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        items = list(value)  # type: ignore[call-overload]
    except TypeError:
        raise invalid(
            name,
            value,
            "is not allowed",
            cure=LOOK_UP.format(value_in_python(value))
            if isinstance(value, str) and name in ("ids", "units")
            else "give an id, a list of ids, a Series or a frame with a column 'id'",
        ) from None
    # One by one only to name the fault, and for numbers of other libraries: it is slow.
    if not _are_plain(items):
        items = [whole(f"{name}[{place}]", item, 0, MAX_ID) for place, item in enumerate(items)]
    return pl.Series("id", items, dtype=pl.Int64)


def own_ids(frame: pl.DataFrame, name: str, of: str) -> pl.Series:
    """Return the column ``id`` of a frame, unless its ids are those of other records."""
    foreign = next((column for column in frame.columns if column in _FOREIGN[of]), None)
    if "id" in frame.columns and foreign is None:
        return frame["id"]
    collection = of.replace("_", " ")
    fault = f": with a column {foreign!r} its ids are not of {collection}"
    if "id" not in frame.columns:
        fault = ": the frame has no column 'id'"
    for column in NAMED_IN[of]:
        if column in frame.columns:
            each = ".explode()" if frame.schema[column] == pl.List else ""
            raise invalid(name, ..., fault, give=f"its frame[{column!r}]{each}.drop_nulls()")
    if foreign is not None:
        raise invalid(name, ..., fault, give=f"ids of {collection}")
    raise invalid(name, ..., fault, cure=f"it has {frame.columns}")


def ids_of_column(column: pl.Series, name: str, place: str) -> pl.Series:
    """Return a column of ids, none missing.

    Args:
        column: The column.
        name: Name of the argument.
        place: Where the column is, as Python.
    """
    # Under a plain name: polars treats ``*`` and ``^…$`` as patterns of names.
    series = column.alias("id")
    series = series if series.dtype != pl.Null else series.cast(pl.Int64)
    if not series.dtype.is_integer() or series.null_count():
        is_number = series.dtype.is_numeric() or series.dtype == pl.String
        cure = place + ".drop_nulls()" * bool(series.null_count())
        cure += "" if series.dtype.is_integer() else ".cast(pl.Int64)"
        raise invalid(
            name,
            ...,
            f": the column {column.name!r} is {described(series)}",
            give=cure if is_number else "whole numbers, none missing",
        )
    numbers = series.cast(pl.Int64, strict=False)  # null above the largest id
    outside = series.filter((numbers < 0).fill_null(value=True))
    if outside.len():
        raise invalid(name, ..., f": {outside[0]} is not allowed", give=f"ids from 0 to {MAX_ID}")
    return numbers


def described(column: pl.Series) -> str:
    """Return the type of a column, and how many values are missing."""
    nulls = column.null_count()
    return str(column.dtype) + (f" with {nulls:,} null{'s' * (nulls > 1)}" if nulls else "")


def _are_plain(items: list[int]) -> bool:
    """Return whether all are allowed ids of Python's own type."""
    if not set(map(type, items)) <= {int}:
        return False
    return not items or (min(items) >= 0 and max(items) <= MAX_ID)
