"""The amounts in cells of many reports, and their sums: the one place where figures are added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Sums(NamedTuple):
    """Sums of cells, one per report.

    Attributes:
        values: A blank adds nothing; NaN where a filled cell is no number, which cannot be added.
        filled: Whether any cell is filled.
    """

    values: Floats
    filled: Mask

    @property
    def amounts(self) -> Floats:
        """The sums, NaN where nothing is filled or something is no number."""
        return np.where(self.filled, self.values, np.nan)


class Amounts:
    """A matrix with a row per cell and a column per report.

    A sum takes a few rows of it, each of which lies in memory as one piece.

    Args:
        shape: Number of cells and of reports.
        filled: The filled cells: their row, ``cell``, their column, ``report``, and ``value``, null
            where it is no number.

    Attributes:
        values: 0 where a cell is blank, NaN where it is no number.
        filled: Whether a cell is filled.
    """

    def __init__(self, shape: tuple[int, int], filled: pl.DataFrame) -> None:
        self.values, self.filled = np.zeros(shape), np.zeros(shape, np.bool_)
        places = filled["cell"].to_numpy(), filled["report"].to_numpy()
        self.values[places] = filled["value"].fill_null(np.nan).to_numpy()
        self.filled[places] = True

    def up(self, terms: Iterable[tuple[float, int]]) -> Sums:
        """Add cells up, each given by its sign and its row."""
        many = self.values.shape[1]
        sums = Sums(np.zeros(many), np.zeros(many, np.bool_))
        for sign, cell in terms:
            values, filled = sums
            values += sign * self.values[cell]
            filled |= self.filled[cell]
        return sums


def in_cents(amounts: dict[str, Floats]) -> pl.DataFrame:
    """Return amounts as columns, rounded to cents and null where they are NaN."""
    frame = pl.DataFrame(amounts, schema=dict.fromkeys(amounts, pl.Float64))
    return frame.select(pl.all().fill_nan(None).round(2))
