"""An append-only table on Delta Lake: a batch of rows and the state of the walk in one commit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Final

import deltalake
import polars as pl
from arro3.core import ChunkedArray, DataType, Field, Schema
from arro3.core import Table as ArrowTable
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from finstat_kit.errors import MirrorError

_ROW_GROUP: Final = 131_072
_FILE: Final = 32 * 2**20  # bytes; greater files are not compacted again
MANY_FILES: Final = 64


class Table:
    """Rows that are only ever added, in files that every engine reads.

    A state is a few whole numbers by name; it is committed with the rows that it belongs to and
    stays until another commit changes it.
    """

    def __init__(self, path: Path, schema: pl.Schema, states: tuple[str, ...] = ()) -> None:
        self.path = path
        self.schema = schema
        self._states = states
        self._delta: DeltaTable | None = None
        self._state: dict[str, int] | None = None  # of the commit looked at, once asked for
        self._files: dict[str, int] | None = None
        self._seals = path / "_checksums.txt"  # other readers pass over such a name
        self._sealed: set[str] | None = None
        self._lock = threading.RLock()  # widgets ask from threads of their own

    def refresh(self) -> bool:
        """Look at what is committed by now; tell whether there is anything."""
        with self._lock, told(self.path):
            if self._delta is not None:
                self._update(self._delta)
            elif deltalake.DeltaTable.is_deltatable(str(self.path)):
                self._open()
        return self._delta is not None

    @property
    def commit(self) -> int:
        """The number of the newest commit looked at, -1 before the first."""
        return -1 if self._delta is None else self._delta.version()

    def state(self) -> dict[str, int]:
        """Return the state of the newest commit looked at, empty before the first."""
        if self._state is None and self._delta is not None:
            found = {name: self._delta.transaction_version(name) for name in self._states}
            self._state = {name: value for name, value in found.items() if value is not None}
        return self._state or {}

    def files(self) -> dict[str, int]:
        """Return the data files of the newest commit looked at, with their numbers of rows."""
        with self._lock:
            return self._listed()

    def _listed(self) -> dict[str, int]:
        if self._files is None and self._delta is not None:
            adds = self._delta.get_add_actions(flatten=True)
            names, counts = (adds[name].to_pylist() for name in ("path", "num_records"))
            rows = dict(zip(names, counts, strict=True))
            self._files = {str(self.path / name): rows[name] for name in sorted(rows)}
        return self._files or {}

    def _open(self) -> None:
        self._delta = deltalake.DeltaTable(str(self.path))
        self._state = self._files = None

    def _update(self, delta: DeltaTable) -> None:
        before = delta.version()
        try:
            delta.update_incremental()
        except DeltaError:  # the commits since then were compacted away
            self._open()
        if delta.version() != before:
            self._state = self._files = None

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of data files by their names, as they were when they were written."""
        if not self._seals.exists():
            return {}
        lines = (line.split("  ") for line in self._seals.read_text(encoding="utf-8").splitlines())
        # A line may have been cut off with the process that wrote it.
        return {parts[1]: parts[0] for parts in lines if len(parts) == 2 and len(parts[0]) == 64}

    def seal(self) -> None:
        """Write down the checksums of data files that have none yet."""
        if self._sealed is None:
            self._sealed = set(self.checksums())
        new = [Path(file) for file in self.files() if Path(file).name not in self._sealed]
        if not new:
            return
        with told(self.path), self._seals.open("a", encoding="utf-8") as seals:
            for file in new:
                with file.open("rb") as opened:
                    checksum = file_digest(opened, "sha256").hexdigest()
                seals.write(f"\n{checksum}  {file.name}")
                self._sealed.add(file.name)

    def _forget_old_seals(self) -> None:
        known, files = self.checksums(), {Path(file).name for file in self.files()}
        lines = [f"{checksum}  {name}\n" for name, checksum in known.items() if name in files]
        draft = self._seals.with_suffix(".draft")
        draft.write_text("".join(lines), encoding="utf-8")
        draft.replace(self._seals)
        self._sealed = files

    def scan(self) -> pl.LazyFrame:
        """Return all rows of the newest commit looked at, file after file."""
        files = list(self.files())
        if not files:
            return pl.LazyFrame(schema=self.schema)
        return pl.scan_parquet(files, schema=self.schema, missing_columns="insert")

    def append(self, rows: pl.DataFrame, state: Mapping[str, int] | None = None) -> None:
        """Commit rows, which may be none, and the state with them."""
        properties = deltalake.CommitProperties(
            app_transactions=[
                deltalake.Transaction(name, value) for name, value in (state or {}).items()
            ]
        )
        with told(self.path):
            if self._delta is None:
                deltalake.write_deltalake(
                    str(self.path),
                    _arrow(rows),
                    configuration=_CONFIGURATION | (_STATISTICS if "seen" in self.schema else {}),
                    writer_properties=_WRITING,
                    commit_properties=properties,
                )
                self._open()
            elif rows.height:
                deltalake.write_deltalake(
                    self._delta,
                    _arrow(rows),
                    mode="append",
                    writer_properties=_WRITING,
                    commit_properties=properties,
                )
            else:
                self._delta.create_write_transaction(
                    [], "append", self._delta.schema(), commit_properties=properties
                )
                self._delta.update_incremental()
        self._state = {**self.state(), **(state or {})}
        self._files = None

    def compact(self, keep_hours: float = 24) -> None:
        """Put small files together, and remove those that no reader can need any more."""
        if self._delta is None:
            return
        keep, delta = int(keep_hours), self._delta
        with told(self.path):
            if len(self.files()) > 1:
                delta.optimize.compact(target_size=_FILE, writer_properties=_WRITING)
            delta.vacuum(retention_hours=keep, dry_run=False, enforce_retention_duration=False)
            if delta.metadata().configuration.get(_KEPT) != f"interval {keep} hours":
                delta.alter.set_table_properties({_KEPT: f"interval {keep} hours"})
            delta.create_checkpoint()
            delta.cleanup_metadata()
            self._update(delta)
            self._files = None
            self.seal()
            self._forget_old_seals()

    def forget_lost_files(self) -> None:
        """Take files that were removed as damaged out of the table."""
        if self._delta is not None:
            with told(self.path):
                self._delta.repair()
                self._update(self._delta)
                self._files = None

    def tidy(self) -> None:
        """Compact where there are many files: each makes every commit a little slower."""
        if len(self.files()) >= MANY_FILES:
            self.compact()


_KEPT: Final = "delta.logRetentionDuration"
# What a reader can pass over is found by these; of all columns it would take a third more time.
_STATISTICS: Final = {"delta.dataSkippingStatsColumns": "id,version,seen"}
_CONFIGURATION: Final = {_KEPT: "interval 24 hours"}
_WRITING: Final = deltalake.WriterProperties(
    compression="ZSTD", compression_level=3, max_row_group_size=_ROW_GROUP
)


def _arrow(rows: pl.DataFrame) -> ArrowTable:
    """Return rows as Arrow with strings that every engine reads: not all know string views."""
    table = ArrowTable.from_arrow(rows)
    text = DataType.string()
    types = [text if kind == DataType.string_view() else kind for kind in table.schema.types]
    columns = [
        column
        if column.type == kind
        else ChunkedArray([chunk.cast(kind) for chunk in column.chunks], kind)
        for column, kind in zip(table.columns, types, strict=True)
    ]
    fields = [Field(name, kind) for name, kind in zip(table.schema.names, types, strict=True)]
    return ArrowTable(columns, schema=Schema(fields))


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the storage raises into an error that says what to do."""
    try:
        yield
    except (DeltaError, pl.exceptions.PolarsError, OSError) as error:
        raise MirrorError(
            f"the mirror at {path} cannot be read or written: {error}; what was committed before "
            "is untouched: see to the disk, then sync again"
        ) from error
