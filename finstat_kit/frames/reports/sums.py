"""The sums of a form, and the amounts of many reports: the one place that adds up figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, chain
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.protocol.forms import Form, Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_ASSETS: Final = re.compile(r"(strana )?(aktív|a k t í v)", re.IGNORECASE)
_LIABILITIES: Final = re.compile(r"(strana )?(pasív|p a s í v)", re.IGNORECASE)
_CONTROL: Final = re.compile(r"kontroln", re.IGNORECASE)
# The measures of a net amount; a table with one column per period has no word for it.
_NET_MEASURES: Final = (None, "net", "total")
Cell = tuple[int, int, int]  # table, row and column
_HALF_A_CENT: Final = 0.005


class Added(NamedTuple):
    """Sums of cells, one per report.

    Attributes:
        values: A blank adds nothing; NaN where a filled cell is no number, which cannot be added.
        filled: Whether any cell is filled.
    """

    values: Floats
    filled: Mask

    @property
    def amounts(self) -> Floats:
        """The sums, NaN where nothing is filled or something is no number."""
        return np.where(self.filled, self.values, np.nan)


class Amounts:
    """A matrix with a row per cell and a column per report.

    A sum takes a few rows of it, each of which lies in memory as one piece.

    Args:
        shape: Number of cells and of reports.
        filled: The filled cells: their row, ``cell``, their column, ``report``, and ``value``, null
            where it is no number.

    Attributes:
        values: 0 where a cell is blank, NaN where it is no number.
        filled: Whether a cell is filled.
    """

    def __init__(self, shape: tuple[int, int], filled: pl.DataFrame) -> None:
        self.values, self.filled = np.zeros(shape), np.zeros(shape, np.bool_)
        places = filled["cell"].to_numpy(), filled["report"].to_numpy()
        self.values[places] = filled["value"].fill_null(np.nan).to_numpy()
        self.filled[places] = True

    def up(self, terms: Iterable[tuple[float, int]]) -> Added:
        """Add cells up, each given by its sign and its row.

        A cell with the sign 0 adds nothing, and shows by its number that blanks are zeros.
        """
        many = self.values.shape[1]
        sums = Added(np.zeros(many), np.zeros(many, np.bool_))
        for sign, cell in terms:
            values, filled = sums
            if sign:
                values += sign * self.values[cell]
                filled |= self.filled[cell]
            else:
                filled |= self.filled[cell] & ~np.isnan(self.values[cell])
        return sums


def in_cents(amounts: Mapping[str, Floats]) -> dict[str, pl.Series]:
    """Return equally many amounts under each name, rounded to cents and null where they are NaN."""
    many = len(next(iter(amounts.values()), ()))
    # Together: for each column by itself polars takes longer than for all numbers of one report.
    together = pl.DataFrame({"value": np.concatenate([*amounts.values()])})
    rounded = together.select(pl.col("value").fill_nan(None).round(2)).to_series()
    return {
        name: rounded[at * many : (at + 1) * many].alias(name) for at, name in enumerate(amounts)
    }


class StatedSum(NamedTuple):
    """A sum in one column: the place of its row among the cells of the form, and of its terms."""

    table: int
    row: int
    column: int
    place: int
    terms: tuple[tuple[int, int], ...]  # sign and place


class FormSums:
    """The sums of a form.

    Attributes:
        cells: The number of cells of the form, table by table.
        place: The place of a cell among them, by its ``table``, ``row`` and ``column``.
        sums: The sums of captions, in every column.
        totals: Places of the totals of the balance sheet, None if the form has none.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self._starts = [0, *accumulate(table.cells for table in form.tables)]
        self.cells = self._starts[-1]
        widths = [len(table.columns) for table in form.tables]
        start, width = (
            pl.col("table").replace_strict(range(len(widths)), of_table, return_dtype=pl.Int32)
            for of_table in (self._starts[:-1], widths)
        )
        self.place = start + width * pl.col("row") + pl.col("column")
        self.sums = [
            sum_
            for table, part in enumerate(form.tables)
            for row, line in enumerate(part.rows)
            if line.terms
            for column in range(len(part.columns))
            if (sum_ := self._sum(table, row, column)) is not None
        ]
        sides = balance_totals(form)
        self.totals = None if sides is None else (self._place(sides[0]), self._place(sides[1]))

    def _place(self, cell: Cell) -> int:
        table, row, column = cell
        return self._starts[table] + row * len(self.form.tables[table].columns) + column

    def _sum(self, table: int, row: int, column: int) -> StatedSum | None:
        part, terms = self.form.tables[table], []
        period, measure = part.columns[column][:2]
        for term in part.rows[row].terms:
            other = self.form.tables[term.table]
            same = column if other is part else _counterpart(other, period, measure)
            if same is None:
                return None
            terms.append((term.sign, self._place((term.table, term.row, same))))
        return StatedSum(table, row, column, self._place((table, row, column)), tuple(terms))


def balance_totals(form: Form) -> tuple[Cell, Cell] | None:
    """Return table, row and column of the current totals of both sides of a balance sheet."""
    cells = []
    for side in (_ASSETS, _LIABILITIES):
        number = next((n for n, t in enumerate(form.tables) if side.match(t.name_sk or "")), None)
        if number is None:
            return None
        table = form.tables[number]
        row, column = _total_row(number, table), _net_column(table, "current")
        if row is None or column is None:
            return None
        cells.append((number, row, column))
    return cells[0], cells[1]


def _total_row(number: int, table: Table) -> int | None:
    """Return the row that most rows of a table add up to, and that is not part of another sum."""
    terms = {
        row: [term.row for term in line.terms if term.table == number]
        for row, line in enumerate(table.rows)
        if line.terms and not _CONTROL.search(line.label_sk)
    }
    parts = set(chain.from_iterable(terms.values()))

    def many(row: int) -> int:
        reached, new = {row}, [row]
        while new:
            more = set(terms.get(new.pop(), ())) - reached
            reached |= more
            new += more
        return len(reached)

    return max((row for row in terms if row not in parts), key=many, default=None)


def _counterpart(table: Table, period: str | None, measure: str | None) -> int | None:
    """Return the column of a table with the same period and measure as a given one."""
    if measure in _NET_MEASURES:
        return _net_column(table, period)
    return _column(table, period, measure)


def _net_column(table: Table, period: str | None) -> int | None:
    """Return the column of a period with the net amount: net, total or the only column."""
    own = [place for place, column in enumerate(table.columns) if column.period == period]
    found = (_column(table, period, measure) for measure in ("net", "total", None))
    only = own[0] if len(own) == 1 else None
    return next((place for place in found if place is not None), only)


def _column(table: Table, period: str | None, measure: str | None) -> int | None:
    """Return the only column of a period and a measure; "other" names no measure."""
    kinds = [(column.period, column.measure) for column in table.columns]
    unique = measure != "other" and kinds.count((period, measure)) == 1
    return kinds.index((period, measure)) if unique else None


def failing_sums(amounts: Amounts, sums: FormSums) -> Ints:
    """Return the number of failing sums of each report on one form."""
    failing = np.zeros(amounts.values.shape[1], dtype=np.int64)
    for each in compared_sums(amounts, sums):
        failing += each.fails
    return failing


class ComparedSum(NamedTuple):
    """A sum of reports on one form, one of each."""

    stated: Floats
    computed: Floats
    checked: Mask
    fails: Mask


def compared_sums(amounts: Amounts, sums: FormSums) -> Iterator[ComparedSum]:
    """Yield each sum of the form."""
    for sum_ in sums.sums:
        stated, (computed, filled) = amounts.values[sum_.place], amounts.up(sum_.terms)
        off = np.abs(computed - stated)
        # A sum of blanks only states nothing; a text that is not a number cannot be added.
        checked = (filled | amounts.filled[sum_.place]) & ~np.isnan(off)
        fails = checked & (off > _HALF_A_CENT)
        if fails.any():  # rarely: then the rounding of floats is known too
            size = sum(np.abs(amounts.values[cell]) for _, cell in sum_.terms)
            fails &= off > _HALF_A_CENT + 1e-15 * size
        yield ComparedSum(stated, computed, checked, fails)
