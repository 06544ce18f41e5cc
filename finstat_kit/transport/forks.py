"""What a forked child must not share with its parent: open connections, and locks held there."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Final, Protocol


class Inherited(Protocol):
    """Something a forked child gets a copy of, and must renew before it is used."""

    # Under an underscore: users hold some of these, and completion shows them the interface alone.
    def _after_fork(self) -> None:
        """Renew what cannot be shared; runs in the child, before anything else there."""


_inherited: Final[weakref.WeakSet[Inherited]] = weakref.WeakSet()


def renew_in_child(thing: Inherited) -> None:
    """Call ``thing._after_fork`` in every child forked from now on, as long as *thing* lives."""
    _inherited.add(thing)


def in_child(work: Callable[[], None]) -> None:
    """Call *work* in every child forked from now on."""
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=work)


def _renew() -> None:
    for thing in list(_inherited):
        thing._after_fork()


in_child(_renew)
