"""From units to figures: equal to what was drawn, with a reason for everything that is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from functools import cache, partial
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.frames.financials import (
    assemble as assembling,
    filings as filing_rules,
    items,
    ratios,
)
from finstat_kit.frames.financials.assemble import CARRIED
from finstat_kit.protocol.wire import Reply
from tests.support.examples import slow
from tests.support.expected_figures import ratios_of, truth
from tests.support.registers import Watched, altered

SAMPLE = fk.sample(1_000, seed=5)
BUSINESS = items.of_families(["business"])
RATIOS = [name for name in ratios.NAMES if 699 in ratios.forms_of(name)]


@cache
def all_units() -> pl.DataFrame:
    return SAMPLE.units.get(SAMPLE.units.ids())


@cache
def filing() -> pl.DataFrame:
    return all_units().filter(pl.col("idUctovnychZavierok").list.len() >= 10)


def firms() -> pl.DataFrame:
    return filing().filter(pravnaForma="112")


@cache
def filed_by_some() -> pl.DataFrame:
    return SAMPLE.filings(all_units().head(300))


def check(sample: Sample, money: pl.DataFrame) -> dict[str | None, int]:
    """Compare figures, reasons and ratios of each row with what was drawn; count the reasons."""
    seen: dict[str | None, int] = {}
    computed = fk.ratios(money)
    for row, ratio in zip(money.iter_rows(named=True), computed.iter_rows(named=True), strict=True):
        where = row["unit_id"], row["year"]
        drawn = truth(sample, *where)
        assert row["reason"] == drawn.reason, where
        expected = {k: None if v is None else float(v) for k, v in drawn.figures.items()}
        # An item of a family that no unit is of has no column.
        assert {name: row.get(name) for name in expected} == expected, where
        for name, value in ratios_of(drawn.figures, row["year"], row["template"]).items():
            if value is None or isinstance(value, bool):
                assert ratio.get(name) is value, (where, name)
            else:
                assert ratio.get(name) == pytest.approx(float(value), rel=1e-12), (where, name)
        seen[row["reason"]] = seen.get(row["reason"], 0) + 1
    return seen


def test_a_few_units_are_what_was_drawn() -> None:
    """Figures, reasons and ratios, on the old forms and the new ones."""
    years = [2012, 2021]
    money = SAMPLE.financials(all_units().sample(24, seed=15), years)

    assert set(check(SAMPLE, money)) >= {None, "no_filing", "no_filing_for_year", "non_public"}
    families = money["family"].drop_nulls().unique().to_list()
    assert {"business", "public", "non_profit"} <= {*families}
    assert money.schema == assembling.schema(items.of_families(families))


@pytest.mark.slow
def test_units_of_everybody_in_three_years_are_what_was_drawn() -> None:
    """On the sample that everybody has; every reason occurs."""
    sample = fk.sample()
    units = sample.units.get(sample.units.ids()["id"].sample(600, seed=1))

    seen = check(sample, sample.financials(units, [2013, 2017, 2020]))

    assert sum(seen.values()) == 1_800
    assert set(seen) == {
        None, "deleted", "non_public", "no_filing", "no_filing_for_year", "attachments_only",
        "no_content", "all_blank", "interim_only", "other_kind", "unreadable",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("histories", ["long", "all"])
def test_how_many_requests(histories: str) -> None:
    """At most 3.5 statements per unit for the newest year, and one report or two of its filing."""
    units = firms().head(100) if histories == "long" else all_units().sample(80, seed=1)
    statements = sorted(units["idUctovnychZavierok"].list.len().fill_null(0))
    watched = Watched(SAMPLE)
    watched.financials(filing().tail(20), [2012, 2016])  # requests the templates
    for year in (2024, 2025):
        watched.asked.clear()
        watched.financials(units, year)
        of_statements = sum("zavierka" in target for target in watched.asked) / units.height
        print(f"{year}: {of_statements:.2f} of {sum(statements) / units.height:.2f} statements")
        assert of_statements <= 3.5
        assert len(watched.asked) / units.height <= of_statements + 1.5

    assert statements[units.height // 2] >= (12 if histories == "long" else 3)


@pytest.mark.slow
def test_the_year_before() -> None:
    """Rows from the previous column are marked; ten years take five filings."""
    units = filing().head(40)

    money = SAMPLE.financials(units, [2015, 2017, 2019], from_previous=True)

    now = money.filter(source_column="current")
    before = money.filter(source_column="previous")
    assert set(before["year"]) == {2014, 2016, 2018}
    assert now.equals(SAMPLE.financials(units, [2015, 2017, 2019]))
    assert before["reason"].null_count() == before.height > 80
    assert before["months"].eq(12).sum() > 0.9 * before.height
    assert before["sums_failing"].null_count() == before.height
    # Where the two tellings of a year differ is four lines.
    both = SAMPLE.financials(units, range(2014, 2020), from_previous=True)
    told = both.pivot("source_column", index=["unit_id", "year"], values="sales")
    differ = told.drop_nulls().filter(pl.col("current") != pl.col("previous"))
    assert 0 < differ.height < 0.2 * told.drop_nulls().height


def test_what_is_carried_along() -> None:
    """Codes of the units, so that labels, counts and maps work at once."""
    with fk.using(SAMPLE):
        money = fk.financials(all_units().head(20), 2016)

        labelled = fk.resolve_labels(money, columns=[*CARRIED])
        counts = fk.count_by(money, "kraj")

    labels = {"region", "district", "legal_form", "activity", "size_class"}
    assert labels <= set(labelled.columns)
    for field in (*CARRIED, "datumZalozenia", "datumZrusenia"):
        assert money[field].to_list() == all_units().head(20)[field].to_list()
    assert counts["count"].sum() == money.height
    assert money["name"].to_list() == all_units().head(20)["nazovUJ"].to_list()


def test_what_the_title_page_says_stands_beside_the_codes_of_today() -> None:
    """Activity, seat and postcode as filed, from the report that the figures are taken from."""
    money = SAMPLE.financials(filing().head(4), [2012, 2017])
    read = money.drop_nulls("report_id")
    reports = SAMPLE.reports.get(read["report_id"])

    pages = dict(reports.select("id", "titulnaStrana").iter_rows())
    for row in read.iter_rows(named=True):
        page = pages[row["report_id"]]
        filed = page["skNace"], page["adresa"]["mesto"], page["adresa"]["psc"]
        assert (row["nace_filed"], row["seat_filed"], row["postcode_filed"]) == filed
    assert read["seat_filed"].null_count() < read.height
    without = money.filter(pl.col("report_id").is_null())
    assert without.select(assembling.FILED).null_count().row(0) == (without.height,) * 3


@pytest.mark.slow
def test_the_consolidated_twin_and_the_older_correction() -> None:
    """Neither is taken for the statement of the year."""
    filed = filed_by_some()
    corrected = filed.drop_nulls("superseded_by")
    twins = SAMPLE.filings(all_units().head(300), consolidated=True).drop_nulls("statement_id")
    units = pl.concat([corrected["unit_id"].head(15), twins["unit_id"].head(15)]).unique()
    years = pl.concat([corrected["year"].head(15), twins["year"].head(15)]).unique().to_list()

    money = SAMPLE.financials(all_units().filter(pl.col("id").is_in(units.implode())), years)

    check(SAMPLE, money)
    taken = set(money["statement_id"].drop_nulls())
    # A correction without figures leaves those of what it corrects.
    newest = money.filter(pl.col("superseded_by").is_null())["statement_id"].drop_nulls()
    assert set(newest).isdisjoint(corrected["statement_id"])
    assert taken.isdisjoint(twins["statement_id"])
    consolidated = SAMPLE.financials(twins["unit_id"].head(3), twins["year"][0], consolidated=True)
    assert consolidated["consolidated"].drop_nulls().all()


def test_two_periods_that_end_in_a_year() -> None:
    """The regular one is the row, and it is told that there are two."""
    filed = filed_by_firms().filter("counts")
    special = filed.filter(kind="Mimoriadna").join(
        filed.filter(kind="Riadna"), on=["unit_id", "year"]
    )
    unit, year = special.select("unit_id", "year").row(0)

    row = SAMPLE.financials([unit], year).row(0, named=True)

    assert (row["kind"], row["months"], row["periods_in_year"]) == ("Riadna", 12, 2)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (lambda form: form["riadky"][0]["text"].update(sk="iné"), {"total_assets"}),
        (lambda form: form["riadky"].append(form["riadky"][-1]), {"total_assets", "inventories"}),
        *slow(
            (
                lambda form: form["riadky"].insert(40, form["riadky"][3]),
                {"total_assets", "inventories"},
            ),
            (
                lambda form: [cell["text"].update(sk="Iné") for cell in form["hlavicka"]],
                {"total_assets", "inventories"},
            ),
        ),
    ],
)
def test_where_a_form_has_moved_there_is_no_number_but_the_reason(
    change: Callable[[dict[str, Any]], object], lost: set[str]
) -> None:
    """The others are there, the reason beside them; another number of rows or column moves all."""

    def moved(form: dict[str, object]) -> None:
        if form["id"] == 699:
            change(form["tabulky"][0])  # type: ignore[index]

    whole = money_of_some(2016).filter(template=699)
    row = whole.drop_nulls(["total_assets", "inventories", "sales"]).row(0, named=True)
    unit = row["unit_id"]
    seen = row_of(altered(SAMPLE, moved, "sablona"), unit, 2016)

    assert (row["template"], row["reason"], seen["reason"]) == (699, None, "caption_mismatch")
    assert {name for name in lost if seen[name] is None} == lost
    kept = {name: seen[name] for name in ("equity", "sales", "net_profit")}
    assert kept == {name: row[name] for name in kept}
    summary = fk.summary(pl.DataFrame([seen], schema=whole.schema), "total_assets", None)
    assert summary["reasons"].to_list() == [[{"reason": "caption_mismatch", "count": 1}]]


def test_the_limit_of_requests_is_checked_by_the_records_too() -> None:
    """Ids show no number of statements; of filings no report is requested, and none counts."""
    unit = all_units().sort(pl.col("idUctovnychZavierok").list.len()).tail(1)
    statements = unit["idUctovnychZavierok"].list.len().item()
    watched = Watched(SAMPLE)

    assert watched.filings(unit, max_requests=statements)["statement_id"].null_count() == 0
    assert len(watched.asked) == statements
    with pytest.raises(fk.UsageError, match=f"this needs {1 + statements} requests"):
        watched.filings(unit["id"], max_requests=statements)
    assert len(watched.asked) == statements + (statements > 12)


def test_records_of_another_type_are_refused_by_name() -> None:
    """As a csv gives them: the error names the column, its type and the right one."""
    for name, dtype in (("datumZalozenia", pl.String), ("ico", pl.Int64), ("kraj", pl.Int64)):
        units = all_units().head(2).with_columns(pl.lit(None, dtype).alias(name))
        with pytest.raises(fk.UsageError, match=f"units: the column {name!r} is {dtype}"):
            SAMPLE.financials(units, 2016)


@pytest.mark.slow
def test_a_length_that_does_not_fit() -> None:
    """No number of the report comes out; the reason says so."""

    def cut(record: dict[str, object]) -> None:
        for table in (record.get("obsah") or {}).get("tabulky", [])[1:2]:  # type: ignore[attr-defined]
            table["data"].pop()

    units = filing().head(3)

    money = altered(SAMPLE, cut).financials(units, 2016)

    usual = SAMPLE.financials(units, 2016)
    readable = usual["reason"].is_null() | (usual["reason"] == "all_blank")
    assert set(money.filter(readable)["reason"]) == {"length_mismatch"}
    assert money.select(BUSINESS).null_count().sum_horizontal()[0] == 3 * len(BUSINESS)


@pytest.mark.parametrize(
    ("template", "reason"),
    [(716, "item_not_in_form"), *slow((733, "template_missing"), (725, "item_not_in_form"))],
)
def test_forms_without_items(template: int, reason: str) -> None:
    """Tables of another form: the form is named, and so is the reason; the sample has no 733."""

    def other(record: dict[str, object]) -> None:
        if record.get("idSablony") in (687, 699):
            record["idSablony"] = template

    money = altered(SAMPLE, other).financials(firms().head(4), 2016)

    off = money.filter(pl.col("reason") == reason)
    assert off.height > 1
    assert set(off["template"]) == {template}


@cache
def filed_regularly() -> pl.DataFrame:
    return all_units().filter(
        pl.col("stav").is_null(),
        pl.col("datumZalozenia").dt.year() < 2010,
        pl.col("datumZrusenia").is_null(),
        pl.col("pravnaForma") == "112",
        pl.col("idUctovnychZavierok").list.len().is_between(8, 20),
    )


# No figures of any of them.
ITEMS = pl.col(BUSINESS)


@cache
def filed_by_firms() -> pl.DataFrame:
    return SAMPLE.filings(filed_regularly())


@cache
def without(year: int) -> list[int]:
    """Return the units that have filed, but not for a year, and no statement of an unknown one."""
    hidden = pl.col("year").is_null() & (pl.col("reason") != "deleted")
    filed = filed_by_firms().filter((pl.col("year") == year) | hidden)["unit_id"]
    return filed_regularly().filter(~pl.col("id").is_in(filed.implode()))["id"].to_list()


@cache
def money_of_some(year: int) -> pl.DataFrame:
    """Return figures of units with one filing of a year."""
    return SAMPLE.financials(filed_regularly().head(40), year).filter(
        pl.col("reason").is_null(), pl.col("sums_failing") == 0, supersedes=0, periods_in_year=1
    )


def with_one(year: int) -> list[tuple[int, int]]:
    """Return units with one filing of a year, which has figures, and its statement."""
    return money_of_some(year).select("unit_id", "statement_id").rows()


def filed_as(case: str | None, year: int) -> tuple[Sample, int, int]:
    """Return a sample, a unit and its one statement of a year, filed with a difficulty."""
    sample, unit = fk.sample(1_000, seed=5), without(year)[0]
    return sample, unit, sample.file([unit], year=year, case=case)["id"][0]


def corrected_as(*cases: str, year: int = 2016) -> tuple[Sample, int, list[int]]:
    """Return a sample, a unit and the ids of its statement of a year and of its corrections."""
    sample, (unit, statement) = fk.sample(1_000, seed=5), with_one(year)[0]
    ids = [statement]
    for case in cases:
        ids += sample.correct([statement], case=case or None)["id"].to_list()
    return sample, unit, ids


def row_of(register: fk.Register, unit: int, year: int) -> dict[str, Any]:
    (row,) = register.financials(filer(register, unit, year), year).iter_rows(named=True)
    return row


@cache
def usual_row(unit: int, year: int) -> dict[str, Any]:
    return row_of(SAMPLE, unit, year)


@cache
def of_year(unit: int, year: int) -> list[int]:
    """Return the statements of a unit for a year."""
    return filed_by_firms().filter(unit_id=unit, year=year)["statement_id"].to_list()


def filer(register: fk.Register, unit: int, year: int) -> pl.DataFrame:
    """Return a unit's record that lists its statements of a year and those filed since alone."""
    last = SAMPLE.statements.ids()["id"][-1]
    listed = pl.col("idUctovnychZavierok").list
    wanted = listed.eval(
        pl.element().filter(pl.element().is_in(of_year(unit, year)) | (pl.element() > last))
    )
    return register.units.get([unit]).with_columns(wanted)


def test_a_filing_without_figures_has_its_reason() -> None:
    """One row of the unit and year, which says why, and never a figure."""
    cases = {
        "interim": "interim_only",
        "combined": "other_kind",
        "unknown_kind": "other_kind",
        "no_kind_short": "other_kind",
        "not_own_statement": "not_own",
        "not_own_report": "not_own",
        "unreadable": "unreadable",
        "year_9999": "unreadable",
        "unreadable_report": "unreadable",
        "non_public": "non_public",
        "attachments_only": "attachments_only",
        "unknown_template": "template_missing",
        "all_blank": "all_blank",
        "other_currency": "other_currency",
        "deleted": "no_filing_for_year",
        "no_period": "unreadable",
        "reversed_period": "period_mismatch",
    }
    sample, of_case = fk.sample(1_000, seed=5), dict(zip(cases, without(2016), strict=False))
    for case, unit in of_case.items():
        sample.file([unit], year=2016, case=case)

    money = sample.financials(list(of_case.values()), 2016)

    assert dict(zip(of_case, money["reason"], strict=True)) == cases
    assert money["unit_id"].to_list() == list(of_case.values())


@pytest.mark.slow
@pytest.mark.parametrize(("blank", "together"), [(3, False), (7, True)])
def test_a_long_chain_of_corrections_is_tried_several_at_a_time(blank: int, together: bool) -> None:
    """Four one after the other, then more at a time: each takes time, even without a network."""
    sample, unit, (original, corrected, *_) = corrected_as("", *["all_blank"] * blank)
    reports = sample.statements.get(original)["idUctovnychVykazov"][0].to_list()
    watched = Watched(sample)

    row = row_of(watched, unit, 2016)

    assert row["statement_id"] == corrected
    assert row["reason"] is None
    asked = [any(path.endswith(f"vykaz?id={id_}") for path in watched.asked) for id_ in reports]
    assert set(asked) == {together}


@pytest.mark.slow
def test_a_statement_whose_reports_have_no_table_has_no_figures() -> None:
    """``tabulky`` is an empty list, which is another thing than a form without tables."""
    sample, units = fk.sample(1_000, seed=5), without(2016)[:4]
    filed = sample.statements.get(sample.file(units, year=2016, case="no_tables"))
    reports = sample.reports.get(filed["idUctovnychVykazov"].explode())

    money = sample.financials(units, 2016)

    of_forms = reports.filter(pl.col("idSablony").is_in([687, 699, 690, 727]))
    assert of_forms["tabulky"].list.len().unique().to_list() == [0]
    assert set(money["reason"]) <= {"no_content", "attachments_only"}
    assert not money.select(pl.any_horizontal(ITEMS.is_not_null())).to_series().any()
    computed = fk.ratios(money).select(pl.any_horizontal(pl.col(RATIOS).is_not_null()))
    assert not computed.to_series().any()


@pytest.mark.slow
def test_a_filing_that_is_never_taken_supersedes_none() -> None:
    """Beside an ordinary one it changes nothing, and its reports are not requested."""
    cases = ["interim", "combined", "unknown_kind", "no_kind_short"]
    sample, some = fk.sample(1_000, seed=5), with_one(2016)[: len(cases)]
    later = [
        sample.correct([statement], case=case)["id"][0]
        for case, (_, statement) in zip(cases, some, strict=True)
    ]
    units = [unit for unit, _ in some]
    listed = {id_: sample.statements.get([id_])["idUctovnychVykazov"][0].to_list() for id_ in later}
    watched = Watched(sample)

    money = watched.financials(units, 2016)

    assert money.equals(SAMPLE.financials(units, 2016))
    assert money["statement_id"].to_list() == [statement for _, statement in some]
    # The kind that the record lacks is read from the reports.
    for case, reports in zip(cases, listed.values(), strict=True):
        requested = [f"/api/uctovny-vykaz?id={id_}" in watched.asked for id_ in reports]
        assert any(requested) == (case == "no_kind_short")


@pytest.mark.parametrize(
    ("kind", "reason"), [("Priebežná", "interim_only"), *slow(("Riadna", None))]
)
def test_a_kind_that_the_statement_lacks_is_read_from_its_report(
    kind: str, reason: str | None
) -> None:
    """By the title page, whatever the length of the period."""
    sample, unit, _ = filed_as("no_kind", 2016)
    register = altered(
        sample,
        lambda record: record.get("obsah", {}).get("titulnaStrana", {}).update(typZavierky=kind),
    )

    row = row_of(register, unit, 2016)

    assert (row["kind"], row["reason"]) == (kind, reason)
    assert (row["total_assets"] is None) == (reason is not None)


@pytest.mark.slow
def test_without_any_kind_twelve_months_count_as_ordinary() -> None:
    """A shorter period does not; see the reasons."""
    sample, unit, statement = filed_as("no_kind_anywhere", 2016)

    row = row_of(sample, unit, 2016)

    assert (row["statement_id"], row["kind"], row["reason"]) == (statement, None, None)
    assert row["total_assets"] is not None


@pytest.mark.parametrize(
    ("year", "cases"),
    [
        (
            2016,
            (
                "non_public",
                "unreadable_report",
                "not_own_report",
                "unknown_template",
                "all_blank",
                "previous_only",
            ),
        ),
        *slow((2012, ("half",))),
    ],
    ids=["whole", "half"],
)
def test_a_correction_without_figures_leaves_those_of_the_former_filing(
    year: int, cases: tuple[str, ...]
) -> None:
    """The row names the later filing; the filings go by dates alone."""
    sample, some = fk.sample(1_000, seed=5), with_one(year)[: len(cases)]
    units = [unit for unit, _ in some]
    later = [
        sample.correct([statement], case=case)["id"][0]
        for case, (_, statement) in zip(cases, some, strict=True)
    ]
    # Of one year alone a correction that was filed late may be left out.
    before = SAMPLE.financials(units).filter(year=year)

    money = sample.financials(units).filter(year=year)

    corrected = zip(before.to_dicts(), later, strict=True)
    assert money.to_dicts() == [row | {"superseded_by": id_} for row, id_ in corrected]
    assert money["statement_id"].to_list() == [statement for _, statement in some]
    counting = sample.filings(units).filter("counts", year=year)["statement_id"]
    assert counting.to_list() == later


@pytest.mark.slow
def test_figures_come_from_one_filing() -> None:
    """The newest with both statements, else the newest with either, else the newest."""
    sample, unit, ids = corrected_as("", "half", "non_public", year=2012)
    one, other = without(2012)[:2]
    half = [
        sample.file([one], year=2012, case=case)["id"][0] for case in ("half", "half", "all_blank")
    ]
    blank = [sample.file([other], year=2012, case="all_blank")["id"][0] for _ in range(2)]

    rows = sample.financials([unit, one, other], 2012).to_dicts()

    assert [row["statement_id"] for row in rows] == [ids[1], half[1], blank[1]]
    assert [row["superseded_by"] for row in rows] == [ids[3], half[2], None]
    assert [row["supersedes"] for row in rows] == [1, 1, 1]
    assert (rows[1]["total_assets"] is None, rows[1]["sales"] is None) == (False, True)
    assert rows[2]["reason"] == "all_blank"


@pytest.mark.slow
def test_reports_of_a_superseded_filing_are_requested_only_without_figures_of_the_newer() -> None:
    """Once per filing that is tried, none of the others."""
    for case, tried in (("restated", 1), ("non_public", 2)):
        sample, unit, ids = corrected_as("", case)
        listed = sample.statements.get(ids)["idUctovnychVykazov"].to_list()
        watched = Watched(sample)

        watched.financials([unit], 2016)

        asked = {int(t.partition("vykaz?id=")[2]) for t in watched.asked if "vykaz" in t}
        assert [bool(asked & set(reports)) for reports in listed] == [
            place >= 3 - tried for place in range(3)
        ]


def test_a_correction_with_another_first_month_is_a_correction() -> None:
    """The last month is the period's; that of the newest filing is shown."""
    sample, unit, (former, later) = corrected_as("short_period")

    row = row_of(sample, unit, 2016)

    assert (row["statement_id"], row["months"], row["supersedes"]) == (later, 6, 1)
    filed = sample.filings([unit], 2016)
    assert filed.filter(statement_id=former)["superseded_by"].to_list() == [later]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fund", *slow("central_government", "summary")])
def test_a_statement_of_a_fund_or_of_several_units_supersedes_none(case: str) -> None:
    """Each counts; the figures are those of the unit itself."""
    sample, unit, _ = corrected_as(case, "other_fund")

    filed = sample.filings([unit], 2016)

    assert filed["counts"].to_list() == [True] * 3
    assert row_of(sample, unit, 2016) == usual_row(unit, 2016)
    named = filed.sort("statement_id")["fund"].to_list()
    assert named == [None, "Vymyslený fond" if case == "fund" else None, "Iný vymyslený fond"]
    lone, unit, statement = filed_as("fund", 2016)
    row = row_of(lone, unit, 2016)
    assert (row["statement_id"], row["fund"]) == (statement, "Vymyslený fond")


@pytest.mark.slow
def test_a_statement_listed_by_two_units_gives_its_figures_once() -> None:
    """To the unit that it names itself."""
    sample, unit, statement = filed_as("not_own_statement", 2016)
    (owner,) = sample.statements.get([statement])["idUJ"]
    units = sample.units.get([unit, owner])
    both = units.with_columns(
        pl.when(pl.col("id") == owner)
        .then(pl.concat_list("idUctovnychZavierok", pl.lit(statement)))
        .otherwise("idUctovnychZavierok")
        .alias("idUctovnychZavierok")
    )

    money = sample.financials(both).filter(statement_id=statement)

    assert money.select("unit_id", "reason").rows() == [(unit, "not_own"), (owner, None)]
    assert (
        sample.filings(both).filter(statement_id=statement, unit_id=unit)["report_ids"][0] is None
    )


@pytest.mark.slow
def test_two_reports_on_one_form_that_contradict_each_other_give_no_number() -> None:
    """Whichever has the higher id; the report is named, and the former filing keeps its figures."""
    sample, unit, statement = filed_as("two_of_one_form", 2016)
    (listed,) = sample.statements.get([statement])["idUctovnychVykazov"]
    forms = sample.reports.get(listed).filter(pl.col("tabulky").is_not_null()).sort("id")
    assert forms["idSablony"].n_unique() == 1
    assert forms.height == 2

    money = sample.financials([unit], 2016, from_previous=True)

    (row,) = money.to_dicts()
    assert (row["reason"], row["report_id"]) == ("ambiguous", forms["id"][1])
    assert not money.select(pl.any_horizontal(ITEMS.is_not_null())).item()
    assert row["sums_failing"] is row["balance_difference"] is None
    corrected, unit, (former, later) = corrected_as("two_of_one_form")
    expected = usual_row(unit, 2016)
    assert row_of(corrected, unit, 2016) == expected | {"superseded_by": later}
    assert expected["statement_id"] == former


def test_reports_that_contradict_each_other_are_compared_whenever_they_are_fetched() -> None:
    """Also where the correction of their filing lists one of them, and so was tried before.

    And where the filing before theirs lists it beside another one, and so is tried later.
    """
    sample, filed = fk.sample(1_000, seed=5), money_of_some(2016).sort("report_id")
    micro, small = filed.filter(template=687), filed.filter(template=699)
    unit, statement, report = micro["unit_id", "statement_id", "report_id"].row(-1)
    blank, other = micro["report_id"][0], small["report_id"][0]
    contested, newest = (sample.correct([statement])["id"][0] for _ in range(2))
    lists = {statement: [other, blank], contested: [report, blank], newest: [blank]}

    def change(record: dict[str, Any]) -> None:
        if record["id"] in lists and "typ" in record:
            record["idUctovnychVykazov"] = lists[record["id"]]
        if record["id"] in (report, blank, other) and "obsah" in record:
            del record["idUctovnejZavierky"]
        if record["id"] == blank and "obsah" in record:
            for table in record["obsah"]["tabulky"]:
                table["data"] = [""] * len(table["data"])

    register = altered(sample, change, ("uctovna-zavierka", "uctovny-vykaz"))

    row = row_of(register, unit, 2016)
    assert (row["statement_id"], row["report_id"]) == (statement, other)
    lists[statement] = [blank]
    row = row_of(altered(sample, change, ("uctovna-zavierka", "uctovny-vykaz")), unit, 2016)
    assert (row["statement_id"], row["reason"]) == (newest, "all_blank")


@pytest.mark.slow
@pytest.mark.parametrize("written", ["same", *slow("otherwise")])
def test_equal_reports_on_one_form_are_one(written: str) -> None:
    """Also where one writes zeros and decimals that the other leaves out."""
    sample, unit, statement = filed_as("two_equal", 2016)
    alone, *_ = filed_as(None, 2016)
    (listed,) = sample.statements.get([statement])["idUctovnychVykazov"]
    forms = sample.reports.get(listed).filter(pl.col("tabulky").is_not_null()).sort("id")

    def otherwise(record: dict[str, Any]) -> None:
        if record["id"] == forms["id"][0] and written == "otherwise":
            for table in record["obsah"]["tabulky"]:
                table["data"] = [f"{cell}.00" if cell else "0" for cell in table["data"]]

    row, expected = row_of(altered(sample, otherwise), unit, 2016), row_of(alone, unit, 2016)

    assert forms.height == 2
    assert row["report_id"] == forms["id"][1]
    assert row | {"report_id": None} == expected | {"report_id": None}
    assert row["sums_failing"] == sample.reports.check(forms.tail(1))["failing"][0]


@pytest.mark.slow
def test_a_report_of_another_statement_hides_none() -> None:
    """Also on the same form, with the higher id: it is no report of this one."""
    sample, (unit, statement), (_, other) = fk.sample(1_000, seed=5), *with_one(2016)[:2]
    (foreign,) = sample.financials(sample.statements.get([other])["idUJ"], 2016)["report_id"]
    own = usual_row(unit, 2016)
    highest = max(own["report_id"], foreign) + 10**6

    def listed(record: dict[str, Any]) -> None:
        if record["id"] == statement and "typ" in record:
            record["idUctovnychVykazov"] = [*record["idUctovnychVykazov"], highest]

    register = altered(sample, listed, "uctovna-zavierka")
    of_statements = register.instead
    assert of_statements is not None

    def instead(target: str, query: str) -> Reply | None:
        if query == f"id={highest}":
            body = json.loads(sample._answer("GET", target, f"id={foreign}").body)
            body |= {"id": highest, "idSablony": own["template"]}
            return Reply(200, {}, json.dumps(body).encode())
        return of_statements(target, query)

    register.instead = instead

    assert row_of(register, unit, 2016) == own


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "change", "reason"),
    [
        (
            21,
            lambda record: record["obsah"]["tabulky"][0]["data"].__setitem__(2, "1e3"),
            "not_a_number",
        ),
        (22, lambda record: record.update(mena="USD"), "other_currency"),
    ],
)
def test_half_a_filing_has_its_reason(
    template: int, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    """A cell that is no number in one of two reports, and one of two in another currency."""
    unit, _ = with_one(2012)[0]

    def half(record: dict[str, Any]) -> None:
        if record.get("idSablony") in (21, 22):
            record["mena"] = "EUR"
            if record["idSablony"] == template:
                change(record)

    row, whole = row_of(altered(SAMPLE, half), unit, 2012), usual_row(unit, 2012)

    assert (whole["reason"], row["reason"]) == (None, reason)
    left = {name for name in BUSINESS if row[name] is not None}
    assert bool(left) == (reason == "not_a_number")
    assert all(row[name] == whole[name] for name in left)


@pytest.mark.slow
def test_a_record_without_a_year_is_a_row_only_of_a_unit_without_any() -> None:
    """Of a unit with filings a statement that cannot be read is none of its rows."""
    sample, (unit, _) = fk.sample(1_000, seed=5), with_one(2016)[0]
    usual = sample.financials([unit])
    (hidden,) = sample.file([unit], year=2025, case="non_public_record")["id"]
    record = sample.units.get([unit])

    assert sample.financials([unit]).equals(usual)
    lone = record.with_columns(idUctovnychZavierok=pl.lit([hidden], pl.List(pl.Int64)))
    assert sample.financials(lone).select("year", "statement_id", "reason").rows() == [
        (None, hidden, "non_public")
    ]


@pytest.mark.slow
def test_another_currency_is_read_by_cells() -> None:
    """Amounts are null with the reason, the currency is named, the cells have them as filed."""
    sample, unit, _ = filed_as("other_currency", 2016)

    money = sample.financials([unit], 2016, from_previous=True)

    assert money["currency"].to_list() == ["USD"] * money.height
    assert set(money["reason"]) == {"other_currency"}
    assert money.select(pl.any_horizontal(ITEMS.is_not_null()).any()).item() is False
    assert money["balance_difference"].null_count() == money.height
    with pytest.warns(UserWarning, match="some amounts are not in euro"):
        cells = sample.reports.cells(sample.reports.get(money["report_id"].head(1)))
    assert cells["value"].count() == cells.height > 0


@pytest.mark.slow
def test_a_number_that_cannot_be_read_has_the_reason() -> None:
    """Its item is null; those that can be read are there."""
    sample, unit, _ = filed_as("not_a_number", 2016)

    row = row_of(sample, unit, 2016)

    assert (row["total_assets"], row["reason"]) == (None, "not_a_number")
    assert row["balance_difference"] is None
    assert row["equity"] is not None


@pytest.mark.slow
def test_a_period_that_ends_before_it_begins_supersedes_none() -> None:
    """It does not count, and the figures are those of the former filing; its kind is said first."""
    sample, unit, (former, later) = corrected_as("reversed_period")

    filed = sample.filings([unit], 2016).filter(pl.col("statement_id").is_in([former, later]))
    assert filed.select("statement_id", "counts", "months", "reason").rows() == [
        (former, True, 12, None), (later, False, None, "period_mismatch"),
    ]  # fmt: skip
    assert row_of(sample, unit, 2016) == usual_row(unit, 2016)
    lone, unit, statement = filed_as("reversed_period", 2016)
    cases = {"Riadna": "period_mismatch", "Priebežná": "interim_only", "Iná": "other_kind"}
    for kind, reason in cases.items():

        def of_kind(record: dict[str, Any], kind: str = kind) -> None:
            if record["id"] == statement:
                record["typ"] = kind

        register = altered(lone, of_kind, "uctovna-zavierka")
        row = row_of(register, unit, 2016)
        assert (row["reason"], row["total_assets"], row["report_id"]) == (reason, None, None)


@pytest.mark.slow
def test_a_statement_without_a_period_is_one_row() -> None:
    """It has no year, and stands beside the other years."""
    sample, unit, statement = filed_as("no_period", 2016)
    second = sample.file([unit], year=2016, case="no_period")["id"][0]

    money = sample.financials([unit])

    assert money.filter(pl.col("year").is_null())["statement_id"].to_list() == [statement, second]
    assert money.drop_nulls("year").equals(SAMPLE.financials([unit]))
    assert money.filter(pl.col("year").is_null())["total_assets"].null_count() == 0


@pytest.mark.slow
def test_a_period_that_cannot_be_is_a_reason_of_its_own_row() -> None:
    """The other filings, of this unit and of others, are what they were."""
    sample, unit, statement = filed_as("year_9999", 2016)
    units = [unit, filed_regularly()["id"][0]]

    money, filed = sample.financials(units), sample.filings(units)

    for frame, usual in ((money, SAMPLE.financials(units)), (filed, SAMPLE.filings(units))):
        odd = frame.filter(statement_id=statement)
        assert odd.select("unit_id", "reason").rows() == [(unit, "unreadable")] * odd.height
        assert frame.filter(pl.col("statement_id") != statement).equals(
            usual.drop_nulls("statement_id")
        )
    viewer = fk.StatementViewer(sample.units.get([unit]), register=sample, lang="en")
    viewer.value = unit
    assert any(value == statement for _, value in viewer.year.options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last", "filed"),
    [("0001-01", "2016-12", None), ("9999-01", "9999-12", "9999-12-31"),
     *slow(("2017-06", "2016-12", None), ("2016-01", "0001-12", None),
           (None, "2016-12", "9999-12-31"))],
)  # fmt: skip
def test_no_date_of_a_statement_ends_the_work(
    first: str | None, last: str, filed: str | None
) -> None:
    """Months that cannot be are null; a filing of a day that cannot be counts as without one."""
    sample, unit, (former, later) = corrected_as("")

    def odd(record: dict[str, object]) -> None:
        if record["id"] == later:
            record.update(obdobieOd=first, obdobieDo=last)
            record.update({"datumPodania": filed} if filed else {})

    register = altered(sample, odd, "uctovna-zavierka")

    money = register.financials([unit], from_previous=True)

    can_be = last == "2016-12" and filed is None and first != "2017-06"
    taken = money.filter(year=2016, source_column="current")["statement_id"]
    assert set(taken) == {later if can_be else former}
    assert money["months"].drop_nulls().is_between(1, 24).all()


def previous_of(
    first: str | None, before: tuple[str | None, str | None] = (None, None)
) -> dict[str, Any]:
    """Return the previous column of a filing to 2016-12 from a month on, by its title page."""
    unit, statement = with_one(2016)[0]
    page = dict(zip(("predchadzajuceObdobieOd", "predchadzajuceObdobieDo"), before, strict=True))

    def other(record: dict[str, Any]) -> None:
        if record.get("id") == statement:
            record.update(obdobieOd=first)
        elif "obsah" in record:
            record["obsah"].get("titulnaStrana", {}).update(page)

    register = altered(SAMPLE, other, "")
    money = register.financials(filer(register, unit, 2016), 2016, from_previous=True)
    return money.filter(source_column="previous").row(0, named=True)


@pytest.mark.parametrize(
    ("first", "year", "last"),
    [
        ("2016-01", 2015, date(2015, 12, 31)),
        ("2016-04", 2016, date(2016, 3, 31)),
    ],
)
def test_the_period_before_ends_the_day_before(first: str, year: int, last: date) -> None:
    """Also of one that begins within its year."""
    row = previous_of(first)

    assert (row["year"], row["period_to"]) == (year, last)
    assert (row["period_from"], row["months"], row["reason"]) == (None, None, None)


@pytest.mark.parametrize(
    ("before", "months"),
    [
        (("2015-07", "2015-12"), 6),
        (("2015-01", "2015-06"), None),
        *slow((("2016-01", "2015-12"), None)),
        *slow((("2016-01", "2016-12"), None), (("9999-12", "9999-12"), None)),
    ],
)
def test_the_length_of_the_period_before_is_that_of_the_title_page(
    before: tuple[str, str], months: int | None
) -> None:
    """Where its end is the day before the filing's own period, else it is not known."""
    row = previous_of("2016-01", before)

    assert (row["year"], row["months"]) == (2015, months)
    first = None if months is None else date.fromisoformat(f"{before[0]}-01")
    assert (row["period_from"], row["period_to"]) == (first, date(2015, 12, 31))


def test_without_a_first_day_the_column_before_has_no_year() -> None:
    """Nor has it figures, but the reason, whatever the title page says."""
    row = previous_of(None, ("2015-01", "2015-12"))

    assert [row[name] for name in ("year", "period_from", "period_to", "months")] == [None] * 4
    assert (row["reason"], row["total_assets"], row["sales"]) == ("unreadable", None, None)


@pytest.mark.slow
@pytest.mark.parametrize("many", [20, 1_200])
def test_an_interruption_keeps_the_finished_units(many: int) -> None:
    """Ctrl-C leaves their rows in ``.partial``, none of them unfinished."""
    watched = Watched(SAMPLE, base_url="http://register.example")
    units = firms().head(130)

    def presses(path: str, query: str) -> None:
        if "vykaz" in path and len(watched.asked) > many:
            raise KeyboardInterrupt

    watched.instead = presses
    with pytest.raises(fk.errors.Interrupted, match="interrupted after") as caught:
        watched.financials(units, 2017, progress=False)

    rows = caught.value.partial
    assert rows is not None
    done = rows["unit_id"].n_unique()
    assert done == (100 if many == 1_200 else 0)
    assert rows.equals(SAMPLE.financials(units, 2017).head(done))
    assert rows.schema == assembling.schema()


@pytest.mark.parametrize(
    ("cut", "path", "by_ico"),
    [
        (KeyboardInterrupt(), "/api/uctovna-jednotka", False),
        (b"<html>", "/api/uctovne-jednotky", True),
        *slow(
            (KeyboardInterrupt(), "/api/uctovne-jednotky", True),
            (b"<html>", "/api/uctovna-jednotka", False),
        ),
    ],
)
def test_what_is_cut_off_before_the_first_unit_has_the_columns_of_the_result(
    cut: bytes | BaseException, path: str, by_ico: bool
) -> None:
    """``.partial`` is no frame of ids, nor of unit records, of which some were fetched."""
    watched = Watched(SAMPLE)
    units: Any = all_units()["ico"].drop_nulls()[0] if by_ico else firms()["id"].head(5)

    def ends(target: str, query: str) -> Reply | None:
        if target != path or (not by_ico and len(watched.asked) < 3):
            return None
        if isinstance(cut, BaseException):
            raise cut
        return Reply(200, {}, cut)

    for work, schema in (
        (partial(watched.financials, items="sales"), assembling.schema(["sales"])),
        (watched.filings, filing_rules.FILINGS),
    ):
        watched.asked.clear()
        watched.instead = ends
        with pytest.raises((fk.errors.Interrupted, fk.RegisterError)) as caught:
            work(units, 2017)

        error: Any = caught.value
        assert error.partial.is_empty()
        assert error.partial.schema == schema
        assert isinstance(error, fk.errors.Interrupted) == isinstance(cut, BaseException)


def test_the_last_year_of_two_reports_is_planned_with_more_of_them() -> None:
    """Until 2013 a filing has 2.7 reports on average, since then 1.7."""
    units = firms().head(100)

    plans = {
        year: dict(SAMPLE.financials(units, year, dry_run=True)["collection", "requests"].rows())
        for year in (2012, 2013, 2014)
    }

    assert [plans[year]["reports"] for year in plans] == [270, 270, 170]


def reports_beside(
    sample: Sample, statement: int, beside: Callable[[dict[str, Any]], object]
) -> Watched:
    """Return a register whose filing lists its report, and a copy of that with a higher id."""
    (ids,) = sample.statements.get([statement])["idUctovnychVykazov"]
    tabular = sample.reports.get(ids).filter(pl.col("tabulky").is_not_null())
    (first,) = tabular["id"]
    copy = int(ids.max()) + 10**6

    def listed(record: dict[str, Any]) -> None:
        if record["id"] == statement:
            record["idUctovnychVykazov"] = [*record["idUctovnychVykazov"], copy]

    register = altered(sample, listed, "uctovna-zavierka")
    of_statements = register.instead

    def instead(target: str, query: str) -> Reply | None:
        if query == f"id={copy}":
            record = json.loads(sample._answer("GET", target, f"id={first}").body) | {"id": copy}
            beside(record)
            return Reply(200, {}, json.dumps(record).encode())
        return of_statements(target, query)

    register.instead = instead
    return register


def test_a_report_that_is_no_source_makes_no_filing_foreign() -> None:
    """Tables on a form without items, in another currency; and those of another statement."""
    unit, statement = with_one(2016)[0]
    usual = usual_row(unit, 2016)

    def of_notes(record: dict[str, Any]) -> None:
        record |= {"idSablony": 725, "mena": "USD"}

    def foreign(record: dict[str, Any]) -> None:
        record |= {"idUctovnejZavierky": statement + 1, "mena": "USD"}

    for beside in (of_notes, foreign):
        row = row_of(reports_beside(SAMPLE, statement, beside), unit, 2016)
        assert (row["currency"] or "EUR", row["reason"]) == ("EUR", None)
        assert row["total_assets"] == usual["total_assets"]


def test_the_sums_of_a_report_that_is_no_source_do_not_count() -> None:
    """Of two equal reports whose sums fail each failure counts once."""
    unit, statement = with_one(2016)[0]
    usual = usual_row(unit, 2016)

    def off(record: dict[str, Any]) -> None:
        if record.get("id") == usual["report_id"] or record.get("id", 0) > 10**6:
            tables = (record.get("obsah") or {}).get("tabulky", [])
            if tables and record.get("idUctovnejZavierky") == statement:
                place = next(n for n, cell in enumerate(tables[0]["data"]) if cell)
                tables[0]["data"][place] = "999999999"

    broken = altered(SAMPLE, off)
    single = row_of(broken, unit, 2016)["sums_failing"]
    twice = reports_beside(SAMPLE, statement, lambda record: None)
    of_both = twice.instead

    def instead(target: str, query: str) -> Reply | None:
        reply = of_both(target, query) or SAMPLE._answer("GET", target, query)
        if target.endswith("uctovny-vykaz"):
            record = json.loads(reply.body)
            off(record)
            reply = reply._replace(body=json.dumps(record).encode())
        return reply

    twice.instead = instead
    assert single > 0
    assert row_of(twice, unit, 2016)["sums_failing"] == single


def test_of_two_kinds_that_reports_give_the_higher_id_has_the_say() -> None:
    """Of its own reports; that of another statement has none."""
    sample, unit, statement = filed_as("no_kind", 2016)
    for other, taken in ((statement, False), (statement + 1, True)):

        def beside(record: dict[str, Any], other: int = other) -> None:
            record["idUctovnejZavierky"] = other
            record["obsah"]["titulnaStrana"]["typZavierky"] = "Priebežná"

        row = row_of(reports_beside(sample, statement, beside), unit, 2016)

        assert (row["kind"], row["total_assets"] is not None) == (
            "Riadna" if taken else "Priebežná", taken,
        )  # fmt: skip


def test_long_work_is_refused_first() -> None:
    """By the plan, with the number of requests and the time."""
    register = fk.Register("http://register.invalid/", rate=5)

    with pytest.raises(fk.UsageError, match=r"needs [\d,]+ requests, .* about 3 to 6 hours"):
        register.financials(range(1, 4_000), 2016)


def test_ratios_of_other_frames() -> None:
    """A LazyFrame stays lazy; what is no financials is refused."""
    money = SAMPLE.financials(filing().head(2), 2016)

    lazy = fk.ratios(money.lazy())

    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(fk.ratios(money))
    numbers = fk.ratios(money).select(pl.col(pl.Float64).exclude("balance_difference"))
    assert all(column.drop_nulls().is_finite().all() for column in numbers)
    with pytest.raises(fk.UsageError, match="no column 'year'"):
        fk.ratios(pl.DataFrame({"id": [1]}))
    with pytest.raises(fk.UsageError, match="frame is a"):
        fk.ratios([1])  # type: ignore[call-overload]


def test_chosen_items_are_the_columns_in_their_order() -> None:
    """Between what identifies a row and where its figures come from; the rows are the same."""
    whole = SAMPLE.financials(filing().head(2), 2016)

    some = SAMPLE.financials(filing().head(2), 2016, items=["sales", "equity"])
    one = SAMPLE.financials(filing().head(2), 2016, items="sales")

    assert some.columns[:6] == ["unit_id", "ico", "name", "year", "sales", "equity"]
    assert some.equals(whole.select(some.columns))
    assert one.equals(some.drop("equity"))
    with_ratio = SAMPLE.financials(filing().head(2), 2016, items=["sales", "roa", "net_profit"])
    assert with_ratio.columns[4:7] == ["sales", "net_profit", "total_assets"]
    assert fk.ratios(with_ratio)["roa"].equals(fk.ratios(whole)["roa"])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("sals", "items='sals' is not an item; did you mean 'sales'\\?"),
        ("debt", "items='debt' is not an item; did you mean '.*debt.*'\\? fk.items"),
        ("tržby", "items='tržby' is not an item; did you mean '.*sales.*'\\?"),
        ("!", "items='!' is not an item; fk.items\\(\\) lists them"),
        ([], "items=\\[\\] is not allowed"),
        (7, "items=7 is not allowed"),
        (["sales", "sales"], "'sales' .*twice"),
    ],
)
def test_items_that_there_are_not_are_refused_first(given: Any, text: str) -> None:
    """Before a request, also where none would be sent."""
    with pytest.raises(fk.UsageError, match=text):
        SAMPLE.financials([365], items=given, dry_run=True)
