"""Frames into files that other programs open right."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, Literal

import polars as pl

from finstat_kit.errors import UsageError

Format = Literal["csv", "xlsx", "parquet", "ndjson"]
_SUFFIXES: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
}


def write(
    frame: pl.DataFrame | pl.LazyFrame, path: str | os.PathLike[str], *, note: str | None = None
) -> Path:
    """Write a frame to a file; the suffix says how. The file appears whole or not at all.

    Args:
        frame: What to write.
        path: ``….csv`` (UTF-8 with the mark by which Excel knows it, commas), ``….xlsx`` (codes,
            IČO and DIČ stay text), ``….parquet`` or ``….ndjson``. In csv and xlsx lists of ids
            are joined by blanks. A spreadsheet that opens a csv drops the leading zeros of codes:
            give it xlsx.
        note: A line under the table, such as `cite` gives; xlsx only.

    Returns:
        The path written.

    Raises:
        UsageError: Another suffix, a note where there is no place for it, or no polars frame.

    Example:
        >>> import finstat_kit as fk, tempfile
        >>> with fk.use(fk.sample()), tempfile.TemporaryDirectory() as folder:
        ...     fk.write(fk.regions(), f"{folder}/regions.xlsx", note=fk.cite()).name
        'regions.xlsx'
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        raise UsageError(f"frame is a {type(frame).__name__}; give a polars DataFrame or LazyFrame")
    path = Path(path)
    form = _SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise UsageError(f"path={str(path)!r}: give a name that ends in {', '.join(_SUFFIXES)}")
    if note is not None and form != "xlsx":
        raise UsageError(f"note: a {form} file has no place for it; write xlsx, or leave it out")
    # Beside the target, so that the last step is a mere renaming.
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            if form == "csv":
                file.write(b"\xef\xbb\xbf")
            write_to(file, frame, form, note=note)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def write_to(
    file: IO[bytes],
    frame: pl.DataFrame,
    form: Format,
    *,
    header: bool = True,
    note: str | None = None,
) -> None:
    """Write a frame to an open file."""
    writers: dict[Format, Callable[[], object]] = {
        "csv": lambda: file.write(flat(frame).write_csv(include_header=header).encode()),
        "ndjson": lambda: frame.write_ndjson(file),
        "parquet": lambda: frame.write_parquet(file),
        "xlsx": lambda: _write_xlsx(file, flat(frame), note),
    }
    writers[form]()


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Join lists by blanks, for files that hold plain values only."""
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    joined = (pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
    return frame.with_columns(joined)


def _write_xlsx(file: IO[bytes], frame: pl.DataFrame, note: str | None) -> None:
    import xlsxwriter

    # What begins with "=" in a name is a name, not a formula.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
    with xlsxwriter.Workbook(file, options) as workbook:
        sheet = workbook.add_worksheet()
        frame.write_excel(workbook, sheet, autofit=True, dtype_formats={pl.Int64: "0"})
        if note is not None:
            sheet.write_string(max(frame.height, 1) + 2, 0, note)
