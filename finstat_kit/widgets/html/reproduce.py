"""Python text that gives a selection again."""

from __future__ import annotations

from datetime import date
from typing import Final

from finstat_kit.client.register import Register
from finstat_kit.client.sample import Sample
from finstat_kit.protocol.wire import CHANGED
from finstat_kit.widgets.controls.base import is_of_given

_HEAD: Final = "import finstat_kit as fk\nimport polars as pl\n"


def choose(register: Register) -> str:
    """Return the line that chooses a register, or a comment where only its owner can."""
    if register._use_arguments is None:
        return f"# Choose the same register first: {register!r}\n"
    note = "  # a sample: its units are invented" if isinstance(register, Sample) else ""
    return f"fk.use({register._use_arguments}){note}\n"


def by_day(register: Register, day: date | None, field: str | None, code: str | None) -> str:
    """Return the code of a selection of all units changed since a day."""
    since = f'changed_since="{day}"' if day else ""
    fetch = f"fk.units.get(fk.units.ids({since}))"
    if is_of_given(register):
        fetch = f"fk.units.scan({since}).collect()"
    if field is None:
        return f"{_HEAD}\n{choose(register)}selection = {fetch}\n"
    return (
        f"{_HEAD}\n{choose(register)}units = {fetch}\n"
        f'selection = units.filter(pl.col("{field}") == {code!r})\n'
    )


def by_frame(day: date | None, field: str | None, code: str | None) -> str:
    """Return the code of a selection from a frame of the user's own."""
    filters = [f"pl.col({field!r}) == {code!r}"] if field else []
    if day is not None:
        filters.append(f"pl.col({CHANGED!r}) >= pl.date({day.year}, {day.month}, {day.day})")
    chosen = f".filter({', '.join(filters)})" if filters else ""
    comment = "# units is your frame of records.\n"
    return f"{_HEAD}\n{comment}selection = units{chosen}\n"
