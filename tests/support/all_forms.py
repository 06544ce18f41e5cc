"""Every form of the register that has tables, out of the collected facts: bodies, columns, sums.

The facts lie outside of the project (see tests/conftest.py), those of the forms that the package
ships in its own data; nothing here shares code with the package but where that data is.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from finstat_kit.protocol.shipped import data_folder, template_bodies

FOUR = ("current gross", "current correction", "current net", "previous net")
NET = ("current net", "previous net")
TWO = ("current ", "previous ")
ACTIVITIES = ("current main", "current business", "current total", "previous total")
TAXED = (" untaxed", " taxed")
# Period and measure of each column of each table of the forms that the package ships.
COLUMNS: dict[int, list[tuple[str, ...]]] = {
    21: [FOUR, TWO], 22: [TWO], 687: [NET, TWO, TWO], 699: [FOUR, TWO, TWO],
    690: [FOUR, TWO], 727: [ACTIVITIES] * 2, 684: [NET, TWO], 696: [ACTIVITIES] * 2,
    522: [FOUR, TWO], 521: [ACTIVITIES] * 2,
    1180: [FOUR, TWO, ACTIVITIES, ACTIVITIES], 385: [FOUR, TWO, ACTIVITIES, ACTIVITIES],
    1164: [TAXED, TAXED, TWO, TWO], 383: [TAXED, TAXED, TWO, TWO],
    716: [TWO[:1], TWO[:1], TWO[::-1], TWO[::-1]], 5183: [TWO] * 6,
}  # fmt: skip
FIELDS = {"template": "form", "cisloRiadku": "number", "oznacenie": "mark", "text_sk": "label_sk"}


def _shipped(name: str) -> Iterator[dict[str, str]]:
    """Return what the files of collected facts hold, of the forms that the package ships."""
    if name == "columns":
        for template, tables in COLUMNS.items():
            for table, columns in enumerate(tables):
                for column in columns:
                    period, _, measure = column.partition(" ")
                    at = {"template": str(template), "table": str(table)}
                    yield at | {"period": period, "measure": measure}
        return
    path = data_folder() / "facts" / "forms.tsv"
    if not path.is_file():
        pytest.skip("not a checkout")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row | {name: row[field] for name, field in FIELDS.items()}


@cache
def rows_of(folder: Path, name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a file of facts."""
    if folder == data_folder():
        return tuple(_shipped(name))
    with (folder / "templates" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def of_forms(folder: Path, name: str) -> dict[tuple[int, int], tuple[dict[str, str], ...]]:
    """Return the rows of a file of facts by template and table."""
    rows = groupby(rows_of(folder, name), lambda row: (int(row["template"]), int(row["table"])))
    return {at: tuple(own) for at, own in rows}


def templates(folder: Path) -> list[int]:
    """Return the ids of all forms that have tables."""
    return sorted({template for template, _ in of_forms(folder, "rows")})


def body(folder: Path, template: int) -> bytes:
    """Return a form as the register sends it."""
    if folder == data_folder():
        return template_bodies()[template]
    tables = [row for row in rows_of(folder, "tables") if int(row["template"]) == template]
    return json.dumps({"id": template, "tabulky": [_table(folder, row) for row in tables]}).encode()


def _table(folder: Path, table: dict[str, str]) -> dict[str, Any]:
    at = int(table["template"]), int(table["table"])
    first = int(table["pocetStlpcov"]) - int(table["pocetDatovychStlpcov"]) + 1
    rows = of_forms(folder, "rows")[at]
    return {
        "nazov": _text(table["nazov_sk"], table["nazov_en"]),
        "pocetStlpcov": int(table["pocetStlpcov"]),
        "pocetDatovychStlpcov": int(table["pocetDatovychStlpcov"]),
        "hlavicka": list(_header(of_forms(folder, "columns")[at], first)),
        "riadky": [
            {"text": _text(row["text_sk"], row["text_en"]), "oznacenie": row["oznacenie"]}
            | ({"cisloRiadku": int(row["cisloRiadku"])} if row["cisloRiadku"] else {})
            for row in rows
        ],
    }


def _header(columns: tuple[dict[str, str], ...], first: int) -> Iterator[dict[str, Any]]:
    for place, column in enumerate(columns):
        english = column["header_en"].split(" / ")
        slovak = column["header_sk"].split(" / ")
        for line, text in enumerate(slovak, 1):
            en = english[line - 1] if len(english) == len(slovak) else ""
            yield {
                "text": _text(text, en),
                "riadok": line,
                "stlpec": first + place,
                "sirkaStlpca": 1,
            }


def _text(sk: str, en: str) -> dict[str, str]:
    return {"sk": sk} | ({"en": en} if en else {})


def terms(row: dict[str, str]) -> list[tuple[int, int]]:
    """Return sign and row number of each addend of a row, as the facts have them."""
    return [(1 if term[0] == "+" else -1, int(term[1:])) for term in row["terms"].split()]


def home(folder: Path, template: int, table: int, number: int) -> tuple[int, int]:
    """Return table and place of the row that a number means in a table.

    Numbers restart: it is a row of the own table, else of the nearest before it, else behind it.
    Where no number is printed, the mark is it.
    """
    for other in (*range(table, -1, -1), *range(table + 1, 9)):
        place = _numbers(folder, template, other).get(str(number))
        if place is not None:
            return other, place
    raise AssertionError(f"{template}: no row {number} for table {table}")


@cache
def _numbers(folder: Path, template: int, table: int) -> dict[str, int]:
    rows = of_forms(folder, "rows").get((template, table), ())
    return {
        (row["cisloRiadku"] or row["oznacenie"].strip(". ")).lstrip("0"): place
        for place, row in enumerate(rows)
    }


MEASURES = ("gross", "correction", "net", "main", "business", "total", "untaxed", "taxed", "")


def measure(column: dict[str, str]) -> str | None:
    """Return the measure of a column in our words: whatever has none is "other"."""
    plain = "net" if column["measure"] == "net total" else column["measure"]
    return (plain if plain in MEASURES else "other") or None


Cell = tuple[int, int, int]  # table, row and column


def sums(folder: Path, template: int) -> dict[Cell, list[tuple[int, Cell]]]:
    """Return the sums of a form in every column, each with the sign and the cell of its terms."""
    tables = of_forms(folder, "columns")
    found = {}
    for (own, table), rows in of_forms(folder, "rows").items():
        for place, row in enumerate(rows if own == template else ()):
            for column, fact in enumerate(tables[template, table] if terms(row) else ()):
                parts: list[tuple[int, Cell]] = []
                for sign, number in terms(row):
                    other, at = home(folder, template, table, number)
                    same = column if other == table else _same(tables[template, other], fact)
                    parts.append((sign, (other, at, same)))
                found[table, place, column] = parts
    return {
        cell: [
            (sign, (table, row, column))
            for sign, (table, row, column) in parts
            if column is not None
        ]
        for cell, parts in found.items()
        if all(column is not None for _, (_, _, column) in parts)
    }


def _same(columns: tuple[dict[str, str], ...], fact: dict[str, str]) -> int:
    """Return the column of the same period and measure; net, total and none are what is left."""
    left = ("", "net", "total")
    for place, column in enumerate(columns):
        alike = {column["measure"], fact["measure"]}
        if column["period"] == fact["period"] and (len(alike) == 1 or alike.issubset(left)):
            return place
    raise AssertionError(f"no column like {fact}")


def filed(folder: Path, template: int) -> list[list[list[str]]]:
    """Return the rows of each table of a made-up filing: every sum holds, and every total."""
    chance = random.Random(template)
    stated = sums(folder, template)
    columns = {
        k: facts for (own, k), facts in of_forms(folder, "columns").items() if own == template
    }
    values: dict[Cell, int] = {}

    def value(cell: Cell) -> int:
        if cell not in values:
            table, row, column = cell
            kinds = [(fact["period"], measure(fact)) for fact in columns[table]]
            period, own = kinds[column]
            parts = stated.get(cell) or [
                (sign, (table, row, kinds.index((period, part))))
                for whole, signed in WHOLES
                for sign, part in signed
                if whole == own and all((period, one) in kinds for _, one in signed)
            ]
            values[cell] = (
                sum(sign * value(part) for sign, part in parts)
                if parts
                else chance.randrange(1_000)
            )
        return values[cell]

    return [
        [
            [str(value((table, row, column))) for column in range(len(columns[table]))]
            for row in range(len(of_forms(folder, "rows")[template, table]))
        ]
        for table in sorted(columns)
    ]


# What two columns of a row make up.
WHOLES = (
    ("net", ((1, "gross"), (-1, "correction"))),
    ("total", ((1, "main"), (1, "business"))),
    ("total", ((1, "untaxed"), (1, "taxed"))),
)
