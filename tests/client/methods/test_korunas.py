"""Currencies: the one that a report names, else that of the law at the end of its own period."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from tests.support.examples import slow
from tests.support.registers import Watched, altered
from tests.support.two_forms import BALANCE, INCOME, SAMPLE, whole

ENDS = {2008: "2008-12", 2009: "2009-12"}


def register_of(year: int, balance: str | None, income: str | None) -> Watched:
    """Return a register in which the filing is of a year, and its reports name currencies."""
    named = {BALANCE: balance, INCOME: income}

    def other(record: dict[str, Any]) -> None:
        period = {"obdobieOd": f"{year}-01", "obdobieDo": ENDS[year]}
        if record.get("id") == whole()["statement_id"] and "typ" in record:
            record |= period
        elif record.get("idUctovnejZavierky") == whole()["statement_id"]:
            record.pop("mena", None)
            if currency := named.get(record.get("idSablony", 0)):
                record["mena"] = currency
            if page := record.get("obsah", {}).get("titulnaStrana"):
                before = {"predchadzajuceObdobieOd": f"{year - 1}-01"}
                page |= period | before | {"predchadzajuceObdobieDo": f"{year - 1}-12"}

    return altered(SAMPLE, other, ("uctovna-zavierka", "uctovny-vykaz"))


def own(register: fk.Register) -> pl.DataFrame:
    """Return the filing's rows, of both columns."""
    money = register.financials([whole()["unit_id"]], from_previous=True)
    return money.filter(statement_id=whole()["statement_id"])


def reports_of(register: fk.Register) -> pl.DataFrame:
    (ids,) = register.statements.get([whole()["statement_id"]])["idUctovnychVykazov"]
    return register.reports.get(ids).filter(pl.col("idSablony").is_in([BALANCE, INCOME]))


CASES = [
    (2008, None, "SKK"), (2009, None, None), *slow((2008, "EUR", "EUR"), (2009, "SKK", "SKK")),
]  # fmt: skip


@pytest.mark.parametrize(("year", "named", "currency"), CASES)
def test_a_filing_of_2008_without_a_currency_is_in_korunas(
    year: int, named: str | None, currency: str | None
) -> None:
    """By its own period, in both columns, wherever its amounts are; a named currency stays."""
    register = register_of(year, named, named)

    rows, reports = own(register), reports_of(register)

    is_foreign = currency == "SKK"
    reason = "other_currency" if is_foreign else None
    expected = [("previous", year - 1, currency, reason), ("current", year, currency, reason)]
    assert rows.select("source_column", "year", "currency", "reason").rows() == expected
    assert (rows["total_assets"].null_count() == 2) == is_foreign
    checks, foreign = register.reports.check(reports), {"table": None, "reason": "other_currency"}
    assert [foreign in (why or []) for why in checks["reasons"].to_list()] == [is_foreign] * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cells = register.reports.cells(reports)
    assert [str(each.message) for each in caught if "not in euro" in str(each.message)] == [
        'some amounts are not in euro; fk.reports.check(reports)["reasons"] lists whose'
    ] * is_foreign
    assert cells.height > 0
    assert ("in SKK, not in euro" in register.as_filed(reports, lang="en").heading) == is_foreign


def test_half_a_filing_of_2008_without_a_currency_is_in_korunas() -> None:
    """Beside a half that names the euro; of 2009 both halves are in euro."""
    rows = own(register_of(2008, "EUR", None))

    assert rows["currency"].to_list() == ["SKK"] * 2
    assert rows["total_assets"].null_count() == rows["sales"].null_count() == 2
    assert own(register_of(2009, "EUR", None))["reason"].to_list() == [None] * 2


@pytest.mark.parametrize("year", [2008, *slow(2009)])
def test_a_mirror_knows_korunas(tmp_path: Path, year: int) -> None:
    """Also where a query asks for them."""
    unit, register = whole()["unit_id"], register_of(year, None, None)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()

    expected = register.financials([unit], from_previous=True)
    assert_frame_equal(mirror.financials([unit], from_previous=True), expected)
    korunas = mirror.scan_financials().filter(currency="SKK", unit_id=unit)
    rows = korunas.select("statement_id", "reason").collect().rows()
    assert rows == [(whole()["statement_id"], "other_currency")] * (year == 2008)
