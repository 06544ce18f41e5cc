"""The rows of a form: the place of each in the hierarchy, and the sum that it states.

Designations repeat and have misprints, so a row's place in the hierarchy comes from the rows above
it; a sum is read from its caption, ``r. 02 + r. 33``, ``súčet (r. 04 až r. 10)``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple


class Term(NamedTuple):
    """One addend of a sum: its sign, and the row by table and index, both from 0."""

    sign: int
    table: int
    row: int


Path = tuple[str, ...]

_PART: Final = re.compile(r"[0-9]+|[a-z]|[A-Z]+")
_AS_MARK: Final = re.compile(r"\s*([0-9]{1,4})[\s.]*")
# "r." as a separate word: "účt. tr. 6" is not a reference.
_REFERENCE: Final = r"(?<![^\W_])r\s*\.\s*[0-9]{1,4}(?![0-9])"
_FIRST_REFERENCE: Final = re.compile(rf"[(\[\s]*{_REFERENCE}")
_TOKEN: Final = re.compile(
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


def paths(marks: Iterable[str | None]) -> Iterator[Path]:
    """Complete the designations of a table: ``2.`` below ``A.I.1.`` is ``A.I.2.``.

    Totals and results, which have no mark or stars, are outside the numbering: their path is empty.
    """
    above: Path = ()
    for mark in marks:
        parts = tuple(_PART.findall(mark or ""))
        if not parts:
            yield ()
            continue
        # A capital begins anew; a number or a small letter continues what is above it.
        if not parts[0].isupper():
            kind = str.isdigit if parts[0].isdigit() else str.islower
            same = [depth for depth, part in enumerate(above) if kind(part)]
            parts = above[: same[0] if same else len(above)] + parts
        above = parts
        yield parts


def references(caption: str) -> list[tuple[int, int]]:
    """Return sign and number of each row that a caption adds up, none where it states no sum.

    >>> references("Obchodná marža r. 01 - r. 02")
    [(1, 1), (-1, 2)]
    >>> references("Výsledok r. 135 mínus (r. 136, r. 137)")
    [(1, 135), (-1, 136), (-1, 137)]
    """
    start = _FIRST_REFERENCE.search(caption)
    if start is None:
        return []
    signed_rows: list[tuple[int, int]] = []
    # Signs of the brackets around, of the next row within its bracket, of the row before it.
    signs, sign, former, position = [1], 1, 1, start.start()
    while (token := _TOKEN.match(caption, position)) is not None:
        position = token.end()
        if token["row"]:
            signed_rows.append((signs[-1] * sign, int(token["row"].rpartition(".")[2])))
            sign, former = 1, sign
        elif token["last"] and signed_rows:
            kept, first = signed_rows[-1]
            signed_rows += [(kept, number) for number in range(first + 1, int(token["last"]) + 1)]
            if token["without"]:
                signed_rows.append((-kept, int(token["without"])))
        elif token["minus"]:
            # Within a separate bracket: "+ (-r. 24)".
            sign *= -1
        elif token["also"]:
            sign = former
        elif token["open"]:
            signs.append(signs[-1] * sign)
            sign = 1
        elif token["close"] and len(signs) > 1:
            signs.pop()
    # A remainder that refers to rows was not understood; one row alone is not a sum.
    if len(signed_rows) < 2 or _FIRST_REFERENCE.search(caption, position):
        return []
    return signed_rows


def numbers(rows: Sequence[tuple[int | None, str | None]]) -> dict[int, int]:
    """Return the row of each number that captions refer to, by number and mark of the rows.

    Some forms print the number of a row as its mark: ``03``; one that repeats refers to no row.
    """
    printed = [
        int(marked[1]) if number is None and (marked := _AS_MARK.fullmatch(mark or "")) else number
        for number, mark in rows
    ]
    repeats = Counter(printed)
    return {n: row for row, n in enumerate(printed) if n is not None and repeats[n] == 1}


def terms(
    references: Sequence[tuple[int, int]], table: int, numbers: Sequence[Mapping[int, int]]
) -> tuple[Term, ...]:
    """Find the rows that the references of a caption name.

    Args:
        references: Signs and row numbers.
        table: The table of the caption.
        numbers: The row of each number, for every table. A number that is not in this
            table is in the nearest table before it, or else after it.

    Returns:
        The terms; empty if a number is not in the form.
    """
    order = [*range(table, -1, -1), *range(table + 1, len(numbers))]
    resolved = []
    for sign, number in references:
        home = next((other for other in order if number in numbers[other]), None)
        if home is None:
            return ()
        resolved.append(Term(sign, home, numbers[home][number]))
    return tuple(resolved)
