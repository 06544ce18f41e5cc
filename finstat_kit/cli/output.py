"""The output of the command, on standard output or in a file.

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

    from finstat_kit.frames.files.write import Format

FORMATS: Final = ("table", "csv", "ndjson", "parquet", "xlsx")


def format_of(form: str | None, output: Path | None) -> str:
    """Return the given format, else that of the file's name, else that of standard output.

    Raises:
        UsageError: The file's name has an unknown suffix, or the format is not for a terminal.
    """
    if form is None and output is not None:
        form = output.suffix.removeprefix(".").lower()
        if form not in FORMATS:
            *most, last = (f".{known}" for known in FORMATS[1:])
            raise UsageError(
                f"--output {output}: give a name that ends in {', '.join(most)} or {last}, or "
                "--format"
            )
    if form is None:
        form = "table" if sys.stdout.isatty() else "csv"
    if output is None and form in ("parquet", "xlsx") and sys.stdout.isatty():
        raise click.UsageError(f"{form} is not for a terminal; give --output FILE")
    return form


def print_frame(frame: pl.DataFrame, form: str | None, output: Path | None) -> None:
    """Write a frame to the output in its format."""
    from finstat_kit.frames.files.write import replaced, write

    form = format_of(form, output)
    if output is None and form == "table" and on_terminal():
        write_all(harmless(f"{_for_terminal(frame)}\n").encode())
        return
    if output is None:
        write_all(for_output(rendered(frame, form)))
        return
    try:
        if form != "table" and output.suffix.lower() == f".{form}":
            write(frame, output)
            return
        data = rendered(frame, form)
        with replaced(output) as file:
            file.write(data)
    except UsageError as error:
        error.argument = "output" if error.argument == "path" else error.argument
        raise


def rendered(frame: pl.DataFrame, form: str, *, header: bool = True) -> bytes:
    """Return a frame, or the next part of one, as bytes of a format."""
    from finstat_kit.frames.files.write import write_to

    if form == "table":
        return harmless(f"{_table(frame)}\n").encode()
    whole = io.BytesIO()
    written: Format = form  # type: ignore[assignment]
    write_to(whole, frame, written, header=header)
    return whole.getvalue()


def write_all(data: bytes) -> None:
    """Write all of it: with polars loaded, a signal makes a write return early."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block: a page is printed whole or not at all."""
    struck: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: struck.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if struck:
        raise KeyboardInterrupt


def silence() -> None:
    """Write nothing more to standard output, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def harmless(text: str) -> str:
    """Return text sanitized for a terminal: no control sequences."""
    from finstat_kit.protocol.outcome import shown

    return "\n".join(shown(line, None) for line in text.split("\n"))


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def for_output(data: bytes) -> bytes:
    """Return text unchanged for a pipe, sanitized for a terminal."""
    return harmless(data.decode()).encode() if sys.stdout.isatty() else data


def _table(frame: pl.DataFrame) -> str:
    import polars as pl

    with pl.Config(tbl_rows=200, tbl_cols=-1, tbl_hide_column_data_types=True, fmt_str_lengths=100):
        return str(frame)


def _for_terminal(frame: pl.DataFrame) -> str:
    """Return a table, or one line per field for a single row wider than the terminal."""
    import polars as pl

    from finstat_kit.cli.upright import is_too_wide, upright

    if frame.height != 1:
        return _table(frame)
    with pl.Config(tbl_width_chars=65_535):
        return upright(frame) if is_too_wide(_table(frame)) else _table(frame)
