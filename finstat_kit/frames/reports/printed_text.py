"""A report as filed, as text and as printable HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from finstat_kit.protocol.outcome import shown

if TYPE_CHECKING:
    from finstat_kit.frames.reports.printed_form import Filed, Line, Part

_CAPTION: Final = 56  # letters of a caption in a line of text
_INDENT: Final = 2  # per level
_GAP: Final = "  "
_STYLE: Final = (
    "<style>"
    ".fk-filed{max-width:62em;font-size:13px;line-height:1.35}"
    ".fk-filed table{border-collapse:collapse;margin:0.6em 0 1.2em;width:100%}"
    ".fk-filed caption{text-align:left;font-weight:bold;font-size:1.1em;padding:0.3em 0}"
    ".fk-filed thead{border-top:2px solid;border-bottom:1px solid}"
    ".fk-filed tbody{border-bottom:2px solid}"
    ".fk-filed tbody tr{border-top:1px solid color-mix(in srgb,currentColor 15%,transparent);"
    "break-inside:avoid}"
    ".fk-filed th,.fk-filed td{padding:2px 6px;vertical-align:top;text-align:left}"
    ".fk-filed thead th{font-weight:normal;text-align:right;vertical-align:bottom}"
    ".fk-filed td.v{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".fk-filed tr.s>*{font-weight:bold}"
    ".fk-filed tbody th{font-weight:normal}"
    ".fk-filed dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1em;margin:0.4em 0}"
    ".fk-filed dd{margin:0}"
    "</style>"
)


def text(filed: Filed) -> str:
    """Return a report as text; captions are wrapped, numbers aligned."""
    blocks = [shown(filed.heading, None)]
    if filed.title:
        width = max(len(name) for name, _ in filed.title)
        blocks.append("\n".join(f"{name:<{width}}  {shown(v, None)}" for name, v in filed.title))
    blocks += [_part(part) for part in filed.parts]
    if filed.notes:
        blocks.append("\n".join(shown(note, None) for note in filed.notes))
    return "\n\n".join(blocks)


def _part(part: Part) -> str:
    numbers = max((len(line.number) for line in part.lines), default=0)
    marks = max((len(line.mark) for line in part.lines), default=0)
    widths = _widths(part)
    left = numbers + len(_GAP) + marks + len(_GAP) + _CAPTION
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
        wrapped = textwrap.wrap(indent + caption, _CAPTION, subsequent_indent=indent) or [""]
        first = f"{line.number:>{numbers}}{_GAP}{line.mark:<{marks}}{_GAP}"
        cells = [shown(value, None) for value in line.values]
        rows.append(f"{first}{wrapped[0]:<{_CAPTION}}{_GAP}{_aligned(cells, widths)}".rstrip())
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
    tables = "".join(_table(part) for part in filed.parts)
    title = f"<dl>{page}</dl>" if page else ""
    return (
        f'{_STYLE}<section class="fk-filed" lang="{filed.lang}">{head}{title}{tables}{notes}'
        "</section>"
    )


def _table(part: Part) -> str:
    groups = _groups([period for period, _ in part.heads])
    lines = [
        "".join(
            f'<th scope="colgroup" colspan="{end - start}">{escape(period)}</th>'
            for period, start, end in groups
        )
    ]
    if any(measure for _, measure in part.heads):
        lines.append("".join(f'<th scope="col">{escape(m)}</th>' for _, m in part.heads))
    empty = f'<td rowspan="{len(lines)}"></td>' * 3
    head = "".join(
        f"<tr>{empty if place == 0 else ''}{line}</tr>" for place, line in enumerate(lines)
    )
    body = "".join(_row(line) for line in part.lines)
    return (
        f"<table><caption>{_named(part)}</caption><thead>{head}</thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _named(part: Part) -> str:
    name = escape(part.name)
    return f'<i lang="sk">{name}</i> <small>[sk]</small>' if part.marked else name


def _row(line: Line) -> str:
    caption = escape(line.caption)
    if line.marked:
        caption = f'<i lang="sk">{caption}</i> <small>[sk]</small>'
    values = "".join(
        f'<td class="v" style="text-align:right">{escape(value)}</td>' for value in line.values
    )
    strong = ' class="s"' if line.is_sum else ""
    return (
        f'<tr{strong}><td style="text-align:right">{escape(line.number)}</td>'
        f'<td style="white-space:nowrap">{escape(line.mark)}</td>'
        f'<th scope="row" style="padding-left:{0.4 + line.level:g}em;text-align:left">'
        f"{caption}</th>{values}</tr>"
    )
