"""A single row that is wider than the terminal, printed as one line per field."""

from __future__ import annotations

import shutil

import polars as pl

from finstat_kit.frames.files.write import flat
from finstat_kit.protocol.outcome import shown
from finstat_kit.protocol.wire import BY_FIELD


def is_too_wide(table: str) -> bool:
    """Return whether a table has lines longer than the terminal is wide."""
    return max(map(len, table.splitlines())) > shutil.get_terminal_size().columns


def upright(frame: pl.DataFrame) -> str:
    """Return one row as lines of field, value and, for a code, its label."""
    row = flat(frame).cast(pl.String).row(0, named=True)
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
