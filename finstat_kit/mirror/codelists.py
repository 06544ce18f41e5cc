"""The codelists of a mirror: one small file, replaced as a whole, that starts with its checksum."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit.client.register import Register
from finstat_kit.errors import MirrorError, ProtocolError
from finstat_kit.mirror.sealed import read_sealed, write_sealed
from finstat_kit.protocol import wire

log = logging.getLogger("finstat_kit")

# By the name of the list: code, both names and parent of each entry, sorted by code.
Entry = tuple[str, str | None, str | None, str | None]
Lists = dict[str, list[Entry]]


_CURE: Final = "remove it, the next sync() writes it anew"


def stored(path: Path) -> Lists:
    """Return the codelists in a file.

    Raises:
        MirrorError: The file is missing or damaged.
    """
    body = read_sealed(path, _CURE)
    if body is None:
        raise MirrorError(f"{path} is lost; the next sync() writes it anew")
    return {name: [tuple(e) for e in entries] for name, entries in json.loads(body).items()}


def bodies(lists: Lists) -> dict[str, bytes]:
    """Return codelists as bodies of replies, by the name of their endpoint."""
    return {
        codelist.endpoint: _body(lists.get(name, []), codelist.field in wire.LOCATION_FIELDS)
        for name, codelist in wire.CODELISTS.items()
    }


def _body(entries: Iterable[Entry], located: bool) -> bytes:
    listed = []
    for code, slovak, english, parent in entries:
        names = {"sk": slovak, "en": english}
        entry = {"kod": code, "nazov": {k: v for k, v in names.items() if v is not None}}
        listed.append(entry if parent is None else entry | {"nadradenaLokacia": parent})
    return json.dumps({"lokacie" if located else "klasifikacie": listed}).encode()


def in_force(path: Path, run: int | None) -> Path:
    """Return the file that holds the codelists as a run left them, None for the newest.

    The former file is kept under the number of the run that replaced it.
    """
    later = [number for number, _ in former_files(path) if run is not None and number > run]
    return _before(path, min(later)) if later else path


def former_files(path: Path) -> list[tuple[int, Path]]:
    """Return the kept former files, each with the run that replaced it, in their order."""
    found = path.parent.glob(f"{path.stem}-before-*.json")
    return sorted((int(file.stem.rpartition("-")[2]), file) for file in found)


def _before(path: Path, run: int) -> Path:
    return path.with_name(f"{path.stem}-before-{run}.json")


def renew(path: Path, register: Register, run: int) -> dict[str, int]:
    """Fetch the codelists and replace the stored ones; return the numbers of changes.

    A fetched list that is empty or broken does not replace one with entries, which is kept and
    counted as unreadable.
    """
    former: Lists = {}
    intact = False
    with contextlib.suppress(MirrorError):
        former = stored(path)
        intact = True
    lists: Lists = {}
    unreadable = 0
    for name in wire.CODELISTS:
        before = former.get(name, [])
        try:
            lists[name] = _entries(register.codelist(name, refresh=True))
        except ProtocolError as error:
            if not before:
                raise
            log.warning("the codelist %s cannot be read: %s", name, error)
            lists[name] = []
        if before and not lists[name]:
            log.warning("the codelist %s has no entries; the former one is kept", name)
            unreadable += 1
            lists[name] = before
    old, new = _by_code(former), _by_code(lists)
    if old != new or not intact:
        kept = _before(path, run)
        # A run that was cut off here has kept it already.
        if intact and not kept.exists():
            write_sealed(kept, json.dumps(former, ensure_ascii=False).encode())
        write_sealed(path, json.dumps(lists, ensure_ascii=False).encode())
    return {
        "new": len(new.keys() - old.keys()),
        "changed": sum(old[key] != new[key] for key in new.keys() & old.keys()),
        "gone": len(old.keys() - new.keys()),
        "unreadable": unreadable,
    }


def _entries(codelist: pl.DataFrame) -> list[Entry]:
    return list(codelist.select(
        "code", "name_sk", "name_en",
        pl.col("parent_code") if "parent_code" in codelist.columns else pl.lit(None),
    ).iter_rows())  # fmt: skip


def _by_code(lists: Lists) -> dict[tuple[str, str], Entry]:
    return {(name, entry[0]): entry for name, entries in lists.items() for entry in entries}
