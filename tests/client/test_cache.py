"""Replies that are kept in one file: used until they change, and replayed without a network."""

from __future__ import annotations

import json
import pickle
import socket
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import finstat_kit as fk
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.support.clock import FakeClock
from tests.support.examples import examples
from tests.support.registers import Scripted

RECORD, LIST = "/api/uctovna-jednotka", "/api/uctovne-jednotky"
FILED = ("statements", "reports", "annual_reports")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ruz.cache"


class Behind:
    """A sample behind an address of its own, and the requests that reached it."""

    def __init__(self, sample: fk.Sample, url: str = "https://ruz.example") -> None:
        self.sample, self.url = sample, url
        self.requests: list[str] = []
        self.instead: Reply | BaseException | None = None
        self.time = FakeClock()

    def register(self, **options: Any) -> fk.Register:
        options = {"rate": None, "connections": 1} | options
        return fk.Register(
            self.url, transport=InProcess(self._answer, self.time.timing()), **options
        )

    def sent(self, path: str = "") -> list[str]:
        """Return the requests since the last look, those to a path if one is given."""
        sent, self.requests = self.requests, []
        return [target for target in sent if target.partition("?")[0].startswith(path)]

    def _answer(self, method: str, path: str, query: str) -> Reply:
        path = urlsplit(path).path
        self.requests.append(f"{path}?{query}")
        if isinstance(self.instead, BaseException):
            raise self.instead
        return self.instead or self.sample._answer(method, path, query)


class Amended(Behind):
    """A sample in which single records of any collection change, and their own list names them."""

    def __init__(self, sample: fk.Sample) -> None:
        super().__init__(sample)
        self._changes: dict[tuple[str, int], tuple[date, str]] = {}

    def amend(self, collection: str, id_: int) -> None:
        """Change a record on the sample's day."""
        change = self.sample.today, f"change {len(self._changes)}"
        self._changes[collection, id_] = change

    def _answer(self, method: str, path: str, query: str) -> Reply:
        reply = super()._answer(method, path, query)
        sent = dict(parse_qsl(query))
        for (collection, id_), (day, source) in self._changes.items():
            kind = KINDS[collection]
            if path.endswith(kind.path) and sent["id"] == str(id_):
                record = json.loads(reply.body) | {"datumPoslednejUpravy": str(day)}
                return reply._replace(body=json.dumps(record | {"zdrojDat": source}).encode())
            if path.endswith(kind.listed) and sent["zmenene-od"] <= str(day):
                assert "pocet" not in path
                page = json.loads(reply.body)
                if id_ > int(sent.get("pokracovat-za-id", 0)):
                    page["id"] = sorted({*page["id"], id_})
                reply = reply._replace(body=json.dumps(page).encode())
        return reply


@pytest.fixture
def behind() -> Behind:
    return Behind(fk.sample(2_000))


def unchanged_ids(sample: fk.Sample, n: int = 5, collection: str = "units") -> list[int]:
    """Return ids that did not change of late."""
    records = getattr(sample, collection)
    late = records.ids(changed_since="2026-06-01")["id"].implode()
    found: list[int] = records.ids().filter(~pl.col("id").is_in(late))["id"].head(n).to_list()
    return found


@pytest.mark.parametrize("collection", KINDS)
def test_a_second_run_requests_lists_alone(behind: Behind, file: Path, collection: str) -> None:
    ids = unchanged_ids(behind.sample, 50, collection)
    with behind.register(cache=file) as first:
        records, regions = getattr(first, collection).get(ids), first.regions()
    behind.sent()

    with behind.register(cache=file) as second:
        again = getattr(second, collection)
        assert again.get(ids).equals(records)
        assert second.regions().equals(regions)
        assert (
            again.ids(limit=3)["id"].to_list()
            == getattr(first, collection).ids(limit=3)["id"].to_list()
        )

    paths = {target.partition("?")[0] for target in behind.sent()}
    assert paths == {f"/api/{KINDS[collection].listed}"}
    assert second.stats.kept == 51
    assert second.stats.requests == 2


@pytest.mark.parametrize("collection", FILED)
def test_a_filing_is_fetched_again_once_its_own_list_names_it(file: Path, collection: str) -> None:
    """A change of the unit, or of a filing of the same id in another collection, is none of it."""
    behind = Amended(fk.sample(300))
    ids = unchanged_ids(behind.sample, 5, collection)
    before = getattr(behind.register(cache=file), collection).get(ids)
    for other in KINDS:
        if other != collection:
            behind.amend(other, ids[0])
    behind.amend(collection, ids[3])
    behind.sent()

    frame = getattr(behind.register(cache=file), collection).get(ids)

    path = KINDS[collection].path
    assert behind.sent("/api/") == [
        f"/api/{KINDS[collection].listed}?zmenene-od=2026-06-29&max-zaznamov=10000"
        + (f"&pokracovat-za-id={ids[0] - 1}" if ids[0] > 1 else ""),
        f"{path}?id={ids[3]}",
    ]
    assert frame["zdrojDat"][3] == "change 3"
    assert frame[:3].equals(before[:3])
    assert frame[4:].equals(before[4:])


def test_changes_are_listed_once_per_call_from_the_day_before(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample, 2_000)
    behind.register(cache=file).units.get(ids)
    behind.sample.set_today("2026-07-15")
    behind.sent()

    behind.register(cache=file).units.get(ids)

    assert behind.sent() == [
        f"{LIST}?zmenene-od=2026-06-29&max-zaznamov=10000&pokracovat-za-id={min(ids) - 1}"
    ]
    behind.register(cache=file).units.get(ids)
    (again,) = behind.sent()
    assert "zmenene-od=2026-07-14" in again  # they were found unchanged on the 15th


@pytest.mark.parametrize("days", [0, 1, 40])
def test_what_changed_between_two_runs_is_fetched_again(
    behind: Behind, file: Path, days: int
) -> None:
    """Also on the day of the first run; what did not change is not."""
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.sample.set_today(date(2026, 6, 30) + timedelta(days=days))
    behind.sample.delete(ids[1])
    behind.sent()

    frame = behind.register(cache=file).units.get(ids)

    assert frame.equals(behind.sample.units.get(ids))
    assert frame["stav"][1] == "ZMAZANÉ"
    assert behind.sent(RECORD) == [f"{RECORD}?id={ids[1]}"]


def test_a_change_within_a_session_is_seen_by_the_next_call(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample)
    register = behind.register(cache=file)
    register.units.get(ids)
    behind.sample.hide(ids[0])

    assert register.units.get(ids)["stav"][0] == "NEVEREJNÁ"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("day"), st.integers(0, 3)),
            st.tuples(st.sampled_from(["touch", "delete", "hide"]), st.integers(0, 7)),
            st.tuples(st.just("get"), st.sets(st.integers(0, 7), min_size=1)),
            st.tuples(st.just("scan"), st.integers(0, 7)),
        ),
        max_size=14,
    )
)
def test_kept_records_are_those_of_the_register(tmp_path: Path, steps: list[Any]) -> None:
    """Whatever changed when: a record from the file is the record that the register has now."""
    behind = Behind(fk.sample(300))
    file = tmp_path / "ruz.cache"
    file.unlink(missing_ok=True)
    ids = behind.sample.units.ids(limit=8)["id"].to_list()
    for step, value in steps:
        if step == "day":
            behind.sample.set_today(behind.sample.today + timedelta(days=value))
        elif step == "get":
            wanted = [ids[place] for place in sorted(value)]
            got = behind.register(cache=file).units.get(wanted)
            assert got.equals(behind.sample.units.get(wanted))
        elif step == "scan":
            wanted_ = pl.col("id") <= ids[value]
            got = behind.register(cache=file).units.scan().filter(wanted_).collect()
            assert got.equals(behind.sample.units.scan().filter(wanted_).collect())
        else:
            getattr(behind.sample, step)(ids[value])


@pytest.mark.parametrize("collection", FILED)
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("day"), st.integers(0, 3)),
            st.tuples(st.sampled_from(["amend", "file", "correct", "hide"]), st.integers(0, 7)),
            st.tuples(st.just("get"), st.sets(st.integers(0, 7), min_size=1)),
            st.tuples(st.just("scan"), st.integers(0, 7)),
        ),
        max_size=14,
    )
)
def test_kept_filings_are_those_of_the_register(
    tmp_path: Path, collection: str, steps: list[Any]
) -> None:
    """As with units; no filing of a sample changes unlisted, whatever is filed or corrected."""
    behind = Amended(fk.sample(60))
    sample, file = behind.sample, tmp_path / "ruz.cache"
    file.unlink(missing_ok=True)
    units = sample.publish(4)["id"].to_list() + sample.units.ids(limit=4)["id"].to_list()
    sample.file(units[:4], year=2024, on="2026-01-05")
    owned = getattr(sample, collection).ids()["id"]
    ids = [*owned.head(4), *owned.tail(4)]
    statements = sample.statements.ids()["id"].tail(8).to_list()
    for step, value in steps:
        if step == "day":
            sample.set_today(sample.today + timedelta(days=value))
        elif step == "amend":
            behind.amend(collection, ids[value])
        elif step == "file":
            sample.file(units[value], year=2023 + value % 3)
        elif step == "correct":
            sample.correct(statements[value])
        elif step == "hide":
            sample.hide(units[value])
        else:
            kept, sent = behind.register(cache=file), behind.register()
            if step == "get":
                wanted = [ids[place] for place in sorted(value)]
                found = (getattr(reg, collection).get(wanted) for reg in (kept, sent))
            else:
                scans = (getattr(reg, collection).scan() for reg in (kept, sent))
                found = (
                    scan.filter(pl.col("id") <= ids[value]).head(9).collect() for scan in scans
                )
            assert next(found).equals(next(found))


def test_templates_are_kept_for_the_day(behind: Behind, file: Path) -> None:
    for _ in range(2):
        register = behind.register(cache=file)
        assert register.template(699).height == register.template(699).height > 0
        assert register.templates().height > 0
        with pytest.raises(fk.NotFound):
            register.template(5)
    assert behind.sent() == ["/api/sablona?id=699", "/api/sablony?", "/api/sablona?id=5"]
    behind.register(cache=file).template(699, refresh=True)
    behind.time.now += 86_400
    behind.register(cache=file).template(699)
    assert behind.sent() == ["/api/sablona?id=699"] * 2


def test_files_of_reports_are_not_kept(behind: Behind, file: Path, tmp_path: Path) -> None:
    """The folder holds them already; a second download requests nothing."""
    register = behind.register(cache=file)
    reports = register.annual_reports.get(register.annual_reports.ids(limit=3))
    replies = register.cache
    folder = tmp_path / "files"
    for status in ("downloaded", "kept"):
        done = register.download(fk.attachments(reports), folder)
        assert done["status"].unique().to_list() == [status]
    assert register.cache == replies
    assert len(behind.sent("/domain")) == done.height


def test_no_more_list_requests_than_records(file: Path) -> None:
    """A list of changes that takes longer than the records is left; the rest is fetched again."""
    behind = Behind(fk.sample(30_000))
    ids = behind.sample.units.ids()["id"]
    wanted = [int(ids[0]), int(ids[-1])]
    behind.register(cache=file).units.get(wanted)
    behind.sample.set_today("2026-07-02")
    behind.sample.touch(ids[1:])
    behind.sent()

    behind.register(cache=file).units.get(wanted)

    sent = behind.sent()
    assert len([target for target in sent if LIST in target]) == 2
    assert [target for target in sent if RECORD in target] == [f"{RECORD}?id={wanted[1]}"]


def test_young_records_need_no_list(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.sent()
    behind.time.now += 3_500
    behind.register(cache=file, max_age="1h").units.get(ids)
    assert behind.sent() == []
    behind.time.now += 200
    behind.register(cache=file, max_age=timedelta(hours=1)).units.get(ids)
    assert len(behind.sent(LIST)) == 1


def test_codelists_are_kept_for_the_day(behind: Behind, file: Path) -> None:
    behind.register(cache=file).districts()
    behind.sent()
    behind.register(cache=file).districts()
    assert behind.sent() == []
    behind.register(cache=file).districts(refresh=True)
    assert behind.sent() == ["/api/okresy?"]
    behind.time.now += 86_400
    behind.register(cache=file).districts()
    assert behind.sent() == ["/api/okresy?"]


def test_lists_and_counts_are_requested_anew(behind: Behind, file: Path) -> None:
    first = behind.register(cache=file)
    before = first.units.count(), first.units.ids().height
    behind.sample.publish(3)
    second = behind.register(cache=file)

    assert (second.units.count(), second.units.ids().height) == (before[0] + 3, before[1] + 3)


def test_an_id_without_a_record_is_kept_too(behind: Behind, file: Path) -> None:
    for _ in range(2):
        with pytest.raises(fk.NotFound) as caught:
            behind.register(cache=file).units.get([1, *unchanged_ids(behind.sample, 1)])
        assert caught.value.ids == [1]
    assert len(behind.sent(RECORD)) == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, {}, b"<html>outage</html>"),
        Reply(200, {}, b'{"id": 210, "id": 211}'),
        Reply(200, {}, b'{"id": "x"}'),
        Reply(400, {}, b"{}"),
        Reply(403, {}, b""),
        Reply(429, {"Retry-After": "1"}, b""),
        Reply(500, {}, b"{}"),
        Reply(503, {}, b"<html></html>"),
    ],
)
def test_faults_are_never_kept(behind: Behind, file: Path, reply: Reply) -> None:
    behind.instead = reply
    register = behind.register(cache=file, tries=2)
    with pytest.raises(fk.RegisterError):
        register.units.get(210)
    assert register.cache is not None
    assert register.cache.replies == 0


def test_a_walk_keeps_to_one_connection(behind: Behind, file: Path) -> None:
    register = behind.register(cache=file, page_size=100, connections=8)
    ids = register.units.ids(connections=8)

    pages = behind.sent(LIST)
    assert len(pages) == -(-ids.height // 100)
    cursors = [0, *ids["id"].gather_every(100, 99)][: len(pages)]
    after = [int(target.partition("pokracovat-za-id=")[2] or 0) for target in pages]
    assert after == cursors


def test_kept_records_do_not_count_as_requests_to_refuse(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    assert behind.register(cache=file).units.get(ids, max_requests=0).height == 5
    with pytest.raises(fk.UsageError, match="this needs 1 requests"):
        behind.register(cache=file).units.get([*ids, 1], max_requests=0)


def test_a_file_belongs_to_one_register(behind: Behind, file: Path) -> None:
    id_ = unchanged_ids(behind.sample, 1)
    behind.register(cache=file).units.get(id_)

    with pytest.raises(fk.UsageError, match=r"the file is of finstat_kit sample.*not of https"):
        fk.use(fk.LIVE, cache=file)
    with pytest.raises(fk.UsageError, match="seed=0; units=20000"):
        fk.use("sample", cache=file)
    other = Behind(fk.sample(2_000, seed=1))
    with pytest.raises(fk.UsageError, match="seed=1"):
        other.register(cache=file).units.count()

    # The same invented register at another address is the same one.
    moved = Behind(behind.sample, "http://127.0.0.1:9")
    behind.sent()
    moved.register(cache=file).units.get(id_)
    assert moved.sent(RECORD) == []


def test_a_file_of_a_real_host_is_not_anothers(file: Path) -> None:
    count = b'{"pocetZostavajucichId": 5}'
    Scripted(count, base_url="https://one.example", cache=file).units.count()
    with pytest.raises(fk.UsageError, match=r"of https://one\.example, not of https://two"):
        fk.Register("https://two.example", cache=file)


def test_what_is_recorded_is_replayed(
    behind: Behind, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(reg: fk.Register) -> list[object]:
        ids = reg.units.ids(changed_since="-30d")
        return [
            ids.rows(),
            reg.units.get(ids).rows(),
            reg.statements.scan().head(3).collect().rows(),
            reg.units.scan().filter(pl.col("id") < 3_000).collect().rows(),
            reg.resolve_labels(reg.units.get(ids.head(3)), lang="en").rows(),
            reg.units.count(changed_since=reg.today - timedelta(days=7)),
            [page.height for page in reg.reports.pages(page_size=900)],
            reg.today,
            reg.invented,
            reg._source_name("en"),
        ]

    behind.time.now = -17_152_000  # 2026-06-30
    with behind.register(cache=file, page_size=500, connections=4) as recorded:
        expected = everything(recorded)

    def no_socket(*arguments: object, **options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    behind.sample.publish(5)
    monkeypatch.setenv("FINSTAT_KIT_URL", f"cache:{file}")
    fk.use(None)
    replayed = fk.register()

    assert everything(replayed) == expected
    assert replayed.today == date(2026, 6, 30)
    assert (replayed.stats.requests, replayed.stats.kept > 0) == (0, True)
    assert replayed.cite(lang="en") == (
        "https://ruz.example, invented data, replies recorded 2026-06-30 19:33:20 UTC to "
        "2026-06-30 19:33:20 UTC."
    )
    assert replayed.cache == recorded.cache
    with fk.using(pickle.loads(pickle.dumps(replayed))) as again:
        assert again.units.count(changed_since=again.today - timedelta(days=7)) == expected[5]
    fk.use(None)


def test_what_is_not_recorded_is_an_error_with_the_line_that_records_it(
    behind: Behind, file: Path
) -> None:
    recorded, other = unchanged_ids(behind.sample, 2)
    behind.register(cache=file).units.get(recorded)
    with (
        fk.using(f"cache:{file}") as replayed,
        pytest.raises(fk.CacheError) as caught,
    ):
        replayed.units.get([recorded, other])
    assert f"/api/uctovna-jednotka?id={other} is not in {file}" in str(caught.value)
    assert f"fk.use('https://ruz.example', cache='{file}')" in str(caught.value)
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [recorded]


def test_replies_of_a_later_recording_replace_older_ones(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.sample.delete(ids[0])
    behind.register(cache=file).units.get(ids)

    with fk.using(f"cache:{file}") as replayed:
        assert replayed.units.get(ids)["stav"].to_list() == ["ZMAZANÉ", *[None] * 4]


@pytest.mark.parametrize(
    ("register", "options", "message"),
    [
        (fk.sample(0), {"cache": "x"}, "cache='x': a register that is given has its own"),
        (fk.sample(0), {"max_age": 5}, "max_age=5: a register that is given has its own"),
        ("cache:x", {"cache": "x"}, "recorded replies are only read; leave cache out"),
        ("mirror:x", {"cache": "x"}, "a mirror answers from disk; leave cache out"),
        (fk.LIVE, {"max_age": 5}, "max_age=5 is of kept replies; give cache= too"),
        (fk.LIVE, {"cache": "/no/where/x"}, "there is no folder '/no/where'; create it"),
        (fk.LIVE, {"cache": "/tmp"}, "cache='/tmp' is a folder"),
        (fk.LIVE, {"cache": 5}, "cache=5 is not a file path"),
        (fk.LIVE, {"cache": ""}, "cache='' is not a file path"),
        (fk.LIVE, {"cache": "x", "max_age": "1 hour"}, "max_age='1 hour' is not a valid duration"),
        (fk.LIVE, {"cache": "x", "max_age": -1}, "max_age=-1 is not a valid duration"),
        (fk.LIVE, {"cache": "x", "max_age": True}, "max_age=True is not a valid duration"),
        ("mirror:/no/where", {}, "there is no mirror in '/no/where'; make it"),
        ("mirror:/no/where@2026-06-30", {}, "there is no mirror in '/no/where'; make it"),
        ("mirror:", {}, "is not a register"),
        ("cache:", {}, "is not a register"),
    ],
)
def test_bad_choices_name_the_cure(
    register: Any, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fk.UsageError, match=message):
        fk.use(register, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(fk.CacheError, match=r"there is no file .*record it: fk\.use\(fk\.LIVE"):
        fk.use(f"cache:{tmp_path}/ruz.cache")


def test_the_state_of_a_file(behind: Behind, file: Path) -> None:
    register = behind.register(cache=file)
    assert register.cache is not None
    assert register.cache.replies == 0
    register.units.get(unchanged_ids(behind.sample, 2))
    state = register.cache
    assert state is not None
    assert (state.file, state.replies, state.bytes) == (file, 2, file.stat().st_size)
    assert state.first_day == state.last_day == register.today
    assert str(state) == f"{file}: 2 replies, {state.bytes:,} bytes, 2027-01-15 to 2027-01-15"
    assert f"cache {file}>" in repr(register)
    assert fk.sample(0).cache is None


def test_a_mirror_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a@b"
    fk.Mirror(folder, register=fk.sample(50)).sync()
    with fk.using(f"mirror:{folder}", lang="en") as mirror:
        assert (mirror.units.count(), mirror.lang) == (50, "en")
    monkeypatch.setenv("FINSTAT_KIT_URL", f"mirror:{folder}")
    fk.use(None)
    assert fk.units.count() == 50
    fk.use(None)


def test_a_served_mirror_is_the_mirror(tmp_path: Path) -> None:
    sample = fk.sample(50)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()
    with mirror.serve() as url, fk.using(url) as served:
        ids = served.units.ids()
        assert ids.equals(sample.units.ids())
        assert served.units.get(ids).equals(sample.units.get(ids))
        assert served.invented is True
