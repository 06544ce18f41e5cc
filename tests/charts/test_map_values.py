"""The classes that a tile map colours by."""

from __future__ import annotations

from itertools import pairwise

from finstat_kit.charts import map_values


def test_classes() -> None:
    """About equally many in each, equal values together, all values in order."""
    values = [float(n % 7) for n in range(79)]

    found = map_values.classes(values, 5)

    assert sorted(values) == [value for part in found for value in part]
    assert all(max(a) < min(b) for a, b in pairwise(found))
    assert [len(c) for c in map_values.classes(list(range(80)), 5)] == [16] * 5
    assert map_values.classes([3.0] * 8, 4) == [[3.0] * 8]
    assert map_values.classes([], 4) == []
