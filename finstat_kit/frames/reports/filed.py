"""A report as its form is printed: its lines in order, as text and as printable HTML."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import Lang
from finstat_kit.errors import invalid
from finstat_kit.frames.reports.cells import REASON_TEXTS, CellReader, checked
from finstat_kit.frames.reports.currency import EURO, of_reports
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import day_text
from finstat_kit.in_place import put
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import Column, Form, FormOf, Row, Table
from finstat_kit.protocol.untrusted import escape, shown

_CAPTION: Final = 56  # letters of a caption in a line of text
_INDENT: Final = 2  # per level
_GAP: Final = "  "
# A form with more rows than this is folded but for its first table.
_UNFOLDED: Final = 100
_PAGE: Final = (
    "body{font-family:system-ui,sans-serif;margin:2em auto;padding:0 1em;max-width:70em;color:#111;"
    "background:#fff}summary{list-style:none}svg{max-width:100%;height:auto;break-inside:avoid}footer{margin-top:2em;font-size:11px;color:#444}"
    ".fk-filed.fk-filed.fk-filed .b{max-height:none}@page{margin:14mm}"
    "@media print{body{margin:0;padding:0}}"
)
_UPRIGHT: Final = 6  # columns of numbers, at most, of a page that is printed upright
# Letters of numbers beside captions on A4, upright and across, in the letters of print; a column
# has some more as its margin.
_ROOM, _ROOM_ACROSS, _MARGIN = 68, 114, 2
_LONGEST: Final = 20  # letters of a line of a cell; longer ones are texts
_TEXT_CELL: Final = ";white-space:normal;min-width:11em"
_WORDS: Final = Words("filed")
_KINDS: Final = Words("kinds")
# Legal forms of natural persons: tradesmen, farmers, free professions.
_PERSONS: Final = frozenset(str(code) for code in range(100, 111))


class Line(NamedTuple):
    """A row as shown."""

    number: str
    mark: str
    caption: str
    marked: bool  # Slovak because the English caption is missing
    level: int
    is_sum: bool
    values: list[str]


class Part(NamedTuple):
    """A table as shown; its head has a line for the period and a line for the measure."""

    name: str
    marked: bool
    heads: list[tuple[str, str]]
    lines: list[Line]


@dataclass(repr=False, eq=False)
class Filed:
    """A report as filed: text when printed, a table in Jupyter.

    Attributes:
        heading: The form and the report.
        title: The title page, name and value.
        parts: The tables.
        notes: Units of the numbers, attachments, the reason if there are no numbers.
        lang: Language of captions and numbers.
        source: The register and its day, as it is cited.
        picture: A chart below the tables, as SVG; not in the text.
    """

    heading: str
    title: list[tuple[str, str]]
    parts: list[Part]
    notes: list[str]
    lang: Lang
    source: str = field(default="", kw_only=True)
    picture: str = field(default="", kw_only=True)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write a page for a browser: one file, complete, with the source at its foot.

        All rows are open, and it is printable, also to a PDF.

        Args:
            path: The file, such as ``"statement.html"``.

        Returns:
            The path written.

        Raises:
            UsageError: The path cannot be a file.
            RegisterError: The disk is full. An existing file stays unchanged.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> with fk.using(fk.sample()), tempfile.TemporaryDirectory() as folder:
            ...     fk.statement(365).to_html(f"{folder}/history.html").name
            'history.html'
        """
        target = arguments.path("path", path, "statement.html")
        put(as_page(self).encode(), target)
        return target


def as_filed(
    report: pl.DataFrame | pl.LazyFrame,
    form_of: FormOf,
    *,
    lang: Lang,
    filled: bool = False,
    title: bool | None = None,
) -> Filed:
    """Show a report laid out as its form; see `Register.as_filed`."""
    frame = _single_report(report)
    record = frame.row(0, named=True)
    words = _WORDS[lang]
    template = record["idSablony"]
    cells, without = CellReader(form_of, blanks=True).read(frame)
    form = form_of(template) if isinstance(template, int) and cells.height else None
    named = f"{words['report']} {record['id']}"
    heading = named[:1].upper() + named[1:]
    notes = []
    parts: list[Part] = []
    if form is not None:
        heading = form_name(form, lang, f", {named}")
        amounts = words["euro"]
        if (currency := frame.select(of_reports(frame.schema)).item()) != EURO:
            foreign = words["other"].format(currency=currency)
            # Named again: of several reports shown as one, the others may be in euro.
            heading, amounts = f"{heading}, {foreign}", f"{named}: {foreign}"
        parts = _parts_of(record[wire.TABLES], cells["value"], form, lang, filled=filled)
        if any(part.marked or any(line.marked for line in part.lines) for part in parts):
            notes.append(words["only_sk"])
        notes.insert(0, amounts + (f", {words['filled']}" if filled else ""))
    else:
        reasons = ", ".join(
            REASON_TEXTS[lang][why] for why in without["reason"].unique(maintain_order=True)
        )
        notes.append(f"{words['none']}: {reasons}")
    attached: list[dict[str, object]] = record.get("prilohy") or []
    files = [str(file.get("meno") or file.get("id")) for file in attached]
    if files:
        notes.append(f"{words['files']}: {', '.join(files)}")
    page: dict[str, object] = record.get("titulnaStrana") or {}
    has_title = title if title is not None else not _is_person(page)
    if page and not has_title and title is None:
        notes.append(words["person"])
    return Filed(heading, _title_lines(page, lang) if has_title else [], parts, notes, lang)


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


def form_name(form: Form, lang: Lang, after: str = "") -> str:
    """Return the name of a form, and that its English is a translation if it is."""
    translated = _WORDS[lang]["translated"] if form.translated else ""
    return f"{form.name or ''} ({form.id}){after}{translated}".strip()


def _single_report(report: object) -> pl.DataFrame:
    frame = given_frames.collected("report", report)
    checked(frame, "report")
    if frame.height != 1:
        raise invalid(
            "report",
            ...,
            f": the frame has {frame.height} rows",
            give="one report, such as reports.filter(id=5), or those of one statement",
        )
    return frame


def _parts_of(
    tables: object, values: pl.Series, form: Form, lang: Lang, *, filled: bool
) -> list[Part]:
    """Return the tables; *values* are the numbers of all cells, null for other texts."""
    assert isinstance(tables, list)
    numbers = iter(values)
    # Numbers are shown with every digit, other texts as filed.
    cells: list[list[Decimal | str]] = [
        [text or "" if next(numbers) is None else Decimal(text) for text in data] for data in tables
    ]
    cents = ("." in str(cell) for data in cells for cell in data if isinstance(cell, Decimal))
    places = 2 if any(cents) else 0
    return [
        _part_of(data, table, lang, places, filled=filled)
        for data, table in zip(cells, form.tables, strict=True)
    ]


def _part_of(
    data: list[Decimal | str], table: Table, lang: Lang, places: int, *, filled: bool
) -> Part:
    width = len(table.columns)
    lines = []
    for index, row in enumerate(table.rows):
        cells = data[index * width : (index + 1) * width]
        if not filled or any(cell != "" for cell in cells):
            lines.append(printed_row(row, [amount(cell, lang, places) for cell in cells], lang))
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


def amount(value: float | Decimal | str, lang: Lang, places: int) -> str:
    """Return a number as shown, with a minus sign instead of a hyphen; other texts as filed."""
    if isinstance(value, str):
        return value
    return number_format.decimal(value, lang, places).replace("-", "\u2212")


def _is_person(page: Mapping[str, object]) -> bool:
    form = page.get("pravnaForma")
    return form in _PERSONS if form else bool(page.get("miestoPodnikania"))


def _title_lines(page: Mapping[str, Any], lang: Lang) -> list[tuple[str, str]]:
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


def as_text(filed: Filed) -> str:
    """Return a report as text; captions are wrapped, numbers aligned."""
    blocks = [shown(filed.heading, None)]
    if filed.title:
        names = max(len(name) for name, _ in filed.title)
        blocks.append("\n".join(
            shown(f"{name:<{names}}  {value}", None) for name, value in filed.title
        ))  # fmt: skip
    blocks += [_text_of_part(part) for part in filed.parts]
    if filed.notes:
        blocks.append("\n".join(shown(note, None) for note in filed.notes))
    return "\n\n".join(blocks)


def _text_of_part(part: Part) -> str:
    numbers = max((len(line.number) for line in part.lines), default=0)
    marks = max((len(line.mark) for line in part.lines), default=0)
    margin, widths = numbers + marks + 2 * len(_GAP) + _CAPTION, _widths(part)
    rows = [shown(part.name + (" [sk]" if part.marked else ""), None)]
    periods, measures = [period for period, _ in part.heads], [m for _, m in part.heads]
    above = "".join(
        _GAP + f"{period:>{sum(widths[start:end]) + len(_GAP) * (end - start - 1)}}"
        for period, start, end in _groups(periods)
    )
    rows += [" " * margin + above] if any(periods) else []
    rows += [(" " * margin + _GAP + _aligned(measures, widths)).rstrip()] if any(measures) else []
    rows.append("─" * (margin + sum(widths) + len(_GAP) * len(widths)))
    for line in part.lines:
        indent = " " * (_INDENT * line.level)
        caption = shown(line.caption, None) + (" [sk]" if line.marked else "")
        first, *others = textwrap.wrap(indent + caption, _CAPTION, subsequent_indent=indent) or [""]
        first = f"{line.number:>{numbers}}{_GAP}{line.mark:<{marks}}{_GAP}{first}"
        values = _aligned([shown(value, None) for value in line.values], widths)
        rows.append(f"{first:<{margin}}{_GAP}{values}".rstrip())
        rows += [" " * (margin - _CAPTION) + rest for rest in others]
    return "\n".join(rows)


def _widths(part: Part) -> list[int]:
    """Return the widths of the columns; a period spans all columns of its group."""
    widths = [
        max([len(line.values[place]) for line in part.lines] + [len(measure)])
        for place, (_, measure) in enumerate(part.heads)
    ]
    for period, start, end in _groups([period for period, _ in part.heads]):
        room = sum(widths[start:end]) + len(_GAP) * (end - start - 1)
        widths[end - 1] += max(len(period) - room, 0)
    return widths


def _groups(words: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each run of the same word with its start and end."""
    start = 0
    for word, same in groupby(words):
        end = start + len(list(same))
        yield word, start, end
        start = end


def _aligned(words: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(f"{word:>{width}}" for word, width in zip(words, widths, strict=True))


def as_page(filed: Filed) -> str:
    """Return a report as a page of its own, that prints on A4 with nothing cut off."""
    is_broad = any(len(part.heads) > _UPRIGHT for part in filed.parts)
    size = f"@page{{size:A4{' landscape' if is_broad else ''}}}"
    room = _ROOM_ACROSS if is_broad else _ROOM
    parts = [block for part in filed.parts for block in _blocks(part, room)]
    filed = replace(filed, parts=parts)
    return (
        f'<!DOCTYPE html>\n<html lang="{filed.lang}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(filed.heading)}</title><style>{_PAGE}{size}</style></head>"
        f"<body>{as_html(filed, whole=True)}<footer>{escape(filed.source)}</footer></body></html>\n"
    )


def _blocks(part: Part, room: int) -> list[Part]:
    """Return a table in as many parts, one below the other, as its columns need."""
    starts, taken = [0], 0
    for place, head in enumerate(part.heads):
        texts = [word for text in head for word in text.split()]
        texts += [line.values[place] for line in part.lines]
        width = min(max(map(len, texts), default=0), _LONGEST) + _MARGIN
        if taken and taken + width > room:
            starts.append(place)
            taken = 0
        taken += width
    if len(starts) == 1:
        return [part]
    return [
        part._replace(
            name=f"{part.name} ({place}/{len(starts)})",
            heads=part.heads[start:end],
            lines=[line._replace(values=line.values[start:end]) for line in part.lines],
        )
        for place, (start, end) in enumerate(pairwise([*starts, None]), start=1)
    ]


def as_html(filed: Filed, *, whole: bool = False) -> str:
    """Return a report as HTML in the colours of the page.

    Args:
        filed: The report.
        whole: Whether all rows are shown, with no box to scroll in and nothing folded.
    """
    head = f'<div style="font-size:1.25em;font-weight:bold">{escape(filed.heading)}</div>'
    page = "".join(f"<dt>{escape(name)}</dt><dd>{escape(v)}</dd>" for name, v in filed.title)
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in filed.notes)
    long = not whole and sum(len(part.lines) for part in filed.parts) > _UNFOLDED
    tables = "".join(
        _table(part, filed.lang, folded=long and place > 0)
        for place, part in enumerate(filed.parts)
    )
    title = f"<dl>{page}</dl>" if page else ""
    # As wide as its columns need, beside captions that are read easily.
    width = 32 + 8 * max((len(part.heads) for part in filed.parts), default=4)
    return (
        f"<style>{_style()}</style>"
        f'<section class="fk-filed" lang="{filed.lang}" style="max-width:{width}em">'
        f"{head}{title}{tables}{filed.picture}{notes}</section>"
    )


@cache
def _style() -> str:
    css = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|\n *", "", css, flags=re.DOTALL)


def _table(part: Part, lang: Lang, *, folded: bool) -> str:
    groups = _groups([period for period, _ in part.heads])
    lines = [
        "".join(
            f'<th scope="colgroup" colspan="{end - start}">{escape(period)}</th>'
            for period, start, end in groups
        )
    ]
    if any(measure for _, measure in part.heads):
        lines.append("".join(f'<th scope="col">{escape(m)}</th>' for _, m in part.heads))
    empty = "<td></td>" * 3
    head = "".join(f"<tr>{empty}{line}</tr>" for line in lines)
    body = "".join(_html_row(line) for line in part.lines)
    rows = number_format.with_noun(len(part.lines), "rows", lang)
    name = escape(part.name)
    return (
        f"<details{'' if folded else ' open'}>"
        f"<summary>{_html_caption(part.name, marked=part.marked)} <small>({rows})</small>"
        f'</summary><div class="b" tabindex="0" role="region" aria-label="{name}">'
        f'<table aria-label="{name}"><thead>{head}</thead><tbody>{body}</tbody></table></div>'
        "</details>"
    )


def _html_caption(text: str, *, marked: bool) -> str:
    text = escape(text)
    return f'<i lang="sk">{text}</i> <small>[sk]</small>' if marked else text


def _html_row(line: Line) -> str:
    caption = _html_caption(line.caption, marked=line.marked)
    # In a notebook that is not trusted, JupyterLab drops the style sheet and keeps these.
    styles = ["text-align:right" + _TEXT_CELL * (len(value) > _LONGEST) for value in line.values]
    values = "".join(
        f'<td style="{style}">{escape(value)}</td>'
        for style, value in zip(styles, line.values, strict=True)
    )
    strong = ' class="s"' if line.is_sum else ""
    return (
        f"<tr{strong}><td>{escape(line.number)}</td>"
        f'<td class="m" style="text-align:left">{escape(line.mark)}</td>'
        f'<th scope="row" style="padding-left:{0.4 + line.level:g}em;text-align:left">'
        f"{caption}</th>{values}</tr>"
    )
