"""What fits a unit's legal form: where municipalities are, what a school does and how large it is.

Each municipality of the codelist is one unit, as each region is; what else was drawn of their legal
form is an organisation of theirs. The companies are left as they were drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import Final
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from finstat_kit.protocol.shipped import facts
from finstat_kit.protocol.wire import BEGINNING
from finstat_kit.service.state.store import LIVING, NO_DAY, Place

Columns = dict[str, NDArray[np.generic]]

_MUNICIPALITY: Final = "801"
_REGION: Final = "803"
_FOUNDED: Final = (date(1990, 11, 24) - BEGINNING).days  # when self-government began


class Filers(msgspec.Struct, frozen=True):
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
def filers() -> Filers:
    """Return what legal forms have in common."""
    return facts("filers", Filers)


def fit(
    columns: Columns,
    tables: Mapping[str, Sequence[str]],
    places: Sequence[Place],
    weights: Sequence[int],
) -> NDArray[np.bool_]:
    """Change columns as drawn to what fits; return which units are municipalities or regions."""
    forms = tables["legal_form"]
    public = np.zeros(len(columns["name"]), dtype=bool)
    for form, homes in (
        (_MUNICIPALITY, _municipalities(places, weights)),
        (_REGION, _capitals(places, weights)),
    ):
        drawn = np.flatnonzero(columns["legal_form"] == _position(forms, form))
        rows, others = drawn[: len(homes)], drawn[len(homes) :]
        columns["place"][rows] = homes[: len(rows)]
        columns["legal_form"][others] = _position(forms, filers().instead[form])
        for column, value in (("state", LIVING), ("dissolved", NO_DAY), ("founded", _FOUNDED)):
            columns[column][rows] = value
        public[rows] = True
    for form, fitting in filers().fitting.items():
        rows = np.flatnonzero(columns["legal_form"] == _position(forms, form))
        for step, (column, codes) in enumerate(fitting.items()):
            options = np.array([_position(tables[column], code) for code in codes])
            lot = columns["name"][rows].astype(np.int64) >> 5 * step
            columns[column][rows] = options[lot % len(codes)]
    rows = np.flatnonzero(public & (columns["legal_form"] == _position(forms, _MUNICIPALITY)))
    sizes = [_position(tables["size"], c) for c in filers().fitting[_MUNICIPALITY]["size"]]
    order = np.argsort([-weights[place] for place in columns["place"][rows]], kind="stable")
    columns["size"][rows[order]] = [sizes[n * len(sizes) // len(rows)] for n in range(len(rows))]
    return public


def _position(codes: Sequence[str], code: str) -> int:
    """Return where a code is in its codelist; behind its end where another one is served."""
    return codes.index(code) if code in codes else len(codes)


def _municipalities(places: Sequence[Place], weights: Sequence[int]) -> list[int]:
    """Return the places that are municipalities, in an order that is none of their codes."""
    found = [row for row in range(len(weights)) if places[row].sidlo is not None]
    return sorted(found, key=lambda row: crc32(str(places[row].sidlo).encode()))


def _capitals(places: Sequence[Place], weights: Sequence[int]) -> list[int]:
    """Return the municipality of most units of each region."""
    rows = sorted(_municipalities(places, weights), key=weights.__getitem__)
    return list({places[row].kraj: row for row in rows if places[row].kraj}.values())
