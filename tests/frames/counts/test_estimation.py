"""Estimates from samples: the draw is fixed, the intervals never miss more often than they may.

The figures of the repeats: ``pytest -s -m slow tests/frames/counts/test_estimation.py``.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import finstat_kit as fk
from finstat_kit.arguments import By
from finstat_kit.frames.counts import count_by as counts, estimation
from finstat_kit.frames.counts.estimation import bounds
from tests.support.examples import quick
from tests.support.units import pooled

REG = fk.sample(10)
MASK = 2**64 - 1
ids_of_lists = st.lists(st.integers(0, 2**63 - 1), unique=True, max_size=60)
seeds = st.integers(0, 2**63 - 1)


def split_mix(state: int) -> int:
    mixed = (state + 0x9E3779B97F4A7C15) & MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
    return mixed ^ (mixed >> 31)


def drawn(ids: list[int], seed: int) -> list[int]:
    return estimation.drawn(pl.Series("id", ids, dtype=pl.Int64), seed).to_list()


def test_the_generator_is_the_published_one() -> None:
    """What the authors' own code gives first for two seeds."""
    assert split_mix(0) == 0xE220A8397B1DCDAF
    assert split_mix(1234567) == 6457827717110365317


@given(ids_of_lists, seeds)
def test_the_order_is_that_of_the_documented_hash(ids: list[int], seed: int) -> None:
    """The same by plain whole numbers, whatever the versions of numpy and polars are."""
    assert drawn(ids, seed) == sorted(ids, key=lambda id_: split_mix(split_mix(seed) ^ id_))


def test_the_order_is_fixed_for_ever() -> None:
    """A draw of today is that of next year; another seed draws others."""
    assert drawn(list(range(1, 11)), 1) == [8, 6, 9, 7, 3, 5, 2, 10, 4, 1]
    assert drawn(list(range(1, 11)), 2) != drawn(list(range(1, 11)), 1)


@given(ids_of_lists, ids_of_lists, seeds)
def test_a_draw_survives_changes_of_the_list(
    before: list[int], after: list[int], seed: int
) -> None:
    """Ids that are in both lists are drawn in the same order, whatever came, left or moved."""
    both = set(before) & set(after) | set(before[::2])
    changed = [*(id_ for id_ in after if id_ not in both), *sorted(both, reverse=True)]

    kept = [id_ for id_ in drawn(sorted(before), seed) if id_ in both]

    assert [id_ for id_ in drawn(changed, seed) if id_ in set(before)] == kept


def chances(number: int, group: int, n: int) -> list[Fraction]:
    """Return the chance of each number of hits, exactly."""
    every = comb(number, n)
    return [
        Fraction(comb(group, x) * comb(number - group, n - x), every) if x <= group else Fraction(0)
        for x in range(n + 1)
    ]


SIZES = [
    (number, n)
    for number in (1, 2, 3, 7, 20, 61, 150)
    for n in sorted({1, 2, number // 5, number // 2, number - 1, number})
    if 1 <= n <= number
]


@pytest.mark.parametrize(("number", "n"), quick(SIZES, 6))
def test_no_group_is_missed_too_often(number: int, n: int) -> None:
    """For every size of a group at least 95 % of all samples have it in their bounds, exactly."""
    ends = [bounds(hits, n, number) for hits in range(n + 1)]
    for group in range(number + 1):
        of_hits = chances(number, group, n)
        inside = sum(
            (
                chance
                for chance, (low, high) in zip(of_hits, ends, strict=True)
                if low <= group <= high
            ),
            Fraction(0),
        )
        assert inside >= Fraction(95, 100), (group, float(inside))


@settings(max_examples=60)
@given(st.data())
def test_bounds_are_no_wider_than_they_must_be(data: st.DataObject) -> None:
    """They are the exact inversion: sizes whose tails are both 2.5 % or more, and no others."""
    number = data.draw(st.integers(1, 60))
    n = data.draw(st.integers(1, number))
    hits = data.draw(st.integers(0, n))
    tail = Fraction(25, 1000)
    sizes = [
        group
        for group in range(hits, number - n + hits + 1)
        if sum(chances(number, group, n)[: hits + 1]) >= tail
        and sum(chances(number, group, n)[hits:]) >= tail
    ]

    assert bounds(hits, n, number) == (sizes[0], sizes[-1])
    assert sizes == list(range(sizes[0], sizes[-1] + 1))


@pytest.mark.parametrize(
    ("hits", "n", "number"),
    quick(
        [(hits, 3_000, 2_620_000) for hits in (0, 1, 38, 1_000)]
        + [(hits, 10_000, 30_000) for hits in (2, 300, 5_000)]
    ),
)
def test_the_size_of_the_register(hits: int, n: int, number: int) -> None:
    """Where logarithms of huge factorials are at work, the bounds are those of whole numbers."""

    def so_few(group: int) -> Fraction:
        term = total = comb(number - group, n)
        for x in range(hits):
            term = term * (group - x) * (n - x) // ((x + 1) * (number - group - n + x + 1))
            total += term
        return Fraction(total, comb(number, n))

    low, high = bounds(hits, n, number)

    assert so_few(high) >= Fraction(25, 1000) > so_few(high + 1)
    assert (number - high, number - low) == bounds(n - hits, n, number)
    assert low * n <= hits * number <= high * n


def test_all_units_leave_no_doubt() -> None:
    """With every unit drawn the bounds are the count."""
    assert [bounds(hits, 500, 500) for hits in (0, 123, 500)] == [(0, 0), (123, 123), (500, 500)]
    assert bounds(0, 0, 7) == (0, 7)


UNKNOWN = [("101", None), ("7", None)]
PROBLEMS = [None, None, None, "no record"]
rows_of = st.lists(
    st.tuples(
        st.sampled_from(["SK0101", "SK0322", "101", "7", None]),
        st.sampled_from([None, None, "ZMAZANÉ", "NEVEREJNÁ"]),
        st.sampled_from(PROBLEMS),
    ),
    max_size=30,
)


@pytest.mark.slow
@given(rows_of, st.integers(0, 1_000), st.sampled_from(["sk", "en"]))
def test_every_unit_drawn_is_counted(
    rows: list[tuple[str | None, ...]], more: int, lang: str
) -> None:
    """Whatever is behind an id: shares add up to 1, all codes have a row, all is within bounds."""
    schema = dict.fromkeys(("okres", "stav", "problem"), pl.String)
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    n, number = len(rows), len(rows) + more

    table = estimation.estimated(frame, "okres", REG._lookup, number, lang=lang)  # type: ignore[arg-type]

    assert table.schema == estimation.ESTIMATES
    hits = (table["share"] * n).round() if n else pl.Series([0])
    assert hits.sum() == n
    others = table.filter(pl.col("kind") != "labelled")
    by_kind = dict(others.select("kind", pl.col("share") * n).iter_rows())
    assert others["kind"].to_list() == [
        "unknown codes", "no code", "gone", "no record",
    ]  # fmt: skip
    read = [(code, state) for code, state, problem in rows if not problem]
    of_kind = {kind: sum(p == kind for _, _, p in rows) for kind in ("no record",)}
    of_kind["gone"] = sum(state is not None for _, state in read)
    of_kind["no code"] = sum(row == (None, None) for row in read)
    of_kind["unknown codes"] = sum(row in UNKNOWN for row in read)
    for kind, number_drawn in of_kind.items():
        assert (by_kind[kind] or 0) == pytest.approx(number_drawn)
    labelled = table.filter(kind="labelled")
    assert set(labelled["code"]) == set(REG.districts()["code"])
    assert (
        labelled["label"]
        == labelled.select("code").join(
            REG.districts(), on="code", how="left", maintain_order="left"
        )[f"name_{lang}"]
    ).all()
    assert ((table["count"] - table["share"].fill_null(0) * number).abs() <= 0.5 + 1e-9).all()
    assert (table["count_low"] <= table["count"]).all()
    assert (table["count"] <= table["count_high"]).all()
    assert (table["count_high"] <= number).all()
    assert table.select("n", "listed").unique().rows() == [(n, number)]
    assert table["kind"].to_list() == sorted(table["kind"], key=counts.KINDS.index)


@given(rows_of)
def test_a_sample_of_all_is_the_count(rows: list[tuple[str | None, ...]]) -> None:
    """With n = N the rows that occur are those of count_by, bit for bit."""
    schema = dict.fromkeys(("okres", "stav", "problem"), pl.String)
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        problem=pl.lit(None, pl.String)
    )

    table = estimation.estimated(frame, "okres", REG._lookup, frame.height)

    known = pooled(REG.count_by(frame, "okres"))
    assert table.filter(pl.col("count") > 0).select(known.columns).equals(known)
    assert (table["count_low"] == table["count"]).all()
    assert (table["count_high"] == table["count"]).all()


@pytest.mark.slow
def test_many_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the sample: 95 to 99.5 % of all intervals have the true count, of each group 93 % do.

    The groups are the same in each sample, unknown codes and those that do not occur included.
    """
    by: By = "kraj"
    sample, n = fk.sample(3_000), 500
    ids = sample.units.ids()["id"]
    units = sample.units.get(ids).select("id", by, "stav", problem=pl.lit(None, pl.String))
    counted = pooled(sample.count_by(units, by))
    groups = estimation.estimated(units.head(0), by, sample._lookup, ids.len())
    truth = groups.select("code", "kind").join(
        counted.select("code", "kind", true="count"),
        on=["code", "kind"], how="left", nulls_equal=True,
    ).with_columns(pl.col("true").fill_null(0))  # fmt: skip
    place = pl.DataFrame({"id": ids, "row": np.arange(ids.len())})
    within = []
    for seed in range(200):
        chosen = estimation.drawn(ids, seed).head(n).to_frame()
        rows = chosen.join(place, on="id", maintain_order="left")["row"]
        table = estimation.estimated(units[rows], by, sample._lookup, ids.len())
        both = truth.join(table, on=["code", "kind"], how="left", nulls_equal=True)
        inside = pl.col("true").is_between("count_low", "count_high")
        within.append(both.select("code", "kind", within=inside.fill_null(value=False)))

    groups = pl.concat(within).group_by("code", "kind").agg(pl.col("within").mean())
    mean, least = groups["within"].sum() / groups.height, groups.sort("within").row(0)
    with capsys.disabled():
        print(
            f"\n{by}, n = {n:,} of {ids.len():,}: {groups.height} groups, pooled {mean:.2%}, "
            f"least {least[2]:.1%} ({least[0] or least[1]})"
        )
    assert 0.95 <= mean <= 0.995
    assert least[2] >= 0.93
