"""A list of one's own matched with units: by number, else by name; nothing doubtful is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import LONGEST_SOUGHT, near
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.text import unit_names
from finstat_kit.frames.text.slovak import folded, folded_words
from finstat_kit.frames.units.near_names import NearNames
from finstat_kit.progress import Advance
from finstat_kit.protocol.company_numbers import DIC, digits_in, visible, with_zeros

MATCHED_BY: Final = pl.Enum(["ico", "ico_padded", "dic", "name", "name_and_place", "ambiguous"])
STATE: Final = pl.Enum(["deleted", "non_public", "dissolved"])
CANDIDATE: Final = pl.Struct(
    {
        "unit_id": pl.Int64,
        "ico": pl.String,
        "name": pl.String,
        "place": pl.String,
        "score": pl.Float64,
    }
)
MATCHES: Final = pl.Schema(
    {
        "unit_id": pl.Int64(),
        "ico": pl.String(),
        "name": pl.String(),
        "state": STATE,
        "matched_by": MATCHED_BY,
        "score": pl.Float64(),
        "candidates": pl.List(CANDIDATE),
    }
)
# The columns of records that are read.
RECORD: Final = ("id", "ico", "nazovUJ", "mesto", "sidlo", "stav", "datumZrusenia")
_MOST: Final = 10  # candidates of a row
_LEAST_DIGITS: Final = 5  # fewer are more likely a row number than an IČO without its zeros
# Ours: words are alike with one wrong letter of five.
_WORD_ALIKE: Final = 80.0  # likeness of two words, in per cent
_SHARE_ALIKE: Final = 0.5  # letters of the longer name that the shorter one has
_FORM_COUNTS: Final = 0.03  # of the likeness of a candidate: it orders equal names
# Their parts are municipalities; a record has either.
_CITIES: Final = ("bratislava", "kosice")


class Number(NamedTuple):
    """A number as the register writes it: its kind, ``ico`` or ``dic``, and how it was read."""

    kind: str
    digits: str
    how: str


class Row(NamedTuple):
    """A row of the list, as it is compared."""

    number: Number | None
    bare: str
    form: str
    place: str


class Unit(NamedTuple):
    """A unit, as it is compared."""

    id: int
    ico: str | None
    name: str | None
    place: str | None
    seat: str | None
    state: str | None
    bare: str
    form: str
    folded_place: str


def number_of(text: str | None) -> Number | None:
    """Return what a text is as a number; None for other texts, and for zeros alone.

    >>> number_of("372491.0"), number_of("SK2020123456")
    (Number(kind='ico', digits='00372491', how='ico_padded'),
     Number(kind='dic', digits='2020123456', how='dic'))
    """
    written = digits_in(text or "")
    if written is None or not written[0].strip("0"):
        return None
    digits, is_vat = written
    if len(digits) in DIC:
        return Number("dic", digits, "dic")
    ico = with_zeros(digits)
    if is_vat or ico is None or len(digits) < _LEAST_DIGITS:
        return None
    return Number("ico", ico, "ico" if ico == digits else "ico_padded")


def columns(frame: pl.DataFrame, **names: str | None) -> pl.DataFrame:
    """Return the columns of a list as texts under the names of the arguments, null for none.

    Raises:
        UsageError: None is named that units are matched by, or there is no such column.
    """
    for argument, column in names.items():
        if column is None:
            continue
        if not isinstance(column, str) or column not in frame.columns:
            cure = f"{near(column, frame.columns)}the frame has {frame.columns}"
            raise invalid(argument, column, "is not a column", cure=cure)
    if names["ico"] is None and names["name"] is None:
        raise UsageError(
            "name the columns that units are matched by",
            cure=f"give ico= and name=, or one of them; the frame has {frame.columns}",
        )
    given = {
        argument: pl.repeat(None, frame.height, dtype=pl.String, eager=True)
        if column is None
        else _as_text(argument, frame[column])
        for argument, column in names.items()
    }
    return pl.DataFrame(given)


def _as_text(argument: str, column: pl.Series) -> pl.Series:
    """Return a column as texts; of whole numbers read as floats these end in ``.0``."""
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
        raise invalid(argument, column.name, f"is a column of {dtype}", give="one of texts")
    column = column.fill_nan(None) if dtype.is_float() else column
    return column.cast(pl.String)


class Matcher:
    """Matches the rows of a list with units.

    Args:
        rows: Result of `columns`.
        names: ``id`` and ``words`` of all units, as of `unit_names.prepared`; None where the
            register has no search for names.
    """

    def __init__(self, rows: pl.DataFrame, names: pl.DataFrame | None) -> None:
        bare, form = unit_names.parted(pl.col("name"))
        place = _folded_place(pl.col("place"))
        self._rows = [
            # A legal form alone is no name.
            Row(
                number_of(ico),
                "" if bare in unit_names.SHORT else bare or "",
                form or "",
                place or "",
            )
            for ico, bare, form, place in rows.select(
                "ico", bare=bare, form=form, place=place
            ).iter_rows()
        ]
        # As they were written; zeros alone and what is no number mean no unit.
        self.unread = [
            text
            for text, row in zip(rows["ico"], self._rows, strict=True)
            if row.number is None and visible(text or "").strip("0")
        ]
        names = pl.DataFrame(schema=unit_names.NAMES) if names is None else names
        bare, form = unit_names.parted_words(pl.col("words"))
        self._names = names.with_columns(bare=bare, form=form)

    def numbers(self) -> list[tuple[str, str]]:
        """Return the numbers to look up, each once: their kinds and digits."""
        return list(dict.fromkeys((row.number[:2]) for row in self._rows if row.number))

    def without_number(self) -> int:
        """Return how many rows can only be matched by their names."""
        return sum(row.number is None and bool(row.bare) for row in self._rows)

    def by_name(self) -> dict[str, list[int]]:
        """Return the units of each name in the list, without its legal form."""
        wanted = pl.Series(list({row.bare for row in self._rows if row.bare}), dtype=pl.String)
        same = self._names.filter(pl.col("bare").is_in(wanted.implode()))
        return dict(same.sort("id").group_by("bare").agg("id").iter_rows())

    def misspelt(self, named: dict[str, list[int]]) -> list[str]:
        """Return the names of the list that no unit has.

        Args:
            named: Result of `by_name`.
        """
        if self._names.is_empty():
            return []
        return sorted(
            {
                row.bare
                for row in self._rows
                if 0 < len(row.bare) <= LONGEST_SOUGHT and row.bare not in named
            }
        )

    def near(self, misspelt: Sequence[str], advance: Advance) -> dict[str, list[int]]:
        """Return units with a name near to each that no unit has.

        Args:
            misspelt: Result of `misspelt`.
            advance: Counts the names.
        """
        if not misspelt:
            return {}
        names = NearNames(self._names)
        near_units = {}
        for bare in misspelt:
            near_units[bare] = names.of(bare, _MOST)
            advance(1)
        return near_units

    def matches(
        self,
        numbered: pl.DataFrame,
        named: dict[str, list[int]],
        near: dict[str, list[int]],
        records: pl.DataFrame,
    ) -> pl.DataFrame:
        """Return a row of `MATCHES` for each row.

        Args:
            numbered: The units of the numbers: their ``kind``, ``number`` and ``id``.
            named: Result of `by_name`.
            near: Result of `near`.
            records: ``RECORD`` of all of them.
        """  # fmt: skip
        units = {unit.id: unit for unit in _units(records)}
        by_number: dict[tuple[str, str], list[Unit]] = {}
        for kind, number, id_ in numbered.iter_rows():
            by_number.setdefault((kind, number), []).append(units[id_])
        known: dict[Row, tuple[object, ...]] = {}
        for row in self._rows:
            if row not in known:
                having = by_number.get(row.number[:2], []) if row.number else []
                same = [units[id_] for id_ in named.get(row.bare, ())]
                alike = [units[id_] for id_ in near.get(row.bare, ())]
                known[row] = _match(row, having, same, alike)
        return pl.DataFrame([known[row] for row in self._rows], schema=MATCHES, orient="row")


def _units(records: pl.DataFrame) -> Iterator[Unit]:
    bare, form = unit_names.parted(pl.col("nazovUJ"))
    is_deleted = folded(pl.col("stav")).str.starts_with("zmaz")
    state = (
        pl.when(is_deleted).then(pl.lit("deleted"))
        .when(pl.col("stav").is_not_null()).then(pl.lit("non_public"))
        .when(pl.col("datumZrusenia").is_not_null()).then(pl.lit("dissolved"))
    )  # fmt: skip
    rows = records.select(
        "id", "ico", "nazovUJ", "mesto", "sidlo", state.alias("state"),
        bare=bare.fill_null(""), form=form.fill_null(""),
        place=_folded_place(pl.col("mesto")).fill_null(""),
    )  # fmt: skip
    return (Unit(*row) for row in rows.iter_rows())


def _match(
    row: Row, having: Sequence[Unit], same: Sequence[Unit], alike: Sequence[Unit]
) -> tuple[object, ...]:
    """Return the match of a row.

    Args:
        row: The row.
        having: Units with its number.
        same: Units with its name, whatever their legal form.
        alike: Units with a name near to its own.
    """
    # A deleted record has no figures and not even a name: it is in nobody's way.
    living = [unit for unit in having if unit.state != "deleted"] or having
    if row.number is not None:
        if len(living) == 1 and _confirms(row, living[0], same):
            return _chosen(row, living[0], row.number.how)
        return _doubtful(row, [*living, *same, *alike])
    of_form = [unit for unit in same if not row.form or unit.form == row.form]
    there = [unit for unit in of_form if _is_there(row.place, unit)] if row.place else of_form
    if len(there) == 1:
        return _chosen(row, there[0], "name_and_place" if row.place else "name")
    return _doubtful(row, [*same, *alike])


def _confirms(row: Row, unit: Unit, same: Sequence[Unit]) -> bool:
    """Return whether nothing else in a row contradicts the unit that has its number."""
    if not row.bare:
        return not row.place or unit.folded_place == "" or _is_there(row.place, unit)
    # Another unit has the name as it is written.
    if same and unit not in same:
        return False
    if row.form not in ("", unit.form) and any(other.form == row.form for other in same):
        return False
    return _is_alike(row.bare.split(), unit.bare.split())


def _chosen(row: Row, unit: Unit, how: str) -> tuple[object, ...]:
    return unit.id, unit.ico, unit.name, unit.state, how, _score(row, unit), []


def _doubtful(row: Row, units: Iterable[Unit]) -> tuple[object, ...]:
    scored = [(_score(row, unit), unit) for unit in dict.fromkeys(units)]
    scored.sort(key=lambda pair: -pair[0])
    candidates = [
        {"unit_id": x.id, "ico": x.ico, "name": x.name, "place": x.place, "score": score}
        for score, x in scored[:_MOST]
    ]
    best = scored[0][0] if scored else None
    return None, None, None, None, "ambiguous" if scored else None, best, candidates


def _score(row: Row, unit: Unit) -> float:
    """Return how well the name of a unit fits a row, 0 to 1; 1 where the row has no name."""
    if not row.bare:
        return 1.0
    from rapidfuzz import fuzz

    names = max(f(row.bare, unit.bare) for f in (fuzz.ratio, fuzz.token_sort_ratio)) / 100
    form = not row.form or row.form == unit.form
    return round((1 - _FORM_COUNTS) * names + _FORM_COUNTS * form, 4)


def _is_alike(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two names may be two spellings of one.

    Each word of the shorter has one like it in the longer, of which that is half at least; numbers
    are the same.
    """
    from rapidfuzz import fuzz

    short, long = sorted((some, others), key=lambda words: sum(map(len, words)))
    digits = [{word for word in words if word.isdigit()} for words in (short, long)]
    if not short or (digits[0] and digits[0] != digits[1]):
        return False

    def is_like(word: str, other: str) -> bool:
        return other.startswith(word) or fuzz.ratio(word, other) >= _WORD_ALIKE

    share = sum(map(len, short)) / sum(map(len, long))
    return share >= _SHARE_ALIKE and all(any(is_like(w, x) for x in long) for w in short)


def _folded_place(texts: pl.Expr) -> pl.Expr:
    """Return places as they are compared: without signs, words for towns, numbers of districts."""
    words = folded_words(texts).str.replace_all(" (?:n|nad) ", " nad ")
    words = words.str.replace_all(r" (?:p|pod) ", " pod ").str.replace_all(" mestska cast ", " ")
    return (
        words.str.replace(r"^ (?:obec|mesto) ", " ")
        .str.replace_all(r" \d+ ", " ")
        .str.strip_chars()
    )


def _is_there(place: str, unit: Unit) -> bool:
    """Return whether a unit has its seat in a place, of a city also in any of its parts."""
    theirs = unit.folded_place
    if place in (theirs, (unit.seat or "").lower()):
        return True
    short, long = sorted((place, theirs), key=len)
    return short in _CITIES and long.startswith(f"{short} ")
