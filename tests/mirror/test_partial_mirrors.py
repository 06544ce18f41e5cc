"""A mirror of a part of the register: a day before its own is an error, not a smaller number."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.collections.walk import Pages
from finstat_kit.client.sample import Sample
from tests.support.mirrors import LISTS, WAYS, ways_in_turn

DAY = "2026-01-01"
UNDATED = LISTS[1:]
LATER = pytest.mark.filterwarnings("ignore:.*lies after the register's day")
EARLIER = [None, "2020-01-01", date(2025, 12, 31), "2000-01-01", "1999-01-01"]


@pytest.fixture(scope="module")
def register() -> Sample:
    """Give the register that the part is of; no test changes it."""
    return fk.sample(300)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory, register: Sample) -> fk.Mirror:
    """Give a mirror of a part, which no test changes."""
    path = tmp_path_factory.mktemp("part") / "ruz"
    mirror = fk.Mirror(path, changed_since=DAY, register=register)
    mirror.sync()
    return mirror


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror of all of a small register, which no test changes."""
    path = tmp_path_factory.mktemp("whole") / "ruz"
    mirror = fk.Mirror(path, register=fk.sample(40))
    mirror.sync()
    return mirror


def fetched(found: Any) -> Any:
    """Return the number or the ids that a way leads to."""
    if isinstance(found, Pages):
        found = pl.concat([pl.DataFrame(schema={"id": pl.Int64}), *found])
    return found if isinstance(found, int) else found["id"].to_list()


@pytest.mark.parametrize(("way", "name"), ways_in_turn(LISTS))
def test_an_earlier_day_is_refused_at_the_call(part: fk.Mirror, way: str, name: str) -> None:
    """Also where none is given, which means everything; the text has the cure."""
    for given in EARLIER:
        argument = "" if given is None else f"changed_since='{given}': "
        for source in (fk, part):
            with fk.using(part), pytest.raises(fk.UsageError) as caught:
                WAYS[way](getattr(source, name), changed_since=given)
            assert str(caught.value) == (
                f"{argument}this mirror holds what changed since 2026-01-01; give "
                "changed_since='2026-01-01' or a later day, or copy the whole register: "
                "fk.Mirror('another folder').sync()"
            )


@pytest.mark.parametrize("filters", [{"legal_form_code": "112"}, {"ico": "00000001"}])
def test_filters_make_no_whole_of_a_part(part: fk.Mirror, filters: dict[str, str]) -> None:
    """A unit that is not found may have been left out of the copy."""
    for way in ("count", "ids", "pages"):
        with pytest.raises(fk.UsageError, match="this mirror holds what changed since"):
            WAYS[way](part.units, **filters)
    with pytest.raises(fk.UsageError, match="this mirror holds what changed since"):
        part.units.scan().filter(pl.col("id") > 5_000)


@pytest.mark.parametrize("name", LISTS)
def test_spans_count_from_its_day(part: fk.Mirror, register: Sample, name: str) -> None:
    """One that reaches behind the mirror's day is refused, as the day it names."""
    collection = getattr(part, name)
    for span in ("-181d", timedelta(days=181)):
        with pytest.raises(fk.UsageError, match="changed_since='2025-12-31': this mirror holds"):
            collection.scan(changed_since=span)
    expected = getattr(register, name).count(changed_since=DAY)
    assert collection.count(changed_since="-180d") == expected


@LATER
@pytest.mark.parametrize(
    ("way", "day"),
    ways_in_turn([DAY, date(2026, 1, 1), "2026-03-05", "2026-06-30", "2027-01-01"]),
)
def test_a_part_holds_units_of_its_day_and_later(
    part: fk.Mirror, register: Sample, way: str, day: str | date
) -> None:
    """They are the register's."""
    found = fetched(WAYS[way](part.units, changed_since=day))

    assert found == fetched(WAYS[way](register.units, changed_since=day))


@LATER
@pytest.mark.parametrize(
    ("way", "name", "day"),
    ways_in_turn(UNDATED, [DAY, "2026-03-05", "2026-06-30", "2300-01-01"]),
)
def test_what_has_no_days_of_change_is_given_whatever_the_day(
    part: fk.Mirror, register: Sample, name: str, way: str, day: str
) -> None:
    """All that is held, whichever day is given, since nothing later is known of it."""
    found = fetched(WAYS[way](getattr(part, name), changed_since=day))

    assert found
    assert found == fetched(WAYS[way](getattr(register, name), changed_since=DAY))


@pytest.mark.parametrize(("way", "name"), ways_in_turn(UNDATED))
def test_a_whole_mirror_takes_no_day_of_what_has_none(
    whole: fk.Mirror, name: str, way: str
) -> None:
    """It is refused by its arguments, at the call; the beginning is everything."""
    collection = getattr(whole, name)
    for day in ("2026-01-01", "2000-01-02", "1999-12-31", date(2026, 6, 30)):
        with fk.using(whole), pytest.raises(fk.UsageError) as caught:
            WAYS[way](getattr(fk, name), changed_since=day)
        assert str(caught.value) == (
            f"a mirror does not know when {name} changed; leave out changed_since, or use the "
            "register"
        )
        with pytest.raises(fk.UsageError, match=f"does not know when {name} changed"):
            collection.scan(changed_since=day)

    everything = fetched(WAYS[way](collection))
    assert fetched(WAYS[way](collection, changed_since="2000-01-01")) == everything
    assert WAYS["count"](whole.units, changed_since="1990-01-01") == whole.units.count()


def test_the_register_may_have_a_record_that_a_part_does_not(
    part: fk.Mirror, whole: fk.Mirror, register: Sample
) -> None:
    """The text says that the register may have it; of a whole mirror it does not."""
    held = part.units.ids(changed_since=DAY)["id"]
    lacking = int(register.units.ids().filter(~pl.col("id").is_in(held.implode()))["id"][0])
    words = "not in this mirror (it holds changes since 2026-01-01)"

    with pytest.raises(fk.NotFound) as caught:
        part.units.get([held[0], lacking])
    assert words in str(caught.value)
    assert caught.value.ids == [lacking]
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [held[0]]
    kept = part.units.get([lacking, held[0]], errors="keep")
    assert kept["id"].to_list() == [lacking, held[0]]
    assert_frame_equal(part.units.get(held), register.units.get(held))
    with pytest.raises(fk.NotFound) as caught:
        whole.units.get(1)
    assert "not in this mirror" not in str(caught.value)


def test_a_part_names_its_day(part: fk.Mirror, whole: fk.Mirror, register: Sample) -> None:
    """The repr, the footnote and the health report name its day, and so does `since`."""
    about = "finstat_kit sample; seed=0; units=300, changed since 2026-01-01, as of 2026-06-30>"

    assert repr(part) == f"SAMPLE DATA <Mirror {part.path} of {about}"
    assert part.cite(lang="en") == (
        "Invented data of a finstat_kit sample, changed since 2026-01-01, copied as of 2026-06-30."
    )
    assert part.cite(lang="sk") == (
        "Vymyslené údaje ukážky finstat_kit, zmenené od 2026-01-01, kópia k 2026-06-30."
    )
    assert fk.doctor(register=part)["seen"][-1].endswith("data, changed since 2026-01-01")
    assert fk.doctor(register=whole)["seen"][-1].endswith("; invented data")
    assert part.since == fk.Mirror(part.path).since == date(2026, 1, 1)
    assert whole.since is None
    assert register.since is None
    assert "changed since" not in repr(whole) + whole.cite(lang="en") + whole.cite(lang="sk")


def test_snapshots_hold_what_is_held(part: fk.Mirror, register: Sample) -> None:
    """They are tables of the copy, and no answers for the register."""
    for name in LISTS:
        ids = part.snapshot(name).select("id").collect()["id"].sort()  # type: ignore[arg-type]
        expected = getattr(register, name).ids(changed_since=DAY)["id"]
        assert ids.to_list() == expected.to_list()


@pytest.mark.slow
def test_a_part_that_grows_keeps_its_day(tmp_path: Path) -> None:
    """Later syncs keep its day, with units that were older before among its units."""
    sample = fk.sample(300)
    mirror = fk.Mirror(tmp_path / "ruz", changed_since="2026-06-01", register=sample)
    mirror.sync()
    sample.set_today("2026-07-09")
    sample.touch(sample.units.ids(limit=40))
    mirror.sync()

    assert mirror.since == date(2026, 6, 1)
    for day in ("2026-06-01", "2026-07-01"):
        found = mirror.units.scan(changed_since=day).collect()
        ids = sample.units.ids(changed_since=day)
        assert_frame_equal(found, sample.units.get(ids))
        assert_frame_equal(mirror.units.ids(changed_since=day), ids)
    with pytest.raises(fk.UsageError, match="this mirror holds what changed since 2026-06-01"):
        mirror.units.scan(changed_since="2026-05-31")


@pytest.mark.slow
def test_a_day_before_everything_leaves_nothing_out(tmp_path: Path) -> None:
    """Such a mirror is a whole one."""
    sample = fk.sample(60)
    for number, day in enumerate(("2000-01-01", "1990-01-01")):
        mirror = fk.Mirror(tmp_path / str(number), changed_since=day, register=sample)
        assert mirror.since is None
        mirror.sync()
        assert mirror.since is None
        assert mirror.units.count() == mirror.units.scan().collect().height == 60
        assert "changed since" not in repr(mirror)


@pytest.mark.slow
def test_a_folder_begun_anew_is_noticed(tmp_path: Path) -> None:
    """What is asked is compared with the folder as it is, not as it was at opening."""
    sample = fk.sample(60)
    path = tmp_path / "ruz"
    early = fk.Mirror(path)
    assert (early.since, fk.Mirror(path, changed_since=DAY).since) == (None, date(2026, 1, 1))
    fk.Mirror(path, changed_since=DAY, register=sample).sync()

    with pytest.raises(fk.UsageError, match="this mirror holds what changed since 2026-01-01"):
        early.units.count()
    assert early.since == date(2026, 1, 1)
    shutil.rmtree(path)
    fk.Mirror(path, register=sample).sync()
    assert early.units.count() == 60
    assert early.since is None


def test_a_picker_shows_the_error_as_text(part: fk.Mirror) -> None:
    """Nothing is raised where nobody could catch it; everything is all that the part has."""
    picker = fk.ChangePicker(register=part, lang="en")
    assert picker.fetch() == part.units.count(changed_since=DAY)
    picker.value = "2020-01-01"
    with pytest.raises(fk.UsageError, match="this mirror holds what changed since 2026-01-01"):
        picker.fetch()
    assert picker.count is None
    picker.value = part.since
    assert picker.fetch() == part.units.count(changed_since=DAY)


def test_what_is_shown_of_a_part_says_its_day(part: fk.Mirror) -> None:
    """In titles and panels, with whose copy it is and of which day."""
    explorer = fk.Explorer(register=part, lang="en")
    units = explorer.fetch()
    source = (
        "invented data of a finstat_kit sample, changed since 2026-01-01, copied as of 2026-06-30"
    )

    assert units.height == part.units.count(changed_since=DAY)
    assert "changed since 1\u00a0January\u00a02026" in explorer.line.value
    assert source in explorer.line.value
    assert "Register of Financial Statements" not in explorer.line.value
    ax = fk.plot_counts(units, register=part, lang="en", ax=Figure(layout="constrained").subplots())
    assert source in " ".join(ax.get_xlabel().split())
    assert 'changed_since="2026-01-01"' in explorer.code()


def test_a_day_behind_the_newest_change_has_no_units(tmp_path: Path) -> None:
    """A day behind the newest change has no units, and is no error."""
    sample = fk.sample(60)
    mirror = fk.Mirror(tmp_path / "ruz", changed_since=DAY, register=sample)
    mirror.sync()

    with pytest.warns(UserWarning, match="lies after the register's day"):
        assert mirror.units.count(changed_since=sample.today + timedelta(days=1)) == 0
