"""The forms of reports: templates of the register, checked and read.

A report has neither the labels of its rows nor the number of its columns: both are in its
template. The forms of businesses, public bodies and non-profits come with the package; any other
has to be requested. Where the register's form has no English, captions have the package's: a
caption is a term, looked up in ``data/facts/english.tsv``, and what follows it, accounts and the
rows that it adds up, written in the words of the register's English forms. Sums are always read
from the Slovak caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import cache
from typing import Final, NamedTuple

import msgspec

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol.forms import captions as form_rows
from finstat_kit.protocol.forms.captions import Column, Path, Term
from finstat_kit.protocol.shipped import data_folder, template_bodies
from finstat_kit.protocol.untrusted import broken, object_at, read_json
from finstat_kit.protocol.wire import TABLES, TEMPLATE_LIST

_LARGEST: Final = 10_000  # rows or columns of a table
# Of captions with single spaces: nothing here takes longer than the caption is long.
_TOKEN: Final = re.compile(
    r"""(?P<behind>r\ ?\.\ ?[0-9]{1,4}       # a row
    |až\ (?:r\ ?\.\ ?)?[0-9]{1,4}            # the last of some rows
    |[0-9][0-9X]{1,2}A?Ú?(?!\w)|AÚ?(?!\w)   # an account: "06XA", "096 AÚ"
    |účtová\ skupina
    |celkom(?=\ \(?súčet)|spolu(?=\ (?:súčet|r\ ?\.))
    |(?:súčet|alebo|mínus|okrem|až|a)(?!\w))
    |\w+\)?""",
    re.VERBOSE,
)
_IN_WORDS: Final = re.compile(r"[^\W\dAX]")  # a letter that is not of an account
_WORDS: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"r ?\. ?([0-9]+) až (?:r ?\. ?)?([0-9]+)", r"lines \1 to \2"),
        (r"r ?\. ?([0-9]+)", r"line \1"),
        (r" ?(?:(?:spolu|celkom) )?\(súčet ", " - total ("),
        (r" ?\b(?:(?:spolu|celkom)(?: súčet)?|súčet)\b", " - total"),
        (r" ?AÚ", "A"),
        (r"účtová skupina", "account group"),
        (r"\bokrem\b", "except"),
        (r"\balebo\b", "or"),
        (r"\bmínus\b", "-"),
        (r"\baž\b", "to"),
        (r"\ba\b", "and"),
    )
)


class Row(NamedTuple):
    """A row of a table, as the form prints it.

    Attributes:
        number: Printed number, None on forms without.
        mark: Designation as printed: ``2.``, ``A.I.``, ``**``; it repeats and has misprints.
        path: The designation completed from the rows above: ``("A", "I", "2")``; empty for totals.
        label_sk: Caption.
        label_en: Caption in English, the package's translation where the register has none; None
            where neither has one.
        terms: The rows that it is the sum of, empty if it is not a sum.
    """

    number: int | None
    mark: str | None
    path: Path
    label_sk: str
    label_en: str | None
    terms: tuple[Term, ...]


class Table(NamedTuple):
    """A table of a form; a report's cell (row, column) is ``data[row * len(columns) + column]``."""

    name_sk: str | None
    name_en: str | None
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def cells(self) -> int:
        """The number of cells, which a report's table has to have."""
        return len(self.rows) * len(self.columns)


class Form(NamedTuple):
    """A template of the register; one without tables describes notes, title pages and the like.

    Attributes:
        translated: Whether English of it is the package's translation.
    """

    id: int
    name: str | None
    decree: str | None
    valid_from: date | None
    valid_to: date | None
    tables: tuple[Table, ...]
    translated: bool


class _Text(msgspec.Struct):
    sk: str | None = None
    en: str | None = None


class _Cell(msgspec.Struct, rename={"line": "riadok", "column": "stlpec", "width": "sirkaStlpca"}):
    line: int
    column: int
    text: _Text | None = None
    width: int = 1


class _Row(msgspec.Struct, rename={"mark": "oznacenie", "number": "cisloRiadku"}):
    text: _Text | None = None
    mark: str | None = None
    number: int | None = None


class _Table(
    msgspec.Struct,
    rename={
        "name": "nazov",
        "columns": "pocetStlpcov",
        "data_columns": "pocetDatovychStlpcov",
        "header": "hlavicka",
        "rows": "riadky",
    },
):
    columns: int
    data_columns: int
    name: _Text | None = None
    header: list[_Cell] | None = None
    rows: list[_Row] | None = None


class _Template(
    msgspec.Struct,
    rename={
        "name": "nazov",
        "decree": "nariadenieMF",
        "valid_from": "platneOd",
        "valid_to": "platneDo",
        "tables": "tabulky",
    },
):
    id: int
    name: str | None = None
    decree: str | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    tables: list[_Table] | None = None


@cache
def shipped(template: int) -> Form | None:
    """Return a form that comes with the package, None for any other."""
    body = template_bodies().get(template)
    return None if body is None else parse_template(body, template)


def parse_template(body: bytes, template: int) -> Form:
    """Read the reply of a template."""
    where = f"template {template}: "
    reply = object_at(read_json(body, where), where)
    if reply.get("id") != template or type(reply.get("id")) is not int:
        raise broken(f"{where}$.id", str(template), reply.get("id"), "id" in reply)
    return _form(reply, where, "$")


def parse_templates(body: bytes) -> tuple[list[Form], bool]:
    """Read the list of templates, and whether it has their tables; a list need not have them."""
    reply = object_at(read_json(body))
    entries = reply.get(TEMPLATE_LIST)
    if type(entries) is not list:
        raise broken(f"$.{TEMPLATE_LIST}", "a list of templates", entries, TEMPLATE_LIST in reply)
    forms, with_tables = [], False
    for index, entry in enumerate(entries):
        path = f"$.{TEMPLATE_LIST}[{index}]"
        forms.append(_form(object_at(entry, path=path), "", path))
        with_tables = with_tables or entry.get(TABLES) is not None
    ids = [form.id for form in forms]
    if len(set(ids)) < len(ids):
        repeated = next(id_ for id_ in ids if ids.count(id_) > 1)
        raise ProtocolError(f"$.{TEMPLATE_LIST}: the template {repeated} is listed twice")
    return forms, with_tables


def _form(reply: dict[str, object], where: str, path: str) -> Form:
    try:
        template = msgspec.convert(reply, _Template)
    except msgspec.ValidationError as error:
        # "Expected `int`, got `str` - at `$.tabulky[0].pocetStlpcov`"
        text, _, position = str(error).partition(" - at ")
        at = path + position.strip("`").removeprefix("$")
        raise ProtocolError(f"{where}{at}: {text[:1].lower()}{text[1:]}") from None
    tables = template.tables or []
    translated = _translate(tables)
    for index, table in enumerate(tables):
        if not 1 <= table.data_columns <= table.columns <= _LARGEST:
            raise broken(
                f"{where}{path}.{TABLES}[{index}].pocetDatovychStlpcov",
                f"1 to pocetStlpcov ({table.columns})",
                table.data_columns,
            )
    numbers = [
        form_rows.numbers([(row.number, row.mark) for row in table.rows or []]) for table in tables
    ]
    return Form(
        template.id,
        template.name,
        template.decree,
        template.valid_from,
        template.valid_to,
        tuple(_table(table, position, numbers) for position, table in enumerate(tables)),
        translated,
    )


def _translate(tables: Iterable[_Table]) -> bool:
    """Fill in the English that a form lacks; return whether any was filled in."""
    texts = [table.name for table in tables]
    texts += [cell.text for table in tables for cell in table.header or []]
    texts += [row.text for table in tables for row in table.rows or []]
    translated = False
    for text in texts:
        if text and not _trimmed(text.en) and (words := english(text.sk)):
            text.en, translated = words, True
    return translated


def _table(table: _Table, index: int, numbers: list[dict[int, int]]) -> Table:
    name, rows = table.name or _Text(), table.rows or []
    header = [
        form_rows.HeaderCell(cell.line, cell.column, cell.width, _trimmed(text.sk) or "", text.en)
        for cell in table.header or []
        for text in (cell.text or _Text(),)
    ]
    row_paths = form_rows.paths(row.mark for row in rows)
    return Table(
        name.sk,
        name.en,
        form_rows.columns(header, table.columns, table.data_columns, name.sk),
        tuple(_row(row, path, index, numbers) for row, path in zip(rows, row_paths, strict=True)),
    )


def _row(row: _Row, path: Path, table: int, numbers: list[dict[int, int]]) -> Row:
    text = row.text or _Text()
    label = text.sk or ""
    terms = form_rows.terms(form_rows.references(label), table, numbers)
    return Row(row.number, _trimmed(row.mark), path, label, _trimmed(text.en), terms)


def _trimmed(text: str | None) -> str | None:
    return (text or "").strip() or None


def english(caption: str | None) -> str | None:
    """Translate a caption, a header or the name of a table; None if its term is not known.

    >>> english("Dlhodobý hmotný majetok súčet (r. 05 až r. 08)")
    'Property, plant and equipment - total (lines 05 to 08)'
    >>> english("Neznámy majetok r. 1 + r. 2")
    """
    term, behind = _parted(" ".join((caption or "").split()))
    words = _terms().get(_key(term))
    if words is None:
        return None
    for pattern, written in _WORDS if _IN_WORDS.search(behind) else ():
        behind = pattern.sub(written, behind)
    return (words.upper() if term.isupper() else words) + behind


def _parted(caption: str) -> tuple[str, str]:
    """Part a caption behind the last word that is neither an account nor of a sum."""
    end = max((token.end() for token in _TOKEN.finditer(caption) if not token["behind"]), default=0)
    return caption[:end], caption[end:]


def _key(term: str) -> str:
    """Return the letters and digits of a term, whatever its case and punctuation."""
    return " ".join(re.findall(r"\w+", term.casefold()))


@cache
def _terms() -> dict[str, str]:
    text = (data_folder() / "facts" / "english.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {_key(slovak): words for slovak, words in rows}
