"""Where the units of a sample are: the codelists it serves, municipalities and their weights."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import isqrt
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from finstat_kit.errors import ProtocolError, invalid
from finstat_kit.protocol.old_codes import old_code
from finstat_kit.protocol.records import Classification, Entry, Locations, decoded
from finstat_kit.protocol.shipped import data_folder, facts
from finstat_kit.protocol.untrusted import NotJson
from finstat_kit.service.state.store import Place, position_of

_PLACES: Final = ("kraje", "okresy", "sidla")
Entries = Mapping[str, Sequence[Entry]]  # of the codelists, by the name of their endpoint


class _Weights(msgspec.Struct, frozen=True):
    regions: dict[str, int]  # per mille
    districts: dict[str, int]  # within their region
    largest: list[str]  # municipalities, largest first


def places_of(entries: Entries) -> tuple[list[Place], list[int]]:
    """Return where units can be, and the weight of each place.

    Municipalities as the codelists have them; regions that have none (abroad); then the same
    under their old codes; at the end one place without codes and one with codes in no list.
    """
    shares = facts("weights", _Weights)
    regions, districts, municipalities = (entries[name] for name in _PLACES)
    parent = {str(entry.kod): _parent(entry) for entry in districts}
    label = {str(entry.kod): _name(entry) for entry in districts}
    places, rows_of = [], defaultdict[str, list[int]](list)
    for row, entry in enumerate(municipalities):
        district = _parent(entry)
        region = parent.get(district)
        known = None if region is None else district
        places.append(Place(region, known, str(entry.kod), _name(entry)))
        if known is not None:
            rows_of[known].append(row)
    weights = [1] * len(places)  # of a municipality without a region: almost no units
    below = Counter[str]()  # the weights of a region's districts, added up
    for district in rows_of:
        below[parent[district]] += shares.districts.get(district, 1)

    def order(row: int) -> tuple[bool, int, int]:
        _, district, code, name = places[row]
        rank = position_of(str(code), shares.largest)
        return name != label[str(district)], rank, crc32(str(code).encode())

    for district, rows in rows_of.items():
        region = parent[district]
        share = shares.regions.get(region, 1) * 10**6 * shares.districts.get(district, 1)
        seats = [12 if places[row].mesto == label[district] else 1 for row in rows]
        all_seats = below[region] * sum(seats)
        whole = sum(max(share * seat // all_seats, 1) for seat in seats)
        # The seat first, then the largest.
        for row, weight in zip(sorted(rows, key=order), divided(whole, len(rows)), strict=True):
            weights[row] = weight
    for region in (str(entry.kod) for entry in regions):
        if region not in below and region in shares.regions:
            places.append(Place(region, None, None, "Zahraničie"))
            weights.append(shares.regions[region] * 10**6)

    old = [_under_old_codes(place) for place in places]
    nowhere = [Place(None, None, None, None), Place("SK099", "SK0999", "SK0999999999", "Neznáma")]
    return [*places, *old, *nowhere], weights


def divided(whole: int, number: int) -> list[int]:
    """Divide the weight of a district among its municipalities: a few are large, many small.

    The n-th has 1 / n^1.5 of the first.
    """
    parts = [10**9 // isqrt(10**6 * n**3) for n in range(1, number + 1)]
    weights = [max(whole * part // sum(parts), 1) for part in parts]
    return [whole - sum(weights[1:]), *weights[1:]]


def _parent(entry: Entry) -> str:
    return "" if entry.nadradenaLokacia is None else str(entry.nadradenaLokacia)


def _name(entry: Entry) -> str | None:
    return None if entry.nazov is None else entry.nazov.sk


def _under_old_codes(place: Place) -> Place:
    kraj, okres, sidlo = (code and (old_code(code) or code) for code in place[:3])
    return Place(kraj, okres, sidlo, place.mesto)


def codelist_bodies(folder: str | Path | None = None) -> dict[str, bytes]:
    """Read the bodies of the codelists; those that *folder* does not have are the sample's."""
    paths = {path.name: path for path in (data_folder() / "codelists").glob("*.json")}
    if folder is not None:
        own = {path.name: path for path in Path(folder).glob("*.json") if path.name in paths}
        if not own:
            raise invalid("codelists", str(folder), f"has none of the files {sorted(paths)}")
        paths |= own
    return {path.stem: path.read_bytes() for path in paths.values()}


def entries_of(bodies: Mapping[str, bytes]) -> Entries:
    """Return the entries of codelists, from their bodies.

    Raises:
        UsageError: A body is not that of a codelist.
    """
    entries: dict[str, Sequence[Entry]] = {}
    for name, body in bodies.items():
        try:
            if name in _PLACES:
                entries[name] = decoded(body, Locations).lokacie
            else:
                entries[name] = decoded(body, Classification).klasifikacie
        except (NotJson, ProtocolError) as error:
            fault = f"has a {name}.json that is not the body of a codelist: {error}"
            raise invalid("codelists", ..., fault) from None
    return entries
