"""What a user holds: the register, its collections and its codelists."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, Final

# Opens a register of a layer above by its name, such as "mirror:PATH"; set by the package, which is
# above all layers.
openers: Final[dict[str, Callable[[str, date | str | None], Any]]] = {}
