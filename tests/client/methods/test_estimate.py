"""Estimates through the client: what is drawn, for how long, and what is left after a fault."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import BadRequest, RegisterUnavailable
from finstat_kit.frames.counts import estimation
from finstat_kit.frames.counts.estimation import ESTIMATES
from finstat_kit.protocol.wire import BY_FIELD, Reply
from finstat_kit.transport.base import InProcess, Limits
from tests.support.clock import FakeClock
from tests.support.examples import quick, slow
from tests.support.faults import HANG, FaultServer, Step, reply
from tests.support.registers import Watched, timed
from tests.support.units import pooled

SAMPLE = fk.sample(1_200)
ALL = SAMPLE.units.ids()["id"]
FAR = "http://register.example"


class Paced(fk.Register):
    """A sample behind a clock that only waiting, and the *seconds* of each request, move.

    A path and query are answered by *instead*, where it returns or raises something.
    """

    def __init__(
        self,
        fake: FakeClock,
        *,
        sample: Sample = SAMPLE,
        seconds: float = 0.0,
        instead: Callable[[str, int], Reply | None] = lambda target, request: None,
        base_url: str = "paced:",
        **options: Any,
    ) -> None:
        self.asked: list[str] = []
        self._sample, self._seconds, self._instead, self._fake = sample, seconds, instead, fake
        settings = {"rate": 5, "page_size": 100, "connections": 1} | options
        super().__init__(base_url, transport=InProcess(self._answer, fake.timing()), **settings)

    def _answer(self, method: str, path: str, query: str) -> Reply:
        path = path[path.index("/api") :]  # behind the host, where there is one
        self.asked.append(f"{path}?{query}")
        self._fake.now += self._seconds
        found = self._instead(self.asked[-1], len(self.asked))
        return found or self._sample._answer(method, path, query)

    @property
    def today(self) -> date:
        return self._sample.today

    def records(self) -> list[int]:
        path = "/api/uctovna-jednotka?id="
        return [int(target.removeprefix(path)) for target in self.asked if path in target]


@pytest.fixture
def fake() -> FakeClock:
    return FakeClock()


def drawn(seed: int = 1) -> list[int]:
    return estimation.drawn(ALL, seed).to_list()


@pytest.mark.parametrize(
    ("by", "options"),
    [
        ("kraj", {"n": 1_200, "seed": 7}),
        *slow(("okres", {"n": 5_000}), ("skNace", {})),
    ],
)
def test_a_sample_of_all_is_the_count(by: Any, options: dict[str, Any]) -> None:
    """In process all records fit, and then the estimate is count_by, to the last bit."""
    with fk.using(SAMPLE) as reg:
        table = fk.estimate(by, lang="en", **options)
        known = pooled(fk.count_by(reg.units.get(ALL), by, lang="en"))

    assert table.schema == ESTIMATES
    assert table.filter(pl.col("count") > 0).select(known.columns).equals(known)
    assert table.select("n", "listed").unique().rows() == [(ALL.len(), ALL.len())]
    codelist = SAMPLE.codelist(BY_FIELD[by].name)
    assert set(codelist["code"]) == set(table.filter(kind="labelled")["code"])


def test_what_was_drawn_is_counted() -> None:
    """Of n records the shares are those of count_by over just these, and the order is fixed."""
    reg = Watched(SAMPLE)

    table = reg.estimate("okres", n=200, seed=3)

    assert reg.records() == drawn(3)[:200]
    known = pooled(SAMPLE.count_by(SAMPLE.units.get(drawn(3)[:200]), "okres"))
    assert table.filter(pl.col("share") > 0)["share"].to_list() == known["share"].to_list()
    assert (table["count_low"] <= table["count"]).all()
    assert (table["count"] <= table["count_high"]).all()
    assert (
        table.filter(kind="labelled", count=0)["count_high"].min()
        == (estimation.bounds(0, 200, ALL.len())[1])
    )


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    """So a run that was cut short is the beginning of the next one."""
    reg = Watched(SAMPLE)
    reg.estimate(n=40)
    reg.estimate(n=70)

    asked = reg.records()

    assert asked[:40] == asked[40:80] == drawn()[:40]
    assert asked[40:] == drawn()[:70]
    assert drawn(2)[:40] != drawn()[:40]


def test_a_part_of_the_units() -> None:
    """With changed_since the whole is what changed since then."""
    since = "2026-01-01"

    table = SAMPLE.estimate(changed_since=since, n=50)

    assert table["listed"][0] == SAMPLE.units.count(changed_since=since) > 50 == table["n"][0]


def test_every_kind_of_id_is_a_row() -> None:
    """Deleted, non-public, unknown and unreadable ids are counted, none is dropped."""
    sample = fk.sample(300)
    ids = sample.units.ids()["id"]
    sample.delete(ids[0])
    sample.hide(ids[1])
    reg = Watched(sample)
    broken = {int(ids[2]): Reply(404, {}, b"{}"), int(ids[3]): Reply(200, {}, b'{"id":1}')}
    broken[int(ids[4])] = Reply(200, {}, b"[]")
    reg.instead = lambda path, query: broken.get(
        int(query.removeprefix("id=")) if query.startswith("id=") else 0
    )

    table = reg.estimate()

    by_kind = dict(table.group_by("kind").agg(pl.col("count").sum()).iter_rows())
    assert by_kind["no record"] == 1
    assert by_kind["unreadable"] == 2
    assert by_kind["gone"] == sample.units.get(ids)["stav"].count() >= 2
    assert table["count"].sum() == ids.len() == table["listed"][0]
    kept = reg.count_by(reg.units.get(ids, errors="keep"), "kraj")
    without = table.filter(kind="labelled").filter(pl.col("count") > 0)
    assert without.select("code", "count").equals(
        kept.filter(kind="labelled").select("code", "count")
    )


@pytest.mark.parametrize("connections", [1, 4])
def test_as_many_as_fit(fake: FakeClock, connections: int) -> None:
    """At 5 requests per second a minute has 300 requests, those of the list among them."""
    reg = Paced(fake, connections=connections)

    table = reg.estimate(minutes=1)

    assert 295 <= len(reg.asked) <= 301
    assert fake.now <= 60.3
    listed = len(reg.asked) - len(reg.records()) - 1  # and one codelist
    assert listed == -(-ALL.len() // 100)
    n = table["n"][0]
    assert 200 < n <= len(reg.records()) <= n + 16
    assert set(drawn()[:n]) <= set(reg.records()) <= set(drawn()[: n + 16])


@pytest.mark.parametrize("connections", [1, 4])
def test_a_slow_register_is_stopped_at_the_time(fake: FakeClock, connections: int) -> None:
    """Where replies take longer than the rate allows for, fewer records are drawn, in order."""
    reg = Paced(fake, seconds=0.5, connections=connections)

    table = reg.estimate(minutes=1)

    assert fake.now <= 60 + 0.5 * connections
    n = table["n"][0]
    assert 0 < n <= len(reg.records()) <= n + 4 * connections
    known = SAMPLE.count_by(SAMPLE.units.get(drawn()[:n]), "kraj")
    assert table.filter(pl.col("share") > 0)["share"].to_list() == known["share"].to_list()


def test_a_wait_does_not_outlast_the_time(fake: FakeClock) -> None:
    """A register that asks for a pause is waited for until the time is over, and no longer."""

    def busy(target: str, request: int) -> Reply | None:
        return Reply(503, {"Retry-After": "100"}, b"") if request > 100 else None

    reg = Paced(fake, instead=busy)

    table = reg.estimate(minutes=1)

    assert 60 <= fake.now <= 60.5
    assert table["n"][0] == 100 - 12 - 1  # pages of the list, and a codelist


class Running(FakeClock):
    """A clock that runs forty times as fast as ours, once it is started."""

    started: float | None = None

    def clock(self) -> float:
        since = 0.0 if self.started is None else time.monotonic() - self.started
        return self.now + 40 * since


class Hanging(FaultServer):
    """Answers as a sample does, until the first request whose target holds a text: that hangs."""

    def __init__(self, text: str, clock: Running) -> None:
        super().__init__([])
        self._text, self._running = text, clock

    def _next(self, request: str) -> Sequence[Step]:
        super()._next(request)
        path, _, query = request.split(" ")[1].partition("?")
        if self._text in f"{path}?{query}":
            self._running.started = self._running.started or time.monotonic()
            return [HANG]
        return [reply(SAMPLE._answer("GET", path, query).body)]


@pytest.mark.parametrize(
    ("text", "connections", "progress"),
    [
        ("uctovne-jednotky?", 1, False),
        ("za-id=", 4, True),
        ("zostavajuce", 1, True),
        ("kraje", 4, False),
        ("?id=", 4, True),
        ("?id=", 1, False),
    ],
)
def test_a_register_that_hangs_is_not_waited_for_longer(
    text: str, connections: int, progress: bool
) -> None:
    """In the first page, a later one, a count, the codelist, or the records."""
    running = Running()
    with Hanging(text, running) as server:
        reg = timed(server.url, running, rate=50, connections=connections, page_size=500)
        began = running.clock()
        with contextlib.suppress(fk.UsageError):  # there was no time for a record
            reg.estimate(minutes=0.25, progress=progress)
        took = running.clock() - began
        reg.close()

    assert took < 100  # 15 seconds, and two of ours on a busy machine; a request takes up to 120


def test_no_attempt_may_take_longer_than_the_time_that_is_left(fake: FakeClock) -> None:
    """So that a connection that is not made, which nothing interrupts, is not waited for either."""
    left: list[float] = []

    class Noting(InProcess):
        def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
            left.append(began + 60 - limits.deadline)
            fake.now += 5
            return super().send(url, limits)

    reg = fk.Register(
        "noting:", connections=1, rate=5, page_size=500,
        transport=Noting(SAMPLE._answer, fake.timing()),
    )  # fmt: skip
    began = fake.now
    reg.estimate(minutes=1)

    assert len(left) > 10
    assert min(left) >= 0


def test_n_takes_the_time_that_it_takes(fake: FakeClock) -> None:
    """Given n, minutes do not count."""
    reg = Paced(fake)

    assert reg.estimate(minutes=0.01, n=500)["n"][0] == 500
    assert fake.now > 100


@pytest.mark.parametrize("seconds", [0.0, 3.0])
@pytest.mark.parametrize("connections", [1, 4])
def test_no_time_for_a_record(fake: FakeClock, seconds: float, connections: int) -> None:
    """Where the list alone takes all the time, the error says so when it is over."""
    reg = Paced(fake, seconds=seconds, connections=connections)

    with pytest.raises(
        fk.UsageError, match=r"minutes=0.03 is too short .* give more minutes, or n"
    ):
        reg.estimate(minutes=0.03)

    assert fake.now <= 1.81 + 2 * seconds * connections
    assert reg.records() == []


@pytest.fixture(scope="module")
def large() -> Sample:
    return fk.sample(40_000)


@pytest.mark.parametrize("options", [{"n": 10_001}, {"minutes": 60}, {"minutes": 1e6}])
def test_long_work_is_refused(fake: FakeClock, large: Sample, options: dict[str, Any]) -> None:
    """More than 10,000 records of a real host need a word; one count is all that is asked."""
    reg = Paced(fake, sample=large, base_url=FAR, page_size=10_000)

    with pytest.raises(
        fk.UsageError, match=r"^this needs [1-4].,... requests.*the limit is 10,000"
    ):
        reg.estimate(**options)

    assert len(reg.asked) == 1
    assert "zostavajuce-id" not in "".join(reg.asked[1:])
    assert reg.estimate(n=100)["n"][0] == 100


def test_more_is_allowed_by_a_word(fake: FakeClock) -> None:
    """max_requests= allows it, and where there are few ids nothing needs to be allowed."""
    few = Paced(fake, base_url=FAR, page_size=10_000, connections=1)
    assert few.estimate(n=20_000, changed_since="-29d")["n"][0] < 100
    with pytest.raises(fk.UsageError, match="max_requests=99: this needs"):
        few.estimate(n=100, max_requests=99)
    with pytest.raises(fk.UsageError, match="max_requests=99: this needs"):
        SAMPLE.estimate(max_requests=99)


@pytest.mark.slow
def test_ten_thousand_are_allowed_by_a_word(fake: FakeClock) -> None:
    """Every record that was allowed is drawn."""
    many = Paced(fake, sample=fk.sample(10_500), base_url=FAR, page_size=10_000)
    assert many.estimate(n=10_001, max_requests=10_001)["n"][0] == 10_001


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (KeyboardInterrupt(), fk.Interrupted),
        (Reply(200, {}, b"<html>Request Rejected</html>"), RegisterUnavailable),
        (Reply(400, {}, b"{}"), BadRequest),
    ],
    ids=["Ctrl-C", "blocked", "400"],
)
@pytest.mark.parametrize("connections", quick([1, 4], 1))
def test_what_was_fetched_is_not_lost(
    fake: FakeClock, fault: Any, error: type[BaseException], connections: int
) -> None:
    """Ctrl-C and faults of the register carry the estimate from the records before them."""
    last = drawn()[90]

    def faulty(target: str, request: int) -> Reply | None:
        if not target.endswith(f"?id={last}"):
            return None
        if isinstance(fault, BaseException):
            raise fault
        return fault  # type: ignore[no-any-return]

    reg = Paced(fake, instead=faulty, connections=connections, rate=None)

    with pytest.raises(error) as caught:
        reg.estimate(n=500)

    partial = caught.value.partial  # type: ignore[attr-defined]
    assert partial.equals(SAMPLE.estimate(n=90))
    if error is fk.Interrupted:
        assert "90 of 500 records" in str(caught.value)


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), Reply(400, {}, b"")], ids=["Ctrl-C", "400"])
@pytest.mark.parametrize("request_", [2, 14])
def test_a_fault_before_the_first_record(fake: FakeClock, fault: Any, request_: int) -> None:
    """While ids are listed, and at the first record, there is no estimate yet, nor a cursor."""

    def faulty(target: str, request: int) -> Reply | None:
        if request != request_:
            return None
        if isinstance(fault, BaseException):
            raise fault
        return fault  # type: ignore[no-any-return]

    reg = Paced(fake, instead=faulty)

    with pytest.raises((fk.Interrupted, BadRequest)) as caught:
        reg.estimate()

    assert vars(caught.value)["partial"] is None
    assert vars(caught.value)["cursor"] is None
    assert len(reg.asked) == request_


@pytest.mark.slow
def test_over_http(fake: FakeClock) -> None:
    """By URL, over real connections and with a clock of the test's own."""
    with SAMPLE.serve() as url:
        with timed(url, fake, rate=5, connections=4, page_size=1_000) as reg:
            table = reg.estimate("okres", minutes=1, lang="en")
            requests = reg.stats.requests

    assert 290 <= requests <= 300
    assert fake.now <= 60.5
    assert table.equals(SAMPLE.estimate("okres", n=table["n"][0], lang="en"))


@pytest.mark.slow
def test_from_a_mirror(tmp_path: Path) -> None:
    """A mirror needs no requests: all records fit, and a part answers for itself alone."""
    source = fk.sample(200)
    mirror = fk.Mirror(tmp_path / "ruz", register=source)
    mirror.sync()

    known = mirror.count_by(mirror.units.get(mirror.units.ids()), "kraj")

    table = mirror.estimate()
    assert table.filter(pl.col("count") > 0).select(known.columns).equals(known)
    assert mirror.estimate(n=50).equals(source.estimate(n=50))
    part = fk.Mirror(tmp_path / "part", register=source, changed_since="2026-01-01")
    part.sync()
    with pytest.raises(fk.UsageError, match="this mirror holds what changed since 2026-01-01"):
        part.estimate()
    assert part.estimate(changed_since="2026-01-01")["listed"][0] > 0


def test_nothing_to_draw_from() -> None:
    """An empty list has no shares, and its counts are 0 without a doubt."""
    table = fk.sample(0).estimate()

    assert table.schema == ESTIMATES
    assert table["share"].null_count() == table.height == 10 + 5
    assert table.select("count", "count_low", "count_high").unique().rows() == [(0, 0, 0)]


def test_bars(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids and records have a bar each, with the time left."""
    SAMPLE.estimate(n=30)
    assert capsys.readouterr() == ("", "")
    SAMPLE.estimate(n=30, progress=True)

    shown = capsys.readouterr().err
    assert "30/30" in shown
    assert "records" in shown
    assert "ids" in shown


estimate: Mapping[str, Any] = {
    "by": {"by": "regions"},
    "a list": {"by": ["kraj"]},
    "a frame": {"by": pl.DataFrame({"kraj": ["SK010"]})},
    "minutes": {"minutes": 0},
    "negative": {"minutes": -1},
    "true": {"minutes": True},
    "text": {"minutes": "10"},
    "nan": {"minutes": float("nan")},
    "for ever": {"minutes": float("inf")},
    "n": {"n": 0},
    "n true": {"n": True},
    "n float": {"n": 10.5},
    "seed": {"seed": -1},
    "max_requests": {"n": 1, "max_requests": -1},
    "changed_since": {"changed_since": "1.7.2026"},
    "lang": {"lang": "de"},
}


@pytest.mark.parametrize("options", estimate.values(), ids=estimate)
def test_wrong_arguments(fake: FakeClock, options: dict[str, Any]) -> None:
    """Named with value and cure, before any request."""
    reg = Paced(fake)
    name = next(reversed(options))

    with pytest.raises(fk.UsageError, match=rf"{name}=[\s\S]*give"):
        reg.estimate(**options)

    assert reg.asked == []


def test_a_misspelt_argument_has_a_cure() -> None:
    """As on the collections."""
    call: Any = partial(SAMPLE.estimate, "kraj")
    with pytest.raises(fk.UsageError, match="did you mean 'changed_since'"):
        call(since="2026-01-01")
    with pytest.raises(fk.UsageError, match="takes its arguments by name"):
        call(10)
