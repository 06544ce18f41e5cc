"""The texts of the pickers, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from finstat_kit.arguments import Lang
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import day_text


def words(lang: Lang, group: str = "") -> Mapping[str, str]:
    """Return the texts of a language, or a group of them."""
    return Words(f"widgets {group}".rstrip())[lang]


def failed(error: BaseException, lang: Lang) -> str:
    """Return the message of an error on one line."""
    return f"{words(lang)['failed']}: {' '.join(str(error).split()) or type(error).__name__}"


def since_text(day: date | None, lang: Lang) -> str:
    """Return the text for a day of change; None is at any time."""
    if day is None:
        return words(lang)["changed_ever"]
    return words(lang)["changed_since"].format(day=day_text(day, lang))
