"""How many examples hypothesis tries: few in a quick run, all of them in a thorough one."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(number: int, **options: Any) -> settings:
    """Return settings for *number* examples, or for the chosen profile's share of them.

    A profile's own ``max_examples`` is the share in percent.
    """
    share: int = settings.default.max_examples  # type: ignore[union-attr]
    return settings(max_examples=max(number * share // 100, 5), **options)
