"""Openers of registers that layers above provide.

Imports nothing at run time: it is loaded with the package itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from finstat_kit.client.register import Register

# Opens a register of a layer above by its name, such as "mirror:PATH"; set by the package, which is
# above all layers.
openers: Final[dict[str, Callable[[str, date | str | None], Register]]] = {}
