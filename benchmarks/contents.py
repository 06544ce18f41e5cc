"""Records and cells: against a decoder alone, checks by hand, and the loop people write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial

import cells
import orjson
from timing import Figure, side_by_side

import finstat_kit as fk
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.untrusted import read_json

_UNITS, _REPORTS = KINDS["units"], KINDS["reports"]
_ROWS = ((78, 4), (67, 2), (61, 2))  # of the three tables of form 699
_TEXTS = {name for name, dtype in _UNITS.schema.items() if str(dtype) == "String"}
_DAYS = {name for name, dtype in _UNITS.schema.items() if str(dtype) == "Date"}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure the reading of one record from its bytes, and of cells from many."""
    repeats, times = (9, 200) if quick else (25, 1_000)
    unit = fk.sample()._answer("GET", "/api/uctovna-jednotka", "id=365").body
    taken = side_by_side(
        repeats,
        hand=_often(times, partial(_by_hand, unit, 365)),
        ours=_often(times, partial(_UNITS.read, unit, 365)),
        bare=_often(times, partial(orjson.loads, unit)),
    )
    what = f"a unit of {len(unit)} bytes"
    yield Figure("contents", f"{what}: checks by hand to ours", taken["hand"] / taken["ours"], 4.0)
    yield Figure(
        "contents", f"{what}: ours to orjson", taken["ours"] / taken["bare"], None, least=False
    )

    sample = fk.sample()
    ids = iter(sample.reports.ids()["id"].sample(repeats * times, seed=1).to_list() * 2)
    answered = side_by_side(
        repeats,
        ours=lambda: [
            sample._answer("GET", "/api/uctovny-vykaz", f"id={next(ids)}") for _ in range(times)
        ],
    )
    yield Figure(
        "contents",
        "a report drawn and answered by the embedded register",
        answered["ours"] / times * 1e6,
        300.0,
        least=False,
        unit=" µs",
    )

    report = _report()
    taken = side_by_side(
        repeats,
        bare=_often(times // 5, partial(orjson.loads, report)),
        ours=_often(times // 5, partial(_REPORTS.read, report, 7)),
    )
    what = f"a report of {len(report) / 1000:.1f} kB"
    yield Figure(
        "contents",
        f"{what}: decoded and checked, to orjson",
        taken["ours"] / taken["bare"],
        2.0,
        least=False,
    )
    yield from cells.measured(quick)


def _often(times: int, work: Callable[[], object]) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            work()

    return repeated


def _by_hand(body: bytes, asked: int) -> dict[str, object]:
    """Read a unit as checks written by hand do: the strict decoder, then field by field."""
    reply = read_json(body)
    if not isinstance(reply, dict) or reply.get("id") != asked or type(reply.get("id")) is not int:
        raise ValueError("id")
    record: dict[str, object] = {}
    for name in _UNITS.schema:
        value = reply.get(name)
        if value is None:
            continue
        if name in _DAYS:
            record[name] = date.fromisoformat(str(value))
        elif name in _TEXTS and type(value) is not str:
            raise ValueError(name)
        else:
            record[name] = value
    return record


def _report() -> bytes:
    """Return a report of form 699, a third of its cells filled."""
    tables = []
    for rows, columns in _ROWS:
        cells = [str(7_919 * place % 9_999_991) for place in range(rows * columns)]
        data = [cell if place % 3 == 0 else "" for place, cell in enumerate(cells)]
        tables.append({"nazov": {"sk": "Strana aktív", "en": "Assets"}, "data": data})
    title = {
        "nazovUctovnejJednotky": "Vzor Javor 417, s. r. o.",
        "ico": "00372491",
        "dic": "2020372491",
        "adresa": {"ulica": "Vymyslená", "cislo": "1", "psc": "94901", "mesto": "Nitra"},
        "oznacenieObchodnehoRegistra": "Oddiel: Sro, vložka číslo: 417/N",
        "obdobieOd": "2024-01",
        "obdobieDo": "2024-12",
        "predchadzajuceObdobieOd": "2023-01",
        "predchadzajuceObdobieDo": "2023-12",
        "datumZostavenia": "2025-03-31",
    }
    file = {
        "id": 9,
        "meno": "poznamky.pdf",
        "mimeType": "application/pdf",
        "velkostPrilohy": 151_833,
        "pocetStran": 0,
        "digest": "0" * 64,
        "jazyk": "SLK",
    }
    report = {
        "id": 7,
        "idUctovnejZavierky": 5,
        "idSablony": 699,
        "pristupnostDat": "Verejné",
        "obsah": {"titulnaStrana": title, "tabulky": tables},
        "prilohy": [file],
        "zdrojDat": "FRSR",
        "datumPoslednejUpravy": "2025-04-01",
    }
    return json.dumps(report, ensure_ascii=False, separators=(",", ":")).encode()
