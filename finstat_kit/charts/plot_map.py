"""A tile map of Slovakia: one tile per region or district, coloured by a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Final, Literal, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang, near
from finstat_kit.charts.parts import drawing, texts, tiles
from finstat_kit.charts.parts.tiles import TileText
from finstat_kit.charts.values import classes as scales, counts, figures, summaries
from finstat_kit.charts.values.counts import Short
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.counts.count_by import KINDS, check_made_by
from finstat_kit.frames.financials import ratios
from finstat_kit.frames.findings import values as values_of
from finstat_kit.frames.findings.summary import FEWEST, spread
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol import wire

_MOST_NAMED: Final = 4  # codes without a tile
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
    by: Literal["kraj", "okres"] = "kraj",
    *,
    value: str = "count",
    unit: str | None = None,
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
        frame: Units, counts as `count_by` returns them, a comparison as `compare` returns it, whose
            differences are drawn, an estimate as `estimate` returns it, with its intervals, any
            frame with ``code`` and *value*, a summary as `summary` returns it (*value*: one of its
            statistics, the median by default), or financials and ratios, whose medians are drawn:
            the values and the notes below are those of `plot_spread`, and codes of fewer than five
            units have none.
        by: Level of the codes.
        value: Column of numbers to draw; null, NaN, infinity and numbers beyond ±1e100 mean no
            value.
        unit: Unit of the numbers, for the legend: ``"per 1,000 inhabitants"``. With it, a column
            ``count`` is a value like any other, not a number of units.
        classes: Upper bounds of the classes, 1 to 8 ascending numbers, for maps side by side: a
            bound belongs to the class below it, the last class is above all bounds, and the legend
            lists every class. The colours depend on the bounds alone: with a negative one, and for
            differences, the scale is centred on zero.
        title: Replaces the heading, with which the notes of figures then begin; the number of
            units and the source below it stay.
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
        per_1000 by region
        sample (invented) data
    """
    around = texts.given(register, lang, title, note)
    source, lang = around.source, around.lang
    by = labels.field(by, _GRIDS)
    arguments.text("value", value)
    if unit is not None:
        arguments.text("unit", unit)
    grid = _GRIDS[by]
    tops = None if classes is None else scales.bounds(classes)
    content = _content(frame, by, value, unit, lang, source)
    tiled = pl.col("code").is_in(list(grid.tiles)).fill_null(value=False)
    values = _by_code(content.table.filter(tiled))
    if tops is not None:
        scale = scales.by_bounds(tops, lang, around=content.differs or tops[0] < 0)
    elif content.differs or any(number < 0 for number in values.values()):
        scale = scales.around_zero(list(values.values()), content.write, lang)
    else:
        scale = scales.by_breaks(list(values.values()), grid.classes, content.write)
    tile_text, _ = content.missing
    breaks = _WORDS[lang]["breaks"] if tops is None and len(scale.entries) > 2 else ""
    entries = scale.entries
    empty_tiles = grid.tiles.keys() - values.keys()
    if empty_tiles:
        entries = [*entries, (drawing.NO_VALUE_COLOUR, _why_without(content, empty_tiles, lang))]

    with drawing.axes(ax, *grid.inches) as ax:
        around.write_title(ax, content.heading, content.units)
        intervals = content.estimate.intervals() if content.estimate else {}
        tile_texts = dict.fromkeys(grid.tiles, tile_text) | {
            code: f"{content.write(number, scale.more)}\n{intervals.get(code, '')}".strip()
            for code, number in values.items()
        }
        _draw_tiles(ax, grid, values, scale, tile_texts, lang)
        _draw_borders(ax, grid)
        pad = texts.legend_below(ax, entries, content.measure + breaks)
        off = _off_the_map(content, content.table.filter(~tiled), lang)
        of_figures = around.replaced(content.heading) if content.of_figures else []
        notes = [*of_figures, off, *content.notes]
        around.write_notes(ax, " ".join(filter(None, notes)), pad=pad)
    return ax


class _Content(NamedTuple):
    table: pl.DataFrame
    heading: str
    measure: str  # the quantity shown
    units: int | str | None  # None if the values are not numbers of units
    write: scales.Write
    missing: tuple[str, str]  # on a tile without a value, and its words in the legend
    differs: bool = False
    estimate: Short | None = None
    notes: Sequence[str] = ()
    of_figures: bool = False


def _content(
    frame: labels.Frame, by: By, value: str, unit: str | None, lang: Lang, source: Register | None
) -> _Content:
    """Return the content of a map: medians, differences of counts, counts or other values."""
    if summaries.is_summary(frame):
        return _content_of_summary(frame, by, value, unit, lang, source)
    if _is_of_units(frame, by, value):
        return _content_of_units(frame, by, value, unit, lang, source)
    if value in ("count", "difference") and counts.is_comparison(frame):
        return _content_of_comparison(frame, by, unit, lang, source)
    if value == "count" and unit is None:
        return _content_of_counts(frame, by, lang, source)
    return _content_of_column(frame, by, value, unit, lang, source)


def _content_of_units(
    frame: labels.Frame, by: By, item: str, unit: str | None, lang: Lang, source: Register | None
) -> _Content:
    """Return the medians of the units of a frame."""
    values = figures.of_frame(frame, item)
    coded = values.present.drop_nulls(by)
    words = _WORDS[lang]
    called = figures.capitalized(f"{figures.called(item, lang)} ({words['median']})")
    return _Content(
        _table_of_medians(coded, by, lang, source),
        words["other"].format(value=called, by=drawing.WORDS[lang][by]) + values.years,
        words["median"] if unit is None else unit,
        figures.number_of(coded, lang),
        lambda number, more: figures.written(item, number, lang, more),
        ("–", "few"),
        notes=values.notes(lang, by),
        of_figures=True,
    )


def _content_of_summary(
    frame: labels.Frame, by: By, value: str, unit: str | None, lang: Lang, source: Register | None
) -> _Content:
    """Return a statistic of a summary, the median unless another is named."""
    summary = summaries.of_frame(frame, by, lang, source)
    if list(summary.fields) != [by]:
        raise invalid(
            "by",
            by,
            f": the summary was made by {list(summary.fields)}",
            give=f"a summary of one value and year by {by!r}",
        )
    statistic = "median" if value == "count" else value
    arguments.one_of("value", statistic, (*summaries.STATISTICS, *summaries.COUNTS))
    if statistic in summaries.COUNTS:
        table = summary.table.select("code", "label", "kind", value=statistic)
        reason = "missing"
    else:
        # As in boxes: a statistic of a few units is none.
        value_of_enough = pl.when(pl.col("n") >= FEWEST).then(values_of.drawable(statistic))
        table = summary.table.select("code", "label", "kind", units="n", value=value_of_enough)
        reason = "few"
    statistic_name = summary.called(lang, statistic)
    return _Content(
        table,
        summary.heading(lang, statistic_name),
        summaries.named(statistic, lang) if unit is None else unit,
        summary.covered(lang),
        lambda number, more: summary.write(statistic, number, lang, more),
        ("–", reason),
        notes=summary.notes(lang),
        of_figures=True,
    )


def _content_of_comparison(
    frame: labels.Frame, by: By, unit: str | None, lang: Lang, source: Register | None
) -> _Content:
    compared = counts.comparison(frame, by)
    return _Content(
        _table_of(frame, by, "difference", lang, source),
        drawing.WORDS[lang]["difference"].format(by=drawing.WORDS[lang][by]),
        counts.compared(frame, _WORDS[lang]["difference"] if unit is None else unit, lang),
        counts.both_numbers(frame, compared, lang),
        lambda number, _: drawing.signed(int(number), lang),
        _missing(frame),
        differs=True,
        notes=[counts.windows(frame, lang)],
    )


def _content_of_counts(
    frame: labels.Frame, by: By, lang: Lang, source: Register | None
) -> _Content:
    """Return the counts of units, or their estimates with intervals."""
    estimate = counts.estimate_of(frame, by)
    table = _table_of(frame, by, "count", lang, source)
    heading = drawing.WORDS[lang]["by"].format(by=drawing.WORDS[lang][by])
    if estimate is None:
        total, write = int(table["value"].sum()), _number_format_of(table["value"], lang)
        return _Content(table, heading, _WORDS[lang]["count"], total, write, _missing(frame))
    short = Short(estimate, lang)
    return _Content(
        table.with_columns(estimate.table["hits"]),
        heading,
        short.measure,
        estimate.drawn(lang),
        lambda number, _: short.write(number),
        _missing(frame),
        estimate=short,
    )


def _content_of_column(
    frame: labels.Frame, by: By, value: str, unit: str | None, lang: Lang, source: Register | None
) -> _Content:
    """Return the values of a column, which may be any quantity."""
    table = _table_of(frame, by, value, lang, source)
    return _Content(
        table,
        _WORDS[lang]["other"].format(value=value, by=drawing.WORDS[lang][by]),
        value if unit is None else unit,
        None,
        _number_format_of(table["value"], lang),
        _missing(frame),
    )


def _why_without(content: _Content, codes: Set[str], lang: Lang) -> str:
    """Return why tiles have no value: too few units, or another cause, or some one, some the other.

    A code without a row has no units.
    """
    _, why = content.missing
    reasons = {why}
    if why == "few":
        enough = content.table.filter(pl.col("units") >= FEWEST)["code"]
        reasons = {"missing" if code in enough else why for code in codes}
    return " / ".join(_WORDS[lang][reason] for reason in sorted(reasons))


def _missing(frame: labels.Frame) -> tuple[str, str]:
    """Return the words of a tile without a value: without codes the units were counted here."""
    return ("–", "missing") if "code" in labels.schema_of(frame) else ("0", "none")


def _draw_tiles(
    ax: Axes,
    grid: _Grid,
    values: Mapping[str, float],
    scale: scales.Scale,
    written: Mapping[str, str],
    lang: Lang,
) -> None:
    names = {code: tiles.NAMES[lang][code] for code in grid.tiles}
    lines = grid.two_lines if any("\n" in text for text in written.values()) else grid.lines
    # One size for all names and one for all numbers, set by the longest.
    of_tiles = []
    for y, texts_of in zip(lines, (names, written), strict=True):
        parts = set("\n".join(texts_of.values()).split("\n"))
        of_tiles.append((y, texts_of, max(drawing.breadth(part, 72) for part in parts)))
    for code, tile in grid.tiles.items():
        colour = scale.colour_of(values[code]) if code in values else drawing.NO_VALUE_COLOUR
        edge = ax.get_facecolor()
        ax.add_patch(Rectangle(tile, 1, 1, facecolor=colour, edgecolor=edge, linewidth=1.5))
        for y, texts_of, width in of_tiles:
            xy, ink = (tile.column + 0.5, tile.row + y), drawing.ink_on(colour)
            ax.add_artist(TileText(ax, xy, texts_of[code], grid.text, width, ink))
    # Tiles fill the axes: with a fixed aspect, constrained layout would cut off the texts below.
    ax.set_xlim(0, 1 + max(tile.column for tile in grid.tiles.values()))
    ax.set_ylim(1 + max(tile.row for tile in grid.tiles.values()), 0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


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


def _off_the_map(content: _Content, table: pl.DataFrame, lang: Lang) -> str:
    """Return the text for rows without a tile: labelled codes by name, the others by kind."""
    labelled = table.filter(pl.col("kind") == "labelled").sort(
        "value", "code", descending=[True, False], nulls_last=True
    )
    named = labelled.head(_MOST_NAMED)
    groups = [
        (name, named.slice(row, 1))
        for row, name in enumerate(drawing.names(named, lang, among=table))
    ]
    more = labelled.slice(_MOST_NAMED)
    if more.height:
        groups.append((f"{_WORDS[lang]['more']} ({number_format.whole(more.height, lang)})", more))
    if content.units is not None and not content.differs and "units" not in table.columns:
        # Groups of an estimate without units; a median may be zero, and values may be missing.
        table = table.filter(pl.col("value").ne_missing(0))
    for kind in KINDS[1:]:
        group = table.filter(pl.col("kind") == kind)
        if group.height:
            first = group.head(1).with_columns(pl.lit(group.height).alias("codes"))
            groups.append((drawing.names(first, lang, among=table)[0], group))
    parts = [f"{name}{_summed(content, rows, lang)}" for name, rows in groups]
    return _WORDS[lang]["off"] + "; ".join(parts) + "." if parts else ""


def _summed(content: _Content, rows: pl.DataFrame, lang: Lang) -> str:
    """Write the total of some rows, or the number of units if values cannot be added up."""
    if "units" in rows.columns:
        return f": {number_format.units(int(rows['units'].sum()), lang)}"
    if content.estimate:
        return f": {content.estimate.of_sum(rows)}"
    values = rows["value"]
    if values.count() and (content.units is not None or values.len() == 1):
        return f": {content.write(float(values.sum()), 0)}"
    return ""


def _table_of(
    frame: labels.Frame, by: By, value: str, lang: Lang, register: Register | None
) -> pl.DataFrame:
    """Return the columns of a map: ``code``, ``value``, ``label`` and ``kind``.

    A frame with codes and values is used as it is; units are counted.
    """
    if "code" not in labels.schema_of(frame):
        return _counted(frame, by, value, lang, register)
    check_made_by(frame, by)
    return _described(_table_given(frame, by, value), by, lang, register)


def _table_of_medians(
    coded: pl.DataFrame, by: By, lang: Lang, register: Register | None
) -> pl.DataFrame:
    """Return the columns of a map and ``units``: the median of the values of each code."""
    table = spread(coded, "value", by).select("code", "units", value="median")
    return _described(table, by, lang, register)


def _is_of_units(frame: labels.Frame, by: str, value: str) -> bool:
    """Whether a frame has one row per unit with a value, such as financials and ratios."""
    columns = labels.schema_of(frame)
    known = value in columns or value in ratios.NUMBERS
    return value != "count" and known and "code" not in columns and by in columns


def _by_code(table: pl.DataFrame) -> dict[str, float]:
    """Return the values by code, nulls left out."""
    present = table.drop_nulls("value")
    return dict(zip(present["code"], present["value"], strict=True))


def _number_format_of(values: pl.Series, lang: Lang) -> scales.Write:
    """Return the format of the values: whole, or with three significant digits of the median."""
    present = values.drop_nulls()
    if values.dtype.is_integer() or (present == present.round()).all():
        return lambda number, _: number_format.whole(int(number), lang).replace("-", "−")
    middle = present.cast(pl.Float64).abs().filter(present != 0).median()
    size = math.floor(math.log10(middle)) if isinstance(middle, float) else 2
    places = min(max(2 - size, 0), 9)
    return lambda number, more: number_format.decimal(float(number), lang, places + more).replace(
        "-", "−"
    )


def _table_given(frame: labels.Frame, by: str, value: str) -> pl.DataFrame:
    """Return code and value of a frame that has them, and kind if it is that of counts."""
    schema = labels.schema_of(frame)
    numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
    if value not in numbers:
        fault = f"is {schema[value]}" if value in schema else "is not a column"
        raise invalid(
            "value",
            value,
            fault,
            cure=f"{near(value, numbers)}give a column of numbers, of {numbers}",
        )
    if not labels.holds_codes(schema["code"]):
        raise UsageError(f"the column 'code' is {schema['code']}", cure="codes are text")
    kind = ["kind"] if schema.get("kind") == pl.String else []
    table = (
        frame.lazy()
        .select(
            pl.col("code").cast(pl.String), labels.column_of(schema, value).alias("value"), *kind
        )
        .collect()
    )
    (other_level,) = set(tiles.LEVELS) - {by}
    strange = table.filter(pl.col("code").is_in(list(tiles.LEVELS[other_level])))["code"]
    if strange.len():
        raise invalid(
            "by", by, f": {strange[0]!r} is a code of the other level", give=f"{other_level!r}"
        )
    twice = table.filter(pl.col("code").is_duplicated() & pl.col("code").is_not_null())["code"]
    if twice.len():
        raise invalid("frame", ..., f": {twice[0]!r} appears in two rows", give="each code once")
    return table if kind and set(table["kind"]) <= set(KINDS) else table.drop(kind)


def _counted(
    frame: labels.Frame, by: By, value: str, lang: Lang, register: Register | None
) -> pl.DataFrame:
    """Return the counts of units by code, in the column ``value``."""
    if value != "count":
        columns = ["count", *labels.schema_of(frame), *ratios.NUMBERS]
        raise invalid(
            "value",
            value,
            ": units can only be counted here",
            cure=f"{near(value, columns)}give a frame with the columns 'code' and {value!r}",
        )
    counted = (register or current.register()).count_by(frame, by, lang=lang)
    return counted.rename({"count": "value"})


def _described(table: pl.DataFrame, by: By, lang: Lang, register: Register | None) -> pl.DataFrame:
    """Add the label to given values, and kind if it is missing; no axis can hold some values."""
    if table["value"].dtype.is_float():
        table = table.with_columns(values_of.drawable("value"))
    # Tiles have their own names; only codes without a tile need a register, if one is chosen.
    tiled = tiles.LEVELS[by]
    label = pl.col("code")
    if register is not None and not set(table["code"].drop_nulls()) <= set(tiled):
        columns = {"code": wire.BY_FIELD[by].name}
        labelled = register.resolve_labels(table.select("code"), lang=lang, columns=columns)
        on_a_tile = pl.when(label.is_in(list(tiled))).then(label)
        label = pl.coalesce(labelled["code_label"], on_a_tile)
    table = table.with_columns(label.alias("label"))
    if "kind" in table.columns:
        return table
    return table.with_columns(kind=labels.kind_of(pl.col("code"), pl.col("label")))
