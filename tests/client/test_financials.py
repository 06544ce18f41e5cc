"""From units to figures: equal to what was drawn, with a reason for everything that is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.frames import financials as assembling, items, ratios
from finstat_kit.frames.financials import CARRIED
from finstat_kit.protocol.wire import Reply
from tests.support.registers import Watched
from tests.support.truth import ratios_of, truth

SAMPLE = fk.sample(1_000, seed=5)
UNITS = SAMPLE.units.get(SAMPLE.units.ids())
FILING = UNITS.filter(pl.col("idUctovnychZavierok").list.len() >= 10)


@cache
def filed_by_some() -> pl.DataFrame:
    return SAMPLE.filings(UNITS.head(300))


def check(sample: Sample, money: pl.DataFrame) -> dict[str | None, int]:
    """Compare figures, reasons and ratios of each row with what was drawn; count the reasons."""
    seen: dict[str | None, int] = {}
    computed = fk.ratios(money)
    for row, ratio in zip(money.iter_rows(named=True), computed.iter_rows(named=True), strict=True):
        where = row["unit_id"], row["year"]
        drawn = truth(sample, *where)
        assert row["reason"] == drawn.reason, where
        expected = {k: None if v is None else float(v) for k, v in drawn.figures.items()}
        assert {name: row[name] for name in expected} == expected, where
        for name, value in ratios_of(drawn.figures, row["year"]).items():
            if value is None or isinstance(value, bool):
                assert ratio[name] is value, (where, name)
            else:
                assert ratio[name] == pytest.approx(float(value), rel=1e-12), (where, name)
        seen[row["reason"]] = seen.get(row["reason"], 0) + 1
    return seen


def test_a_few_units_are_what_was_drawn() -> None:
    """Figures, reasons and ratios, on the old forms and the new ones."""
    years = [2012, 2016, 2021]
    money = SAMPLE.financials(UNITS.sample(90, seed=2), years)

    assert set(check(SAMPLE, money)) >= {None, "no_filing", "no_filing_for_year", "non_public"}
    assert money.schema == assembling.schema()


@pytest.mark.slow
def test_two_thousand_units_in_three_years_are_what_was_drawn() -> None:
    """On the sample that everybody has; every reason occurs."""
    sample = fk.sample()
    units = sample.units.get(sample.units.ids()["id"].sample(2_000, seed=1))

    seen = check(sample, sample.financials(units, [2013, 2017, 2020]))

    assert sum(seen.values()) == 6_000
    assert set(seen) == {
        None, "deleted", "non_public", "no_filing", "no_filing_for_year", "attachments_only",
        "no_content", "all_blank",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("histories", ["long", "all"])
def test_how_many_requests(histories: str) -> None:
    """At most 3.4 per unit for the newest year and 4.5 for any; all would be several times that."""
    units = FILING.head(100) if histories == "long" else UNITS.sample(80, seed=1)
    statements = sorted(units["idUctovnychZavierok"].list.len().fill_null(0))
    watched = Watched(SAMPLE)
    watched.financials(FILING.tail(20), [2012, 2016])  # requests the templates
    everything = 2.6 * sum(statements) / units.height
    costs = {}
    for year in (2013, 2017, 2024, 2025):
        before = len(watched.asked)
        watched.financials(units, year)
        costs[year] = (len(watched.asked) - before) / units.height
        print(f"{year}: {costs[year]:.2f} requests per unit; everything: {everything:.1f}")

    assert statements[units.height // 2] >= (12 if histories == "long" else 3)
    assert max(costs[2024], costs[2025]) <= 3.4
    assert max(costs.values()) <= 4.5


@pytest.mark.slow
def test_the_year_before() -> None:
    """Rows from the previous column are marked; ten years take five filings."""
    units = FILING.head(40)

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
        money = fk.financials(UNITS.head(50), 2016)

        labelled = fk.resolve_labels(money, columns=[*CARRIED])
        counts = fk.count_by(money, "kraj")

    labels = {"region", "district", "legal_form", "activity", "size_class"}
    assert labels <= set(labelled.columns)
    for field in ("kraj", "okres", "pravnaForma", "skNace", "velkostOrganizacie"):
        assert money[field].to_list() == UNITS.head(50)[field].to_list()
    assert counts["count"].sum() == money.height
    assert money["name"].to_list() == UNITS.head(50)["nazovUJ"].to_list()


@pytest.mark.slow
def test_the_consolidated_twin_and_the_older_correction() -> None:
    """Neither is taken for the statement of the year."""
    filed = filed_by_some()
    corrected = filed.drop_nulls("superseded_by")
    twins = SAMPLE.filings(UNITS.head(300), consolidated=True).drop_nulls("statement_id")
    units = pl.concat([corrected["unit_id"].head(15), twins["unit_id"].head(15)]).unique()
    years = pl.concat([corrected["year"].head(15), twins["year"].head(15)]).unique().to_list()

    money = SAMPLE.financials(UNITS.filter(pl.col("id").is_in(units.implode())), years)

    check(SAMPLE, money)
    taken = set(money["statement_id"].drop_nulls())
    assert taken.isdisjoint(corrected["statement_id"])
    assert taken.isdisjoint(twins["statement_id"])
    consolidated = SAMPLE.financials(twins["unit_id"].head(3), twins["year"][0], consolidated=True)
    assert consolidated["consolidated"].drop_nulls().all()


def test_two_periods_that_end_in_a_year() -> None:
    """The regular one is the row, and it is told that there are two."""
    filed = filed_by_some().filter("counts")
    special = filed.filter(kind="Mimoriadna").join(
        filed.filter(kind="Riadna"), on=["unit_id", "year"]
    )
    unit, year = special.select("unit_id", "year").row(0)

    row = SAMPLE.financials([unit], year).row(0, named=True)

    assert (row["kind"], row["months"], row["periods_in_year"]) == ("Riadna", 12, 2)


def altered(change: Callable[[dict[str, object]], object], path: str = "uctovny-vykaz") -> Watched:
    """Return a register whose records of a kind are changed in some way."""
    watched = Watched(SAMPLE)

    def instead(target: str, query: str) -> Reply | None:
        if not target.endswith(path):
            return None
        reply = SAMPLE._answer("GET", target, query)
        record = json.loads(reply.body)
        change(record)
        return reply._replace(body=json.dumps(record).encode())

    watched.instead = instead
    return watched


def test_another_currency_has_no_ratios() -> None:
    """It keeps its currency and its figures."""
    units = FILING.head(30)
    crowns = altered(lambda record: record.update(mena="CZK"))

    money = crowns.financials(units, 2016)

    here = money.filter(pl.col("reason").is_null())
    assert set(here["currency"]) == {"CZK"}
    assert here["total_assets"].null_count() == 0
    columns = [*ratios.NAMES]
    assert fk.ratios(here).select(columns).null_count().row(0) == (here.height,) * len(columns)


def test_a_length_that_does_not_fit() -> None:
    """No number of the report comes out; the reason says so."""

    def cut(record: dict[str, object]) -> None:
        for table in (record.get("obsah") or {}).get("tabulky", [])[1:2]:  # type: ignore[attr-defined]
            table["data"].pop()

    units = FILING.head(30)

    money = altered(cut).financials(units, 2016)

    usual = SAMPLE.financials(units, 2016)
    readable = usual["reason"].is_null() | (usual["reason"] == "all_blank")
    assert set(money.filter(readable)["reason"]) == {"length_mismatch"}
    assert money.select(items.names()).null_count().sum_horizontal()[0] == 30 * len(items.names())


def test_forms_without_items() -> None:
    """Tables of another form: the form is named, and so is the reason."""

    def other(record: dict[str, object]) -> None:
        if record.get("idSablony") in (687, 699):
            record["idSablony"] = 690

    money = altered(other).financials(FILING.head(20), 2016)

    off = money.filter(pl.col("reason") == "item_not_in_form")
    assert off.height > 10
    assert set(off["template"]) == {690}


@pytest.mark.slow
@pytest.mark.parametrize("many", [20, 200, 410])
def test_an_interruption_keeps_the_finished_units(many: int) -> None:
    """Ctrl-C leaves their rows in ``.partial``, none of them unfinished."""
    watched = Watched(SAMPLE)
    units = FILING.head(130)

    def presses(path: str, query: str) -> None:
        if "vykaz" in path and len(watched.asked) > many:
            raise KeyboardInterrupt

    watched.instead = presses
    with pytest.raises(fk.Interrupted, match=re.escape(".partial")) as caught:
        watched.financials(units, 2017)

    partial = caught.value.partial
    assert partial is not None
    done = partial["unit_id"].n_unique()
    assert done == (100 if many == 410 else 0)
    assert partial.equals(SAMPLE.financials(units, 2017).head(done))
    assert partial.schema == assembling.schema()


def test_long_work_is_refused_first() -> None:
    """By the plan, with the number of requests and the time."""
    register = fk.Register("http://register.invalid/", rate=5)

    with pytest.raises(fk.UsageError, match=r"needs [\d,]+ requests, .* about 60 minutes"):
        register.financials(range(1, 4_000), 2016)


def test_ratios_of_other_frames() -> None:
    """A LazyFrame stays lazy; what is no financials is refused."""
    money = SAMPLE.financials(FILING.head(20), 2016)

    lazy = fk.ratios(money.lazy())

    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(fk.ratios(money))
    numbers = fk.ratios(money).select(pl.col(pl.Float64).exclude("balance_difference"))
    assert all(column.drop_nulls().is_finite().all() for column in numbers)
    with pytest.raises(fk.UsageError, match="no column 'year'"):
        fk.ratios(pl.DataFrame({"id": [1]}))
    with pytest.raises(fk.UsageError, match="financials is a"):
        fk.ratios([1])  # type: ignore[type-var]
