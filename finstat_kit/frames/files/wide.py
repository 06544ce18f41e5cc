"""A table for people: a row per unit, a column per item and year, heads in a language."""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.codebook.fields import fields
from finstat_kit.frames.codebook.quantities import quantity_of
from finstat_kit.frames.files.xlsx import Layout
from finstat_kit.frames.financials import ratios
from finstat_kit.frames.findings import values
from finstat_kit.frames.reports.cells import REASON_TEXTS
from finstat_kit.frames.text.catalogue import Words

WORDS: Final = Words("wide")
_IDENTITY: Final = {"unit_id": pl.Int64(), "ico": pl.String(), "name": pl.String()}
_UNIT: Final = " unit"  # its id, or the IČO of none
_WHY: Final = " why"
_IS_ROW: Final = " row"
_NO_ROW: Final = "no_filing_for_year"


class Wide(NamedTuple):
    """A table by its heads.

    Attributes:
        table: The units and their numbers.
        book: The codebook of what it shows.
        layout: What stands in empty cells, and which column each head stands for.
    """

    table: pl.DataFrame
    book: pl.DataFrame
    layout: Layout


def by_year(frame: pl.DataFrame, lang: Lang) -> Wide:
    """Return figures with a row per unit, and for each item a column per year.

    Raises:
        UsageError: The frame has no unit, year or number, or two rows of a unit and year.
    """
    for name in ("unit_id", "year"):
        if name not in frame.columns:
            give = "what fk.financials returns, or the fk.ratios of it"
            raise invalid("frame", ..., f": no column {name!r}", give=give)
    book = fields(frame)
    heads = _heads(frame, book, lang)
    if not heads:
        raise invalid("frame", ..., ": no column of numbers", give="items, ratios or one's own")
    rows = _of_units(frame)
    units = rows.group_by(_UNIT, maintain_order=True).agg(
        pl.col(name).drop_nulls().last() for name in _IDENTITY
    )
    # Where all years of a unit have one reason, its row has no year.
    why = rows.filter(pl.col("year").is_null()).select(_UNIT, pl.col("reason").alias(_WHY))
    years = sorted(rows["year"].drop_nulls().unique())
    growth = {name.removeprefix("growth."): text for name, text in Words("values")[lang].items()}
    words, texts = WORDS[lang], {**Words("figures")[lang], **growth, **REASON_TEXTS[lang]}
    table = {words[name]: units[name] for name in _IDENTITY}
    reasons: dict[str, pl.Series] = {}
    columns: dict[str, str] = {}
    of_year = {
        year: units.select(_UNIT)
        .join(rows.filter(year=year), on=_UNIT, how="left", maintain_order="left")
        .join(why, on=_UNIT, how="left", maintain_order="left")
        for year in years
    }
    in_euro = pl.col("currency").is_null() | (pl.col("currency") == "EUR")
    for name, head in heads.items():
        is_foreign = ~in_euro if quantity_of(name) == "amount" else pl.lit(value=False)
        reason = (
            pl.when(is_foreign)
            .then(pl.lit("other_currency"))
            .when(pl.col(_IS_ROW).is_not_null())
            .then(values.reason(name, frame.columns, frame.schema))
            .otherwise(pl.coalesce(_WHY, pl.lit(_NO_ROW)))
        )
        value = pl.col(name).fill_nan(None) if frame.schema[name].is_float() else pl.col(name)
        number = pl.when(~is_foreign).then(value)
        text = pl.when(number.is_null()).then(reason.replace(texts)).alias(_WHY)
        for year, part in of_year.items():
            columns[f"{head} {year}"] = name
            table[f"{head} {year}"], reasons[f"{head} {year}"] = part.select(number, text)
    names = (words["sheet"], words["source"], words["fields"])
    layout = Layout(names, columns, reasons)
    return Wide(pl.DataFrame(table), _book(book, heads, lang), layout)


def _heads(frame: pl.DataFrame, book: pl.DataFrame, lang: Lang) -> dict[str, str]:
    """Return the heads of items, of ratios and of the numbers of one's own, by column.

    Of a column without a number there is none, unless that holds of all.
    """
    heads: dict[str, str] = {}
    for name, dtype in frame.schema.items():
        meaning = book.filter(field=name)[f"meaning_{lang}"].item()
        is_value = meaning is None or ratios.quantity(name) or name == ratios.BELOW_CRISIS
        if is_value and (dtype.is_numeric() or dtype == pl.Boolean):
            text = (meaning or name).partition(" (")[0]
            heads[name] = text if meaning is None else text[:1].upper() + text[1:]
    heads = {name: head for name, head in heads.items() if frame[name].count()} or heads
    shown = [head.casefold() for head in heads.values()]
    return {
        name: head if shown.count(head.casefold()) == 1 else f"{head} ({name})"
        for name, head in heads.items()
    }


def _of_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the columns of identity, of which each unit has one per year."""
    absent = {**_IDENTITY, "reason": pl.String(), "currency": pl.String()}
    rows = frame.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in absent.items() if name not in frame
    )
    rows = rows.with_columns(
        pl.coalesce(pl.col("unit_id").cast(pl.String), "ico").alias(_UNIT),
        pl.lit(value=True).alias(_IS_ROW),
        pl.col("reason").cast(pl.String),
    )
    twice = rows.filter(pl.struct(_UNIT, "year").is_duplicated())
    if not twice.is_empty():
        unit, year = twice.select(_UNIT, "year").row(0)
        raise UsageError(
            f"the unit {unit} has two rows of {year}, and a wide table one cell for both",
            cure="keep one of them, such as .filter(consolidated=False), "
            '.filter(source_column="current") or .unique(["unit_id", "year"])',
        )
    return rows


def _book(book: pl.DataFrame, heads: dict[str, str], lang: Lang) -> pl.DataFrame:
    """Return the codebook of the columns shown, with heads and texts in the language."""
    words = WORDS[lang]
    shown = {name: words[name] for name in _IDENTITY} | heads
    texts = {name.removeprefix("is "): text for name, text in words.items() if name[:3] == "is "}
    return (
        book.filter(pl.col("field").is_in(list(shown)))
        .select(
            pl.col("field").replace(shown).alias(words["head"]),
            pl.col(f"meaning_{lang}").alias(words["meaning"]),
            pl.col("unit").replace(texts).alias(words["unit"]),
            pl.col("field").alias(words["field"]),
            pl.col("read_from")
            .str.replace_all(" table ", f" {words['table']} ", literal=True)
            .alias(words["read_from"]),
        )
    )  # fmt: skip
