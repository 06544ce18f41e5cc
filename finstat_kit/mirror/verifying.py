"""Every value of a mirror compared with the digest that it was written with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.mirror.versions import UNREADABLE, damaged

VERIFIED: Final = pl.Schema(
    {"file": pl.String(), "rows": pl.Int64(), "damaged": pl.Int64(), "meaning": pl.String()}
)
_PIECE: Final = 131_072  # rows looked at together
_FETCHED_AGAIN: Final = (
    "remove this file: sync(full=True) then fetches what it held, older versions of it are lost"
)
_WRITTEN_ANEW: Final = "remove this file: the next sync writes it anew"


def verified(files: Mapping[str, str], codelists: Path) -> pl.DataFrame:
    """Return a row each file, the damaged first.

    Args:
        files: Where the files of the lists are, by the names they are shown under.
        codelists: The file of the codelists.
    """
    rows = [(name, *_verified(file, _FETCHED_AGAIN)) for name, file in files.items()]
    rows.append((codelists.name, *_verified(str(codelists), _WRITTEN_ANEW)))
    return pl.DataFrame(rows, schema=VERIFIED, orient="row").sort(pl.col("meaning") == "", "file")


def _verified(file: str, cure: str) -> tuple[int, int, str]:
    """Return the rows of a file, how many are damaged, and what to do."""
    rows = bad = 0
    try:
        rows = pl.scan_parquet(file).select(pl.len()).collect().item()
        for start in range(0, rows, _PIECE):
            bad += damaged(pl.scan_parquet(file).slice(start, _PIECE).collect())
    except UNREADABLE as error:
        return rows, rows, f"it cannot be read: {error}; {cure}"
    return rows, bad, cure if bad else ""
