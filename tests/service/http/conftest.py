"""What tests of the embedded register share."""

from __future__ import annotations

import pytest

from finstat_kit.service.http import server


@pytest.fixture(autouse=True)
def refusals_linger_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long enough for a client on this machine, a quarter of what others are given."""
    monkeypatch.setattr(server, "_LINGER", 0.05)
