"""The sample: what it contains, that it is the same everywhere, and its verbs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.protocol.shipped import data_folder
from finstat_kit.protocol.wire import LISTS
from finstat_kit.service.state.places import divided
from finstat_kit.service.state.store import Store
from tests.support.examples import examples
from tests.support.memory import needs_proc


@pytest.fixture(scope="module")
def units() -> pl.DataFrame:
    sample = fk.sample()
    return sample.units.get(sample.units.ids())


def same(one: Store, other: Store) -> bool:
    arrays = [(one.columns[k], other.columns[k]) for k in one.columns]
    for name in LISTS.values():
        mine, others = one.line(name), other.line(name)
        arrays += [(mine.ids, others.ids), (mine.changed, others.changed)]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)


def test_the_default_units_are_the_same_everywhere() -> None:
    """What is drawn is promised: the same ids, days and columns on every machine."""
    store = fk.sample()._store
    drawn = hashlib.sha256()
    for array in (store.units.ids, store.units.changed, *store.columns.values()):
        drawn.update(np.asarray(array, dtype="<i8").tobytes())

    assert drawn.hexdigest()[:16] == "a1b4d4deb907fbda"


def test_data_is_small() -> None:
    """The data of the default sample stay under 2 MB."""
    size = sum(path.stat().st_size for path in data_folder().rglob("*") if path.is_file())

    assert size < 2_000_000


def test_size_and_seed_determine_the_units() -> None:
    """The same arguments give the same units, another seed others."""
    assert same(fk.sample(300, seed=5)._store, fk.sample(300, seed=5)._store)
    assert not same(fk.sample(300, seed=5)._store, fk.sample(300, seed=6)._store)
    assert fk.sample(7).units.count() == 7
    assert fk.sample(0).units.ids().height == 0
    assert repr(fk.sample(7, strict=True)).startswith("SAMPLE DATA <7 invented units")


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True])
def test_wrong_sizes_are_refused(wrong: object) -> None:
    """A size is a whole number."""
    with pytest.raises(fk.UsageError, match="units="):
        fk.sample(wrong)  # type: ignore[arg-type]


def test_wrong_codelists_are_refused(tmp_path: Path) -> None:
    """A folder of codelists must be one."""
    with pytest.raises(fk.UsageError, match="codelists="):
        fk.sample(codelists=tmp_path / "nowhere")
    with pytest.raises(fk.UsageError, match="codelists="):
        fk.sample(codelists=tmp_path)


@pytest.mark.parametrize(
    ("name", "body", "fault"),
    [
        ("kraje", "<html>", r"kraje\.json that is not the body of a codelist: something else"),
        ("kraje", "", "is not the body of a codelist: an empty body"),
        ("sidla", "{}", r"is not the body of a codelist: .*\$.lokacie"),
        ("okresy", '{"lokacie":[{"nazov":{"sk":"A"}}]}', r"\$.lokacie\[0\].kod"),
        ("sk-nace", '{"lokacie":[]}', r"\$.klasifikacie"),
        ("pravne-formy", '{"klasifikacie":[]}', "file without entries to draw units from"),
    ],
)
def test_a_file_that_is_no_codelist_is_named(
    tmp_path: Path, name: str, body: str, fault: str
) -> None:
    """With what is wrong in it, before a unit is drawn."""
    (tmp_path / f"{name}.json").write_text(body, encoding="utf-8")

    with pytest.raises(fk.UsageError, match=rf"codelists has a .*{fault}"):
        fk.sample(5, codelists=tmp_path)


def test_units_need_a_place(tmp_path: Path) -> None:
    """Without municipalities and regions abroad there is none; a region abroad is enough."""
    (tmp_path / "sidla.json").write_text('{"lokacie":[]}', encoding="utf-8")
    sample = fk.sample(5, codelists=tmp_path)
    assert sample.units.get(sample.units.ids())["sidlo"].null_count() == 5

    (tmp_path / "kraje.json").write_text('{"lokacie":[]}', encoding="utf-8")
    with pytest.raises(fk.UsageError, match="codelists has a file without entries"):
        fk.sample(5, codelists=tmp_path)


def test_a_place_without_a_name_is_one(tmp_path: Path) -> None:
    """As in a reply, where a name may be missing."""
    entries = [{"kod": 7, "nadradenaLokacia": 6}, {"kod": "8", "nazov": {"en": "B"}}]
    body = json.dumps({"lokacie": entries})
    (tmp_path / "sidla.json").write_text(body, encoding="utf-8")
    (tmp_path / "okresy.json").write_text('{"lokacie":[{"kod":6}]}', encoding="utf-8")

    sample = fk.sample(5, codelists=tmp_path)

    assert sample.municipalities()["name_sk"].to_list() == [None, None]
    assert sample.units.get(sample.units.ids()).height == 5


@pytest.mark.slow
def test_change_dates_are_uneven_and_end_at_the_samples_day(units: pl.DataFrame) -> None:
    """From 2014 to the sample's day, uneven by month, some in the last week."""
    changed = units["datumPoslednejUpravy"]
    by_month = changed.dt.month().value_counts().sort("count", descending=True)

    assert changed.min() is not None
    assert date(2014, 1, 1) <= changed.min() < date(2014, 2, 1)  # type: ignore[operator]
    assert changed.max() == date(2026, 6, 30)
    assert (changed >= date(2026, 6, 24)).sum() > 20
    assert by_month.row(0)[0] == 3
    assert by_month["count"][0] > 2 * by_month["count"][-1]


@pytest.mark.slow
def test_shares_are_those_of_a_real_register(units: pl.DataFrame) -> None:
    """About 36 % in Bratislava; the blemishes that a real register has."""
    n = units.height
    kraj, gone = units["kraj"], units["stav"].is_not_null()
    living = units.filter(~gone)

    assert 0.33 < (kraj == "SK010").sum() / n < 0.38
    assert 0 < kraj.is_in(["SKZZ", "SKZZZ"]).sum() < 200
    assert 0.005 < living["kraj"].null_count() / n < 0.015
    assert 0.003 < kraj.is_in([str(i) for i in range(1, 9)]).sum() / n < 0.008
    assert 0.001 < (kraj == "SK099").sum() / n < 0.003
    assert 0.007 < (units["stav"] == "ZMAZANÉ").sum() / n < 0.013
    assert set(units["stav"].drop_nulls()) == {"ZMAZANÉ", "NEVEREJNÁ", "Neverejná"}
    assert units["id"].max() > 2_500_000  # type: ignore[operator]


@pytest.mark.slow
def test_numbers_have_the_blemishes_of_a_real_register(units: pl.DataFrame) -> None:
    """IČO repeat, have leading zeros, a few twelve digits; some units have no DIČ."""
    ico = units["ico"].drop_nulls()

    assert set(ico.str.len_chars()) == {8, 12}
    assert ico.str.starts_with("00").sum() > 100
    assert (ico == "00000000").sum() > 5
    assert ico.filter(ico != "00000000").is_duplicated().sum() > 20
    assert 0.05 < units["dic"].null_count() / units.height < 0.15


@pytest.mark.slow
def test_dates_make_sense(units: pl.DataFrame) -> None:
    """Nothing is dissolved before it was founded, nor changed before that."""
    living = units.filter(pl.col("stav").is_null())

    assert (living["datumZalozenia"] <= living["datumPoslednejUpravy"]).all()
    assert (living["datumZrusenia"] > living["datumZalozenia"]).all()
    assert (living["datumZrusenia"] <= date(2026, 6, 30)).all()
    assert 0.01 < living["datumZrusenia"].count() / living.height < 0.2


@pytest.mark.slow
def test_names_are_invented(units: pl.DataFrame) -> None:
    """Every name reads as an invented one."""
    words = "Vzor|Ukážka|Skúška|Príklad|Maketa"

    assert units["nazovUJ"].drop_nulls().str.contains(words).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collection", "field", "most"),
    [("statements", "idUctovnychZavierok", 17), ("annual_reports", "idVyrocnychSprav", 6)],
)
def test_the_ids_of_units_are_those_of_the_lists(
    units: pl.DataFrame, collection: str, field: str, most: int
) -> None:
    """What units own is exactly the list; nothing was changed after its unit."""
    sample = fk.sample()
    ids = getattr(sample, collection).ids()
    owned = units.select("datumPoslednejUpravy", pl.col(field).alias("id")).explode("id")
    joined = owned.drop_nulls().join(ids.with_columns(listed=True), on="id", how="full")

    assert joined.null_count().sum_horizontal().item() == 0
    assert joined.height == ids.height == getattr(sample, collection).count()
    assert most - 2 <= units[field].list.len().max() <= most  # type: ignore[operator]
    assert not units[field].drop_nulls().list.eval(pl.element().diff() > 0).list.all().all()
    some = owned.drop_nulls().sample(300, seed=1)
    records = getattr(sample, collection).get(some)
    assert (records["datumPoslednejUpravy"] <= some["datumPoslednejUpravy"]).all()


@needs_proc
@pytest.mark.slow
def test_a_million_units_fit() -> None:
    """1,000,000 units are drawn within 1 GiB."""
    script = (
        "import finstat_kit as fk\n"
        "from tests.support.memory import memory\n"
        "assert fk.sample(1_000_000).units.count() == 1_000_000\n"
        "print(memory('VmHWM'))"
    )

    seen = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert float(seen.stdout) < 1024


def test_published_units_get_new_ids_and_the_fields_given() -> None:
    """New units get ids above all others, the sample's day and the fields given."""
    sample = fk.sample(10)
    before = sample.units.ids()
    sample.set_today("2026-07-01")

    new = sample.publish(3, kraj="SK031", pravnaForma="999", nazovUJ="Vzor", ico="00 000\u200b007")
    older = sample.publish(on="2020-01-01")

    assert new["id"].min() > before["id"].max()  # type: ignore[operator]
    assert sample.units.ids(changed_since="2026-07-01").equals(new)
    assert sample.units.ids(legal_form_code="999", ico="00000007").equals(new)
    record = sample.units.get(new).row(0, named=True)
    assert (record["kraj"], record["nazovUJ"], record["pravnaForma"]) == ("SK031", "Vzor", "999")
    assert sample.units.get(older)["datumPoslednejUpravy"].item() == date(2020, 1, 1)
    assert sample.today == date(2026, 7, 1)


def test_published_units_lie_in_the_codelists_served(tmp_path: Path) -> None:
    """However few they have: every municipality of a unit is one of theirs, with its district."""
    for name, most in (("kraje", None), ("okresy", None), ("sidla", 3)):
        body = json.loads((data_folder() / "codelists" / f"{name}.json").read_bytes())
        body["lokacie"] = body["lokacie"][:most]
        (tmp_path / f"{name}.json").write_text(json.dumps(body), encoding="utf-8")
    sample = fk.sample(5, codelists=tmp_path)
    served = sample.municipalities()

    units = sample.units.get(sample.publish(200)).drop_nulls("sidlo")

    towns = served.select("code", "parent_code")
    assert set(units.select("sidlo", "okres").rows()) == set(towns.rows())


def test_verbs_do_what_the_register_does() -> None:
    """Each verb does what the real register does to units."""
    sample = fk.sample(10)
    ids = sample.units.ids()["id"].to_list()
    sample.set_today("2026-07-02")

    sample.touch(ids[0])
    sample.delete(ids[1], on="2026-07-03")
    sample.hide([ids[2]])
    sample.vanish(ids[3:5])

    assert sample.units.ids()["id"].to_list() == ids[:3] + ids[5:]
    assert sample.units.ids(changed_since="2026-07-02")["id"].to_list() == ids[:3]
    records = sample.units.get(ids[:3])
    assert records["stav"].to_list() == [None, "ZMAZANÉ", "NEVEREJNÁ"]
    assert records["datumPoslednejUpravy"].to_list() == [
        date(2026, 7, 2), date(2026, 7, 3), date(2026, 7, 2),
    ]  # fmt: skip
    assert records["ico"].null_count() == 2
    with pytest.raises(fk.errors.NotFound):
        sample.units.get(ids[3])


def test_a_unit_published_without_a_number_has_none() -> None:
    """None for a field: the record has none, and no number finds it."""
    sample = fk.sample(0)

    new = sample.publish(ico=None, dic=None)

    record = sample.units.get(new).row(0, named=True)
    assert (record["ico"], record["dic"]) == (None, None)
    assert sample.units.ids(dic="2020202020").height == 0


def test_a_number_with_a_leading_zero_is_found() -> None:
    """As it is published; no unit is found by zeros, which stand for none."""
    sample = fk.sample(100)

    new = sample.publish(1, dic="0123456789")

    assert sample.units.ids(dic="0123456789").equals(new)
    assert sample.units.get(new)["dic"].item() == "0123456789"
    assert sample.units.count(dic="0000000000") == 0


def test_a_time_of_a_day_is_published_as_the_day() -> None:
    """As everywhere: an aware one by its day in Bratislava."""
    sample = fk.sample(0)
    aware = datetime(2024, 3, 2, 2, 30, tzinfo=timezone(timedelta(hours=4)))

    new = sample.publish(datumZalozenia=datetime(2024, 2, 29, 12), datumZrusenia=aware)

    record = sample.units.get(new).row(0, named=True)
    assert (record["datumZalozenia"], record["datumZrusenia"]) == (
        date(2024, 2, 29), date(2024, 3, 1),
    )  # fmt: skip


@pytest.mark.slow
def test_changes_from_two_threads_are_not_lost() -> None:
    """None is lost: a day that is set while another thread publishes stays set."""
    sample = fk.sample(0)
    ended = threading.Event()

    def publish_on() -> None:
        while not ended.is_set():
            sample.publish()

    other = threading.Thread(target=publish_on)
    other.start()
    try:
        for number in range(1, 29):
            sample.set_today(date(2027, 2, number))
            sample.publish()  # once it is back, what was under way at `set_today` has ended
            assert sample.today == date(2027, 2, number)
    finally:
        ended.set()
        other.join()


def test_verbs_name_what_is_wrong() -> None:
    """Unknown ids, fields and values are refused and nothing is changed."""
    sample = fk.sample(10)
    before = sample._store

    with pytest.raises(fk.UsageError, match="no units of this sample"):
        sample.touch([1, 2**40])
    with pytest.raises(fk.UsageError, match="field='region' is not known"):
        sample.publish(region="x")
    with pytest.raises(fk.UsageError, match="ico='7'"):
        sample.publish(ico="7")
    for wrong in (b"x", {1}, pl.Series([1]), timedelta(1), 2**70, "\ud800", 5):
        with pytest.raises(fk.UsageError, match="publish: this cannot be in a record: "):
            sample.publish(nazovUJ=wrong)
    with pytest.raises(fk.UsageError, match=r"cannot be in a record: \$\.datumZalozenia: invalid"):
        sample.publish(datumZalozenia="2020-02-30")
    for host in ("", None, 5, "a\0b", "\ud800"):
        with pytest.raises(fk.UsageError, match="host="):
            sample.serve(host=host)  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="on="):
        sample.delete(sample.units.ids(limit=1), on="today")

    assert sample._store is before


@examples(40)
@given(st.lists(st.tuples(st.sampled_from("ptdhv"), st.integers(0, 50)), max_size=12))
def test_changes_keep_the_register_whole(verbs: list[tuple[str, int]]) -> None:
    """After any verbs: ids ascend, every id has its record, units own only listed ids."""
    sample = fk.sample(12, seed=3)
    owned = {
        u["id"]: u["idUctovnychZavierok"] for u in sample.units.get(sample.units.ids()).to_dicts()
    }
    for verb, number in verbs:
        ids = sample.units.ids()["id"].to_list()
        if verb == "p":
            sample.publish(1 + number % 3)
        elif ids:
            act = {"t": sample.touch, "d": sample.delete, "h": sample.hide, "v": sample.vanish}[
                verb
            ]
            act(ids[number % len(ids)])

    listed = sample.units.ids()
    records = sample.units.get(listed)

    assert listed["id"].is_sorted()
    assert records["id"].equals(listed["id"])
    for record in records.to_dicts():
        expected = owned.get(record["id"]) if record["stav"] is None else None
        assert record["idUctovnychZavierok"] == expected
    assert len(sample._store.columns["ico"]) == len(sample._store.units.ids)


@pytest.mark.slow
def test_few_are_large_and_many_small(units: pl.DataFrame) -> None:
    """Units are spread over municipalities and activities as such things are, not evenly."""
    of_activity = units["skNace"].drop_nulls().value_counts(sort=True)["count"]
    petrzalka = units.filter(okres="SK0105")["sidlo"].value_counts(sort=True)

    assert of_activity[0] > 5 * of_activity.median()  # type: ignore[operator]
    assert petrzalka["sidlo"][0] == "SK0105529460"
    assert petrzalka["count"][0] > petrzalka["count"].sum() / 2


@pytest.mark.parametrize("number", [1, 2, 7, 100])
def test_what_a_district_has_is_dealt_out_whole(number: int) -> None:
    """The first has most, then fewer and fewer, none is left out, and the sum stays."""
    weights = divided(number * 10**6, number)

    assert sum(weights) == number * 10**6
    assert weights == sorted(weights, reverse=True)
    assert min(weights) > 0
