"""The table of what the columns of records hold."""

from __future__ import annotations

import pytest

import finstat_kit as fk
from finstat_kit.protocol import replies


def test_every_column_of_a_record_is_explained() -> None:
    """A row per column, in both languages, with the codelist of each code."""
    table = fk.fields("units")

    assert table["field"].to_list() == replies.UNITS.names()
    assert table["dtype"].to_list() == [str(dtype) for dtype in replies.UNITS.dtypes()]
    assert table.select("meaning_sk", "meaning_en").null_count().sum_horizontal().item() == 0
    coded = dict(table.drop_nulls("codelist").select("codelist", "field").iter_rows())
    assert coded == dict(fk.sample(1).codelists().select("name", "field").iter_rows())


def test_other_collections_have_no_records_yet() -> None:
    """What is not known is an error that names what is."""
    with pytest.raises(fk.UsageError, match=r"collection='statements'.*units"):
        fk.fields("statements")
