"""A mirror as it was on a day: a register that never changes, for notebooks that are tests."""

from __future__ import annotations

import contextlib
from datetime import date
from functools import partial
from pathlib import Path

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.mirror.copied import Copied


class Frozen(Copied):
    """The state of a mirror after the last sync completed by a day; made by `Mirror.as_of`.

    Args:
        path: The directory of the mirror.
        day: The day.
        lang: As of `Register`.
    """

    def __init__(self, path: str | Path, day: date, *, lang: Lang | None = None) -> None:
        super().__init__(path, day)
        self._frozen = day
        self.lang = self._language(lang)
        with contextlib.suppress(MirrorError):  # what is damaged is an error where it is read
            self._folder.read()
            self._held.all_runs()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by path and day."""
        return partial(type(self), lang=self.lang), (self.path, self._frozen)

    def settled(self) -> None:
        """Check that no later sync can change what is answered for the day.

        Raises:
            UsageError: No sync was complete by the day, or the newest is of an earlier one.
            MirrorError: No sync is complete yet, or the mirror is damaged.
        """
        self._answers.complete()
        completed = self._held.completed()
        if self._frozen > (last := completed["completed"][-1]):
            raise UsageError(
                f": the last sync of this mirror was completed on {last}, and a later one would "
                "change that day",
                argument="as_of",
                value=str(self._frozen),
                cure=f"give {str(last)!r}, or sync first",
            )

    def sync(self, **options: object) -> pl.DataFrame:
        """Refuse: a frozen day stays as it is.

        Raises:
            UsageError: Always; the text has the line that syncs the mirror.
        """
        raise UsageError(
            f"a mirror as of {self._frozen} is read-only",
            cure=f"sync the mirror itself: fk.Mirror({str(self._given)!r}).sync()",
        )

    def _at(self, path: Path) -> Copied:
        return Frozen(path, self._frozen, lang=self.lang)
