"""The newest version of each unit as a LazyFrame."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.versions import META, UNREADABLE, newest
from finstat_kit.protocol import replies

LOG: Final = pl.Schema({**replies.UNITS, **META})
SHOWN: Final = (*replies.UNITS, "gone", "seen")
_ROW: Final = "row of the log"


def newest_units(files: tuple[str, ...], upto: float = math.inf) -> pl.LazyFrame:
    """Return the newest versions up to a number, in the order of the files.

    Raises:
        MirrorError: A file cannot be read.
    """
    if not files:
        return pl.LazyFrame(schema=LOG).select(SHOWN)
    log = _scan(files, row_index_name=_ROW)
    # As a rule a log has few rows that are not the newest: to leave them out costs little, it
    # streams, and no order of the rows can go wrong with it as with a mask.
    return log.join(_others(files, upto).lazy(), on=_ROW, how="anti").select(SHOWN)


@lru_cache(maxsize=4)  # frames of the same files share it
def _others(files: tuple[str, ...], upto: float) -> pl.DataFrame:
    """Return the rows that are not the newest of their id, as numbers over all files."""
    counted = (pl.col("problem").is_null() & (pl.col("version") <= upto)).alias("counted")
    try:
        keys = _scan(files).select("id", "version", counted).collect()
    except UNREADABLE as error:
        raise MirrorError(f"the mirror cannot be read: {error}; see verify()") from error
    mask = newest(keys["id"].to_numpy(), keys["version"].to_numpy(), keys["counted"].to_numpy())
    return pl.DataFrame({_ROW: np.flatnonzero(~mask)}, schema={_ROW: pl.get_index_type()})


def _scan(files: tuple[str, ...], row_index_name: str | None = None) -> pl.LazyFrame:
    return pl.scan_parquet(
        list(files), schema=LOG, missing_columns="insert", row_index_name=row_index_name, glob=False
    )
