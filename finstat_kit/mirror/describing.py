"""What a mirror says of itself: in one line for a person, and in a footnote."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.mirror.folder import About


def described(
    path: Path, about: About | None, since: date | None, completed: pl.DataFrame | None
) -> str:
    """Return the repr of a mirror.

    Args:
        path: The folder, as it was given.
        about: What it was begun with, None where that is not known.
        since: The day that a part of the register begins with, None for all of it.
        completed: The runs that came to their end, None where they could not be read.
    """
    if completed is None or (about is None and completed.height):
        return f"<Mirror {path}, damaged: see verify()>"
    kind = "SAMPLE DATA " if about and about.invented else ""
    source = about.origin.name if about else "nothing yet"
    part = f", changed since {since}" if since else ""
    state = f"as of {completed['started'][-1]}" if completed.height else "no complete sync yet"
    return f"{kind}<Mirror {path} of {source}{part}, {state}>"


def citation(about: About, day: date, lang: Lang) -> str:
    """Return one line for a footnote: the register, its licence, what was copied and when."""
    source, since = about.origin.name, about.since
    if lang == "sk":
        copied = f"{f', zmenené od {since}' if since else ''}, kópia k {day}."
        if about.invented:
            return f"Vymyslené údaje ukážky finstat_kit{copied}"
        return f"Register účtovných závierok, {source}, licencia CC0{copied}"
    copied = f"{f', changed since {since}' if since else ''}, copied as of {day}."
    if about.invented:
        return f"Invented data of a finstat_kit sample{copied}"
    return f"Register of Financial Statements (Slovakia), {source}, CC0{copied}"
