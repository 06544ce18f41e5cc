"""The sample's own filings, from ids to cells, sums, the printed form and the files."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.frames.financials import items


@pytest.fixture(scope="module")
def reports() -> pl.DataFrame:
    sample = fk.sample(1_000)
    return sample.reports.get(sample.reports.ids().sample(1_500, seed=1).sort("id"), errors="keep")


@pytest.mark.slow
def test_cells_of_a_sample(reports: pl.DataFrame) -> None:
    """Every report has cells or a reason, with no request."""
    reg = fk.sample(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = reg.reports.cells(reports)
    without = reg.reports.check(reports).explode("reasons").unnest("reasons")

    assert reg.stats.requests == 0
    assert set(cells["report_id"]) | set(without["report_id"]) == set(reports["id"])
    assert set(cells["template"]) <= set(items.TEMPLATES)
    assert not {"length_mismatch", "template_mismatch", "unreadable"} & set(without["reason"])


@pytest.mark.slow
def test_sums_of_a_sample(reports: pl.DataFrame) -> None:
    """Every sum of the forms holds but in the share of filings that is marked."""
    checks = fk.sample(20).reports.check(reports).filter(pl.col("checked") > 0)

    failing = checks.filter(pl.col("failing") > 0)
    assert checks.height > 700
    assert 0.005 < failing.height / checks.height < 0.04
    assert failing["failures"].null_count() == 0
    assert checks.filter(pl.col("failing") == 0)["failures"].null_count() == (
        checks.height - failing.height
    )


def test_scan_to_cells() -> None:
    """The cells of a scan stay lazy: what the query does not need is not fetched."""
    with fk.using(fk.sample(200)) as reg:
        lazy = fk.reports.cells(fk.reports.scan().head(40))
        before = reg.stats.requests
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = lazy.filter(pl.col("row") == 0).collect()

        assert found.height
        assert reg.stats.requests - before == 40


@pytest.mark.slow
def test_every_report_can_be_shown(reports: pl.DataFrame) -> None:
    """In both languages, whatever it holds."""
    register = fk.sample(20)
    for report in reports.head(60).iter_slices(1):
        for lang in ("sk", "en"):
            shown = register.as_filed(report, lang=lang)
            assert str(report["id"][0]) in str(shown)
            assert shown._repr_html_().count("<table") == len(shown.parts)
