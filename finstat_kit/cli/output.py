"""The output of a command: a table on a terminal, csv or ndjson in a pipe, or a file.

Modules that load polars are imported where they are used, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from finstat_kit.errors import Interrupted, RegisterError, invalid

if TYPE_CHECKING:
    import polars as pl

Form = Literal["table", "csv", "ndjson"]
_LONGEST: Final = 34  # of a cell on one line, with its margins; longer texts are wrapped


class Output:
    """Where and how a command writes its result.

    Args:
        form: The format on standard output; None is a table on a terminal, else csv.
        path: The file, None for standard output.
        columns: Names of the columns to write, joined by commas; None is all.

    Attributes:
        given: Whether any of them was.
    """

    def __init__(self, form: Form | None, path: Path | None, columns: str | None) -> None:
        if form is not None and path is not None:
            raise click.UsageError("--format is for standard output; the suffix names that of FILE")
        self.given = (form, path, columns) != (None, None, None)
        self._form = form or ("table" if sys.stdout.isatty() else "csv")
        self._path = path
        self._columns = None if columns is None else list(dict.fromkeys(columns.split(",")))

    def check(self, schema: pl.Schema) -> None:
        """Refuse, before it is fetched, a result that cannot be written.

        Raises:
            UsageError: It will not have a chosen column, the format cannot hold a column, or the
                file cannot be written.
        """
        from finstat_kit.in_place import refuse_unwritable

        self._rendered(self._chosen(schema.to_frame()))
        if self._path is not None:
            refuse_unwritable(self._path)

    def write(self, frame: pl.DataFrame) -> None:
        """Write the chosen columns of a frame."""
        from finstat_kit.frames.files.write import write

        frame = self._chosen(frame)
        if self._path is not None:
            write(frame, self._path)
            return
        data = self._rendered(frame)
        if sys.stdout.isatty():
            data = harmless(data.decode()).encode(sys.stdout.encoding, "replace")
        write_all(data)

    def fetch(self, call: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return and write what a call returns; of one that is cut off write the rows before."""
        try:
            frame = call()
        except (RegisterError, Interrupted) as error:
            if error.partial is not None and error.partial.height:
                self.write(error.partial)
                click.echo(f"cut off after {error.partial.height:,} rows, written", err=True)
            raise
        self.write(frame)
        return frame

    def _chosen(self, frame: pl.DataFrame) -> pl.DataFrame:
        from finstat_kit.arguments import near

        for name in self._columns or ():
            if name not in frame.columns:
                cure = f"{near(name, frame.columns)}there are {', '.join(frame.columns)}"
                raise invalid("columns", ..., f": there is no column {name!r}", cure=cure)
        return frame if self._columns is None else frame[self._columns]

    def _rendered(self, frame: pl.DataFrame) -> bytes:
        from finstat_kit.frames.files.write import form_of, rendered

        form = self._form if self._path is None else form_of(self._path)
        if form != "table":
            return rendered(frame, form)
        table = _fitting(frame) if sys.stdout.isatty() else _whole(frame)
        return harmless(f"{table}\n").encode()


def _whole(frame: pl.DataFrame) -> str:
    """Return a table of all rows and of whole values."""
    import polars as pl

    with pl.Config(fmt_table_cell_list_len=-1, fmt_float="full"):
        return _table(frame, 65_535, rows=-1, letters=2**31)


def _fitting(frame: pl.DataFrame) -> str:
    """Return a table of the columns that fit the terminal, at least one, and their number."""
    width = shutil.get_terminal_size().columns
    border = next(line for line in _table(frame, 65_535).splitlines() if line.startswith("┌"))
    ends = accumulate(min(len(cell), _LONGEST) + 1 for cell in border[1:-1].split("┬"))
    number = max(1, sum(end < width for end in ends))
    text = f"{frame.height:,} rows"
    if number < frame.width:
        others = ", ".join(frame.columns[number:])
        text += f", {number} of {frame.width} columns; --columns NAME,… chooses others: {others}"
    text = textwrap.fill(text, width, max_lines=3, placeholder=" …")
    return f"{_table(frame[:, :number], width)}\n{text}"


def _table(frame: pl.DataFrame, width: int, rows: int = 200, letters: int = 100) -> str:
    import polars as pl

    with pl.Config(
        tbl_rows=rows, tbl_cols=-1, tbl_hide_column_data_types=True, fmt_str_lengths=letters,
        tbl_width_chars=width, tbl_hide_dataframe_shape=True,
    ):  # fmt: skip
        return str(frame)


def harmless(text: str) -> str:
    """Return text sanitized for a terminal: no control sequences."""
    from finstat_kit.protocol.untrusted import shown

    return "\n".join(shown(line, None) for line in text.split("\n"))


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


def silence() -> None:
    """Write nothing more to standard output, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
