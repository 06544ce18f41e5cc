"""The tile map as a control: a click or Enter chooses a place, Escape goes up one level."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets


class TileMap(anywidget.AnyWidget):
    """A picture whose tiles can be chosen by mouse and keyboard.

    Attributes:
        value: Code of the chosen tile, "" for none.
        up: Code chosen by Escape.
        picture: HTML with an SVG whose tiles have ``data-code``, ``data-x`` and ``data-y``.
        hint: The line below while no tile is pointed at.
    """

    _esm = Path(__file__).with_name("tilemap.mjs")
    _css = Path(__file__).with_name("tilemap.css")

    value = traitlets.Unicode("").tag(sync=True)
    up = traitlets.Unicode("").tag(sync=True)
    picture = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.add_class("fk-tilemap")

    def __repr__(self) -> str:
        return f"TileMap(value={self.value!r}, {self.picture.count('data-code=')} tiles)"
