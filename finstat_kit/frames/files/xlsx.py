"""A frame on the sheet of an xlsx file: no value is changed, truncated or left out.

A spreadsheet shows 15 digits of a number and has no infinity, no time zone and no microseconds, and
programs disagree on the days before March 1900. Such a value is written as text; a value that text
cannot represent is a UsageError.
"""

from __future__ import annotations

from datetime import date
from typing import IO, Final, NamedTuple

import polars as pl

from finstat_kit.errors import UsageError
from finstat_kit.frames.files.quantities import quantities

_MOST_ROWS: Final = 1_048_576
_MOST_COLUMNS: Final = 16_384
_LONGEST_TEXT: Final = 32_767  # in units of UTF-16
_LONGEST_NAME: Final = 255  # of a column of a table
_WHOLE: Final = "#,##0;[Red]-#,##0"
_TWO_DECIMALS: Final = "#,##0.00;[Red]-#,##0.00"
_THREE_DECIMALS: Final = "#,##0.000;[Red]-#,##0.000"
_PER_CENT: Final = "0.0%;[Red]-0.0%"
_BROADEST: Final = 420  # pixels of a column; a character has 7
_NARROWEST: Final = 8  # characters of a column of floats
_LARGEST: Final = 10**15 - 1
_FIRST_DAY: Final = date(1900, 3, 1)
_LAST_DAY: Final = date(9999, 12, 31)
_MOMENT: Final = "%Y-%m-%d %H:%M:%S%.f"
_in_milliseconds: Final = pl.col("x").dt.nanosecond() % 1_000_000 == 0


class Column(NamedTuple):
    """The cells of a column: values, and texts where the value is null."""

    name: str
    values: pl.Series
    texts: pl.Series
    forms: pl.Series  # the number format of each value


class _Exact(float):
    """A number that xlsxwriter, which formats 16 digits, writes with all digits it needs."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return repr(float(self))


class _Rule(NamedTuple):
    """How values of a type are written to cells: expressions over a column ``x``."""

    fits: pl.Expr
    form: str
    text: pl.Expr = pl.col("x").cast(pl.String)
    value: pl.Expr = pl.col("x")


def fit(frame: pl.DataFrame, note: str | None) -> list[Column]:
    """Return the columns of a sheet, after a check of the note, which has a sheet of its own.

    Raises:
        UsageError: A value does not fit; the message names the column.
    """
    if frame.height > _MOST_ROWS - 1:
        raise UsageError(
            f"the frame has {frame.height:,} rows, a sheet of xlsx can hold {_MOST_ROWS - 1:,}",
            cure="write parts of it, or parquet or csv",
        )
    if frame.width > _MOST_COLUMNS:
        raise UsageError(
            f"the frame has {frame.width:,} columns, a sheet of xlsx can hold {_MOST_COLUMNS:,}",
            cure="select some, or write parquet or csv",
        )
    for name in frame.columns:
        _check_texts(name, pl.Series([name]))
    lines = _lines(note)
    if len(lines) > _MOST_ROWS:
        raise UsageError(
            f"has {len(lines):,} lines, a sheet of xlsx can hold {_MOST_ROWS:,}",
            argument="note",
            cure="cut it",
        )
    row, length = _longest(pl.Series(lines, dtype=pl.String))
    if length > _LONGEST_TEXT:
        raise UsageError(
            f"has in line {row + 1} {length:,} characters, a cell of xlsx holds {_LONGEST_TEXT:,}",
            argument="note",
            cure="break the line",
        )
    return [_fitted(frame[name], quantities(frame, name)) for name in frame.columns]


def write(file: IO[bytes], columns: list[Column], note: str | None) -> None:
    """Write the columns returned by `fit`, below a frozen header, and the lines of a note."""
    import xlsxwriter

    height = max(columns[0].values.len() if columns else 0, 1)
    with xlsxwriter.Workbook(file, {"in_memory": True}) as workbook:
        sheet = workbook.add_worksheet()
        if _makes_a_table([column.name for column in columns]):
            headers = [{"header": column.name} for column in columns]
            sheet.add_table(0, 0, height, len(columns) - 1, {"columns": headers, "style": None})
        sheet.freeze_panes(1, 0)
        bold = workbook.add_format({"bold": True})
        forms = {
            form: workbook.add_format({"num_format": form})
            for column in columns
            for form in column.forms.unique(maintain_order=True)
        }
        for index, column in enumerate(columns):
            sheet.write_string(0, index, column.name, bold)
            dtype = column.values.dtype
            put = sheet.write_datetime if dtype.is_temporal() else sheet.write_number
            put = sheet.write_boolean if dtype == pl.Boolean else put
            cells = zip(column.values, column.texts, column.forms, strict=True)
            for row, (value, text, form) in enumerate(cells, 1):
                if value is not None:
                    exact = _Exact(value) if dtype.is_float() else value
                    put(row, index, exact, forms[form])
                elif text:
                    # Never a formula or a link, whatever its first character.
                    sheet.write_string(row, index, text)
        for index, column in enumerate(columns):
            if column.values.dtype.is_float():
                sheet.set_column(index, index, _width(column))
        sheet.autofit(max_width=_BROADEST)  # it ignores number formats, and only widens
        for index, column in enumerate(columns):
            if column.values.dtype.is_temporal():
                longest = max(map(len, (*column.forms.unique(), column.name)))
                sheet.set_column(index, index, longest + 2)
        if note is not None:
            source = workbook.add_worksheet("source")
            source.set_column(0, 0, 120, workbook.add_format({"text_wrap": True, "align": "top"}))
            for row, line in enumerate(_lines(note)):
                source.write_string(row, 0, line)


def _lines(note: str | None) -> list[str]:
    """Return the lines of a note, each of which has a cell."""
    return [] if note is None else note.splitlines()


def _width(column: Column) -> int:
    """Return the characters that the longest number of a column of floats has as it is shown."""
    decimals = max((form.partition(".")[2].find(";") for form in column.forms.unique()), default=0)
    x = pl.col("x")
    ends = column.values.to_frame("x").select(x.min(), high=x.max()).row(0)
    lengths = [len(f"{end:,.{max(decimals, 0)}f}") for end in ends if end is not None]
    return min(max([_NARROWEST, *lengths]), _BROADEST // 7)


def _fitted(column: pl.Series, quantities: pl.Series) -> Column:
    rule = _rule(column.dtype)
    cells = column.alias("x").to_frame().select(
        values=pl.when(rule.fits).then(rule.value),
        texts=pl.when(rule.fits).then(None).otherwise(rule.text),
    )  # fmt: skip
    _check_texts(column.name, cells["texts"])
    forms = (
        _forms_of_floats(cells["values"], quantities)
        if column.dtype.is_float()
        else pl.repeat(rule.form, column.len(), dtype=pl.String, eager=True)
    )
    return Column(column.name, cells["values"], cells["texts"], forms)


def _forms_of_floats(values: pl.Series, quantities: pl.Series) -> pl.Series:
    """Return the number formats of a column: shares in per cent, other ratios two decimals.

    Amounts, and what the package does not know, have no decimals where all of the column are whole;
    otherwise amounts have two and the others three.
    """
    x, quantity = pl.col("x"), pl.col("quantity")
    are_whole = (x == x.round()).all().over("quantity")
    return pl.DataFrame({"x": values, "quantity": quantities}).select(
        pl.when(quantity.eq("share")).then(pl.lit(_PER_CENT))
        .when(quantity.eq("number")).then(pl.lit(_TWO_DECIMALS))
        .when(are_whole).then(pl.lit(_WHOLE))
        .when(quantity.eq("amount")).then(pl.lit(_TWO_DECIMALS))
        .otherwise(pl.lit(_THREE_DECIMALS))
    ).to_series()  # fmt: skip


def _rule(dtype: pl.DataType) -> _Rule:
    x = pl.col("x")
    if dtype.is_integer():
        small = x.cast(pl.Int64, strict=False).is_between(-_LARGEST, _LARGEST)
        return _Rule(small, "0")
    if dtype.is_float():
        return _Rule(x.is_finite(), "")  # see `_forms_of_floats`
    if isinstance(dtype, pl.Decimal):
        number = x.cast(pl.Float64)
        form = "0." + "0" * dtype.scale if dtype.scale else "0"
        return _Rule(number.abs() < 10.0 ** (15 - dtype.scale), form, value=number)
    if dtype == pl.Boolean:
        return _Rule(x.is_not_null(), "General")
    if dtype == pl.Date:
        return _Rule(x.is_between(_FIRST_DAY, _LAST_DAY), "yyyy-mm-dd")
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is not None:
            return _Rule(pl.lit(value=False), "", x.dt.to_string(f"{_MOMENT}%:z"))
        in_range = x.dt.date().is_between(_FIRST_DAY, _LAST_DAY) & _in_milliseconds
        return _Rule(in_range, "yyyy-mm-dd hh:mm:ss", x.dt.to_string(_MOMENT))
    if dtype == pl.Time:
        return _Rule(_in_milliseconds, "hh:mm:ss", x.dt.to_string("%H:%M:%S%.f"))
    if dtype == pl.Duration:
        whole = x.cast(pl.Duration("ms")).cast(dtype) == x
        counted = x.dt.total_milliseconds().is_between(0, 2_958_465 * 86_400_000)
        return _Rule(whole & counted, "[h]:mm:ss", x.dt.to_string("iso"))
    return _Rule(pl.lit(value=False), "")


def _check_texts(name: str, texts: pl.Series) -> None:
    """Refuse texts longer than a cell can hold."""
    row, length = _longest(texts)
    if length > _LONGEST_TEXT:
        raise UsageError(
            f"the column {name[:80]!r} has in row {row} a text of {length:,} characters, a cell "
            f"of xlsx holds {_LONGEST_TEXT:,}",
            cure="cut it, or write parquet, ndjson or csv",
        )


def _longest(texts: pl.Series) -> tuple[int, int]:
    """Return row and length of a text that is too long, else zeros, in units of UTF-16."""
    if (texts.str.len_bytes() <= _LONGEST_TEXT).all():
        return 0, 0
    lengths = texts.str.len_chars() + texts.str.count_matches(r"[\x{10000}-\x{10FFFF}]")
    row = lengths.fill_null(0).arg_max() or 0
    return row, lengths[row]


def _makes_a_table(names: list[str]) -> bool:
    """Return whether a table may have columns of these names; others would break the file."""
    return bool(names) and (
        len({name.casefold() for name in names}) == len(names)
        and all(name.strip() and name.isprintable() for name in names)
        and all(len(name.encode("utf-16-le")) <= 2 * _LONGEST_NAME for name in names)
    )
