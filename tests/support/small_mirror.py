"""A mirror of 60 units, and what tests do to it."""

from __future__ import annotations

from datetime import timedelta

import finstat_kit as fk
from finstat_kit.mirror.log import Log
from tests.support.registers import Watched


def small_register() -> Watched:
    return Watched(fk.sample(60), page_size=1_000)


def looked_at(mirror: fk.Mirror) -> Log:
    """Return the log of units as it is committed by now."""
    log = mirror._folder.logs["units"]
    log.refresh()
    return log


def two_days_more(mirror: fk.Mirror, register: Watched) -> None:
    for _ in range(2):
        register.sample.set_today(register.today + timedelta(days=1))
        register.sample.touch(register.sample.units.ids(limit=9))
        mirror.sync()
