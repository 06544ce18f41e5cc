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
from finstat_kit.health.checks import CHECKS
from finstat_kit.protocol.wire import Reply
from tests.support.clock import FakeClock
from tests.support.examples import slow
from tests.support.faults import CLOSE, FaultServer, reply
from tests.support.pages import ROOT
from tests.support.registers import Altered, Watched

HTML = b"<html><body>Request Rejected. Your support ID is 1</body></html>"
MOST_REQUESTS = 110  # with what is asked again after a fault


def altered(answers: dict[str, Any]) -> Altered:
    """Return a register of given answers that waits for nothing."""
    return Altered(answers, FakeClock().timing(luck=0.01))


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
    assert sample.stats.requests <= 80


ALTERED: list[tuple[str, str, object, str, str, str]] = [
    ("HTML for a codelist", "kraje", HTML, "regions", "fail", "HTML"),
    ("no JSON", "okresy", b"{", "districts", "fail", "JSON"),
    ("another top key", "okresy", b'{"klasifikacie":[]}', "districts", "fail", "$.lokacie"),
    ("an empty list", "okresy", b'{"lokacie":[]}', "districts", "warn", "0 entries"),
    ("one language", "kraje", entry(0, nazov={"sk": "x"}), "regions", "warn", "1 without a name"),
    ("an orphan", "okresy", entry(0, nadradenaLokacia="X"), "districts", "warn", "1 without a name or parent"),
    ("no flag", "uctovne-jednotky", without("existujeDalsieId"), "pages", "fail", "$.existujeDalsieId"),
    ("ids backwards", "uctovne-jednotky", changed(lambda r: r["id"].reverse()), "pages", "fail", "id"),
    ("a short page", "uctovne-jednotky", changed(lambda r: r.update(id=r["id"][:-1])), "pages", "warn", "on two pages"),
    ("wrong counts", "zostavajuce-id/uctovne-jednotky", b'{"pocetZostavajucichId":7}', "pages", "warn", "7 of 7 after them"),
    ("no counts", "zostavajuce-id/uctovne-vykazy", b"{}", "reports", "fail", "it is missing"),
    ("nothing there", "zostavajuce-id/uctovne-vykazy", b'{"pocetZostavajucichId":0}', "reports", "warn", "0 ids"),
    ("another record", "uctovna-jednotka", b'{"id":1}', "units", "fail", "$.id: expected"),
    ("a field of a wrong type", "uctovna-jednotka", changed(lambda r: r.update(kraj=1)), "units", "fail", "$.kraj"),
    ("unknown codes", "uctovna-jednotka", changed(lambda r: r.update(kraj="SK099")), "labels", "warn", "too few of kraj"),
    ("no records", "uctovna-jednotka", Reply(404, {}, b""), "units", "fail", "8 of 8 ids have no record"),
    ("another statement", "uctovna-zavierka", b'{"id":1}', "statements", "fail", "$.id: expected"),
    ("cells too many", "uctovny-vykaz", changed(lambda r: [t["data"].append("1") for t in r.get("obsah", {}).get("tabulky", [])]), "tables", "warn", "; not those of "),
    ("a page of HTML for a missing record", "uctovna-jednotka", lambda body: body or Reply(404, {}, HTML), "unknown id", "fail", "HTML"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "answer", "check", "status", "seen"),
    [
        pytest.param(*of_case, id=case, marks=pytest.mark.slow if place % 4 else ())
        for place, (case, *of_case) in enumerate(ALTERED)
    ],
)
def test_each_fault_is_on_its_own_line(
    path: str, answer: object, check: str, status: str, seen: str
) -> None:
    """Each fault is on the line it belongs to, with what it means."""
    register = altered({path: answer})

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


def test_a_window_whose_counts_do_not_fit_its_pages_is_noticed() -> None:
    """Whatever the days of its records are."""
    register = Watched(fk.sample(5_000))
    register.instead = lambda path, query: (
        Reply(200, {}, b'{"pocetZostavajucichId":7}')
        if path.startswith("/api/zostavajuce-id") and "zmenene-od=2026" in query
        else None
    )

    report = fk.doctor(register=register)

    assert report.filter(status="fail")["check"].to_list() == ["change window"]


@pytest.mark.parametrize(
    ("asked", "answered", "check", "status", "seen"),
    [
        ("ico=", "pokracovat-za-id=0", "filters", "fail", "1,000 of its IČO"),
        *slow(
            ("zmenene-od=202.*max-zaznamov=1&", "max-zaznamov=1&zmenene-od=2000-01-01", "day of change",
             "fail", "listed for its day, listed for the next"),
            ("ico=", Reply(400, {}, b""), "filters", "fail", "400"),
        ),
    ],
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
    private = {
        "broken": "Ján Novák 1970",
        "id": 987654,
        "ico": 44556677,
        "nazovUJ": 5,
        "datumZalozenia": "Ján Novák 1.2.1970",
    }
    for field in private:
        change = changed(partial(dict.update, **{field: private[field]}))
        if field == "broken":
            change = lambda body: "{'x': Ján Novák 1970".encode()  # noqa: E731
        page = b"<html>Your address is 10.20.30.40, your number 44556677</html>"
        register = altered({"uctovna-jednotka": change, "sidla": Reply(404, {}, page)})

        text = fk.doctor(register=register).write_csv()

        assert "units,fail" in text
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
    """What a cache has kept is examined without the register; it keeps no faults."""
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

    faults = recorded.filter(status="fail")["check"].to_list()
    rows = ~pl.col("check").is_in(["versions", *faults])
    assert replayed.filter(rows).equals(recorded.filter(rows))
    lost = replayed.filter(pl.col("check").is_in(faults))
    assert set(lost["seen"]) <= {"the recording has no such reply"}
    assert set(recorded["check"]) == set(replayed["check"])
    assert set(recorded["status"]) == ({"fail", "ok"} if answers else {"ok"})


def test_every_line_says_what_is_expected_and_what_to_do() -> None:
    """Each line has its expectation, and a row of the table of differences."""
    page = (ROOT / "docs" / "howto" / "live-register.md").read_text(encoding="utf-8")
    page = page.partition("\n## When the register differs\n")[2]
    report = fk.doctor(register=fk.sample(3_000))

    assert report.filter(pl.col("expected") == "").is_empty()
    rows = re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", page, re.MULTILINE)
    checks = [check for row in rows for check in re.findall(r"`([^`]+)`", row)]
    assert sorted(checks) == sorted([check.name for check in CHECKS])
    assert report["check"].to_list() == [check.name for check in CHECKS]


def test_the_worst_comes_first() -> None:
    """Frames are shown by their head: there stands what is wrong."""
    report = fk.doctor(register=altered({"kraje": HTML, "sidla": b'{"lokacie":[]}'}))

    ranks = [["fail", "warn", "ok"].index(status) for status in report["status"]]
    assert ranks == sorted(ranks)
    assert report["check"][0] == "regions"


@pytest.mark.parametrize(
    ("steps", "seen", "lines"),
    [
        ([reply(b"", 429, Retry_After="600")], "asked for a pause", 1),
        *slow(
            ([reply(HTML)], "Request Rejected", 1),
            ([reply(HTML, 403)], "403", 1),
            ([reply(b"<html>under repair</html>")], "HTML", 3),
            ([CLOSE], "no complete reply", 3),
        ),
    ],
)
def test_a_register_in_ruins_is_left_alone(steps: list[Any], seen: str, lines: int) -> None:
    """At once where it asks for that, after three checks where it does not reply."""
    with FaultServer(steps) as server, fk.Register(server.url, tries=1) as register:
        report = fk.doctor(register=register)

    names = ["regions", "districts", "municipalities"][:lines]
    assert report["check"].to_list() == [*names, "versions"]
    assert report["status"].to_list() == ["fail"] * lines + ["ok"]
    assert seen in report["seen"][0]
    assert len(server.asked) == lines


def test_what_was_found_before_a_refusal_is_reported() -> None:
    """What was found before the register asks to be left alone is in the report."""
    register = altered({"okresy": Reply(429, {"Retry-After": "600"}, b"")})

    report = fk.doctor(register=register)

    assert report.select("check", "status").rows() == [
        ("districts", "fail"), ("regions", "ok"), ("versions", "ok"),
    ]  # fmt: skip
    assert register.asked == 2


def test_a_fault_that_passes_is_no_fault() -> None:
    """One error of the usual kind is asked again, and is no fault of the register."""
    register = Watched(fk.sample(3_000))
    once = iter([Reply(500, {}, b"")])
    register.instead = lambda path, query: next(once, None) if path == "/api/okresy" else None

    assert set(fk.doctor(register=register)["status"]) == {"ok"}


def test_a_mirror_says_what_it_does_not_hold(tmp_path: Path) -> None:
    """One without contents: no fault of it."""
    mirror = fk.Mirror(tmp_path / "ruz", register=fk.sample(200))
    mirror.sync()

    report = fk.doctor(register=mirror)

    assert set(report["status"]) == {"ok"}
    assert report.filter(check="statements")["seen"].item() == "not held by this copy"


@pytest.mark.slow
def test_recorded_codelists_have_blemishes_and_no_faults(recorded: Path) -> None:
    """The real lists have blemishes and no faults."""
    report = fk.doctor(register=fk.sample(1_000, codelists=recorded / "codelists"))

    assert "fail" not in report["status"]
    seen = dict(report.select("check", "seen").rows())
    assert seen["municipalities"] == "2,937 entries"


def test_the_exit_code_reports_faults() -> None:
    """The command prints the report; its exit code tells of faults."""
    well = CliRunner().invoke(commands.cli, ["doctor", "--sample", "--format", "table"])
    ill = CliRunner().invoke(commands.cli, ["doctor", "--url", "http://127.0.0.1:9"])

    assert (well.exit_code, ill.exit_code) == (0, 1)
    assert "│ pages" in well.stdout
    assert "…" not in well.stdout
    assert ill.stdout.splitlines()[1].startswith("regions,fail,")


def test_no_register_is_refused_with_the_choice() -> None:
    """Without a register it says how to choose one."""
    with pytest.raises(fk.UsageError, match=r"fk\.use"):
        fk.doctor()


def test_captions_that_differ_are_listed() -> None:
    """Also those whose letters alone differ, of which the items are read."""

    def other_caption(body: bytes) -> bytes:
        return body.replace(b"Vlastn\xc3\xa9 imanie r. 81", b"Vlastn\xc3\xa9 zdroje r. 81")

    report = fk.doctor(register=altered({"sablona": other_caption}))

    line = report.row(by_predicate=pl.col("check") == "forms", named=True)
    assert line["status"] == "warn"
    assert line["seen"].startswith("699: 80 “Vlastné zdroje r. 81")
    assert "instead of 80 “Vlastné imanie r. 81" in line["seen"]
