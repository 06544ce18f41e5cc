"""The state of an invented register: units with what they filed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from finstat_kit.protocol.wire import ANNUAL_REPORTS, CHANGED, REPORTS, STATE, STATEMENTS, UNITS
from finstat_kit.service.filings import records
from finstat_kit.service.filings.drawn import Drawn
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.line import Line
from finstat_kit.service.state.store import Json, Store


@dataclass(frozen=True)
class FiledStore(Store):
    """One state of a register of units and of their statements, reports and annual reports."""

    filings: Filings = field(kw_only=True)

    def line(self, collection: str) -> Line:
        """Return the ids of a collection."""
        return self.units if collection == UNITS else self.filings.lines[collection]

    def record(self, collection: str, id_: int) -> Json | None:
        """Return a record as the register would send it, None where there is none."""
        if collection != UNITS:
            return _RECORDS[collection](self.filings, id_)
        record = Store.record(self, UNITS, id_)
        if record is None or STATE in record:
            return record
        statements, annual = self.filings.ids_of(id_, removed=id_ in self.removed)
        filed = {"idUctovnychZavierok": statements, "idVyrocnychSprav": annual}
        changed = record.pop(CHANGED)  # is last
        return record | {name: ids for name, ids in filed.items() if ids} | {CHANGED: changed}

    def attachment(self, id_: int) -> bytes | None:
        """Return a file, None where no record has it."""
        return records.file_of(self.filings, id_)


_RECORDS = {
    STATEMENTS: records.statement,
    REPORTS: records.report,
    ANNUAL_REPORTS: records.annual_report,
}


def with_filings(store: Store, *, seed: int = 0) -> FiledStore:
    """Draw the filings of the units of a register."""
    units = {column.name: getattr(store, column.name) for column in fields(store)}
    return FiledStore(**units, filings=Filings(Drawn(store, seed)))
