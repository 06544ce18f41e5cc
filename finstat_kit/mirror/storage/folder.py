"""The folder of a mirror: its logs, its runs, and which rows of a log stand for themselves."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.storage.cells import ORDER, STORED
from finstat_kit.mirror.storage.checks import Checks
from finstat_kit.mirror.storage.files import File, Layout
from finstat_kit.mirror.storage.looks import Looks
from finstat_kit.mirror.storage.runs import About, Loss, Run, Runs
from finstat_kit.mirror.storage.versions import RECORD, UNCHANGED, VOID, schema_of
from finstat_kit.protocol import wire
from finstat_kit.transport import forks

COLLECTIONS: Final = tuple(wire.LISTS)
CONTENTS: Final = tuple(name for name in COLLECTIONS if name != "units")
CODELISTS: Final = pl.Schema(
    {
        "version": pl.Int64(), "name": pl.String(), "code": pl.String(), "name_sk": pl.String(),
        "name_en": pl.String(), "parent_code": pl.String(),
    }
)  # fmt: skip
TEMPLATES: Final = pl.Schema(
    {"version": pl.Int64(), "id": pl.Int64(), "seen": pl.Date(), "body": pl.String()}
)
LOGS: Final = {
    **{name: Layout(schema_of(name)) for name in COLLECTIONS},
    "cells": Layout(STORED, ORDER),
    "codelists": Layout(CODELISTS),
    "templates": Layout(TEMPLATES),
}


class Folder:
    """The directory of a mirror.

    Attributes:
        path: Absolute.
        runs: In it.
        checks: Of its data files.
        looks: At its large logs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = Runs(path)
        self.checks = Checks(path)
        self.looks = Looks(path)
        self._about: About | None = None  # before a run is written
        self.lock = forks.free_in_child(threading.RLock())

    @property
    def known(self) -> tuple[About | None, Run | None]:
        """What the mirror is of, and its newest run, by the last look."""
        run = self.runs.last_read
        return (self._about if run is None else run.about), run

    def look(self) -> Run | None:
        """Return the newest run, None where no sync is complete.

        Raises:
            MirrorError: There is no mirror, or its runs are lost or damaged.
        """
        with self.lock:
            run = self.runs.newest()
            if run is None:
                if not self.runs.exist():
                    raise MirrorError(
                        f"there is no mirror in {self.path}",
                        cure="sync() creates one, or give another folder",
                    )
                pending = None
                with contextlib.suppress(MirrorError):
                    pending = self.runs.open()
                self._about = None if pending is None else pending.about
                if self._about is None or (pending and pending.after):
                    raise MirrorError(
                        f"the runs of the mirror at {self.path} are lost; the next sync() restores "
                        "the newest one from the data files"
                    )
            return run

    def complete(self) -> Run:
        """Return the newest run.

        Raises:
            MirrorError: There is none.
        """
        run = self.look()
        if run is None:
            raise MirrorError(
                f"the mirror at {self.path} has no complete sync yet, and a part would be taken "
                "for the whole; sync() resumes where the last one ended"
            )
        return run

    def scan(self, log: str, files: Sequence[File], lost: Sequence[Loss]) -> pl.LazyFrame:
        """Return the rows of some files of a log that stand for themselves.

        Args:
            log: Its name.
            files: Of it.
            lost: What was lost of the mirror.

        Raises:
            MirrorError: A file is lost or damaged.
        """
        return whole(log, LOGS[log].scan(self.checks.paths(files)), lost)


def whole(log: str, rows: pl.LazyFrame, lost: Sequence[Loss]) -> pl.LazyFrame:
    """Return rows of a log without those whose content was in a file that is lost.

    A report whose cells are lost has the kind `VOID`.
    """
    if log == "reports":
        gaps = [pl.col("version").is_between(o.first, o.last) for o in lost if o.log == "cells"]
        if gaps:  # a filter on the kind else reaches the files
            is_void = pl.any_horizontal(gaps) & (pl.col("kind") == RECORD)
            rows = rows.with_columns(kind=pl.when(is_void).then(pl.lit(VOID)).otherwise("kind"))
    if log not in COLLECTIONS or not any(o.log in (log, "cells") for o in lost):
        return rows
    contents = rows.filter(kind=RECORD).select("id", same_as="version")
    unchanged = rows.filter(kind=UNCHANGED).join(contents, on=["id", "same_as"], how="anti")
    return rows.join(unchanged.select("id", "version"), on=["id", "version"], how="anti")
