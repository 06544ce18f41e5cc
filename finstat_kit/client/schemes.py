"""What opens a register of a layer above the client by its name, such as ``"mirror:PATH"``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from finstat_kit.client.register import Register

# Filled by the package itself, which stands above all layers.
openers: Final[dict[str, Callable[[str, date | str | None], Register]]] = {}
