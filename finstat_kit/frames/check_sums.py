"""The sums that a form states, checked on reports: how many hold, which rows fail, the balance."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.frames.cells import FormOf, Reader
from finstat_kit.frames.reasons import REASON
from finstat_kit.protocol.forms import Form, Table

_FAILURE: Final = pl.Struct(
    {
        "table": pl.Int16(),
        "row": pl.Int16(),
        "column": pl.Int16(),
        "number": pl.Int32(),
        "label_sk": pl.String(),
        "stated": pl.Float64(),
        "computed": pl.Float64(),
    }
)
CHECKS: Final = pl.Schema(
    {
        "report_id": pl.Int64(),
        "template": pl.Int32(),
        "checked": pl.Int32(),
        "failing": pl.Int32(),
        "balance_difference": pl.Float64(),
        "failures": pl.List(_FAILURE),
        "reasons": pl.List(REASON),
    }
)
_SLICE: Final = 2_000  # reports whose cells are in memory as a matrix at a time
_HALF_A_CENT: Final = 0.005
_ASSETS: Final = re.compile(r"(strana )?(aktív|a k t í v)", re.IGNORECASE)
_LIABILITIES: Final = re.compile(r"(strana )?(pasív|p a s í v)", re.IGNORECASE)

Floats = NDArray[np.float64]


class _Sum(NamedTuple):
    """A sum in one column: the place of its row among the cells of the form, and of its terms."""

    table: int
    row: int
    column: int
    place: int
    terms: tuple[tuple[int, int], ...]  # sign and place


class _Sums:
    """The sums of a form, their terms one after the other, so that many reports are added at once.

    A term is one of a few hundred cells: a matrix of all cells by all sums is nearly empty.
    """

    def __init__(self, form: Form) -> None:
        self.starts = np.cumsum([0, *(table.cells for table in form.tables)])
        self.form = form
        self.sums = [
            one
            for table, part in enumerate(form.tables)
            for row, line in enumerate(part.rows)
            if line.terms
            for column in range(len(part.columns))
            if (one := self._sum(table, row, column)) is not None
        ]
        terms = [term for one in self.sums for term in one.terms]
        self._signs = np.array([sign for sign, _ in terms], dtype=np.float64)
        self._places = np.array([place for _, place in terms], dtype=np.int64)
        self._begins = np.cumsum([0, *(len(one.terms) for one in self.sums)])[:-1]
        self.stated = np.array([one.place for one in self.sums], dtype=np.int64)
        self.totals = totals(form)

    def added(self, cells: Floats, *, signed: bool = True) -> Floats:
        """Add the terms of each sum in each row of *cells*, which has a column per cell."""
        if not self.sums:
            return np.zeros((len(cells), 0))
        terms = cells[:, self._places]
        return np.add.reduceat(terms * self._signs if signed else terms, self._begins, axis=1)

    def place(self, table: int, row: int, column: int) -> int:
        """Return the place of a cell among all of the form."""
        return int(self.starts[table]) + row * len(self.form.tables[table].columns) + column

    def _sum(self, table: int, row: int, column: int) -> _Sum | None:
        terms = []
        for term in self.form.tables[table].rows[row].terms:
            same = _same_column(self.form.tables[table], column, self.form.tables[term.table])
            own = column if term.table == table else same
            if own is None:
                return None
            terms.append((term.sign, self.place(term.table, term.row, own)))
        return _Sum(table, row, column, self.place(table, row, column), tuple(terms))


def check(reports: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Check the sums of reports; see `Register.check_reports`."""
    known: dict[int, _Sums] = {}
    parts = [_checked(one, form_of, known) for one in reports.iter_slices(_SLICE)]
    return pl.concat([pl.DataFrame(schema=CHECKS), *parts])


def failing(cells: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Return ``report_id`` and ``failing``, how many sums fail, of reports with a filled cell.

    Args:
        cells: All filled cells of some reports, those of each report together.
        form_of: Returns the form that cells are read by.
    """
    known: dict[int, _Sums] = {}
    found = [pl.DataFrame(schema={name: CHECKS[name] for name in ("report_id", "failing")})]
    for (template,), own in cells.group_by("template", maintain_order=True):
        sums = _sums_of(int(template), form_of, known)
        many = own["report_id"].rle().struct.field("len").cum_sum()
        ends = [*many.gather_every(_SLICE, _SLICE - 1), own.height]
        for start, end in pairwise([0, *ends]):
            if end > start:
                one = _of_one_form(own[start:end], sums, int(template))
                found.append(one.select("report_id", "failing"))
    return pl.concat(found)


def _checked(reports: pl.DataFrame, form_of: FormOf, known: dict[int, _Sums]) -> pl.DataFrame:
    # By their place: an id may stand twice in a frame.
    placed = reports.with_columns(pl.int_range(reports.height, dtype=pl.Int64).alias("id"))
    cells, without = Reader(form_of).read(placed)
    why = without.group_by("report_id").agg(pl.col("reason").unique(maintain_order=True))
    found = [
        _of_one_form(own, _sums_of(int(template), form_of, known), int(template))
        for (template,), own in cells.group_by("template", maintain_order=True)
    ]
    schema = {name: CHECKS[name] for name in CHECKS if name != "reasons"}
    checks = pl.concat([pl.DataFrame(schema=schema), *found])
    return (
        placed.select(pl.col("id").alias("place"), pl.col("idSablony").cast(pl.Int32, strict=False))
        .with_columns(reports["id"].cast(pl.Int64).alias("report_id"))
        .join(checks.rename({"report_id": "place"}), on="place", how="left", maintain_order="left")
        .join(why.rename({"report_id": "place", "reason": "reasons"}), on="place", how="left",
              maintain_order="left")
        .with_columns(
            pl.col("template").fill_null(pl.col("idSablony")),
            pl.col("checked", "failing").fill_null(0),
        )
        .select(CHECKS.names())
        .cast({"reasons": CHECKS["reasons"]})
    )  # fmt: skip


def _sums_of(template: int, form_of: FormOf, known: dict[int, _Sums]) -> _Sums:
    if template not in known:
        form = form_of(template)
        assert form is not None  # cells were read by it
        known[template] = _Sums(form)
    return known[template]


def _of_one_form(cells: pl.DataFrame, sums: _Sums, template: int) -> pl.DataFrame:
    """Check the reports of one form, whose filled cells are given."""
    ids = cells["report_id"].unique(maintain_order=True)
    report = np.repeat(np.arange(len(ids)), cells["report_id"].rle().struct.field("len").to_numpy())
    columns = np.array([len(table.columns) for table in sums.form.tables])
    table, row, column = (cells[name].to_numpy().astype(np.int64) for name in _KEY)
    place = sums.starts[table] + row * columns[table] + column
    shape = len(ids), int(sums.starts[-1])
    values, filled, odd = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    values[report, place] = cells["value"].fill_null(0.0).to_numpy()
    filled[report, place] = 1.0
    odd[report, place] = cells["value"].is_null().to_numpy()
    computed, stated = sums.added(values), values[:, sums.stated]
    # Of nothing but blanks nothing is stated; what is no number cannot be added.
    told = (sums.added(filled, signed=False) + filled[:, sums.stated] > 0) & (
        sums.added(odd, signed=False) + odd[:, sums.stated] == 0
    )
    rounding = _HALF_A_CENT + 1e-15 * sums.added(np.abs(values), signed=False)
    fails = told & (np.abs(computed - stated) > rounding)
    balance = _balance(values, filled, sums)
    return pl.DataFrame(
        {
            "report_id": ids,
            "template": [template] * len(ids),
            "checked": told.sum(axis=1),
            "failing": fails.sum(axis=1),
            "balance_difference": balance,
            "failures": [
                _failures(sums, np.flatnonzero(fails[one]), stated[one], computed[one]) or None
                for one in range(len(ids))
            ],
        },
        schema={name: CHECKS[name] for name in CHECKS if name != "reasons"},
    )


_KEY: Final = ("table", "row", "column")


def _failures(
    sums: _Sums, which: NDArray[np.int64], stated: Floats, computed: Floats
) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for number in which.tolist():
        one = sums.sums[number]
        line = sums.form.tables[one.table].rows[one.row]
        found.append(
            {
                "table": one.table,
                "row": one.row,
                "column": one.column,
                "number": line.number,
                "label_sk": line.label_sk,
                "stated": float(stated[number]),
                "computed": round(float(computed[number]), 2),
            }
        )
    return found


def _balance(values: Floats, filled: Floats, sums: _Sums) -> list[float | None]:
    """Return assets less equity and liabilities, None where the form has no balance sheet."""
    if sums.totals is None:
        return [None] * len(values)
    assets, liabilities = (sums.place(*cell) for cell in sums.totals)
    there = filled[:, assets] + filled[:, liabilities] > 0
    differences = np.round(values[:, assets] - values[:, liabilities], 2).tolist()
    return [d if held else None for d, held in zip(differences, there, strict=True)]


def totals(form: Form) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """Return table, row and column of the current totals of both sides of a balance sheet."""
    found = []
    for side in (_ASSETS, _LIABILITIES):
        tables = [p for p, t in enumerate(form.tables) if side.match(t.name_sk or "")]
        if not tables:
            return None
        table = form.tables[tables[0]]
        row = next((p for p, r in enumerate(table.rows) if not r.path and r.terms), None)
        column = _net_column(table, "current")
        if row is None or column is None:
            return None
        found.append((tables[0], row, column))
    return found[0], found[1]


def _net_column(table: Table, period: str | None) -> int | None:
    """Return the column of a period that holds what is left: the net, the total or the only one."""
    own = [place for place, column in enumerate(table.columns) if column.period == period]
    for measure in ("net", "total"):
        for place in own:
            if table.columns[place].measure == measure:
                return place
    return own[0] if len(own) == 1 else None


def _same_column(table: Table, column: int, other: Table) -> int | None:
    """Return the column of another table that a column is added up with."""
    return _net_column(other, table.columns[column].period)
