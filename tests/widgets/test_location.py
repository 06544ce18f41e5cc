"""The picker of places without a browser: every action, in every order, on whichever thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import traitlets
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.frames.text import slovak
from finstat_kit.widgets.controls.options import FIELDS, Path as Choice
from tests.support.examples import examples
from tests.support.pickers import CODES, PLACES, SAMPLE, WAIT, Counting, codelists, first_units


def codes_of(level: str) -> list[str]:
    return PLACES.filter(level=level)["code"].to_list()


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
        assert picker.filter(first_units()).equals(first_units().filter(pl.col(column) == code))
    else:
        assert picker.filter(first_units()) is first_units()


# Places


def test_names_are_in_slovak_alphabetical_order() -> None:
    """Letters with a hook come after the plain ones, ch after h; accents decide last."""
    right = ["Cabaj", "Cífer", "Čadca", "Drienov", "Ďurčiná", "Hôrky", "Hruštín", "Chorvátsky Grob"]
    right += ["Ilava", "Ľubica", "Lubina", "Lučka", "Lúčka", "Nová Ves", "Nováčany", "Sučany"]
    right += ["Šaľa", "Zvolen", "Žiar"]

    mixed = [*right[1::2], *right[::2]]
    assert sorted(mixed, key=slovak.sort_key) == right


def test_regions_are_offered_in_slovak_order_abroad_last() -> None:
    """Both entries for abroad stand last and carry their code, since they share a name."""
    picker = fk.LocationPicker(register=SAMPLE)

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
    picker = fk.LocationPicker(register=SAMPLE)
    told = Counting(picker, "value")

    picker.municipality.value = "SK032D516589"

    assert told.seen == ["SK032D516589"]
    assert picker.codes == {"kraj": "SK032", "okres": "SK032D", "sidlo": "SK032D516589"}
    assert_consistent(picker)


def test_a_choice_above_ends_the_one_below() -> None:
    """Another region, and no region, leave no district or municipality of the former one."""
    picker = fk.LocationPicker(register=SAMPLE)
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
    picker = fk.LocationPicker(register=SAMPLE)
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


PICKER = fk.LocationPicker(register=SAMPLE)


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
    picker = fk.LocationPicker(register=SAMPLE)
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
    picker = fk.LocationPicker(register=SAMPLE)
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
    picker = fk.LocationPicker(register=register)

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
    picker = fk.LocationPicker(register=SAMPLE)
    picker.value = "SK031"

    with pytest.raises(
        fk.UsageError, match=r"value='SK99' is not the code of a place.*fk.locations"
    ):
        picker.value = "SK99"
    wrong: Any = picker
    for value in (5, True, ["SK031"], float("nan")):
        with pytest.raises(fk.UsageError, match="is not the code of a place"):
            wrong.value = value
    with pytest.raises(traitlets.TraitError, match="SK99"):
        picker.municipality.value = "SK99"
    assert picker.value == "SK031"
    assert_consistent(picker)


@pytest.mark.slow
def test_a_list_of_real_size_is_offered_whole(full_size: Path) -> None:
    """2,940 municipalities are all there, each told apart from those of its name."""
    picker = fk.LocationPicker(register=fk.sample(units=10, codelists=full_size))
    items = picker.municipality.items

    assert len(items) == 2_940
    assert len({(name, detail) for _, name, detail, *_ in items}) == 2_940
    assert [item[0] for item in items if item[1] == "Bez okresu 3"] == ["590003"]
    assert len(repr(picker.municipality)) < 80


def test_filter_names_the_missing_column() -> None:
    """A frame without the column is an error that says which; a LazyFrame stays lazy."""
    picker = fk.LocationPicker(register=SAMPLE)
    picker.value = "SK031"

    with pytest.raises(fk.UsageError, match=r"no columns \['kraj'\]"):
        picker.filter(first_units().select("id"))
    assert picker.filter(first_units().lazy()).collect().equals(picker.filter(first_units()))


def test_threads_leave_no_stale_choice() -> None:
    """Two threads choose at the same time: whoever is last, everything agrees."""
    picker = fk.LocationPicker(register=SAMPLE)
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
