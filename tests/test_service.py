"""The embedded register answers as the specification says, to the letter."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import finstat_kit as fk
from finstat_kit.embedded import service
from finstat_kit.embedded.store import Line, Store
from tests.registers import sample_of, store_of

LISTS = ["uctovne-jednotky", "uctovne-zavierky", "uctovne-vykazy", "vyrocne-spravy"]
DAY = date(2024, 5, 17)


@pytest.fixture(scope="module")
def five() -> Store:
    """Five units, changed on five days running."""
    return store_of({id_: DAY + timedelta(days=n) for n, id_ in enumerate([3, 7, 8, 20, 41])})


def ask(store: Store, target: str, *, strict: bool = False, method: str = "GET") -> service.Reply:
    path, _, query = target.partition("?")
    return service.answer(store, method, path, query, strict=strict)


@pytest.mark.parametrize("name", LISTS)
def test_list(five: Store, name: str) -> None:
    """A list: ascending ids after the cursor, and whether more exist."""
    reply = ask(five, f"/api/{name}?zmenene-od=2024-05-18&max-zaznamov=2&pokracovat-za-id=3")

    assert reply.body == b'{"id":[7,8],"existujeDalsieId":true}'
    assert reply.status == 200
    assert reply.headers == {
        "Content-Type": "application/json;charset=UTF-8",
        "Content-Length": "36",
        "X-API-Version": "2.5",
        "Cache-Control": "no-cache, no-store, max-age=0",
    }


def test_last_page(five: Store) -> None:
    """The flag is false exactly when nothing remains, also behind a full page."""
    reply = ask(five, "/api/uctovne-jednotky?max-zaznamov=2&pokracovat-za-id=8")

    assert reply.body == b'{"id":[20,41],"existujeDalsieId":false}'


@pytest.mark.parametrize("name", LISTS)
def test_count(five: Store, name: str) -> None:
    """A count: what remains after the cursor, whatever the page size."""
    reply = ask(
        five,
        f"/api/zostavajuce-id/{name}?zmenene-od=2024-05-18&pokracovat-za-id=7&max-zaznamov=1",
    )

    assert reply.body == b'{"pocetZostavajucichId":3}'


def test_regions() -> None:
    """Regions carry no parent; the two entries for abroad are there."""
    reply = ask(fk.sample().store, "/api/kraje")

    entries = json.loads(reply.body)["lokacie"]
    assert entries[0] == {
        "kod": "SK010",
        "nazov": {"sk": "Bratislavský kraj", "en": "Region of Bratislava"},
    }
    assert entries[-1] == {"kod": "SKZZZ", "nazov": {"sk": "Zahraničie", "en": "Extra-regio"}}
    assert len(entries) == 10


def test_districts() -> None:
    """Districts point at their region."""
    entries = json.loads(ask(fk.sample().store, "/api/okresy").body)["lokacie"]

    assert {
        "kod": "SK032B",
        "nazov": {"sk": "Zvolen", "en": "Zvolen"},
        "nadradenaLokacia": "SK032",
    } in entries
    assert len(entries) == 79


def test_municipalities() -> None:
    """Municipalities point at their district; some at none."""
    entries = json.loads(ask(fk.sample().store, "/api/sidla").body)["lokacie"]

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
def test_classifications(name: str, code: str, sk: str, en: str) -> None:
    """The other codelists stand under another key and have no parents."""
    entries = json.loads(ask(fk.sample().store, f"/api/{name}").body)["klasifikacie"]

    assert {"kod": code, "nazov": {"sk": sk, "en": en}} in entries


def test_unit_record() -> None:
    """A record has what is known of a unit; what is absent is left out."""
    sample = fk.sample(0)
    sample.publish(
        ico="00123456", dic="2020123456", nazovUJ="Vzor", ulica="Vymyslená 1", mesto="Žilina",
        psc="01001", datumZalozenia="2001-02-03", pravnaForma="112", skNace="62010",
        velkostOrganizacie="06", druhVlastnictva="2", kraj="SK031", okres="SK031B",
        sidlo="SK031B517402", konsolidovana=False, zdrojDat="FRSR", datumZrusenia=None,
    )  # fmt: skip

    reply = ask(sample.store, "/api/uctovna-jednotka?id=1")

    assert json.loads(reply.body) == json.loads(
        '{"id":1,"ico":"00123456","dic":"2020123456","nazovUJ":"Vzor","ulica":"Vymyslená 1",'
        '"mesto":"Žilina","psc":"01001","datumZalozenia":"2001-02-03","pravnaForma":"112",'
        '"skNace":"62010","velkostOrganizacie":"06","druhVlastnictva":"2","kraj":"SK031",'
        '"okres":"SK031B","sidlo":"SK031B517402","konsolidovana":false,"zdrojDat":"FRSR",'
        '"datumPoslednejUpravy":"2026-06-30"}'
    )


def test_gone_record() -> None:
    """Of a deleted or non-public unit only id, state and day are left, under status 200."""
    sample = sample_of({5: DAY, 6: DAY})
    sample.delete(5, on="2025-01-02")
    sample.hide(6, on="2025-01-03")

    assert ask(sample.store, "/api/uctovna-jednotka?id=5").body.decode() == (
        '{"id":5,"stav":"ZMAZANÉ","datumPoslednejUpravy":"2025-01-02"}'
    )
    assert ask(sample.store, "/api/uctovna-jednotka?id=6").body.decode() == (
        '{"id":6,"stav":"NEVEREJNÁ","datumPoslednejUpravy":"2025-01-03"}'
    )


def test_unknown_record(five: Store) -> None:
    """An unknown id is 404 with an empty body labelled JSON."""
    reply = ask(five, "/api/uctovna-jednotka?id=4")

    assert (reply.status, reply.body) == (404, b"")
    assert reply.headers["Content-Type"].startswith("application/json")


def test_default_page_size() -> None:
    """Without max-zaznamov a page has 1000 ids; never more than 10000."""
    store = store_of(dict.fromkeys(range(1, 12_001), DAY))

    def size(query: str) -> int:
        return len(json.loads(ask(store, f"/api/uctovne-jednotky{query}").body)["id"])

    assert size("") == 1_000
    assert size("?max-zaznamov=10000") == 10_000
    assert size("?max-zaznamov=10001") == 10_000
    assert size(f"?max-zaznamov=1{'0' * 30}") == 10_000


# What is open: the answer of the lenient and of the strict register.
OPEN = [
    ("zmenene-od absent", "", 200, 400),
    ("too large a page", "zmenene-od=2024-01-01&max-zaznamov=10001", 200, 400),
    ("unknown parameter", "zmenene-od=2024-01-01&novy=1", 200, 400),
    ("beyond the last id", "zmenene-od=2024-01-01&pokracovat-za-id=99", 200, 200),
    ("largest id", f"zmenene-od=2024-01-01&pokracovat-za-id={2**63 - 1}", 200, 200),
    ("a leap day", "zmenene-od=2024-02-29", 200, 200),
    ("the first day of all", "zmenene-od=0001-01-01", 200, 200),
    ("a day to come", "zmenene-od=2030-01-01", 200, 200),
    ("a moment", "zmenene-od=2024-01-01T00:00:00Z", 200, 200),
    ("a moment, escaped", "zmenene-od=2024-01-01T00%3A00%3A00Z", 200, 200),
]
BAD = {
    "max-zaznamov": [
        "0", "-1", "", " 5", "%205", "+5", "1_000", "1e3", "5.0", "%D9%A5", "null", "5%00",
    ],
    "pokracovat-za-id": ["-1", "", "x", "1.0", "%EF%BC%91", str(2**63), "9" * 200],
    "zmenene-od": [
        "", "2023-02-29", "2024-13-01", "20240101", "2024-W01-1", "2024-1-1",
        "%EF%BC%92024-01-01", "2024-01-01%20", "2024-01-01+", "'+OR+1=1", "0000-01-01",
        "2024-01-01T25:00:00Z", "2024-01-01T00:00:00", "2024-01-01%0A",
    ],
    "ico": ["", "x", "1 2"],
    "dic": ["", "-1"],
    "pravna-forma": ["", "Spol. s r. o."],
}  # fmt: skip


@pytest.mark.parametrize(("case", "query", "lenient", "strict"), OPEN, ids=[c[0] for c in OPEN])
def test_what_is_open(five: Store, case: str, query: str, lenient: int, strict: int) -> None:
    """Where the specification is open, lenient serves and strict refuses."""
    for path in ("/api/uctovne-jednotky", "/api/zostavajuce-id/uctovne-jednotky"):
        assert ask(five, f"{path}?{query}").status == lenient
        assert ask(five, f"{path}?{query}", strict=True).status == strict


@pytest.mark.parametrize(
    ("parameter", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_values(five: Store, parameter: str, value: str) -> None:
    """A value that does not match its pattern is 400, naming the parameter."""
    since = "" if parameter == "zmenene-od" else "zmenene-od=2024-01-01&"
    for path in ("/api/uctovne-jednotky", "/api/zostavajuce-id/uctovne-jednotky"):
        reply = ask(five, f"{path}?{since}{parameter}={value}")

        assert reply.status == 400
        assert parameter in json.loads(reply.body)["chyba"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("max-zaznamov=5&max-zaznamov=5", 400),
        ("a=%ZZ", 400),
        ("a=%", 400),
        ("a=%FF", 400),
        ("&".join(f"p{n}=1" for n in range(1_000)), 400),
        ("a=" + "x" * 65_536, 414),
    ],
)
def test_broken_queries(five: Store, query: str, status: int) -> None:
    """A query that cannot be read is refused."""
    assert ask(five, f"/api/uctovne-jednotky?{query}").status == status


def test_input_is_told_back_cut_and_escaped(five: Store) -> None:
    """What a stranger sent does not come back as markup."""
    reply = ask(five, "/api/uctovne-jednotky?zmenene-od=<script>" + "x" * 300)

    assert b"<script>" not in reply.body
    assert len(reply.body) < 300


@pytest.mark.parametrize(
    "path",
    [
        "/api/kraje/", "//api/kraje", "/API/kraje", "/api/../x", "/api/%2e%2e/x", "/api/kraje%00",
        "/", "/api", "/api/zostavajuce-id/kraje",
    ],
)  # fmt: skip
def test_unknown_paths(five: Store, path: str) -> None:
    """A path is known to the letter or not at all."""
    assert ask(five, path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE", "OPTIONS"])
def test_other_methods(five: Store, method: str) -> None:
    """The register is read-only."""
    reply = ask(five, "/api/kraje", method=method)

    assert reply.status == 405
    assert reply.headers["Allow"] == "GET, HEAD"


def test_head(five: Store) -> None:
    """HEAD is GET without the body."""
    get, head = ask(five, "/api/kraje"), ask(five, "/api/kraje", method="HEAD")

    assert head.body == b""
    assert (head.status, head.headers) == (get.status, get.headers)


def test_empty_result(five: Store) -> None:
    """Nothing matches: an empty list when lenient, no key at all when strict."""
    target = "/api/uctovne-jednotky?zmenene-od=2030-01-01"

    assert ask(five, target).body == b'{"id":[],"existujeDalsieId":false}'
    assert ask(five, target, strict=True).body == b'{"existujeDalsieId":false}'


def test_filters_are_and() -> None:
    """IČO, DIČ and legal form narrow together; deleted units have none of them."""
    sample = fk.sample(0)
    sample.publish(2, ico="00000001", pravnaForma="112")
    sample.publish(1, ico="00000001", pravnaForma="121")
    sample.publish(1, ico="000000000001", dic="2020202020")
    sample.delete(1)

    def ids(query: str) -> Any:
        return json.loads(ask(sample.store, f"/api/uctovne-jednotky?{query}").body)["id"]

    assert ids("ico=00000001") == [2, 3]
    assert ids("ico=00000001&pravna-forma=112") == [2]
    assert ids("ico=000000000001") == [4]
    assert ids("ico=1") == []
    assert ids("dic=2020202020") == [4]
    assert ids("pravna-forma=999") == []


days = st.dates(date(2014, 1, 1), date(2026, 6, 30))
changes = st.dictionaries(st.integers(1, 200), days, max_size=60)


@settings(deadline=None)
@given(changes, st.none() | days, st.integers(1, 70), st.integers(0, 220))
def test_pages_are_one_sorted_list(
    changed: dict[int, date], since: date | None, size: int, after: int
) -> None:
    """For any ids, days, page size and cursor: pages together are exactly what matches."""
    store = store_of(changed, like=_LIKE)
    due = [i for i in sorted(changed) if i > after and (since is None or changed[i] >= since)]
    day = "" if since is None else f"&zmenene-od={since}"

    found: list[int] = []
    cursor = after
    while True:
        page = json.loads(
            ask(
                store,
                f"/api/uctovne-jednotky?max-zaznamov={size}&pokracovat-za-id={cursor}{day}",
            ).body
        )
        count = json.loads(
            ask(store, f"/api/zostavajuce-id/uctovne-jednotky?pokracovat-za-id={cursor}{day}").body
        )["pocetZostavajucichId"]
        assert count == len(due) - len(found)
        found += page["id"]
        assert len(page["id"]) <= size
        assert page["existujeDalsieId"] == (len(found) < len(due))
        if not page["existujeDalsieId"]:
            break
        cursor = page["id"][-1]

    assert found == due


_LIKE = fk.sample().store


@settings(deadline=None, max_examples=60)
@given(
    st.integers(16_000, 70_000),
    st.lists(st.integers(0, 69_999), max_size=40),
    st.integers(1, 50),
    st.integers(0, 70_000),
)
def test_few_changes_among_many_ids(count: int, changed: list[int], size: int, after: int) -> None:
    """Where few rows match, pages are still exactly those rows, from any cursor on."""
    days = np.zeros(count, dtype=np.uint16)
    days[[row for row in changed if row < count]] = 9
    line = Line(np.arange(1, count + 1, dtype=np.int64), days)

    ids, more = line.page(since=9, after=after, size=size)

    due = [i for i in (np.flatnonzero(days) + 1).tolist() if i > after]
    assert (ids.tolist(), more) == (due[:size], len(due) > size)
