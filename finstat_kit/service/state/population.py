"""How the units of a sample are drawn: the same on every machine for the same size and seed.

Everything comes from ``PCG64.random_raw``, whose bit stream numpy promises, by integer arithmetic.
Names, addresses and numbers are invented; codes and labels are the codelists' own.

Each municipality of the codelist is one unit, as each region is; what else was drawn of their legal
form is an organisation of theirs. The companies are left as they were drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from finstat_kit.errors import invalid
from finstat_kit.protocol.shipped import facts
from finstat_kit.protocol.wire import BEGINNING
from finstat_kit.service.state.line import Ints, Line
from finstat_kit.service.state.places import codelist_bodies, entries_of, places_of
from finstat_kit.service.state.store import LIVING, NO_DAY, Place, Store, day_number, position_of

TODAY: Final = date(2026, 6, 30)
FIRST_DAY: Final = date(2014, 1, 1)
_FEW_LOTS: Final = 2**18
DEFAULT_UNITS: Final = 20_000
_LATELY: Final = (date(2025, 7, 1), date(2026, 6, 1))
_LAST_UNIT_ID: Final = 2_620_000
_NONE: Final = 65_535  # a code column's "absent"
# The codelist that each column of codes points into.
_CODES: Final = {
    "legal_form": "pravne-formy",
    "activity": "sk-nace",
    "size": "velkosti-organizacie",
    "ownership": "druhy-vlastnictva",
}
Columns = dict[str, NDArray[np.generic]]
Tables = Mapping[str, Sequence[str]]
_MUNICIPALITY_FORM: Final = "801"
_REGION_FORM: Final = "803"
_SELF_GOVERNMENT_SINCE: Final = (date(1990, 11, 24) - BEGINNING).days  # when self-government began


class _Raw:
    """Numbers from the promised bit stream, one block after the other."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.PCG64(seed)

    def below(self, bound: int, n: int) -> Ints:
        """Return *n* numbers from 0 to bound - 1."""
        return (self._stream.random_raw(n) % np.uint64(bound)).astype(np.int64)

    def pick(self, weights: Sequence[int] | Ints, n: int) -> Ints:
        """Return *n* positions, each as often as its whole-number weight says."""
        steps = np.cumsum(np.asarray(weights, dtype=np.int64))
        lots = self.below(int(steps[-1]), n)
        if steps[-1] <= _FEW_LOTS:  # in a quarter of the time
            return np.repeat(np.arange(len(weights)), weights)[lots]
        return np.searchsorted(steps, lots, side="right").astype(np.int64)


def draw(
    units: int = DEFAULT_UNITS, *, seed: int = 0, codelists: str | Path | None = None
) -> Store:
    """Draw a register of *units* units."""
    bodies = codelist_bodies(codelists)
    entries = entries_of(bodies)
    places, weights = places_of(entries)
    # What the code columns point into: the codes of their codelists, in order.
    tables = {
        column: tuple(str(entry.kod) for entry in entries[name]) for column, name in _CODES.items()
    }
    if not all([weights, *tables.values()]):
        raise invalid("codelists", ..., "has a file without entries to draw units from")
    raw = _Raw(seed)

    widest = max(2 * _LAST_UNIT_ID // max(units, 1) - 1, 2)  # of the gaps
    ids = np.cumsum(1 + raw.below(widest, units))
    changed = day_number(FIRST_DAY) + raw.pick(_weights_of_days(), units)
    columns = _columns(raw, changed, weights, tables)
    public = _fit_to_legal_forms(columns, tables, places, weights)
    # Most active units were changed within a year: by their last filing.
    start, end = ((day - FIRST_DAY).days for day in _LATELY)
    filed = day_number(_LATELY[0]) + raw.pick(_weights_of_days()[start:end], units)
    alive = (columns["state"] == LIVING) & (columns["dissolved"] == NO_DAY)
    late = alive & ((raw.below(20, units) < 17) | public)
    changed = np.where(late, np.maximum(changed, filed), changed)
    return Store(Line(ids, changed.astype(np.uint16)), columns, tables, places, bodies, TODAY)


@cache
def default() -> Store:
    """Return the default sample's register, drawn once: a store never changes."""
    return draw()


@cache
def _weights_of_days() -> Ints:
    """Return weights of change dates: more of late, a peak at the end of March."""
    year, month, day, divisor = calendar(FIRST_DAY, TODAY + timedelta(days=1))
    times = np.where(np.isin(month, (4, 6, 7)), 2, 1)
    weight = 10 + 4 * (year - FIRST_DAY.year)
    return weight * np.where((month == 3) & (day >= 20), 7, times) // divisor


def calendar(first: date, end: date) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the days from *first* to before *end*: years, months, days of the month.

    And what their weights are divided by: at weekends a quarter happens.
    """
    days = np.arange(np.datetime64(first), np.datetime64(end))
    years, months = days.astype("datetime64[Y]"), days.astype("datetime64[M]")
    parts = years.astype(int) + 1970, months.astype(int) % 12 + 1, (days - months).astype(int) + 1
    return *parts, np.where(np.is_busday(days), 1, 4)


def _columns(raw: _Raw, changed: Ints, weights: Sequence[int], tables: Tables) -> Columns:
    n, count = len(changed), len(weights)
    columns: Columns = {"state": raw.pick((9850, 100, 40, 10), n).astype(np.uint8)}
    # Codes of the place: today's, none, old ones, unknown ones (per mille).
    manner, place = raw.pick((983, 10, 5, 2), n), raw.pick(weights, n)
    place = np.choose(manner, [place, 2 * count, count + place, 2 * count + 1])
    columns["place"] = place.astype(np.uint16)
    common = facts("codes", dict[str, dict[str, int]])
    for column in _CODES:
        weights_of_codes = [common[column].get(code, 2) for code in tables[column]]
        position = raw.pick(weights_of_codes, n)
        absent = raw.below(50, n) == 0
        columns[column] = np.where(absent, _NONE, position).astype(np.uint16)

    columns["ico"] = _icos(raw, n)
    dic = 2_020_000_000 + raw.below(110_000_000, n)
    columns["dic"] = np.where(raw.below(12, n) == 0, 0, dic)
    # Days since 2000-01-01, from 1990 on; no unit is founded after its last change.
    founded = np.minimum(raw.below(12_500, n) - 3_650, changed - raw.below(300, n))
    columns["founded"] = founded.astype(np.int32)
    dissolved = founded + 200 + raw.below(4_000, n)
    in_past = (raw.below(10, n) == 0) & (dissolved <= changed)
    columns["dissolved"] = np.where(in_past, dissolved, NO_DAY).astype(np.int32)
    columns["name"] = raw.below(2**31, n).astype(np.int32)
    return columns


def _icos(raw: _Raw, n: int) -> Ints:
    """Draw IČO: some shared, some with leading zeros, some of twelve digits, some all zeros."""
    ico = np.where(raw.below(8, n) == 0, raw.below(1_000_000, n), raw.below(60_000_000, n))
    lot = raw.below(1_000, n)
    ico = np.select([lot < 3, lot < 5], [10**13 + raw.below(10**12, n), 0], ico)
    return np.where((lot >= 5) & (lot < 10), np.roll(ico, 1), ico)


class LegalForms(msgspec.Struct, frozen=True):
    """What legal forms have in common, by their codes.

    Attributes:
        families: The family of forms that they file on; of any other it is ``business``.
        first_years: The first accounting year of each family that is in the sample.
        instead: What is drawn as a form of which there are no more.
        fitting: The codes that fit by column, common ones repeated; sizes of municipalities and
            regions by their weight, largest first.
    """

    families: dict[str, str]
    first_years: dict[str, int]
    instead: dict[str, str]
    fitting: dict[str, dict[str, list[str]]]


@cache
def legal_forms() -> LegalForms:
    """Return what legal forms have in common."""
    return facts("filers", LegalForms)


def _fit_to_legal_forms(
    columns: Columns, tables: Tables, places: Sequence[Place], weights: Sequence[int]
) -> NDArray[np.bool_]:
    """Change columns as drawn to what fits; return which units are municipalities or regions."""
    forms = tables["legal_form"]
    public = np.zeros(len(columns["name"]), dtype=bool)
    for form, homes in _homes(places, weights).items():
        drawn = np.flatnonzero(columns["legal_form"] == position_of(form, forms))
        rows, others = drawn[: len(homes)], drawn[len(homes) :]
        columns["place"][rows] = homes[: len(rows)]
        columns["legal_form"][others] = position_of(legal_forms().instead[form], forms)
        public[rows] = True
    columns["state"][public] = LIVING
    columns["dissolved"][public] = NO_DAY
    columns["founded"][public] = _SELF_GOVERNMENT_SINCE
    fitting = legal_forms().fitting
    for form, codes_of in fitting.items():
        rows = np.flatnonzero(columns["legal_form"] == position_of(form, forms))
        for step, (column, codes) in enumerate(codes_of.items()):
            options = np.array([position_of(code, tables[column]) for code in codes])
            lot = columns["name"][rows].astype(np.int64) >> 5 * step
            columns[column][rows] = options[lot % len(codes)]
    municipal = columns["legal_form"] == position_of(_MUNICIPALITY_FORM, forms)
    rows = np.flatnonzero(public & municipal)
    sizes = [position_of(code, tables["size"]) for code in fitting[_MUNICIPALITY_FORM]["size"]]
    order = np.argsort([-weights[place] for place in columns["place"][rows]], kind="stable")
    columns["size"][rows[order]] = [sizes[n * len(sizes) // len(rows)] for n in range(len(rows))]
    return public


def _homes(places: Sequence[Place], weights: Sequence[int]) -> dict[str, list[int]]:
    """Return the places of municipalities and of regions, by their legal form.

    Municipalities are in an order that is none of their codes; a region's place is its municipality
    of most units.
    """
    rows = [row for row in range(len(weights)) if places[row].sidlo is not None]
    rows.sort(key=lambda row: crc32(str(places[row].sidlo).encode()))
    largest_last = sorted(rows, key=weights.__getitem__)
    capitals = {places[row].kraj: row for row in largest_last if places[row].kraj}
    return {_MUNICIPALITY_FORM: rows, _REGION_FORM: list(capitals.values())}
