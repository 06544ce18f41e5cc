"""Files and standard input, as the command reads them: frames, and the ids in them."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import select
import stat
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finstat_kit.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

STANDARD_INPUT: Final = Path("-")
# A column is converted only if every text in it round-trips: a text with a leading zero is not a
# number.
_WHOLE: Final = r"^-?(0|[1-9][0-9]{0,17})$"
_DECIMAL: Final = r"^-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$"
_DAY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TRUTH: Final = {"true": True, "false": False}
_OF_A_LIST: Final = "[^ ]+"  # csv has lists as texts
_ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
# Columns of other records, and of figures, that contain ids of a collection.
_NAMING: Final = {
    "units": ("unit_id", "idUJ"),
    "statements": ("statement_id", "idUctovnejZavierky", "idUctovnychZavierok"),
    "reports": ("report_id", "idUctovnychVykazov"),
    "annual_reports": ("idVyrocnejSpravy", "idVyrocnychSprav"),
}
_PATIENCE: Final = 10.0  # seconds before a pipe without data is mentioned
_GRACE: Final = 5.0  # seconds for a previous command in the pipe to begin writing

file = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)


def table(file: Path, *, typed: bool) -> pl.DataFrame:
    """Read a file: csv with every column as text, since a number would lose its zeros.

    Columns of parquet and ndjson keep their types, except that codes read as numbers become text.
    With *typed*, texts become values: in columns of records and figures by the types these have in
    Python, in others of a csv if all of them are numbers, days or booleans.

    Raises:
        UsageError: There is no column of codes.
    """
    import polars as pl

    from finstat_kit.protocol.wire import BY_FIELD

    data = _bytes(file)
    frame, form = _parsed(data, file), _form_of(data)
    codes = [name for name in BY_FIELD if name in frame.columns]
    if not codes:
        raise UsageError(
            f"{_file_text(file)} has none of the columns {list(BY_FIELD)}; its columns are "
            f"{frame.columns}"
        )
    frame = _with_texts(frame, codes)
    if not typed or form == "parquet":
        return frame
    known = _known_types()
    texts = [column.cast(pl.String) for column in frame if column.dtype in (pl.String, pl.Null)]
    return frame.with_columns(
        _values_of_type(column, known[column.name]) if column.name in known else _inferred(column)
        for column in texts
        if column.name in known or form == "csv"
    )


def _with_texts(frame: pl.DataFrame, codes: Sequence[str]) -> pl.DataFrame:
    """Return a frame whose codes are texts, if they were whole numbers or all missing."""
    import polars as pl

    types = frame.schema
    read = [n for n in codes if types[n].is_integer() or types[n] == pl.Null]
    return frame.cast(dict.fromkeys(read, pl.String))


def _known_types() -> dict[str, pl.DataType]:
    """Return the types of the columns of records and figures."""
    from finstat_kit.frames.financials.assemble import schema
    from finstat_kit.protocol.records import KINDS

    types = dict(schema())
    for kind in KINDS.values():
        types |= kind.schema
    return types


def _values_of_type(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return texts as values of a type, unless one of them is none."""
    import polars as pl

    if dtype == pl.Date:
        values = column.str.to_date("%Y-%m-%d", strict=False)
    elif dtype == pl.Boolean:
        values = column.replace_strict(_TRUTH, default=None, return_dtype=dtype)
    elif dtype == pl.List(pl.Int64):
        lists = column.str.extract_all(_OF_A_LIST)
        values = lists.cast(dtype, strict=False)
        if values.explode().null_count() > lists.explode().null_count():
            return column
    else:
        values = column if dtype.is_nested() else column.cast(dtype, strict=False)
    return values if values.null_count() == column.null_count() else column


def _inferred(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.null_count() == column.len():
        return column
    for pattern, dtype in ((_WHOLE, pl.Int64), (_DECIMAL, pl.Float64)):
        if column.str.contains(pattern).all():
            return column.cast(dtype)
    if column.is_in(list(_TRUTH)).all():
        return _values_of_type(column, pl.Boolean())
    if column.str.contains(_DAY).all():
        return _values_of_type(column, pl.Date())
    return column


def ids_in(file: Path, collection: str) -> pl.Series:
    """Return the ids of a collection in a file: plain ids, or records and figures that name them.

    Raises:
        UsageError: There are no ids, or a value is not an id.
    """
    data = _bytes(file)
    ids = _plain_ids(data)
    return _ids_named(_parsed(data, file), collection, file) if ids is None else ids


def units_in(file: Path, by: str) -> pl.DataFrame:
    """Return the units in a file, each once: rows with the column *by*, else ids alone."""
    import polars as pl

    data = _bytes(file)
    ids = _plain_ids(data)
    if ids is None:
        frame = _parsed(data, file)
        if by in frame.columns:
            for key in [name for name in (*_NAMING["units"], "id") if name in frame.columns][:1]:
                # Rows without an id are not the same unit.
                frame = frame.filter(pl.col(key).is_first_distinct() | pl.col(key).is_null())
            return _with_texts(frame, [by])
        ids = _ids_named(frame, "units", file)
    return ids.unique(maintain_order=True).to_frame()


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


def _plain_ids(data: bytes) -> pl.Series | None:
    """Return the ids of a text: one per line below the header of `ids`, else split by blanks."""
    data = data.replace(codecs.BOM_UTF8, b"")
    lines = [line.strip() for line in data.split(b"\n")]
    # Below a header a line is an id: 1 234 567 is none, and no three.
    words = [line for line in lines if line] if b"id" in lines else data.split()
    ids = [word.decode(errors="replace") for word in words if word != b"id"]
    return ids_of(ids) if words and all(map(_ID.fullmatch, ids)) else None


def _ids_named(frame: pl.DataFrame, collection: str, file: Path) -> pl.Series:
    """Return the ids of a collection that a frame names: its own, or those its rows refer to."""
    import polars as pl

    names = [name for name in _NAMING[collection] if name in frame.columns][:1]
    if not names and not ("id" in frame.columns and collection in _kinds_of(frame)):
        raise UsageError(
            f"{_file_text(file)} has no ids of {collection.replace('_', ' ')}; its columns are "
            f"{frame.columns}"
        )
    values = frame[names[0]].unique(maintain_order=True) if names else frame["id"]
    if values.dtype == pl.String and isinstance(_known_types()[values.name], pl.List):
        values = values.str.extract_all(_OF_A_LIST)
    values = values.explode() if values.dtype == pl.List else values
    return ids_of(values.drop_nulls().cast(pl.String).to_list())


def _kinds_of(frame: pl.DataFrame) -> list[str]:
    """Return the collections whose records may be the rows of a frame."""
    from finstat_kit.protocol.records import KINDS

    fields = {name: set(kind.schema) for name, kind in KINDS.items()}
    given = set(frame.columns) & set().union(*fields.values())
    return [name for name, known in fields.items() if given <= known]


def is_piped() -> bool:
    """Return whether standard input is a file or a pipe.

    A terminal, a closed one and /dev/null are neither. Data of another command may take a while.

    Raises:
        UsageError: The pipe is empty: the command before it may have failed.
    """
    mode = _mode_of_input()
    if mode is None or not stat.S_ISFIFO(mode):
        return mode is not None
    hint = "waiting for standard input; to count the register's ids, add < /dev/null"
    timer = threading.Timer(_PATIENCE, click.echo, [hint], {"err": True})
    timer.start()
    try:
        data = sys.stdin.buffer.peek(1)  # type: ignore[union-attr]
    finally:
        timer.cancel()
        timer.join()
    if not data:
        raise UsageError("standard input is empty; add < /dev/null to count the register's ids")
    return True


def unread() -> bool:
    """Return whether a file or a pipe at standard input has unread data.

    Reads none of it: a loop of the shell may need it. A pipe without data is given some
    seconds.
    """
    if _mode_of_input() is None:
        return False
    with contextlib.suppress(ImportError, OSError):
        import fcntl
        import termios

        select.select([sys.stdin], [], [], _GRACE)
        size = fcntl.ioctl(sys.stdin.fileno(), termios.FIONREAD, bytes(4))
        return int.from_bytes(size, sys.byteorder) > 0
    return False


def refuse_input(command: str) -> None:
    """Refuse what is piped to a command that reads nothing."""
    if unread():
        raise UsageError(
            f"{command} does not read standard input, which has data; leave it out, or add "
            "< /dev/null"
        )


def _mode_of_input() -> int | None:
    """Return the mode of standard input, if it is a file or a pipe."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, ValueError, OSError):  # closed, or a stream of Python's
        return None
    return mode if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) else None


def _file_text(file: Path) -> str:
    return "standard input" if file == STANDARD_INPUT else f"FILE {str(file)!r}"


def _bytes(file: Path) -> bytes:
    """Return the bytes of a file, of a text those of UTF-8 without a byte order mark."""
    if file == STANDARD_INPUT and sys.stdin is None:
        raise UsageError("standard input is closed; give a file, or pipe the data")
    data: bytes = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # as PowerShell writes
        return data.decode("utf-16", errors="replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _form_of(data: bytes) -> str:
    return "parquet" if data.startswith(b"PAR1") else "ndjson" if data.startswith(b"{") else "csv"


def _parsed(data: bytes, file: Path) -> pl.DataFrame:
    import polars as pl

    file_text = _file_text(file)
    if not data.strip():
        raise UsageError(f"{file_text} is empty; give csv, ndjson or parquet")
    if data.startswith((b"PK\x03\x04", b"shape: (")):
        form = "an xlsx file" if data.startswith(b"PK") else "a table"
        raise UsageError(f"{file_text} is {form}; give csv, ndjson or parquet")
    try:
        form = _form_of(data)
        if form == "parquet":
            return pl.read_parquet(io.BytesIO(data))
        if form == "ndjson":
            return pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        return _csv(data, file_text)
    except pl.exceptions.PolarsError as error:
        # The other lines of the message recommend arguments of polars functions.
        reason = str(error).partition("\n\n")[0]
        raise UsageError(f"{file_text} cannot be read: {reason}") from error


def _csv(data: bytes, named: str) -> pl.DataFrame:
    import polars as pl

    first = data.partition(b"\n")[0].decode(errors="replace")
    separator = max(",;\t", key=first.count)
    # polars gives repeated columns other names.
    header = pl.read_csv(
        io.BytesIO(data), infer_schema=False, separator=separator, has_header=False, n_rows=1
    )
    for name, number in Counter(header.row(0)).items():
        if number > 1:
            column = "a column without a name" if name is None else f"the column {name!r}"
            raise UsageError(f"{named} has {column} {number} times; rename or remove it")
    return pl.read_csv(io.BytesIO(data), infer_schema=False, separator=separator)
