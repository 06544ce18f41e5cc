"""Estimates through the client: what is drawn, and what is left after a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import BadRequest, RegisterUnavailable
from finstat_kit.frames.counts import estimation
from finstat_kit.frames.counts.estimation import ESTIMATES
from finstat_kit.protocol.wire import BY_FIELD, Reply
from finstat_kit.transport.base import InProcess
from tests.support.examples import quick, slow
from tests.support.registers import Watched
from tests.support.units import pooled

SAMPLE = fk.sample(1_200)
ALL = SAMPLE.units.ids()["id"]
FAR = "http://register.example"


class Noting(fk.Register):
    """A sample whose requests are noted; *instead* answers one where it returns or raises."""

    def __init__(
        self,
        *,
        instead: Callable[[str, int], Reply | None] = lambda target, request: None,
        base_url: str = "paced:",
        **options: Any,
    ) -> None:
        self.asked: list[str] = []
        self._instead = instead
        settings = {"page_size": 100, "connections": 1, "rate": None} | options
        super().__init__(base_url, transport=InProcess(self._answer), **settings)

    def _answer(self, method: str, path: str, query: str) -> Reply:
        path = path[path.index("/api") :]  # behind the host, where there is one
        self.asked.append(f"{path}?{query}")
        found = self._instead(self.asked[-1], len(self.asked))
        return found or SAMPLE._answer(method, path, query)

    @property
    def today(self) -> date:
        return SAMPLE.today


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
    """Then the estimate is count_by, to the last bit."""
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
    assert by_kind["no record"] == 3
    assert by_kind["gone"] == sample.units.get(ids)["stav"].count() >= 2
    assert table["count"].sum() == ids.len() == table["listed"][0]
    kept = reg.count_by(reg.units.get(ids, errors="keep"), "kraj")
    without = table.filter(kind="labelled").filter(pl.col("count") > 0)
    assert without.select("code", "count").equals(
        kept.filter(kind="labelled").select("code", "count")
    )


def test_long_work_is_refused() -> None:
    """More than 10,000 records of a real host need a word; nothing is asked."""
    reg = Noting(base_url=FAR, page_size=10_000)

    with pytest.raises(
        fk.UsageError, match=r"^this needs 10,001 requests.*the limit is 10,000.*max_requests=10001"
    ):
        reg.estimate(n=10_001)

    assert reg.asked == []
    assert reg.estimate(n=100)["n"][0] == 100


def test_more_is_allowed_by_a_word() -> None:
    """max_requests= allows it."""
    few = Noting(base_url=FAR, page_size=10_000)
    assert few.estimate(n=20_000, max_requests=20_000)["n"][0] == 1_200
    with pytest.raises(fk.UsageError, match="max_requests=99: this needs 100 requests"):
        few.estimate(n=100, max_requests=99)


def test_a_recorded_estimate_is_replayed(tmp_path: Path) -> None:
    """It has no clock: the same records are drawn again, without a request."""
    file = tmp_path / "ruz.cache"
    with fk.using("sample", cache=file) as recorded:
        known = recorded.estimate(n=30)
        recorded.close()

    with fk.using(f"cache:{file}") as replayed:
        assert replayed.estimate(n=30).equals(known)
        assert replayed.stats.requests == 0


def failing_after(number: int, fault: Reply | BaseException) -> Callable[[str, int], Reply | None]:
    """Return what answers the record drawn after a number of others with a fault."""
    last = drawn()[number]

    def faulty(target: str, request: int) -> Reply | None:
        return fallen(fault) if target.endswith(f"?id={last}") else None

    return faulty


def fallen(fault: Reply | BaseException) -> Reply:
    if isinstance(fault, BaseException):
        raise fault
    return fault


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Reply(200, {}, b"<html>Request Rejected</html>"), RegisterUnavailable),
        (Reply(400, {}, b"{}"), BadRequest),
        (KeyboardInterrupt(), fk.errors.Interrupted),
    ],
    ids=["blocked", "400", "Ctrl-C"],
)
@pytest.mark.parametrize("connections", quick([1, 4], 1))
def test_what_was_fetched_is_not_lost(
    fault: Reply | BaseException, error: type[BaseException], connections: int
) -> None:
    """Faults of the register and Ctrl-C carry the records before them."""
    reg = Noting(instead=failing_after(90, fault), connections=connections)

    with pytest.raises(error) as caught:
        reg.estimate(n=500)

    records = vars(caught.value)["partial"]
    assert records.height == 90
    assert records.columns == SAMPLE.units.get([]).columns


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), Reply(400, {}, b"")], ids=["Ctrl-C", "400"])
@pytest.mark.parametrize("request_", [2, 13, 14])
def test_a_fault_before_the_first_record(fault: Reply | BaseException, request_: int) -> None:
    """While ids or codes are listed, and at the first record: no rows, nor a cursor."""

    def faulty(target: str, request: int) -> Reply | None:
        return fallen(fault) if request == request_ else None

    reg = Noting(instead=faulty)

    with pytest.raises((fk.errors.Interrupted, BadRequest)) as caught:
        reg.estimate()

    records = vars(caught.value)["partial"]
    assert records is None or records.is_empty()
    assert vars(caught.value)["cursor"] is None
    assert len(reg.asked) == request_


@pytest.mark.slow
def test_over_http() -> None:
    """By URL, over real connections."""
    with SAMPLE.serve() as url, fk.Register(url, connections=4, page_size=1_000) as reg:
        table = reg.estimate("okres", n=200, lang="en")
    assert table.equals(SAMPLE.estimate("okres", n=200, lang="en"))


@pytest.mark.slow
def test_from_a_mirror(tmp_path: Path) -> None:
    """A mirror needs no requests."""
    source = fk.sample(200)
    mirror = fk.Mirror(tmp_path / "ruz", register=source)
    mirror.sync()

    known = mirror.count_by(mirror.units.get(mirror.units.ids()), "kraj")

    table = mirror.estimate()
    assert table.filter(pl.col("count") > 0).select(known.columns).equals(known)
    assert mirror.estimate(n=50).equals(source.estimate(n=50))


def test_nothing_to_draw_from() -> None:
    """An empty list has no shares, and its counts are 0 without a doubt."""
    table = fk.sample(0).estimate()

    assert table.schema == ESTIMATES
    assert table["share"].null_count() == table.height == 10 + 4
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
    "n": {"n": 0},
    "n true": {"n": True},
    "n float": {"n": 10.5},
    "seed": {"seed": -1},
    "max_requests": {"n": 1, "max_requests": -1},
    "changed_since": {"changed_since": "1.7.2026"},
    "lang": {"lang": "de"},
}


@pytest.mark.parametrize("options", estimate.values(), ids=estimate)
def test_wrong_arguments(options: dict[str, Any]) -> None:
    """Named with value and cure, before any request."""
    reg = Noting()
    name = next(reversed(options))

    with pytest.raises(fk.UsageError, match=rf"{name}=[\s\S]*give"):
        reg.estimate(**options)

    assert reg.asked == []


def test_a_misspelt_argument_has_a_cure() -> None:
    """As on the collections."""
    call: Any = partial(SAMPLE.estimate, "kraj")
    with pytest.raises(fk.UsageError, match=r"'change_since'; it takes .*'changed_since'"):
        call(change_since="2026-01-01")
    with pytest.raises(fk.UsageError, match="too many positional arguments; it takes"):
        call(10)
