"""The output of the command, on standard output or in a file.

Modules that load polars are imported where they are used, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finstat_kit.errors import UsageError, invalid

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.frames.files.write import Format

FORMATS: Final = ("table", "csv", "ndjson", "parquet", "xlsx")


class Output:
    """Where and how a command writes its result.

    Args:
        form: The format, None for that of the file's name, else that of standard output.
        path: The file, None for standard output.
        columns: Names of the columns to write, joined by commas; None is all.
        wide: Whether a terminal gets all columns, and not only those that fit.

    Attributes:
        form: The format.
        path: The file, None for standard output.
        columns: Names of the chosen columns, None for all.
        given: Whether any of the options was.
        streams: Whether rows are written as they arrive: csv and ndjson on standard output.

    Raises:
        UsageError: The file's name has an unknown suffix, no file can be put there, or the format
            is not for a terminal.
    """

    def __init__(
        self, form: str | None, path: Path | None, columns: str | None, *, wide: bool
    ) -> None:
        self.given = (form, path, columns, wide) != (None, None, None, False)
        self.form, self.path = _format_of(form, path), path
        if path is not None:
            from finstat_kit.frames.files.write import refuse_unwritable

            with _named_as_option():
                refuse_unwritable(path)
        self.streams = path is None and self.form in ("csv", "ndjson")
        self.columns = None if columns is None else list(dict.fromkeys(columns.split(",")))
        self._wide = wide

    @property
    def shown(self) -> bool:
        """Whether the result is a table on a terminal."""
        return self.path is None and self.form == "table" and sys.stdout.isatty()

    def rendered(self, frame: pl.DataFrame, *, header: bool = True) -> bytes:
        """Return the chosen columns of a frame, or of its next part, as bytes of the format."""
        from finstat_kit.frames.files.write import rendered

        frame = self._chosen(frame)
        if self.form == "table":
            return harmless(f"{_full_table(frame)}\n").encode()
        written: Format = self.form  # type: ignore[assignment]
        return rendered(frame, written, header=header)

    def write(self, frame: pl.DataFrame) -> None:
        """Write the chosen columns of a frame."""
        from finstat_kit.frames.files.write import put, write

        if self.shown:
            write_all(for_output(f"{self._for_terminal(self._chosen(frame))}\n".encode()))
            return
        if self.path is None:
            write_all(for_output(self.rendered(frame)))
            return
        with _named_as_option():
            if self.form != "table" and self.path.suffix.lower() == f".{self.form}":
                write(self._chosen(frame), self.path)
                return
            put(self.rendered(frame), self.path)

    def check(self, schema: pl.Schema) -> None:
        """Refuse, before it is fetched, a result that cannot be written.

        Raises:
            UsageError: It will not have a chosen column, or the format cannot hold a column.
        """
        self.rendered(schema.to_frame())

    def _chosen(self, frame: pl.DataFrame) -> pl.DataFrame:
        from finstat_kit.arguments import near

        if unknown := [name for name in self.columns or () if name not in frame.columns]:
            raise invalid(
                "columns",
                ...,
                f": there is no column {unknown[0]!r}",
                cure=f"{near(unknown[0], frame.columns)}there are {', '.join(frame.columns)}",
            )
        return frame if self.columns is None else frame[self.columns]

    def _for_terminal(self, frame: pl.DataFrame) -> str:
        """Return a table of the columns that fit; a single row that does not fit, line by line."""
        import polars as pl

        from finstat_kit.cli.vertical import fitting, vertical

        table, width = _table(frame), shutil.get_terminal_size().columns
        if self._wide or max(map(len, table.splitlines())) <= width:
            return table
        if frame.height == 1:
            return vertical(frame)
        number = frame.width if self.columns else fitting(table, width)
        cut = number < frame.width
        with pl.Config(tbl_hide_dataframe_shape=cut):
            table = _table(frame[:, :number], width)
        if not cut:
            return table
        others = ", ".join(frame.columns[number:])
        text = (
            f"{frame.height:,} rows, {number} of {frame.width} columns; --wide shows all, "
            f"--columns NAME,… chooses: {others}"
        )
        return f"{table}\n{textwrap.fill(text, width, max_lines=3, placeholder=' …')}"


@contextlib.contextmanager
def _named_as_option() -> Iterator[None]:
    """Name the path of an error as the option that gave it."""
    try:
        yield
    except UsageError as error:
        error.argument = "output" if error.argument == "path" else error.argument
        raise


def _format_of(form: str | None, output: Path | None) -> str:
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


def cut_off(after: str, ids: pl.Series, done: int) -> None:
    """Report after how much a command was cut off, and with which ids to resume."""
    click.echo(
        f"cut off after {after}; to resume, give the ids from {ids[done]} on, number {done + 1:,} "
        f"of {ids.len():,}",
        err=True,
    )


def set_encoding() -> None:
    """Write text as UTF-8 to pipes and files, and to a terminal with ``?`` for what it lacks."""
    for stream in (sys.stdout, sys.stderr):
        encoding = None if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="replace")  # type: ignore[union-attr]


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
    from finstat_kit.protocol.untrusted import shown

    return "\n".join(shown(line, None) for line in text.split("\n"))


def for_output(data: bytes) -> bytes:
    """Return text unchanged for a pipe, for a terminal sanitized and in its encoding."""
    if not sys.stdout.isatty():
        return data
    return harmless(data.decode()).encode(sys.stdout.encoding, "replace")


def _full_table(frame: pl.DataFrame) -> str:
    """Return a table of all rows and of whole values, for a pipe or a file."""
    import polars as pl

    with pl.Config(fmt_table_cell_list_len=-1, fmt_float="full"):
        return _table(frame, rows=-1, letters=2**31)


def _table(frame: pl.DataFrame, width: int = 65_535, rows: int = 200, letters: int = 100) -> str:
    import polars as pl

    with pl.Config(
        tbl_rows=rows, tbl_cols=-1, tbl_hide_column_data_types=True, fmt_str_lengths=letters,
        tbl_width_chars=width,
    ):  # fmt: skip
        return str(frame)
