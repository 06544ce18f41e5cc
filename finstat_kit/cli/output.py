"""What the command writes, to standard output or a file, and the files that it reads.

Modules that load polars are imported where they are used, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finstat_kit.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.frames.writing import Format

FORMATS: Final = ("table", "csv", "ndjson", "parquet", "xlsx")


def format_of(form: str | None, output: Path | None) -> str:
    """Return the format given, else that of the file's name, else that of standard output."""
    if form is not None:
        return form
    if output is not None:
        return output.suffix.removeprefix(".").lower()
    return "table" if sys.stdout.isatty() else "csv"


def print_frame(frame: pl.DataFrame, form: str | None, output: Path | None) -> None:
    """Write a frame to the output in its format."""
    from finstat_kit.frames.writing import replaced, write

    form = format_of(form, output)
    if output is None and form in ("parquet", "xlsx") and sys.stdout.isatty():
        raise click.UsageError(f"{form} is not for a terminal; give --output FILE")
    if output is None:
        write_all(_for_output(rendered(frame, form)))
    elif form not in FORMATS or (form != "table" and output.suffix == f".{form}"):
        write(frame, output)
    else:
        data = rendered(frame, form)
        with replaced(output) as file:
            file.write(data)


def rendered(frame: pl.DataFrame, form: str, *, header: bool = True) -> bytes:
    """Return a frame, or the next part of one, as bytes of a format."""
    from finstat_kit.frames.writing import write_to

    if form == "table":
        return harmless(f"{_table(frame)}\n").encode()
    whole = io.BytesIO()
    written: Format = form  # type: ignore[assignment]
    write_to(whole, frame, written, header=header)
    return whole.getvalue()


def write_all(data: bytes) -> None:
    """Write all of it: with polars loaded, a write that a signal meets returns early."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put Ctrl-C off until the block has ended: a page is printed whole or not at all."""
    struck: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: struck.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if struck:
        raise KeyboardInterrupt


def silence() -> None:
    """Write nothing more to standard output, at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def harmless(text: str) -> str:
    """Return lines that cannot steer a terminal."""
    from finstat_kit.protocol.outcome import shown

    return "\n".join(shown(line, None) for line in text.split("\n"))


def as_text(file: Path) -> pl.DataFrame:
    """Read a csv or parquet file with every column as text: a number would lose its zeros."""
    import polars as pl

    if file.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"FILE {str(file)!r}: give a name that ends in .csv or .parquet")
    try:
        if file.suffix.lower() == ".parquet":
            frame = pl.read_parquet(file)
            if any(frame.schema[name].is_nested() for name in frame.columns):
                from finstat_kit.frames.writing import flat

                frame = flat(frame)
            return frame.cast(pl.String)
        with file.open(encoding="utf-8-sig") as opened:
            first = opened.readline()
        separator = ";" if first.count(";") > first.count(",") else ","
        return pl.read_csv(file, infer_schema=False, separator=separator)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise UsageError(f"FILE {str(file)!r} cannot be read: {error}") from error


def _for_output(data: bytes) -> bytes:
    """Return text as it is for a pipe, harmless for a terminal."""
    return harmless(data.decode()).encode() if sys.stdout.isatty() else data


def _table(frame: pl.DataFrame) -> str:
    import polars as pl

    with pl.Config(tbl_rows=200, tbl_cols=-1, tbl_hide_column_data_types=True, fmt_str_lengths=100):
        return str(frame)
