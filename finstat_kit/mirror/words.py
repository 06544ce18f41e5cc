"""What a mirror says of itself: its repr, its source, and why something is not held."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

from finstat_kit.arguments import Lang
from finstat_kit.client.register import source_name
from finstat_kit.errors import NotHeld
from finstat_kit.frames.text import number_format
from finstat_kit.mirror.storage.runs import Point, Run, Settings

_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "sample": "vymyslené údaje ukážky finstat_kit",
        "given": "dané jednotky: {}",
        "copied": "kópia k",
        "pulled": "prevzatá z",
    },
    "en": {
        "sample": "invented data of a finstat_kit sample",
        "given": "given units: {}",
        "copied": "copied as of",
        "pulled": "pulled from",
    },
}


def repr_of_mirror(path: Path, run: Run | None, point: Point | None, day: date | None) -> str:
    """Return the repr of a mirror.

    Args:
        path: The directory, as given.
        run: The newest run, None before the first sync.
        point: What was last read of it, None without a complete sync.
        day: The day of a frozen state.
    """
    settings = run.settings if run else None
    kind = "SAMPLE DATA " if settings and settings.invented else ""
    source = settings.name if settings else "nothing yet"
    state = ", no complete sync yet"
    if run and point:
        state = _copied(run, point.started, "en", pulled=True)
    at, frozen = ("", "") if day is None else (f"@{day}", ", read-only")
    return f"{kind}<Mirror {path}{at} of {source}{state}{frozen}>"


def source_text(run: Run, day: date, lang: Lang) -> str:
    """Name the source of a copy, for titles: the register, the part copied, and the day."""
    return f"{_name(run.settings, lang)}{_copied(run, day, lang)}"


def citation(run: Run, day: date, lang: Lang) -> str:
    """Return one line for a footnote: the source with its address and licence."""
    name = _name(run.settings, lang, cited=True)
    own = "://" not in name  # the case of an address is kept
    copied = _copied(run, day, lang, pulled=True)
    return f"{name[0].upper() if own else name[0]}{name[1:]}{copied}."


def not_there(what: str) -> NotHeld:
    """Return the error for what no mirror holds."""
    return NotHeld(f"a mirror does not hold {what}", cure="use the register: fk.use(fk.LIVE)")


def not_listed(given: int, fault: str) -> NotHeld:
    """Return the error for what a mirror of given units cannot say of the register."""
    return NotHeld(
        f"this mirror of {given:,} given units {fault}",
        cure="use the register: fk.use(fk.LIVE), or a mirror of all units; fk.units.ids() and "
        "scan() of each collection have what is of these units",
    )


def _name(settings: Settings, lang: Lang, *, cited: bool = False) -> str:
    if settings.invented and "://" not in settings.register:  # a sample of this process
        return _WORDS[lang]["sample"]
    return source_name(settings.register, settings.invented is not None, lang, cited=cited)


def _copied(run: Run, day: date, lang: Lang, *, pulled: bool = False) -> str:
    words, units = _WORDS[lang], run.settings.units
    part = ""
    if units is not None:
        part = f", {words['given'].format(number_format.whole(len(units), lang))}"
    source = f", {words['pulled']} {run.pulled.url}" if pulled and run.pulled else ""
    return f"{part}, {words['copied']} {day}{source}"
