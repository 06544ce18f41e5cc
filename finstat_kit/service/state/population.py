"""How the units of a sample are drawn: the same on every machine for the same size and seed.

Everything comes from ``PCG64.random_raw``, whose bit stream numpy promises, by integer arithmetic.
Names, addresses and numbers are invented; codes and labels are the codelists' own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.old_codes import old_district, old_municipality, old_region
from finstat_kit.protocol.shipped import data_folder
from finstat_kit.protocol.wire import CODELISTS, UNITS
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.codelists import codelist_bodies
from finstat_kit.service.state.store import (
    DELETED,
    LIVING,
    NO_DAY,
    NON_PUBLIC,
    NON_PUBLIC_LOWER,
    Ints,
    Line,
    Place,
    Store,
    day_number,
)

_ENDPOINTS: Final = tuple(codelist.endpoint for codelist in CODELISTS.values())
TODAY: Final = date(2026, 6, 30)
FIRST_DAY: Final = date(2014, 1, 1)
DEFAULT_UNITS: Final = 20_000
_LAST_UNIT_ID: Final = 2_620_000
_NONE: Final = 65_535  # a code column's "absent"

# The columns of code fields, the codelist each points into, and weights of codes that are common.
_CODES: Final[dict[str, tuple[str, dict[str, int]]]] = {
    "legal_form": ("pravne-formy", {"112": 1200, "101": 260, "701": 120, "121": 40, "801": 30}),
    "activity": (
        "sk-nace",
        {
            "46900": 240,
            "68200": 170,
            "47110": 160,
            "70220": 150,
            "43210": 120,
            "62010": 110,
            "49410": 100,
            "56101": 90,
            "69200": 70,
            "45200": 60,
            "71129": 50,
            "86210": 40,
            "85200": 40,
            "84110": 40,
            "66220": 30,
            "96020": 30,
            "93120": 30,
            "25620": 30,
        },
    ),
    "size": ("velkosti-organizacie", {"00": 120, "01": 160, "02": 60, "03": 30, "04": 30}),
    "ownership": ("druhy-vlastnictva", {"2": 150, "7": 15}),
}


class _Raw:
    """Numbers from the promised bit stream, one block after the other."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.PCG64(seed)

    def draw(self, n: int) -> NDArray[np.uint64]:
        return np.asarray(self._stream.random_raw(n), dtype=np.uint64)

    def below(self, bound: int, n: int) -> Ints:
        """Return *n* numbers from 0 to bound - 1."""
        return (self.draw(n) % np.uint64(bound)).astype(np.int64)

    def pick(self, weights: Sequence[int], n: int) -> Ints:
        """Return *n* positions, each as often as its whole-number weight says."""
        steps = np.cumsum(np.asarray(weights, dtype=np.int64))
        return np.searchsorted(steps, self.below(int(steps[-1]), n), side="right").astype(np.int64)

    def ids(self, n: int, last: int) -> Ints:
        """Return *n* ascending ids with gaps, up to about *last*."""
        widest = max(2 * last // max(n, 1) - 1, 2)
        return np.cumsum(1 + self.below(widest, n))


def draw(
    units: int = DEFAULT_UNITS,
    *,
    seed: int = 0,
    codelists: str | Path | None = None,
) -> Store:
    """Draw a register of *units* units with their statements, reports and annual reports."""
    bodies = codelist_bodies(_ENDPOINTS, codelists)
    places, weights = _places(bodies)
    tables = code_tables(bodies)
    raw = _Raw(seed)

    line = Line(raw.ids(units, _LAST_UNIT_ID), _change_days(raw, units))
    columns = _columns(raw, line.changed.astype(np.int64), places, weights, tables)
    return _with_filings(line, columns, tables, places, bodies, seed)


def _with_filings(
    line: Line,
    columns: Mapping[str, NDArray[np.generic]],
    tables: Mapping[str, Sequence[str]],
    places: Sequence[Place],
    bodies: Mapping[str, bytes],
    seed: int,
) -> Store:
    """Return the register of units, and of what they have filed."""
    units = Store({UNITS: line}, columns, tables, places, None, {}, bodies, TODAY)
    filings = Filings(units, seed)
    return replace(units, lines={UNITS: line, **filings.lines}, filings=filings)


def save(store: Store, path: Path) -> None:
    """Write what was drawn, codelists aside, to a compressed file of arrays."""
    arrays: dict[str, NDArray[np.generic]] = {f"column {k}": v for k, v in store.columns.items()}
    arrays["gaps"] = np.diff(store.units.ids, prepend=0).astype(np.int32)
    arrays["changed"] = store.units.changed
    # Mypy takes the names for numpy's own keyword; they are the arrays' names.
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def load(path: Path | None = None) -> Store:
    """Read the default sample that `save` wrote."""
    bodies = codelist_bodies(_ENDPOINTS)
    with np.load(path or data_folder() / "sample.npz", allow_pickle=False) as arrays:
        line = Line(np.cumsum(arrays["gaps"], dtype=np.int64), arrays["changed"])
        columns = {
            key.removeprefix("column "): arrays[key] for key in arrays if key.startswith("column ")
        }
    places, _ = _places(bodies)
    return _with_filings(line, columns, code_tables(bodies), places, bodies, seed=0)


def code_tables(bodies: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """Return what the code columns point into: the codes of their codelists, in order."""
    return {
        column: tuple(str(entry["kod"]) for entry in json.loads(bodies[name])["klasifikacie"])
        for column, (name, _) in _CODES.items()
    }


def _places(bodies: Mapping[str, bytes]) -> tuple[list[Place], list[int]]:
    """Return where units can sit, and how often they do.

    Municipalities as the codelists have them; regions that have none (abroad); then the same
    under their old codes; at the end one place without codes and one with codes in no list.
    """
    shares = json.loads((data_folder() / "weights.json").read_bytes())
    region_share, district_share = shares["regions"], shares["districts"]
    entries = {name: json.loads(bodies[name])["lokacie"] for name in ("kraje", "okresy", "sidla")}
    parent = {str(e["kod"]): str(e.get("nadradenaLokacia", "")) for e in entries["okresy"]}
    label = {str(e["kod"]): e["nazov"]["sk"] for e in entries["okresy"]}
    regions = [str(e["kod"]) for e in entries["kraje"]]

    def seat_weight(name: str, district: str) -> int:
        return 12 if name == label.get(district) else 1

    inside: dict[str, int] = {}  # the weights of a district's municipalities, added up
    below: dict[str, int] = {}  # and of a region's districts
    for entry in entries["sidla"]:
        district = str(entry.get("nadradenaLokacia", ""))
        if district in parent and district not in inside:
            below[parent[district]] = below.get(parent[district], 0) + district_share.get(
                district, 1
            )
        inside[district] = inside.get(district, 0) + seat_weight(entry["nazov"]["sk"], district)

    places, weights = [], []
    for entry in entries["sidla"]:
        code, name = str(entry["kod"]), entry["nazov"]["sk"]
        district = str(entry.get("nadradenaLokacia", ""))
        region = parent.get(district)
        if region is None:  # a municipality without a region: almost no units
            places.append(Place(None, None, code, name))
            weights.append(1)
            continue
        share = region_share.get(region, 1) * 10**6 * district_share.get(district, 1)
        share = share * seat_weight(name, district) // (below[region] * inside[district])
        places.append(Place(region, district, code, name))
        weights.append(max(share, 1))
    _deal_out(places, weights, label, shares["largest"])
    for region in regions:
        if region not in below and region in region_share:
            places.append(Place(region, None, None, "Zahraničie"))
            weights.append(region_share[region] * 10**6)

    old = [_under_old_codes(place) for place in places]
    nowhere = [Place(None, None, None, None), Place("SK099", "SK0999", "SK0999999999", "Neznáma")]
    return [*places, *old, *nowhere], weights


def _deal_out(
    places: Sequence[Place], weights: list[int], label: Mapping[str, str], largest: Sequence[str]
) -> None:
    """Deal out what each district has among its municipalities: a few are large, many small.

    The first is the seat, then those known to be large; the n-th has 1 / n^1.5 of the first.
    """
    rows: dict[str, list[int]] = {}
    for row, place in enumerate(places):
        if place.okres is not None:
            rows.setdefault(place.okres, []).append(row)

    def order(row: int) -> tuple[bool, int, int]:
        code, name = str(places[row].sidlo), places[row].mesto
        known = largest.index(code) if code in largest else len(largest)
        return name != label.get(str(places[row].okres)), known, crc32(code.encode())

    for within in rows.values():
        whole = sum(weights[row] for row in within)
        parts = [10**9 // isqrt(10**6 * n**3) for n in range(1, len(within) + 1)]
        ranked = sorted(within, key=order)
        for row, part in zip(ranked, parts, strict=True):
            weights[row] = max(whole * part // sum(parts), 1)
        weights[ranked[0]] += whole - sum(weights[row] for row in within)


def _under_old_codes(place: Place) -> Place:
    return Place(
        (old_region(place.kraj) or place.kraj) if place.kraj else None,
        (old_district(place.okres) or place.okres) if place.okres else None,
        (old_municipality(place.sidlo) or place.sidlo) if place.sidlo else None,
        place.mesto,
    )


def _change_days(raw: _Raw, n: int) -> NDArray[np.uint16]:
    """Draw change dates: more of late, a peak at the end of March, quiet at weekends."""
    return (day_number(FIRST_DAY) + raw.pick(_weights_of_days(), n)).astype(np.uint16)


@cache
def _weights_of_days() -> list[int]:
    weights = []
    for number in range((TODAY - FIRST_DAY).days + 1):
        day = FIRST_DAY + timedelta(days=number)
        weight = 10 + 4 * (day.year - FIRST_DAY.year)
        if day.month == 3 and day.day >= 20:
            weight *= 7
        elif day.month in (4, 6, 7):
            weight *= 2
        weights.append(weight if day.weekday() < 5 else weight // 4)
    return weights


def _columns(
    raw: _Raw,
    changed: Ints,
    places: Sequence[Place],
    weights: Sequence[int],
    tables: Mapping[str, Sequence[str]],
) -> dict[str, NDArray[np.generic]]:
    n = len(changed)
    state = np.asarray([LIVING, DELETED, NON_PUBLIC, NON_PUBLIC_LOWER])[
        raw.pick((9850, 100, 40, 10), n)
    ]
    # Codes of the place: today's, none, old ones, unknown ones (per mille).
    manner, place, own = raw.pick((983, 10, 5, 2), n), raw.pick(weights, n), len(weights)
    place = np.select(
        [manner == 0, manner == 1, manner == 2], [place, 2 * own, own + place], 2 * own + 1
    )
    columns: dict[str, NDArray[np.generic]] = {
        "state": state.astype(np.uint8),
        "place": place.astype(np.uint16),
    }
    for column, (_, common) in _CODES.items():
        table = tables[column]
        position = raw.pick([common.get(code, 2) for code in table], n)
        absent = raw.below(50, n) == 0
        columns[column] = np.where(absent, _NONE, position).astype(np.uint16)

    columns["ico"] = _icos(raw, n)
    dic = 2_020_000_000 + raw.below(110_000_000, n)
    columns["dic"] = np.where(raw.below(12, n) == 0, 0, dic)
    # Days since 2000-01-01, from 1990 on; no unit is founded after its last change.
    founded = np.minimum(raw.below(12_500, n) - 3_650, changed - raw.below(300, n))
    columns["founded"] = founded.astype(np.int32)
    gone = founded + 200 + raw.below(4_000, n)
    in_past = (raw.below(10, n) == 0) & (gone <= changed)
    columns["dissolved"] = np.where(in_past, gone, NO_DAY).astype(np.int32)
    columns["name"] = raw.below(2**31, n).astype(np.int32)
    return columns


def _icos(raw: _Raw, n: int) -> Ints:
    """Draw IČO: some shared, some with leading zeros, some of twelve digits, some all zeros."""
    ico = np.where(raw.below(8, n) == 0, raw.below(1_000_000, n), raw.below(60_000_000, n))
    kind = raw.below(1_000, n)
    ico = np.where(kind < 3, 10**13 + raw.below(10**12, n), ico)
    ico = np.where((kind >= 3) & (kind < 5), 0, ico)
    shared = (kind >= 5) & (kind < 10)
    return np.where(shared, np.roll(ico, 1), ico)
