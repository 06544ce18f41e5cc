"""Figures for charts: the column of an item or ratio, what it is called, how it is written."""

from __future__ import annotations

import re

import polars as pl

from finstat_kit.arguments import Lang, near
from finstat_kit.errors import UsageError
from finstat_kit.frames import items, labels, number_format, ratios

_SHARES = frozenset(
    {"equity_ratio", "roa", "roe", "net_margin", "operating_margin"}
)  # written in per cent
_NOUGHTS = re.compile(r"(?:[.,]|([.,][0-9]*[1-9]))0+(?![0-9.,])")
_ABBREVIATED = {"roa": "return on assets", "roe": "return on equity", "ebitda": "EBITDA"}


def with_item(frame: labels.Frame, item: str) -> pl.DataFrame:
    """Return a frame with a column of an item, which a ratio of financials may be.

    Raises:
        UsageError: There is none.
    """
    schema = labels.schema_of(frame)
    if item not in schema and item in ratios.NAMES and set(items.names()) <= set(schema):
        return ratios.ratios(frame.lazy()).collect()
    if item not in schema or not schema[item].is_numeric():
        found = f"is {schema[item]}" if item in schema else "is no column"
        known = [name for name, dtype in schema.items() if dtype.is_numeric()]
        raise UsageError(
            f"{item!r} {found}",
            cure=f"{near(item, [*known, *ratios.NAMES])}give a column of numbers, such as an item "
            "of fk.financials or a ratio of fk.ratios",
        )
    return frame.lazy().collect()


def called(item: str, lang: Lang) -> str:
    """Return what an item or a ratio is called; a column of another kind by its name.

    >>> called("equity_ratio", "sk"), called("net_profit", "en")
    ('podiel vlastného imania', 'net profit')
    """
    known = {one.name: one.label_sk for one in items.item_table()}
    known |= {name: formula.label_sk for name, formula in ratios.FORMULAS.items()}
    if item not in known:
        return item
    return known[item] if lang == "sk" else _ABBREVIATED.get(item, item.replace("_", " "))


def written(item: str, value: float, lang: Lang) -> str:
    """Write a value: an amount in euro, a share in per cent, another number as it is.

    >>> written("net_profit", 1_234_567, "en"), written("roa", 0.051, "en")
    ('€1.2m', '5.1%')
    """
    if item in items.names() or item == "ebitda":
        return number_format.euro(value, lang)
    if item in _SHARES:
        return number_format.percent(value, lang).replace("-", "−")
    return number_format.decimal(value, lang, 2).replace("-", "−")


def tick(item: str, value: float, lang: Lang) -> str:
    r"""Write a value on an axis: without decimals that are noughts.

    >>> tick("roa", 0.2, "sk"), tick("sales", 5_000, "en"), tick("current_ratio", 1.5, "en")
    ('20\xa0%', '€5k', '1.5')
    """
    return _NOUGHTS.sub(r"\1", written(item, value, lang))


def years(table: pl.DataFrame) -> str:
    """Return the years that a frame is of, for the end of a heading."""
    found = table["year"].drop_nulls().sort() if "year" in table.columns else pl.Series([])
    if found.is_empty():
        return ""
    first, last = found[0], found[-1]
    return f", {first}" if first == last else f", {first}–{last}"


def capitalized(text: str) -> str:
    """Return a text that begins a heading."""
    return text[:1].upper() + text[1:]
