"""The descriptions of a mirror: its repr, and its citation."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.client.register import source_name
from finstat_kit.mirror.folder import About

_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "sample": "vymyslené údaje ukážky finstat_kit",
        "since": "zmenené od",
        "extract": "výber (jednotky: {})",
        "copied": "kópia k",
    },
    "en": {
        "sample": "invented data of a finstat_kit sample",
        "since": "changed since",
        "extract": "extract (units: {})",
        "copied": "copied as of",
    },
}


def described(
    path: Path,
    about: About | None,
    since: date | None,
    completed: pl.DataFrame | None,
    day: date | None,
) -> str:
    """Return the repr of a mirror.

    Args:
        path: The directory, as given.
        about: The settings it was created with, None if unknown.
        since: The first day of change of a partial copy, None for a whole one.
        completed: The completed runs, None if they could not be read.
        day: The day of a frozen state.
    """
    if completed is None or (about is None and completed.height):
        return f"<Mirror {path}, damaged: see verify()>"
    kind = "SAMPLE DATA " if about and about.invented else ""
    source = about.origin.name if about else "nothing yet"
    part = f", changed since {since}" if since else ""
    if about and about.extract is not None:
        part += f", extract (units: {about.extract})"
    if about and about.only is not None:
        part += f", contents of {about.only:,} units"
    if day is not None:
        completed = completed.filter(pl.col("completed") <= day)
    state = f"as of {completed['started'][-1]}" if completed.height else "no complete sync yet"
    at, frozen = ("", "") if day is None else (f"@{day}", ", read-only")
    return f"{kind}<Mirror {path}{at} of {source}{part}, {state}{frozen}>"


def source(about: About, day: date, lang: Lang) -> str:
    """Name the source of a copy, for titles: the register, the part copied, and the day."""
    return f"{_name(about, lang)}{_copied(about, day, lang)}"


def citation(about: About, day: date, lang: Lang) -> str:
    """Return one line for a footnote: the source with its address and licence."""
    name = _name(about, lang, cited=True)
    own = "://" not in name  # the case of an address is kept
    return f"{name[0].upper() if own else name[0]}{name[1:]}{_copied(about, day, lang)}."


def _name(about: About, lang: Lang, *, cited: bool = False) -> str:
    url = about.origin.register
    if about.invented and "://" not in url:  # a sample of this process
        return _WORDS[lang]["sample"]
    return source_name(url, about.invented, lang, cited=cited)


def _copied(about: About, day: date, lang: Lang) -> str:
    words = _WORDS[lang]
    part = f", {words['since']} {about.since}" if about.since else ""
    if about.extract is not None:
        part += ", " + words["extract"].format(about.extract)
    return f"{part}, {words['copied']} {day}"
