"""Units by the period of their last change, stacked by code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import matplotlib.dates as mdates
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator

from finstat_kit.arguments import By, Lang
from finstat_kit.charts import colours, drawing
from finstat_kit.charts.drawing import TEXT_SIZE
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames import labels, number_format
from finstat_kit.frames.counts import Every

# From Paul Tol's muted scheme, colours that colour-blind people tell apart.
_COLOURS: Final = (
    "#332288",
    "#88ccee",
    "#117733",
    "#ddcc77",
    "#cc6677",
    "#44aa99",
    "#882255",
    "#999933",
)
_REST_COLOUR: Final = "#c9c9c9"
_UNLABELLED_COLOUR: Final = "#7f7f7f"
_FEW_PERIODS: Final = 7  # bounds of periods that have room for a date each
_DAY_FORMATS: Final = {
    "1d": "%Y-%m-%d",
    "1w": "%Y-%m-%d",
    "1mo": "%Y-%m",
    "1q": "%Y-%m",
    "1y": "%Y",
}
_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "count": "počet jednotiek",
        "heading": "Účtovné jednotky podľa {period} poslednej zmeny a {by}",
        "1d": "dňa",
        "1w": "týždňa",
        "1mo": "mesiaca",
        "1q": "štvrťroka",
        "1y": "roka",
        "axis": "{period} poslednej zmeny jednotky",
        "axis 1d": "deň",
        "axis 1w": "týždeň",
        "axis 1mo": "mesiac",
        "axis 1q": "štvrťrok",
        "axis 1y": "rok",
        "not": (
            "Každá jednotka je tu raz, v čase svojej poslednej zmeny. Po ďalšej zmene sa posunie\n"
            "doprava, preto staršie stĺpce časom klesajú. Nie je to vývoj počtu zmien."
        ),
        "undated": "Bez dátumu zmeny (nezobrazené): {n}.",
        "unlabelled": "bez známeho kódu,\nzmazané, neverejné",
    },
    "en": {
        "count": "number of units",
        "heading": "Accounting units by {period} of last change and {by}",
        "1d": "day",
        "1w": "week",
        "1mo": "month",
        "1q": "quarter",
        "1y": "year",
        "axis": "{period} of the unit's last change",
        "axis 1d": "day",
        "axis 1w": "week",
        "axis 1mo": "month",
        "axis 1q": "quarter",
        "axis 1y": "year",
        "not": (
            "Each unit stands here once, at its last change. When it changes again it moves\n"
            "right, so that older bars shrink. This is not the number of changes over time."
        ),
        "undated": "Without a date of change (not shown): {n}.",
        "unlabelled": "no known code,\ndeleted, non-public",
    },
}


def plot_last_changes(
    units: labels.Frame,
    by: By = "kraj",
    *,
    every: Every = "1mo",
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw units by the period of their **last** change, stacked by code.

    No series of events: the register keeps only the latest change. A unit changed in February and
    again in May has left February, so earlier periods shrink on every later run. The numbers are
    those of `count_last_changes`.

    Args:
        units: Records, or any frame with ``datumPoslednejUpravy`` (Date) and the column *by*.
        by: A code field, as in `count_by`. The eight commonest codes have a colour each, the
            other labelled ones share one, and so does what has no label or is gone.
        every: Length of a period: ``"1d"``, ``"1w"`` (from Monday), ``"1mo"``, ``"1q"``, ``"1y"``.
        lang: Language of title, labels and numbers, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"`` so that the legend
            beside the axes finds room. None makes a new figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes. Units without a date are told under the axis.

    Raises:
        UsageError: An argument is wrong, or a column is missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_last_changes(fk.units.get(fk.units.ids(limit=50)), lang="en")
        >>> print(ax.get_title())
        Accounting units by month of last change and region
        50 units, sample (invented) data
    """
    source, lang = current.drawn_from(register, lang)
    counted = (source or current.register()).count_last_changes
    changes = counted(units, by, every=every, lang=lang)
    with drawing.axes(ax, 9, 4.8) as ax:
        words = _WORDS[lang]
        heading = words["heading"].format(period=words[every], by=drawing.WORDS[lang][by])
        drawing.title(ax, heading, lang, source, int(changes["count"].sum()))
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.tick_params(labelsize=TEXT_SIZE)
        dated = changes.drop_nulls("period")
        if dated.is_empty():
            drawing.sentence(ax, drawing.WORDS[lang]["nothing"])
        else:
            _draw_stack(ax, dated, every, lang)
        axis = words["axis"].format(period=words[f"axis {every}"])
        undated = int(changes["count"].sum()) - int(dated["count"].sum())
        note = [words["undated"].format(n=number_format.whole(undated, lang))] if undated else []
        ax.set_xlabel(
            "\n".join([axis, "", words["not"], *note]),
            fontsize=TEXT_SIZE, x=0, ha="left", linespacing=1.3,
        )  # fmt: skip
    return ax


def _draw_stack(ax: Axes, changes: pl.DataFrame, every: Every, lang: Lang) -> None:
    """Draw one outline per series, each upon the one before."""
    series = _series(changes, lang)
    # One more than there are periods; some may have no unit.
    span = changes.select(
        pl.date_range(
            pl.col("period").min(), pl.col("period").max().dt.offset_by(every), every
        ).implode()
    )
    bounds = span.item()
    periods = pl.DataFrame({"period": bounds.head(-1)})
    edges = _date_numbers(bounds)
    floor = np.zeros(periods.height)
    outlines = []
    for _, colour, counts in series:
        column = periods.join(counts, on="period", how="left", maintain_order="left")["count"]
        ceiling = floor + column.fill_null(0).to_numpy()
        outline = StepPatch(ceiling, edges, facecolor=colour, linewidth=0)
        outline.set_data(baseline=floor)  # type: ignore[arg-type]
        # Not ax.stairs: it goes over each corner in Python, seconds for the days of ten years.
        ax.add_artist(outline)
        outlines.append(outline)
        floor = ceiling
    # A few periods keep the width that they would have among others.
    spare = max(0, _FEW_PERIODS - bounds.len()) * (edges[1] - edges[0]) / 2
    ax.set_xlim(edges[0] - spare, edges[-1] + spare)
    ax.set_ylim(0, float(floor.max()) * 1.05)
    _write_axes(ax, bounds, every, lang)
    # From the top of the stack downwards, as the eye reads it.
    ax.legend(
        outlines[::-1], [drawing.literal(name) for name, _, _ in series[::-1]],
        loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False,
        fontsize=TEXT_SIZE, labelcolor=colours.ink(ax), handlelength=1.1, handleheight=1.1,
    )  # fmt: skip


def _series(changes: pl.DataFrame, lang: Lang) -> list[tuple[str, str, pl.DataFrame]]:
    """Return name, colour and counts by period of what is stacked, from the bottom up."""
    totals = (
        changes.filter(pl.col("kind") == "labelled")
        .group_by("code", "label", "kind")
        .agg(pl.col("count").sum())
        .sort("count", "code", descending=[True, False])
    )
    own = totals["code"].head(len(_COLOURS))
    called = drawing.names(totals, lang, among=totals, longest=30)[: own.len()]
    labelled = pl.col("kind") == "labelled"
    series = [
        (name, colour, changes.filter(labelled & (pl.col("code") == code)))
        for name, colour, code in zip(called, _COLOURS, own, strict=False)
    ]
    others = totals.height - own.len()
    if others:
        name = f"{drawing.WORDS[lang]['rest']} ({number_format.whole(others, lang)})"
        rest = changes.filter(labelled & ~pl.col("code").is_in(own.implode()))
        series.append((name, _REST_COLOUR, rest))
    if not changes.filter(~labelled).is_empty():
        series.append((_WORDS[lang]["unlabelled"], _UNLABELLED_COLOUR, changes.filter(~labelled)))
    return [
        (name, colour, counts.group_by("period").agg(pl.col("count").sum()))
        for name, colour, counts in series
    ]


def _write_axes(ax: Axes, bounds: pl.Series, every: Every, lang: Lang) -> None:
    ax.set_ylabel(_WORDS[lang]["count"], fontsize=TEXT_SIZE)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: number_format.whole(round(y), lang)))
    if bounds.len() <= _FEW_PERIODS:
        edges, form = _date_numbers(bounds), _DAY_FORMATS[every]
        days = bounds.head(-1).dt.to_string(form).to_list()
        ax.set_xticks((edges[:-1] + edges[1:]) / 2, days)
    else:
        locator = mdates.AutoDateLocator(tz=UTC, minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(_Days())


def _date_numbers(days: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(mdates.date2num(days.to_numpy()), dtype=np.float64)  # type: ignore[no-untyped-call]


class _Days(Formatter):
    """Dates in the shortest ISO form that tells the ticks apart; it is read in any language."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        days: list[datetime] = [
            mdates.num2date(value, tz=UTC)  # type: ignore[no-untyped-call]
            for value in values
        ]
        if all(day.day == 1 for day in days):
            form = "%Y" if all(day.month == 1 for day in days) else "%Y-%m"
        else:
            form = "%Y-%m-%d"
        return [f"{day:{form}}" for day in days]
