"""Figures for charts: the rows drawn, the name of a value, and its text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import polars as pl
from matplotlib.ticker import Formatter

from finstat_kit.arguments import Lang
from finstat_kit.errors import invalid
from finstat_kit.frames.financials import items, ratios
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.findings import values
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.reports.cells import REASON_TEXTS
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import Noun

_DECIMAL_SIGN: Final[dict[Lang, str]] = {"sk": ",", "en": "."}
_NOUGHTS: Final = {
    lang: re.compile(rf"(?:[{sign}]|([{sign}][0-9]*[1-9]))0+(?![0-9])")
    for lang, sign in _DECIMAL_SIGN.items()
}
_MICRO: Final = 687  # the form that holds accruals in other rows than the others do
_CHANGES: Final = ("growth", "change", "before")  # the ends of the columns of `growth`
_MORE: Final = 15  # decimals, at most, that the values on an axis have besides those of others
_WORDS: Final = Words("figures")


class Figures(NamedTuple):
    """The rows of a frame to draw: one per unit and year, its number in ``value``."""

    rows: pl.DataFrame
    item: str
    left_out: int
    differing: int = 0

    def marked(self, unit: int) -> dict[str, Any]:
        """Return the row of a unit, of its latest year with a value if it has one.

        Raises:
            UsageError: The frame lacks the unit.
        """
        rows = self.rows
        has_units = "unit_id" in rows.columns
        unit_rows = rows.filter(pl.col("unit_id") == unit) if has_units else rows.clear()
        if unit_rows.is_empty():
            raise invalid("mark", unit, "is not in the frame", give="a unit_id of it")
        rows_with_value = unit_rows.drop_nulls("value")
        candidates = unit_rows if rows_with_value.is_empty() else rows_with_value
        candidates = candidates.sort("year") if "year" in candidates.columns else candidates
        return candidates.row(-1, named=True)

    @property
    def present(self) -> pl.DataFrame:
        """The rows with a value."""
        return self.rows.drop_nulls("value")

    @property
    def _distinct_years(self) -> list[int]:
        rows = self.rows if self.present.is_empty() else self.present
        return rows["year"].drop_nulls().unique().sort().to_list() if "year" in rows.columns else []

    @property
    def years(self) -> str:
        """The years of the values, for the end of a heading."""
        years = self._distinct_years
        if not years:
            return ""
        first, last = years[0], years[-1]
        return f", {first}" if first == last else f", {first}–{last}"

    @property
    def several_years(self) -> bool:
        """Whether the values are of several years."""
        return len(self._distinct_years) > 1

    def limits(self, lang: Lang) -> str:
        """Return the limits of the values, for the end of a heading; "" without any."""
        low, high = self.rows["limit_low"].min(), self.rows["limit_high"].max()
        if not isinstance(low, float) or not isinstance(high, float):
            return ""
        ends = {"low": written(self.item, low, lang), "high": written(self.item, high, lang)}
        return ", " + _WORDS[lang]["limits"].format(**ends)

    def notes(self, lang: Lang, by: str | None = None) -> list[str]:
        """Return the note on rows that the chart does not show, and on mixed forms."""
        coded = self.present if by is None else self.present.drop_nulls(by)
        uncoded = self.present.height - coded.height
        numbers = {"uncoded": uncoded, "left out": self.left_out, "differing": self.differing}
        notes = [self.without(lang), *numbered(_WORDS[lang], numbers, lang)]
        if by is not None and groups.is_of_figures(by):
            rows = self.rows.filter(~has_figures(self.rows.schema))
            notes.append(sentence(ungrouped(rows.height, lang, counted(self.rows))))
        if "template" in coded.columns:
            counts = coded["template"].drop_nulls().value_counts().rows()
            notes += forms(counts, self.item, lang)
        return [note for note in notes if note]

    def without(self, lang: Lang) -> str:
        """Return how many rows have no value, by reason; "" if all have one."""
        empty_rows = self.rows.filter(pl.col("value").is_null())
        # A frame of the user has no reasons.
        if "reason" not in self.rows.columns:
            text = _WORDS[lang]["without"].format(n=number_format.whole(empty_rows.height, lang))
            return text if empty_rows.height else ""
        why = values.reason(self.item, self.rows.columns, self.rows.schema)
        return without(empty_rows.group_by(why=why).len().rows(), self.item, lang)


def of_frame(
    frame: labels.Frame,
    item: str,
    *,
    limits: object = None,
    max_difference: float | None = None,
) -> Figures:
    """Return the rows to draw of an item or a ratio; a ratio is computed from financials.

    Raises:
        UsageError: There is no such column, an argument is wrong, or individual and consolidated
            figures are mixed.
    """
    ends = values.checked_limits(limits)
    rows, left_out = values.of_frame(frame, item)
    rows, differing = values.without_differences(rows, max_difference)
    return Figures(values.with_limits(rows, ends), item, left_out, differing.height)


def without(reasons: Iterable[tuple[str, int]], item: str, lang: Lang) -> str:
    """Write how many rows have no value, most frequent reason first; "" if all have one."""
    words = _WORDS[lang]
    formula = ratios.FORMULAS.get(item)
    divisor = words["equity" if formula and formula.under == "equity" else "divisor"]
    texts = {**REASON_TEXTS[lang], "divisor": divisor, values.UNKNOWN: words["unknown"]}
    counts: Counter[str] = Counter()
    for reason, n in reasons:
        counts[texts.get(reason, reason)] += n  # a user's own reason stays
    if not counts:
        return ""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    counted = (f"{why} {number_format.whole(n, lang)}" for why, n in ordered)
    total = number_format.whole(counts.total(), lang)
    return words["why"].format(n=total, why=", ".join(counted))


def forms(templates: Iterable[tuple[int, int]], item: str, lang: Lang) -> list[str]:
    """Return the notes on forms on which a value is not the same, by the number of each."""
    counts = dict(templates)
    micro, every = counts.get(_MICRO, 0), sum(counts.values())
    if not ratios.differs_by_form(item) or not 0 < micro < every:
        return []
    numbers = {"micro": micro, "others": every - micro}
    written = {name: number_format.whole(n, lang) for name, n in numbers.items()}
    notes = [_WORDS[lang]["forms"].format(**written)]
    if other := ratios.COMPARABLE.get(item):
        notes.append(_WORDS[lang]["comparable"].format(value=called(other, lang)))
    return notes


def without_group(frame: labels.Frame, by: str) -> int:
    """Return the number of units that are in no group because none of their rows has figures."""
    if not groups.is_of_figures(by):
        return 0
    schema = labels.schema_of(frame)
    unit = pl.col("unit_id") if "unit_id" in schema else pl.int_range(pl.len())
    rows = frame.lazy().select(unit.alias("unit"), has=has_figures(schema))
    return rows.group_by("unit").agg(pl.col("has").any()).filter(~pl.col("has")).collect().height


def ungrouped(number: int, lang: Lang, noun: Noun = "units") -> str:
    """Write how many units are in no group that is made from figures; "" for none."""
    written = number_format.with_noun(number, noun, lang)
    key = "ungrouped" if number > 1 else "one ungrouped"
    return _WORDS[lang][key].format(units=written) if number else ""


def numbered(words: Mapping[str, str], numbers: Mapping[str, int], lang: Lang) -> list[str]:
    """Return the texts whose number is not zero, with it."""
    return [words[key].format(n=number_format.whole(n, lang)) for key, n in numbers.items() if n]


def counted(rows: pl.DataFrame) -> Noun:
    """Return what the rows of a frame are: ``units``, ``unit-years``, or just ``rows``.

    >>> counted(pl.DataFrame({"unit_id": [1, 1], "year": [2015, 2016]}))
    'unit-years'
    >>> counted(pl.DataFrame({"unit_id": [1, 1]}))
    'rows'
    """
    if "unit_id" in rows.columns and rows["unit_id"].n_unique() == rows.height:
        return "units"
    return "unit-years" if {"unit_id", "year"} <= set(rows.columns) else "rows"


def number_of(rows: pl.DataFrame, lang: Lang) -> str:
    """Write the number of units, and of unit-years, in a frame.

    >>> number_of(pl.DataFrame({"unit_id": [1, 1], "year": [2015, 2016]}), "en")
    '1 unit, 2 unit-years'
    """
    noun = counted(rows)
    if noun == "rows":
        return number_format.with_noun(rows.height, "rows", lang)
    parts = [number_format.units(rows["unit_id"].n_unique(), lang)]
    parts += [number_format.with_noun(rows.height, noun, lang)] if noun == "unit-years" else []
    return ", ".join(parts)


def called(item: str, lang: Lang) -> str:
    """Return the words for an item or a ratio, or for a column of growth; else a column's name.

    >>> called("equity_ratio", "sk"), called("net_profit", "en")
    ('podiel vlastného imania', 'net profit')
    >>> called("sales_growth", "en"), called("Share_of_exports", "en")
    ('sales: growth', 'Share of exports')
    """
    names = {entry.name: (entry.label_sk, entry.label_en) for entry in items.item_table()}
    names |= {name: (entry.label_sk, entry.label_en) for name, entry in ratios.NUMBERS.items()}
    of, _, change = item.rpartition("_")
    if item not in names and of in names and change in _CHANGES:
        return f"{called(of, lang)}: {_WORDS[lang][change]}"
    slovak, english = names.get(item, (item.replace("_", " "),) * 2)
    return slovak if lang == "sk" else english


def kind(item: str) -> ratios.Quantity:
    """Return what the values of an item are: amounts in euro, shares, or other numbers.

    >>> kind("ebitda"), kind("roa"), kind("current_ratio"), kind("sales_growth")
    ('amount', 'share', 'number', 'share')
    """
    if item == "share_top5" or item.lower().endswith("_growth"):
        return "share"
    of, _, change = item.rpartition("_")
    return (
        ratios.quantity(item) or (ratios.quantity(of) if change in _CHANGES else None) or "number"
    )


def written(item: str, value: float, lang: Lang, more: int = 0) -> str:
    """Write a value: an amount in euro, a share in per cent, another number as it is.

    >>> written("net_profit", 1_234_567, "en"), written("roa", 0.051, "en")
    ('€1.2m', '5.1%')
    """
    match kind(item):
        case "amount":
            return number_format.euro(value, lang, more)
        case "share":
            return number_format.percent(value, lang, more).replace("-", "−")
        case "number":
            return number_format.decimal(value, lang, 2 + more).replace("-", "−")


class Ticks(Formatter):
    """Writes the values on an axis, with as many decimals as they need."""

    def __init__(self, item: str, lang: Lang) -> None:
        self._item, self._lang, self._more = item, lang, 0

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Write all values."""
        self._more = more_decimals(self._item, values, self._lang)
        return [self(value) for value in values]

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Write a value as the others are."""
        return tick(self._item, x, self._lang, self._more)


def more_decimals(item: str, ticks: Sequence[float], lang: Lang) -> int:
    """Return how many more decimals `tick` needs to write where the ticks of an axis lie.

    What is written differs from a tick by at most a hundredth of the distance between ticks.

    >>> more_decimals("sales", [10_000, 15_000], "en"), tick("sales", 15_000, "en")
    (0, '€15k')
    >>> more_decimals("sales", [10_000, 12_500], "en"), tick("sales", 12_500, "en", 1)
    (1, '€12.5k')
    """
    ordered = sorted(set(ticks))
    gaps = [after - before for before, after in pairwise(ordered)]
    # A tick alone has three digits.
    most = (min(gaps) if gaps else max(map(abs, ordered), default=0) / 10) / 100
    for more in range(_MORE):
        if all(_error(tick(item, x, lang, more), x, lang) <= most for x in ordered):
            return more
    return _MORE


def _error(text: str, value: float, lang: Lang) -> float:
    r"""Return by how much a written number differs from a value.

    Its unit, such as a thousand or a hundredth, is the power of ten that brings it next to the
    value.

    >>> _error("€12k", 12_500, "en"), _error("−2,5\xa0mil.\xa0€", -2_500_000, "sk")
    (500.0, 0.0)
    """
    sign = _DECIMAL_SIGN[lang]
    digits = "".join(letter for letter in text if letter.isdecimal() or letter == sign)
    number, size = float(digits.strip(sign).replace(sign, ".")), abs(value)
    if number == 0 or size == 0:
        return max(number, size)
    return abs(number * 10.0 ** round(math.log10(size / number)) - size)


def tick(item: str, value: float, lang: Lang, more: int = 0) -> str:
    r"""Write a value on an axis: without decimals that are zeros.

    >>> tick("roa", 0.2, "sk"), tick("sales", 5_000, "en"), tick("current_ratio", 1.5, "en")
    ('20\xa0%', '€5k', '1.5')
    >>> tick("sales", 2e12, "en")
    '€2,000bn'
    """
    return _NOUGHTS[lang].sub(r"\1", written(item, value, lang, more))


def sentence(text: str) -> str:
    """Return a phrase as a sentence, "" for none."""
    return f"{capitalized(text)}." if text else ""


def capitalized(text: str) -> str:
    """Return a text that begins a heading."""
    return text[:1].upper() + text[1:]
