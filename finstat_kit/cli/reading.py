"""Files and standard input, as the command reads them: frames, and the ids in them."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finstat_kit.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

STANDARD_INPUT: Final = Path("-")
FORMATS: Final = ("csv", "ndjson", "parquet")
_ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_OF_A_LIST: Final = "[^ ]+"  # csv has lists as texts
# Columns of other records, and of figures, that contain ids of a collection.
_NAMING: Final = {
    "units": ("unit_id", "idUJ"),
    "statements": ("statement_id", "idUctovnejZavierky", "idUctovnychZavierok"),
    "reports": ("report_id", "idUctovnychVykazov"),
    "annual_reports": ("idVyrocnejSpravy", "idVyrocnychSprav"),
}

file = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)


def table(file: Path, form: str | None) -> pl.DataFrame:
    """Read a table with codes: csv with every column as text, since a number would lose its zeros.

    Columns of parquet and ndjson keep their types, except that codes read as numbers become text.

    Raises:
        UsageError: There is no column of codes.
    """
    from finstat_kit.protocol.wire import BY_FIELD

    frame = _frame(file, form)
    codes = [name for name in BY_FIELD if name in frame.columns]
    if not codes:
        raise UsageError(
            f"{_file_text(file)} has none of the columns {list(BY_FIELD)}; its columns are "
            f"{frame.columns}"
        )
    return _with_texts(frame, codes)


def _with_texts(frame: pl.DataFrame, codes: Sequence[str]) -> pl.DataFrame:
    """Return a frame whose codes are texts, if they were whole numbers or all missing."""
    import polars as pl

    types = frame.schema
    read = [n for n in codes if types[n].is_integer() or types[n] == pl.Null]
    return frame.cast(dict.fromkeys(read, pl.String))


def ids_in(file: Path, collection: str, form: str | None = None) -> pl.Series:
    """Return the ids of a collection in a file: plain ids, or records and figures that name them.

    Raises:
        UsageError: There are no ids, or a value is not an id.
    """
    return _ids_named(_frame(file, form), collection, file)


def units_in(file: Path, by: str, form: str | None) -> pl.DataFrame:
    """Return the units in a file, each once: rows with the column *by*, else ids alone."""
    import polars as pl

    frame = _frame(file, form)
    if by not in frame.columns:
        return _ids_named(frame, "units", file).unique(maintain_order=True).to_frame()
    for key in [name for name in (*_NAMING["units"], "id") if name in frame.columns][:1]:
        # Rows without an id are not the same unit.
        frame = frame.filter(pl.col(key).is_first_distinct() | pl.col(key).is_null())
    return _with_texts(frame, [by])


def ids_of(words: Sequence[str]) -> pl.Series:
    """Return words as ids."""
    from finstat_kit import arguments

    for word in words:
        if not _ID.fullmatch(word):
            raise UsageError(
                f"ID {word!r} is not an id; give whole numbers, or - for standard input"
            )
        if word.startswith("0") and word != "0":
            raise UsageError(
                f"ID {word!r} begins with 0, as an IČO does and no id: find --units {word} has the "
                "id of the unit; filings, and financials and statement with --ico, take an IČO"
            )
    return arguments.ids([int(word) for word in words])


def _ids_named(frame: pl.DataFrame, collection: str, file: Path) -> pl.Series:
    """Return the ids of a collection that a frame names: its own, or those its rows refer to."""
    import polars as pl

    from finstat_kit.protocol.records import KINDS

    names = [name for name in _NAMING[collection] if name in frame.columns][:1]
    types = {name: dtype for kind in KINDS.values() for name, dtype in kind.schema.items()}
    given = types.keys() & set(frame.columns)
    if not names and not ("id" in given and given <= KINDS[collection].schema.keys()):
        raise UsageError(
            f"{_file_text(file)} has no ids of {collection.replace('_', ' ')}; its columns are "
            f"{frame.columns}",
            cure="--input-format names another format than csv" if file == STANDARD_INPUT else "",
        )
    values = frame[names[0]].unique(maintain_order=True) if names else frame["id"]
    if values.dtype == pl.String and isinstance(types.get(values.name), pl.List):
        values = values.str.extract_all(_OF_A_LIST)
    values = values.explode() if values.dtype == pl.List else values
    return ids_of(values.drop_nulls().cast(pl.String).to_list())


def is_piped() -> bool:
    """Return whether standard input is a file or a pipe; a terminal and /dev/null are neither."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, ValueError, OSError):  # closed, or a stream of Python's
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _file_text(file: Path) -> str:
    return "standard input" if file == STANDARD_INPUT else f"FILE {str(file)!r}"


def _frame(file: Path, form: str | None) -> pl.DataFrame:
    """Read a file by its suffix, and standard input as csv or plain ids, unless a format is given.

    Raises:
        UsageError: It cannot be read.
    """
    import polars as pl

    file_text, is_input = _file_text(file), file == STANDARD_INPUT
    if is_input and sys.stdin is None:
        raise UsageError("standard input is closed; give a file, or pipe the data")
    form = form or ("csv" if is_input else file.suffix.lower().removeprefix("."))
    if form not in FORMATS:
        raise UsageError(
            f"{file_text} has an unknown suffix; give a name that ends in .csv, .ndjson or "
            ".parquet, or --input-format"
        )
    data = sys.stdin.buffer.read() if is_input else file.read_bytes()
    if not data.strip():
        hint = ": the command before it may have failed" if is_input else ""
        raise UsageError(f"{file_text} is empty{hint}")
    try:
        if form == "parquet":
            return pl.read_parquet(io.BytesIO(data))
        if form == "ndjson":
            return pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        return _csv(data, file_text)
    except pl.exceptions.PolarsError as error:
        # The other lines of the message recommend arguments of polars functions.
        reason = str(error).partition("\n\n")[0]
        raise UsageError(f"{file_text} cannot be read: {reason}") from error


def _csv(data: bytes, file_text: str) -> pl.DataFrame:
    """Return the columns of a csv as text, or a column of plain ids, which have no header."""
    import polars as pl

    from finstat_kit.frames.files.write import APOSTROPHE

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(
            f"{file_text} is not a csv in UTF-8; save it as 'CSV UTF-8' in Excel, convert it by "
            "iconv -f cp1250 -t utf-8, or name another format by --input-format"
        ) from None
    if text.lstrip()[:1].isdigit():
        return pl.DataFrame({"id": text.split()})
    separator = ";" if ";" in text.partition("\n")[0] else ","
    frame = pl.read_csv(io.StringIO(text), infer_schema=False, separator=separator)
    for name in frame.columns:
        if name.endswith("_duplicated_0"):  # as polars names it
            raise UsageError(
                f"{file_text} has the column {name.removesuffix('_duplicated_0')!r} more than "
                "once; rename or remove it"
            )
    if data.startswith(codecs.BOM_UTF8):  # written for Excel
        frame = frame.with_columns(pl.col(pl.String).str.replace(APOSTROPHE, "$1"))
    return frame
