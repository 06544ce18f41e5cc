"""The figures of invented filings: every sum of the form holds, and nothing is stored.

All of it is drawn from a key by whole-number arithmetic, which is the same on every machine. The
leaves of a form, rows that are no sum, are drawn as shares of a few totals; one row of each side
takes what is left, so that assets equal equity and liabilities and the profit of the income
statement is that of the balance sheet. The sums follow from the form's own terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.shipped import facts
from finstat_kit.service.state.line import Ints

Bits = NDArray[np.uint64]
Shares = dict[int, tuple[int, int]]  # row number: weight, and how many of a hundred units fill it
Column = tuple[str | None, str | None]  # period and measure
Range = tuple[int, int]  # parts of a thousand: a bound and how far from it

_MASK: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_NONE, _ASSETS, _DEBTS, _REVENUE, _COSTS = range(5)  # what a leaf is a part of
_WORN: Final = (("A", "I"), ("A", "II"), ("A", "1"), ("A", "2"))  # where corrections are


class Plan(msgspec.Struct, frozen=True):
    """Which rows of a kind of filing are common, and which balance it. Rows by their numbers.

    Attributes:
        forms: Template and tables of each of its reports: assets, liabilities, result in order.
        assets: Common rows of the assets, weights in parts of a thousand of the total.
        cash: Takes what is left of the assets.
        debts: Common rows of the liabilities.
        retained: Takes what is left of equity and liabilities.
        result: Common rows of the result, revenue and costs; which is which the form says.
        net: The last sum of the result.
        tax: Income tax.
        since: The first accounting year.
        before: The plan of the years before.
        capital: Share capital.
        loss: Takes what is left where it is negative, if that is another row than *retained*.
        profit: Of the balance sheet: equals *net*.
        turnover: The filer's own figure and the rows it is of, where the form has one.
        business: Rows of the result that a second activity, which is taxed, has a part of.
        traders: How many of a hundred units have that activity.
        rare: Of a row that is not named: its weight, and how many units fill it.
        wealth: The total assets, of revenue.
        invested: What is no cash, of the total assets.
        owed: The liabilities, of the total assets.
        over: More liabilities of one in eight units; some owe more than they have.
        spent: The costs, of revenue: the most, and how far below it.
    """

    forms: tuple[tuple[int, tuple[int, ...]], ...]
    assets: Shares
    cash: int
    debts: Shares
    retained: int
    result: Shares
    net: int
    tax: int
    since: int
    before: str | None = None
    capital: int | None = None
    loss: int | None = None
    profit: int | None = None
    turnover: tuple[int, ...] = ()
    business: dict[int, int] = {}
    traders: int = 0
    rare: tuple[int, int] = (12, 3)
    wealth: Range = (400, 1200)
    invested: Range = (500, 450)
    owed: Range = (150, 600)
    over: int = 0
    spent: Range = (1100, 260)


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


def mixed_each(key: int | Bits, numbers: Bits) -> Bits:
    """Return the 64 bits of each number under a key."""
    state = (numbers ^ np.asarray(key, dtype=np.uint64)) + np.uint64(_GOLDEN)
    state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return state ^ state >> np.uint64(31)


class Sums:
    """Tables of a form whose rows follow from their leaves, with sums across these tables."""

    def __init__(self, form: int, places: Sequence[int]) -> None:
        from finstat_kit.protocol.forms import Row, shipped  # compiles its patterns

        template = shipped(form)
        assert template is not None
        # As the register has them, without a translation of ours.
        languages = ("sk",) if template.translated else ("sk", "en")
        rows, self.parts, self.names = list[Row](), dict[int, slice](), dict[int, dict[str, str]]()
        for place in places:
            table = template.tables[place]
            rows.extend(table.rows)
            self.parts[place] = slice(len(rows) - len(table.rows), len(rows))
            self.names[place] = {name: getattr(table, f"name_{name}") for name in languages}
        self.columns = [(column.period, column.measure) for column in table.columns]
        # A row that states a difference with another table is drawn: the balance gives its value.
        self.leaves = [
            i
            for i, row in enumerate(rows)
            if not row.terms or any(term.table not in self.parts for term in row.terms)
        ]
        self.at = {rows[leaf].number: n for n, leaf in enumerate(self.leaves)}
        self.paths = [rows[leaf].path for leaf in self.leaves]

        @cache
        def vector(row: int) -> NDArray[np.float64]:
            parts = np.equal(self.leaves, row).astype(np.float64)
            if row not in self.leaves:
                for term in rows[row].terms:
                    parts += term.sign * vector(self.parts[term.table].start + term.row)
            return parts

        # Not by np.linalg.inv: processes that used it (numpy 2.4.6) ended in segmentation faults.
        self.matrix = np.array([vector(row) for row in range(len(rows))])
        self.of_number = {row.number: self.matrix[i] for i, row in enumerate(rows)}
        self.sums = np.array([i not in self.leaves for i in range(len(rows))])

    def shares(self, common: Shares, rare: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the weight of each leaf and how often it is filled; 0 of one that is in no sum."""
        adds = np.count_nonzero(self.matrix, axis=0) > 1
        return [
            common.get(number or 0, rare) if added else (0, 0)
            for number, added in zip(self.at, adds.tolist(), strict=True)
        ]


# The leaves of one unit in one year, by what a column measures: assets, liabilities, result.
Measures = dict[str | None, Ints]
Figures = tuple[Measures, Measures, Measures]


class Year(NamedTuple):
    """What the figures of a year are drawn from: its key, its revenue, its assets."""

    key: int
    revenue: int
    total: int


class TableOf(NamedTuple):
    """A table of a report: its name, its values, which rows are sums, which columns are past."""

    name: dict[str, str]
    values: Ints
    sums: Ints
    previous: NDArray[np.bool_]


class Form:
    """Draws the figures of a kind of filing and writes them into the cells of its reports."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        places = [(form, place) for form, form_places in plan.forms for place in form_places]
        self._assets, self._debts = (Sums(form, [place]) for form, place in places[:2])
        self._result = Sums(places[2][0], [place for _, place in places[2:]])
        blocks = (
            (self._assets, plan.assets), (self._debts, plan.debts), (self._result, plan.result),
        )  # fmt: skip
        pairs = [pair for sums, common in blocks for pair in sums.shares(common, plan.rare)]
        self._weights, often = np.array(pairs, dtype=np.int64).T
        self._often = often * 128 // 100
        self._steps = np.arange(1, len(self._weights) + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
        self._ends = np.cumsum([len(sums.leaves) for sums, _ in blocks]).tolist()
        self._pots = self._pots_of_leaves()
        self._in_pot = (self._pots[:, None] == np.arange(5)).astype(np.float64)
        self._wears = np.array([path[:2] in _WORN for path in self._assets.paths], dtype=np.int64)
        parts = [plan.business.get(number or 0, 0) for number in self._result.at]
        self._parts = np.array(parts, dtype=np.int64)
        self._filled = lru_cache(maxsize=256)(self._filled_by)

    def _pots_of_leaves(self) -> Ints:
        """Return which pot each leaf is a part of: assets, debts, revenue, costs, or none."""
        plan = self.plan
        left = {plan.capital, plan.retained, plan.loss, plan.profit}
        follows = {plan.tax, *plan.turnover[:1]}
        self._signs = self._result.of_number[plan.net].astype(np.int64)
        assets = [_NONE if number == plan.cash else _ASSETS for number in self._assets.at]
        # The other rows of equity can be negative in the form, and are never drawn.
        debts = [
            _DEBTS if number not in left and (number in plan.debts or path[:1] != ("A",)) else _NONE
            for number, path in zip(self._debts.at, self._debts.paths, strict=True)
        ]
        result = [
            _NONE if number in follows or not sign else _REVENUE if sign > 0 else _COSTS
            for number, sign in zip(self._result.at, self._signs, strict=True)
        ]
        return np.array([*assets, *debts, *result])

    def _filled_by(self, unit: int) -> Ints:
        """Return the weights of the leaves that a unit fills, the same every year."""
        is_filled = mixed_each(unit, self._steps) >> np.uint64(57) < self._often
        return np.where(is_filled, self._weights, 0)

    def draw(self, unit: int, *years: Year) -> list[Figures]:
        """Draw the figures of years, all at once: of many small arrays the calls cost most.

        Args:
            unit: Key of the unit: the rows that it fills are the same every year.
            years: What is drawn.
        """
        keys = np.array([year.key for year in years], dtype=np.uint64)
        bits = mixed_each(keys[:, None], self._steps)
        shares = self._filled(unit) * (512 + (bits >> np.uint64(54)).astype(np.int64))
        sums = np.maximum((shares.astype(np.float64) @ self._in_pot).astype(np.int64), 1)
        pots = np.array([self._full(unit, year) for year in years])
        amounts = shares * ((pots << 20) // sums)[:, self._pots] >> 20
        first, second, _ = self._ends
        low = (bits >> np.uint64(40)).astype(np.int64) & 1023
        return [
            self._balanced(unit, year, row[:first], row[first:second], row[second:], lot)
            for year, row, lot in zip(years, amounts, low, strict=True)
        ]

    def _balanced(
        self, unit: int, year: Year, net: Ints, debts: Ints, result: Ints, low: Ints
    ) -> Figures:
        """Fill in what follows from what was dealt out."""
        plan, of_debts, at, total = self.plan, self._debts.at, self._result.at, year.total
        before_tax = int(self._signs @ result)
        business = np.zeros_like(result)
        if (unit >> 40) % 100 < plan.traders:
            business = result * self._parts * (512 + (low[self._ends[1] :] >> 1)) // 1_024_000
        taxed = int(self._signs @ business) if plan.business else before_tax
        result[at[plan.tax]] = tax = max(taxed, 0) * 21 // 100
        business[at[plan.tax]] = tax if plan.business else 0
        if plan.turnover:
            result[at[plan.turnover[0]]] = sum(result[at[part]] for part in plan.turnover[1:])
        if plan.capital is not None:
            debts[of_debts[plan.capital]] = 5_000 if total < 10**6 else total // 20
        if plan.profit is not None:
            debts[of_debts[plan.profit]] = before_tax - tax
        left = total - int(debts.sum())
        debts[of_debts[plan.loss if plan.loss is not None and left <= 0 else plan.retained]] = left
        net[self._assets.at[plan.cash]] = total - int(net.sum())
        worn = self._wears * net * low[: self._ends[0]] >> 10
        main = result - business
        return (
            {"gross": net + worn, "correction": worn, "net": net, None: net},
            {None: debts},
            {None: result, "total": result, "main": main, "untaxed": main}
            | dict.fromkeys(("business", "taxed"), business),
        )

    def _full(self, unit: int, year: Year) -> tuple[int, ...]:
        """Return what is dealt out: nothing, assets, debts, revenue, costs."""
        plan, (key, revenue, total) = self.plan, year
        owed = plan.owed[0] + (key >> 8) % plan.owed[1] + (plan.over if unit % 8 == 0 else 0)
        return (
            0,
            total * (plan.invested[0] + (key >> 20) % plan.invested[1]) // 1000,
            total * owed // 1000,
            revenue,
            revenue * (plan.spent[0] - (key >> 32) % plan.spent[1]) // 1000,
        )

    def tables(self, report: int, now: Figures, before: Figures | None = None) -> list[TableOf]:
        """Return the tables of a report."""
        earlier = before or [{name: 0 * leaves for name, leaves in part.items()} for part in now]
        blocks = list(zip((self._assets, self._debts, self._result), now, earlier, strict=True))
        if len(self.plan.forms) == 2:
            blocks = blocks[2:] if report else blocks[:2]
        tables = {}
        for sums, current, past in blocks:
            previous = np.array([period == "previous" for period, _ in sums.columns])
            leaves = [
                (past if period == "previous" else current)[measure]
                for period, measure in sums.columns
            ]
            # Whole numbers below 2^53: a product of floats is exact, and many times faster.
            rows = (sums.matrix @ np.array(leaves, dtype=np.float64).T).astype(np.int64)
            for place, part in sums.parts.items():
                totals = np.flatnonzero(sums.sums[part])
                tables[place] = TableOf(sums.names[place], rows[part], totals, previous)
        return [tables[place] for place in sorted(tables)]


@cache
def plan_of(kind: str) -> Plan:
    """Return the plan of a kind of filing."""
    plans = facts("plans", dict[str, dict[str, object]])
    return msgspec.convert(_merged(plans, kind), Plan, str_keys=True)


def _merged(plans: Mapping[str, Mapping[str, object]], kind: str) -> dict[str, object]:
    """Return what a plan has of its own, and the rest of the plan that it is ``like``, if any."""
    own = dict(plans[kind])
    return (_merged(plans, str(own["like"])) if "like" in own else {}) | own


@cache
def form_of(kind: str) -> Form:
    """Return what draws a kind of filing: ``large``, ``micro``, ``public`` and the like."""
    return Form(plan_of(kind))
