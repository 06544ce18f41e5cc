"""The state of an invented register: units with what they filed.

What units file after the sample was drawn is a pure function: a store in, another store out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Final

import numpy as np

from finstat_kit.errors import UsageError
from finstat_kit.protocol.wire import STATEMENTS
from finstat_kit.service.filings.drawn import Drawn
from finstat_kit.service.filings.figures import mixed
from finstat_kit.service.filings.filers import unit_of
from finstat_kit.service.filings.filing import CORRECTION, MAIN, OLD_FORMS, Filing
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.changes import changed, day_of_change, rows_of
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.store import Store

_UPPER_BITS: Final = 999 << 40  # of the keys: none of these filings has a difficulty by its key


def with_filings(store: Store, *, seed: int = 0) -> Store:
    """Draw the filings of the units of a register."""
    return replace(store, filings=Filings(Drawn(store, seed)))


def filings_of(store: Store) -> Filings:
    """Return the filings of a register that has some."""
    assert isinstance(store.filings, Filings)
    return store.filings


def filed(
    store: Store,
    of: Sequence[tuple[int, int]],
    *,
    on: date | None = None,
    role: int = MAIN,
    case: str | None = None,
) -> tuple[Store, list[int]]:
    """File a statement of each unit and year, with a difficulty; the units change with it.

    Returns:
        The register after, and the ids of the statements.

    Raises:
        UsageError: An id is not of a unit in *store*, or the case is not one of the year.
    """
    units = np.array([unit for unit, _ in of], dtype=np.int64)
    after, day = changed(store, units, on=on), day_of_change(store, on)
    filings, added = filings_of(store), list[Filing]()
    drawn = filings.drawn
    first = drawn.size + len(filings.added)
    rows = rows_of(store, units).tolist()
    for slot, ((unit, year), row) in enumerate(zip(of, rows, strict=True), first):
        drawn_row = None if unit in store.removed else drawn.origin.units.position(unit)
        if drawn_row is not None:
            described = drawn.unit(drawn_row)
        else:
            described = unit_of(unit, None, mixed(drawn.seed, 8, unit), store.living(row))
        key = mixed(drawn.seed, slot) % 2**32 | _UPPER_BITS
        filing = Filing(slot, described, year, role, key, day, changed=day, difficulty=case)
        if case == "half" and len(filing.forms) == 1:
            raise UsageError(
                "case='half' leaves out one of the two reports that public bodies file, and "
                f"businesses up to {OLD_FORMS}",
                cure=f"in {year} there is one of the unit {unit}",
            )
        filing.reports = len(filing.forms) + filing.case.more
        added.append(filing)
    after = replace(after, filings=replace(filings, added=(*filings.added, *added)))
    return after, [filings.id_of(STATEMENTS, filing.slot) for filing in added]


def corrected(
    store: Store, statements: Ints, *, on: date | None = None, case: str | None = None
) -> tuple[Store, list[int]]:
    """File a correction of each statement: another one of the same unit and year.

    Raises:
        UsageError: An id is not of a statement in *store*, its unit has vanished, or the case is
            not one of its year.
    """
    of = []
    for statement in statements.tolist():
        filing, _ = filings_of(store).filing_of(STATEMENTS, statement)
        if filing is None:
            raise UsageError(f": {statement} is no statement of this sample", argument="ids")
        of.append((filing.unit.id, filing.year))
    return filed(store, of, on=on, role=CORRECTION, case=case)
