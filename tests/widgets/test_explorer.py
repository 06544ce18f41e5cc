"""The explorer without a browser: chart, counts, frame and code follow each choice."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from datetime import date
from functools import cache
from io import BytesIO
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.arguments import By
from finstat_kit.charts.parts.tiles import REGIONS
from finstat_kit.errors import BadRequest
from finstat_kit.frames.text import number_format
from finstat_kit.protocol.wire import Reply
from finstat_kit.widgets.controls.options import FIELDS
from tests.support.examples import examples, slow
from tests.support.pickers import (
    CODES,
    PLACES,
    SAMPLE,
    SERVICE,
    WAIT,
    Counting,
    counted,
    first_units,
    wait_for,
)
from tests.support.registers import Scripted, Watched, sample_of

SMALL = fk.sample(units=500)


@cache
def small_units() -> pl.DataFrame:
    return SMALL.units.get(SMALL.units.ids())


# The explorer


def same(found: pl.DataFrame | None, wanted: pl.DataFrame) -> None:
    assert found is not None
    assert_frame_equal(found, wanted)


@pytest.mark.slow
def test_one_redraw_per_action() -> None:
    """Whatever is chosen, the panel changes once, and shows the selection."""
    explorer = fk.Explorer(first_units(), register=SAMPLE)
    explorer.view.value = "bars"
    drawn = Counting(explorer.panel, "value")
    actions = {
        "region": lambda: setattr(explorer.location.region, "value", "SK031"),
        "district": lambda: setattr(explorer.location.district, "value", "SK0316"),
        "municipality": lambda: setattr(explorer.location.municipality, "value", "SK032D516589"),
        "value": lambda: setattr(explorer.location, "value", "SK0101"),
        "day": lambda: setattr(explorer.change, "value", "2020-01-01"),
        "quick": explorer.change.quick["this_year"].click,
        "lang": lambda: setattr(explorer, "lang", "en"),
        "language": lambda: setattr(explorer.language, "value", "sk"),
        "nothing": lambda: setattr(explorer.location, "value", None),
        "browser": lambda: explorer.location.region.set_state({"value": "SK023"}),
        "view": lambda: setattr(explorer.view, "value", "table"),
    }

    assert {name: drawn.of(action) for name, action in actions.items()} == dict.fromkeys(actions, 1)


@cache
def shared_explorer() -> fk.Explorer:
    return fk.Explorer(first_units(), register=SAMPLE)


explorer_actions = st.one_of(
    st.tuples(st.just("place"), st.none() | st.sampled_from(CODES)),
    st.tuples(st.just("day"), st.none() | st.dates(date(2012, 1, 1), date(2027, 1, 1))),
    st.tuples(st.just("lang"), st.sampled_from(["sk", "en"])),
    st.tuples(st.just("view"), st.sampled_from(["map", "bars", "table"])),
)


_BELOW: dict[str | None, By] = {
    None: "kraj", "region": "okres", "district": "sidlo", "municipality": "sidlo",
}  # fmt: skip


@examples(15)
@given(st.lists(explorer_actions, max_size=5))
def test_frame_and_counts_agree_in_any_order(actions: list[tuple[str, object]]) -> None:
    """After any actions frame, counts, map, bars or table, and title are of what is chosen last."""
    explorer, units = shared_explorer(), first_units()
    for name, choice in actions:
        if name == "place":
            explorer.location.value = choice  # type: ignore[assignment]
        elif name == "day":
            explorer.change.value = choice
        elif name == "view":
            explorer.view.value = choice
        else:
            explorer.lang = choice  # type: ignore[assignment]

    lang, code, day = (
        explorer.lang,
        explorer.location.value,
        explorer.change.value,
    )
    level = PLACES.filter(code=code)["level"][0] if code else None
    wanted = units if day is None else units.filter(pl.col("datumPoslednejUpravy") >= day)
    wanted = wanted.filter(pl.col(FIELDS[level]) == code) if level else wanted
    assert explorer.fetch().equals(wanted)
    counts = SAMPLE.count_by(wanted, _BELOW[level], lang=lang)
    same(explorer.counts, counts)
    shown, view, mapped = (
        explorer.panel.value,
        explorer.view.value,
        explorer.map.picture,
    )
    assert (view == "map") == bool(mapped)
    same_level = level is None or (level == "region" and code in REGIONS)
    rows = 0 if view == "map" and (same_level or counts.height == 1) else counts.height
    assert shown.count("<tr>") == (rows + 1 if rows and view == "table" else 0)
    assert shown.count("<figure") == (min(rows, 1) if view != "table" else 0)
    assert not rows or f' lang="{lang}"' in shown
    assert lang == explorer.location.lang == explorer.change.lang
    if code:
        name = PLACES.filter(code=code)[f"name_{lang}"][0]
        assert f">{name}: {'jednotky' if lang == 'sk' else 'units'}" in explorer.line.value


def test_what_is_shown_is_said() -> None:
    """Title, number of units, day of change, and that the data are invented."""
    explorer = fk.Explorer(first_units(), register=SAMPLE, lang="en")
    explorer.location.value = "SK031"
    explorer.change.value = "2026-06-01"

    assert "Region of Žilina: units by district" in explorer.line.value
    assert f">{explorer.fetch().height} units · changed since" in explorer.line.value
    assert explorer.line.value.endswith(
        "1\u00a0June\u00a02026 · of the 2,000 given · sample (invented) data</div>"
    )
    assert 'aria-label="Region of Žilina: units by district"' in explorer.map.picture
    explorer.view.value = "bars"
    assert 'aria-label="Bar chart. Region of Žilina: units by district. ' in explorer.panel.value


def test_given_records_are_not_said_to_have_changed() -> None:
    """The number given stands where a register's units have their day; nouns follow numbers."""
    for height, sk, en in [
        (1, "1 jednotka", "1 unit"), (3, "3 jednotky", "3 units"), (5, "5 jednotiek", "5 units"),
    ]:  # fmt: skip
        explorer = fk.Explorer(first_units().head(height), register=SAMPLE)
        assert f">{sk} · odovzdané záznamy: {height} · ukážkové" in explorer.line.value
        explorer.lang = "en"
        assert f">{en} · of the {height} given · sample" in explorer.line.value


def tiles_of(explorer: fk.Explorer) -> dict[str, int]:
    """Return the number on each tile."""
    tiles = re.findall(
        r'<g data-code="(\w+)".*?>([0-9\u00a0]+)</text></g>', explorer.map.picture, re.DOTALL
    )
    return {code: int(number.replace("\u00a0", "")) for code, number in tiles}


def test_the_map_shows_the_regions_then_districts() -> None:
    """Each tile has the number of the table; a choice below keeps its region's map, marked."""
    explorer = fk.Explorer(first_units(), register=SAMPLE)
    numbers = dict(SAMPLE.count_by(first_units(), "kraj").select("code", "count").iter_rows())
    assert tiles_of(explorer) == {code: numbers[code] for code in REGIONS}
    assert "aria-current" not in explorer.map.picture

    explorer.location.value = "SK031"
    inside = SAMPLE.count_by(first_units().filter(kraj="SK031"), "okres").select("code", "count")
    assert tiles_of(explorer) == dict(inside.iter_rows())
    explorer.location.value = "SK0316"
    assert tiles_of(explorer) == dict(inside.iter_rows())
    assert 'data-code="SK0316" data-x="1" data-y="3" aria-current="true"' in explorer.map.picture
    martin = number_format.units(dict(inside.iter_rows())["SK0316"], "sk")
    assert f"<title>Martin: {martin} (" in explorer.map.picture
    assert "Mimo mapy" not in explorer.map.picture
    explorer.location.value = "SKZZ"
    assert "Mimo mapy: " in explorer.map.picture
    assert set(tiles_of(explorer)) == set(REGIONS)


def test_the_map_chooses() -> None:
    """A tile chosen in the browser is the choice; Escape has the code one level up."""
    explorer = fk.Explorer(first_units(), register=SAMPLE)
    drawn = Counting(explorer.map, "picture")

    assert drawn.of(lambda: explorer.map.set_state({"value": "SK032"})) == 1
    assert (explorer.location.value, explorer.map.up) == ("SK032", "")
    explorer.map.set_state({"value": "SK032D"})
    assert (explorer.location.value, explorer.map.up) == ("SK032D", "SK032")
    explorer.location.municipality.value = "SK032D516589"
    assert (explorer.map.value, explorer.map.up) == ("SK032D516589", "SK032D")
    explorer.map.set_state({"value": ""})
    assert explorer.location.value is None


def test_the_saved_map_is_the_one_chosen() -> None:
    """Without a kernel the same picture is shown, with its text in the language."""
    explorer = fk.Explorer(first_units(), register=SAMPLE, lang="en")
    explorer.location.value = "SK031"

    saved = str(explorer._repr_mimebundle_()["text/html"])

    assert explorer.map.picture in saved
    assert 'aria-label="Region of Žilina: units by district"' in saved


@pytest.mark.slow
def test_what_is_selected_is_saved_in_the_kind_of_file_chosen() -> None:
    """The records as csv and xlsx, the counts as a picture; the name says what was chosen."""
    explorer = fk.Explorer(first_units(), register=SAMPLE, lang="en")
    explorer.location.value = "SK031"
    explorer.change.value = "2026-06-01"
    name = "units-SK031-2026-06-01"

    files = {kind: explorer._file(kind) for kind in ("csv", "xlsx", "png")}

    assert {kind: file[0] for kind, file in files.items()} == {k: f"{name}.{k}" for k in files}
    read = pl.read_csv(files["csv"][1], infer_schema=False)
    assert read["id"].to_list() == explorer.fetch()["id"].cast(str).to_list()
    sheet = openpyxl.load_workbook(BytesIO(files["xlsx"][1])).active
    assert [str(row[0].value) for row in sheet.iter_rows(2, 1 + read.height)] == list(read["id"])
    assert files["png"][1].startswith(b"\x89PNG")
    explorer.location.value = None
    assert explorer._file("png")[1] != files["png"][1]


def test_the_code_is_shown_until_it_is_outdated() -> None:
    """The button shows and hides it; a choice made since hides it too; a failure is a line."""
    explorer = fk.Explorer(first_units(), register=SAMPLE)
    export = explorer.export

    def click(kind: str) -> None:
        export._handle_custom_msg({"kind": kind}, [])

    click("code")
    assert export.code == explorer.code()
    click("code")
    assert export.code == ""
    click("code")
    explorer.location.value = "SK031"
    assert export.code == ""
    place, day = fk.LocationPicker(register=SAMPLE), fk.ChangePicker(register=SAMPLE)
    place.value, day.value = "SK031", "2026-06-01"
    names: dict[str, pl.DataFrame] = {"units": first_units()}
    exec(place.code(), names)
    assert names["selection"].equals(place.filter(first_units()))
    exec(day.code(), names)
    assert names["selection"].height == day.count
    places = [SERVICE("GET", f"/api/{name}", "") for name in ("kraje", "okresy", "sidla")]
    register = Scripted(*places, counted(5), base_url="https://register.example")
    remote = fk.Explorer(register=register)
    remote.export._handle_custom_msg({"kind": "csv"}, [])
    assert "fk.units.get(ids)" in remote.export.note


def test_an_empty_selection_says_so() -> None:
    """An empty selection says so, with no chart, and has frames with their columns."""
    explorer = fk.Explorer(first_units(), register=SAMPLE, lang="en")

    explorer.change.value = "2027-01-01"

    assert "No unit matches the choice." in explorer.line.value
    assert ">0 units · changed since" in explorer.line.value
    assert explorer.panel.value == ""
    same(explorer.frame, first_units().clear())
    same(explorer.counts, SAMPLE.count_by(first_units().clear(), "kraj"))


def test_without_a_frame_a_sample_is_asked() -> None:
    """The records of units changed since the day are fetched, newest day first."""
    explorer = fk.Explorer(register=SAMPLE)

    explorer.change.value = "2026-06-01"
    explorer.location.value = "SK010"

    wanted = SAMPLE.units.get(SAMPLE.units.ids(changed_since="2026-06-01")).filter(kraj="SK010")
    assert explorer.fetch().equals(wanted)
    same(explorer.frame, wanted)
    same(explorer.counts, SAMPLE.count_by(wanted, "okres"))
    units = wanted.height
    assert repr(explorer) == (
        f"Explorer(value='SK010', changed_since='2026-06-01', units={units}, lang='sk')"
    )
    wait_for(explorer.line, "Bratislavský kraj: jednotky podľa okresov")


def test_no_property_waits_for_records() -> None:
    """Until the records are here there is no frame; `fetch` waits for them."""
    sample = sample_of(dict.fromkeys(range(1, 4), date(2024, 1, 1)))
    register = Watched(sample)
    let = threading.Event()

    def later(path: str, _: str) -> None:
        if path == "/api/uctovne-jednotky":
            assert let.wait(WAIT)

    register.instead = later
    explorer = fk.Explorer(register=register)

    assert explorer.frame is explorer.counts is None
    assert "units=None" in repr(explorer)
    assert "Načítavam" in explorer.line.value
    let.set()
    same(explorer.fetch(), sample.units.get([1, 2, 3]))
    same(explorer.frame, explorer.fetch())


def test_records_that_come_later_are_drawn_once() -> None:
    """While records are on their way the choice may change: one drawing shows the last."""
    register = sample_of(dict.fromkeys(range(1, 5), date(2024, 1, 1)))
    explorer = fk.Explorer(register=register)
    explorer.fetch()
    wait_for(explorer.line, ">4 jednotky · zmenené kedykoľvek · ")
    drawn = Counting(explorer.line, "value")

    explorer.change.value = "2023-01-01"
    wait_for(explorer.line, "zmenené od 1.")

    assert len(drawn.seen) == 2  # that they are being fetched, and they


def test_a_real_register_is_not_asked_for_records() -> None:
    """Without a frame a line says what to give; nothing is fetched."""
    places = [SERVICE("GET", f"/api/{name}", "") for name in ("kraje", "okresy", "sidla")]
    register = Scripted(*places, counted(5), base_url="https://register.example")
    explorer = fk.Explorer(register=register, lang="en")
    assert explorer.change.fetch() == 5

    explorer.location.value = "SK031"

    assert "fk.Explorer(fk.units.get(ids))" in explorer.line.value
    assert explorer.panel.value == ""
    with pytest.raises(fk.UsageError, match=r"fk.units.get\(ids\)"):
        explorer.fetch()
    assert explorer.frame is explorer.counts is None
    assert [path for path in register.asked if "uctovna-jednotka" in path] == []
    assert repr(explorer) == "Explorer(value='SK031', changed_since=None, units=None, lang='en')"
    assert "fk.Explorer(fk.units" in explorer._repr_mimebundle_()["text/html"]  # type: ignore[operator]


def test_a_register_that_fails_is_a_line_of_text() -> None:
    """The error is a line of text, and raised by `fetch`."""
    places = [SERVICE("GET", f"/api/{name}", "") for name in ("kraje", "okresy", "sidla")]
    register = Scripted(*places, *[Reply(400, {}, b"<b>no</b>")] * 2)
    explorer = fk.Explorer(register=register, lang="en")

    with pytest.raises(BadRequest):
        explorer.fetch()
    assert explorer.frame is None
    wait_for(explorer.line, "Failed: ")
    assert "<b>" not in explorer.line.value


@pytest.mark.parametrize(
    ("place", "given_frame"),
    [("SK010", "none"), ("SK010", "some"), *slow((None, "some"), ("582000", "narrow"))],
)
def test_code_gives_the_same_selection(place: str | None, given_frame: str) -> None:
    """What is pasted elsewhere selects the same rows in the same order: a query, never ids."""
    frames = {
        "none": None,
        "some": small_units().sort("nazovUJ", "id").with_columns(own=pl.lit(1)),
        "narrow": small_units().select("id", "kraj", "okres", "sidlo", "datumPoslednejUpravy"),
    }
    frame = frames[given_frame]
    explorer = fk.Explorer(frame, register=SMALL)
    explorer.change.value = "2024-05-01"
    explorer.location.value = place

    script, found = explorer.code(), {} if frame is None else {"units": frame}
    exec(script, found)

    assert found["selection"].equals(explorer.fetch())
    assert ("# units is your frame of records." in script) == (frame is not None)
    fetches = "fk.use(fk.sample(units=500))  # a sample: its units are invented" in script
    assert fetches == ("fk.units.ids(changed_since=" in script) == (frame is None)


@pytest.mark.slow
def test_code_gives_the_same_selection_in_a_fresh_process(tmp_path: Path) -> None:
    """It chooses and imports all that it needs."""
    explorer = fk.Explorer(register=SMALL)
    explorer.location.value = "SK0102"
    saved = tmp_path / "selection.parquet"

    script = explorer.code() + f"selection.write_parquet({str(saved)!r})\n"
    subprocess.run([sys.executable, "-c", script], check=True)

    assert pl.read_parquet(saved).equals(explorer.fetch())


@pytest.mark.slow
def test_code_says_what_it_cannot_know() -> None:
    """A sample that was changed, and a frame without ids, are named in a comment."""
    assert "fk.use(fk.sample())" in fk.ChangePicker(register=SAMPLE).code()
    changed = fk.sample(units=50, seed=3)
    assert "fk.use(fk.sample(units=50, seed=3))" in fk.Explorer(register=changed).code()
    changed.publish(1)

    assert "# Choose the same register first: SAMPLE DATA" in fk.Explorer(register=changed).code()
    explorer = fk.Explorer(first_units().drop("id"), register=SAMPLE)
    explorer.location.value = "SK031"
    names = {"units": first_units()}
    exec(explorer.code(), names)
    assert names["selection"].equals(first_units().filter(kraj="SK031"))


def test_explorer_refuses_what_is_no_frame_of_records() -> None:
    """The missing columns are named, and the cure."""
    with pytest.raises(
        fk.UsageError, match=r"no columns \['okres', 'sidlo', 'datumPosl.*units.get"
    ):
        fk.Explorer(first_units().select("id", "kraj"), register=SAMPLE)
    with pytest.raises(fk.UsageError, match="units is a list"):
        fk.Explorer([1], register=SAMPLE)  # type: ignore[arg-type]
