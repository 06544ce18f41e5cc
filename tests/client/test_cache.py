"""Replies that are kept in one file, and used until they change."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import parse_qsl

import polars as pl
import pytest
from hypothesis import HealthCheck, given, strategies as st

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http.routes import dated
from tests.support.examples import examples, slow
from tests.support.registers import Scripted
from tests.support.remote_sample import Behind, unchanged_ids

RECORD, LIST = "/api/uctovna-jednotka", "/api/uctovne-jednotky"
FILED = ("statements", "reports", "annual_reports")


class Amended(Behind):
    """A sample in which single records of any collection change, and their own list names them."""

    def __init__(self, sample: Sample) -> None:
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


class Dated(Behind):
    """A sample whose replies are dated some *days* after its own day, or not at all."""

    def __init__(self, sample: Sample, days: int | None) -> None:
        super().__init__(sample)
        self._days = days

    def _answer(self, method: str, path: str, query: str) -> Reply:
        reply = super()._answer(method, path, query)
        headers = {name: value for name, value in reply.headers.items() if name != "Date"}
        if self._days is not None:
            headers |= dated(self.sample.today + timedelta(days=self._days))
        return reply._replace(headers=headers)


@pytest.mark.parametrize("collection", ["units", *slow("statements", "reports", "annual_reports")])
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
    assert second.stats.from_cache == 51
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


@pytest.mark.slow
def test_changes_are_listed_once_per_call_from_the_day_before(behind: Behind, file: Path) -> None:
    ids = unchanged_ids(behind.sample, 1_000)
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


@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("day"), st.integers(0, 3)),
            st.tuples(st.sampled_from(["touch", "delete", "hide"]), st.integers(0, 7)),
            st.tuples(st.just("get"), st.sets(st.integers(0, 7), min_size=1)),
        ),
        max_size=14,
    )
)
def test_kept_records_are_those_of_the_register(tmp_path: Path, steps: list[Any]) -> None:
    """Whatever changed when: a record from the file is the record that the register has now."""
    behind = Behind(fk.sample(20))
    file = Path(mkdtemp(dir=tmp_path)) / "ruz.cache"
    ids = behind.sample.units.ids(limit=8)["id"].to_list()
    for step, value in steps:
        if step == "day":
            behind.sample.set_today(behind.sample.today + timedelta(days=value))
        elif step == "get":
            wanted = [ids[place] for place in sorted(value)]
            got = behind.register(cache=file).units.get(wanted)
            assert got.equals(behind.sample.units.get(wanted))
        else:
            getattr(behind.sample, step)(ids[value])


@pytest.mark.slow
@pytest.mark.parametrize("collection", FILED[:2])
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("day"), st.integers(0, 3)),
            st.tuples(st.sampled_from(["amend", "file", "correct", "hide"]), st.integers(0, 7)),
            st.tuples(st.just("get"), st.sets(st.integers(0, 7), min_size=1)),
        ),
        max_size=14,
    )
)
def test_kept_filings_are_those_of_the_register(
    tmp_path: Path, collection: str, steps: list[Any]
) -> None:
    """As with units; no filing of a sample changes unlisted, whatever is filed or corrected."""
    behind = Amended(fk.sample(20))
    sample, file = behind.sample, Path(mkdtemp(dir=tmp_path)) / "ruz.cache"
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
            wanted = [ids[place] for place in sorted(value)]
            found = (getattr(reg, collection).get(wanted) for reg in (kept, sent))
            assert next(found).equals(next(found))


def test_templates_are_kept_for_the_day(behind: Behind, file: Path) -> None:
    for _ in range(2):
        register = behind.register(cache=file)
        assert register.template(699).height == register.template(699).height > 0
        assert register.template().height > 0
        with pytest.raises(fk.errors.NotFound):
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
        done = register.reports.download(fk.reports.files(reports), folder)
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


def test_the_age_of_records_is_not_that_of_a_clock_that_was_set_back(
    behind: Behind, file: Path
) -> None:
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.time.now -= 60
    behind.sent()
    behind.register(cache=file, max_age="1h").units.get(ids)
    assert len(behind.sent(LIST)) == 1


@pytest.mark.parametrize(
    ("clock", "replies"), [(9, 0), (0, 9), (9, None), (-9, None)],
    ids=["our clock is ahead", "the register's clock is ahead", "no Date, our clock is ahead",
         "no Date, our clock is behind"],
)  # fmt: skip
def test_a_wrong_clock_hides_no_change(file: Path, clock: int, replies: int | None) -> None:
    """Of two days the earlier counts; where replies have none, our clock does not replace it."""
    behind = Dated(fk.sample(300), replies)
    true = datetime(2026, 6, 30, 12, tzinfo=UTC).timestamp() - behind.time.wall()
    behind.time.now = true + clock * 86_400
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.sample.set_today("2026-07-02")
    behind.sample.delete(ids[1])
    behind.time.now += 2 * 86_400

    frame = behind.register(cache=file).units.get(ids)

    assert frame.equals(behind.sample.units.get(ids))
    assert frame["stav"][1] == "ZMAZANÉ"


def test_records_of_unknown_age_count_as_requests(file: Path) -> None:
    """They are requested again, without a list of changes that could show nothing."""
    behind = Dated(fk.sample(300), None)
    ids = unchanged_ids(behind.sample)
    behind.register(cache=file).units.get(ids)
    behind.sent()
    with pytest.raises(fk.UsageError, match="this needs 5 requests"):
        behind.register(cache=file).units.get(ids, max_requests=4)
    behind.register(cache=file).units.get(ids)
    assert behind.sent() == [f"{RECORD}?id={id_}" for id_ in ids]
    behind.register(cache=file, max_age="1h").units.get(ids, max_requests=0)
    assert behind.sent() == []


def test_the_times_of_kept_replies_are_those_of_the_data(behind: Behind, file: Path) -> None:
    """The oldest and the newest reply used, in whatever order they were used."""
    times = []
    ids = unchanged_ids(behind.sample, 3)
    for id_ in ids:
        behind.register(cache=file).units.get(id_)
        times.append(behind.time.wall())
        behind.time.now += 500
    used = behind.register(cache=file, max_age="1d")
    for id_ in (ids[1], ids[2], ids[0], ids[1]):
        used.units.get(id_)
    assert (used.stats.first_reply, used.stats.last_reply) == (times[0], times[2])
    assert used.stats.requests == 0


def test_the_list_of_changes_is_read_up_to_the_last_record(file: Path) -> None:
    """A page that ends just before it leaves open whether it changed."""
    behind = Behind(fk.sample(300))
    ids = behind.sample.publish(6)["id"].to_list()
    assert ids == list(range(ids[0], ids[0] + 6))
    wanted = [ids[0], ids[5]]
    behind.register(cache=file).units.get(wanted)
    behind.sample.set_today("2026-07-02")
    behind.sample.delete(ids)
    behind.most = 5

    states = behind.register(cache=file).units.get(wanted)["stav"]

    assert states.to_list() == ["ZMAZANÉ", "ZMAZANÉ"]


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
        with pytest.raises(fk.errors.NotFound) as caught:
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
        Reply(404, {}, b"<h1>HTTP Status 404 - Not Found</h1>"),
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


def test_changed_records_count_as_requests_to_refuse(file: Path) -> None:
    """Their number is known once the changes are listed, before the first of them is fetched."""
    behind = Behind(fk.sample(30))
    ids = behind.sample.units.ids()["id"]
    behind.register(cache=file).units.get(ids)
    behind.sample.set_today("2026-07-02")
    behind.sample.touch(ids[:6])
    behind.sent()

    def fetch(most: int) -> pl.DataFrame:
        return behind.register(cache=file).units.get(ids, max_requests=most)

    with pytest.raises(fk.UsageError, match="this needs 6 requests"):
        fetch(5)
    assert behind.sent(RECORD) == []
    assert fetch(6).height == ids.len()
    assert len(behind.sent(RECORD)) == 6


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

    with pytest.raises(fk.UsageError, match="not of http://127"):
        Behind(behind.sample, "http://127.0.0.1:9").register(cache=file)


def test_a_file_of_a_real_host_is_not_anothers(file: Path) -> None:
    count = b'{"pocetZostavajucichId": 5}'
    Scripted(count, base_url="https://one.example", cache=file).units.count()
    with pytest.raises(fk.UsageError, match=r"of https://one\.example, not of https://two"):
        fk.Register("https://two.example", cache=file)
