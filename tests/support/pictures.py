"""What is in a picture: its texts, bars and tiles, and whether all of it can be read."""

from __future__ import annotations

from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from finstat_kit.charts.tile_text import TileText


def axes(width: float = 8, height: float = 5) -> Axes:
    """Return axes of a bare figure, of which pyplot knows nothing."""
    return Figure((width, height), layout="constrained").subplots()


def own(number: int) -> Axes:
    """Return axes as tall as those that a chart makes for so many bars."""
    return axes(8, 1.3 + 0.27 * max(number, 3))


def drawn(ax: Axes) -> FigureCanvasAgg:
    figure = ax.figure
    assert isinstance(figure, Figure)
    agg = FigureCanvasAgg(figure)
    agg.draw()  # type: ignore[no-untyped-call]
    return agg


def texts(ax: Axes) -> list[Text]:
    """Return every text that is drawn; ticks beyond the ends of an axis are not."""
    panels = [ax, *(child for child in ax.child_axes if isinstance(child, Axes))]
    beyond = {
        id(label)
        for one in panels
        for axis, (low, high), at in (
            (one.xaxis, one.get_xlim(), 0),
            (one.yaxis, one.get_ylim(), 1),
        )
        for label in axis.get_ticklabels()
        if not min(low, high) <= label.get_position()[at] <= max(low, high)
    }
    return [
        text
        for text in ax.findobj(Text)
        if isinstance(text, Text)
        and text.get_visible()
        and text.get_text().strip()
        and id(text) not in beyond
    ]


def check_legible(ax: Axes) -> None:
    """Every text lies inside the picture and on no other text."""
    agg = drawn(ax)
    renderer = agg.get_renderer()  # type: ignore[no-untyped-call]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts(ax)]
    whole = ax.figure.bbox
    cut_off = [
        text
        for text, box in boxes
        if box.x0 < whole.x0 - 1 or box.x1 > whole.x1 + 1 or box.y0 < -1 or box.y1 > whole.y1 + 1
    ]
    over = [(a, b) for (a, box), (b, other) in combinations(boxes, 2) if _overlap(box, other)]

    assert boxes
    assert cut_off == []
    assert over == []


def _overlap(one: Bbox, other: Bbox) -> bool:
    common = Bbox.intersection(one, other)
    return common is not None and common.width > 1 and common.height > 1


def bars(ax: Axes) -> dict[str, float]:
    """Return the length of each bar by its name."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = [patch.get_width() for patch in ax.patches if isinstance(patch, Rectangle)]
    assert len(set(names)) == len(names)
    return dict(zip(names, widths, strict=True))


def written(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in texts(ax))


def tile_numbers(ax: Axes) -> list[str]:
    """Return what is written in the lower half of each tile, in the order of the grid."""
    return [text.get_text() for text in texts(ax) if isinstance(text, TileText)][1::2]
