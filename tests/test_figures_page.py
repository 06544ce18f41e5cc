"""The page on figures: what is in the repository is what the data files and the sample say."""

from __future__ import annotations

import pytest

from finstat_kit.frames.financials import items, ratios
from tests.support.figures_page import PAGE, WHOSE, page, whose


@pytest.mark.slow
def test_the_page_is_what_is_written() -> None:
    """Every item and ratio stands on it; ``python -m tests.support.figures_page`` renews it."""
    if not PAGE.is_file():
        pytest.skip("not a checkout")
    text = PAGE.read_text(encoding="utf-8")

    assert text == page()
    assert WHOSE.read_text(encoding="utf-8") == whose()
    assert all(f"| `{name}` |" in text for name in (*items.names(), *ratios.NAMES))
