"""A unit on one page: who it is, its newest years, its peers, a chart."""

from __future__ import annotations

import io
from typing import Any, Final

import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure

from finstat_kit import arguments, calls
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.plot_history import plot_history
from finstat_kit.charts.values import figures
from finstat_kit.client import current
from finstat_kit.client.collections.looked_up import records_given
from finstat_kit.client.methods.find import one_unit
from finstat_kit.client.register import Register
from finstat_kit.frames.financials import ratios
from finstat_kit.frames.findings.peers import peers
from finstat_kit.frames.places import groups
from finstat_kit.frames.reports.cells import REASON_TEXTS
from finstat_kit.frames.reports.filed import Filed, Line, Part, amount
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.protocol.records import UNITS

# The items and ratios of a page, by the family of the unit's forms.
_BUSINESS: Final[tuple[str, ...]] = (
    "sales", "revenue_total", "receipts_total", "operating_result", "net_profit", "cash_result",
    "total_assets", "equity", "liabilities",
    "equity_ratio", "current_ratio", "roe", "net_margin",
)  # fmt: skip
_PUBLIC: Final[tuple[str, ...]] = (
    "revenue_total", "transfers_received_total", "costs_total", "net_profit", "total_assets",
    "financial_debt",
    "debt_to_revenue", "transfer_share", "personnel_cost_share",
)  # fmt: skip
_DRAWN: Final = 3  # amounts in the chart
_CODES: Final = ("sidlo", "pravnaForma", "skNace", "velkostOrganizacie")
_INK: Final = "#010203"  # stands for the colour of the page's letters
_INKED: Final = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_WORDS: Final = Words("unit_page")


@calls.checked_call
def unit_page(
    unit: int | str | pl.DataFrame | pl.LazyFrame,
    *,
    years: int = 3,
    among: pl.DataFrame | pl.LazyFrame | None = None,
    lang: Lang | None = None,
    register: Register | str | None = None,
) -> Filed:
    """Show a unit on one page: its record, its figures over years, its peers, and a chart.

    Of a register every filing of the unit is requested, as by `financials`.

    Args:
        unit: Its id (a whole number), its IČO (a text of 8 or 12 digits), or its record.
        years: The newest so many with figures.
        among: Figures that the unit is compared with, as `financials` returns them: its own among
            them; None leaves the comparison out.
        lang: ``"sk"`` or ``"en"``; None is the register's.
        register: The source: a `Register`, or what `use` takes; None is the current one.

    Returns:
        A `Filed`: text when printed, a page in Jupyter; ``to_html("unit.html")`` writes it as one
        file. The notes name the filing and the report of each year, or the reason.

    Raises:
        UsageError: It is not one unit, such as an IČO that several share, which are then listed; or
            *among* are no figures.
        NotFound: There is no such unit.
        RegisterError, Interrupted: As `financials`.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     page = fk.unit_page("00372491", lang="en")
        >>> page.parts[0].heads
        [('2017', ''), ('2018', ''), ('2019', '')]
    """
    reg = current.named(register)
    lang = reg._language(lang)
    words = _WORDS[lang]
    years = arguments.whole("years", years, 1, 100)
    record = one_unit(
        records_given(reg._source, unit, "unit", UNITS),
        "unit",
        unit if isinstance(unit, str) else ...,
    )
    money = ratios.computed(reg.financials(record).lazy(), keep=True).collect()
    assert isinstance(money, pl.DataFrame)
    is_public = "public" in money["family"].drop_nulls().tail(1).cast(pl.String)
    wanted = _PUBLIC if is_public else _BUSINESS
    shown = [name for name in wanted if money[name].count()]
    filled = money.filter(pl.any_horizontal(pl.lit(value=False), pl.col(shown).is_not_null()))
    newest: list[int] = filled["year"].drop_nulls().unique().sort().tail(years).to_list()
    of_years = money.filter(pl.col("year") >= newest[0]) if newest else money.tail(years)
    rows = of_years.to_dicts()
    parts = [_figures(rows, shown, lang)]
    notes = [words["euro"], *(_source(row, lang) for row in rows)]
    if among is not None and shown:
        parts.append(_peers(among, int(record["id"].item()), shown, lang))
        notes.append(words["compared"])
    drawn = [name for name in shown if figures.kind(name) == "amount"][:_DRAWN]
    return Filed(
        record["nazovUJ"].item() or str(record["id"].item()),
        _title(reg, record, lang), parts, notes, lang,
        source=reg.cite(lang=lang),
        picture=_picture(money, drawn, reg, lang) if drawn else "",
    )  # fmt: skip


def _title(reg: Register, record: pl.DataFrame, lang: Lang) -> list[tuple[str, str]]:
    words = _WORDS[lang]
    labelled = reg.resolve_labels(record, lang=lang, columns=list(_CODES)).row(0, named=True)
    row = record.row(0, named=True)
    seat = [" ".join(row[n] for n in names if row[n]) for names in (("ulica",), ("psc", "mesto"))]
    days = {name: row[name] for name in ("datumZalozenia", "datumZrusenia")}
    written = [None if day is None else number_format.day_text(day, lang) for day in days.values()]
    lines = [
        ("IČO", row["ico"]),
        ("DIČ", row["dic"]),
        (Words("filed")[lang]["seat"], ", ".join(part for part in seat if part)),
        (words["place"], labelled["municipality"]),
        (words["legal_form"], labelled["legal_form"]),
        (words["activity"], labelled["activity"]),
        (words["size"], labelled["size_class"]),
        (words["founded"], written[0]),
        (words["dissolved"], written[1]),
    ]
    return [(name, value) for name, value in lines if value]


def _figures(rows: list[dict[str, Any]], shown: list[str], lang: Lang) -> Part:
    """Return the figures, a column per year."""
    lines = [_line(name, [row[name] for row in rows], lang) for name in shown]
    heads = [(str(row["year"] or "–"), "") for row in rows]
    return Part(_WORDS[lang]["figures"], marked=False, heads=heads, lines=lines)


def _peers(frame: pl.DataFrame | pl.LazyFrame, unit: int, shown: list[str], lang: Lang) -> Part:
    """Return what the unit has beside its peers, and who these are in each line."""
    words, columns = _WORDS[lang], ("own", "p25", "median", "p75")
    table = peers(frame, unit, shown)
    lines = [
        _line(row["value"], [row[name] for name in columns], lang,
              number_format.whole(row["n"], lang), _group(row["by"], row["group"], lang))
        for row in table.iter_rows(named=True)
    ]  # fmt: skip
    heads = [("", words[name]) for name in (*columns, "n", "group")]
    return Part(
        words["peers"].format(year=table["year"][0]), marked=False, heads=heads, lines=lines
    )


def _group(fields: list[Grouping], codes: list[str], lang: Lang) -> str:
    """Return who the peers are; a code that no codelist has is its own name."""
    names = []
    for by, code in zip(fields, codes, strict=True):
        label = groups.codelist(by).filter(code=code)[f"name_{lang}"]
        names.append(label[0] if label.len() else code)
    return drawing.shortened(", ".join(names)) or _WORDS[lang]["everyone"]


def _line(name: str, values: list[float | None], lang: Lang, *more: str) -> Line:
    caption = figures.capitalized(figures.called(name, lang))
    write = _amount if figures.kind(name) == "amount" else figures.written
    cells = ["" if value is None else write(name, value, lang) for value in values]
    return Line("", "", caption, marked=False, level=0, is_sum=False, values=[*cells, *more])


def _amount(name: str, value: float, lang: Lang) -> str:
    return amount(value, lang, 0)


def _source(row: dict[str, Any], lang: Lang) -> str:
    """Return the filing of a year, or why there is none."""
    words = _WORDS[lang]
    if row["report_id"] is None:
        return words["without"].format(
            year=row["year"] or "–", reason=REASON_TEXTS[lang][row["reason"]]
        )
    day = "–" if row["filed"] is None else number_format.day_text(row["filed"], lang)
    return words["filing"].format(
        year=row["year"], statement=row["statement_id"], report=row["report_id"], day=day
    )


def _picture(money: pl.DataFrame, items: list[str], reg: Register, lang: Lang) -> str:
    """Return the chart of some items as SVG."""
    settings: Any = dict.fromkeys(_INKED, _INK) | dict.fromkeys(
        ("figure.facecolor", "axes.facecolor"), "none"
    )
    file = io.StringIO()
    with rc_context(settings | {"svg.fonttype": "none", "svg.hashsalt": "finstat_kit"}):
        figure = Figure(figsize=(7.5, 3.6), layout="constrained")
        plot_history(money, value=items, lang=lang, ax=figure.subplots(), register=reg)
        figure.savefig(file, format="svg", metadata={"Date": None})
    # On a dark page it is light on dark.
    picture = file.getvalue().replace(_INK, "currentColor")
    return "<svg" + picture.partition("<svg")[2]
