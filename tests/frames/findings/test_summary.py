"""Summaries: each number against plain Python over more than a thousand filings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from statistics import mean, median
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from tests.frames.findings.plain import age_of, quantile, section_of, size_of
from tests.support.examples import slow

Row = dict[str, Any]
NO_VALUE: Any = 5


def rows_of(frame: pl.DataFrame) -> list[Row]:
    return list(frame.iter_rows(named=True))


def by_group(rows: list[Row], *keys: str) -> dict[tuple[object, ...], list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return groups


@pytest.mark.parametrize("by", ["section", *slow("size_by_law", "age", "division")])
def test_a_summary_is_what_plain_python_computes(by: str, figures: pl.DataFrame) -> None:
    """Counts, sum, mean, quantiles and concentration; every row of the frame is counted once."""
    result = fk.summary(figures, "sales", by=by)  # type: ignore[arg-type]

    made = {"section": section_of, "age": age_of, "size_by_law": size_of}
    plain = rows_of(figures)
    for row in plain:
        code = row["skNace"] and row["skNace"][:2] if by == "division" else row.get(by)
        row[by] = made[by](row) if by in made else code
    groups = by_group(plain, by, "year")
    assert len(groups) == result.height > 12
    for found in rows_of(result):
        group = groups[found[by], found["year"]]
        values = [row["sales"] for row in group if row["sales"] is not None]
        assert (found["units"], found["n"]) == (len(group), len(values))
        without = len(group) - len(values)
        assert found["without"] == (None if by == "size_by_law" else without)
        assert sum(part["count"] for part in found["reasons"]) == without
        forms = Counter(row["template"] for row in group if row["sales"] is not None)
        assert {part["template"]: part["count"] for part in found["forms"]} == forms
        if not values:
            assert found["sum"] is found["mean"] is found["median"] is found["share_top5"] is None
            continue
        assert found["sum"] == pytest.approx(sum(values))
        assert found["mean"] == pytest.approx(mean(values))
        assert found["median"] == pytest.approx(median(values))
        for name, share in {"p10": 0.1, "p25": 0.25, "p75": 0.75, "p90": 0.9}.items():
            assert found[name] == pytest.approx(quantile(values, share))
        if min(values) < 0 or not sum(values):
            assert found["share_top5"] is None
        else:
            largest = sum(sorted(values)[-5:])
            assert found["share_top5"] == pytest.approx(largest / sum(values))
    assert result["units"].sum() == figures.height


def test_a_ratio_is_also_weighted(figures: pl.DataFrame) -> None:
    """By its denominators, of the rows that have it; those with a divisor of no use are counted."""
    result = fk.summary(figures, ["roe", "roa"], by=None)
    every = rows_of(figures)

    for found in rows_of(result):
        rows = [row for row in every if row["year"] == found["year"]]
        under = "equity" if found["value"] == "roe" else "total_assets"
        pairs = [(row["net_profit"], row[under]) for row in rows if row["family"] == "business"]
        pairs = [pair for pair in pairs if None not in pair]
        good = [pair for pair in pairs if pair[1] > 0]
        assert found["n"] == len(good)
        assert found["n_excluded"] == len(pairs) - len(good)
        assert found["mean"] == pytest.approx(mean(a / b for a, b in good))
        assert found["weighted"] == pytest.approx(sum(a for a, _ in good) / sum(b for _, b in good))
    assert result.filter(value="roe")["n_excluded"].sum() > 30
    assert result["value"].unique(maintain_order=True).to_list() == ["roe", "roa"]
    without_items = fk.summary(fk.ratios(figures), "roe", by=None)
    assert without_items["weighted"].null_count() == without_items.height
    assert without_items["median"].equals(result.filter(value="roe")["median"])


def test_why_there_is_no_value_is_counted(figures: pl.DataFrame) -> None:
    """The reasons of financials, and those of the value itself."""
    result = fk.summary(figures, ["sales", "roe", "net_turnover"], by=None)

    rows = rows_of(figures)
    for found in rows_of(result):
        counts: Counter[str] = Counter()
        for row in rows:
            if row["year"] != found["year"]:
                continue
            equity, profit = row["equity"], row["net_profit"]
            business = row["family"] == "business"
            has = {
                "sales": row["sales"] is not None,
                "net_turnover": row["net_turnover"] is not None,
                "roe": business and None not in (equity, profit) and equity > 0,
            }[found["value"]]
            if has:
                continue
            if row["reason"] is not None:
                counts[row["reason"]] += 1
            elif not business and (found["value"] != "sales" or row["family"] == "single_entry"):
                counts["item_not_in_form"] += 1
            elif found["value"] == "roe" and None not in (equity, profit):
                counts["divisor"] += 1
            elif found["value"] == "net_turnover" and row["template"] != 699:
                counts["item_not_in_form"] += 1
            else:
                counts["all_blank"] += 1
        assert {part["reason"]: part["count"] for part in found["reasons"]} == counts


def test_a_negative_value_leaves_no_share_of_the_largest() -> None:
    """Of a sum above zero too: five values could be more than all."""
    values = [-1.0, 10.0, 20.0]
    for negative, share in ((True, None), (False, 1.0)):
        own = pl.DataFrame({"unit_id": [1, 2, 3], "year": [2020] * 3, "profit": values})
        own = own if negative else own.with_columns(pl.col("profit").abs())
        result = fk.summary(own, "profit", by=None)
        assert result["share_top5"].item() == share


def test_units_are_counted_once(figures: pl.DataFrame) -> None:
    """A row of the previous column beside one of the current, twice, or short, is not a unit."""
    previous = pl.lit("previous", figures.schema["source_column"])
    half = figures.with_columns(months=pl.lit(6, pl.Int16), sales=pl.lit(1.0))
    doubled = pl.concat([figures.with_columns(source_column=previous, sales=pl.lit(2.0)), figures])
    filed = figures.filter(pl.col("months") == 12)

    once = fk.summary(figures, "sales", by="section")

    assert fk.summary(doubled, "sales", by="section").equals(once)
    twice = pl.concat([half.filter(pl.col("months").is_not_null()), filed])
    assert fk.summary(twice, "sales").filter(pl.col("sum") > 0).height
    assert fk.summary(figures.lazy(), "sales", by="section").equals(once)
    both = pl.concat([figures, figures.with_columns(consolidated=pl.lit(value=True))])
    with pytest.raises(fk.UsageError, match="individual and consolidated"):
        fk.summary(both, "sales")


def test_without_a_column_of_reasons_none_is_claimed(figures: pl.DataFrame) -> None:
    """Rows without a filing would all be blank; that an item is not on the form is still known."""
    whole, bare = (fk.summary(f, "sales", by=None) for f in (figures, figures.drop("reason")))
    reasons = {entry["reason"] for row in bare["reasons"] for entry in row}

    assert bare.drop("reasons").equals(whole.drop("reasons"))
    assert reasons == {"unknown", "item_not_in_form"}


@pytest.mark.parametrize("by", ["size_by_law", ["kraj", "size_by_law"], ["size_by_law", "kraj"]])
def test_a_unit_without_figures_has_no_size(by: Any, figures: pl.DataFrame) -> None:
    """It is in no group: how many lack a value is not known there, how many have no size is."""
    year = figures.filter(year=2016)
    bare = year.filter(pl.col("reason").is_not_null())
    assert 0 < bare.height < year.height
    known = set(fk.regions()["code"])
    bare_in = Counter(code if code in known else None for code in bare["kraj"])

    sizes = fk.summary(year, ["sales", "roe"], by=by)

    assert sizes["without"].null_count() == sizes.height
    with_size = [row for row in rows_of(year) if size_of(row) is not None]
    sized = sizes.drop_nulls("size_by_law").filter(value="sales")
    assert sized["units"].sum() == len(with_size)
    for row in rows_of(sizes):
        expected = bare.height if by == "size_by_law" else bare_in[row["kraj"]]
        assert row["n_ungrouped"] == expected
    regions = fk.summary(year, "sales")
    assert regions["n_ungrouped"].null_count() == regions.height
    assert regions["without"].null_count() == 0


@pytest.mark.parametrize("by", [None, "kraj", "size_by_law"])
def test_a_value_beside_a_reason_is_none(by: Any, figures: pl.DataFrame) -> None:
    """A sum over nothing is 0 in polars: it is left out and counted by its reason."""
    names = ["turnover", "sales"]
    own = figures.with_columns(
        turnover=pl.sum_horizontal("sales", "net_turnover"), sales=pl.col("sales").fill_null(0)
    )
    filed = own.filter(pl.col("reason").is_null())

    result, plain = (fk.summary(frame, names, by=by) for frame in (own, filed))

    assert result["n"].sum() == 2 * filed.height < 2 * own.height
    counts = result.explode("reasons").unnest("reasons")["count"]
    assert counts.sum() == 2 * (own.height - filed.height)
    keys = ["value", "year", *([] if by is None else [by])]
    statistics = ["n", "sum", "mean", "median", "p10", "share_top5"]
    assert_frame_equal(
        result.filter(pl.col("n") > 0).select(*keys, *statistics),
        plain.filter(pl.col("n") > 0).select(*keys, *statistics),
    )


def test_partly_read_figures_have_values(figures: pl.DataFrame) -> None:
    """A cell that is no number is a reason for one value, not for the others."""
    filed = figures.filter(pl.col("reason").is_null()).head(30)
    partly = filed.with_columns(reason=pl.lit("not_a_number"))

    assert fk.summary(partly, "sales", by=None)["n"].sum() == partly["sales"].count() > 0


def test_unknown_codes_and_no_code_are_one_group(figures: pl.DataFrame) -> None:
    """Without a code, labelled as unknown, with the number of codes; counts keep them apart."""
    year = figures.filter(year=2016).with_row_index("n")
    code = pl.when(pl.col("n") < 3).then(pl.lit("SK099")).when(pl.col("n") < 5).then(pl.lit("1"))
    odd = year.with_columns(kraj=pl.when(pl.col("n") < 7).then(code).otherwise(pl.lit("SK010")))

    known, unknown = fk.summary(odd, "sales", lang="en").to_dicts()

    assert (known["kraj"], known["region"]) == ("SK010", "Region of Bratislava")
    assert (unknown["kraj"], unknown["region"]) == (None, "unknown")
    assert (known["units"], unknown["units"]) == (year.height - 7, 7)
    assert (known["n_codes"], unknown["n_codes"]) == (None, 2)
    assert unknown["sum"] == odd.head(7)["sales"].sum()
    assert fk.count_by(odd, "kraj")["kind"].to_list().count("unknown code") == 2
    pairs = fk.summary(odd, "sales", ["kraj", "size_by_law"], lang="en")
    assert set(pairs.filter(pl.col("kraj").is_null())["region"]) == {"unknown"}
    assert pairs.drop_nulls("kraj")["n_codes"].null_count() == pairs.drop_nulls("kraj").height


def test_without_a_register_every_code_of_a_field_counts_as_known(figures: pl.DataFrame) -> None:
    """No codelist can be asked for; sections come with the package."""
    odd = figures.filter(year=2016).head(1).with_columns(kraj=pl.lit("1"), skNace=pl.lit("00000"))
    fk.use(None)

    by_code, by_section = (fk.summary(odd, "sales", by) for by in ("kraj", "section"))

    assert by_code.select("kraj", "region", "n_codes").row(0) == ("1", None, None)
    assert by_section.select("section", "section_label", "n_codes").row(0) == (None, "neznáme", 1)


def test_a_ratio_has_neither_sum_nor_concentration(figures: pl.DataFrame) -> None:
    """Nor has a rate of growth; an amount has both, and a ratio of yes or no its share of units."""
    panel, _ = fk.panel(figures)
    names = ["roa", "current_ratio", "ebitda", "below_crisis_ratio"]
    growth = fk.growth(panel, ["sales", "roa"])
    summaries = [
        fk.summary(figures, names, by=None),
        fk.summary(growth, ["sales_growth", "sales_change", "roa_before"], by="kraj"),
    ]

    for result in summaries:
        with_sum = result.filter(pl.col("sum").is_not_null() | pl.col("share_top5").is_not_null())
        assert set(with_sum["value"]) <= {"ebitda", "sales_change"}
        assert set(with_sum["value"])
        assert set(result.drop_nulls("mean")["value"]) == set(result["value"])
    ratios = fk.ratios(figures).filter(year=2018)["below_crisis_ratio"]
    crisis = summaries[0].filter(value="below_crisis_ratio", year=2018)
    assert crisis.select("n", "mean").row(0) == (ratios.count(), pytest.approx(ratios.mean()))


def test_two_groups_are_summarized_together(figures: pl.DataFrame) -> None:
    """One row for each pair that occurs; the whole is the sum of its parts."""
    pairs = fk.summary(figures, "sales", by=["section", "size_by_law"])
    whole = fk.summary(figures, "sales", by=None)

    assert pairs["by"][0].to_list() == ["section", "size_by_law"]
    assert whole["by"][0].to_list() == []
    added = pairs.group_by("year").agg(pl.col("units", "n", "sum").sum()).sort("year")
    assert added.select("units", "n").equals(whole.select("units", "n"))
    assert added["sum"].to_list() == pytest.approx(whole["sum"].to_list())
    with fk.using(fk.sample()):
        named = fk.resolve_labels(pairs, columns=["section", "size_by_law"], lang="en")
    assert "Construction" in named["section_label"].to_list()
    sizes = {"micro", "small", "large", "not known", None}
    assert set(named["size_by_law_label"]) == sizes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"value": "salse"}, "did you mean 'sales'"),
        ({"value": NO_VALUE}, "value=5 is not allowed"),
        ({"value": "sales", "by": "sekcia"}, r"by='sekcia' is not known; .*section"),
        ({"value": "sales", "by": ["kraj", "age", "section"]}, "by: 3 groups; give one, or two"),
        ({"value": "sales", "by": "sidlo"}, "by='sidlo' is not a column of the frame"),
    ],
)
def test_what_cannot_be_summarized(
    options: dict[str, Any], text: str, figures: pl.DataFrame
) -> None:
    """The error names the argument, its value and the cure."""
    with pytest.raises(fk.UsageError, match=text):
        fk.summary(figures, **options)


def test_a_frame_of_something_else_is_refused(figures: pl.DataFrame) -> None:
    """Named by the column that it lacks."""
    with pytest.raises(fk.UsageError, match=re.escape("figures: no column 'unit_id'")):
        fk.summary(pl.DataFrame({"sales": [1.0]}), "sales")
    with pytest.raises(fk.UsageError, match=r"^value='kraj' is String; give a column of numbers"):
        fk.summary(figures, "kraj")
    with pytest.raises(fk.UsageError, match=r"no column 'datumZalozenia'.*fk\.financials"):
        fk.summary(figures.drop("datumZalozenia"), "sales", by="age")


def test_a_ratio_names_what_it_lacks(figures: pl.DataFrame) -> None:
    """Not the ratio itself as the name that was meant."""
    text = "value='roa': no column 'net_profit', which it is computed from; give a frame as"
    with pytest.raises(fk.UsageError, match=text):
        fk.summary(figures.drop("net_profit"), "roa")


@pytest.mark.slow
def test_columns_of_other_widths_are_the_same_figures(figures: pl.DataFrame) -> None:
    """Narrow numbers, categories and decimals, of a frame that was stored elsewhere."""
    own = figures.with_columns(
        pl.col("unit_id", "template").cast(pl.Int32),
        pl.col("year").cast(pl.UInt16),
        pl.col("skNace", "family", "reason", "source_column").cast(pl.String).cast(pl.Categorical),
        pl.col("period_to", "datumZalozenia").cast(pl.Datetime),
        pl.col(pl.Float64).cast(pl.Float32),
    )
    for by in ("section", "age", "size_by_law"):
        ours = fk.summary(own, ["total_assets", "roa"], by=by)
        expected = fk.summary(figures, ["total_assets", "roa"], by=by)
        assert_frame_equal(ours, expected, rel_tol=1e-4)


@pytest.mark.parametrize(
    ("column", "dtype", "text"),
    [
        ("year", pl.String, "figures: the column 'year' is String; give it as Int32"),
        ("unit_id", pl.String, "figures: the column 'unit_id' is String; give it as Int64"),
        ("skNace", pl.Int64, "'skNace' is Int64; give it as String: a code read as a number"),
        ("velkostOrganizacie", pl.Int64, "'velkostOrganizacie' is Int64; give it as String"),
        ("period_to", pl.String, "the column 'period_to' is String; give it as Date"),
        ("template", pl.String, "the column 'template' is String; give it as Int32"),
    ],
)
def test_a_column_of_another_type_is_refused(
    column: str, dtype: type[pl.DataType], text: str, figures: pl.DataFrame
) -> None:
    """Before a code without its leading zeros is a section, or polars has an error of its own."""
    mangled = figures.with_columns(pl.col(column).cast(dtype))
    calls: list[Callable[[], object]] = [
        lambda: fk.summary(mangled, ["sales", "in05"], by=["section", "size_by_law"]),
        lambda: fk.peers(mangled, 210, ["sales", "in05"]),
    ]
    for call in calls:
        with pytest.raises(fk.UsageError, match=re.escape(text)):
            call()
