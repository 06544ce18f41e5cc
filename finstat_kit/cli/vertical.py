"""What is wider than the terminal: the columns that fit, and a single row line by line."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Final

import polars as pl

from finstat_kit.frames.files.write import flat
from finstat_kit.protocol.untrusted import shown
from finstat_kit.protocol.wire import BY_FIELD

_LONGEST: Final = 34  # of a cell on one line, with its margins


def fitting(table: str, width: int) -> int:
    """Return how many columns of a table fit into a width, at least one; long texts are wrapped."""
    border = next(line for line in table.splitlines() if line.startswith("┌"))
    widths = [min(len(cell), _LONGEST) + 1 for cell in border[1:-1].split("┬")]
    return max(1, sum(end < width for end in accumulate(widths)))


def vertical(frame: pl.DataFrame) -> str:
    """Return one row as lines of field, value and, for a code, its label.

    Of values within values only the beginning is shown, as JSON.
    """
    nested = [
        pl.Series(name, [_beginning(value)], pl.String)
        for (name, value), dtype in zip(frame.row(0, named=True).items(), frame.dtypes, strict=True)
        if isinstance(dtype, pl.Struct) or (isinstance(dtype, pl.List) and dtype.inner.is_nested())
    ]
    row = flat(frame.with_columns(nested)).cast(pl.String).row(0, named=True)
    label_of = {c.field: c.label for c in BY_FIELD.values() if {c.field, c.label} <= row.keys()}
    beside = set(label_of.values())
    width = max(map(len, row))
    lines = []
    for name, value in row.items():
        if name in beside:
            continue
        label = row[label_of[name]] if name in label_of else None
        cells = [f"{name:<{width}}", "–" if value is None else value]
        # A line break in a value would look like the next field.
        lines.append("  ".join(shown(c, None) for c in (*cells, label) if c is not None))
    return "\n".join(lines)


def _beginning(value: object) -> str | None:
    return None if value is None else shown(json.dumps(value, ensure_ascii=False, default=str))
