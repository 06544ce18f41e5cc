"""Changes of units, as pure functions: a store in, another store out.

The store that goes in stays as it is; the one that comes out shares every array that the change
left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finstat_kit.errors import UsageError
from finstat_kit.service.state import population
from finstat_kit.service.state.line import Ints, Line
from finstat_kit.service.state.store import LIVING, Store, day_number, ico_number


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
    line = store.units
    last = int(line.ids[-1]) if len(line.ids) else 0
    ids = last + 1 + np.arange(n, dtype=np.int64)
    changed = np.full(n, day_of_change(store, on), dtype=np.uint16)
    new: dict[str, NDArray[Any]] = dict(population.draw(n, seed=len(line.ids) + 1).columns)
    new["state"][:] = LIVING
    # What was drawn points into the default codelists; here others may be served.
    new["place"] %= (len(store.places) - 2) // 2
    forms = store.tables["legal_form"]
    if "ico" in record:
        new["ico"][:] = ico_number(str(record["ico"]))
    if "dic" in record:
        new["dic"][:] = int(str(record["dic"] or 0))
    if "pravnaForma" in record:
        form = str(record["pravnaForma"])
        forms = tuple(dict.fromkeys((*forms, form)))
        new["legal_form"][:] = forms.index(form)
    after = replace(
        store,
        units=Line(np.concatenate([line.ids, ids]), np.concatenate([line.changed, changed])),
        columns={name: np.concatenate([store.columns[name], new[name]]) for name in new},
        tables={**store.tables, "legal_form": forms},
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
    rows = rows_of(store, ids)
    line = store.units
    days = line.changed.copy()
    days[rows] = day_of_change(store, on)
    columns = dict(store.columns)
    if state is not None:
        columns["state"] = columns["state"].copy()
        columns["state"][rows] = state
    return replace(store, units=Line(line.ids, days), columns=columns)


def without(store: Store, ids: Ints) -> Store:
    """Remove units without a trace.

    Their statements and reports stay in the lists of those.

    Raises:
        UsageError: An id is not of a unit in *store*.
    """
    line = store.units
    keep = np.ones(len(line.ids), dtype=bool)
    keep[rows_of(store, ids)] = False
    removed = set(ids.tolist())
    return replace(
        store,
        units=Line(line.ids[keep], line.changed[keep]),
        columns={name: column[keep] for name, column in store.columns.items()},
        removed=store.removed | removed,
        # The next unit published may get the same id.
        fields={id_: record for id_, record in store.fields.items() if id_ not in removed},
    )


def rows_of(store: Store, ids: Ints) -> Ints:
    """Return the rows of units.

    Raises:
        UsageError: An id is not of a unit in *store*.
    """
    listed = store.units.ids
    unknown = ids[~np.isin(ids, listed)]
    if len(unknown):
        raise UsageError(f": {unknown[:5].tolist()} are no units of this sample", argument="ids")
    return np.searchsorted(listed, ids).astype(np.int64)


def day_of_change(store: Store, on: date | None) -> int:
    """Return the number of a day, of the register's day for None."""
    return day_number(store.today if on is None else on)
