"""What the rows of a log say of an id: which of them hold its content, and which of them count."""

from __future__ import annotations

import polars as pl
import pytest

from finstat_kit.mirror import versions
from finstat_kit.mirror.versions import (
    HALF,
    LISTED,
    MISSING,
    RECORD,
    ROW,
    UNCHANGED,
    UNREADABLE,
)

A, B, LIKE_A = 7 - 2**62, 8, 7 + 2**40  # the lower halves of the first and the last are equal
Row = tuple[str, int | None]  # kind and digest


def log_of(*rows: Row, first: int = 1) -> pl.LazyFrame:
    """Return the rows of one id, of ascending versions."""
    columns = {
        "id": [5] * len(rows),
        "version": range(first, first + len(rows)),
        "kind": [kind for kind, _ in rows],
        "digest": [digest for _, digest in rows],
    }
    schema = {"id": pl.Int64, "version": pl.Int64, "kind": pl.String, "digest": pl.Int64}
    return pl.LazyFrame(columns, schema=schema)


@pytest.mark.parametrize(
    ("rows", "digest"),
    [
        ([(RECORD, A)], A),
        ([(RECORD, A), (UNCHANGED, A & HALF)], A),
        ([(RECORD, A), (RECORD, LIKE_A), (UNCHANGED, A & HALF)], LIKE_A),
        ([(RECORD, A), (RECORD, B), (UNCHANGED, B)], B),
        ([(RECORD, A), (UNCHANGED, B)], None),  # the file with its content was lost
        ([(UNCHANGED, A & HALF), (RECORD, B)], B),
        ([(RECORD, A), (UNREADABLE, B)], B),
        ([(RECORD, A), (MISSING, None)], None),
    ],
)
def test_what_is_fetched_is_compared_with_all_of_a_digest(
    rows: list[Row], digest: int | None
) -> None:
    """With that of the row whose content the newest one stands for, and none where it is lost."""
    stands = versions.standing(log_of((LISTED, None), *rows), 0, contents=True)
    assert stands["digest"].to_list() == [digest]


def test_an_unchanged_record_is_found_by_half_of_its_digest() -> None:
    """The newest by then; where that is lost, the one stored again since."""

    def chosen(upto: int, *rows: Row) -> list[int]:
        keys = log_of(*rows).collect().with_row_index(ROW)
        old, absent = versions.outdated(keys, upto, missing=False)
        assert absent.to_list() == [5] * (old.height == (keys["kind"] == RECORD).sum())
        return keys.filter(~pl.col(ROW).is_in(old[ROW].implode()), kind=RECORD)["version"].to_list()

    rows: list[Row] = [(RECORD, A), (RECORD, B), (UNCHANGED, B), (RECORD, LIKE_A)]
    rows += [(UNCHANGED, LIKE_A & HALF)]
    assert [chosen(upto, *rows) for upto in (1, 2, 3, 4, 5)] == [[1], [2], [2], [4], [4]]
    assert chosen(1, (UNCHANGED, A & HALF), (RECORD, B), (RECORD, A)) == [3]
    assert chosen(1, (UNCHANGED, A & HALF), (RECORD, B)) == []


@pytest.mark.parametrize(
    ("rows", "named", "lacks"),
    [
        ([(LISTED, None), (RECORD, A)], 4, True),
        ([(LISTED, None), (RECORD, A), (UNREADABLE, B)], 4, True),
        ([(LISTED, None), (RECORD, A), (RECORD, B), (UNCHANGED, B)], 4, False),
        ([(LISTED, None), (RECORD, A), (RECORD, B), (LISTED, None)], 4, True),
        ([(LISTED, None), (RECORD, A), (RECORD, B), (RECORD, B), (LISTED, None)], 5, True),
        ([(LISTED, None), (RECORD, A), (MISSING, None)], 4, False),
        ([(RECORD, A), (RECORD, A), (UNCHANGED, A)], None, False),  # units are in no list
    ],
)
def test_a_full_run_names_what_was_listed_before_it(
    rows: list[Row], named: int | None, lacks: bool
) -> None:
    """By its base: what was not answered since is lacking, without a row of its own."""
    stands = versions.standing(log_of(*rows), 3)
    assert stands["named"].to_list() == [named]
    assert stands["lacking"].item() is lacks


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        ([(RECORD, A), (UNCHANGED, A & HALF)], 2),
        ([(RECORD, A), (UNREADABLE, B)], 1),
        ([(UNREADABLE, B), (UNREADABLE, B)], 2),
        ([(RECORD, A), (MISSING, None)], 2),
        ([(LISTED, None)], 1),
        ([], 0),
    ],
)
def test_versions_count_from_the_least_that_an_id_needs(rows: list[Row], least: int) -> None:
    """Of all ids the one whose newest row is the oldest."""
    assert versions.least(log_of(*rows)) == least
    several = pl.concat(
        [log_of(*rows), log_of((RECORD, A), first=9).with_columns(id=pl.lit(6, pl.Int64))]
    )
    assert versions.least(several) == (least or 9)
