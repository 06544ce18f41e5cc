"""An extract: a few units of a mirror as a small mirror of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl

from finstat_kit.errors import NotFound, UsageError
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.folder import FORMAT, Folder
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.some_units import OWNED, REPORTS_OF
from finstat_kit.mirror.stored_cells import ORDER
from finstat_kit.mirror.syncing import CONTENTS, LISTS, RUNS
from finstat_kit.mirror.tables import told

# Its files are compared with their checksums: git must not change the ends of their lines.
_ATTRIBUTES: Final = "* -text\n"


def extract(folder: Folder, held: Held, answers: Answers, target: Path, ids: pl.Series) -> None:
    """Write the newest versions of some units, with their codelists and provenance.

    Args:
        folder: Of the mirror.
        held: The tables of the mirror.
        answers: What the mirror answers, of the newest day or of a frozen one.
        target: The directory to create; it appears whole or not at all.
        ids: Of units.

    Raises:
        UsageError: No ids, the target exists or has no folder, or records are not held yet.
        NotFound: The mirror has no record of some ids.
        MirrorError: No sync is complete, or the disk cannot be written.
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
    run = answers.complete().tail(1)
    rows = answers.versions("units", ids.unique())
    if missing := ids.filter(~ids.is_in(rows["id"].implode())).unique().sort().to_list():
        raise NotFound(
            f"{len(missing)} of {ids.n_unique()} ids are not in this mirror: {missing[:5]}",
            ids=missing,
        )
    # It stays recognisable where mirror.json is lost: a sync would take it for the whole.
    marks = {"run": int(run["run"][0]), "extract": rows.height}
    with told(target.parent), TemporaryDirectory(dir=target.parent) as room:
        draft = Path(room, "mirror")
        small = Held(draft)
        draft.mkdir()
        counts = {f"rows_{name}": 0 for name in LISTS}
        kept = tuple(name for name in CONTENTS if answers.keeps(name))
        for name, listed, records in _parts(kept, answers, rows):
            counts[f"rows_{name}"] = listed.height
            small.lists[name].append(listed, held.lists[name].state() | marks)
            small.lists[name].seal()
            if records is not None:
                state = {"version": held.contents[name].state().get("version", 0)}
                if name == "reports":
                    own = records.select(pl.col("id").alias("report_id"), "version")
                    cells = held.cells_of(records).join(own, on=own.columns, how="semi")
                    small.cells.append(cells.sort(ORDER), held.cells.state())
                    small.cells.seal()
                    state["cells"] = cells.height
                small.contents[name].append(records, state)
                small.contents[name].seal()
        noted = run.with_columns(**{name: pl.lit(count) for name, count in counts.items()})
        small.runs.append(noted.select(RUNS.names()).cast(RUNS))
        small.runs.seal()
        if folder.templates.exists():
            shutil.copyfile(folder.templates, draft / folder.templates.name)
        shutil.copyfile(answers.codelists(), draft / "codelists.json")
        about = replace(
            folder.begun(), extract=rows.height, format=FORMAT, contents=kept, only=None
        )
        Folder(draft).write(about)
        (draft / ".gitattributes").write_text(_ATTRIBUTES, encoding="utf-8")
        draft.replace(target)


_Part = tuple[str, pl.DataFrame, pl.DataFrame | None]


def _parts(kept: Sequence[str], answers: Answers, units: pl.DataFrame) -> Iterator[_Part]:
    """Yield each list with the rows that belong to the units, and their records.

    Raises:
        UsageError: Some of the records are listed but not held.
    """
    yield "units", units, None
    owned = {name: _ids(units, column) for name, column in OWNED.items()}
    owned["reports"] = []
    for name in ("statements", "annual_reports", "reports"):
        if name in kept:
            ids = pl.Series(sorted(set(owned[name])), dtype=pl.Int64)
            lack = answers.lacking(name).filter(pl.col("id").is_in(ids.implode()))
            unread = pl.col("readable").eq_missing(pl.lit(False))
            if (absent := lack.filter(~unread)["id"]).len():
                raise answers.not_held(name, absent, ids.len())
            # Unreadable ones are unreadable in the extract too, and no reason against it.
            failed = answers.unread_rows(name, lack.filter(unread)["id"])
            records = pl.concat([answers.held_rows(name, ids), failed])
            yield name, answers.versions(name, ids), records
            if name != "reports":
                owned["reports"] += _ids(records, REPORTS_OF)


def _ids(frame: pl.DataFrame, column: str) -> list[int]:
    return frame[column].explode().drop_nulls().to_list()
