"""A tile map of Slovakia: one tile per region or district, coloured by a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from finstat_kit import arguments, calls
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, texts, tiles
from finstat_kit.charts.values import classes as scales, drawn_table
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.client.register import Register
from finstat_kit.frames.findings.summary import FEWEST
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_MOST_NAMED: Final = 4  # codes without a tile
_FEW: Final = 20  # districts with a value, below which regions show more
_WORDS: Final = Words("plot_map")


_PART: Final = 0.94  # of a tile that its texts take, at most
_LINE: Final = 1.15  # of the height of letters


class _Grid(NamedTuple):
    tiles: Mapping[str, tiles.Tile]
    classes: int
    inches: tuple[float, float]
    letters: str  # in tiles


_GRIDS: Final = {
    "kraj": _Grid(tiles.REGIONS, 4, (8, 3.9), "medium"),
    "okres": _Grid(tiles.DISTRICTS, 5, (10, 6.4), "x-small"),
}


@calls.checked_call
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
        statistic: What is drawn of an item or a ratio: ``"mean"`` or another column of numbers of
            `summary`; ``"sum"`` and ``"share_top5"`` are of items alone, ``"weighted"`` of
            ratios. None is the median.
            Medians of units are of all their years; any other statistic is of one.
        per: Unit of the numbers, for the legend: ``"per 1,000 inhabitants"``. With it, a column
            ``count`` is a value like any other, not a number of units.
        classes: Upper bounds of the classes, 1 to 8 ascending numbers, for maps side by side: a
            bound belongs to the class below it, the last class is above all bounds, and the legend
            lists every class. The colours depend on the bounds alone: with a negative one the scale
            is centred on zero.
        title: Replaces the heading, with which the notes then begin; the number of units below it
            stays.
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
        missing = _why_without(table.rows, empty_tiles, lang)
        entries = [*entries, (drawing.NO_VALUE_COLOUR, missing)]
    written = dict.fromkeys(grid.tiles, "–")
    written |= {code: table.write(number, scale.more) for code, number in values.items()}
    with drawing.axes(ax, *grid.inches) as ax:
        captions.write_title(ax, table.heading, table.units)
        pad = texts.legend_below(ax, texts.patches(entries), table.measure + breaks)
        off = "; ".join(_listed(table, others))
        few = _WORDS[lang]["few"].format(n=len(values)) if by == "okres" else ""
        notes = [few if 0 < len(values) < _FEW else ""]
        notes += [f"{_WORDS[lang]['off']}{off}." if off else "", *table.notes]
        captions.write_notes(ax, captions.noted(table.heading, notes), pad=pad)
        height = texts.height_left(ax) - pad / 72
        _draw_tiles(ax, grid, values, scale, written, lang, height=height)
        _draw_borders(ax, grid)
    return ax


def _why_without(rows: pl.DataFrame, codes: Collection[str], lang: Lang) -> str:
    """Write why codes have no value: too few units, another cause, or either.

    A code of figures without a row has no units.
    """
    reasons = {"missing"}
    if "n" in rows.columns:
        number = "units" if "units" in rows.columns else "n"
        enough = rows.filter(pl.col(number) >= FEWEST)["code"]
        reasons = {"missing" if code in enough else "few units" for code in codes}
    return " / ".join(_WORDS[lang][reason] for reason in sorted(reasons))


def _listed(table: DrawnTable, rows: pl.DataFrame) -> list[str]:
    """Write rows with their totals: some by name, the number of the others."""
    lang = table.lang
    shown = drawn_table.drawn_rows(rows, _MOST_NAMED)
    names = drawing.names(shown, lang, among=rows)
    lines = [": ".join(filter(None, (name, _total(table, shown.slice(place, 1)))))
             for place, name in enumerate(names)]  # fmt: skip
    if (more := rows.filter(kind="labelled").height - _MOST_NAMED) > 0:
        lines.append(f"{_WORDS[lang]['more']} ({number_format.whole(more, lang)})")
    return lines


def _total(table: DrawnTable, row: pl.DataFrame) -> str:
    """Write the value of a row, or its number of units if values cannot be added up."""
    if "n" in row.columns:
        units = row.select(pl.min_horizontal("^(units|n)$")).item()
        return number_format.units(int(units), table.lang)
    value, codes = row.select("value", "codes").row(0)
    return table.write(value, 0) if value is not None and (table.units or codes == 1) else ""


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
    *,
    height: float,
) -> None:
    """Draw the tiles in so many inches; numbers that have no room in them are left out."""
    size = drawing.points(grid.letters)
    width = drawing.inches(ax)[0]
    columns, rows = (1 + max(place) for place in zip(*grid.tiles.values(), strict=True))
    room = _PART * drawing.GROWTH * width / columns
    names = tiles.NAMES[lang]
    is_narrow = max(_breadth(names[code], size) for code in grid.tiles) > room
    names = tiles.SHORT_NAMES[lang] if is_narrow else names
    lines = 1 + max(names[code].count("\n") for code in grid.tiles)
    has_numbers = max(_breadth(text, size) for text in written.values()) <= room
    has_numbers &= (lines + 1) * _LINE * size / 72 <= height / rows
    for code, tile in grid.tiles.items():
        colour = scale.colour_of(values[code]) if code in values else drawing.NO_VALUE_COLOUR
        edge, ink = ax.get_facecolor(), drawing.ink_on(colour)
        ax.add_patch(Rectangle(tile, 1, 1, facecolor=colour, edgecolor=edge, linewidth=1.5))
        text = f"{names[code]}\n{written[code]}" if has_numbers else names[code]
        middle = tile.column + 0.5, tile.row + 0.5
        ax.text(*middle, drawing.literal(text), fontsize=size, color=ink, ha="center",
                va="center", linespacing=_LINE)  # fmt: skip
    # Tiles fill the axes: with a fixed aspect, constrained layout would cut off the texts below.
    ax.set_xlim(0, columns)
    ax.set_ylim(rows, 0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _breadth(text: str, size: float) -> float:
    """Return the width of the longest line of a text in inches."""
    return max(drawing.breadth(line, size) for line in text.split("\n"))


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
