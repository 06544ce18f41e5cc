"""The runs of a mirror: each is begun and done, and readers read up to one that is done.

The rows of the log ``runs`` are all that a mirror knows of itself, and what it is described by. A
row *begun* says from which versions a run starts, and which files were lost before it; that of a
full run names every id anew. A row *done* says up to which version each log counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.client.register import source_name
from finstat_kit.errors import Either, MirrorError, UsageError
from finstat_kit.mirror.log import UnreadableError
from finstat_kit.protocol.wire import BEGINNING

FORMAT: Final = 7
_REACHED: Final = pl.Struct(
    {"log": pl.String, "version": pl.Int64, "rows": pl.Int64, "least": pl.Int64}
)
_LOST: Final = pl.Struct({"log": pl.String, "first": pl.Int64, "last": pl.Int64})
RUNS: Final = pl.Schema(
    {
        "version": pl.Int64(),  # of the row: ascending, without a gap
        "run": pl.Int64(),
        "kind": pl.String(),  # begun, done
        "day": pl.Date(),  # the register's day when the row was written
        "since": pl.Date(),  # first day of the changes that the run lists
        "started": pl.Date(),
        "full": pl.Boolean(),
        "contents": pl.List(pl.String),  # collections whose records are kept
        "only": pl.Int64(),  # number of the units whose contents alone are; null for all
        "reached": pl.List(_REACHED),
        "lost": pl.List(_LOST),  # versions that were in files dropped by this run
    }
)
BEGUN: Final = "begun"
DONE: Final = "done"
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


class About(NamedTuple):
    """What a mirror is of, which never changes: the description of each of its tables.

    Attributes:
        register: The base URL.
        invented: Name of the invented data by the register's replies; None for none.
        first: The first day of change in the copy.
        extract: Number of units of an extract; None for a mirror that syncs.
        mirror: Drawn when the mirror was created, so that no table of another counts as its own.
    """

    register: str
    invented: str | None
    first: date
    extract: int | None = None
    mirror: str = ""

    @property
    def name(self) -> str:
        """The identity of the register: the one in its replies, or its URL."""
        return self.register if self.invented is None else self.invented

    @property
    def since(self) -> date | None:
        """The first day of change of a partial copy, None for a whole one."""
        return first_day_of_part(self.first)

    @property
    def text(self) -> str:
        """The description of a table."""
        return json.dumps({"format": FORMAT, **self._asdict(), "first": self.first.isoformat()})


def first_day_of_part(first: date | None) -> date | None:
    """Return the first day of change of a partial copy, None for a whole one."""
    return first if first and first > BEGINNING else None


def parsed_about(text: str | None, path: Path) -> About:
    """Return what the description of a table says.

    Raises:
        MirrorError: It is damaged.
        UnreadableError: It is of another format.
    """
    try:
        values = json.loads(text or "")
        number = values.pop("format")
        if type(number) is int and number == FORMAT:
            return About(**{**values, "first": date.fromisoformat(values["first"])})
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise MirrorError(
            f"{path} is not described as a table of a mirror; remove it: sync(full=True) then "
            "fetches it anew"
        ) from error
    is_older = type(number) is int and number < FORMAT
    raise UnreadableError(
        f"{path} is of format {number}, and this version of finstat_kit reads {FORMAT} alone: "
        + ("" if is_older else "pip install --upgrade finstat-kit, or ")
        + "sync into another folder"
    )


class Run(NamedTuple):
    """A run that is done.

    Attributes:
        run: Its number.
        since: First day of the changes that it listed.
        started: The register's day when it began.
        completed: The register's day when it was done.
        contents: The collections whose records are kept.
        only: Number of the units whose contents alone are kept; None for all.
        reached: Up to which version each log counts.
        rows: How many rows each log had.
        least: The least version of each log that counts, but for the content of records.
        base: The last versions before the last full run, which named every id anew.
    """

    run: int
    since: date
    started: date
    completed: date
    contents: tuple[str, ...]
    only: int | None
    reached: Mapping[str, int]
    rows: Mapping[str, int]
    least: Mapping[str, int]
    base: Mapping[str, int]


class Begun(NamedTuple):
    """A run that is not done."""

    run: int
    since: date
    started: date
    full: bool
    reached: Mapping[str, int]
    lost: bool


class History:
    """The runs of a mirror, from its rows.

    Attributes:
        done: Those that are done and can be read, in their order.
        open: The one that is not, None where all are.
        version: Of the newest row.
        last: The number of the newest run.
        contents: The collections whose records are kept, by the newest row.
        only: Number of the units whose contents alone are kept, by the newest row; None for all.
        base: As of `Run`, by the newest row.
        gaps: Versions of logs that were in files which are lost.
    """

    def __init__(self, rows: pl.DataFrame) -> None:
        self.open: Begun | None = None
        self.gaps: list[tuple[str, int, float]] = []
        self.version = self.last = 0
        self.contents: tuple[str, ...] = ()
        self.only: int | None = None
        self.base: Mapping[str, int] = {}
        completed: list[Run] = []
        for row in rows.sort("version").iter_rows(named=True):
            self.version, self.last = row["version"], row["run"]
            self.contents, self.only = tuple(row["contents"]), row["only"]
            reached = {entry["log"]: entry["version"] for entry in row["reached"]}
            if row["kind"] == BEGUN:
                lost = [(o["log"], o["first"], o["last"]) for o in row["lost"]]
                self.gaps += lost
                completed = [run for run in completed if not _misses(run, lost)]
                self.open = Begun(
                    row["run"], row["since"], row["started"], row["full"], reached, bool(lost)
                )
                self.base = reached if row["full"] else self.base
                continue
            self.open = None
            counts, least = (
                {entry["log"]: entry[column] for entry in row["reached"]}
                for column in ("rows", "least")
            )
            completed.append(
                Run(row["run"], row["since"], row["started"], row["day"], self.contents,
                    row["only"], reached, counts, least, self.base)
            )  # fmt: skip
        self.done = tuple(completed)

    def used(self, log: str) -> int:
        """Return the greatest version of a log that the runs name, whether it is there or lost."""
        versions = [run.reached.get(log, 0) for run in self.done]
        versions += [int(last) for name, _, last in self.gaps if name == log]
        if self.open is not None:
            versions.append(self.open.reached.get(log, 0))
        return max(versions, default=0)

    def complete(self, path: Path, day: date | None = None) -> Run:
        """Return the newest run that is done, by a day.

        Raises:
            MirrorError: None is done yet, or a loss is being made good.
            UsageError: None was done by then, or a later one may change that day.
        """
        if not self.done or (self.open is not None and self.open.lost):
            raise MirrorError(
                f"the mirror at {path} has no complete sync yet, and a part would be taken for the "
                "whole; sync() resumes where the last one ended"
            )
        if day is None:
            return self.done[-1]
        if day > self.done[-1].completed:
            raise UsageError(
                f": the last sync of this mirror was completed on {self.done[-1].completed}, and a "
                "later one would change that day",
                argument="as_of",
                value=str(day),
                cure=f"give {str(self.done[-1].completed)!r}, or sync first",
            )
        by_then = [run for run in self.done if run.completed <= day]
        if not by_then:
            raise UsageError(
                f": the first sync of this mirror was completed on {self.done[0].completed}",
                argument="as_of",
                value=str(day),
                cure="give that day or a later one",
            )
        return by_then[-1]


def _misses(run: Run, lost: Iterable[tuple[str, int, float]]) -> bool:
    """Return whether a run counts a row of a file that is lost; contents may be held elsewhere."""
    return any(
        first <= run.reached.get(log, 0) and last >= run.least.get(log, 0)
        for log, first, last in lost
        if log != "cells"
    )


def row_of(
    kind: str,
    version: int,
    run: Begun,
    day: date,
    reached: Sequence[tuple[str, int, int]],
    contents: Sequence[str],
    only: int | None,
    lost: Sequence[tuple[str, int, int]] = (),
    least: Mapping[str, int] = MappingProxyType({}),
) -> pl.DataFrame:
    """Return a row of the log of runs."""
    row: dict[str, Any] = {
        "version": version, "run": run.run, "kind": kind, "day": day, "since": run.since,
        "started": run.started, "full": run.full, "contents": list(contents), "only": only,
        "reached": [
            {"log": log, "version": last, "rows": rows, "least": least.get(log, 0)}
            for log, last, rows in reached
        ],
        "lost": [dict(zip(("log", "first", "last"), entry, strict=True)) for entry in lost],
    }  # fmt: skip
    return pl.DataFrame([row], schema=RUNS)


def repr_of_mirror(
    path: Path, known: tuple[About, History] | None, first: date | None, day: date | None
) -> str:
    """Return the repr of a mirror.

    Args:
        path: The directory, as given.
        known: What was last read of it, None before the first look.
        first: The first day of change that a new one is to begin with.
        day: The day of a frozen state.
    """
    about, history = known or (None, None)
    kind = "SAMPLE DATA " if about and about.invented else ""
    source = about.name if about else "nothing yet"
    since = about.since if about else first
    part = f", changed since {since}" if since else ""
    if about and about.extract is not None:
        part += f", extract (units: {about.extract})"
    done = [run for run in history.done if day is None or run.completed <= day] if history else []
    if history and history.open and history.open.lost:
        done = []
    if done and done[-1].only is not None:
        part += f", contents of {done[-1].only:,} units"
    state = f"as of {done[-1].started}" if done else "no complete sync yet"
    at, frozen = ("", "") if day is None else (f"@{day}", ", read-only")
    return f"{kind}<Mirror {path}{at} of {source}{part}, {state}{frozen}>"


def source_text(about: About, day: date, lang: Lang) -> str:
    """Name the source of a copy, for titles: the register, the part copied, and the day."""
    return f"{_name(about, lang)}{_copied(about, day, lang)}"


def citation(about: About, day: date, lang: Lang) -> str:
    """Return one line for a footnote: the source with its address and licence."""
    name = _name(about, lang, cited=True)
    own = "://" not in name  # the case of an address is kept
    return f"{name[0].upper() if own else name[0]}{name[1:]}{_copied(about, day, lang)}."


def not_held(
    name: str, ids: list[int], many: int, *, day: date | None, extract: bool, only: str | None
) -> UsageError:
    """Return the error for listed records that are not held.

    Args:
        name: Of the collection.
        ids: Those records.
        many: How many were requested.
        day: Of a frozen state.
        extract: Whether the mirror is one.
        only: The cure for records of other units than those whose contents are kept.
    """
    cure = "sync() goes on with them, holdings() says how far it is"
    if extract:
        cure = "extract again from a mirror that holds them"
    elif day is not None:
        cure = f"take a later day than {day}, once sync() has fetched them"
    elif only is not None:
        cure = only
    return UsageError(
        f"{len(ids):,} of {many:,} {name} are not held yet: {ids[:5]}",
        cure=Either(cure, "the next sync goes on with them"),
    )


def not_kept(name: str, path: Path, *, day: date | None, extract: bool) -> UsageError:
    """Return the error for a collection without records."""
    cure = f"fetch the records: fk.Mirror({str(path)!r}, contents=[{name!r}]).sync()"
    if extract:
        cure = "extract again from a mirror that keeps them"
    elif day is not None:
        cure = f"take a later day than {day}, on which their records were kept"
    return UsageError(
        f"of {name} this mirror holds the ids alone",
        cure=Either(f"{cure}, or use the register: fk.use(fk.LIVE)", "use the register"),
    )


def _name(about: About, lang: Lang, *, cited: bool = False) -> str:
    if about.invented and "://" not in about.register:  # a sample of this process
        return _WORDS[lang]["sample"]
    return source_name(about.register, about.invented is not None, lang, cited=cited)


def _copied(about: About, day: date, lang: Lang) -> str:
    words = _WORDS[lang]
    part = f", {words['since']} {about.since}" if about.since else ""
    if about.extract is not None:
        part += ", " + words["extract"].format(about.extract)
    return f"{part}, {words['copied']} {day}"
