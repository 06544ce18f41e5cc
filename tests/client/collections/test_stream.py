"""Records one by one: the same as in a frame, over several connections and from a mirror."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.collections.fetching import stream_records
from finstat_kit.protocol.records import KINDS, Record
from tests.support.examples import slow
from tests.support.remote_sample import Behind, unchanged_ids


def streamed(ids: list[int], register: fk.Register, name: str = "units") -> pl.DataFrame:
    kind = KINDS[name]
    stream = stream_records(
        name, pl.Series("id", ids), register._session, max_requests=None, progress=False, keep=False
    )
    return kind.frame([record for _, record in stream if isinstance(record, Record)])


@pytest.mark.slow
def test_several_connections_keep_the_order() -> None:
    """The records come in the order asked, those that repeat too."""
    sample = fk.sample(500)
    ids = sample.units.ids()["id"].reverse().to_list()
    ids += ids[:3]

    with sample.serve() as url, fk.Register(url, connections=4) as register:
        found = streamed(ids, register)
        requests = register.stats.requests

    assert found.equals(sample.units.get(ids))
    assert requests == len(ids) - 3


def test_a_mirror_needs_no_request(tmp_path: Path) -> None:
    """Records on disk need no request; an id without one is an error of that id alone."""
    mirror = fk.Mirror(tmp_path / "ruz", register=fk.sample(200))
    mirror.sync()
    ids = mirror.units.ids()["id"].to_list()

    found = streamed([*ids, 1, ids[0]], mirror)

    assert found.equals(mirror.units.get([*ids, ids[0]]))


@pytest.fixture(scope="module")
def with_contents(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror of a few units with all their filings."""
    folder = tmp_path_factory.mktemp("contents") / "ruz"
    mirror = fk.Mirror(folder, contents=True, register=fk.sample(8))
    mirror.sync()
    return mirror


@pytest.mark.parametrize("name", ["statements", *slow("units", "reports", "annual_reports")])
def test_a_mirror_streams_the_records_of_each_collection(
    name: str, with_contents: fk.Mirror
) -> None:
    """Title pages, tables and attachments too; an id without a record is an error of that id."""
    listed = getattr(with_contents, name)
    ids = listed.ids()["id"].reverse().to_list()

    found = streamed([*ids, 1, ids[0]], with_contents, name)

    assert ids
    assert found.equals(listed.get([*ids, ids[0]]))


def test_a_kept_record_that_changed_is_streamed_as_it_is_now(behind: Behind, file: Path) -> None:
    """Streamed records are those of a frame: what is kept is used until a list names it."""
    ids = unchanged_ids(behind.sample)
    with behind.register(cache=file) as register:
        streamed(ids, register)
    behind.sample.set_today("2026-08-01")
    behind.sample.delete(ids[1])
    behind.sent()

    with behind.register(cache=file) as register:
        found = streamed(ids, register)

    assert found.equals(behind.sample.units.get(ids))
    assert found["stav"][1] == "ZMAZANÉ"
    assert behind.sent("/api/uctovna-jednotka") == [f"/api/uctovna-jednotka?id={ids[1]}"]
