"""The health report: every kind of fault on its line, and never too many requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import finstat_kit as fk
from finstat_kit.cli import commands
from finstat_kit.errors import TransportError
from finstat_kit.health.lines import EXPECTED
from finstat_kit.protocol.wire import Reply
from tests.support.examples import slow
from tests.support.faults import CLOSE, FaultServer, reply
from tests.support.pages import ROOT
from tests.support.registers import Altered, Watched

HTML = b"<html><body>Request Rejected. Your support ID is 1</body></html>"
MOST_REQUESTS = 91


def changed(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Return what makes a body of another, by a change of the object it holds.

    A refusal, which has no such object, stays.
    """

    def body(before: bytes) -> bytes:
        content = json.loads(before or b"{}")
        if not content or "chyba" in content:
            return before
        change(content)
        return json.dumps(content).encode()

    return body


def entry(number: int, **fields: object) -> Callable[[bytes], bytes]:
    return changed(lambda reply: reply["lokacie"][number].update(fields))


def without(key: str) -> Callable[[bytes], bytes]:
    return changed(lambda reply: reply.pop(key))


@pytest.mark.parametrize("strict", [False, True])
def test_a_healthy_register_is_well(strict: bool) -> None:
    """All is well with the sample, in as many requests as it promises."""
    sample = fk.sample(strict=strict)

    report = fk.doctor(register=sample)

    assert set(report["status"]) == {"ok"}
    assert set(report["meaning"]) == {""}
    assert sample.stats.requests <= MOST_REQUESTS


ALTERED: list[tuple[str, str, object, str, str, str]] = [
    ("HTML for a codelist", "kraje", HTML, "regions", "fail", "HTML under status 200: “Request"),
    ("no JSON", "okresy", b"{", "districts", "fail", "no JSON"),
    ("another top key", "okresy", b'{"klasifikacie":[]}', "districts", "fail", "no list of entries"),
    ("null for entries", "okresy", b'{"lokacie":null}', "districts", "fail", "no list of entries"),
    ("an empty list", "okresy", b'{"lokacie":[]}', "districts", "warn", "0 entries"),
    ("no code", "kraje", entry(0, kod=None), "regions", "fail", "$.lokacie[0].kod: expected a code, got None"),
    ("a numeric code", "kraje", entry(0, kod=1), "regions", "warn", "1 codes that are numbers"),
    ("one language", "kraje", entry(0, nazov={"sk": "x"}), "regions", "warn", "without a name in both"),
    ("an unknown key", "kraje", entry(0, novy=1), "regions", "warn", "1 unknown keys"),
    ("an orphan", "okresy", entry(0, nadradenaLokacia="X"), "districts", "warn", "1 with an unknown parent"),
    (
        "a repeated code", "kraje", changed(lambda r: r["lokacie"].append(r["lokacie"][0])),
        "regions", "warn", "1 codes repeated",
    ),
    (
        "a code of two meanings", "kraje",
        changed(lambda r: r["lokacie"].append(r["lokacie"][0] | {"nazov": {"sk": "x", "en": "x"}})),
        "regions", "fail", "the code 'SK010' is listed twice, with other content",
    ),
    ("a code that is no code", "kraje", entry(0, kod=True), "regions", "fail", "expected a code, got True"),
    ("an empty code", "kraje", entry(0, kod=""), "regions", "fail", "10 entries, 2 share a name; $.lokacie[0].kod"),
    ("a list for a parent", "okresy", entry(0, nadradenaLokacia=["SK010"]), "districts", "fail", "nadradenaLokacia"),
    ("a text for names", "kraje", entry(0, nazov="x"), "regions", "fail", "an object with sk and en"),
    ("a number for a name", "kraje", entry(0, nazov={"sk": 1, "en": "x"}), "regions", "fail", "nazov.sk"),
    ("no number", "kraje", lambda body: body[:-1] + b',"x":NaN}', "regions", "fail", "no JSON"),
    ("no flag", "uctovne-jednotky", without("existujeDalsieId"), "flag", "fail", "no flag"),
    ("ids backwards", "uctovne-jednotky", changed(lambda r: r["id"].reverse()), "ids ascend", "fail", "ids"),
    ("one page for ever", "uctovne-jednotky", b'{"id":[5],"existujeDalsieId":true}', "beyond the last id", "fail", "1 ids"),
    ("an id too great", "uctovne-jednotky", b'{"id":[9223372036854775808],"existujeDalsieId":true}', "paging", "fail", "too great"),
    ("an error beyond the last id", "uctovne-jednotky", lambda body: body if b'[]' not in body else Reply(400, {}, b'{"chyba":"x"}'), "beyond the last id", "warn", "status 400"),
    ("ids as texts", "uctovne-jednotky", b'{"id":["5"],"existujeDalsieId":true}', "paging", "fail", "not whole numbers"),
    ("more than asked", "uctovne-jednotky", changed(lambda r: r["id"].extend(range(9_000_000, 9_001_000))), "page size", "warn", "of 1,000 requested"),
    ("wrong counts", "zostavajuce-id/uctovne-jednotky", b'{"pocetZostavajucichId":7}', "counts", "warn", "7 before, 7 after"),
    ("no count of units", "zostavajuce-id/uctovne-jednotky", b"{}", "counts", "warn", "it is missing"),
    ("no counts", "zostavajuce-id/uctovne-vykazy", b"{}", "uctovne-vykazy", "fail", "it is missing"),
    ("nothing there", "zostavajuce-id/uctovne-vykazy", b'{"pocetZostavajucichId":0}', "uctovne-vykazy", "warn", "0 ids"),
    ("another record", "uctovna-jednotka", b'{"id":1}', "records of units", "fail", "0 of 8 read; $.id: expected 999, got 9"),
    ("a field of a wrong type", "uctovna-jednotka", changed(lambda r: r.update(kraj=1)), "records of units", "fail", "$.kraj"),
    ("a new field", "uctovna-jednotka", changed(lambda r: r.update(novy=1)), "records of units", "warn", "unknown: novy"),
    ("unknown codes", "uctovna-jednotka", changed(lambda r: r.update(kraj="SK099")), "labels of kraj", "warn", "0 of 8"),
    ("a page for a record", "uctovna-jednotka", Reply(404, {}, b""), "records of units", "fail", "status 404"),
    ("another version", "kraje", Reply(200, {"X-API-Version": "3.0"}, b'{"lokacie":[]}'), "API version", "warn", "2.5, 3.0"),
    ("a version that cannot be printed", "kraje", Reply(200, {"X-API-Version": "\x1b[2J"}, b'{"lokacie":[]}'), "API version", "warn", "?[2J, 2.5"),
    ("no version", "kraje", Reply(200, {}, b'{"lokacie":[]}'), "API version", "warn", "2.5, none"),
    ("ids of reports backwards", "uctovne-vykazy", changed(lambda r: r["id"].reverse()), "uctovne-vykazy", "fail", "do not ascend"),
    ("another statement", "uctovna-zavierka", b'{"id":1}', "records of statements", "fail", "1 of 4 read; $.id: expected 999, got 9"),
    ("a new field of annual reports", "vyrocna-sprava", changed(lambda r: r.update(novy=1)), "records of annual reports", "warn", "unknown: novy"),
    ("cells too many", "uctovny-vykaz", changed(lambda r: [t["data"].append("1") for t in r.get("obsah", {}).get("tabulky", [])]), "tables of reports", "warn", "0 of 5 fit; not those of 21, 22"),
    ("a mark of byte order", "okresy", lambda body: b"\xef\xbb\xbf" + body, "encoding", "warn", "1 byte order marks"),
    ("another type", "kraje", lambda body: Reply(200, {"Content-Type": "text/html"}, body), "encoding", "warn", "text/html"),
    ("a page of HTML for a missing record", "uctovna-jednotka", lambda body: body or Reply(404, {}, HTML), "unknown id", "warn", "status 404: “Request"),
    ("a wrong day that is answered", "uctovne-jednotky", lambda body: body if b"chyba" not in body else Reply(200, {}, b"{}"), "wrong day", "warn", "status 200"),
    ("every path is there", "neznama-cesta", Reply(200, {}, b"{}"), "unknown path", "warn", "status 200"),
    ("a broken connection", "kraje", TransportError("reset"), "regions", "fail", "reset"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "answer", "check", "status", "seen"),
    [
        pytest.param(*of_case, id=case, marks=pytest.mark.slow if place % 12 else ())
        for place, (case, *of_case) in enumerate(ALTERED)
    ],
)
def test_each_fault_is_on_its_own_line(
    path: str, answer: object, check: str, status: str, seen: str
) -> None:
    """Each fault is on the line it belongs to, with what it means."""
    register = Altered({path: answer})

    report = fk.doctor(register=register)

    (line,) = report.rows_by_key("check", named=True)[check]
    assert (line["status"], seen in line["seen"]) == (status, True), line
    assert line["meaning"]
    assert register.asked <= MOST_REQUESTS


def test_a_window_that_is_dropped_on_continued_pages_is_noticed() -> None:
    """The count says so: the second page has ids that did not change since the day."""
    register = Watched(fk.sample(5_000))

    def instead(path: str, query: str) -> Reply | None:
        if path != "/api/uctovne-jednotky" or "pokracovat-za-id=0" in query:
            return None
        whole = re.sub(r"zmenene-od=[0-9-]+", "zmenene-od=2000-01-01", query)
        return register.sample._answer("GET", path, whole)

    register.instead = instead
    report = fk.doctor(register=register)

    assert report.filter(status="fail")["check"].to_list() == ["change window", "day of change"]


@pytest.mark.parametrize(
    ("asked", "answered", "check", "status", "seen"),
    [("max-zaznamov=10000&", "max-zaznamov=500", "largest page", "warn", "500 ids, flag true"), *slow(("max-zaznamov=1&", "max-zaznamov=1&zmenene-od=2000-01-01", "day of change", "fail",
         "listed for its day, listed for the next"), ("ico=", "pokracovat-za-id=0", "filters", "fail", "1,000 of its IČO")), *slow(
            (r"^zmenene-od=2000-01-01&pokracovat", "max-zaznamov=7", "default page", "warn",
             "7 ids"),
            ("max-zaznamov=10001", Reply(418, {}, b""), "above the largest page", "warn",
             "status 418"),
            ("max-zaznamov=10000&", Reply(400, {}, b""), "largest page", "fail", "status 400"),
        )],
)  # fmt: skip
def test_a_list_that_answers_something_else_is_noticed(
    asked: str, answered: str | Reply, check: str, status: str, seen: str
) -> None:
    """Pages by their size, the day of a change and filters are compared with what is expected."""
    register = Watched(fk.sample(20_000))

    def instead(path: str, query: str) -> Reply | None:
        if path != "/api/uctovne-jednotky" or not re.search(asked, query):
            return None
        if isinstance(answered, Reply):
            return answered
        keys = {pair.partition("=")[0] for pair in answered.split("&")} | {"ico"}
        rest = [pair for pair in query.split("&") if pair.partition("=")[0] not in keys]
        return register.sample._answer("GET", path, "&".join([*rest, answered]))

    register.instead = instead
    report = fk.doctor(register=register)

    (line,) = report.rows_by_key("check", named=True)[check]
    assert (line["status"], seen in line["seen"]) == (status, True), line
    assert report.filter(pl.col("status") != "ok")["check"].to_list() == [check]


def test_a_report_names_nobody() -> None:
    """Ids, numbers and names of units are in no line, also where their records are at fault."""
    private = {"id": 987654, "ico": 44556677, "nazovUJ": 5, "datumZalozenia": "Ján Novák 1.2.1970"}
    for field in private:
        change = changed(partial(dict.update, **{field: private[field]}))
        page = b"<html>Your address is 10.20.30.40, your number 44556677</html>"
        register = Altered({"uctovna-jednotka": change, "sidla": Reply(404, {}, page)})

        text = fk.doctor(register=register).write_csv()

        assert "0 of 8 read" in text
        assert "99.99.99.99" in text
        assert not re.search(r"987654|44556677|Novák|1970|10\.20", text), text


def test_a_report_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror that cannot be read is named below the home folder, whose name is a person's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    report = fk.doctor(register=fk.Mirror(tmp_path / "ruz"))

    assert "~" in report["seen"][0]
    assert str(tmp_path) not in report.write_csv()


@pytest.mark.parametrize("answers", [{"sidla": b'{"lokacie":[]}', "okresy": b"[]"}, *slow({})])
def test_a_recording_gives_the_same_report(answers: dict[str, bytes], tmp_path: Path) -> None:
    """What a cache has kept is examined without the register, refusals and faults included."""
    file = tmp_path / "ruz.cache"
    register = Watched(fk.sample(3_000))

    def instead(path: str, query: str) -> Reply | None:
        body = answers.get(path.removeprefix("/api/"))
        reply = register.sample._answer("GET", path, query)
        return None if body is None else reply._replace(body=body)

    register.instead = instead
    transport = register._session.exchange._transport
    with fk.Register("watched:", transport=transport, cache=file) as reg:
        recorded = fk.doctor(register=reg)

    replayed = fk.doctor(register=f"cache:{file}")

    of_headers = ["API version", "latency", "rate", "encoding", "clock", "versions"]
    same = pl.col("check").is_in([*of_headers, *(["districts"] if answers else [])]).not_()
    assert replayed.filter(same).equals(recorded.filter(same))
    assert recorded["check"].to_list() == replayed["check"].to_list()
    assert set(recorded["status"]) == ({"fail", "warn", "ok"} if answers else {"ok"})


def test_every_line_says_what_is_expected_and_what_to_do() -> None:
    """Each line has its expectation, and a row of the page of differences."""
    page = (ROOT / "docs" / "howto" / "differences.md").read_text(encoding="utf-8")
    report = fk.doctor(register=fk.sample(3_000))

    assert report.filter(pl.col("expected") == "").is_empty()
    rows = re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", page, re.MULTILINE)
    checks = [check for row in rows for check in re.findall(r"`([^`]+)`", row)]
    assert sorted(checks) == sorted(EXPECTED)
    assert set(report["check"]) == set(EXPECTED) - {"paging"}


def test_a_template_that_is_not_there_is_noticed() -> None:
    """Reports name it."""
    register = Watched(fk.sample(50))
    template = register.reports.get(register.reports.ids(limit=8))["idSablony"].drop_nulls()[0]
    register.instead = lambda path, query: (
        Reply(404, {}, b"") if (path, query) == ("/api/sablona", f"id={template}") else None
    )
    report = fk.doctor(register=register)

    line = report.filter(check="templates of reports").row(0)
    assert line[1] == "warn"
    assert line[2].startswith(f"{template}: status 404")


def test_the_worst_comes_first() -> None:
    """Frames are shown by their head: there stands what is wrong."""
    report = fk.doctor(register=Altered({"kraje": HTML, "sidla": b'{"lokacie":[]}'}))

    ranks = [["fail", "warn", "ok"].index(status) for status in report["status"]]
    assert ranks == sorted(ranks)
    assert report["check"][0] == "regions"


@pytest.mark.parametrize(
    ("steps", "seen", "requests"),
    [
        ([CLOSE], "no complete reply", 3),
        ([reply(b"", 429)], "status 429", 1),
        *slow(
            ([reply(HTML)], "HTML under status 200", 3),
            ([reply(HTML, 403)], "status 403: “Request Rejected", 1),
            ([reply(b"", 500)], "status 500", 3),
            ([reply(b"well")], "no JSON object under status 200", 3),
            ([reply(b"", 404)], "status 404", 3),
            ([reply(b"", 503, Retry_After="60")], "status 503", 1),
        ),
    ],
)
def test_a_register_in_ruins_is_one_line(steps: list[Any], seen: str, requests: int) -> None:
    """Where nothing good comes, one line says so, and the register is soon left alone."""
    with FaultServer(steps) as server:
        report = fk.doctor(register=server.url)

    assert report.select("check", "status").rows() == [("reachable", "fail"), ("versions", "ok")]
    assert seen in report["seen"][0]
    assert report["meaning"][0]
    assert len(server.asked) == requests


def test_what_was_found_before_a_refusal_is_reported() -> None:
    """What was found before the register asks to be left alone is in the report."""
    register = Altered({"okresy": Reply(429, {"Retry-After": "600"}, b"")})

    report = fk.doctor(register=register)

    assert report.select("check", "status").rows() == [
        ("reachable", "fail"), ("API version", "ok"), ("latency", "ok"), ("rate", "ok"),
        ("encoding", "ok"), ("clock", "ok"), ("regions", "ok"), ("versions", "ok"),
    ]  # fmt: skip
    assert report["seen"][0] == "status 429, good replies before: 1"
    assert register.asked == 2


def test_three_silences_in_a_row_end_the_questions() -> None:
    """After three requests in a row without an answer nothing is asked any more."""
    register = Altered({"uctovne-jednotky": TransportError("no answer")} | {
        f"zostavajuce-id/{name}": TransportError("no answer")
        for name in ("uctovne-zavierky", "uctovne-vykazy", "vyrocne-spravy")
    })  # fmt: skip

    report = fk.doctor(register=register)

    assert report["seen"][0] == "no answer, good replies before: 8"
    assert register.asked == 8 + 2 * 2 + 1  # the first two pages with second tries, a count


def test_a_fault_that_passes_is_no_fault() -> None:
    """One error of the usual kind is asked again, and is no fault of the register."""
    once = iter([Reply(500, {}, b"")])
    register = Altered({"okresy": lambda body: next(once, body)})

    assert set(fk.doctor(register=register)["status"]) == {"ok"}


def test_second_tries_are_few() -> None:
    """However often errors pass, there are no more requests than were promised."""
    fails = iter(range(1_000))
    register = Altered(
        {"*": lambda body: Reply(500, {}, b"") if next(fails) % 2 else body},
    )

    report = fk.doctor(register=register)

    assert "fail" in report["status"]
    assert register.asked <= MOST_REQUESTS


def test_a_register_that_cannot_be_reached_is_one_line() -> None:
    """A register that cannot be reached is one line."""
    assert fk.doctor(register="http://127.0.0.1:9").select("check", "status").rows() == [
        ("reachable", "fail"), ("versions", "ok"),
    ]  # fmt: skip


@pytest.mark.slow
def test_latency_and_headers_are_reported_over_http() -> None:
    """By URL the latency is told, and headers are found in any spelling."""
    with fk.sample(3_000).serve() as url:
        report = fk.doctor(register=url)

    assert set(report["status"]) == {"ok"}
    assert report.rows_by_key("check", named=True)["latency"][0]["seen"].startswith(
        tuple("0123456789")
    )


@pytest.mark.slow
def test_recorded_codelists_have_blemishes_and_no_faults(recorded: Path) -> None:
    """The real lists have blemishes and no faults."""
    report = fk.doctor(register=fk.sample(1_000, codelists=recorded / "codelists"))

    assert "fail" not in report["status"]
    seen = dict(report.select("check", "seen").rows())
    assert seen["municipalities"].startswith("2,937 entries, ")


def test_the_exit_code_reports_faults() -> None:
    """The command prints the report; its exit code tells of faults."""
    well = CliRunner().invoke(commands.cli, ["doctor", "--sample", "--format", "table"])
    ill = CliRunner().invoke(commands.cli, ["doctor", "--url", "http://127.0.0.1:9"])

    assert (well.exit_code, ill.exit_code) == (0, 1)
    assert "│ counts" in well.stdout
    assert "…" not in well.stdout
    assert ill.stdout.splitlines()[1].startswith("reachable,fail,")


def test_no_register_is_refused_with_the_choice() -> None:
    """Without a register it says how to choose one."""
    with pytest.raises(fk.UsageError, match=r"fk\.use"):
        fk.doctor()


def test_captions_that_differ_are_listed() -> None:
    """Also those whose letters alone differ, of which the items are read."""

    def altered(body: bytes) -> bytes:
        return body.replace(b"Vlastn\xc3\xa9 imanie r. 81", b"Vlastn\xc3\xa9 zdroje r. 81")

    report = fk.doctor(register=Altered({"sablony": altered}))

    line = report.row(by_predicate=pl.col("check") == "forms", named=True)
    assert line["status"] == "warn"
    assert line["seen"].startswith("699: 80 “Vlastné zdroje r. 81")
    assert "instead of 80 “Vlastné imanie r. 81" in line["seen"]


def test_forms_are_requested_one_by_one_where_the_list_has_no_tables() -> None:
    """As the documentation of the register leaves it open."""
    bare = changed(lambda reply: [entry.pop("tabulky", None) for entry in reply["sablony"]])

    report = fk.doctor(register=Altered({"sablony": bare}))

    line = report.row(by_predicate=pl.col("check") == "forms", named=True)
    assert (line["status"], line["seen"]) == ("ok", "14 forms as in the package")
