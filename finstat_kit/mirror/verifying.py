"""Every byte of a mirror compared with its checksum, every value with the digest of its row."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import file_digest
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror import codelists
from finstat_kit.mirror.tables import Table
from finstat_kit.mirror.versions import UNREADABLE, damaged

VERIFIED: Final = pl.Schema(
    {"file": pl.String(), "rows": pl.Int64(), "damaged": pl.Int64(), "meaning": pl.String()}
)
_PIECE: Final = 131_072  # rows looked at together
_FETCHED_AGAIN: Final = (
    "remove this file: sync(full=True) then fetches what it held, older versions of it are lost"
)
_NOT_OURS: Final = "something else has put it there; " + _FETCHED_AGAIN


def verified(tables: Iterable[Table], lists: Path) -> pl.DataFrame:
    """Return a row each file, the damaged first.

    Args:
        tables: What has data files.
        lists: The file of the codelists.
    """
    rows = [row for table in tables for row in _verified(table)]
    try:
        entries = sum(map(len, codelists.stored(lists).values()))
        rows.append((lists.name, entries, 0, ""))
    except MirrorError as error:
        rows.append((lists.name, 0, 0, str(error)))
    return pl.DataFrame(rows, schema=VERIFIED, orient="row").sort(pl.col("meaning") == "", "file")


def _verified(table: Table) -> list[tuple[str, int, int, str]]:
    checksums = table.checksums()
    found = []
    for file, rows in table.files().items():
        path = Path(file)
        name = f"{table.path.name}/{path.name}"
        try:
            # The bytes first: what reads a broken file may break down with it. What a crash kept
            # from getting a checksum gets one in the next sync.
            with path.open("rb") as opened:
                checksum = file_digest(opened, "sha256").hexdigest()
            whole = checksums.get(path.name, checksum) == checksum
            bad = _damaged_rows(file, rows) if whole and "digest" in table.schema else 0
        except UNREADABLE as error:
            found.append((name, rows, rows, f"it cannot be read: {error}; {_FETCHED_AGAIN}"))
            continue
        if not whole:
            found.append((name, rows, rows, f"it is not as it was written: {_FETCHED_AGAIN}"))
        else:
            found.append((name, rows, bad, _NOT_OURS if bad else ""))
    return found


def _damaged_rows(file: str, rows: int) -> int:
    return sum(
        damaged(pl.scan_parquet(file).slice(start, _PIECE).collect())
        for start in range(0, rows, _PIECE)
    )
