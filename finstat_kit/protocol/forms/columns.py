"""The columns of a form's table, read from its header by which cells cover them.

A header cell starts at a column and covers as many columns as it is wide. The text of a data column
is all cells above it, top to bottom; the last line of a header numbers the columns by letters and
digits, which carry no meaning.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

PERIODS: Final = ("current", "previous")
MEASURES: Final = (
    "gross", "correction", "net", "main", "business", "total", "untaxed", "taxed", "other",
)  # fmt: skip

_ORDINAL: Final = re.compile(r"[a-z]|[0-9]{1,3}[a-z]?", re.IGNORECASE)
_PREVIOUS: Final = re.compile(r"predch|20\s*xx\s*-\s*1", re.IGNORECASE)
# A budget belongs to the year in the cell beside it.
_CURRENT: Final = re.compile(r"bežn|20\s*xx|rozpočet", re.IGNORECASE)
# Table names that end like this: "BS_BUO", "PL_PUO".
_IN_THE_NAME: Final = {"buo": "current", "puo": "previous"}
# Words that name no measure: a period, or that there are figures.
_NEUTRAL: Final = re.compile(
    r".*(predch|bežn|20\s*xx|skutočnosť).*|účtovné obdobie|stav|hodnota",
    re.IGNORECASE | re.DOTALL,
)
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
    header: Sequence[HeaderCell], all_columns: int, data_columns: int, name: str | None = None
) -> tuple[Column, ...]:
    """Return the data columns of a table, which are its last ones.

    Args:
        header: Its cells.
        all_columns: Number of columns, those of labels included.
        data_columns: Number of columns to return.
        name: Name of the table, which in some forms names the period.
    """
    last = max((cell.line for cell in header), default=0)
    telling = [c for c in header if c.sk and not (c.line == last and _ORDINAL.fullmatch(c.sk))]
    first = all_columns - data_columns + 1
    unfinished = []
    for number in range(first, first + data_columns):
        above = [c for c in telling if c.column <= number < c.column + c.width]
        above.sort(key=lambda cell: cell.line)
        english = [cell.en for cell in above if cell.en]
        texts = [cell.sk for cell in above]
        unfinished.append(
            Column(
                _period(" ".join(texts)),
                _measure(texts),
                " / ".join(texts),
                " / ".join(english) if above and len(english) == len(above) else None,
            )
        )
    period = _IN_THE_NAME.get((name or "").rpartition("_")[2].strip().lower())
    return tuple(_completed(c if c.period else c._replace(period=period) for c in unfinished))


def _period(text: str) -> str | None:
    if _PREVIOUS.search(text):
        return "previous"
    return "current" if _CURRENT.search(text) else None


def _measure(texts: Sequence[str]) -> str | None:
    whole = " ".join(texts)
    for measure, words in _MEASURE_WORDS:
        if words.search(whole):
            return measure
    return "other" if any(not _NEUTRAL.fullmatch(text) for text in texts) else None


def _completed(columns: Iterable[Column]) -> list[Column]:
    """Complete columns from their neighbours.

    Columns without a period beside a previous one are current, where no other is. A lone previous
    column beside current ones is of the kind of the last of them: the net of gross, correction and
    net, the total of two activities. Of several columns with the same period and measure only the
    total of all keeps it.
    """
    completed = list(columns)
    periods = {column.period for column in completed}
    if "previous" in periods and "current" not in periods:
        completed = [c if c.period else c._replace(period="current") for c in completed]
    current = [column for column in completed if column.period == "current"]
    previous = [index for index, column in enumerate(completed) if column.period == "previous"]
    if current and len(previous) == 1 and completed[previous[0]].measure is None:
        completed[previous[0]] = completed[previous[0]]._replace(measure=current[-1].measure)
    same = defaultdict[tuple[str | None, str | None], list[int]](list)
    for index, column in enumerate(completed):
        same[column.period, column.measure].append(index)
    for (_, measure), places in same.items():
        if measure is None or len(places) == 1:
            continue
        # "Spolu" under fewer headings than "Životné poistenie / Spolu".
        depths = {
            index: completed[index].header_sk.count(" / ")
            for index in places
            if "spolu" in completed[index].header_sk.lower()
        }
        above = [index for index in depths if depths[index] == min(depths.values())]
        for index in places:
            if above != [index]:
                completed[index] = completed[index]._replace(measure="other")
    return completed
