"""The picker of a day without a browser: calendar, count and questions overtaken."""

from __future__ import annotations

import threading
from datetime import date
from html import unescape

import pytest

import finstat_kit as fk
from finstat_kit.errors import BadRequest
from finstat_kit.protocol.wire import Reply
from finstat_kit.widgets.controls.background import LatestWins
from tests.support.pickers import SAMPLE, WAIT, Counting, counted, wait_for
from tests.support.registers import Scripted

# The day of change


@pytest.mark.parametrize(
    ("quick", "day"),
    [
        ("last_7", date(2026, 6, 23)),
        ("last_30", date(2026, 5, 31)),
        ("this_year", date(2026, 1, 1)),
        ("everything", None),
    ],
)
def test_quick_choices_follow_the_registers_day(quick: str, day: date | None) -> None:
    """Days are counted by the register's today, which is one of them."""
    picker = fk.ChangePicker(register=SAMPLE)
    picker.value = "2020-01-01"

    picker.quick[quick].click()

    assert picker.value == picker.calendar.value == day
    assert picker.count == SAMPLE.units.count(changed_since=day)


def test_the_day_is_set_by_code_and_calendar() -> None:
    """Text and dates are taken, anything else is an error; clearing means everything."""
    picker = fk.ChangePicker(register=SAMPLE)
    told = Counting(picker, "value")

    picker.value = "2026-06-01"
    assert picker.calendar.value == date(2026, 6, 1)
    picker.calendar.value = None
    assert picker.value is None
    assert told.seen == [date(2026, 6, 1), None]
    with pytest.raises(fk.UsageError, match="value='yesterday' is not a valid date"):
        picker.value = "yesterday"


def test_a_year_being_typed_is_no_error() -> None:
    """A calendar tells 0002 on the way to 2026; the register is asked for everything."""
    picker = fk.ChangePicker(register=SAMPLE)

    picker.calendar.value = date(2, 1, 1)

    assert picker.count == 20_000


def test_the_count_is_told_in_both_languages() -> None:
    """The line says how many and since when, as each language writes it."""
    picker = fk.ChangePicker(register=SAMPLE)
    picker.value = "2026-01-01"
    assert picker.count == 9500
    wait_for(picker.line, "9\u00a0500")

    assert "V registri zmenené od 1.\u00a01.\u00a02026: 9\u00a0500 jednotiek" in picker.line.value
    picker.lang = "en"
    assert (
        "In the register: 9,500 units changed since 1\u00a0January\u00a02026" in picker.line.value
    )
    assert picker.value == date(2026, 1, 1)


def test_a_day_in_the_future_says_why_nothing_changed_since() -> None:
    """The line names the register's own day; nothing is requested, and nothing warns."""
    picker = fk.ChangePicker(register=SAMPLE, lang="en")
    picker.value = "2026-07-01"
    text = (
        "Nothing yet: 1\u00a0July\u00a02026 is after the register's today, 30\u00a0June\u00a02026."
    )
    assert unescape(picker.line.value).endswith(f">{text}</small>")
    assert text in unescape(str(picker._repr_mimebundle_()["text/html"]))
    assert picker.count == 0

    register = Scripted(counted(3))
    picker = fk.ChangePicker(register=register)
    assert picker.fetch() == 3
    picker.value = "2999-01-01"
    assert picker.fetch() == 0
    assert len(register.asked) == 1
    explorer = fk.Explorer(register=SAMPLE)
    explorer.change.value = "2027-01-01"
    assert explorer.fetch().is_empty()


class Slow(Scripted):
    """A register that answers a day's count when it is let, and says that it was asked."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        super().__init__()
        self.bodies = answers
        self.reached = {day: threading.Event() for day in answers}
        self.let = {day: threading.Event() for day in answers}

    def _answer(self, method: str, path: str, query: str) -> Reply:
        day = next(day for day in self.bodies if day in query)
        self.reached[day].set()
        assert self.let[day].wait(WAIT)
        return Reply(200, {}, self.bodies[day])


def test_the_newest_question_wins() -> None:
    """A slow answer to an older question is never shown, and asking does not block."""
    register = Slow({"2000-01-01": counted(1), "2024-01-01": counted(2), "2025-01-01": counted(3)})
    picker = fk.ChangePicker(register=register)
    assert register.reached["2000-01-01"].wait(WAIT)
    picker.value = "2024-01-01"
    assert register.reached["2024-01-01"].wait(WAIT)
    assert "Počítam" in picker.line.value
    assert picker.count is None
    assert repr(picker) == "ChangePicker(value='2024-01-01', count=None, lang='sk')"
    told = Counting(picker.line, "value")

    picker.value = "2025-01-01"
    register.let["2025-01-01"].set()
    assert picker.fetch() == 3
    wait_for(picker.line, ": 3 jednotky")
    for slow in ("2000-01-01", "2024-01-01"):
        register.let[slow].set()
    for thread in threading.enumerate():
        if thread.name == "finstat_kit":
            thread.join(WAIT)

    assert ": 3 jednotky" in picker.line.value
    assert len(told.seen) == 2  # that it counts since 2025, and how many
    assert repr(picker) == "ChangePicker(value='2025-01-01', count=3, lang='sk')"


def test_errors_are_a_line_of_text() -> None:
    """What the register says wrong is told, escaped; the next question is asked all the same."""
    register = Scripted(Reply(400, {}, b"<img src=x onerror=alert(1)>"), counted(7))
    picker = fk.ChangePicker(register=register, lang="en")

    with pytest.raises(BadRequest):
        picker.fetch()
    wait_for(picker.line, "Failed: ")
    assert "<img" not in picker.line.value
    assert picker.count is None
    picker.value = "2024-01-01"
    assert picker.fetch() == picker.count == 7


def test_a_question_overtaken_at_once_is_not_asked() -> None:
    """Digits of a year come fast: only the first and the last of them cost a request."""
    asked: list[int] = []
    first, let = threading.Event(), threading.Event()

    def work(question: int, _: object) -> int:
        asked.append(question)
        first.set()
        assert let.wait(WAIT)
        return question

    latest = LatestWins(work, lambda: None)
    latest.submit(0)
    assert first.wait(WAIT)
    for question in range(1, 10):
        latest.submit(question)
    let.set()

    assert latest.result() == 9
    assert asked == [0, 9]


def test_interrupted_work_has_an_outcome() -> None:
    """Nobody waits for ever: the interruption ends the cell, and is what `result` raises."""
    drawn: list[object] = []

    def work(question: int, _: object) -> int:
        if question == 0:
            raise KeyboardInterrupt
        return question

    latest = LatestWins(work, lambda: drawn.append(latest.outcome), at_once=True)
    with pytest.raises(KeyboardInterrupt):
        latest.submit(0)

    assert latest.settled(WAIT) is drawn[0] is not None
    with pytest.raises(KeyboardInterrupt):
        latest.result()
    latest.submit(1)
    assert latest.result() == 1
