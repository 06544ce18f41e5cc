"""A tile map of Slovakia: a tile for each region or district, coloured by a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox, ScaledTranslation

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.charts import drawing, map_values, tiles
from finstat_kit.charts.drawing import INK, TEXT_SIZE
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames import labels, number_format
from finstat_kit.frames.counts import KINDS

_NO_VALUE: Final = "#dedede"
_ONE_ROW: Final = 6.0  # inches of axes that the legend needs for one row
_ABSENT: Final = {"bare": "–", "zero": "0"}
_MOST_NAMED: Final = 4  # codes without a tile
_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "other": "{value} podľa {by}",
        "count": "počet jednotiek",
        "quantiles": ", triedy podľa kvantilov",
        "none": "žiadna jednotka",
        "missing": "bez hodnoty",
        "off": "Mimo mapy: ",
        "more": "ďalšie kódy",
    },
    "en": {
        "other": "{value} by {by}",
        "count": "number of units",
        "quantiles": ", classes by quantiles",
        "none": "no units",
        "missing": "no value",
        "off": "Not on the map: ",
        "more": "further codes",
    },
}


class _Grid(NamedTuple):
    tiles: Mapping[str, tiles.Tile]
    colours: Sequence[str]  # light to dark: classes of about equally many tiles
    inches: tuple[float, float]
    text: float  # height of a letter by that of a tile
    lines: tuple[float, float]  # where name and number stand between the edges of a tile


# Five classes of viridis, and four where there are but eight tiles.
_GRIDS: Final = {
    "kraj": _Grid(
        tiles.REGIONS, ("#c2df23", "#35b779", "#2e6f8e", "#46327e"), (8, 3.9), 0.125, (0.38, 0.66)
    ),
    "okres": _Grid(
        tiles.DISTRICTS,
        ("#d8e219", "#6ece58", "#1f9e89", "#31688e", "#482878"),
        (10, 6.4),
        0.17,
        (0.36, 0.78),
    ),
}


def plot_map(
    frame: labels.Frame,
    by: Literal["kraj", "okres"] = "kraj",
    *,
    value: str = "count",
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw a tile map of Slovakia: equal tiles, 8 regions or 79 districts, coloured by class.

    The classes hold about equally many tiles each (quantiles), equal values are in one class, and
    the legend gives the least and the greatest value in each. What has no tile (abroad, unknown
    codes, no code, gone) is told under the map. Raw counts show where people live; for anything
    else divide them, by inhabitants for instance, and give the result as *value*.

    Args:
        frame: Units, counts as `count_by` returns them, or any frame with ``code`` and *value*.
        by: Level of the codes.
        value: Column of numbers to draw; null, NaN and infinite mean that there is no value.
        lang: Language of title, numbers, region names and legend, ``"sk"`` or ``"en"``; None is the
            register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"`` so that the legend
            below finds room. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one, and
            numbers that are given need none.

    Returns:
        The Axes. Tiles without a value are grey.

    Raises:
        UsageError: An argument is wrong, a column is missing, a code stands twice, or the codes
            are of the other level.

    Example:
        >>> import finstat_kit as fk
        >>> import polars as pl
        >>> rates = pl.DataFrame({"code": ["SK010", "SK042"], "per_1000": [61.2, 30.5]})
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_map(rates, value="per_1000", lang="en")
        >>> print(ax.get_title())
        per_1000 by region
        sample (invented) data
    """
    source, lang = current.drawn_from(register, lang)
    arguments.one_of("by", by, tuple(_GRIDS))
    grid = _GRIDS[by]
    table = map_values.of_frame(frame, by, value, lang, source)
    tiled = pl.col("code").is_in(list(grid.tiles)).fill_null(value=False)
    of_units = value == "count"
    if of_units:
        heading, measure = drawing.WORDS[lang]["by"], _WORDS[lang]["count"]
        units = int(table["value"].sum())
    else:
        heading, measure, units = _WORDS[lang]["other"], value, None
    write = map_values.writer(table["value"], lang)
    given = "code" in labels.schema_of(frame)
    missing = ("bare", "missing") if given else ("zero", "none")

    ax = drawing.axes(ax, *grid.inches)
    drawing.title(ax, heading.format(value=value, by=drawing.WORDS[lang][by]), lang, source, units)
    legend = _draw_tiles(ax, grid, map_values.by_code(table.filter(tiled)), write, missing, lang)
    _draw_borders(ax, grid)
    classed = _WORDS[lang]["quantiles"] if len(legend) > 2 else ""
    rows = _draw_legend(ax, legend, measure + classed)
    _tell_the_rest(ax, _off_the_map(table.filter(~tiled), write, lang, of_units), rows)
    return ax


def _draw_tiles(
    ax: Axes,
    grid: _Grid,
    values: Mapping[str, float],
    write: Callable[[float], str],
    missing: tuple[str, str],
    lang: Lang,
) -> list[tuple[str, str]]:
    """Draw the tiles and return colour and text of each entry of the legend."""
    found = map_values.classes(list(values.values()), len(grid.colours))
    colours = _spread(grid.colours, len(found))
    colour_of = {value: colour for colour, c in zip(colours, found, strict=True) for value in c}
    named = {
        code: tile.name_sk if lang == "sk" else tile.name_en for code, tile in grid.tiles.items()
    }
    written = {
        code: write(values[code]) if code in values else _ABSENT[missing[0]] for code in grid.tiles
    }
    # One size for all names and one for all numbers: that of the longest.
    name_width = max(
        drawing.breadth(line, 72) for name in named.values() for line in name.split("\n")
    )
    number_width = max(drawing.breadth(number, 72) for number in set(written.values()))
    for code, tile in grid.tiles.items():
        x, y = tile.column, tile.row
        colour = colour_of[values[code]] if code in values else _NO_VALUE
        ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        ink = "white" if _is_dark(colour) else INK
        ax.add_artist(
            _TileText(ax, (x + 0.5, y + grid.lines[0]), named[code], grid.text, name_width, ink)
        )
        ax.add_artist(
            _TileText(ax, (x + 0.5, y + grid.lines[1]), written[code], grid.text, number_width, ink)
        )
    # Tiles fill the axes: in axes of a fixed shape constrained layout cuts off what hangs below.
    ax.set_xlim(0, 1 + max(tile.column for tile in grid.tiles.values()))
    ax.set_ylim(1 + max(tile.row for tile in grid.tiles.values()), 0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    bounds = [
        write(c[0]) if write(c[0]) == write(c[-1]) else f"{write(c[0])} – {write(c[-1])}"
        for c in found
    ]
    entries = list(zip(colours, bounds, strict=True))
    if len(values) < len(grid.tiles):
        entries.append((_NO_VALUE, _WORDS[lang][missing[1]]))
    return entries


def _spread(colours: Sequence[str], number: int) -> list[str]:
    """Return so many of the colours, as far apart as they are."""
    if number == 1:
        return [colours[len(colours) // 2]]
    return [colours[round(n * (len(colours) - 1) / (number - 1))] for n in range(number)]


def _is_dark(colour: str) -> bool:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    luminance: float = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return luminance < 0.26


def _draw_borders(ax: Axes, grid: _Grid) -> None:
    """Draw a line round each region, where tiles are districts."""
    region = {(tile.column, tile.row): code[:5] for code, tile in grid.tiles.items()}
    if len(set(region.values())) == len(region):
        return
    lines = []
    for (x, y), code in region.items():
        sides = {(x - 1, y): (0, 0, 0, 1), (x + 1, y): (1, 0, 1, 1)}
        sides |= {(x, y - 1): (0, 0, 1, 0), (x, y + 1): (0, 1, 1, 1)}
        for beside, (x0, y0, x1, y1) in sides.items():
            if region.get(beside) != code:
                lines.append([(x + x0, y + y0), (x + x1, y + y1)])
    ax.add_collection(
        LineCollection(lines, colors=INK, linewidths=1.1, capstyle="projecting", clip_on=False)
    )


def _draw_legend(ax: Axes, entries: Sequence[tuple[str, str]], heading: str) -> int:
    """Draw the legend below the tiles and return how many rows it has."""
    columns = len(entries) if drawing.inches(ax)[0] >= _ONE_ROW else 3
    below = ax.transAxes + ScaledTranslation(0, -7 / 72, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        [Patch(facecolor=colour) for colour, _ in entries],
        [text for _, text in entries],
        title=drawing.literal(heading), title_fontsize=TEXT_SIZE, alignment="left",
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0,
        borderpad=0, ncols=columns, frameon=False, fontsize=TEXT_SIZE, labelcolor=INK,
        columnspacing=1.6, handlelength=1.4,
    )  # fmt: skip
    legend.get_title().set_color(INK)
    return -(-len(entries) // columns)


def _off_the_map(table: pl.DataFrame, write: Callable[[float], str], lang: Lang, add: bool) -> str:
    """Tell what has no tile: the codes that have labels by name, the others by kind."""
    labelled = table.filter(pl.col("kind") == "labelled").sort(
        "value", "code", descending=[True, False], nulls_last=True
    )
    named = labelled.head(_MOST_NAMED)
    told = [
        (name, named["value"].slice(row, 1))
        for row, name in enumerate(drawing.names(named, lang, among=table))
    ]
    more = labelled.slice(_MOST_NAMED)
    if more.height:
        told.append(
            (f"{_WORDS[lang]['more']} ({number_format.whole(more.height, lang)})", more["value"])
        )
    for kind in KINDS[1:]:
        group = table.filter(pl.col("kind") == kind)
        if group.height:
            first = group.head(1).with_columns(pl.lit(group.height).alias("codes"))
            told.append((drawing.names(first, lang, among=table)[0], group["value"]))
    # Values other than counts cannot be added up.
    parts = [
        f"{name}: {write(float(values.sum()))}"
        if (add or values.len() == 1) and values.count()
        else name
        for name, values in told
    ]
    return _WORDS[lang]["off"] + "; ".join(parts) + "." if parts else ""


def _tell_the_rest(ax: Axes, text: str, rows: int) -> None:
    """Write a text under the legend of so many rows."""
    lines = drawing.wrapped(text, drawing.inches(ax)[0] * drawing.GROWTH, TEXT_SIZE)
    ax.set_xlabel(
        drawing.literal("\n".join(lines)), labelpad=TEXT_SIZE * (1.9 * rows + 2.3),
        fontsize=TEXT_SIZE, color=INK, x=0, ha="left", linespacing=1.3,
    )  # fmt: skip


class _TileText(Text):
    """A text whose size follows that of its tile, so that it fits in a figure of any size."""

    def __init__(
        self, ax: Axes, xy: tuple[float, float], text: str, size: float, width: float, ink: str
    ) -> None:
        self._in = ax
        super().__init__(*xy, text, color=ink, ha="center", va="center", linespacing=1.15)
        self._height = size  # of a letter, by that of a tile
        self._width = max(width, 0.1)  # of the longest text, by the height of a letter

    def _fit(self) -> None:
        (left, top), (right, bottom) = self._in.transData.transform([(0, 0), (1, 1)])
        high, wide = abs(bottom - top), abs(right - left)
        pixels = float(min(self._height * high, 0.88 * wide / self._width))
        self.set_fontsize(max(pixels * 72 / self._in.figure.dpi, 0.1))

    def draw(self, renderer: RendererBase) -> None:
        self._fit()
        super().draw(renderer)

    def get_window_extent(
        self, renderer: RendererBase | None = None, dpi: float | None = None
    ) -> Bbox:
        self._fit()
        return super().get_window_extent(renderer, dpi)
