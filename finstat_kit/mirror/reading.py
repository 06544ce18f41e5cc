"""The newest version of each unit as a LazyFrame, read in pieces of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit import replies
from finstat_kit.errors import MirrorError
from finstat_kit.mirror.versions import META, UNREADABLE, Mask, newest

LOG: Final = pl.Schema({**replies.UNITS, **META})
SHOWN: Final = pl.Schema({**replies.UNITS, "gone": pl.String(), "seen": pl.Date()})
_PIECE: Final = 262_144  # rows


def newest_units(files: list[str], upto: float = math.inf) -> pl.LazyFrame:
    """Return the newest versions up to a number, in the order of the files.

    The files are looked at when the frame is collected, the first time to find out which rows of
    each are the newest.
    """

    @cache
    def masks() -> list[Mask]:
        keys = [_piece(file, 0, None, ["id", "version", "problem"]) for file in files]
        every = pl.concat([pl.DataFrame(schema={n: LOG[n] for n in keys[0].columns}), *keys])
        counted = (every["problem"].is_null() & (every["version"] <= upto)).to_numpy()
        mask = newest(every["id"].to_numpy(), every["version"].to_numpy(), counted)
        return np.split(mask, np.cumsum([key.height for key in keys])[:-1])

    def source(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        wanted = SHOWN.names() if columns is None else columns
        used = [*wanted, *(predicate.meta.root_names() if predicate is not None else ())]
        left = math.inf if n_rows is None else n_rows
        yield pl.DataFrame(schema={name: SHOWN[name] for name in wanted})
        for file, mask in zip(files, masks() if files else [], strict=True):
            for start in range(0, len(mask), _PIECE):
                if left <= 0:
                    return
                current = mask[start : start + _PIECE]
                if not current.any():
                    continue
                rows = _piece(file, start, _PIECE, list(dict.fromkeys(used))).filter(current)
                rows = rows if n_rows is None else rows.head(int(left))
                left -= rows.height
                rows = rows if predicate is None else rows.filter(predicate)
                yield rows.select(wanted)

    return register_io_source(source, schema=SHOWN)


def _piece(file: str, start: int, length: int | None, columns: list[str]) -> pl.DataFrame:
    try:
        scan = pl.scan_parquet(file, schema=LOG, missing_columns="insert")
        return scan.slice(start, length).select(columns).collect()
    except UNREADABLE as error:
        raise MirrorError(
            f"{file} cannot be read: {error}; if the mirror was compacted since this frame was "
            "made, make it again by units(), else let verify() look for damage"
        ) from error
