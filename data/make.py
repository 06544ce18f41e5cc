"""Make what is made of the facts: ``python data/make.py``.

It writes ``forms/``, ``items.json`` and, as `description` describes the embedded register,
``openapi/``.

The other files here are facts: ``codelists/`` holds codes and labels of the Statistical Office in
the form of the register's replies. In ``facts/`` seven files say how the sample is drawn.
``weights.json``: how often a region (per mille) and a district within its region is drawn, by the
number of its municipalities, for the city districts of Bratislava and Košice an estimate; and the
largest municipalities of districts without a seat, largest first. ``codes.json``: the weights of
the codes that are common; of any other it is 2. ``names.json``: the words of invented names.
``employees.json``: how many people work in a unit of a size class. ``filers.json``: which family of
forms a legal form files on, from which year on, and the activities, owners and sizes that fit it.
``cases.json``: the difficulties of filings, of how many in a thousand, and the fields that they
replace. ``plans.json``: the common rows of each kind of filing, with their weight and how many of a
hundred units fill them.
``facts/forms.tsv`` holds the rows of the forms of businesses, of municipalities and other public
bodies, of non-profits and of sole traders as the decrees lay them down, with the sums that they
state; their names, headers and decrees stand here. ``facts/items.tsv`` holds the
line items across forms: rows by table (``a`` assets, ``p`` equity and liabilities, ``v`` income
statement, ``n`` costs, ``y`` revenue, ``r`` receipts, ``x`` payments) and printed number, and what
to mind.

``facts/english.tsv`` is read as it is: English of captions, headers and tables, for forms that the
register has in Slovak only. ``ratios.json`` holds the formulas of ratios and scores, and which
items show that a blank one is zero. ``texts.json`` holds the words that the package shows, by the
part that shows them, Slovak and English side by side, or one text for both; ``fields`` in it says
what the fields of records mean.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson

from finstat_kit.protocol import forms

Json = dict[str, object]

FOLDER: Final = Path(__file__).parent
# id: name, decree, first day. The last five have no tables: notes, audits, title pages. What stands
# at 699, 687, 21 and 22 was compared with the live register's templates.
TEMPLATES: Final = {
    699: ("Úč POD", "MF/18009/2014-74", "2014-01-01"),
    687: ("Úč MUJ", "MF/18008/2014", "2014-01-01"),
    21: ("Súvaha Úč POD 1-01", "MF/25947/1/2010", "2011-01-01"),
    22: ("Výkaz ziskov a strát Úč POD 2-01", "MF/24219/3/2008", "2009-01-01"),
    690: ("Súvaha Úč ROPO SFOV 1-01", "MF/21227/2014-31", "2014-01-01"),
    727: ("Výkaz ziskov a strát Úč ROPO SFOV 2-01", "MF/21227/2014-31", "2014-01-01"),
    684: ("Kons S UJ VS Úč 1-01", "MF/21230/2014-31", "2014-01-01"),
    696: ("Kons VZaS UJ VS Úč 2-01", "MF/21230/2014-31", "2014-01-01"),
    522: ("Súvaha Úč ROPO SFOV 1-01", "MF/19301/2012-31", "2012-01-01"),
    521: ("Výkaz ziskov a strát Úč ROPO SFOV 2-01", "MF/19301/2012-31", "2012-01-01"),
    1180: ("Úč NUJ", "MF/011079/2021-74", "2022-01-01"),
    385: ("Úč NUJ", "MF/17616/2013-74", "2013-01-01"),
    1164: ("Úč NO", "MF/011077/2021-74", "2022-01-01"),
    383: ("Úč NO", "MF/17695/2013-74", "2013-01-01"),
    716: ("Úč FO", "MF/15523/2014-74", "2014-01-01"),
    5183: ("Výkaz vybraných údajov VÚ POD 1-01", "2023", "2023-01-01"),
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
    "Brutto": "Gross",
    "Korekcia": "Correction",
    "Netto": "Net",
    "Náklady": "Expenses",
    "NÁKLADY": "EXPENSES",
    "Výnosy": "Revenues",
    "VÝNOSY": "REVENUES",
    "Hlavná činnosť": "Core activity",
    "Podnikateľská činnosť": "Business activity",
    "Spolu": "Total",
}
# Where a form spells it in its own way.
ENGLISH_OF: Final = {
    690: {"Strana pasív": "Liabilities and Equity"},
    684: {"Strana pasív": "Liabilities and Equity"},
    696: {"Náklady": "Expences"},
}
NOW: Final = "Bežné účtovné obdobie"
BEFORE: Final = "Bezprostredne predchádzajúce účtovné obdobie"
ASSETS: Final = "Strana aktív"
LIABILITIES: Final = "Strana pasív"
INCOME: Final = "Výkaz ziskov a strát"
COSTS: Final = "Náklady"
REVENUE: Final = "Výnosy"
YEARS: Final = ("20xx", "20xx-1")

# Lines of a header above the data columns: each cell's text and width.
Lines = list[list[tuple[str, int]]]
FOUR: Final[Lines] = [
    [(NOW, 3), (BEFORE, 1)],
    [("Brutto - časť 1", 1), ("Korekcia - časť 2", 1), ("Netto 2", 1), ("Netto 3", 1)],
]


def two(*under: str, periods: tuple[str, ...] = (NOW, BEFORE)) -> Lines:
    """Return the lines of two periods and of the lines under them."""
    return [[(text, 1) for text in line] for line in (periods, under)]


def actual(*periods: str) -> Lines:
    """Return the lines of an income statement."""
    return [[("Skutočnosť", 2)], [(text, 1) for text in periods], [("1", 1), ("2", 1)]]


def wide(now: str, before: str, *under: str) -> Lines:
    """Return the lines of three columns of the current period, beside one of the previous."""
    numbers = [(str(number), 1) for number in range(1, 5)]
    return [[(now, 3), (before, 1)], [(text, 1) for text in under], numbers]


GROSS: Final = ("Brutto", "Korekcia", "Netto", "Netto")
ACTIVITIES: Final = ("Hlavná činnosť", "Podnikateľská činnosť", "Spolu")
TAXED: Final = ("Hlavná nezdaňovaná", "Podnikateľská zdaňovaná", "Spolu")
UNTAXED: Final = two("1", "2", periods=("Nezdaňovaná činnosť", "Zdaňovaná činnosť"))
AT_THE_END: Final = two("1", "2", periods=("Účtovné obdobie", BEFORE))
NOW_ALONE: Final[Lines] = [[("Za bežné účtovné obdobie", 1)], [("1", 1)]]
THEN_AND_NOW: Final = two(
    *("1", "2"),
    periods=("Za bezprostredne predchádzajúce účtovné obdobie", "Za bežné účtovné obdobie"),
)
SELECTED: Final = two("1", "2")
STAFF: Final = "III.: Tab. č. 1"
# The forms that later ones repeat with other rows.
PUBLIC_BALANCE: Final = [(ASSETS, wide(NOW, BEFORE, *GROSS)), (LIABILITIES, two("5", "6"))]
PUBLIC_RESULT: Final = [(title, wide(NOW, BEFORE, *ACTIVITIES)) for title in (COSTS, REVENUE)]
NON_PROFIT: Final = [
    *PUBLIC_BALANCE,
    *((title, wide("Činnosť", BEFORE, *TAXED)) for title in (COSTS, REVENUE)),
]
SINGLE_ENTRY: Final = [
    ("Príjmy", UNTAXED), ("Výdavky", UNTAXED), ("Majetok", AT_THE_END), ("Záväzky", AT_THE_END),
]  # fmt: skip
HEADERS: Final[dict[int, list[tuple[str, Lines]]]] = {
    699: [(ASSETS, FOUR), (LIABILITIES, two("4", "5")), (INCOME, actual(NOW, BEFORE))],
    687: [
        (ASSETS, two("Netto 1", "Netto 2")),
        (LIABILITIES, two("3", "4")),
        (INCOME, two("1", "2")),
    ],
    21: [(ASSETS, FOUR), (LIABILITIES, two("4", "5"))],
    22: [(INCOME, actual(NOW.replace("B", "b"), BEFORE.replace("B", "b")))],
    690: [(ASSETS, wide(*YEARS, *GROSS)), (LIABILITIES, two("5", "6", periods=YEARS))],
    727: [(title, wide(*YEARS, *ACTIVITIES)) for title in (COSTS, REVENUE)],
    684: [
        (ASSETS, [*two("Netto", "Netto", periods=YEARS), [("1", 1), ("2", 1)]]),
        (LIABILITIES, two("3", "4", periods=YEARS)),
    ],
    696: [(title, wide(*YEARS, *ACTIVITIES)) for title in (COSTS, REVENUE)],
    522: PUBLIC_BALANCE,
    521: PUBLIC_RESULT,
    1180: NON_PROFIT,
    385: NON_PROFIT,
    1164: SINGLE_ENTRY,
    383: SINGLE_ENTRY,
    716: [
        ("Príjmy", NOW_ALONE), ("Výdavky", NOW_ALONE),
        ("Majetok", THEN_AND_NOW), ("Záväzky", THEN_AND_NOW),
    ],
    5183: [
        *((f"I.: Tab. č. {number}", SELECTED) for number in (1, 2, 3)),
        *((f"II.: Tab. č. {number}", SELECTED) for number in (1, 2)),
        (STAFF, SELECTED),
    ],
}  # fmt: skip
# Where the facts name the rows of a form, and which of its tables a letter means.
ITEM_COLUMNS: Final = {
    699: "form_699", 687: "form_687", 21: "forms_21_22", 22: "forms_21_22",
    690: "forms_690_727", 727: "forms_690_727", 522: "forms_690_727", 521: "forms_690_727",
    684: "forms_684_696", 696: "forms_684_696",
    1180: "form_1180", 385: "form_385", 1164: "form_1164", 383: "form_1164",
}  # fmt: skip
BUSINESS: Final = {"a": 0, "p": 1, "v": 2}
BALANCE: Final = {"a": 0, "p": 1}
COSTS_AND_REVENUE: Final = {"n": 0, "y": 1}
FOUR_TABLES: Final = {"a": 0, "p": 1, "n": 2, "y": 3}
RECEIPTS: Final = {"r": 0, "x": 1, "a": 2, "p": 3}
ITEM_TABLES: Final = {
    699: BUSINESS, 687: BUSINESS, 21: BALANCE, 22: {"v": 0},
    690: BALANCE, 727: COSTS_AND_REVENUE, 522: BALANCE, 521: COSTS_AND_REVENUE,
    684: BALANCE, 696: COSTS_AND_REVENUE,
    1180: FOUR_TABLES, 385: FOUR_TABLES, 1164: RECEIPTS, 383: RECEIPTS,
}  # fmt: skip


def template(id_: int, rows: Iterable[dict[str, str]]) -> Json:
    """Return a template as the register would send it."""
    name, decree, valid_from = TEMPLATES[id_]
    body: Json = {"id": id_, "nazov": name, "nariadenieMF": decree, "platneOd": valid_from}
    own = [row for row in rows if row["form"] == str(id_)]
    if id_ in HEADERS:
        english = ENGLISH | ENGLISH_OF.get(id_, {}) if any(row["label_en"] for row in own) else None
        body["tabulky"] = [
            table(title, lines, [row for row in own if row["table"] == str(place)], english)
            for place, (title, lines) in enumerate(HEADERS[id_])
        ]
    return body


def table(
    title: str, lines: Lines, rows: list[dict[str, str]], english: dict[str, str] | None
) -> Json:
    """Return a table of a template."""

    def text(slovak: str) -> Json:
        words: Json = {"sk": slovak}
        return words if english is None else words | {"en": english.get(slovak, slovak)}

    caption = "Text" if title == INCOME or "Tab." in title else title.upper()
    labels = ["Označenie", caption, "Číslo riadku"]
    # The marks of the staff have no column: the form prints them before the captions.
    if title == STAFF or not any(row["mark"] for row in rows):
        del labels[0]
    last = len(lines)
    # Where the second line is one of periods, the labels beside it are as high as both.
    high = last - 1
    cells: list[Json] = [
        _cell(text(label), 1, column, 1, high) for column, label in enumerate(labels, 1)
    ]
    for line, parts in enumerate(lines, 1):
        if line == last:
            letters = enumerate("abc"[: len(labels)], 1)
            cells += [_cell(text(letter), line, column, 1, 1) for column, letter in letters]
        column = len(labels) + 1
        for words, width in parts:
            cells.append(_cell(text(words), line, column, width, 1))
            column += width
    data = sum(width for _, width in lines[0])
    return {
        "nazov": text(title),
        "pocetStlpcov": len(labels) + data,
        "pocetDatovychStlpcov": data,
        "hlavicka": cells,
        "riadky": [_row(row, english=english is not None) for row in rows],
    }


def _cell(text: Json, line: int, column: int, width: int, height: int) -> Json:
    return {
        "text": text, "riadok": line, "stlpec": column, "sirkaStlpca": width, "vyskaRiadku": height,
    }  # fmt: skip


def _row(row: dict[str, str], *, english: bool) -> Json:
    text = {"sk": row["label_sk"]} | ({"en": row["label_en"]} if english else {})
    mark = {"oznacenie": row["mark"]} if row["mark"] else {}
    return {"text": text} | mark | {"cisloRiadku": int(row["number"])}


def facts(name: str = "forms") -> list[dict[str, str]]:
    """Read the rows of all forms, or the items."""
    with (FOLDER / "facts" / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
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


def items() -> bytes:
    """Return the table of items: the rows of each form."""
    forms = facts()
    found = [
        {name: fact[name] for name in ("item", "label_sk", "label_en")}
        | {"statement": statement(fact), "note": fact["note"] or None}
        | {
            "forms": {
                str(form): rows for form in ITEM_TABLES if (rows := item_rows(fact, form, forms))
            }
        }
        for fact in facts("items")
    ]
    return b"[\n" + b",\n".join(orjson.dumps(item) for item in found) + b"\n]\n"


def statement(fact: dict[str, str]) -> str:
    """Return whether an item is of the balance sheet or of the income statement."""
    cells = " ".join(fact[column] for column in set(ITEM_COLUMNS.values()))
    (kind,) = {
        "balance" if letter in BALANCE else "income" for letter in re.findall("[a-z]", cells)
    }
    return kind


def item_rows(
    fact: dict[str, str], form: int, forms: list[dict[str, str]]
) -> tuple[int, list[tuple[int, int, int]]] | None:
    """Return table and rows (sign, place, number) of an item on a form, None where it has none."""
    tables = ITEM_TABLES[form]
    parts = re.findall(r"([+-]?)\s*([a-z])(\d+)", fact[ITEM_COLUMNS[form]])
    parts = [part for part in parts if part[1] in tables]
    if not parts:
        return None
    (letter,) = {letter for _, letter, _ in parts}
    rows = [row for row in forms if (row["form"], row["table"]) == (str(form), str(tables[letter]))]
    places = {int(row["number"]): place for place, row in enumerate(rows)}
    signed = [(-1 if sign == "-" else 1, int(number)) for sign, _, number in parts]
    # The sum row of the block adds nothing; it only shows that blank addends are zeros.
    if len(parts) > 1 and letter in BALANCE:
        below = {number: addends(number, rows) for number in places}
        # Of the whole side, which no other row adds up, nothing is known.
        blocks = set.union(*below.values()).intersection(below)
        around = [number for number in blocks if below[number].issuperset(n for _, n in signed)]
        signed += [(0, number) for number in sorted(around, key=lambda n: len(below[n]))[:1]]
    return tables[letter], [(sign, places[number], number) for sign, number in signed]


def addends(number: int, rows: list[dict[str, str]]) -> set[int]:
    """Return the numbers of the rows that a row is the sum of, and of those that they are."""
    direct = {int(term) for row in rows if row["number"] == str(number)
              for term in re.findall(r"\+(\d+)", row["terms"])}  # fmt: skip
    return direct.union(*(addends(part, rows) for part in direct))


def main() -> None:
    """Write the files."""
    from description import bodies as descriptions  # beside this file, when it is run

    files = {f"forms/{id_}.json": body for id_, body in bodies().items()}
    files |= {f"openapi/{name}": body for name, body in descriptions().items()}
    for name, body in (files | {"items.json": items()}).items():
        (FOLDER / name).write_bytes(body)


if __name__ == "__main__":
    main()
