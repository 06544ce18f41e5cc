"""Named line items out of cells: the same figure on every form that has it.

An item is a signed list of rows of one form, kept in ``data/items.json``. A form of the register
whose rows differ from those of the package's form gives no number for the item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
from msgspec import Struct

from finstat_kit import arguments
from finstat_kit.errors import invalid
from finstat_kit.frames.reports.cells import CELLS, REASON
from finstat_kit.frames.reports.sums import Amounts, in_cents
from finstat_kit.frames.reports.templates import PERIOD
from finstat_kit.frames.text.slovak import folded_words
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import Form, FormOf, Row
from finstat_kit.protocol.shipped import read

ITEMS: Final = pl.Schema(
    {
        "report_id": pl.Int64(),
        "template": pl.Int32(),
        "period": PERIOD,
        "item": pl.String(),
        "value": pl.Float64(),
        "table": pl.Int16(),
        "rows": pl.List(pl.Int16),
        "terms": pl.String(),
        "reason": REASON,
    }
)
Activity = Literal["total", "main", "business"]
Family = Literal["business", "public", "non_profit", "single_entry"]
# Forms that are filed together and hold the items among them, those in force first.
FAMILIES: Final[dict[Family, tuple[tuple[int, ...], ...]]] = {
    "business": ((699,), (687,), (21, 22)),
    "public": ((690, 727), (684, 696), (522, 521)),
    "non_profit": ((1180,), (385,)),
    "single_entry": ((1164,), (383,)),
}
WHOLE: Final = tuple(together for forms_of in FAMILIES.values() for together in forms_of)
PAIRS: Final = tuple(n for n, together in enumerate(WHOLE) if len(together) > 1)  # in `WHOLE`
TEMPLATES: Final = tuple(template for together in WHOLE for template in together)
FAMILY_OF: Final[dict[int, Family]] = {
    template: family
    for family, forms_of in FAMILIES.items()
    for together in forms_of
    for template in together
}
FAMILY: Final = pl.Enum(list(FAMILIES))
LISTED: Final = pl.Schema(
    {
        "item": pl.String(),
        "label_sk": pl.String(),
        "label_en": pl.String(),
        "statement": pl.Enum(["balance", "income"]),
        **{str(family): pl.Int32() for family in FAMILIES},
        "forms": pl.List(pl.Int32),
        "note": pl.String(),
    }
)
# Their captions were compared with those of the live register; of other forms only what a
# transcription cannot get wrong is compared.
_RECORDED: Final = frozenset({699, 687, 21, 22})
# They have columns for untaxed and taxed activity, without a total and without a former period.
_UNTOTALLED: Final = pl.col("template").is_in([1164, 383]) & pl.col("period").is_null()
# On 687 these hold the accruals (accounts 381 to 385), which have rows of their own elsewhere.
WITH_ACCRUALS_ON_687: Final = (
    "current_assets", "non_current_receivables", "current_receivables", "liabilities",
    "non_current_payables", "non_current_liabilities_total", "current_payables",
    "current_liabilities_total",
)  # fmt: skip
# On 21, until 2013, accounts bound for over a year are among the current assets.
OTHER_ON_21: Final = (
    "non_current_assets", "non_current_financial_assets", "current_assets",
    "current_assets_with_accruals",
)  # fmt: skip
CELL: Final = ["template", "table", "row", "column"]
_NUMBERS: Final = re.compile(r"[0-9]+")
_NOT_IN_MARKS: Final = re.compile(r"[\W_]+")


class Line(NamedTuple):
    """A row of a form that is part of an item.

    Attributes:
        sign: 1, -1, or 0 for the sum row of the block, which only shows that blanks are zeros.
        row: Place in its table, from 0.
        number: As printed.
    """

    sign: int
    row: int
    number: int


class Item(Struct, frozen=True, rename={"name": "item"}):
    """A line item: for each form that has it the table and the rows."""

    name: str
    label_sk: str
    label_en: str
    statement: str
    note: str | None
    forms: dict[int, tuple[int, tuple[Line, ...]]]

    def terms(self, template: int) -> str:
        """Write the rows of a form by their printed numbers: ``+3 +4 +5``."""
        lines = self.forms[template][1]
        return " ".join(f"{'+' if x.sign > 0 else '-'}{x.number}" for x in lines if x.sign)


@cache
def item_table() -> tuple[Item, ...]:
    """Return the items: those of several families first, then the own ones of each family."""
    return tuple(sorted(read("items", tuple[Item, ...]), key=_place))


def _place(item: Item) -> int:
    first, *others = {FAMILY_OF[template] for template in item.forms}
    return -1 if others else list(FAMILIES).index(first)


def names() -> list[str]:
    """Return the names of the items."""
    return [item.name for item in item_table()]


def columns_of(figures: pl.DataFrame) -> list[str]:
    """Return the names of the items that a frame has as columns."""
    return [name for name in names() if name in figures.columns]


def listed(text: str | None = None) -> pl.DataFrame:
    """Return the items, or those with all words of a text; see `Register.items`."""
    rows = [
        (item.name, item.label_sk, item.label_en, item.statement,
         *(_first_year(item, family) for family in FAMILIES), list(item.forms), item.note)
        for item in item_table()
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=LISTED, orient="row")
    return table if text is None else searched(table, text, "words of a name, or cells")


def searched(table: pl.DataFrame, text: str, give: str) -> pl.DataFrame:
    """Return the rows with all words of a text, or their beginnings, in the name or a label.

    Args:
        table: The name in its first column.
        text: As given by ``frame=``.
        give: What to give instead of a text without words.
    """
    text = arguments.sought("frame", text, give)
    words = pl.select(folded_words(pl.lit(text))).item().split()
    names = folded_words(pl.concat_str(table.columns[0], "label_sk", "label_en", separator=" "))
    return table.filter(names.str.contains(f" {word}", literal=True) for word in words)


def _first_year(item: Item, family: Family) -> int | None:
    """Return the year since which the forms of a family have an item, None if they have not."""
    shipped = [forms.shipped(template) for template in item.forms if FAMILY_OF[template] == family]
    days = [form.valid_from for form in shipped if form is not None and form.valid_from is not None]
    return min(days).year if days else None


def of_families(families: Iterable[str]) -> list[str]:
    """Return the names of the items that forms of some families have."""
    wanted = set(families)
    return [
        item.name
        for item in item_table()
        if not wanted.isdisjoint(FAMILY_OF[template] for template in item.forms)
    ]


@cache
def by_statement() -> tuple[list[str], list[str]]:
    """Return the names of the items of the balance sheet, and of those of the income statement."""
    balance = [item.name for item in item_table() if item.statement == "balance"]
    return balance, [name for name in names() if name not in balance]


def forms_with(parts: Sequence[str]) -> list[int]:
    """Return the templates that have all of some items, together with those filed beside them."""
    having = {item.name: item.forms for item in item_table()}
    return [
        template
        for together in WHOLE
        if all(any(form in having[part] for form in together) for part in parts)
        for template in together
    ]


def terms_of(parts: pl.DataFrame) -> dict[tuple[str, str], list[tuple[float, int]]]:
    """Return the terms of each item and period as `Amounts.up` takes them.

    Args:
        parts: Result of `parts_of` with ``cell``, the row of each cell in the matrix.
    """
    terms: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for item, period, *term in parts.select("item", "period", "sign", "cell").iter_rows():
        terms.setdefault((item, period), []).append((term[0], term[1]))
    return terms


def items_of(cells: pl.DataFrame, live: FormOf, activity: Activity) -> pl.DataFrame:
    """Return the items of cells; see `Register.items`.

    Args:
        cells: As `CellReader` returns them, of whichever templates.
        live: Returns the form whose captions are compared, None where there is none to compare.
        activity: Which column of costs and revenue is read where there are several.
    """
    cells = cells.unique(["report_id", *CELL], keep="first", maintain_order=True)
    _refuse_blanks(cells)
    cells = cells.filter(is_read(activity))
    reports = cells.select("report_id", "template").unique(maintain_order=True)
    if reports.is_empty():
        return pl.DataFrame(schema=ITEMS)
    parts = parts_of(cells.select(*CELL, "period", "measure").unique(), live, activity)
    keys = parts.select(CELL).unique(maintain_order=True).with_row_index("cell")
    terms = terms_of(parts.join(keys, on=CELL, maintain_order="left"))
    placed = cells.join(reports.with_row_index("report"), on=["report_id", "template"])
    amounts = Amounts((keys.height, reports.height), placed.join(keys, on=CELL))
    templates = reports["template"].unique().sort().to_list()
    figures = [
        reports.select(
            "report_id", "template", pl.lit(period, PERIOD).alias("period"), item=pl.lit(name),
            at=pl.int_range(pl.len()),
            value=in_cents({"value": sums.amounts})["value"],
            has_text=pl.Series(np.isnan(sums.values), dtype=pl.Boolean),
        )
        for period in ("current", "previous")
        for name in of_families(FAMILY_OF[template] for template in templates)
        for sums in [amounts.up(terms.get((name, period), ()))]
    ]  # fmt: skip
    return (
        pl.concat(figures)
        .sort("at", maintain_order=True)
        .join(
            _of_forms(templates, live), on=["template", "item"], how="inner", maintain_order="left"
        )
        .with_columns(
            reason=pl.when("has_text").then(pl.lit("not_a_number", REASON)).otherwise("reason")
        )
        .select(ITEMS.names())
    )


def _refuse_blanks(cells: pl.DataFrame) -> None:
    """Refuse cells with blanks, in which what is no number looks as what is blank.

    Raises:
        UsageError: A report has a row for each cell of its form, and some without a value.
    """
    each = cells.group_by("report_id", "template").agg(pl.len(), pl.col("value").has_nulls())
    for template, number in each.filter("value").select("template", "len").unique().iter_rows():
        form = forms.shipped(template)
        if form is not None and number == sum(table.cells for table in form.tables):
            raise invalid(
                "frame",
                ...,
                ": it has the blank cells too, which are not told from those that are no numbers",
                give="fk.reports.cells(reports), without blanks=True",
            )


def parts_of(layout: pl.DataFrame, live: FormOf, activity: Activity) -> pl.DataFrame:
    """Return the cells that items are made of, where the captions are those of the items.

    Args:
        layout: What the cells of the forms mean, by template, table, row and column.
        live: Returns the form whose captions are compared, None where there is none to compare.
        activity: Which column of costs and revenue is read where there are several.

    Returns:
        ``template``, ``table``, ``row``, ``column``, ``period``, ``item`` and ``sign`` (Float64).
    """
    templates = layout["template"].unique().sort().to_list()
    table = _of_forms(templates, live).filter(pl.col("reason").is_null())
    parts = table.explode("lines").unnest("lines")
    return (
        layout.filter(is_read(activity))
        .select(
            *CELL,
            period=pl.when(_UNTOTALLED).then(pl.lit("current", PERIOD)).otherwise("period"),
        )
        .join(parts.select("template", "table", "row", "item", "sign"),
              on=["template", "table", "row"])
    )  # fmt: skip


def is_read(activity: Activity) -> pl.Expr:
    """Return whether items are read from a cell.

    Of the assets the net column is, of costs and revenue that of the activity.
    """
    of_period = pl.col("period").is_not_null() & (
        pl.col("measure").is_null() | pl.col("measure").is_in(["net", activity])
    )
    added = _UNTOTALLED & pl.lit(activity == "total")
    return pl.col("template").is_in(TEMPLATES) & (of_period | added)


def is_mismatched(template: int, live: FormOf) -> bool:
    """Return whether a form has another caption than an item expects; *live* as in `parts_of`."""
    return "caption_mismatch" in _of_forms([template], live)["reason"]


def _of_forms(templates: list[int], live: FormOf) -> pl.DataFrame:
    """Return the items of the families of forms: table and rows on each, or why there are none."""
    rows = []
    for template in templates:
        form = live(template)
        for item in of_families([FAMILY_OF[template]]):
            table, lines = _by_name()[item].forms.get(template, (None, ()))
            reason = None
            if table is None:
                reason = "item_not_in_form"
            elif form is not None and not rows_match(form, template, table, lines):
                reason = "caption_mismatch"
            own = [line.row for line in lines if line.sign]
            parts = [{"sign": line.sign, "row": line.row} for line in lines]
            terms = _by_name()[item].terms(template) if own else None
            rows.append((template, item, table, own or None, terms, reason, parts))
    schema = {
        name: ITEMS[name] for name in ("template", "item", "table", "rows", "terms", "reason")
    }
    part = pl.Struct({"sign": pl.Float64, "row": CELLS["row"]})
    return pl.DataFrame(rows, schema={**schema, "lines": pl.List(part)}, orient="row")


@cache
def _by_name() -> dict[str, Item]:
    return {item.name: item for item in item_table()}


def rows_match(form: Form, template: int, table: int, lines: Iterable[Line]) -> bool:
    """Return whether a table of the register's form is that of the package's, and some rows are."""
    own = forms.shipped(template)
    if own is None or table >= len(form.tables):
        return False
    theirs, ours = form.tables[table], own.tables[table]
    columns = [[(column.period, column.measure) for column in of.columns] for of in (theirs, ours)]
    # The cells of a report are found by the numbers of rows and columns.
    if len(theirs.rows) != len(ours.rows) or columns[0] != columns[1]:
        return False
    return all(same_row(theirs.rows[line.row], ours.rows[line.row], template) for line in lines)


def same_row(theirs: Row, ours: Row, template: int) -> bool:
    """Return whether a row of a form of the register is that of the package's form.

    Captions that were recorded are compared as they are; of others the number of the row, its mark,
    the accounts and the rows of its sum, which a transcription cannot get wrong.
    """
    if template in _RECORDED:
        return theirs.label_sk.split() == ours.label_sk.split()
    return _key(theirs) == _key(ours)


def _key(row: Row) -> tuple[int | None, str, list[int]]:
    mark = _NOT_IN_MARKS.sub("", row.mark or "").casefold()
    return row.number, mark, [int(number) for number in _NUMBERS.findall(row.label_sk)]
