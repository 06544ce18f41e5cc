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


def renew_in_child(owner: Inherited) -> None:
    """Call ``owner._after_fork`` in every child forked from now on, as long as *owner* lives."""
    _inherited.add(owner)


def in_child(work: Callable[[], None]) -> None:
    """Call *work* in every child forked from now on."""
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=work)


def _renew() -> None:
    for owner in list(_inherited):
        owner._after_fork()


in_child(_renew)
