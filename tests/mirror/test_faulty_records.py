"""One bad record delays only itself; an outage is one, and a budget bounds what is under way."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import TransportError
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.support.examples import slow
from tests.support.mirrors import RECORDS, assert_contents_in_step, assert_in_step
from tests.support.registers import Watched
from tests.support.syncs import day_of_filings, next_day

Bad = dict[str, set[int]]
DOWN: dict[str, Any] = {
    "500": Reply(500, {}, b""),
    "an outage page": Reply(200, {}, b"<p>Server je mimo prev"),
    "cut": TransportError("the connection was cut"),
}


def failing(register: Watched, bad: Callable[[str, int], bool], happens: Any) -> None:
    """Let the records of some ids fail for good."""
    names = {path: name for name, path in RECORDS.items()}

    def instead(path: str, query: str) -> Reply | None:
        if path not in names or not bad(names[path], int(query.removeprefix("id="))):
            return None
        if isinstance(happens, BaseException):
            raise happens
        return happens  # type: ignore[no-any-return]

    register.instead = instead


def places(ids: list[int], where: str) -> set[int]:
    middle = len(ids) // 2
    some = {"head": ids[:3], "tail": ids[-3:], "middle": ids[middle : middle + 3],
            "forty in a row": ids[5:45], "spread": ids[::2]}  # fmt: skip
    return {*some[where]}


@pytest.mark.parametrize(
    ("where", "happens"),
    [("forty in a row", "500"),
     *slow(("spread", "an outage page"), ("head", "500"), ("middle", "cut"), ("tail", "500"))],
)  # fmt: skip
def test_bad_units_delay_themselves_alone(tmp_path: Path, where: str, happens: str) -> None:
    """All others arrive in the first sync, what is bad is listed, and comes once it can be had."""
    register = Watched(fk.sample(60))
    bad = places(register.sample.units.ids()["id"].to_list(), where)
    failing(register, lambda name, id_: name == "units" and id_ in bad, DOWN[happens])
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    report = mirror.sync()

    assert report["unreadable"][0] == len(bad)
    assert {*mirror.unreadable()["id"]} == bad
    assert {*mirror.snapshot().collect()["id"]} == {*register.sample.units.ids()["id"]} - bad
    next_day(register)
    mirror.sync()
    failing(register, lambda name, id_: False, None)
    mirror.sync()
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reports", *slow("statements")])
def test_bad_contents_delay_themselves_alone(tmp_path: Path, name: str) -> None:
    """A hundred of them all over the list, neighbours among them."""
    register = Watched(fk.sample(5))
    ids = getattr(register.sample, name).ids()["id"].to_list()
    bad = {*random.Random(1).sample(ids, len(ids) // 3), *ids[-3:]}
    failing(register, lambda kind, id_: kind == name and id_ in bad, DOWN["500"])
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()

    unread = mirror.unreadable().filter(collection=name)["id"]
    assert {*unread} == bad
    assert mirror.holdings().filter(collection=name)["lacking"].item() == len(bad)
    failing(register, lambda kind, id_: False, None)
    day_of_filings(register)
    mirror.sync()
    assert_contents_in_step(mirror, register.sample)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("happens", "begins"), [("500", 0), *slow(("an outage page", 5), ("cut", 40), ("500", 40))]
)
def test_an_outage_is_no_fault_of_records(tmp_path: Path, happens: str, begins: int) -> None:
    """Before the first record, and after some: the sync ends soon, and marks none of them."""
    register = Watched(fk.sample(60))
    ids = register.sample.units.ids()["id"].to_list()
    seen: set[int] = set()

    def is_down(name: str, id_: int) -> bool:
        seen.add(id_)
        return len(seen) > begins

    failing(register, is_down, DOWN[happens])
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    with pytest.raises(fk.RegisterError, match="the next sync") as caught:
        mirror.sync()
    assert not isinstance(caught.value, fk.UsageError)
    assert len(seen) <= begins + 14  # three, and ten from all over the list
    failing(register, lambda name, id_: False, None)
    report = mirror.sync()

    assert report["unreadable"][0] == 0
    assert mirror.units.count() == len(ids)
    assert_in_step(mirror, register.sample)


@pytest.mark.parametrize("where", ["head", "spread", *slow("middle", "tail", "forty in a row")])
def test_get_keeps_what_cannot_be_had_as_a_row_of_nulls(where: str) -> None:
    """By the same rule; without it the error is raised, with what came before."""
    register = Watched(fk.sample(60))
    ids = register.sample.units.ids()["id"].to_list()
    bad = places(ids, where)
    failing(register, lambda name, id_: id_ in bad, DOWN["500"])
    records = register.units.get(ids, errors="keep")

    is_bad = pl.col("id").is_in(list(bad))
    expected = register.sample.units.get(ids)
    assert records["id"].to_list() == ids
    assert_frame_equal(records.filter(~is_bad), expected.filter(~is_bad))
    assert records.filter(is_bad)["nazovUJ"].null_count() == len(bad)
    with pytest.raises(fk.RegisterError) as caught:
        register.units.get(ids)
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == ids[: ids.index(min(bad))]


@pytest.mark.parametrize("number", [1, *slow(60)])
def test_get_of_a_register_that_is_down_is_an_error(number: int) -> None:
    """Of one id too: nulls would say that it has no record."""
    register = Watched(fk.sample(60))
    ids = register.sample.units.ids()["id"].to_list()[:number]
    failing(register, lambda name, id_: True, DOWN["500"])
    with pytest.raises(fk.RegisterError, match="500"):
        register.units.get(ids, errors="keep")


@pytest.mark.slow
@pytest.mark.parametrize("template", [2**31, *slow(2**62)])
def test_a_template_without_a_number_is_its_reports_reason(tmp_path: Path, template: int) -> None:
    """It ends no sync and no call about other reports."""
    sample = fk.sample(3)
    register, path = Watched(sample), RECORDS["reports"]
    reports = sample.reports.get(sample.reports.ids())
    odd = reports.filter(pl.col("idSablony") == 687)["id"][0]

    def instead(target: str, query: str) -> Reply | None:
        if target != path or query != f"id={odd}":
            return None
        reply = sample._answer("GET", target, query)
        record = json.loads(reply.body) | {"idSablony": template}
        return reply._replace(body=json.dumps(record).encode())

    register.instead = instead
    units = sample.units.ids()
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    of_register, expected = register.financials(units), sample.financials(units)
    differing = of_register.filter(
        pl.Series(a != b for a, b in zip(of_register.rows(), expected.rows(), strict=True))
    )

    assert differing["reason"].to_list() == ["unreadable"]
    assert mirror.unreadable()["id"].to_list() == [odd]
    assert_frame_equal(mirror.financials(units), of_register)
    others = [id_ for id_ in sample.reports.ids()["id"] if id_ != odd]
    assert_frame_equal(mirror.reports.get(others), sample.reports.get(others))


@pytest.mark.parametrize("target", ["/api/uctovne-zavierky", *slow(RECORDS["units"], "/api/kraje")])
def test_a_budget_bounds_what_is_under_way(tmp_path: Path, target: str) -> None:
    """Attempts and waits too, in lists, records and codelists; the next sync goes on."""
    register = Watched(fk.sample(30))
    clock = register._session.exchange.clock
    register.instead = lambda path, query: (
        Reply(503, {"Retry-After": "20"}, b"") if path == target else None
    )
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    began = clock()
    mirror.sync(budget=3)
    assert clock() - began < 4
    register.instead = lambda path, query: None
    mirror.sync()

    assert_in_step(mirror, register.sample)


# Templates


def corrected(register: Watched, change: Callable[[dict[str, Any]], object]) -> None:
    """Let the register correct its template 687 from now on."""

    def instead(path: str, query: str) -> Reply | None:
        if path != "/api/sablona" or query != "id=687":
            return None
        reply = register.sample._answer("GET", path, query)
        template = json.loads(reply.body)
        change(template)
        return reply._replace(body=json.dumps(template).encode())

    register.instead = instead


def with_other_captions(template: dict[str, Any]) -> None:
    for table in template["tabulky"]:
        for row in table["riadky"]:
            row["text"] = {"sk": "Iné " + row["text"]["sk"], "en": "Other"}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["a full sync", *slow("a month")])
def test_a_template_that_was_corrected_is_fetched_again(tmp_path: Path, way: str) -> None:
    """Figures then are those of the register; in a month, no report is requested for it."""
    register = Watched(fk.sample(4))
    units = register.sample.units.ids()
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    corrected(register, with_other_captions)
    expected = register.financials(units)
    next_day(register)
    mirror.sync()
    assert not mirror.financials(units).equals(expected)
    if way == "a month":
        register.sample.set_today(register.today + timedelta(days=30))
    register.asked.clear()
    mirror.sync(full=way == "a full sync")

    assert_frame_equal(mirror.financials(units), expected)
    requests = [target for target in register.asked if RECORDS["reports"] + "?" in target]
    assert not requests or way == "a full sync"


class Unusual(Watched):
    """A register of a template that the package does not know: 687 under another number."""

    number = 9_999

    def __init__(self) -> None:
        super().__init__(fk.sample(4))
        self.rows_left_out = 0
        self.has_it = False
        self.instead = self.other

    def other(self, path: str, query: str) -> Reply | None:
        if path == RECORDS["reports"]:
            reply = self.sample._answer("GET", path, query)
            record = json.loads(reply.body)
            if record.get("idSablony") == 687:
                record["idSablony"] = self.number
            return reply._replace(body=json.dumps(record).encode())
        if path == "/api/sablona" and query == f"id={self.number}":
            if not self.has_it:
                return Reply(404, {}, b"")
            reply = self.sample._answer("GET", path, "id=687")
            template = json.loads(reply.body) | {"id": self.number}
            table = template["tabulky"][0]
            table["riadky"] = table["riadky"][: len(table["riadky"]) - self.rows_left_out]
            return reply._replace(body=json.dumps(template).encode())
        return None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:some reports gave no number")
def test_cells_get_their_places_once_the_template_is_known(tmp_path: Path) -> None:
    """And lose them where it has other tables: its reports alone are requested again."""
    register = Unusual()
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync()
    ids = register.sample.reports.ids()
    records = register.reports.get(ids)
    of_template = records.filter(idSablony=Unusual.number)["id"].to_list()
    for has_it, rows_left_out in ((True, 0), (True, 1), (True, 0)):
        register.has_it, register.rows_left_out = has_it, rows_left_out
        register.sample.set_today(register.today + timedelta(days=31))
        register.asked.clear()
        mirror.sync()
        requests = [target for target in register.asked if RECORDS["reports"] + "?" in target]
        assert sorted(int(target.rpartition("=")[2]) for target in requests) == of_template
        placed = mirror.scan_cells().filter(template=Unusual.number).collect()
        live = fk.Register("live:", transport=InProcess(register._answer))
        expected = live.reports.cells(records).filter(pl.col("template") == Unusual.number)
        key = ["report_id", "table", "row", "column"]
        assert_frame_equal(placed.sort(key), expected.sort(key))
        assert placed.is_empty() == bool(rows_left_out)
        assert_frame_equal(mirror.reports.get(ids), records)
        filed = pl.read_parquet(mirror.files("reports")).filter(idSablony=Unusual.number)
        newest = filed.filter(pl.col("version") == pl.col("version").max())
        assert newest["filled"].is_null().all() == bool(rows_left_out)
    # Where a cell lies is no part of what was received.
    again = mirror.sync(full=True)
    assert again.filter(list="reports records")["changed"].to_list() == [0]
    assert set(mirror.verify()["meaning"]) == {""}
