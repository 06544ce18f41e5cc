"""Bars: how many units each code has."""

from __future__ import annotations

from typing import Final

import polars as pl
from matplotlib.axes import Axes

from finstat_kit import arguments
from finstat_kit.arguments import By, Lang
from finstat_kit.charts import drawing
from finstat_kit.charts.drawing import GREY, INK, TEXT_SIZE
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames import labels, number_format
from finstat_kit.frames.counts import COUNTS, KINDS

MOST_BARS: Final = 200
_BARS: Final = 30  # by default
_BAR_HEIGHT: Final = 0.27  # inches
_LEAST_HEIGHT: Final = 0.19  # of a bar in axes that are given
_GAP: Final = 0.15  # inches between a bar, its number and the edge
_LETTER: Final = 0.6  # of the height of a bar
_BLUE: Final = "#0072b2"
_TOO_LONG: Final = 2  # a rest of more than so many times the longest bar would dwarf all others
_PALE: Final = "#8fbcd8"  # what was cut off
_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "bars": "počet jednotiek a ich podiel na všetkých",
        "off": "Pruh „ostatné“ je dlhší, než sa sem zmestí.",
    },
    "en": {
        "bars": "number of units and their share of all",
        "off": "The bar “other” is longer than fits here.",
    },
}


def plot_counts(
    frame: labels.Frame,
    by: By = "kraj",
    *,
    lang: Lang | None = None,
    top: int | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw how many units each code has: horizontal bars, largest first, with count and share.

    What has no label stands below in grey, a bar for each kind: unknown codes, no code, gone. A
    label that repeats carries its code.

    Args:
        frame: Units, or counts as `count_by` returns them, whose labels and shares are kept.
        by: What to count by, or what the counts were made by; a code field as in `count_by`.
        lang: Language of title, numbers and labels, ``"sk"`` or ``"en"``; None is the register's.
        top: How many labelled bars, 1 to 200; the others are summed in one pale bar. None shows
            the first 30, or as many as a given *ax* has room for.
        ax: Where to draw; a figure of your own needs ``layout="constrained"`` so that long labels
            find room. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one, and counts
            that are given need none.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``).

    Raises:
        UsageError: An argument is wrong, or counts were made by something else than *by*.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_counts(fk.units.get(fk.units.ids(limit=50)), lang="en")
        >>> print(ax.get_title())
        Accounting units by region
        50 units, sample (invented) data
    """
    source, lang = current.drawn_from(register, lang)
    if top is not None:
        top = arguments.whole("top", top, 1, MOST_BARS)
    counts = drawing.counts(frame, by, lang, source)
    bars = cut(counts, _BARS if top is None else top)
    ax = drawing.axes(ax, 8, 1.3 + _BAR_HEIGHT * max(bars.height, 3))
    room = int(drawing.inches(ax)[1] / _LEAST_HEIGHT)
    if top is None and bars.height > room:
        bars = cut(counts, max(1, room - 4))
    heading = drawing.WORDS[lang]["by"].format(by=drawing.WORDS[lang][by])
    names = drawing.names(bars, lang, among=counts)
    longest = max((drawing.breadth(name, TEXT_SIZE) for name in names), default=0)
    drawing.title(ax, heading, lang, source, int(counts["count"].sum()), beside=longest)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    if bars.is_empty():
        drawing.nothing(ax, lang)
    else:
        _draw_bars(ax, bars, names, longest, lang)
    return ax


def cut(counts: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the rows that are drawn of counts: `top` labelled, one of the rest, one of each kind.

    Their columns are those of counts and ``codes``, how many codes a row sums; counts add up to the
    same. The rest is of the kind ``rest``.
    """
    labelled = counts.filter(pl.col("kind") == "labelled").sort(
        "count", "code", descending=[True, False]
    )
    groups = [labelled.slice(top).with_columns(kind=pl.lit("rest"))]
    groups += [counts.filter(pl.col("kind") == kind) for kind in KINDS[1:]]
    one = pl.lit(1, pl.Int64).alias("codes")
    rows = [labelled.head(top).with_columns(one)]
    rows += [_summed(group) for group in groups if group.height]
    types = dict(COUNTS) | {"codes": pl.Int64()}
    return pl.concat(
        part.select(pl.col(name).cast(to) for name, to in types.items()) for part in rows
    )


def _summed(group: pl.DataFrame) -> pl.DataFrame:
    only = group["code"][0] if group.height == 1 else None
    return group.select(
        pl.lit(only, pl.String).alias("code"),
        pl.lit(None, pl.String).alias("label"),
        pl.col("count").cast(pl.Int64).sum(),
        pl.col("share").cast(pl.Float64).sum(),
        pl.col("kind").first(),
        pl.len().cast(pl.Int64).alias("codes"),
    )


def _draw_bars(ax: Axes, bars: pl.DataFrame, names: list[str], beside: float, lang: Lang) -> None:
    width, height = drawing.inches(ax)
    size = min(TEXT_SIZE, _LETTER * 72 * height / max(bars.height, 3))
    colours = {"labelled": _BLUE, "rest": _PALE}
    drawn = ax.barh(
        range(bars.height),
        bars["count"].to_list(),
        height=0.72,
        color=[colours.get(kind, GREY) for kind in bars["kind"]],
    )
    numbers = [
        f"{number_format.whole(count, lang)}  ({number_format.percent(share, lang)})"
        for count, share in bars.select("count", pl.col("share").fill_null(0)).iter_rows()
    ]
    rest = bars["kind"].index_of("rest")
    others = max(bars.filter(pl.col("kind") != "rest")["count"], default=1) or 1
    off = rest is not None and bars["count"][rest] > _TOO_LONG * others
    longest = others if off else max(bars["count"]) or 1
    ax.set_xlim(0, longest * _room_for_numbers(width - beside, size, numbers))
    if off and rest is not None:
        # It runs off the axis, so that the others can be seen; its number stands in it.
        inside = ax.get_yaxis_transform()
        for x, text, side in ((0.008, numbers[rest], "left"), (0.992, "→", "right")):
            ax.text(x, rest, text, transform=inside, ha=side, va="center", fontsize=size, color=INK)
        numbers[rest] = ""
    ax.bar_label(drawn, numbers, padding=3, fontsize=size, color=INK)
    ax.set_yticks(range(bars.height), [drawing.literal(name) for name in names], fontsize=size)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.set_xticks([])
    # A lone bar keeps the thickness that it would have among others.
    ax.set_ylim(max(bars.height, 3) - 0.5, -0.5)
    note = [_WORDS[lang]["bars"]] + ([_WORDS[lang]["off"]] if off else [])
    ax.set_xlabel("\n".join(note), fontsize=TEXT_SIZE, color=INK, x=0, ha="left")


def _room_for_numbers(width: float, size: float, numbers: list[str]) -> float:
    """Return by how much the axis is longer than the longest bar, so that its number fits."""
    number = max(drawing.breadth(number, size) for number in numbers) + _GAP
    return 1 / max(1 - number / max(width, 0.1), 0.25)
