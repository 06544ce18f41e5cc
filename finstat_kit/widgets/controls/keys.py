"""Keys typed into a picker stay with it."""

from __future__ import annotations

from pathlib import Path

import anywidget


class Keys(anywidget.AnyWidget):
    """An invisible widget that keeps the notebook's shortcuts away from its box."""

    _esm = Path(__file__).with_name("keys.mjs")

    def __init__(self) -> None:
        super().__init__(layout={"display": "none"})
