"""Which statements to fetch next, as few as lose no filing of a year.

A unit's record names all its statements, and ids grow with the day on which these are entered.
From the highest id down they are fetched until one was filed so long before the earliest year that
everything below it was entered before that year began; of one that was filed years before, which
may have been entered late, until the next. Where a higher id was filed before a lower one, ids show
nothing, and all statements of the unit are fetched. Disorder among ids that are never fetched
cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import takewhile
from typing import Final

import polars as pl

# A filing on paper is entered, and gets its id, weeks after the day of filing.
_ENTERED_WITHIN: Final = timedelta(days=90)
# What was filed longer before may itself have been entered late: the next statement shows that.
_CONFIRMED_BEFORE: Final = timedelta(days=730)
_POSSIBLE: Final = pl.Schema(
    {"unit_id": pl.Int64(), "wanted": pl.Int32(), "statement_id": pl.Int64()}
)
Known = dict[int, tuple[int | None, date | None]]  # owner and day of filing of statements


class WayDown:
    """The way down the statements of units, as far as filings of a year can be.

    Args:
        listed_ids: ``unit_id`` and ``statement_id`` of every statement of some units.
        year: The earliest that is wanted, or that of each unit.
    """

    def __init__(self, listed_ids: pl.DataFrame, year: int | Mapping[int, int]) -> None:
        self._open = dict(_by_unit(listed_ids))
        self._year = year
        self._known: Known = {}

    def add(self, statements: pl.DataFrame) -> None:
        """Add fetched statements.

        Args:
            statements: ``statement_id``, ``owner`` (id of its unit) and ``filed`` (day of filing,
                null where it shows nothing) of each.
        """
        self._known |= _known(statements)

    def next_ids(self) -> pl.Series:
        """Return the statements to fetch next, one of each unit; none where nothing is missing.

        All that are left of a unit whose ids are not in the order of filing.
        """
        wanted: dict[int, None] = {}
        for unit_id, ids in tuple(self._open.items()):
            # What another unit lists, and so fetched further down, has no say in this order.
            fetched = list(takewhile(self._known.__contains__, ids))
            days = _days(unit_id, fetched, self._known)
            year = self._year if isinstance(self._year, int) else self._year[unit_id]
            reached, is_disordered = _way_down(days, len(ids), year)
            left = [number for number in ids if number not in self._known]
            if not is_disordered:
                left = ids[len(fetched) : reached][:1]
            if not left:
                del self._open[unit_id]
            wanted |= dict.fromkeys(left)
        return pl.Series("statement_id", list(wanted), pl.Int64)


def possible(
    listed_ids: pl.DataFrame, statements: pl.DataFrame, years: Sequence[int]
) -> pl.DataFrame:
    """Return ``unit_id``, ``wanted`` and ``statement_id`` of what can be a filing of each year.

    That is what is fetched for the year alone, as far as *statements* show.

    Args:
        listed_ids: As of `WayDown`.
        statements: As of `WayDown.add`.
        years: Those that are wanted.
    """
    known = _known(statements)
    rows: list[tuple[int, int, int]] = []
    for unit_id, ids in _by_unit(listed_ids):
        days = _days(unit_id, ids, known)
        for year in years:
            reached, is_disordered = _way_down(days, len(ids), year)
            possible_ids = ids if is_disordered else ids[:reached]
            rows += [(unit_id, year, number) for number in possible_ids]
    return pl.DataFrame(rows, _POSSIBLE, orient="row")


def _by_unit(listed_ids: pl.DataFrame) -> Iterator[tuple[int, list[int]]]:
    """Yield each unit and its statements, the highest id first."""
    ids = pl.col("statement_id").unique().sort(descending=True)
    yield from listed_ids.group_by("unit_id", maintain_order=True).agg(ids).iter_rows()


def _known(statements: pl.DataFrame) -> Known:
    return {number: (owner, filed) for number, owner, filed in statements.iter_rows()}


def _days(unit_id: int, ids: Sequence[int], known: Known) -> list[date | None]:
    """Return the day of filing of each statement; a foreign one shows none."""
    owned = (known.get(number, (None, None)) for number in ids)
    return [filed if owner == unit_id else None for owner, filed in owned]


def _way_down(days: Sequence[date | None], number: int, year: int) -> tuple[int, bool]:
    """Return how many of a unit's statements are reached, and whether they are out of order.

    Args:
        days: Of filing, of the highest ids, as far as they are known.
        number: Of the unit's statements.
        year: The earliest that is wanted.
    """
    enough, earliest = date(year, 1, 1) - _ENTERED_WITHIN, date.max
    for place, day in enumerate(days):
        if day is None:
            continue
        if day > earliest:
            return number, True
        if day < enough and (day > enough - _CONFIRMED_BEFORE or earliest < enough):
            return place + 1, False
        earliest = day
    return number, False
