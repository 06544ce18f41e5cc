"""What is in a picture: its texts, bars and tiles, and whether all of it can be read."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text


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


def laid_out(ax: Axes) -> RendererAgg:
    """Lay everything out as drawing does, which takes far longer; return what measures it."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    # Its canvas from here on: what measures the texts below is what has measured them already.
    agg = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    renderer: RendererAgg = agg.get_renderer()  # type: ignore[no-untyped-call]
    return renderer


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


def extent(text: Text, renderer: RendererAgg) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the extent of the letters; a line that joins them to a point is none of them."""
    if isinstance(text, Annotation):
        return np.asarray(Text.get_window_extent(text, renderer).extents)
    return np.asarray(text.get_window_extent(renderer).extents)


def check_legible(ax: Axes) -> RendererAgg:
    """Every text lies inside the picture and on no other text; return what measured them."""
    renderer = laid_out(ax)
    names = [text.get_text() for text in texts(ax)]
    boxes = [extent(text, renderer) for text in texts(ax)]
    assert boxes
    x0, y0, x1, y1 = np.array(boxes).T
    whole = ax.figure.bbox
    outside = (x0 < whole.x0 - 1) | (x1 > whole.x1 + 1) | (y0 < -1) | (y1 > whole.y1 + 1)
    width = np.minimum.outer(x1, x1) - np.maximum.outer(x0, x0)
    height = np.minimum.outer(y1, y1) - np.maximum.outer(y0, y0)
    over = np.argwhere(np.triu((width > 1) & (height > 1), k=1))

    assert [names[at] for at in np.flatnonzero(outside)] == []
    assert [(names[one], names[other]) for one, other in over] == []
    return renderer


def bars(ax: Axes) -> dict[str, float]:
    """Return the length of each bar by its name."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = [patch.get_width() for patch in ax.patches if isinstance(patch, Rectangle)]
    assert len(set(names)) == len(names)
    return dict(zip(names, widths, strict=True))


def written(ax: Axes) -> str:
    """Return what a chart says: in the picture, and the notes that had no room there."""
    return "\n".join([*(text.get_text() for text in texts(ax)), *getattr(ax, "notes", [])])


def notes(ax: Axes) -> str:
    """Return all notes of a chart."""
    return " ".join(getattr(ax, "notes", []))


def tile_numbers(ax: Axes) -> list[str]:
    """Return the last line of each tile, in the order of the grid."""
    return [text.get_text().split("\n")[-1] for text in ax.texts]
