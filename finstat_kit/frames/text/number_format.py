"""Numbers and days as each language writes them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final, Literal

from finstat_kit.arguments import Lang
from finstat_kit.frames.text.catalogue import Words

NO_BREAK = "\u00a0"
# Not strftime's, which follow the locale of the machine.
MONTHS: Final = Words("months")
Noun = Literal["units", "unit-years", "rows"]
_NOUNS: Final[dict[Noun, tuple[str, str, str]]] = {
    "units": ("jednotka", "jednotky", "jednotiek"),
    "unit-years": ("jednotkorok", "jednotkoroky", "jednotkorokov"),
    "rows": ("riadok", "riadky", "riadkov"),
}


def whole(number: int, lang: Lang) -> str:
    """Write a whole number: ``12 345`` in Slovak (no-break space), ``12,345`` in English.

    >>> whole(12345, "en")
    '12,345'
    """
    return f"{number:,}".replace(",", NO_BREAK if lang == "sk" else ",")


def units(number: int, lang: Lang) -> str:
    """Write a number with its noun: ``1 jednotka``, ``2 jednotky``, ``5 jednotiek``, ``1 unit``.

    >>> [units(number, "sk") for number in (0, 1, 4, 5, 22)]
    ['0 jednotiek', '1 jednotka', '4 jednotky', '5 jednotiek', '22 jednotiek']
    """
    return with_noun(number, "units", lang)


def with_noun(number: int, noun: Noun, lang: Lang) -> str:
    """Write a number with a noun in its form.

    >>> [with_noun(number, "unit-years", "sk") for number in (1, 2, 5)]
    ['1 jednotkorok', '2 jednotkoroky', '5 jednotkorokov']
    """
    if lang == "en":
        form = noun.removesuffix("s") if number == 1 else noun
    else:
        one, few, many = _NOUNS[noun]
        form = {1: one, 2: few, 3: few, 4: few}.get(number, many)
    return f"{whole(number, lang)} {form}"


def decimal(number: float | Decimal, lang: Lang, places: int = 1) -> str:
    """Write a number with decimals: ``1 234,5`` in Slovak, ``1,234.5`` in English.

    >>> decimal(1234.56, "en"), decimal(-0.04, "en")
    ('1,234.6', '0.0')
    """
    written = f"{number:z,.{places}f}"  # z: what rounds to zero has no sign
    return written.translate({44: NO_BREAK, 46: ","}) if lang == "sk" else written


def day_text(day: date, lang: Lang) -> str:
    """Write a day: ``1. 6. 2026`` in Slovak, ``1 June 2026`` in English.

    >>> day_text(date(2026, 6, 1), "en").replace(NO_BREAK, " ")
    '1 June 2026'
    """
    if lang == "sk":
        return f"{day.day}.{NO_BREAK}{day.month}.{NO_BREAK}{day.year}"
    return f"{day.day}{NO_BREAK}{MONTHS[lang][str(day.month)]}{NO_BREAK}{day.year}"


def percent(share: float, lang: Lang, more: int = 0) -> str:
    """Write a share of 0 to 1: ``36,2 %`` in Slovak, ``36.2%`` in English; or with more decimals.

    >>> percent(0.3617, "en")
    '36.2%'
    """
    return decimal(share * 100, lang, 1 + more) + (f"{NO_BREAK}%" if lang == "sk" else "%")


def euro(amount: float, lang: Lang, more: int = 0) -> str:
    r"""Write an amount of euro in short, or with more decimals.

    >>> [euro(amount, "sk") for amount in (1_234_567, -12_300, 950)]
    ['1,2\xa0mil.\xa0€', '−12\xa0tis.\xa0€', '950\xa0€']
    >>> [euro(amount, "en") for amount in (1_234_567, -12_300, 950, -0.3)]
    ['€1.2m', '−€12k', '€950', '€0']
    >>> euro(-1_234_567, "en", 2)
    '−€1.235m'
    """
    size = abs(amount)
    step = next((n for n in (9, 6, 3) if size >= 0.9995 * 10**n), 0)
    number = size / 10**step
    written = decimal(number, lang, more + (1 if step and number < 9.95 else 0))
    sign = "−" if amount < 0 and written.strip("0,.") else ""
    if lang == "en":
        return f"{sign}€{written}{_SHORT[lang][step]}"
    return f"{sign}{written}{NO_BREAK}{_SHORT[lang][step]}€"


_SHORT: Final[dict[Lang, dict[int, str]]] = {
    "sk": {0: "", 3: f"tis.{NO_BREAK}", 6: f"mil.{NO_BREAK}", 9: f"mld.{NO_BREAK}"},
    "en": {0: "", 3: "k", 6: "m", 9: "bn"},
}
