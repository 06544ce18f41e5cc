"""Units by their names: what is prepared once, and the search in it."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.frames.text.slovak import folded_words

MATCHED_BY: Final = pl.Enum(["id", "ico", "dic", "name"])  # by what a search matched a unit
NAMES: Final = pl.Schema({"id": pl.Int64(), "words": pl.String()})
SHORT: Final = ("sro", "as", "vos", "ks", "jsa", "sp", "oz", "no", "nf", "ops")
# Written with dots or blanks or without, each is one word.
_ABBREVIATIONS: Final = {f" {' '.join(short)} ": f" {short} " for short in SHORT}
_FORMS: Final = ("", "spol sro ", *(f"{short} " for short in SHORT))  # the end of a name
_WRITTEN_OUT: Final = {
    " spolocnost s rucenim obmedzenym ": " sro ", " akciova spolocnost ": " as ",
    " verejna obchodna spolocnost ": " vos ", " komanditna spolocnost ": " ks ",
    " jednoducha spolocnost na akcie ": " jsa ",
}  # fmt: skip
_FORM_AT_END: Final = rf" (?:spol(?:ocnost)? )?(s r|{'|'.join(SHORT)}) $"
# What the register adds to a name for a time.
_STATE_AT_END: Final = " v (?:likvidacii|konkurze|restrukturalizacii) $"


def prepared(records: pl.LazyFrame) -> pl.LazyFrame:
    """Return the names of units as they are searched: `NAMES`, units without a name left out.

    Args:
        records: ``id`` and ``nazovUJ``.
    """
    return records.select("id", _joined(pl.col("nazovUJ")).alias("words")).drop_nulls("words")


def matching(
    names: pl.DataFrame, text: str, limit: int | None, *, whole: bool = False
) -> tuple[pl.Series, int]:
    """Return the units with all words of a text in their name: ids, best first, and their number.

    A word may be the beginning of one, and a legal form at the end need not be in the name. First
    come names that consist of the text, then those with its words as they are, in any order, and at
    the beginning; among equals the legal form counts, then the order of names, then the id.

    Args:
        names: As of `prepared`.
        text: What is sought; without letters and digits nothing matches.
        limit: Maximum number of ids, None for all.
        whole: Whether a word may not be the beginning of one.
    """
    bare, legal_form = pl.select(*_without_form(_joined(pl.lit(text)))).row(0)
    name, terms = pl.col("words"), bare.split()
    lazy = (names if terms else names.clear()).lazy()
    for term in sorted(terms, key=len, reverse=True):  # the longest leaves the fewest
        lazy = lazy.filter(name.str.contains(f" {term}{' ' * whole}", literal=True))
    hits = lazy.collect(engine="streaming")
    is_same = name.is_in([f" {bare} {form}" for form in _FORMS])
    is_first = name.str.starts_with(f" {bare}")
    are_words = (name.str.contains(f" {term} ", literal=True) for term in terms)
    is_whole = pl.all_horizontal(pl.lit(value=True), *are_words)
    fit = 3 * is_same.cast(pl.Int8) + is_whole.cast(pl.Int8) + is_first.cast(pl.Int8)
    by = [-fit, ~name.str.ends_with(f"{legal_form} "), name, pl.col("id")]
    best = hits.lazy().sort(by).head(hits.height if limit is None else limit)
    return best.select("id").collect()["id"], hits.height


def parted(texts: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the words of names without the legal form at the end, and that form, as one word.

    >>> bare, form = parted(pl.lit("OROL Agro, spol. s r.o. v likvidácii"))
    >>> pl.select(bare=bare, form=form).row(0)
    ('orol agro', 'sro')
    """
    return parted_words(_joined(texts))


def parted_words(words: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the parts of `parted` of names that are `prepared`."""
    return _without_form(words.str.replace(_STATE_AT_END, " "))


def _without_form(name: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the words of a name without the legal form at the end, and that form, or ""."""
    for written, short in _WRITTEN_OUT.items():
        name = name.str.replace(f"{written}$", short)
    bare = name.str.replace(_FORM_AT_END, " ").str.strip_chars()
    form = name.str.extract(_FORM_AT_END).str.replace("s r", "sro", literal=True).fill_null("")
    is_bare = bare == ""
    return (
        pl.when(is_bare).then(name.str.strip_chars()).otherwise(bare).alias("bare"),
        pl.when(is_bare).then(pl.lit("")).otherwise(form).alias("form"),
    )


def _joined(texts: pl.Expr) -> pl.Expr:
    """Return the words of texts, with each abbreviation of a legal form as one.

    So are letters that stand alone: "A.B.C." and "ABC" are one name.
    """
    words = folded_words(texts).str.replace_many(_ABBREVIATIONS)
    alone = words.str.replace_all(r" (\p{L}) ", " <$1> ").str.replace_all(r" (\p{L}) ", " <$1> ")
    return alone.str.replace_all("> <", "", literal=True).str.replace_all("[<>]", "")
