"""Which filing counts: the rule against plain Python, and the one of a year that is taken."""

from __future__ import annotations

from datetime import date
from itertools import chain

import polars as pl
import pytest
from hypothesis import given, strategies as st

from finstat_kit.frames.financials.choice import candidates_of, chosen
from finstat_kit.frames.financials.filings import FILINGS, by_rule
from finstat_kit.protocol.records import KINDS
from tests.support.examples import examples

Row = dict[str, object]
SUMMARY = "suhrnnaUctovnaZavierkaVerejnejSpravy"
# Few periods and units, so that several filings of the same are drawn often.
PERIODS = [
    (date(2020, 1, 1), 12, 2020), (date(2020, 7, 1), 12, 2020), (date(2020, 1, 1), 6, 2020),
    (date(2020, 7, 1), 6, 2021),
]  # fmt: skip


def drawn_row(period: tuple[date, int, int], row: Row) -> Row:
    first, month, year = period
    return row | {"obdobieOd": first, "obdobieDo": date(year, month, 30)}


filed_on = st.sampled_from([None, date(2021, 3, 1), date(2022, 3, 1)])
statement = st.builds(
    drawn_row,
    st.sampled_from(PERIODS),
    st.fixed_dictionaries(
        {
            "typ": st.sampled_from(["Riadna", "Riadna", "Mimoriadna", "Priebežná", None]),
            "konsolidovana": st.sampled_from([True, False, None]),
            "nazovFondu": st.sampled_from([None, None, None, "A", "B"]),
            SUMMARY: st.sampled_from([None, False, True]),
            "datumPodania": filed_on,
            "stav": st.sampled_from([None, None, None, "ZMAZANÉ", "NEVEREJNÁ"]),
            "datumPoslednejUpravy": st.just(date(2022, 6, 1)),
            "unit": st.integers(1, 2),
        }
    ),
)
# Filings, each with its corrections: drawn apart, two of the same period are rare.
corrected = st.tuples(statement, st.lists(filed_on, max_size=2)).map(
    lambda drawn: [drawn[0], *(drawn[0] | {"datumPodania": day} for day in drawn[1])]
)
statements = st.lists(corrected, max_size=6).map(lambda each: list(chain.from_iterable(each)))
YEARS = st.integers(2019, 2021)


def units_of(rows: list[Row]) -> pl.DataFrame:
    held = {unit: [row["id"] for row in rows if row["unit"] == unit] for unit in (1, 2, 3)}
    records = [
        {"id": unit, "ico": f"{unit:08}", "datumPoslednejUpravy": date(2022, 1, 1),
         "idUctovnychZavierok": ids or None}
        for unit, ids in held.items()
    ]  # fmt: skip
    schema = KINDS["units"].schema
    return pl.DataFrame([{n: r.get(n) for n in schema} for r in records], schema=schema)


def statements_of(rows: list[Row]) -> pl.DataFrame:
    schema = KINDS["statements"].schema
    return pl.DataFrame([{n: r.get(n) for n in schema} for r in rows], schema=schema)


def rows_of(drawn: list[Row]) -> list[Row]:
    return [row | {"id": 100 + number} for number, row in enumerate(drawn)]


def key_of(row: Row) -> list[object]:
    """Return what is the same of a filing and its corrections."""
    texts = [row[n] for n in ("unit", "obdobieDo", "typ", "nazovFondu")]
    return [*texts, bool(row["konsolidovana"]), bool(row[SUMMARY])]


def is_whole(row: Row) -> bool:
    """Return whether a period is that of a calendar year or of another twelve months."""
    return (row["obdobieDo"] - row["obdobieOd"]).days > 340  # type: ignore[operator, no-any-return]


def counting(rows: list[Row]) -> dict[int, int | None]:
    """Return each readable statement and what supersedes it, by the rule in plain words."""
    found: dict[int, int | None] = {}
    alive = [row for row in rows if row["stav"] is None]
    for row in alive:
        same = [one for one in alive if key_of(one) == key_of(row)]
        best = max(same, key=lambda one: (one["datumPodania"] or date.min, one["id"]))
        found[row["id"]] = None if best is row else best["id"]  # type: ignore[index, assignment]
    return found


@examples(100)
@given(statements, st.booleans())
def test_the_latest_filing_of_a_period_counts(drawn: list[Row], consolidated: bool) -> None:
    """Absent days go first, then ids decide; individual and consolidated never mix."""
    rows = rows_of(drawn)

    filed = by_rule(units_of(rows), statements_of(rows), None, consolidated=consolidated)

    own = [row for row in rows if bool(row["konsolidovana"]) == consolidated]
    expected = {id_: by for id_, by in counting(rows).items() if id_ in {r["id"] for r in own}}
    alive = filed.filter(pl.col("statement_id").is_not_null(), pl.col("reason").is_null())
    assert dict(alive.select("statement_id", "superseded_by").iter_rows()) == expected
    assert alive["counts"].to_list() == alive["superseded_by"].is_null().to_list()
    dead = filed.filter(pl.col("statement_id").is_not_null(), pl.col("reason").is_not_null())
    assert set(dead["statement_id"]) == {row["id"] for row in own if row["stav"]}
    assert not dead["counts"].any()
    assert dead["superseded_by"].null_count() == dead.height
    assert filed.schema == FILINGS
    without = {1, 2, 3} - {row["unit"] for row in own}
    assert set(filed.filter(pl.col("reason") == "no_filing")["unit_id"]) == without


def test_a_filing_without_a_period_supersedes_none() -> None:
    """Two of them may be of different years."""
    undated = {"typ": "Riadna", "unit": 1, "datumPoslednejUpravy": date(2022, 6, 1)}
    rows = rows_of([undated, undated])

    filed = by_rule(units_of(rows), statements_of(rows), None, consolidated=False)

    own = filed.filter(unit_id=1)
    assert own.select("statement_id", "counts", "superseded_by").rows() == [
        (100, True, None), (101, True, None),
    ]  # fmt: skip


def test_a_statement_counts_for_its_own_unit_alone() -> None:
    """Another unit that lists it has a reason, not a filing."""
    row = drawn_row(PERIODS[0], {"typ": "Riadna", "datumPoslednejUpravy": date(2022, 6, 1)})
    both = [row | {"id": 100, "unit": unit, "idUJ": 2} for unit in (1, 2)]

    filed = by_rule(units_of(both), statements_of(both[:1]), None, consolidated=False)

    assert filed.drop_nulls("statement_id").select("unit_id", "counts", "reason").rows() == [
        (1, False, "not_own"), (2, True, None),
    ]  # fmt: skip


def reason_of(rows: list[Row], unit: int, year: int) -> str:
    """Return why a unit has no figures of a year."""
    own = [row for row in rows if row["unit"] == unit]
    states = [
        row["stav"]
        for row in own
        if row["obdobieDo"].year == year and not row["konsolidovana"]  # type: ignore[attr-defined]
    ]
    gone = [name for name, state in _STATES.items() if state in states]
    kinds = [
        row["typ"]
        for row in own
        if row["obdobieDo"].year == year and not row["konsolidovana"]  # type: ignore[attr-defined]
    ]
    never = ["interim_only"] if "Priebežná" in kinds else ["other_kind"] if kinds else []
    return [*gone, *never, "no_filing_for_year" if own else "no_filing"][0]


_STATES = {"deleted": "ZMAZANÉ", "non_public": "NEVEREJNÁ"}


@examples(100)
@given(statements, st.sets(YEARS, min_size=1))
def test_one_filing_of_each_unit_and_year(drawn: list[Row], years: set[int]) -> None:
    """Regular before extraordinary, the longer before the shorter, interim ones never."""
    rows = rows_of(drawn)

    filed = by_rule(units_of(rows), statements_of(rows), sorted(years), consolidated=False)
    with_numbers = pl.DataFrame(schema={"statement_id": pl.Int64, "with_numbers": pl.Int32})
    taken = chosen(filed, candidates_of(filed), with_numbers)

    assert taken.height == 3 * len(years) == taken.select("unit_id", "year").n_unique()
    # Without a kind a period of twelve months counts as ordinary.
    rows = [row | {"typ": row["typ"] or ("Riadna" if is_whole(row) else None)} for row in rows]
    superseded = counting(rows)
    for row in taken.iter_rows(named=True):
        able = [
            one for one in rows
            if one["unit"] == row["unit_id"] and one["obdobieDo"].year == row["year"]  # type: ignore[attr-defined]
            and not one["konsolidovana"] and one["typ"] in ("Riadna", "Mimoriadna")
            and superseded.get(one["id"], 0) is None  # type: ignore[call-overload]
        ]  # fmt: skip
        if not able:
            assert row["reason"] == reason_of(rows, row["unit_id"], row["year"])
            continue
        own = [one for one in able if not one["nazovFondu"] and not one[SUMMARY]] or able
        regular = [one for one in own if one["typ"] == "Riadna"] or own
        longest = max(regular, key=lambda one: (one["obdobieDo"] - one["obdobieOd"],  # type: ignore[operator]
                                                one["obdobieDo"], one["id"]))  # fmt: skip
        assert row["statement_id"] == longest["id"]
        assert row["superseded_by"] is None
        assert row["supersedes"] == sum(by == longest["id"] for by in superseded.values())
        periods = {(one["obdobieOd"], one["obdobieDo"]) for one in able}
        assert row["periods_in_year"] == len(periods)


def test_the_later_of_two_equally_long_periods_is_taken() -> None:
    """Whichever was filed first; a longer one goes before both."""
    halves = [(date(2020, 7, 1), 12, 2020), (date(2020, 1, 1), 6, 2020)]
    rest = {"typ": "Riadna", "unit": 1, "datumPoslednejUpravy": date(2022, 6, 1)}
    none = pl.DataFrame(schema={"statement_id": pl.Int64, "with_numbers": pl.Int32})
    found = []
    for periods in (halves, halves[::-1], [*halves, (date(2020, 1, 1), 9, 2020)]):
        rows = rows_of([drawn_row(period, rest) for period in periods])
        filed = by_rule(units_of(rows), statements_of(rows), [2020], consolidated=False)
        taken = chosen(filed, candidates_of(filed), none).filter(unit_id=1)
        found.append(taken.select("months", "periods_in_year").row(0))
        found.append(taken["period_to"].dt.month().item())

    assert found == [(6, 2), 12, (6, 2), 12, (9, 3), 9]


@pytest.mark.parametrize(
    ("state", "changed", "held", "reason"),
    [
        ("ZMAZANÉ", date(2020, 1, 1), None, "deleted"),
        ("NEVEREJNÁ", date(2020, 1, 1), None, "non_public"),
        (None, None, None, "unreadable"),
        (None, date(2020, 1, 1), [], "no_filing"),
        (None, date(2020, 1, 1), [5], "no_filing_for_year"),
    ],
)
def test_a_unit_without_a_filing_has_its_reason(
    state: str | None, changed: date | None, held: list[int] | None, reason: str
) -> None:
    """One row for each year that was wanted, and nothing in it but the reason."""
    schema = KINDS["units"].schema
    record = {"id": 1, "stav": state, "datumPoslednejUpravy": changed, "idUctovnychZavierok": held}
    units = pl.DataFrame([{n: record.get(n) for n in schema}], schema=schema)

    filed = by_rule(units, statements_of([]), [2020, 2021], consolidated=False)

    assert filed.select("unit_id", "year", "reason").rows() == [
        (1, 2020, reason),
        (1, 2021, reason),
    ]
    assert filed["statement_id"].null_count() == 2
    at_hand = by_rule(units, statements_of([]), [2020], consolidated=False, not_held=units["id"])
    assert at_hand["reason"][0] == ("not_held" if held else reason)
