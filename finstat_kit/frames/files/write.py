"""Frames written to files that other programs read correctly."""

from __future__ import annotations

import io
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.errors import Either, UsageError
from finstat_kit.frames.files import xlsx as sheets
from finstat_kit.frames.files.quantities import quantities

Format = Literal["csv", "xlsx", "parquet", "ndjson"]
_SUFFIXES: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
}
_PER_DAY: Final = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FARTHEST: Final = 95_000_000  # days from 1970
# Types of list items that can be joined to a text.
_NAMED_NUMBERS: Final = ([pl.String, pl.Int64], [pl.Int32, pl.Int64])  # reasons and forms
_JOINED: Final = (pl.String, pl.Boolean, pl.Date, pl.Null, pl.Categorical, pl.Enum)


def write(
    frame: pl.DataFrame | pl.LazyFrame, path: str | os.PathLike[str], *, note: str | None = None
) -> Path:
    """Write a frame to a file whose suffix sets the format. The file appears whole or not at all.

    A link is kept and its target is replaced. A file that is replaced leaves its permissions to the
    new one. A pipe or a device is written to directly.

    Args:
        frame: The frame to write.
        path: ``….csv`` (comma-separated UTF-8, with a byte order mark for Excel; ratios and shares
            have six digits), ``….xlsx`` (codes, IČO and DIČ stay text, shares are in per cent,
            other ratios have two decimals, amounts two where a column has cents and otherwise none,
            the header stays in sight), ``….parquet`` or ``….ndjson``. In csv and xlsx lists of ids
            are joined by spaces, and lists of numbers by name, such as the ``reasons`` of a
            summary, by semicolons. A spreadsheet that opens a csv drops the leading zeros of codes,
            and Excel with Slovak settings puts its rows into one column: use xlsx instead. Values
            that a spreadsheet cannot represent become text in xlsx: numbers of more than 15 digits,
            infinity, NaN, days before March 1900, and times with a time zone or microseconds.
        note: A text on a second sheet, ``source``: the result of `cite`, further lines such as the
            query; xlsx only.

    Returns:
        The path written.

    Raises:
        UsageError: The path cannot be a file, the suffix is unknown, a note is given for another
            format than xlsx, *frame* is not a polars frame, or the format cannot hold a column
            without loss, such as structs in csv or a text of more than 32,767 characters in xlsx.
            An existing file stays unchanged.

    Example:
        >>> import finstat_kit as fk, tempfile
        >>> with fk.using(fk.sample()), tempfile.TemporaryDirectory() as folder:
        ...     fk.write(fk.regions(), f"{folder}/regions.xlsx", note=fk.cite()).name
        'regions.xlsx'
    """
    frame = arguments.collected("frame", frame)
    path = arguments.path("path", path, "counts.xlsx")
    form = _SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise UsageError(
            "has an unknown suffix",
            argument="path",
            value=str(path),
            cure=f"give a name that ends in {', '.join(_SUFFIXES)}",
        )
    if note is not None and form != "xlsx":
        raise UsageError(
            f": a {form} file cannot hold it",
            argument="note",
            cure="write xlsx, or leave it out",
        )
    if note is not None:
        arguments.text("note", note)
    put = _prepared(frame, form, note=note)
    with replaced(path) as file:
        if form == "csv":
            file.write(b"\xef\xbb\xbf")
        put(file)
    return path


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces *path* at the end of a block without an error.

    A link is kept and its target is replaced. A pipe or a device is kept too, and written at the
    end of the block.

    Raises:
        UsageError: The path cannot be a file.
    """
    if _is_a_file_or_nothing(path):
        with ExitStack() as stack:
            try:
                file = stack.enter_context(put_in_place(Path(os.path.realpath(path))))
            except OSError as error:
                raise _no_place(path, error) from error
            yield file
        return
    buffer = io.BytesIO()
    yield buffer
    try:
        file = path.open("wb")
    except OSError as error:
        raise _no_place(path, error) from error
    with file:
        file.write(buffer.getvalue())


@contextmanager
def put_in_place(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes a name at the end of a block without an error.

    A link of that name is replaced, not followed. A file leaves its permissions to the new one.
    """
    # In the directory of the target, so that the last step is an atomic rename. With a random name
    # and exclusive, so that two writers share no file and no link is followed.
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    file = part.open("xb")
    try:
        with file:
            _keep_mode(part, target)
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def refuse_unwritable(path: Path) -> None:
    """Refuse a place where no file can be put; what is there stays as it is.

    Raises:
        UsageError: The path cannot be a file.
    """
    if not _is_a_file_or_nothing(path):
        return
    try:
        with tempfile.TemporaryFile(dir=Path(os.path.realpath(path)).parent):
            pass
    except OSError as error:
        raise _no_place(path, error) from error


def _keep_mode(part: Path, target: Path) -> None:
    """Give a new file the permissions of the one that it replaces, before anything is in it."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISREG(mode):
        part.chmod(stat.S_IMODE(mode))


def _is_a_file_or_nothing(path: Path) -> bool:
    """Return whether a rename may put a file there; links are followed."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True
    except (OSError, ValueError) as error:
        raise _no_place(path, error) from error


def _no_place(path: Path, error: Exception) -> UsageError:
    why = error.strerror if isinstance(error, OSError) else error
    return UsageError(
        f"cannot be written ({why})",
        argument="path",
        value=str(path),
        cure="give a name in an existing folder",
    )


def write_to(file: IO[bytes], frame: pl.DataFrame, form: Format, *, header: bool = True) -> None:
    """Write a frame to an open file."""
    _prepared(frame, form, header=header)(file)


def _prepared(
    frame: pl.DataFrame, form: Format, *, header: bool = True, note: str | None = None
) -> Callable[[IO[bytes]], object]:
    """Return the writer of a frame, after refusing values that the format cannot hold."""
    if form == "csv":
        text = _with_iso_durations(flat(_with_six_digits(frame))).write_csv(include_header=header)
        return lambda file: file.write(text.encode())
    if form == "xlsx":
        columns = sheets.fit(flat(frame), note)
        return _at_once(lambda file: sheets.write(file, columns, note))
    for name in frame.columns:
        for values in _leaves(_unnamed(frame, name)):
            _check_binary(name, values, form)
    return frame.write_ndjson if form == "ndjson" else _at_once(frame.write_parquet)


def _at_once(put: Callable[[IO[bytes]], object]) -> Callable[[IO[bytes]], object]:
    """Write to memory first: on a full disk these writers raise other errors."""

    def write_whole(file: IO[bytes]) -> None:
        whole = io.BytesIO()
        put(whole)
        file.write(whole.getvalue())

    return write_whole


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Join lists by spaces, for formats with plain values only.

    Raises:
        UsageError: A column holds other nested values.
    """
    return frame.with_columns([_plain(n, _unnamed(frame, n)).alias(n) for n in frame.columns])


def _unnamed(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return a column under a plain name: polars treats ``*`` and ``^…$`` as patterns."""
    return frame[name].alias("x")


def _plain(name: str, column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Array):
        column, dtype = column.arr.to_list(), pl.List(dtype.inner)
    if isinstance(dtype, pl.List):
        inner = dtype.inner
        if isinstance(inner, pl.Struct) and [f.dtype for f in inner.fields] in _NAMED_NUMBERS:
            parts = [pl.element().struct.field(field.name).cast(pl.String)
                     for field in inner.fields]  # fmt: skip
            return column.list.eval(pl.concat_str(parts, separator=" ")).list.join("; ")
        if not (inner.is_numeric() or isinstance(inner, _JOINED)):
            raise UsageError(
                f"the column {name!r} holds lists of {inner.base_type()}, which csv and xlsx "
                "cannot",
                cure=Either("explode it, or write parquet or ndjson", "write parquet or ndjson"),
            )
        _check_days(name, column.explode(), "csv or xlsx")
        return _joined(name, column)
    if isinstance(dtype, pl.Struct):
        raise UsageError(
            f"the column {name!r} holds structs, which csv and xlsx cannot",
            cure=Either(
                f"give their fields separate columns by frame.unnest({name!r}), or write parquet "
                "or ndjson",
                "write parquet or ndjson",
            ),
        )
    _check_binary(name, column, "csv or xlsx")
    return column


def _joined(name: str, column: pl.Series) -> pl.Series:
    """Join lists by spaces, if they can be split again."""
    if (column.list.drop_nulls().list.len() != column.list.len()).any():
        raise UsageError(
            f"the column {name!r} has a null within a list, which csv and xlsx cannot hold",
            cure=Either(
                "drop it by .list.drop_nulls(), or write parquet or ndjson",
                "write parquet or ndjson",
            ),
        )
    texts = column.cast(pl.List(pl.String))
    if texts.explode().str.contains(r"\s|^$").any():
        raise UsageError(
            f"the column {name!r} has a blank within a text of a list, or an empty text: "
            "joined by blanks it could not be split again",
            cure=Either(
                "join it by .list.join() yourself, or write parquet or ndjson",
                "write parquet or ndjson",
            ),
        )
    return texts.list.join(" ")


def _with_six_digits(frame: pl.DataFrame) -> pl.DataFrame:
    """Round ratios and shares: further digits are noise of the division."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return frame.with_columns(
        frame[name].alias("x").to_frame().select(
            pl.when(quantities(frame, name).is_in(["share", "number"]))
            .then(pl.col("x").round_sig_figs(6)).otherwise("x").alias(name)
        ).to_series()
        for name in floats
    )  # fmt: skip


def _with_iso_durations(frame: pl.DataFrame) -> pl.DataFrame:
    durations = [name for name, dtype in frame.schema.items() if dtype == pl.Duration]
    return frame.with_columns([_unnamed(frame, n).dt.to_string("iso").alias(n) for n in durations])


def _check_binary(name: str, values: pl.Series, form: str) -> None:
    """Refuse values that only parquet, or no format at all, can hold."""
    if values.dtype == pl.Object:
        raise UsageError(f"the column {name!r} is Object", cure="cast it to a type of polars")
    if form == "parquet":
        if values.dtype == pl.Struct:
            raise UsageError(
                f"the column {name!r} holds structs without a field, which parquet cannot",
                cure="drop them, or write ndjson",
            )
        return
    _check_days(name, values, form)
    if values.dtype == pl.Binary:
        raise UsageError(
            f"the column {name!r} holds bytes, which {form} cannot",
            cure=Either(
                "encode them as text by .bin.encode('hex'), or write parquet", "write parquet"
            ),
        )
    if form == "ndjson" and values.dtype.is_float() and not values.is_finite().all():
        odd = values.filter(~values.is_finite())[0]
        raise UsageError(
            f"the column {name!r} holds {'NaN' if odd != odd else odd}, which JSON has no number "
            "for",
            cure="make it null, or write parquet or csv",
        )


def _check_days(name: str, values: pl.Series, form: str) -> None:
    """Refuse days so remote that polars cannot format them and would panic."""
    if isinstance(values.dtype, pl.Datetime):
        days = values.to_physical() // _PER_DAY[values.dtype.time_unit]
    elif values.dtype == pl.Date:
        days = values.to_physical()
    else:
        return
    if not days.is_between(-_FARTHEST, _FARTHEST).all():
        raise UsageError(
            f"the column {name!r} holds a day more than 260,000 years away, which {form} cannot",
            cure="make it null, or write parquet",
        )


def _leaves(column: pl.Series) -> Iterator[pl.Series]:
    """Return the innermost values of a column of lists or structs, or the column itself."""
    if isinstance(column.dtype, pl.List | pl.Array):
        yield from _leaves(column.explode())
    elif isinstance(column.dtype, pl.Struct):
        if not column.struct.fields:
            yield column
        for field in column.struct.fields:
            yield from _leaves(column.struct.field(field).alias("x"))
    else:
        yield column
