"""The seven codelists: complete, typed, cached, and what their faults mean."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.arguments import By, Grouping
from finstat_kit.errors import ProtocolError
from finstat_kit.frames.places.groups import GROUPS, OF_2_1
from finstat_kit.protocol import codelists, wire
from tests.support.registers import Scripted


def locations(*entries: dict[str, object]) -> bytes:
    return json.dumps({"lokacie": entries}).encode()


def test_names_of_codelists_and_fields_are_complete() -> None:
    """What an editor offers for ``codelist(name)`` and ``by=`` is what the register has."""
    assert get_args(wire.CodelistName) == tuple(wire.CODELISTS)
    assert get_args(By) == tuple(wire.BY_FIELD)
    fields, made = get_args(Grouping)
    assert (fields, get_args(made)) == (By, tuple(by for by in GROUPS if by not in OF_2_1.values()))


def test_all_seven_are_sorted_by_code() -> None:
    """Each function gives its list, sorted by code, with the columns of its kind."""
    with fk.using(fk.sample()):
        heights = {name: fk.codelist(name).height for name in wire.CODELISTS}
        for name in wire.CODELISTS:
            frame = fk.codelist(name)
            located = wire.CODELISTS[name].located
            assert frame.schema == (codelists.LOCATIONS if located else codelists.CLASSIFICATION)
            assert frame["code"].is_sorted()
            assert frame["code"].is_unique().all()

    assert heights == {
        "regions": 10, "districts": 79, "municipalities": 119, "legal_forms": 27,
        "activities": 30, "ownership_types": 10, "size_classes": 23,
    }  # fmt: skip


def test_codelists_are_fetched_once() -> None:
    """A codelist is cached with its register; refresh fetches it again."""
    reg = Scripted(locations({"kod": "A"}), locations({"kod": "B"}))

    codes = [
        reg.regions()["code"][0],
        reg.regions()["code"][0],
        reg.regions(refresh=True)["code"][0],
    ]

    assert codes == ["A", "A", "B"]
    assert reg.asked == ["/api/kraje?", "/api/kraje?"]


def test_a_frame_belongs_to_whoever_got_it(tmp_path: Path) -> None:
    """Editing a codelist in place, of a register or of a mirror, changes no later answer."""
    sample = fk.sample(10)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()

    for reg in (sample, mirror):
        for name in wire.CODELISTS:
            given = reg.codelist(name)
            before = given.clone()
            given[0, "name_sk"] = "x"
            given.extend(before)
            given.columns = [column.upper() for column in given.columns]
            assert reg.codelist(name).equals(before)
            assert given is not before
    assert sample.regions().columns == ["code", "name_sk", "name_en", "parent_code"]


def test_codelists_names_function_endpoint_and_field() -> None:
    """codelist() names function, endpoint, source, field and label column."""
    with fk.using(fk.sample()) as reg:
        frame = fk.codelist()
        assert reg.stats.requests == 0

    assert frame.columns == ["name", "endpoint", "source", "field", "label"]
    assert frame.row(2) == ("municipalities", "/api/sidla", "0025/LSUJ2", "sidlo", "municipality")
    with fk.using(fk.sample()):
        assert all(fk.codelist(name).height for name in frame["name"])


def test_locations_have_the_path_up() -> None:
    """Three levels under each other with the path up, filled for the own level too."""
    with fk.using(fk.sample()):
        frame = fk.locations()

    assert frame.columns == [
        "level", "code", "name_sk", "name_en", "district", "region", "parent_code",
        "district_code", "region_code",
    ]  # fmt: skip
    assert frame.height == 10 + 79 + 119
    path = {row["code"]: (row["district_code"], row["region_code"]) for row in frame.to_dicts()}
    assert path["SK041"] == (None, "SK041")
    assert path["SK0414"] == ("SK0414", "SK041")
    assert path["SK0414543314"] == ("SK0414", "SK041")
    assert path["582000"] == (None, None)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{}", r"\$\.lokacie: it is missing"),
        (b'{"lokacie":null}', r"\$\.lokacie"),
        (b'{"klasifikacie":[]}', r"\$\.lokacie"),
        (locations({"nazov": {}}), r"\$\.lokacie\[0\]\.kod: it is missing"),
        (locations({"kod": True}), r"\$\.lokacie\[0\]\.kod"),
        (locations({"kod": "A", "nazov": "x"}), r"\$\.lokacie\[0\]\.nazov"),
        (locations({"kod": "A", "nazov": {"sk": 1}}), r"\$\.lokacie\[0\]\.nazov\.sk"),
        (locations({"kod": "A", "nadradenaLokacia": []}), r"\.nadradenaLokacia"),
        (b'{"lokacie":[1]}', r"\$\.lokacie\[0\]: expected `object`"),
        (locations({"kod": "A"}, {"kod": "A", "nazov": {"sk": "x"}}), "'A' is listed twice"),
    ],
)
def test_broken_codelists_are_errors(body: bytes, named: str) -> None:
    """A list that is not there is an error, not an empty list."""
    with pytest.raises(ProtocolError, match=named):
        Scripted(body).regions()


def test_a_codelist_may_lack_names_and_parents(caplog: pytest.LogCaptureFixture) -> None:
    """Names, languages and parents may be missing; numbers are read as their digits."""
    entries: list[dict[str, object]] = [
        {"kod": "A"},
        {"kod": 1, "nazov": {"sk": "Jeden"}, "nadradenaLokacia": 103, "nove": 1},
        {"kod": "B", "nazov": {"en": "B"}, "nadradenaLokacia": "nowhere"},
        {"kod": "B", "nadradenaLokacia": "nowhere", "nazov": {"en": "B"}},
    ]

    with caplog.at_level(logging.WARNING, logger="finstat_kit"):
        frame = Scripted(locations(*entries)).municipalities()

    assert frame.rows() == [
        ("1", "Jeden", None, "103"),
        ("A", None, None, None),
        ("B", None, "B", "nowhere"),
    ]
    assert "'B' is listed twice with equal content" in caplog.text
    assert Scripted(locations()).regions().schema == codelists.LOCATIONS


@pytest.mark.slow
def test_a_list_of_real_size_loses_nothing(full_size: Path) -> None:
    """A list of real size: names repeat, parents are missing, nothing is lost."""
    with fk.using(fk.sample(500, codelists=full_size)):
        municipalities, units = fk.municipalities(), fk.units.get(fk.units.ids())
        labelled = fk.resolve_labels(units)

    assert municipalities.height == 2_940
    assert municipalities["parent_code"].null_count() == 7
    assert municipalities["name_sk"].value_counts()["count"].max() == 4
    assert labelled["municipality"].null_count() < 40


def test_recorded_codelists_of_2018_are_read(recorded: Path) -> None:
    """The bodies of 2018: old codes, numbers for parents, seven municipalities without one."""
    folder = recorded / "recorded-2018"
    with fk.using(fk.sample(500, codelists=folder)):
        for name, codelist in wire.CODELISTS.items():
            entries = next(
                iter(json.loads((folder / f"{codelist.endpoint}.json").read_bytes()).values())
            )
            frame = fk.codelist(name)
            assert frame.height == len({str(e["kod"]) for e in entries})
            assert dict(zip(frame["code"], frame["name_sk"], strict=True)) == {
                str(e["kod"]): e["nazov"]["sk"] for e in entries
            }
        assert fk.municipalities()["parent_code"].null_count() == 7
        assert fk.districts().row(0) == ("101", "Bratislava I", "Bratislava I", "1")
        units = fk.units.get(fk.units.ids(limit=50))
        assert fk.resolve_labels(units)["municipality"].null_count() < 10


def test_todays_codelists_have_a_place_for_every_entry(recorded: Path) -> None:
    """Today's lists at full size: every entry has its place in the path."""
    with fk.using(fk.sample(500, codelists=recorded / "codelists")):
        frame = fk.locations()

    counts = dict(frame["level"].value_counts().rows())
    assert counts == {"region": 10, "district": 79, "municipality": 2_937}
    entries = json.loads((recorded / "codelists" / "sidla.json").read_bytes())["lokacie"]
    without = [entry["kod"] for entry in entries if "nadradenaLokacia" not in entry]
    assert frame.filter(pl.col("region_code").is_null())["code"].to_list() == sorted(without)
