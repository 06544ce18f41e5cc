"""What a forked child must not share with its parent: open connections, and locks held in it."""

from __future__ import annotations

import os
import weakref
from typing import Any, Final, Protocol, TypeVar

Lock = TypeVar("Lock")


class Inherited(Protocol):
    """An object that a forked child inherits and must renew before use."""

    # With an underscore: users hold some of these, and completion shows only the public interface.
    def _after_fork(self) -> None:
        """Renew unshareable parts; runs in the child, before anything else."""


_inherited: Final[weakref.WeakSet[Inherited]] = weakref.WeakSet()
_locks: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def renew_in_child(owner: Inherited) -> None:
    """Call ``owner._after_fork`` in every child forked from now on, as long as *owner* lives."""
    _inherited.add(owner)


def free_in_child(lock: Lock) -> Lock:
    """Return a lock that is free in every child: a thread of the parent may have held it."""
    _locks.add(lock)
    return lock


def _renew() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # private; so does Python itself with the locks of its modules
    for owner in list(_inherited):
        owner._after_fork()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_renew)
