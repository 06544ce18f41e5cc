"""A printed form: its lines, shown as text and as printable HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from finstat_kit.arguments import Lang
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.protocol.outcome import shown

_CAPTIONS: Final = (24, 56)  # letters of a caption in a line of text, at least and at most
_INDENT: Final = 2  # per level
_GAP: Final = "  "
# A form with more rows than this is folded but for its first table.
_UNFOLDED: Final = 100


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


class Filed:
    """A report as filed: text when printed, a table in Jupyter.

    Attributes:
        heading: The form and the report.
        title: The title page, name and value.
        parts: The tables.
        notes: Units of the numbers, attachments, the reason if there are no numbers.
        lang: Language of captions and numbers.
    """

    def __init__(
        self,
        heading: str,
        title: list[tuple[str, str]],
        parts: list[Part],
        notes: list[str],
        lang: Lang,
    ) -> None:
        self.heading = heading
        self.title = title
        self.parts = parts
        self.notes = notes
        self.lang = lang

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def text(filed: Filed, width: int | None = None) -> str:
    """Return a report as text; captions are wrapped, numbers aligned.

    Args:
        filed: The report.
        width: Letters of a line, as far as captions can be wrapped to it; None is any number.
    """
    blocks = [shown(filed.heading, None)]
    if filed.title:
        names = max(len(name) for name, _ in filed.title)
        blocks.append("\n".join(f"{name:<{names}}  {shown(v, None)}" for name, v in filed.title))
    blocks += [_part(part, width) for part in filed.parts]
    if filed.notes:
        blocks.append("\n".join(shown(note, None) for note in filed.notes))
    return "\n\n".join(blocks)


def _part(part: Part, width: int | None) -> str:
    numbers = max((len(line.number) for line in part.lines), default=0)
    marks = max((len(line.mark) for line in part.lines), default=0)
    widths = _widths(part)
    before = numbers + len(_GAP) + marks + len(_GAP)
    least, most = _CAPTIONS
    room = most if width is None else width - before - sum(widths) - len(_GAP) * len(widths)
    captions = min(max(room, least), most)
    left = before + captions
    rows = [shown(part.name, None) + (" [sk]" if part.marked else "")]
    periods, measures = [period for period, _ in part.heads], [m for _, m in part.heads]
    above = "".join(
        _GAP + f"{period:>{sum(widths[start:end]) + len(_GAP) * (end - start - 1)}}"
        for period, start, end in _groups(periods)
    )
    rows += [" " * left + above] if any(periods) else []
    rows += [(" " * left + _GAP + _aligned(measures, widths)).rstrip()] if any(measures) else []
    rows.append("─" * (left + sum(widths) + len(_GAP) * len(widths)))
    for line in part.lines:
        indent = " " * (_INDENT * line.level)
        caption = shown(line.caption, None) + (" [sk]" if line.marked else "")
        wrapped = textwrap.wrap(indent + caption, captions, subsequent_indent=indent) or [""]
        first = f"{line.number:>{numbers}}{_GAP}{line.mark:<{marks}}{_GAP}"
        cells = [shown(value, None) for value in line.values]
        rows.append(f"{first}{wrapped[0]:<{captions}}{_GAP}{_aligned(cells, widths)}".rstrip())
        rows += [" " * len(first) + rest for rest in wrapped[1:]]
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


def html(filed: Filed) -> str:
    """Return a report as HTML in the colours of the page."""
    head = f'<div style="font-size:1.25em;font-weight:bold">{escape(filed.heading)}</div>'
    page = "".join(f"<dt>{escape(name)}</dt><dd>{escape(v)}</dd>" for name, v in filed.title)
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in filed.notes)
    long = sum(len(part.lines) for part in filed.parts) > _UNFOLDED
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
        f"{head}{title}{tables}{notes}</section>"
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
    body = "".join(_row(line) for line in part.lines)
    rows = number_format.with_noun(len(part.lines), "rows", lang)
    name = escape(part.name)
    return (
        f"<details{'' if folded else ' open'}><summary>{_named(part)} <small>({rows})</small>"
        f'</summary><div class="b" tabindex="0" role="region" aria-label="{name}">'
        f'<table aria-label="{name}"><thead>{head}</thead><tbody>{body}</tbody></table></div>'
        "</details>"
    )


def _named(part: Part) -> str:
    name = escape(part.name)
    return f'<i lang="sk">{name}</i> <small>[sk]</small>' if part.marked else name


def _row(line: Line) -> str:
    caption = escape(line.caption)
    if line.marked:
        caption = f'<i lang="sk">{caption}</i> <small>[sk]</small>'
    # In a notebook that is not trusted, JupyterLab drops the style sheet and keeps these.
    values = "".join(f'<td style="text-align:right">{escape(value)}</td>' for value in line.values)
    strong = ' class="s"' if line.is_sum else ""
    return (
        f"<tr{strong}><td>{escape(line.number)}</td>"
        f'<td class="m" style="text-align:left">{escape(line.mark)}</td>'
        f'<th scope="row" style="padding-left:{0.4 + line.level:g}em;text-align:left">'
        f"{caption}</th>{values}</tr>"
    )
