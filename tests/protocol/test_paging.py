"""The paging rules, each without a socket."""

from __future__ import annotations

import logging
from datetime import date

import polars as pl
import pytest
from hypothesis import given, strategies as st

from finstat_kit.errors import PagingError, ProtocolError
from finstat_kit.protocol.requests import Page, Query, check, next_query, parse_page

START = Query("/api/uctovne-jednotky", date(2024, 1, 1), 3)
AFTER_7 = Query("/api/uctovne-jednotky", date(2024, 1, 1), 3, after_id=7)


def page(ids: list[int], more: bool) -> Page:
    return Page(pl.Series("id", ids, dtype=pl.Int64), more)


def test_the_next_query_starts_after_the_last_id() -> None:
    """The cursor is the last id received, whatever size was asked for."""
    following = next_query(START, page([2, 5], more=True))

    assert following == Query("/api/uctovne-jednotky", date(2024, 1, 1), 3, after_id=5)


@pytest.mark.parametrize(
    ("ids", "more", "ends"),
    [
        ([1, 2, 3], False, True),
        ([1, 2, 3], True, False),
        ([1], True, False),
        ([1, 2, 3, 4, 5], True, False),
        ([], False, True),
        ([], True, True),
    ],
)
def test_a_walk_ends_by_the_rule_alone(ids: list[int], more: bool, ends: bool) -> None:
    """The flag is false or there are no ids: nothing else ends a walk, no short page either."""
    assert (next_query(START, page(ids, more)) is None) == ends


def test_no_ids_but_more_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The rule ends the walk there, and one warning tells that the register contradicts itself."""
    with caplog.at_level(logging.WARNING, logger="finstat_kit"):
        next_query(AFTER_7, page([], more=True))

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "after id 7" in caplog.text


@pytest.mark.parametrize(
    "ids", [[8, 10, 9], [8, 8], [9, 8], [7], [7, 8], [1, 2, 3], [6, 7], [8, 9, 9]]
)
@pytest.mark.parametrize("more", [True, False])
def test_a_page_that_does_not_move_forward_is_refused(ids: list[int], more: bool) -> None:
    """Out of order, repeated, at or below the cursor: refused, with cursor and count so far."""
    with pytest.raises(PagingError, match=r"after id 7 .* 12 ids precede it") as caught:
        check(AFTER_7, page(ids, more), seen=12)

    assert caught.value.cursor == 7


@given(st.lists(st.integers(1, 50), max_size=8), st.integers(0, 50))
def test_check_is_exactly_ascending_above_the_cursor(ids: list[int], after: int) -> None:
    """A page passes if and only if cursor and ids together ascend strictly."""
    good = [after, *ids] == sorted({after, *ids})
    query = Query("/api/uctovne-vykazy", date(2024, 1, 1), 3, after_id=after)

    try:
        check(query, page(ids, more=True))
        passed = True
    except PagingError:
        passed = False

    assert passed == good


def test_parameters_are_spelled_as_the_register_does() -> None:
    """The start of the line needs no cursor; years keep four digits."""
    assert START.parameters() == {"zmenene-od": "2024-01-01", "max-zaznamov": 3}
    assert AFTER_7.parameters()["pokracovat-za-id"] == 7
    assert Query("/x", date(1, 1, 1), 3).parameters()["zmenene-od"] == "0001-01-01"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"id":null,"existujeDalsieId":true}', r"\$\.id"),
        (b'{"id":{},"existujeDalsieId":true}', r"\$\.id"),
        (b'{"id":"1","existujeDalsieId":true}', r"\$\.id"),
        (b'{"id":["1"],"existujeDalsieId":true}', r"\$\.id\[0\]"),
        (b'{"id":[1,1.5],"existujeDalsieId":true}', r"\$\.id\[1\]"),
        (b'{"id":[1,2,true],"existujeDalsieId":true}', r"\$\.id\[2\]"),
        (b'{"id":[null],"existujeDalsieId":true}', r"\$\.id\[0\]"),
        (b'{"id":[1,-1],"existujeDalsieId":true}', r"\$\.id\[1\]"),
        (b'{"id":[9223372036854775808],"existujeDalsieId":true}', r"\$\.id\[0\]"),
        (b'{"id":[1]}', r"\$\.existujeDalsieId.*missing"),
        (b"{}", r"\$\.existujeDalsieId"),
        (b'{"id":[1],"existujeDalsieId":null}', r"\$\.existujeDalsieId"),
        (b'{"id":[1],"existujeDalsieId":"true"}', r"\$\.existujeDalsieId"),
        (b'{"id":[1],"existujeDalsieId":1}', r"\$\.existujeDalsieId"),
        (b"[1,2]", r"\$: expected `object`, got `array`"),
    ],
)
def test_a_broken_page_names_the_place(body: bytes, path: str) -> None:
    """Valid JSON that breaks the contract is never taken for a page, nor for an end."""
    with pytest.raises(ProtocolError, match=path):
        parse_page(body)


@pytest.mark.parametrize(
    ("body", "ids", "more"),
    [
        (b'{"existujeDalsieId":false}', [], False),
        (b'{"id":[],"existujeDalsieId":false}', [], False),
        (b'\xef\xbb\xbf{"id":[1],"existujeDalsieId":true}', [1], True),
        (
            b'{"nova":{"id":[9]},"id":[9223372036854775807],"existujeDalsieId":false}',
            [2**63 - 1],
            False,
        ),
    ],
)
def test_good_pages_are_read_leniently(body: bytes, ids: list[int], more: bool) -> None:
    """A missing list is an empty one, unknown keys are ignored, a byte order mark is accepted."""
    seen = parse_page(body)

    assert (seen.ids.to_list(), seen.more) == (ids, more)
    assert seen.ids.dtype == pl.Int64
