"""How far a mirror is: what the lists name, what is held, what is lacking."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.folder import About
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.versions import Known, unread_in

HOLDINGS: Final = pl.Schema(
    {
        "collection": pl.String(),
        "listed": pl.Int64(),
        "held": pl.Int64(),
        "from_id": pl.Int64(),
        "lacking": pl.Int64(),
        "seconds": pl.Float64(),
    }
)


UNREAD: Final = pl.Schema(
    {"collection": pl.String(), "id": pl.Int64(), "problem": pl.String(), "seen": pl.Date()}
)


def unreadable(held: Held, answers: Answers, about: About) -> pl.DataFrame:
    """Return a row per unreadable record; see `Mirror.unreadable`."""
    found = [pl.DataFrame(schema=UNREAD)]
    for name in ("units", *about.contents):
        if name == "units":
            rows = unread_in(held.lists[name].scan())
        else:
            ids = answers.unread(name)
            rows = unread_in(held.contents[name].scan()).filter(pl.col("id").is_in(ids.implode()))
        found.append(rows.select(pl.lit(name).alias("collection"), "id", "problem", "seen"))
    return pl.concat(found)


def holdings(held: Held, about: About, rate: float | None, only: pl.Series | None) -> pl.DataFrame:
    """Return a row per collection whose records are kept; see `Mirror.holdings`."""
    rows: list[tuple[object, ...]] = []
    held.refresh_records()  # which reports are wanted stands in the records of others
    for name in ("units", *about.contents):
        if name == "units":
            units = Known(held.lists[name].scan())
            listed, absent = pl.Series("id", units.listed), pl.Series(units.unread, dtype=pl.Int64)
        else:
            named, lack = held.lacking_of(name, only)
            listed, absent = named["id"], lack["id"]
        whole = listed if absent.is_empty() else listed.filter(listed > absent.max())
        first = None if whole.is_empty() else whole.min()
        seconds = None if rate is None else absent.len() / rate
        rows.append((name, listed.len(), listed.len() - absent.len(), first, absent.len(), seconds))
    return pl.DataFrame(rows, schema=HOLDINGS, orient="row")
