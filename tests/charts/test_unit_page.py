"""A unit on one page: what it says is what the figures say."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts.values import figures
from finstat_kit.client.sample import Sample
from tests.support.examples import slow


@pytest.fixture(scope="module")
def sample() -> Sample:
    return fk.sample(20)


@pytest.fixture(scope="module")
def money(sample: Sample) -> pl.DataFrame:
    return fk.ratios(sample.financials(sample.units.ids()), keep=True)


@pytest.mark.parametrize("lang", ["en", *slow("sk")])
def test_figures_are_those_of_the_filings_it_names(
    sample: Sample, money: pl.DataFrame, lang: Lang
) -> None:
    """The newest years with figures, each with its statement and its report."""
    unit = money.drop_nulls("sales")["unit_id"][0]
    page = fk.unit_page(unit, years=2, lang=lang, register=sample)
    own = money.filter(pl.col("unit_id") == unit).drop_nulls("total_assets").sort("year").tail(2)

    assert [head for head, _ in page.parts[0].heads] == [str(year) for year in own["year"]]
    (assets,) = [
        line for line in page.parts[0].lines if line.caption in ("Majetok spolu", "Total assets")
    ]
    shown = [float(re.sub(r"[\s,]", "", value).replace("\u2212", "-")) for value in assets.values]
    assert shown == own["total_assets"].round().to_list()
    for row in own.iter_rows(named=True):
        assert any(str(row["statement_id"]) in n and str(row["report_id"]) in n for n in page.notes)
    assert page.source == sample.cite(lang=lang)


@pytest.mark.slow
def test_peers_are_those_given(sample: Sample, money: pl.DataFrame) -> None:
    """Of the newest year that they and the unit have, with their number."""
    unit = money.filter(year=2020).drop_nulls("sales")["unit_id"][0]
    peers = money.filter(pl.col("year") <= 2020)
    page = fk.unit_page(unit, among=peers, register=sample, lang="en")
    found = fk.peers(peers, unit, "sales")
    (line,) = [line for line in page.parts[1].lines if line.caption == "Sales"]

    assert page.parts[1].name.endswith("2020")
    assert line.values[-2:] == [str(found["n"].item()), "all that were given"]


@pytest.mark.slow
def test_every_unit_has_a_page(sample: Sample, money: pl.DataFrame) -> None:
    """Towns, and those without a figure, too; then the reason is there."""
    reasons = money.drop_nulls("reason").unique("reason", keep="first", maintain_order=True)
    towns = money.filter(family="public").drop_nulls("total_assets")["unit_id"].head(1)
    assert reasons.height > 2
    for unit in [*reasons["unit_id"].head(2), *towns]:
        page = fk.unit_page(unit, register=sample, lang="en")
        assert page.heading
        assert len(page.notes) > 1
        if page.picture:
            ElementTree.fromstring(page.picture)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", *slow("sk")])
def test_a_town_has_the_rows_of_its_family(lang: Lang) -> None:
    """Revenue, transfers, costs and debt; its peers are in each line, also without a section."""
    whole = fk.sample()
    towns = whole.units.get(whole.units.ids(legal_form_code="801").head(30))
    money = whole.financials(towns, 2022)
    unit = money.drop_nulls("revenue_total")["unit_id"][0]
    codes = {"known": "84110", "strange": "00000", "none": None}
    given = {name: money.with_columns(skNace=pl.lit(code, pl.String))
             for name, code in codes.items()}  # fmt: skip

    pages = {
        name: fk.unit_page(unit, among=peers, lang=lang, register=whole)
        for name, peers in given.items()
    }

    for page in pages.values():
        names = {line.caption for line in page.parts[0].lines}
        wanted = ("revenue_total", "transfers_received_total", "costs_total", "financial_debt",
                  "debt_to_revenue")  # fmt: skip
        called = {figures.capitalized(figures.called(name, lang)) for name in wanted}
        assert called <= names
        assert figures.capitalized(figures.called("net_margin", lang)) not in names
    groups = {name: {line.values[-1] for line in page.parts[1].lines}
              for name, page in pages.items()}  # fmt: skip
    assert len(groups["known"]) == 1
    assert groups["none"] == {"all that were given" if lang == "en" else "všetky dané"}
    assert all(groups["strange"])


def test_it_is_one_file(sample: Sample, money: pl.DataFrame, tmp_path: Path) -> None:
    """Figures, chart and source, with nothing from elsewhere."""
    unit = money.drop_nulls("sales")["unit_id"][0]
    path = fk.unit_page(unit, register=sample, lang="sk").to_html(tmp_path / "unit.html")
    page = path.read_text(encoding="utf-8")

    assert page.count("<svg") == page.count("</svg>") == 1
    # On a dark page the chart has the letters of the page, and no ground of its own.
    assert "currentColor" in page
    assert not re.search("#(fff|000|010203)", page.partition("<svg")[2])
    assert not re.search(r"(src|href)=.http|url\(http|@import", page)
    assert sample.cite(lang="sk") in page


def test_no_unit_is_an_error(sample: Sample) -> None:
    with pytest.raises(fk.RegisterError, match="999"):
        fk.unit_page(999_999_999, register=sample)
    with pytest.raises(fk.UsageError, match="years"):
        fk.unit_page(365, years=0, register=sample)
