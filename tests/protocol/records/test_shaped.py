"""Shapes: what is read fast is what is read strictly, and frames have what the records have."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol import records
from finstat_kit.protocol.records import KINDS, Kind, Record
from finstat_kit.protocol.untrusted import NotJson, read_json
from tests.support.examples import examples

UNITS, STATEMENTS, REPORTS, ANNUAL = KINDS.values()
TITLE = {
    "nazovUctovnejJednotky": 'Vzor: "Agát", s. r. o.',
    "ico": "00000001",
    "adresa": {"ulica": "Vymyslená", "mesto": "Nitra"},
    "konsolidovana": True,
    "oznacenieObchodnehoRegistra": "Oddiel: Sro, vložka číslo: 7",
    "obdobieOd": "2023-07",
    "obdobieDo": "2024-02",
    "predchadzajuceObdobieDo": "2023-06",
    "datumZostavenia": "2024-05-01",
}
REPORT: dict[str, Any] = {
    "id": 7,
    "idUctovnejZavierky": 5,
    "idSablony": 699,
    "obsah": {
        "titulnaStrana": TITLE,
        "tabulky": [
            {"nazov": {"sk": "Strana aktív", "en": "Assets"}, "data": ["1", "", "-2.50"]},
            {"data": []},
            {},
        ],
    },
    "prilohy": [{"id": 3, "meno": "a.pdf", "velkostPrilohy": 9, "pocetStran": 0}],
    "datumPoslednejUpravy": "2024-06-30",
}


def text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def strictly(kind: Kind[Record], body: bytes) -> Record:
    """Read a record without the fast way: as the checks of every reply do."""
    reply = read_json(body)
    assert isinstance(reply, dict)
    records._read_truths(reply)
    return records.shaped(reply, kind.shape)


def test_a_report() -> None:
    """Months are days, tables are lists of texts as sent, the title page has all its fields."""
    row = REPORTS.frame([REPORTS.read(text(REPORT), 7)]).row(0, named=True)

    title = row["titulnaStrana"]
    assert (title["obdobieOd"], title["obdobieDo"]) == (date(2023, 7, 1), date(2024, 2, 29))
    assert title["predchadzajuceObdobieDo"] == date(2023, 6, 30)
    assert title["adresa"] == {"ulica": "Vymyslená", "cislo": None, "psc": None, "mesto": "Nitra"}
    assert title["miestoPodnikania"] is None
    assert len(title) == 25
    assert row["tabulky"] == [["1", "", "-2.50"], [], None]
    assert row["prilohy"][0]["meno"] == "a.pdf"
    assert row["idVyrocnejSpravy"] is None


@pytest.mark.parametrize(
    ("obsah", "tables", "titled"),
    [
        ({}, None, False),
        (None, None, False),
        ({"tabulky": []}, [], False),
        ({"titulnaStrana": {}}, None, True),
    ],
)
def test_content_that_is_not_all_there(obsah: object, tables: object, titled: bool) -> None:
    """An empty list is none, and what is absent is null."""
    body = text({"id": 7, "obsah": obsah} if obsah is not None else {"id": 7})

    row = REPORTS.frame([REPORTS.read(body, 7)]).row(0, named=True)

    assert (row["tabulky"], row["prilohy"]) == (tables, None)
    assert (row["titulnaStrana"] is not None) is titled


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_frames_have_all_columns(kind: Kind[Record]) -> None:
    """Also without rows, and for an id alone."""
    assert kind.frame([]).schema == kind.schema
    alone = kind.frame([kind.shape(id=7)])
    assert alone.schema == kind.schema
    assert alone.drop("id").null_count().row(0) == (1,) * (alone.width - 1)


@pytest.mark.parametrize("truth", [True, False])
def test_truths_that_are_texts(truth: bool) -> None:
    """On a title page and in a record: they are truths in the frame."""
    sent = str(truth).lower()
    title = {"suhrnnaUctovnaZavierkaVerejnejSpravy": sent, "konsolidovana": sent}
    report = REPORTS.read(text({"id": 7, "obsah": {"titulnaStrana": title}}), 7)
    statement = STATEMENTS.read(text({"id": 7, "konsolidovana": sent}), 7)

    found = REPORTS.frame([report])["titulnaStrana"].struct.unnest()
    assert found["konsolidovana"].item() is truth
    assert found["suhrnnaUctovnaZavierkaVerejnejSpravy"].item() is truth
    assert STATEMENTS.frame([statement])["konsolidovana"].item() is truth


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + text(REPORT),
        json.dumps(REPORT, indent=2).encode(),
        json.dumps(REPORT).encode(),
        text({**REPORT, "nove": {"a": [1, {"b": 2}]}}),
        text({**REPORT, "mena": None}),
        text(REPORT).replace(b'"id":7', b'"\\u0069d":7'),
        text(REPORT).replace(b"Oddiel:", b"Oddiel\\u003a"),
    ],
)
def test_spellings_of_one_report(body: bytes) -> None:
    """BOM, blanks, escapes, unknown keys and nulls change nothing."""
    assert REPORTS.read(body, 7) == REPORTS.read(text(REPORT), 7)


keys = st.sampled_from(["id", "stav", "mena", "obsah", "tabulky", "prilohy", "nazov", "sk", "x"])
leaves = st.sampled_from(
    ["null", "1", "7", '"a"', '"a:b"', '"a\\u003ab"', '"\\""', '"true"', "[]", "{}", '["",""]']
)
objects = st.recursive(
    leaves,
    lambda inner: (
        st.lists(st.tuples(keys, inner), max_size=4).map(
            lambda pairs: "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"
        )
        | st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]")
    ),
    max_leaves=10,
)


@examples(200, deadline=None)
@given(st.lists(st.tuples(keys, objects), max_size=5))
def test_fast_is_strict(pairs: list[tuple[str, str]]) -> None:
    """Whatever a body holds: it is read as the strict reader reads it, or refused as it does."""
    members = ",".join(f'"{key}":{value}' for key, value in [("id", "7"), *pairs])
    body = ("{" + members + "}").encode()
    try:
        expected: object = strictly(REPORTS, body)
    except (ProtocolError, NotJson) as error:
        expected = type(error)
    else:
        assert isinstance(expected, Record)
        expected = expected if expected.id == 7 else ProtocolError

    try:
        found: object = REPORTS.read(body, 7)
    except (ProtocolError, NotJson) as error:
        found = type(error)

    assert found == expected


def test_many_rows() -> None:
    """Rows with and without tables and files keep their order and their own."""
    records = []
    for number in range(40):
        tables = {"tabulky": [{"data": [str(number)] * number}]} if number % 3 else {}
        files = [{"id": one} for one in range(number % 4)]
        body = text({"id": number, "obsah": tables, "prilohy": files})
        records.append(REPORTS.read(body, number))

    frame = REPORTS.frame(records)

    for number, row in enumerate(frame.iter_rows(named=True)):
        assert row["id"] == number
        assert row["tabulky"] == ([[str(number)] * number] if number % 3 else None)
        assert [file["id"] for file in row["prilohy"]] == list(range(number % 4))
    assert frame.schema["tabulky"] == pl.List(pl.List(pl.String))
