"""A statement over years: the rows of a form, or items where the forms differ, beside each year."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.frames.financials import assemble, items
from finstat_kit.frames.financials.readings import any_of_items
from finstat_kit.frames.reports.cells import REASON_TEXTS, CellReader
from finstat_kit.frames.reports.filed import (
    Filed,
    Line,
    Part,
    amount,
    form_name,
    printed_row,
    table_name,
)
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import day_text
from finstat_kit.protocol.forms import Form, FormOf, Row

Statement = Literal["income", "balance", "assets", "liabilities"]
# Which statement, and which of its tables; None is all of them.
_TABLES: Final[dict[Statement, tuple[str, int | None]]] = {
    "income": ("income", None),
    "balance": ("balance", None),
    "assets": ("balance", 0),
    "liabilities": ("balance", 1),
}
STATEMENTS: Final = tuple(_TABLES)
LABELS: Final = pl.Schema({"label": pl.String(), "number": pl.Int32(), "item": pl.String()})
FILINGS: Final = pl.Schema(
    {
        name: (assemble.IDENTITY | assemble.PROVENANCE)[name]
        for name in (
            "year", "period_from", "period_to", "months", "kind", "filed", "statement_id",
            "superseded_by", "report_id", "template", "currency", "reason",
        )
    }
)  # fmt: skip
_YEAR: Final = 12  # months of a usual period
_WORDS: Final = Words("history")


@dataclass(repr=False, eq=False)
class History(Filed):
    """A statement over years: text when printed, a table in Jupyter.

    Attributes:
        frame: ``label`` (String), ``number`` (Int32, of the row on the form), ``item`` (String; one
            of the two is null) and a column per year, named by it (Float64).
        filings: One row per year: the filing and the report that its figures are from.
    """

    frame: pl.DataFrame
    filings: pl.DataFrame


class _Entry(NamedTuple):
    """A row of a history; one of *row* and *item* is given."""

    row: Row
    item: items.Item | None
    values: list[float | None]


def history(
    unit: Mapping[str, Any],
    figures: pl.DataFrame,
    listed: pl.DataFrame,
    form_of: FormOf,
    statement: Statement,
    *,
    source: str,
    blanks: bool,
    lang: Lang,
) -> History:
    """Lay out a statement over years; see `Register.statement`.

    Args:
        unit: Its record.
        figures: Result of `assemble.assembled`, of the unit.
        listed: Result of `choice.listed_reports`, of the same filings.
        form_of: Returns the form that reports are read by.
        statement: Which tables.
        source: Where the figures are from, in words.
        blanks: Also rows that are blank in all years.
        lang: Language of captions and numbers.
    """
    words = _WORDS[lang]
    filings, reports = _filings(figures, listed, statement)
    years = filings["year"].to_list()
    templates = reports["idSablony"].unique(maintain_order=True).to_list()
    forms = {template: form for template in templates if (form := form_of(template)) is not None}
    if len(forms) == 1:
        form = next(iter(forms.values()))
        tables = _rows(form, reports, years, form_of, statement, lang)
    else:
        tables = _items(forms, figures.drop_nulls("year"), statement, lang)
    if not blanks:
        tables = [
            (name, marked, [entry for entry in entries if any(v is not None for v in entry.values)])
            for name, marked, entries in tables
        ]
    entries = [entry for _, _, table_entries in tables for entry in table_entries]
    cents = (v % 1 for entry in entries for v in entry.values if v is not None)
    places = 2 if any(cents) else 0
    heads = [_head(row, lang, of_form=len(forms) > 1) for row in filings.iter_rows(named=True)]
    parts = [
        Part(name, marked, heads, [_line(entry, lang, places) for entry in table_entries])
        for name, marked, table_entries in tables
    ]
    notes = [words["euro"] + ("" if blanks else f", {words['filled']}")] if parts else []
    notes += _notes(figures, filings, statement, lang, of_forms=len(forms) > 1)
    # Items have English of their own.
    names = ", ".join(form_name(f, lang if len(forms) == 1 else "sk") for f in forms.values())
    kind = words["forms" if len(forms) > 1 else "form"]
    page = (("IČO", unit["ico"]), (kind, names), (words["source"], source))
    title = [(name, text) for name, text in page if text]
    heading = unit["nazovUJ"] or words["unit"].format(id=unit["id"])
    return History(heading, title, parts, notes, lang, _frame(entries, years, lang), filings)


def _notes(
    figures: pl.DataFrame,
    filings: pl.DataFrame,
    statement: Statement,
    lang: Lang,
    *,
    of_forms: bool,
) -> list[str]:
    """Return what to know of the years: their forms, periods, and those without."""
    words, reasons, notes = _WORDS[lang], REASON_TEXTS[lang], list[str]()
    has_figure = any_of_items(items.columns_of(figures))
    if of_forms:
        years = figures.filter(has_figure)["year"]
        forms = _forms_by_year(filings.filter(pl.col("year").is_in(years.implode())))
        notes.append(words["items"].format(forms=forms))
    notes += other_periods(figures, lang)
    # Of half a filing, too.
    balance, income = items.by_statement()
    own_items = income if statement == "income" else balance
    is_shown = any_of_items(set(own_items).intersection(figures.columns))
    rows = figures.drop_nulls("reason").filter(~is_shown).select("year", "reason")
    without = [
        f"{year} ({reasons[reason]})" if year else reasons[reason]
        for year, reason in rows.iter_rows()
    ]
    return [*notes, words["without"].format(years=", ".join(without))] if without else notes


def _filings(
    figures: pl.DataFrame, listed: pl.DataFrame, statement: Statement
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the filing of each year, and the report of each that has the tables.

    A year whose figures count as none has no report.
    """
    having = [template for template in items.TEMPLATES if _tables(template, statement)]
    own = listed.filter("is_source", pl.col("idSablony").is_in(having))
    years = figures.drop_nulls("year")
    reports = (
        years.filter(any_of_items(items.columns_of(years)))
        .select("statement_id", "year")
        .join(own, on="statement_id")
    )
    ids = reports.select("year", report="report_id", form=pl.col("idSablony").cast(pl.Int32))
    filings = (
        years.join(ids, on="year", how="left", maintain_order="left")
        .with_columns(
            report_id=pl.coalesce("report", "report_id"), template=pl.coalesce("form", "template")
        )
        .select(FILINGS.names())
    )
    return filings, reports.rename({"report_id": "id"}).sort("year")


def _tables(template: int, statement: Statement) -> list[int]:
    """Return the tables of a form that belong to a statement: assets stand before liabilities."""
    name, side = _TABLES[statement]
    tables = {
        item.forms[template][0]
        for item in items.item_table()
        if item.statement == name and template in item.forms
    }
    ordered = sorted(tables)
    return ordered if side is None else ordered[side : side + 1]


_Table = tuple[str, bool, list[_Entry]]  # its name, whether that is Slovak instead of English


def _rows(
    form: Form,
    reports: pl.DataFrame,
    years: list[int],
    form_of: FormOf,
    statement: Statement,
    lang: Lang,
) -> list[_Table]:
    """Return the rows of the form that all reports are on."""
    cells, _ = CellReader(form_of).read(reports.drop("year"))
    now = items.is_read("total") & pl.col("period").ne_missing("previous")
    sums = (
        cells.filter(now)
        .join(reports.select("year", report_id="id"), on="report_id")
        .group_by("table", "row", "year")
        # Of a cell that is no number nothing is added.
        .agg(pl.when(pl.col("value").null_count() == 0).then(pl.col("value").sum().round(2)))
    )
    values = {(table, row, year): value for table, row, year, value in sums.iter_rows()}
    return [
        (
            *table_name(form.tables[table], lang),
            [
                _Entry(row, None, [values.get((table, place, year)) for year in years])
                for place, row in enumerate(form.tables[table].rows)
            ],
        )
        for table in _tables(form.id, statement)
    ]


def _items(
    forms: Mapping[int, Form], figures: pl.DataFrame, statement: Statement, lang: Lang
) -> list[_Table]:
    """Return the items of the forms, each where the newest form that has it has its first row."""
    newest = list(forms.values())[::-1]
    sides: tuple[Statement, ...] = (statement,)
    if statement == "balance":
        sides = ("assets", "liabilities")
    tables: list[_Table] = []
    for side in sides if forms else ():
        entries = [
            (_place(item, form), _Entry(_as_row(item, form), item, figures[item.name].to_list()))
            for item in items.item_table()
            for form in [form for form in newest if form.id in item.forms][:1]
            if item.forms[form.id][0] in _tables(form.id, side)
        ]
        entries.sort(key=lambda entry: entry[0])
        tables.append((_WORDS[lang][side], False, [entry for _, entry in entries]))
    return tables


def _place(item: items.Item, form: Form) -> tuple[int, float, int]:
    """Return how far down an item begins on a form, so that forms of other lengths compare."""
    table, lines = item.forms[form.id]
    rows = [line.row for line in lines if line.sign]
    return table, min(rows) / len(form.tables[table].rows), -len(rows)


def _as_row(item: items.Item, form: Form) -> Row:
    """Return an item as a row: as deep as its rows on a form, a sum where it is one that is."""
    table, lines = item.forms[form.id]
    rows = [form.tables[table].rows[line.row] for line in lines if line.sign]
    highest = min(rows, key=lambda row: len(row.path))
    sk, en = (label[:1].upper() + label[1:] for label in (item.label_sk, item.label_en))
    return Row(None, None, highest.path, sk, en, highest.terms if len(rows) == 1 else ())


def _line(entry: _Entry, lang: Lang, places: int) -> Line:
    values = ["" if v is None else amount(v, lang, places) for v in entry.values]
    return printed_row(entry.row, values, lang)


def _head(row: Mapping[str, Any], lang: Lang, *, of_form: bool) -> tuple[str, str]:
    """Return the year, and what sets it apart: a period of other than 12 months, its form."""
    facts = [str(row["template"])] if of_form and row["template"] else []
    if row["months"] not in (_YEAR, None):
        facts.append(_WORDS[lang]["months"].format(n=row["months"]))
    return str(row["year"]), ", ".join(facts)


def _forms_by_year(filings: pl.DataFrame) -> str:
    """Write which form holds which years: ``687: 2014–2016; 699: 2017–2024``."""
    runs = filings.with_columns(run=pl.col("template").rle_id())
    spans = runs.group_by("run", "template", maintain_order=True).agg(
        first=pl.col("year").first(), last=pl.col("year").last()
    )
    return "; ".join(
        f"{row['template']}: {row['first']}"
        + (f"–{row['last']}" if row["last"] != row["first"] else "")
        for row in spans.iter_rows(named=True)
    )


def other_periods(figures: pl.DataFrame, lang: Lang) -> list[str]:
    """Return a note for each year in which another period ends than the one of its row."""
    columns = ["year", "period_from", "period_to"]
    if not {*columns, "periods_in_year"} <= set(figures.columns):
        return []
    rows = figures.filter(pl.col("periods_in_year") > 1).select(columns).drop_nulls()
    return [
        _WORDS[lang]["another"].format(
            year=year, first=day_text(first, lang), last=day_text(last, lang)
        )
        for year, first, last in rows.unique().sort(columns).iter_rows()
    ]


def _frame(entries: Iterable[_Entry], years: Iterable[int], lang: Lang) -> pl.DataFrame:
    rows = [
        (
            (lang == "en" and entry.row.label_en) or entry.row.label_sk,
            entry.row.number,
            None if entry.item is None else entry.item.name,
            *entry.values,
        )
        for entry in entries
    ]
    schema = {**LABELS, **{str(year): pl.Float64() for year in years}}
    return pl.DataFrame(rows, schema=schema, orient="row")
