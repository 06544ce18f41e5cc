"""The parameters of the endpoints, used to check requests and to generate the description.

Values match an ASCII pattern before they are converted, because ``int`` and ``fromisoformat`` take
far more than the specification does (``1_000``, Arabic digits, ``2024-W01-1``).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from finstat_kit.protocol import wire

MAX_QUERY: Final = 8_192
MAX_PARAMETERS: Final = 100


class Rule(NamedTuple):
    """The allowed values of a parameter."""

    pattern: re.Pattern[str]
    form: str  # the pattern in words
    least: int | None = None  # of a number
    most: int | None = None
    cut: bool = False  # the lenient service reduces larger values to the largest


_DIGITS: Final = re.compile(r"[0-9]{1,100}")
_DAY: Final = re.compile(
    r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?"
)

PAGING: Final = {
    wire.CHANGED_SINCE: Rule(_DAY, "dátum RRRR-MM-DD"),
    wire.PAGE_SIZE: Rule(_DIGITS, f"celé číslo 1 až {wire.MAX_PAGE}", 1, wire.MAX_PAGE, cut=True),
    wire.AFTER_ID: Rule(_DIGITS, f"celé číslo 0 až {wire.MAX_ID}", 0, wire.MAX_ID),
}
FILTERS: Final = {
    "ico": Rule(_DIGITS, "IČO z číslic"),
    "dic": Rule(_DIGITS, "DIČ z číslic"),
    wire.FILTERS["legal_form_code"]: Rule(re.compile(r"[0-9A-Za-z]{1,12}"), "kód právnej formy"),
}
RECORD: Final = {"id": Rule(_DIGITS, "nezáporné celé číslo", 0)}
RULES: Final = PAGING | FILTERS | RECORD


def of_list(name: str) -> dict[str, Rule]:
    """Return the rules of a list and its count."""
    return PAGING | FILTERS if name == wire.UNITS else PAGING
