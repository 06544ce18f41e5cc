"""Replies that nobody expects: whatever decodes is a value or an error of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

import finstat_kit as fk
from finstat_kit.errors import ProtocolError
from finstat_kit.protocol import codelists, requests
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.untrusted import NotJson
from tests.conftest import Told
from tests.support.examples import examples
from tests.support.faults import FaultServer, reply

UNITS = KINDS["units"]
READERS: dict[str, Callable[[bytes], object]] = {
    "page": requests.parse_page,
    "count": requests.parse_count,
    "locations": codelists.parse_locations,
    "classification": codelists.parse_classification,
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
values = numbers | texts | plain
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


@pytest.mark.slow
@examples(1_500)
@given(st.sampled_from(TEMPLATES), values, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@example(("page", f'{{"id":["{MARK}"],"existujeDalsieId":true}}'), "1" * 310, "utf-8")
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


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("deep", ["[" * 200_000 + "]" * 200_000, '{"x":' * 200_000])
def test_a_body_nested_too_deeply_is_a_broken_reply(reader: str, deep: str) -> None:
    """The standard allows a limit of depth: beyond it, the error is ours, wherever it is."""
    with pytest.raises(ProtocolError, match="nested too deeply; the reply is broken"):
        READERS[reader](b'{"id":7,"x":%b}' % deep.encode())


def test_a_month_that_is_as_deep_as_can_be_read_is_no_month() -> None:
    """It is not shown, which takes more depth than reading."""
    body = b'{"id":7,"obdobieOd":%b}' % (b"[" * 1_020 + b"]" * 1_020)

    with pytest.raises(ProtocolError, match=r"\$\.obdobieOd: expected a month YYYY-MM;"):
        KINDS["statements"].read(body, 7)


@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize(
    ("case", "value"),
    [("an id of 310 digits", b"1" * 310), ("an id that is an object", b'{"id":6}')],
)
def test_what_came_before_is_kept(matrix: Told, case: str, value: bytes, connections: int) -> None:
    """The error of a broken page has the ids before it, and the cursor."""
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


@pytest.mark.slow
def test_replies_longer_than_any_are_read() -> None:
    """A codelist of thirty times the entries of the longest, a page of more ids than asked."""
    entries = b",".join(b'{"kod":"%d"}' % i for i in range(88_110))
    page = b'{"id":[%b],"existujeDalsieId":true}' % b",".join(b"%d" % i for i in range(1_000_000))

    assert codelists.parse_locations(b'{"lokacie":[%b]}' % entries).height == 88_110
    assert requests.parse_page(page).ids.len() == 1_000_000


@pytest.mark.parametrize("value", ["[[[1]],2]", '{"a":[]}', "5"])
def test_a_message_names_the_type_of_a_wrong_value(value: str) -> None:
    """Not the value, which may be deep and long."""
    with pytest.raises(ProtocolError, match=r"\$\.nazovUJ: expected `str \| null`, got `\w+`;"):
        UNITS.read(b'{"id":7,"nazovUJ":' + value.encode() + b"}", 7)
