"""Text in a tile, as large as the tile allows."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text
from matplotlib.transforms import Bbox


class TileText(Text):
    """A text whose size follows that of its tile, so that it fits in a figure of any size."""

    def __init__(
        self, ax: Axes, xy: tuple[float, float], text: str, size: float, width: float, ink: str
    ) -> None:
        self._in = ax
        super().__init__(*xy, text, color=ink, ha="center", va="center", linespacing=1.15)
        self._height = size  # height of a letter by that of a tile
        self._width = max(width, 0.1)  # width of the longest text by the height of a letter

    def _fit(self) -> None:
        (left, top), (right, bottom) = self._in.transData.transform([(0, 0), (1, 1)])
        high, wide = abs(bottom - top), abs(right - left)
        pixels = float(min(self._height * high, 0.88 * wide / self._width))
        self.set_fontsize(max(pixels * 72 / self._in.figure.dpi, 0.1))

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
