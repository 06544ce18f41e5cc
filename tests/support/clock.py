"""The clock of the tests: nothing but sleeping moves it."""

from __future__ import annotations

import threading

from finstat_kit.transport.base import Timing


class FakeClock:
    """A clock that moves on to the earliest to wake, as soon as *threads* threads sleep.

    With one, any sleep moves it at once. Sleeping threads wake in the order of their times.

    Attributes:
        now: Seconds since its beginning.
        slept: How long each sleep was, in the order of their beginnings.
    """

    def __init__(self, threads: int = 1) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._awake = threads
        self._wakes: list[float] = []
        self._changed = threading.Condition(threading.RLock())

    def clock(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_800_000_000 + self.now  # 2027-01-15 08:00:00 UTC

    def sleep(self, seconds: float) -> None:
        with self._changed:
            self.slept.append(seconds)
            wake = self.now + seconds
            self._wakes.append(wake)
            self.rest()
            self._changed.wait_for(lambda: self.now >= wake)

    def rest(self) -> None:
        """Leave the clock to the other threads."""
        with self._changed:
            self._awake -= 1
            if not self._awake and self._wakes:
                self.now = min(self._wakes)
                self._awake = self._wakes.count(self.now)
                self._wakes = [wake for wake in self._wakes if wake > self.now]
                self._changed.notify_all()

    def timing(self, luck: float = 1.0) -> Timing:
        """Return the clock as transports take it; *luck* is what every draw gives, 0 to 1."""
        return Timing(self.clock, self.wall, self.sleep, lambda: luck)
