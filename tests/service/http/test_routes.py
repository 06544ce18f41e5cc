"""The embedded register answers as the specification says, to the letter."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from unittest.mock import ANY
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.protocol import wire
from finstat_kit.service.http import routes
from finstat_kit.service.state import changes, population
from finstat_kit.service.state.line import Line
from finstat_kit.service.state.store import DELETED, LIVING, NON_PUBLIC, Store, ico_number
from tests.support import model
from tests.support.examples import examples
from tests.support.model import Unit
from tests.support.registers import days, store_of
from tests.support.wire import get

LISTS = ["uctovne-jednotky", "uctovne-zavierky", "uctovne-vykazy", "vyrocne-spravy"]
DAY = date(2024, 5, 17)
DEFAULT = population.default()


@pytest.fixture(scope="module")
def five() -> Store:
    """Five units, changed on five days running."""
    return store_of({id_: DAY + timedelta(days=n) for n, id_ in enumerate([3, 7, 8, 20, 41])})


def ask(store: Store, target: str, *, strict: bool = False, method: str = "GET") -> wire.Reply:
    path, _, query = target.partition("?")
    return routes.answer(store, method, path, query, strict=strict)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_ascends_after_its_cursor(five: Store, name: str) -> None:
    """A list: ascending ids after the cursor, and whether more exist."""
    reply = ask(five, f"/api/{name}?zmenene-od=2024-05-18&max-zaznamov=2&pokracovat-za-id=3")

    assert reply.body == b'{"id":[7,8],"existujeDalsieId":true}'
    assert reply.status == 200
    assert reply.headers == {
        "Content-Type": "application/json;charset=UTF-8",
        "X-API-Version": "2.5",
        "Cache-Control": "no-cache, no-store, max-age=0",
        "Content-Length": "36",
    }


def test_the_flag_is_false_exactly_at_the_end(five: Store) -> None:
    """The flag is false exactly when nothing remains, also behind a full page."""
    reply = ask(five, "/api/uctovne-jednotky?max-zaznamov=2&pokracovat-za-id=8")

    assert reply.body == b'{"id":[20,41],"existujeDalsieId":false}'


@pytest.mark.parametrize("name", LISTS)
def test_a_count_is_what_remains_after_the_cursor(five: Store, name: str) -> None:
    """A count: what remains after the cursor, whatever the page size."""
    reply = ask(
        five,
        f"/api/zostavajuce-id/{name}?zmenene-od=2024-05-18&pokracovat-za-id=7&max-zaznamov=1",
    )

    assert reply.body == b'{"pocetZostavajucichId":3}'
    unfiltered = ask(five, f"/api/zostavajuce-id/{name}?pokracovat-za-id=7")
    assert unfiltered.body == b'{"pocetZostavajucichId":3}'


def test_regions_have_no_parent() -> None:
    """Regions carry no parent; the two entries for abroad are there."""
    reply = ask(DEFAULT, "/api/kraje")

    entries = json.loads(reply.body)["lokacie"]
    assert entries[0] == {
        "kod": "SK010",
        "nazov": {"sk": "Bratislavský kraj", "en": "Region of Bratislava"},
    }
    assert entries[-1] == {"kod": "SKZZZ", "nazov": {"sk": "Zahraničie", "en": "Extra-regio"}}
    assert len(entries) == 10


@pytest.mark.parametrize("path", ["/api/kraje", "/api/uctovne-jednotky", "/api/nowhere"])
def test_paths_below_the_real_registers_address_are_served_too(path: str) -> None:
    """Its clients have its name in their base URL."""
    with fk.sample(5).serve() as url:
        replies = [get(url, prefix + path) for prefix in ("", "/cruz-public")]
    (status, _, body), again = replies

    assert again[::2] == (status, body)


def test_districts_point_at_their_region() -> None:
    """Districts point at their region."""
    entries = json.loads(ask(DEFAULT, "/api/okresy").body)["lokacie"]

    assert {
        "kod": "SK032B",
        "nazov": {"sk": "Zvolen", "en": "Zvolen"},
        "nadradenaLokacia": "SK032",
    } in entries
    assert len(entries) == 79


def test_municipalities_point_at_their_district() -> None:
    """Municipalities point at their district; some at none."""
    entries = json.loads(ask(DEFAULT, "/api/sidla").body)["lokacie"]

    assert {
        "kod": "SK0315510262",
        "nazov": {"sk": "Liptovský Mikuláš", "en": "Liptovský Mikuláš"},
        "nadradenaLokacia": "SK0315",
    } in entries
    assert {"kod": "582000", "nazov": {"sk": "Bratislava", "en": "Bratislava"}} in entries


@pytest.mark.parametrize(
    ("name", "code", "sk", "en"),
    [
        ("pravne-formy", "112", "Spol. s r. o.", "Limited liability comp."),
        ("sk-nace", "62010", "Počítačové programovanie", "Computer programming act"),
        ("druhy-vlastnictva", "7", "Zahraničné", "Foreign"),
        ("velkosti-organizacie", "06", "10-19 zamestnancov", "10-19 employees"),
    ],
)
def test_classifications_have_their_own_key_and_no_parents(
    name: str, code: str, sk: str, en: str
) -> None:
    """The other codelists stand under another key and have no parents."""
    entries = json.loads(ask(DEFAULT, f"/api/{name}").body)["klasifikacie"]

    assert {"kod": code, "nazov": {"sk": sk, "en": en}} in entries


def test_a_record_leaves_out_what_is_absent() -> None:
    """A record has what is known of a unit; what is absent is left out."""
    record = {
        "ico": "00123456", "dic": "2020123456", "nazovUJ": "Vzor", "ulica": "Vymyslená 1",
        "mesto": "Žilina", "psc": "01001", "datumZalozenia": "2001-02-03", "pravnaForma": "112",
        "skNace": "62010", "velkostOrganizacie": "06", "druhVlastnictva": "2", "kraj": "SK031",
        "okres": "SK031B", "sidlo": "SK031B517402", "konsolidovana": False, "zdrojDat": "FRSR",
        "datumZrusenia": None,
    }  # fmt: skip
    store, _ = changes.published(population.draw(0), 1, record)

    reply = ask(store, "/api/uctovna-jednotka?id=1")

    assert json.loads(reply.body) == json.loads(
        '{"id":1,"ico":"00123456","dic":"2020123456","nazovUJ":"Vzor","ulica":"Vymyslená 1",'
        '"mesto":"Žilina","psc":"01001","datumZalozenia":"2001-02-03","pravnaForma":"112",'
        '"skNace":"62010","velkostOrganizacie":"06","druhVlastnictva":"2","kraj":"SK031",'
        '"okres":"SK031B","sidlo":"SK031B517402","konsolidovana":false,"zdrojDat":"FRSR",'
        '"datumPoslednejUpravy":"2026-06-30"}'
    )


def test_a_removed_unit_has_id_state_and_day() -> None:
    """Of a deleted or non-public unit only id, state and day are left, under status 200."""
    store = store_of({5: DAY, 6: DAY})
    store = changes.changed(store, np.array([5]), on=date(2025, 1, 2), state=DELETED)
    store = changes.changed(store, np.array([6]), on=date(2025, 1, 3), state=NON_PUBLIC)

    assert ask(store, "/api/uctovna-jednotka?id=5").body.decode() == (
        '{"id":5,"stav":"ZMAZANÉ","datumPoslednejUpravy":"2025-01-02"}'
    )
    assert ask(store, "/api/uctovna-jednotka?id=6").body.decode() == (
        '{"id":6,"stav":"NEVEREJNÁ","datumPoslednejUpravy":"2025-01-03"}'
    )


def test_an_unknown_id_is_404_without_a_body(five: Store) -> None:
    """An unknown id is 404 with an empty body labelled JSON."""
    reply = ask(five, "/api/uctovna-jednotka?id=4")

    assert (reply.status, reply.body) == (404, b"")
    assert reply.headers["Content-Type"].startswith("application/json")


def test_a_page_has_1000_ids_unless_told_otherwise() -> None:
    """Without max-zaznamov a page has 1000 ids; never more than 10000."""
    store = store_of(dict.fromkeys(range(1, 12_001), DAY))

    def size(query: str) -> int:
        return len(json.loads(ask(store, f"/api/uctovne-jednotky{query}").body)["id"])

    assert size("") == 1_000
    assert size("?max-zaznamov=10000") == 10_000
    assert size("?max-zaznamov=10001") == 10_000
    assert size(f"?max-zaznamov=1{'0' * 30}") == 10_000


def test_an_empty_result_is_an_empty_list_or_no_key(five: Store) -> None:
    """Nothing matches: an empty list when lenient, no key at all when strict."""
    target = "/api/uctovne-jednotky?zmenene-od=2030-01-01"

    assert ask(five, target).body == b'{"id":[],"existujeDalsieId":false}'
    assert ask(five, target, strict=True).body == b'{"existujeDalsieId":false}'


def test_filters_narrow_together() -> None:
    """IČO, DIČ and legal form narrow together; deleted units have none of them."""
    store = population.draw(0)
    for n, record in (
        (2, {"ico": "00000001", "pravnaForma": "112"}),
        (1, {"ico": "00000001", "pravnaForma": "121"}),
        (1, {"ico": "000000000001", "dic": "2020202020"}),
    ):
        store, _ = changes.published(store, n, record)
    store = changes.changed(store, np.array([1]), state=DELETED)

    def ids(query: str) -> Any:
        return json.loads(ask(store, f"/api/uctovne-jednotky?{query}").body)["id"]

    assert ids("ico=00000001") == [2, 3]
    assert ids("ico=00000001&pravna-forma=112") == [2]
    assert ids("ico=000000000001") == [4]
    assert ids("ico=1") == []
    assert ids("dic=2020202020") == [4]
    assert ids("pravna-forma=999") == []


@pytest.mark.parametrize("since", ["", "&zmenene-od=2015-01-01"])
def test_a_filter_that_few_units_meet_lists_those_alone(since: str) -> None:
    """Behind many thousands of others: the units of the filter, and the count of them."""
    sample = fk.sample()
    due = sample.publish(2, pravnaForma="999")["id"].to_list()

    listed, counted = (
        ask(sample._store, f"/api/{path}uctovne-jednotky?pravna-forma=999{since}").body
        for path in ("", "zostavajuce-id/")
    )

    assert json.loads(listed) == {"id": due, "existujeDalsieId": False}
    assert json.loads(counted) == {"pocetZostavajucichId": 2}


MALFORMED = [
    "", "0", "-1", "+5", " 5", "5 ", "1_000", "1e3", "5.0", "٥", "１", "null", "x",
    "10000", "10001", "1" + "0" * 30, "9" * 101, str(2**63 - 1), str(2**63),
    "0001-01-01", "2024-02-29", "2023-02-29", "2024-13-01", "0000-01-01", "20240101", "2024-W01-1",
    "2024-1-1", "２024-01-01", "2024-01-01 ", "2024-01-01\n", "2024-01-01T24:00:00Z",
    "2024-01-01T23:59:60Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00z", "2024-01-01t00:00:00Z",
    "' OR 1=1", "Spol. s r. o.",
]  # fmt: skip
ODD_PARTS = [
    "", "=", "a", "a=%", "a=%F", "a=%ZZ", "%FF", "a=\udc80", "max-zaznamov", "m%61x-zaznamov=3",
    "ico==", "dic=\N{DIGIT ONE}\N{VARIATION SELECTOR-16}", "novy=1", "Zmenene-od=2024-01-01",
]  # fmt: skip
ICOS, DICS, FORMS = (
    ("00000001", "00000002", "000000000001"),
    ("2020000001", "2020000002"),
    ("112", "121"),
)
VALUES = {
    "zmenene-od": days.map(str) | days.map("{}T12:34:56Z".format),
    "max-zaznamov": st.integers(1, 12).map(str),
    "pokracovat-za-id": st.integers(0, 70).map(str),
    "ico": st.sampled_from((*ICOS, "1", "000000001")),
    "dic": st.sampled_from((*DICS, "1", "02020000001")),
    "pravna-forma": st.sampled_from((*FORMS, "999")),
}
units = st.lists(
    st.builds(
        Unit,
        id=st.integers(1, 60),
        day=days,
        ico=st.sampled_from(ICOS),
        dic=st.sampled_from(DICS),
        form=st.sampled_from(FORMS),
        gone=st.booleans(),
    ),
    unique_by=lambda unit: unit.id,
    max_size=25,
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw a query: some right parameters, and now and then something that is not."""
    names = draw(st.sets(st.sampled_from(list(VALUES)), max_size=3))
    names |= draw(st.sampled_from([{"zmenene-od"}, {"zmenene-od", "max-zaznamov"}, set()]))
    parts = [f"{name}={quote(draw(VALUES[name]))}" for name in sorted(names)]
    wrong = st.sampled_from(MALFORMED) | st.text()
    odd = st.sampled_from(ODD_PARTS) | st.builds(
        lambda name, value: f"{name}={quote(value)}", st.sampled_from(list(VALUES)), wrong
    )
    parts += draw(st.sampled_from([0, 0, 1, 2]).flatmap(lambda n: st.lists(odd, max_size=n)))
    return "&".join(draw(st.permutations(parts)))


@pytest.mark.slow
@examples(600)
@given(units, queries(), st.sampled_from([LISTS[0], *LISTS]), st.booleans(), st.booleans())
def test_lists_and_counts_are_those_of_the_model(
    units: list[Unit], query: str, name: str, count: bool, strict: bool
) -> None:
    """For any register and any query, right or malformed: status and body are the model's."""
    path = f"/api/zostavajuce-id/{name}" if count else f"/api/{name}"

    reply = ask(store_of_units(units), f"{path}?{query}", strict=strict)

    status, body = model.answer(
        units, query, count=count, filters=name == "uctovne-jednotky", strict=strict
    )
    answered = json.loads(reply.body)
    assert (reply.status, answered) == (status, {"chyba": ANY} if body is None else body)


def store_of_units(units: list[Unit]) -> Store:
    store = store_of({unit.id: unit.day for unit in units}, like=DEFAULT)
    forms = store.tables["legal_form"]
    units = sorted(units)
    columns = {
        "ico": [ico_number(unit.ico) for unit in units],
        "dic": [int(unit.dic) for unit in units],
        "legal_form": [forms.index(unit.form) for unit in units],
        "state": [DELETED if unit.gone else LIVING for unit in units],
    }
    of_units = {n: np.asarray(c, dtype=store.columns[n].dtype) for n, c in columns.items()}
    return replace(store, columns={**store.columns, **of_units})


@examples(60)
@given(
    st.integers(16_000, 70_000),
    st.lists(st.integers(0, 69_999), max_size=40),
    st.integers(1, 50),
    st.integers(0, 70_000),
)
def test_few_matches_among_many_ids_are_all_found(
    count: int, changed: list[int], size: int, after: int
) -> None:
    """Where few rows match, pages are still exactly those rows, from any cursor on."""
    days = np.zeros(count, dtype=np.uint16)
    days[[row for row in changed if row < count]] = 9
    line = Line(np.arange(1, count + 1, dtype=np.int64), days)

    ids, more = line.page(since=9, after=after, size=size)

    due = [i for i in (np.flatnonzero(days) + 1).tolist() if i > after]
    assert (ids.tolist(), more) == (due[:size], len(due) > size)
