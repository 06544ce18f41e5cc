"""The unit that a municipality or a region is itself."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from tests.support.remote_sample import Behind

SAMPLE = fk.sample()
TOWNS = SAMPLE.units.get(SAMPLE.units.ids(legal_form_code="801"))


def small() -> Sample:
    """Return a few units, among them a town and those that have their seat there."""
    sample = fk.sample(40)
    for form, seat in (("801", "SK0233500011"), ("112", "SK0233500011"), ("801", "SK0217506745")):
        sample.publish(pravnaForma=form, sidlo=seat)
    return sample


def test_it_is_found_by_the_code_of_its_seat_and_its_legal_form() -> None:
    """Not by its name, which in the sample is none of a place."""
    for given in ("Nitra", "mesto Nitra", "nitra", "SK0233500011", "500011"):
        town = SAMPLE.units.town(given)
        assert town.select("sidlo", "pravnaForma").rows() == [("SK0233500011", "801")]
    assert "Nitra" not in town["nazovUJ"].item()
    assert town.columns == SAMPLE.units.get([365]).columns


def test_several_come_in_the_order_given() -> None:
    """Each once, from any column of names or codes."""
    codes = TOWNS["sidlo"].sort(descending=True).head(5)

    assert SAMPLE.units.town(codes)["sidlo"].to_list() == codes.to_list()
    assert SAMPLE.units.town(["Trnava", "Nitra", "Trnava"])["mesto"].to_list() == [
        "Trnava", "Nitra",
    ]  # fmt: skip


def test_a_region_has_a_unit_too() -> None:
    """Of its own legal form."""
    region = SAMPLE.units.town("Nitriansky kraj", level="region")

    assert region.select("kraj", "pravnaForma").rows() == [("SK023", "803")]


def test_a_register_fetches_the_units_of_the_legal_form(tmp_path: Path) -> None:
    """One list, and their records, refused where they are too many; a mirror sends none."""
    sample = small()
    towns = sample.units.ids(legal_form_code="801").height
    behind = Behind(sample)
    register = behind.register()
    assert register.units.town("Nitra")["sidlo"].to_list() == ["SK0233500011"]
    assert len(behind.sent("/api/uctovna-jednotka")) == towns > 1
    with pytest.raises(fk.UsageError, match=f"this needs {towns} requests"):
        behind.register().units.town("Nitra", max_requests=1)

    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()
    assert mirror.units.town("Nitra").equals(sample.units.town("Nitra"))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (
            "Lúčka",
            r"places='Lúčka': several may be meant; give one of \['Lúčka, okres Levoča', ",
        ),
        ("Atlantis", "places='Atlantis': no such place is known; see fk.locations"),
        ("Nirta", r"places='Nirta': no such place is known; did you mean 'Nitra'\?$"),
    ],
)
def test_a_place_that_is_not_certain_is_refused(place: str, text: str) -> None:
    """With the names that may be meant, each of which is one place."""
    with pytest.raises(fk.UsageError, match=text) as caught:
        SAMPLE.units.town(place)

    named = re.findall("'([^']+)'", caught.value.cure)
    assert all(SAMPLE.match_places([name], level="municipality")["code"][0] for name in named)


def test_a_place_without_its_unit_or_with_two_is_an_error() -> None:
    """Which of two is meant is not known: they are named."""
    register = fk.sample(0)
    with pytest.raises(fk.errors.NotFound, match=r"^Nitra has no unit of the legal form 801"):
        register.units.town("Nitra")
    for _ in range(2):
        register.publish(nazovUJ="Obec", sidlo="SK0233500011", pravnaForma="801")
    ids = register.units.ids()["id"].to_list()
    with pytest.raises(
        fk.errors.NotFound, match=f"^Nitra has 2 .*: {ids[0]}, {ids[1]}; take the one"
    ):
        register.units.town("Nitra")


def test_a_unit_of_another_legal_form_at_the_same_seat_is_another() -> None:
    """Schools and firms have their seat there, too."""
    sample = small()
    there = sample.units.scan().filter(pl.col("sidlo") == "SK0233500011").collect()

    assert there.height > 1
    assert sample.units.town("Nitra").height == 1
