"""Two counts side by side: every row of both is there."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Final

import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.frames.counts.count_by import KINDS
from finstat_kit.frames.places import labels

REG = fk.sample(1_000)
SIZE: Final = "velkostOrganizacie"
codes = st.lists(st.sampled_from(["SK010", "SK042", "99", None]), max_size=12)
states = st.sampled_from([None, "ZMAZANÉ"])


def records(rows: list[tuple[str | None, str | None]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"kraj": pl.String, "stav": pl.String}, orient="row")


@given(
    st.lists(st.tuples(st.sampled_from(["SK010", "SK042", "99", None]), states), max_size=12),
    st.lists(st.tuples(st.sampled_from(["SK010", "SK042", "99", None]), states), max_size=12),
    st.booleans(),
)
def test_nothing_is_dropped(
    a: list[tuple[str | None, str | None]], b: list[tuple[str | None, str | None]], counted: bool
) -> None:
    """Counts of both add up, differences are right, no code and gone are rows of their own."""
    frames = [records(a), records(b)]
    if counted:
        frames = [REG.count_by(frame, "kraj") for frame in frames]
    table = REG.compare(frames[0], frames[1])

    def wanted(rows: list[tuple[str | None, str | None]]) -> Counter[object]:
        return Counter((None, "gone") if gone else (code, None) for code, gone in rows)

    def found(column: str) -> Counter[object]:
        rows = table.select("code", "kind", column).rows()
        return Counter({(code, kind if kind == "gone" else None): n for code, kind, n in rows})

    assert +found("count_a") == wanted(a)
    assert +found("count_b") == wanted(b)
    assert (table["difference"] == table["count_b"] - table["count_a"]).all()
    for side, rows in (("a", a), ("b", b)):
        shares = table[f"share_{side}"]
        if rows:
            assert shares.sum() == pytest.approx(1)
            assert shares.null_count() == 0
        else:
            assert shares.null_count() == table.height


def test_windows_of_last_changes_are_warned_of() -> None:
    """Nested, overlapping or apart, and narrowed alike; counts of them tell no days."""
    units = REG.units.get(REG.units.ids())
    day = pl.col("datumPoslednejUpravy")
    days = units["datumPoslednejUpravy"].unique().sort()
    early, middle, late = (days[days.len() * quarter // 4] for quarter in (1, 2, 3))
    windows: list[tuple[labels.Frame, labels.Frame]] = [
        (units.filter(day >= early), units.filter(day >= late)),
        (units.filter(day.is_between(early, late)), units.filter(day > middle)),
        (units.filter(day < middle).lazy(), units.filter(day >= middle)),
    ]
    for a, b in windows:
        narrow = pl.col("kraj") == "SK010"
        for left, right in ((a, b), (b, a), (a.filter(narrow), b.filter(narrow))):
            with pytest.warns(UserWarning, match="both frames are windows of last changes") as told:
                table = REG.compare(left, right)
            assert told[0].filename == __file__
            assert table["windows"].all()
        counted = REG.compare(REG.count_by(a, "kraj"), b)
        assert counted["windows"].is_null().all()


def test_given_counts_are_checked_as_those_of_charts_are() -> None:
    """Codes read from csv as numbers match no codes of the register; a count is a whole number."""
    given = REG.count_by(pl.DataFrame({"velkostOrganizacie": ["01", "02", None]}), SIZE)
    code, count = pl.col("code"), pl.col("count")
    of_numbers = given.with_columns(code.cast(pl.Int64))

    with pytest.raises(fk.UsageError, match=r"the column 'code' is Int64; codes are text.*String"):
        REG.compare(of_numbers, given, by=SIZE)
    with pytest.raises(fk.UsageError, match="the column 'code' is Int64; codes are text"):
        REG.compare(of_numbers, of_numbers, by=SIZE)
    for wrong in (count.cast(pl.String), count.implode().over("code"), count * 1.5):
        with pytest.raises(fk.UsageError, match="the column 'count' is"):
            REG.compare(given, given.with_columns(wrong), by=SIZE)
    for wrong in (pl.when(code == "02").then("count").alias("count"), -count):
        with pytest.raises(fk.UsageError, match="the column 'count' has nulls or negative"):
            REG.compare(given.with_columns(wrong), given, by=SIZE)
    with pytest.raises(fk.UsageError, match=r"the column 'kind' has \{'x'\}"):
        REG.compare(given.with_columns(kind=pl.lit("x")), given, by=SIZE)


def test_texts_of_given_counts_may_be_categories() -> None:
    """Categorical or Enum on one side, text on the other: the same comparison."""
    given = REG.count_by(pl.DataFrame({"kraj": ["SK010", "SK042", None]}), "kraj")
    categories = given.with_columns(
        pl.col("code").cast(pl.Categorical), pl.col("kind").cast(pl.Enum(KINDS))
    )

    expected = REG.compare(given, given)
    assert REG.compare(categories, given).equals(expected)
    assert REG.compare(given.lazy(), categories.lazy()).equals(expected)


def test_ids_of_another_type_tell_no_windows() -> None:
    """A frame with ids of Python objects is counted all the same."""
    frame = pl.DataFrame(
        {
            "id": pl.Series([object()] * 6, dtype=pl.Object),
            "kraj": ["SK010"] * 6,
            "datumPoslednejUpravy": [date(2026, 6, day) for day in range(1, 7)],
        }
    )

    assert REG.compare(frame, frame)["windows"].to_list() == [None]


def test_names_of_both_sides_are_columns() -> None:
    """Given, else null; anything but two texts is refused."""
    frame = records([("SK010", None)])
    named = REG.compare(frame, frame, names=["before", "after"])

    assert named.select("name_a", "name_b").rows() == [("before", "after")]
    assert REG.compare(frame, frame).select("name_a", "name_b").rows() == [(None, None)]
    for wrong in ("ab", ["a"], ["a", ""], ["a", 2], 5):
        with pytest.raises(fk.UsageError, match=r"names=.* is not allowed; give a name of each"):
            REG.compare(frame, frame, names=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_two_groups_of_units_are_no_windows() -> None:
    """Nor the whole register on two days, nor a few units whose days differ by chance."""
    register = fk.sample(1_000)
    units = register.units.get(register.units.ids())
    register.touch(units["id"].head(100), on="2026-06-30")
    register.publish(10)
    later = register.units.get(register.units.ids())
    form = pl.col("pravnaForma") == "112"
    groups = [
        (units.filter(form), units.filter(~form)),
        (units, units.filter(pl.col("kraj") == "SK010")),
        (units, later),
        (units, units),
        (units.head(1), units.tail(1)),
        (units.head(0), units),
    ]

    for a, b in groups:
        for left, right in ((a, b), (b, a)):
            assert not REG.compare(left, right)["windows"].any()


@pytest.mark.slow
def test_counts_by_another_field_are_refused() -> None:
    """On either side."""
    units = REG.units.get(REG.units.ids())
    forms = REG.count_by(units, "pravnaForma")

    assert REG.compare(forms, units, "pravnaForma")["by"].unique().to_list() == ["pravnaForma"]
    for a, b in ((forms, units), (units, forms)):
        with pytest.raises(fk.UsageError, match="by='kraj': the frame was made by 'pravnaForma'"):
            REG.compare(a, b)


def test_labels_are_in_the_language_of_the_register() -> None:
    """A code that only one of both has carries its label, in the language of the register."""
    a, b = pl.DataFrame({"kraj": ["SK010"]}), pl.DataFrame({"kraj": ["SK031"]}).lazy()

    assert REG.compare(a, b)["label"].to_list() == ["Bratislavský kraj", "Žilinský kraj"]
    assert REG.compare(a, b, lang="en")["label"][1] == "Region of Žilina"
    assert REG.compare(a, b).schema == REG.compare(a.clear(), b).schema


def test_what_cannot_be_compared_is_refused() -> None:
    """Counts with a code twice, and frames without the column, are errors."""
    counts = REG.count_by(pl.DataFrame({"kraj": ["SK010"]}), "kraj")
    with pytest.raises(fk.UsageError, match="'SK010' appears in two rows"):
        REG.compare(counts, pl.concat([counts, counts]))
    with pytest.raises(fk.UsageError, match="no column 'okres'"):
        REG.compare(pl.DataFrame({"kraj": ["SK010"]}), counts, by="okres")
