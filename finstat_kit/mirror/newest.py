"""The newest version of each row of a log as a LazyFrame."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.versions import META, UNREADABLE, newest

_ROW: Final = "row of the log"
_KEYS: Final = pl.Schema({"id": pl.Int64(), "version": META["version"], "problem": META["problem"]})


def newest_rows(
    files: tuple[str, ...], schema: pl.Schema, upto: float = math.inf, *, versions: bool = False
) -> pl.LazyFrame:
    """Return the newest versions up to a number, in the order of the files.

    Args:
        files: The data files of a log.
        schema: Columns of its rows beside `META`.
        upto: The number of the last version to include.
        versions: Whether their numbers are returned too.

    Raises:
        MirrorError: A file cannot be read.
    """
    whole, shown = pl.Schema({**schema, **META}), [*schema, "gone", "seen"]
    shown += ["version"] if versions else []
    if not files:
        return pl.LazyFrame(schema=whole).select(shown)
    log = pl.scan_parquet(
        list(files), schema=whole, missing_columns="insert", row_index_name=_ROW, glob=False
    )
    # Usually a log has few outdated rows: an anti-join is cheap, streams, and unlike a mask does
    # not depend on the order of rows.
    return log.join(_others(files, upto).lazy(), on=_ROW, how="anti").select(shown)


@lru_cache(maxsize=4)  # frames of the same files share it
def _others(files: tuple[str, ...], upto: float) -> pl.DataFrame:
    """Return the outdated rows, as row numbers over all files."""
    counted = (pl.col("problem").is_null() & (pl.col("version") <= upto)).alias("counted")
    try:
        log = pl.scan_parquet(list(files), schema=_KEYS, extra_columns="ignore", glob=False)
        keys = log.select("id", "version", counted).collect()
    except UNREADABLE as error:
        raise MirrorError(f"the mirror cannot be read: {error}; see verify()") from error
    mask = newest(keys["id"].to_numpy(), keys["version"].to_numpy(), keys["counted"].to_numpy())
    return pl.DataFrame({_ROW: np.flatnonzero(~mask)}, schema={_ROW: pl.get_index_type()})
