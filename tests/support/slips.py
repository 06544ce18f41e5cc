"""Errors of filers, put into filings that have none."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal

import polars as pl

from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import Form
from tests.support.filings import Record, report

# The tables of a filing: by template and table, a list of rows.
Tables = dict[tuple[int, int], list[list[str]]]
Cell = tuple[int, int, int, int]  # template, table, row and column


class Filing:
    """The reports of one statement, their cells in rows."""

    def __init__(self, reports: pl.DataFrame) -> None:
        self.reports = list(reports.iter_rows(named=True))
        self.forms = {template: _form(template) for template in reports["idSablony"]}
        self.tables: Tables = {}
        for record in self.reports:
            for number, data in enumerate(record["tabulky"]):
                many = len(self.forms[record["idSablony"]].tables[number].columns)
                rows = [data[place : place + many] for place in range(0, len(data), many)]
                self.tables[record["idSablony"], number] = rows

    def records(self, tables: Tables, statement: int) -> Iterator[Record]:
        """Yield the reports with other tables, as those of a statement of that id."""
        for record in self.reports:
            template = record["idSablony"]
            filled = [
                [cell for row in rows for cell in row]
                for (own, _), rows in tables.items()
                if own == template
            ]
            yield report(record["id"], template, filled, idUctovnejZavierky=statement)

    def cells(self) -> Iterator[tuple[Cell, Decimal]]:
        """Yield the cells that are filled with anything but 0."""
        for (template, table), rows in self.tables.items():
            for place, row in enumerate(rows):
                for column, text in enumerate(row):
                    if text and Decimal(text):
                        yield (template, table, place, column), Decimal(text)

    def is_sum(self, cell: Cell) -> bool:
        """Return whether a cell's row is the sum of others."""
        template, table, row, _ = cell
        return bool(self.forms[template].tables[table].rows[row].terms)

    def is_term(self, cell: Cell) -> bool:
        """Return whether another row of its table adds a cell's row."""
        template, table, row, _ = cell
        rows = self.forms[template].tables[table].rows
        return any((term.table, term.row) == (table, row) for line in rows for term in line.terms)


def _form(template: int) -> Form:
    form = forms.shipped(template)
    assert form is not None
    return form


def _copied(filing: Filing) -> Tables:
    return {at: [list(row) for row in rows] for at, rows in filing.tables.items()}


def _put(tables: Tables, cell: Cell, value: Decimal | None) -> Tables:
    template, table, row, column = cell
    tables[template, table][row][column] = "" if value is None else str(value)
    return tables


def _one(filing: Filing, chance: random.Random, kind: Callable[[Cell], bool]) -> Cell | None:
    cells = [cell for cell, _ in filing.cells() if kind(cell)]
    return chance.choice(cells) if cells else None


def _value(tables: Tables, cell: Cell) -> Decimal:
    template, table, row, column = cell
    return Decimal(tables[template, table][row][column] or "0")


def _through(filing: Filing, tables: Tables, cell: Cell, more: Decimal) -> None:
    """Raise a cell, and all sums of its table that it is part of, in its column."""
    template, table, row, column = cell
    _put(tables, cell, _value(tables, cell) + more)
    for place, line in enumerate(filing.forms[template].tables[table].rows):
        for term in line.terms:
            if (term.table, term.row) == (table, row):
                _through(filing, tables, (template, table, place, column), term.sign * more)


def _measured(filing: Filing, measure: str) -> dict[tuple[int, int], int]:
    """Return the current column of a measure, by template and table."""
    found = {}
    for template, table in filing.tables:
        kinds = [c[:2] for c in filing.forms[template].tables[table].columns]
        if ("current", measure) in kinds:
            found[template, table] = kinds.index(("current", measure))
    return found


def _income(filing: Filing) -> list[tuple[int, int]]:
    return [at for at in filing.tables if at in ((699, 2), (687, 2), (22, 0))]


Slip = Callable[[Filing, random.Random], Tables | None]


def sum_one_more(filing: Filing, chance: random.Random) -> Tables | None:
    cell = _one(filing, chance, filing.is_sum)
    tables = _copied(filing)
    return cell and _put(tables, cell, _value(tables, cell) + 1)


def addend_one_off(filing: Filing, chance: random.Random) -> Tables | None:
    cell = _one(filing, chance, lambda c: filing.is_term(c) and not filing.is_sum(c))
    tables = _copied(filing)
    return cell and _put(tables, cell, _value(tables, cell) + chance.choice((1, -1)))


def sum_blank(filing: Filing, chance: random.Random) -> Tables | None:
    cell = _one(filing, chance, filing.is_sum)
    return cell and _put(_copied(filing), cell, None)


def cell_shifted(filing: Filing, chance: random.Random) -> Tables | None:
    """A cell of an addend changes places with the one below."""

    def fits(cell: Cell) -> bool:
        template, table, row, column = cell
        rows = filing.tables[template, table]
        below = row + 1 < len(rows) and rows[row + 1][column] != rows[row][column]
        return below and filing.is_term(cell) and not filing.is_sum(cell)

    cell = _one(filing, chance, fits)
    if cell is None:
        return None
    tables = _copied(filing)
    template, table, row, column = cell
    here, below = (tables[template, table][place] for place in (row, row + 1))
    here[column], below[column] = below[column], here[column]
    return tables


def table_shifted(filing: Filing, chance: random.Random) -> Tables | None:
    tables = _copied(filing)
    at = chance.choice([at for at, rows in tables.items() if any(map(any, rows))])
    tables[at] = [[""] * len(tables[at][0]), *tables[at][:-1]]
    return tables


def _exchanged(filing: Filing, which: list[tuple[int, int]]) -> Tables | None:
    """Exchange the columns of the current and the previous period, of assets the net ones."""
    tables = _copied(filing)
    for at in which:
        for row in tables[at]:
            row[-2:] = row[-1], row[-2]
    return _unlike(filing, tables)


def one_side_exchanged(filing: Filing, chance: random.Random) -> Tables | None:
    """Of the balance sheet."""
    sides = [at for at in filing.tables if at not in _income(filing)]
    return _exchanged(filing, [chance.choice(sides)])


def all_exchanged(filing: Filing, chance: random.Random) -> Tables | None:
    return _exchanged(filing, list(filing.tables))


def gross_raised(filing: Filing, chance: random.Random) -> Tables | None:
    gross = _measured(filing, "gross")
    cell = _one(
        filing, chance,
        lambda c: gross.get(c[:2]) == c[3] and filing.is_term(c) and not filing.is_sum(c),
    )  # fmt: skip
    tables = _copied(filing)
    if cell is not None:
        _through(filing, tables, cell, Decimal(1_000))
    return cell and tables


def net_is_gross(filing: Filing, chance: random.Random) -> Tables | None:
    gross, net = _measured(filing, "gross"), _measured(filing, "net")
    tables = _copied(filing)
    for at in gross:
        for row in tables[at]:
            row[gross[at]], row[net[at]] = row[net[at]], row[gross[at]]
    return _unlike(filing, tables)


def another_result(filing: Filing, chance: random.Random) -> Tables | None:
    """In the income statement, all sums of which hold."""
    income = _income(filing)
    cell = _one(
        filing, chance,
        lambda c: c[:2] in income and c[3] == 0 and filing.is_term(c) and not filing.is_sum(c),
    )  # fmt: skip
    if cell is None:
        return None
    tables = _copied(filing)
    _through(filing, tables, cell, Decimal(1_000))
    return tables if _result(filing, tables) != _result(filing, filing.tables) else None


def _result(filing: Filing, tables: Tables) -> Decimal:
    return sum((Decimal(tables[at][-1][0] or 0) for at in _income(filing)), Decimal(0))


def _unlike(filing: Filing, tables: Tables) -> Tables | None:
    """Return tables if any number in them is another; a blank is 0."""
    for at, rows in tables.items():
        for row, before in zip(rows, filing.tables[at], strict=True):
            if [Decimal(text or 0) for text in row] != [Decimal(text or 0) for text in before]:
                return tables
    return None
