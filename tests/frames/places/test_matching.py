"""Names and codes of places in any spelling."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.frames.places.locations import LEVELS

REG = fk.sample(10)
PLACES = REG.locations()


@pytest.mark.parametrize(
    ("name", "level", "code", "how"),
    [
        ("Žilinský kraj", "region", "SK031", "name"),
        ("ZILINA", "region", "SK031", "name"),
        ("Region of Žilina", "region", "SK031", "name"),
        ("zilinsky", "region", "SK031", "name"),
        ("Prešovský samosprávny kraj", "region", "SK041", "name"),
        ("5", "region", "SK031", "old code"),
        ("sk031", "region", "SK031", "code"),
        ("okres Žiar nad Hronom", "district", "SK032D", "name"),
        (" ziar  n. hronom ", "district", "SK032D", "name"),
        ("Žiar n/Hronom", "district", "SK032D", "name"),
        ("613", "district", "SK032D", "old code"),
        ("Bratislava 1", "district", None, "ambiguous"),
        ("Bratislava I", "district", "SK0101", "name"),
        ("Petržalka", "municipality", "SK0105529460", "name"),
        ("Bratislava-Petržalka", "municipality", "SK0105529460", "name"),
        ("516589", "municipality", "SK032D516589", "old code"),
        ("Lúčka", "municipality", None, "ambiguous"),
        ("Staré Mesto", "municipality", None, "ambiguous"),
        ("Region of Banská Bystrica", "region", "SK032", "name"),
        ("Reg.of Banská Bystrica", "region", "SK032", "name"),
        ("kraj Nitriansky", "region", "SK023", "name"),
        ("samosprávny kraj Nitriansky", "region", "SK023", "name"),
        ("district Nitra", "district", "SK0233", "name"),
        ("Nitra district", "district", "SK0233", "name"),
        ("okr. Nitra", "district", "SK0233", "name"),
        ("mesto Trnava", "municipality", "SK0217506745", "name"),
        ("Nové Mesto n/V", "district", "SK0224", "name"),
        ("Nové Mesto n. V.", "municipality", "SK0224506338", "name"),
        ("mestská časť Petržalka", "municipality", "SK0105529460", "name"),
        ("Bratislava - mestská časť Petržalka", "municipality", "SK0105529460", "name"),
        ("Bratislava, m. č. Petržalka", "municipality", "SK0105529460", "name"),
        ("Atlantis", "municipality", None, "unknown"),
        ("", "district", None, "missing"),
        (None, "district", None, "missing"),
    ],
)
def test_spelling_does_not_matter(name: str | None, level: str, code: str | None, how: str) -> None:
    """Case, accents, signs, kinds of places, old codes and English names."""
    row = REG.match_places([name], level=level).row(0, named=True)  # type: ignore[list-item, arg-type]

    assert (row["given"], row["code"], row["how"]) == (name, code, how)
    assert (row["name_sk"] is None) == (code is None)


@pytest.mark.parametrize("name", ["Lúčka (okr. Rožňava)", "Lúčka, okres Rožňava"])
def test_a_district_behind_a_name_tells_places_apart(name: str) -> None:
    """Four places have the name; a district without any of that name leaves all in doubt."""
    with fk.using(fk.sample()):
        names = [name, "Lúčka, okres Nitra", "Nitra (okr. Rožňava)"]
        matches = fk.match_places(names, level="municipality")

    assert matches["code"].to_list() == ["SK0428525936", None, None]
    assert matches["candidates"].list.len().to_list() == [0, 4, 1]


def test_ambiguous_names_are_listed() -> None:
    """A name of several places has no code, and all of them are candidates."""
    row = REG.match_places(["lucka"], level="municipality").row(0, named=True)
    lucka = PLACES.filter(level="municipality", name_sk="Lúčka")["code"].sort()

    assert row["how"] == "ambiguous"
    assert row["candidates"] == lucka.to_list()
    assert len(lucka) > 1


@pytest.mark.parametrize("name", ["Bratislava", "kosice", "okres Košice"])
def test_the_districts_of_a_city_are_candidates(name: str) -> None:
    """The name of the city begins theirs, so that none is sure."""
    row = REG.match_places([name], level="district").row(0, named=True)
    city = "Bratislava" if "Bratislava" in name else "Košice"
    own = PLACES.filter(pl.col("name_sk").str.starts_with(city), level="district")

    assert (row["code"], row["how"]) == (None, "ambiguous")
    assert row["candidates"] == own["code"].sort().to_list()
    assert own.height == 5


@pytest.mark.parametrize("name", ["Nové Mesto", "mestská časť nove mesto"])
def test_a_part_of_a_city_may_be_meant_by_what_begins_another_name(name: str) -> None:
    """Then both are candidates."""
    row = REG.match_places([name], level="municipality").row(0, named=True)
    named = PLACES.filter(pl.col("code").is_in(row["candidates"]))["name_sk"].to_list()

    assert (row["code"], row["how"]) == (None, "ambiguous")
    assert named == ["Bratislava-Nové Mesto", "Nové Mesto nad Váhom"]


def test_the_beginning_of_one_name_is_a_candidate_and_no_match() -> None:
    """It may mean something else."""
    row = REG.match_places(["Žiar nad"], level="district").row(0, named=True)

    assert (row["code"], row["how"], row["candidates"]) == (None, "ambiguous", ["SK032D"])


@pytest.mark.parametrize(
    ("name", "level", "candidates"),
    [
        ("Trnaa", "district", ["SK0217"]),
        ("Dunajská treda", "district", ["SK0211"]),
        ("Nitrianksy kraj", "region", ["SK023"]),
        ("Zvoeln", "district", ["SK032B"]),
        ("Senecc", "municipality", ["SK0108508217"]),
        ("Trn", "district", []),
    ],
)
def test_a_wrong_or_missing_letter_gives_candidates(
    name: str, level: str, candidates: list[str]
) -> None:
    """And no match: it may be another place."""
    row = REG.match_places([name], level=level).row(0, named=True)  # type: ignore[arg-type]

    assert (row["code"], row["candidates"]) == (None, candidates)
    assert row["how"] == ("ambiguous" if candidates else "unknown")


@given(st.data())
def test_a_name_with_a_letter_left_out_has_its_place_among_its_candidates(
    data: st.DataObject,
) -> None:
    """Or it is the name of another."""
    place = data.draw(st.sampled_from(PLACES.filter(level="district").rows(named=True)))
    name = place["name_sk"]
    gone = data.draw(st.integers(0, len(name) - 1))

    row = REG.match_places([name[:gone] + name[gone + 1 :]], level="district").row(0, named=True)

    assert row["code"] is not None or place["code"] in row["candidates"]


@given(st.data())
def test_every_place_is_found_by_its_name(data: st.DataObject) -> None:
    """Whatever the case, and without accents: by its name, or among the candidates."""
    place = data.draw(st.sampled_from(PLACES.rows(named=True)))
    name = place[data.draw(st.sampled_from(["name_sk", "name_en"]))]
    if data.draw(st.booleans()):
        apart = unicodedata.normalize("NFKD", name)
        name = "".join(c for c in apart if not unicodedata.combining(c))
    name = data.draw(st.sampled_from([name, name.upper(), name.replace(" ", "  ")]))

    row = REG.match_places([name], level=place["level"]).row(0, named=True)

    assert place["code"] in [row["code"], *row["candidates"]]


@pytest.mark.parametrize(
    "names",
    [
        pl.Series(["613", None], dtype=pl.Categorical),
        pl.Series(["613", None], dtype=pl.Enum(["613"])),
        pl.Series([613, None], dtype=pl.Int32),
        ["613", None],
        [613, None],
    ],
)
def test_any_column_of_names_is_matched(names: pl.Series) -> None:
    """Text, categories and whole numbers; the rows stay where they are."""
    assert REG.match_places(names, level="district")["code"].to_list() == ["SK032D", None]


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("name", [613, "613"])
def test_what_is_missing_in_a_list_is_missing(missing: object, name: object) -> None:
    """None, or the NaN of another library, beside numbers or texts."""
    matches = REG.match_places([name, missing], level="district")  # type: ignore[list-item]

    assert matches["given"].to_list() == ["613", None]
    assert matches["how"].to_list() == ["old code", "missing"]


def test_every_real_place_is_found_by_its_name(full_size: Path) -> None:
    """Also in the codelists as they are live: by its name, or among those that share it."""
    register = fk.sample(1, codelists=full_size)
    for level in LEVELS:
        places = register.locations().filter(level=level)
        matches = register.match_places(places["name_sk"], level=level)
        own = matches.with_columns(own=places["code"]).filter(
            (pl.col("code") != pl.col("own")).fill_null(value=True)
            & ~pl.col("candidates").list.contains(pl.col("own"))
        )

        assert own.rows() == []
        assert set(matches["how"]) <= {"name", "ambiguous"}


def test_a_csv_of_ones_own_joins_by_code() -> None:
    """The codes are a column of the same length."""
    own = pl.DataFrame({"Okres": ["Žilina", "Nitra", "?"], "n": [1, 2, 3]})

    coded = own.with_columns(okres=REG.match_places(own["Okres"], level="district")["code"])

    assert coded["okres"].to_list() == ["SK031B", "SK0233", None]


def test_wrong_arguments_are_named_with_the_cure() -> None:
    """Each is named with its cure."""
    with pytest.raises(fk.UsageError, match="level='town'"):
        REG.match_places(["x"], level="town")  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="names is a str"):
        REG.match_places("Žilina", level="region")
    with pytest.raises(fk.UsageError, match=r"names='\\ud800' is not a text"):
        REG.match_places(["\ud800"], level="district")
    with pytest.raises(fk.UsageError, match="Series of Float64"):
        REG.match_places(pl.Series([1.5]), level="region")
