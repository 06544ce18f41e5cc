"""The picker of a day of change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

import ipywidgets
import polars as pl
import traitlets

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.register import Register
from finstat_kit.frames.places.labels import schema_of
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.number_format import day_text
from finstat_kit.given_frames import Frame
from finstat_kit.protocol import wire
from finstat_kit.widgets.controls import base, in_browser
from finstat_kit.widgets.controls.background import FinishedWork, LatestWins
from finstat_kit.widgets.html import reproduce
from finstat_kit.widgets.texts import failed, since_text, words

# The days that changed_since="-7d" and "-30d" are.
_QUICK: Final[dict[str, Callable[[date], date | None]]] = {
    "last_7": lambda today: today - timedelta(days=7),
    "last_30": lambda today: today - timedelta(days=30),
    "this_year": lambda today: today.replace(month=1, day=1),
    "everything": lambda _: None,
}


class ChangePicker(base.Picker):
    """Pick the day since which units changed, and show their number.

    The number is requested in the background, from a sample at once; the newest choice wins, and
    an error is shown as a line of text.

    Args:
        register: A `Register`, or what `use` takes; None is the current one.
        lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's.

    Attributes:
        value: A `datetime.date`, or None for everything; settable, also as ``"2026-06-01"``, and
            observable. Pass it as ``changed_since=``.
        lang: Settable; the choice is kept.
        calendar: The field with the day.
        quick: The buttons by name: ``last_7``, ``last_30`` (as ``"-7d"`` and ``"-30d"``),
            ``this_year``, ``everything``; by the register's own today.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     picker = fk.ChangePicker(lang="en")
        >>> picker.quick["last_30"].click()
        >>> picker
        ChangePicker(value='2026-05-31', count=339, lang='en')
    """

    value: traitlets.Any = traitlets.Any(None, allow_none=True)

    def __init__(self, *, register: Register | str | None = None, lang: Lang | None = None) -> None:
        super().__init__(register, lang)
        self.calendar = ipywidgets.DatePicker(
            layout=in_browser.LAYOUT, style={"description_width": base.LABEL_WIDTH}
        ).add_class("fk-day")
        self.quick = {name: _button(name) for name in _QUICK}
        self.line = base.line().add_class("fk-count")
        days = ipywidgets.HBox(list(self.quick.values()), layout=base.ROW_BELOW)
        self._set_controls(self.calendar, days, self.line, self._buttons())
        self._counts = LatestWins(self._count, self._draw, at_once=base.is_local(self._register))
        self._relabel()
        self._counts.submit(None)
        self._draw()
        self._observe_user(self.calendar, lambda day: self.set_trait("value", day))
        for name, button in self.quick.items():
            button.on_click(lambda _, name=name: self._on_quick(name))
        self._observe_user(self, self._on_lang, "lang")

    def __repr__(self) -> str:
        day = self.value and self.value.isoformat()
        return f"ChangePicker(value={day!r}, count={self.count}, lang={self.lang!r})"

    @property
    def count(self) -> int | None:
        """The number of units changed since the day; None until fetched, or after an error."""
        outcome = self._counts.outcome
        return outcome.answer if outcome else None

    def fetch(self) -> int:
        """Wait for the number of units changed since the day, and return it.

        Raises:
            RegisterError: The request failed.
        """
        return self._counts.result()

    def filter(self, frame: Frame) -> Frame:
        """Return the rows whose ``datumPoslednejUpravy`` is the day or later.

        Raises:
            UsageError: A day is chosen, and the frame has no such column, or not one of days.
        """
        columns = schema_of(frame)
        if self.value is None:
            return frame
        base.check_columns(columns, (wire.CHANGED,), "frame")
        return frame.filter(pl.col(wire.CHANGED) >= self.value)

    def code(self) -> str:
        """Return Python that fetches the records of the units changed since the day."""
        return reproduce.by_day(self._register, requested_day(self.value), None, None)

    @traitlets.validate("value")
    def _day(self, proposal: traitlets.Bunch) -> date | None:
        day = proposal["value"]
        return None if day is None else arguments.day("value", day)

    @traitlets.observe("value")
    def _on_value(self, _: traitlets.Bunch) -> None:
        with self._lock:
            # Not the value of this change: another thread may have changed it since.
            day = self.value
            with self._without_observers():
                self.calendar.value = day
            self._counts.submit(day)
            self._draw()

    def _on_quick(self, name: str) -> None:
        with self._lock:
            self.value = _QUICK[name](self._register.today)

    def _on_lang(self, _: object) -> None:
        self._relabel()
        self._draw()

    def _relabel(self) -> None:
        texts = words(self.lang)
        self.calendar.description = texts["since"]
        for name, button in self.quick.items():
            button.description = texts[name]
            button.tooltip = f"{texts['since']}: {button.description}"

    def _count(self, day: date | None, _: Callable[[], bool]) -> int:
        if is_later(self._register, day):
            return 0
        units, since = self._register.units, requested_day(day)
        if not base.is_of_given(self._register):
            return units.count(changed_since=since)
        return int(units.scan(changed_since=since).select(pl.len()).collect().item())

    def _draw(self) -> None:
        """Show the state of the newest question; called on any thread."""
        with self._lock:
            self.line.value = base.status(self._text(self._counts.outcome))
            self._drawn()

    def _text(self, outcome: FinishedWork[date | None, int] | None) -> str:
        texts, register = words(self.lang), self._register
        day = outcome.question if outcome else self.value
        if outcome is None:
            return texts["counting"].format(since=self._since(day))
        if outcome.error is not None:
            return failed(outcome.error, self.lang)
        if day is not None and is_later(register, day):
            days = {"day": day_text(day, self.lang), "today": day_text(register.today, self.lang)}
            return texts["later"].format(**days)
        units = number_format.units(outcome.answer or 0, self.lang)
        is_part = base.is_of_given(register)
        text = texts["among_given" if is_part else "in_register"]
        return text.format(units=units, since=self._since(day))

    def _static(self) -> str:
        day = self.value and day_text(self.value, self.lang)
        texts = words(self.lang)
        rows = [
            [texts["since"], day or texts["everything"]],
            [texts["units"], self._text(self._counts.outcome)],
        ]
        return base.table(["", ""], rows)

    def _since(self, day: date | None) -> str:
        return since_text(day, self.lang)


def is_later(register: Register, day: date | None) -> bool:
    """Whether a day is after the register's today, so that nothing can have changed since."""
    return day is not None and day > register.today


def requested_day(day: date | None) -> date | None:
    """Return the day to request; None for all units."""
    # A year typed into the calendar arrives digit by digit, as 0002, 0020, 0202 and 2026.
    return None if day is None or day < wire.BEGINNING else day


def _button(name: str) -> ipywidgets.Button:
    button = ipywidgets.Button(layout={"width": "auto", "flex": "none"})
    return button.add_class(f"fk-{name.replace('_', '-')}")
