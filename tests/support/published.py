"""A web server of a folder, whose bytes are ours: it can answer anything in the place of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from tests.support.faults import FaultServer, Step, reply

Answer = Callable[[bytes], Sequence[Step]]  # of the bytes of the file


class FileServer(FaultServer):
    """Serves the files of a folder; 404 for others.

    Attributes:
        instead: By the beginning of a path, what is answered in the place of such files, one after
            the other; the last one stays.
        sent: Bytes of the files that were sent.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__([])
        self._folder = folder
        self.instead: dict[str, list[Answer]] = {}
        self.sent = 0

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _next(self, request: str) -> Sequence[Step]:
        super()._next(request)
        path = request.split(" ")[1].removeprefix("/")
        file = self._folder / path
        content = file.read_bytes() if file.is_file() else None
        for beginning, answers in self.instead.items():
            if path.startswith(beginning):
                with self._lock:
                    answer = answers.pop(0) if len(answers) > 1 else answers[0]
                return answer(content or b"")
        if content is None:
            return [reply(b"", 404)]
        self.sent += len(content)
        return [reply(content)]

    def requested(self, beginning: str) -> list[str]:
        """Return the paths so far that begin with a text."""
        return [path for path in self.asked if path.startswith(f"/{beginning}")]


def as_it_is(content: bytes) -> Sequence[Step]:
    """Answer with the file."""
    return [reply(content)]
