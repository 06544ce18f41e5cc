"""The forms that the package ships, and how a template is read."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import orjson
import pytest

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import (
    Column,
    HeaderCell,
    read_columns,
    row_paths,
    rows_by_number,
    sum_references,
)
from finstat_kit.protocol.records import Names
from finstat_kit.protocol.shipped import template_bodies
from tests.support import all_forms
from tests.support.scripts import script

BUSINESSES = (21, 22, 687, 699)


@pytest.fixture(scope="module")
def make() -> ModuleType:
    return script("make")


def form(template: int) -> forms.Form:
    found = forms.shipped(template)
    assert found is not None
    return found


def test_the_files_are_what_is_made(make: ModuleType) -> None:
    """data/forms is what data/make.py would write now, its sums those of the facts."""
    assert make.bodies() == template_bodies()


@pytest.mark.parametrize("template", BUSINESSES)
def test_recorded_templates_say_the_same(template: int, recorded: Path) -> None:
    """What the live register sent is what is shipped, to the letter."""
    body = (recorded / "templates" / f"{template}.json").read_bytes()

    assert json.loads(body) == json.loads(template_bodies()[template])
    assert forms.parse_template(body, template) == form(template)


def test_size_of_the_forms() -> None:
    """Rows and columns of each table; the number of sums."""
    shape = {
        id_: [(len(t.rows), len(t.columns), t.cells) for t in form(id_).tables]
        for id_ in BUSINESSES
    }
    sums = {id_: sum(bool(r.terms) for t in form(id_).tables for r in t.rows) for id_ in BUSINESSES}

    assert shape == {
        21: [(65, 4, 260), (60, 2, 120)],
        22: [(61, 2, 122)],
        687: [(23, 2, 46), (22, 2, 44), (38, 2, 76)],
        699: [(78, 4, 312), (67, 2, 134), (61, 2, 122)],
    }
    assert sums[699] == 46
    assert forms.shipped(733) is None
    assert form(483).tables == ()


def test_sums_of_699_point_at_rows(make: ModuleType) -> None:
    """All 46, as the decree spells them; row 100 begins with row 1 of the assets."""
    stated = {
        (int(row["table"]), int(row["number"])): row["terms"]
        for row in make.facts()
        if row["form"] == "699" and row["terms"]
    }
    tables = form(699).tables
    read = {
        (place, row.number): make.written(form(699), row)
        for place, table in enumerate(tables)
        for row in table.rows
        if row.terms
    }

    assert read == stated
    assert len(read) == 46
    assert tables[1].rows[21].terms[0] == (1, 0, 0)
    assert tables[1].rows[21].terms[1] == (-1, 1, 2)
    assert tables[2].rows[0].terms == ()
    # The income statement is numbered from 1 again, as the assets are: its sums are its own.
    assert {term.table for row in tables[2].rows for term in row.terms} == {2}


def test_columns_of_the_forms() -> None:
    """Period and measure of each data column, and the header above it."""
    gross = (
        "Bežné účtovné obdobie / Brutto - časť 1",
        "Current accounting period / Gross - Part 1",
    )
    previous = "Bezprostredne predchádzajúce účtovné obdobie"

    assert form(699).tables[0].columns[0] == Column("current", "gross", *gross)
    assert form(699).tables[2].columns[1] == Column(
        "previous",
        None,
        f"Skutočnosť / {previous}",
        "Actual data / Preceding accounting period",
    )
    assert form(22).tables[0].columns[0] == Column(
        "current",
        None,
        "Skutočnosť / bežné účtovné obdobie",
        "Actual data / Current accounting period",
    )
    assert form(687).tables[1].columns[1] == Column(
        "previous", None, previous, "Preceding accounting period"
    )


def test_every_form_of_the_register_is_read(collected: Path) -> None:
    """Period and measure of every column and the terms of every sum, as collected of the forms."""
    compared = [_compared(collected, template) for template in all_forms.templates(collected)]

    columns, sums = (sum(many) for many in zip(*compared, strict=True))
    assert (len(compared), columns, sums) in ((65, 473, 769), (16, 124, 362))


@pytest.mark.parametrize("template", sorted({*all_forms.COLUMNS} - {*BUSINESSES}))
def test_forms_that_were_collected_say_the_same(template: int, recorded: Path) -> None:
    """Names, columns and rows of the other shipped forms are those collected, to the letter."""
    body = all_forms.body(recorded, template)

    assert forms.parse_template(body, template).tables == form(template).tables


def _compared(folder: Path, template: int) -> tuple[int, int]:
    """Compare a form with what was collected; return the number of its columns and sums."""
    form = forms.parse_template(all_forms.body(folder, template), template)
    many = sums = 0
    for number, table in enumerate(form.tables):
        facts = all_forms.of_forms(folder, "columns")[template, number]
        assert [(c.period, c.measure) for c in table.columns] == [
            (row["period"] or None, all_forms.measure(row)) for row in facts
        ], (template, number)
        many += len(facts)
        for place, row in enumerate(all_forms.of_forms(folder, "rows")[template, number]):
            stated = [
                (sign, *all_forms.home(folder, template, number, referred))
                for sign, referred in all_forms.terms(row)
            ]
            assert list(table.rows[place].terms) == stated, (template, number, row["text_sk"])
            sums += bool(stated)
    return many, sums


def header(*lines: list[tuple[str, int]], labels: int) -> list[HeaderCell]:
    """Return a header: label cells, the lines given, and one of letters and digits."""
    cells = [HeaderCell(1, column, Names(f"Popis {column}")) for column in range(1, labels + 1)]
    width = sum(wide for _, wide in lines[0])
    numbers = [(str(column), 1) for column in range(1, width + 1)]
    for line, parts in enumerate([*lines, numbers], 1):
        column = labels + 1
        for text, wide in parts:
            cells.append(HeaderCell(line, column, Names(text), wide))
            column += wide
    letters = [HeaderCell(len(lines) + 1, c, Names("abc"[c - 1])) for c in range(1, labels + 1)]
    return cells + letters


@pytest.mark.parametrize("labels", [1, 2, 3])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([[("Nezdaňovaná činnosť", 1), ("Zdaňovaná činnosť", 1)]],
         [(None, "untaxed"), (None, "taxed")]),
        ([[("20xx", 3), ("20xx-1", 1)],
          [("Hlavná činnosť", 1), ("Podnikateľská činnosť", 1), ("Spolu", 1)]],
         [("current", "main"), ("current", "business"), ("current", "total"),
          ("previous", "total")]),
        ([[("20xx", 3), ("20xx-1", 1)],
          [("Brutto", 1), ("Korekcia", 1), ("Netto", 1), ("Netto", 1)]],
         [("current", "gross"), ("current", "correction"), ("current", "net"),
          ("previous", "net")]),
        ([[("Bežné účtovné obdobie", 3), ("Bezprostredne predchádzajúce účtovné obdobie", 1)],
          [("Brutto", 1), ("Korekcia", 1), ("Netto", 1)]],
         [("current", "gross"), ("current", "correction"), ("current", "net"),
          ("previous", "net")]),
        ([[("Činnosť", 3), ("Bezprostredne predchádzajúce účtovné obdobie", 1)],
          [("Hlavná nezdaňovaná", 1), ("Podnikateľská zdaňovaná", 1), ("Spolu", 1)]],
         [("current", "main"), ("current", "business"), ("current", "total"),
          ("previous", "total")]),
        ([[("Bežné účtovné obdobie", 1), ("Bezprostredne predchádzajúce účtovné obdobie", 1),
           ("Prírastok/ Úbytok", 1)]],
         [("current", None), ("previous", None), (None, "other")]),
        ([[("Stav brutto", 1), ("Oprávky a opravné položky", 1), ("Stav (netto)", 3)],
          [("", 1), ("", 1), ("Spolu", 1), ("ŽP a AZ", 1), ("NP a AZ", 1)]],
         [(None, "gross"), (None, "correction"), (None, "net"), (None, "other"),
          (None, "other")]),
        ([[("Spolu", 1), ("Životné poistenie", 2)], [("", 1), ("Spolu ŽP", 1), ("GMM", 1)]],
         [(None, "total"), (None, "other"), (None, "other")]),
        ([[("Ročný rozpočet", 1), ("Bežné účtovné obdobie", 1), ("Predchádzajúce", 1)]],
         [("current", "other"), ("current", None), ("previous", None)]),
        ([[("Bežné účtovné obdobie", 1), ("Predchádzajúce účtovné obdobie", 1)], [("Netto", 1)]],
         [("current", "net"), ("previous", "net")]),
        ([[("Účtovné obdobie", 1), ("Predchádzajúce účtovné obdobie", 1)]],
         [("current", None), ("previous", None)]),
        ([[("Stav", 1), ("Charakteristika", 1)]], [(None, None), (None, "other")]),
    ],
)  # fmt: skip
def test_headers_of_other_forms(
    lines: list[list[tuple[str, int]]], expected: list[tuple[str | None, str | None]], labels: int
) -> None:
    """Years, activities and wide cells, beside one, two or three columns of labels."""
    width = sum(wide for _, wide in lines[0])

    found = read_columns(header(*lines, labels=labels), labels + width, width)

    assert [(column.period, column.measure) for column in found] == expected


def test_a_table_may_name_its_period() -> None:
    """A column without a period has that of the table's name; one with a period keeps its own."""
    cells = header([("Stav brutto", 1), ("20xx-1", 1)], labels=2)

    for name, period in (("I. BS_BUO", "current"), ("I. BS_PUO", "previous"), ("II.", "current")):
        found = read_columns(cells, 4, 2, name)
        assert [column.period for column in found] == [period, "previous"], name


def test_a_number_printed_as_a_mark_is_referred_to() -> None:
    """Where rows have no number; a mark that repeats refers to no row."""
    marks = ["01", "02.", "a.", "02", "3."]

    assert rows_by_number(0, [(None, mark) for mark in marks]) == {1: (0, 0), 3: (0, 4)}
    assert rows_by_number(2, [(7, "01"), (None, "9" * 5_000), (None, None)]) == {7: (2, 0)}


def test_a_column_is_above_what_it_covers() -> None:
    """A wide cell ends where the next begins; cells of the labels cover no data."""
    found = read_columns(header([("A", 2), ("B", 1)], [("c", 3)], labels=2), 5, 3)

    assert [column.header_sk for column in found] == ["A / c", "A / c", "B / c"]
    assert read_columns([], 3, 2) == (Column(None, None, "", None),) * 2


def test_paths_come_from_the_rows_above() -> None:
    """A number continues what is above it, a misprinted designation is completed all the same."""
    marks = [None, "A.", "A.I.", "A.I.1.", "2.", "A.V", "1.", "1.a.", "1.b.", "2.", "B.III", "**."]

    found = [".".join(path) for path in row_paths(marks)]

    assert found == [
        "", "A", "A.I", "A.I.1", "A.I.2", "A.V", "A.V.1", "A.V.1.a", "A.V.1.b", "A.V.2", "B.III",
        "",
    ]  # fmt: skip


def test_paths_of_699() -> None:
    """In the balance sheet no path stands twice."""
    rows = [row for table in form(699).tables[:2] for row in table.rows]
    places = [(table, row.path) for table in (0, 1) for row in form(699).tables[table].rows]

    assert len(set(places)) == len(rows)
    assert rows[4].path == ("A", "I", "2")
    assert [row.path for row in rows if row.number == 44] == [("B", "II", "1", "b")]
    assert [row.path for row in rows if row.number == 120] == [("B", "II", "2")]


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("Čistý obrat (časť účt. tr. 6 podľa zákona)", []),
        ("súčet (r. 069 až 072)", [(1, 69), (1, 70), (1, 71), (1, 72)]),
        ("r. 11 + r.14 - r.2", [(1, 11), (1, 14), (-1, 2)]),
        ("(+/-) r. 2 + (-r. 24) - (-r.25)", [(1, 2), (-1, 24), (1, 25)]),
        ("/+-/ r. 01 - (r. 81 + r. 85)", [(1, 1), (-1, 81), (-1, 85)]),
        ("x (r. 1 - r. 2) - (r. 3 - r. 4)", [(1, 1), (-1, 2), (-1, 3), (1, 4)]),
        ("[r. 51 + r. 58 - r. 60]", [(1, 51), (1, 58), (-1, 60)]),
        ("z toho r. 12", []),
        ("časť účt. tr. 1 až 6", []),
        ("r. 1 + r. 2, okrem r. 7", []),
        ("Úč POD", []),
        ("r. 134 mínus r. 064) (+/-)", [(1, 134), (-1, 64)]),
        ("r. 135 mínus (r. 136, r. 137) (+/-)", [(1, 135), (-1, 136), (-1, 137)]),
        ("(r.060 mínus r. 061 a r. 062)", [(1, 60), (-1, 61), (-1, 62)]),
        ("(r. 03 a r. 04 a r. 06 až r. 08)", [(1, 3), (1, 4), (1, 6), (1, 7), (1, 8)]),
        ("(r . 038 až r. 040)", [(1, 38), (1, 39), (1, 40)]),
        ("r. 09 +/- r. 13 + r. 14", [(1, 9), (1, 13), (1, 14)]),
        ("r. 055 (stĺpec 3 Netto) - (r. 057 + r. 062)", [(1, 55), (-1, 57), (-1, 62)]),
        ("(r. 03 až r. 05 - 4)", [(1, 3), (1, 4), (1, 5), (-1, 4)]),
        ("r. 1 – r. 2", [(1, 1), (-1, 2)]),
        ("r. 1 a 565", []),
        ("r. 1 až r. 99999999999", []),
    ],
)
def test_what_captions_add_up(caption: str, expected: list[tuple[int, int]]) -> None:
    """Ranges, brackets, signs within brackets; what is no sum or not understood gives none."""
    assert sum_references(caption) == expected


def template(**table: object) -> bytes:
    whole = {"pocetStlpcov": 3, "pocetDatovychStlpcov": 1, "hlavicka": [], "riadky": []} | table
    return orjson.dumps({"id": 5, "tabulky": [whole]})


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"id":6}', r"template 5: \$\.id: expected 5, got 6"),
        (b'{"id":true}', r"template 5: \$\.id"),
        (b"[]", r"template 5: \$: expected `object`, got `array`"),
        (template(pocetStlpcov="3"), r"\$\.tabulky\[0\]\.pocetStlpcov: expected `int`, got `str`"),
        (
            template(pocetDatovychStlpcov=0),
            r"\$\.tabulky\[0\]\.pocetDatovychStlpcov: expected 1 to",
        ),
        (template(pocetDatovychStlpcov=4), r"pocetDatovychStlpcov: expected 1 to"),
        (template(riadky=[{"cisloRiadku": "1"}]), r"\$\.tabulky\[0\]\.riadky\[0\]\.cisloRiadku"),
        (template(hlavicka=[{"riadok": 1}]), r"\$\.tabulky\[0\]\.hlavicka\[0\]"),
        (b'{"id":5,"platneOd":"2014-13-01"}', r"\$\.platneOd"),
    ],
)
def test_broken_templates(body: bytes, named: str) -> None:
    """A template that breaks the register's format is an error that names the place."""
    with pytest.raises(ProtocolError, match=named):
        forms.parse_template(body, 5)


def test_what_a_template_may_lack() -> None:
    """No tables, no numbers, no header; unknown keys are ignored."""
    assert forms.parse_template(b'{"id":5,"x":[]}', 5) == (5, None, None, None, None, (), False)
    read = forms.parse_template(template(riadky=[{"text": {"sk": "r. 1 + r. 2"}}]), 5)
    assert read.tables[0].rows == (forms.Row(None, None, (), "r. 1 + r. 2", None, ()),)
    assert read.tables[0].columns == (Column(None, None, "", None),)
