"""The pickers without a browser: every action, in every order, on whichever thread."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path

import polars as pl
import pytest
import traitlets
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.arguments import By
from finstat_kit.charts.tiles import REGIONS
from finstat_kit.frames import number_format, slovak_order
from finstat_kit.protocol.wire import Reply
from finstat_kit.widgets.background import LatestWins
from finstat_kit.widgets.options import FIELDS, Path as Choice
from tests.support.examples import examples
from tests.support.registers import Scripted, Watched, sample_of, service

SAMPLE, SERVICE = fk.sample(), service(0)
UNITS = SAMPLE.units.get(SAMPLE.units.ids(limit=2_000))
SMALL = fk.sample(units=500)
SMALL_UNITS = SMALL.units.get(SMALL.units.ids())
PLACES = SAMPLE.locations()
CODES = PLACES["code"].to_list()
WAIT = 20  # seconds, far more than anything here takes


def codes_of(level: str) -> list[str]:
    return PLACES.filter(level=level)["code"].to_list()


def codelists(
    folder: Path, *, regions: object = None, districts: object = None, municipalities: object = None
) -> fk.Sample:
    given = {"kraje": regions, "okresy": districts, "sidla": municipalities}
    for name, rows in given.items():
        entries = [
            {"kod": code, "nazov": {"sk": sk, "en": en}, "nadradenaLokacia": parent}
            for code, sk, en, parent in rows or ()  # type: ignore[attr-defined]
        ]
        (folder / f"{name}.json").write_text(json.dumps({"lokacie": entries}), encoding="utf-8")
    return fk.sample(units=10, codelists=folder)


class Counting:
    """Counts the changes of a trait."""

    def __init__(self, widget: traitlets.HasTraits, name: str) -> None:
        self.seen: list[object] = []
        widget.observe(lambda change: self.seen.append(change["new"]), name)

    def of(self, action: object) -> int:
        before = len(self.seen)
        action()  # type: ignore[operator]
        return len(self.seen) - before


def labels(control: object) -> list[str]:
    return [label for label, _ in control.options]  # type: ignore[attr-defined]


def assert_consistent(picker: fk.LocationPicker) -> None:
    """Nothing shown is stale: each control offers and shows what goes with the others."""
    path = Choice(picker.region.value, picker.district.value, picker.municipality.value)
    assert picker.value == (path.deepest[1] if path.deepest else None)
    assert list(picker.codes.values()) == [code or None for code in path]
    inside = [
        code
        for code, region in PLACES.filter(level="district").select("code", "region_code").rows()
        if path.region in ("", region)
    ]
    assert sorted(code for _, code in picker.district.options) == sorted(inside)
    assert picker.district.within == path.region
    assert picker.municipality.within == (path.district or path.region)
    if path.deepest:
        level, code = path.deepest
        known = PLACES.filter(level=level, code=code).row(0, named=True)
        assert (known["region_code"] or "", known["district_code"] or "") == path[:2]
        column = FIELDS[level]
        assert picker.filter(UNITS).equals(UNITS.filter(pl.col(column) == code))
    else:
        assert picker.filter(UNITS) is UNITS


# Places


def test_names_are_in_slovak_alphabetical_order() -> None:
    """Letters with a hook come after the plain ones, ch after h; accents decide last."""
    right = ["Cabaj", "Cífer", "Čadca", "Drienov", "Ďurčiná", "Hôrky", "Hruštín", "Chorvátsky Grob"]
    right += ["Ilava", "Ľubica", "Lubina", "Lučka", "Lúčka", "Nová Ves", "Nováčany", "Sučany"]
    right += ["Šaľa", "Zvolen", "Žiar"]

    mixed = [*right[1::2], *right[::2]]
    assert sorted(mixed, key=slovak_order.key) == right


def test_regions_are_offered_in_slovak_order_abroad_last() -> None:
    """Both entries for abroad stand last and carry their code, since they share a name."""
    picker = fk.LocationPicker(SAMPLE)

    assert labels(picker.region) == [
        "Banskobystrický kraj",
        "Bratislavský kraj",
        "Košický kraj",
        "Nitriansky kraj",
        "Prešovský kraj",
        "Trenčiansky kraj",
        "Trnavský kraj",
        "Žilinský kraj",
        "Zahraničie (SKZZ)",
        "Zahraničie (SKZZZ)",
    ]
    picker.region.value = "SK031"
    assert labels(picker.district)[:3] == ["Bytča", "Čadca", "Dolný Kubín"]
    assert picker.region.texts["placeholder"] == "Všetky kraje"
    assert picker.district.texts["placeholder"] == "Všetky okresy"


def test_a_municipality_brings_its_district_and_region() -> None:
    """A choice below fills in what is above it, and is told once."""
    picker = fk.LocationPicker(SAMPLE)
    told = Counting(picker, "value")

    picker.municipality.value = "SK032D516589"

    assert told.seen == ["SK032D516589"]
    assert picker.codes == {"kraj": "SK032", "okres": "SK032D", "sidlo": "SK032D516589"}
    assert_consistent(picker)


def test_a_choice_above_ends_the_one_below() -> None:
    """Another region, and no region, leave no district or municipality of the former one."""
    picker = fk.LocationPicker(SAMPLE)
    picker.value = "SK032D516589"

    picker.region.value = "SK010"
    assert picker.value == "SK010"
    assert_consistent(picker)
    picker.district.value = "SK0101"
    picker.region.value = ""
    assert picker.value is None
    assert_consistent(picker)


def test_clearing_goes_up_one_level() -> None:
    """Without its municipality the district stays, without its district the region."""
    picker = fk.LocationPicker(SAMPLE)
    picker.value = "SK032D516589"

    picker.municipality.value = ""
    assert picker.value == "SK032D"
    picker.district.value = ""
    assert picker.value == "SK032"
    picker.value = None
    assert_consistent(picker)


control_actions = st.one_of(
    st.tuples(st.just("value"), st.none() | st.sampled_from(CODES)),
    st.tuples(st.just("region"), st.sampled_from(["", *codes_of("region")])),
    st.tuples(st.just("district"), st.sampled_from(["", *codes_of("district")])),
    st.tuples(st.just("municipality"), st.sampled_from(["", *codes_of("municipality")])),
    st.tuples(st.just("lang"), st.sampled_from(["sk", "en"])),
)
PICKER = fk.LocationPicker(SAMPLE)


@examples(60)
@given(st.lists(control_actions, max_size=8))
def test_no_order_of_choices_leaves_a_stale_one(actions: list[tuple[str, object]]) -> None:
    """After any actions, by controls or from code, everything shown agrees."""
    for name, choice in actions:
        if name == "district":  # as the browser does it
            PICKER.district.set_state({"value": choice})
        elif name in ("value", "lang"):
            kept = PICKER.value
            setattr(PICKER, name, choice)
            assert PICKER.value == (choice if name == "value" else kept)
        else:
            getattr(PICKER, name).value = choice
        assert_consistent(PICKER)


def test_the_language_changes_labels_and_nothing_else() -> None:
    """What is chosen stays chosen, and nobody is told of a change."""
    picker = fk.LocationPicker(SAMPLE)
    picker.value = "SK0101"
    told = Counting(picker, "value")

    picker.lang = "en"

    assert told.seen == []
    assert ("Region of Bratislava", "SK010") in picker.region.options
    assert picker.region.texts["placeholder"] == "All regions"
    fields = (picker.region, picker.district, picker.municipality)
    assert [field.texts["label"] for field in fields] == ["Region", "District", "Municipality"]
    assert_consistent(picker)
    with pytest.raises(fk.UsageError, match="lang='de'"):
        picker.lang = "de"  # type: ignore[assignment]


def test_entries_without_a_parent_stay_reachable() -> None:
    """Bratislava and Košice have no district: found all the same, also below another region."""
    picker = fk.LocationPicker(SAMPLE)
    picker.region.value = "SK031"

    picker.municipality.value = "582000"

    assert picker.codes == {"kraj": None, "okres": None, "sidlo": "582000"}
    assert ["582000", "Bratislava", "bez okresu", "", ""] in picker.municipality.items
    assert_consistent(picker)


def test_districts_without_a_known_parent_are_offered(tmp_path: Path) -> None:
    """They are offered while no region is chosen; names missing or repeated show codes."""
    register = codelists(
        tmp_path,
        regions=[("R1", "Prvý kraj", "First", None), ("R2", None, None, None)],
        districts=[
            ("D1", "Áno", "Yes", "R1"),
            ("D2", "Nie", "No", "R9"),
            ("D3", "Nie", "No", None),
        ],
        municipalities=[("M1", "Ves", "Ves", "D2"), ("M2", "Ves", "Ves", "D2")],
    )
    picker = fk.LocationPicker(register)

    assert labels(picker.district) == ["Áno", "Nie (D2)", "Nie (D3)"]
    assert ("R2", "R2") in picker.region.options
    assert [item[2] for item in picker.district.items] == ["Prvý kraj", "", ""]
    picker.municipality.value = "M2"
    assert picker.codes == {"kraj": None, "okres": "D2", "sidlo": "M2"}
    assert [item[2] for item in picker.municipality.items] == ["okres Nie, M1", "okres Nie, M2"]
    picker.region.value = "R1"
    assert labels(picker.district) == ["Áno"]
    assert picker.value == "R1"


def test_unknown_codes_are_refused() -> None:
    """From code an unknown place is an error, and the choice stays."""
    picker = fk.LocationPicker(SAMPLE)
    picker.value = "SK031"

    with pytest.raises(
        fk.UsageError, match=r"value='SK99' is not the code of a place.*find_places"
    ):
        picker.value = "SK99"
    with pytest.raises(traitlets.TraitError, match="SK99"):
        picker.municipality.value = "SK99"
    assert picker.value == "SK031"
    assert_consistent(picker)


def test_a_list_of_real_size_is_offered_whole(full_size: Path) -> None:
    """2,940 municipalities are all there, each told apart from those of its name."""
    picker = fk.LocationPicker(fk.sample(units=10, codelists=full_size))
    items = picker.municipality.items

    assert len(items) == 2_940
    assert len({(name, detail) for _, name, detail, *_ in items}) == 2_940
    assert [item[0] for item in items if item[1] == "Bez okresu 3"] == ["590003"]
    assert len(repr(picker.municipality)) < 80


def test_filter_names_the_missing_column() -> None:
    """A frame without the column is an error that says which; a LazyFrame stays lazy."""
    picker = fk.LocationPicker(SAMPLE)
    picker.value = "SK031"

    with pytest.raises(fk.UsageError, match="no column 'kraj'"):
        picker.filter(UNITS.select("id"))
    assert picker.filter(UNITS.lazy()).collect().equals(picker.filter(UNITS))


def test_threads_leave_no_stale_choice() -> None:
    """Two threads choose at the same time: whoever is last, everything agrees."""
    picker = fk.LocationPicker(SAMPLE)
    start = threading.Barrier(2)

    def choose(control: str, codes: list[str]) -> None:
        start.wait()
        for code in codes * 10:
            if control == "value":
                picker.value = code
            else:
                picker.municipality.value = code

    threads = [
        threading.Thread(target=choose, args=("value", ["SK031", "SK0101", "582000"])),
        threading.Thread(target=choose, args=("municipality", ["SK032D516589", "599981"])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)

    assert_consistent(picker)


# The day of change


@pytest.mark.parametrize(
    ("quick", "day"),
    [
        ("last_7", date(2026, 6, 24)),
        ("last_30", date(2026, 6, 1)),
        ("this_year", date(2026, 1, 1)),
        ("everything", None),
    ],
)
def test_quick_choices_follow_the_registers_day(quick: str, day: date | None) -> None:
    """Days are counted by the register's today, which is one of them."""
    picker = fk.ChangePicker(SAMPLE)
    picker.value = "2020-01-01"

    picker.quick[quick].click()

    assert picker.value == picker.calendar.value == day
    assert picker.count == SAMPLE.units.count(changed_since=day)


def test_the_day_is_set_by_code_and_calendar() -> None:
    """Text and dates are taken, anything else is an error; clearing means everything."""
    picker = fk.ChangePicker(SAMPLE)
    told = Counting(picker, "value")

    picker.value = "2026-06-01"
    assert picker.calendar.value == date(2026, 6, 1)
    picker.calendar.value = None
    assert picker.value is None
    assert told.seen == [date(2026, 6, 1), None]
    with pytest.raises(fk.UsageError, match="value='yesterday' is not a valid date"):
        picker.value = "yesterday"


def test_a_year_being_typed_is_no_error() -> None:
    """A calendar tells 0002 on the way to 2026; the register is asked for everything."""
    picker = fk.ChangePicker(SAMPLE)

    picker.calendar.value = date(2, 1, 1)

    assert picker.count == 20_000


def test_the_count_is_told_in_both_languages() -> None:
    """The line says how many and since when, as each language writes it."""
    picker = fk.ChangePicker(SAMPLE)
    picker.value = "2026-01-01"
    assert picker.count == 1659
    wait_for(picker.line, "1\u00a0659")

    assert "V registri zmenené od 1.\u00a01.\u00a02026: 1\u00a0659 jednotiek" in picker.line.value
    picker.lang = "en"
    assert (
        "In the register: 1,659 units changed since 1\u00a0January\u00a02026" in picker.line.value
    )
    assert picker.value == date(2026, 1, 1)


class Slow(Scripted):
    """A register that answers a day's count when it is let, and says that it was asked."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        super().__init__()
        self.bodies = answers
        self.reached = {day: threading.Event() for day in answers}
        self.let = {day: threading.Event() for day in answers}

    def _answer(self, method: str, path: str, query: str) -> Reply:
        day = next(day for day in self.bodies if day in query)
        self.reached[day].set()
        assert self.let[day].wait(WAIT)
        return Reply(200, {}, self.bodies[day])


def wait_for(line: traitlets.HasTraits, text: str) -> None:
    """Wait until a line of text says something."""
    said = threading.Event()

    def look(_: object = None) -> None:
        if text in line.value:  # type: ignore[attr-defined]
            said.set()

    line.observe(look, "value")
    look()
    assert said.wait(WAIT), line.value  # type: ignore[attr-defined]


def counted(n: int) -> bytes:
    return b'{"pocetZostavajucichId": %d}' % n


def test_the_newest_question_wins() -> None:
    """A slow answer to an older question is never shown, and asking does not block."""
    register = Slow({"2000-01-01": counted(1), "2024-01-01": counted(2), "2025-01-01": counted(3)})
    picker = fk.ChangePicker(register)
    assert register.reached["2000-01-01"].wait(WAIT)
    picker.value = "2024-01-01"
    assert register.reached["2024-01-01"].wait(WAIT)
    assert "Počítam" in picker.line.value
    assert picker.count is None
    assert repr(picker) == "ChangePicker(value='2024-01-01', count=None, lang='sk')"
    told = Counting(picker.line, "value")

    picker.value = "2025-01-01"
    register.let["2025-01-01"].set()
    assert picker.fetch() == 3
    wait_for(picker.line, ": 3 jednotky")
    for slow in ("2000-01-01", "2024-01-01"):
        register.let[slow].set()
    for thread in threading.enumerate():
        if thread.name == "finstat_kit":
            thread.join(WAIT)

    assert ": 3 jednotky" in picker.line.value
    assert len(told.seen) == 2  # that it counts since 2025, and how many
    assert repr(picker) == "ChangePicker(value='2025-01-01', count=3, lang='sk')"


def test_errors_are_a_line_of_text() -> None:
    """What the register says wrong is told, escaped; the next question is asked all the same."""
    register = Scripted(Reply(400, {}, b"<img src=x onerror=alert(1)>"), counted(7))
    picker = fk.ChangePicker(register, lang="en")

    with pytest.raises(fk.BadRequest):
        picker.fetch()
    wait_for(picker.line, "Failed: ")
    assert "<img" not in picker.line.value
    assert picker.count is None
    picker.value = "2024-01-01"
    assert picker.fetch() == picker.count == 7


def test_a_question_overtaken_at_once_is_not_asked() -> None:
    """Digits of a year come fast: only the first and the last of them cost a request."""
    asked: list[int] = []
    first, let = threading.Event(), threading.Event()

    def work(question: int, _: object) -> int:
        asked.append(question)
        first.set()
        assert let.wait(WAIT)
        return question

    latest = LatestWins(work, lambda: None)
    latest.ask(0)
    assert first.wait(WAIT)
    for question in range(1, 10):
        latest.ask(question)
    let.set()

    assert latest.result() == 9
    assert asked == [0, 9]


# The explorer


def same(found: pl.DataFrame | None, wanted: pl.DataFrame) -> None:
    assert found is not None
    assert_frame_equal(found, wanted)


def test_one_redraw_per_action() -> None:
    """Whatever is chosen, the panel changes once, and shows the selection."""
    explorer = fk.Explorer(UNITS, SAMPLE)
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
    }

    assert {name: drawn.of(action) for name, action in actions.items()} == dict.fromkeys(actions, 1)


EXPLORER = fk.Explorer(UNITS, SAMPLE)
explorer_actions = st.one_of(
    st.tuples(st.just("place"), st.none() | st.sampled_from(CODES)),
    st.tuples(st.just("day"), st.none() | st.dates(date(2012, 1, 1), date(2027, 1, 1))),
    st.tuples(st.just("lang"), st.sampled_from(["sk", "en"])),
)
_BELOW: dict[str | None, By] = {
    None: "kraj", "region": "okres", "district": "sidlo", "municipality": "sidlo",
}  # fmt: skip


@examples(15)
@given(st.lists(explorer_actions, max_size=5))
def test_frame_and_counts_agree_in_any_order(actions: list[tuple[str, object]]) -> None:
    """After any actions frame, counts, table and title are of what is chosen last."""
    for name, choice in actions:
        if name == "place":
            EXPLORER.location.value = choice  # type: ignore[assignment]
        elif name == "day":
            EXPLORER.change.value = choice
        else:
            EXPLORER.lang = choice  # type: ignore[assignment]

    lang, code, day = EXPLORER.lang, EXPLORER.location.value, EXPLORER.change.value
    level = PLACES.filter(code=code)["level"][0] if code else None
    wanted = UNITS if day is None else UNITS.filter(pl.col("datumPoslednejUpravy") >= day)
    wanted = wanted.filter(pl.col(FIELDS[level]) == code) if level else wanted
    assert EXPLORER.fetch().equals(wanted)
    counts = SAMPLE.count_by(wanted, _BELOW[level], lang=lang)
    same(EXPLORER.counts, counts)
    shown = EXPLORER.panel.value
    assert shown.count("<tr>") == (counts.height + 1 if counts.height else 0)
    assert shown.count("<figure") == min(counts.height, 1)
    assert f' lang="{lang}"' in shown
    assert lang == EXPLORER.location.lang == EXPLORER.change.lang
    if code:
        name = PLACES.filter(code=code)[f"name_{lang}"][0]
        assert f">{name}: {'jednotky' if lang == 'sk' else 'units'}" in shown


def test_what_is_shown_is_said() -> None:
    """Title, number of units, day of change, and that the data are invented."""
    explorer = fk.Explorer(UNITS, SAMPLE, lang="en")
    explorer.location.value = "SK031"
    explorer.change.value = "2026-06-01"

    assert "Region of Žilina: units by district" in explorer.panel.value
    assert f">{explorer.fetch().height} units · changed since" in explorer.panel.value
    assert "1\u00a0June\u00a02026 · of the 2,000 given · sample (invented) data (SAMPLE DATA" in (
        explorer.panel.value
    )
    assert 'aria-label="Bar chart. Region of Žilina: units by district. ' in explorer.panel.value


def test_given_records_are_not_said_to_have_changed() -> None:
    """The number given stands where a register's units have their day; nouns follow numbers."""
    for height, sk, en in [
        (1, "1 jednotka", "1 unit"), (3, "3 jednotky", "3 units"), (5, "5 jednotiek", "5 units"),
    ]:  # fmt: skip
        explorer = fk.Explorer(UNITS.head(height), SAMPLE)
        assert f">{sk} · odovzdané záznamy: {height} · ukážkové" in explorer.panel.value
        explorer.lang = "en"
        assert f">{en} · of the {height} given · sample" in explorer.panel.value


def tiles_of(explorer: fk.Explorer) -> dict[str, int]:
    """Return the number on each tile."""
    tiles = re.findall(
        r'<g data-code="(\w+)".*?>([0-9\u00a0]+)</text></g>', explorer.map.picture, re.DOTALL
    )
    return {code: int(number.replace("\u00a0", "")) for code, number in tiles}


def test_the_map_shows_the_regions_then_districts() -> None:
    """Each tile has the number of the table; a choice below keeps its region's map, marked."""
    explorer = fk.Explorer(UNITS, SAMPLE)
    numbers = dict(SAMPLE.count_by(UNITS, "kraj").select("code", "count").iter_rows())
    assert tiles_of(explorer) == {code: numbers[code] for code in REGIONS}
    assert "aria-current" not in explorer.map.picture

    explorer.location.value = "SK031"
    inside = SAMPLE.count_by(UNITS.filter(kraj="SK031"), "okres").select("code", "count")
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
    explorer = fk.Explorer(UNITS, SAMPLE)
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
    explorer = fk.Explorer(UNITS, SAMPLE, lang="en")
    explorer.location.value = "SK031"

    saved = str(explorer._repr_mimebundle_()["text/html"])

    assert explorer.map.picture in saved
    assert 'aria-label="Region of Žilina: units by district"' in saved


def test_an_empty_selection_says_so() -> None:
    """An empty selection says so, with no chart, and has frames with their columns."""
    explorer = fk.Explorer(UNITS, SAMPLE, lang="en")

    explorer.change.value = "2027-01-01"

    assert "No unit matches the choice." in explorer.panel.value
    assert ">0 units · changed since" in explorer.panel.value
    assert "<figure" not in explorer.panel.value
    same(explorer.frame, UNITS.clear())
    same(explorer.counts, SAMPLE.count_by(UNITS.clear(), "kraj"))


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
    wait_for(explorer.panel, "Bratislavský kraj: jednotky podľa okresov")


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
    wait_for(explorer.panel, ">4 jednotky · zmenené kedykoľvek · ")
    drawn = Counting(explorer.panel, "value")

    explorer.change.value = "2023-01-01"
    wait_for(explorer.panel, "zmenené od 1.")

    assert len(drawn.seen) == 1


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

    with pytest.raises(fk.BadRequest):
        explorer.fetch()
    assert explorer.frame is None
    wait_for(explorer.line, "Failed: ")
    assert "<b>" not in explorer.line.value


@pytest.mark.parametrize("place", [None, "SK010", "SK0102", "582000"])
@pytest.mark.parametrize("given_frame", ["none", "all", "some", "narrow"])
def test_code_gives_the_same_selection_in_a_fresh_process(
    place: str | None, given_frame: str, tmp_path: Path
) -> None:
    """What is pasted elsewhere selects the same rows in the same order."""
    frames = {
        "none": None,
        "all": SMALL_UNITS,
        "some": SMALL_UNITS.sort("nazovUJ", "id").with_columns(own=pl.lit(1)),
        "narrow": SMALL_UNITS.select("id", "kraj", "okres", "sidlo", "datumPoslednejUpravy"),
    }
    explorer = fk.Explorer(frames[given_frame], SMALL)
    explorer.change.value = "2024-05-01"
    explorer.location.value = place
    saved = tmp_path / "selection.parquet"

    script = explorer.code() + f"selection.write_parquet({str(saved)!r})\n"
    subprocess.run([sys.executable, "-c", script], check=True)

    assert pl.read_parquet(saved).equals(explorer.fetch().drop("own", strict=False))
    assert "fk.use(fk.sample(units=500))  # a sample: its units are invented" in script
    assert ("ids = [" in script) == (given_frame in ("some", "narrow"))


def test_code_says_what_it_cannot_know() -> None:
    """A sample that was changed, and a frame without ids, are named in a comment."""
    assert "fk.use(fk.sample())" in fk.Explorer(UNITS, SAMPLE).code()
    changed = fk.sample(units=50, seed=3)
    assert "fk.use(fk.sample(units=50, seed=3))" in fk.Explorer(register=changed).code()
    changed.publish(1)

    assert "# Choose the same register first: SAMPLE DATA" in fk.Explorer(register=changed).code()
    explorer = fk.Explorer(UNITS.drop("id"), SAMPLE)
    explorer.location.value = "SK031"
    names = {"units": UNITS}
    exec(explorer.code(), names)
    assert names["selection"].equals(UNITS.filter(kraj="SK031"))


def test_explorer_refuses_what_is_no_frame_of_records() -> None:
    """The missing columns are named, and the cure."""
    with pytest.raises(
        fk.UsageError, match=r"no columns \['okres', 'sidlo', 'datumPosl.*units.get"
    ):
        fk.Explorer(UNITS.select("id", "kraj"), SAMPLE)
    with pytest.raises(fk.UsageError, match="units is a list"):
        fk.Explorer([1], SAMPLE)  # type: ignore[arg-type]


# What all share


@pytest.mark.parametrize("kind", [fk.LocationPicker, fk.ChangePicker, fk.Explorer])
def test_wrong_arguments_are_refused_and_reprs_are_stable(kind: type) -> None:
    """Misspelt keywords and wrong arguments are errors; repr and table are the same each time."""
    with pytest.raises(TypeError, match="langg"):
        kind(langg="en")
    with pytest.raises(fk.UsageError, match="lang='de'"):
        kind(register=SAMPLE, lang="de")
    with pytest.raises(fk.UsageError, match="no register is chosen"):
        kind()
    with pytest.raises(fk.UsageError, match=r"register='registeruz\.sk' is not a register"):
        kind(register="registeruz.sk")

    with fk.using(sample_of({1: date(2024, 1, 1)})):
        one, two = kind(lang="en"), kind(lang="en")
        bundles = [shown._repr_mimebundle_() for shown in (one, two)]

    assert "\n" not in repr(one)
    assert bundles[0]["text/plain"] == bundles[1]["text/plain"] == repr(one)
    assert bundles[0]["text/html"] == bundles[1]["text/html"]
    assert "<table>" in bundles[0]["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundles[0]


def test_pickers_take_what_use_takes() -> None:
    """A name or a URL does as well as a register; the register's language is the default."""
    sample = fk.sample(10)
    sample.lang = "en"
    with sample.serve() as url:
        assert fk.LocationPicker(url).name is None
        assert fk.ChangePicker(register=url, lang="en").fetch() == 10
    assert fk.LocationPicker("sample").lang == "sk"
    assert fk.LocationPicker(sample).lang == fk.Explorer(register=sample).lang == "en"
    assert sample.ChangePicker().count == 10


def test_hostile_labels_are_escaped(tmp_path: Path) -> None:
    """Names come from a stranger: what looks like HTML is shown and never run."""
    bad = "<img src=x onerror=alert(1)>"
    register = codelists(
        tmp_path,
        regions=[("SK010", bad, bad, None)],
        districts=[("SK0101", bad, bad, "SK010")],
        municipalities=[("SK0101529320", bad, bad, "SK0101")],
    )
    frame = pl.DataFrame(
        {"kraj": ["SK010", bad], "okres": "SK0101", "sidlo": "SK0101529320"}
    ).with_columns(datumPoslednejUpravy=date(2024, 1, 1))
    explorer = fk.Explorer(frame, register)

    for code in (None, "SK010", "SK0101", "SK0101529320"):
        explorer.location.value = code
        for html in (
            explorer.panel.value,
            explorer.map.picture,
            explorer._repr_mimebundle_()["text/html"],
            explorer.location._repr_mimebundle_()["text/html"],
        ):
            assert "<img src=x" not in html  # type: ignore[operator]
            assert code is None or "&lt;img src=x" in html  # type: ignore[operator]


def test_every_control_has_a_name() -> None:
    """Each control says what it is, in both languages."""
    explorer = fk.Explorer(UNITS, SAMPLE)
    for lang in ("sk", "en"):
        explorer.lang = lang
        names = [
            explorer.location.region.texts["label"],
            explorer.location.district.texts["label"],
            explorer.location.municipality.texts["label"],
            explorer.change.calendar.description,
            explorer.language.description,
            *(button.description for button in explorer.change.quick.values()),
        ]
        assert all(names)
        assert len(set(names)) == len(names)


def test_the_browsers_part_is_in_the_package() -> None:
    """The scripts lie beside the modules that send them, and load nothing from elsewhere."""
    folder = Path(sys.modules["finstat_kit.widgets"].__file__ or "").parent

    assert {path.name for path in folder.iterdir() if path.suffix in (".mjs", ".css")} == {
        "keys.mjs",
        "tilemap.css",
        "tilemap.mjs",
        "typeahead.css",
        "typeahead.mjs",
    }
    for path in folder.glob("*.mjs"):
        text = path.read_text(encoding="utf-8")
        assert "import" not in text
        assert "http" not in text
