"""A tile map of Slovakia: one tile per region or district, coloured by a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, texts, tiles
from finstat_kit.charts.parts.tiles import Choice, TileText
from finstat_kit.charts.values import classes as scales, drawn_table
from finstat_kit.client.register import Register
from finstat_kit.frames.places import labels
from finstat_kit.frames.text.catalogue import Words

_MOST_NAMED: Final = 4  # codes without a tile
_FEW: Final = 20  # districts with a value, below which regions show more
_WORDS: Final = Words("plot_map")


class _Grid(NamedTuple):
    tiles: Mapping[str, tiles.Tile]
    classes: int
    inches: tuple[float, float]
    text: float  # height of a letter by that of a tile
    lines: tuple[float, float]  # positions of name and number in a tile
    two_lines: tuple[float, float]  # positions if an interval is below the number


_GRIDS: Final = {
    "kraj": _Grid(tiles.REGIONS, 4, (8, 3.9), 0.125, (0.38, 0.66), (0.34, 0.68)),
    "okres": _Grid(tiles.DISTRICTS, 5, (10, 6.4), 0.17, (0.36, 0.78), (0.29, 0.73)),
}


@arguments.checked_call
def plot_map(
    frame: labels.Frame,
    *,
    by: Literal["kraj", "okres"] = "kraj",
    value: str | None = None,
    statistic: str | None = None,
    per: str | None = None,
    classes: Sequence[float] | None = None,
    title: str | None = None,
    note: str | None = None,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw a tile map of Slovakia: equal tiles, 8 regions or 79 districts, coloured by class.

    The classes are natural breaks (Jenks), 4 for regions and 5 for districts: unlike quantiles,
    they give similar values one colour and outliers their own. The legend gives the smallest and
    the largest value of each class. Differences, and columns with negative values, are graded
    around zero: decreases in orange, increases in blue, equal sizes equally deep. Rows without a
    tile (abroad, unknown codes, no code, gone) are listed under the map. Raw counts mostly show
    where people live; to show anything else, divide them, for instance by inhabitants, and give
    the result as *value*.

    Args:
        frame: Units, counts as `count_by` returns them, an estimate as `estimate` returns it, any
            frame with ``code`` and *value*, financials, ratios, or a summary as `summary` returns
            it: the values and the notes below are then those of `plot_spread`, and codes of fewer
            than five units have none.
        by: Level of the codes.
        value: Column of numbers, item or ratio to draw; null, NaN, infinity and numbers beyond
            ±1e100 mean no value. None is the number of units, or the only value of a
            summary.
        statistic: What is drawn of an item or a ratio: ``"sum"`` or another column of numbers of
            `summary`. None is the median. Medians of units are of all their years; any other
            statistic is of one.
        per: Unit of the numbers, for the legend: ``"per 1,000 inhabitants"``. With it, a column
            ``count`` is a value like any other, not a number of units.
        classes: Upper bounds of the classes, 1 to 8 ascending numbers, for maps side by side: a
            bound belongs to the class below it, the last class is above all bounds, and the legend
            lists every class. The colours depend on the bounds alone: with a negative one the scale
            is centred on zero.
        title: Replaces the heading, with which the notes of figures then begin; the number of
            units below it stays.
        note: Written below the notes of the chart.
        lang: Language of title, numbers, region names and legend, ``"sk"`` or ``"en"``; None is the
            register's.
        ax: Axes to draw on; their figure needs ``layout="constrained"`` to make room for the
            legend below. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one, if any is
            needed: counts and values need none.

    Returns:
        The Axes. Tiles without a value are grey.

    Raises:
        UsageError: An argument is wrong, a column is missing, a code appears twice, the codes
            belong to the other level, the frame was made by another field than *by*, or it has
            individual and consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> import polars as pl
        >>> rates = pl.DataFrame({"code": ["SK010", "SK042"], "per_1000": [61.2, 30.5]})
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_map(rates, value="per_1000", lang="en")
        >>> print(ax.get_title())
        per 1000 by region
    """
    captions = texts.captions(register, lang, title, note)
    source, lang = captions.source, captions.lang
    by = labels.field(by, _GRIDS)
    for name, text in (("value", value), ("statistic", statistic), ("per", per)):
        if text is not None:
            arguments.text(name, text)
    grid = _GRIDS[by]
    tops = None if classes is None else scales.bounds(classes)
    table = drawn_table.of_places(frame, by, value, statistic, per, lang, source)
    is_tiled = pl.col("code").is_in(list(grid.tiles)).fill_null(value=False)
    tiled, others = table.rows.filter(is_tiled).drop_nulls("value"), table.rows.filter(~is_tiled)
    values = dict(zip(tiled["code"], tiled["value"], strict=True))
    is_centred = any(number < 0 for number in values.values())
    if tops is not None:
        scale = scales.by_bounds(tops, lang, centred=tops[0] < 0)
    elif is_centred:
        scale = scales.around_zero(list(values.values()), table.write, lang)
    else:
        scale = scales.by_breaks(list(values.values()), grid.classes, table.write)
    breaks = _WORDS[lang]["breaks"] if tops is None and len(scale.entries) > 2 else ""
    entries = scale.entries if tops is not None else _with_places(scale, values, lang)
    if empty_tiles := grid.tiles.keys() - values.keys():
        entries = [*entries, (drawing.NO_VALUE_COLOUR, table.why_without(empty_tiles))]
    written = dict.fromkeys(grid.tiles, table.without[0]) | {
        code: f"{table.write(number, scale.more)}\n{interval}".strip()
        for (code, number), interval in zip(values.items(), table.beside(tiled), strict=True)
    }
    with drawing.axes(ax, *grid.inches) as ax:
        captions.write_title(ax, table.heading, table.units)
        _draw_tiles(ax, grid, values, scale, written, lang)
        _draw_borders(ax, grid)
        pad = texts.legend_below(ax, entries, table.measure + breaks)
        off = "; ".join(table.listed(others, _MOST_NAMED))
        few = _WORDS[lang]["few"].format(n=len(values)) if by == "okres" else ""
        notes = [few if 0 < len(values) < _FEW else ""]
        notes += [f"{_WORDS[lang]['off']}{off}." if off else "", *table.notes]
        notes = [*(captions.replaced(table.heading) if table.of_figures else []), *notes]
        captions.write_notes(ax, *notes, pad=pad)
    return ax


def _with_places(
    scale: scales.Scale, values: Mapping[str, float], lang: Lang
) -> list[tuple[str, str]]:
    """Return the entries of a legend, that of one place among classes of several with its name."""
    places: dict[str, list[str]] = {}
    for code, value in values.items():
        places.setdefault(scale.colour_of(value), []).append(code)
    names = {
        colour: tiles.NAMES[lang][codes[0]].replace("-\n", "").replace("\n", " ")
        for colour, codes in places.items()
        if len(codes) == 1 < max(map(len, places.values()))
    }
    return [
        (colour, f"{text} ({names[colour]})" if colour in names else text)
        for colour, text in scale.entries
    ]


def _draw_tiles(
    ax: Axes,
    grid: _Grid,
    values: Mapping[str, float],
    scale: scales.Scale,
    written: Mapping[str, str],
    lang: Lang,
) -> None:
    # One size for all names and one for all numbers, set by the longest.
    names, short, numbers = (
        _choices(text_of, grid) for text_of in (tiles.NAMES[lang], tiles.SHORT_NAMES[lang], written)
    )
    lines = grid.two_lines if any("\n" in text for text in written.values()) else grid.lines
    for code, tile in grid.tiles.items():
        colour = scale.colour_of(values[code]) if code in values else drawing.NO_VALUE_COLOUR
        edge, ink = ax.get_facecolor(), drawing.ink_on(colour)
        ax.add_patch(Rectangle(tile, 1, 1, facecolor=colour, edgecolor=edge, linewidth=1.5))
        number, middle = numbers[code], tile.column + 0.5
        choices = [choice._replace(lines=choice.lines + number.lines)
                   for choice in (names[code], short[code])]  # fmt: skip
        ax.add_artist(TileText(ax, (middle, tile.row + lines[0]), choices, grid.text, ink))
        least = [number._replace(lines=choices[-1].lines)]
        xy = middle, tile.row + lines[1]
        ax.add_artist(TileText(ax, xy, least, grid.text, ink, optional=True))
    # Tiles fill the axes: with a fixed aspect, constrained layout would cut off the texts below.
    ax.set_xlim(0, 1 + max(tile.column for tile in grid.tiles.values()))
    ax.set_ylim(1 + max(tile.row for tile in grid.tiles.values()), 0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _choices(text_of: Mapping[str, str], grid: _Grid) -> dict[str, Choice]:
    """Return the text of each tile, with the extent of all: the longest line, the most lines."""
    texts_of = [text_of[code].split("\n") for code in grid.tiles]
    longest = max(
        drawing.breadth(line, 72) for line in {line for parts in texts_of for line in parts}
    )
    most = max(map(len, texts_of))
    return {code: Choice(text_of[code], longest, most) for code in grid.tiles}


def _draw_borders(ax: Axes, grid: _Grid) -> None:
    """Draw a line around each region of a district map."""
    region = {tuple(tile): code[:5] for code, tile in grid.tiles.items()}
    if len(set(region.values())) == len(region):
        return
    lines = []
    for (x, y), code in region.items():
        sides = {
            (x - 1, y): [(x, y), (x, y + 1)], (x + 1, y): [(x + 1, y), (x + 1, y + 1)],
            (x, y - 1): [(x, y), (x + 1, y)], (x, y + 1): [(x, y + 1), (x + 1, y + 1)],
        }  # fmt: skip
        lines += [side for beside, side in sides.items() if region.get(beside) != code]
    ax.add_collection(
        LineCollection(
            lines, colors=drawing.ink(ax), linewidths=1.1, capstyle="projecting", clip_on=False
        )
    )
