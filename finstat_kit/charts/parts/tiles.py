"""The tile maps of Slovakia: the grid position of each region and district, and its short name.

Laid out as drawn: north is up, one code per tile, without the leading ``SK``. The
regions of the district grid are in one piece each, and districts that share a border are neighbours
wherever 79 equal tiles allow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Tile(NamedTuple):
    """A place on the grid: column from the west, row from the north."""

    column: int
    row: int
    name_sk: str
    name_en: str


_REGIONS: Final = """
    .    .   022  031  041
   010  021  023  032  042
"""
_REGION_NAMES: Final = {
    "010": ("Bratislavský", "Bratislava"),
    "021": ("Trnavský", "Trnava"),
    "022": ("Trenčiansky", "Trenčín"),
    "023": ("Nitriansky", "Nitra"),
    "031": ("Žilinský", "Žilina"),
    "032": ("Banskobystrický", "Banská Bystrica"),
    "041": ("Prešovský", "Prešov"),
    "042": ("Košický", "Košice"),
}

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
_DISTRICT_NAMES: Final = {
    "0101": "Bratislava\nI",
    "0102": "Bratislava\nII",
    "0103": "Bratislava\nIII",
    "0104": "Bratislava\nIV",
    "0105": "Bratislava\nV",
    "0106": "Malacky",
    "0107": "Pezinok",
    "0108": "Senec",
    "0211": "Dunajská\nStreda",
    "0212": "Galanta",
    "0213": "Hlohovec",
    "0214": "Piešťany",
    "0215": "Senica",
    "0216": "Skalica",
    "0217": "Trnava",
    "0221": "Bánovce\nn. Bebr.",
    "0222": "Ilava",
    "0223": "Myjava",
    "0224": "Nové Mesto\nn. Váhom",
    "0225": "Parti-\nzánske",
    "0226": "Považská\nBystrica",
    "0227": "Prievidza",
    "0228": "Púchov",
    "0229": "Trenčín",
    "0231": "Komárno",
    "0232": "Levice",
    "0233": "Nitra",
    "0234": "Nové\nZámky",
    "0235": "Šaľa",
    "0236": "Topoľčany",
    "0237": "Zlaté\nMoravce",
    "0311": "Bytča",
    "0312": "Čadca",
    "0313": "Dolný\nKubín",
    "0314": "Kysucké\nN. Mesto",
    "0315": "Liptovský\nMikuláš",
    "0316": "Martin",
    "0317": "Námestovo",
    "0318": "Ružom-\nberok",
    "0319": "Turčianske\nTeplice",
    "031A": "Tvrdošín",
    "031B": "Žilina",
    "0321": "Banská\nBystrica",
    "0322": "Banská\nŠtiavnica",
    "0323": "Brezno",
    "0324": "Detva",
    "0325": "Krupina",
    "0326": "Lučenec",
    "0327": "Poltár",
    "0328": "Revúca",
    "0329": "Rimavská\nSobota",
    "032A": "Veľký\nKrtíš",
    "032B": "Zvolen",
    "032C": "Žarnovica",
    "032D": "Žiar\nn. Hronom",
    "0411": "Bardejov",
    "0412": "Humenné",
    "0413": "Kežmarok",
    "0414": "Levoča",
    "0415": "Medzi-\nlaborce",
    "0416": "Poprad",
    "0417": "Prešov",
    "0418": "Sabinov",
    "0419": "Snina",
    "041A": "Stará\nĽubovňa",
    "041B": "Stropkov",
    "041C": "Svidník",
    "041D": "Vranov\nn. Topľou",
    "0421": "Gelnica",
    "0422": "Košice\nI",
    "0423": "Košice\nII",
    "0424": "Košice\nIII",
    "0425": "Košice\nIV",
    "0426": "Košice –\nokolie",
    "0427": "Michalovce",
    "0428": "Rožňava",
    "0429": "Sobrance",
    "042A": "Spišská\nNová Ves",
    "042B": "Trebišov",
}


def _read(drawing: str, names: Mapping[str, tuple[str, str]]) -> dict[str, Tile]:
    return {
        f"SK{code}": Tile(column, row, *names[code])
        for row, line in enumerate(drawing.strip("\n").splitlines())
        for column, code in enumerate(line.split())
        if code != "."
    }


REGIONS: Final = _read(_REGIONS, _REGION_NAMES)
DISTRICTS: Final = _read(_DISTRICTS, {code: (name, name) for code, name in _DISTRICT_NAMES.items()})
LEVELS: Final = {"kraj": REGIONS, "okres": DISTRICTS}
