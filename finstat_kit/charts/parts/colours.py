"""The colours of the charts: constants, gradation, and legible text on them.

Texts, lines and backgrounds follow the user's style; only marks that show numbers have fixed
colours, visible on white and on black.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

BLUE: Final = "#0072b2"  # a number of units, or an increase
ORANGE: Final = "#d55e00"  # a decrease
PALE: Final = "#5598c1"  # the sum of the rest
GREY: Final = "#8a8a8a"  # rows without a label
NO_VALUE: Final = "#c4c4c4"

# A colour for each code of a short codelist, most of them from Okabe and Ito's set, which
# colour-blind readers can distinguish.
OF_CODES: Final = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#8a6fd1",
    "#a3a300",
    "#8c564b",
    "#7fbfb0",
)

# Low is pale and high is dark on every background: a map means the same wherever it is pasted. The
# darkest is not black, and the palest not white, so that tiles are visible on both.
BLUES: Final = ("#d3e5f4", "#93c1e0", "#4f97c9", "#1b69a8", "#0b4380")  # sizes, and increases
NO_CHANGE: Final = "#f5f0e1"
FALLS: Final = ("#f8cfae", "#e8894a", "#a6460b")


def ink(ax: Axes) -> str:
    """Return the text colour of the style in which the axes were created."""
    return to_hex(ax.xaxis.label.get_color())


def ink_on(colour: str) -> str:
    """Return black or white, whichever has more contrast on a colour."""
    return max("black", "white", key=lambda one: contrast(one, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, 1 to 21.

    >>> contrast("white", "black")
    21.0
    """
    dark, light = sorted(map(_luminance, (one, other)))
    return round((light + 0.05) / (dark + 0.05), 9)


def graded(colours: Sequence[str], number: int) -> list[str]:
    """Return *number* evenly spaced colours of a scale."""
    if number == 1:
        return [colours[len(colours) // 2]]
    scale = LinearSegmentedColormap.from_list("scale", list(colours))
    return [to_hex(scale(n / (number - 1))) for n in range(number)]


def _luminance(colour: str) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
