"""The newest version of each unit as a LazyFrame, read in pieces of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit import replies
from finstat_kit.errors import MirrorError
from finstat_kit.mirror.versions import META, UNREADABLE, Mask, newest

LOG: Final = pl.Schema({**replies.UNITS, **META})
SHOWN: Final = pl.Schema({**replies.UNITS, "gone": pl.String(), "seen": pl.Date()})
_PIECE: Final = 262_144  # rows


def newest_units(files: Mapping[str, int], upto: float = math.inf) -> pl.LazyFrame:
    """Return the newest versions up to a number, in the order of the files.

    Which rows they are is found out when the frame is collected.

    Args:
        files: The numbers of rows of all files.
        upto: The greatest version that counts.
    """

    def source(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        wanted = SHOWN.names() if columns is None else columns
        used = [*wanted, *(predicate.meta.root_names() if predicate is not None else ())]
        left = math.inf if n_rows is None else n_rows
        mask = _newest(tuple(files), upto)
        yield pl.DataFrame(schema={name: SHOWN[name] for name in wanted})
        before = 0
        for some, start, length in _pieces(files):
            current = mask[before : before + length]
            before += length
            if left <= 0 or not current.any():
                continue
            rows = _read(some, start, length, list(dict.fromkeys(used)))
            rows = rows if current.all() else rows.filter(current)
            rows = rows if n_rows is None else rows.head(int(left))
            left -= rows.height
            rows = rows if predicate is None else rows.filter(predicate)
            yield rows.select(wanted)

    return register_io_source(source, schema=SHOWN)


@lru_cache(maxsize=4)  # frames of the same files share it
def _newest(files: tuple[str, ...], upto: float) -> Mask:
    counted = (pl.col("problem").is_null() & (pl.col("version") <= upto)).alias("counted")
    keys = _read(list(files), 0, None, [pl.col("id", "version"), counted])
    return newest(keys["id"].to_numpy(), keys["version"].to_numpy(), keys["counted"].to_numpy())


def _pieces(files: Mapping[str, int]) -> Iterator[tuple[list[str], int, int]]:
    """Cut files into pieces of about the same size: small files together, great ones apart."""
    together: list[str] = []
    rows = 0
    for file, count in files.items():
        if together and rows + count > _PIECE:
            yield together, 0, rows
            together, rows = [], 0
        if count > _PIECE:
            for start in range(0, count, _PIECE):
                yield [file], start, min(_PIECE, count - start)
        else:
            together.append(file)
            rows += count
    if together:
        yield together, 0, rows


def _read(
    files: list[str], start: int, length: int | None, columns: Sequence[str | pl.Expr]
) -> pl.DataFrame:
    if not files:
        return pl.DataFrame(schema=LOG).select(columns)
    try:
        scan = pl.scan_parquet(files, schema=LOG, missing_columns="insert")
        return scan.slice(start, length).select(columns).collect()
    except UNREADABLE as error:
        raise MirrorError(
            f"{files[0]} or a file beside it cannot be read: {error}; if the mirror was compacted "
            "since this frame was made, make it again by units(), else see verify()"
        ) from error
