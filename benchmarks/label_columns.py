"""Labels of a million rows, three columns, against pandas.

Run as a script it resolves a frame of so many rows in a fresh process and prints the MiB that it
needed over its input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import polars as pl
from timing import Figure, memory, peak_of, side_by_side

import finstat_kit as fk

_ROWS: Final = 1_000_000
_SUBJECT: Final = "labels"
_FIELDS: Final = {"kraj": "regions", "okres": "districts", "sidlo": "municipalities"}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure `resolve_labels` on String, Enum and Categorical columns."""
    register = fk.sample()
    lists = _codelists(register)
    text = _frame(lists, _ROWS)
    enums = text.select(
        pl.col(field).cast(pl.Enum(lists[field]["code"].to_list())) for field in _FIELDS
    )
    categories = text.select(pl.all().cast(pl.Categorical))
    rows = pd.DataFrame({name: text[name].to_list() for name in text.columns})
    names = {
        field: pd.DataFrame({field: codes["code"].to_list(), name: codes["name_sk"].to_list()})
        for (field, codes), name in zip(lists.items(), ("r", "d", "m"), strict=True)
    }

    def merged() -> pd.DataFrame:
        labelled = rows
        for field, codes in names.items():
            labelled = labelled.merge(codes, on=field, how="left")
        return labelled

    times = side_by_side(
        3 if quick else 9,
        pandas=merged,
        text=partial(register.resolve_labels, text),
        enums=partial(register.resolve_labels, enums),
        categories=partial(register.resolve_labels, categories),
    )
    for name, what, goal in (
        ("text", "String", 5.0),
        ("enums", "Enum", 15.0),
        ("categories", "Categorical", 15.0),
    ):
        yield Figure(
            _SUBJECT, f"1,000,000 rows, {what}: pandas merge to ours",
            times["pandas"] / times[name], goal,
        )  # fmt: skip
    if Path("/proc/self/clear_refs").exists():
        yield Figure(
            _SUBJECT, "1,000,000 rows: peak memory over the input", peak_of(__file__, _ROWS), 250.0,
            least=False, unit=" MiB",
        )  # fmt: skip
        if not quick:
            yield Figure(
                _SUBJECT, "10,000,000 rows: peak memory over the input",
                peak_of(__file__, 10 * _ROWS), unit=" MiB",
            )  # fmt: skip


def _codelists(register: fk.Register) -> dict[str, pl.DataFrame]:
    return {field: getattr(register, name)() for field, name in _FIELDS.items()}


def _frame(lists: dict[str, pl.DataFrame], n: int) -> pl.DataFrame:
    chance = np.random.default_rng(0)
    return pl.DataFrame(
        [
            codes["code"].gather(chance.integers(0, codes.height, n)).alias(field)
            for field, codes in lists.items()
        ]
    )


def _main(rows: int) -> None:
    register = fk.sample()
    frame = _frame(_codelists(register), rows)
    register.resolve_labels(frame.head(1_000))  # what is loaded on first use is no cost of rows
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the former peak
    before = memory("VmRSS")
    labelled = register.resolve_labels(frame)
    assert labelled.height == rows
    print(memory("VmHWM") - before)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
