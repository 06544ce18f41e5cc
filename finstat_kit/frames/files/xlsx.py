"""A frame on the sheet of an xlsx file, as a table below a frozen header."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl
from polars import selectors as cs

from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.codebook.quantities import quantities

if TYPE_CHECKING:
    from xlsxwriter import Workbook

_MOST_ROWS: Final = 1_048_575
_MOST_COLUMNS: Final = 16_384
_LONGEST_TEXT: Final = 32_767
_LONGEST_NAME: Final = 255  # of a column of a table
_FIRST_YEAR: Final = 1901  # programs disagree on the days before
_WHOLE: Final = "#,##0;[Red]-#,##0"
_TWO_DECIMALS: Final = "#,##0.00;[Red]-#,##0.00"
_THREE_DECIMALS: Final = "#,##0.000;[Red]-#,##0.000"
_FORM_OF: Final = {"share": "0.0%;[Red]-0.0%", "number": _TWO_DECIMALS}
_FORMS: Final[Any] = {
    pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss", pl.Duration: "[h]:mm:ss",
}  # fmt: skip
_BROADEST: Final = 420  # pixels of a column; a character has 7
_LETTERS: Final = 50  # of a line of so broad a column, at least
_LINE: Final = 15  # points
# Of a column of floats or moments: twelve digits in groups with a sign and cents, most reasons.
_WIDE: Final = 20


class Layout(NamedTuple):
    """What a table for people has beside its numbers.

    Attributes:
        sheets: Names of the sheets of table, note and codebook.
        columns: The column of the package that each head stands for.
        reasons: Texts that stand in empty cells, by head.
    """

    sheets: tuple[str, str, str] = ("Sheet1", "source", "fields")
    columns: Mapping[str, str] = {}
    reasons: Mapping[str, pl.Series] = {}


LONG: Final = Layout()


def sheets(
    frame: pl.DataFrame, note: str | None, book: pl.DataFrame | None = None, layout: Layout = LONG
) -> bytes:
    """Return a file with a frame of plain values, the lines of a note, and its codebook.

    Each has a sheet of its own.

    Raises:
        UsageError: The frame, a name or a text is larger than a spreadsheet can hold.
    """
    import xlsxwriter

    _check(frame)
    forms: dict[Any, str] = {
        name: _form_of_floats(frame[name], quantities(frame, name, layout.columns))
        for name, dtype in frame.schema.items()
        if dtype.is_float()
    }
    frame = frame.with_columns(*(frame[name].fill_nan(None) for name in forms), *_as_text(frame))
    # No text is a formula or a link, whatever its first character.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, **options}) as workbook:
        sheet = workbook.add_worksheet(layout.sheets[0])
        frame.write_excel(
            workbook,
            sheet,
            column_formats={**dict.fromkeys(frame.select(cs.integer()).columns, "0"), **forms},
            dtype_formats=_FORMS,
            header_format={"bold": True, "text_wrap": bool(layout.columns), "valign": "top"},
            freeze_panes=(1, 3 if layout.columns else 0),
        )
        for index, dtype in enumerate(frame.dtypes):
            if dtype.is_float() or isinstance(dtype, pl.Datetime):
                sheet.set_column(index, index, _WIDE)
        sheet.autofit(max_width=_BROADEST)  # it ignores number formats, and only widens
        if note is not None:
            source = workbook.add_worksheet(layout.sheets[1])
            source.set_column(0, 0, 120, workbook.add_format({"text_wrap": True, "align": "top"}))
            for row, line in enumerate(note.splitlines()):
                if source.write_string(row, 0, line) != 0:
                    raise invalid("note", ..., ": a sheet of xlsx cannot hold it", cure="cut it")
        if book is not None:
            sheet = workbook.add_worksheet(layout.sheets[2])
            wrapped: Any = {cs.all(): {"text_wrap": True, "valign": "top"}}
            book.write_excel(
                workbook,
                sheet,
                column_formats=wrapped,
                header_format={"bold": True},
                freeze_panes=(1, 1),
            )
            sheet.autofit(max_width=_BROADEST)
            # No program but Excel makes a row as high as its lines.
            for row, cells in enumerate(book.iter_rows(), 1):
                longest = max(len(cell or "") for cell in cells)
                sheet.set_row(row, _LINE * max(-(-longest // _LETTERS), 1))
        if layout.columns:
            _lay_out(workbook, frame, layout)
    return file.getvalue()


def _lay_out(workbook: Workbook, frame: pl.DataFrame, layout: Layout) -> None:
    """Write reasons into empty cells, and let heads have lines and the print the page's width."""
    sheet = workbook.worksheets()[0]
    grey = workbook.add_format({"align": "right", "font_color": "#767676"})
    for name, texts in layout.reasons.items():
        column = frame.columns.index(name)
        sheet.set_column(column, column, _WIDE)
        for row, text in enumerate(texts, 1):
            if text is not None:
                sheet.write_string(row, column, text, grey)
    # Lines of a head are shorter than its column.
    sheet.set_row(0, _LINE * max(-(-len(name) // (_WIDE - 3)) for name in layout.columns))
    for page in workbook.worksheets():
        page.set_landscape()
        page.set_paper(9)  # A4
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)


def _check(frame: pl.DataFrame) -> None:
    """Refuse what would be cut off or left out."""
    if frame.height > _MOST_ROWS or frame.width > _MOST_COLUMNS:
        raise UsageError(
            f"the frame has {frame.height:,} rows and {frame.width:,} columns, a sheet of xlsx "
            f"can hold {_MOST_ROWS:,} and {_MOST_COLUMNS:,}",
            cure="write parts of it, or parquet or csv",
        )
    names = [name.casefold() for name in frame.columns]
    for name in frame.columns:
        is_name = name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME
        if not is_name or names.count(name.casefold()) > 1:
            raise UsageError(
                f"the column {name[:80]!r} cannot have this name in xlsx, where names have up to "
                f"{_LONGEST_NAME} characters and differ by more than case",
                cure="rename it",
            )
    for column in frame.select(cs.string()):
        longest = column.str.len_chars().max()
        if isinstance(longest, int) and longest > _LONGEST_TEXT:
            raise UsageError(
                f"the column {column.name!r} has a text of {longest:,} characters, a cell of "
                f"xlsx holds {_LONGEST_TEXT:,}",
                cure="cut it, or write parquet, ndjson or csv",
            )


def _as_text(frame: pl.DataFrame) -> Iterator[pl.Series]:
    """Return columns of moments that a spreadsheet does not have, as texts."""
    for column in frame.select(cs.date() | cs.datetime()):
        first = column.dt.year().min()
        has_zone = isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None
        if has_zone or (isinstance(first, int) and first < _FIRST_YEAR):
            yield column.dt.to_string("iso")


def _form_of_floats(values: pl.Series, quantities: pl.Series) -> str:
    """Return the number format of a column: shares in per cent, other ratios two decimals.

    Amounts, and what the package does not know, have no decimals where all of the column are whole;
    otherwise amounts have two and the others three. A column of several quantities, such as that of
    a summary of several values, is shown as a spreadsheet shows any number.
    """
    kinds = quantities.filter(values.is_not_null()).unique().to_list()
    if len(kinds) > 1:
        return "General"
    quantity = kinds[0] if kinds else None
    if quantity in _FORM_OF:
        return _FORM_OF[quantity]
    if (values == values.round()).all():
        return _WHOLE
    return _TWO_DECIMALS if quantity == "amount" else _THREE_DECIMALS
