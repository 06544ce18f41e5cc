"""IČO and DIČ in any spelling, read as the register writes them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

ICO: Final = (8, 12)  # digits
DIC: Final = (10,)
# As people and spreadsheets write them: ="49318173", '49318173, IČ: 49318173, 49318173.0
_WRITTEN: Final = re.compile(
    r"""=?['"]? (?:i[čc]o?:?|di[čc]:?|i[čc]dph:?)? (sk)?([0-9]{1,19}) (?:[.,]0*)? ['"]?""",
    re.IGNORECASE | re.VERBOSE,
)


def visible(text: str) -> str:
    r"""Return a text without blanks and invisible characters, its letters composed.

    >>> visible("00 37\u200b24\u00ad91\ufeff")
    '00372491'
    """
    signs = (s for s in text if not s.isspace() and unicodedata.category(s) != "Cf")
    return unicodedata.normalize("NFC", "".join(signs))


def digits_in(text: str) -> tuple[str, bool] | None:
    """Return the digits of a number, and whether it is one for VAT; None for other texts.

    >>> digits_in('="49 318 173"'), digits_in("IČ: 372491."), digits_in("49.318.173")
    (('49318173', False), ('372491', False), None)
    """
    parts = _WRITTEN.fullmatch(visible(text))
    return None if parts is None else (parts[2], bool(parts[1]))


def with_zeros(number: str) -> str | None:
    """Return the IČO of a number that may lack its leading zeros, None where it has none.

    >>> with_zeros("372491"), with_zeros("3147120001")
    ('00372491', '003147120001')
    """
    lengths = (length for length in ICO if 0 < len(number) <= length)
    return next((number.zfill(length) for length in lengths), None)


def has_check_digit(ico: str) -> bool:
    """Return whether the eighth digit of an IČO is what the seven before it make it, modulo 11.

    >>> has_check_digit("31333532"), has_check_digit("31333533")
    (True, False)
    """
    weighted = sum(int(digit) * weight for digit, weight in zip(ico, range(8, 1, -1), strict=False))
    return int(ico[7]) == (11 - weighted % 11) % 10
