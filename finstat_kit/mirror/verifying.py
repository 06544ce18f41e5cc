"""Every byte of a mirror compared with its checksum, every value with the digest of its row."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror import codelists, some_units, templates
from finstat_kit.mirror.folder import Folder
from finstat_kit.mirror.held import Held, incomplete
from finstat_kit.mirror.sealed import checksum_of
from finstat_kit.mirror.seals import SEALS
from finstat_kit.mirror.tables import Table
from finstat_kit.mirror.versions import UNREADABLE

VERIFIED: Final = pl.Schema(
    {"file": pl.String(), "rows": pl.Int64(), "damaged": pl.Int64(), "meaning": pl.String()}
)
_Row = tuple[str, int, int, str]


def verified(folder: Folder, held: Held) -> pl.DataFrame:
    """Return one row per file, damaged files first.

    Args:
        folder: The directory, with the settings and the codelists of the mirror.
        held: The tables.
    """
    completed = None
    with contextlib.suppress(MirrorError):
        held.all_runs(anew=True)
        completed = held.completed()
    is_complete = completed is None or completed.height > 0  # unknown counts as complete
    known = {} if completed is None else held.rows_at_end(completed)
    rows = [_about(folder), *_table(held.runs, 0, is_complete=is_complete)]
    if not is_complete:
        rows.append((held.runs.path.name, 0, 0, "no sync is complete: sync() resumes it"))
    for name, table in held.lists.items():
        rows += _table(table, known.get(name, 0), is_complete=is_complete)
    for table in (*held.contents.values(), held.cells):
        rows += _table(table, 0, is_complete=is_complete)
    with contextlib.suppress(MirrorError):  # the damage is reported already
        about = folder.about
        for table, meaning in () if about is None else held.foreign(about):
            rows.append((table.path.name, table.rows, table.rows, meaning))
    rows += _templates(folder.templates, held)
    rows += _only(folder)
    if is_complete or folder.codelists.exists():
        rows.append(_codelists(folder.codelists))
    rows += [_codelists(file) for _, file in codelists.former_files(folder.codelists)]
    return pl.DataFrame(rows, schema=VERIFIED, orient="row").sort(pl.col("meaning") == "", "file")


def _about(folder: Folder) -> _Row:
    try:
        meaning = "" if folder.about else "there is none"
    except MirrorError as error:
        meaning = str(error)
    return folder.file.name, 1, int(meaning != ""), meaning


def _codelists(lists: Path) -> _Row:
    try:
        return lists.name, sum(map(len, codelists.stored(lists).values())), 0, ""
    except MirrorError as error:
        return lists.name, 1, 1, str(error)


def _only(folder: Folder) -> Iterator[_Row]:
    about = folder.known
    if folder.only.exists() or (about is not None and about.only is not None):
        try:
            yield folder.only.name, some_units.units_of(folder.only).len(), 0, ""
        except MirrorError as error:
            yield folder.only.name, 1, 1, str(error)


def _templates(file: Path, held: Held) -> Iterator[_Row]:
    used: list[int] = []
    with contextlib.suppress(MirrorError):  # the damage is reported already
        used = held.used_templates()
    try:
        stored = len(templates.stored(file))
        if used and not file.exists():
            yield file.name, len(used), len(used), f"it {templates.LOST}"
        elif file.exists():
            yield file.name, stored, 0, ""
    except MirrorError as error:
        yield file.name, max(len(used), 1), max(len(used), 1), str(error)


def _table(table: Table, known: int, *, is_complete: bool) -> Iterator[_Row]:
    """Return one row per file of a table, and one for the table if rows are missing."""
    name = table.path.name
    try:
        table.refresh(anew=True)
    except MirrorError as error:
        yield name, max(known, 1), max(known, 1), str(error)
        return
    if table.rows < known:
        yield name, known, known - table.rows, incomplete(table, known)
    sealed = table.seals.read()
    if sealed is None and table.files() and is_complete:
        meaning = "there are no checksums: the next sync() verifies every row and writes them"
        yield f"{name}/{SEALS}", 0, 0, meaning
    checksums = {} if sealed is None else sealed.files
    for file, rows in table.files().items():
        yield _file(table, Path(file), rows, checksums)


def _file(table: Table, file: Path, rows: int, checksums: dict[str, str]) -> _Row:
    name, cure = f"{table.path.name}/{file.name}", table.cure_of("this file")
    try:
        # The bytes first: a broken file may crash its reader. A file left without a checksum by a
        # crash gets one in the next sync.
        checksum = checksum_of(file)
        whole = checksums.get(file.name, checksum) == checksum
        bad = table.damaged_rows(str(file), rows) if whole else 0
    except FileNotFoundError:
        return name, rows, rows, f"it is lost: {table.cure_of('', lost=True)}"
    except UNREADABLE as error:
        return name, rows, rows, f"it cannot be read: {error}; {cure}"
    if not whole:
        return name, rows, rows, f"it is not as it was written; {cure}"
    return name, rows, bad, f"something else has put it there; {cure}" if bad else ""
