"""A statement over years: the filings of `financials`, with the rows of a form or its items."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_args

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.frames.financials import items
from finstat_kit.frames.financials.history import History, Statement
from tests.support.examples import slow
from tests.support.registers import altered

SAMPLE = fk.sample()
FIRM, MUNICIPALITY, ASSOCIATION = 365, 2712, 3030  # 699; 522, 521, then 690 and 727; 1164
MICRO = 2504  # 21 and 22, then 687


@cache
def of_firm(lang: Lang | None = None) -> History:
    """Return all years of a firm, read once."""
    return SAMPLE.statement(FIRM, lang=lang)


def of_years(shown: History) -> pl.DataFrame:
    """Return the figures of a history, one row per row and year."""
    years = [name for name in shown.frame.columns if name.isdigit()]
    rows = shown.frame.with_row_index("place").unpivot(
        years, index=["place", "number", "item"], variable_name="year"
    )
    return rows.with_columns(pl.col("year").cast(pl.Int32)).drop_nulls("value")


@pytest.mark.parametrize(
    ("unit", "years", "statement", "tables", "measure"),
    [
        (FIRM, None, "balance", [0, 1], "net"),
        *slow((MUNICIPALITY, [2013, 2012], "liabilities", [1], None)),
        *slow(
            (FIRM, None, "income", [2], None),
            (FIRM, None, "assets", [0], "net"),
            (MUNICIPALITY, range(2014, 2025), "income", [0, 1], "total"),
            (MUNICIPALITY, range(2014, 2025), "balance", [0, 1], "net"),
        ),
    ],
)
def test_rows_of_one_form_are_the_cells_of_its_reports(
    unit: int, years: list[int] | None, statement: Statement, tables: list[int], measure: str | None
) -> None:
    """In the column of the year, by the printed number of the row; and no other rows."""
    shown = SAMPLE.statement(unit, years, statement)

    own = shown.filings.select("report_id", "year").drop_nulls()
    cells = SAMPLE.reports.cells(SAMPLE.reports.get(own["report_id"])).join(own, on="report_id")
    cells = cells.filter(
        pl.col("period") == "current",
        pl.col("measure").is_null() | (pl.col("measure") == (measure or "")),
        pl.col("table").is_in(tables),
    )
    expected = cells.select("number", "year", "value").sort("number", "year").rows()
    assert of_years(shown).select("number", "year", "value").sort("number", "year").rows() == (
        expected
    )
    assert len(expected) > 20
    assert shown.frame["number"].is_sorted()
    assert shown.frame["item"].is_null().all()


@pytest.mark.slow
def test_years_on_several_forms_have_the_items_of_financials() -> None:
    """Each figure is the item's, every item is in one statement, and the note names the forms."""
    figures = SAMPLE.financials([MUNICIPALITY]).rows_by_key("year", named=True, unique=True)
    shown = {
        statement: SAMPLE.statement(MUNICIPALITY, table=statement, blanks=True, lang="en")
        for statement in get_args(Statement)
    }

    for history in shown.values():
        for year, item, value in of_years(history).select("year", "item", "value").iter_rows():
            assert figures[year][item] == value, (year, item)
    named = {statement: history.frame["item"].to_list() for statement, history in shown.items()}
    assert named["balance"] == named["assets"] + named["liabilities"]
    assert sorted(named["balance"] + named["income"]) == sorted(items.of_families(["public"]))
    assert "(521: 2012–2013; 727: 2014–2024)" in str(shown["income"])
    assert "(522: 2012–2013; 690: 2014–2024)" in str(shown["assets"])


def test_untaxed_and_taxed_activity_are_added() -> None:
    """Receipts and payments of single entry have no total: that of `financials` is shown."""
    shown = SAMPLE.statement(ASSOCIATION)

    receipts = SAMPLE.financials([ASSOCIATION]).select("year", "receipts_total").rows()
    total = shown.frame.filter(number=16).select(pl.exclude("label", "number", "item"))
    assert [(int(year), total[year].item()) for year in total.columns] == receipts


@pytest.mark.slow
def test_the_filing_of_each_year_is_that_of_financials() -> None:
    """Corrections, other kinds, unreadable ones: the same statement, or the same reason."""
    cases = SAMPLE.cases(2)
    owners = SAMPLE.statements.get(cases["statement_id"].unique())["idUJ"].drop_nulls()
    owners = owners.unique().sort().gather_every(2)
    columns = ["year", "period_to", "statement_id", "superseded_by", "reason"]

    money = SAMPLE.financials(owners, items="equity").drop_nulls("year")
    for unit in owners:
        shown = SAMPLE.statement(unit)
        expected = money.filter(unit_id=unit).select(columns)
        assert shown.filings.select(columns).rows() == expected.rows(), unit
    assert owners.len() > 10


def test_a_correction_counts_and_one_without_figures_does_not() -> None:
    """As in `financials`: by the register's rule, not by the highest id."""
    sample = fk.sample()
    before = sample.statement(FIRM, 2017)
    statement = before.filings["statement_id"].item()

    sample.correct([statement], case="sum")
    after = sample.statement(FIRM, 2017)
    newest = after.filings["statement_id"].item()
    assert newest > statement
    sample.correct([newest], case="attachments_only")
    last = sample.statement(FIRM, 2017)

    assert last.filings["statement_id"].item() == newest
    assert last.filings["superseded_by"].item() > newest
    assert last.frame.equals(after.frame)


@pytest.mark.slow
def test_a_year_without_figures_has_a_blank_column_and_its_reason() -> None:
    """So that no year is missed; a year that was never filed is only there on demand."""
    sample = fk.sample()
    sample.file([FIRM], year=2021, case="attachments_only")

    shown = sample.statement(FIRM, range(2019, 2022), lang="en")

    assert shown.frame.columns[3:] == ["2019", "2020", "2021"]
    assert shown.frame["2021"].is_null().all()
    assert not shown.frame["2019"].is_null().all()
    assert "No numbers: 2020 (no filing), 2021 (PDF only)" in shown.notes
    assert sample.statement(FIRM).frame.columns[-2:] == ["2019", "2021"]


def test_figures_are_those_that_financials_counts() -> None:
    """Of two reports on one form the one that counts; none of another currency or misread cells."""
    sample = fk.sample()
    for year, case in ((2021, "two_equal"), (2022, "other_currency"), (2023, "not_a_number")):
        sample.file([FIRM], year=year, case=case)

    shown = sample.statement(FIRM, [2021, 2022, 2023], "assets").frame

    money = sample.financials([FIRM], [2021, 2022, 2023], items=["total_assets", "current_assets"])
    rows = shown.filter(pl.col("number").is_in([1, 33])).select("2021", "2022", "2023")
    assert rows.rows() == list(
        zip(*money.select("total_assets", "current_assets").rows(), strict=True)
    )
    assert rows.null_count().row(0) == (0, 2, 1)


@pytest.mark.slow
def test_a_year_with_some_numbers_is_not_one_without() -> None:
    """Where a cell is no number, and where a row of the form has another caption."""
    sample = fk.sample()
    sample.file([MICRO], year=2025, case="not_a_number")

    def moved(form: dict[str, Any]) -> None:
        if form["id"] == 687:
            form["tabulky"][0]["riadky"][0]["text"].update(sk="iné")

    for register, years in (
        (sample, [2013, 2025]),
        (altered(SAMPLE, moved, "sablona"), [2013, 2016]),
    ):
        shown = register.statement(MICRO, years, "assets", lang="en")
        reasons = shown.filings["reason"].to_list()
        assert reasons[0] is None
        assert reasons[1] in ("not_a_number", "caption_mismatch")
        assert f"(21: 2013; 687: {years[1]})" in shown.notes[-1]
        assert not any("No numbers" in note for note in shown.notes)
        assert shown.frame[str(years[1])].null_count() < shown.frame.height


@pytest.mark.slow
def test_cents_are_kept() -> None:
    """As numbers, in which sums of activities are those of `financials`, and as text."""

    def in_cents(report: dict[str, Any]) -> None:
        for table in report.get("obsah", {}).get("tabulky", [])[:1]:
            table["data"][-2:] = ["0.1", "0.2"]  # the total of receipts

    register = altered(SAMPLE, in_cents)
    shown = register.statement(ASSOCIATION, 2023, lang="en")

    total = shown.frame.filter(number=16)["2023"].item()
    assert total == 0.3 == register.financials([ASSOCIATION], 2023)["receipts_total"].item()
    assert re.search(r"16 .* 0\.30$", str(shown), re.MULTILINE)
    other = shown.frame.filter(number=3)["2023"].item()
    assert f"{other:,.2f}" in str(shown)
    assert f"{other:,.2f}" in shown._repr_html_()


@pytest.mark.slow
def test_the_newest_years_are_those_filed() -> None:
    """A number below 1990 is a number of years, others are years."""
    whole = of_firm().frame

    assert SAMPLE.statement(FIRM, 3).frame.columns == [
        *whole.columns[:3],
        *whole.columns[-3:],
    ]
    assert SAMPLE.statement(FIRM, 99).frame.equals(whole)
    assert SAMPLE.statement(FIRM, 2015).frame.columns[3:] == ["2015"]


def test_blank_rows_are_shown_on_demand() -> None:
    """Then every row of the tables is there."""
    shown = SAMPLE.statement(FIRM, table="balance", blanks=True)

    assert shown.frame["number"].to_list() == [*range(1, 146)]
    assert [len(part.lines) for part in shown.parts] == [78, 67]


@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_unit_form_and_source_stand_above_the_years(lang: Lang) -> None:
    """As text and in HTML: the name, invented data as such, a short period beside its year."""
    shown = of_firm(lang)

    lines = str(shown).splitlines()
    record = SAMPLE.units.get([FIRM])
    assert lines[0] == record["nazovUJ"].item()
    assert lines[2].split() == ["IČO", record["ico"].item()]
    assert ("(invented)" if lang == "en" else "(vymyslené)") in lines[4]
    years = next(n for n, line in enumerate(lines) if re.fullmatch(r" +2014( +20\d\d)+", line))
    assert lines[years + 1].strip() == ("8 months" if lang == "en" else "8 mes.")
    page = shown._repr_html_()
    assert re.findall(r">(20\d\d)</th>", page) == [str(year) for year in range(2014, 2020)]
    assert all(text in page for text in (lines[0], lines[4].split(maxsplit=1)[1]))


@pytest.mark.slow
def test_a_translation_is_named_once() -> None:
    """Beside the form; items have English of their own."""
    rows, of_items = (SAMPLE.statement(2504, years, lang="en") for years in (1, None))

    assert dict(rows.title)["Form"] == "Úč MUJ (687), unofficial translation"
    assert "[sk]" not in str(rows)
    assert dict(of_items.title)["Forms"].endswith("(22), Úč MUJ (687)")


@pytest.mark.slow
def test_it_takes_no_more_requests_than_the_figures() -> None:
    """The reports are read once; the list of activities is for figures alone."""
    first, second = fk.sample(), fk.sample()

    first.financials([FIRM])
    second.statement(FIRM)

    assert second.stats.requests <= first.stats.requests


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((FIRM, None, "cash"), r"table.*'cash'.*is not known.*income.*balance.*assets.*liab"),
        ((FIRM, 0), "years.* is not allowed"),
        ((FIRM, 2500), "years.* is not allowed"),
        ((FIRM, []), "years: it is empty"),
        (([FIRM, "x"],), r"unit\[1\]='x' is not an IČO"),
        ((None,), "unit=None names no units"),
        (
            (SAMPLE.units.get([365, 1362]),),
            r"unit: these are 2 units; give the id of one:\n  365, .*\n  1362, ",
        ),
        ((SAMPLE.units.get([365]).clear(),), "unit: there is no such unit; give"),
    ],
)
def test_wrong_arguments_are_refused_before_any_request(
    arguments: tuple[int], message: str
) -> None:
    """With what may be given instead."""
    sample = fk.sample()
    with pytest.raises(fk.UsageError, match=message):
        sample.statement(*arguments)
    assert sample.stats.requests == 0


def test_a_unit_without_filings_has_no_table() -> None:
    """But its name and the reason."""
    record = SAMPLE.units.get([FIRM]).with_columns(
        idUctovnychZavierok=pl.lit([], pl.List(pl.Int64))
    )

    shown = SAMPLE.statement(record)

    assert (shown.parts, shown.notes) == ([], ["Bez čísel: bez závierky"])
    assert shown.frame.columns == ["label", "number", "item"]


def test_an_id_without_a_unit_is_not_found() -> None:
    """An id that the register does not have is an error, not a statement without rows."""
    with pytest.raises(fk.errors.NotFound, match="the register has no unit 1000000000") as caught:
        fk.sample(100).statement(10**9)

    assert caught.value.ids == [10**9]


def test_newer_years_that_cannot_be_read_take_no_place() -> None:
    """Three years are the newest three that can be read, not those before or the first ones."""
    sample = fk.sample(300)
    (unit,) = sample.units.ids(limit=1)["id"]
    filed = sample.filings([unit])
    own_years = filed.filter("counts")["year"].unique().sort().to_list()
    newer = own_years[-1] + 1
    sample.file([unit], year=newer, case="not_own_statement")
    assert sample.filings([unit], newer)["reason"].to_list() == ["not_own"]

    shown = sample.statement(unit, 3)

    assert len(own_years) > 3
    assert shown.filings["year"].to_list() == own_years[-3:]


@pytest.mark.slow
def test_the_newest_years_are_those_of_readable_filings() -> None:
    """A slip such as the year 9999 and a statement of another unit take no place of a year."""
    sample = fk.sample(300)
    (unit,) = sample.units.ids(limit=1)["id"]
    before = sample.statement(unit, 3).filings["year"].to_list()

    sample.file([unit], year=2026, case="year_9999")
    sample.file([unit], year=2025, case="not_own_statement")

    assert sample.statement(unit, 3).filings["year"].to_list() == before
