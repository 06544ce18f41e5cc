"""The codelists of a mirror: one small file, replaced whole."""

from __future__ import annotations

import json
import logging
from datetime import date
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit import labels, replies
from finstat_kit.errors import ProtocolError
from finstat_kit.mirror.tables import told
from finstat_kit.mirror.versions import META, Row, to_frame
from finstat_kit.registers import Register

log = logging.getLogger("finstat_kit")

_CONTENT: Final = pl.Schema({"list": pl.String(), **replies.LOCATIONS})
SCHEMA: Final = pl.Schema({**_CONTENT, **META})


def stored(path: Path) -> pl.DataFrame:
    """Return the entries that a file holds, none where there is no such file."""
    return pl.read_parquet(path) if path.exists() else pl.DataFrame(schema=SCHEMA)


def bodies(entries: pl.DataFrame) -> dict[str, bytes]:
    """Return entries as the register would send them, by the name of their endpoint."""
    return {
        codelist.endpoint: _body(codelist, entries.filter(pl.col("list") == codelist.name))
        for codelist in labels.CODELISTS.values()
    }


def _body(codelist: labels.Codelist, entries: pl.DataFrame) -> bytes:
    located = codelist.field in labels.LOCATION_FIELDS
    listed = []
    for entry in entries.iter_rows(named=True):
        names = {"sk": entry["name_sk"], "en": entry["name_en"]}
        sent = {"kod": entry["code"], "nazov": {k: v for k, v in names.items() if v is not None}}
        if located and entry["parent_code"] is not None:
            sent["nadradenaLokacia"] = entry["parent_code"]
        listed.append(sent)
    return json.dumps({"lokacie" if located else "klasifikacie": listed}).encode()


def renew(path: Path, register: Register, run: int) -> dict[str, int]:
    """Fetch the codelists and replace what is stored; return what that changed.

    A list that comes empty or broken does not replace one that has entries: it stays, and counts
    as unreadable.
    """
    former = stored(path)
    frames, unreadable = [], 0
    for name in labels.CODELISTS:
        before = former.filter(pl.col("list") == name).select(_CONTENT.names())
        try:
            fresh = getattr(register, name)(refresh=True)
        except ProtocolError as error:
            if not before.height:
                raise
            log.warning("the codelist %s is kept as it was: %s", name, error)
            fresh = before.head(0)
        if before.height and not fresh.height:
            log.warning("the codelist %s came without entries; the one of before is kept", name)
            unreadable += 1
            frames.append(before)
        else:
            fresh = fresh.with_columns(pl.lit(name).alias("list"))
            frames.append(pl.concat([pl.DataFrame(schema=_CONTENT), fresh], how="diagonal"))
    entries = pl.concat(frames)
    old, new = (
        {row[:2]: row for row in frame.select(_CONTENT.names()).iter_rows()}
        for frame in (former, entries)
    )
    if old != new:
        _write(path, entries, run, register.today)
    return {
        "new": len(new.keys() - old.keys()),
        "changed": sum(old[key] != new[key] for key in new.keys() & old.keys()),
        "gone": len(old.keys() - new.keys()),
        "unreadable": unreadable,
    }


def _write(path: Path, entries: pl.DataFrame, run: int, today: date) -> None:
    rows = [
        Row({name: value for name, value in entry.items() if value is not None})
        for entry in entries.iter_rows(named=True)
    ]
    draft = path.with_suffix(".draft")
    with told(path):
        to_frame(rows, _CONTENT, run, today).write_parquet(draft)
        draft.replace(path)
