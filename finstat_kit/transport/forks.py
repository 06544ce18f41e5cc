"""What a forked child must not share with its parent: open connections, and locks held in it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Final, Protocol


class Inherited(Protocol):
    """An object that a forked child inherits and must renew before use."""

    # With an underscore: users hold some of these, and completion shows only the public interface.
    def _after_fork(self) -> None:
        """Renew unshareable parts; runs in the child, before anything else."""


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
