"""Replies that break the contract, or nearly do, over a socket and through the public names."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.errors import ProtocolError, RegisterUnavailable
from finstat_kit.protocol.records import KINDS
from tests.conftest import Told
from tests.support.examples import quick
from tests.support.faults import FaultServer, reply

GO_ON = b',"existujeDalsieId":true}'
END = b',"existujeDalsieId":false}'
FIRST = b'{"id":[3,5]' + GO_ON


def page(ids: bytes) -> bytes:
    return b'{"id":' + ids + END


def outcome(ask: Callable[[], Any]) -> str:
    """Return what came of a call, in words."""
    try:
        found = ask()
    except fk.RegisterError as error:
        return type(error).__name__
    return "accepted" if found is not None else "nothing"


# Case, the second reply of a list, what comes of it, words of the error.
PAGES: list[tuple[str, bytes, str, str]] = [
    ("not ascending", page(b"[9,8]"), "PagingError", "id 8 follows 9"),
    ("repeated", page(b"[9,9]"), "PagingError", "id 9 follows 9"),
    ("first id below the cursor", page(b"[4,9]"), "PagingError", "first id 4 is not above"),
    ("first id is the cursor", page(b"[5,9]"), "PagingError", "first id 5 is not above"),
    ("last id is the cursor, more to come", b'{"id":[5]' + GO_ON, "PagingError", "not above"),
    ("the first page again", FIRST, "PagingError", "not above"),
    ("a number for the list", page(b"7"), "ProtocolError", r"\$\.id:"),
    ("null for the list", page(b"null"), "ProtocolError", r"\$\.id:"),
    ("an object for the list", page(b"{}"), "ProtocolError", r"\$\.id:"),
    ("a text for the list", page(b'"9"'), "ProtocolError", r"\$\.id:"),
    ('["1"]', page(b'["1"]'), "ProtocolError", r"\$\.id\[0\]"),
    ("[1.5]", page(b"[1.5]"), "ProtocolError", r"\$\.id\[0\]"),
    ("[9, 10.0]", page(b"[9,10.0]"), "ProtocolError", r"\$\.id\[1\]"),
    ("[true]", page(b"[true]"), "ProtocolError", r"\$\.id\[0\]"),
    ("[null]", page(b"[null]"), "ProtocolError", r"\$\.id\[0\]"),
    ("[[9]]", page(b"[[9]]"), "ProtocolError", r"\$\.id\[0\]"),
    ("[-1]", page(b"[-1]"), "ProtocolError", r"\$\.id\[0\]"),
    ("2^63", page(b"[9223372036854775808]"), "ProtocolError", r"\$\.id\[0\]"),
    ("an integer of 5,000 digits", page(b"[" + b"9" * 5_000 + b"]"), "RegisterUnavailable", "JSON"),
    ("flag missing", b'{"id":[9]}', "ProtocolError", "existujeDalsieId.*missing"),
    ("flag null", b'{"id":[9],"existujeDalsieId":null}', "ProtocolError", "existujeDalsieId"),
    ('flag "true"', b'{"id":[9],"existujeDalsieId":"true"}', "ProtocolError", "existujeDalsieId"),
    ("flag 1", b'{"id":[9],"existujeDalsieId":1}', "ProtocolError", "existujeDalsieId"),
    ("a list for the object", b"[9]", "ProtocolError", r"\$: expected `object`, got `array`"),
    ("no ids, no key, flag false", b'{"existujeDalsieId":false}', "accepted", ""),
    ("no ids, flag true", b'{"id":[]' + GO_ON, "accepted", ""),
    ("more ids than asked", page(b"[6,7,8,9]"), "accepted", ""),
    ("unknown keys", b'{"novy":{"id":["x"]},"id":[9]' + END, "accepted", ""),
]  # fmt: skip


@pytest.mark.parametrize(("case", "body", "expected", "words"), PAGES, ids=[c[0] for c in PAGES])
def test_a_page_that_breaks_the_rules_is_not_given_out(
    matrix: Told, case: str, body: bytes, expected: str, words: str
) -> None:
    """A page that breaks the rules is not given out; the cursor stays before it."""
    with FaultServer([reply(FIRST)], [reply(body)]) as server:
        with fk.Register(server.url, tries=1) as reg:
            pages = reg.units.pages(page_size=2)
            assert next(pages)["id"].to_list() == [3, 5]
            if expected == "accepted":
                seen = outcome(lambda: next(pages))
            else:
                with pytest.raises(fk.RegisterError, match=words) as caught:
                    next(pages)
                seen = type(caught.value).__name__
                assert (caught.value.cursor, pages.cursor, pages.count) == (5, 5, 2)
                assert str(caught.value.url).startswith(server.url)
            asked = len(server.asked)

    matrix(case, f"{expected}, requests 2", f"{seen}, requests {asked}")
    assert (seen, asked) == (expected, 2)


def test_no_ids_but_more_ends_the_walk_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The rule of the specification ends it: no request follows, one warning stands in the log."""
    with FaultServer([reply(FIRST)], [reply(b'{"id":[]' + GO_ON)]) as server:
        with fk.Register(server.url) as reg, caplog.at_level(logging.WARNING):
            assert reg.units.ids()["id"].to_list() == [3, 5]

    assert len(server.asked) == 2
    assert len(caplog.records) == 1


def entry(content: bytes) -> bytes:
    return b'{"lokacie":[' + content + b"]}"


NAMES = b'"nazov":{"sk":"A","en":"B"}'
# Case, the reply of a codelist, what comes of it: an error's name and words, or the rows.
CODELISTS: list[tuple[str, bytes, str, object]] = [
    ("kod repeated, other content", entry(b'{"kod":"1",%b},{"kod":"1"}' % NAMES), "ProtocolError", "twice"),
    ("lokacie missing", b"{}", "ProtocolError", r"\$\.lokacie.*missing"),
    ("lokacie null", b'{"lokacie":null}', "ProtocolError", r"\$\.lokacie"),
    ("klasifikacie instead", b'{"klasifikacie":[]}', "ProtocolError", r"\$\.lokacie.*missing"),
    ("kod missing", entry(b"{%b}" % NAMES), "ProtocolError", r"\$\.lokacie\[0\]\.kod.*missing"),
    ("kod empty", entry(b'{"kod":"",%b}' % NAMES), "ProtocolError", r"\[0\]\.kod"),
    ("kod negative", entry(b'{"kod":-7,%b}' % NAMES), "ProtocolError", r"\[0\]\.kod: expected `int` >= 0"),
    ("kod a fraction", entry(b'{"kod":7.0,%b}' % NAMES), "ProtocolError", r"\[0\]\.kod: expected `int \| str`, got `float`"),
    ("parent negative", entry(b'{"kod":"1","nadradenaLokacia":-4}'), "ProtocolError", r"nadradenaLokacia: expected `int` >= 0"),
    ("kod 0", entry(b'{"kod":0}'), "accepted", [("0", None, None, None)]),
    ("nazov a text", entry(b'{"kod":"1","nazov":"A"}'), "ProtocolError", r"\[0\]\.nazov"),
    ("a name that is a number", entry(b'{"kod":"1","nazov":{"sk":1}}'), "ProtocolError", r"nazov\.sk"),
    ("half a letter", entry(b'{"kod":"1","nazov":{"sk":"\\ud83d"}}'), "ProtocolError", "lone surrogate"),
    ("a whole letter in two escapes", entry(b'{"kod":"1","nazov":{"sk":"\\ud83d\\ude00"}}'), "accepted", [("1", "😀", None, None)]),
    ("kod repeated, equal content", entry(b'{"kod":"1",%b},{%b,"kod":"1"}' % (NAMES, NAMES)), "accepted", [("1", "A", "B", None)]),
    ("kod a number", entry(b'{"kod":7,%b}' % NAMES), "accepted", [("7", "A", "B", None)]),
    ("nazov missing", entry(b'{"kod":"1"}'), "accepted", [("1", None, None, None)]),
    ("one language", entry(b'{"kod":"1","nazov":{"sk":"A"}}'), "accepted", [("1", "A", None, None)]),
    ("parent unknown", entry(b'{"kod":"1",%b,"nadradenaLokacia":"X"}' % NAMES), "accepted", [("1", "A", "B", "X")]),
    ("parent a number", entry(b'{"kod":"1",%b,"nadradenaLokacia":4}' % NAMES), "accepted", [("1", "A", "B", "4")]),
    ("an empty list", b'{"lokacie":[]}', "accepted", []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "body", "expected", "detail"), quick(CODELISTS, 4), ids=[c[0] for c in CODELISTS]
)
def test_an_ambiguous_codelist_is_an_error(
    matrix: Told, case: str, body: bytes, expected: str, detail: Any
) -> None:
    """What a codelist may lack is null; what makes it ambiguous is an error."""
    with FaultServer([reply(body)]) as server, fk.Register(server.url) as reg:
        if expected == "accepted":
            seen = "accepted"
            assert reg.districts().rows() == detail
        else:
            with pytest.raises(fk.RegisterError, match=detail) as caught:
                reg.districts()
            seen = type(caught.value).__name__

    matrix(case, f"{expected}, requests 1", f"{seen}, requests {len(server.asked)}")
    assert (seen, len(server.asked)) == (expected, 1)


# Case, the record of id 7, words of the error; of units first, then of each of the others.
RECORDS: list[tuple[str, bytes, str]] = [
    ("another id", b'{"id":8}', "id 7.*got 8"),
    ("no id", b'{"ico":"00000001"}', "id 7.*missing"),
    ("an id that is a text", b'{"id":"7"}', "id 7"),
    ("a date that is none", b'{"id":7,"datumZalozenia":"2023-02-29"}', r"id 7: \$\.datumZalozenia"),
    ("a date in another form", b'{"id":7,"datumZrusenia":"1.7.2026"}', r"id 7: \$\.datumZrusenia"),
    ("a code that is a number", b'{"id":7,"kraj":1}', r"id 7: \$\.kraj"),
    ("a truth that is a text", b'{"id":7,"konsolidovana":"ano"}', r"id 7: \$\.konsolidovana"),
    ("ids that are no list", b'{"id":7,"idUctovnychZavierok":5}', r"id 7: \$\.idUctovnychZavierok"),
    (
        "a negative id in a list",
        b'{"id":7,"idVyrocnychSprav":[3,-1]}',
        r"id 7: \$\.idVyrocnychSprav",
    ),
    (
        "an id of 2^63 in a list",
        b'{"id":7,"idVyrocnychSprav":[9223372036854775808]}',
        r"id 7: \$\.idV",
    ),
    ("true in a list of ids", b'{"id":7,"idUctovnychZavierok":[true]}', r"id 7: \$\.idUctovnych"),
    ("no object", b"[7]", "id 7"),
    ("half a letter", b'{"id":7,"nazovUJ":"\\udc00"}', "id 7: .*lone surrogate"),
]


OTHERS: list[tuple[str, str, bytes, str]] = [
    (collection, f"{collection}: {case}", body, words)
    for case, body, words in [
        ("another id", b'{"id":8}', "id 7.*got 8"),
        ("no id", b'{"stav":"x"}', "id 7.*missing"),
        ("an id that is a text", b'{"id":"7"}', "id 7"),
        ("no object", b"[7]", "id 7"),
        ("half a letter", b'{"id":7,"stav":"\\udc00"}', "id 7: .*lone surrogate"),
        ("a day that is none", b'{"id":7,"datumPoslednejUpravy":"2023-02-29"}', r"id 7: \$\.datumPoslednejUpravy: .* date"),
        ("a text that is a number", b'{"id":7,"zdrojDat":5}', r"id 7: \$\.zdrojDat: expected `str \| null`, got `int`"),
    ]
    for collection in ("statements", "reports", "annual_reports")
] + [
    ("statements", "a month that is none", b'{"id":7,"obdobieOd":"2023-13"}', r"id 7: \$\.obdobieOd: expected a month YYYY-MM;"),
    ("statements", "month 0", b'{"id":7,"obdobieDo":"2023-00"}', r"\$\.obdobieDo: expected a month"),
    ("statements", "year 0", b'{"id":7,"obdobieDo":"0000-01"}', r"\$\.obdobieDo: expected a month"),
    ("statements", "a month that is a day", b'{"id":7,"obdobieDo":"2023-01-01"}', r"\$\.obdobieDo: expected a month"),
    ("statements", "a month that is a list", b'{"id":7,"obdobieDo":["2023-01"]}', r"\$\.obdobieDo: expected a month YYYY-MM;"),
    ("statements", "a unit that is a text", b'{"id":7,"idUJ":"5"}', r"\$\.idUJ: expected `int \| null`, got `str`"),
    ("statements", "a truth that is a word", b'{"id":7,"konsolidovana":"ano"}', r"\$\.konsolidovana: expected `bool \| null`, got `str`"),
    ("statements", "a report that is a text", b'{"id":7,"idUctovnychVykazov":[1,"2"]}', r"\$\.idUctovnychVykazov\[1\]: expected `int`, got `str`"),
    ("reports", "a template of half a number", b'{"id":7,"idSablony":699.0}', r"\$\.idSablony"),
    ("reports", "a content that is a list", b'{"id":7,"obsah":[]}', r"\$\.obsah: expected `object \| null`, got `array`"),
    ("reports", "tables that are an object", b'{"id":7,"obsah":{"tabulky":{}}}', r"\$\.obsah\.tabulky: expected `array \| null`, got `object`"),
    ("reports", "a table that is null", b'{"id":7,"obsah":{"tabulky":[null]}}', r"\$\.obsah\.tabulky\[0\]: expected `object`, got `null`"),
    ("reports", "a cell that is a number", b'{"id":7,"obsah":{"tabulky":[{"data":["",5]}]}}', r"id 7: \$\.obsah\.tabulky\[0\]\.data\[1\]: expected `str`, got `int`"),
    ("reports", "a cell that is null", b'{"id":7,"obsah":{"tabulky":[{"data":[null]}]}}', r"\.data\[0\]: expected `str`, got `null`"),
    ("reports", "a title page that is a text", b'{"id":7,"obsah":{"titulnaStrana":"x"}}', r"\$\.obsah\.titulnaStrana: expected `object \| null`"),
    ("reports", "a month of a title page", b'{"id":7,"obsah":{"titulnaStrana":{"predchadzajuceObdobieDo":"2020"}}}', r"id 7: \$\.obsah\.titulnaStrana\.predchadzajuceObdobieDo: expected a month"),
    ("reports", "a truth of a title page", b'{"id":7,"obsah":{"titulnaStrana":{"konsolidovana":1}}}', r"titulnaStrana\.konsolidovana: expected `bool \| null`"),
    ("reports", "a town that is a number", b'{"id":7,"obsah":{"titulnaStrana":{"adresa":{"mesto":1}}}}', r"titulnaStrana\.adresa\.mesto: expected `str \| null`"),
    ("reports", "a file that is a number", b'{"id":7,"prilohy":[1]}', r"\$\.prilohy\[0\]: expected `object`"),
    ("reports", "a negative size of a file", b'{"id":7,"prilohy":[{},{"velkostPrilohy":-1}]}', r"\$\.prilohy\[1\]\.velkostPrilohy: expected `int` >= 0"),
    ("annual_reports", "a unit of 2^63", b'{"id":7,"idUJ":9223372036854775808}', r"\$\.idUJ: expected `int` <= 9223372036854775807"),
    ("annual_reports", "a file without end", b'{"id":7,"prilohy":[{"id":1}', "expected JSON"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("collection", "case", "body", "words"),
    quick([("units", *row) for row in RECORDS] + OTHERS, 6),
    ids=[c[0] for c in RECORDS] + [c[1] for c in OTHERS],
)
def test_a_broken_record_is_an_error_or_a_row_of_its_id(
    matrix: Told, collection: str, case: str, body: bytes, words: str
) -> None:
    """A broken record is an error that names id and field, or a row of its id alone."""
    kept = None
    with FaultServer([reply(body)]) as server, fk.Register(server.url, tries=1) as reg:
        records = getattr(reg, collection)
        with pytest.raises(fk.RegisterError, match=words) as caught:
            records.get(7)
        expected = RegisterUnavailable if words == "expected JSON" else ProtocolError
        if expected is ProtocolError:
            kept = records.get(7, errors="keep")

    seen = type(caught.value).__name__
    if kept is not None:
        seen += f"; kept {kept.height} row"
        assert kept["id"].to_list() == [7]
        assert kept.drop("id").null_count().row(0) == (1,) * (kept.width - 1)
        assert kept.schema == KINDS[collection].schema
        matrix(case, "ProtocolError; kept 1 row", seen)
    else:
        matrix(case, "RegisterUnavailable", seen)
    assert type(caught.value) is expected


COUNTS: list[tuple[str, bytes]] = [
    ("missing", b"{}"),
    ("negative", b'{"pocetZostavajucichId":-1}'),
    ("a text", b'{"pocetZostavajucichId":"5"}'),
    ("true", b'{"pocetZostavajucichId":true}'),
    ("half a one", b'{"pocetZostavajucichId":0.5}'),
]


@pytest.mark.parametrize(("case", "body"), COUNTS, ids=[c[0] for c in COUNTS])
def test_a_broken_count_is_an_error_where_it_is_requested(
    matrix: Told, case: str, body: bytes
) -> None:
    """A broken count is an error where it is asked for, and nothing to a walk with a bar."""

    class Lists(FaultServer):
        def _next(self, request: str) -> list[Any]:
            super()._next(request)
            return [reply(body if "zostavajuce" in request else page(b"[3,5]"))]

    with Lists([]) as server, fk.Register(server.url) as reg:
        seen = outcome(reg.units.count)
        walked = reg.units.ids(progress=True)["id"].to_list()

    matrix(f"count {case}", "ProtocolError; walk [3, 5]", f"{seen}; walk {walked}")
    assert (seen, walked) == ("ProtocolError", [3, 5])
