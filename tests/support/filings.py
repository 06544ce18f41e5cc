"""Reports made for a test, and the rule of cells once more: slow, obvious, sharing nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from finstat_kit.frames.financials.items import Activity
from finstat_kit.frames.financials.readings import FigureReader
from finstat_kit.protocol.forms import FormOf, shipped
from finstat_kit.protocol.shipped import template_bodies

BUSINESSES = (21, 22, 687, 699)
SCHEMA = pl.Schema(
    {
        "id": pl.Int64(),
        "idSablony": pl.Int64(),
        "pristupnostDat": pl.String(),
        "titulnaStrana": pl.Struct({"nazovUctovnejJednotky": pl.String}),
        "tabulky": pl.List(pl.List(pl.String)),
        "prilohy": pl.List(pl.Struct({"id": pl.Int64, "meno": pl.String})),
        "datumPoslednejUpravy": pl.String(),
        "stav": pl.String(),
    }
)

Record = Mapping[str, object]


def body(template: int) -> dict[str, Any]:
    """Return a shipped template as the register sends it."""
    found: dict[str, Any] = json.loads(template_bodies()[template])
    return found


@cache
def sizes(template: int) -> tuple[int, ...]:
    """Return how many cells each table of a form has."""
    return tuple(len(t["riadky"]) * t["pocetDatovychStlpcov"] for t in body(template)["tabulky"])


def report(id_: int, template: int, tables: Sequence[Sequence[str]], **more: object) -> Record:
    """Return the record of a report."""
    return {
        "id": id_,
        "idSablony": template,
        "pristupnostDat": "Verejné",
        "tabulky": [list(table) for table in tables],
        "datumPoslednejUpravy": "2026-01-01",
    } | more


def frame(*records: Record) -> pl.DataFrame:
    """Return records as a frame of reports has them."""
    rows = [{name: record.get(name) for name in SCHEMA} for record in records]
    return pl.DataFrame(rows, schema=SCHEMA)


def items_of(
    reports: pl.DataFrame,
    period: str = "current",
    *,
    activity: Activity = "total",
    live: FormOf = shipped,
) -> pl.DataFrame:
    """Return what `fk.financials` reads of each report of a period, a column per item."""
    records = reports.with_columns(idUctovnejZavierky=pl.lit(None, pl.Int64))
    read = FigureReader(shipped, live, activity).of_tables(records).figures
    return read.filter(period=period).sort("report_id")


def drawn(id_: int, template: int, filled: float = 0.35) -> Record:
    """Return a report whose cells are numbers drawn from its id, a part of them filled."""
    chance = random.Random(id_)
    kinds = (
        lambda: str(chance.randrange(-(10**7), 10**7)),
        lambda: f"{chance.randrange(10**9)}.{chance.randrange(100):02d}",
        lambda: "0",
    )
    return report(
        id_,
        template,
        [
            [chance.choice(kinds)() if chance.random() < filled else "" for _ in range(many)]
            for many in sizes(template)
        ],
    )


def cells_of(record: Record, form: dict[str, Any]) -> list[tuple[object, ...]]:
    """Return the cells of a report by the rule of the register, in plain Python.

    ``value(row i, column j) = data[i * n + j]``, n the template's ``pocetDatovychStlpcov``; tables
    pair by index, and where anything does not fit no number of the report comes out.
    """
    found: list[tuple[object, ...]] = []
    tables = record["tabulky"]
    assert isinstance(tables, list)
    if record["idSablony"] != form["id"] or len(tables) != len(form["tabulky"]):
        return []
    for k, (data, table) in enumerate(zip(tables, form["tabulky"], strict=True)):
        n, rows = table["pocetDatovychStlpcov"], table["riadky"]
        if len(data) != len(rows) * n:
            return []
        for i, row in enumerate(rows):
            for j in range(n):
                if data[i * n + j] != "":
                    value = float(data[i * n + j])
                    found.append((record["id"], form["id"], k, i, j, row.get("cisloRiadku"), value))
    return found
