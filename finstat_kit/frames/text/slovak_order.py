"""The Slovak alphabetical order, the same on every machine, whatever its locale."""

from __future__ import annotations

import unicodedata
from typing import Final

# As CLDR orders Slovak: these are separate letters; any other accent only breaks ties between
# otherwise equal words.
_LETTERS: Final = [*"aäbcčdefgh", "ch", *"ijklmnoôpqrřsštuvwxyzž"]
_WEIGHT: Final = {letter: 0x110000 + place for place, letter in enumerate(_LETTERS)}


def key(text: str) -> tuple[list[int], str]:
    """Return the sort key of a text.

    >>> sorted(["Čadca", "Žilina", "Chtelnica", "Cabaj", "Zvolen", "Hlohovec", "Ilava"], key=key)
    ['Cabaj', 'Čadca', 'Hlohovec', 'Chtelnica', 'Ilava', 'Zvolen', 'Žilina']
    """
    whole = unicodedata.normalize("NFC", text.casefold())
    weights = []
    index = 0
    while index < len(whole):
        letter = "ch" if whole.startswith("ch", index) else whole[index]
        # Other characters keep their code point, which is lower: spaces and digits come first.
        plain = unicodedata.normalize("NFD", letter)[0] if letter not in _WEIGHT else letter
        weights.append(_WEIGHT.get(plain, ord(plain[0])))
        index += len(letter)
    return weights, whole
