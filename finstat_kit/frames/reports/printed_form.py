"""One report laid out as its form: rows in order, columns side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.errors import UsageError
from finstat_kit.frames.reports.cells import FormOf, Reader, checked
from finstat_kit.frames.reports.filed import Filed, Line, Part
from finstat_kit.frames.reports.reasons import TEXTS
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.numbers import day_text
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms.columns import Column
from finstat_kit.protocol.forms.form import Form, Row, Table

_WORDS: Final = Words("printed_form")
_KINDS: Final = Words("kinds")
# Legal forms of natural persons: tradesmen, farmers, free professions.
_PERSONS: Final = frozenset(str(code) for code in range(100, 111))


def as_filed(
    report: pl.DataFrame | pl.LazyFrame,
    form_of: FormOf,
    *,
    lang: Lang,
    filled: bool = False,
    title: bool | None = None,
) -> Filed:
    """Show a report laid out as its form; see `Register.as_filed`."""
    frame = _one(report)
    record = frame.row(0, named=True)
    words = _WORDS[lang]
    template = record["idSablony"]
    cells, without = Reader(form_of, blanks=True).read(frame)
    form = form_of(template) if isinstance(template, int) and cells.height else None
    named = f"{words['report']} {record['id']}"
    heading = named[:1].upper() + named[1:]
    notes = []
    parts: list[Part] = []
    if form is not None:
        heading = form_name(form, lang, f", {named}")
        parts = _parts(record[wire.TABLES], cells["value"], form, lang, filled=filled)
        if any(part.marked or any(line.marked for line in part.lines) for part in parts):
            notes.append(words["only_sk"])
        notes.insert(0, words["euro"] + (f", {words['filled']}" if filled else ""))
    else:
        reasons = ", ".join(
            TEXTS[lang][why] for why in without["reason"].unique(maintain_order=True)
        )
        notes.append(f"{words['none']}: {reasons}")
    attached: list[dict[str, object]] = record.get("prilohy") or []
    files = [str(file.get("meno") or file.get("id")) for file in attached]
    if files:
        notes.append(f"{words['files']}: {', '.join(files)}")
    page: dict[str, object] = record.get("titulnaStrana") or {}
    shown = title if title is not None else not _is_person(page)
    if page and not shown and title is None:
        notes.append(words["person"])
    return Filed(heading, _title(page, lang) if shown else [], parts, notes, lang)


def form_name(form: Form, lang: Lang, after: str = "") -> str:
    """Return the name of a form, and that its English is a translation if it is."""
    translated = _WORDS[lang]["translated"] if form.translated else ""
    return f"{form.name or ''} ({form.id}){after}{translated}".strip()


def together(forms: Sequence[Filed]) -> Filed:
    """Return the reports of one statement as one: one title page, the tables of all.

    A report without tables is named in its notes.
    """
    headings = [form.heading for form in forms if form.parts]
    if len(forms) == 1 or not headings:
        headings = [form.heading for form in forms]
    notes = dict.fromkeys(
        note if form.heading in headings else f"{form.heading}: {note}"
        for form in forms
        for note in form.notes
    )
    return Filed(
        " · ".join(headings),
        next((form.title for form in forms if form.title), []),
        [part for form in forms for part in form.parts],
        list(notes),
        forms[0].lang,
    )


def _one(report: object) -> pl.DataFrame:
    frame = arguments.collected("report", report)
    checked(frame)
    if frame.height != 1:
        raise UsageError(
            f": the frame has {frame.height} rows",
            argument="report",
            cure="give one report, such as reports.filter(id=5), or those of one statement",
        )
    return frame


def _parts(
    tables: object, values: pl.Series, form: Form, lang: Lang, *, filled: bool
) -> list[Part]:
    """Return the tables; *values* are the numbers of all cells, null for other texts."""
    assert isinstance(tables, list)
    numbers = iter(values)
    # Numbers are shown with every digit, other texts as filed.
    read: list[list[Decimal | str]] = [
        [text or "" if next(numbers) is None else Decimal(text) for text in data] for data in tables
    ]
    cents = ("." in str(cell) for data in read for cell in data if isinstance(cell, Decimal))
    places = 2 if any(cents) else 0
    return [
        _part(data, table, lang, places, filled=filled)
        for data, table in zip(read, form.tables, strict=True)
    ]


def _part(
    data: list[Decimal | str], table: Table, lang: Lang, places: int, *, filled: bool
) -> Part:
    width = len(table.columns)
    lines = []
    for index, row in enumerate(table.rows):
        cells = data[index * width : (index + 1) * width]
        if not filled or any(cell != "" for cell in cells):
            lines.append(printed_row(row, [_written(cell, lang, places) for cell in cells], lang))
    heads = [_head(column, lang) for column in table.columns]
    return Part(*table_name(table, lang), heads, lines)


def table_name(table: Table, lang: Lang) -> tuple[str, bool]:
    """Return the name of a table, and whether it is Slovak because the English one is missing."""
    english = table.name_en if lang == "en" else None
    name = english or table.name_sk or ""
    return name, lang == "en" and english is None and bool(name)


def printed_row(row: Row, values: list[str], lang: Lang) -> Line:
    """Return a row of a form with its values as shown."""
    english = lang == "en" and row.label_en is not None
    caption = row.label_en if english and row.label_en else row.label_sk
    number = "" if row.number is None else str(row.number)
    marked = lang == "en" and not english and bool(row.label_sk)
    return Line(number, row.mark or "", caption, marked, len(row.path), bool(row.terms), values)


def _head(column: Column, lang: Lang) -> tuple[str, str]:
    words = _WORDS[lang]
    header = column.header_en if lang == "en" and column.header_en else column.header_sk
    measure = words.get(column.measure or "", "")
    if column.measure == "other" or (column.period is None and column.measure is None):
        measure = header.rpartition(" / ")[2]
    return words.get(column.period or "", ""), measure


def _written(cell: Decimal | str, lang: Lang, places: int) -> str:
    """Return a cell as shown."""
    return cell if isinstance(cell, str) else amount(cell, lang, places)


def amount(value: float | Decimal, lang: Lang, places: int) -> str:
    """Return a number as shown, with a minus sign instead of a hyphen."""
    return number_format.decimal(value, lang, places).replace("-", "\u2212")


def _is_person(page: Mapping[str, object]) -> bool:
    form = page.get("pravnaForma")
    return form in _PERSONS if form else bool(page.get("miestoPodnikania"))


def _title(page: Mapping[str, Any], lang: Lang) -> list[tuple[str, str]]:
    words = _WORDS[lang]
    address = page.get("adresa") or page.get("miestoPodnikania") or {}
    street = " ".join(str(address[k]) for k in ("ulica", "cislo") if address.get(k))
    town = " ".join(str(address[k]) for k in ("psc", "mesto") if address.get(k))
    type_ = page.get("typZavierky") or ""
    ends = [_day(page.get(name), lang) for name in ("obdobieOd", "obdobieDo")]
    lines = [
        (words["unit"], page.get("nazovUctovnejJednotky")),
        (words["ico"], page.get("ico")),
        (words["dic"], page.get("dic")),
        (words["seat"], ", ".join(part for part in (street, town) if part)),
        (words["period"], " – ".join(end for end in ends if end)),
        (words["kind"], kind_text(str(type_), lang)),
        (words["compiled"], _day(page.get("datumZostavenia"), lang)),
        (words["approved"], _day(page.get("datumSchvalenia"), lang)),
    ]
    return [(name, str(value)) for name, value in lines if value]


def kind_text(kind: str, lang: Lang) -> str:
    """Return the kind of a statement in words; an unknown kind as filed."""
    return _KINDS[lang].get(kind, kind)


def _day(value: object, lang: Lang) -> str:
    return day_text(value, lang) if isinstance(value, date) else str(value or "")
