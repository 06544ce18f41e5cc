"""What happens to units and filings, as pure functions: a store in, another store out.

The store that goes in stays as it is; what comes out shares every array that the change left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from finstat_kit.errors import UsageError
from finstat_kit.protocol.wire import STATEMENTS, UNITS
from finstat_kit.service.filings.drawn import CORRECTION, MAIN, OLD_FORMS
from finstat_kit.service.filings.filings import Added, Filings
from finstat_kit.service.state import population
from finstat_kit.service.state.store import LIVING, Ints, Line, Store, day_number, ico_number


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
    line = store.units
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
    line = store.units
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
    line = store.units
    keep = np.ones(len(line.ids), dtype=bool)
    keep[_rows(store, ids)] = False
    removed = set(line.ids[~keep].tolist())
    return replace(
        store,
        lines={**store.lines, UNITS: Line(line.ids[keep], line.changed[keep])},
        columns={name: column[keep] for name, column in store.columns.items()},
        # The next unit published may get the same id: what was filed is not its own.
        filings=store.filings and replace(store.filings, lost=store.filings.lost | removed),
        # The next unit published may get the same id.
        fields={id_: record for id_, record in store.fields.items() if id_ not in removed},
    )


def filed(
    store: Store,
    units: Ints,
    year: int,
    *,
    on: date | None = None,
    role: int = MAIN,
    case: str | None = None,
) -> tuple[Store, list[int]]:
    """File a statement of each unit for a year, with a difficulty; the units change with it.

    Returns:
        The register after, and the ids of the statements.

    Raises:
        UsageError: An id is not of a unit in *store*, or the case is not one of the year.
    """
    if case == "half" and year > OLD_FORMS:
        raise UsageError(
            f"case='half' leaves out one of the two reports of a year up to {OLD_FORMS}",
            cure=f"in {year} there is one",
        )
    after = changed(store, units, on=on)
    filings = _filings(store)
    day = _day_number(store, on)
    added = tuple(
        Added(unit, *_filer(store, filings, unit, row), year, role, day, case)
        for unit, row in zip(units.tolist(), _rows(store, units).tolist(), strict=True)
    )
    first = filings.drawn.size + len(filings.added)
    filings = replace(filings, added=filings.added + added)
    after = replace(after, filings=filings, lines={**after.lines, **filings.lines})
    return after, [filings.id_of(STATEMENTS, first + n) for n in range(len(added))]


def _filer(
    store: Store, filings: Filings, unit: int, row: int
) -> tuple[int | None, Mapping[str, object]]:
    """Return the row of a unit as drawn, or what the reports of a later one repeat of it."""
    drawn = None if unit in filings.lost else filings.drawn.row_of(unit)
    return drawn, {} if drawn is not None else store.living(unit, row)


def corrected(
    store: Store, statements: Ints, *, on: date | None = None, case: str | None = None
) -> tuple[Store, list[int]]:
    """File a correction of each statement: another one of the same unit and year.

    Raises:
        UsageError: An id is not of a statement in *store*, its unit has vanished, or the case is
            not one of its year.
    """
    filings = _filings(store)
    ids: list[int] = []
    for statement in statements.tolist():
        slot = filings.slot_of(STATEMENTS, statement)
        filing = None if slot is None else filings.filing(slot)
        if filing is None:
            raise UsageError(f": {statement} is no statement of this sample", argument="ids")
        unit = np.array([filing.unit], dtype=np.int64)
        store, found = filed(store, unit, filing.year, on=on, role=CORRECTION, case=case)
        ids += found
    return store, ids


def _filings(store: Store) -> Filings:
    assert store.filings is not None
    return store.filings


def _drawn(
    store: Store, n: int, record: Mapping[str, object], forms: tuple[str, ...]
) -> dict[str, NDArray[np.generic]]:
    """Return the columns of *n* new units, in the types of the store's."""
    fresh = population.draw(n, seed=len(store.units.ids) + 1)
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
    listed = store.units.ids
    rows = np.searchsorted(listed, ids)
    there = rows < len(listed)
    there[there] = listed[rows[there]] == ids[there]
    if not there.all():
        raise UsageError(
            f": {ids[~there][:5].tolist()} are no units of this sample", argument="ids"
        )
    return rows.astype(np.int64)


def _day_number(store: Store, on: date | None) -> int:
    return day_number(store.today if on is None else on)
