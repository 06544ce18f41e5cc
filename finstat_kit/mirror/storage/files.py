"""Data files of a mirror: Parquet named by the SHA-256 of its bytes, written once, and merged.

Nothing here knows which files count: that is what runs say. Whoever writes compares the bytes of a
file with its name, whoever reads only opens it. On Windows a file that a reader holds open can be
neither replaced nor deleted, so both are tried again for a moment.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace
from polars.io.plugins import register_io_source

from finstat_kit.errors import MirrorError, RegisterError
from finstat_kit.protocol.untrusted import shown

DATA: Final = "data"
MANY_FILES: Final = 64  # small ones, which are then merged
DRAFT: Final = ".draft"
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
_used_by: Final[list[int]] = []  # the process that first read or wrote data files


class UnreadableError(MirrorError):
    """A file is there, and cannot be read by this process: nothing is known to be lost."""


class DamagedError(MirrorError):
    """A file is gone, or is not what was written."""


class File(msgspec.Struct, frozen=True):
    """What a run says of a data file.

    Attributes:
        name: The SHA-256 of its bytes.
        rows: Their number.
        bytes: Its size.
        first: The least version in it.
        last: The greatest.
        ids: The least and the greatest id of its records, or of the reports of its cells.
        names: Whether its rows name ids, rather than answer them.
        since: Of names, the first day of the changes that their list was of; None for no list.
    """

    name: str
    rows: int
    bytes: int
    first: int
    last: int
    ids: tuple[int, int] | None = None
    names: bool = False
    since: date | None = None

    @property
    def path(self) -> str:
        """The path within the folder of the mirror."""
        return f"{DATA}/{self.name}.parquet"

    def has(self, first: int, last: int) -> bool:
        """Return whether an id between two may be in it."""
        return self.ids is None or (self.ids[0] <= last and self.ids[1] >= first)

    def fault(self, folder: Path, *, whole: bool) -> str:
        """Return what is wrong with the file, "" where nothing is.

        Args:
            folder: Of the mirror.
            whole: Whether its bytes are compared with its name; else its size alone.

        Raises:
            UnreadableError: The system does not read it: it is not known to be lost.
        """
        path = folder / self.path
        try:
            if path.stat().st_size != self.bytes or (whole and digest(path) != self.name):
                return "it is not as it was written"
        except OSError as error:
            if is_refusal(error):
                raise unreadable(path, error) from error
            return "it is lost"
        return ""


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
        see_own_process()
        if not paths:
            return pl.LazyFrame(schema=self.schema)
        # A column that a later version added is null in files of before.
        rows = pl.scan_parquet(
            list(paths), schema=self.schema, glob=False, missing_columns="insert"
        )
        return rows.pipe_with_schema(partial(_while_there, paths))

    def write(self, folder: Path, rows: pl.DataFrame | pl.LazyFrame) -> File:
        """Write rows into the folder of a mirror; return what is said of the file.

        Args:
            folder: Of the mirror.
            rows: In the columns of the schema.

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
                maintain_order=True, engine="streaming",
            )  # fmt: skip
            content = body.getvalue()
            name = sha256(content).hexdigest()
            target = folder / DATA / f"{name}.parquet"
            # What is repeated gives the same bytes; what is there may be damaged.
            with contextlib.suppress(OSError):
                if digest(target) == name:
                    os.utime(target)  # it is young again: a sweep must not take it meanwhile
                    return self._described(name, content)
            write_whole(target, content)
            return self._described(name, content)

    def merged(self, folder: Path, files: Sequence[File]) -> File:
        """Write one file with the rows of some, which stay; see `write`.

        Raises:
            DamagedError: One is damaged: its rows must not get a new name.
        """
        for file in files:
            if fault := file.fault(folder, whole=True):
                raise DamagedError(f"{folder / file.path}: {fault}")
        rows = self.scan([str(folder / file.path) for file in files])
        since = min((file.since for file in files if file.since), default=None)
        written = self.write(folder, self._sorted(rows) if self.order else rows)
        return replace(written, names=files[0].names, since=since)

    def _described(self, name: str, content: bytes) -> File:
        rows, version = pl.scan_parquet(content), pl.col("version")
        said: list[pl.Expr] = [
            pl.len().alias("rows"), version.min().alias("first"), version.max().alias("last"),
        ]  # fmt: skip
        for key in {"id", "report_id"} & self.schema.keys():
            said += [pl.col(key).min().alias("least"), pl.col(key).max().alias("greatest")]
        row = rows.select(said).collect().row(0)
        return File(name, row[0], len(content), row[1], row[2], row[3:] or None)

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
    # There may be thousands.
    absent = next((path for path in paths if not os.path.exists(path)), None)  # noqa: PTH110

    def gone(*_: object) -> Iterator[pl.DataFrame]:
        raise DamagedError(
            f"{absent} is gone: lost, or deleted a day after a sync replaced it",
            cure="call what returned this LazyFrame again; what is lost the next sync() requests, "
            "or pull(full=True) fetches where the mirror was pulled",
        )

    return rows if absent is None else register_io_source(gone, schema=schema)


def merged_groups(files: Sequence[File], upto: int) -> Iterator[list[File]]:
    """Yield the small files that are merged into one, as they follow each other.

    Args:
        files: Of a log.
        upto: The last version that counts: no group has rows on both sides of it.
    """
    for names in (True, False):
        for counts in (True, False):
            own = [file for file in files if (file.names, file.last <= upto) == (names, counts)]
            yield from _small_groups(own)


def _small_groups(files: Sequence[File]) -> Iterator[list[File]]:
    if sum(file.bytes < _LARGE for file in files) < MANY_FILES:
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


def write_whole(target: Path, content: bytes) -> None:
    """Write a file: whole, or not at all, and so that it outlasts the loss of power.

    Its name does so from the next `keep_names` of its folder on.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}{DRAFT}")
    try:
        with draft.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        moved(draft, target)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)  # on a full disk it would take the room of the next
        raise


def keep_names(folder: Path) -> None:
    """Let the names of the files in a folder outlast the loss of power."""
    if hasattr(os, "O_DIRECTORY") and folder.exists():  # Windows does not open folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


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


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def unreadable(path: Path, error: BaseException) -> UnreadableError:
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


@contextlib.contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """Turn errors of the disk into a MirrorError that names the cure."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise MirrorError(
            f"the mirror at {path} cannot be written: {said(error)}; earlier runs are intact: "
            "check the disk, then sync again"
        ) from error


@contextlib.contextmanager
def legible(path: Path) -> Iterator[None]:
    """Turn what polars raises of a file that is not what it was into an error with the cure."""
    try:
        yield
    except RegisterError:
        raise
    except BROKEN as error:
        if is_refusal(error):
            raise unreadable(path, error) from error
        raise DamagedError(
            f"the mirror at {path} cannot be read: {said(error)}",
            cure="verify() names what is damaged, the next sync() requests it again, or "
            "pull(full=True) fetches it where the mirror was pulled",
        ) from error
