"""What the rows of a log say of an id: which of them hold its content, and which of them count."""

from __future__ import annotations

import polars as pl
import pytest

from finstat_kit.mirror.storage import versions
from finstat_kit.mirror.storage.versions import (
    LISTED,
    MISSING,
    RECORD,
    UNCHANGED,
    UNREADABLE,
)

A, B = 7, 8
Row = tuple[str, int | None]  # kind, and digest or the version that an unchanged record is as


def log_of(*rows: Row) -> pl.LazyFrame:
    """Return the rows of one id, of ascending versions."""
    columns = {
        "id": [5] * len(rows),
        "version": range(1, 1 + len(rows)),
        "kind": [kind for kind, _ in rows],
        "digest": [None if kind == UNCHANGED else number for kind, number in rows],
        "same_as": [number if kind == UNCHANGED else None for kind, number in rows],
    }
    schema = {name: pl.String if name == "kind" else pl.Int64 for name in columns}
    return pl.LazyFrame(columns, schema=schema)


@pytest.mark.parametrize(
    ("rows", "digest", "same_as"),
    [
        ([(RECORD, A)], A, 2),
        ([(RECORD, A), (UNCHANGED, 2)], A, 2),
        ([(RECORD, A), (RECORD, B), (UNCHANGED, 3), (LISTED, None)], B, 3),
        ([(RECORD, A), (UNREADABLE, B)], B, 3),
        ([(RECORD, A), (MISSING, None)], None, None),
    ],
)
def test_what_is_fetched_is_compared_with_the_newest_answer(
    rows: list[Row], digest: int | None, same_as: int | None
) -> None:
    """With the digest of the row whose content it stands for."""
    found = versions.contents(versions.keys_of(log_of((LISTED, None), *rows), "digest"))
    assert found.select("digest", "same_as").rows() == (
        [] if digest is None else [(digest, same_as)]
    )


def test_an_unchanged_record_is_the_row_that_it_names() -> None:
    """Of all rows with content the one that counts is left."""
    rows: list[Row] = [(RECORD, A), (RECORD, B), (UNCHANGED, 2), (RECORD, A), (UNCHANGED, 4)]

    def chosen(many: int) -> list[int]:
        log = log_of(*rows[:many])
        old = versions.outdated(versions.keys_of(log), missing=False)
        records = log.filter(kind=RECORD).collect()
        return records.join(old, on=["id", "version"], how="anti")["version"].to_list()

    assert [chosen(many) for many in (1, 2, 3, 4, 5)] == [[1], [2], [2], [4], [4]]


@pytest.mark.parametrize(
    ("rows", "named", "lacks"),
    [
        ([(LISTED, None), (RECORD, A)], 4, True),
        ([(LISTED, None), (RECORD, A), (UNREADABLE, B)], 4, True),
        ([(LISTED, None), (RECORD, A), (RECORD, B), (UNCHANGED, 3)], 4, False),
        ([(LISTED, None), (RECORD, A), (RECORD, B), (LISTED, None)], 4, True),
        ([(LISTED, None), (RECORD, A), (RECORD, B), (RECORD, B), (LISTED, None)], 5, True),
        ([(LISTED, None), (RECORD, A), (MISSING, None)], 4, False),
        ([(RECORD, A), (RECORD, A), (UNCHANGED, 2)], 0, False),  # units are in no list
    ],
)
def test_a_full_run_names_what_was_listed_before_it(
    rows: list[Row], named: int | None, lacks: bool
) -> None:
    """By its base: what was not answered since is lacking, without a row of its own."""
    stands = versions.standing(versions.keys_of(log_of(*rows)), 3)
    assert stands["named"].to_list() == [named]
    assert stands["lacking"].item() is lacks
