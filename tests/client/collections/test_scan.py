"""LazyFrames over the register: the same rows as the full frame, fewer requests."""

from __future__ import annotations

import re
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
from finstat_kit.errors import RegisterUnavailable
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from tests.support.examples import examples, quick, slow
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
    st.builds(lambda v: v <= ID, id_values),
    st.builds(lambda v: v > ID, id_values),
    st.builds(lambda v: v >= ID, id_values),
    st.builds(lambda v: v == ID, id_values),
    st.builds(lambda v: v != ID, id_values),
    st.builds(lambda v: ID.is_in(v), st.lists(id_values, max_size=4)),
    st.builds(lambda v: ID.is_in(pl.Series(v, dtype=pl.Int64).implode()), st.lists(id_values, max_size=2)),
    st.builds(
        lambda a, b, closed: ID.is_between(a, b, closed=closed),
        id_values, id_values, st.sampled_from(["both", "left", "right", "none"]),
    ),
    st.builds(lambda v: v <= DAY, day_values),
    st.builds(lambda v: v < DAY, day_values),
    st.builds(lambda v: v > DAY, day_values),
    st.builds(lambda v: v == DAY, day_values),
    st.builds(lambda v: pl.col("ico") == v, st.sampled_from(["00000007", "7", "x", ""])),
    st.builds(lambda v: pl.col("dic") == v, st.sampled_from(["2020202020", "0020202020", "1"])),
    st.builds(lambda v: pl.col("pravnaForma") == v, st.sampled_from(["112", "121", "Spol."])),
    st.builds(lambda v: pl.col("kraj") == v, st.sampled_from(["SK010", "SK031"])),
    st.builds(lambda v: pl.col("kraj").is_in(v), st.just(["SK010", "SK021"])),
    st.just(pl.col("stav").is_null()),
    st.just(pl.col("ico").str.starts_with("0")),
)  # fmt: skip
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
@examples(150)
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


def asked(query: Step) -> list[str]:
    """Return the requests that a query sends, records summed up as a number."""
    reg = Watched(small())
    query(reg.units.scan()).collect()
    lists = [t.removeprefix("/api/uctovne-jednotky?") for t in reg.asked if "jednotky" in t]
    return [*lists, f"{len(reg.asked) - len(lists)} records"]


A, B, LAST = IDS[10], IDS[20], IDS[-1]
ALL = "zmenene-od=2000-01-01"


@pytest.mark.parametrize(
    ("query", "requests"),
    quick([
        (lambda f: f.select("id"), [f"{ALL}&max-zaznamov=10000", "0 records"]),
        (lambda f: f.head(3), [f"{ALL}&max-zaznamov=3", "3 records"]),
        (lambda f: f.select("id").head(3), [f"{ALL}&max-zaznamov=3", "0 records"]),
        (lambda f: f.filter(ID > A).select("id"), [f"{ALL}&max-zaznamov=10000&pokracovat-za-id={A}", "0 records"]),
        (lambda f: f.filter(ID == A), [f"{ALL}&max-zaznamov=1&pokracovat-za-id={A - 1}", "1 records"]),
        (lambda f: f.filter(ID.is_between(A, B)), [f"{ALL}&max-zaznamov=10000&pokracovat-za-id={A - 1}", "11 records"]),
        (lambda f: f.filter(IDS[2] > ID), [f"{ALL}&max-zaznamov=10000", "2 records"]),
        (lambda f: f.filter(ID.is_in([])), ["0 records"]),
        (lambda f: f.filter(ID != A), [f"{ALL}&max-zaznamov=10000", "34 records"]),
        (lambda f: f.filter(~ID.is_in([A, B, 0])), [f"{ALL}&max-zaznamov=10000", "33 records"]),
        (lambda f: f.filter(ID.is_in([B, A])), [f"{ALL}&max-zaznamov=10000&pokracovat-za-id={A - 1}", "2 records"]),
        (lambda f: f.filter((ID == A) | (ID > LAST)), [f"{ALL}&max-zaznamov=10000&pokracovat-za-id={A - 1}", "1 records"]),
        (lambda f: f.filter(((ID == A) | (ID == B)) & (A < ID)), [f"{ALL}&max-zaznamov=1&pokracovat-za-id={B - 1}", "1 records"]),
        (lambda f: f.filter((ID == A) | (pl.col("ico") == "00000007")), [f"{ALL}&max-zaznamov=10000", "35 records"]),
        (lambda f: f.filter(date(2026, 6, 30) <= DAY), ["zmenene-od=2026-06-30&max-zaznamov=10000", "4 records"]),
        (lambda f: f.filter(pl.col("ico") == "00000007"), [f"{ALL}&max-zaznamov=10000&ico=00000007", "5 records"]),
        (lambda f: f.filter(pl.col("dic") == "2020202020", pl.col("pravnaForma") == "112"), [f"{ALL}&max-zaznamov=10000&dic=2020202020&pravna-forma=112", "3 records"]),
        (lambda f: f.filter(pl.col("kraj") == "SK010"), [f"{ALL}&max-zaznamov=10000", "35 records"]),
    ], 6),
)  # fmt: skip
def test_a_scan_sends_these_requests_and_no_others(query: Step, requests: list[str]) -> None:
    """The requests of the shapes that can be pushed down are these and no others."""
    assert asked(query) == requests


def test_ids_that_share_no_page_are_walked_to_directly() -> None:
    """A page for each group of ids that are near each other, none of the ids between."""
    reg = Watched(fk.sample(3_000), page_size=100)
    ids = reg.units.ids()["id"].to_list()
    reg.asked.clear()
    chosen = [ids[n] for n in (5, 50, 90, 1_000, 2_500, 2_590)]

    frame = reg.units.scan().filter(ID.is_in([*chosen, 1, ids[7] + 1])).select("id").collect()

    assert frame["id"].to_list() == chosen
    assert len(reg.asked) == 3


def test_a_few_rows_of_a_filter_cost_few_records() -> None:
    """The register does not know the filter; the first rows are among the first records."""
    reg = fk.sample(1_200)
    in_bratislava = reg.units.scan().filter(pl.col("kraj") == "SK010")

    rows = in_bratislava.head(5).collect(engine="streaming")

    assert rows.height == 5
    assert reg.stats.requests < 300
    assert in_bratislava.collect().head(5).equals(rows)


def test_some_ids_of_a_real_host_are_not_refused_as_every_unit() -> None:
    """Neither as a list nor one by one: only what is left open asks for every record."""

    def answer(method: str, path: str, query: str) -> Reply:
        return REG._answer(method, path.removeprefix("//register.example"), query)

    reg = fk.Register("http://register.example", rate=None, transport=InProcess(answer))

    for some in (ID.is_in([A, B]), (ID == A) | (ID == B), (ID == A) | ID.is_in([B])):
        assert reg.units.scan().filter(some).collect()["id"].to_list() == [A, B]
    with pytest.raises(fk.UsageError, match="six days"):
        reg.units.scan().filter((ID == A) | (pl.col("kraj") == "SK010")).collect()
    every = reg.units.scan(max_requests=len(IDS)).collect()
    assert every.height == len(IDS), "it can be allowed, as the error has it"


def test_a_scan_has_the_columns_of_the_records() -> None:
    """A scan has the columns of the records, in every collection; the ids alone need none."""
    for name, kind in KINDS.items():
        assert getattr(REG, name).scan().collect_schema() == kind.schema
    ids = REG.reports.ids()["id"]
    some = REG.reports.scan().filter(ids[5] < ID, ids[9] >= ID).select("id").collect()
    assert some["id"].to_list() == ids[6:10].to_list()
    with pytest.warns(UserWarning, match="2030-01-01"):
        scan = REG.reports.scan(changed_since="2030-01-01")
    assert scan.collect().schema == KINDS["reports"].schema


def test_head_behind_a_filter_is_refused_with_the_cure() -> None:
    """No request can narrow it: the text says where head() has to stand."""
    reg = fk.Register("http://register.example")
    query = reg.units.scan().filter(pl.col("kraj") == "SK010").head(3)

    with pytest.raises(fk.UsageError, match=r"head\(\) \(before any other filter"):
        query.collect()


@pytest.mark.parametrize(
    "query", [lambda scan: scan.tail(5), *slow(lambda scan: scan.sort("id").head(5))]
)
def test_the_last_records_are_had_by_their_ids(query: Callable[[pl.LazyFrame], Any]) -> None:
    """polars tells a scan of neither: the refusal says what takes a request per record."""
    cure = "fk.reports.get(fk.reports.ids().tail(5))"
    with pytest.raises(fk.UsageError, match=re.escape(cure)):
        query(fk.Register("http://register.example").reports.scan()).collect()

    reg = fk.sample(10)
    last = reg.reports.get(reg.reports.ids().tail(5))
    assert last.equals(reg.reports.scan().tail(5).collect())


def test_days_of_waiting_are_refused() -> None:
    """A scan that needs every record of a real host is refused before the first request."""
    reg = fk.Register("http://register.example")

    with pytest.raises(fk.UsageError, match="six days"):
        reg.units.scan().filter(pl.col("kraj") == "SK010").collect()

    assert reg.stats.requests == 0


def test_max_requests_is_checked_before_the_first_record() -> None:
    """What is allowed is counted in ids before the first record is fetched."""
    reg = small()
    before = reg.stats.requests

    with pytest.raises(fk.UsageError, match="max_requests"):
        reg.units.scan(changed_since="2000-01-02", max_requests=20).collect()
    asked_before_refusal = reg.stats.requests - before

    assert asked_before_refusal == 1
    assert reg.units.scan(max_requests=20).head(20).collect().height == 20


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


def refused_at(place: int) -> tuple[Watched, list[int]]:
    """Return a small register that refuses the record of one id, and all ids."""
    reg = Watched(fk.sample(30))
    ids = reg.units.ids()["id"].to_list()
    reg.instead = lambda path, query: Reply(403, {}, b"") if query == f"id={ids[place]}" else None
    return reg, ids


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
    """As it was raised, and without rows of one scan that may not be those of the query."""
    reg, _ = refused_at(20)

    with pytest.raises(RegisterUnavailable) as caught:
        query(reg.units.scan(), tmp_path / "units")

    pl.select(0)  # the next call of polars ends a scan that it has left
    assert caught.value.blocked
    assert (caught.value.partial, caught.value.cursor) == (None, None)


@pytest.mark.parametrize("query", quick(QUERIES))
def test_an_interrupted_query_tells_what_keeps_the_records(
    query: Callable[[pl.LazyFrame, Path], object], tmp_path: Path
) -> None:
    """An `Interrupted`, whose text says what there is and what a cache is for."""
    reg, ids = refused_at(20)

    def interrupt(path: str, query: str) -> None:
        if query == f"id={ids[20]}":
            raise KeyboardInterrupt

    reg.instead = interrupt
    with pytest.raises(fk.Interrupted, match="a register with cache= keeps the records"):
        query(reg.units.scan(), tmp_path / "units")
    pl.select(0)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_filter_may_be_a_function_of_python(engine: Any) -> None:
    """It narrows no request, and the rows are those of the whole frame."""
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


def test_an_id_without_a_record_is_named_in_the_words_of_a_scan() -> None:
    """The text names how to leave it out, without an argument of `get`."""
    reg, ids = refused_at(0)
    gone = [f"id={id_}" for id_ in (ids[5], ids[9])]
    reg.instead = lambda path, query: Reply(404, {}, b"") if query in gone else None

    with pytest.raises(fk.NotFound) as caught:
        reg.units.scan().collect()

    assert caught.value.ids == [ids[5], ids[9]]
    assert str(caught.value) == (
        f"the list has ids without a record: {ids[5]}, {ids[9]}; "
        'leave out its .ids: .filter(~pl.col("id").is_in(ids))'
    )
    others = reg.units.scan().filter(~ID.is_in(caught.value.ids)).collect()
    assert others["id"].to_list() == [id_ for id_ in ids if id_ not in caught.value.ids]
