"""The invented filings: sums that hold, years in sequence, ids in the order of filing."""

from __future__ import annotations

import hashlib
import json
import re
import tracemalloc
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.protocol.forms import Form, shipped
from finstat_kit.service.filings.figures import Year, form_of, mixed, mixed_each
from finstat_kit.service.filings.filing import CORRECTION, MAIN, all_cases
from finstat_kit.service.filings.store import filings_of
from tests.support.examples import examples, quick, slow

SAMPLE = fk.sample(450, seed=7)
ID = pl.col("id")
DRAWN = {name for name, case in all_cases().items() if case.share}


@pytest.fixture(scope="module")
def statements() -> pl.DataFrame:
    return SAMPLE.statements.get(SAMPLE.statements.ids())


@pytest.fixture(scope="module")
def reports() -> pl.DataFrame:
    ids = SAMPLE.reports.ids()
    return SAMPLE.reports.get(ids.sample(900, seed=1).sort("id"))


def form(template: int) -> Form:
    found = shipped(template)
    assert found is not None
    return found


def failing(template: int, tables: list[list[str]]) -> list[tuple[int, int | None, int]]:
    """Return table, row and column of each sum that does not hold, by the form's own terms."""
    widths = [len(table.columns) for table in form(template).tables]

    def cents(table: int, row: int, column: int) -> int:
        cell = tables[table][row * widths[table] + column]
        return round(float(cell) * 100) if cell else 0

    found = []
    for place, table in enumerate(form(template).tables):
        assert len(tables[place]) == table.cells
        for row, printed in enumerate(table.rows):
            for column in range(widths[place]):
                # A term of the assets means their net, of this year or of the one before.
                terms = [
                    term.sign
                    * cents(
                        term.table,
                        term.row,
                        column
                        if widths[term.table] == widths[place]
                        else widths[term.table] - 2 + column,
                    )
                    for term in printed.terms
                ]
                if terms and sum(terms) != cents(place, row, column):
                    found.append((place, printed.number, column))
    return found


def case(report_id: int, sample: Sample = SAMPLE) -> str | None:
    """Return what the sample says is awkward about the filing of a report."""
    filing, _ = filings_of(sample._store).filing_of("uctovne-vykazy", report_id)
    assert filing is not None
    return filing.difficulty


@pytest.mark.slow
def test_every_sum_holds_but_in_the_marked_ones(reports: pl.DataFrame) -> None:
    """In about two of a hundred filings one sum does not, and those are known."""
    tabular = reports.filter(pl.col("tabulky").is_not_null(), pl.col("idSablony").is_not_null())
    failed = {
        row["id"]: failing(row["idSablony"], row["tabulky"])
        for row in tabular.select("id", "idSablony", "tabulky").iter_rows(named=True)
    }

    marked = {id_ for id_ in failed if case(id_) == "sum"}
    assert {id_ for id_, faults in failed.items() if faults} <= marked
    # Of two reports the one with the balance sheet has it.
    income = set(tabular.filter(pl.col("idSablony").is_in([22, 521, 727, 696]))["id"])
    assert all(failed[id_] for id_ in marked - income)
    assert 0.005 < len(marked) / tabular.height < 0.04
    assert set(tabular["idSablony"]) >= {699, 687, 21, 22, 690, 727, 1180, 1164}


@pytest.mark.slow
def test_forms_fit_their_units(reports: pl.DataFrame, statements: pl.DataFrame) -> None:
    """A micro form is a small unit's, the old forms are of the years before 2014."""
    of = statements.select(pl.col("id").alias("idUctovnejZavierky"), "idUJ", "obdobieDo")
    units = SAMPLE.units.get(SAMPLE.units.ids())
    size = units.select(ID.alias("idUJ"), "velkostOrganizacie")
    joined = reports.join(of, on="idUctovnejZavierky").join(size, on="idUJ")

    old = joined.filter(pl.col("idSablony").is_in([21, 22]))
    assert old["obdobieDo"].max() <= date(2013, 12, 31)  # type: ignore[operator]
    assert joined.filter(pl.col("idSablony") == 699)["obdobieDo"].min() > date(2013, 12, 31)  # type: ignore[operator]
    micro = joined.filter(pl.col("idSablony") == 687)["velkostOrganizacie"].drop_nulls()
    assert set(micro) <= {"00", "01", "02", "03", "04", "05"}


def test_most_cells_are_blank(reports: pl.DataFrame) -> None:
    """As in real filings; a nought is written now and then."""
    tables = reports.select("idSablony", pl.col("tabulky").alias("cell")).explode("cell")
    cells = tables.explode("cell")
    blank = cells.drop_nulls().group_by("idSablony").agg((pl.col("cell") == "").mean())
    shares = dict(blank.iter_rows())

    assert all(0.5 < share < 0.96 for share in shares.values()), shares
    assert (cells["cell"] == "0").any()
    assert cells["cell"].drop_nulls().str.contains(r"^(-?[0-9]+(\.[0-9]{2})?)?$").all()


@pytest.mark.slow
def test_a_year_tells_the_year_before(statements: pl.DataFrame) -> None:
    """The previous column is last year's current one, but where it was restated."""
    # A correction of another kind or without a period is one all the same.
    undated = statements.filter(pl.col("obdobieDo").is_null())["idUJ"].drop_nulls()
    wide = statements.filter(
        pl.col("typ").fill_null("") != "Mimoriadna",
        ~pl.col("konsolidovana").fill_null(False),
        ~pl.col("idUJ").is_in(undated.implode()),
    )
    by_unit = wide.group_by("idUJ").agg(pl.len()).filter(pl.col("len") >= 9)["idUJ"].sort()
    same = other = 0
    seen = set()
    for unit in by_unit.gather_every(5):
        mine = wide.filter(pl.col("idUJ") == unit, pl.col("obdobieDo").dt.year() >= 2014)
        # Of several filings of a year the one that was filed last counts, with numbers or without.
        last = mine.sort("datumPodania", "id").unique("obdobieDo", keep="last")
        reports = SAMPLE.reports.get(last["idUctovnychVykazov"].explode().to_list())
        tabular = (
            reports.filter(pl.col("tabulky").is_not_null())
            .join(last.select(ID.alias("idUctovnejZavierky"), "obdobieDo"), on="idUctovnejZavierky")
            .sort("obdobieDo")
        )
        plain = tabular.filter([case(id_) is None for id_ in tabular["id"]])
        for template, own in plain.group_by("idSablony"):
            for former, this in pairwise(own.sort("obdobieDo").rows(named=True)):
                if former["obdobieDo"].year + 1 != this["obdobieDo"].year:
                    continue
                equal = past(this, "previous") == past(former, "current")
                same, other = same + equal, other + (not equal)
                seen.add(template[0])

    assert same > 200
    assert other == 0
    assert seen >= {687, 699, 690, 727}


def past(report: dict[str, Any], period: str) -> list[list[float]]:
    """Return the net, total or only column of a period in each table that has a previous one."""
    found = []
    for table, cells in zip(form(report["idSablony"]).tables, report["tabulky"], strict=True):
        kinds = [(column.period, column.measure) for column in table.columns]
        measure = next((measure for when, measure in kinds if when == "previous"), "")
        if (period, measure) in kinds:
            own = cells[kinds.index((period, measure)) :: len(kinds)]
            found.append([float(cell or 0) for cell in own])
    return found


@pytest.mark.slow
def test_ids_grow_with_filing(statements: pl.DataFrame) -> None:
    """And nothing was filed after its last change, nor changed after its unit."""
    filed = statements.filter(pl.col("datumPodania").is_not_null())
    units = SAMPLE.units.get(statements["idUJ"].drop_nulls().unique())
    days = units.select(ID.alias("idUJ"), pl.col("datumPoslednejUpravy").alias("unit"))

    assert filed["datumPodania"].is_sorted()
    assert (filed["datumPodania"] <= filed["datumPoslednejUpravy"]).all()
    joined = filed.join(days, on="idUJ")
    assert (joined["datumPoslednejUpravy"] <= joined["unit"]).all()
    assert (filed["obdobieOd"] <= filed["obdobieDo"]).all()
    assert (filed["obdobieDo"] < filed["datumPodania"]).all()


def test_an_old_unit_has_many() -> None:
    """Ten to sixteen statements of a unit that was founded long ago and lives on."""
    units = SAMPLE.units.get(SAMPLE.units.ids()).filter(
        pl.col("datumZalozenia") < date(2009, 1, 1), pl.col("datumZrusenia").is_null(),
        pl.col("datumPoslednejUpravy") >= date(2025, 7, 1), pl.col("pravnaForma") == "112",
    )  # fmt: skip
    counts = units["idUctovnychZavierok"].list.len()

    assert units.height > 30
    assert 10 <= counts.min() <= counts.max() <= 17  # type: ignore[operator]


def test_corrections_and_twins(statements: pl.DataFrame) -> None:
    """They stand beside what they correct, unmarked, later and of the same period and kind."""
    filings = filings_of(SAMPLE._store)
    filed = (filings.filing_of("uctovne-zavierky", id_)[0] for id_ in statements["id"])
    roles = [filing.role for filing in filed if filing]
    corrected = statements.filter(pl.Series(roles) == CORRECTION).filter(pl.col("stav").is_null())
    main = statements.filter(pl.Series(roles) == MAIN)
    pairs = corrected.join(main, on=["idUJ", "obdobieDo", "typ"], suffix="_of")

    assert pairs.height > 100
    assert (pairs["id"] > pairs["id_of"]).all()
    assert 0.01 < corrected.height / statements.height < 0.06
    assert 0.003 < statements["konsolidovana"].fill_null(value=False).mean() < 0.04  # type: ignore[operator]
    assert set(statements["typ"].drop_nulls()) == {
        "Riadna", "Mimoriadna", "Priebežná", "Kombinovaná", "Vymyslená",
    }  # fmt: skip


def test_every_awkward_case_can_be_found() -> None:
    """Each kind is listed with its statement and report, and is what it is said to be."""
    cases = SAMPLE.cases(2)
    kinds = set(cases["case"])

    assert kinds == DRAWN | {"correction", "consolidated", "extraordinary"}
    records = SAMPLE.reports.get(cases["report_id"])
    found = cases.with_columns(records.drop("id"))

    def of(kind: str) -> pl.DataFrame:
        return found.filter(pl.col("case") == kind)

    assert of("deleted")["stav"].to_list() == ["ZMAZANÉ"] * 2
    assert of("no_content")["titulnaStrana"].null_count() == 2
    assert of("attachments_only")["idSablony"].null_count() == 2
    assert of("attachments_only")["prilohy"].list.len().to_list() == [1, 1]
    assert of("non_public")["pristupnostDat"].to_list() == ["Neverejné"] * 2
    blank = of("all_blank")["tabulky"].drop_nulls().explode().explode()
    assert set(blank) <= {""}
    statement = of("text_truths")["report_id"].to_list()
    bodies = [SAMPLE._answer("GET", "/api/uctovny-vykaz", f"id={id_}").body for id_ in statement]
    titles = [json.loads(body)["obsah"]["titulnaStrana"] for body in bodies if b"obsah" in body]
    assert all(title["konsolidovana"] in ("true", "false") for title in titles)


@pytest.mark.parametrize("collection", ["annual_reports", *slow("statements", "reports")])
def test_lists_are_the_records(collection: str) -> None:
    """Every listed id has a record, no other has, and days of change are those of the records."""
    sample = fk.sample(60, seed=2)
    records = getattr(sample, collection)
    ids = records.ids()
    frame = records.get(ids)

    for since in (date(2014, 3, 1), date(2020, 4, 1), date(2026, 5, 1)):
        due = frame.filter(pl.col("datumPoslednejUpravy") >= since)["id"]
        assert records.ids(changed_since=since)["id"].equals(due)
        assert records.count(changed_since=since) == due.len()
    listed = set(ids["id"])
    beside = [id_ + step for id_ in ids["id"][:60] for step in (-1, 1) if id_ + step not in listed]
    assert records.get(beside, errors="keep")["datumPoslednejUpravy"].null_count() == len(beside)


@examples(100)
@given(
    st.integers(0, 10_600_000), st.integers(1, 40), st.dates(date(2013, 1, 1), date(2026, 6, 30))
)
def test_pages_of_reports(after: int, size: int, since: date) -> None:
    """From anywhere, of any size: the pages and the count are those of the whole list."""
    whole = SAMPLE.reports.ids(changed_since=since)["id"]
    due = whole.filter(whole > after)

    page = SAMPLE.reports.ids(changed_since=since, after_id=after, limit=size)["id"]

    assert page.equals(due.head(size))
    assert SAMPLE.reports.count(changed_since=since, after_id=after) == due.len()


@pytest.mark.slow
def test_the_same_everywhere() -> None:
    """What is drawn is promised: the same bytes on every machine."""
    digest = hashlib.sha256()
    sample = fk.sample(200, seed=3)
    for collection, endpoint in (("statements", "uctovna-zavierka"), ("reports", "uctovny-vykaz")):
        for id_ in getattr(sample, collection).ids()["id"]:
            digest.update(sample._answer("GET", f"/api/{endpoint}", f"id={id_}").body)

    assert digest.hexdigest()[:16] == "895e9c850febc555"


def test_mixing_one_and_many() -> None:
    """The number of one is the number of many."""
    many = mixed_each(mixed(3, 4), np.arange(9, dtype=np.uint64))

    assert many.tolist() == [mixed(3, 4, number) for number in range(9)]


# What is equal in the current column of a filing: template, table and printed number of rows.
IDENTITIES = """
699.0.1 = 699.1.79          699.1.100 = 699.2.61       699.1.79 = 699.1.80 + 699.1.101 + 699.1.141
687.0.1 = 687.1.24          687.1.33 = 687.2.38        687.1.24 = 687.1.25 + 687.1.34
21.0.1 = 21.1.66            21.1.87 = 22.0.61          21.1.66 = 21.1.67 + 21.1.88 + 21.1.121
690.0.1 = 690.1.115         690.1.125 = 727.1.138      727.1.135 = 727.1.134 - 727.0.64
522.0.1 = 522.1.115         522.1.125 = 521.1.138      521.1.135 = 521.1.134 - 521.0.64
684.0.1 = 684.1.118         684.1.128 = 696.1.140      696.1.137 = 696.1.136 - 696.0.65
690.1.115 = 690.1.116 + 690.1.126 + 690.1.180          522.1.115 = 522.1.116 + 522.1.126 + 522.1.180
684.1.118 = 684.1.119 + 684.1.130 + 684.1.185          690.0.1 = 690.0.2 + 690.0.33 + 690.0.110
1180.0.60 = 1180.1.104      1180.1.72 = 1180.3.78      1180.3.75 = 1180.3.74 - 1180.2.38
385.0.60 = 385.1.104        385.1.73 = 385.3.78        385.3.75 = 385.3.74 - 385.2.38
1164.1.26 = 1164.0.16 - 1164.1.25                      1164.3.17 = 1164.2.11 - 1164.3.16
383.1.26 = 383.0.16 - 383.1.25                         383.3.17 = 383.2.11 - 383.3.16
"""
Rows = dict[tuple[int, int, int | None], int]


def identities() -> list[list[tuple[int, tuple[int, int, int]]]]:
    """Return the identities as signed rows that add up to nothing."""
    found = []
    for text in re.findall(r"\d+\.\d\.\d+ = .*?(?:  |\n)", IDENTITIES):
        terms = re.findall(r"([-+=]?) ?(\d+)\.(\d)\.(\d+)", text)
        signs = [1, *(1 if sign == "-" else -1 for sign, *_ in terms[1:])]
        rows = [(int(form), int(table), int(number)) for _, form, table, number in terms]
        found.append(list(zip(signs, rows, strict=True)))
    return found


def broken(filing: Rows) -> tuple[int, list[object]]:
    """Return how many identities a filing has the rows of, and those that do not hold."""
    own = [terms for terms in identities() if all(row in filing for _, row in terms)]
    return len(own), [terms for terms in own if sum(sign * filing[row] for sign, row in terms)]


def test_identities_are_read() -> None:
    """All of them, with the signs as written."""
    assert len(identities()) == 32
    assert identities()[2] == [
        (1, (699, 1, 79)), (-1, (699, 1, 80)), (-1, (699, 1, 101)), (-1, (699, 1, 141)),
    ]  # fmt: skip
    assert identities()[11][2] == (1, (727, 0, 64))


def current(template: int, table: int, values: np.ndarray[Any, Any]) -> Rows:
    """Return the rows of a table in the current period: net, total, or untaxed and taxed."""
    columns = form(template).tables[table].columns
    wanted = [
        place
        for place, column in enumerate(columns)
        if (column.period, column.measure)
        in (("current", "net"), ("current", "total"), ("current", None), (None, "untaxed"),
            (None, "taxed"))
    ]  # fmt: skip
    rows = form(template).tables[table].rows
    amounts = values[:, wanted].sum(axis=1).tolist()
    return {
        (template, table, row.number): amount for row, amount in zip(rows, amounts, strict=True)
    }


@pytest.mark.parametrize(
    "kind",
    quick([
        "large", "micro", "old", "municipality", "municipality_old", "organisation",
        "organisation_old", "consolidated", "non_profit", "non_profit_old", "single_entry",
        "single_entry_old",
    ], 4),
)  # fmt: skip
def test_figures_balance(kind: str) -> None:
    """Assets equal equity and liabilities, and profit is the result's, for any key."""
    drawn = form_of(kind)
    for key in range(50):
        whole = 9 * 10**4 * (key + 1)
        (figures,) = drawn.draw(mixed(key), Year(mixed(key, 2), 10**5 * (key + 1), whole))
        filing: Rows = {}
        for report, (template, places) in enumerate(drawn.plan.forms):
            tables = drawn.tables(report, figures)
            for place, table in zip(sorted(places), tables, strict=True):
                filing |= current(template, place, table.values)
        first, places = drawn.plan.forms[0]
        assert whole in [amount for row, amount in filing.items() if row[:2] == (first, places[0])]
        many, wrong = broken(filing)
        assert many >= 2
        assert wrong == []


@pytest.mark.slow
def test_every_filing_balances(statements: pl.DataFrame) -> None:
    """Of all forms, in all years: assets, equity and liabilities, the result in both places."""
    listed = statements.gather_every(2)["idUctovnychVykazov"].explode().drop_nulls()
    tables = SAMPLE.reports.get(listed).drop_nulls("tabulky").drop_nulls("idSablony")
    filings: dict[int, Rows] = {}
    for row in tables.select("id", "idUctovnejZavierky", "idSablony", "tabulky").iter_rows():
        id_, statement, template, cells = row
        if case(id_) in ("sum", "all_blank", "previous_only"):
            continue
        for place, data in enumerate(cells):
            width = len(form(template).tables[place].columns)
            cents = [round(float(cell or 0) * 100) for cell in data]
            values = np.array(cents, dtype=np.int64).reshape(-1, width)
            filings.setdefault(statement, {}).update(current(template, place, values))

    checked = {statement: broken(filing) for statement, filing in filings.items()}

    assert {row[0] for filing in filings.values() for row in filing} == {*IN_USE}
    assert min(many for many, _ in checked.values()) >= 2
    assert [found for found in checked.items() if found[1][1]] == []


IN_USE = (699, 687, 21, 22, 690, 727, 684, 696, 522, 521, 1180, 385, 1164, 383)


@pytest.mark.slow
def test_who_files_in_the_sample() -> None:
    """The shares of kinds of units and of filings, as the docstring of `fk.sample` has them."""
    sample = fk.sample()
    form = pl.col("pravnaForma")
    municipalities, regions = (
        sample.units.get(sample.units.ids(legal_form_code=code)).filter(pl.col("stav").is_null())
        for code in ("801", "803")
    )
    assert sorted(municipalities["sidlo"]) == sorted(sample.municipalities()["code"])
    assert set(municipalities["skNace"]) == {"84110"}
    assert regions["kraj"].n_unique() == regions.height == 8

    drawn = sample.units.get(sample.units.ids().sample(2_000, seed=1))
    units = drawn.filter(pl.col("stav").is_null())
    statements = sample.statements.get(drawn["idUctovnychZavierok"].explode().drop_nulls())
    assert 0.01 < units.filter(form.is_in(["321", "331", "621"])).height / units.height < 0.03
    assert 0.06 < units.filter(form.is_in(["701", "117", "119", "120"])).height / units.height < 0.1
    active = units.filter(
        pl.col("datumZrusenia").is_null(),
        pl.col("datumZalozenia") < date(2024, 1, 1),
        form != "101",
    )
    of_2024 = statements.filter(pl.col("obdobieDo").dt.year() == 2024)["idUJ"].drop_nulls()
    assert 0.7 < active["id"].is_in(of_2024.implode()).mean() < 0.9  # type: ignore[operator]

    kinds = dict(statements["typ"].value_counts(normalize=True).iter_rows())
    for kind, share in (("Priebežná", 0.005), ("Kombinovaná", 0.003), ("Vymyslená", 0.002)):
        assert 0.7 * share < kinds[kind] < 1.3 * share
    whole = statements.filter(pl.col("stav").is_null())
    assert 0.003 < whole["obdobieDo"].null_count() / whole.height < 0.007

    listed = statements.filter(pl.col("obdobieDo").dt.year() == 2023)["idUctovnychVykazov"]
    reports = sample.reports.get(listed.explode().drop_nulls())
    firms = reports.filter(pl.col("idSablony").is_in([687, 699]), pl.col("tabulky").is_not_null())
    size = firms["titulnaStrana"].struct.field("typUctovnejJednotky").fill_null("mikro")
    shares = dict(size.value_counts(normalize=True).iter_rows())
    assert 0.87 < shares["mikro"] < 0.93
    assert 0.05 < shares["malá"] < 0.11
    assert 0.005 < shares["veľká"] < 0.03
    owes = [
        amount < 0
        for id_, template, tables in firms.select("id", "idSablony", "tabulky").iter_rows()
        if case(id_, sample) is None
        for amount in [float(tables[1][2] or 0)]
    ]
    assert 0.02 < sum(owes) / len(owes) < 0.04


def test_file_and_correct() -> None:
    """A new filing has ids above all others; a correction is one more of the same year."""
    sample = fk.sample(300, seed=5)
    units = sample.units.ids(limit=3)
    before = sample.statements.ids()["id"]
    sample.set_today("2026-07-15")

    filed = sample.file(units, year=2025)
    corrected = sample.correct(filed[:1], on="2026-07-20")

    assert filed["id"].min() > before.max()  # type: ignore[operator]
    assert sample.statements.ids(changed_since="2026-07-15").equals(pl.concat([filed, corrected]))
    records = sample.statements.get(pl.concat([filed, corrected]))
    assert records["idUJ"].to_list() == [*units["id"], units["id"][0]]
    assert set(records["obdobieDo"].dt.year()) == {2025}
    assert records["datumPodania"].to_list() == [date(2026, 7, 15)] * 3 + [date(2026, 7, 20)]
    owned = sample.units.get(units)
    assert filed["id"][0] in owned["idUctovnychZavierok"][0].to_list()
    assert corrected["id"][0] in owned["idUctovnychZavierok"][0].to_list()
    assert owned["datumPoslednejUpravy"].to_list()[1:] == [date(2026, 7, 15)] * 2
    ids = records["idUctovnychVykazov"].explode().to_list()
    reports = sample.reports.get(ids)
    assert sample.reports.ids(changed_since="2026-07-15")["id"].to_list() == sorted(ids)
    tables = reports["tabulky"].to_list()
    assert tables[0] != tables[3]
    assert failing(reports["idSablony"][3], tables[3]) == []
    with pytest.raises(fk.UsageError, match="no statement"):
        sample.correct(5)
    with pytest.raises(fk.UsageError, match="year"):
        sample.file(units, year=2009)


def filed_with(case: str | None, year: int = 2024) -> tuple[Sample, dict[str, Any], Any]:
    """Return the sample, the statement and the reports of one filing, as they are sent."""
    sample = fk.sample(40, seed=2)
    units = sample.units.get(sample.units.ids()).filter(pl.col("pravnaForma") == "112")
    statement = sent(sample, "uctovna-zavierka", sample.file(units["id"][0], year=year, case=case))
    reports = [
        sent(sample, "uctovny-vykaz", id_) for id_ in statement.get("idUctovnychVykazov", ())
    ]
    return sample, statement, reports


def sent(sample: Sample, endpoint: str, id_: object) -> dict[str, Any]:
    number = id_.item() if isinstance(id_, pl.DataFrame) else id_
    found: dict[str, Any] = json.loads(
        sample._answer("GET", f"/api/{endpoint}", f"id={number}").body
    )
    return found


def changes(case: str, year: int = 2024) -> dict[str, object]:
    """Return what a filing has other than one that is not awkward, by its path; None is absent."""
    found: dict[str, object] = {}

    def compare(path: str, plain: object, awkward: object) -> None:
        if isinstance(plain, dict) and isinstance(awkward, dict):
            for name in plain.keys() | awkward.keys():
                compare(f"{path}.{name}", plain.get(name), awkward.get(name))
        elif plain != awkward:
            found[path] = awkward

    (_, plain, reports), (_, awkward, others) = filed_with(None, year), filed_with(case, year)
    compare("statement", plain, awkward)
    compare("report", reports[0], others[0] if others else {})
    return found


FLAG = "konsolidovanaZavierkaUstrednejStatnejSpravy"
SUMMARY = "suhrnnaUctovnaZavierkaVerejnejSpravy"
TITLE = "report.obsah.titulnaStrana"


@pytest.mark.parametrize(
    ("case", "expected"),
    quick([
        ("interim", {"statement.typ": "Priebežná", f"{TITLE}.typZavierky": "Priebežná"}),
        ("combined", {"statement.typ": "Kombinovaná", f"{TITLE}.typZavierky": "Kombinovaná"}),
        ("extraordinary", {"statement.typ": "Mimoriadna", f"{TITLE}.typZavierky": "Mimoriadna"}),
        ("unknown_kind", {"statement.typ": "Vymyslená", f"{TITLE}.typZavierky": "Vymyslená"}),
        ("no_kind", {"statement.typ": None}),
        ("no_kind_anywhere", {"statement.typ": None, f"{TITLE}.typZavierky": None}),
        (
            "no_kind_short",
            {"statement.typ": None, f"{TITLE}.typZavierky": None, "statement.obdobieOd": "2024-07",
             f"{TITLE}.obdobieOd": "2024-07", f"{TITLE}.predchadzajuceObdobieOd": "2023-07"},
        ),
        (
            "short_period",
            {"statement.obdobieOd": "2024-07", f"{TITLE}.obdobieOd": "2024-07",
             f"{TITLE}.predchadzajuceObdobieOd": "2023-07"},
        ),
        ("no_period", {"statement.obdobieDo": None, f"{TITLE}.obdobieDo": None}),
        (
            "year_9999",
            {"statement.obdobieDo": "9999-12", "statement.datumZostaveniaK": "9999-12-31",
             f"{TITLE}.obdobieDo": "9999-12", f"{TITLE}.predchadzajuceObdobieDo": "9998-12"},
        ),
        ("consolidated", {"statement.konsolidovana": True, f"{TITLE}.konsolidovana": True}),
        ("central_government", {f"statement.{FLAG}": True, f"{TITLE}.{FLAG}": True}),
        ("summary", {f"statement.{SUMMARY}": True, f"{TITLE}.{SUMMARY}": True}),
        ("unknown_template", {"report.idSablony": 9_999}),
        ("other_currency", {"report.mena": "USD"}),
        ("unreadable", {"statement.datumPodania": "včera"}),
        ("unreadable_report", {"report.mena": 978}),
    ]),
)  # fmt: skip
def test_a_named_case_changes_that_and_nothing_else(case: str, expected: dict[str, object]) -> None:
    """Beside what the case is about the filing is the one without it."""
    assert changes(case) == expected


def test_funds_are_named_apart() -> None:
    """Two funds of one unit file each for itself."""
    names = {changes(case)["statement.nazovFondu"] for case in ("fund", "other_fund")}

    assert len(names) == 2
    assert None not in names


def test_filings_of_others_name_them() -> None:
    """The unit lists a statement of another one, a statement a report of another one."""
    sample, statement, reports = filed_with("not_own_statement")
    other = sample.units.ids(limit=1)["id"].item()
    assert statement["idUJ"] == other
    (lists,) = (
        unit
        for unit in sample.units.get(sample.units.ids()).to_dicts()
        if statement["id"] in (unit["idUctovnychZavierok"] or ())
    )
    assert lists["id"] != other
    assert reports[0]["idUctovnejZavierky"] == statement["id"]

    sample, statement, reports = filed_with("not_own_report")
    former = sent(sample, "uctovna-zavierka", reports[0]["idUctovnejZavierky"])
    assert former["id"] < statement["id"]
    assert former["idUJ"] == statement["idUJ"]


def test_two_reports_on_one_form_have_other_figures() -> None:
    """Whichever counts can be seen in the figures; each holds its sums."""
    _, _, (first, second) = filed_with("two_of_one_form")

    assert first["idSablony"] == second["idSablony"]
    tables = [[table["data"] for table in report["obsah"]["tabulky"]] for report in (first, second)]
    assert tables[0] != tables[1]
    assert [failing(first["idSablony"], each) for each in tables] == [[], []]


def test_tables_are_named_in_english_where_the_register_is() -> None:
    """The package's translation of a form is no part of a reply."""
    named = {
        report["idSablony"]: [table["nazov"].get("en") for table in report["obsah"]["tabulky"]]
        for report in (*filed_with(None, 2013)[2], *filed_with(None, 2024)[2])
    }

    official = ["Assets", "Liabilities and equity", "Income statement"]
    assert named.pop(699, official) == official
    assert named == {21: [None, None], 22: [None], **({687: [None] * 3} if 687 in named else {})}


def test_half_of_an_old_filing_is_its_balance_sheet() -> None:
    """One of two reports is missing; from 2014 on there is one, which is no half."""
    assert {report["idSablony"] for report in filed_with(None, 2013)[2]} == {21, 22}
    assert [report["idSablony"] for report in filed_with("half", 2013)[2]] == [21]
    with pytest.raises(fk.UsageError, match=r"case='half' .* up to 2013; in 2024"):
        filed_with("half", 2024)


def test_a_text_stands_where_the_total_was() -> None:
    """One cell of the report, and the only one that changed."""
    plain, awkward = (filed_with(case)[2][0] for case in (None, "not_a_number"))
    cells, others = (report["obsah"]["tabulky"][0]["data"] for report in (plain, awkward))
    (place,) = (n for n, cell in enumerate(cells) if cell != others[n])
    width = len(form(plain["idSablony"]).tables[0].columns)

    assert place == width - 2  # net, this year, of the first row
    assert others[place] == "1e3"


@pytest.mark.parametrize(
    "case",
    [*sorted(DRAWN)[::8], *slow(*(c for place, c in enumerate(sorted(DRAWN)) if place % 8))],
)
def test_what_is_drawn_can_be_filed_and_corrected_by_name(case: str) -> None:
    """The same difficulty as that of the sample's own filings of this name."""
    sample, statement, _ = filed_with(case)
    correction = sample.correct(statement["id"], case=case)["id"].item()

    cases = sample.cases(10**6).filter(case=case)["statement_id"].to_list()
    assert {statement["id"], correction} <= set(cases)
    assert changes(case)


def test_every_case_is_documented_and_no_other_is_known() -> None:
    """The table of `Sample.file` has what can be filed; another name is refused, unsent."""
    documented = re.findall(r"^ *``(\w+)``  ", Sample.file.__doc__ or "", re.MULTILINE)
    sample = fk.sample(10)
    before = sample._store

    assert sorted(documented) == sorted(all_cases())
    with pytest.raises(fk.UsageError, match=r"case='x' is not known; give one of \['sum'"):
        sample.file(1, year=2024, case="x")
    with pytest.raises(fk.UsageError, match="case=1 is not known"):
        sample.correct(1, case=1)  # type: ignore[arg-type]
    assert sample._store is before


@pytest.mark.slow
def test_a_reply_after_a_filing_does_not_go_through_all_filings() -> None:
    """What is known of each is put together once per filing and not once per reply: see memory."""
    sample = fk.sample()
    filed = sample.file(sample.units.ids(limit=50), year=2024)
    ids = sample.statements.get(filed)["idUctovnychVykazov"].explode().to_list()
    sample.reports.get(ids)
    sample.reports.count()
    filings = filings_of(sample._store)

    tracemalloc.start()
    try:
        for id_ in ids:
            assert sample._answer("GET", "/api/uctovny-vykaz", f"id={id_}").status == 200
        assert sample.reports.count(after_id=ids[0]) == len(ids) - 1
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < len(filings.drawn.slots)  # a byte per filing, the shortest column


def test_units_that_vanish_leave_their_filings() -> None:
    """They stay in the lists and have their records."""
    sample = fk.sample(50, seed=1)
    units = sample.units.get(sample.units.ids()).drop_nulls("idUctovnychZavierok")
    unit, theirs = units.select("id", "idUctovnychZavierok").row(-1)
    before = sample.statements.get(theirs)

    sample.vanish(unit)

    assert sample.statements.get(theirs).equals(before)
    assert before["idUJ"].drop_nulls().unique().to_list() == [unit]
    assert set(theirs) <= set(sample.statements.ids()["id"])


def test_a_unit_with_the_id_of_one_that_vanished_has_filed_nothing() -> None:
    """The filings of the former unit are not those of the new one."""
    sample = fk.sample(50, seed=1)
    units = sample.units.get(sample.units.ids())
    unit = units.drop_nulls("idUctovnychZavierok")["id"][0]

    sample.vanish(units["id"])
    sample.publish(unit)

    record = sample.units.get(unit)
    assert record["stav"].item() is None
    assert record["idUctovnychZavierok"].item() is None


def test_reports_repeat_the_fields_of_the_unit_that_filed() -> None:
    """Of a unit that was published later, also under the id of one that vanished."""
    sample = fk.sample(5, seed=1)
    first = sample.units.ids()["id"][0]
    sample.vanish(sample.units.ids())
    sample.publish(first - 1)
    last = sample.publish(nazovUJ="Druhá")["id"].item()
    assert last == first

    filed = sample.statements.get(sample.file(last, year=2024))

    reports = sample.reports.get(filed["idUctovnychVykazov"].explode())
    titles = reports["titulnaStrana"].struct.field("nazovUctovnejJednotky")
    assert titles.drop_nulls().unique().to_list() == ["Druhá"]


def test_files_are_what_records_say(reports: pl.DataFrame) -> None:
    """A PDF of the size and the digest of its record, at its own address."""
    files = reports["prilohy"].explode().drop_nulls().head(20).to_list()
    for file in files:
        path = f"/domain/financialreport/attachment/{file['id']}"
        reply = SAMPLE._answer("GET", path, "")
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/pdf"
        assert reply.body.startswith(b"%PDF-")
        assert len(reply.body) == file["velkostPrilohy"]
        assert hashlib.sha256(reply.body).hexdigest() == file["digest"]
    for name in ("1", "", "x", "-1", "9" * 40, "٣", f"{files[0]['id']}/"):
        missing = SAMPLE._answer("GET", f"/domain/financialreport/attachment/{name}", "")
        assert missing.status == 404, name


def test_a_report_with_content_is_served_as_a_pdf(reports: pl.DataFrame) -> None:
    """By the id of the report, as the live register does; one without content has none."""
    folder = "/domain/financialreport/pdf"
    with_content = reports.filter(pl.col("tabulky").is_not_null())["id"].head(5).to_list()
    without = reports.filter(pl.col("tabulky").is_null(), pl.col("titulnaStrana").is_null())["id"]
    files = [SAMPLE._answer("GET", f"{folder}/{id_}", "") for id_ in with_content]

    assert {reply.status for reply in files} == {200}
    assert {reply.headers["Content-Type"] for reply in files} == {"application/pdf"}
    assert len({reply.body for reply in files}) == 5
    for name in (without[0], "2", "x", f"1/{with_content[0]}"):
        assert SAMPLE._answer("GET", f"{folder}/{name}", "").status == 404, name


def test_files_are_whole_pdfs(reports: pl.DataFrame) -> None:
    """Their table names the place of each object, as readers of PDF expect."""
    (file,) = reports["prilohy"].explode().drop_nulls().head(1).to_list()
    body = SAMPLE._answer("GET", f"/domain/financialreport/attachment/{file['id']}", "").body

    table = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n$", body)[0])
    assert body[table:].startswith(b"xref\n0 4\n0000000000 65535 f \n")
    places = re.findall(rb"(\d{10}) 00000 n \n", body[table:])
    assert [body[int(place) :].split(b" obj")[0] for place in places] == [b"1 0", b"2 0", b"3 0"]


def test_every_template_that_a_report_names_is_served(reports: pl.DataFrame) -> None:
    """But for the one of a difficult case, which no register has."""
    named = set(reports["idSablony"].drop_nulls().to_list())

    assert 716 in named
    for template in named:
        assert SAMPLE.template(template).height >= 0
        assert SAMPLE._answer("GET", "/api/sablona", f"id={template}").status == 200


def test_selected_data_under_ifrs_have_rows_without_a_mark() -> None:
    """Template 5183: of six tables four have no column of marks, and one prints them elsewhere."""
    body = json.loads(SAMPLE._answer("GET", "/api/sablona", "id=5183").body)
    shapes = [
        (t["pocetStlpcov"], len(t["riadky"]), sum("oznacenie" in row for row in t["riadky"]))
        for t in body["tabulky"]
    ]

    assert shapes == [(5, 36, 34), (4, 7, 0), (4, 7, 0), (4, 37, 0), (4, 4, 0), (4, 2, 2)]
    assert SAMPLE.template(5183).height == 93


@pytest.mark.slow
def test_nothing_is_stored() -> None:
    """The same record twice is drawn twice; what is kept of units is bounded."""
    sample = fk.sample(2_000, seed=9)
    sample.reports.get(sample.reports.ids(limit=1_000))
    filings = filings_of(sample._store)

    kept = filings.drawn.unit.cache_info()
    assert kept.maxsize is not None
    assert kept.currsize <= kept.maxsize < 1_000


@pytest.mark.slow
def test_no_filing_changes_without_being_listed() -> None:
    """A later correction of the year before, or the end of a later unit, leaves reports alone."""
    sample = fk.sample(20, seed=4)
    new = sample.publish(3)
    sample.file(new, year=2023, on="2026-01-02")
    sample.file(new, year=2024, on="2026-02-02")
    ids = sample.reports.ids()
    before = sample.reports.get(ids)

    sample.correct(sample.statements.ids())
    sample.delete(new["id"][0])
    sample.hide(new["id"][1])
    sample.vanish(new["id"][2])

    assert sample.reports.get(ids).equals(before)
