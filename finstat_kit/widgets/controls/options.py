"""The options of a picker of places: pure functions and tables, no widget."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.frames.places.locations import LEVELS
from finstat_kit.frames.text import slovak
from finstat_kit.widgets.texts import words

FIELDS: Final = {"region": "kraj", "district": "okres", "municipality": "sidlo"}


class Place(NamedTuple):
    """An entry of a codelist with the places above it; "" for a missing name or parent."""

    level: str
    code: str
    name_sk: str
    name_en: str
    district: str
    region: str

    def name(self, lang: Lang) -> str:
        """Return its name, or its code without one."""
        return (self.name_sk if lang == "sk" else self.name_en) or self.code


class Path(NamedTuple):
    """A choice: the codes of the three levels, "" where nothing is chosen."""

    region: str = ""
    district: str = ""
    municipality: str = ""

    @property
    def deepest(self) -> tuple[str, str] | None:
        """Level and code of the deepest choice, or None."""
        chosen = [(level, code) for level, code in zip(LEVELS, self, strict=True) if code]
        return chosen[-1] if chosen else None


class Places:
    """All places of a register, in the order of the options.

    Args:
        frame: The result of `Register.locations`.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        names = ("level", "code", "name_sk", "name_en", "district_code", "region_code")
        places = [Place(*(value or "" for value in row)) for row in frame.select(names).iter_rows()]
        self._places = {
            level: {place.code: place for place in places if place.level == level}
            for level in LEVELS
        }

    def path(self, level: str, code: str) -> Path | None:
        """Return the choice for a place, or None if the level has no such code.

        Without a parent there is no choice above.
        """
        place = self._places[level].get(code)
        if place is None:
            return None
        if level == "region":
            return Path(code)
        return Path(place.region, place.district, code if level == "municipality" else "")

    def find(self, code: str) -> Path | None:
        """Return the choice for a code of any level, or None for an unknown one."""
        paths = (self.path(level, code) for level in LEVELS)
        return next((path for path in paths if path is not None), None)

    def name(self, path: Path, lang: Lang) -> str | None:
        """Return the name of the deepest choice, or None if nothing is chosen."""
        if path.deepest is None:
            return None
        level, code = path.deepest
        return self._places[level][code].name(lang)

    def items(self, level: str, lang: Lang) -> list[list[str]]:
        """Return code, label, distinguishing text, district and region of all places of a level."""
        places = sorted(
            self._places[level].values(),
            key=lambda place: (_abroad(place), slovak.sort_key(place.name(lang)), place.code),
        )
        repeats = Counter(_distinguishing_texts(place, lang) for place in places)
        return [
            [
                place.code,
                # A municipality carries its code beside the district, not in the name.
                f"{place.name(lang)} ({place.code})" if repeated and level != "municipality"
                else place.name(lang),
                self._detail(place, lang, repeated=repeated),
                place.district,
                place.region if level != "region" else "",
            ]
            for place in places
            for repeated in [repeats[_distinguishing_texts(place, lang)] > 1]
        ]  # fmt: skip

    def _detail(self, place: Place, lang: Lang, *, repeated: bool) -> str:
        if place.level == "region":
            return ""
        if place.level == "district":
            above = self._places["region"].get(place.region)
            return above.name(lang) if above else ""
        district, texts = self._places["district"].get(place.district), words(lang)
        name = district and district.name(lang)
        where = texts["district_of"].format(name=name) if name else texts["no_district"]
        return f"{where}, {place.code}" if repeated else where


def _abroad(place: Place) -> bool:
    """Return whether an entry means abroad, by today's codes or by its name."""
    return place.code.startswith("SKZZ") or "zahrani" in place.name_sk.casefold()


def _distinguishing_texts(place: Place, lang: Lang) -> tuple[str, str]:
    """Return the texts that distinguish a place: name, and district for a municipality."""
    return place.name(lang), place.district if place.level == "municipality" else ""
