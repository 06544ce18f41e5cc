"""Records of statements, reports and annual reports: as those of units in everything."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.protocol.wire import Reply
from tests.support.registers import Scripted, Watched

ID = pl.col("id")
OTHERS = [name for name in KINDS if name != "units"]
SAMPLE = fk.sample(400, seed=6)
LIVE = fk.Register("http://register.example")


def some(collection: str, count: int = 40) -> list[int]:
    ids: list[int] = getattr(SAMPLE, collection).ids()["id"].sample(count, seed=3).to_list()
    return ids


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with SAMPLE.serve() as url:
        yield url


@pytest.mark.parametrize("verb", ["get", "scan"])
def test_signatures_are_those_of_units(verb: str) -> None:
    """The same arguments with the same defaults, and the same result."""
    mine = inspect.signature(getattr(SAMPLE.reports, verb))

    assert str(mine) == str(inspect.signature(getattr(SAMPLE.units, verb)))


@pytest.mark.parametrize("connections", [1, 8])
@pytest.mark.parametrize("collection", OTHERS)
def test_by_url_and_in_process(collection: str, connections: int, url: str) -> None:
    """The same rows in the order asked, over any number of connections."""
    ids = some(collection)
    ids += ids[:5]
    with fk.Register(url, connections=connections) as reg:
        found = getattr(reg, collection).get(ids)
        requests = reg.stats.requests

    assert found["id"].to_list() == ids
    assert found.schema == KINDS[collection].schema
    assert_frame_equal(found, getattr(SAMPLE, collection).get(ids))
    assert requests == len(ids) - 5


@pytest.mark.parametrize("collection", OTHERS)
def test_ids_without_a_record(collection: str) -> None:
    """All others are fetched first; then the unknown ones are named. Kept, they are ids alone."""
    first, second = some(collection, 2)
    records = getattr(SAMPLE, collection)

    with pytest.raises(fk.NotFound, match="1 of 3 ids have no record") as caught:
        records.get([first, 2**40, second])
    kept = records.get([first, 2**40, second], errors="keep")

    assert caught.value.ids == [2**40]
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [first, second]
    assert kept["id"].to_list() == [first, 2**40, second]
    assert kept[1].drop("id").null_count().row(0) == (1,) * (kept.width - 1)
    assert records.get([]).schema == KINDS[collection].schema


@pytest.mark.parametrize("collection", OTHERS)
def test_a_broken_record_keeps_what_came_before(collection: str) -> None:
    """It is named with id, field and value; the rows before it are in the error."""
    answers = [b'{"id":6}', b'{"id":7,"stav":5}']
    with pytest.raises(fk.ProtocolError, match=r"id 7: \$\.stav: expected a text, got 5") as caught:
        getattr(Scripted(*answers), collection).get([6, 7])
    kept = getattr(Scripted(*answers), collection).get([6, 7], errors="keep")

    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [6]
    assert kept["id"].to_list() == [6, 7]


@pytest.mark.parametrize("collection", OTHERS)
def test_interrupted(collection: str) -> None:
    """Ctrl-C keeps the rows so far."""
    reg = Scripted(b'{"id":6}', KeyboardInterrupt())

    with pytest.raises(fk.Interrupted, match="1 of 2 records") as caught:
        getattr(reg, collection).get([6, 7])

    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [6]


@pytest.mark.parametrize("collection", OTHERS)
def test_long_work_is_refused(collection: str) -> None:
    """More than 10,000 requests to a real host, or a scan of everything, before the first one."""
    records = getattr(LIVE, collection)
    with pytest.raises(fk.UsageError, match=re.escape("10,001 requests")):
        records.get(range(1, 10_002))
    with pytest.raises(fk.UsageError, match="2 requests"):
        records.get([1, 2], max_requests=1)
    name = collection.replace("_", " ").removesuffix("s")
    with pytest.raises((fk.UsageError, pl.exceptions.ComputeError), match=f"every {name}"):
        records.scan().filter(pl.col("stav").is_null()).collect()

    assert LIVE.stats.requests == 0


@pytest.mark.parametrize("collection", OTHERS)
def test_scan(collection: str) -> None:
    """The rows of `get`, by ascending id, with cursor, end and change date pushed down."""
    records = getattr(SAMPLE, collection)
    ids = records.ids()["id"]
    low, high = ids[20], ids[60]

    part = records.scan().filter(low < ID, high >= ID)

    assert_frame_equal(part.collect(), records.get(ids[21:61]))
    day = pl.col("datumPoslednejUpravy")
    late = records.scan().filter(day >= pl.date(2026, 5, 1)).collect()
    assert late["id"].equals(records.ids(changed_since="2026-05-01")["id"])
    assert records.scan().head(7).collect()["id"].equals(ids[:7])


def requests_of(collection: str, query: Any) -> tuple[int, int]:
    """Return how many pages and how many records a query asks for."""
    reg = Watched(SAMPLE)
    query(getattr(reg, collection).scan()).collect()
    records = sum("?id=" in target for target in reg.asked)
    return len(reg.asked) - records, records


@pytest.mark.parametrize("collection", OTHERS)
def test_what_a_scan_asks(collection: str) -> None:
    """Ids alone need no record; of records only those in the range are asked for."""
    ids = getattr(SAMPLE, collection).ids()["id"]

    assert requests_of(collection, lambda f: f.select("id")) == (1, 0)
    assert requests_of(collection, lambda f: f.filter(ID.is_between(ids[3], ids[9]))) == (1, 7)
    assert requests_of(collection, lambda f: f.head(3)) == (1, 3)


def test_a_scan_that_fails_has_its_rows() -> None:
    """The cursor too; the error is ours."""
    reg = Watched(SAMPLE)
    ids = reg.reports.ids()["id"].to_list()
    reg.instead = lambda path, query: Reply(403, {}, b"") if query == f"id={ids[50]}" else None

    with pytest.raises(fk.RegisterUnavailable) as caught:
        reg.reports.scan().select("id", "idSablony").collect(engine="in-memory")

    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == ids[:50]
    assert caught.value.cursor == ids[49]


def test_from_unit_to_tables() -> None:
    """The ids in one record lead to the next."""
    units = SAMPLE.units.get(SAMPLE.units.ids()).drop_nulls("idUctovnychZavierok")
    unit, owned = units.select("id", "idUctovnychZavierok").row(0)

    statements = SAMPLE.statements.get(owned)
    reports = SAMPLE.reports.get(statements["idUctovnychVykazov"].drop_nulls().explode())

    assert set(statements["idUJ"].drop_nulls()) == {unit}
    assert set(reports["idUctovnejZavierky"].drop_nulls()) <= set(owned)
    assert reports["tabulky"].drop_nulls().len() > 0
