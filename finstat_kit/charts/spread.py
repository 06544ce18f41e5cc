"""Quartile boxes: how an item or a ratio spreads over regions, activities or sizes."""

from __future__ import annotations

from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang
from finstat_kit.charts import colours, drawing, figures
from finstat_kit.charts.drawing import TEXT_SIZE
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames import labels, number_format
from finstat_kit.frames.spread import FEWEST, spread
from finstat_kit.protocol import wire

_MOST: Final = 30  # boxes
_HEIGHT: Final = 0.3  # inches of a box and the gap below it
_BOX: Final = 0.56
_ORDERED: Final = frozenset({"velkostOrganizacie"})  # codelists whose codes are a scale
_WIDE: Final = 100  # from here on, highest by lowest, values are drawn on a log scale
_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "heading": "{item} podľa {by}",
        "how": "Pás: prostredná polovica jednotiek, čiara: medián, fúzy: najviac 1,5 dĺžky pásu.",
        "few": "Pri menej ako {n} jednotkách je len medián.",
        "log": "Logaritmická mierka.",
        "lost": "Nuly a záporné hodnoty, nezobrazené: {n}.",
        "beyond": "Za fúzmi, nezobrazené: {n}.",
        "without": "Bez hodnoty: {n}.",
        "uncoded": "Bez kódu: {n}.",
        "more": "Ďalšie kódy, nezobrazené: {n}.",
    },
    "en": {
        "heading": "{item} by {by}",
        "how": "Box: the middle half of units, line: median, whiskers: up to 1.5 box lengths.",
        "few": "Of fewer than {n} units only the median is drawn.",
        "log": "Logarithmic scale.",
        "lost": "Zeros and negative values, not shown: {n}.",
        "beyond": "Beyond the whiskers, not shown: {n}.",
        "without": "Without a value: {n}.",
        "uncoded": "Without a code: {n}.",
        "more": "Further codes, not shown: {n}.",
    },
}


def plot_spread(
    frame: labels.Frame,
    item: str,
    *,
    by: By = "kraj",
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw how an item or a ratio spreads: quartile boxes for each code, by median.

    The number of units stands beside each box. Values beyond the whiskers are counted below the
    picture and not drawn. Amounts that differ by more than a hundred times are on a logarithmic
    scale. Of more than 30 codes those with the most units are drawn.

    Args:
        frame: Financials, ratios, or any frame with the columns *item* and *by*; a ratio is
            computed where it is not a column.
        item: Column of numbers, such as ``"equity_ratio"``.
        by: A code field, as in `count_by`.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``).

    Raises:
        UsageError: An argument is wrong, or a column is missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     money = fk.financials(fk.units.get(fk.units.ids(limit=120)), year=2016)
        ...     ax = fk.plot_spread(money, "equity_ratio", lang="en")
        >>> print(ax.get_title())
        Equity ratio by region, 2016
        57 units, sample (invented) data
    """
    source, lang = current.drawn_from(register, lang)
    arguments.one_of("by", by, tuple(wire.BY_FIELD))
    if by not in labels.schema_of(frame):
        raise UsageError("is no column of the frame", argument="by", value=by)
    table = figures.with_item(frame, item)
    there = table.filter(pl.col(item).is_finite(), pl.col(by).is_not_null())
    boxes = spread(there, item, by)
    log = _needs_log(boxes)
    lost = 0
    if log:
        positive = there.filter(pl.col(item) > 0)
        lost = there.height - positive.height
        boxes = spread(positive, item, by)
    shown = boxes.filter(pl.col("n").rank("ordinal", descending=True) <= _MOST)
    if by in _ORDERED:
        shown = shown.sort("code")
    else:  # what has only a point stands below the boxes
        shown = shown.sort(pl.col("n") < FEWEST, maintain_order=True)
    words, whole = _WORDS[lang], number_format.whole
    notes = [words["how"]] if (shown["n"] >= FEWEST).any() else []
    notes += [words["few"].format(n=FEWEST)] if (shown["n"] < FEWEST).any() else []
    notes += [
        words[key].format(n=whole(n, lang))
        for key, n in (
            ("beyond", int(shown["beyond"].sum())),
            ("without", int((~table[item].is_finite().fill_null(value=False)).sum())),
            ("uncoded", table.filter(pl.col(item).is_finite(), pl.col(by).is_null()).height),
            ("more", boxes.height - shown.height),
            ("lost", lost),
        )
        if n
    ]
    notes += [words["log"]] if log else []
    with drawing.axes(ax, 8, 1.7 + _HEIGHT * max(shown.height, 3)) as ax:
        names = _names(shown, by, lang, source)
        beside = max((drawing.breadth(name, TEXT_SIZE) for name in names), default=0)
        heading = words["heading"].format(
            item=figures.capitalized(figures.called(item, lang)), by=drawing.WORDS[lang][by]
        )
        units = int(shown["n"].sum())
        drawing.title(ax, heading + figures.years(table), lang, source, units, beside=beside)
        if shown.is_empty():
            drawing.sentence(ax, drawing.WORDS[lang]["nothing"])
            return ax
        _draw(ax, shown, item, names, lang, log=log)
        room = drawing.inches(ax)[0] * drawing.GROWTH - beside
        lines = drawing.wrapped(" ".join(notes), max(room, 2), TEXT_SIZE)
        ax.set_xlabel(
            drawing.literal("\n".join(lines)), fontsize=TEXT_SIZE, x=0, ha="left", linespacing=1.4
        )
    return ax


def _needs_log(boxes: pl.DataFrame) -> bool:
    """Return whether the boxes are too far apart for one linear scale, and can be on a log one."""
    able = boxes.filter(pl.col("n") >= FEWEST)
    able = boxes if able.is_empty() else able
    if boxes.is_empty() or (able["q1"] <= 0).any():
        return False
    drawn = boxes.filter(pl.col("q1") > 0)
    return float(drawn["q3"].to_numpy().max()) > _WIDE * float(drawn["q1"].to_numpy().min())


def _names(boxes: pl.DataFrame, by: By, lang: Lang, source: Register | None) -> list[str]:
    """Return what to call each code: its label, or the code itself where there is none."""
    if source is None:
        return [drawing.shortened(code) for code in boxes["code"]]
    columns = {"code": wire.BY_FIELD[by].name}
    found = source.resolve_labels(boxes.select("code"), lang=lang, columns=columns)
    rows = found.select(
        "code", label="code_label",
        kind=pl.when(pl.col("code_label").is_null()).then(pl.lit("unknown code"))
        .otherwise(pl.lit("labelled")),
    )  # fmt: skip
    return drawing.names(rows, lang, among=rows)


def _draw(
    ax: Axes, boxes: pl.DataFrame, item: str, names: list[str], lang: Lang, *, log: bool
) -> None:
    ink = colours.ink(ax)
    enough = boxes["n"] >= FEWEST
    for row, (box, drawn) in enumerate(zip(boxes.iter_rows(named=True), enough, strict=True)):
        if drawn:
            ax.plot([box["low"], box["high"]], [row, row], color=ink, linewidth=0.9, zorder=1)
            ax.add_patch(
                Rectangle(
                    (box["q1"], row - _BOX / 2), box["q3"] - box["q1"], _BOX,
                    facecolor=colours.PALE, edgecolor=ink, linewidth=0.7, zorder=2,
                )
            )  # fmt: skip
            half = _BOX / 2
            ax.plot([box["median"]] * 2, [row - half, row + half], color="black", lw=2, zorder=3)
        else:
            ax.plot([box["median"]], [row], "o", color=colours.GREY, markersize=4, zorder=3)
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=8))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: figures.tick(item, x, lang)))
    ax.tick_params(axis="x", labelsize=TEXT_SIZE)
    ax.set_yticks(range(boxes.height), [drawing.literal(name) for name in names])
    ax.tick_params(axis="y", labelsize=TEXT_SIZE, length=0)
    ax.set_ylim(max(boxes.height, 3) - 0.4, -0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    # The number of units and the median, to the right of the axes.
    for row, (n, median) in enumerate(boxes.select("n", "median").iter_rows()):
        text = f"{figures.written(item, median, lang)}  (n = {number_format.whole(n, lang)})"
        ax.annotate(
            text, (1, row), (6, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
            va="center", fontsize=TEXT_SIZE, color=ink, annotation_clip=False,
        )  # fmt: skip
