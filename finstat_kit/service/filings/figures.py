"""The figures of invented filings: every sum of the form holds, and nothing is stored.

All of it is drawn from a key by whole-number arithmetic, which is the same on every machine. The
leaves of a form, rows that are no sum, are drawn as shares of a few totals; one row of each table
takes what is left, so that assets equal equity and liabilities and the profit of the income
statement is that of the balance sheet. The sums follow from the form's own terms.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.forms.form import Table, shipped
from finstat_kit.protocol.shipped import facts
from finstat_kit.service.state.line import Ints

Words = NDArray[np.uint64]
Shares = dict[int, tuple[int, int]]  # row number: weight, and how many of a hundred units fill it

_MASK: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_NONE, _ASSETS, _DEBTS, _REVENUE, _COSTS = range(5)  # what a leaf is a part of
_RARE: Final = (12, 3)  # of a row that is not named: its weight, and how many fill it


class Plan(msgspec.Struct, frozen=True):
    """Which rows of a kind of filing are common, and which balance it. Rows by their numbers.

    Attributes:
        forms: Template and tables of each of its reports: assets, liabilities, result in order.
        assets: Common rows of the assets, weights in parts of a thousand of the total.
        cash: Takes what is left of the assets.
        debts: Common rows of the liabilities.
        capital: Share capital.
        retained: Takes what is left of equity and liabilities.
        loss: Takes it where it is negative; the same row where the form has one for both.
        profit: Of the balance sheet: equals the last row of the result.
        result: Common rows of the result, revenue and costs; which is which the form says.
        tax: Income tax.
        turnover: The filer's own figure and the rows it is of, where the form has one.
    """

    forms: tuple[tuple[int, tuple[int, ...]], ...]
    assets: Shares
    cash: int
    debts: Shares
    capital: int
    retained: int
    loss: int
    profit: int
    result: Shares
    tax: int
    turnover: tuple[int, ...] = ()


def mixed(*parts: int) -> int:
    """Return 64 bits that depend on all parts, as SplitMix64 mixes them.

    >>> mixed(0, 1) == mixed(0, 1) != mixed(1, 0)
    True
    """
    state = 0
    for part in parts:
        state = (state ^ part) + _GOLDEN & _MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state


def mixed_each(key: int | Words, numbers: Words) -> Words:
    """Return the 64 bits of each number under a key."""
    state = (numbers ^ np.asarray(key, dtype=np.uint64)) + np.uint64(_GOLDEN)
    state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return state ^ state >> np.uint64(31)


class Sums:
    """A table whose rows follow from its leaves."""

    def __init__(self, table: Table, place: int, drawn: int | None = None) -> None:
        self.columns = len(table.columns)
        self.rows = len(table.rows)
        rows = table.rows
        # A row that states a difference with another table is drawn: the balance gives its value.
        self.leaves = [i for i, row in enumerate(rows) if not row.terms or row.number == drawn]
        self.at = {rows[leaf].number: n for n, leaf in enumerate(self.leaves)}
        self.paths = [rows[leaf].path for leaf in self.leaves]
        vectors: dict[int, NDArray[np.float64]] = {}

        def vector(row: int) -> NDArray[np.float64]:
            if row not in vectors:
                parts = np.zeros(len(self.leaves))
                if row in self.leaves:
                    parts[self.leaves.index(row)] = 1
                else:
                    for term in rows[row].terms:
                        assert term.table == place
                        parts += term.sign * vector(term.row)
                vectors[row] = parts
            return vectors[row]

        self.matrix = np.array([vector(row) for row in range(len(rows))])
        self.sums = np.array([i for i in range(len(rows)) if i not in self.leaves])

    def shares(self, common: Shares) -> tuple[list[int], list[int]]:
        """Return the weight of each leaf and how often it is filled."""
        numbers = {at: number for number, at in self.at.items() if number is not None}
        pairs = [common.get(numbers.get(n, -1), _RARE) for n in range(len(self.leaves))]
        return [weight for weight, _ in pairs], [often for _, often in pairs]


class Figures(NamedTuple):
    """The leaves of one unit in one year."""

    net: Ints
    correction: Ints
    liabilities: Ints
    result: Ints


class Year(NamedTuple):
    """What the figures of a year are drawn from: its key, its revenue, its assets."""

    key: int
    revenue: int
    total: int


class Form:
    """Draws the figures of a kind of filing and writes them into the cells of its reports."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        (assets, first), (debts, second), (result, third) = (
            (_table(form, place), place) for form, places in plan.forms for place in places
        )
        self.names = [[_name(form, place) for place in places] for form, places in plan.forms]
        self._assets = Sums(assets, first)
        self._debts = Sums(debts, second, plan.profit)
        self._result = Sums(result, third)
        drawn = (
            (self._assets, plan.assets), (self._debts, plan.debts), (self._result, plan.result),
        )  # fmt: skip
        pairs = [sums.shares(common) for sums, common in drawn]
        self._weights = np.array([w for weights, _ in pairs for w in weights], dtype=np.int64)
        self._often = np.array([o * 128 // 100 for _, often in pairs for o in often])
        self._steps = np.arange(1, len(self._weights) + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
        self._ends = np.cumsum([len(sums.leaves) for sums, _ in drawn]).tolist()
        self._pots = self._dealt()
        self._in_pot = (self._pots[:, None] == np.arange(5)).astype(np.float64)
        wears = [path[:2] in (("A", "I"), ("A", "II")) for path in self._assets.paths]
        self._wears = np.array(wears, dtype=np.int64)
        self._filled = lru_cache(maxsize=256)(self._filled_by)

    def _dealt(self) -> Ints:
        """Return which pot each leaf is a part of: assets, debts, revenue, costs, or none."""
        plan, of_debts, of_result = self.plan, self._debts.at, self._result.at
        # The other rows of equity can be negative in the form, and are never drawn.
        debts = [
            _DEBTS
            if of_debts.get(number) in map(of_debts.get, plan.debts) or path[:1] != ("A",)
            else _NONE
            for number, path in zip(of_debts, self._debts.paths, strict=True)
        ]
        for number in (plan.capital, plan.retained, plan.loss, plan.profit):
            debts[of_debts[number]] = _NONE
        assets = [_ASSETS] * len(self._assets.leaves)
        assets[self._assets.at[plan.cash]] = _NONE
        self._signs = self._result.matrix[-1].astype(np.int64)
        result = [_REVENUE if sign > 0 else _COSTS if sign else _NONE for sign in self._signs]
        for number in (plan.tax, *plan.turnover[:1]):
            result[of_result[number]] = _NONE
        return np.array([*assets, *debts, *result])

    def _filled_by(self, unit: int) -> Ints:
        """Return the weights of the leaves that a unit fills, the same every year."""
        return np.where(
            mixed_each(unit, self._steps) >> np.uint64(57) < self._often, self._weights, 0
        )

    def draw(self, unit: int, *years: Year) -> list[Figures]:
        """Draw the figures of years, all at once: of many small arrays the calls cost most.

        Args:
            unit: Key of the unit: the rows that it fills are the same every year.
            years: What is drawn.
        """
        plan, of_debts = self.plan, self._debts.at
        keys = np.array([year.key for year in years], dtype=np.uint64)
        bits = mixed_each(keys[:, None], self._steps)
        shares = self._filled(unit) * (512 + (bits >> np.uint64(54)).astype(np.int64))
        sums = (shares.astype(np.float64) @ self._in_pot).tolist()
        each = [
            [(pot << 20) // int(n) if n else 0 for pot, n in zip(pots, whole, strict=True)]
            for pots, whole in zip((_pots(unit, year) for year in years), sums, strict=True)
        ]
        amounts = shares * np.array(each)[:, self._pots] >> 20
        first, second, _ = self._ends
        worn = (bits[:, :first] >> np.uint64(40)).astype(np.int64) & 1023
        at = self._result.at
        figures = []
        for year, row, wear in zip(years, amounts, worn, strict=True):
            net, debts, result = row[:first], row[first:second], row[second:]
            before_tax = int(self._signs @ result)
            result[at[plan.tax]] = tax = max(before_tax, 0) * 21 // 100
            if plan.turnover:
                result[at[plan.turnover[0]]] = sum(result[at[part]] for part in plan.turnover[1:])
            total = year.total
            debts[of_debts[plan.capital]] = 5_000 if total < 10**6 else total // 20
            debts[of_debts[plan.profit]] = before_tax - tax
            left = total - int(debts.sum())
            debts[of_debts[plan.retained if left > 0 else plan.loss]] = left
            net[self._assets.at[plan.cash]] = total - int(net.sum())
            figures.append(Figures(net, self._wears * net * wear >> 10, debts, result))
        return figures

    def tables(self, report: int, now: Figures, before: Figures | None = None) -> list[Ints]:
        """Return the values of each table of a report, row by row, all columns of a row."""
        last = before or Figures(*(np.zeros_like(part) for part in now))
        if self._assets.columns == 4:
            assets = [now.net + now.correction, now.correction, now.net, last.net]
        else:
            assets = [now.net, last.net]
        whole = [
            (self._assets, assets),
            (self._debts, [now.liabilities, last.liabilities]),
            (self._result, [now.result, last.result]),
        ]
        start = sum(len(places) for _, places in self.plan.forms[:report])
        stop = start + len(self.plan.forms[report][1])
        return [_rows(table, columns) for table, columns in whole[start:stop]]

    @property
    def sums(self) -> list[list[Ints]]:
        """The rows of each table of each report that are sums."""
        sums = [self._assets.sums, self._debts.sums, self._result.sums]
        return [[sums.pop(0) for _ in places] for _, places in self.plan.forms]


def _pots(unit: int, year: Year) -> tuple[int, ...]:
    """Return what is dealt out: nothing, assets, debts, revenue, costs."""
    key, revenue, total = year
    # Some owe more than they have; the margin is from -10 to 16 per cent.
    owed = 150 + (key >> 8) % 600 + (300 if unit % 8 == 0 else 0)
    return (
        0,
        total * (500 + (key >> 20) % 450) // 1000,
        total * owed // 1000,
        revenue,
        revenue * (1100 - (key >> 32) % 260) // 1000,
    )


@cache
def form_of(kind: str) -> Form:
    """Return what draws a kind of filing: ``large``, ``micro`` or ``old``."""
    return Form(facts("plans", dict[str, Plan])[kind])


def _table(form: int, place: int) -> Table:
    template = shipped(form)
    assert template is not None
    return template.tables[place]


def _name(form: int, place: int) -> dict[str, str]:
    table = _table(form, place)
    names = {"sk": table.name_sk, "en": table.name_en}
    return {language: name for language, name in names.items() if name}


def _rows(table: Sums, columns: list[Ints]) -> Ints:
    # Whole numbers below 2^53: a product of floats is exact, and many times faster.
    cells: Ints = (table.matrix @ np.array(columns, dtype=np.float64).T).astype(np.int64)
    return cells
