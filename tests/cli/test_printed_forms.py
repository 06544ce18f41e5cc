"""Forms and filed statements on the command line."""

from __future__ import annotations

import io

import polars as pl
import pytest

import finstat_kit as fk
from tests.cli.test_commands import called
from tests.support.examples import slow


@pytest.mark.parametrize("lang", ["sk", "en"])
def test_a_form_is_printed_row_by_row(lang: str) -> None:
    """Its rows with one label each; the terms of a sum are the rows that the template names."""
    template = fk.sample(0).template(699)

    seen = called("form", "699", "--sample", "--lang", lang)

    printed = pl.read_csv(io.StringIO(seen.stdout), schema_overrides={"mark": pl.String})
    same = ["table", "row", "number", "mark", "path", "level"]
    assert printed.select(same).rows() == template.select(same).rows()
    assert printed["label"].to_list() == template[f"label_{lang}"].to_list()
    assert printed["terms"][0] == "+0.1 +0.32 +0.73"
    profit = template.with_row_index().filter(table=2, number=27)["index"].item()
    expected = " ".join(
        f"{'-' if term['sign'] < 0 else '+'}{term['table']}.{term['row']}"
        for term in template["terms"][profit]
    )
    assert printed["terms"][profit] == expected
    assert "-" in expected
    assert printed["terms"].null_count() == template["terms"].null_count()
    # A terminal shows the columns that fit: what a row is before how deep it stands.
    assert printed.columns[:5] == ["table", "row", "number", "mark", "label"]


def test_a_form_without_english_is_printed_in_translation() -> None:
    """Form 21 has no English captions in the register."""
    sk, en = (called("form", "21", "--sample", "--lang", lang).stdout for lang in ("sk", "en"))

    assert "SPOLU MAJETOK" in sk
    assert "TOTAL ASSETS" in en
    assert "MAJETOK" not in en


def test_an_unknown_form_is_an_error() -> None:
    """The exit code is that of a fault of the register, and the message names the form."""
    seen = called("form", "5", "--sample")

    assert (seen.stdout, seen.returncode) == ("", 1)
    assert "no template 5" in seen.stderr


@pytest.mark.parametrize("case", ["two_reports", *slow("sum", "attachments_only")])
def test_a_statement_is_printed_as_filed(case: str) -> None:
    """Its reports as one, none left out."""
    sample = fk.sample()
    id_ = sample.cases(1).filter(case=case)["statement_id"].item()
    ids = sample.statements.get(id_)["idUctovnychVykazov"].item()

    seen = called("statement", str(id_), "--sample", "--lang", "en")

    assert seen.stdout == f"{sample.as_filed(sample.reports.get(ids), lang='en')}\n"
    assert all(f"eport {report}" in seen.stdout for report in ids)


@pytest.mark.slow
def test_a_statement_over_years_is_printed_for_an_ico() -> None:
    """That of `statement_history`, by its options."""
    sample = fk.sample()
    ico = sample.units.get([365])["ico"].item()

    newest = called("statement", "--ico", ico, "--years", "3", "--sample", "--lang", "en")
    assets = called(
        "statement", "--ico", ico, "--table", "assets", "--blanks", "--sample", "--lang", "sk"
    )

    assert newest.stdout == f"{sample.statement_history(365, 3, lang='en')}\n"
    whole = sample.statement_history(365, table="assets", blanks=True, lang="sk")
    assert assets.stdout == f"{whole}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give either ids of statements or --ico"),
        (("5", "--ico", "00372491"), 2, "give either ids of statements or --ico"),
        (("5", "--years", "2"), 2, "--years, --table and --blanks go with --ico"),
        (("--ico", "99999999"), 1, "no unit has the IČO 99999999"),
        (("--ico", "00372491", "--years", "300"), 2, "--years 300 is not allowed"),
        (("--ico", "00372491", "--table", "cash"), 2, "'income', 'balance'"),
    ],
)
def test_wrong_years_of_a_statement_are_refused(
    arguments: tuple[str, ...], code: int, message: str
) -> None:
    """In the words of the command."""
    seen = called("statement", *arguments, "--sample")

    assert (seen.stdout, seen.returncode) == ("", code)
    assert message in seen.stderr


@pytest.mark.parametrize(
    ("case", "message"),
    [("deleted", "is ZMAZANÉ in the register"), *slow(("non_public_record", "is NEVEREJNÁ"))],
)
def test_a_statement_that_is_removed_is_an_error(case: str, message: str) -> None:
    """Its state is named; nothing is printed."""
    id_ = fk.sample().cases(1).filter(case=case)["statement_id"].item()

    seen = called("statement", str(id_), "--sample")

    assert (seen.stdout, seen.returncode) == ("", 1)
    assert f"statement {id_} {message}" in seen.stderr
