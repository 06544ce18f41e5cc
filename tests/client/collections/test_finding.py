"""Units by name or number: the same in a sample and in a mirror of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.methods.find import one_unit
from finstat_kit.client.sample import Sample
from finstat_kit.errors import RegisterWarning
from finstat_kit.protocol.records import UNITS
from tests.support.examples import quick, slow

SAMPLE = fk.sample()
NAMES = [
    "Orol, s. r. o.", "OROL Agro a.s.", "Nový Orol spol. s r.o.", "Orolík", "Orol, a.s.",
    "„Orol“", "Agro Orolák", "Žriebä 24 & syn", "Orol",
]  # fmt: skip
ALL = [*NAMES, None]


def sample() -> Sample:
    register = fk.sample(0)
    for name in ALL:
        register.publish(nazovUJ=name, ico=f"{10_000_000 + ALL.index(name):08d}", dic="2020123456")
    register.publish(nazovUJ="Nuly", ico="00401234")
    return register


@pytest.fixture(scope="module", params=["sample", *slow("mirror")])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> fk.Register:
    """Give a sample of the units, or a mirror of it."""
    register = sample()
    if request.param == "sample":
        return register
    mirror = fk.Mirror(tmp_path_factory.mktemp("ruz"), register=register)
    mirror.sync()
    return mirror


def found(source: fk.Register, text: str) -> list[str]:
    return source.units.find(text)["nazovUJ"].to_list()


def nothing(source: fk.Register, text: str) -> pl.DataFrame:
    """Return what is found for a text that is in no unit of an invented register."""
    with pytest.warns(RegisterWarning, match=f"^no unit matches '{text}': names and numbers are"):
        units = source.units.find(text)
    assert units.is_empty()
    return units


def test_the_best_match_is_first(source: fk.Register) -> None:
    """The name itself, then its words and its beginning, then beginnings of words."""
    assert found(source, "orol") == [
        "„Orol“", "Orol", "Orol, a.s.", "Orol, s. r. o.",
        "OROL Agro a.s.",
        "Nový Orol spol. s r.o.", "Orolík",
        "Agro Orolák",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", quick(["žriebä", "ZRIEBA", "syn 24", "zri sy", "Žriebä 24 & syn", " 24"])
)
def test_spelling_and_order_of_words_do_not_matter(source: fk.Register, text: str) -> None:
    """Accents, case, signs; each word may be the beginning of one, in any order."""
    assert found(source, text) == ["Žriebä 24 & syn"]
    assert found(source, unicodedata.normalize("NFD", text)) == ["Žriebä 24 & syn"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("orol sro", "Orol, s. r. o."),
        ("OROL, Spoločnosť s ručením obmedzeným", "Orol, s. r. o."),
        ("orol a. s.", "Orol, a.s."),
        *slow(
            ("Orol, s.r.o.", "Orol, s. r. o."),
            ("orol spol. s r. o.", "Orol, s. r. o."),
            ("orol spoločnosť s r. o.", "Orol, s. r. o."),
            ("orol akciová spoločnosť", "Orol, a.s."),
            ("orol as", "Orol, a.s."),
        ),
    ],
)
def test_a_legal_form_orders_and_excludes_nothing(
    source: fk.Register, text: str, first: str
) -> None:
    """However it is written: the units of that form come first, and all others stay."""
    assert found(source, text)[0] == first
    assert set(found(source, text)) == set(found(source, "orol"))


def test_a_legal_form_alone_is_a_word(source: fk.Register) -> None:
    """It is sought like any other word."""
    assert found(source, "s. r. o.") == ["Nový Orol spol. s r.o.", "Orol, s. r. o."]


def test_a_number_is_that_of_a_unit(source: fk.Register) -> None:
    """IČO, also in groups or without zeros, DIČ, id; one that no unit has is sought in names."""
    every = source.units.find("2020123456")
    assert every["nazovUJ"].to_list() == ALL
    second = every["id"][1]

    assert source.units.find("10 000 001")["id"].to_list() == [second]
    assert source.units.find(str(second))["id"].to_list() == [second]
    assert found(source, "00401234") == found(source, "401234") == ["Nuly"]
    assert found(source, "24") == ["Žriebä 24 & syn"]
    nothing(source, "99999999")
    nothing(source, "9" * 30)


def meanings() -> Sample:
    """Return a register with numbers that mean several units."""
    register = fk.sample(2, seed=3)
    named, other = register.units.ids()["id"].to_list()
    register.publish(nazovUJ="Obec", ico=f"{named:08d}", dic="2020000001")
    register.publish(nazovUJ=f"{named}.banka", ico="20200000", dic="2020000002")
    register.publish(nazovUJ="Závod", ico="012345678901", dic="2020000003")
    register.publish(nazovUJ="Závod bez núl", ico="002020000003", dic="2020000004")
    register.publish(nazovUJ=f"Firma {other}", ico="20200001", dic="2020000001")
    return register


@pytest.fixture(scope="module", params=["sample", "mirror"])
def ambiguous(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> fk.Register:
    """Give `meanings`, or a mirror of it."""
    register = meanings()
    if request.param == "sample":
        return register
    mirror = fk.Mirror(tmp_path_factory.mktemp("ruz"), register=register)
    mirror.sync()
    return mirror


def matched(register: fk.Register, text: str) -> list[tuple[str | None, str]]:
    return register.units.find(text).select("nazovUJ", "matched_by").rows()


def test_a_number_is_sought_as_everything_that_it_may_be(ambiguous: fk.Register) -> None:
    """An id, an IČO without its zeros, a word of a name: all of them, with a warning of ours."""
    id_ = ambiguous.units.ids()["id"][0]
    own = ambiguous.units.get(id_)["nazovUJ"].item()

    with pytest.warns(RegisterWarning, match=r"by id \(1\) and by ico \(1\) and by name \(1\)"):
        units = matched(ambiguous, str(id_))
    with pytest.warns(RegisterWarning, match=r"by ico \(1\) and by dic \(1\)"):
        both = matched(ambiguous, "2020000003")

    assert units == [(own, "id"), ("Obec", "ico"), (f"{id_}.banka", "name")]
    assert both == [("Závod bez núl", "ico"), ("Závod", "dic")]


@pytest.mark.filterwarnings("error")
def test_a_number_of_one_kind_is_no_reason_to_warn(ambiguous: fk.Register) -> None:
    """Nor are several units of one kind, nor an IČO that is written with its zeros."""
    id_ = ambiguous.units.ids()["id"][0]

    assert matched(ambiguous, f"{id_:08d}") == [("Obec", "ico")]
    assert matched(ambiguous, "12345678901") == [("Závod", "ico")]
    assert [kind for _, kind in matched(ambiguous, "2020000001")] == ["dic", "dic"]
    for text in ("SK2020000003", "sk 20 20 00 00 03"):
        assert matched(ambiguous, text) == [("Závod", "dic")]
    nothing(ambiguous, "SK202000000")


def test_a_limit_counts_matches_of_every_kind(ambiguous: fk.Register) -> None:
    """The units that it leaves out are in both warnings."""
    id_ = ambiguous.units.ids()["id"][0]

    with (
        pytest.warns(RegisterWarning, match="by name"),
        pytest.warns(RegisterWarning, match="the 2 best of 3 units"),
    ):
        assert ambiguous.units.find(str(id_), limit=2)["matched_by"].to_list() == ["id", "ico"]


def test_a_register_without_names_finds_every_kind_of_number() -> None:
    """As a sample and a mirror do."""
    with meanings().serve() as url, fk.Register(url) as register:
        id_ = register.units.ids()["id"][0]

        with pytest.warns(RegisterWarning, match="by id"):
            assert [kind for _, kind in matched(register, str(id_))] == ["id", "ico"]
        with pytest.warns(RegisterWarning, match="by ico"):
            assert [kind for _, kind in matched(register, "2020000003")] == ["ico", "dic"]
        assert matched(register, "SK2020000003") == [("Závod", "dic")]
        nothing(register, "SK9999999999")


@pytest.mark.slow
def test_where_one_unit_is_wanted_several_meanings_are_an_error() -> None:
    """Which lists them; it never takes the first."""
    with pytest.warns(RegisterWarning):
        units = SAMPLE.units.find("61387")

    with pytest.raises(fk.UsageError) as refused:
        SAMPLE.statement(units)

    for row in units.select("id", "nazovUJ", "ico", "mesto").rows():
        assert ", ".join(map(str, row)) in str(refused.value)


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        (372491, "'00372491'"),
        (372491.0, "'00372491'"),
        ("372491", "'00372491'"),
        ("37 24 91", "'00372491'"),
        (22745454667, "'022745454667'"),
        ("3147120001", "'003147120001'"),
        ("SK2020123456", "give a text of 8 or 12 digits"),
        ("1234567890123", "give a text of 8 or 12 digits"),
        (2**70, "give a text of 8 or 12 digits"),
        (-372491, "give a text of 8 or 12 digits"),
        (float("nan"), "give a text of 8 or 12 digits"),
        ("", "give a text of 8 or 12 digits"),
    ],
)
def test_the_error_of_an_ico_offers_it_with_its_zeros(given: object, offered: str) -> None:
    """As what lost its zeros has 8 digits, or 12; a DIČ has no zeros to lose."""
    register = fk.sample(1)
    with pytest.raises(fk.UsageError) as refused:
        register.units.ids(ico=given)  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="'2020123456'"):
        register.units.ids(dic=2020123456)  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="give a text of 10 digits"):
        register.units.ids(dic="202012345")

    assert offered in str(refused.value)


def test_records_are_those_of_get(source: fk.Register) -> None:
    """All columns of a record, also where nothing matches."""
    records = source.units.find("orol agro")

    assert_frame_equal(records.drop("matched_by"), source.units.get(records))
    schema = {**UNITS, "matched_by": pl.Enum(["id", "ico", "dic", "name"])}
    assert nothing(source, "nič také").schema == records.schema == schema


def test_a_limit_keeps_the_best_and_says_how_many_there_are(source: fk.Register) -> None:
    """Never silently."""
    with pytest.warns(UserWarning, match="the 3 best of 8 units"):
        best = source.units.find("orol", limit=3)

    assert best["nazovUJ"].to_list() == found(source, "orol")[:3]
    assert source.units.find("orol", limit=None).height == 8


@pytest.mark.slow
def test_a_search_sees_every_change(tmp_path: Path) -> None:
    """Of a sample at once, of a mirror after the next sync; a frozen day stays as it was."""
    register = sample()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    for source in (register, mirror):
        assert found(source, "orolik") == ["Orolík"]
    day = register.today
    register.set_today("2026-07-04")
    register.delete(register.units.find("orolik"))
    register.publish(nazovUJ="Orolík nový")

    assert found(register, "orolik") == ["Orolík nový"]
    assert found(mirror, "orolik") == ["Orolík"]
    mirror.sync()
    assert found(mirror, "orolik") == ["Orolík nový"]
    assert found(mirror.as_of(day), "orolik") == ["Orolík"]


@pytest.fixture
def url() -> Iterator[str]:
    """Give the URL of a register, which answers requests alone."""
    with sample().serve() as url:
        yield url


def test_a_register_without_a_search_finds_numbers_alone(url: str) -> None:
    """A name is an error with the ways there are; a number one request per kind, and a record."""
    with fk.Register(url) as register:
        assert found(register, "10000001") == ["OROL Agro a.s."]
        assert register.stats.requests == 3  # as an id, as an IČO, the record
        nothing(register, "99999999")
        with pytest.raises(fk.UsageError, match=r"no search for names.*fk.Mirror.*or give an IČO"):
            register.units.find("orol")
        with pytest.raises(fk.UsageError, match="no search for names"):
            register.units.find("9" * 200)


@pytest.mark.parametrize("text", ["", " ", "…", 365, None])
def test_a_text_without_words_is_refused(source: fk.Register, text: str) -> None:
    """With what may be given."""
    with pytest.raises(fk.UsageError, match="give words of a name, an IČO, a DIČ or an id"):
        source.units.find(text)


@pytest.mark.parametrize("text", ["a" * 1_000_000, "9" * 201, "vzor " * 100])
def test_a_text_longer_than_any_name_is_refused(source: fk.Register, text: str) -> None:
    """Before it is searched for, in a message of a few lines, which lists no help as long."""
    for search in (source.units.find, source.locations):
        with pytest.raises(fk.UsageError, match="characters; give at most 200") as refused:
            search(text)
        assert len(str(refused.value)) < 300
    with pytest.raises(fk.UsageError, match="unit=") as refused:
        source.statement(text)
    assert len(str(refused.value)) < 600


def test_functions_of_units_take_what_is_found() -> None:
    """As they take records."""
    unit = SAMPLE.units.find("00372491")

    assert SAMPLE.financials(unit, 2015)["unit_id"].to_list() == [365]
    assert SAMPLE.filings(unit).equals(SAMPLE.filings([365]))


def test_several_units_are_listed_where_one_is_wanted() -> None:
    """With name, IČO and town."""
    units = SAMPLE.units.find("orol 24")
    assert units.height > 1

    with pytest.raises(fk.UsageError) as refused:
        one_unit(units, "unit")
    with pytest.raises(fk.UsageError, match="unit='x': there is no such unit"):
        one_unit(units.clear(), "unit", "x")

    assert one_unit(units.head(1), "unit").equals(units.head(1))
    for row in units.select("id", "nazovUJ", "ico", "mesto").rows():
        assert ", ".join(map(str, row)) in str(refused.value)
    assert units.height == str(refused.value).count("Orol 24")


def test_several_texts_are_found_at_once(source: fk.Register) -> None:
    """The units of each in the order of the texts, each with its text; one without any warns."""
    with pytest.warns(RegisterWarning, match="no unit matches 1 of 3 texts: 'nieco'"):
        units = source.units.find(["agro", "nieco", "10000008"], limit=1 + 1)

    assert units.select("nazovUJ", "matched_by", "given").rows() == [
        ("Agro Orolák", "name", "agro"), ("OROL Agro a.s.", "name", "agro"),
        ("Orol", "ico", "10000008"),
    ]  # fmt: skip
    assert source.units.find([]).columns == [*source.units.find("agro").columns, "given"]
    with pytest.raises(fk.UsageError, match="text=5 is not allowed"):
        source.units.find(["agro", 5])  # type: ignore[list-item]
