"""What an explorer shows: title, numbers, chart and table, as one piece of HTML."""

from __future__ import annotations

import base64
import threading
from dataclasses import dataclass
from datetime import date
from html import escape
from io import BytesIO
from typing import Final

import polars as pl
from matplotlib.figure import Figure

from finstat_kit.arguments import By, Lang
from finstat_kit.client.register import Register
from finstat_kit.client.sample import Sample
from finstat_kit.frames import number_format
from finstat_kit.protocol.wire import BY_FIELD
from finstat_kit.widgets.base import table
from finstat_kit.widgets.texts import since_text, words

_TOP: Final = 20  # bars; the table has all rows
_IN_WORDS: Final = 5  # rows that the picture's text tells
_DPI: Final = 144
# matplotlib's fonts are shared by all figures and not made for threads.
_drawing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Shown:
    """A selection, ready to be shown."""

    counts: pl.DataFrame  # of `count_by`
    by: By  # the column counted
    place: str | None  # name of what is chosen
    narrowed: bool  # False where a municipality is chosen: nothing is below it
    day: date | None
    source: str
    lang: Lang

    @property
    def title(self) -> str:
        """Say what is counted by what, and where."""
        said = words(self.lang)
        what = f"{said.units} {said.by[self.by]}" if self.narrowed else said.units
        return f"{self.place}: {what[0].lower()}{what[1:]}" if self.place else what

    @property
    def summary(self) -> str:
        """Say how many units, changed since when, of which register."""
        number = number_format.whole(int(self.counts["count"].sum()), self.lang)
        units = words(self.lang).number_of_units.format(n=number)
        return " · ".join((units, since_text(self.day, self.lang), self.source))


def source(register: Register, lang: Lang) -> str:
    """Name the source of the data; of a sample also its size and day."""
    name = register._source_name(lang)
    return f"{name} ({register!r})" if isinstance(register, Sample) else name


def panel(shown: Shown) -> str:
    """Return title, summary, chart and table."""
    return (
        f'<section lang="{shown.lang}" aria-label="{escape(shown.title)}">{_head(shown)}'
        '<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">'
        f"{_picture(shown)}{_scrolling(shown)}</div></section>"
    )


def static(shown: Shown) -> str:
    """Return what a saved notebook keeps: the same without the chart."""
    return _head(shown) + _table(shown)


def _head(shown: Shown) -> str:
    nothing = "" if shown.counts.height else f"<p>{escape(words(shown.lang).nothing)}</p>"
    title = f'<div style="font-size:1.2em;font-weight:bold">{escape(shown.title)}</div>'
    return f"{title}<div>{escape(shown.summary)}</div>{nothing}"


def _table(shown: Shown) -> str:
    if not shown.counts.height:
        return ""
    said = words(shown.lang)
    head = [said.levels[BY_FIELD[shown.by].label], said.code, said.units, said.share]
    rows = [
        [
            _label(row, shown.lang),
            row["code"] or "",
            number_format.whole(row["count"], shown.lang),
            number_format.percent(row["share"], shown.lang),
        ]
        for row in shown.counts.iter_rows(named=True)
    ]
    return table(head, rows, numbers=2)


def _scrolling(shown: Shown) -> str:
    # In the order of the Tab key, so that the keyboard can scroll it.
    box = "max-height:30em;overflow:auto;padding-right:1em"
    name = escape(shown.title)
    inner = _table(shown)
    return (
        inner and f'<div tabindex="0" role="region" aria-label="{name}" style="{box}">{inner}</div>'
    )


def _label(row: dict[str, object], lang: Lang) -> str:
    if row["kind"] == "labelled":
        return str(row["label"] or row["code"])
    return f"({words(lang).kinds[str(row['kind'])]})"


def _picture(shown: Shown) -> str:
    if not shown.counts.height:
        return ""
    image, width, height = _drawn(shown)
    return (
        f'<figure style="margin:0"><img alt="{escape(_in_words(shown))}" width="{width}" '
        f'height="{height}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{base64.b64encode(image).decode()}"></figure>'
    )


def _in_words(shown: Shown) -> str:
    rows = list(shown.counts.head(_IN_WORDS).iter_rows(named=True))
    told = [
        f"{_label(row, shown.lang)}: {number_format.whole(row['count'], shown.lang)}"
        for row in rows
    ]
    more = " …" if shown.counts.height > len(rows) else ""
    return words(shown.lang).chart.format(title=shown.title, rows="; ".join(told) + more)


def _drawn(shown: Shown) -> tuple[bytes, int, int]:
    """Return the chart as PNG, with its width and height in pixels of a page."""
    from finstat_kit.charts.bars import plot_counts

    with _drawing:
        # No pyplot: it keeps one current figure for all threads.
        figure = Figure(figsize=(7, 0.7 + 0.27 * max(_bars(shown.counts), 3)), layout="constrained")
        axes = plot_counts(
            shown.counts, by=shown.by, lang=shown.lang, top=_TOP, ax=figure.add_subplot()
        )
        axes.set_title("")  # the page says it above, with the place, for everybody
        file = BytesIO()
        figure.savefig(file, format="png", dpi=_DPI, metadata={"Software": None})
    width, height = figure.get_size_inches() * 96
    return file.getvalue(), round(width), round(height)


def _bars(counts: pl.DataFrame) -> int:
    """Return how many bars there will be: a rest in one, and one for each kind without labels."""
    labelled = int((counts["kind"] == "labelled").sum())
    return min(labelled, _TOP + 1) + counts["kind"].n_unique() - min(labelled, 1)
