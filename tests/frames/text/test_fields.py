"""The table of what the columns of records hold."""

from __future__ import annotations

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.protocol.records import KINDS, UNITS


def test_every_column_of_a_record_is_explained() -> None:
    """A row per column, also of what `find` adds, in both languages, with each code's codelist."""
    table = fk.fields("units")

    with fk.using(fk.sample(3)):
        assert table["field"].to_list() == fk.units.find("s").columns
    assert table["dtype"].to_list() == [*map(str, UNITS.dtypes()), "Enum"]
    assert table.select("meaning_sk", "meaning_en").null_count().sum_horizontal().item() == 0
    coded = dict(table.drop_nulls("codelist").select("codelist", "field").iter_rows())
    assert coded == dict(fk.sample(1).codelists().select("name", "field").iter_rows())


@pytest.mark.parametrize("collection", list(KINDS))
def test_every_column_of_every_record_is_explained(collection: str) -> None:
    """The columns of a frame in their order, those within a Struct behind it, in both languages."""
    table = fk.fields(collection)
    schema = KINDS[collection].schema

    outer = table.filter(~pl.col("field").str.contains(".", literal=True))
    columns = outer["field"].to_list()
    assert [name for name in columns if name != "matched_by"] == schema.names()
    assert table.select("meaning_sk", "meaning_en").null_count().sum_horizontal().item() == 0
    assert table["field"].is_unique().all()


def test_fields_within_a_title_page() -> None:
    """They stand behind it, with its name before theirs."""
    table = fk.fields("reports")
    start = table["field"].to_list().index("titulnaStrana")

    assert table["dtype"][start] == "Struct"
    assert table["field"][start + 1] == "titulnaStrana.nazovUctovnejJednotky"
    title = KINDS["reports"].schema["titulnaStrana"]
    assert isinstance(title, pl.Struct)
    within = table.filter(pl.col("field").str.count_matches(".", literal=True) == 1)["field"]
    names = [n.partition(".")[2] for n in within if n.startswith("titulnaStrana")]
    assert names == [field.name for field in title.fields]
    assert table.filter(field="prilohy")["dtype"].item() == "List(Struct)"
    assert table.filter(field="titulnaStrana.skNace")["codelist"].item() == "activities"


def test_another_collection() -> None:
    """What is not known is an error that names what is."""
    with pytest.raises(fk.UsageError, match=r"collection='templates'.*annual_reports"):
        fk.fields("templates")
