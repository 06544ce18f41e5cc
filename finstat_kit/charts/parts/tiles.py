"""The tile maps of Slovakia: places on the grid and their short names.

Laid out as drawn: north is up, one code per tile, without the leading ``SK``. The
regions of the district grid are in one piece each, and districts that share a border are neighbours
wherever 79 equal tiles allow it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from finstat_kit.frames.text.catalogue import Words

_REGIONS: Final = """
    .    .   022  031  041
   010  021  023  032  042
"""
_DISTRICTS: Final = """
   .    .    .    .    .    .  0312   .    .    .    .    .    .    .
   .    .    .    .    .    .  0314 0317   .    .  041A   .  041C 0415
   .    .    .    .  0228 0311 031B 0313 031A 0413 0418 0411 041B 0412
   .    .    .  0229 0222 0226 0316 0318 0315 0416 0414 0417 041D 0419
   .  0216 0223 0224 0221 0227 0319 0321 0323 042A 0421 0426 0427 0429
 0106 0215 0214 0213 0236 0225 032D 032B 0324 0328 0428 0422 0424 042B
 0104 0107 0217 0212 0233 0237 032C 0322 0327 0329   .  0423 0425   .
 0101 0103 0108 0211 0235 0232 0325 032A 0326   .    .    .    .    .
 0105 0102   .    .  0231 0234   .    .    .    .    .    .    .    .
"""
# At most two lines; a name of ten letters and more is divided or shortened.
NAMES: Final = Words("tiles")
# Where tiles are small, as on a map of a column in print; of districts those of number plates.
SHORT_NAMES: Final = Words("short tiles")


class Tile(NamedTuple):
    """A place on the grid: column from the west, row from the north."""

    column: int
    row: int


def _read(drawing: str) -> dict[str, Tile]:
    return {
        f"SK{code}": Tile(column, row)
        for row, line in enumerate(drawing.strip("\n").splitlines())
        for column, code in enumerate(line.split())
        if code != "."
    }


REGIONS: Final = _read(_REGIONS)
DISTRICTS: Final = _read(_DISTRICTS)
LEVELS: Final = {"kraj": REGIONS, "okres": DISTRICTS}
