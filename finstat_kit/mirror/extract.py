"""An extract: some units of a mirror copied into a mirror of given units."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl
from msgspec.structs import replace

from finstat_kit.errors import NotFound, UsageError, invalid
from finstat_kit.mirror.state import State
from finstat_kit.mirror.storage.files import File, failures_named, legible, moved
from finstat_kit.mirror.storage.folder import Folder
from finstat_kit.mirror.storage.logs import LOGS
from finstat_kit.mirror.storage.rows import (
    LISTED,
    OWNED,
    RECORD,
    REPORTS_OF,
    UNREADABLE,
    ids_named,
    in_log,
    is_among,
    newest,
    rows_of,
    schema_of,
)
from finstat_kit.mirror.storage.runs import FORMAT, Point, Run
from finstat_kit.mirror.storage.writer import Batch

# Its files are compared with their names: git must not change the ends of their lines.
_ATTRIBUTES: Final = b"* -text\n"
_NAMES: Final = 1  # the version of all rows of an extract that name ids
_ANSWERS: Final = 2  # and of those that answer them


def extract(state: State, target: Path, ids: pl.Series) -> None:
    """Write the newest versions of some units, with their codelists and provenance.

    Args:
        state: Of the mirror, of the newest day or of a frozen one.
        target: The directory to create; it appears whole or not at all.
        ids: Of units.

    Raises:
        UsageError: No ids, the target exists or has no folder, or records are not held yet.
        NotFound: The mirror has no record of some ids.
        MirrorError: The disk cannot be written.
    """
    if not ids.len():
        raise UsageError("an extract needs units", cure="give their ids")
    if target.exists() or not target.parent.is_dir():
        fault = "exists already" if target.exists() else ": there is no folder to create it in"
        raise invalid("path", str(target), fault, give="the name of a new folder")
    units, _ = state.records("units", ids.unique())
    missing = ids.filter(~ids.is_in(units["id"].implode())).unique().sort()
    state.see_given("units", missing, ids.n_unique())
    if absent := missing.to_list():
        text = f"{len(absent)} of {ids.n_unique()} ids are not in this mirror: {absent[:5]}"
        raise NotFound(text, ids=absent)
    kept = state.point.contents
    with failures_named(target.parent), TemporaryDirectory(dir=target.parent) as room:
        small, point = Path(room, "mirror"), secrets.token_hex(8)
        files: dict[str, tuple[File, ...]] = {}
        for log, rows, names, since in (*_parts(state, kept, units), *_newest(state)):
            if rows.height:
                file = replace(LOGS[log].write(small, rows), names=names, since=since)
                files[log] = (*files.get(log, ()), file)
        settings = replace(state.settings, contents=kept, units=(*units["id"],), icos={})
        upto = dict.fromkeys(files, _ANSWERS)
        former = state.point
        points = (Point(point, 1, former.started, former.day, kept, upto, ("units", *kept)),)
        Folder(small).commit(Run(FORMAT, 1, settings, files, points), None)
        (small / ".gitattributes").write_bytes(_ATTRIBUTES)
        moved(small, target)


def _newest(state: State) -> Iterator[Batch]:
    """Yield the rows of the newest codelists and templates."""
    codelists = [
        entries.with_columns(name=pl.lit(name)) for name, entries in state.codelists.items()
    ]
    with legible(state.path):
        templates = newest(state.scan("templates").collect())
    for log, rows in (("codelists", pl.concat(codelists)), ("templates", templates)):
        yield Batch(log, rows.with_columns(version=pl.lit(_ANSWERS, pl.Int64)))


def _parts(state: State, kept: tuple[str, ...], units: pl.DataFrame) -> Iterator[Batch]:
    """Yield the rows of each log that belong to the units.

    Raises:
        UsageError: Some of the records are listed but not held.
    """
    yield _names("units", units["id"], state)
    yield Batch("units", in_log("units", units.with_columns(kind=pl.lit(RECORD)), _ANSWERS))
    owners = [pl.LazyFrame(schema=schema_of("statements"))]
    for name, column in (OWNED | {"reports": REPORTS_OF}).items():
        ids = ids_named(owners if name == "reports" else [units.lazy()], column).alias("id")
        if name not in kept:
            yield _names(name, ids.filter(is_among(ids, state.standing(name).listed)), state)
            continue
        records, stands = state.records(name, ids)
        unread = stands.unread
        state.see_held(name, stands.absent, ids.len())
        records = records.filter(~pl.col("id").is_in(unread.implode()))
        with legible(state.path):
            # Unreadable ones are unreadable in the extract too, and no reason against it.
            is_unread = pl.col("id").is_in(unread.implode())
            rows = state.scan(name, unread, names=False).filter(is_unread, kind=UNREADABLE)
            problems = newest(rows.collect())
            if name == "reports":
                held = records.select("version", report_id="id")
                cells = state.scan("cells", records["id"]).collect()
                cells = cells.join(held, on=["report_id", "version"], how="semi")
                yield Batch("cells", cells.with_columns(version=pl.lit(_ANSWERS, pl.Int64)))
        yield _names(name, pl.Series(stands.ids[stands.is_listed]), state)
        yield Batch(name, in_log(name, pl.concat([records, problems]), _ANSWERS))
        owners.append(records.lazy())


def _names(name: str, ids: pl.Series, state: State) -> Batch:
    rows = rows_of(name, ids.to_frame("id"), LISTED, _NAMES, state.today)
    return Batch(name, rows, names=True)
