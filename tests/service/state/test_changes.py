"""Changes of the register: a store in, another one out, and the former as it was."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.protocol import wire
from finstat_kit.protocol.wire import UNITS
from finstat_kit.service.http import routes
from finstat_kit.service.state import changes, population
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.store import DELETED, NON_PUBLIC, Store, day_number
from tests.support.examples import examples

DAY = date(2026, 7, 2)


def ids_of(store: Store) -> list[int]:
    ids: list[int] = store.units.ids.tolist()
    return ids


def some(*ids: int) -> Ints:
    return np.asarray(ids, dtype=np.int64)


def counted(store: Store) -> int:
    body = routes.answer(store, "GET", f"/api/{wire.COUNTS}/{UNITS}").body
    return int(json.loads(body)[wire.COUNT])


steps = st.lists(st.tuples(st.sampled_from("pcdhwt"), st.sets(st.integers(0, 30))), max_size=8)


@examples(40)
@given(st.integers(0, 20), steps)
def test_any_changes_in_any_order_keep_the_store_whole(
    units: int, chosen: list[tuple[str, set[int]]]
) -> None:
    """The former store keeps every byte; ids ascend strictly, the count and all columns follow."""
    store = population.draw(units, seed=3)
    due = ids_of(store)
    for step, places in chosen:
        before = pickle.dumps(store)
        which = [due[place] for place in sorted(places) if place < len(due)]
        former = store
        if step == "p":
            store, new = changes.published(former, len(places), {"kraj": "SK010"})
            due = due + new.tolist()
        elif step == "w":
            store = changes.without(former, some(*which))
            due = [id_ for id_ in due if id_ not in which]
        elif step == "t":
            store = replace(former, today=DAY)
        else:
            state = {"c": None, "d": DELETED, "h": NON_PUBLIC}[step]
            store = changes.changed(former, some(*which), state=state)

        assert pickle.dumps(former) == before
        line = store.units
        assert line.ids.tolist() == due
        assert (line.ids[1:] > line.ids[:-1]).all()
        assert counted(store) == len(due)
        aligned = [line.changed, *store.columns.values()]
        assert {len(array) for array in aligned} == {len(due)}
        assert {n: c.dtype for n, c in store.columns.items()} == {
            n: c.dtype for n, c in former.columns.items()
        }
        assert set(store.fields) <= set(due)


def test_new_units_come_above_all_others() -> None:
    """New units come above all others, on the register's day or another, with their fields."""
    store = replace(population.draw(3), today=DAY)
    record = {"ico": "00000007", "dic": "2020202020", "pravnaForma": "999", "nazovUJ": "Vzor"}

    after, new = changes.published(store, 2, record)
    after, older = changes.published(after, 1, {}, on=date(2020, 1, 1))

    last = ids_of(store)[-1]
    assert new.tolist() == [last + 1, last + 2]
    assert older.tolist() == [last + 3]
    found = after.record(last + 2)
    assert found is not None
    assert {name: found[name] for name in record} == record
    assert found["datumPoslednejUpravy"] == "2026-07-02"
    assert (after.record(last + 3) or {})["datumPoslednejUpravy"] == "2020-01-01"
    query = "ico=00000007&dic=2020202020&pravna-forma=999"
    listed = json.loads(routes.answer(after, "GET", f"/api/{UNITS}", query).body)["id"]
    assert listed == new.tolist()


def test_only_day_and_state_of_the_named_units_change() -> None:
    """Only the day and the state of the units named change; all else is the same array."""
    store = population.draw(5)
    first, second, *others = ids_of(store)

    touched = changes.changed(store, some(second, first), on=DAY)
    deleted = changes.changed(touched, some(second), state=DELETED)

    assert touched.columns["state"] is store.columns["state"]
    assert touched.units.changed[:2].tolist() == [day_number(DAY)] * 2
    assert deleted.record(second) == {
        "id": second, "stav": "ZMAZANÉ", "datumPoslednejUpravy": "2026-06-30",
    }  # fmt: skip
    assert deleted.columns["place"] is store.columns["place"]
    assert deleted.units.ids is store.units.ids
    assert [deleted.record(id_) for id_ in others] == [store.record(id_) for id_ in others]


def test_those_that_stay_keep_their_records() -> None:
    """Who stays keeps the record to the letter, what it owns included."""
    store = population.draw(30)
    ids = ids_of(store)

    after = changes.without(store, some(*ids[::3]))

    assert [after.record(id_) for id_ in ids[::3]] == [None] * 10
    stay = [id_ for id_ in ids if id_ not in ids[::3]]
    assert [after.record(id_) for id_ in stay] == [store.record(id_) for id_ in stay]


def test_an_id_that_is_used_again_is_a_new_unit() -> None:
    """A unit published under the id of one that vanished has nothing of its record."""
    store, ids = changes.published(population.draw(0), 1, {"nazovUJ": "Prvá", "ico": "00000001"})

    store, again = changes.published(changes.without(store, ids), 1, {})

    assert again.tolist() == ids.tolist()
    found = store.record(int(again[0])) or {}
    assert found["nazovUJ"] != "Prvá"
    assert found["ico"] != "00000001"


@pytest.mark.parametrize("units", [0, 3])
def test_unknown_ids_are_refused(units: int) -> None:
    """Below, between and above the units, and where there are none."""
    store = population.draw(units)
    unknown = some(0, *(id_ + 1 for id_ in ids_of(store)), 2**62)

    for id_ in unknown.tolist():
        with pytest.raises(fk.UsageError, match=rf"ids: \[{id_}\] are no units of this sample"):
            changes.changed(store, some(*ids_of(store), id_))
        with pytest.raises(fk.UsageError, match=rf"ids: \[{id_}\] are no units of this sample"):
            changes.without(store, some(id_, *ids_of(store)))
