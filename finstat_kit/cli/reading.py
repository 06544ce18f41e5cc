"""Files and standard input, as the command reads them: frames, and the ids in them."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from finstat_kit import given_frames
from finstat_kit.errors import UsageError
from finstat_kit.given_units import given_units, unit_in_text

_STANDARD_INPUT: Final = Path("-")
_PLAIN: Final = "plain"  # column of a file that has no columns
_ID: Final = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def table(file: Path) -> pl.DataFrame:
    """Return the table in a file: csv, ndjson, parquet, or plain ids; ``-`` is standard input.

    Columns of csv are texts, since a code read as a number would lose its zeros.

    Raises:
        UsageError: It cannot be read.
    """
    is_input = file == _STANDARD_INPUT
    name = "standard input" if is_input else f"FILE {str(file)!r}"
    data = file.read_bytes() if not is_input else sys.stdin.buffer.read() if sys.stdin else b""
    if not data.strip():
        raise UsageError(f"{name} is empty{': did the command before it fail?' * is_input}")
    try:
        if data.startswith(b"PAR1"):
            return pl.read_parquet(io.BytesIO(data))
        text = data.decode("utf-8-sig")
        beginning = text.lstrip()[:1]
        if beginning == "{":
            frame = pl.read_ndjson(io.StringIO(text), infer_schema_length=None)
            return frame.with_columns(pl.col(pl.Null).cast(pl.String))
        if beginning.isdigit():
            return pl.DataFrame({_PLAIN: text.split()})
        separator = ";" if ";" in text.partition("\n")[0] else ","
        return pl.read_csv(io.StringIO(text), infer_schema=False, separator=separator)
    except UnicodeDecodeError:
        raise UsageError(
            f"{name} is not a csv in UTF-8", cure="save it as 'CSV UTF-8' in Excel"
        ) from None
    except pl.exceptions.PolarsError as error:
        # The other lines of the message recommend arguments of polars functions.
        reason = str(error).partition("\n\n")[0]
        raise UsageError(f"{name} cannot be read: {reason}") from error


def ids(words: Sequence[str], collection: str) -> pl.Series | list[Any]:
    """Return the ids given to a command: words, or ``-`` for those that standard input names.

    Of units a word of 8 or 12 digits is an IČO.

    Raises:
        UsageError: There are no ids, or a value is not an id.
    """
    if list(words) == ["-"]:
        return ids_in(_STANDARD_INPUT, collection)
    if collection == "units":
        return [unit_in_text(word, "ID") for word in words]
    return _whole(pl.Series("id", list(words)))


def ids_in(file: Path, collection: str) -> pl.Series | list[Any]:
    """Return the ids of a collection in a file: its own, or those that other records name.

    Of units the IČO where there are no ids.
    """
    frame = table(file)
    if _PLAIN in frame.columns:
        return ids(frame[_PLAIN].to_list(), collection)
    naming = given_frames.NAMED_IN[collection]
    named = next((frame[name] for name in naming if name in frame.columns), None)
    if named is None:
        own = [_whole(frame["id"])] if "id" in frame.columns else []
        if collection == "units" and not own and "ico" in frame.columns:
            return given_units(frame, "ID")["ico"]
        return given_frames.ids(frame.with_columns(own), of=collection)
    if named.dtype == pl.String and collection != "units":
        named = named.str.split(" ")  # csv has several as one text
    named = named.explode() if named.dtype == pl.List else named
    return _whole(named.drop_nulls().unique(maintain_order=True))


def _whole(values: pl.Series) -> pl.Series:
    if values.dtype != pl.String:
        return values
    for value in values:
        if not _ID.fullmatch(value or ""):
            raise UsageError(f"{value!r} is not an id", cure="an IČO belongs in a column named ico")
    return values.cast(pl.Int64)
