"""The units whose contents alone a mirror keeps: their ids, in one file with its checksum.

Units are only ever added. Each addition names the last run completed before it, so that a former
day knows those of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.mirror.folder import About
from finstat_kit.mirror.sealed import read_sealed, write_sealed

_CURE: Final = "fk.Mirror(path, only=units).sync() writes it anew, with the units then given"
LOST: Final = f"is lost; {_CURE}"
# Where records of units name theirs.
OWNED: Final = {"statements": "idUctovnychZavierok", "annual_reports": "idVyrocnychSprav"}
REPORTS_OF: Final = "idUctovnychVykazov"  # where records of both name their reports


def stored(path: Path) -> list[tuple[int, list[int]]]:
    """Return the additions: the last run before each, and the ids of the units.

    Raises:
        MirrorError: The file is lost or damaged.
    """
    body = read_sealed(path, f"remove it: {_CURE}")
    if body is None:
        raise MirrorError(f"{path} {LOST}")
    return [(after, ids) for after, ids in json.loads(body)]


def units_of(path: Path, run: int | None = None) -> pl.Series:
    """Return the ids of the units, ascending: all, or those added before a run.

    Raises:
        MirrorError: The file is lost or damaged.
    """
    added = [ids for after, ids in stored(path) if run is None or after < run]
    return pl.Series("id", [id_ for ids in added for id_ in ids], dtype=pl.Int64).unique().sort()


def add(path: Path, ids: pl.Series, after: int) -> None:
    """Write units down, in addition to those there."""
    former = stored(path) if path.exists() else []
    known = {id_ for _, ids in former for id_ in ids}
    if new := sorted(set(ids) - known):
        write_sealed(path, json.dumps([*former, (after, new)]).encode())


def checked(only: pl.Series | None, about: About | None, contents: tuple[str, ...]) -> None:
    """See that the contents of some units alone can be kept.

    Args:
        only: Ids of the units, None where none were given.
        about: The settings of the mirror, None before it is created.
        contents: The collections to keep beside those that it keeps.

    Raises:
        UsageError: They cannot.
    """
    former = () if about is None else about.contents
    kept = {*former, *contents}
    if only is not None and only.is_empty():
        raise UsageError(
            ": there is no unit in it",
            argument="only",
            cure="give ids, or leave it out for all units",
        )
    if only is not None and not kept:
        raise UsageError(
            "is for the contents of units", argument="only", cure="give contents=True too"
        )
    if only is not None and former and about is not None and about.only is None:
        raise UsageError(
            f": this mirror keeps {list(former)} of all units already, and what was once kept "
            "stays so",
            argument="only",
            cure="leave only= out, or give another folder",
        )
    is_part = only is not None or (about is not None and about.only is not None)
    if is_part and "reports" in kept and "statements" not in kept:
        raise UsageError(
            ": statements name the reports of units", argument="only", cure="keep 'statements' too"
        )
