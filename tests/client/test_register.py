"""Counts, pages and ids through the client, in process."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import BadRequest, PagingError, ProtocolError, RegisterUnavailable
from finstat_kit.frames.reports.attachments import ATTACHMENTS
from finstat_kit.protocol import requests
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.state import population
from tests.support.examples import examples
from tests.support.memory import needs_proc, new_garbage_only
from tests.support.registers import Scripted, changes, days, sample_of, store_of

DAY = date(2024, 5, 17)


REG = fk.sample(0)
A_UNIT = pl.DataFrame({"id": [1], "idUctovnychZavierok": [[2]]})


LIKE = population.draw(0)


def body(ids: list[int], more: bool) -> bytes:
    return json.dumps({"id": ids, "existujeDalsieId": more}).encode()


@given(
    changes,
    st.none() | days,
    st.integers(1, 70),
    st.integers(0, 220),
    st.none() | st.integers(0, 70),
    st.booleans(),
)
def test_ids_are_exactly_what_matches(
    changed: dict[int, date],
    since: date | None,
    size: int,
    after: int,
    limit: int | None,
    strict: bool,
) -> None:
    """For any ids, days, page size and cursor: the ids are what matches, and so is the count."""
    reg = Sample(store_of(changed, like=LIKE), strict=strict)
    due = [i for i in sorted(changed) if i > after and (since is None or changed[i] >= since)]

    found = reg.units.ids(changed_since=since, after_id=after, limit=limit, page_size=size)

    assert found.schema == requests.IDS
    assert found["id"].to_list() == due[:limit]
    assert reg.reports.count(changed_since=since, after_id=after) == len(due)
    pages = list(reg.annual_reports.pages(changed_since=since, after_id=after, page_size=size))
    assert pl.concat(pages)["id"].to_list() == due
    assert all(page.height == size for page in pages[:-1])


def test_the_last_page_asks_for_no_more_than_the_limit() -> None:
    """ids(limit=n) does not fetch what it would throw away."""
    reg = Scripted(body([1, 2, 3], True), body([4, 5], True))

    found = reg.units.ids(limit=5, page_size=3)

    assert found["id"].to_list() == [1, 2, 3, 4, 5]
    assert ["max-zaznamov=3" in reg.asked[0], "max-zaznamov=2" in reg.asked[1]] == [True, True]


def test_everything_is_asked_since_the_beginning() -> None:
    """The live register wants a day on every list and count."""
    reg = Scripted(body([], False), b'{"pocetZostavajucichId":0}')

    reg.units.ids()
    reg.units.count(legal_form_code="112")

    assert reg.asked == [
        "/api/uctovne-jednotky?zmenene-od=2000-01-01&max-zaznamov=1000",
        "/api/zostavajuce-id/uctovne-jednotky?zmenene-od=2000-01-01&pravna-forma=112",
    ]


@pytest.mark.parametrize(
    ("given_day", "sent"),
    [
        ("2024-02-29", "2024-02-29"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 23, 59), "2024-02-29"),
        (datetime(2024, 2, 29, 22, 59, tzinfo=UTC), "2024-02-29"),
        (datetime(2024, 2, 29, 23, 0, tzinfo=UTC), "2024-03-01"),
        (datetime(2024, 7, 1, 0, 0, tzinfo=ZoneInfo("Europe/Bratislava")), "2024-07-01"),
        (pd.Timestamp("2024-07-01", tz="Europe/Bratislava"), "2024-07-01"),
        (datetime(2024, 3, 1, 2, 30, tzinfo=timezone(timedelta(hours=4))), "2024-02-29"),
    ],
)
def test_a_datetime_is_cut_to_its_day(given_day: Any, sent: str) -> None:
    """A datetime is cut to its day, an aware one in Bratislava first."""
    reg = Scripted(body([], False))

    reg.units.ids(changed_since=given_day)

    assert f"zmenene-od={sent}&" in reg.asked[0]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda r: r.units.ids(changed_since="2024-1-1"), "changed_since='2024-1-1'"),
        (lambda r: r.units.pages(changed_since="2023-02-29"), "changed_since='2023-02-29'"),
        (lambda r: r.units.count(changed_since="1.7.2026"), "YYYY-MM-DD"),
        (lambda r: r.units.ids(changed_since=20240101), "changed_since=20240101"),
        (lambda r: r.units.ids(page_size=0), "page_size=0 .* 1 to 10000"),
        (lambda r: r.units.ids(page_size=10_001), "page_size=10001"),
        (lambda r: r.units.ids(page_size=True), "page_size=True"),
        (lambda r: r.units.ids(page_size=np.True_), "page_size"),
        (lambda r: r.units.ids(page_size=1.5), "page_size=1.5"),
        (lambda r: r.units.pages(after_id=-1), "after_id=-1"),
        (lambda r: r.units.pages(after_id=2**63), "after_id"),
        (lambda r: r.units.ids(limit=-1), "limit=-1"),
        (lambda r: r.units.ids(legal_form_code="Spol. s r. o."), "fk.codelist"),
        (lambda r: r.units.ids(legal_form_code=["112", "205"]), "legal_form_code=.*is not a code"),
        (lambda r: r.units.ids(ico=123456), "ico=123456 .* leading zeros"),
        (lambda r: r.units.ids(dic="12"), "dic='12'"),
        (lambda r: r.units.get("12"), "ids='12'"),
        (lambda r: r.units.get(b"12"), "ids="),
        (lambda r: r.units.get([1, "2"]), r"ids\[1\]='2'"),
        (lambda r: r.units.get([1, True]), r"ids\[1\]=True"),
        (lambda r: r.units.get([-1]), r"ids\[0\]=-1"),
        (lambda r: r.units.get(pl.Series([1, -1])), "-1"),
        (lambda r: r.units.get(pl.Series([1, None])), r"1 null; give ids\.drop_nulls\(\)"),
        (lambda r: r.units.get(pl.Series(["1"])), r"ids\[0\]='1' is not an IČO"),
        (
            lambda r: r.units.get(pl.DataFrame({"x": [1]})),
            "no column 'unit_id', 'id', 'ico'; ",
        ),
        (lambda r: r.units.get(pl.DataFrame({"idUJ": [1]})), r"give its frame\['idUJ'\]"),
        (lambda r: r.statements.get("00372491"), "ids='00372491' is not allowed"),
        (lambda r: r.reports.get(["00372491"]), r"ids\[0\]='00372491' is not allowed"),
        (lambda r: r.statements.get(A_UNIT), r"not of statements; give .*'\]\.explode\(\)"),
        (lambda r: r.reports.get(A_UNIT), "not of reports; give ids of reports"),
        (lambda r: r.financials(pl.DataFrame({"id": [1], "idUJ": [2]})), "not of units; give its"),
        (lambda r: r.units.get((A_UNIT, A_UNIT)), "ids is a tuple; give one of the frames in it"),
        (lambda r: r.units.ids(changed_since=pd.NaT), "changed_since=NaT is not a valid date"),
        (lambda r: r.units.get(None), "ids=None"),
        (lambda r: r.units.get(1, errors="ignore"), "errors='ignore'"),
    ],
)
def test_wrong_arguments_are_named_before_any_request(
    call: Callable[[fk.Register], object], named: str
) -> None:
    """A wrong argument is named with its value and the cure, at the call, before any request."""
    reg = Scripted()

    with pytest.raises(fk.UsageError, match=named):
        call(reg)

    assert reg.asked == []


@pytest.mark.parametrize("collection", KINDS)
def test_frames_of_other_ids_are_refused(collection: str) -> None:
    """Each id of theirs would be requested as one of the collection, and might be there."""
    frames = {name: kind.schema.to_frame() for name, kind in KINDS.items()}
    frames |= {"files": ATTACHMENTS.to_frame(), "templates": REG.template()}
    reg = Scripted()

    get = getattr(reg, collection).get
    assert get(frames.pop(collection)).is_empty()
    for frame in frames.values():
        with pytest.raises(fk.UsageError, match="its ids are not of"):
            get(frame.clear())
    assert reg.asked == []


def test_a_filter_of_units_is_refused_elsewhere() -> None:
    """Filters are for units only."""
    for call in (REG.statements.ids, REG.reports.count, REG.annual_reports.pages):
        with pytest.raises(fk.UsageError, match="ico='12345678': only units are listed by it"):
            call(ico="12345678")


@pytest.mark.parametrize(
    ("call", "cure"),
    [
        (lambda c: c.ids("2026-01-01"), r"ids\(\): too many pos.*; it takes \['changed_since', "),
        (lambda c: c.ids(kraj="SK010"), r"ids\(\): got an unexpected keyword argument 'kraj'; it"),
        (lambda c: c.count(since="2026-01-01"), r"it takes \['changed_since', 'after_id'"),
        (
            lambda c: c.ids(after_id=-1),
            "after_id=-1 is not allowed; give a whole number, 0 or more",
        ),
        (lambda c: c.ids(limit=-1), "limit=-1 is not allowed; give a whole number, 0 or more"),
    ],
)
@pytest.mark.parametrize("name", ["units", "reports"])
def test_what_does_not_fit_names_the_cure(name: str, call: Any, cure: str) -> None:
    """Before any request, and as a UsageError with what would work."""
    with pytest.raises(fk.UsageError, match=cure):
        call(getattr(REG, name))


def test_a_missing_argument_is_named() -> None:
    """As Python names it."""
    with pytest.raises(fk.UsageError, match=r"get\(\): missing a required argument: 'ids'"):
        REG.units.get()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "span", ["-29d", timedelta(days=29), np.datetime64("2026-06-01"), datetime(2026, 6, 1, 23)]
)
def test_spans_are_counted_from_the_registers_day(span: Any) -> None:
    """The sample's day is 30 June 2026, whatever the clock says."""
    reg = fk.sample(3_000)
    wanted = reg.units.ids(changed_since="2026-06-01")

    assert 0 < wanted.height == reg.units.count(changed_since=span) < 3_000
    assert reg.units.scan(changed_since=span).select("id").collect().equals(wanted)


@pytest.mark.filterwarnings("error")
def test_a_day_that_was_given_is_not_told_again() -> None:
    """Nor is a span told that has changes, or where a filter or a limit leaves none."""
    old = fk.sample(300)
    old.set_today("2026-11-26")

    assert old.units.count(changed_since="2026-10-27") == 0
    assert old.units.count(changed_since="-300d") > 0
    assert old.units.count(changed_since="-30d", legal_form_code="112") == 0
    assert old.units.ids(changed_since="-30d", after_id=5).is_empty()
    assert old.units.ids(changed_since="-30d", limit=0).is_empty()


@pytest.mark.parametrize(
    "span", ["-d", "30d", "-1m", timedelta(days=-1), "-99999d", np.datetime64("NaT", "D"), True]
)
def test_what_is_no_span_is_refused(span: Any) -> None:
    with pytest.raises(fk.UsageError, match="changed_since="):
        REG.units.count(changed_since=span)


@pytest.mark.parametrize("span", ["30d", "+30d"])
def test_a_span_without_its_sign_is_refused_with_the_one_meant(span: str) -> None:
    """Days ahead are never meant; the cure can be pasted."""
    with pytest.raises(fk.UsageError, match="give '-30d' to count back"):
        REG.units.count(changed_since=span)


def test_a_day_after_the_registers_own_is_warned_of() -> None:
    """It cannot match anything, and is hardly meant; the warning names the register's day."""
    for call in (REG.units.count, REG.reports.ids, REG.units.scan):
        with pytest.warns(UserWarning, match=r"2026-07-01.*register's day, 2026-06-30") as seen:
            call(changed_since="2026-07-01")
        assert seen[0].filename == __file__
    assert REG.units.count(changed_since="2026-06-30") == 0
    with pytest.raises(TypeError, match="change_since"):
        REG.units.ids(change_since="2024-01-01")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"base_url": "registeruz.sk"}, "base_url='registeruz.sk'"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "http://a..b"}, "base_url"),
        ({"base_url": "http://["}, "base_url"),
        ({"base_url": "http://x:99999"}, "base_url"),
        ({"base_url": "https://x/api"}, "before /api"),
        ({"page_size": 0}, "page_size=0"),
        ({"connections": 0}, "connections=0"),
        ({"rate": 0}, "rate=0"),
        ({"rate": "fast"}, "rate='fast'"),
        ({"deadline": -1}, "deadline=-1"),
        ({"tries": 0}, "tries=0"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], named: str) -> None:
    """A register's settings are checked when it is made."""
    with pytest.raises(fk.UsageError, match=named):
        fk.Register(**({"base_url": "https://register.example"} | options))


def test_a_real_host_gets_four_connections_and_five_requests_per_second() -> None:
    """Four connections and five requests a second towards a real host; no limits on loopback."""
    real, near = fk.Register("https://register.example/x/"), fk.Register("http://127.0.0.1:9")

    assert (real.connections, real.rate) == (4, 5.0)
    assert (near.connections, near.rate) == (1, None)
    assert repr(real) == "<Register https://register.example/x, 4 connections, 5 requests/s>"
    assert repr(near) == "<Register http://127.0.0.1:9, 1 connection, no rate limit>"


@pytest.mark.parametrize(
    "url",
    ["HTTPS://Register.Example/x", "https://REGISTER.example/x/", " Https://register.example/x"],
)
def test_a_base_url_in_capitals_is_the_same_register(url: str) -> None:
    """Scheme and host have no case: the limits of a real host hold however they are written."""
    for reg in (fk.Register(url), fk.use(url.strip())):
        assert reg.base_url == "https://register.example/x"
        assert (reg.connections, reg.rate) == (4, 5.0)


def test_pages_tell_where_they_are() -> None:
    """The iterator knows its cursor, its count and whether it is done."""
    pages = sample_of(dict.fromkeys([2, 5, 9], DAY)).units.pages(page_size=2)

    states = [(pages.cursor, pages.count, pages.done)]
    for page in pages:
        states.append((pages.cursor, pages.count, pages.done))
        assert page.schema == requests.IDS

    assert states == [(0, 0, False), (5, 2, False), (9, 3, True)]
    assert repr(pages) == "<pages of units: 3 ids so far, cursor 9, done>"
    assert list(pages) == []


@pytest.mark.parametrize("fault", [b"<html>", b'{"id":[1],"existujeDalsieId":true}', b'{"id":[9]}'])
def test_after_an_error_the_same_page_is_asked_again(fault: bytes) -> None:
    """An error is never an end: the walk stands where it was, and goes on."""
    reg = Scripted(body([1, 2], True), fault, body([3], False))
    pages = reg.units.pages(page_size=2)

    next(pages)
    with pytest.raises(fk.RegisterError) as caught:
        next(pages)
    assert (caught.value.cursor, caught.value.partial) == (2, None)
    assert (pages.cursor, pages.count, pages.done) == (2, 2, False)
    assert next(pages)["id"].to_list() == [3]
    assert pages.done
    assert reg.asked[1] == reg.asked[2]


def test_an_error_loses_nothing() -> None:
    """ids() raises with the ids so far and the cursor; the text tells how to go on."""
    reg = Scripted(body([1, 2], True), body([2, 3], True))

    with pytest.raises(PagingError, match="resume with after_id=2") as caught:
        reg.units.ids()

    assert caught.value.cursor == 2
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [1, 2]


def test_a_cycle_of_pages_ends_at_once() -> None:
    """A, B, A: the third page is refused, so no cycle of any length can exist."""
    reg = Scripted(body([1, 2], True), body([3, 4], True), body([1, 2], True))

    with pytest.raises(PagingError):
        reg.units.ids()

    assert len(reg.asked) == 3


def test_more_ids_than_asked_are_accepted() -> None:
    """A page that is too full loses nothing; a limit still holds."""
    assert Scripted(body([1, 2, 3], False)).units.ids(page_size=2).height == 3
    assert Scripted(body([1, 2, 3], True)).units.ids(limit=2)["id"].to_list() == [1, 2]


def test_a_flag_that_stays_true_is_legal() -> None:
    """Ascending ids for ever go on for ever; a limit stops them."""
    reg = Scripted(*(body([n], True) for n in range(1, 100)))

    assert reg.units.ids(limit=50)["id"].to_list() == list(range(1, 51))
    assert len(reg.asked) == 50


def test_an_interruption_tells_how_to_go_on() -> None:
    """Ctrl-C keeps what came; the text is a line to paste."""
    reg = Scripted(body([1, 2], True), KeyboardInterrupt())

    with pytest.raises(fk.errors.Interrupted) as caught:
        reg.statements.ids(changed_since="2024-01-01")

    assert 'fk.statements.ids(changed_since="2024-01-01", after_id=2)' in str(caught.value)
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [1, 2]


def test_a_walk_resumed_from_its_cursor_is_the_whole_walk() -> None:
    """What came before a cursor and what comes after it are everything, once."""
    sample = fk.sample()
    first = sample.units.ids(limit=7_777, changed_since="2024-01-01")
    rest = sample.units.ids(after_id=first["id"][-1], changed_since="2024-01-01")

    together = pl.concat([first, rest])

    assert together.equals(sample.units.ids(changed_since="2024-01-01"))


def test_requests_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Each request is one INFO line: method, path, query, status, bytes."""
    reg = sample_of({5: DAY})

    with caplog.at_level(logging.INFO, logger="finstat_kit"):
        reg.units.count(changed_since="2024-01-01")

    assert [record.getMessage() for record in caplog.records] == [
        "GET /api/zostavajuce-id/uctovne-jednotky zmenene-od=2024-01-01 -> 200, 26 bytes"
    ]
    assert (reg.stats.requests, reg.stats.retries, reg.stats.bytes) == (1, 0, 26)


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (b"<!DOCTYPE html><h1>Odst&aacute;vka</h1>", RegisterUnavailable, "“Odstávka”"),
        (b"\n <html>Request Rejected", RegisterUnavailable, "firewall"),
        (b"", RegisterUnavailable, "empty body"),
        (b'{"id":[NaN],"existujeDalsieId":true}', RegisterUnavailable, "expected JSON"),
        (b'{"id":[],"existujeDalsieId":false} x', RegisterUnavailable, "expected JSON"),
        (b'{"id":[' + b"9" * 5_000 + b'],"existujeDalsieId":true}', fk.RegisterError, "expected"),
        ('{"id":[]}'.encode("utf-16"), RegisterUnavailable, "expected JSON"),
        (Reply(404, {}, b""), fk.errors.NotFound, "404"),
        (Reply(400, {}, b'{"chyba":"x"}'), BadRequest, "chyba"),
        (Reply(401, {}, b""), BadRequest, "401"),
        (Reply(500, {}, b"oops"), RegisterUnavailable, "500"),
        (Reply(302, {"Location": "http://x/"}, b""), RegisterUnavailable, "http://x/"),
        (Reply(403, {}, b"<p>no"), RegisterUnavailable, "firewall"),
    ],
)
def test_what_is_no_reply_is_reported_in_our_words(
    answer: bytes | Reply, error: type[fk.RegisterError], said: str
) -> None:
    """What is no reply of the register is told in its own words, never as a parser's error."""
    with pytest.raises(error, match=said) as caught:
        Scripted(answer).units.ids()

    assert caught.value.url is not None
    assert caught.value.url.startswith("scripted:/api/uctovne-jednotky?")
    assert "Expecting value" not in str(caught.value)


@pytest.mark.parametrize(
    "count", ['{"pocetZostavajucichId":-1}', '{"pocetZostavajucichId":"5"}', "{}"]
)
def test_a_broken_count_is_an_error_of_the_format(count: str) -> None:
    """A count that is none is an error of the format."""
    with pytest.raises(ProtocolError, match="pocetZostavajucichId"):
        Scripted(count.encode()).units.count()


@pytest.mark.parametrize(
    "make", [lambda: fk.sample(100), lambda: fk.Register("http://localhost:9")]
)
def test_a_register_that_nobody_holds_is_gone(make: Callable[[], fk.Register]) -> None:
    """A notebook that makes one sample after another keeps the last one alone."""
    with new_garbage_only():
        register = make()
        watched = weakref.ref(register)

        del register
        gc.collect()

    assert watched() is None


@needs_proc
@pytest.mark.slow
def test_memory_of_a_long_walk_is_flat() -> None:
    """A walk of 1,000,000 ids by pages peaks within 20 MB of a walk of 50,000."""
    script = """
from dataclasses import replace
import numpy as np
from finstat_kit.client.sample import Sample
from finstat_kit.service.state.line import Line
from tests.support.memory import memory
from tests.support.registers import store_of
line = Line(np.arange(1, 1_000_001), np.full(1_000_000, 9_000, dtype=np.uint16))
reg = Sample(replace(store_of({}), units=line), strict=False)
def peak(limit):
    seen = sum(page.height for page in reg.units.pages(limit=limit, page_size=1_000))
    assert seen == limit, seen
    return memory("VmHWM")
short = peak(50_000)
print(peak(1_000_000) - short)
"""
    seen = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert float(seen.stdout) < 20


@examples(150)
@given(
    st.sampled_from(["http://", "https://", ""]),
    st.text(max_size=20) | st.text(alphabet="a.:/[]%@\x1b \n\u0130-1", max_size=20),
)
def test_any_text_as_a_base_url_is_a_register_or_refused(scheme: str, rest: str) -> None:
    """It is taken, or an error names it; no error of another library comes out."""
    with contextlib.suppress(fk.UsageError), fk.Register(scheme + rest) as reg:
        assert reg.base_url.startswith("http")


@pytest.mark.slow
def test_a_machine_without_zone_data_knows_the_registers_day() -> None:
    """Zones come from a package where the system has none."""
    code = "import finstat_kit as fk; print(fk.Register('http://127.0.0.1:1').today)"
    environment = os.environ | {"PYTHONTZPATH": ""}
    command = [sys.executable, "-c", code]
    seen = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    now = datetime.now(UTC)
    days = {(now + timedelta(hours=hours)).date() for hours in (-1, 0, 1, 2)}
    assert date.fromisoformat(seen.stdout.strip()) in days
