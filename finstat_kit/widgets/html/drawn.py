"""Bars and the tile map as HTML, in the colours of the charts on a light, dark or no theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, tiles
from finstat_kit.charts.values import drawn_table
from finstat_kit.charts.values.classes import Scale, by_breaks
from finstat_kit.charts.values.drawn_table import DrawnTable
from finstat_kit.frames.text import number_format
from finstat_kit.protocol.untrusted import escape
from finstat_kit.widgets.texts import words

# The variables are JupyterLab's; elsewhere the browser's own colours apply.
_PAGE: Final = "var(--jp-layout-color1, Canvas)"
_INK: Final = "var(--jp-ui-font-color1, CanvasText)"
_GREY: Final = "var(--jp-layout-color4, GrayText)"
_TOP: Final = 20  # bars; the table has all rows
_CLASSES: Final = 5
_WIDTH, _HEIGHT = 80, 60  # size of a tile
_GROWTH: Final = 1.8  # at most, in a wide cell
_TALLEST: Final = "24em"
_TEXT: Final = 12
_DIVIDED: Final = {"Banskobystrický": "Bansko-\nbystrický", "Banská Bystrica": "Banská\nBystrica"}
_LETTER: Final = 0.6  # width of a letter by its height


def bars(table: DrawnTable, text: str) -> str:
    """Return counts as horizontal bars, cut as in `plot_counts`; *text* is the alternative text.

    The remaining rows are summed in a row without a bar, which would dwarf all others.
    """
    shown = drawn_table.drawn_rows(table.rows, _TOP)
    longest = shown["value"].max() or 1
    names = drawing.names(shown, table.lang, among=table.rows)
    shares = drawn_table.beside(shown, table.lang)
    colours = [drawing.BLUE if kind == "labelled" else _GREY for kind in shown["kind"]]
    widths = 100 * shown["value"] / longest
    rows = list(zip(names, shown["value"], shares, colours, widths, strict=True))
    others, units = drawn_table.left_out(table.rows, shown)
    if others:
        name = f"{drawing.WORDS[table.lang]['rest']} ({number_format.whole(others, table.lang)})"
        share = number_format.percent(units / int(table.rows["value"].sum()), table.lang)
        place = shown.filter(kind="labelled").height
        rows.insert(place, (name, units, share, _GREY, 0.0))
    cells = []
    for name, count, share, colour, width in rows:
        cells += [
            f"<span>{escape(name)}</span>",
            # A border: forced colours would paint a background over.
            f'<span style="border-bottom:0.9em solid {colour};width:{width:.1f}%"></span>',
            f'<span style="text-align:right">{table.write(count, 0)}</span>',
            f'<span style="text-align:right">{share}</span>',
        ]
    grid = (
        "display:grid;grid-template-columns:minmax(0,max-content) minmax(3em,1fr) auto auto;"
        "gap:2px 8px;align-items:center;line-height:1.3"
    )
    return (
        f'<figure role="img" aria-label="{escape(text)}" style="margin:0;flex:1 1 20em;'
        f'min-width:0;max-width:40em"><div style="{grid}">{"".join(cells)}</div></figure>'
    )


def tile_map(by: str, table: DrawnTable, names: Mapping[str, str], chosen: str, title: str) -> str:
    """Return a tile map of some places with its legend; "" if none of them has a tile.

    Args:
        by: ``kraj`` or ``okres``.
        table: Counts; places without a tile are summed below.
        names: The places, code and name.
        chosen: Code of the tile that is marked, "" for none.
        title: The heading, used as the map's alternative text.
    """
    grid = {code: tile for code, tile in tiles.LEVELS[by].items() if code in names}
    if not grid:
        return ""
    lang = table.lang
    rows = table.rows.filter(pl.col("code").is_in(list(grid)))
    count_of = dict(zip(rows["code"], rows["value"], strict=True))
    share_of = dict(zip(rows["code"], drawn_table.beside(rows, lang), strict=True))
    no_share = number_format.percent(0, lang)
    classes = min(_CLASSES, max(2, len(grid) // 2))
    scale = by_breaks(list(count_of.values()), classes, table.write)
    west = min(tile.column for tile in grid.values())
    north = min(tile.row for tile in grid.values())
    svg_tiles = [
        _tile(
            code,
            tile._replace(column=tile.column - west, row=tile.row - north),
            f"{names[code]}: {number_format.units(count_of.get(code, 0), lang)} "
            f"({share_of.get(code, no_share)})",
            table.write(count_of.get(code, 0), 0),
            scale.colour_of(count_of[code]) if code in count_of else None,
            lang,
            chosen=code == chosen,
        )
        # The chosen one last: its border covers those of its neighbours.
        for code, tile in sorted(grid.items(), key=lambda item: item[0] == chosen)
    ]
    width = _WIDTH * (1 + max(tile.column for tile in grid.values()) - west) + 4
    height = _HEIGHT * (1 + max(tile.row for tile in grid.values()) - north) + 4
    picture = (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="-2 -2 {width} {height}" '
        f'preserveAspectRatio="xMinYMin" xmlns="http://www.w3.org/2000/svg" '
        f'style="display:block;width:100%;max-width:{_GROWTH * width:.0f}px;height:auto;'
        f'max-height:{_TALLEST};forced-color-adjust:none">{"".join(svg_tiles)}</svg>'
    )
    off = int(table.rows["value"].sum()) - sum(count_of.values())
    return f'<div class="fk-map">{picture}{_legend(scale, off, lang)}</div>'


def _tile(
    code: str, tile: tiles.Tile, facts: str, number: str, shade: str | None, lang: Lang, *,
    chosen: bool,
) -> str:  # fmt: skip
    """Return a tile in a shade, or in the colour of the page."""
    ink = _INK if shade is None else drawing.ink_on(shade)
    x, y = tile.column * _WIDTH, tile.row * _HEIGHT
    short = tiles.NAMES[lang][code]
    name = _DIVIDED.get(short, short).split("\n")
    size = min(_TEXT, (_WIDTH - 6) / _LETTER / max(map(len, name)))
    first = 19 if len(name) > 1 else 26
    lines = [(first + 13 * row, size, line) for row, line in enumerate(name)]
    lines.append((_HEIGHT - 9, _TEXT, number))
    texts = "".join(
        f'<text x="{x + _WIDTH / 2:g}" y="{y + down}" text-anchor="middle" '
        f'style="fill:{ink};font-size:{size:.3g}px;forced-color-adjust:none">{escape(line)}</text>'
        for down, size, line in lines
    )
    edge = f"stroke:{_INK};stroke-width:3" if chosen else f"stroke:{_GREY};stroke-width:1"
    mark = ' aria-current="true"' if chosen else ""
    return (
        f'<g data-code="{escape(code)}" data-x="{tile.column}" data-y="{tile.row}"{mark}>'
        f"<title>{escape(facts)}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'style="fill:{shade or _PAGE};{edge}"></rect>{texts}</g>'
    )


def _legend(scale: Scale, off: int, lang: Lang) -> str:
    entries = []
    for shade, bounds in scale.entries:
        swatch = (
            f"display:inline-block;border:0.5em solid {shade};"
            f"outline:1px solid {_GREY};margin:0 0.5em 0 1px;forced-color-adjust:none"
        )
        entries.append(f'<span><span style="{swatch}"></span>{bounds}</span>')
    if off:
        text = words(lang)["off_map"].format(units=number_format.units(off, lang))
        entries.append(f"<span>{escape(text)}</span>")
    row = "display:flex;flex-wrap:wrap;gap:0 1em;line-height:1.6;margin-top:4px"
    return f'<div style="{row}">{"".join(entries)}</div>'
