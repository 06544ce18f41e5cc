"""Slovak texts: in alphabetical order, the same on every machine, and folded to be compared."""

from __future__ import annotations

import unicodedata
from typing import Final

import polars as pl

# As CLDR orders Slovak: these are separate letters; any other accent only breaks ties between
# otherwise equal words.
_LETTERS: Final = [*"aäbcčdefgh", "ch", *"ijklmnoôpqrřsštuvwxyzž"]
_WEIGHT: Final = {letter: 0x110000 + place for place, letter in enumerate(_LETTERS)}
# Combining marks: faster than the class of a regular expression.
_ACCENTS: Final = [chr(code) for code in range(0x300, 0x370)]


def sort_key(text: str) -> tuple[list[int], str]:
    """Return the sort key of a text.

    >>> sorted(["Čadca", "Žilina", "Chtelnica", "Cabaj", "Zvolen", "Hlohovec"], key=sort_key)
    ['Cabaj', 'Čadca', 'Hlohovec', 'Chtelnica', 'Zvolen', 'Žilina']
    """
    folded_text = unicodedata.normalize("NFC", text.casefold())
    weights = []
    index = 0
    while index < len(folded_text):
        letter = "ch" if folded_text.startswith("ch", index) else folded_text[index]
        # Other characters keep their code point, which is lower: spaces and digits come first.
        plain = unicodedata.normalize("NFD", letter)[0] if letter not in _WEIGHT else letter
        weights.append(_WEIGHT.get(plain, ord(plain[0])))
        index += len(letter)
    return weights, folded_text


def folded(texts: pl.Expr) -> pl.Expr:
    """Return texts without accents and case.

    >>> pl.select(folded(pl.lit("Žiar nad Hronom"))).item()
    'ziar nad hronom'
    """
    return texts.str.normalize("NFKD").str.replace_many(_ACCENTS, [""]).str.to_lowercase()


def folded_words(texts: pl.Expr) -> pl.Expr:
    """Return the words of texts, folded, with a space before and after each.

    >>> pl.select(folded_words(pl.lit("Vranov n/Topľou"))).item()
    ' vranov n toplou '
    """
    # In two steps, since most spaces stand alone: in a third less time than in one.
    apart = folded(pl.format(" {} ", texts)).str.replace_all(r"[^\p{L}\p{N} ]+ *", " ")
    return apart.str.replace_all("  +", " ")
