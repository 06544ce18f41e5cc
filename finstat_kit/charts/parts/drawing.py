"""Shared parts of all charts: axes, colours, the room for a text, and names.

Texts, lines and backgrounds follow the user's style; only marks that show numbers have fixed
colours, visible on white and on black.
"""

from __future__ import annotations

import re
from bisect import bisect_right
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

# Fixed sizes, in points, prevent overlaps under any user style.
TITLE_SIZE: Final = 11
TEXT_SIZE: Final = 9
LONGEST: Final = 40  # letters of a label on a line
LONGEST_BROKEN: Final = 80  # of one that is broken into lines
GROWTH: Final = 1.2  # of the axes, at least, when the figure is laid out to its edges
NARROW: Final = 6.0  # inches; narrower axes have no room for long labels beside them
_BREAKS: Final = re.compile("[/&?-]")  # a word that is longer than a line is divided after these
_MOST_LETTERS: Final = 300  # of a word: more are not measured at once
_MEASURED: Final = 72  # points: the size in which the width of a line is measured
_REGION: Final = r" kraj$|^Region of "  # of a region's label
WORDS: Final = Words("drawing")
BLUE: Final = "#0072b2"  # a number of units, or an increase
ORANGE: Final = "#d55e00"  # a decrease
PALE: Final = "#5598c1"  # the sum of the rest
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
    return MaxNLocator(most, steps=[1, 2, 5, 10], integer=integer, min_n_ticks=1)


def inches(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return box.width / dpi, box.height / dpi


def breadth(line: str, size: float) -> float:
    """Return the width of a line of text in inches."""
    font = FontProperties(size=_MEASURED)
    settings: Any = rcParams  # each of its keys has a type of its own
    families = tuple(tuple(settings.get(f"font.{name}", ())) for name in font.get_family())
    return _breadth(printable(line), font, families) * size / _MEASURED


@lru_cache(10_000)
def _breadth(line: str, font: FontProperties, families: tuple[tuple[str, ...], ...]) -> float:
    """Measure a line, which takes a millisecond; a layout measures each line in several sizes.

    Args:
        line: What is measured.
        font: Where its family is a generic one, rcParams say what that is. Its size is always the
            same: widths are proportional to sizes.
        families: What they say.
    """
    points, _, _ = text_to_path.get_text_width_height_descent(line, font, ismath=False)
    return float(points) / 72


def wrapped(text: str, room: float, size: float) -> list[str]:
    """Break a text into lines of at most *room* inches: at spaces, and in words that are longer."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and breadth(longer := f"{lines[-1]} {word}", size) <= room:
            lines[-1] = longer
        else:
            lines += _divided(word, room, size)
    return lines


def _divided(word: str, room: float, size: float) -> list[str]:
    """Divide a word, such as an address, that is longer than a line: after a sign, else anywhere.

    >>> _divided("https://www.registeruz.sk/cruz-public/domain", 1.5, TEXT_SIZE)
    ['https://', 'www.registeruz.sk/cruz-', 'public/domain']
    """
    lines = []
    while len(word) > 1 and breadth(word[:_MOST_LETTERS], size) > room:
        fit = bisect_right(
            range(2, min(len(word), _MOST_LETTERS)), room,
            key=lambda length: breadth(word[:length], size),
        )  # fmt: skip
        end = fit + 1
        signs = [sign.end() for sign in _BREAKS.finditer(word, 0, end)]
        end = signs[-1] if signs else end
        lines.append(word[:end])
        word = word[end:]
    return [*lines, word]


def in_lines(text: str, number: int, room: float, size: float) -> list[str]:
    """Break a text into at most *number* lines of at most *room* inches, all about as long."""
    part = breadth(text, size) / number
    for width in (1.1 * part, 1.25 * part, 1.4 * part, room):
        lines = wrapped(text, min(width, room), size)
        if len(lines) <= number:
            return lines
    return [*lines[: number - 1], fitted(" ".join(lines[number - 1 :]), room, size)]


def fitted(line: str, room: float, size: float, *, end: int = 0) -> str:
    """Truncate a line to *room* inches, before its last *end* letters."""
    length = max(len(line) - end, 0)
    start, rest = line[:length], line[length:]
    while length > 1 and breadth(shortened(start, length) + rest, size) > room:
        length -= 1
    return shortened(start, length) + rest


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


def names(
    rows: pl.DataFrame,
    lang: Lang,
    *,
    among: pl.DataFrame,
    longest: int = LONGEST,
    short: bool = False,
) -> list[str]:
    """Return the name of each row: its label in our wording, with the code if it repeats.

    A column ``codes`` holds the number of codes summed in a row. With `short`, a region is shown by
    its bare name, unless its label comes from the user.
    """
    words = WORDS[lang]
    worded = pl.col("label").cast(pl.String).replace(wordings())
    rows, among = rows.with_columns(worded), among.with_columns(worded)
    if short:
        short_name = pl.col("label").str.replace(_REGION, "")
        of_regions = pl.when(pl.col("code").is_in(list(tiles.REGIONS))).then(short_name)
        named = {"label": of_regions.otherwise("label")}
        rows, among = rows.with_columns(**named), among.with_columns(**named)
    repeats = Counter(shortened(label, longest) for label in among["label"].drop_nulls())
    texts = []
    for row in rows.iter_rows(named=True):
        code, kind, codes = str(row["code"]), row["kind"], row.get("codes", 1)
        label = shortened(row["label"] or code, longest)
        if kind == "labelled":
            texts.append(f"{label} ({code})" if repeats[label] > 1 else label)
        elif kind == "unknown code" and codes == 1:
            texts.append(f"{words[kind]} {shortened(code, longest)}")
        elif kind in ("rest", "unknown code"):
            word = words["rest"] if kind == "rest" else words["unknown codes"]
            texts.append(f"{word} ({number_format.whole(codes, lang)})")
        else:
            texts.append(words[kind])
    return texts


def all_units(number: int, lang: Lang) -> str:
    """Return a text for all units, in the right grammatical form.

    >>> all_units(1, "sk"), all_units(2, "sk"), all_units(323, "sk")
    ('Jediná jednotka', 'Všetky 2 jednotky', 'Všetkých 323 jednotiek')
    """
    if number == 1:
        return "The only unit" if lang == "en" else "Jediná jednotka"
    every = "All" if lang == "en" else "Všetky" if number in (2, 3, 4) else "Všetkých"
    return f"{every} {number_format.units(number, lang)}"


def signed(number: int, lang: Lang) -> str:
    """Write a whole number with its sign.

    >>> signed(1200, "en"), signed(-3, "en"), signed(0, "en")
    ('+1,200', '−3', '0')
    """
    sign = "+" if number > 0 else "−" if number < 0 else ""
    return sign + number_format.whole(abs(number), lang)


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
