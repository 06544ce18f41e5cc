"""Records on their way to the output, so that an interruption loses none of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from finstat_kit.cli.output import Output, for_output, uninterrupted, write_all

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.protocol.records.decode import Kind
    from finstat_kit.protocol.records.fields import Record

_SECONDS: Final = 0.5  # between two writes: a row waits no longer for the rows after it
_MOST: Final = 1_000  # rows of a write


class Rows:
    """Records of a kind, written in small batches or collected for a file or a table.

    Attributes:
        count: Records added so far.
    """

    def __init__(self, kind: Kind[Record], output: Output) -> None:
        self.count = 0
        self._kind = kind
        self._output = output
        self._waiting: list[Record] = []
        self._frames: list[pl.DataFrame] = []
        self._begun = False
        self._next_write = 0.0

    def add(self, record: Record) -> None:
        """Take a record; where rows stream, write those that have waited long enough."""
        self._waiting.append(record)
        self.count += 1
        due = self._output.streams and time.monotonic() >= self._next_write
        if due or len(self._waiting) >= _MOST:
            self.flush()

    def flush(self) -> None:
        """Write the records that wait, or put them into a frame."""
        # No polars call within the block below: interrupted there without an error, it returns
        # less than it should.
        frame = self._kind.frame(self._waiting)
        text = self._text(frame) if self._output.streams else b""
        with uninterrupted():
            if self._output.streams:
                write_all(text)
            else:
                self._frames.append(frame)
            self._begun = True
            self._waiting.clear()
            self._next_write = time.monotonic() + _SECONDS

    def end(self) -> None:
        """Write the records that still wait; for an empty result the header."""
        if self._waiting or not self._begun:
            self.flush()

    def frame(self) -> pl.DataFrame:
        """Return the records that were collected."""
        import polars as pl

        self.end()
        return pl.concat(self._frames, rechunk=True)

    def _text(self, frame: pl.DataFrame) -> bytes:
        return for_output(self._output.rendered(frame, header=not self._begun))
