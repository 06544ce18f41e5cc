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
from finstat_kit.frames.reports import check_sums
from finstat_kit.frames.reports.check_sums import CHECKS
from finstat_kit.protocol import forms
from finstat_kit.protocol.shipped import data_folder
from tests.conftest import Told
from tests.support import all_forms, slips
from tests.support.examples import slow
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
    reports = frame(*(report(n, template, summed(template, n)) for n in range(8)))

    checks = fk.reports.check(reports)

    assert checks.schema == CHECKS
    assert checks["report_id"].to_list() == list(range(8))
    assert checks["checked"].to_list() == [len(list(stated(template)))] * 8
    assert checks["failing"].sum() == 0
    assert checks["failures"].null_count() == checks["reasons"].null_count() == 8
    balance = checks["balance_difference"]
    assert balance.null_count() == (8 if template == 22 else 0)
    assert balance.drop_nulls().sum() == 0


@pytest.mark.parametrize("template", BUSINESSES)
def test_a_wrong_sum_is_named(template: int) -> None:
    """By table, row and column, with what is stated and what it should be."""
    form = forms.shipped(template)
    assert form is not None
    wrong, goods = list(stated(template))[::7], []
    reports = []
    for id_, (table, row, column) in enumerate(wrong):
        tables = summed(template, 1)
        many = len(form.tables[table].columns)
        goods.append(int(tables[table][row * many + column]))
        tables[table][row * many + column] = str(goods[-1] + 3)
        reports.append(report(id_, template, tables))

    checks = fk.reports.check(frame(*reports)).to_dicts()

    for check, good, (table, row, column) in zip(checks, goods, wrong, strict=True):
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

    check = fk.reports.check(frame(report(5, 699, tables))).row(0, named=True)

    assert check["balance_difference"] == 7.0
    assert check["failing"] == 2  # the total itself, and the result that starts from it


def test_a_total_that_is_no_number_is_not_compared() -> None:
    """Neither side of the balance sheet differs from a text by its whole amount."""
    tables = [summed(699, n) for n in (4, 5)]
    tables[0][0][2] = tables[1][1][0] = "1e3"

    checks = fk.reports.check(frame(*(report(n, 699, t) for n, t in enumerate(tables))))

    assert checks["balance_difference"].to_list() == [None, None]
    assert checks["failing"].to_list() == [0, 0]


def test_blanks_count_as_nothing() -> None:
    """A sum of nothing but blanks is not checked; a blank addend is 0."""
    blank = [[""] * many for many in sizes(687)]
    one = [list(table) for table in blank]
    one[0][6] = one[0][8] = "5"  # tangible assets, of land and buildings alone
    one[0][2] = one[0][0] = "5"

    checks = fk.reports.check(frame(report(1, 687, blank), report(2, 687, one)))

    assert checks.select("checked", "failing", "balance_difference").rows() == [
        (0, 0, None),
        (4, 1, 5.0),  # of the result row 33, which starts from the assets, all is blank
    ]
    why = checks["reasons"].list.eval(pl.element().struct.field("reason"))
    assert why.list.unique().to_list() == [["all_blank"], ["all_blank"]]
    assert checks["template"].to_list() == [687, 687]


def test_cents_and_what_is_no_number() -> None:
    """Half a cent is no difference; a sum with a cell that is no number is not checked."""
    tables = [[""] * many for many in sizes(22)]
    tables[0][0:6:2] = ["9999999999999.99", "0.09", "9999999999999.90"]
    tables[0][1:7:2] = ["5", "x", "5"]

    check = fk.reports.check(frame(report(1, 22, tables))).row(0, named=True)

    assert (check["checked"], check["failing"]) == (3, 2)
    assert [f["number"] for f in check["failures"]] == [11, 11]  # added value, which is blank
    assert check["reasons"] == [{"table": 0, "reason": "not_a_number"}]


def test_reports_without_numbers_stay() -> None:
    """One row per report, whatever became of it; an id that repeats is two reports."""
    good = summed(22, 3)
    reports = frame(
        report(4, 22, [["5"]]), report(7, 22, good), {"id": 3, "stav": "ZMAZANÉ"},
        report(7, 22, [["1"] * 122]),
    )  # fmt: skip

    checks = fk.reports.check(reports)

    assert checks.select("report_id", "checked", "reasons").rows() == [
        (4, 0, [{"table": 0, "reason": "length_mismatch"}]),
        (7, 32, None),
        (3, 0, [{"table": None, "reason": "deleted"}]),
        (7, 32, None),
    ]
    form = forms.shipped(22)
    assert form is not None
    of_ones = [sum(t.sign for t in row.terms) for row in form.tables[0].rows if row.terms]
    assert checks["failing"].to_list() == [0, 0, 0, 2 * sum(one != 1 for one in of_ones)]
    assert fk.reports.check(reports.lazy()).collect().equals(checks)
    assert fk.reports.check(reports.head(0)).schema == CHECKS


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

    checks = reg.reports.check(frame(report(1, 61, [["5", "2", "3"]])))

    assert checks.select("checked", "failing").rows() == [(1, 0)]


def clean(reports: pl.DataFrame) -> list[slips.Filing]:
    """Return the filings whose balance sheet and income statement have not a single difference."""
    reports = reports.filter(
        pl.col("idSablony").is_in(BUSINESSES), pl.col("tabulky").list.len() > 0
    )
    checks = fk.reports.check(reports)
    fine = checks.filter(pl.col("failing") == 0, pl.col("checked") > 0, pl.col("reasons").is_null())
    filings = [
        slips.Filing(own)
        for _, own in reports.join(fine, left_on="id", right_on="report_id", how="semi").group_by(
            "idUctovnejZavierky", maintain_order=True
        )
    ]
    return [one for one in filings if set(one.forms) in ({699}, {687}, {21, 22})]


@pytest.fixture(scope="module")
def filings() -> list[slips.Filing]:
    """Give filings of the sample on all forms of businesses."""
    sample = fk.sample()
    ids = sample.statements.ids()["id"].sample(120, seed=7)
    listed = sample.statements.get(ids)["idUctovnychVykazov"].explode().drop_nulls()
    with fk.using(sample):
        return clean(sample.reports.get(listed))


def caught(filings: list[slips.Filing], slip: slips.Slip) -> tuple[int, int]:
    """Return how many filings an error can be put into, and in how many it is caught."""
    records = [
        record
        for statement, filing in enumerate(filings)
        if (tables := slip(filing, random.Random(statement)))
        for record in filing.records(tables, statement)
    ]
    reports = frame(*records).with_columns(
        idUctovnejZavierky=pl.Series([record["idUctovnejZavierky"] for record in records])
    )
    checks = fk.reports.check(reports)
    is_off = pl.col("balance_difference").fill_null(0.0) != 0
    found = checks.select(reports["idUctovnejZavierky"], caught=is_off | (pl.col("failing") > 0))
    each = found.group_by("idUctovnejZavierky").agg(pl.col("caught").any())
    return each.height, each.filter("caught").height


CAUGHT = (
    slips.sum_one_more, slips.addend_one_off, slips.sum_blank, slips.table_shifted,
    slips.one_side_exchanged, slips.net_is_gross,
)  # fmt: skip
UNSEEN = (slips.all_exchanged, slips.gross_raised, slips.another_result)


@pytest.mark.parametrize(
    "slip",
    [*CAUGHT[::4], *slow(*(slip for n, slip in enumerate(CAUGHT) if n % 4))],
    ids=lambda s: s.__name__,
)
def test_errors_of_filers_are_caught(
    slip: slips.Slip, filings: list[slips.Filing], matrix: Told
) -> None:
    """Every one, in every filing that such an error changes at all."""
    there, found = caught(filings, slip)

    matrix(slip.__name__, "all", f"{found} of {there}")
    assert there > 20
    assert found == there


def test_a_cell_beside_its_place_is_caught_where_its_sum_changes(
    filings: list[slips.Filing], matrix: Told
) -> None:
    """Of two neighbours in the same sum the sum is right; the docs say so."""
    there, found = caught(filings, slips.cell_shifted)

    matrix("cell_shifted", "where its sum changes", f"{found} of {there}")
    assert there > 40
    assert there / 10 < found < there


@pytest.mark.parametrize("slip", [UNSEEN[0], *slow(*UNSEEN[1:])], ids=lambda s: s.__name__)
def test_errors_that_no_sum_shows(
    slip: slips.Slip, filings: list[slips.Filing], matrix: Told
) -> None:
    """Every sum holds in spite of them, as the docs say."""
    there, found = caught(filings, slip)

    matrix(slip.__name__, "none", f"{found} of {there}")
    assert there > 20
    assert found == 0


@pytest.mark.slow
def test_errors_in_recorded_filings_are_caught(recorded: Path) -> None:
    """As in those of the sample."""
    sent = [
        json.loads(path.read_bytes())
        for path in sorted((recorded / "templates" / "recorded").glob("*.json"))
    ]
    records = [
        report(one["id"], one["idSablony"], [table["data"] for table in one["obsah"]["tabulky"]])
        for one in sent
    ]
    reports = frame(*records).with_columns(
        idUctovnejZavierky=pl.Series([3873398 if one["idSablony"] < 23 else 9 for one in sent])
    )

    real = clean(reports)

    assert [set(one.forms) for one in real] == [{21, 22}, {699}]
    for slip in CAUGHT:
        there, found = caught(real, slip)
        assert found == there, slip.__name__


def test_reports_are_checked_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """No report is compared with another, so that it does not matter which are read together."""
    sample = fk.sample()
    listed = sample.statements.get(sample.statements.ids(limit=30))["idUctovnychVykazov"]
    reports = sample.reports.get(listed.explode().drop_nulls())
    checks = fk.reports.check(reports)
    monkeypatch.setattr(check_sums, "_SLICE", 5)

    assert fk.reports.check(reports).equals(checks)
    assert fk.reports.check(reports.lazy()).collect(engine="streaming").equals(checks)
    assert checks["checked"].sum() > 0


def test_a_rounding_is_told_from_a_slip() -> None:
    """By the largest difference in euro, whatever the number of sums; half a cent is none."""
    tables = summed(687, 4)
    off = [[list(table) for table in tables] for _ in range(3)]
    off[0][0][2] = str(int(tables[0][2]) + 1)
    off[1][0][2] = str(int(tables[0][2]) - 7_000)
    off[2][0][2] = f"{tables[0][2]}.01"

    checks = fk.reports.check(frame(*(report(n, 687, one) for n, one in enumerate([*off, tables]))))

    assert checks["largest_difference"].to_list() == [1.0, 7_000.0, 0.01, 0.0]
    assert (checks["failing"] > 0).to_list() == [True, True, True, False]
    blank = frame(report(1, 687, [[""] * many for many in sizes(687)]), report(2, 483, []))
    assert fk.reports.check(blank)["largest_difference"].to_list() == [None, None]


def test_a_difference_of_a_cent_fails() -> None:
    """Of a rounding of sums of cents nothing is left; a cent is an error."""
    tables = [[""] * many for many in sizes(22)]
    for margin, failing in (("0.20", 0), ("0.21", 1), ("0.19", 1), ("0.2", 0), ("0.201", 0)):
        tables[0][0:6:2] = ["0.30", "0.10", margin]  # r. 01 - r. 02

        checks = fk.reports.check(frame(report(1, 22, tables)))

        numbers = [failure["number"] for failure in checks["failures"][0]]
        assert numbers.count(3) == failing, margin


@pytest.mark.slow
def test_sums_of_every_form_of_the_register(collected: Path) -> None:
    """A filing computed from collected terms has no failing sum; what is altered in it is named.

    Each sum in turn one too high, each table with sums a row lower. A form that states no sums has
    none checked.
    """
    with_sums = 0
    for template in all_forms.templates(collected):
        stated = all_forms.sums(collected, template)
        with_sums += bool(stated)
        right = all_forms.filed(collected, template)
        altered = [*_one_more(right, stated), *_lower(right, stated)]
        reg = Scripted(all_forms.body(collected, template))
        filed = [right, *(tables for _, tables in altered)]
        checks = reg.reports.check(
            frame(*(report(n, template, _flat(tables)) for n, tables in enumerate(filed)))
        )

        assert checks["checked"].to_list() == [len(stated)] * len(filed), template
        first = checks.row(0, named=True)
        assert (first["failing"], first["largest_difference"]) == (0, 0.0 if stated else None)
        # No sum of 3 and 29 ties the two sides together.
        assert first["balance_difference"] in (None, 0.0) or template in (3, 29)
        for (cell, _), failures in zip(altered, checks["failures"][1:], strict=True):
            named = [(one["table"], one["row"], one["column"]) for one in failures]
            assert named if cell is None else cell in named, (template, cell)
    assert with_sums == (16 if collected == data_folder() else 47)


Rows = list[list[list[str]]]
Sums = dict[all_forms.Cell, list[tuple[int, all_forms.Cell]]]


def _flat(tables: Rows) -> list[list[str]]:
    return [[cell for row in rows for cell in row] for rows in tables]


def _one_more(right: Rows, stated: Sums) -> Iterator[tuple[all_forms.Cell, Rows]]:
    for table, row, column in stated:
        tables = [[list(cells) for cells in rows] for rows in right]
        tables[table][row][column] = str(int(tables[table][row][column]) + 1)
        yield (table, row, column), tables


def _lower(right: Rows, stated: Sums) -> Iterator[tuple[None, Rows]]:
    for table in {table for table, _, _ in stated}:
        tables = list(right)
        tables[table] = [[""] * len(right[table][0]), *right[table][:-1]]
        yield None, tables


def test_recorded_filings(recorded: Path) -> None:
    """Every sum of the real filings holds, and their balance."""
    records = []
    for path in sorted((recorded / "templates" / "recorded").glob("*.json")):
        sent = json.loads(path.read_bytes())
        tables = [table["data"] for table in sent["obsah"]["tabulky"]]
        records.append(report(sent["id"], sent["idSablony"], tables))

    checks = fk.reports.check(frame(*records))

    assert checks.select("template", "checked", "failing").rows() == [
        (22, 19, 0), (21, 35, 0), (699, 46, 0),
    ]  # fmt: skip
    assert checks["balance_difference"].to_list() == [None, 0.0, 0.0]
    assert isinstance(checks, pl.DataFrame)
