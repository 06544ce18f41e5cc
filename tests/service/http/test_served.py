"""The register as a server: every case of what may be asked, sent raw over HTTP.

Each case is answered twice, by the lenient and by the strict register, and as in process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import date

import pytest
from hypothesis import HealthCheck, given, strategies as st

from finstat_kit.client.sample import Sample
from finstat_kit.service.http.server import served
from tests.support.examples import examples
from tests.support.registers import Switched, sample_of
from tests.support.wire import get

UNITS = "/api/uctovne-jednotky"
COUNT = "/api/zostavajuce-id/uctovne-jednotky"
TODAY = date(2026, 6, 30)
# Ids 1 to 12,001; the last changed on the register's day, the others long before.
CHANGES = dict.fromkeys(range(1, 12_001), date(2024, 2, 29)) | {12_001: TODAY}


def page(first: int, last: int, *, more: bool) -> dict[str, object]:
    return {"id": list(range(first, last + 1)), "existujeDalsieId": more}


# What a list answers, and what its count does. A text is a part of the reason that must be told.
LISTED: dict[str, tuple[int, object, object]] = {
    "1000 ids": (200, page(1, 1_000, more=True), 12_001),
    "1 id": (200, page(1, 1, more=True), 12_001),
    "10000 ids": (200, page(1, 10_000, more=True), 12_001),
    "the last id": (200, page(12_001, 12_001, more=False), 1),
    "no ids": (200, {"id": [], "existujeDalsieId": False}, 0),
    "no id key": (200, {"existujeDalsieId": False}, 0),
    "since": (400, "parameter zmenene-od", None),
    "no moment": (400, "parameter zmenene-od: očakáva sa dátum", None),
    "size": (400, "parameter max-zaznamov", None),
    "after": (400, "parameter pokracovat-za-id", None),
    "ico": (400, "parameter ico", None),
    "dic": (400, "parameter dic", None),
    "form": (400, "parameter pravna-forma", None),
    "no since": (400, "chýba povinný parameter zmenene-od", None),
    "unknown": (400, "neznámy parameter", None),
    "twice": (400, "dvakrát", None),
    "many": (400, "viac ako 100 parametrov", None),
    "UTF-8": (400, "UTF-8", None),
    "too long": (414, "príliš dlhá", None),
}
S = "zmenene-od=2000-01-01&"
# The query; how the lenient register answers, how the strict one does.
QUERIES = [
    ("", "1000 ids", "no since"),
    ("max-zaznamov=1", "1 id", "no since"),
    (S[:-1], "1000 ids", "1000 ids"),
    (S + "max-zaznamov=1", "1 id", "1 id"),
    (S + "max-zaznamov=0001", "1 id", "1 id"),
    (S + "max-zaznamov=%31", "1 id", "1 id"),
    (S + "m%61x-zaznamov=1", "1 id", "1 id"),
    (S + "max-zaznamov=10000", "10000 ids", "10000 ids"),
    (S + "max-zaznamov=10001", "10000 ids", "size"),
    (S + "max-zaznamov=1" + "0" * 30, "10000 ids", "size"),
    *((S + f"max-zaznamov={value}", "size", "size") for value in (
        "0", "-1", "", "%205", "+5", "%2B5", "5%20", "1_000", "1e3", "5.0", "%D9%A5", "%EF%BC%95",
        "null", "5%00", "5%0A", "9" * 101, "9" * 5_000,
    )),
    (S + "max-zaznamov", "size", "size"),
    (S + "pokracovat-za-id=0", "1000 ids", "1000 ids"),
    (S + "pokracovat-za-id=12000", "the last id", "the last id"),
    (S + "pokracovat-za-id=12001", "no ids", "no id key"),
    *((S + f"pokracovat-za-id={value}", "no ids", "no id key") for value in (2**63 - 1, 2**70)),
    *((S + f"pokracovat-za-id={value}", "after", "after") for value in (
        "-1", "", "x", "1.0", "%EF%BC%91", "1_0", "+1", "null", "9" * 101,
    )),
    ("zmenene-od=2024-02-29", "1000 ids", "1000 ids"),
    ("zmenene-od=2024-03-01", "the last id", "the last id"),
    ("zmenene-od=2026-06-30", "the last id", "the last id"),
    ("zmenene-od=0001-01-01", "1000 ids", "1000 ids"),
    ("zmenene-od=2026-07-01", "no ids", "no id key"),
    ("zmenene-od=9999-12-31", "no ids", "no id key"),
    ("zmenene-od=2024-01-01T00:00:00Z", "1000 ids", "1000 ids"),
    ("zmenene-od=2026-06-30T23%3A59%3A59Z", "the last id", "the last id"),
    *((f"zmenene-od={value}", "since", "since") for value in (
        "", "2023-02-29", "2024-13-01", "2024-00-10", "20240101", "2024-W01-1", "2024-W01", "2024",
        "2024-1-1", "%EF%BC%92024-01-01", "%D9%A2024-01-01", "2024-01-01%20", "2024-01-01+",
        "%202024-01-01", "2024-01-01%0A", "2024-01-01%00", "'+OR+1=1", "'%20OR%201=1", "0000-01-01",
        "-2024-01-01", "12024-01-01", "1.7.2026", "null", "2024-01-01T00:00:00",
        "2024-01-01T00:00Z", "2024-01-01T00:00:00%2B01:00", "2024-01-01t00:00:00z",
        "2024-01-01%2000:00:00Z",
    )),
    # That newer Pythons read 24:00:00 must make no difference.
    *((f"zmenene-od=2024-01-01T{time}Z", "no moment", "no moment") for time in (
        "24:00:00", "23:60:00", "23:59:60",
    )),
    (S + "ico=1", "no ids", "no id key"),
    (S + "dic=0", "no ids", "no id key"),
    (S + "pravna-forma=none", "no ids", "no id key"),
    *((S + f"ico={value}", "ico", "ico") for value in ("", "x", "1+2", "%D9%A5", "-1", "1" * 101)),
    *((S + f"dic={value}", "dic", "dic") for value in ("", "-1", "SK2020000001", "%D9%A5")),
    *((S + f"pravna-forma={value}", "form", "form") for value in ("", "Spol.+s+r.+o.", "%C4%8D")),
    (S + "zmenene-od=2000-01-01", "twice", "twice"),
    (S + "max-zaznamov=5&max-zaznamov=6", "twice", "twice"),
    (S + "zmenene%2Dod=2000-01-01", "twice", "twice"),
    (S + "a=1&a=1", "twice", "twice"),
    (S + "a=1", "1000 ids", "unknown"),
    (S + "Max-Zaznamov=1", "1000 ids", "unknown"),
    (S + "id=1", "1000 ids", "unknown"),
    (S + "%00=1", "1000 ids", "unknown"),
    (S, "1000 ids", "1000 ids"),  # an empty parameter is none
    (S + "=", "1000 ids", "unknown"),
    (S + "=&=", "twice", "twice"),
    ("&".join(f"p{n}=1" for n in range(100)), "1000 ids", "unknown"),
    ("&".join(f"p{n}=1" for n in range(101)), "many", "many"),
    ("&".join(f"p{n}=1" for n in range(1_000)), "many", "many"),
    ("&" * 1_000, "many", "many"),
    *((S + f"a={value}", "1000 ids", "unknown") for value in ("%", "%F", "%ZZ", "50%25%")),
    *((S + f"a={value}", "UTF-8", "UTF-8") for value in ("%FF", "%C3", "%ED%A0%80", "%C0%AF")),
    (S + "%FF=1", "UTF-8", "UTF-8"),
    (S + "a=" + "x" * (8_192 - len(S) - 2), "1000 ids", "unknown"),
    (S + "a=" + "x" * (8_192 - len(S) - 1), "too long", "too long"),
    (S + "a=" + "x" * 60_000, "too long", "too long"),
    ("%" * 30_000, "too long", "too long"),
]  # fmt: skip
NOWHERE = 404, "neznáma cesta"
# The path or what else is asked for; how the lenient register answers, how the strict one does.
OTHERS = [
    *((path, NOWHERE, NOWHERE) for path in (
        "/api/kraje/", "//api/kraje", "///api/kraje", "//x/api/kraje", "/API/kraje", "/api/Kraje",
        "/api//kraje", "/api/../x", "/api/../api/kraje", "/./api/kraje", "/api/%2e%2e/x",
        "/api/%2E%2E/api/kraje", "/api/%2e%2e%2fx", "/api/%6braje", "/api%2Fkraje", "/api/kraje%00",
        "/%00", "/api/kraje%", "/api/kraje%FF", "/api/kraje/../../../../../../etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "/data/items.json", "/", "/api", "/api/",
        "/api/nic", "/api/kraje;a=1", "/api/kraje.json", "/api/zostavajuce-id/kraje",
        "/api/zostavajuce-id", "/api/zostavajuce-id/", "/api\\kraje", "/api/openapi.json", "*",
        "/uctovne-jednotky", "/favicon.ico", "/api/nic?max-zaznamov=x",
    )),
    ("/api/uctovna-jednotka?id=12002", (404, None), (404, None)),
    ("/api/uctovna-jednotka?id=0", (404, None), (404, None)),
    (f"/api/uctovna-jednotka?id={2**63}", (404, None), (404, None)),
    ("/api/uctovna-jednotka?id=" + "9" * 100, (404, None), (404, None)),
    *((f"/api/uctovna-jednotka?{query}", (400, "parameter id"), (400, "parameter id"))
      for query in ("", "id", "id=", "id=-1", "id=x", "id=%D9%A5", "id=1.0", "id=" + "9" * 101)),
    ("/api/uctovna-jednotka?id=1&id=1", (400, "dvakrát"), (400, "dvakrát")),
    ("/api/uctovna-jednotka?id=12002&a=1", (404, None), (400, "neznámy parameter")),
    ("/api/kraje?a=1", (200, None), (400, "neznámy parameter")),
    ("/api/kraje?%FF", (400, "UTF-8"), (400, "UTF-8")),
    ("/api/kraje?" + "x" * 8_193, (414, "príliš dlhá"), (414, "príliš dlhá")),
    (f"/api/uctovne-zavierky?{S}ico=x", (200, None), (400, "neznámy parameter")),
    ("/openapi.json?a=1", (200, None), (400, "neznámy parameter")),
    ("/openapi.json", (200, None), (200, None)),
]  # fmt: skip
TARGETS = [
    *(f"{path}?{query}" for path in (UNITS, COUNT) for query, _, _ in QUERIES),
    *(target for target, _, _ in OTHERS),
    "/api/kraje",
    "/api/uctovna-jednotka?id=1",
]


@pytest.fixture(scope="module", params=[False, True], ids=["lenient", "strict"])
def strict(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def sample(strict: bool) -> Sample:
    return sample_of(CHANGES, strict=strict)


@pytest.fixture(scope="module")
def url(sample: Sample) -> Iterator[str]:
    with sample.serve() as url:
        yield url


def test_a_list_and_its_count_answer_alike(url: str, strict: bool) -> None:
    """A list and its count answer a query as the table says."""
    for query, lenient, refused in QUERIES:
        expected, ids, count = LISTED[refused if strict else lenient]

        status, _, body = get(url, f"{UNITS}?{query}")
        status_of_count, _, body_of_count = get(url, f"{COUNT}?{query}")

        assert (status, status_of_count) == (expected, expected), query[:99]
        if isinstance(ids, str):
            assert ids in json.loads(body)["chyba"], query[:99]
            assert body_of_count == body, query[:99]
        else:
            assert json.loads(body) == ids, query[:99]
            assert json.loads(body_of_count) == {"pocetZostavajucichId": count}, query[:99]


def test_other_targets_are_unknown(url: str, strict: bool) -> None:
    """A path is known to the letter: nothing is put right, nothing redirected."""
    for target, lenient, refused in OTHERS:
        status, reason = refused if strict else lenient

        seen, headers, body = get(url, target)

        assert (seen, "location" in headers) == (status, False), target[:99]
        if status != 200:
            assert reason in json.loads(body)["chyba"] if reason else body == b"", target[:99]


def test_all_answers_have_one_form(sample: Sample, url: str) -> None:
    """To the byte as in process; JSON, with its length and the version; HEAD without the body."""
    for target in TARGETS:
        path, _, query = target.partition("?")
        expected = sample._answer("GET", path, query)

        status, headers, body = get(url, target)
        head = get(url, target, "HEAD")

        assert (status, body) == (expected.status, expected.body), target
        assert {k.lower(): v for k, v in expected.headers.items()}.items() <= headers.items()
        assert headers["content-type"] == "application/json;charset=UTF-8", target
        assert headers["content-length"] == str(len(body)), target
        assert headers["x-api-version"] == "2.5", target
        assert head == (status, headers, b""), target
        assert sample._answer("HEAD", path, query) == expected._replace(body=b""), target


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(url: str, method: str) -> None:
    """Reading is all there is, whatever else is asked; an unknown path is unknown to all."""
    for target in ("/api/kraje", f"{UNITS}?max-zaznamov=x", COUNT, "/openapi.json"):
        status, headers, body = get(url, target, method)

        assert (status, headers["allow"]) == (405, "GET, HEAD")
        assert (headers["x-api-version"], len(json.loads(body))) == ("2.5", 1)
    assert get(url, "/api/nic", method)[0] == 404


def test_nothing_is_looked_for_in_files(url: str) -> None:
    """No target opens a file."""
    opened: list[object] = []
    watching = True
    for target in ("/api/kraje", "/openapi.json"):  # whose files are read once
        get(url, target)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir"):
            opened.append(arguments[0])

    sys.addaudithook(watch)
    for target, _, _ in OTHERS:
        get(url, target)
    watching = False

    assert opened == []


@pytest.mark.parametrize(
    "query",
    [
        "zmenene-od=<script>",
        "max-zaznamov=%3Cscript%3E",
        "pravna-forma=<script>",
        "<script>=1&<script>=1",
        "zmenene-od=2024-01-01&<script>=1",
        "a=%<script>",
    ],
)
def test_input_is_not_told_back(url: str, query: str) -> None:
    """What a stranger sent does not come back: no markup, nothing long, no control signs."""
    status, _, body = get(url, f"{UNITS}?{query.replace('script>', 'script>' + '%1B' + 'x' * 300)}")

    assert status in (200, 400)
    assert b"<" not in body
    assert b"\x1b" not in body
    assert b"x" * 9 not in body


@pytest.fixture(scope="module")
def switched() -> Switched:
    return Switched()


@pytest.fixture(scope="module")
def switched_url(switched: Switched) -> Iterator[str]:
    with served(switched.answer, host="127.0.0.1", port=0) as url:
        yield url


since = date(2025, 1, 1)
verbs = st.lists(st.tuples(st.sampled_from("ptdhvo"), st.integers(0, 99)), max_size=4)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 6), st.lists(verbs, min_size=1, max_size=8))
def test_data_that_change_between_two_pages_come_once(
    switched: Switched,
    switched_url: str,
    strict: bool,
    size: int,
    meanwhile: list[list[tuple[str, int]]],
) -> None:
    """No id comes twice; what is above the cursor when its page is asked for comes once."""
    changed = {id_: since if id_ % 3 else date(2024, 1, 1) for id_ in range(1, 25)}
    sample = switched.sample = sample_of(changed, strict=strict)
    walked: list[int] = []
    due: set[int] = set()
    cursor = 0

    while True:
        # Below the cursor the past cannot be seen; above it only the present counts.
        due = {id_ for id_ in due if id_ <= cursor} | {
            id_ for id_ in matching(sample) if id_ > cursor
        }
        query = f"zmenene-od={since}&max-zaznamov={size}&pokracovat-za-id={cursor}"
        page = json.loads(get(switched_url, f"{UNITS}?{query}")[2])
        walked += page.get("id", [])
        if not page["existujeDalsieId"]:
            break
        cursor = walked[-1]
        for verb, number in meanwhile.pop(0) if meanwhile else ():
            change(sample, verb, number)

    assert walked == sorted(due)


def matching(sample: Sample) -> set[int]:
    return set(sample.units.ids(changed_since=since)["id"])


def change(sample: Sample, verb: str, number: int) -> None:
    ids = sample.units.ids()["id"].to_list()
    if verb == "p":
        sample.publish(1 + number % 3)
    elif ids:
        id_ = ids[number % len(ids)]
        if verb == "v":
            sample.vanish(id_)
        elif verb == "o":
            sample.touch(id_, on="2024-06-01")  # out of the window
        else:
            {"t": sample.touch, "d": sample.delete, "h": sample.hide}[verb](id_)
