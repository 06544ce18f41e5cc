"""Every kind of key, in every function that takes units: a number is an id, 8 or 12 digits an IČO.

Of a register by requests, a replay of its cache, a sample and a mirror.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import RegisterWarning
from finstat_kit.frames.reports.cells import REASON, REASONS
from finstat_kit.given_units import given_units
from tests.support.examples import quick, slow
from tests.support.registers import Watched

YEAR: Final = 2018
NOBODY: Final = "12345678"


def made() -> Sample:
    """Return a sample with a shared IČO."""
    return fk.sample(600, seed=5)


SAMPLE: Final = made()
RECORDS: Final = SAMPLE.units.get(SAMPLE.units.ids())
_ICOS: Final = RECORDS["ico"].drop_nulls()
SHARED: Final = _ICOS.filter(_ICOS.is_duplicated())[0]
SHARING: Final = RECORDS.filter(ico=SHARED)["id"].to_list()
_MONEY: Final = SAMPLE.financials(RECORDS, YEAR).drop_nulls("total_assets")
_OWN: Final = _MONEY.filter(~pl.col("ico").is_in([SHARED]), pl.col("unit_id") > 9_999)
ONE, OTHER = (int(id_) for id_ in _OWN["unit_id"][:2])
ICO, OTHER_ICO = _OWN["ico"][0], _OWN["ico"][1]


@pytest.fixture(scope="module", params=["requests", "replay", "sample", *slow("mirror")])
def register(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> fk.Register:
    """Give each kind of register of the same units."""
    folder = tmp_path_factory.mktemp("keys")
    if request.param == "requests":
        return Watched(SAMPLE)
    if request.param == "replay":
        return replayed(folder)
    if request.param == "mirror":
        mirror = fk.Mirror(folder / "ruz", contents=True, register=SAMPLE)
        mirror.sync()
        return mirror
    return SAMPLE


def replayed(folder: Path) -> fk.Register:
    """Return a replay of the calls of these tests."""
    kept = made()
    kept._keep(folder / "keys.cache", None)
    keys = [ONE, OTHER, ICO, OTHER_ICO, SHARED, NOBODY, "87654321"]
    with pytest.warns(fk.errors.RegisterWarning, match="no unit has the IČO"):
        kept.units.get(keys, errors="keep")
    kept.financials(keys, YEAR)
    kept.filings(keys, [2017, 2018])
    kept.statement(ICO)
    fk.unit_page(ICO, register=kept)
    fk.StatementViewer([ICO, OTHER], register=kept)
    kept.close()
    return fk.use(f"cache:{folder / 'keys.cache'}")


@pytest.fixture(autouse=True)
def nothing_chosen() -> Iterator[None]:
    yield
    fk.use(None)
    plt.close("all")


# Keys of one unit, and of two in an order.
OF_ONE: Final[dict[str, Any]] = {
    "an id": ONE, "numpy's integer": np.int64(ONE), "an IČO": ICO,
    "a record": RECORDS.filter(id=ONE), "a frame with ico": {"ico": [ICO]}, "twice": [ONE, ICO],
    "blanks": f"{ICO[:2]} {ICO[2:5]}\u00a0{ICO[5:]}",
    "invisible": f"\ufeff{ICO[:4]}\u200b{ICO[4:]}",
}  # fmt: skip
OF_TWO: Final[dict[str, Any]] = {
    "ids": [OTHER, ONE], "IČO": [OTHER_ICO, ICO], "both kinds": [OTHER, ICO],
    "a tuple": (OTHER_ICO, ONE), "twice": [OTHER_ICO, OTHER, ICO],
    "a Series of ids": pl.Series("x", [OTHER, ONE]),
    "a Series of IČO": pl.Series("x", [OTHER_ICO, f"{ICO} "]),
    "categories": pl.Series([OTHER_ICO, ICO], dtype=pl.Categorical),
    "a frame with unit_id": pl.DataFrame({"unit_id": [OTHER, ONE], "id": [1, 2], "ico": "a"}),
    "a frame with id": pl.DataFrame({"ico": ["a", "b"], "id": [OTHER, ONE]}),
    "a frame with ico": pl.DataFrame({"ico": [OTHER_ICO, ICO], "firma": ["a", "b"]}),
    "lazy": pl.LazyFrame({"ico": [OTHER_ICO, ICO]}),
    "records": RECORDS.filter(pl.col("id").is_in([ONE, OTHER])).sort(pl.col("id") != OTHER),
    "pandas": pd.DataFrame({"ico": [OTHER_ICO, ICO]}),
    "floats of pandas": pd.DataFrame({"unit_id": [float(OTHER), float(ONE)]}),
    "a column of pandas": pd.Series([OTHER_ICO, ICO]), "numpy": np.array([OTHER, ONE]),
    "texts of numpy": np.array([OTHER_ICO, ICO]), "columns": {"ico": [OTHER_ICO, ICO]},
    "rows": [{"ico": OTHER_ICO}, {"ico": ICO}], "a generator": None,
}  # fmt: skip


def key(name: str) -> Any:
    return (id_ for id_ in (OTHER, ICO)) if name == "a generator" else OF_TWO[name]


TAKING_ONE: Final[dict[str, Callable[[fk.Register, Any], object]]] = {
    "units.get": lambda reg, unit: reg.units.get(unit)["id"].item(),
    "financials": lambda reg, unit: reg.financials(unit, YEAR)["unit_id"].item(),
    "filings": lambda reg, unit: reg.filings(unit, YEAR)["unit_id"].unique().item(),
    "statement": lambda reg, unit: id_of_title(reg.statement(unit)),
    "unit_page": lambda reg, unit: id_of_title(fk.unit_page(unit, register=reg)),
    "StatementViewer": lambda reg, unit: fk.StatementViewer(unit, register=reg).value,
    "peers": lambda reg, unit: fk.peers(_MONEY, unit, "total_assets")["unit_id"].item(),
}


def id_of_title(filed: Any) -> int:
    """Return the id of the unit whose IČO is in a title."""
    return int(RECORDS.filter(ico=dict(filed.title)["IČO"])["id"].item())


@pytest.mark.parametrize("name", TAKING_ONE)
def test_a_unit_is_named_by_its_id_or_its_ico(register: fk.Register, name: str) -> None:
    """In every function, whatever answers."""
    assert TAKING_ONE[name](register, OF_ONE["invisible"]) == ONE


@pytest.mark.parametrize("name", ["peers", *slow(*TAKING_ONE)[:-1]])
def test_a_unit_is_named_by_a_key_of_any_kind(name: str) -> None:
    """One rule in every function."""
    for kind, unit in OF_ONE.items():
        if (name, kind) != ("units.get", "twice"):  # which returns each as often as it is given
            assert TAKING_ONE[name](SAMPLE, unit) == ONE, kind


@pytest.mark.parametrize("kind", quick(OF_TWO, 7))
def test_several_units_are_named_by_either(register: fk.Register, kind: str) -> None:
    """In their order, each once where figures are fetched, as often as given where records are."""
    expected = SAMPLE.financials([OTHER, ONE], YEAR)

    assert_frame_equal(register.financials(key(kind), YEAR), expected)
    assert register.filings(key(kind), YEAR)["unit_id"].unique(maintain_order=True).to_list() == [
        OTHER, ONE,
    ]  # fmt: skip
    ids = register.units.get(key(kind))["id"].to_list()
    assert ids == ([OTHER, OTHER, ONE] if kind == "twice" else [OTHER, ONE])
    viewer = fk.StatementViewer(key(kind), register=register)
    assert {code for code, *_ in viewer.unit.items} == {str(ONE), str(OTHER)}


def test_a_shared_ico_is_all_of_its_units_or_an_error_that_lists_them(
    register: fk.Register,
) -> None:
    """Where several units are taken, and where one is."""
    assert register.units.get([ICO, SHARED])["id"].to_list() == [ONE, *SHARING]
    money = register.financials([SHARED, ICO], YEAR)
    assert money["unit_id"].to_list() == [*SHARING, ONE]
    for one in (register.statement, lambda unit: fk.unit_page(unit, register=register)):
        with pytest.raises(
            fk.UsageError, match=f"unit='{SHARED}': these are 2 units; give the id"
        ) as e:
            one(SHARED)
        assert all(f"\n  {id_}, " in str(e.value) for id_ in SHARING)
    twice = _OWN.head(3).with_columns(ico=pl.lit(SHARED))
    with pytest.raises(fk.UsageError, match=r"3 units of the figures; give the unit_id of one: \["):
        fk.peers(twice, SHARED, "total_assets")


def test_an_ico_of_nobody_is_a_row_of_figures_and_elsewhere_an_error(
    register: fk.Register,
) -> None:
    """Behind the others; with years one row for each, as of a unit without a filing."""
    money = register.financials([NOBODY, ICO, "87654321", NOBODY], YEAR)
    assert money.select("unit_id", "ico", "year").rows() == [
        (ONE, ICO, YEAR), (None, NOBODY, YEAR), (None, "87654321", YEAR),
    ]  # fmt: skip
    assert money["reason"].to_list()[1:] == ["no_such_unit"] * 2
    assert money[0].equals(SAMPLE.financials(ONE, YEAR))
    filed = register.filings(NOBODY, [2017, 2018])
    assert filed.select("unit_id", "year", "counts", "reason").rows() == [
        (None, year, False, "no_such_unit") for year in (2017, 2018)
    ]
    assert register.filings([NOBODY])["year"].to_list() == [None]
    told = f"no unit has the IČO '{NOBODY}'; names and numbers are invented"
    with pytest.warns(fk.errors.RegisterWarning, match=told):
        kept = register.units.get([NOBODY, ICO], errors="keep")
    assert kept.equals(register.units.get([ICO]))
    for call in (
        register.units.get, register.statement,
        lambda unit: fk.unit_page(unit, register=register),
        lambda unit: fk.StatementViewer(unit, register=register),
    ):  # fmt: skip
        with pytest.raises(
            fk.errors.NotFound, match=f"no unit has the IČO '{NOBODY}'; names and numbers"
        ):
            call(NOBODY)
    with pytest.raises(fk.UsageError, match=f"unit='{NOBODY}' is in no year of the figures"):
        fk.peers(_MONEY, NOBODY, "total_assets")


def test_records_beside_an_ico_of_nobody_are_kept(register: fk.Register) -> None:
    """In the error."""
    with pytest.raises(
        fk.errors.NotFound, match=r"IČO '12345678'; names .*; the others are in \.partial"
    ) as caught:
        register.units.get([SHARED, NOBODY, ONE])
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [*SHARING, ONE]


def test_the_row_of_nobody_has_the_columns_of_one_without_a_filing() -> None:
    """Columns depend on the arguments alone, and so does what is filled in such a row."""
    deleted = RECORDS.filter(pl.col("stav").is_not_null())["id"][0]
    for year in (None, YEAR):
        for call in (SAMPLE.financials, SAMPLE.filings):
            nobody, gone = call(NOBODY, year), call([deleted], year)
            assert nobody.schema == gone.schema == call([], year).schema
            same = [name for name in gone.columns if name not in ("unit_id", "ico", "reason")]
            assert_frame_equal(nobody.select(same), gone.select(same))


@pytest.mark.parametrize(
    ("units", "says"),
    quick(
        [
            ("61387", r"='61387' is not an IČO, .* give an id as 61387, or an IČO .* '00061387'"),
            ("0061387", r"='0061387' is not an IČO.*; give an IČO with its zeros as '00061387'$"),
            ("123456789", "give an id as 123456789, or an IČO with its zeros as '000123456789'"),
            ("2020123456", r"a DIČ as fk\.units\.ids\(dic='2020123456'\), or .* '002020123456'"),
            ("SK2020123456", r"a DIČ as fk\.units\.ids\(dic='2020123456'\)$"),
            ("1" * 13, "give an id as 1111111111111$"),
            ("IČO: 00372491", "give an IČO as '00372491'$"),
            ("Orol", r"look the unit up by its name or number: fk\.units\.find\('Orol'\)"),
            ("", "look the unit up"),
            ([ICO, "61387"], r"\[1\]='61387' is not an IČO"),
            ([1.0], r"\[0\]=1.0 is neither an id nor an IČO"),
            ([ICO, None], r"\[1\]=None is neither"),
            ([True], r"\[0\]=True is neither"),
            (1.0, "=1.0 names no units; give an id"),
            (None, "=None names no units"),
            (b"00372491", "names no units"),
            (-1, "=-1 is not allowed; give a whole number, 0 or more"),
            ([-1, ICO], r"\[0\]=-1 is not allowed"),
            (pl.Series("x", [1.0, None]), r"'x' is Float64 with 1 null; .*\.drop_nulls\(\)\.cast"),
            (pl.Series("x", [ICO, None]), r"'x' is String with 1 null; give \w+\.drop_nulls\(\)$"),
            (pl.Series("x", [1, None, None]), r"'x' is Int64 with 2 nulls; .*\.drop_nulls\(\)$"),
            (pl.Series("x", [[1]]), "'x' is List"),
            (pl.Series("ico", [372491]), r"'ico' is Int64; .*\w\.cast\(pl\.String\)\.str\.zfill"),
            ({"ico": [372491.0]}, r"\['ico'\]\.cast\(pl\.Int64\)\.cast\(pl\.String\)\.str\.zfill"),
            ({"ico": [ICO, None]}, r"'ico' is String with 1 null; .*\['ico'\]\.drop_nulls\(\)$"),
            ({"ico": [ICO, "1"]}, r"\['ico'\]\[1\]='1' is not an IČO"),
            ({"unit_id": [1.5]}, r"'unit_id' is Float64; .*\['unit_id'\]\.cast\(pl\.Int64\)$"),
            ({"unit_id": [1, None]}, r"1 null; give \w+\['unit_id'\]\.drop_nulls\(\)$"),
            ({"id": ["365"]}, r"'id' is String; give \w+\['id'\]\.cast\(pl\.Int64\)$"),
            ({"id": [1.0, None]}, r"'id' is Float64 with 1 null; .*\['id'\]\.drop_nulls\(\)\.cast"),
            ({"IČO": [ICO]}, r"no column 'unit_id', 'id', 'ico'; .*\['IČO'\]; fk\.match_units"),
            (pd.DataFrame({"ico": [ICO, None]}), r"'ico' is String with 1 null"),
            (pd.DataFrame({"unit_id": [1.0, None]}), r"'unit_id' is Int64 with 1 null"),
            (pd.DataFrame({"ico": [372491]}), r"'ico' is Int64"),
        ],
        12,
    ),
)  # fmt: skip
def test_what_is_neither_is_refused_with_what_it_may_mean(units: Any, says: str) -> None:
    """Before any request, in every function, by the name of its argument."""
    watched = Watched(SAMPLE)
    calls: dict[str, Callable[[], object]] = {
        "units": lambda: watched.financials(units, YEAR),
        "ids": lambda: watched.units.get(units),
        "unit": lambda: watched.statement(units),
    }
    calls["units "] = lambda: watched.filings(units)
    calls["units  "] = lambda: watched.financials(units, dry_run=True)
    calls["unit "] = lambda: fk.unit_page(units, register=watched)
    if units is not None:
        calls["units   "] = lambda: fk.StatementViewer(units, register=watched)
    for argument, call in calls.items():
        with pytest.raises(fk.UsageError, match=says) as caught:
            call()
        assert str(caught.value).startswith(argument.strip())
    with pytest.raises(fk.UsageError, match=says):
        fk.peers(_MONEY, units, "total_assets")
    assert watched.asked == []


@pytest.mark.parametrize("units", ["00372491", [ICO], pl.Series([ICO]), {"ico": [ICO]}])
def test_where_statements_or_reports_are_taken_a_text_is_refused(units: Any) -> None:
    """An IČO is a unit's."""
    watched = Watched(SAMPLE)
    for collection in (watched.statements, watched.reports, watched.annual_reports):
        with pytest.raises(fk.UsageError, match=r"^ids"):
            collection.get(units)
    assert watched.asked == []


def test_ids_that_are_given_cost_no_more_than_before() -> None:
    """A list of a million is one column."""
    many = pl.Series("id", range(1_000_000))

    assert given_units(many)["id"].equals(many)
    assert given_units(many)["ico"].null_count() == 1_000_000


def test_an_ico_is_one_request_and_its_record_another() -> None:
    """In the plan, in what is sent, and in the limit."""
    units = [ICO, OTHER, SHARED, NOBODY, ICO]
    watched = Watched(SAMPLE)

    planned = watched.financials(units, YEAR, dry_run=True)
    assert planned["requests"][0] == 3 * 2 + 1
    assert watched.asked == []
    for limit in (6, 7):
        if limit == 6:
            with pytest.raises(fk.UsageError, match="max_requests=6: this needs 7 requests"):
                watched.units.get(units, errors="keep", max_requests=limit)
            assert watched.asked == []
        else:
            with pytest.warns(fk.errors.RegisterWarning, match="no unit has the IČO"):
                watched.units.get(units, errors="keep", max_requests=limit)
    lists = [path for path in watched.asked if "uctovne-jednotky" in path]
    assert len(lists) == 3  # and one per unit: of the shared IČO two, of nobody none
    assert len(watched.asked) == 3 + 4

    allowed = int(planned["requests"].sum())
    watched.asked.clear()
    with pytest.raises(fk.UsageError, match=f"max_requests={allowed - 1}"):
        watched.financials(units, YEAR, max_requests=allowed - 1)
    assert watched.asked == []
    with pytest.raises(fk.UsageError, match="max_requests=5: this needs"):
        watched.filings([ICO], max_requests=5)
    assert watched.asked == []


def test_the_plan_of_a_list_is_allowed() -> None:
    """What `dry_run` says is enough for `match_units` and for records: nothing is sent in vain."""
    watched = Watched(SAMPLE)
    mine = RECORDS.drop_nulls("ico").unique("ico", keep="none").head(60).select("ico")
    plan = watched.match_units(mine, ico="ico", dry_run=True)["requests"].item()

    assert watched.match_units(mine, ico="ico", max_requests=plan)["unit_id"].null_count() == 0
    assert len(watched.asked) == plan == 120
    watched.asked.clear()
    assert watched.units.get(mine, max_requests=plan)["ico"].equals(mine["ico"])
    assert len(watched.asked) == plan


def test_what_was_matched_is_taken() -> None:
    """With its rows that were not, dropped as the error says."""
    mine = pl.DataFrame({"id": [1, 2], "IČO": [ICO, "00000019"]})
    matches = SAMPLE.match_units(mine, ico="IČO")
    with pytest.raises(fk.UsageError, match=r"1 null; give units\['unit_id'\]\.drop_nulls\(\)"):
        SAMPLE.financials(matches, YEAR)

    assert SAMPLE.financials(matches.drop_nulls("unit_id"), YEAR)["unit_id"].to_list() == [ONE]
    listed = mine.with_columns(matches["unit_id"]).drop_nulls()
    assert SAMPLE.financials(listed, YEAR)["unit_id"].to_list() == [ONE]
    assert SAMPLE.units.get(SAMPLE.financials(ICO, YEAR))["id"].to_list() == [ONE]


def test_a_part_of_the_register_does_not_know_whose_an_ico_is(tmp_path: Path) -> None:
    """The register may have it: the reason is `not_held`, and the error says so."""
    mirror = fk.Mirror(tmp_path / "ruz", register=SAMPLE)
    mirror.sync()
    part = mirror.extract(tmp_path / "part", [ONE])

    assert part.units.get(ICO)["id"].to_list() == [ONE]
    filed = part.filings([OTHER_ICO, ICO], YEAR)
    assert filed.select("unit_id", "ico", "reason").rows() == [
        (ONE, ICO, "not_held"), (None, OTHER_ICO, "not_held"),
    ]  # fmt: skip
    told = f"IČO '{OTHER_ICO}'; this mirror is of 1 given units, the register may have them"
    with pytest.raises(fk.errors.NotFound, match=told):
        part.units.get(OTHER_ICO)


def test_a_row_of_nobody_is_no_unit() -> None:
    """Summaries, panels, peers and charts leave it out."""
    firms = _MONEY.head(40)["unit_id"]
    own = SAMPLE.financials(firms, YEAR)
    mixed = SAMPLE.financials([NOBODY, *firms, "87654321"], YEAR)
    assert mixed.height == own.height + 2

    calls: list[Callable[[pl.DataFrame], pl.DataFrame]] = [
        lambda money: fk.summary(money, ["sales", "roa"], "kraj", register=SAMPLE),
        lambda money: fk.summary(money, "sales", register=SAMPLE),
        lambda money: SAMPLE.panel(money)[0],
        lambda money: SAMPLE.panel(money)[1],
        lambda money: fk.growth(money, ["sales"]),
        lambda money: fk.peers(money, int(firms[0]), "total_assets"),
        lambda money: fk.ratios(money).drop_nulls("unit_id"),
    ]
    for call in calls:
        assert_frame_equal(call(mixed), call(own))


def test_saved_figures_of_two_versions_are_joined_as_the_page_says(tmp_path: Path) -> None:
    """A reason may be new: the column of the older file is cast to that of the newer."""
    new = SAMPLE.financials([OTHER, ONE], YEAR)
    older = pl.Enum([reason for reason in REASONS if reason != "ambiguous"])
    SAMPLE.financials(OTHER, 2009).cast({"reason": older}).write_parquet(tmp_path / "old.parquet")
    old = pl.read_parquet(tmp_path / "old.parquet")
    with pytest.raises(pl.exceptions.SchemaError):
        pl.concat([old, new])

    both = pl.concat([old.cast({"reason": new.schema["reason"]}), new], how="diagonal")

    assert both.schema["reason"] == REASON
    assert both["reason"].to_list() == [*old["reason"], *new["reason"]]


@pytest.mark.parametrize("of", ["financials", "filings", "statement", *slow("mirror")])
def test_a_year_that_has_not_come_warns(of: str, tmp_path: Path) -> None:
    """Once, with the register's day; this year and those before do not."""
    register: Any = SAMPLE
    if of == "mirror":
        register = fk.Mirror(tmp_path / "ruz", register=fk.sample(20), contents=True)
        register.sync()
    call = register.scan_financials if of == "mirror" else partial(getattr(register, of), ICO)

    for year in (2099, [2018, 2027]):
        last = year if isinstance(year, int) else year[-1]
        says = f"^{last} lies after the register's day, 2026-06-30: nothing can have been filed"
        with pytest.warns(RegisterWarning, match=says) as caught:
            call(year)
        assert len(caught) == 1
    call(2026)


def test_what_is_not_found_among_invented_names_says_so(tmp_path: Path) -> None:
    """In a sample and in a mirror of it; what is found warns of nothing."""
    mirror = fk.Mirror(tmp_path / "ruz", register=SAMPLE)
    mirror.sync()
    for register in (SAMPLE, mirror):
        for text in ("tatry", NOBODY):
            says = f"^no unit matches '{text}': names and numbers are invented here$"
            with pytest.warns(RegisterWarning, match=says):
                assert register.units.find(text).is_empty()
        with pytest.warns(RegisterWarning, match="1 of 2 texts: 'tatry': names and numbers"):
            register.units.find(["tatry", ICO])
        assert register.units.find(ICO)["id"].to_list() == [ONE]
