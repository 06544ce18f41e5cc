"""Keys typed into a picker stay with it."""

from __future__ import annotations

from pathlib import Path

import anywidget


class Keys(anywidget.AnyWidget):
    """An invisible widget that keeps the notebook's shortcuts away from its box.

    Its style hides the saved view beside live controls.
    """

    _esm = Path(__file__).with_name("keys.mjs")
    _css = Path(__file__).with_name("keys.css")

    def __init__(self) -> None:
        super().__init__(layout={"display": "none"})
