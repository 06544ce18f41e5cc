"""Shared parts of all charts: axes, colours, the room for a text, and names.

Texts, lines and backgrounds follow the user's style; only marks that show numbers have fixed
colours, visible on white and on black.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, Final

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import tiles
from finstat_kit.errors import invalid
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol.shipped import data_folder
from finstat_kit.protocol.untrusted import printable

LONGEST: Final = 40  # letters of a name
GROWTH: Final = 1.24  # of the axes, at least, when the figure is laid out to its edges
NARROW: Final = 6.0  # inches; narrower axes have fewer columns
_MEASURED: Final = 72  # points: the size in which the width of a line is measured
_REGION: Final = r" kraj$|^Region of "  # of a region's label
WORDS: Final = Words("drawing")
BLUE: Final = "#0072b2"  # a number of units
PALE: Final = "#5598c1"  # a box of quartiles
GREY: Final = "#8a8a8a"  # rows without a label
NO_VALUE_COLOUR: Final = "#c4c4c4"
# A colour for each code of a short codelist, most of them from Okabe and Ito's set, which
# colour-blind readers can distinguish.
CODE_COLOURS: Final = (
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
    "#b5485d",
    "#4d4d4d",
)
# Colours that a print in grey does not tell apart.
HATCHES: Final = dict(
    zip(
        CODE_COLOURS,
        ("", "//", "..", "\\\\", "xx", "---", "oo", "||", "++", "///", "....", "\\\\\\"),
        strict=True,
    )
)
# Of as many lines, in turn: a line is known by any of three, also where all colours are greys.
DASHES: Final = ("-", "--", "-.", ":")
MARKERS: Final = "osD^vPX<>ph*"
# Low is pale and high is dark on every background: a map means the same wherever it is pasted. The
# darkest is not black, and the palest not white, so that tiles are visible on both.
BLUES: Final = ("#d3e5f4", "#93c1e0", "#4f97c9", "#1b69a8", "#0b4380")  # sizes, and increases
NO_CHANGE_COLOUR: Final = "#f5f0e1"
ORANGES: Final = ("#f8cfae", "#e8894a", "#a6460b")


@contextmanager
def axes(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Yield the given axes, or those of a new figure of the given size in inches.

    A new figure is closed if drawing fails, so that no cell shows an incomplete chart.
    """
    if ax is not None:
        if not isinstance(ax, Axes):
            raise invalid(
                "ax",
                ...,
                f"is a {type(ax).__name__}",
                give="the Axes of a figure, or None for a new one",
            )
        yield ax
        return
    # Imported here only: pyplot keeps its figures in a global that widget threads must not touch.
    from matplotlib import pyplot as plt

    figure, made = plt.subplots(figsize=(width, height), layout="constrained")
    try:
        yield made
    except BaseException:
        plt.close(figure)
        raise


def ticks(most: int, *, integer: bool = False) -> MaxNLocator:
    """Return what places about *most* numbers on an axis, in steps of 1, 2 or 5 and noughts."""
    # One tick is no scale; of whole numbers, such as years, there may be one alone.
    fewest = 1 if integer else 2
    return MaxNLocator(most, steps=[1, 2, 5, 10], integer=integer, min_n_ticks=fewest)


def inches(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return box.width / dpi, box.height / dpi


def points(size: str = "medium") -> float:
    """Return the points of the letters of the present style."""
    return FontProperties(size=size).get_size_in_points()


def title_points() -> float:
    """Return the points of the letters of a title."""
    settings: Any = rcParams  # each of its keys has a type of its own
    return points(settings["axes.titlesize"])


def breadth(line: str, size: float | None = None) -> float:
    """Return the width of a line of text in inches, in the present size of letters or another."""
    settings: Any = rcParams
    font = FontProperties(size=_MEASURED)
    families = tuple(tuple(settings.get(f"font.{name}", ())) for name in font.get_family())
    return _breadth(printable(line), font, families) * (size or points()) / _MEASURED


@lru_cache(10_000)
def _breadth(line: str, font: FontProperties, families: tuple[tuple[str, ...], ...]) -> float:
    """Measure a line, which takes a millisecond.

    Args:
        line: What is measured.
        font: Where its family is a generic one, rcParams say what that is. Its size is always the
            same: widths are proportional to sizes.
        families: What they say.
    """
    points, _, _ = text_to_path.get_text_width_height_descent(line, font, ismath=False)
    return float(points) / 72


def wrapped(text: str, room: float, size: float | None = None) -> list[str]:
    """Break a text at spaces, into lines of at most *room* inches where its words allow it."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and breadth(longer := f"{lines[-1]} {word}", size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def literal(text: str) -> str:
    """Return a text that matplotlib draws literally: ``$`` does not start a formula."""
    return printable(text).replace("$", r"\$")


def shortened(text: str, longest: int = LONGEST) -> str:
    """Truncate a text that is too long for a label."""
    line = " ".join(text.splitlines())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


@cache
def wordings() -> dict[str, str]:
    """Return how charts word the labels that the register cuts short; any other label stays.

    >>> wordings()["Reg.of Banská Bystrica"]
    'Region of Banská Bystrica'
    """
    text = (data_folder() / "facts" / "labels.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines()[1:])


def bare(label: pl.Expr, code: pl.Expr) -> pl.Expr:
    """Return labels, those of regions without the word for one."""
    is_region = code.is_in(list(tiles.REGIONS))
    return pl.when(is_region).then(label.str.replace(_REGION, "")).otherwise(label)


def names(rows: pl.DataFrame, lang: Lang, *, among: pl.DataFrame) -> list[str]:
    """Return the name of each row: its label in our wording, with the code if it repeats.

    A column ``codes`` holds the number of codes summed in a row. A region is shown by its bare
    name, unless its label comes from the user.
    """
    words = WORDS[lang]
    worded = pl.col("label").cast(pl.String).replace(wordings())
    label = bare(worded, pl.col("code"))
    rows, among = rows.with_columns(label=label), among.with_columns(label=label)
    repeats = Counter(map(shortened, among["label"].drop_nulls()))
    texts = []
    for row in rows.iter_rows(named=True):
        code, kind, codes = str(row["code"]), row["kind"], row.get("codes", 1)
        label_text = shortened(row["label"] or code)
        if kind == "labelled":
            repeated = repeats[label_text] > 1
            texts.append(f"{label_text} ({code})" if repeated else label_text)
        elif kind == "unknown code" and codes == 1:
            texts.append(f"{words[kind]} {shortened(code)}")
        elif kind == "unknown code":
            texts.append(f"{words['unknown codes']} ({number_format.whole(codes, lang)})")
        else:
            texts.append(words[kind])
    return texts


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
