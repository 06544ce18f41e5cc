"""An append-only table on Delta Lake: rows and the state of the walk, one commit per batch."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import deltalake
import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.plain import plain_arrow
from finstat_kit.mirror.sealed import checksum_of, stamp
from finstat_kit.mirror.seals import COMMITS, Sealed, Seals
from finstat_kit.mirror.versions import UNREADABLE, damaged_rows

_ROW_GROUP: Final = 131_072
_FILE: Final = 32 * 2**20  # bytes; larger files are not compacted again
MANY_FILES: Final = 64


class Table:
    """Append-only rows, in files that every engine reads.

    A state is a few whole numbers by name; it is committed with its rows and remains until another
    commit changes it.
    """

    def __init__(self, path: Path, schema: pl.Schema, states: tuple[str, ...] = ()) -> None:
        self.path = path
        self.schema = schema
        self.seals = Seals(path)
        self._states = states
        self._delta: DeltaTable | None = None
        self._state: dict[str, int | None] = {}  # of the loaded commit, what was read of it
        self._files: dict[str, int] | None = None
        self._lock = threading.RLock()  # widgets read from threads of their own

    @property
    def cure(self) -> str:
        """The fix for a table that cannot be read."""
        if self.path.name == "cells":
            both = f"{self.path} and {self.path.with_name('reports_records')}"
            return (
                f"remove {both}: the next sync() fetches the reports anew, older versions of them "
                "are lost"
            )
        if "listed" in self.schema:
            return f"remove {self.path}: the next sync() fetches it anew, older versions are lost"
        if "digest" in self.schema:
            return (
                f"remove {self.path}: sync(full=True) then fetches it anew, older versions in it "
                "are lost"
            )
        return (
            f"remove {self.path}: the next sync() writes it anew, and as_of and changes() begin "
            "anew with it"
        )

    def cure_of(self, file: str, *, lost: bool = False) -> str:
        """Return the fix for a damaged or missing data file."""
        if "digest" not in self.schema:
            return self.cure
        if "listed" in self.schema:
            return ("" if lost else f"remove {file}: ") + (
                "the next sync() fetches what it held, older versions of it are lost"
            )
        return ("" if lost else f"remove {file}: ") + (
            "sync(full=True) then fetches what it held, older versions of it are lost"
        )

    def refresh(self, *, anew: bool = False) -> bool:
        """Load the newest commit; return whether there is any.

        Until that is complete, other threads see the commit loaded before.

        Args:
            anew: Load all commits, not only those since the last one loaded.

        Raises:
            MirrorError: Commits are missing or damaged.
        """
        with self._lock, told(self.path):
            sealed = self.seals.read()  # before the commits: it is written after them
            delta = self._delta
            if delta is None or anew:
                delta = self._opened() if (self.path / COMMITS).is_dir() else None
            elif not self._is_newest(delta.version(), sealed):
                delta = self._updated(delta)
            commit = -1 if delta is None else delta.version()
            if sealed is not None and commit < sealed.commit:
                raise MirrorError(
                    f"{self.path} has lost commits: {commit + 1:,} of at least "
                    f"{sealed.commit + 1:,} are there; {self.cure}"
                )
            if delta is not self._delta:
                self._delta, self._state, self._files = delta, {}, None
        return delta is not None

    @property
    def commit(self) -> int:
        """The number of the newest commit loaded, -1 before the first."""
        with self._lock:
            return -1 if self._delta is None else self._delta.version()

    @property
    def rows(self) -> int:
        """The number of rows in the newest commit loaded."""
        return sum(self.files().values())

    def state(self) -> dict[str, int]:
        """Return the state of the newest commit loaded, empty before the first."""
        with self._lock:
            found = {name: self.value(name) for name in self._states}
        return {name: value for name, value in found.items() if value is not None}

    def value(self, name: str) -> int | None:
        """Return one value of the state, None before the first commit with it."""
        with self._lock:
            if name not in self._state and self._delta is not None:
                self._state[name] = self._delta.transaction_version(name)
            return self._state.get(name)

    def files(self) -> dict[str, int]:
        """Return the data files of the newest commit loaded, with their numbers of rows."""
        with self._lock:
            if self._files is None and self._delta is not None:
                adds = self._delta.get_add_actions(flatten=True)
                names, counts = (adds[name].to_pylist() for name in ("path", "num_records"))
                rows = dict(zip(names, counts, strict=True))
                self._files = {str(self.path / name): rows[name] or 0 for name in sorted(rows)}
            return self._files or {}

    def lost_files(self) -> list[str]:
        """Return the listed data files that do not exist."""
        return [file for file in self.files() if stamp(file) is None]

    def whole_files(self) -> list[str]:
        """Return the data files, all verified.

        Raises:
            MirrorError: One is missing or damaged.
        """
        with self._lock:
            if self.lost_files():
                self.refresh()  # they may have been compacted meanwhile
            for file in self.lost_files():
                raise MirrorError(f"{file} is lost: {self.cure_of(file, lost=True)}")
            with told(self.path):
                for file in self.files():
                    if not self.seals.fits(file):
                        raise MirrorError(f"{file} is not as it was written; {self.cure_of(file)}")
            return list(self.files())

    def _opened(self) -> DeltaTable | None:
        broken = self.seals.broken_commit()
        if broken is not None:
            raise MirrorError(f"{self.path / broken} is not as it was written; {self.cure}")
        with _damage_told(self), contextlib.suppress(TableNotFoundError):
            return deltalake.DeltaTable(str(self.path))
        return None

    def _is_newest(self, commit: int, sealed: Sealed | None) -> bool:
        """Return whether no commit follows: by two files, a hundred times as fast as an update.

        Old commits are removed from the lowest on, so that the next one of a commit that is still
        there is not among them.
        """
        if sealed is not None and commit < sealed.commit:
            return False
        here, following = (f"{self.path}/{COMMITS}/{n:020}.json" for n in (commit, commit + 1))
        return stamp(here) is not None and stamp(following) is None

    def _updated(self, delta: DeltaTable) -> DeltaTable | None:
        before = delta.version()
        try:
            delta.update_incremental()
        except DeltaError:  # the commits since then were compacted away
            return self._opened()
        if delta.version() != before:
            self._state, self._files = {}, None
        return delta

    def seal(self, *, doubted: bool = False) -> None:
        """Write checksums for files without one.

        Args:
            doubted: Whether the files were written earlier, so that their rows are verified first.

        Raises:
            MirrorError: A row was altered, the seals are damaged, or the disk is full.
        """
        if self._delta is None:
            return
        before = self.seals.read() or Sealed(-1, {})
        data = {Path(file).name: file for file in self.files()}
        new = data.keys() - before.files.keys()
        if not new and before.commit == self.commit:
            return
        for name in new if doubted else ():
            self._look_at_rows(data[name])
        with told(self.path):
            commits = sorted((self.path / COMMITS).iterdir())
            names = [f"{COMMITS}/{c.name}" for c in commits if c.name.startswith("0")]
            files = {
                name: before.files.get(name) or checksum_of(self.path / name)
                for name in (*data, *names)
            }
            self.seals.write(Sealed(self.commit, files))

    def damaged_rows(self, file: str, rows: int) -> int:
        """Return how many rows of a data file are not as they were written; all are read."""
        if "digest" in self.schema:
            return damaged_rows(file, rows)
        return abs(
            rows - pl.read_parquet(file, schema=self.schema, missing_columns="insert").height
        )

    def _look_at_rows(self, file: str) -> None:
        try:
            bad = self.damaged_rows(file, self.files()[file])
        except UNREADABLE as error:
            raise MirrorError(f"{file} cannot be read: {error}; {self.cure_of(file)}") from error
        if bad:
            raise MirrorError(
                f"{bad} rows of {file} are not as they were written; {self.cure_of(file)}"
            )

    def scan(self) -> pl.LazyFrame:
        """Return all rows of the newest commit loaded, file by file.

        Raises:
            MirrorError: A file is missing or damaged.
        """
        files = self.whole_files()
        if not files:
            return pl.LazyFrame(schema=self.schema)
        return pl.scan_parquet(files, schema=self.schema, missing_columns="insert", glob=False)

    def append(self, rows: pl.DataFrame, state: Mapping[str, int] | None = None) -> None:
        """Commit rows, possibly none, and the state with them."""
        properties = deltalake.CommitProperties(
            app_transactions=[
                deltalake.Transaction(name, value) for name, value in (state or {}).items()
            ]
        )
        with self._lock, told(self.path):
            if self._delta is None:
                deltalake.write_deltalake(
                    str(self.path),
                    plain_arrow(rows),
                    configuration=_CONFIGURATION | (_STATISTICS if "seen" in self.schema else {}),
                    writer_properties=_WRITING,
                    commit_properties=properties,
                )
                self._delta = deltalake.DeltaTable(str(self.path))
            elif rows.height:
                older = len(self._delta.schema().fields) < len(self.schema)
                deltalake.write_deltalake(
                    self._delta,
                    plain_arrow(rows),
                    mode="append",
                    schema_mode="merge" if older else None,
                    writer_properties=_WRITING,
                    commit_properties=properties,
                )
            else:
                self._delta.create_write_transaction(
                    [], "append", self._delta.schema(), commit_properties=properties
                )
                self._delta.update_incremental()
            self._state |= state or {}
            self._files = None

    def compact(self, keep_hours: float = 24) -> None:
        """Merge small files, and remove those no longer needed by any reader."""
        if self._delta is None:
            return
        keep, delta = math.ceil(keep_hours), self._delta
        self.whole_files()  # damaged files must not get a new checksum
        with self._lock, told(self.path):
            if len(self.files()) > 1:
                delta.optimize.compact(target_size=_FILE, writer_properties=_WRITING)
            delta.vacuum(retention_hours=keep, dry_run=False, enforce_retention_duration=False)
            if delta.metadata().configuration.get(_KEPT) != f"interval {keep} hours":
                delta.alter.set_table_properties({_KEPT: f"interval {keep} hours"})
            checkpoint = self.path / COMMITS / f"{delta.version():020}.checkpoint.parquet"
            if not checkpoint.exists():  # rewritten, it would no longer match its seal
                delta.create_checkpoint()
            delta.cleanup_metadata()
            self.refresh()
            self._files = None
        self.seal()

    def forget_lost_files(self) -> None:
        """Remove missing files, deleted as damaged, from the table."""
        if self._delta is not None:
            with self._lock, told(self.path):
                self._delta.repair()
                self.refresh()
                self._files = None

    def tidy(self) -> None:
        """Compact if there are many files: each slows down every commit a little."""
        if len(self.files()) >= MANY_FILES:
            self.compact()


_KEPT: Final = "delta.logRetentionDuration"
# Readers skip files by the statistics of these columns; for all columns writing takes a third more.
_STATISTICS: Final = {"delta.dataSkippingStatsColumns": "id,version,seen"}
_CONFIGURATION: Final = {_KEPT: "interval 24 hours"}
_WRITING: Final = deltalake.WriterProperties(
    compression="ZSTD", compression_level=3, max_row_group_size=_ROW_GROUP
)


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of the storage into a MirrorError that names the fix."""
    try:
        yield
    except (DeltaError, pl.exceptions.PolarsError, OSError) as error:
        raise MirrorError(
            f"the mirror at {path} cannot be read or written: {error}; earlier commits are intact: "
            "check the disk, then sync again"
        ) from error


@contextlib.contextmanager
def _damage_told(table: Table) -> Iterator[None]:
    """Turn errors of the storage over damaged commits into a MirrorError that names the fix."""
    try:
        yield
    except (DeltaError, *UNREADABLE) as error:
        raise MirrorError(
            f"the commits of {table.path} are lost or damaged: {error}; {table.cure}"
        ) from error
