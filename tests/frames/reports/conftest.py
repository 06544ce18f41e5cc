"""What is read of reports is read by the forms of a register: the sample's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import finstat_kit as fk


@pytest.fixture(autouse=True)
def _sample() -> Iterator[None]:
    """Choose the sample."""
    with fk.using(fk.sample()):
        yield
