"""Figures in a shell: ids from a pipe, and what is left of a command that is cut off."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import BadRequest
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http.server import served
from tests.cli.test_commands import called, run


@pytest.fixture(scope="module")
def units() -> pl.DataFrame:
    sample = fk.sample()
    records = sample.units.get(sample.units.ids(limit=20))
    return records.filter(pl.col("idUctovnychZavierok").list.len() > 5).select("id")


@pytest.mark.slow
def test_ids_from_a_pipe(units: pl.DataFrame) -> None:
    """What `ids` prints is read by `financials`; a row per unit and year, as `fk.financials`."""
    money = fk.sample().financials(units, [2015, 2016])

    printed = run("financials", "-", "--year", "2016", "--year", "2015", "--sample",
                  stdin=units.write_csv())  # fmt: skip

    assert printed.stdout == money.write_csv()
    assert {"total_assets", "reason"} <= set(money.columns)


@pytest.mark.slow
def test_all_years_into_a_file(units: pl.DataFrame, tmp_path: Path) -> None:
    """Without --year there is a row for every year."""
    file = tmp_path / "money.parquet"
    id_ = units["id"][0]

    result = run("financials", str(id_), "--sample", "--output", str(file))

    assert result.exit_code == 0
    assert pl.read_parquet(file).equals(fk.sample().financials([id_]))


def test_a_family_narrows_the_columns_and_no_rows() -> None:
    """A company has rows there, too: with what its form shares with those of the family."""
    seen = called("financials", "365", "--family", "public", "--year", "2015", "--sample")
    both = called("financials", "365", "--family", "public", "--items", "sales", "--sample")

    assert (seen.returncode, seen.stderr) == (0, "")
    (values,) = csv.DictReader(seen.stdout.splitlines())
    assert (values["public_settlement_receivable"], values["family"]) == ("", "business")
    assert float(values["sales"]) > 0
    assert "share_capital" not in values
    assert "give either items or family" in both.stderr


@pytest.mark.slow
def test_eight_digits_in_a_shell_are_an_ico_and_fewer_an_id() -> None:
    """A unit has an id that equals the IČO of another one; as words, piped, and in csv."""
    ico = "00061387"
    sample = fk.sample()
    assert sample.units.get([int(ico)])["ico"].item() != ico
    columns = ("--columns", "unit_id,ico,year", "--year", "2019", "--sample")

    line = f"{sample.units.ids(ico=ico)['id'].item()},{ico},2019"

    for words, stdin in (([ico], None), (["-"], f"{ico}\n61387\n"), (["-"], f"ico;x\n{ico};1\n")):
        lines = called("financials", *words, *columns, stdin=stdin).stdout.splitlines()
        assert lines[1] == line
    assert called("financials", "61387", *columns).stdout.splitlines()[1].startswith("61387,")


def test_a_unit_without_a_record_is_named() -> None:
    """Its row has the reason; the command does not end as if all was well."""
    seen = called(
        "financials", "9999999", "210", "99999999", "--year", "2019", "--columns", "unit_id,reason",
        "--sample",
    )  # fmt: skip

    assert seen.stdout.splitlines()[1:] == [
        "9999999,unreadable", "210,no_filing", ",no_such_unit",
    ]  # fmt: skip
    assert seen.stderr == "without a readable record: 2: 9999999, 99999999\n"
    assert seen.returncode == 1


@pytest.mark.slow
def test_wrong_arguments() -> None:
    """They are refused with the cure; usage ends with 2."""
    assert "is not an IČO" in called("financials", "x", "--sample").stderr
    for years in ("16", "2015x"), ("latest", "2015"):
        refused = called("financials", "5", *(f"--year={year}" for year in years), "--sample")
        assert (refused.returncode, refused.stderr[:12]) == (2, "Error: year="), years
    refused = called("financials", *map(str, range(50)), "--sample", "--max-requests", "9")
    assert refused.stderr.startswith("Error: max_requests=9: this needs ")
    assert refused.returncode == 2


@pytest.mark.slow
def test_what_was_finished_before_an_error_is_written() -> None:
    """The rows of the finished units, and where to resume."""
    sample = fk.sample()
    some = sample.units.get(sample.units.ids(limit=1_200))
    # Many with nothing to fetch, and others at both ends.
    filings = pl.col("idUctovnychZavierok").list.len().fill_null(0)
    others = some.filter(filings > 4, pravnaForma="112")
    records = pl.concat(
        [others.head(70), some.filter(filings == 0).head(130), others.slice(70, 20)]
    )
    whole = sample.financials(records, [2016, 2015])
    assert whole.head(400)["report_id"].count() > 9
    last = f"id={whole['report_id'].drop_nulls()[-1]}"

    def answer(method: str, path: str, query: str) -> Reply:
        if path.endswith("vykaz") and query == last:
            return Reply(400, {}, b"")
        return sample._answer(method, path, query)

    with served(answer, host="127.0.0.1", port=0) as url:
        result = run(
            "financials", "-", "--year", "2016", "--year", "2015", "--url", url,
            stdin=records.select("id").write_csv(),
        )  # fmt: skip

    assert isinstance(result.exception, BadRequest)
    rows = pl.read_csv(io.StringIO(result.stdout), infer_schema_length=None)
    assert rows["unit_id"].to_list() == whole["unit_id"].head(400).to_list()
    assert rows["unit_id"].n_unique() == 200
    assert "cut off after 400 rows, written" in result.stderr


def test_chosen_items_are_printed() -> None:
    """In the order given; a misspelt one is refused with those there are."""
    printed = run(
        "financials", "365", "--year", "2015", "--items", "sales,equity", "--sample",
        "--format", "csv",
    )  # fmt: skip

    assert printed.stdout.startswith("unit_id,ico,name,year,sales,equity,kraj,")
    refused = called("financials", "365", "--items", "sals", "--sample").stderr
    assert "items='sals' is not an item; did you mean 'sales'? fk.items() lists them" in refused


IDS = [2261, 14890, 67387]  # a company, in single entry, a non-profit


@pytest.mark.slow
def test_rows_are_chosen_as_in_python() -> None:
    """Consolidated statements, and the last year with figures."""
    sample = fk.sample()
    expected = sample.financials(IDS, "latest", consolidated=True)

    printed = run("financials", *map(str, IDS), "--year", "latest", "--consolidated", "--sample")

    assert printed.stdout == expected.write_csv()
    assert not expected.equals(sample.financials(IDS, "latest"))
