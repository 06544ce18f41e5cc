"""What tests of the transport share."""

from __future__ import annotations

import pytest

from tests.support.clock import FakeClock


@pytest.fixture
def fake() -> FakeClock:
    return FakeClock()
