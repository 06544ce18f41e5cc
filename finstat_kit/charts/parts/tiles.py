"""The tile maps of Slovakia: places on the grid, their short names, a text that fits its tile.

Laid out as drawn: north is up, one code per tile, without the leading ``SK``. The
regions of the district grid are in one piece each, and districts that share a border are neighbours
wherever 79 equal tiles allow it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text
from matplotlib.transforms import Bbox

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
_LEAST: Final = 7.0  # points that are read in print
_LINE: Final = 1.15  # of the height of a line
_PART: Final = 0.92  # of the width of a tile that texts take, at most


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


class Choice(NamedTuple):
    """A text of a tile.

    Attributes:
        text: The text.
        width: Of the longest one of the map, by the height of a letter.
        lines: Of all texts of a tile, at most, with this one.
    """

    text: str
    width: float
    lines: int


class TileText(Text):
    """A text whose size follows that of its tile, so that it fits in a figure of any size.

    It has seven points at least where a choice has room for them: else the last is drawn as large
    as fits, or one that may be left out is not drawn.
    """

    def __init__(
        self,
        ax: Axes,
        xy: tuple[float, float],
        choices: Sequence[Choice],
        size: float,
        ink: str,
        *,
        optional: bool = False,
    ) -> None:
        self._in = ax
        super().__init__(
            *xy, choices[0].text, color=ink, ha="center", va="center", linespacing=_LINE
        )
        self._height = size  # height of a letter by that of a tile
        self._choices = choices
        self._optional = optional
        self._middle = math.floor(xy[1]) + 0.5

    def _fit(self) -> None:
        (left, top), (right, bottom) = self._in.transData.transform([(0, 0), (1, 1)])
        points = 72 / self._in.figure.dpi
        high, wide = abs(bottom - top) * points, abs(right - left) * points
        for choice in self._choices:
            widest = _PART * wide / max(choice.width, 0.1)
            size = min(max(self._height * high, _LEAST), widest)
            fits = size >= _LEAST and choice.lines * _LINE * size <= high
            if fits:
                break
        self.set_text(choice.text)
        self.set_fontsize(max(min(size, high / _LINE), 0.1))
        self.set_visible(fits or not self._optional)
        if not fits and not self._optional:
            self.set_y(self._middle)

    def draw(self, renderer: RendererBase) -> None:
        """Draw it in the size that fits now."""
        self._fit()
        super().draw(renderer)

    def get_window_extent(
        self, renderer: RendererBase | None = None, dpi: float | None = None
    ) -> Bbox:
        """Return its extent in the size that fits now."""
        self._fit()
        return super().get_window_extent(renderer, dpi)
