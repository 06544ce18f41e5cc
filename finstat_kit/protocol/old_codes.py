"""Today's location codes [Codelists], and the ones used until some time after 2018 (observed).

Regions were ``1`` to ``8``, districts three digits, municipalities six: ``1``, ``103``, ``529354``
are today's ``SK010``, ``SK0103``, ``SK0103529354``.
"""

from __future__ import annotations

from string import ascii_uppercase, digits
from typing import Final

_OLD_REGION: Final = {
    "SK010": "1", "SK021": "2", "SK022": "3", "SK023": "4",
    "SK031": "5", "SK032": "6", "SK041": "7", "SK042": "8",
}  # fmt: skip
_BASE36: Final = digits + ascii_uppercase


def old_code(code: str) -> str | None:
    """Return the old code of a place by its code of today, None without one (``SKZZ``).

    That of a district is its region's with the last character as a number of base 36, that of a
    municipality the six digits behind its district. Checked for all 79 districts.

    >>> old_code("SK010"), old_code("SK032D"), old_code("SK0103529354")
    ('1', '613', '529354')
    """
    region = _OLD_REGION.get(code[:5])
    if len(code) == 6 and region and code[5] in _BASE36:
        return f"{region}{_BASE36.index(code[5]):02}"
    if len(code) == 12 and code.startswith("SK"):
        return code[6:]
    return region if len(code) == 5 else None
