"""Replies made to hurt: whatever decodes is a value or an error, in time linear in the bytes."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

import finstat_kit as fk
from finstat_kit.errors import ProtocolError
from finstat_kit.protocol import replies
from finstat_kit.protocol.guarded_json import NotJson
from finstat_kit.protocol.outcome import first_words
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.protocol.wire import CODELIST_CAP, PAGE_CAP
from tests.conftest import Told
from tests.support.examples import examples, slow
from tests.support.faults import FaultServer, reply
from tests.support.memory import needs_proc

UNITS = KINDS["units"]
READERS: dict[str, Callable[[bytes], object]] = {
    "page": replies.parse_page,
    "count": replies.parse_count,
    "locations": replies.parse_locations,
    "classification": replies.parse_classification,
    **{
        name: lambda body, kind=kind: kind.frame([kind.read(body, 7)])  # type: ignore[misc]
        for name, kind in KINDS.items()
    },
}
VALID: dict[str, Any] = {
    "page": {"id": [3, 5, 9], "existujeDalsieId": True},
    "count": {"pocetZostavajucichId": 4},
    "locations": {
        "lokacie": [{"kod": "1", "nazov": {"sk": "A", "en": "B"}, "nadradenaLokacia": "2"}] * 2
    },
    "classification": {"klasifikacie": [{"kod": "1", "nazov": {"sk": "A", "en": "B"}}]},
    "units": {
        "id": 7,
        "nazovUJ": "A",
        "datumZalozenia": "2020-01-01",
        "konsolidovana": True,
        "idUctovnychZavierok": [1, 2],
    },
    "statements": {
        "id": 7,
        "idUJ": 3,
        "obdobieDo": "2020-12",
        "konsolidovana": "true",
        "idUctovnychVykazov": [1, 2],
    },
    "reports": {
        "id": 7,
        "idSablony": 699,
        "obsah": {
            "titulnaStrana": {"ico": "1", "obdobieOd": "2020-01", "adresa": {"mesto": "A"}},
            "tabulky": [{"nazov": {"sk": "A"}, "data": ["", "1"]}],
        },
        "prilohy": [{"id": 1, "meno": "a.pdf"}],
    },
    "annual_reports": {"id": 7, "obdobieOd": "2020-01", "prilohy": [{"velkostPrilohy": 5}]},
}

deep = st.builds(
    lambda depth, pair: pair[0] * depth + pair[1] * depth,
    st.sampled_from([2, 60, 499, 500, 990, 1_023, 1_024, 1_500, 100_000]),
    st.sampled_from([("[", "]"), ('{"id":', "}"), ("[[],", "]"), ("[", "")]),
).map(lambda text: text.replace('{"id":}', "{}"))
numbers = st.sampled_from(
    ["1" + "0" * 18, "9223372036854775807", "9223372036854775808", "18446744073709551616",
     "1" * 310, "-" + "1" * 310, "1" * 5_000, "1e308", "1e309", "-0", "1.0", "NaN", "-1", "1e-400"]
)  # fmt: skip
texts = st.sampled_from(
    [
        '"\\ud800"',
        '"\\u0000"',
        '"\x7f"',
        '"\\"',
        '"' + "a" * 5_000 + '"',
        '"2023-02-29"',
        '"\\u202e"',
    ]
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "kod", "nazov", "sk", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
).map(json.dumps)
values = deep | numbers | texts | plain
MARK = "@here@"


def places(value: Any) -> list[Any]:
    """Return every copy of a value in which one part is the mark."""
    found: list[Any] = [MARK]
    if isinstance(value, dict):
        for key, part in value.items():
            found += [{**value, key: altered} for altered in places(part)]
            found.append({**value, MARK: part})
    if isinstance(value, list):
        for at, part in enumerate(value):
            found += [[*value[:at], altered, *value[at + 1 :]] for altered in places(part)]
    return found


TEMPLATES = [(kind, json.dumps(t)) for kind, value in VALID.items() for t in places(value)]


@examples(1_500)
@given(st.sampled_from(TEMPLATES), values, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@example(("page", f'{{"id":["{MARK}"],"existujeDalsieId":true}}'), "1" * 310, "utf-8")
@example(("page", f'{{"id":[1],"existujeDalsieId":"{MARK}"}}'), "[" * 1_000 + "]" * 1_000, "utf-8")
@example(("count", f'{{"pocetZostavajucichId":"{MARK}"}}'), "1" * 310, "utf-8")
def test_any_json_in_any_place_is_a_value_or_our_error(
    template: tuple[str, str], value: str, encoding: str
) -> None:
    """A reader returns a value or raises an error of ours, never one of a library."""
    kind, text = template
    body = text.replace(f'"{MARK}"', value).encode(encoding, errors="surrogatepass")
    error: Exception | None = None
    try:
        READERS[kind](body)
    except (ProtocolError, NotJson) as raised:
        error = raised

    assert len(str(error)) < 1_000


@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize(
    ("case", "value"),
    [("an id of 310 digits", b"1" * 310), ("an id nested 500 deep", b"[" * 500 + b"]" * 500),
     ("an object of 400 keys", b"{" + b",".join(b'"%d":1' % i for i in range(400)) + b"}")],
)  # fmt: skip
def test_what_came_before_is_kept(matrix: Told, case: str, value: bytes, connections: int) -> None:
    """The error of a hostile page has the ids before it, and the cursor."""
    good = reply(b'{"id":[3,5],"existujeDalsieId":true}')
    bad = reply(b'{"id":[%b],"existujeDalsieId":true}' % value)

    class Lists(FaultServer):
        def _next(self, request: str) -> Any:
            super()._next(request)
            return [bad if "pokracovat-za-id=5" in request else good]

    with Lists([]) as server, fk.Register(server.url, tries=1) as reg:
        with pytest.raises(ProtocolError) as caught:
            reg.units.ids(page_size=2, connections=connections)

    partial, cursor = caught.value.partial, caught.value.cursor
    assert partial is not None
    seen = f"{type(caught.value).__name__}, {partial['id'].to_list()}, cursor {cursor}"
    matrix(case, "ProtocolError, [3, 5], cursor 5", seen)
    assert (partial["id"].to_list(), cursor) == ([3, 5], 5)


def repeated_key(n: int) -> bytes:
    keys = b",".join(b'"k%d":1' % i for i in range(n // 10))
    return b"{" + keys + b',"k%d":1}' % (n // 10 - 1)


FAMILIES: dict[str, Callable[[int], bytes]] = {
    "brackets": lambda n: b"[" * n,
    "lists nested 500 deep": lambda n: b"[" * 500 + b"],[" * (n // 3) + b"]" * 500,
    "ids nested": lambda n: (
        b'{"id":[' + b"[[[[[1]]]]]," * (n // 12) + b'1],"existujeDalsieId":true}'
    ),
    "ids nested 500 deep": lambda n: (
        b'{"id":['
        + (b"[" * 500 + b"]" * 500 + b",") * (n // 1_001)
        + b'1],"existujeDalsieId":true}'
    ),
    "ids that are texts": lambda n: (
        b'{"id":[' + b'"1",' * (n // 4) + b'1],"existujeDalsieId":true}'
    ),
    "ids, the last a half": lambda n: (
        b'{"id":[' + b"1234567," * (n // 8) + b'1.5],"existujeDalsieId":true}'
    ),
    "ids, the last of 310 digits": lambda n: (
        b'{"id":[' + b"1234567," * (n // 8) + b"1" * 310 + b'],"existujeDalsieId":true}'
    ),
    "many keys, one repeated": repeated_key,
    "many keys": lambda n: b"{" + b",".join(b'"k%d":1' % i for i in range(n // 10)) + b"}",
    "empty objects": lambda n: b'{"lokacie":[' + b"{}," * (n // 3) + b"{}]}",
    "one entry again and again": lambda n: (
        b'{"lokacie":[' + b'{"kod":"1"},' * (n // 12) + b'{"kod":"1"}]}'
    ),
    "entries": lambda n: (
        b'{"lokacie":[' + b",".join(b'{"kod":"%d"}' % i for i in range(n // 16)) + b"]}"
    ),
    "numbers of 4,000 digits": lambda n: b"[" + (b"1" * 4_000 + b",") * (n // 4_001) + b"1]",
    "escapes": lambda n: b'{"id":7,"nazovUJ":"' + b"\\u00e9" * (n // 6) + b'"}',
    "one long text": lambda n: b'{"id":7,"nazovUJ":"' + b"a" * n + b'"}',
    "a date of a long text": lambda n: b'{"id":7,"datumZalozenia":"' + b"1" * n + b'"}',
    "a key of a long text": lambda n: b'{"' + b"k" * n + b'":1,"' + b"k" * n + b'":1}',
    "a list of lists": lambda n: b"[" + b"[]," * (n // 3) + b"1]",
    "letters of five bytes": lambda n: b'{"lokacie":[' + '"é",'.encode() * (n // 5) + b"1]}",
    "whole numbers": lambda n: b'{"lokacie":[' + b"1000," * (n // 5) + b"1]}",
    "blanks": lambda n: b" " * n + b"{}",
    "cells": lambda n: b'{"id":7,"obsah":{"tabulky":[{"data":[' + b'"",' * (n // 3) + b'""]}]}}',
    "tables": lambda n: b'{"id":7,"obsah":{"tabulky":[' + b"{}," * (n // 3) + b"{}]}}",
    "attachments": lambda n: b'{"id":7,"prilohy":[' + b'{"id":1},' * (n // 9) + b"{}]}",
    "months": lambda n: (
        b'{"id":7,"prilohy":[' + b'{"velkostPrilohy":1},' * (n // 21) + b'{}],"obdobieOd":"2020-1"}'
    ),
}
LONGEST = (
    "many keys, one repeated", "many keys", "numbers of 4,000 digits", "entries", "whole numbers",
    "a key of a long text", "ids that are texts", "ids, the last a half",
    "ids, the last of 310 digits", "blanks",
)  # fmt: skip


def seconds(read: Callable[[bytes], object], body: bytes, runs: int) -> float:
    """Return the least processor time of some runs."""
    times = []
    for _ in range(runs):
        began = time.thread_time()
        with contextlib.suppress(ProtocolError, NotJson):
            read(body)
        times.append(time.thread_time() - began)
    return min(times)


PAGES = {
    "scripts": lambda n: b"<script>" * (n // 8),
    "scripts that end at the end": lambda n: b"<script>" * (n // 8) + b"</script>",
    "comments": lambda n: b"<!--" * (n // 4),
    "brackets": lambda n: b"<" * n,
    "closed by blanks": lambda n: b"<style>" * (n // 14) + b"</style " * (n // 16),
    "entities": lambda n: b"&amp" * (n // 4),
}


@pytest.mark.parametrize("family", PAGES)
def test_the_first_words_of_a_page_cost_little(family: str) -> None:
    """However a page of HTML is made: the part that is read for a message takes milliseconds."""
    assert seconds(first_words, PAGES[family](20_000), 3) < 0.05


_WORTH = 0.01  # seconds


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_work_is_linear_in_the_bytes(matrix: Told, family: str) -> None:
    """Twice the bytes cost less than three times the time; what takes no time is not compared."""
    make = FAMILIES[family]
    ratios = {}
    for kind in ("page", "locations", "units", "reports"):
        read, n = READERS[kind], 100_000
        while seconds(read, make(n), 2) < _WORTH and n < 1_500_000:
            n *= 2
        ratios[kind] = math.inf
        for _ in range(3):  # a machine that becomes slower between two measurements is no fault
            first, second, fourth = (seconds(read, make(k * n), 2) for k in (1, 2, 4))
            # A collection of garbage is a step in one of the two.
            found = min(second / max(first, _WORTH), fourth / max(second, _WORTH))
            ratios[kind] = min(ratios[kind], found)
            if found < 3:
                break

    worst = max(ratios.values())
    matrix(family, "time(2n) / time(n) < 3", f"{worst:.1f}")
    assert worst < 3, ratios


@pytest.mark.parametrize("family", [*slow(*LONGEST), *(f for f in FAMILIES if f not in LONGEST)])
def test_a_full_body_is_judged_within_seconds(family: str) -> None:
    """A page, a record and a codelist of the most that is read are accepted or refused in 10 s."""
    page = FAMILIES[family](PAGE_CAP - 20_000)
    for kind in ("page", "units", "reports"):
        assert seconds(READERS[kind], page, 1) < 10
    codelist = FAMILIES[family](CODELIST_CAP - 100_000)
    assert seconds(READERS["locations"], codelist, 1) < 10


_MEMORY = """
import sys
from tests.support.faults import FaultServer, reply
from tests.support.memory import memory
from tests.protocol.test_hostile_replies import FAMILIES, READERS
from finstat_kit.protocol.wire import CODELIST_CAP
from finstat_kit.protocol.outcome import first_words
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.protocol.guarded_json import NotJson
from finstat_kit import RegisterError
body = FAMILIES[sys.argv[1]](CODELIST_CAP - 100_000)
before = memory("VmHWM")
try:
    READERS["locations"](body)
except (RegisterError, NotJson):
    pass
print(memory("VmHWM") - before)
"""


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    "family",
    ["entries", "empty objects", "brackets", "letters of five bytes", "whole numbers", "escapes"],
)
def test_codelists_of_64_mib_take_bounded_memory(family: str) -> None:
    """They take less than ten times their bytes."""
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, family],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip

    assert float(done.stdout) < 10 * CODELIST_CAP / 2**20


@pytest.mark.slow
def test_replies_longer_than_any_are_read() -> None:
    """A codelist of thirty times the entries of the longest, a page of more ids than asked."""
    body = FAMILIES["entries"](16 * 88_110)
    page = b'{"id":[%b],"existujeDalsieId":true}' % b",".join(b"%d" % i for i in range(1_000_000))

    assert replies.parse_locations(body).height == 88_110
    assert replies.parse_page(page).ids.len() == 1_000_000


@pytest.mark.parametrize(
    ("value", "told"),
    [("[[[1]],2]", "a list of 2"), ("[]", "a list that is empty"), ('{"a":[]}', "an object of 1")],
)
def test_lists_and_objects_are_told_by_their_size(value: str, told: str) -> None:
    """A message never holds what may be deep and long."""
    with pytest.raises(ProtocolError, match=f"expected a text, got {told};"):
        UNITS.read(b'{"id":7,"nazovUJ":' + value.encode() + b"}", 7)
