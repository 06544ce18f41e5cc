"""Today's location codes and the ones used until some time after 2018.

Regions were ``1`` to ``8``, districts three digits, municipalities six: ``1``, ``103``, ``529354``
are today's ``SK010``, ``SK0103``, ``SK0103529354``.
"""

from __future__ import annotations

import re
from typing import Final

REGION_NUMBER: Final = {
    "SK010": 1, "SK021": 2, "SK022": 3, "SK023": 4, "SK031": 5, "SK032": 6, "SK041": 7, "SK042": 8,
}  # fmt: skip
_REGION_CODE: Final = {str(number): code for code, number in REGION_NUMBER.items()}
_BASE36: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OLD_DISTRICT: Final = re.compile(r"[1-8][0-9]{2}", re.ASCII)
_NEW_DISTRICT: Final = re.compile(r"SK0[1-4][0-9][0-9A-Z]", re.ASCII)


def old_region(code: str) -> str | None:
    """Return the old code of a region, or None without one (``SKZZ``)."""
    number = REGION_NUMBER.get(code)
    return None if number is None else str(number)


def old_district(code: str) -> str | None:
    """Return the old code of a district: region number x 100 + the last character in base 36.

    >>> old_district("SK032D")
    '613'
    """
    if not _NEW_DISTRICT.fullmatch(code) or code[:5] not in REGION_NUMBER:
        return None
    return str(REGION_NUMBER[code[:5]] * 100 + int(code[5], 36))


def old_municipality(code: str) -> str | None:
    """Return the old code of a municipality: the six digits behind its district."""
    return code[6:] if len(code) == 12 and code.startswith("SK") else None


def region_today(old: str) -> str | None:
    """Return today's code for a region's old one, or None."""
    return _REGION_CODE.get(old)


def district_today(old: str) -> str | None:
    """Return today's code for a district's old one, or None.

    >>> district_today("613")
    'SK032D'
    """
    if not _OLD_DISTRICT.fullmatch(old):
        return None
    place = int(old[1:])
    return _REGION_CODE[old[0]] + _BASE36[place] if 0 < place < len(_BASE36) else None
