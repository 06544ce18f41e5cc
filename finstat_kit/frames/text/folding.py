"""Texts to compare by: without accents and case, as words."""

from __future__ import annotations

from typing import Final

import polars as pl

# Combining marks: faster than the class of a regular expression.
_ACCENTS: Final = [chr(code) for code in range(0x300, 0x370)]


def folded(texts: pl.Expr) -> pl.Expr:
    """Return texts without accents and case.

    >>> pl.select(folded(pl.lit("Žiar nad Hronom"))).item()
    'ziar nad hronom'
    """
    return texts.str.normalize("NFKD").str.replace_many(_ACCENTS, [""]).str.to_lowercase()


def words(texts: pl.Expr) -> pl.Expr:
    """Return the words of texts, folded, with a space before and after each.

    >>> pl.select(words(pl.lit("Vranov n/Topľou"))).item()
    ' vranov n toplou '
    """
    # In two steps, since most spaces stand alone: in a third less time than in one.
    apart = folded(pl.format(" {} ", texts)).str.replace_all(r"[^\p{L}\p{N} ]+ *", " ")
    return apart.str.replace_all("  +", " ")
