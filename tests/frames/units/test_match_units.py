"""A list of one's own matched with units: by which rule, and nothing doubtful is chosen."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal
from rapidfuzz import fuzz

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import RegisterWarning
from finstat_kit.frames.text import unit_names
from finstat_kit.frames.units.near_names import NearNames
from finstat_kit.protocol.wire import Reply
from tests.support.examples import quick
from tests.support.remote_sample import Behind
from tests.support.units import SAMPLE, all_units


@cache
def alone() -> pl.DataFrame:
    """Return the units of the sample whose number and name no other one has."""
    bare = pl.col("nazovUJ").str.replace(", (s. r. o.|a. s.)$", "")
    return all_units().filter(
        pl.col("ico").is_unique(), bare.is_unique(), pl.col("ico").str.len_chars() == 8,
        pl.col("mesto").is_not_null(), pl.col("dic").is_not_null(),
    )  # fmt: skip


def plain(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def without_a_letter(name: str, lot: random.Random) -> str:
    places = [place for place, letter in enumerate(name[:10]) if letter.isalpha()]
    place = lot.choice(places)
    return name[:place] + name[place + 1 :]


def other_digit(ico: str, lot: random.Random) -> str:
    place = lot.randrange(8)
    return ico[:place] + str((int(ico[place]) + lot.randrange(1, 10)) % 10) + ico[place + 1 :]


@cache
def list_of_200() -> pl.DataFrame:
    """Return a list as analysts have them: what was meant, and by which rule it is to be matched.

    The numbers are objects of several types, as pandas reads them of a sheet.
    """
    lot = random.Random(51)
    units, single = all_units(), alone()
    with_zeros = single.filter(pl.col("ico").str.starts_with("00"), pl.col("ico") > "00010000")
    companies = single.filter(pl.col("nazovUJ").str.ends_with("s. r. o."))
    twins = units.filter(
        pl.struct("nazovUJ", "mesto").is_unique(), pl.col("nazovUJ").is_duplicated(),
        pl.col("mesto").is_not_null(), pl.col("ico").is_unique(),
    )  # fmt: skip
    sharing = units.filter(pl.col("ico").is_duplicated(), pl.col("ico").str.strip_chars("0") != "")
    pools = {
        "ico": (20, single), "spaces": (10, single), "zeros": (25, with_zeros),
        "float": (20, single),
        "dic": (10, single), "SK": (5, single), "plain name": (20, single), "form": (20, companies),
        "no form": (10, companies), "place": (15, twins), "number and name": (10, single),
        "shared": (10, sharing), "typo in name": (10, single), "wrong number": (10, single),
        "no place": (5, twins),
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for kind, (number, pool) in pools.items():
        for unit in pool.sample(number, seed=lot.randrange(1_000)).iter_rows(named=True):
            ico, name = unit["ico"], unit["nazovUJ"]
            row: dict[str, Any] = {"ico": None, "name": None, "place": None}
            row |= {
                "ico": {"ico": ico},
                "spaces": {"ico": f" {ico[:2]} {ico[2:5]}\u00a0{ico[5:]} "},
                "zeros": {"ico": int(ico)},
                "float": {"ico": float(ico)},
                "dic": {"ico": unit["dic"]},
                "SK": {"ico": f"SK{unit['dic']}"},
                "plain name": {"name": plain(name).upper()},
                "form": {"name": name.replace(", s. r. o.", lot.choice(
                    [" s.r.o.", " spol. s r. o.", ", SPOL. S R.O.", " sro",
                     " spoločnosť s ručením obmedzeným"]))},
                "no form": {"name": name.replace(", s. r. o.", "")},
                "place": {"name": name, "place": plain(unit["mesto"]).lower()},
                "number and name": {"ico": int(ico), "name": plain(name)},
                "shared": {"ico": ico},
                "typo in name": {"name": without_a_letter(name, lot)},
                "wrong number": {"ico": other_digit(ico, lot), "name": name},
                "no place": {"name": name},
            }[kind]  # fmt: skip
            rows.append({**row, "kind": kind, "meant": unit["id"]})
    lot.shuffle(rows)
    return pl.DataFrame(
        {
            "IČO": pl.Series([row["ico"] for row in rows], dtype=pl.Object),
            **{name: [row[name] for row in rows] for name in ("name", "place", "kind", "meant")},
        }
    )


CERTAIN: Final = {
    "ico": {"ico"}, "spaces": {"ico"}, "zeros": {"ico_padded"}, "float": {"ico", "ico_padded"},
    "dic": {"dic"}, "SK": {"dic"}, "plain name": {"name"}, "form": {"name"}, "no form": {"name"},
    "place": {"name_and_place"}, "number and name": {"ico", "ico_padded"},
}  # fmt: skip


def as_pandas() -> pd.DataFrame:
    return pd.DataFrame(list_of_200().to_dict(as_series=False))


@pytest.fixture(scope="module")
def matches() -> pl.DataFrame:
    with pytest.warns(RegisterWarning, match="wrong check digit"):
        return SAMPLE.match_units(as_pandas(), ico="IČO", name="name", place="place")


def test_of_a_list_of_200_none_is_wrong(matches: pl.DataFrame) -> None:
    """Whatever is chosen is what was meant."""
    assert matches.height == list_of_200().height == 200
    chosen = matches.with_columns(list_of_200()["meant", "kind"]).drop_nulls("unit_id")

    assert chosen.filter(pl.col("unit_id") != pl.col("meant")).rows() == []
    assert chosen.height == 165


def test_each_row_of_the_list_is_matched_by_its_rule(matches: pl.DataFrame) -> None:
    """And what is doubtful by none: there the unit that was meant is a candidate."""
    rows = matches.with_columns(list_of_200()["meant", "kind"])
    rules: dict[str, Counter[str | None]] = {}
    for kind, how in rows.select("kind", "matched_by").iter_rows():
        rules.setdefault(kind, Counter())[how] += 1

    assert {kind: set(hows) for kind, hows in rules.items()} == CERTAIN | {
        kind: {"ambiguous"} for kind in ("shared", "typo in name", "wrong number", "no place")
    }
    for meant, candidates in (
        rows.filter(matched_by="ambiguous").select("meant", "candidates").rows()
    ):
        assert meant in [candidate["unit_id"] for candidate in candidates]
    assert rows.drop_nulls("unit_id")["candidates"].list.len().max() == 0


def test_a_match_has_what_the_register_has_of_the_unit(matches: pl.DataFrame) -> None:
    """Its IČO and its name as they are written there, and whether it is dissolved."""
    own = all_units().select("id", "ico", "nazovUJ", gone=pl.col("datumZrusenia").is_not_null())
    rows = matches.drop_nulls("unit_id").join(own, left_on="unit_id", right_on="id", suffix="_own")

    assert rows["ico"].equals(rows["ico_own"])
    assert rows["name"].equals(rows["nazovUJ"])
    assert (rows["state"] == "dissolved").fill_null(value=False).equals(rows["gone"])
    assert 0 < rows["gone"].sum() < rows.height
    assert rows["score"].min() == 1.0


@pytest.mark.slow
def test_a_mirror_matches_as_the_register_does(matches: pl.DataFrame, tmp_path: Path) -> None:
    """Without a request, and the same."""
    mirror = fk.Mirror(tmp_path / "ruz", register=SAMPLE)
    mirror.sync()

    with pytest.warns(RegisterWarning, match="wrong check digit"):
        matched = mirror.match_units(as_pandas(), ico="IČO", name="name", place="place")
    assert_frame_equal(matched, matches)
    assert mirror.match_units(as_pandas(), ico="IČO", dry_run=True)["requests"].to_list() == [0]


def sample() -> Sample:
    register = fk.sample(0)
    for number, (name, place) in enumerate(
        [
            ("Orol, s. r. o.", "Nitra"), ("Orol, a.s.", "Trnava"), ("Sokol a syn", "Nitra"),
            ("Sokol a syn", "Bratislava - Ružinov"), ("Sokol a syn", "Bratislava-Petržalka"),
            ("Veľká kniha, spol. s r.o. v likvidácii", None), ("Javor", "Zvolen"),
            ("Lipa 51000", None), ("Brest", "Nitra nad Ipľom"),
        ]
    ):  # fmt: skip
        register.publish(
            nazovUJ=name, ico=f"1000000{number}", mesto=place, dic=f"202000000{number}"
        )
    return register


REGISTER: Final = sample()
IDS: Final = REGISTER.units.ids()["id"].to_list()


def match(**row: object) -> tuple[int | None, str | None, list[int]]:
    """Return which unit of the small sample a row is matched with, how, and its candidates."""
    names = {name: name for name in row}
    found = REGISTER.match_units([row], **names).row(0, named=True)  # type: ignore[arg-type]
    place = None if found["unit_id"] is None else IDS.index(found["unit_id"])
    return place, found["matched_by"], [IDS.index(c["unit_id"]) for c in found["candidates"]]


@pytest.mark.filterwarnings("ignore:values that are no|numbers of no unit")
@pytest.mark.parametrize(
    ("row", "expected"),
    quick([
        # A legal form that is given is that of the unit; without one all may be meant.
        ({"name": "OROL spol. s r. o."}, (0, "name", [])),
        ({"name": "Orol akciová spoločnosť"}, (1, "name", [])),
        ({"name": "Orol"}, (None, "ambiguous", [0, 1])),
        ({"name": "Orol, v.o.s."}, (None, "ambiguous", [0, 1])),
        ({"name": "Orol", "place": "Trnava"}, (1, "name_and_place", [])),
        ({"name": "Javor, s.r.o."}, (None, "ambiguous", [6])),
        # What the register adds to a name for a time.
        ({"name": "Velka kniha s.r.o."}, (5, "name", [])),
        # Places: one that is not that of the unit is a doubt, a city is that of its parts.
        ({"name": "Javor", "place": "Zvolen"}, (6, "name_and_place", [])),
        ({"name": "Javor", "place": "Nitra"}, (None, "ambiguous", [6])),
        ({"name": "Brest", "place": "Nitra nad Ipľom"}, (8, "name_and_place", [])),
        ({"name": "Brest", "place": "Nitra"}, (None, "ambiguous", [8])),
        ({"name": "Sokol a syn", "place": "mesto Nitra"}, (2, "name_and_place", [])),
        ({"name": "Sokol a syn", "place": "Bratislava"}, (None, "ambiguous", [2, 3, 4])),
        ({"name": "Sokol a syn", "place": "Bratislava-mestská časť Petržalka"},
         (4, "name_and_place", [])),
        ({"ico": "10000006", "place": "Zvolen"}, (6, "ico", [])),
        ({"ico": "10000006", "place": "Nitra"}, (None, "ambiguous", [6])),
        # A name and a number: both are of the unit, or nothing is chosen.
        ({"ico": "10000006", "name": "Javorr"}, (6, "ico", [])),
        ({"ico": "10000006", "name": "Javor", "place": "Nitra"}, (6, "ico", [])),
        ({"ico": "10000000", "name": "Orol v.o.s."}, (0, "ico", [])),
        ({"ico": "10000000", "name": "Orol a. s."}, (None, "ambiguous", [1, 0])),
        ({"ico": "10000006", "name": "Orol, s. r. o."}, (None, "ambiguous", [0, 1, 6])),
        ({"ico": "10000006", "name": "Topoľ"}, (None, "ambiguous", [6])),
        ({"ico": "10000007", "name": "Lipa 51000"}, (7, "ico", [])),
        ({"ico": "10000007", "name": "Lipa 51001"}, (None, "ambiguous", [7])),
        ({"ico": "10000009", "name": "Javor"}, (None, "ambiguous", [6])),
        ({"ico": "10000009"}, (None, None, [])),
        # What is no number is none: the name decides.
        ({"ico": "neuvedené", "name": "Javor"}, (6, "name", [])),
        ({"ico": "00000000", "name": "Javor"}, (6, "name", [])),
        ({"ico": "IČO: 10000006"}, (6, "ico", [])),
        ({"ico": "SK2020000006"}, (6, "dic", [])),
        ({"ico": "SK10000006"}, (None, None, [])),
        ({"ico": "1234"}, (None, None, [])),
        ({"ico": None, "name": None}, (None, None, [])),
        ({"name": "s. r. o."}, (None, None, [])),
        # Near names, and those with the same words, are candidates alone.
        ({"name": "Javro"}, (None, "ambiguous", [6])),
        ({"name": "kniha velka"}, (None, "ambiguous", [5])),
        ({"name": "kniha"}, (None, "ambiguous", [5])),
        ({"name": "Topoľ"}, (None, None, [])),
    ], 12),
)  # fmt: skip
def test_nothing_doubtful_is_chosen(row: dict[str, object], expected: object) -> None:
    """A unit, the rule, and the candidates where none is chosen."""
    assert match(**row) == expected


def test_a_text_longer_than_any_name_is_matched_with_none() -> None:
    """It is one row of a list: it is no reason to refuse the others."""
    rows = [{"name": "a" * 1_000_000}, {"name": "Javor"}]

    assert REGISTER.match_units(rows, name="name")["unit_id"].to_list() == [None, IDS[6]]


@pytest.mark.parametrize("others", [0, 1])
def test_a_deleted_unit_is_marked_and_competes_with_none(others: int) -> None:
    """A register may list it by its former number; its record has no other field."""
    register = sample()
    register.delete(IDS[5])
    behind = Behind(register)
    ids = [IDS[5], *[IDS[6]] * others]
    plain_answer = behind._answer

    def answered(method: str, path: str, query: str) -> Reply:
        if "ico=" in query:
            body = f'{{"id":{ids},"existujeDalsieId":false}}'.encode()
            return Reply(200, {"Content-Type": "application/json"}, body)
        return plain_answer(method, path, query)

    behind._answer = answered  # type: ignore[method-assign]
    matches = behind.register().match_units({"ico": ["10000006"]}, ico="ico")

    assert matches.select("unit_id", "matched_by", "state").row(0) == (
        (IDS[6], "ico", None) if others else (IDS[5], "ico", "deleted")
    )


READ: Final = (
    '="10000006"', "'10000006", "10000006.", "10000006.0", "10000006,", '"10000006"',
    "IČ: 10000006", "ičo 10000006", "IC\u030cO: 10000006", "10 000 006", "10\u00a0000\u00a0006",
    "\u200b10000006", "10000006\ufeff", "1\u2060000\u00ad0006", "\u202a10000006\u200e",
    "DIČ 2020000006", "SK 2020000006", "IČ DPH: SK2020000006",
)  # fmt: skip
UNREAD: Final = (
    "49.318.173", "49318173/1", "44992785-28", "nan", "10000006 a 10000007", "10000006x",
    "=10000006+1", "SK10000006", "1234", "31/12/2025", "IČO", "-10000006",
)  # fmt: skip


def test_a_number_is_read_as_people_and_spreadsheets_write_it() -> None:
    """With quotes, a point, a label, invisible characters and decomposed letters."""
    matches = REGISTER.match_units({"number": READ}, ico="number")

    assert matches["unit_id"].to_list() == [IDS[6]] * len(READ)


@pytest.mark.parametrize("text", UNREAD)
def test_a_number_that_is_not_read_is_named(text: str) -> None:
    """None of its digits is taken for a number."""
    with pytest.warns(RegisterWarning) as warned:
        matches = REGISTER.match_units({"number": ["10000006", text]}, ico="number")

    assert matches["unit_id"].to_list() == [IDS[6], None]
    assert str(warned[0].message) == f"values that are no IČO and no DIČ: 1, {text!r}"


def test_a_wrong_check_digit_is_named_of_a_number_without_a_unit() -> None:
    """The eighth digit follows from the seven before it; the register's own number stands."""
    with pytest.warns(RegisterWarning) as warned:
        REGISTER.match_units({"ico": ["10000006", "31333533", "20000006"]}, ico="ico")

    assert str(warned[0].message) == (
        "numbers of no unit, with a wrong check digit (modulo 11): 1, '31333533'"
    )


def test_letters_with_points_are_a_word() -> None:
    """In a list and in a search, either way round; a letter alone stays a word."""
    register = fk.sample(0)
    for name in ("A.B.C., s.r.o.", "XYZ, a. s.", "Ján a syn"):
        register.publish(nazovUJ=name)
    ids = register.units.ids()["id"]
    written = ["ABC s.r.o.", "A. B. C.", "X.Y.Z. a.s.", "Ján a syn"]

    matches = register.match_units({"name": written}, name="name")

    assert matches["unit_id"].to_list() == [ids[0], ids[0], ids[1], ids[2]]
    assert [register.units.find(name)["id"].to_list() for name in ("abc", "x.y.z.")] == [
        [ids[0]],
        [ids[1]],
    ]


@given(st.integers(0, 2**32))
def test_the_names_that_are_compared_have_all_that_are_alike(seed: int) -> None:
    """The first choice, by pairs of letters, leaves out none that comparing all finds."""
    lot = random.Random(seed)
    bare, _ = unit_names.parted_words(pl.col("words"))
    names = unit_names.prepared(all_units().lazy()).collect().with_columns(bare=bare)
    some = names.sample(400, seed=seed % 1000)
    misspelt = without_a_letter(lot.choice(some["bare"].to_list()), lot)

    near = NearNames(some).of(misspelt, 1_000)

    alike = [
        id_
        for id_, name in some.select("id", "bare").iter_rows()
        if fuzz.ratio(misspelt, name) >= 80
    ]
    assert {*alike} <= {*near}
    assert len(near) == len({*near})


def test_rows_keep_their_order_and_number() -> None:
    """Also when a row is there twice, and in an empty list with all columns."""
    twice = REGISTER.match_units({"n": ["Javor", "?", "Javor"]}, name="n")
    none = REGISTER.match_units(pl.DataFrame({"n": []}), name="n")

    assert twice["unit_id"].to_list() == [IDS[6], None, IDS[6]]
    assert none.schema == twice.schema
    assert none.height == 0


def test_a_register_is_asked_once_for_each_number() -> None:
    """One list and one record for each, and the price is named before."""
    register = Behind(REGISTER).register()
    mine = {"ico": ["10000006", 10000006.0, "10000000", "20000006", None]}

    plan = register.match_units(mine, ico="ico", dry_run=True)
    assert plan.select("collection", "requests", "at_most").rows() == [("units", 6, None)]
    assert register.stats.requests == 0

    assert register.match_units(mine, ico="ico")["unit_id"].to_list() == [
        IDS[6], IDS[6], IDS[0], None, None,
    ]  # fmt: skip
    assert register.stats.requests == 5  # one number has no unit
    with pytest.raises(fk.UsageError, match="6 requests"):
        register.match_units(mine, ico="ico", max_requests=5)


def test_numbers_are_not_requested_again_with_a_cache(tmp_path: Path) -> None:
    """Lists of the same day, and records that did not change, in another process too."""
    late = SAMPLE.units.ids(changed_since="2026-06-01")["id"]
    units = alone().filter(~pl.col("id").is_in(late.implode())).head(2)
    behind = Behind(SAMPLE)
    for expected in (4, 1):  # the list of changes, which tells that the records are as they were
        with behind.register(cache=tmp_path / "ruz.cache") as register:
            assert register.match_units(units, ico="ico")["unit_id"].equals(units["id"])
            assert len(behind.sent()) == expected


def test_a_register_without_a_search_says_so() -> None:
    """Names alone are refused; beside numbers they check them, and rows without one are counted."""
    register = Behind(REGISTER).register()
    mine = {"ico": ["10000006", "10000000", None], "name": ["Javor", "Sokol", "Javor"]}

    with pytest.raises(
        fk.UsageError, match=r"no search for names; give ico=, or match in a mirror"
    ):
        register.match_units(mine, name="name")
    with pytest.warns(RegisterWarning, match="^1 rows have no number, and the register has no sea"):
        matches = register.match_units(mine, ico="ico", name="name")
    assert matches["matched_by"].to_list() == ["ico", "ambiguous", None]


def test_names_of_a_part_of_the_register_are_warned_of(tmp_path: Path) -> None:
    """Another unit may have the name, too."""
    mirror = fk.Mirror(tmp_path / "ruz", register=REGISTER)
    mirror.sync()
    small = mirror.extract(tmp_path / "small", IDS[5:])

    with pytest.warns(RegisterWarning, match="a part of the register: a name may be another"):
        matches = small.match_units({"name": ["Javor"]}, name="name")
    assert matches["unit_id"].to_list() == [IDS[6]]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({}, r"name the columns .* give ico= and name=, or one of them; the frame has"),
        ({"ico": "ICO"}, r"ico='ICO' is not a column; .*the frame has \['IČO podniku', 'Názov'"),
        ({"name": "názov"}, r"name='názov' is not a column; did you mean 'Názov'\?"),
        ({"name": "ids"}, r"name='ids' is a column of List"),
    ],
)
def test_columns_that_are_not_there_are_named(columns: dict[str, str], fault: str) -> None:
    """With those that are, and those that are probably meant."""
    frame = {"IČO podniku": ["1"], "Názov": ["x"], "ids": [[1]]}
    with pytest.raises(fk.UsageError, match=fault):
        REGISTER.match_units(frame, **columns)  # type: ignore[arg-type]
