"""The cutting of a walk: the same ids, whatever the counts say or who answers first."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from finstat_kit.errors import PagingError
from finstat_kit.protocol.requests import Page, Query, check
from finstat_kit.protocol.split_walk import Count, Fetch, SplitWalk
from finstat_kit.protocol.wire import BEGINNING
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
        self.walk = SplitWalk(Query("/api/x", BEGINNING, size))

    def run(self) -> list[int]:
        (first,) = self.walk.tasks(1)
        assert isinstance(first, Fetch)
        count = self._count(first.query)
        self._deliver(first, self.page(first.query))
        if not self.walk.done and count is not None:
            self.walk.expect(count, self._connections)
        waiting: list[tuple[Fetch | Count, Page | int | None]] = []
        while not self.walk.done:
            for task in self.walk.tasks(self._connections - len(waiting)):
                if isinstance(task, Fetch):
                    waiting.append((task, self.page(task.query)))
                else:
                    waiting.append((task, self._count(task.query)))
            task, result = waiting.pop(self._random.randrange(len(waiting)))
            if isinstance(task, Fetch):
                assert isinstance(result, Page)
                self._deliver(task, result)
            else:
                assert not isinstance(result, Page)
                self.walk.recounted(task, result)
        ids, _ = self.walk.covered()
        return ids.to_list()

    def page(self, query: Query) -> Page:
        return page_of(self._ids(), query)

    def _count(self, query: Query) -> int | None:
        self.requests += 1
        return self._lie(sum(i > query.after_id for i in self._ids()))

    def _deliver(self, ask: Fetch, page: Page) -> None:
        self.requests += 1
        assert 0 <= ask.query.after_id < 2**63
        check(ask.query, page)
        self.delivered |= set(page.ids)
        self.walk.deliver(ask, page)


id_sets = st.sets(st.integers(1, 3_000), max_size=400) | st.builds(
    lambda starts: {start + i for start, n in starts for i in range(n)},
    st.lists(st.tuples(st.integers(1, 100_000), st.integers(1, 150)), max_size=6),
)


@examples(300)
@given(id_sets, st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32))
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
    st.integers(1, 20),
    st.integers(0, 2**32),
    st.lists(
        st.sampled_from([None, 0, 1, 500, 10**9, 2**62, 2**63 - 1, -5]), min_size=1, max_size=9
    ),
)
def test_counts_that_lie_cost_no_ids(
    ids: set[int], size: int, connections: int, seed: int, lies: list[int | None]
) -> None:
    """Wrong, failing or absurd counts cost requests, a bounded number of them, never ids."""
    due, told = sorted(ids), iter(lies * 10_000)
    model = Model(lambda: due, size, connections, seed, lambda _: next(told))

    assert model.run() == due

    sequential = max(math.ceil(len(due) / size), 1)
    assert model.requests <= 3 * sequential + 6 * connections + 2


@examples(300)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(1, 20),
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
@given(id_sets, id_sets, st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32))
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
        series, cursor = model.walk.covered()
        found, always = series.to_list(), {i for i in always if i <= cursor}

    assert found == sorted(set(found))
    assert always <= set(found) <= always | others


@examples(300)
@given(id_sets, id_sets, st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32))
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

    def page(self, query: Query) -> Page:
        page = super().page(query)
        if not self._ends(query.after_id):
            return page
        return Page(page.ids.clear(), page.more) if self._empty else Page(page.ids, more=False)


@examples(500)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(1, 20),
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
        found, cursor = model.walk.covered()[0].to_list(), model.walk.covered()[1]
        assert cursor >= max(found, default=0)

    assert found == due[: len(found)]


def test_a_page_that_runs_over_its_segment_covers_the_next() -> None:
    """A page that runs over the end of its segment covers the beginning of the next."""
    walk = SplitWalk(Query("/api/x", BEGINNING, 4))
    ids = list(range(1, 41))
    (first,) = walk.tasks(1)
    assert isinstance(first, Fetch)
    walk.deliver(first, page_of(ids, first.query))
    walk.expect(40, 2)

    one, two = walk.tasks(2)

    assert isinstance(one, Fetch)
    assert isinstance(two, Fetch)
    assert (one.query.after_id, two.query.after_id) == (4, 22)
    for after in (4, 8, 12, 16, 20):  # the last page ends in 24, two ids into the other segment
        page = page_of(ids, replace(one.query, after_id=after))
        walk.deliver(replace(one, query=replace(one.query, after_id=after)), page)
    assert walk.covered()[0].to_list() == list(range(1, 25))
    assert walk.covered()[1] == 24


@pytest.mark.parametrize("beyond", [0, 1, 2, 30])
def test_one_id_behind_the_end_of_another_page_is_a_contradiction(
    matrix: Told, beyond: int
) -> None:
    """A page ends the line at an id: nothing that came before it may lie behind that id."""
    walk = SplitWalk(Query("/api/x", BEGINNING, 4))
    ids = list(range(1, 41))
    (first,) = walk.tasks(1)
    assert isinstance(first, Fetch)
    walk.deliver(first, page_of(ids, first.query))
    walk.expect(40, 2)
    one, two = walk.tasks(2)
    assert isinstance(one, Fetch)
    assert isinstance(two, Fetch)
    walk.deliver(two, Page(pl.Series("id", [24, 26 + beyond]), more=True))

    end = Page(pl.Series("id", [24, 26]), more=False)
    if beyond:
        with pytest.raises(PagingError, match=rf"ends the list at id 26, .* id {26 + beyond}"):
            walk.deliver(one, end)
        assert walk.covered()[1] == first.query.page_size
        matrix(f"an end {beyond} below an id of another page", "PagingError", "PagingError")
    else:
        walk.deliver(one, end)
        assert walk.done
        assert walk.covered()[0].to_list() == [1, 2, 3, 4, 24, 26]


def test_a_walk_goes_on_behind_an_end_that_a_page_runs_over() -> None:
    """Ids that a page brings from below over what was the end: the walk goes on behind them."""
    walk = SplitWalk(Query("/api/x", BEGINNING, 4))
    ids = list(range(1, 41))
    (first,) = walk.tasks(1)
    assert isinstance(first, Fetch)
    walk.deliver(first, page_of(ids, first.query))
    walk.expect(40, 2)
    one, two = walk.tasks(2)
    assert isinstance(one, Fetch)
    assert isinstance(two, Fetch)

    walk.deliver(two, Page(pl.Series("id", [], dtype=pl.Int64), more=False))  # behind id 22
    for after in (4, 8, 12, 16, 20):
        page = page_of(ids, replace(one.query, after_id=after))
        walk.deliver(replace(one, query=replace(one.query, after_id=after)), page)

    assert not walk.done
    assert [task.query.after_id for task in walk.tasks(1)] == [24]


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("connections", [2, 4, 8])
def test_an_end_at_a_cut_is_not_believed(connections: int, empty: bool) -> None:
    """A register that ends the list wherever it is asked behind a number that is no id."""
    ids = list(range(3, 20_000, 7))
    model = Ending(
        lambda: ids, 50, connections, 7,
        ends=lambda after: after > 10_000 and after % 7 != 3, empty=empty,
    )  # fmt: skip
    try:
        found = model.run()
    except PagingError:
        found = model.walk.covered()[0].to_list()
        ids = ids[: len(found)]

    assert found == ids
