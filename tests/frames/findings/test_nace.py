"""Activities of either revision of NACE: what a code is grouped by, and what is said of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from tests.support.examples import slow
from tests.support.pictures import written

MIXED = ["45200", "46900", "62010", "84110", "95310", "68120", "01110"]
LISTS = {
    "2": ["45200", "62010", "84110", "01110"],
    "2.1": ["95310", "62100", "68120", "84110", "01110"],
    "mixed": MIXED,
}
OLD = {"45200": "G", "62010": "J", "84110": "O", "01110": "A", "95310": "S", "68120": "L"}
NEW = {"95310": "T", "62100": "K", "68120": "M", "84110": "P", "01110": "A"}
Revision = Literal["2", "2.1", "mixed"]


def register(folder: Path, revision: Revision, units: int = 300) -> Sample:
    """Return a sample whose register has the list of a revision, or of both."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [{"kod": code, "nazov": {"sk": code, "en": code}} for code in LISTS[revision]]
    (folder / "sk-nace.json").write_text(json.dumps({"klasifikacie": entries}), encoding="utf-8")
    return fk.sample(units, codelists=folder)


def units_with(*codes: str | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"id": range(len(codes)), "skNace": codes}, schema_overrides={"id": pl.Int64}
    )


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("revision", "sections", "made_by"),
    [("2", OLD, "section"), ("2.1", NEW, "section_2_1")],
)
def test_a_code_is_grouped_by_the_list_of_its_register(
    tmp_path: Path, revision: Revision, sections: dict[str, str], made_by: str
) -> None:
    """The label is that of the revision, and what the counts were made by names it."""
    reg = register(tmp_path, revision)
    codes = LISTS[revision]

    counts = reg.count_by(units_with(*codes), "section", lang="en")
    divisions = reg.count_by(units_with(*codes), "division", lang="en")

    assert dict(counts.select("code", "count").iter_rows()) == {sections[code]: 1 for code in codes}
    assert set(counts["kind"]) == {"labelled"}
    assert set(counts["by"]) == {made_by}
    assert set(divisions["code"]) == {code[:2] for code in codes}
    assert set(divisions["by"]) == {made_by.replace("section", "division")}
    names = dict(counts.select("code", "label").iter_rows())
    assert names["P" if revision == "2.1" else "O"].startswith("Public administration")


def test_the_two_revisions_name_the_same_letters_differently(tmp_path: Path) -> None:
    """21 and 22 sections, 88 and 87 divisions; the motor trade has none of its own any longer."""
    old = register(tmp_path / "a", "2").count_by(units_with("62010"), "section", lang="en")
    new = register(tmp_path / "b", "2.1").count_by(units_with("62100"), "section", lang="en")

    assert old.select("code", "label").row(0) == ("J", "Information and communication")
    assert new["code"].item() == "K"
    assert new["label"].item().startswith("Telecommunication, computer programming")


@pytest.mark.parametrize("revision", ["2", *slow("2.1")])
def test_a_code_that_the_list_does_not_have_is_unknown(tmp_path: Path, revision: Revision) -> None:
    """Never grouped by its first digits; its likely code is proposed."""
    reg = register(tmp_path, revision)
    lost = units_with("1110", "6100", "8110", "84", "C", None)

    counts = reg.count_by(lost, "section")
    proposed = reg.unresolved_codes(lost, columns=["skNace"])

    assert set(counts.filter(kind="unknown code")["code"]) == {"1110", "6100", "8110", "?84", "?C"}
    assert counts.filter(kind="no code")["count"].item() == 1
    assert proposed.filter(code="1110")["likely"].to_list() == ["01110"]
    assert proposed.filter(code="8110")["likely"].to_list() == [None]


def test_a_mixed_list_has_both_revisions(tmp_path: Path) -> None:
    """Division 45 is of the one, a class that Rev. 2 lacks of the other, the rest of the more."""
    reg = register(tmp_path, "mixed")
    units = units_with(*MIXED, "45200")

    with pytest.warns(fk.errors.RegisterWarning, match=r"4 units have activities that are in both"):
        counts = reg.count_by(units.filter(pl.col("skNace") != "45200"), "section")
    assert set(counts["by"]) == {"section_2_1"}
    unknown = counts.filter(kind="unknown code")
    assert unknown["code"].to_list() == []
    with pytest.warns(fk.errors.RegisterWarning, match=r"2 units have activities of NACE Rev\. 2,"):
        counts = reg.count_by(units, "section")
    assert counts.filter(kind="unknown code").select("code", "count").rows() == [("45200", 2)]


@pytest.mark.usefixtures("silent")
def test_a_given_revision_leaves_the_other_unknown(tmp_path: Path) -> None:
    """Without a warning, since it is what was wanted."""
    reg = register(tmp_path, "mixed")

    old = reg.count_by(units_with(*MIXED), "section", nace="2")
    new = reg.count_by(units_with(*MIXED), "division", nace="2.1")

    assert old.filter(kind="labelled").select("code", "count", "by").rows() == [("G", 1, "section")]
    assert set(new.filter(kind="unknown code")["code"]) == {"45200"}
    with pytest.raises(fk.UsageError, match=r"nace='3' is not known; give one of"):
        reg.count_by(units_with("45200"), "section", nace="3")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def money(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    reg = register(tmp_path_factory.mktemp("new"), "2.1")
    return reg.financials(reg.units.get(reg.units.ids()), range(2015, 2018))


def test_figures_carry_the_revision_of_their_activity(money: pl.DataFrame, tmp_path: Path) -> None:
    """So that no register is asked later; null of a code that the list lacks."""
    assert set(money.filter(pl.col("skNace").is_not_null())["nace"]) == {"2.1"}
    assert money.filter(pl.col("skNace").is_null())["nace"].null_count() == (
        money.filter(pl.col("skNace").is_null()).height
    )
    old = register(tmp_path, "2")
    some = old.units.get(old.units.ids(limit=30)).with_columns(skNace=pl.lit("1110"))
    assert set(old.financials(some, 2016)["nace"]) == {None}


@pytest.mark.slow
def test_a_mirror_knows_the_revision(tmp_path: Path) -> None:
    reg = register(tmp_path / "lists", "2.1", 12)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=reg)
    mirror.sync()
    units = reg.units.ids()

    expected = reg.financials(units, 2016).sort("unit_id")

    assert mirror.financials(units, 2016).sort("unit_id").equals(expected)
    lazy = mirror.scan_financials(2016).select("unit_id", "nace").filter(nace="2.1").collect()
    assert lazy.sort("unit_id").equals(expected.select("unit_id", "nace").filter(nace="2.1"))


def test_summaries_peers_and_charts_name_the_revision(money: pl.DataFrame) -> None:
    """The columns are the same, the words and labels those of Rev. 2.1."""
    summary = fk.summary(money.filter(year=2016), "sales", "section", lang="en", register="sample")
    peers = fk.peers(money, money["unit_id"][0], "sales", "section", year=2016)
    as_old = money.with_columns(nace=pl.lit("2"))
    old = fk.summary(as_old, "sales", "section", lang="en", register="sample")

    assert summary.columns == old.columns
    assert summary["by"][0].to_list() == ["section_2_1"]
    assert set(summary["section"].drop_nulls()) <= set(NEW.values())
    assert set(peers["by"].explode().drop_nulls()) <= {"section_2_1"}
    for frame in (summary, money.filter(year=2016)):
        axes = fk.plot_spread(frame, value="sales", by="section", lang="en", register="sample")
        assert "section of activity (NACE Rev. 2.1)" in axes.get_title()
    counted = fk.plot_counts(summary, by="section", value="sales", lang="en", register="sample")
    assert "(NACE Rev. 2.1)" in counted.get_title()


def test_figures_without_the_column_are_taken_as_rev_2(money: pl.DataFrame) -> None:
    """A class that Rev. 2 does not have is unknown then."""
    bare = money.filter(year=2016).drop("nace")

    with pytest.warns(fk.errors.RegisterWarning, match="no column 'nace', so .* NACE Rev. 2"):
        summary = fk.summary(bare, "sales", "section", lang="en", register="sample")

    assert summary["by"][0].to_list() == ["section"]
    assert set(summary["section"].drop_nulls()) <= {OLD["84110"], OLD["01110"]}
    unknown = summary.filter(pl.col("section").is_null())
    assert unknown["n_codes"].item() >= 2
    for frame, is_said in ((bare, True), (money.filter(year=2016), False)):
        axes = fk.plot_spread(frame, value="sales", by="section", lang="en", register="sample")
        assert ("Activities are taken as of NACE Rev. 2." in written(axes)) is is_said
    by: tuple[Literal["kraj"], Literal["section"]] = ("kraj", "section")
    with pytest.warns(fk.errors.RegisterWarning, match="NACE Rev. 2"):
        axes = fk.plot_spread(bare, value="sales", by=by, lang="en", register="sample")
    assert "Activities are taken as of NACE Rev. 2." in written(axes)
    with pytest.raises(fk.UsageError, match="'nace' is Float64; give it as String"):
        fk.sample(1).count_by(money.with_columns(nace=pl.lit(2.0)), "section")
