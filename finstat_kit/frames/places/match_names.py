"""Names and codes of places in any spelling, matched with today's codes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.errors import invalid
from finstat_kit.frames.places.labels import holds_codes
from finstat_kit.frames.places.locations import LEVELS
from finstat_kit.frames.text.slovak import folded_words
from finstat_kit.protocol.old_codes import old_code

MATCHES: Final = pl.Schema(
    {
        "given": pl.String(),
        "code": pl.String(),
        "name_sk": pl.String(),
        "how": pl.String(),
        "candidates": pl.List(pl.String()),
    }
)
# Words for the level of a place, not part of its name; the register writes "Reg.of Nitra" too.
_LEVEL: Final = r"(?:samospravny )?kraj|reg(?:ion)?(?: of)?|okr(?:es)?|district(?: of)?"
_TOWN: Final = r"obec|mesto|mestska cast|municipality of"  # "mesto" may be the end of a name
_BARE: Final = re.compile(f"(?:(?:{_LEVEL}|{_TOWN}) )?(.+?)(?: (?:{_LEVEL}))?")
_DISTRICT: Final = re.compile("(?<= )okr(?:es)?(?= )")  # Lúčka (okr. Rožňava)
_SHORT: Final = {"n": "nad", "p": "pod"}  # Žiar n. Hronom, Vranov n/Topľou
_RIVER: Final = re.compile("( (?:nad|pod) [a-z])[a-z]+$")  # Nové Mesto n/V
_PART: Final = re.compile(" (?:mestska cast|m ?c)(?= )")  # Bratislava, mestská časť Petržalka
_LONG_NAME: Final = 10  # letters, of which two may be wrong


def match(places: pl.DataFrame, names: object, level: str, argument: str = "names") -> pl.DataFrame:
    """Match names or codes with the places of a level; see `Register.match_places`."""
    arguments.one_of("level", level, LEVELS)
    inputs = _texts(given_frames.polars_of(argument, names), argument)
    index = _PlaceIndex(places.filter(pl.col("level") == level))
    given = pl.DataFrame({"text": inputs.drop_nulls().unique()}, schema={"text": pl.String})
    distinct = {
        text: index.matched(text, name)
        for text, name in given.select(
            "text", folded_words(pl.col("text")).alias("name")
        ).iter_rows()
        if text.strip()
    }
    results = [distinct.get(text, ("missing", [])) for text in inputs]
    sure = [None if how == "ambiguous" else next(iter(codes), None) for how, codes in results]
    return pl.DataFrame(
        {
            "given": inputs,
            "code": sure,
            "name_sk": [None if code is None else index.name_of[code] for code in sure],
            "how": [how for how, _ in results],
            "candidates": [codes if how == "ambiguous" else [] for how, codes in results],
        },
        schema=MATCHES,
    )


class _PlaceIndex:
    """The places of a level, by their codes, old codes and the keys of their names.

    Args:
        places: ``code``, the names and the district of each.
    """

    def __init__(self, places: pl.DataFrame) -> None:
        self.name_of: dict[str, str] = dict(places.select("code", "name_sk").iter_rows())
        self._district_of: dict[str, str | None] = dict(
            places.select("code", folded_words(pl.col("district"))).iter_rows()
        )
        self._by_old_code = {old_code(code): code for code in self.name_of}
        self._by_name: dict[str, set[str]] = {}
        self._by_part: dict[str, set[str]] = {}  # districts of a city without the city
        self._by_start: dict[str, set[str]] = {}  # places by the first words of a name
        city_part = pl.col("name").str.extract("-(.*)").fill_null("")
        called = places.unpivot(["name_sk", "name_en"], index="code", value_name="name")
        for code, name, part in (
            called.drop_nulls()
            .select("code", folded_words(pl.col("name")), folded_words(city_part).alias("part"))
            .iter_rows()
        ):
            for key in _keys(name):
                self._by_name.setdefault(key, set()).add(code)
                self._by_name.setdefault(_RIVER.sub(r"\1", key), set()).add(code)
                for space in re.finditer(" ", key):
                    self._by_start.setdefault(key[: space.start()], set()).add(code)
            for key in _keys(part):
                self._by_part.setdefault(key, set()).add(code)

    def matched(self, text: str, name: str) -> tuple[str, list[str]]:
        """Return how a text matches, and the codes that it may mean.

        Args:
            text: As given.
            name: Its folded words.
        """
        if text.strip().upper() in self.name_of:
            return "code", [text.strip().upper()]
        if (today := self._by_old_code.get(text.strip())) is not None:
            return "old code", [today]
        place, district = _parted(name)
        keys = _keys(place)
        codes = filter(None, map(self._codes_of, keys))
        sharing = sorted(next(codes, ()))
        there = [code for code in sharing if district is None or self._is_in(code, district)]
        if len(there) == 1:
            return "name", there
        sharing = there or sharing
        begun = (self._by_start[key] for key in keys if key in self._by_start)
        sharing = sharing or sorted(next(begun, ())) or _near(keys, self._by_name | self._by_part)
        return "ambiguous" if sharing else "unknown", sharing

    def _is_in(self, code: str, district: str) -> bool:
        """Return whether a place lies in a district of a folded name."""
        return bool({*_keys(district)} & {*_keys(self._district_of.get(code) or "")})

    def _codes_of(self, key: str) -> set[str]:
        parts = self._by_part.get(key)
        return self._by_name.get(key) or (
            parts | self._by_start.get(key, set()) if parts else set()
        )


def _parted(words: str) -> tuple[str, str | None]:
    """Return the name of a place and of the district that is written behind it, if any.

    >>> _parted(" lucka okr roznava "), _parted(" okres nitra ")
    ((' lucka ', ' roznava '), (' okres nitra ', None))
    """
    name, _, district = _DISTRICT.sub("\n", words, count=1).partition("\n")
    return (name, district) if district.strip() and name.strip() else (words, None)


def _keys(words: str) -> list[str]:
    """Return the keys to compare folded words by, all of them first: no kinds of places.

    >>> _keys(" zilinsky kraj "), _keys(" vranov n toplou ")
    (['zilinsky kraj', 'zilinsky'], ['vranov nad toplou'])
    """
    whole = " ".join(_SHORT.get(word, word) for word in words.split())
    bare = _BARE.fullmatch(whole)
    return list(dict.fromkeys((whole, bare[1], _PART.sub("", whole)))) if bare else []


def _near(keys: Sequence[str], by_key: Mapping[str, set[str]]) -> list[str]:
    """Return the places with a name that differs from a key by a letter, long ones by two."""
    from rapidfuzz import process  # only where a name is misspelt
    from rapidfuzz.distance import OSA

    codes: dict[str, None] = {}
    for key in keys:
        wrong = 2 if len(key) >= _LONG_NAME else 1
        near = process.extract(
            key, list(by_key), scorer=OSA.distance, score_cutoff=wrong, limit=None
        )
        for name, _, _ in near:
            codes |= dict.fromkeys(sorted(by_key[name]))
    return list(codes)


def _texts(names: object, argument: str) -> pl.Series:
    if isinstance(names, list | tuple):
        names = pl.Series(
            [None if _is_missing(name) else arguments.text(argument, str(name)) for name in names],
            dtype=pl.String,
        )
    if not isinstance(names, pl.Series):
        raise given_frames.not_polars(argument, names, "a Series, or a list")
    dtype = names.dtype
    if not dtype.is_integer() and not holds_codes(dtype):
        raise invalid(argument, ..., f"is a Series of {dtype}", give="names or codes, as text")
    return names.cast(pl.String)


def _is_missing(name: object) -> bool:
    return name is None or (isinstance(name, float) and math.isnan(name))
