"""What a sample drew for a unit and a year, and ratios once more: plain Python, sharing nothing."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from finstat_kit.client.sample import Sample
from finstat_kit.protocol.shipped import data_folder
from finstat_kit.protocol.wire import STATEMENTS
from finstat_kit.service.filings.bodies import tables_of
from finstat_kit.service.filings.filing import (
    CORRECTION,
    EXTRAORDINARY,
    MAIN,
    TWIN,
    Filing,
)
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.filings.store import filings_of

Figures = dict[str, Decimal | None]
_BUSINESS = (699, 687, 21, 22)
_COLUMNS = {
    699: "form_699", 687: "form_687", 21: "forms_21_22", 22: "forms_21_22",
    690: "forms_690_727", 727: "forms_690_727", 522: "forms_690_727", 521: "forms_690_727",
    684: "forms_684_696", 696: "forms_684_696",
    1180: "form_1180", 385: "form_385", 1164: "form_1164", 383: "form_1164",
}  # fmt: skip
LETTERS = {
    699: "apv", 687: "apv", 21: "ap", 22: "v", 690: "ap", 727: "ny", 522: "ap", 521: "ny",
    684: "ap", 696: "ny", 1180: "apny", 385: "apny", 1164: "rxap", 383: "rxap",
}  # fmt: skip
# The printed number of the first row of each table, and how many columns of data it has.
_FIRST = {
    699: (1, 79, 1), 687: (1, 24, 1), 21: (1, 66), 22: (1,), 690: (1, 115), 727: (1, 65),
    522: (1, 115), 521: (1, 65), 684: (1, 118), 696: (1, 66), 1180: (1, 61, 1, 39),
    385: (1, 61, 1, 39), 1164: (1, 17, 1, 12), 383: (1, 17, 1, 12),
}  # fmt: skip
_WIDTHS = {
    699: (4, 2, 2), 687: (2, 2, 2), 21: (4, 2), 22: (2,), 690: (4, 2), 727: (4, 4), 522: (4, 2),
    521: (4, 4), 684: (2, 2), 696: (4, 4), 1180: (4, 2, 4, 4), 385: (4, 2, 4, 4),
    1164: (2, 2, 2, 2), 383: (2, 2, 2, 2),
}  # fmt: skip

# The sum rows that show that all rows of an item are zeros.
_BLOCKS: dict[str, dict[int, str]] = {
    "current_financial_assets": {21: "a55"},
    "cash_and_bank": {21: "a55", 690: "a85", 522: "a85", 684: "a88", 1180: "a51", 385: "a51"},
    "non_current_liabilities_total": {699: "p101", 687: "p34", 21: "p88"},
    "current_liabilities_total": {699: "p101", 687: "p34", 21: "p88"},
    "financial_debt": {
        699: "p101",
        687: "p34",
        21: "p88",
        690: "p126",
        522: "p126",
        684: "p130",
        1180: "p73",
        385: "p74",
    },
    "provisions_non_current": {21: "p89", 690: "p127", 522: "p127", 1180: "p74", 385: "p75"},
    "trade_payables_current": {21: "p106", 690: "p151", 522: "p151"},
    "payables_to_employees": {690: "p151", 522: "p151"},
    "tax_payables_without_subsidies": {690: "p151", 522: "p151"},
    "repayable_assistance_granted": {690: "a33", 522: "a33", 684: "a35"},
    "repayable_assistance_received": {690: "p173", 522: "p173"},
    "deferred_income": {1180: "p100"},
    "provisions_current": {21: "p89", 690: "p127", 522: "p127"},
    "current_liabilities_with_accruals": {687: "p34"},
    "retained_earnings": {699: "p80", 687: "p25", 21: "p67"},
}


# Why the statements of a kind are never taken, by their case.
_NEVER = {"interim": "interim_only", "combined": "other_kind", "unknown_kind": "other_kind"}


class Truth(NamedTuple):
    """What there is to be read of a unit and a year."""

    reason: str | None
    slot: int | None
    figures: Figures


def facts() -> list[dict[str, str]]:
    """Return the items as the facts hold them."""
    path = data_folder() / "facts" / "items.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


FACTS = facts()
NOTHING: Figures = {fact["item"]: None for fact in FACTS}


def figures_of(tables: dict[int, list[list[str]]], *, previous: bool = False) -> Figures:
    """Read the items of the tables of a filing, by template, as the facts say where they are."""
    found = dict(NOTHING)
    for fact in FACTS:
        for template, parts in tables.items():
            rows = re.findall(r"([a-z])(\d+)", fact[_COLUMNS[template]])
            own = [(letter, int(n)) for letter, n in rows if letter in LETTERS[template]]
            cells = [
                cell for row in own for cell in _cells(parts, template, *row, previous=previous)
            ]
            filled = [Decimal(cell) for cell in cells if cell]
            block = _BLOCKS.get(fact["item"], {}).get(template, "")
            shown = (
                _cells(parts, template, block[0], int(block[1:]), previous=previous)
                if block and own
                else []
            )
            if filled or any(shown):
                found[fact["item"]] = sum(filled, Decimal(0))
    return found


def _cells(
    tables: list[list[str]], template: int, letter: str, number: int, *, previous: bool
) -> list[str]:
    """Return the cell of a row, or those of the untaxed and the taxed activity."""
    table = LETTERS[template].index(letter)
    width = _WIDTHS[template][table]
    row = number - _FIRST[template][table]
    if letter in "rx":
        return [] if previous else tables[table][row * width : row * width + width]
    return [tables[table][row * width + width - (1 if previous else 2)]]


def _reason_without_filing(sample: Sample, unit: Mapping[str, Any], year: int) -> str:
    """Return what hides a filing of a year, by the order of the ids of statements.

    A statement that is not public can be of it, or one without a period, unless a later id was
    filed more than 90 days before the year.
    """
    limit = (date(year, 1, 1) - timedelta(days=90)).isoformat()
    hiding: list[str] = []
    replies = (
        sample._answer("GET", "/api/uctovna-zavierka", f"id={id_}")
        for id_ in sorted(unit["idUctovnychZavierok"], reverse=True)
    )
    for record in (json.loads(reply.body) for reply in replies):
        own = record.get("idUJ") == unit["id"]
        if record.get("stav") == "NEVEREJNÁ":
            hiding.append("non_public")
        elif own and not {"stav", "obdobieDo"} & record.keys() and not record.get("konsolidovana"):
            hiding.append("unreadable")
        elif own and "obdobieDo" in record and record.get("datumPodania", limit) < limit:
            break
    return min(hiding, default="no_filing_for_year")


def truth(sample: Sample, unit: int, year: int) -> Truth:
    """Return what the sample drew for a unit and a year."""
    filings = filings_of(sample._store)
    record = sample._store.record(unit) or {}
    assert filings is not None
    if gone := {"ZMAZANÉ": "deleted", "NEVEREJNÁ": "non_public"}.get(
        str(record.get("stav")).upper()
    ):
        return Truth(gone, None, NOTHING)
    ids: Any = filings.ids_of(unit, removed=False).get("idUctovnychZavierok")
    if not ids:
        return Truth("no_filing", None, NOTHING)
    drawn = _of_year(filings, ids, year)
    if not drawn:
        return Truth(_reason_without_filing(sample, record, year), None, NOTHING)
    why = [_reason_of(filing) for filing in drawn]
    # A correction without figures leaves those of what it corrects.
    place = why.index(None) if None in why else 0
    filing, reason = drawn[place], why[place]
    if reason is not None:
        return Truth(reason, filing.slot, NOTHING)
    tables = {
        template: [part["data"] for part in tables_of(filings, filing, template)]
        for template in filing.forms
    }
    return Truth(None, filing.slot, figures_of(tables))  # type: ignore[arg-type]


def _reason_of(filing: Filing) -> str | None:
    """Return why a filing has no figures."""
    case = filing.difficulty
    if case in _NEVER:
        return _NEVER[case]
    if filing.unit.kind == "trader" or case == "non_public":
        return "non_public"
    if case == "attachments_only":
        return case
    if case in ("public_attachments", "no_content", "empty_content", "title_only"):
        return "attachments_only" if filing.key >> 7 & 1 else "no_content"
    return "all_blank" if case in ("all_blank", "previous_only") else None


def _of_year(filings: Filings, ids: list[int], year: int) -> list[Filing]:
    """Return the filing of a year that counts and those that it corrects, the newest first.

    By the roles in which they were drawn.
    """
    drawn = (filings.filing_of(STATEMENTS, id_)[0] for id_ in ids)
    readable = [
        filing
        for filing in drawn
        if filing is not None
        and filing.year == year
        and filing.role != TWIN
        and filing.difficulty not in ("deleted", "non_public_record", "no_period")
    ]
    taken = [filing for filing in readable if filing.difficulty not in _NEVER]
    for roles in ((CORRECTION, MAIN), (EXTRAORDINARY,)):
        own = [filing for filing in taken if filing.role in roles]
        if own:
            return sorted(own, key=lambda f: (f.role == CORRECTION, f.slot), reverse=True)
    return sorted(readable, key=lambda f: f.difficulty != "interim")


def _scores(f: Figures) -> dict[str, Decimal | None]:
    """Return both scores of a filing on 699 or 687, null where a divisor is not above zero."""
    nought = Decimal(0)
    total, debts, soon = f["total_assets"], f["liabilities"], f["current_liabilities_total"]
    interest, before = f["interest_expense"], f["profit_before_tax"]
    if any(part is None or part <= 0 for part in (total, debts)):
        return {"altman_z": None, "in05": None}
    assert total is not None
    assert debts is not None
    kept, equity = f["retained_earnings"], f["equity"]
    ebit = (
        None if interest is None and before is None else (interest or nought) + (before or nought)
    )
    at_hand = f["current_assets"] or nought
    revenue = [f["operating_revenue"], f["financial_revenue"]]
    z = in05 = None
    if ebit is not None and kept is not None and equity is not None:
        z = (
            Decimal("6.56") * (at_hand - (soon or nought)) / total
            + Decimal("3.26") * kept / total
            + Decimal("6.72") * ebit / total
            + Decimal("1.05") * equity / debts
        )
    if ebit is not None and soon is not None and soon > 0 and any(x is not None for x in revenue):
        cover = Decimal(9) if not interest else min(Decimal(9), ebit / interest)
        in05 = (
            Decimal("0.13") * total / debts
            + Decimal("0.04") * cover
            + Decimal("3.97") * ebit / total
            + Decimal("0.21") * sum((x or nought for x in revenue), nought) / total
            + Decimal("0.09") * at_hand / soon
        )
    return {"altman_z": z, "in05": None if (interest or 0) < 0 else in05}


def ratios_of(
    f: Figures, year: int, template: int | None = 699
) -> dict[str, Decimal | bool | None]:
    """Return the ratios of figures, each written out once more."""

    def plus(*parts: str, shown_by: tuple[str, ...] = ()) -> Decimal | None:
        """Add parts, blank ones as noughts; nothing where none is filled, nor a sum above them."""
        signs = {part.lstrip("-"): -1 if part[0] == "-" else 1 for part in parts}
        if all(f[name] is None for name in (*signs, *shown_by)):
            return None
        parted = (sign * (f[name] or Decimal(0)) for name, sign in signs.items())
        return sum(parted, Decimal(0))

    def over(top: Decimal | None, bottom: Decimal | None) -> Decimal | None:
        return None if top is None or bottom is None or bottom <= 0 else top / bottom

    due = None
    if f["current_payables"] is not None:
        due = plus(
            "current_payables",
            "provisions_current",
            "bank_loans_current",
            "short_term_financial_assistance",
        )
    stock, rest = "inventories", ("current_assets", "-non_current_receivables")
    above = ("current_assets", "total_assets")
    result = ("operating_result", "profit_before_tax")
    interest, before = f["interest_expense"], f["profit_before_tax"]
    limits = {2016: Decimal("0.04"), 2017: Decimal("0.06")}
    limit = Decimal("0.08") if year >= 2018 else limits.get(year)
    cover = over(f["equity"], f["liabilities"])
    public: dict[str, Decimal | bool | None] = {
        "debt_to_revenue": over(
            plus("financial_debt", shown_by=("liabilities",)), f["revenue_total"]
        ),
        "personnel_cost_share": over(
            plus("personnel_costs", shown_by=("costs_total",)), f["costs_total"]
        ),
        "transfer_share": over(
            plus("transfers_received_total", shown_by=("revenue_total",)), f["revenue_total"]
        ),
    }
    if template is not None and template not in _BUSINESS:
        return public if template in (690, 522, 684) else dict.fromkeys(public, None)
    return {
        "equity_ratio": over(f["equity"], f["total_assets"]),
        "liabilities_to_equity": over(f["liabilities"], f["equity"]),
        "current_ratio": over(plus(*rest, shown_by=above), due),
        "quick_ratio": over(plus(*rest, f"-{stock}", shown_by=above), due),
        "cash_ratio": over(plus("cash_and_bank", shown_by=above), due),
        "roa": over(f["net_profit"], f["total_assets"]),
        "roe": over(f["net_profit"], f["equity"]),
        "net_margin": over(f["net_profit"], f["sales"]),
        "operating_margin": over(
            plus("operating_result", shown_by=result), f["operating_revenue"]
        ),
        "asset_turnover": over(f["sales"], f["total_assets"]),
        "ebitda": plus("operating_result", "depreciation_and_impairment", shown_by=result),
        "interest_coverage": over(
            None if interest is None else interest + (before or 0), interest
        ),
        "current_ratio_comparable": over(
            plus(
                "current_assets_with_accruals",
                "-non_current_receivables_with_accruals",
                shown_by=("total_assets",),
            ),
            f["current_liabilities_with_accruals"],
        ),
        "liabilities_to_equity_comparable": over(f["liabilities_with_accruals"], f["equity"]),
        "below_crisis_ratio": None if cover is None or limit is None else cover < limit,
        **(_scores(f) if template in (699, 687) else {"altman_z": None, "in05": None}),
    }  # fmt: skip
