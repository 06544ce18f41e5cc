"""What happens to the register's units, as pure functions: a store in, another store out.

The store that goes in stays as it is; what comes out shares every array that the change left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from finstat_kit.errors import UsageError
from finstat_kit.protocol.wire import UNITS
from finstat_kit.service import population
from finstat_kit.service.store import LIVING, Ints, Line, Owned, Store, day_number, ico_number


def dated(store: Store, today: date) -> Store:
    """Move the register's day."""
    return replace(store, today=today)


def published(
    store: Store, n: int, record: Mapping[str, object], *, on: date | None = None
) -> tuple[Store, Ints]:
    """Add *n* drawn units with ids above all others.

    Args:
        store: The register before.
        n: How many.
        record: Fields of their records that replace what is drawn; dates as text.
        on: Day of change; None is the register's day.

    Returns:
        The register after, and the new ids.
    """
    line = store.lines[UNITS]
    last = int(line.ids[-1]) if len(line.ids) else 0
    ids = last + 1 + np.arange(n, dtype=np.int64)
    changed = np.full(n, _day_number(store, on), dtype=np.uint16)
    forms = tuple(store.tables["legal_form"])
    if "pravnaForma" in record:
        forms = tuple(dict.fromkeys((*forms, str(record["pravnaForma"]))))
    drawn = _drawn(store, n, record, forms)
    after = replace(
        store,
        lines={
            **store.lines,
            UNITS: Line(np.concatenate([line.ids, ids]), np.concatenate([line.changed, changed])),
        },
        columns={
            name: np.concatenate([column, drawn[name]]) for name, column in store.columns.items()
        },
        tables={**store.tables, "legal_form": forms},
        owned={
            name: Owned(owned.ids, np.append(owned.ends, np.full(n, len(owned.ids))))
            for name, owned in store.owned.items()
        },
        fields={**store.fields, **dict.fromkeys(ids.tolist(), record)} if record else store.fields,
    )
    return after, ids


def changed(store: Store, ids: Ints, *, on: date | None = None, state: int | None = None) -> Store:
    """Change units: their day of change, and their state where one is given.

    Args:
        store: The register before.
        ids: Which units.
        on: Day of change; None is the register's day.
        state: ``LIVING``, ``DELETED`` or ``NON_PUBLIC``; None leaves it.

    Raises:
        UsageError: An id is not of a unit in *store*.
    """
    rows = _rows(store, ids)
    line = store.lines[UNITS]
    days = line.changed.copy()
    days[rows] = _day_number(store, on)
    columns = dict(store.columns)
    if state is not None:
        columns["state"] = columns["state"].copy()
        columns["state"][rows] = state
    return replace(store, lines={**store.lines, UNITS: Line(line.ids, days)}, columns=columns)


def without(store: Store, ids: Ints) -> Store:
    """Remove units without a trace.

    Their statements and reports stay in the lists of those.

    Raises:
        UsageError: An id is not of a unit in *store*.
    """
    line = store.lines[UNITS]
    keep = np.ones(len(line.ids), dtype=bool)
    keep[_rows(store, ids)] = False
    removed = set(line.ids[~keep].tolist())
    return replace(
        store,
        lines={**store.lines, UNITS: Line(line.ids[keep], line.changed[keep])},
        columns={name: column[keep] for name, column in store.columns.items()},
        owned={name: _kept(owned, keep) for name, owned in store.owned.items()},
        # The next unit published may get the same id.
        fields={id_: record for id_, record in store.fields.items() if id_ not in removed},
    )


def _drawn(
    store: Store, n: int, record: Mapping[str, object], forms: tuple[str, ...]
) -> dict[str, NDArray[np.generic]]:
    """Return the columns of *n* new units, in the types of the store's."""
    fresh = population.draw(n, seed=len(store.lines[UNITS].ids) + 1)
    drawn = {name: fresh.columns[name].astype(old.dtype) for name, old in store.columns.items()}
    drawn["state"][:] = LIVING
    # What was drawn points into the default codelists; here others may be served.
    drawn["place"] %= (len(store.places) - 2) // 2
    if "ico" in record:
        drawn["ico"][:] = ico_number(str(record["ico"]))
    if "dic" in record:
        drawn["dic"][:] = int(str(record["dic"] or 0))
    if "pravnaForma" in record:
        drawn["legal_form"][:] = forms.index(str(record["pravnaForma"]))
    return drawn


def _rows(store: Store, ids: Ints) -> Ints:
    listed = store.lines[UNITS].ids
    rows = np.searchsorted(listed, ids)
    there = rows < len(listed)
    there[there] = listed[rows[there]] == ids[there]
    if not there.all():
        raise UsageError(f"ids: {ids[~there][:5].tolist()} are no units of this sample")
    return rows.astype(np.int64)


def _day_number(store: Store, on: date | None) -> int:
    return day_number(store.today if on is None else on)


def _kept(owned: Owned, keep: NDArray[np.bool_]) -> Owned:
    counts = np.diff(owned.ends, prepend=0)
    return Owned(owned.ids[np.repeat(keep, counts)], np.cumsum(counts[keep]))
