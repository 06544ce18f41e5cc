"""An append-only Delta table whose data files are named by the SHA-256 of their bytes.

A file is written as a draft, hashed, renamed and then listed by one transaction, so that listing a
file and being able to check it are one atomic step. Whatever a crash leaves (a draft, a file that
no transaction lists) is not part of the table, and compaction sweeps it away.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final, NamedTuple

import deltalake
import numpy as np
import polars as pl
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions
from polars.io.plugins import register_io_source

from finstat_kit.errors import MirrorError
from finstat_kit.protocol.untrusted import shown

MANY_FILES: Final = 64
CURE: Final = "sync(full=True) drops it and fetches what it held again"
_FEW_ROWS: Final = 16_384  # in a row group: records of ids are read one by one, all over the files
_MANY_ROWS: Final = 131_072  # what is sorted is read in long runs
_LARGE: Final = 4 * 2**20  # bytes; larger files are not merged again
_DRAFT: Final = "_draft"  # other readers ignore names with an underscore
_COMMITS: Final = "_delta_log"
_NOTE: Final = "runs"
_KEPT: Final = "delta.logRetentionDuration"
_STATED: Final = "delta.dataSkippingStatsColumns"
_used_by: Final[list[int]] = []  # the process that first used deltalake
# What polars raises where a file is not what it was written as.
BROKEN: Final = (
    pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError,
)  # fmt: skip
_FRAMES: Final = re.compile(r"\n\s*\d+: ")
_REFUSAL: Final = re.compile(r"\(os error (\d+)\)")  # in the texts of libraries
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, 3})  # 3: on Windows
_COLOURS: Final = re.compile(r"\x1b\[[\d;]*m")
Stamp = tuple[int, int, int]
Mark = tuple[int, Stamp | None]  # number and stamp of a commit


class UnreadableError(MirrorError):
    """A file is there, and cannot be read by this process: nothing is known to be lost."""


class Entry(NamedTuple):
    """What the table says of a data file.

    Attributes:
        path: Of the file.
        rows: Their number.
        first: The least version in it; 0 where it is not stated.
        last: The greatest; infinity where it is not stated.
    """

    path: str
    rows: int
    first: float
    last: float


class Log:
    """One table.

    Args:
        path: Its folder.
        schema: Of its rows; ``version`` (Int64) is among them, and ascends from commit to commit.
        keys: Columns whose least and greatest values each commit states, so that a reader opens
            only the files that it needs.
        order: Columns of natural numbers by which merged files are sorted, nulls first; none keeps
            the order of the files.
    """

    def __init__(
        self, path: Path, schema: pl.Schema, keys: tuple[str, ...], order: tuple[str, ...] = ()
    ) -> None:
        self.path = path
        self.schema = schema
        self._keys = keys
        self._order = order
        self._row_group = _MANY_ROWS if order else _FEW_ROWS
        self._delta: deltalake.DeltaTable | None = None
        self._entries: tuple[Entry, ...] | None = None
        self._verified: dict[str, Stamp] = {}
        self._stamp: Stamp | None = None  # of the newest commit
        self._mark: Mark | None = None
        self._lock = threading.RLock()  # widgets read from threads of their own

    def refresh(self) -> Mark | None:
        """Load the newest commit; return what changes with it, None without any.

        Raises:
            MirrorError: Commits are missing or damaged.
        """
        with self._lock:
            delta = self._delta
            if delta is None or stamp(self._file(delta.version())) != self._stamp:
                self._open()  # it may be another table by now
            elif stamp(self._file(delta.version() + 1)) is not None:
                see_own_process()
                try:
                    delta.update_incremental()
                except DeltaError:  # the commits since then were removed
                    self._open()
            self._loaded()
            return self._mark

    def reopen(self) -> None:
        """Forget what was loaded, and load the table as it is on disk."""
        with self._lock:
            self._delta, self._verified = None, {}
            self.refresh()

    def _loaded(self) -> None:
        """Note which commit is loaded."""
        mark = None
        if self._delta is not None:
            number = self._delta.version()
            self._stamp = stamp(self._file(number))
            mark = number, self._stamp
        if mark != self._mark:
            self._mark, self._entries = mark, None

    def _file(self, commit: int) -> str:
        return f"{self.path}/{_COMMITS}/{commit:020}.json"

    @property
    def about(self) -> str | None:
        """The description that the table was created with."""
        with self._lock:
            return None if self._delta is None else self._delta.metadata().description

    @property
    def rows(self) -> int:
        """The number of rows in the newest commit loaded."""
        return sum(entry.rows for entry in self.entries())

    @property
    def last(self) -> float:
        """The greatest version that the newest commit loaded states, 0 without any."""
        return max((entry.last for entry in self.entries() if entry.last < math.inf), default=0)

    def entries(self) -> tuple[Entry, ...]:
        """Return what the newest commit loaded says of each data file."""
        with self._lock:
            if self._entries is None:
                self._entries = () if self._delta is None else tuple(self._listed(self._delta))
            return self._entries

    def append(self, rows: pl.DataFrame, about: str) -> None:
        """Commit rows, at least one.

        Args:
            rows: In the columns of the schema.
            about: The description of the table, written when it is created.

        Raises:
            MirrorError: The disk cannot be written.
        """
        see_own_process()
        with self._lock, failures_named(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            added = self._written(rows.select(self.schema.names()))
            if self._delta is None:
                create_table_with_add_actions(
                    str(self.path), deltalake.Schema.from_arrow(self.schema), [added],
                    name=self.path.name, description=about,
                    # Other columns have no statistics: each would be parsed in every commit.
                    configuration={_KEPT: "interval 24 hours", _STATED: ",".join(self._keys)},
                )  # fmt: skip
                self._delta = deltalake.DeltaTable(str(self.path))
                self._loaded()
            else:
                self._commit([added])

    def note(self, number: int) -> None:
        """Commit a number without rows.

        Raises:
            MirrorError: The disk cannot be written.
        """
        with self._lock, failures_named(self.path):
            if self._delta is not None:
                noted = deltalake.CommitProperties(
                    app_transactions=[deltalake.Transaction(_NOTE, number)]
                )
                self._commit([], noted)

    def noted(self) -> int:
        """Return the newest number committed by `note`, 0 without any."""
        with self._lock:
            self.refresh()
            return 0 if self._delta is None else self._delta.transaction_version(_NOTE) or 0

    def drop(self, paths: Iterable[str]) -> None:
        """Remove files from the table, whether they exist or not.

        Raises:
            MirrorError: The disk cannot be written.
        """
        removed: list[AddAction | RemoveAction] = [
            _removal(Path(path).name, changed=True) for path in paths
        ]
        if removed:
            with self._lock, failures_named(self.path):
                self._commit(removed)

    def compact(self, keep_hours: float) -> bool:
        """Merge small files, and remove those that no reader needs; return whether any changed.

        Raises:
            MirrorError: A file is damaged, or the disk cannot be written.
        """
        if self._delta is None:
            return False
        with self._lock, failures_named(self.path):
            before, keep = self._delta.version(), math.ceil(keep_hours)
            for group in self._groups():
                verify(group, self._verified)  # damaged rows must not get a new name
                added = self._written(self._merged(group), changed=False)
                gone = [_removal(Path(path).name, changed=False) for path in group]
                self._commit([added, *gone])
            delta = self._delta
            if delta.vacuum(retention_hours=keep, enforce_retention_duration=False, full=True):
                delta.vacuum(
                    retention_hours=keep, dry_run=False, enforce_retention_duration=False, full=True
                )
            if delta.metadata().configuration.get(_KEPT) != f"interval {keep} hours":
                delta.alter.set_table_properties({_KEPT: f"interval {keep} hours"})
            delta.update_incremental()
            checkpoint = self.path / _COMMITS / f"{delta.version():020}.checkpoint.parquet"
            if not checkpoint.exists():
                delta.create_checkpoint()
            delta.cleanup_metadata()
            self._loaded()
            return delta.version() != before

    def _merged(self, group: list[str]) -> pl.LazyFrame:
        """Return the rows of some files in the order of the table."""
        rows = pl.scan_parquet(group, schema=self.schema, glob=False)
        if not self._order:
            return rows
        by, within = self._order[:2], self._order[2:]
        parts = rows.select(by).unique().collect(engine="streaming").sort(by).rows(named=True)

        def in_order(*_: object) -> Iterator[pl.DataFrame]:
            # Part by part, and not by polars, which sorts by several columns in many times the
            # memory.
            for part in parts:
                conditions = [
                    pl.col(name).eq_missing(pl.lit(value, self.schema[name]))
                    for name, value in part.items()
                ]
                part_rows = rows.filter(conditions).collect(engine="streaming")
                keys = [part_rows[name].fill_null(-1).to_numpy() for name in reversed(within)]
                yield part_rows[np.lexsort(keys)]

        return register_io_source(in_order, schema=self.schema)

    def damage(self) -> Iterator[tuple[Entry, str | UnreadableError]]:
        """Yield the files that are lost, damaged or described wrongly, each with what it is.

        Of one that the system does not read it is not known; that is an error.

        All bytes are read.
        """
        for entry in self.entries():
            try:
                if digest(entry.path) != Path(entry.path).stem:
                    yield entry, "it is not as it was written"
                elif not self._is_described(entry):
                    yield entry, "the table describes it wrongly"
            except FileNotFoundError:
                yield entry, "it is lost"
            except BROKEN as error:
                refused = unreadable(entry.path, error) if is_refusal(error) else None
                yield entry, refused or f"it cannot be read: {said(error)}"

    def _is_described(self, entry: Entry) -> bool:
        """Return whether the commit says of a file what stands in it, and where it was filed."""
        assert self._delta is not None
        expected = json.loads(self._stats(pl.scan_parquet(entry.path, glob=False)))
        adds = self._delta.get_add_actions(flatten=True)
        at = list(adds["path"].to_pylist()).index(Path(entry.path).name)

        def stated(name: str) -> object:
            return adds[name][at].as_py() if name in adds.schema.names else None

        described = {
            "numRecords": stated("num_records"),
            **{
                bound: {n: v for n in self._keys if (v := stated(f"{short}.{n}")) is not None}
                for bound, short in (("minValues", "min"), ("maxValues", "max"))
            },
        }
        return described == expected and stated("size_bytes") == Path(entry.path).stat().st_size

    def _listed(self, delta: deltalake.DeltaTable) -> Iterator[Entry]:
        adds = delta.get_add_actions(flatten=True)
        names = adds.schema.names

        def column(name: str) -> list[object]:
            return list(adds[name].to_pylist()) if name in names else [None] * adds.num_rows

        columns = (column(n) for n in ("path", "num_records", "min.version", "max.version"))
        for path, rows, first, last in sorted(zip(*columns, strict=True), key=_by_version):
            yield Entry(
                f"{self.path}/{path}",
                int(str(rows or 0)),
                0 if first is None else int(str(first)),
                math.inf if last is None else int(str(last)),
            )

    def _open(self) -> None:
        self._delta = delta = None
        try:
            if (self.path / _COMMITS).is_dir():
                see_own_process()
                with contextlib.suppress(TableNotFoundError):
                    delta = deltalake.DeltaTable(str(self.path))
        except (DeltaError, *BROKEN) as error:
            if is_refusal(error):
                raise unreadable(self.path / _COMMITS, error) from error
            raise MirrorError(
                f"the commits of {self.path} are lost or damaged: {said(error)}; {CURE}"
            ) from error
        if delta is not None and delta.metadata().name != self.path.name:
            raise MirrorError(
                f"{self.path} is another table, of the name {delta.metadata().name!r}; put it back "
                f"where it came from, or {CURE}"
            )
        self._delta = delta

    def _commit(
        self,
        actions: list[AddAction | RemoveAction],
        properties: deltalake.CommitProperties | None = None,
    ) -> None:
        assert self._delta is not None
        see_own_process()
        self._delta.create_write_transaction(
            actions, "append", self._delta.schema(), commit_properties=properties
        )
        self._delta.update_incremental()
        self._loaded()

    def _written(self, rows: pl.DataFrame | pl.LazyFrame, *, changed: bool = True) -> AddAction:
        """Write a file under its name; return the action that lists it."""
        # In memory first: a full disk is then an error of the system, which says what it is.
        body = io.BytesIO()
        rows.lazy().sink_parquet(
            body, compression="zstd", compression_level=1, row_group_size=self._row_group,
            maintain_order=True, engine="streaming",
        )  # fmt: skip
        content = body.getvalue()
        stats = self._stats(rows if isinstance(rows, pl.DataFrame) else pl.scan_parquet(content))
        draft, name = self.path / _DRAFT, f"{sha256(content).hexdigest()}.parquet"
        with draft.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        draft.replace(self.path / name)
        return AddAction(name, len(content), {}, _now(), changed, stats)

    def _stats(self, rows: pl.DataFrame | pl.LazyFrame) -> str:
        keys = pl.col(self._keys)
        limits = rows.lazy().select(
            pl.len(), keys.min().name.prefix("min."), keys.max().name.prefix("max.")
        ).collect().row(0, named=True)  # fmt: skip
        bounds = {
            bound: {n: v for n in self._keys if (v := limits[f"{short}.{n}"]) is not None}
            for bound, short in (("minValues", "min"), ("maxValues", "max"))
        }
        return json.dumps({"numRecords": limits["len"], **bounds})

    def _groups(self) -> Iterator[list[str]]:
        """Yield the small files that are merged into one, as they follow each other."""
        group: list[str] = []
        total = 0
        for path, *_ in self.entries():
            size = Path(path).stat().st_size
            if group and (size >= _LARGE or total + size > 2 * _LARGE):
                if len(group) > 1:
                    yield group
                group, total = [], 0
            if size < _LARGE:
                group.append(path)
                total += size
        if len(group) > 1:
            yield group


def verify(paths: Iterable[str], known: dict[str, Stamp]) -> None:
    """See that files are as their names say; a verified one is not read again until it changes.

    Args:
        paths: Of the files.
        known: The stamps of verified files, which is added to.

    Raises:
        MirrorError: One is lost, damaged or cannot be read.
    """
    for path in paths:
        current_stamp = stamp(path)
        if current_stamp is None:
            raise MirrorError(f"{path} is lost; {CURE}")
        if known.get(path) == current_stamp:
            continue
        try:
            whole = digest(path) == Path(path).stem
        except OSError as error:
            raise unreadable(path, error) from error
        if not whole:
            raise MirrorError(f"{path} is not as it was written; {CURE}")
        known[path] = current_stamp


def stamp(path: str) -> Stamp | None:
    """Return a value that changes with a file, None if it does not exist.

    Raises:
        UnreadableError: It cannot be read.
    """
    try:
        status = os.stat(path)  # noqa: PTH116  # a Path of text takes as long as the look itself
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    return status.st_mtime_ns, status.st_size, status.st_ino


def see_own_process() -> None:
    """See that the threads of deltalake, which begin at its first use, are of this process.

    Raises:
        UnreadableError: It was forked from the one that they are of, where the library panics.
    """
    if not _used_by:
        _used_by.append(os.getpid())
    if _used_by[0] != os.getpid():
        raise UnreadableError(
            "a process that has read a mirror was forked, and the Delta Lake library does not work "
            "in the new one; start processes by 'spawn' or 'forkserver': "
            "multiprocessing.get_context('spawn')"
        )


def unreadable(path: str | Path, error: BaseException) -> UnreadableError:
    """Return the error for a file that the system does not read."""
    return UnreadableError(f"{path} cannot be read: {said(error)}; check the disk")


def is_refusal(error: BaseException) -> bool:
    """Return whether the system refused to read a file, which says nothing of what is in it."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno not in _NOT_THERE
    return any(int(number) not in _NOT_THERE for number in _REFUSAL.findall(str(error)))


def said(error: BaseException) -> str:
    """Return what a library says of a failure on one line, without colours and its own frames."""
    causes = _FRAMES.split(str(error))[0]
    return shown(" ".join(_COLOURS.sub("", causes).split()))


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


@contextlib.contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """Turn errors of the storage into a MirrorError that names the cure."""
    try:
        yield
    except (DeltaError, pl.exceptions.PolarsError, OSError) as error:
        raise MirrorError(
            f"the mirror at {path} cannot be read or written: {said(error)}; earlier commits are "
            "intact: check the disk, then sync again"
        ) from error


def _removal(name: str, *, changed: bool) -> RemoveAction:
    return RemoveAction(name, changed, _now())


def _now() -> int:
    return int(time.time() * 1000)


def _by_version(columns: tuple[object, ...]) -> tuple[int, str]:
    path, _, first, _ = columns
    return int(str(first or 0)), str(path)
