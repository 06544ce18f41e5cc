"""The columns of a form's table, read from its header by which cells cover them.

A header cell stands at a column and covers as many as it is wide. The text of a data column is all
cells above it, top to bottom; the last line of a header numbers the columns by letters and digits,
which carry no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

PERIODS: Final = ("current", "previous")
MEASURES: Final = (
    "gross", "correction", "net", "main", "business", "total", "untaxed", "taxed", "other",
)  # fmt: skip

_ORDINAL: Final = re.compile(r"[a-z]|[0-9]{1,3}[a-z]?", re.IGNORECASE)
_PREVIOUS: Final = re.compile(r"predch|20\s*xx\s*-\s*1", re.IGNORECASE)
_CURRENT: Final = re.compile(r"bežn|20\s*xx", re.IGNORECASE)
_ACTUAL: Final = re.compile(r"skutočnosť", re.IGNORECASE)
# The first that matches: "Hlavná nezdaňovaná" is the main activity.
_MEASURE_WORDS: Final = tuple(
    (measure, re.compile(words, re.IGNORECASE))
    for measure, words in (
        ("gross", "brutto"),
        ("correction", "korekci|oprávk"),
        ("net", "netto"),
        ("main", "hlavn"),
        ("business", "podnikateľsk"),
        ("total", "spolu"),
        ("untaxed", "nezdaň"),
        ("taxed", "zdaň"),
    )
)


class HeaderCell(NamedTuple):
    """A cell of a header; lines and columns are counted from 1."""

    line: int
    column: int
    width: int
    sk: str
    en: str | None


class Column(NamedTuple):
    """A data column of a table.

    Attributes:
        period: One of `PERIODS`, None where the header names none.
        measure: One of `MEASURES`, None where the header names nothing but a period.
        header_sk: All header cells above it, top to bottom, joined by `` / ``.
        header_en: The same in English, None where one of them has none.
    """

    period: str | None
    measure: str | None
    header_sk: str
    header_en: str | None


def columns(
    header: Sequence[HeaderCell], all_columns: int, data_columns: int
) -> tuple[Column, ...]:
    """Return the data columns of a table, which are its last ones."""
    last = max((cell.line for cell in header), default=0)
    telling = [c for c in header if c.sk and not (c.line == last and _ORDINAL.fullmatch(c.sk))]
    first = all_columns - data_columns + 1
    found = []
    for place in range(first, first + data_columns):
        above = [c for c in telling if c.column <= place < c.column + c.width]
        above.sort(key=lambda cell: cell.line)
        english = [cell.en for cell in above if cell.en]
        texts = [cell.sk for cell in above]
        found.append(
            Column(
                _period(" ".join(texts)),
                _measure(texts),
                " / ".join(texts),
                " / ".join(english) if above and len(english) == len(above) else None,
            )
        )
    return tuple(_completed(found))


def _period(text: str) -> str | None:
    if _PREVIOUS.search(text):
        return "previous"
    return "current" if _CURRENT.search(text) else None


def _measure(texts: Sequence[str]) -> str | None:
    whole = " ".join(texts)
    for measure, words in _MEASURE_WORDS:
        if words.search(whole):
            return measure
    neutral = (_PREVIOUS, _CURRENT, _ACTUAL)
    unknown = [text for text in texts if not any(words.search(text) for words in neutral)]
    return "other" if unknown else None


def _completed(found: Iterable[Column]) -> list[Column]:
    """Complete columns from their neighbours.

    Columns without a period beside a previous one are current, where no other is. A lone previous
    column beside several current ones is of the kind of the last of them: the net of gross,
    correction and net, the total of two activities. Of several columns with the same period and
    measure only the total keeps it.
    """
    settled = list(found)
    periods = {column.period for column in settled}
    if "previous" in periods and "current" not in periods:
        settled = [c if c.period else c._replace(period="current") for c in settled]
    now = [column for column in settled if column.period == "current"]
    before = [place for place, column in enumerate(settled) if column.period == "previous"]
    if len(now) > 1 and len(before) == 1 and settled[before[0]].measure is None:
        settled[before[0]] = settled[before[0]]._replace(measure=now[-1].measure)
    kinds = [(column.period, column.measure) for column in settled]
    for place, column in enumerate(settled):
        shared = column.measure is not None and kinds.count(kinds[place]) > 1
        if shared and "spolu" not in column.header_sk.lower():
            settled[place] = column._replace(measure="other")
    return settled
