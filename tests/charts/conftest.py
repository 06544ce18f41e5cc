"""What tests of charts share."""

from __future__ import annotations

import pytest

import finstat_kit as fk
from tests.support.units import SAMPLE


@pytest.fixture(autouse=True)
def sample_chosen(nothing_chosen: None) -> None:
    fk.use(SAMPLE)
