"""Sums of a form, checked on reports: filled by the sums themselves, then broken in one cell."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.check_sums import CHECKS
from finstat_kit.protocol import forms
from tests.support.filings import BUSINESSES, frame, report, sizes
from tests.support.registers import Scripted


def summed(template: int, seed: int) -> list[list[str]]:
    """Return tables on which every sum holds: sums are worked out from the other rows.

    A row that a sum in another table needs (the result of the balance sheet) is left to be the
    addend that makes the balance: it is computed as its caption says, and so is the total.
    """
    form = forms.shipped(template)
    assert form is not None
    chance = random.Random(seed)
    values: dict[tuple[int, int, int], int] = {}

    def term_column(table: int, column: int, other: int) -> int:
        if table == other:
            return column
        period = form.tables[table].columns[column].period
        wide = form.tables[other].columns
        return [c for c, one in enumerate(wide) if one.period == period][-1]

    def value(table: int, row: int, column: int) -> int:
        key = table, row, column
        if key not in values:
            terms = form.tables[table].rows[row].terms
            values[key] = (
                sum(
                    t.sign * value(t.table, t.row, term_column(table, column, t.table))
                    for t in terms
                )
                if terms
                else chance.randrange(1_000)
            )
        return values[key]

    return [
        [
            str(value(table, row, column))
            for row in range(len(one.rows))
            for column in range(len(one.columns))
        ]
        for table, one in enumerate(form.tables)
    ]


def stated(template: int) -> Iterator[tuple[int, int, int]]:
    form = forms.shipped(template)
    assert form is not None
    for table, one in enumerate(form.tables):
        for row, line in enumerate(one.rows):
            if line.terms:
                yield from ((table, row, column) for column in range(len(one.columns)))


@pytest.mark.parametrize("template", BUSINESSES)
def test_every_sum_holds(template: int) -> None:
    """As many are checked as the form states, in every column."""
    reports = frame(*(report(n, template, summed(template, n)) for n in range(30)))

    checks = fk.check_reports(reports)

    assert checks.schema == CHECKS
    assert checks["report_id"].to_list() == list(range(30))
    assert checks["checked"].to_list() == [len(list(stated(template)))] * 30
    assert checks["failing"].sum() == 0
    assert checks["failures"].null_count() == checks["reasons"].null_count() == 30
    balance = checks["balance_difference"]
    assert balance.null_count() == (30 if template == 22 else 0)
    assert balance.drop_nulls().sum() == 0


@pytest.mark.parametrize("template", BUSINESSES)
def test_a_wrong_sum_is_named(template: int) -> None:
    """By table, row and column, with what is stated and what it should be."""
    form = forms.shipped(template)
    assert form is not None
    for place, (table, row, column) in enumerate(stated(template)):
        if place % 7:
            continue
        tables = summed(template, 1)
        many = len(form.tables[table].columns)
        good = int(tables[table][row * many + column])
        tables[table][row * many + column] = str(good + 3)

        check = fk.check_reports(frame(report(5, template, tables))).row(0, named=True)

        named = {(f["table"], f["row"], f["column"]): f for f in check["failures"]}
        assert check["failing"] == len(named)
        failure = named[table, row, column]
        assert failure["stated"] == good + 3
        assert failure["computed"] == good
        assert failure["label_sk"] == form.tables[table].rows[row].label_sk


def test_the_balance() -> None:
    """Total assets, net, less equity and liabilities of the current period."""
    tables = summed(699, 4)
    tables[0][2] = str(int(tables[0][2]) + 7)

    check = fk.check_reports(frame(report(5, 699, tables))).row(0, named=True)

    assert check["balance_difference"] == 7.0
    assert check["failing"] == 2  # the total itself, and the result that starts from it


def test_blanks_count_as_nothing() -> None:
    """A sum of nothing but blanks is not checked; a blank addend is 0."""
    blank = [[""] * many for many in sizes(687)]
    one = [list(table) for table in blank]
    one[0][6] = one[0][8] = "5"  # tangible assets, of land and buildings alone
    one[0][2] = one[0][0] = "5"

    checks = fk.check_reports(frame(report(1, 687, blank), report(2, 687, one)))

    assert checks.select("checked", "failing", "balance_difference").rows() == [
        (0, 0, None),
        (4, 1, 5.0),  # of the result row 33, which starts from the assets, all is blank
    ]
    assert checks["reasons"].to_list() == [["all_blank"], ["all_blank"]]
    assert checks["template"].to_list() == [687, 687]


def test_cents_and_what_is_no_number() -> None:
    """Half a cent is no difference; a sum with a cell that is no number is not checked."""
    tables = [[""] * many for many in sizes(22)]
    tables[0][0:6:2] = ["9999999999999.99", "0.09", "9999999999999.90"]
    tables[0][1:7:2] = ["5", "x", "5"]

    check = fk.check_reports(frame(report(1, 22, tables))).row(0, named=True)

    assert (check["checked"], check["failing"]) == (3, 2)
    assert [f["number"] for f in check["failures"]] == [11, 11]  # added value, which is blank
    assert check["reasons"] == ["not_a_number"]


def test_reports_without_cells_stay() -> None:
    """One row per report, whatever became of it; an id that repeats is two reports."""
    good = summed(22, 3)
    reports = frame(
        report(4, 22, [["5"]]), report(7, 22, good), {"id": 3, "stav": "ZMAZANÉ"},
        report(7, 22, [["1"] * 122]),
    )  # fmt: skip

    checks = fk.check_reports(reports)

    assert checks.select("report_id", "checked", "reasons").rows() == [
        (4, 0, ["length_mismatch"]),
        (7, 32, None),
        (3, 0, ["deleted"]),
        (7, 32, None),
    ]
    form = forms.shipped(22)
    assert form is not None
    of_ones = [sum(t.sign for t in row.terms) for row in form.tables[0].rows if row.terms]
    assert checks["failing"].to_list() == [0, 0, 0, 2 * sum(one != 1 for one in of_ones)]
    assert fk.check_reports(reports.lazy()).collect().equals(checks)
    assert fk.check_reports(reports.head(0)).schema == CHECKS


def test_a_form_of_the_register() -> None:
    """Its captions are read as those of the shipped forms are."""
    table: dict[str, Any] = {
        "nazov": {"sk": "Príjmy"},
        "pocetStlpcov": 3,
        "pocetDatovychStlpcov": 1,
        "riadky": [
            {"text": {"sk": "Spolu (r. 02 až r. 03)"}, "cisloRiadku": 1},
            {"text": {"sk": "a"}, "cisloRiadku": 2},
            {"text": {"sk": "b"}, "cisloRiadku": 3},
        ],
    }
    reg = Scripted(json.dumps({"id": 61, "tabulky": [table]}).encode())

    checks = reg.check_reports(frame(report(1, 61, [["5", "2", "3"]])))

    assert checks.select("checked", "failing").rows() == [(1, 0)]


def test_recorded_filings(recorded: Path) -> None:
    """Every sum of the real filings holds, and their balance."""
    records = []
    for path in sorted((recorded / "templates" / "recorded").glob("*.json")):
        sent = json.loads(path.read_bytes())
        tables = [table["data"] for table in sent["obsah"]["tabulky"]]
        records.append(report(sent["id"], sent["idSablony"], tables))

    checks = fk.check_reports(frame(*records))

    assert checks.select("template", "checked", "failing").rows() == [
        (22, 19, 0), (21, 35, 0), (699, 46, 0),
    ]  # fmt: skip
    assert checks["balance_difference"].to_list() == [None, 0.0, 0.0]
    assert isinstance(checks, pl.DataFrame)
