"""Records through the client, in process."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import ProtocolError
from finstat_kit.protocol.records import UNITS
from tests.support.registers import Scripted, sample_of

DAY = date(2024, 5, 17)
REG = fk.sample(0)


def test_get_has_all_columns_in_order() -> None:
    """Records are typed: dates, lists of ids, a truth value, the rest text; absent is null."""
    reg = Scripted(
        '{"id":7,"ico":"00123456","datumZalozenia":"2001-02-03","konsolidovana":true,'
        '"idUctovnychZavierok":[9,4],"datumPoslednejUpravy":"2024-01-02","stav":"ZMAZANÉ",'
        '"nove_pole":{"a":1}}'.encode()
    )

    frame = reg.units.get(7)

    assert frame.schema == UNITS
    assert {
        name: value for name, value in frame.row(0, named=True).items() if value is not None
    } == {
        "id": 7,
        "ico": "00123456",
        "datumZalozenia": date(2001, 2, 3),
        "konsolidovana": True,
        "idUctovnychZavierok": [9, 4],
        "datumPoslednejUpravy": date(2024, 1, 2),
        "stav": "ZMAZANÉ",
    }


@pytest.mark.parametrize(
    "ids",
    [
        [9, 2, 9, 5],
        (9, 2, 9, 5),
        iter([9, 2, 9, 5]),
        np.array([9, 2, 9, 5], dtype=np.uint16),
        pl.Series("x", [9, 2, 9, 5], dtype=pl.Int32),
        pl.Series("^x$", [9, 2, 9, 5]),
        pl.Series("*", [9, 2, 9, 5], dtype=pl.UInt64),
        pl.DataFrame({"id": [9, 2, 9, 5]}),
        pl.LazyFrame({"id": [9, 2, 9, 5]}),
    ],
)
def test_get_keeps_the_order_asked(ids: Any) -> None:
    """A row an id in the order asked; an id that repeats is fetched once."""
    reg = sample_of(dict.fromkeys([2, 5, 9], DAY))

    frame = reg.units.get(ids)

    assert frame["id"].to_list() == [9, 2, 9, 5]
    assert frame.schema == UNITS
    assert reg.stats.requests == 3


def test_no_ids_give_no_rows_but_all_columns() -> None:
    """No ids give no rows, but all columns."""
    assert REG.units.get([]).schema == UNITS
    assert REG.units.get(pl.Series("id", [])).height == 0


def test_unknown_ids_are_named_after_all_others_were_fetched() -> None:
    """All others are fetched first; then the unknown ones are named."""
    reg = sample_of(dict.fromkeys([2, 5, 9], DAY))

    with pytest.raises(fk.errors.NotFound, match="2 of 4 ids have no record: 3, 4") as caught:
        reg.units.get([9, 3, 4, 2])
    kept = reg.units.get([9, 3, 2], errors="keep")

    assert caught.value.ids == [3, 4]
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [9, 2]
    assert kept["id"].to_list() == [9, 3, 2]
    assert kept["datumPoslednejUpravy"].to_list() == [DAY, None, DAY]


def test_none_of_several_ids_has_a_record() -> None:
    """The error does not promise other rows where there are none."""
    with pytest.raises(fk.errors.NotFound) as caught:
        fk.sample(10).units.get(999_999_999)

    assert str(caught.value) == (
        "1 of 1 ids have no record: 999999999; leave them out, or "
        'get(ids, errors="keep") makes each a row of nulls'
    )
    assert caught.value.partial is not None
    assert caught.value.partial.is_empty()


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ('{"id":8}', r"id 7: \$\.id"),
        ("{}", r"id 7: \$\.id: it is missing"),
        ('{"id":7,"ico":123}', r"id 7: \$\.ico: expected `str \| null`, got `int`"),
        ('{"id":7,"datumZalozenia":"2001-02-30"}', r"id 7: \$\.datumZalozenia"),
        ('{"id":7,"datumZalozenia":"20010203"}', r"id 7: \$\.datumZalozenia"),
        ('{"id":7,"konsolidovana":"ano"}', r"id 7: \$\.konsolidovana"),
        ('{"id":7,"idVyrocnychSprav":[1,"2"]}', r"id 7: \$\.idVyrocnychSprav"),
        ('{"id":7,"idVyrocnychSprav":5}', r"id 7: \$\.idVyrocnychSprav"),
        ("[7]", r"id 7: \$: expected `object`"),
    ],
)
def test_a_broken_record_is_named_with_id_and_field(record: str, named: str) -> None:
    """A record that breaks the format is named with id and field; keep gives its id alone."""
    with pytest.raises(ProtocolError, match=named) as caught:
        Scripted(b'{"id":6}', record.encode()).units.get([6, 7])
    kept = Scripted(record.encode(), b'{"id":9,"ico":"1"}').units.get([7, 9], errors="keep")

    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [6]
    assert kept.select("id", "ico").rows() == [(7, None), (9, "1")]


def test_an_interrupted_get_keeps_the_rows_so_far() -> None:
    """Ctrl-C in get keeps the rows so far."""
    reg = Scripted(b'{"id":6}', KeyboardInterrupt())

    with pytest.raises(fk.errors.Interrupted, match="1 of 2 records") as caught:
        reg.units.get([6, 7])

    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [6]
