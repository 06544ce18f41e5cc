"""Figures for charts: the rows drawn, the name of a value, and its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import polars as pl

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
_MORE: Final = 9  # decimals that the values on an axis may have besides those of others
_WORDS: Final = Words("figures")


class Figures(NamedTuple):
    """The rows of a frame to draw: one per unit and year, its number in ``value``."""

    rows: pl.DataFrame
    item: str
    left_out: int

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

    def notes(self, lang: Lang, by: str | None = None) -> list[str]:
        """Return the note on rows that the chart does not show, and on mixed forms."""
        notes = [self.without(lang), *numbered(_WORDS[lang], {"left out": self.left_out}, lang)]
        if by is not None and groups.is_of_figures(by):
            rows = self.rows.filter(~has_figures(self.rows.schema))
            notes.append(sentence(ungrouped(rows.height, lang, counted(self.rows))))
        if "template" in self.rows.columns:
            counts = self.present["template"].drop_nulls().value_counts().rows()
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


def of_frame(frame: labels.Frame, item: str) -> Figures:
    """Return the rows to draw of an item or a ratio; a ratio is computed from financials.

    Raises:
        UsageError: There is no such column, or individual and consolidated figures are mixed.
    """
    rows, left_out = values.of_frame(frame, item)
    return Figures(rows, item, left_out)


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


def check_statistic(item: str, statistic: str) -> None:
    """Refuse a sum of ratios, or the share of the largest in one."""
    if statistic in ("sum", "share_top5") and not ratios.has_sum(item):
        fault = f": a ratio such as {item!r} has none"
        give = "'mean'" if item == ratios.BELOW_CRISIS else "'median', or 'weighted'"
        raise invalid("statistic", statistic, fault, give=give)


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
    if item in ("share_top5", ratios.BELOW_CRISIS) or item.lower().endswith("_growth"):
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


def tick(item: str, value: float, lang: Lang) -> str:
    r"""Write a value on an axis: exactly, without decimals that are zeros.

    >>> tick("roa", 0.2, "sk"), tick("sales", 12_500, "en"), tick("current_ratio", 1.5, "en")
    ('20\xa0%', '€12.5k', '1.5')
    >>> tick("sales", 2e12, "en")
    '€2,000bn'
    """
    return _NOUGHTS[lang].sub(r"\1", written(item, value, lang, _MORE))


def sentence(text: str) -> str:
    """Return a phrase as a sentence, "" for none."""
    return f"{capitalized(text)}." if text else ""


def capitalized(text: str) -> str:
    """Return a text that begins a heading."""
    return text[:1].upper() + text[1:]
