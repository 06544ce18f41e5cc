"""Figures over the years: of one unit several items, or one item of a few units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.charts import colours, drawing, figures
from finstat_kit.charts.drawing import TEXT_SIZE
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames import labels

_MOST: Final = 6  # lines
_NEEDED: Final = ("unit_id", "year", "months", "source_column", "supersedes")
_WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "by year": "{item} podľa rokov",
        "items": "{name}: vybrané položky podľa rokov",
        "corrected": "Krúžok: hodnota je z opravnej závierky.",
        "previous": "Prázdny bod: zo stĺpca predchádzajúceho obdobia.",
        "short": "Šrafované: obdobie iné ako 12 mesiacov.",
        "gap": "Kde čiara chýba, nie sú čísla.",
    },
    "en": {
        "by year": "{item} by year",
        "items": "{name}: selected items by year",
        "corrected": "Ring: from a correction.",
        "previous": "Hollow point: from the previous-period column.",
        "short": "Hatched: a period of other than 12 months.",
        "gap": "Where the line breaks there are no numbers.",
    },
}


def plot_history(
    financials: labels.Frame,
    items: str | Sequence[str],
    *,
    lang: Lang | None = None,
    ax: Axes | None = None,
    register: Register | str | None = None,
) -> Axes:
    """Draw figures over the years: several items of one unit, or one item of up to six units.

    A year without a number breaks the line. A value from a filing that corrects another has a
    ring, one from the previous-period column is hollow, and a year whose period has other than 12
    months is hatched.

    Args:
        financials: As `financials` returns it, of one or a few units; ratios are computed where
            they are asked for.
        items: An item or ratio, or several of the same kind (amounts, or shares).
        lang: Language of title, numbers and names, ``"sk"`` or ``"en"``; None is the register's.
        ax: Where to draw; a figure of your own needs ``layout="constrained"``. None makes a new
            figure.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        The Axes, to adjust or to save (``.figure.savefig``).

    Raises:
        UsageError: No item or one twice, several items of several units, more than six lines, or a
            column is missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     ax = fk.plot_history(fk.financials([365]), "equity", lang="en")
        >>> print(ax.get_title())
        Equity by year
        Skúška Orol 510, s. r. o., sample (invented) data
    """
    source, lang = current.drawn_from(register, lang)
    wanted = arguments.names("items", items)
    table = _rows(financials, wanted)
    units = table["unit_id"].unique(maintain_order=True).to_list()
    names = dict(table.select("unit_id", "name").unique("unit_id").iter_rows())
    if len(wanted) > 1 < len(units) or len(wanted) * len(units) > _MOST:
        raise UsageError(
            f"{len(wanted)} items of {len(units)} units are too many lines",
            cure=f"give one unit and up to {_MOST} items, or up to {_MOST} units and one item",
        )
    words = _WORDS[lang]
    lines = [(unit, item) for unit in units for item in wanted]
    single = len(wanted) == 1
    with drawing.axes(ax, 8, 4.2) as ax:
        if single:
            item = figures.capitalized(figures.called(wanted[0], lang))
            heading = words["by year"].format(item=item)
        else:
            heading = words["items"].format(name=names[units[0]] or units[0])
        drawing.title(ax, heading, lang, source)
        _name_in_title(ax, str(names[units[0]] or units[0]) if single and len(units) == 1 else "")
        if table.is_empty() or table.select(wanted).null_count().sum_horizontal()[0] == (
            table.height * len(wanted)
        ):
            drawing.sentence(ax, drawing.WORDS[lang]["nothing"])
            return ax
        seen: set[str] = set()
        for colour, (unit, item) in zip(colours.OF_CODES, lines, strict=False):
            label = str(names[unit] or unit) if len(units) > 1 else figures.called(item, lang)
            own = table.filter(unit_id=unit)
            seen |= _line(ax, own, item, colour, drawing.shortened(label))
        _finish(ax, wanted[0], lang, many=len(lines) > 1)
        notes = [words[key] for key in ("gap", "corrected", "previous", "short") if key in seen]
        room = drawing.inches(ax)[0] * drawing.GROWTH
        ax.set_xlabel(
            "\n".join(drawing.wrapped(" ".join(notes), room, TEXT_SIZE)),
            fontsize=TEXT_SIZE, x=0, ha="left", linespacing=1.4,
        )  # fmt: skip
    return ax


def _rows(financials: labels.Frame, wanted: Sequence[str]) -> pl.DataFrame:
    """Return a row for each unit and year: the current column's, where there is none the other."""
    schema = labels.schema_of(financials)
    absent = [name for name in (*_NEEDED, "name") if name not in schema]
    if absent:
        raise UsageError(
            f": no column {absent[0]!r}",
            argument="financials",
            cure="give what fk.financials returns",
        )
    table = financials.lazy().collect()
    for item in wanted:
        found = figures.with_item(financials, item)[item]
        table = table.with_columns(found.alias(item))
    empty = pl.all_horizontal(pl.col(wanted).is_null())
    return (
        table.filter(pl.col("year").is_not_null())
        .sort("unit_id", "year", empty, "source_column", maintain_order=True)
        .unique(["unit_id", "year"], keep="first", maintain_order=True)
    )


def _line(ax: Axes, own: pl.DataFrame, item: str, colour: str, label: str) -> set[str]:
    """Draw a line with its marks; return what the notes have to explain."""
    first, last = own["year"].min(), own["year"].max()
    years = pl.DataFrame({"year": pl.int_range(first, last + 1, eager=True)})  # type: ignore[arg-type, operator]
    rows = years.join(own.cast({"year": pl.Int64}), on="year", how="left").sort("year")
    values = rows[item].cast(pl.Float64).fill_null(float("nan"))
    ax.plot(rows["year"], values, color=colour, linewidth=1.8, label=drawing.literal(label))
    there = rows.filter(pl.col(item).is_not_null())
    hollow = there.filter(pl.col("source_column") == "previous")
    full = there.filter(pl.col("source_column") != "previous")
    ax.plot(full["year"], full[item], "o", color=colour, markersize=5)
    face = ax.get_facecolor()
    ax.plot(hollow["year"], hollow[item], "o", color=colour, markersize=5, markerfacecolor=face)
    ringed = full.filter(pl.col("supersedes") > 0)
    ax.plot(
        ringed["year"], ringed[item], "o", color=colours.ink(ax), markersize=11,
        markerfacecolor="none", markeredgewidth=1.2,
    )  # fmt: skip
    short = there.filter(pl.col("months") != 12)
    for year in short["year"]:
        ax.axvspan(
            year - 0.4, year + 0.4, facecolor="none", edgecolor=colours.GREY, hatch="///",
            linewidth=0, alpha=0.6, zorder=0,
        )  # fmt: skip
    marks = {"corrected": ringed, "previous": hollow, "short": short}
    seen = {name for name, marked in marks.items() if marked.height}
    return seen | ({"gap"} if there.height < rows.height else set())


def _finish(ax: Axes, item: str, lang: Lang, *, many: bool) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: figures.tick(item, y, lang)))
    ax.tick_params(labelsize=TEXT_SIZE)
    low, high = ax.get_ylim()
    if low > 0:
        ax.set_ylim(0, high)
    elif low < 0 < high:
        ax.axhline(0, color=colours.ink(ax), linewidth=0.8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if many:
        ax.legend(
            frameon=False, fontsize=TEXT_SIZE, labelcolor=colours.ink(ax), loc="upper left",
            bbox_to_anchor=(1.01, 1), borderaxespad=0,
        )  # fmt: skip


def _name_in_title(ax: Axes, name: str) -> None:
    """Write the unit's name before the source in the title."""
    if not name:
        return
    heading, _, facts = ax.get_title().partition("\n")
    line = ", ".join(part for part in (drawing.literal(name), facts) if part)
    ax.set_title(
        f"{heading}\n{line}", x=0, ha="left", fontsize=drawing.TITLE_SIZE, linespacing=1.4, pad=10
    )
