"""An extract: a few units of a mirror as a small mirror of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl
from msgspec.structs import replace

from finstat_kit.errors import NotFound, UsageError
from finstat_kit.mirror.state import State, lacking_of
from finstat_kit.mirror.storage.files import File, failures_named, legible, moved
from finstat_kit.mirror.storage.folder import CONTENTS, LOGS
from finstat_kit.mirror.storage.runs import FORMAT, Origin, Point, Run, Runs
from finstat_kit.mirror.storage.versions import (
    LISTED,
    MISSING,
    OWNED,
    RECORD,
    REPORTS_OF,
    UNREADABLE,
    ids_named,
    in_log,
    newest,
    schema_of,
)

# Its files are compared with their names: git must not change the ends of their lines.
_ATTRIBUTES: Final = b"* -text\n"
_OWN: Final = 1  # the version of all rows of an extract
NotHeldOf = Callable[[str, pl.Series, int], UsageError]


def extract(state: State, target: Path, ids: pl.Series, not_held: NotHeldOf) -> None:
    """Write the newest versions of some units, with their codelists and provenance.

    Args:
        state: Of the mirror, of the newest day or of a frozen one.
        target: The directory to create; it appears whole or not at all.
        ids: Of units.
        not_held: Returns the error for records of a collection that are not held: its name, their
            ids, and how many were wanted.

    Raises:
        UsageError: No ids, the target exists or has no folder, or records are not held yet.
        NotFound: The mirror has no record of some ids.
        MirrorError: The disk cannot be written.
    """
    if not ids.len():
        raise UsageError("an extract needs units", cure="give their ids")
    if target.exists():
        raise UsageError(
            "exists already",
            argument="path",
            value=str(target),
            cure="give the name of a new folder",
        )
    if not target.parent.is_dir():
        raise UsageError(
            f": there is no folder {str(target.parent)!r}", argument="path", value=str(target)
        )
    units, _ = state.records("units", ids.unique())
    if missing := ids.filter(~ids.is_in(units["id"].implode())).unique().sort().to_list():
        raise NotFound(
            f"{len(missing)} of {ids.n_unique()} ids are not in this mirror: {missing[:5]}",
            ids=missing,
        )
    kept = tuple(name for name in CONTENTS if state.keeps(name))
    about = replace(state.about, extract=units.height)
    with failures_named(target.parent), TemporaryDirectory(dir=target.parent) as room:
        small = Path(room, "mirror")
        files: dict[str, tuple[File, ...]] = {}
        for name, rows in (*_parts(state, kept, units, not_held), *_newest(state)):
            if rows.height:
                origin = Origin(FORMAT, name, about, kept)
                files[name] = (LOGS[name].write(small, rows, origin.text),)
        point = Point(
            1, state.point.day, state.point.started, state.point.since, kept, None,
            dict.fromkeys(files, _OWN), {}, 1,
        )  # fmt: skip
        Runs(small).commit(Run(FORMAT, 1, about, (point,), files), after=0)
        (small / ".gitattributes").write_bytes(_ATTRIBUTES)
        moved(small, target)


def _newest(state: State) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of the newest codelists and templates."""
    codelists = [
        entries.with_columns(name=pl.lit(name)) for name, entries in state.codelists.items()
    ]
    with legible(state.path):
        templates = newest(state.scan("templates").collect())
    for name, rows in (("codelists", pl.concat(codelists)), ("templates", templates)):
        yield name, rows.with_columns(version=pl.lit(_OWN, pl.Int64))


def _parts(
    state: State, kept: tuple[str, ...], units: pl.DataFrame, not_held: NotHeldOf
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of each log that belong to the units.

    Raises:
        UsageError: Some of the records are listed but not held.
    """
    yield "units", _renumbered(units, "units")
    owners = [pl.LazyFrame(schema=schema_of("statements"))]
    for name, column in (OWNED | {"reports": REPORTS_OF}).items():
        ids = ids_named(owners if name == "reports" else [units.lazy()], column).alias("id")
        if name not in kept:
            own = ids.to_frame().join(state.listed(name).to_frame(), on="id", how="semi")
            listed = own.with_columns(kind=pl.lit(LISTED), seen=pl.lit(state.today))
            yield name, _renumbered(listed, name)
            continue
        records, stands = state.records(name, ids)
        lack = lacking_of(stands)
        unread = lack.filter("unreadable")["id"]
        absent = lack.filter(~pl.col("unreadable"))["id"]
        if absent.len():
            raise not_held(name, absent, ids.len())
        records = records.filter(~pl.col("id").is_in(unread.implode()))
        with legible(state.path):
            # Unreadable ones are unreadable in the extract too, and no reason against it.
            is_unread = pl.col("id").is_in(unread.implode())
            rows = state.scan(name, unread).filter(is_unread, kind=UNREADABLE).collect()
        if name == "reports":
            with legible(state.path):
                cells = state.scan("cells", records["id"]).collect()
            held = records.select("version", report_id="id")
            cells = cells.join(held, on=["report_id", "version"], how="semi")
            yield "cells", cells.with_columns(version=pl.lit(_OWN, pl.Int64))
        yield name, _renumbered(pl.concat([records, newest(rows)]), name)
        owners.append(records.lazy())


def _renumbered(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return rows in the columns of their log, all of one version."""
    counted = pl.col("kind").is_in([RECORD, MISSING, LISTED, UNREADABLE])
    return in_log(name, rows, _OWN).filter(counted)
