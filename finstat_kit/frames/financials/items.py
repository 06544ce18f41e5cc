"""Named line items out of cells: the same figure on every form that has it.

An item is a signed list of rows of one form, kept in ``data/items.json``. A form of the register
whose rows differ from those of the package's form gives no number for the item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

import polars as pl
from msgspec import Struct

from finstat_kit import arguments
from finstat_kit.calls import checked_call
from finstat_kit.frames.reports.cells import CELLS, layout_of
from finstat_kit.frames.reports.templates import PERIOD
from finstat_kit.frames.text.slovak import folded_words
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import Form, Row
from finstat_kit.protocol.shipped import read

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


@checked_call
def items(text: str | None = None) -> pl.DataFrame:
    """List the items of financial statements, or search them. Sends no request.

    An item is the same figure on every form that has it: a signed list of rows of each. In an item
    of several rows a blank row counts as 0 if another row, or the sum row of their block, is
    filled; an item of blanks only is null. Assets are read from the net column. The forms of
    businesses, public bodies, non-profits and single-entry filers have items; if a row of the
    register's own form is another than that of the package's, the item is null.

    Args:
        text: Lists the items with all of its words, or their beginnings, in the name or a label of
            either language; None lists all.

    Returns:
        One row per item: ``item``, ``label_sk``, ``label_en`` (String), ``statement`` (Enum
        ``balance``, ``income``), ``business``, ``public``, ``non_profit``, ``single_entry`` (Int32,
        the first year in which forms of the family have it; null if they have not), ``forms`` (List
        of Int32, the templates that have it) and ``note`` (String, what to mind; null if there is
        nothing).

    Raises:
        UsageError: The text has no words.

    Example:
        >>> import finstat_kit as fk
        >>> fk.items().filter(item="equity").select("label_sk", "label_en", "public").row(0)
        ('vlastné imanie', 'equity', 2012)
        >>> fk.items("dlhodobe uvery")["item"].to_list()
        ['bank_loans_non_current']
    """
    rows = [
        (item.name, item.label_sk, item.label_en, item.statement,
         *(_first_year(item, family) for family in FAMILIES), list(item.forms), item.note)
        for item in item_table()
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=LISTED, orient="row")
    return table if text is None else searched(table, "text", text, "words of a name")


def searched(table: pl.DataFrame, argument: str, text: str, give: str) -> pl.DataFrame:
    """Return the rows with all words of a text, or their beginnings, in the name or a label.

    Args:
        table: The name in its first column.
        argument: What the text is given by.
        text: As given.
        give: What to give instead of a text without words.
    """
    text = arguments.sought(argument, text, give)
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


def parts_of(
    form: Form, live: Form | None, activity: Activity, wanted: frozenset[str] | None
) -> tuple[pl.DataFrame, bool]:
    """Return the cells of a form that items are made of, and whether captions are as expected.

    An item of a row with another caption has no cells.

    Args:
        form: By which cells are read.
        live: Whose captions are compared with those of the items; None where there is none.
        activity: Which column of costs and revenue is read where there are several.
        wanted: Names of items; None for all.

    Returns:
        ``table``, ``row``, ``column``, ``period``, ``item`` and ``sign`` (Float64).
    """
    lines, mismatched = [], False
    for item in item_table():
        table, own = item.forms.get(form.id, (0, ()))
        if own and live is not None and not rows_match(live, form.id, table, own):
            mismatched = True
        elif wanted is None or item.name in wanted:
            lines += [(table, line.row, item.name, line.sign) for line in own]
    schema = {name: CELLS[name] for name in ("table", "row")}
    schema |= {"item": pl.String(), "sign": pl.Float64()}
    period = pl.when(_UNTOTALLED).then(pl.lit("current", PERIOD)).otherwise("period")
    cells = layout_of({form.id: form}, CELLS).filter(is_read(activity))
    parts = cells.select("table", "row", "column", period=period).join(
        pl.DataFrame(lines, schema, orient="row"), on=["table", "row"]
    )
    return parts, mismatched


def is_read(activity: Activity) -> pl.Expr:
    """Return whether items are read from a cell.

    Of the assets the net column is, of costs and revenue that of the activity.
    """
    of_period = pl.col("period").is_not_null() & (
        pl.col("measure").is_null() | pl.col("measure").is_in(["net", activity])
    )
    return of_period | (_UNTOTALLED & pl.lit(activity == "total"))


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
