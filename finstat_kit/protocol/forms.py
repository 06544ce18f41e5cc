"""The forms of reports: templates of the register, checked and read, and what their captions say.

A report has neither the labels of its rows nor the number of its columns: both are in its template
[Details]. The forms of businesses, public bodies, non-profits and sole traders come with the
package; any other has to be requested. Where the register's form has no English, captions have the
package's: a caption is a term, looked up in ``data/facts/english.tsv``, and what follows it,
accounts and the rows that it adds up, written in the words of the register's English forms.

What follows is observed on the templates of the live register. Designations of rows repeat and have
misprints, so a row's place in the hierarchy comes from the rows above it; a sum is read from its
Slovak caption, ``r. 02 + r. 33``, ``súčet (r. 04 až r. 10)``. A cell of the header starts at a
column and covers as many columns as it is wide; the text of a column is all cells above it, top to
bottom. The last line of a header numbers the columns, which means nothing.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import Final, NamedTuple

import msgspec

from finstat_kit.errors import ProtocolError
from finstat_kit.protocol.records import Names, decoded
from finstat_kit.protocol.shipped import data_folder, template_bodies
from finstat_kit.protocol.untrusted import broken
from finstat_kit.protocol.wire import TABLES, TEMPLATE_LIST

# The English of captions, which have single spaces: nothing here takes longer than one is long.
_CAPTION_TOKEN: Final = re.compile(
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
_ENGLISH_OF_SUMS: Final = (
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

# Rows: their designations, and the sums in their captions.
Path = tuple[str, ...]
_MARK_PART: Final = re.compile(r"[0-9]+|[a-z]|[A-Z]+")
_AS_MARK: Final = re.compile(r"\s*([0-9]{1,4})[\s.]*")
# "r." as a separate word: "účt. tr. 6" is not a reference.
_REFERENCE: Final = r"(?<![^\W_])r\s*\.\s*[0-9]{1,4}(?![0-9])"
_FIRST_REFERENCE: Final = re.compile(rf"[(\[\s]*{_REFERENCE}")
_SUM_TOKEN: Final = re.compile(
    rf"""\s*(?:
    (?P<row>{_REFERENCE})
    |až\s+(?:r\s*\.\s*)?(?P<last>[0-9]{{1,4}})(?![0-9])
        (?:\s*-\s*(?P<without>[0-9]+)\b)?  # "až r. 17 - 16"
    |(?P<minus>[-–−]|mínus\b)
    |\+\s*/\s*[-–−]|\+  # an amount of either sign is added
    |(?P<also>(?:a\b|,)(?=[(\[\s]*{_REFERENCE}))
    |\((?![^()]*{_REFERENCE})[^()]*\)  # a remark: "(stĺpec 3 Netto)"
    |(?P<open>[(\[])
    |(?P<close>[)\]]))""",
    re.VERBOSE,
)

# Columns: what the cells of a header say. The first pattern that matches names period or measure.
PERIODS: Final = ("current", "previous")
_PERIOD_WORDS: Final = {
    "previous": r"predch|20\s*xx\s*-\s*1",
    "current": r"bežn|20\s*xx|rozpočet",  # a budget belongs to the year in the cell beside it
}
# Table names that end like this: "BS_BUO", "PL_PUO".
_PERIOD_IN_NAME: Final = {"previous": r"_puo\s*$", "current": r"_buo\s*$"}
# "Hlavná nezdaňovaná" is the main activity.
_MEASURE_WORDS: Final = {
    "gross": "brutto",
    "correction": "korekci|oprávk",
    "net": "netto",
    "main": "hlavn",
    "business": "podnikateľsk",
    "total": "spolu",
    "untaxed": "nezdaň",
    "taxed": "zdaň",
}
MEASURES: Final = (*_MEASURE_WORDS, "other")
_ORDINAL: Final = re.compile(r"[a-z]|[0-9]{1,3}[a-z]?", re.IGNORECASE)
# Words that name no measure: a period, or that there are figures.
_NEUTRAL: Final = re.compile(
    r".*(predch|bežn|20\s*xx|skutočnosť).*|účtovné obdobie|stav|hodnota", re.IGNORECASE | re.DOTALL
)


class Term(NamedTuple):
    """One addend of a sum: its sign, and the row by table and index, both from 0."""

    sign: int
    table: int
    row: int


class Column(NamedTuple):
    """A data column of a table.

    Attributes:
        period: One of `PERIODS`, None where the header names none.
        measure: One of `MEASURES`, None where the header names nothing but a period.
        header_sk: All header cells above it, top to bottom, joined by `` / ``.
        header_en: The same in English, None where one of them has none.
    """

    period: str | None
    measure: str | None
    header_sk: str
    header_en: str | None


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
    """A table of a form; a report's cell (row, column) is ``data[row * len(columns) + column]``.

    [Details]: one flat list of texts, row by row.
    """

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


# Looks a form up by the id of its template; None where there is none.
FormOf = Callable[[int], Form | None]


class HeaderCell(msgspec.Struct):
    """A cell of a header; lines and columns are counted from 1."""

    riadok: int
    stlpec: int
    text: Names | None = None
    sirkaStlpca: int = 1


class _Row(msgspec.Struct):
    text: Names | None = None
    oznacenie: str | None = None
    cisloRiadku: int | None = None


class _Table(msgspec.Struct):
    pocetStlpcov: int
    pocetDatovychStlpcov: int
    nazov: Names | None = None
    hlavicka: list[HeaderCell] | None = None
    riadky: list[_Row] | None = None


class _Template(msgspec.Struct):
    id: int
    nazov: str | None = None
    nariadenieMF: str | None = None
    platneOd: date | None = None
    platneDo: date | None = None
    tabulky: list[_Table] | None = None


class _Templates(msgspec.Struct):
    listed: list[_Template] = msgspec.field(name=TEMPLATE_LIST)


@cache
def shipped(template: int) -> Form | None:
    """Return a form that comes with the package, None for any other."""
    body = template_bodies().get(template)
    return None if body is None else parse_template(body, template)


def parse_template(body: bytes, template: int) -> Form:
    """Read the reply of a template."""
    where = f"template {template}: "
    reply = decoded(body, _Template, where)
    if reply.id != template:
        raise broken(f"{where}$.id", f"expected {template}, got {reply.id}")
    return _form(reply, f"{where}$")


def parse_templates(body: bytes) -> tuple[list[Form], bool]:
    """Read the list of templates, and whether it has their tables; a list need not (ours)."""
    listed = decoded(body, _Templates).listed
    forms = [_form(entry, f"$.{TEMPLATE_LIST}[{n}]") for n, entry in enumerate(listed)]
    repeated = [id_ for id_, times in Counter(form.id for form in forms).items() if times > 1]
    if repeated:
        raise ProtocolError(f"$.{TEMPLATE_LIST}: the template {repeated[0]} is listed twice")
    return forms, any(entry.tabulky is not None for entry in listed)


def _form(sent: _Template, path: str) -> Form:
    tables = sent.tabulky or []
    translated = _translate(tables)
    for index, table in enumerate(tables):
        if not 1 <= table.pocetDatovychStlpcov <= table.pocetStlpcov:
            raise broken(
                f"{path}.{TABLES}[{index}].pocetDatovychStlpcov",
                f"expected 1 to pocetStlpcov ({table.pocetStlpcov}), got "
                f"{table.pocetDatovychStlpcov}",
            )
    numbers = [
        rows_by_number(index, [(row.cisloRiadku, row.oznacenie) for row in table.riadky or []])
        for index, table in enumerate(tables)
    ]
    # A number means a row of its own table, else of the nearest before it, or else after it.
    read = tuple(
        _table(table, ChainMap(*numbers[index::-1], *numbers[index + 1 :]))
        for index, table in enumerate(tables)
    )
    return Form(
        sent.id, sent.nazov, sent.nariadenieMF, sent.platneOd, sent.platneDo, read, translated
    )


def _translate(tables: Iterable[_Table]) -> bool:
    """Fill in the English that a form lacks; return whether any was filled in."""
    texts = [table.nazov for table in tables]
    texts += [cell.text for table in tables for cell in table.hlavicka or []]
    texts += [row.text for table in tables for row in table.riadky or []]
    translated = False
    for text in texts:
        if text and not _trimmed(text.en) and (words := translated_caption(text.sk)):
            text.en, translated = words, True
    return translated


def _table(table: _Table, places: Mapping[int, tuple[int, int]]) -> Table:
    name, sent = table.nazov or Names(), table.riadky or []
    columns = read_columns(
        table.hlavicka or [], table.pocetStlpcov, table.pocetDatovychStlpcov, name.sk
    )
    rows = []
    for row, path in zip(sent, row_paths(row.oznacenie for row in sent), strict=True):
        text, mark = row.text or Names(), _trimmed(row.oznacenie)
        label = text.sk or ""
        added = sum_references(label)
        if any(number not in places for _, number in added):
            added = []
        terms = tuple(Term(sign, *places[number]) for sign, number in added)
        rows.append(Row(row.cisloRiadku, mark, path, label, _trimmed(text.en), terms))
    return Table(name.sk, name.en, columns, tuple(rows))


def _trimmed(text: str | None) -> str | None:
    return (text or "").strip() or None


def translated_caption(caption: str | None) -> str | None:
    """Translate a caption, a header or the name of a table; None if its term is not known.

    >>> translated_caption("Dlhodobý hmotný majetok súčet (r. 05 až r. 08)")
    'Property, plant and equipment - total (lines 05 to 08)'
    >>> translated_caption("Neznámy majetok r. 1 + r. 2")
    """
    caption = " ".join((caption or "").split())
    # The term ends with the last word that is neither an account nor of a sum.
    words_of_term = (token for token in _CAPTION_TOKEN.finditer(caption) if not token["behind"])
    end = max((word.end() for word in words_of_term), default=0)
    term, behind = caption[:end], caption[end:]
    words = _english_terms().get(_term_key(term))
    if words is None:
        return None
    for pattern, written in _ENGLISH_OF_SUMS if _IN_WORDS.search(behind) else ():
        behind = re.sub(pattern, written, behind)
    return (words.upper() if term.isupper() else words) + behind


def _term_key(term: str) -> str:
    """Return the letters and digits of a term, whatever its case and punctuation."""
    return " ".join(re.findall(r"\w+", term.casefold()))


@cache
def _english_terms() -> dict[str, str]:
    text = (data_folder() / "facts" / "english.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {_term_key(slovak): words for slovak, words in rows}


def row_paths(marks: Iterable[str | None]) -> Iterator[Path]:
    """Complete the designations of a table: ``2.`` below ``A.I.1.`` is ``A.I.2.``.

    Totals and results, which have no mark or stars, are outside the numbering: their path is empty.
    """
    above: Path = ()
    for mark in marks:
        parts = tuple(_MARK_PART.findall(mark or ""))
        # A capital begins anew; a number or a small letter continues what is above it.
        if parts and not parts[0].isupper():
            kind = str.isdigit if parts[0].isdigit() else str.islower
            same = [depth for depth, part in enumerate(above) if kind(part)]
            parts = above[: same[0] if same else len(above)] + parts
        above = parts or above
        yield parts


def sum_references(caption: str) -> list[tuple[int, int]]:
    """Return sign and number of each row that a caption adds up, none where it states no sum.

    >>> sum_references("Obchodná marža r. 01 - r. 02")
    [(1, 1), (-1, 2)]
    >>> sum_references("Výsledok r. 135 mínus (r. 136, r. 137)")
    [(1, 135), (-1, 136), (-1, 137)]
    """
    start = _FIRST_REFERENCE.search(caption)
    if start is None:
        return []
    signed_rows: list[tuple[int, int]] = []
    # Signs of the brackets around, of the next row within its bracket, of the row before it.
    signs, sign, sign_before, position = [1], 1, 1, start.start()
    while (token := _SUM_TOKEN.match(caption, position)) is not None:
        position = token.end()
        if token["row"]:
            signed_rows.append((signs[-1] * sign, int(token["row"].rpartition(".")[2])))
            sign, sign_before = 1, sign
        elif token["last"] and signed_rows:
            kept, first = signed_rows[-1]
            signed_rows += [(kept, number) for number in range(first + 1, int(token["last"]) + 1)]
            if token["without"]:
                signed_rows.append((-kept, int(token["without"])))
        elif token["minus"]:
            # Within a separate bracket: "+ (-r. 24)".
            sign *= -1
        elif token["also"]:
            sign = sign_before
        elif token["open"]:
            signs.append(signs[-1] * sign)
            sign = 1
        elif token["close"] and len(signs) > 1:
            signs.pop()
    # A remainder that refers to rows was not understood; one row alone is not a sum.
    if len(signed_rows) < 2 or _FIRST_REFERENCE.search(caption, position):
        return []
    return signed_rows


def rows_by_number(
    table: int, rows: Sequence[tuple[int | None, str | None]]
) -> dict[int, tuple[int, int]]:
    """Return table and row of each number that captions refer to, by number and mark of the rows.

    Some forms print the number of a row as its mark: ``03``; one that repeats refers to no row.
    """
    printed = [
        int(marked[1]) if number is None and (marked := _AS_MARK.fullmatch(mark or "")) else number
        for number, mark in rows
    ]
    repeats = Counter(printed)
    return {n: (table, row) for row, n in enumerate(printed) if n is not None and repeats[n] == 1}


def read_columns(
    header: Sequence[HeaderCell], all_columns: int, data_columns: int, name: str | None = None
) -> tuple[Column, ...]:
    """Return the data columns of a table, which are its last ones.

    Args:
        header: Its cells.
        all_columns: Number of columns, those of labels included.
        data_columns: Number of columns to return.
        name: Name of the table, which in some forms names the period.
    """
    last = max((cell.riadok for cell in header), default=0)
    telling = [
        (cell.stlpec, cell.stlpec + cell.sirkaStlpca, text, cell.text.en)
        for cell in sorted(header, key=lambda cell: cell.riadok)
        if cell.text and (text := _trimmed(cell.text.sk))
        if not (cell.riadok == last and _ORDINAL.fullmatch(text))
    ]
    period_of_table = _first(_PERIOD_IN_NAME, name or "")
    columns = []
    for number in range(all_columns - data_columns + 1, all_columns + 1):
        above = [(text, en or "") for start, end, text, en in telling if start <= number < end]
        texts, english = [text for text, _ in above], [en for _, en in above]
        header_sk = " / ".join(texts)
        period = _first(_PERIOD_WORDS, header_sk) or period_of_table
        measure = _first(_MEASURE_WORDS, header_sk)
        if measure is None and not all(map(_NEUTRAL.fullmatch, texts)):
            measure = "other"
        header_en = " / ".join(english) if all(english) else ""
        columns.append(Column(period, measure, header_sk, header_en or None))
    return tuple(_completed(columns))


def _first(patterns: Mapping[str, str], text: str) -> str | None:
    matching = (name for name in patterns if re.search(patterns[name], text, re.IGNORECASE))
    return next(matching, None)


def _completed(columns: list[Column]) -> list[Column]:
    """Complete columns from their neighbours.

    Columns without a period beside a previous one are current, where no other is. A lone previous
    column beside current ones is of the kind of the last of them: the net of gross, correction and
    net, the total of two activities. Of several columns with the same period and measure only the
    total of all keeps it.
    """
    periods = {column.period for column in columns}
    if "previous" in periods and "current" not in periods:
        columns = [c if c.period else c._replace(period="current") for c in columns]
    current = [column for column in columns if column.period == "current"]
    previous = [column for column in columns if column.period == "previous"]
    if current and len(previous) == 1 and previous[0].measure is None:
        columns[columns.index(previous[0])] = previous[0]._replace(measure=current[-1].measure)
    return [c._replace(measure="other") if _is_part(c, columns) else c for c in columns]


def _is_part(column: Column, columns: Sequence[Column]) -> bool:
    """Return whether others have the period and measure of a column that is not their total."""
    same = [c for c in columns if (c.period, c.measure) == (column.period, column.measure)]
    totals = [c for c in same if "spolu" in c.header_sk.lower()]
    # "Spolu" under fewer headings than "Životné poistenie / Spolu".
    depth = min((c.header_sk.count(" / ") for c in totals), default=0)
    above = [c for c in totals if c.header_sk.count(" / ") == depth]
    return column.measure is not None and len(same) > 1 and above != [column]
