"""Where the units of a sample are: the codelists it serves, municipalities and their weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from finstat_kit.errors import ProtocolError, UsageError
from finstat_kit.protocol.codelists import parse_classification, parse_locations
from finstat_kit.protocol.old_codes import old_code
from finstat_kit.protocol.records import Entry, Locations, decoded
from finstat_kit.protocol.shipped import data_folder, facts
from finstat_kit.protocol.untrusted import NotJson
from finstat_kit.protocol.wire import CODELISTS
from finstat_kit.service.state.store import Place

_CODELISTS: Final = tuple(codelist.endpoint for codelist in CODELISTS.values())
_PLACES: Final = ("kraje", "okresy", "sidla")


class _Weights(msgspec.Struct, frozen=True):
    regions: dict[str, int]  # per mille
    districts: dict[str, int]  # within their region
    largest: list[str]  # municipalities, largest first


def places_of(bodies: Mapping[str, bytes]) -> tuple[list[Place], list[int]]:
    """Return where units can be, and the weight of each place.

    Municipalities as the codelists have them; regions that have none (abroad); then the same
    under their old codes; at the end one place without codes and one with codes in no list.
    """
    shares = facts("weights", _Weights)
    regions, districts, municipalities = (
        decoded(bodies[name], Locations).lokacie for name in _PLACES
    )
    parent = {str(entry.kod): _parent(entry) for entry in districts}
    label = {str(entry.kod): _name(entry) for entry in districts}

    def seat_weight(name: str | None, district: str) -> int:
        return 12 if name == label.get(district) else 1

    inside: dict[str, int] = {}  # the weights of a district's municipalities, added up
    below: dict[str, int] = {}  # and of a region's districts
    for entry in municipalities:
        district = _parent(entry)
        if district in parent and district not in inside:
            share = shares.districts.get(district, 1)
            below[parent[district]] = below.get(parent[district], 0) + share
        inside[district] = inside.get(district, 0) + seat_weight(_name(entry), district)

    places, weights = [], []
    for entry in municipalities:
        code, name, district = str(entry.kod), _name(entry), _parent(entry)
        region = parent.get(district)
        if region is None:  # a municipality without a region: almost no units
            places.append(Place(None, None, code, name))
            weights.append(1)
            continue
        share = shares.regions.get(region, 1) * 10**6 * shares.districts.get(district, 1)
        share = share * seat_weight(name, district) // (below[region] * inside[district])
        places.append(Place(region, district, code, name))
        weights.append(max(share, 1))
    _divide(places, weights, label, shares.largest)
    for region in (str(entry.kod) for entry in regions):
        if region not in below and region in shares.regions:
            places.append(Place(region, None, None, "Zahraničie"))
            weights.append(shares.regions[region] * 10**6)

    old = [_under_old_codes(place) for place in places]
    nowhere = [Place(None, None, None, None), Place("SK099", "SK0999", "SK0999999999", "Neznáma")]
    return [*places, *old, *nowhere], weights


def _divide(
    places: Sequence[Place],
    weights: list[int],
    label: Mapping[str, str | None],
    largest: Sequence[str],
) -> None:
    """Divide the weight of each district among its municipalities: a few are large, many small.

    The first is the seat, the largest ones follow; the n-th has 1 / n^1.5 of the first.
    """
    rows: dict[str, list[int]] = {}
    for row, place in enumerate(places):
        if place.okres is not None:
            rows.setdefault(place.okres, []).append(row)

    def order(row: int) -> tuple[bool, int, int]:
        code, name = str(places[row].sidlo), places[row].mesto
        rank = largest.index(code) if code in largest else len(largest)
        return name != label.get(str(places[row].okres)), rank, crc32(code.encode())

    for within in rows.values():
        whole = sum(weights[row] for row in within)
        parts = [10**9 // isqrt(10**6 * n**3) for n in range(1, len(within) + 1)]
        ranked = sorted(within, key=order)
        for row, part in zip(ranked, parts, strict=True):
            weights[row] = max(whole * part // sum(parts), 1)
        weights[ranked[0]] += whole - sum(weights[row] for row in within)


def _parent(entry: Entry) -> str:
    return "" if entry.nadradenaLokacia is None else str(entry.nadradenaLokacia)


def _name(entry: Entry) -> str | None:
    return None if entry.nazov is None else entry.nazov.sk


def _under_old_codes(place: Place) -> Place:
    kraj, okres, sidlo = (code and (old_code(code) or code) for code in place[:3])
    return Place(kraj, okres, sidlo, place.mesto)


def codelist_bodies(folder: str | Path | None = None) -> dict[str, bytes]:
    """Read the bodies of the codelists; those that *folder* does not have are the sample's."""
    paths = {name: data_folder() / "codelists" / f"{name}.json" for name in _CODELISTS}
    if folder is not None:
        folder_paths = {name: Path(folder) / f"{name}.json" for name in _CODELISTS}
        folder_paths = {name: path for name, path in folder_paths.items() if path.is_file()}
        if not folder_paths:
            raise UsageError(
                "does not contain codelists",
                argument="codelists",
                value=str(folder),
                cure="give one with files such as kraje.json, okresy.json, sidla.json, each the "
                "body of a reply",
            )
        paths |= folder_paths
        for name, path in folder_paths.items():
            _check(path, parse_locations if name in _PLACES else parse_classification)
    return {name: path.read_bytes() for name, path in paths.items()}


def _check(path: Path, parse: Callable[[bytes], object]) -> None:
    """Refuse a file that is not the body of a codelist's reply."""
    try:
        parse(path.read_bytes())
    except (NotJson, ProtocolError) as error:
        what = f"it is {error}" if isinstance(error, NotJson) else str(error)
        raise UsageError(
            f": {path.name} is not the body of a codelist: {what}",
            argument="codelists",
            value=str(path.parent),
            cure=f"save the reply of /api/{path.stem} there, or remove the file",
        ) from None
