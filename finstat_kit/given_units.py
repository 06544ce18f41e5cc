"""Units that users pass: the one place that tells ids from IČO.

A whole number is an id, always; a text of 8 or 12 digits is an IČO. A frame has a column of either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from finstat_kit import given_frames
from finstat_kit.arguments import LOOK_UP, whole
from finstat_kit.errors import invalid, value_in_python
from finstat_kit.given_frames import polars_of
from finstat_kit.protocol.company_numbers import DIC, ICO, digits_in, visible, with_zeros
from finstat_kit.protocol.wire import MAX_ID

GIVEN: Final = pl.Schema({"id": pl.Int64(), "ico": pl.String()})
# The columns of a frame that name units, the first that is there.
COLUMNS: Final = ("unit_id", "id", "ico")
_ICO: Final = r"^(?:[0-9]{8}|[0-9]{12})$"
_GIVE: Final = "an id (a whole number), an IČO (a text of 8 or 12 digits), several, or a frame"


def given_units(value: object, name: str = "units") -> pl.DataFrame:
    """Return the units that were passed: one row each, in their order, with its id or its IČO.

    Args:
        value: An id or an IČO, several of either, a Series, or a frame, of which the column
            ``unit_id``, else ``id``, else ``ico`` is taken.
        name: Name of the argument.

    Returns:
        ``id`` (Int64) and ``ico`` (String), one of which is null. What is given twice is there
        twice.

    Raises:
        UsageError: A value is neither.
    """
    value = polars_of(name, value)
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        return _of_frame(value, name)
    if isinstance(value, pl.Series):
        return _of_column(value, name, name)
    if isinstance(value, str):
        return _of_texts([ico_of(value, name)])
    if _is_whole(value):
        return _of_ids(pl.Series([whole(name, value, 0, MAX_ID)]))
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise invalid(name, value, "names no units", give=_GIVE)
    items = list(value)
    if set(map(type, items)) <= {int}:
        return _of_ids(given_frames.ids(items, name))
    keys = [_key(item, f"{name}[{place}]") for place, item in enumerate(items)]
    rows = [(None, key) if isinstance(key, str) else (key, None) for key in keys]
    return pl.DataFrame(rows, schema=GIVEN, orient="row")


def unit_in_text(text: str, name: str) -> int | str:
    """Return the unit that a text names where there are only texts: an id, or an IČO.

    Fewer than eight digits are an id, 8 or 12 an IČO.

    Raises:
        UsageError: It is neither, or a number that lacks its leading zeros.
    """
    digits = visible(text)
    if digits.isascii() and digits.isdigit() and len(digits) < min(ICO) and _is_id(digits):
        return int(digits)
    return ico_of(text, name)


def ico_of(text: str, name: str) -> str:
    """Return a text as an IČO; blanks and invisible characters in it do not count.

    Raises:
        UsageError: It has another number of digits; the cure is what they may mean.
    """
    # What is written as it should be is most of a long list.
    digits = text if text.isdigit() else visible(text)
    if digits.isascii() and digits.isdigit() and len(digits) in ICO:
        return digits
    meanings = _meanings(text)
    cure = f"give {', or '.join(meanings)}" if meanings else LOOK_UP.format(value_in_python(text))
    raise invalid(name, text, "is not an IČO, which has 8 or 12 digits", cure=cure)


def _meanings(text: str) -> list[str]:
    """Return what a text that is no IČO may mean, as it is to be given."""
    digits, is_vat = digits_in(text) or ("", False)
    if not digits:
        return []
    if len(digits) in DIC:
        meanings = [f"a DIČ as fk.units.ids(dic={digits!r})"]
        return (
            meanings if is_vat else [*meanings, f"an IČO with its zeros as {with_zeros(digits)!r}"]
        )
    if is_vat:
        return []
    meanings = []
    if _is_id(digits) and len(digits) not in ICO:
        meanings.append(f"an id as {digits}")
    if (ico := with_zeros(digits)) is not None:
        meanings.append(f"an IČO{' with its zeros' * (ico != digits)} as {ico!r}")
    return meanings


def _is_id(digits: str) -> bool:
    return str(int(digits)) == digits and int(digits) <= MAX_ID


def _is_whole(value: object) -> bool:
    # A bool is an int, and one of numpy is none.
    return hasattr(value, "__index__") and type(value).__name__ not in ("bool", "bool_")


def _key(item: object, name: str) -> int | str:
    if isinstance(item, str):
        return ico_of(item, name)
    if _is_whole(item):
        return whole(name, item, 0, MAX_ID)
    raise invalid(name, item, "is neither an id nor an IČO", give=_GIVE)


def _of_frame(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    column = next((x for x in COLUMNS if x in frame.columns), None)
    if column is None and "idUJ" not in frame.columns:
        raise invalid(
            name,
            ...,
            f": the frame has no column {', '.join(map(repr, COLUMNS))}",
            cure=f"it has {frame.columns}; fk.match_units finds the units of a list",
        )
    if column in (None, "id"):
        own_ids = given_frames.own_ids(frame, name, "units")
        return _of_ids(given_frames.ids_of_column(own_ids, name, f"{name}['id']"))
    assert column is not None
    return _of_column(frame[column], name, f"{name}[{column!r}]")


def _of_column(column: pl.Series, name: str, place: str) -> pl.DataFrame:
    """Return the units in a column: its ids, or the IČO of a column of texts.

    Args:
        column: None of its values is missing.
        name: Name of the argument.
        place: Where the column is, as Python.
    """
    is_text = isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum)
    if column.name in ("unit_id", "id") or not (is_text or column.name == "ico"):
        return _of_ids(given_frames.ids_of_column(column, name, place))
    if not is_text or column.null_count():
        if column.is_empty():
            return pl.DataFrame(schema=GIVEN)
        cure = place + ".drop_nulls()" * bool(column.null_count())
        if column.dtype.is_numeric():  # they lost their zeros
            cure += ".cast(pl.Int64)" * column.dtype.is_float()
            cure += ".cast(pl.String).str.zfill(8)"
        fault = f": the column {column.name!r} is {given_frames.described(column)}"
        raise invalid(name, ..., fault, give=cure)
    texts = column.cast(pl.String)
    if not texts.str.contains(_ICO).all():
        texts = pl.Series(
            [ico_of(x, f"{place}[{i}]") for i, x in enumerate(texts)], dtype=pl.String
        )
    return _of_texts(texts)


def _of_ids(ids: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(ico=pl.lit(None)).cast(GIVEN)


def _of_texts(texts: pl.Series | list[str]) -> pl.DataFrame:
    return pl.DataFrame({"ico": texts}).select(id=pl.lit(None), ico="ico").cast(GIVEN)
