"""Data files of a mirror: Parquet named by the SHA-256 of its bytes, written once, checked, merged.

Nothing here knows which files count: that is what runs say. On Windows a file that a reader holds
open can be neither replaced nor deleted, so both are tried again for a moment.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit.errors import MirrorError, RegisterError
from finstat_kit.protocol.untrusted import shown

CURE: Final = "the next sync() fetches what it held again"
MANY_FILES: Final = 64
DATA: Final = "data"
_FEW_ROWS: Final = 4_096  # in a row group: records of ids are read one by one, all over the files
_MANY_ROWS: Final = 131_072  # what is sorted is read in long runs
_LARGE: Final = 8 * 2**20  # bytes; larger files are not merged again
_TRIES: Final = 8  # to replace or delete a file that another process holds open: a second in all
# What polars raises where a file is not what it was written as.
BROKEN: Final = (
    pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError,
)  # fmt: skip
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, 3})  # 3: on Windows
_REFUSAL: Final = re.compile(r"\(os error (\d+)\)")  # in the texts of polars
_NOTE: Final = "finstat_kit"
_used_by: Final[list[int]] = []  # the process that first read or wrote data files
_NAME: Final = re.compile(r"[0-9a-f]{64}\.parquet")
Stamp = tuple[int, int, int]


class UnreadableError(MirrorError):
    """A file is there, and cannot be read by this process: nothing is known to be lost."""


class LostError(MirrorError):
    """A file is not there: it is lost, or a merge has replaced it."""


class File(msgspec.Struct, frozen=True):
    """What a run says of a data file.

    Attributes:
        name: The SHA-256 of its bytes.
        rows: Their number.
        bytes: Its size.
        first: The least version in it.
        last: The greatest.
        ids: The least and the greatest id of its records, or of the reports of its cells.
    """

    name: str
    rows: int
    bytes: int
    first: int
    last: int
    ids: tuple[int, int] | None = None

    @property
    def path(self) -> str:
        """The path within the folder of the mirror."""
        return f"{DATA}/{self.name}.parquet"

    def has(self, first: int, last: int) -> bool:
        """Return whether an id between two may be in it."""
        return self.ids is None or (self.ids[0] <= last and self.ids[1] >= first)


@dataclass(frozen=True)
class Layout:
    """How the files of a log are written.

    Attributes:
        schema: Of the rows; ``version`` (Int64) is among them.
        order: Columns of natural numbers by which files are sorted, nulls first; before a merge by
            all but the last. None keeps the order of the rows.
    """

    schema: pl.Schema
    order: tuple[str, ...] = ()

    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Return the rows of files."""
        if not paths:
            return pl.LazyFrame(schema=self.schema)
        # A column that a later version added is null in files of before.
        rows = pl.scan_parquet(
            list(paths), schema=self.schema, glob=False, missing_columns="insert"
        )
        return rows.pipe_with_schema(partial(_while_there, paths))

    def write(self, folder: Path, rows: pl.DataFrame | pl.LazyFrame, note: str) -> File:
        """Write rows into the folder of a mirror; return what is said of the file.

        Args:
            folder: Of the mirror.
            rows: In the columns of the schema.
            note: For the metadata of the file.

        Raises:
            MirrorError: The disk cannot be written.
        """
        see_own_process()
        with failures_named(folder):
            # In memory first: a full disk is then an error of the system, which says what it is.
            body = io.BytesIO()
            rows.lazy().select(self.schema.names()).sink_parquet(
                body, compression="zstd", compression_level=1,
                row_group_size=_MANY_ROWS if self.order else _FEW_ROWS,
                maintain_order=True, engine="streaming", metadata={_NOTE: note},
            )  # fmt: skip
            content = body.getvalue()
            name = sha256(content).hexdigest()
            target = folder / DATA / f"{name}.parquet"
            # A merge that is repeated gives the same bytes; what stands there may be damaged.
            with contextlib.suppress(OSError):
                if digest(target) == name:
                    return self.described(name, content)
            write_whole(target, content)
            return self.described(name, content)

    def described(self, name: str, content: bytes) -> File:
        """Return what is said of a file: its name, which is the SHA-256 of its bytes, and these."""
        rows, version = pl.scan_parquet(content), pl.col("version")
        said: list[pl.Expr] = [
            pl.len().alias("rows"), version.min().alias("first"), version.max().alias("last"),
        ]  # fmt: skip
        for key in {"id", "report_id"} & self.schema.keys():
            said += [pl.col(key).min().alias("least"), pl.col(key).max().alias("greatest")]
        row = rows.select(said).collect().row(0)
        return File(name, row[0], len(content), row[1], row[2], row[3:] or None)

    def merged(self, folder: Path, files: Sequence[File], note: str) -> File:
        """Write one file with the rows of some, which are whole and stay; see `write`."""
        rows = self.scan([str(folder / file.path) for file in files])
        return self.write(folder, self._sorted(rows) if self.order else rows, note)

    def _sorted(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        by, within = self.order[:2], self.order[2:]
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


def _while_there(paths: Sequence[str], rows: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Return the rows of files, which are an error of ours once a file has gone.

    polars calls this whenever it plans a query.
    """

    def gone(*_: object) -> Iterator[pl.DataFrame]:
        raise LostError(
            "files that this LazyFrame reads have gone, as after a merge",
            cure="call what returned it again",
        )

    there = all(os.path.exists(path) for path in paths)  # noqa: PTH110  # there may be thousands
    return rows if there else register_io_source(gone, schema=schema)


def small_groups(files: Sequence[File], least: int) -> Iterator[list[File]]:
    """Yield the small files that are merged into one, as they follow each other.

    Args:
        files: Of a log.
        least: Of fewer small ones none are merged.
    """
    if sum(file.bytes < _LARGE for file in files) < least:
        return
    group: list[File] = []
    for file in (*files, None):
        size = sum(each.bytes for each in group)
        if file is None or file.bytes >= _LARGE or size + file.bytes > 2 * _LARGE:
            if len(group) > 1:
                yield group
            group = []
        if file is not None and file.bytes < _LARGE:
            group.append(file)


def note_of(path: Path) -> str | None:
    """Return the note in the metadata of a data file, None where it cannot be read."""
    with contextlib.suppress(*BROKEN):
        return pl.read_parquet_metadata(path).get(_NOTE)
    return None


def swept(folder: Path, kept: frozenset[str], retired: dict[str, float], keep_hours: float) -> None:
    """Delete data files that no reader needs.

    Args:
        folder: Of the mirror.
        kept: Names that a run, or the sync that is under way, lists.
        retired: When names were replaced by a merge, in seconds since 1970.
        keep_hours: Replaced files, and files that nothing lists, stay as long.
    """
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(folder / DATA) as entries:
        for entry in list(entries):
            if not _NAME.fullmatch(entry.name) or entry.name[:64] in kept:
                continue  # of another program, or needed
            with contextlib.suppress(OSError):  # it is tried again by the next sync
                since = retired.get(entry.name[:64], entry.stat().st_mtime)
                if not keep_hours or now - since >= keep_hours * 3600:
                    deleted(Path(entry.path))


def write_whole(target: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write a file: whole, or not at all.

    Args:
        target: Its path.
        content: What it holds.
        lasting: Whether it must outlast the loss of power.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name("draft" if target.suffix == ".parquet" else f"{target.name}.draft")
    with draft.open("wb") as opened:
        opened.write(content)
        opened.flush()
        if lasting:
            os.fsync(opened.fileno())
    moved(draft, target)
    if lasting and hasattr(os, "O_DIRECTORY"):  # Windows does not open folders
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def moved(path: Path, target: Path) -> None:
    """Give a file or a folder another name; a file of that name is replaced."""
    _tried(lambda: path.replace(target))


def deleted(path: Path) -> None:
    """Delete a file, if it exists."""
    _tried(lambda: path.unlink(missing_ok=True))


def _tried(change: Callable[[], object]) -> None:
    """Replace or delete a file that another process may hold open."""
    for number in range(_TRIES):
        try:
            change()
        except PermissionError:
            if number == _TRIES - 1:
                raise
            time.sleep(0.004 * 2**number)
        else:
            return


def see_own_process() -> None:
    """See that the threads of polars, which begin at its first use, are of this process.

    Raises:
        UnreadableError: It was forked from the one that they are of, and would wait for ever.
    """
    if not _used_by:
        _used_by.append(os.getpid())
    if _used_by[0] != os.getpid():
        raise UnreadableError(
            "a process that has read a mirror was forked, and polars does not work in the new one; "
            "start processes by 'spawn' or 'forkserver': multiprocessing.get_context('spawn')"
        )


def stamp(path: str | Path) -> Stamp | None:
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


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def unreadable(path: str | Path, error: BaseException) -> UnreadableError:
    """Return the error for a file that the system does not read."""
    return UnreadableError(f"{path} cannot be read: {said(error)}; check the disk")


def is_refusal(error: BaseException) -> bool:
    """Return whether the system refused to read a file, which says nothing of what is in it."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno not in _NOT_THERE
    return any(int(number) not in _NOT_THERE for number in _REFUSAL.findall(str(error)))


def said(error: BaseException) -> str:
    """Return what a library says of a failure on one line."""
    return shown(" ".join(str(error).split()))


def unwritable(path: Path, error: BaseException) -> MirrorError:
    """Return the error for a mirror that cannot be written."""
    return MirrorError(
        f"the mirror at {path} cannot be written: {said(error)}; earlier runs are intact: check "
        "the disk, then sync again"
    )


@contextlib.contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """Turn errors of the disk into a MirrorError that names the cure."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unwritable(path, error) from error


@contextlib.contextmanager
def legible(path: Path) -> Iterator[None]:
    """Turn what polars raises of a file that is not what it was into an error with the cure."""
    try:
        yield
    except RegisterError:
        raise
    except BROKEN as error:
        kind = LostError if isinstance(error, FileNotFoundError) else MirrorError
        raise kind(f"the mirror at {path} cannot be read: {said(error)}; see verify()") from error
