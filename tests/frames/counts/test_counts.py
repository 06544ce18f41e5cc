"""Rows counted by code: none is lost, and each says of what kind it is."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.frames.counts import count_by as counts
from finstat_kit.frames.financials.reasons import STATUS
from tests.frames.places.test_labels import REG, column


def test_counts_are_ordered_by_kind_and_number() -> None:
    """Labelled first, by count; then unknown codes, no code, gone. Counts add up."""
    frame = pl.DataFrame(
        {
            "kraj": ["SK021", "SK010", "SK010", "SK022", "1", None, "SK010", None],
            "stav": [None] * 6 + ["ZMAZANÉ", "NEVEREJNÁ"],
        }
    )

    counted = REG.count_by(frame, "kraj", lang="en")

    assert counted.schema == counts.COUNTS
    assert counted.rows() == [
        ("SK010", "Region of Bratislava", 2, 0.25, "labelled", "kraj"),
        ("SK021", "Region of Trnava", 1, 0.125, "labelled", "kraj"),
        ("SK022", "Region of Trenčín", 1, 0.125, "labelled", "kraj"),
        ("1", None, 1, 0.125, "unknown code", "kraj"),
        (None, None, 1, 0.125, "no code", "kraj"),
        (None, None, 2, 0.25, "gone", "kraj"),
    ]


@settings(deadline=None)
@given(
    st.lists(st.tuples(column("okres"), st.sampled_from([None, None, "ZMAZANÉ"])), max_size=40),
    st.booleans(),
)
def test_counts_add_up(rows: list[tuple[str | None, str | None]], lazy: bool) -> None:
    """No row is lost in counting, whatever it says."""
    frame = pl.DataFrame(rows, schema={"okres": pl.String, "stav": pl.String}, orient="row")

    counted = REG.count_by(frame.lazy() if lazy else frame, "okres")

    assert counted["count"].sum() == frame.height
    assert counted.filter(pl.col("kind") == "gone")["count"].sum() == frame["stav"].count()
    assert counted["share"].sum() == pytest.approx(1 if rows else 0)
    assert counted.schema == counts.COUNTS


def test_a_unit_of_several_years_is_counted_once() -> None:
    """Without ids each row is a unit."""
    rows = pl.DataFrame(
        {
            "unit_id": [1, 1, 2, 3, 3],
            "kraj": ["SK010", "SK010", "SK010", None, None],
        }
    )

    for frame in (rows, rows.lazy()):
        assert REG.count_by(frame, "kraj")["count"].to_list() == [2, 1]
        assert REG.count_by(frame.drop("unit_id"), "kraj")["count"].to_list() == [3, 2]


def test_a_unit_is_counted_by_its_latest_row_with_figures() -> None:
    """One unreadable cell leaves a row its figures; a year without a filing has none."""
    rows = pl.DataFrame(
        {
            "unit_id": [1, 1, 1],
            "year": [2022, 2023, 2024],
            "reason": [None, "not_a_number", "no_filing_for_year"],
            "kraj": ["SK010", "SK021", "SK022"],
        }
    )
    status = pl.Series("status", ["filed", "filed", "after"], dtype=STATUS)

    for frame in (rows, rows.drop("reason").with_columns(status)):
        for shuffled in (frame, frame.reverse(), frame.lazy()):
            assert REG.count_by(shuffled, "kraj")["code"].to_list() == ["SK021"]


def test_of_rows_of_one_year_the_last_is_counted() -> None:
    """In the order of the frame, such as the consolidated figures after the individual ones."""
    n = 5_000
    rows = pl.DataFrame(
        {
            "unit_id": [*range(n)] * 3,
            "year": [2024] * 2 * n + [2023] * n,
            "kraj": ["SK010"] * n + ["SK021"] * n + ["SK022"] * n,
            "reason": [None] * 3 * n,
        }
    )

    assert REG.count_by(rows, "kraj").select("code", "count").rows() == [("SK021", n)]


def test_rows_that_name_no_unit_are_counted_each() -> None:
    """Every row is counted where nothing says that two are of one unit."""
    rows = pl.DataFrame(
        {"unit_id": [None, 7, None, 7], "kraj": ["SK010", "SK010", "SK010", "SK021"]},
        schema_overrides={"unit_id": pl.Int64},
    )

    assert REG.count_by(rows, "kraj").select("code", "count").rows() == [("SK010", 2), ("SK021", 1)]


def test_a_column_that_is_only_called_gone_hides_no_row() -> None:
    """The mark of a mirror is a text; what readers add under that name hides no row."""
    frame = pl.DataFrame({"kraj": ["SK010", "SK010"], "gone": [False, True]})

    assert REG.count_by(frame, "kraj")["kind"].to_list() == ["labelled"]


def test_an_unknown_column_is_refused_with_those_that_count() -> None:
    """What can be counted by is told."""
    with pytest.raises(fk.UsageError, match=r"by='regions' is not known.*'kraj'"):
        REG.count_by(pl.DataFrame({"regions": ["x"]}), "regions")  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match=r"by=\['kraj'\] is not known; give one of"):
        REG.count_by(pl.DataFrame({"kraj": ["x"]}), ["kraj"])  # type: ignore[arg-type]


def test_a_field_is_named_by_itself_or_by_its_labels() -> None:
    """Everywhere; in a frame that has both columns the field of the code is meant."""
    sample = fk.sample(300)
    units = sample.units.get(sample.units.ids())
    labelled = sample.resolve_labels(units)
    money = sample.financials(units.head(60), 2015)
    names = {
        "region": "kraj", "district": "okres", "municipality": "sidlo", "legal_form": "pravnaForma",
        "activity": "skNace", "ownership": "druhVlastnictva", "size_class": "velkostOrganizacie",
        "section_label": "section",
    }  # fmt: skip
    for label, field in names.items():
        by_label: Any = label
        by_field: Any = field
        expected = sample.count_by(units, by_field)
        assert_frame_equal(sample.count_by(units, by_label), expected)
        if field in units.columns:
            resolved = sample.resolve_labels(units, columns=[label])
            assert_frame_equal(resolved, sample.resolve_labels(units, columns=[field]))
    assert_frame_equal(sample.count_by(labelled, "region"), sample.count_by(units, "kraj"))  # type: ignore[arg-type]
    pairs: list[tuple[Any, Any]] = [
        ("region", "kraj"),
        (["section_label", "region"], ["section", "kraj"]),
    ]
    for by, fields in pairs:
        assert_frame_equal(fk.summary(money, "sales", by), fk.summary(money, "sales", fields))
    with pytest.raises(fk.UsageError, match="did you mean"):
        sample.count_by(units, "kraje")  # type: ignore[arg-type]
