"""The words that are shown, in both languages, by the part of the package that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from finstat_kit.arguments import Lang
from finstat_kit.protocol.shipped import read


class Words:
    """The words of a part by language, read from ``data/texts.json`` at their first use.

    >>> Words("widgets")["en"]["share"]
    'Share'
    """

    def __init__(self, part: str) -> None:
        self._part = part

    def __getitem__(self, lang: Lang) -> Mapping[str, str]:
        return _words(self._part, lang)


@cache
def _words(part: str, lang: Lang) -> Mapping[str, str]:
    # A single text is that of both languages.
    return {
        name: text if isinstance(text, str) else text[lang == "en"]
        for name, text in _catalogue()[part].items()
    }


@cache
def _catalogue() -> dict[str, dict[str, str | tuple[str, str]]]:
    return read("texts", dict[str, dict[str, str | tuple[str, str]]])
