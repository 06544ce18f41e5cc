"""A walk in ranges: the same ids, whatever the counts say or who answers first."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from finstat_kit.client.collections.split_walk import Range, check, cuts, joined
from finstat_kit.errors import PagingError
from finstat_kit.protocol import requests
from finstat_kit.protocol.requests import Page, Query
from finstat_kit.protocol.wire import BEGINNING, MAX_ID
from tests.conftest import Told
from tests.support.examples import examples
from tests.support.paging import page_of

Register = Callable[[], Sequence[int]]


class Model:
    """A walk in one thread, whose replies come in any order that chance likes."""

    def __init__(
        self,
        ids: Register,
        size: int,
        connections: int,
        seed: int,
        lie: Callable[[int], int | None] = lambda n: n,
    ) -> None:
        self.requests = 0
        self.delivered: set[int] = set()
        self._ids, self._size, self._connections, self._lie = ids, size, connections, lie
        self._random = random.Random(seed)
        self.query = Query("/api/x", BEGINNING, size)
        self.ranges = [Range(0)]

    def run(self) -> list[int]:
        (total,) = self._counts([0]).values()
        (first,) = self.ranges
        first.step(self.query, self.page)
        if total is not None and not first.done:
            page = first.pages[0]
            places = cuts(self.query, page, total, self._connections, self._counts)
            for _ in range(self._random.randrange(4)):  # pages meanwhile, which no count holds up
                if not first.done:
                    first.step(self.query, self.page)
            self.ranges += first.cut(places)
        for piece in self._random.sample(self.ranges, len(self.ranges)):
            while not piece.done:
                piece.step(self.query, self.page)
        check(self.ranges, self.query)
        ids, _ = joined(self.ranges)
        return ids.to_list()

    def page(self, query: Query) -> Page:
        assert 0 <= query.after_id < 2**63
        self.requests += 1
        page = self.reply(query)
        requests.check(query, page)
        self.delivered |= set(page.ids)
        return page

    def reply(self, query: Query) -> Page:
        return page_of(self._ids(), query)

    def _counts(self, places: Sequence[int]) -> dict[int, int | None]:
        self.requests += len(places)
        return {place: self._lie(sum(i > place for i in self._ids())) for place in places}


id_sets = st.sets(st.integers(1, 3_000), max_size=400) | st.builds(
    lambda starts: {start + i for start, n in starts for i in range(n)},
    st.lists(st.tuples(st.integers(1, 100_000), st.integers(1, 150)), max_size=6),
)


@examples(300)
@given(id_sets, st.integers(1, 40), st.integers(2, 20), st.integers(0, 2**32))
def test_the_same_ids_within_the_budget(
    ids: set[int], size: int, connections: int, seed: int
) -> None:
    """Any ids, sizes, orders of replies: exactly the list, in at most 1.35 times the requests."""
    due = sorted(ids)
    model = Model(lambda: due, size, connections, seed)

    assert model.run() == due

    sequential = max(math.ceil(len(due) / size), 1)
    assert model.requests <= max(1.35 * sequential, sequential + 1)


@examples(300)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(2, 20),
    st.integers(0, 2**32),
    st.lists(st.sampled_from([None, 0, 1, 500, 10**9, 2**62, 2**63 - 1]), min_size=1, max_size=9),
)
def test_counts_that_lie_cost_no_ids(
    ids: set[int], size: int, connections: int, seed: int, lies: list[int | None]
) -> None:
    """Wrong, failing or absurd counts cost requests, a bounded number of them, never ids."""
    due, told = sorted(ids), iter(lies * 10_000)
    model = Model(lambda: due, size, connections, seed, lambda _: next(told))

    assert model.run() == due

    sequential = max(math.ceil(len(due) / size), 1)
    assert model.requests <= sequential + 4 * connections + 17


@examples(300)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(2, 20),
    st.integers(0, 2**32),
    st.sampled_from([None, 2**62, 2**63 - 1]),
)
def test_ids_just_below_the_largest_come_once(
    ids: set[int], size: int, connections: int, seed: int, lie: int | None
) -> None:
    """Where a float has no room for them: each id once, no cursor that the register refuses."""
    top = 2**63 - 1 - max(ids, default=0)
    due = sorted({2**63 - 1 - i for i in ids} | {i for i in ids if i % 2 and i < top})

    assert Model(lambda: due, size, connections, seed, lambda n: lie or n).run() == due


@examples(300)
@given(id_sets, id_sets, st.integers(1, 40), st.integers(2, 20), st.integers(0, 2**32))
def test_a_register_that_changes_loses_nothing_that_stayed(
    ids: set[int], others: set[int], size: int, connections: int, seed: int
) -> None:
    """What matched throughout comes exactly once; nothing is invented, nothing comes twice.

    Where ids come and go the end of the list may be contradicted: then what came has no gap.
    """
    chance, always = random.Random(seed), ids - others
    model = Model(
        lambda: sorted(always | {i for i in others if chance.random() < 0.5}),
        size, connections, seed,
    )  # fmt: skip
    try:
        found = model.run()
    except PagingError:
        series, cursor = joined(model.ranges)
        found, always = series.to_list(), {i for i in always if i <= cursor}

    assert found == sorted(set(found))
    assert always <= set(found) <= always | others


@examples(300)
@given(id_sets, id_sets, st.integers(1, 40), st.integers(2, 20), st.integers(0, 2**32))
def test_a_register_that_grows_below_its_end_is_no_contradiction(
    ids: set[int], others: set[int], size: int, connections: int, seed: int
) -> None:
    """Ids that come to match while the walk goes on are no contradiction."""
    chance = random.Random(seed)
    now, later = set(ids), sorted(i for i in others - ids if i < max(ids, default=0))

    def growing() -> list[int]:
        if later and chance.random() < 0.5:
            now.add(later.pop(chance.randrange(len(later))))
        return sorted(now)

    found = Model(growing, size, connections, seed).run()

    assert found == sorted(set(found))
    assert ids <= set(found) <= now


class Ending(Model):
    """A register that says of some pages, chosen by their cursor, that nothing lies behind them."""

    def __init__(self, *arguments: Any, ends: Callable[[int], bool], empty: bool) -> None:
        super().__init__(*arguments)
        self._ends, self._empty = ends, empty

    def reply(self, query: Query) -> Page:
        page = super().reply(query)
        if not self._ends(query.after_id):
            return page
        return Page(page.ids.clear(), page.more) if self._empty else Page(page.ids, more=False)


@examples(500)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(2, 20),
    st.integers(0, 2**32),
    st.integers(2, 9),
    st.booleans(),
)
def test_a_false_end_never_leaves_a_hole(
    ids: set[int], size: int, connections: int, seed: int, every: int, empty: bool
) -> None:
    """A false end never leaves a hole: the walk has the ids up to it, or is an error with them."""
    due = sorted(ids)
    model = Ending(
        lambda: due, size, connections, seed, ends=lambda after: after % every == 1, empty=empty
    )
    try:
        found = model.run()
        assert model.delivered <= set(found)
    except PagingError:
        found, cursor = joined(model.ranges)[0].to_list(), joined(model.ranges)[1]
        assert cursor == max(found, default=0)

    assert found == due[: len(found)]


class Foreign(Model):
    """A register that knows of cursors only those that are ids of the list."""

    def __init__(self, *arguments: Any, reply: Callable[[Page], Page]) -> None:
        super().__init__(*arguments)
        self._reply = reply

    def reply(self, query: Query) -> Page:
        page = super().reply(query)
        return page if query.after_id in {0, *self._ids()} else self._reply(page)


DISLIKES: dict[str, Callable[[Page], Page]] = {
    "no ids, no more": lambda page: Page(page.ids.clear(), more=False),
    "no ids, but more": lambda page: Page(page.ids.clear(), more=True),
    "ids, but no more": lambda page: Page(page.ids, more=False),
}


@pytest.mark.parametrize("case", DISLIKES)
def test_a_register_that_dislikes_foreign_cursors_is_an_error_or_whole(
    matrix: Told, case: str
) -> None:
    """Never a short list; an error has what came without a gap."""
    errors = short = 0
    for seed in range(200):
        chance = random.Random(seed)
        due = sorted(chance.sample(range(1, 40_000), chance.randrange(300, 3_000)))
        connections = chance.choice([2, 4, 8])
        model = Foreign(partial(list, due), 50, connections, seed, reply=DISLIKES[case])
        try:
            short += model.run() != due
        except PagingError:
            found = joined(model.ranges)[0].to_list()
            errors += 1
            assert found == due[: len(found)]

    # Ids that come with the end show where to request it once more.
    expected = "0 errors" if case.startswith("ids") else "errors"
    seen = "errors" if errors > 50 else f"{errors} errors"
    matrix(
        f"200 walks, a cut is answered by {case}", f"{expected}, 0 short", f"{seen}, {short} short"
    )
    assert (seen, short) == (expected, 0)


QUERY = Query("/api/x", BEGINNING, 4)


def walked(*pages: list[int], ends: bool = False) -> tuple[list[Range], list[int]]:
    """Return ranges of the ids 1 to 24 in pages of 4, cut at 22, and the cursors behind the cut.

    *pages* are those behind the cut; the last one ends the list, with *ends* each says so.
    """
    cursors, left = list[int](), list(pages)
    first, last = Range(0, 22), Range(22)

    def next_page(query: Query) -> Page:
        cursors.append(query.after_id)
        ids = pl.Series("id", left.pop(0), dtype=pl.Int64)
        return Page(ids, more=bool(left) and not ends)

    while not first.done:
        first.step(QUERY, lambda query: page_of(range(1, 41), query))
    while not last.done:
        last.step(QUERY, next_page)
    return [first, last], cursors


def test_a_range_ends_with_the_page_that_passes_its_end() -> None:
    """The ids behind it are those of the next range."""
    ranges, cursors = walked([23, 24, 25, 26], [30], [])

    assert [len(page) for page in ranges[0].pages] == [4] * 6
    assert joined(ranges[:1])[0].to_list() == list(range(1, 23))
    assert joined(ranges)[0].to_list() == [*range(1, 27), 30]
    assert cursors == [22, 26, 30]


@pytest.mark.parametrize("last", [[], [23], [23, 24]])
def test_one_id_behind_the_end_of_another_page_is_a_contradiction(
    matrix: Told, last: list[int]
) -> None:
    """A page ends the line at an id: none that came in another page may lie behind it."""
    ranges, _ = walked(last, []) if last else walked(last)
    if last == [23, 24]:
        check(ranges, QUERY)
        assert joined(ranges)[0].to_list() == list(range(1, 25))
    else:
        with pytest.raises(PagingError, match=rf"id {22 + len(last)}, .* id 24.* connections=1"):
            check(ranges, QUERY)
        matrix(f"an end at id {22 + len(last)}, an id 24", "PagingError", "PagingError")


def test_an_end_at_a_cut_is_requested_once_more_behind_its_ids() -> None:
    """A single connection would not send a cut as its cursor."""
    _, cursors = walked([23, 24], [], ends=True)
    assert cursors == [22, 24]

    first = Range(0)
    first.step(QUERY, lambda query: Page(pl.Series("id", [1]), more=False))
    assert first.done


def test_what_is_behind_a_gap_is_not_joined() -> None:
    """The cursor of an error is the last id before a gap; of nothing, the start of the walk."""
    ranges = [Range(0, 10), Range(10, 20), Range(20)]

    def page(query: Query) -> Page:
        return page_of(range(1, 41), query)

    ranges[2].step(QUERY, page)
    assert (joined(ranges)[0].to_list(), joined(ranges)[1]) == ([], 0)

    ranges[0].step(QUERY, page)
    ranges[1].step(QUERY, page)
    assert (joined(ranges)[0].to_list(), joined(ranges)[1]) == ([1, 2, 3, 4], 4)


def test_a_cut_is_made_ahead_alone() -> None:
    """Counts may come late: what is walked by then is not requested again."""
    first = Range(0)
    for _ in range(3):
        first.step(QUERY, lambda query: page_of(range(1, 41), query))
    others = first.cut([6, 12, 20, 30])
    assert [(piece.cursor, piece.limit) for piece in [first, *others]] == [
        (12, 20), (20, 30), (30, MAX_ID)
    ]  # fmt: skip

    whole = Range(0)
    whole.step(QUERY, lambda query: Page(pl.Series("id", [1]), more=False))
    assert whole.cut([6]) == []
    assert whole.limit == MAX_ID
