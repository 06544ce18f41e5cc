"""The panel of an explorer: title, numbers, chart and table, as one piece of HTML."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from finstat_kit.arguments import By, Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.values import drawn_table
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.frames.text import number_format
from finstat_kit.protocol.untrusted import escape
from finstat_kit.protocol.wire import BY_FIELD
from finstat_kit.widgets.controls.base import heading, scrolling, table
from finstat_kit.widgets.html import drawn
from finstat_kit.widgets.texts import since_text, words

_IN_WORDS: Final = 5  # rows that the chart's text names


@dataclass(frozen=True, slots=True)
class Shown:
    """A selection, ready to be shown."""

    table: DrawnTable  # the selection counted
    by: By  # the column counted
    place: str | None  # name of the chosen place
    narrowed: bool  # False for a municipality: no level is below it
    day: date | None
    given: int | None  # number of records given; None if the register's are shown
    source: str
    lang: Lang

    @property
    def title(self) -> str:
        """The heading: units by a level, and the place."""
        return title(self.by if self.narrowed else None, self.place, self.lang)

    @property
    def extent(self) -> str:
        """The day of change, and the number of records given."""
        parts = []
        if self.given is None or self.day is not None:
            parts.append(since_text(self.day, self.lang))
        if self.given is not None:
            number = number_format.whole(self.given, self.lang)
            parts.append(words(self.lang)["of_given"].format(n=number))
        return " · ".join(parts)

    @property
    def summary(self) -> str:
        """The number of units, their extent, and the source."""
        units = number_format.units(int(self.table.rows["value"].sum()), self.lang)
        return f"{units} · {self.extent} · {self.source}"


def title(by: str | None, place: str | None, lang: Lang) -> str:
    """Return the heading: units by a column, and the place."""
    units = words(lang)["units"]
    what = f"{units} {words(lang, 'by')[by]}" if by else units
    return f"{place}: {what[0].lower()}{what[1:]}" if place else what


def head(shown: Shown) -> str:
    """Return title and summary, and a line for an empty selection."""
    nothing = "" if shown.table.rows.height else f"<p>{escape(words(shown.lang)['nothing'])}</p>"
    return heading(shown.title, shown.summary) + nothing


def panel(shown: Shown, view: str) -> str:
    """Return the counts once: as bars or, in the view ``table``, as a table."""
    if not shown.table.rows.height:
        return ""
    bars = drawn.bars(shown.table, _in_words(shown))
    drawn_counts = _table(shown) if view == "table" else bars
    box = scrolling(shown.title, "max-height:26em;", drawn_counts)
    return f'<section lang="{shown.lang}" aria-label="{escape(shown.title)}">{box}</section>'


def folded_table(shown: Shown) -> str:
    """Return the table as a line that a click unfolds, without a kernel."""
    summary = words(shown.lang, "views")["table"]
    return f"<details><summary>{summary}</summary>{_table(shown)}</details>"


def _table(shown: Shown) -> str:
    if not shown.table.rows.height:
        return ""
    texts = words(shown.lang)
    head = [
        words(shown.lang, "levels")[BY_FIELD[shown.by].label],
        texts["code"],
        texts["units"],
        texts["share"],
    ]
    counts = shown.table
    shares = drawn_table.beside(counts.rows, shown.lang)
    rows = [
        [_label(row, shown.lang), row["code"] or "", counts.write(row["value"], 0), share]
        for row, share in zip(counts.rows.iter_rows(named=True), shares, strict=True)
    ]
    return table(head, rows, numbers=2)


def _label(row: dict[str, object], lang: Lang) -> str:
    if row["kind"] == "labelled":
        return str(row["label"] or row["code"])
    return f"({drawing.WORDS[lang][str(row['kind'])]})"


def _in_words(shown: Shown) -> str:
    counts = shown.table
    rows = list(counts.rows.head(_IN_WORDS).iter_rows(named=True))
    texts = [f"{_label(row, shown.lang)}: {counts.write(row['value'], 0)}" for row in rows]
    more = " …" if counts.rows.height > len(rows) else ""
    return words(shown.lang)["chart"].format(title=shown.title, rows="; ".join(texts) + more)
