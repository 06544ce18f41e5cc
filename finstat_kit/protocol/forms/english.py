"""English of captions: the package's translation, for forms whose English the register lacks.

A caption is a term and what follows it: accounts, and the rows that it adds up. Terms are looked up
in ``data/facts/english.tsv``; what follows is written in the words of the register's English forms,
``(r. 02 až r. 07)`` as ``(lines 02 to 07)``. Sums are always read from the Slovak caption.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from finstat_kit.protocol.shipped import data_folder

# Of captions with single spaces: nothing here takes longer than the caption is long.
_TOKEN: Final = re.compile(
    r"""(?P<behind>r\ ?\.\ ?[0-9]{1,4}       # a row
    |až\ (?:r\ ?\.\ ?)?[0-9]{1,4}            # the last of some rows
    |[0-9][0-9X]{1,2}A?Ú?(?!\w)|AÚ?(?!\w)   # an account: "06XA", "096 AÚ"
    |účtová\ skupina
    |celkom(?=\ \(?súčet)|spolu(?=\ (?:súčet|r\ ?\.))
    |(?:súčet|alebo|mínus|okrem|až|a)(?!\w))
    |\w+\)?""",
    re.VERBOSE,
)
_IN_WORDS: Final = re.compile(r"[^\W\dAX]")  # a letter that is not of an account
_WORDS: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"r ?\. ?([0-9]+) až (?:r ?\. ?)?([0-9]+)", r"lines \1 to \2"),
        (r"r ?\. ?([0-9]+)", r"line \1"),
        (r" ?(?:(?:spolu|celkom) )?\(súčet ", " - total ("),
        (r" ?\b(?:(?:spolu|celkom)(?: súčet)?|súčet)\b", " - total"),
        (r" ?AÚ", "A"),
        (r"účtová skupina", "account group"),
        (r"\bokrem\b", "except"),
        (r"\balebo\b", "or"),
        (r"\bmínus\b", "-"),
        (r"\baž\b", "to"),
        (r"\ba\b", "and"),
    )
)


def english(caption: str | None) -> str | None:
    """Translate a caption, a header or the name of a table; None if its term is not known.

    >>> english("Dlhodobý hmotný majetok súčet (r. 05 až r. 08)")
    'Property, plant and equipment - total (lines 05 to 08)'
    >>> english("Neznámy majetok r. 1 + r. 2")
    """
    term, behind = _parted(" ".join((caption or "").split()))
    words = _terms().get(_key(term))
    if words is None:
        return None
    for pattern, written in _WORDS if _IN_WORDS.search(behind) else ():
        behind = pattern.sub(written, behind)
    return (words.upper() if term.isupper() else words) + behind


def _parted(caption: str) -> tuple[str, str]:
    """Part a caption behind the last word that is neither an account nor of a sum."""
    end = max((token.end() for token in _TOKEN.finditer(caption) if not token["behind"]), default=0)
    return caption[:end], caption[end:]


def _key(term: str) -> str:
    """Return the letters and digits of a term, whatever its case and punctuation."""
    return " ".join(re.findall(r"\w+", term.casefold()))


@cache
def _terms() -> dict[str, str]:
    text = (data_folder() / "facts" / "english.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {_key(slovak): words for slovak, words in rows}
