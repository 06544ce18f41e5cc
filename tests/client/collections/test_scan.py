"""LazyFrames of a sample: the rows of the full frame; over requests they are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.protocol.records import KINDS
from tests.support.examples import examples, quick
from tests.support.registers import Watched

ID, DAY = pl.col("id"), pl.col("datumPoslednejUpravy")


def small() -> Sample:
    """Thirty units, some of them gone, with a few values that repeat."""
    sample = fk.sample(30, seed=4)
    ids = sample.units.ids()["id"]
    sample.publish(3, ico="00000007", dic="2020202020", pravnaForma="112", on="2026-06-20")
    sample.publish(2, ico="00000007", pravnaForma="121")
    sample.delete(ids[3])
    sample.hide(ids[7])
    return sample


REG = small()
FULL = REG.units.get(REG.units.ids())
IDS: list[int] = FULL["id"].to_list()

id_values = st.sampled_from(IDS) | st.integers(-5, 3_000_000)
day_values = st.sampled_from(FULL["datumPoslednejUpravy"].to_list()) | st.dates(
    date(1999, 1, 1), date(2030, 1, 1)
)
terms = st.one_of(
    st.builds(lambda v: v < ID, id_values),
    st.builds(lambda v: v == ID, id_values),
    st.builds(lambda v: ID.is_in(v), st.lists(id_values, max_size=4)),
    st.builds(lambda v: v <= DAY, day_values),
    st.builds(lambda v: pl.col("kraj") == v, st.sampled_from(["SK010", "SK031"])),
    st.just(pl.col("stav").is_null()),
)
predicates = st.recursive(
    terms,
    lambda inner: (
        st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
        | st.builds(lambda a: ~a, inner)
    ),
    max_leaves=5,
)
Step = Callable[[pl.LazyFrame], pl.LazyFrame]
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda p: lambda f: f.filter(p), predicates),
    st.builds(lambda n: lambda f: f.head(n), st.integers(0, 40)),
    st.builds(lambda n: lambda f: f.tail(n), st.integers(0, 40)),
    st.builds(lambda a, n: lambda f: f.slice(a, n), st.integers(0, 20), st.integers(0, 20)),
)


@pytest.mark.filterwarnings("ignore:.* lies after the register")
@examples(60)
@given(
    st.lists(steps, max_size=3),
    st.sampled_from([None, ["id"], ["kraj", "id"], ["ico"], ["idUctovnychZavierok", "stav"]]),
    st.sampled_from(["in-memory", "streaming"]),
    st.none() | day_values,
)
def test_a_scan_equals_the_full_frame(
    chain: list[Step], columns: list[str] | None, engine: Any, since: date | None
) -> None:
    """For random queries, over both engines: the rows are those of the whole frame."""
    full = FULL.lazy() if since is None else FULL.lazy().filter(since <= DAY)
    scan = REG.units.scan(changed_since=since)
    for step in chain:
        full, scan = step(full), step(scan)
    if columns is not None:
        full, scan = full.select(columns), scan.select(columns)

    assert_frame_equal(scan.collect(engine=engine), full.collect())


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_rows_are_counted_before_the_predicate(engine: Any) -> None:
    """A filter behind head(n) filters those n rows, it does not choose others."""
    scan = REG.units.scan().head(10).filter(IDS[5] < ID).collect(engine=engine)

    assert scan["id"].to_list() == IDS[6:10]


def test_filters_by_id_and_head_come_before_the_records() -> None:
    """Only the records that they leave are read."""
    queries: list[tuple[int, Step]] = [
        (3, lambda scan: scan.head(3)),
        (2, lambda scan: scan.filter(ID.is_in(IDS[3:5]))),
        (len(IDS) - 6, lambda scan: scan.filter(IDS[5] < ID, pl.col("id").is_not_null())),
    ]
    for number, query in queries:
        before = REG.stats.requests
        rows = query(REG.units.scan()).collect()
        assert (rows.height, REG.stats.requests - before) == (number, number + 1)


@pytest.mark.parametrize("name", ["units", "reports"])
def test_a_scan_over_requests_is_refused_with_the_cure(tmp_path: Path, name: str) -> None:
    """A real host, a served sample, a cache and its replay; before the first request."""
    cure = (
        "a scan needs all records at hand, as a mirror or a sample has them; this register takes "
        f"a request for each; fetch those you need, fk.{name}.get(fk.{name}.ids(changed_since=…)), "
        "or keep a copy: fk.Mirror('ruz').sync()"
    )
    file = tmp_path / "ruz.cache"
    with small().serve() as url, fk.Register(url) as served:
        with fk.using("sample", cache=file) as cached:
            cached.units.count()
            sent = cached.stats.requests
            with fk.using(f"cache:{file}") as replayed:
                for reg in (served, cached, replayed, fk.Register(fk.LIVE), Watched(small())):
                    with pytest.raises(fk.UsageError) as refused:
                        getattr(reg, name).scan()
                    assert str(refused.value) == cure
                    assert reg.stats.requests == (sent if reg is cached else 0)


def test_a_scan_has_the_columns_of_the_records() -> None:
    """A scan has the columns of the records, in every collection, also where there are none."""
    for name, kind in KINDS.items():
        collection = getattr(REG, name)
        assert collection.scan().collect_schema() == kind.schema
        assert_frame_equal(collection.scan().collect(), collection.get(collection.ids()))
    with pytest.warns(UserWarning, match="2030-01-01"):
        scan = REG.reports.scan(changed_since="2030-01-01")
    assert scan.collect().schema == KINDS["reports"].schema


def test_a_scan_can_be_pickled() -> None:
    """Another process makes the sample again; a mirror is opened there."""
    reg = fk.sample(30, seed=4)
    query = reg.units.scan().filter(ID.is_in(reg.units.ids(limit=5)["id"].implode()))

    again = pickle.loads(pickle.dumps(query))

    assert_frame_equal(again.collect(), query.collect())


def test_a_scan_asks_the_register_of_its_call() -> None:
    """Whichever is current when it is collected."""
    few, many = fk.sample(10), fk.sample(20)
    with fk.using(few):
        ids, units = fk.statements.scan(), fk.units.scan()
    with fk.using(many):
        assert ids.select("id").collect().height == few.statements.count()
        assert units.select("id").collect().height == 10
        assert units.collect().height == 10
    assert units.collect().height == 10


QUERIES: list[Callable[[pl.LazyFrame, Path], object]] = [
    lambda f, file: f.collect(engine="in-memory"),
    lambda f, file: f.collect(engine="streaming"),
    lambda f, file: f.group_by("kraj").agg(pl.col("ico").first()).collect(),
    lambda f, file: f.sql("SELECT kraj FROM self ORDER BY kraj").collect(),
    lambda f, file: f.join(REG.units.scan(), on="id").collect(),
    lambda f, file: REG.units.scan().join(f, on="id").collect(),
    lambda f, file: pl.collect_all([f, REG.units.scan()]),
    lambda f, file: list(f.collect_batches()),
    lambda f, file: f.sink_parquet(file),
]


@pytest.mark.parametrize("query", quick(QUERIES))
def test_any_query_of_a_scan_ends_with_our_error(
    query: Callable[[pl.LazyFrame, Path], object], tmp_path: Path
) -> None:
    """As it was raised: of a unit that has vanished since the scan was made."""
    reg = small()
    scan = reg.units.scan()
    reg.vanish(IDS[20])

    with pytest.raises(fk.errors.NotFound) as caught:
        query(scan, tmp_path / "units")

    assert caught.value.ids == [IDS[20]]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_filter_may_be_a_function_of_python(engine: Any) -> None:
    """The rows are those of the whole frame."""
    odd = ID.map_batches(lambda ids: ids % 2 == 1, return_dtype=pl.Boolean, is_elementwise=True)

    rows = REG.units.scan().filter(odd, pl.col("kraj") == "SK010").collect(engine=engine)

    assert rows.height
    assert_frame_equal(rows, FULL.filter(odd, pl.col("kraj") == "SK010"))


def test_scans_can_be_joined_with_each_other_and_with_other_frames() -> None:
    """Scans of one collection, of several, and of several registers."""
    units, statements = REG.units.scan(), REG.statements.scan()
    some = pl.LazyFrame({"id": IDS[:3]})

    with_statements = units.join(statements, left_on="id", right_on="idUJ").collect()

    assert with_statements["id"].unique().is_in(IDS).all()
    assert with_statements.height > 0
    assert units.join(small().units.scan(), on="id", how="semi").collect().height == len(IDS)
    assert units.join(some, on="id").collect()["id"].sort().to_list() == IDS[:3]
    assert some.join(units, on="id").collect()["id"].sort().to_list() == IDS[:3]
