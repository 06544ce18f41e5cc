"""Derived groups: sections, divisions, ages and sizes, where they are counted and drawn."""

from __future__ import annotations

from collections import Counter
from datetime import date

import polars as pl
import pytest
from matplotlib.axes import Axes

import finstat_kit as fk
from finstat_kit.frames.places import groups, nace
from tests.frames.findings.conftest import SAMPLE
from tests.frames.findings.plain import NO_DIVISIONS, SECTIONS, Row, age_of, section_of, size_of
from tests.support.examples import slow
from tests.support.pictures import axes, written


def test_every_division_is_in_its_section() -> None:
    """21 sections and 88 divisions, named in both languages, each once."""
    sections, divisions = groups.codelist("section"), groups.codelist("division")

    assert sections["code"].to_list() == list(SECTIONS)
    numbers = {n for first, last in SECTIONS.values() for n in range(first, last + 1)}
    assert [int(code) for code in divisions["code"]] == sorted(numbers - NO_DIVISIONS)
    assert divisions.height == 88
    assert not sections.null_count().sum_horizontal()[0]
    assert not divisions.null_count().sum_horizontal()[0]
    classes = (
        nace.entries("2").drop_nulls("classes").select("code", pl.col("classes").str.split(" "))
    )
    codes = [f"{code}{last}0" for code, own in classes.iter_rows() for last in own]
    assert len(codes) == 615
    codes += ["01110"[:length] for length in range(1, 5)] + ["00110", "04110", "1110"]
    coded = groups.with_group(pl.DataFrame({"skNace": codes}), "section")[0]
    assert coded["section"].to_list() == [section_of({"skNace": code}) for code in codes]


@pytest.mark.slow
def test_groups_are_counted_in_units_and_in_figures(figures: pl.DataFrame) -> None:
    """Every unit once, with its label; what is no division is an unknown code."""
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=400))
    odd = units.with_columns(skNace=pl.when(pl.int_range(pl.len()) < 7).then(pl.lit("04120"))
                             .otherwise("skNace"))  # fmt: skip

    counts = SAMPLE.count_by(odd, "section", lang="en")
    ages = SAMPLE.count_by(units, "age")
    sizes = SAMPLE.count_by(figures.filter(year=2023), "size_by_law", lang="en")

    assert counts["count"].sum() == ages["count"].sum() == units.height
    assert dict(counts.filter(code="G").select("label", "by").rows()) == {
        "Wholesale and retail trade; repair of motor vehicles and motorcycles": "section"
    }
    assert counts.filter(kind="unknown code").select("code", "count").rows() == [("04120", 7)]
    living = units.filter(pl.col("stav").is_null()).to_dicts()
    expected = Counter(age_of(row, SAMPLE.today) for row in living)
    found = ages.filter(pl.col("kind").is_in(["labelled", "no code"]))
    assert dict(found.select("code", "count").iter_rows()) == expected
    plain = Counter(size_of(row) for row in figures.filter(year=2023).to_dicts())
    assert dict(sizes.select("code", "count").iter_rows()) == plain


def test_a_unit_of_several_years_is_counted_by_its_latest_figures(figures: pl.DataFrame) -> None:
    """Once, whatever its size was before and in whatever order the rows are."""
    latest: dict[int, Row] = {}
    for row in figures.sort("year").to_dicts():
        if row["reason"] is None or latest.get(row["unit_id"], row)["reason"] is not None:
            latest[row["unit_id"]] = row

    sizes = fk.count_by(figures.sample(fraction=1, shuffle=True, seed=2), "size_by_law")

    assert sizes["count"].sum() == figures["unit_id"].n_unique()
    plain = Counter(size_of(row) for row in latest.values())
    assert dict(sizes.select("code", "count").iter_rows()) == plain


NEVER = {"net_turnover": None, "period_to": date(2022, 12, 31)}


@pytest.mark.parametrize(
    ("row", "size"),
    [
        # Two of three within the thresholds; the limits belong to the group.
        ({"total_assets": 350_000, "sales": 700_000, "velkostOrganizacie": "12"}, "micro"),
        ({"total_assets": 350_001, "sales": 700_000, "velkostOrganizacie": "05"}, "micro"),
        ({"total_assets": 350_001, "sales": 700_001, "velkostOrganizacie": "05"}, "small"),
        # From ten employees on a unit counts as above ten, from fifty on as above fifty.
        ({"total_assets": 350_001, "sales": 700_000, "velkostOrganizacie": "06"}, "small"),
        ({"total_assets": 4_000_001, "sales": 8_000_001, "velkostOrganizacie": "01"}, "large"),
        ({"total_assets": 4_000_001, "sales": 8_000_000, "velkostOrganizacie": "12"}, "large"),
        # Without staff where assets and turnover agree.
        ({"total_assets": 1, "sales": 1, "velkostOrganizacie": "00"}, "micro"),
        ({"total_assets": 10**7, "sales": 10**7, "velkostOrganizacie": None}, "large"),
        ({"total_assets": 1, "sales": 10**7, "velkostOrganizacie": "00"}, "unknown"),
        ({"total_assets": None, "sales": None, "velkostOrganizacie": "01"}, "unknown"),
        # Net turnover goes before sales; the thresholds were raised on the last day of 2023.
        ({"total_assets": 10**6, "sales": 1, "net_turnover": 10**6, "velkostOrganizacie": "05"},
         "small"),
        ({"total_assets": 450_000, "sales": 900_000, "velkostOrganizacie": "12"}, "small"),
        ({"total_assets": 450_000, "sales": 900_000, "velkostOrganizacie": "12",
          "period_to": date(2023, 12, 31)}, "micro"),
        ({"total_assets": 450_000, "sales": 900_000, "velkostOrganizacie": "12",
          "period_to": date(2023, 12, 30)}, "small"),
    ],
)  # fmt: skip
def test_a_size_is_that_of_the_thresholds(row: dict[str, object], size: str) -> None:
    """Of this year's figures, at each edge."""
    schema = {"total_assets": pl.Float64, "sales": pl.Float64, "net_turnover": pl.Float64,
              "velkostOrganizacie": pl.String, "period_to": pl.Date}  # fmt: skip
    frame = pl.DataFrame([NEVER | row], schema=schema)

    assert groups.with_group(frame, "size_by_law")[0]["size_by_law"].to_list() == [size]


@pytest.mark.parametrize(
    ("family", "size"),
    [("business", "micro"), ("public", None), ("non_profit", None), ("single_entry", None),
     (None, "micro")],
)  # fmt: skip
def test_the_law_sorts_businesses_alone(family: str | None, size: str | None) -> None:
    """Towns, non-profits and single-entry filers are of no size group, whatever their figures."""
    row = {"total_assets": 1.0, "sales": 1.0, "velkostOrganizacie": "01", "family": family,
           "period_to": date(2022, 12, 31)}  # fmt: skip

    sizes = groups.with_group(pl.DataFrame([row]), "size_by_law")[0]

    assert sizes["size_by_law"].to_list() == [size]


@pytest.mark.parametrize(
    ("born", "end", "code"),
    [
        (date(2020, 6, 1), date(2022, 5, 31), "00-01"),
        (date(2020, 6, 1), date(2022, 6, 1), "02-04"),
        (date(2000, 12, 31), date(2020, 12, 31), "20+"),
        (date(2021, 1, 1), date(2020, 12, 31), None),
        (None, date(2020, 12, 31), None),
    ],
)
def test_an_age_is_in_whole_years(born: date | None, end: date, code: str | None) -> None:
    """At the end of the period; of a later foundation there is none."""
    frame = pl.DataFrame({"datumZalozenia": [born], "period_to": [end]},
                         schema={"datumZalozenia": pl.Date, "period_to": pl.Date})  # fmt: skip

    assert groups.with_group(frame, "age")[0]["age"].to_list() == [code]


def test_a_column_of_nulls_alone_needs_no_type() -> None:
    """Whatever a group is made from, a frame without any value has the row of those without."""
    needed = {name: [None] for group in groups.GROUPS.values() for name in group.needs}
    frame = pl.DataFrame(needed | {"year": [None]})

    for by in ("section", "division", "age", "size_by_law"):
        expected = "unknown" if by == "size_by_law" else None
        assert SAMPLE.count_by(frame, by)["code"].to_list() == [expected]
        assert groups.with_group(frame, by)[0][by].to_list() == [expected]


def test_a_size_needs_figures() -> None:
    """Of a frame of units it is an error that names what has them."""
    units = SAMPLE.units.get(SAMPLE.units.ids(limit=3))

    with pytest.raises(fk.UsageError, match=r"by='size_by_law'.*total_assets.*fk\.financials"):
        SAMPLE.count_by(units, "size_by_law")


@pytest.mark.parametrize("by", ["section", "size_by_law", *slow("division", "age")])
def test_groups_are_drawn(by: str, figures: pl.DataFrame, nothing_chosen: None) -> None:
    """As bars and as boxes, with their labels and in their own order."""
    fk.use(SAMPLE)
    year = figures.filter(year=2016)

    def names(ax: Axes) -> list[str]:
        return [label.get_text() for label in ax.get_yticklabels()]

    bars = fk.plot_counts(year, by=by, lang="en", ax=axes(9, 9))  # type: ignore[arg-type]
    boxes = fk.plot_spread(year, value="sales", by=by, lang="sk", ax=axes(9, 9))  # type: ignore[arg-type]

    labels = groups.codelist(by)
    slovak = [name for name in names(boxes) if name in labels["name_sk"].to_list()]
    assert slovak
    if by in groups.ORDERED:
        english = [name for name in names(bars) if name in labels["name_en"].to_list()]
        assert english == [name for name in labels["name_en"] if name in english]
        assert len(english) >= 3
        assert slovak == [name for name in labels["name_sk"] if name in slovak]
    assert "size group" in written(bars).replace("\n", " ") or by != "size_by_law"
