"""A mirror of given units: what it requests, that it equals the register, and what it refuses."""

from __future__ import annotations

import contextlib
import pickle
import random
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import Interrupted, NotHeld, TransportError
from finstat_kit.mirror import sync as syncing
from finstat_kit.protocol.wire import Reply
from tests.support.examples import quick
from tests.support.kills import at_writes
from tests.support.mirrors import CONTENTS, LISTS, RECORDS, WAYS, ways_in_turn
from tests.support.registers import Watched
from tests.support.syncs import RECORD, Crash, Skewed, fail_at, next_day, small_register, well

_CODELISTS = 8  # requests: seven, and the one that shows that the register answers


def _requests(register: Watched) -> dict[str, int]:
    """Return the requests since the last look, by kind."""
    paths = Counter(target.partition("?")[0] for target in register.asked)
    register.asked.clear()
    kinds = {path: name for name, path in RECORDS.items()}
    lists = ("uctovne-jednotky", "uctovne-zavierky", "uctovne-vykazy", "vyrocne-spravy")
    counts = Counter[str]()
    for path, number in paths.items():
        is_list = path.removeprefix("/api/") in lists
        counts["lists" if is_list else kinds.get(path, "codes and templates")] += number
    return dict(counts)


def _given(register: Watched, many: int) -> list[int]:
    """Return some units that exist, spread over the register."""
    living = register.sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
    return living.gather_every(living.height // many)["id"].head(many).to_list()


def assert_equal_for(mirror: fk.Register, register: fk.Register, units: list[int]) -> None:
    """Compare what a mirror holds of units with what the register answers of them."""
    records = register.units.get(units, errors="keep")
    is_there = records["datumPoslednejUpravy"].is_not_null()
    there = records.filter(is_there)
    assert_frame_equal(mirror.units.get(there["id"]), there)
    for name, column in {
        "statements": "idUctovnychZavierok", "annual_reports": "idVyrocnychSprav"
    }.items():  # fmt: skip
        ids = there[column].explode().drop_nulls().unique().sort()
        owned = getattr(register, name).get(ids, errors="keep")
        assert_frame_equal(getattr(mirror, name).get(ids, errors="keep"), owned)
        reports = owned["idUctovnychVykazov"].explode().drop_nulls().unique().sort()
        expected = register.reports.get(reports, errors="keep")
        assert_frame_equal(mirror.reports.get(reports, errors="keep"), expected)
    expected = register.financials(there["id"], None)
    assert_frame_equal(mirror.financials(there["id"], None), expected)


def test_three_of_sixty_units_take_their_own_requests(tmp_path: Path) -> None:
    """At the first sync, at another of the same day, a week later, and once more in full."""
    register = small_register()
    mine = _given(register, 3)
    mirror = fk.Mirror(tmp_path, units=mine, contents=True, register=register)
    mirror.sync()
    first = _requests(register)
    held = {name: getattr(mirror, name).scan().collect().height for name in LISTS}
    assert "lists" not in first
    assert {name: first.get(name, 0) for name in LISTS} == held
    assert first["codes and templates"] < _CODELISTS + 20

    next_day(register, 7)
    register.sample.file(mine[:1], year=2025)
    register.sample.touch(register.sample.units.ids(limit=50))
    mirror.sync()

    week = _requests(register)
    assert {name: week.get(name, 0) for name in LISTS} == {
        "units": 3, "statements": 1, "reports": 1, "annual_reports": 0
    }  # fmt: skip
    assert week["lists"] == len(CONTENTS)
    assert_equal_for(mirror, register, mine)
    register.asked.clear()
    mirror.sync(full=True)
    full = _requests(register)
    held["statements"] += 1
    held["reports"] += 1
    assert {name: full.get(name, 0) for name in LISTS} == held


def test_units_alone_take_a_request_each_and_no_list(tmp_path: Path) -> None:
    register = small_register()
    mirror = fk.Mirror(tmp_path, units=_given(register, 3), register=register)
    mirror.sync()
    next_day(register, 7)
    register.asked.clear()
    mirror.sync()

    assert _requests(register) == {"units": 3, "codes and templates": _CODELISTS}


def test_a_first_sync_that_was_cut_off_requests_no_unit_again(tmp_path: Path) -> None:
    """But for those that a list of the changes since then names."""
    register = small_register()
    mine = _given(register, 10)
    mirror = fk.Mirror(tmp_path, units=mine, contents=True, register=register)
    fail_at(register, 6, KeyboardInterrupt())
    with pytest.raises(Interrupted, match=r"the next sync\(\) resumes"):
        mirror.sync()
    well(register)
    first = register.records()
    register.asked.clear()
    next_day(register)
    register.sample.file(mine[:2], year=2025)
    assert dict(mirror.sync(dry_run=True)["collection", "requests"].rows())["units"] == 5
    register.asked.clear()
    mirror.sync()

    assert sorted(first) == mine[:6]
    (listed,) = (target for target in register.asked if "uctovne-jednotky" in target)
    since = register.today - timedelta(days=2)  # the day before the first sync began
    assert f"zmenene-od={since}" in listed
    changed = {*register.sample.units.ids(changed_since=since)["id"]} & {*mine}
    assert sorted(register.records()) == sorted([*mine[5:], *changed])
    assert {*mine[:2]} <= changed
    assert len(changed) < 5
    assert_equal_for(mirror, register, mine)


@pytest.mark.slow
def test_two_hundred_of_twenty_thousand_units(tmp_path: Path) -> None:
    """Some 5,000 requests at first; a week later those of 200 units, and what they filed."""
    register = Watched(fk.sample(20_000), rate=5)
    mine = _given(register, 200)
    mirror = fk.Mirror(tmp_path, units=mine, contents=True, register=register)
    planned = mirror.sync(dry_run=True)["requests"].sum()
    mirror.sync()
    first = _requests(register)
    next_day(register, 7)
    register.sample.file(mine[:5], year=2025)
    register.sample.touch(register.sample.units.ids(limit=8_400))
    mirror.sync()
    week = _requests(register)

    assert first["units"] == week["units"] == 200
    assert "lists" not in first
    assert 0.5 * sum(first.values()) < planned < 2 * sum(first.values())
    assert sum(week.values()) < 250
    assert mirror.units.ids()["id"].to_list() == mine


@pytest.mark.slow
def test_many_units_are_requested_as_they_are_listed_and_each_in_thirty_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "_FEW_UNITS", 40)
    register = Watched(fk.sample(300))
    mine = _given(register, 120)
    mirror = fk.Mirror(tmp_path, units=mine, register=register)
    mirror.sync()
    register.asked.clear()
    next_day(register)
    register.sample.touch(mine[:10])
    mirror.sync()

    assert set(register.records()) >= set(mine[:10])
    assert len(register.records()) < 25
    for _ in range(29):
        next_day(register)
        mirror.sync()
    assert set(register.records()) == set(mine)
    assert len(register.records()) < 160


@pytest.mark.parametrize("seed", quick(range(50), 3))
def test_any_history_ends_in_step_with_the_register_for_the_given_units(
    tmp_path: Path, seed: int
) -> None:
    """They vanish, change, come back, file and correct; units are added; syncs are cut off."""
    luck = random.Random(seed)
    register = Skewed(luck.randint(6, 14), seed)
    ids = register.sample.units.ids()["id"].to_list()
    mine = luck.sample(ids, luck.randint(1, 4))
    for _ in range(luck.randint(4, 7)):
        register.pass_days(luck.choice([0, 1, 2, 30]))
        register.skew = luck.choice([0, 0, 0, -1, -10])
        register.change(luck, luck.randint(0, 5))
        if luck.random() < 0.3:
            mine = [*mine, *luck.sample(ids, 1)]
        register.quiet()
        register.instead = _refusing(register, luck.choice(mine) if luck.random() < 0.3 else None)
        if luck.random() < 0.4:
            register.at_request(luck.randint(1, 60), lambda: register.change(luck, 1))
        with contextlib.ExitStack() as ending:
            if luck.random() < 0.3:
                where = luck.choice(["any", "data", "runs"])
                ending.enter_context(at_writes(where, luck.randint(1, 12), "before", Crash))
            elif luck.random() < 0.3:
                register.at_request(luck.randint(9, 90), TransportError("cut"))
            ending.enter_context(contextlib.suppress(Crash, TransportError))
            fk.Mirror(tmp_path, units=mine, contents=True, register=register).sync()
    register.quiet()
    register.instead = _refusing(register, None)
    register.skew = 0
    mirror = fk.Mirror(tmp_path, units=mine, contents=True, register=register)

    mirror.sync()

    assert_equal_for(mirror, register, sorted(set(mine)))
    register.asked.clear()
    mirror.sync()
    assert len(register.records()) == len(set(mine))
    others = pl.col("collection") != "units"
    assert mirror.unreadable().filter(others).height == (
        mirror.holdings().filter(others)["lacking"].sum()
    )


def _refusing(register: Watched, unit: int | None) -> Callable[[str, str], Reply | None]:
    """Return what a register answers instead: that it has no record of a unit."""
    refusal = register.sample._answer("GET", RECORD, "id=1")
    assert refusal.status == 404
    return lambda path, query: refusal if (path, query) == (RECORD, f"id={unit}") else None


def test_a_unit_that_is_added_is_no_news_and_not_held_before(tmp_path: Path) -> None:
    """Its first records are no change; the day before it is one of the others alone."""
    register = small_register()
    one, other = _given(register, 2)
    fk.Mirror(tmp_path, units=one, register=register).sync()
    next_day(register)
    mirror = fk.Mirror(tmp_path, units=other, register=register)
    mirror.sync()

    assert mirror.units.ids()["id"].to_list() == sorted([one, other])
    assert mirror.changes().is_empty()
    with pytest.raises(NotHeld, match="are not in this mirror"):
        mirror.as_of("2026-06-30").units.get(other)
    next_day(register)
    register.sample.touch([one, other])
    register.sample.delete([other])
    fk.Mirror(tmp_path, register=register).sync()
    assert set(mirror.changes().select("id", "field").rows()) == {
        (one, "datumPoslednejUpravy"), (other, "gone")
    }  # fmt: skip
    assert dict(mirror.snapshot().select("id", "gone").collect().rows())[other] == "deleted"


def test_numbers_are_looked_up_once_and_those_of_nobody_again(tmp_path: Path) -> None:
    """All units that share one are kept; a record that is refused is unreadable, not gone."""
    register = Watched(fk.sample(4_000))
    icos = register.sample.units.scan().select("id", "ico").drop_nulls().collect()
    shared = icos.filter(pl.col("ico").is_duplicated()).sort("ico").head(2)
    ico = shared["ico"][0]
    own = icos.filter(ico=ico)["id"].sort().to_list()
    mirror = fk.Mirror(tmp_path, units=[ico, "99999999"], register=register)

    with pytest.warns(fk.errors.RegisterWarning, match="no unit has 1 of the given IČO: 99999999"):
        mirror.sync()

    assert mirror.units.ids()["id"].to_list() == own
    assert mirror.units.get(ico)["id"].to_list() == own
    register.asked.clear()
    with pytest.warns(fk.errors.RegisterWarning, match="looks them up again"):
        mirror.sync()
    assert [target for target in register.asked if "ico=" in target] == [
        target for target in register.asked if "ico=99999999" in target
    ] != []  # fmt: skip
    register.instead = lambda path, query: Reply(404, {}, b"") if path == RECORD else None
    with pytest.warns(fk.errors.RegisterWarning):
        mirror.sync()
    assert mirror.unreadable()["id"].to_list() == own
    assert mirror.snapshot().select("gone").collect()["gone"].null_count() == len(own)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror of three units, which no test changes."""
    register = small_register()
    folder = tmp_path_factory.mktemp("three") / "mine"
    mirror = fk.Mirror(folder, units=_given(register, 3), contents=True, register=register)
    mirror.sync()
    return mirror


@pytest.mark.parametrize(
    ("way", "name", "since"),
    [
        case for case in ways_in_turn(LISTS, [None, date(2026, 6, 29), "2026-06-30"])
        if case[1:] != ("units", None)
    ],
)  # fmt: skip
def test_it_never_stands_for_the_register(
    three: fk.Mirror, way: str, name: str, since: str | date | None
) -> None:
    """Whatever needs a list is refused at the call; the text has the ways out."""
    with pytest.raises(NotHeld, match=rf"mirror of 3 given units .*{name}.*fk\.use\(fk\.LIVE\)"):
        WAYS[way](getattr(three, name), changed_since=since)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.units.count(), "does not know how many units the register has"),
        (lambda m: m.units.get(39), r"1 of 1 units are not in this mirror .* units: \[39\]"),
        (lambda m: m.units.ids(ico="12345678"), "has no unit with ico 12345678"),
        (lambda m: m.statements.get([1, 2]), "2 of 2 statements are not in this mirror"),
        (lambda m: m.extract(m.path.parent / "x", [39]), "1 of 1 units are not in this mirror"),
        (lambda m: m.template(), "a mirror does not hold the list of templates"),
    ],
)  # fmt: skip
def test_what_it_does_not_hold_is_said(
    three: fk.Mirror, call: Callable[[fk.Mirror], Any], message: str
) -> None:
    with pytest.raises(NotHeld, match=message):
        call(three)


def test_it_says_which_units_it_shows(three: fk.Mirror) -> None:
    """In its repr, its citation, a chart's note and pickers; figures of others are not held."""
    assert "given units: 3, copied as of" in repr(three)
    assert "sample, given units: 3, copied as of" in three.cite(lang="en")
    assert "ukážky finstat_kit, dané jednotky: 3, kópia k" in three.cite(lang="sk")
    records = three.units.scan().collect()
    chart = fk.plot_counts(records, by="kraj", register=three, lang="en")
    assert "given units: 3, copied as of" in chart.get_xlabel()
    picker = fk.ChangePicker(register=three, lang="en")
    assert picker.fetch() == 3
    assert "Of the given units: 3 units" in picker.line.value
    assert fk.Explorer(register=three).fetch().height == 3
    figures = three.financials([*records["id"], 39], 2020)
    assert figures.filter(unit_id=39)["reason"].to_list() == ["not_held"]
    assert three.count_by(records, "kraj")["count"].sum() == 3


def test_all_units_and_given_ones_are_not_one_mirror(tmp_path: Path) -> None:
    register = small_register()
    whole = fk.Mirror(tmp_path / "ruz", register=register)
    whole.sync()

    with pytest.raises(fk.UsageError, match="is of all units; leave units= out, or give another"):
        fk.Mirror(tmp_path / "ruz", units=[1], register=register)
    with pytest.raises(fk.UsageError, match="units names no units"):
        fk.Mirror(tmp_path / "mine", units=[])
    early = fk.Mirror(tmp_path / "mine", units=[1], register=register)
    fk.Mirror(tmp_path / "mine", register=register).sync()
    with pytest.raises(fk.UsageError, match="is of all units"):
        early.sync()


def test_a_mirror_of_ids_and_ico_can_be_pickled(tmp_path: Path) -> None:
    units = small_register().units.get(small_register().units.ids(limit=2))
    mine = fk.Mirror(tmp_path / "mine", units=[units["id"][0], units["ico"][1]])

    again = pickle.loads(pickle.dumps(mine))

    with fk.using(small_register()):
        again.sync()
    assert again.units.ids()["id"].to_list() == units["id"].to_list()


def test_reports_of_given_units_need_their_statements(tmp_path: Path) -> None:
    """Which name them; a mirror that has the statements takes them later."""
    register = small_register()
    for contents in ("reports", ["reports", "annual_reports"]):
        with pytest.raises(fk.UsageError, match="reports of given units are found by their state"):
            fk.Mirror(tmp_path / "mine", units=[1], contents=contents)
    unit = register.units.ids(limit=1)
    fk.Mirror(tmp_path / "mine", units=unit, contents="statements", register=register).sync()
    later = fk.Mirror(tmp_path / "mine", contents="reports", register=register)
    later.sync()
    assert later.holdings()["held"].to_list()[2] > 0


def test_a_dry_run_writes_and_requests_nothing(tmp_path: Path) -> None:
    register = Watched(fk.sample(60), rate=5)
    mine = _given(register, 3)
    mirror = fk.Mirror(tmp_path / "mine", units=mine, contents=True, register=register)
    register.asked.clear()

    planned = mirror.sync(dry_run=True)

    assert planned.select("collection", "requests").rows() == [
        ("codelists", 8), ("units", 3), ("statements", 36), ("reports", 61), ("annual_reports", 0)
    ]  # fmt: skip
    assert planned["seconds"].sum() == pytest.approx(108 / 5)
    assert register.asked == []
    assert not (tmp_path / "mine").exists()
    mirror.sync()
    assert dict(mirror.sync(dry_run=True)["collection", "requests"].rows()) == {
        "codelists": 8, "units": 3, "statements": 0, "reports": 0, "annual_reports": 0
    }  # fmt: skip


@pytest.mark.slow
def test_an_extract_goes_on_as_a_mirror_of_its_units(tmp_path: Path) -> None:
    """It is synced with the register, and others are added to it."""
    register = small_register()
    mine = _given(register, 4)
    whole = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    whole.sync()
    small = whole.extract(tmp_path / "small", mine[:3])
    assert_equal_for(small, register, mine[:3])
    next_day(register)
    register.sample.file(mine[:1], year=2025)
    register.asked.clear()
    mirror = fk.Mirror(tmp_path / "small", units=mine[3], register=register)
    mirror.sync()

    assert len(register.records()) == 4
    assert_equal_for(mirror, register, mine)
    fields = mirror.changes().select("id", "field").rows()
    assert set(fields) == {(mine[0], "idUctovnychZavierok"), (mine[0], "datumPoslednejUpravy")}
