"""Make what is made of the facts: ``python data/make.py`` writes ``sample.npz`` and ``forms/``.

The other files here are facts: ``codelists/`` holds codes and labels of the Statistical Office in
the form of the register's replies, ``weights.json`` how often a region (per mille) and a district
within its region is drawn: the number of its municipalities, for the city districts of Bratislava
and Košice an estimate; and the largest municipalities of districts without a seat, largest first.
``facts/forms.tsv`` holds the rows of the forms of businesses as the decrees lay them down, with the
sums that they state; their names, headers and decrees stand here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson

from finstat_kit.protocol import forms
from finstat_kit.service import population

Json = dict[str, object]

FOLDER: Final = Path(__file__).parent
# id: name, decree, first day. The last five have no tables: notes, audits, title pages.
TEMPLATES: Final = {
    699: ("Úč POD", "MF/18009/2014-74", "2014-01-01"),
    687: ("Úč MUJ", "MF/18008/2014", "2014-01-01"),
    21: ("Súvaha Úč POD 1-01", "MF/25947/1/2010", "2011-01-01"),
    22: ("Výkaz ziskov a strát Úč POD 2-01", "MF/24219/3/2008", "2009-01-01"),
    483: ("Poznámky", "2013", "2009-01-01"),
    700: ("Správa audítora", "2014", "2013-01-01"),
    720: ("Správa audítora", "2014", "2013-01-01"),
    725: ("Titulná strana", "2013", "2014-01-01"),
    1171: ("Oznámenie o dátume schválenia účtovnej závierky", "MF/011080/2021-74", "2013-01-02"),
}
ENGLISH: Final = {
    "Strana aktív": "Assets",
    "Strana pasív": "Liabilities and equity",
    "Výkaz ziskov a strát": "Income statement",
    "Označenie": "Designation",
    "Číslo riadku": "Line No.",
    "STRANA AKTÍV": "ASSETS",
    "STRANA PASÍV": "LIABILITIES AND EQUITY",
    "Text": "Text",
    "Skutočnosť": "Actual data",
    "Bežné účtovné obdobie": "Current accounting period",
    "Bezprostredne predchádzajúce účtovné obdobie": "Preceding accounting period",
    "Brutto - časť 1": "Gross - Part 1",
    "Korekcia - časť 2": "Correction-Part 2",
    "Netto 2": "Net 2",
    "Netto 3": "Net 3",
}
NOW: Final = "Bežné účtovné obdobie"
BEFORE: Final = "Bezprostredne predchádzajúce účtovné obdobie"
ASSETS: Final = "Strana aktív"
LIABILITIES: Final = "Strana pasív"
INCOME: Final = "Výkaz ziskov a strát"

# Lines of a header above the data columns: each cell's text and width.
Lines = list[list[tuple[str, int]]]
FOUR: Final[Lines] = [
    [(NOW, 3), (BEFORE, 1)],
    [("Brutto - časť 1", 1), ("Korekcia - časť 2", 1), ("Netto 2", 1), ("Netto 3", 1)],
]


def two(*under: str) -> Lines:
    """Return the lines of the two periods and of what stands under them."""
    return [[(NOW, 1), (BEFORE, 1)], [(text, 1) for text in under]]


def actual(*periods: str) -> Lines:
    """Return the lines of an income statement."""
    return [[("Skutočnosť", 2)], [(text, 1) for text in periods], [("1", 1), ("2", 1)]]


HEADERS: Final[dict[int, list[tuple[str, Lines]]]] = {
    699: [(ASSETS, FOUR), (LIABILITIES, two("4", "5")), (INCOME, actual(NOW, BEFORE))],
    687: [
        (ASSETS, two("Netto 1", "Netto 2")),
        (LIABILITIES, two("3", "4")),
        (INCOME, two("1", "2")),
    ],
    21: [(ASSETS, FOUR), (LIABILITIES, two("4", "5"))],
    22: [(INCOME, actual(NOW.replace("B", "b"), BEFORE.replace("B", "b")))],
}
LABELS: Final = 3  # columns before those of data: designation, caption, number


def template(id_: int, rows: Iterable[dict[str, str]]) -> Json:
    """Return a template as the register would send it."""
    name, decree, valid_from = TEMPLATES[id_]
    body: Json = {"id": id_, "nazov": name, "nariadenieMF": decree, "platneOd": valid_from}
    own = [row for row in rows if row["form"] == str(id_)]
    if id_ in HEADERS:
        english = any(row["label_en"] for row in own)
        body["tabulky"] = [
            table(title, lines, [row for row in own if row["table"] == str(place)], english=english)
            for place, (title, lines) in enumerate(HEADERS[id_])
        ]
    return body


def table(title: str, lines: Lines, rows: list[dict[str, str]], *, english: bool) -> Json:
    """Return a table of a template."""

    def text(slovak: str) -> Json:
        words: Json = {"sk": slovak}
        return words | ({"en": ENGLISH.get(slovak, slovak)} if english else {})

    caption = "Text" if title == INCOME else title.upper()
    letters = len(lines)
    # Where the second line is one of periods, the labels beside it are as high as both.
    high = letters - 1
    cells: list[Json] = [
        _cell(text(label), 1, column, 1, high)
        for column, label in enumerate(("Označenie", caption, "Číslo riadku"), 1)
    ]
    for line, parts in enumerate(lines, 1):
        if line == letters:
            cells += [_cell(text(letter), line, c, 1, 1) for c, letter in enumerate("abc", 1)]
        column = LABELS + 1
        for words, width in parts:
            cells.append(_cell(text(words), line, column, width, 1))
            column += width
    data = sum(width for _, width in lines[0])
    return {
        "nazov": text(title),
        "pocetStlpcov": LABELS + data,
        "pocetDatovychStlpcov": data,
        "hlavicka": cells,
        "riadky": [_row(row, english=english) for row in rows],
    }


def _cell(text: Json, line: int, column: int, width: int, height: int) -> Json:
    return {
        "text": text, "riadok": line, "stlpec": column, "sirkaStlpca": width, "vyskaRiadku": height,
    }  # fmt: skip


def _row(row: dict[str, str], *, english: bool) -> Json:
    text = {"sk": row["label_sk"]} | ({"en": row["label_en"]} if english else {})
    mark = {"oznacenie": row["mark"]} if row["mark"] else {}
    return {"text": text} | mark | {"cisloRiadku": int(row["number"])}


def facts() -> list[dict[str, str]]:
    """Read the rows of all forms."""
    with (FOLDER / "facts" / "forms.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def bodies() -> dict[int, bytes]:
    """Return the body of every template; its sums are checked against those of the facts."""
    rows = facts()
    found = {id_: orjson.dumps(template(id_, rows)) for id_ in TEMPLATES}
    for id_, body in found.items():
        stated = [row["terms"] for row in rows if row["form"] == str(id_)]
        form = forms.parse_template(body, id_)
        read = [written(form, row) for part in form.tables for row in part.rows]
        if read != stated:
            wrong = next(pair for pair in zip(read, stated, strict=True) if pair[0] != pair[1])
            raise ValueError(f"template {id_}: the caption reads {wrong[0]}, the facts {wrong[1]}")
    return found


def written(form: forms.Form, row: forms.Row) -> str:
    """Write the terms of a row as the facts do: ``+2 +33 -74``, by row numbers."""
    numbers = ((t.sign, form.tables[t.table].rows[t.row].number) for t in row.terms)
    return " ".join(f"{'+' if sign > 0 else '-'}{number}" for sign, number in numbers)


if __name__ == "__main__":
    population.save(population.draw(), FOLDER / "sample.npz")
    for id_, body in bodies().items():
        (FOLDER / "forms" / f"{id_}.json").write_bytes(body)
