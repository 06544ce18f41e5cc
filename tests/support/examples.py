"""Which cases a quick run tries, and how many examples of hypothesis; a thorough one tries all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings


def slow(*values: Any) -> list[ParameterSet]:
    """Return parameters whose cases are slow tests; a tuple stands for several parameters."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=pytest.mark.slow) for row in rows]


def quick(cases: Iterable[Any], number: int = 3) -> list[Any]:
    """Return cases of one kind of promise: some of them quick, all over the table, others slow."""
    every = list(cases)
    step = -(-len(every) // number)
    return [case if place % step == 0 else slow(case)[0] for place, case in enumerate(every)]


def examples(number: int, **options: Any) -> settings:
    """Return settings for *number* examples, or for the chosen profile's share of them.

    A profile's own ``max_examples`` is the share in percent.
    """
    share: int = settings.default.max_examples  # type: ignore[union-attr]
    return settings(max_examples=max(number * share // 100, 5), **options)
