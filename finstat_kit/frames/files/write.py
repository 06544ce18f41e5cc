"""Frames written to files that other programs read correctly."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Final, Literal, cast, get_args

import polars as pl
from polars import selectors as cs

from finstat_kit import arguments, calls, given_frames
from finstat_kit.arguments import Lang
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.files.xlsx import LONG, Layout, sheets
from finstat_kit.in_place import put

Format = Literal["csv", "xlsx", "parquet", "ndjson"]
# A text that a spreadsheet would evaluate, and one that looks like such a text after its change.
_EVALUATED: Final = r"(?s)^('+[=+\-@\t\r]|[=@\t\r]|[+-].*[^\d\s.,])"
# The same within a text, where a program that takes another separator begins a cell.
_WITHIN: Final = r"([\n\r\t;,|])('*[=@]|'+[+-]|[+-][^\n\r\t;,|]*[^\d\s.,;|])"


@calls.checked_call
def write(
    frame: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    *,
    note: str | None = None,
    decimal_comma: bool = False,
    wide: Literal["year"] | None = None,
    lang: Lang | None = None,
) -> Path:
    """Write a frame to a file whose suffix sets the format. The file appears whole or not at all.

    A link is kept and its target is replaced. A file that is replaced leaves its permissions to the
    new one.

    Args:
        frame: The frame to write.
        path: ``….csv`` (comma-separated UTF-8, with a byte order mark for Excel), ``….xlsx``
            (codes, IČO and DIČ stay text, shares are in per cent, other ratios have two decimals,
            amounts two where a column has cents and otherwise none, the header stays in sight),
            ``….parquet`` or ``….ndjson``. Of a result of this package xlsx has the codebook of
            `fields` on its last sheet, ``fields``, and parquet in its metadata,
            ``finstat_kit.fields`` (JSON, a list of rows). In csv and xlsx lists of ids are joined
            by spaces, and lists of structs, such as the ``reasons`` of a summary or the
            ``candidates`` of `match_units`, by semicolons. A spreadsheet that opens a csv drops the
            leading zeros of codes: use xlsx instead. In a csv a text or a head that a spreadsheet
            would evaluate, such as ``=1+1``, has an apostrophe before it, also after a line feed
            or a separator within it. NaN is an empty cell in xlsx.
        note: A text on a second sheet, ``source``: the result of `cite`, further lines such as the
            query; xlsx and parquet, whose metadata hold it as ``finstat_kit.source``.
        decimal_comma: Semicolons between columns and decimal commas, as Excel with Slovak settings
            expects them; csv only.
        wide: ``"year"`` writes figures as a table for people, csv or xlsx: a row per unit with its
            id, IČO and name, a column per year and item, ratio or number of one's own of which
            there is any, other columns left out. Where there is no number stands the reason. Heads,
            sheets and codebook are in one language. A frame without ``unit_id`` and ``year``, or
            with two rows of a unit and year, is refused.
        lang: Language of a wide table, ``"sk"`` or ``"en"``; None is Slovak.

    Returns:
        The path written.

    Raises:
        UsageError: The path cannot be a file, the suffix is unknown, an argument is given for
            another format, *frame* is not a frame, or the format cannot hold a column, such
            as structs in csv. An existing file stays unchanged.
        RegisterError: The disk is full. An existing file stays unchanged.

    Example:
        >>> import finstat_kit as fk, tempfile
        >>> with fk.using(fk.sample()), tempfile.TemporaryDirectory() as folder:
        ...     fk.write(fk.regions(), f"{folder}/regions.xlsx", note=fk.cite()).name
        'regions.xlsx'
    """
    frame = given_frames.collected("frame", frame)
    path = arguments.path("path", path, "counts.xlsx")
    form = form_of(path)
    for name, given, formats in (
        ("note", note is not None, ("xlsx", "parquet")),
        ("decimal_comma", decimal_comma, ("csv",)),
        ("wide", wide is not None, ("csv", "xlsx")),
    ):
        if given and form not in formats:
            cure = f"write {' or '.join(formats)}, or leave it out"
            raise invalid(name, ..., f": a {form} file cannot hold it", cure=cure)
    if note is not None:
        arguments.text("note", note)
    if wide is not None:
        from finstat_kit.frames.files.wide import by_year  # loads every result

        arguments.one_of("wide", wide, ("year",))
        table = by_year(frame, arguments.lang("sk" if lang is None else lang))
        if form == "csv":
            data = _csv_for_excel(table.table, decimal_comma, table.layout)
        else:
            data = sheets(flat(table.table), note, table.book, table.layout)
    elif lang is not None:
        cure = 'leave it out, or give wide="year"'
        raise invalid("lang", lang, ": only a wide table has words", cure=cure)
    elif form == "csv":
        data = _csv_for_excel(frame, decimal_comma)
    else:
        from finstat_kit.frames.codebook import fields as codebook  # loads every result

        book = codebook.fields(frame) if codebook.is_known(frame) else None
        data = rendered(frame, form, note=note, book=book)
    put(data, path)
    return path


def form_of(path: Path) -> Format:
    """Return the format that the suffix of a path names.

    Raises:
        UsageError: It names none.
    """
    form = path.suffix.lower().removeprefix(".")
    if form not in get_args(Format):
        suffixes = ", ".join(f".{form}" for form in get_args(Format))
        raise invalid(
            "path", str(path), "has an unknown suffix", give=f"a name that ends in {suffixes}"
        )
    return cast("Format", form)


def _csv_for_excel(frame: pl.DataFrame, decimal_comma: bool, layout: Layout = LONG) -> bytes:
    texts = (cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    plain = _of_csv(frame)
    heads = pl.Series(plain.columns, dtype=pl.String).to_frame("head").select(_harmless(cs.all()))
    plain = plain.with_columns(_harmless(texts))
    for name, reasons in layout.reasons.items():
        # After texts are harmless: a small number has a letter, as -1e-7, and is no formula.
        number = plain[name].cast(pl.String)
        number = number.str.replace(".", ",", literal=True) if decimal_comma else number
        plain = plain.with_columns(number.fill_null(reasons).alias(name))
    text = plain.rename(dict(zip(plain.columns, heads["head"], strict=True))).write_csv(
        include_bom=True, separator=";" if decimal_comma else ",", decimal_comma=decimal_comma
    )
    return text.encode()


def _harmless(texts: pl.Expr) -> pl.Expr:
    """Return texts with an apostrophe wherever a spreadsheet would begin to evaluate one."""
    return texts.str.replace(_EVALUATED, "'${0}").str.replace_all(_WITHIN, "${1}'${2}")


def rendered(
    frame: pl.DataFrame,
    form: Format,
    *,
    header: bool = True,
    note: str | None = None,
    book: pl.DataFrame | None = None,
) -> bytes:
    """Return a frame as the bytes of a file; a csv is for programs, as it has no mark for Excel.

    Args:
        frame: The frame.
        form: The format.
        header: Whether a csv has a header.
        note: A text beside it, of xlsx and parquet.
        book: Its codebook, of xlsx and parquet.

    Raises:
        UsageError: The format cannot hold a column.
    """
    if form == "xlsx":
        return sheets(flat(frame), note, book)
    if form == "csv":
        return _of_csv(frame).write_csv(include_header=header).encode()
    file = io.BytesIO()
    try:
        if form == "parquet":
            texts = {"source": note, "fields": None if book is None else book.write_json()}
            about = {f"finstat_kit.{name}": text for name, text in texts.items() if text}
            frame.write_parquet(file, metadata=about)
        else:
            frame.write_ndjson(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise UsageError(
            f"{form} cannot hold a column of the frame: {error}", cure="cast it, or leave it out"
        ) from error
    return file.getvalue()


def _of_csv(frame: pl.DataFrame) -> pl.DataFrame:
    return flat(frame).with_columns(cs.duration().dt.to_string("iso"))


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Join lists by spaces, for formats with plain values only.

    Raises:
        UsageError: A column holds other nested values, or bytes.
    """
    return frame.with_columns(_plain(column) for column in frame)


def _plain(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Array):
        column = column.arr.to_list()
    dtype = column.dtype
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    if _is_plain(dtype):
        return column
    if _is_plain(inner):
        return column.cast(pl.List(pl.String)).list.join(" ")
    fields = inner.fields if isinstance(inner, pl.Struct) and inner is not dtype else []
    if fields and all(_is_plain(field.dtype) for field in fields):
        parts = pl.element().struct.field("*").cast(pl.String)
        joined = pl.concat_str(parts, separator=" ", ignore_nulls=True)
        return column.list.eval(joined).list.join("; ")
    raise UsageError(
        f"the column {column.name!r} holds values of {inner.base_type()}, which csv and xlsx "
        "cannot",
        cure="explode, unnest or cast it, or write parquet or ndjson",
    )


def _is_plain(dtype: object) -> bool:
    """Return whether a cell can hold a value of a type."""
    return isinstance(dtype, pl.DataType) and not (
        dtype.is_nested() or dtype in (pl.Binary, pl.Object)
    )
