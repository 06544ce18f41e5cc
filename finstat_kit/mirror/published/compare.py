"""Random records of a mirror beside those of a register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.client.register import Register
from finstat_kit.errors import NotFound, ProtocolError
from finstat_kit.frames.counts.estimation import bounds
from finstat_kit.mirror.state import State
from finstat_kit.mirror.storage.files import legible
from finstat_kit.protocol import wire

COMPARED: Final = pl.Schema(
    {
        "collection": pl.String(),
        "compared": pl.Int64(),
        "equal": pl.Int64(),
        "changed": pl.Int64(),
        "gone": pl.Int64(),
        "unreadable": pl.Int64(),
        "differing": pl.Int64(),
        "ids": pl.List(pl.Int64()),
        "bound": pl.Float64(),
    }
)

RecordsOf = Callable[[str, pl.Series], pl.DataFrame]


def compared(state: State, records_of: RecordsOf, register: Register, n: int) -> pl.DataFrame:
    """Return what a register says of *n* random records of each collection; see `Mirror`.

    Args:
        state: Of the mirror.
        records_of: Returns its records of a collection.
        register: The register.
        n: The number of records of each collection.
    """
    rows: list[tuple[object, ...]] = []
    for name in ("units", *state.point.contents):
        stands = state.standing(name)
        held = stands.held
        some = np.random.default_rng().choice(held, min(n, len(held)), replace=False)
        ids = pl.Series("id", np.sort(some), dtype=pl.Int64)
        here = {row["id"]: row for row in records_of(name, ids).iter_rows(named=True)}
        with legible(state.path):
            seen = state.newest(name, ids).select("id", "seen").collect()
        day_of = dict(seen.iter_rows())
        there, gone, unreadable = _requested(register, name, ids)
        different = [id_ for id_, record in there.items() if record != here.get(id_)]
        changed = [id_ for id_ in different if _is_later(there[id_][wire.CHANGED], day_of.get(id_))]
        differing = sorted(set(different) - set(changed))
        equal = len(there) - len(different)
        comparable = equal + len(differing)
        most = bounds(len(differing), comparable, len(held))[1]
        bound = most / len(held) if comparable else None
        rows.append((
            name, len(ids), equal, len(changed), gone, unreadable, len(differing), differing, bound
        ))  # fmt: skip
    return pl.DataFrame(rows, schema=COMPARED, orient="row")


def _requested(
    register: Register, name: str, ids: pl.Series
) -> tuple[dict[int, dict[str, object]], int, int]:
    """Return the records that a register has; how many it has not, and how many are unreadable."""
    collection = getattr(register, name)
    gone = unreadable = 0
    frame = collection.get(ids, errors="keep")
    empty = frame.filter(pl.all_horizontal(pl.exclude("id").is_null()))["id"]
    for id_ in empty:
        try:
            collection.get([id_])
        except NotFound:
            gone += 1
        except ProtocolError:
            unreadable += 1
    frame = frame.filter(~pl.col("id").is_in(empty.implode()))
    return {row["id"]: row for row in frame.iter_rows(named=True)}, gone, unreadable


def _is_later(changed: object, seen: object) -> bool:
    return changed is not None and seen is not None and changed >= seen  # type: ignore[operator]
