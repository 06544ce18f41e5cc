"""What a reply means, without a socket: status, headers and body in, a value or an error out."""

from __future__ import annotations

import pytest

import finstat_kit as fk
from finstat_kit.errors import BadRequest, RateLimited, RegisterUnavailable
from finstat_kit.protocol.requests import Request
from finstat_kit.protocol.untrusted import first_words, read_json
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.exchange import MayPass, seconds_to_wait, value_of

NOW = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
ANY = Request("/api/x", read_json)


def test_a_good_reply_has_its_value() -> None:
    """Status 200 and a body that can be read."""
    assert value_of(ANY, Reply(200, {}, b"{}"), NOW) == {}


@pytest.mark.parametrize(
    ("status", "error", "pressing"),
    [
        (408, RegisterUnavailable, False),
        (429, RateLimited, True),
        (500, RegisterUnavailable, False),
        (502, RegisterUnavailable, False),
        (503, RegisterUnavailable, True),
        (504, RegisterUnavailable, False),
    ],
)
def test_faults_that_may_pass_may_be_tried_again(
    status: int, error: type[fk.RegisterError], pressing: bool
) -> None:
    """Another attempt may help; 429 and 503 concern all connections."""
    with pytest.raises(MayPass) as caught:
        value_of(ANY, Reply(status, {"Retry-After": "7"}, b"<p>Busy"), NOW)

    fault = caught.value
    assert (type(fault.error), fault.retry_after, fault.pressing) == (error, 7.0, pressing)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (301, b"", RegisterUnavailable),
        (400, b"wrong", BadRequest),
        (401, b"", BadRequest),
        (403, b"", RegisterUnavailable),
        (404, b"", fk.errors.NotFound),
        (404, b"{}", fk.errors.NotFound),
        (404, b"\r\n <!doctype html>", RegisterUnavailable),
        (410, b"", BadRequest),
        (204, b"", RegisterUnavailable),
        (505, b"", RegisterUnavailable),
        (200, b" <html>", RegisterUnavailable),
    ],
)
def test_faults_that_stay_are_not_tried_again(
    status: int, body: bytes, error: type[fk.RegisterError]
) -> None:
    """Another attempt would not help."""
    with pytest.raises(error):
        value_of(ANY, Reply(status, {}, body), NOW)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("-5", None),
        ("7.5", None),
        ("abc", None),
        ("", None),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60.0),
        ("Fri, 15 Jan 2021 08:01:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    """Seconds or a date; of a past date nothing is to be waited for; nonsense is as if absent."""
    assert seconds_to_wait(value, NOW) == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", ""),
        (b"<p>Out of <b>order</b></p>", ": \u201cOut of order\u201d"),
        (b"<script>var a = '<p>';</script>Stop", ": \u201cStop\u201d"),
        (b"<STYLE>p {}</style >Stop<!-- no > end -->!", ": \u201cStop !\u201d"),
        (b"<!-- never closed <p>Stop", ": \u201cStop\u201d"),
        (b"a < b", ": \u201ca < b\u201d"),
        (b"&lt;p&gt; \xff", ": \u201c<p> \ufffd\u201d"),
    ],
)
def test_first_words_of_a_page_are_its_text(body: bytes, words: str) -> None:
    """Tags, comments and scripts are left out; entities are read."""
    assert first_words(body) == words
