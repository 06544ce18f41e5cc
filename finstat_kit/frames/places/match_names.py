"""Names and codes of places in any spelling, matched with today's codes."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.errors import UsageError
from finstat_kit.frames.places.labels import holds_codes
from finstat_kit.frames.places.locations import LEVELS, folded
from finstat_kit.protocol import old_codes

MATCHES: Final = pl.Schema(
    {
        "given": pl.String(),
        "code": pl.String(),
        "name_sk": pl.String(),
        "how": pl.String(),
        "candidates": pl.List(pl.String()),
    }
)
# Words for the level of a place, not part of its name.
_BEFORE: Final = r"(?:okres|district of|region of|municipality of|obec|mesto|mestska cast) "
_AFTER: Final = r" (?:samospravny kraj|kraj|region|okres|district)"
_BARE: Final = re.compile(f"(?:{_BEFORE})?(.+?)(?:{_AFTER})?")
_SHORT: Final = {"n": "nad", "p": "pod"}  # Žiar n. Hronom, Vranov n/Topľou
_OLD: Final = {
    "region": old_codes.old_region,
    "district": old_codes.old_district,
    "municipality": old_codes.old_municipality,
}


def match(places: pl.DataFrame, names: object, level: str) -> pl.DataFrame:
    """Match names or codes with the places of a level; see `Register.match_places`."""
    arguments.one_of("level", level, LEVELS)
    inputs = _texts(names)
    of_level = places.filter(pl.col("level") == level)
    name_of = dict(of_level.select("code", "name_sk").iter_rows())
    old = {_OLD[level](code): code for code in name_of}
    by_name: dict[str, set[str]] = {}
    by_part: dict[str, set[str]] = {}  # districts of a city without the city
    for code, *called in of_level.select("code", "name_sk", "name_en").iter_rows():
        for name in filter(None, called):
            for key in _keys(name):
                by_name.setdefault(key, set()).add(code)
            for key in _keys(name.partition("-")[2]):
                by_part.setdefault(key, set()).add(code)

    def matched(text: str) -> tuple[str, list[str]]:
        if text.strip().upper() in name_of:
            return "code", [text.strip().upper()]
        if (today := old.get(text.strip())) is not None:
            return "old code", [today]
        names = (index[key] for key in _keys(text) for index in (by_name, by_part) if key in index)
        codes = sorted(next(names, ()))
        return ("unknown", "name", "ambiguous")[min(len(codes), 2)], codes

    distinct = {text: matched(text) for text in inputs.drop_nulls().unique() if text.strip()}
    results = [distinct.get(text, ("missing", [])) for text in inputs]
    sure = [codes[0] if len(codes) == 1 else None for _, codes in results]
    return pl.DataFrame(
        {
            "given": inputs,
            "code": sure,
            "name_sk": [None if code is None else name_of[code] for code in sure],
            "how": [how for how, _ in results],
            "candidates": [codes if len(codes) > 1 else [] for _, codes in results],
        },
        schema=MATCHES,
    )


def _keys(name: str) -> list[str]:
    """Return the keys to compare a name by, the full one first: no accents, case, signs or kinds.

    >>> _keys("Žilinský kraj"), _keys("Vranov n/Topľou")
    (['zilinsky kraj', 'zilinsky'], ['vranov nad toplou'])
    """
    words = re.sub(r"[\W_]+", " ", folded(name)).split()
    whole = " ".join(_SHORT.get(word, word) for word in words)
    bare = _BARE.fullmatch(whole)
    return list(dict.fromkeys((whole, bare[1]))) if bare else []


def _texts(names: object) -> pl.Series:
    if isinstance(names, list | tuple):
        try:
            names = pl.Series(names, dtype=pl.String)
        except (TypeError, pl.exceptions.PolarsError):
            names = pl.Series([str(name) for name in names])
    if not isinstance(names, pl.Series):
        raise arguments.not_polars("names", names, "a polars Series, or a list")
    dtype = names.dtype
    if not dtype.is_integer() and not holds_codes(dtype):
        raise UsageError(
            f"is a Series of {dtype}", argument="names", cure="give names or codes, as text"
        )
    return names.cast(pl.String)
