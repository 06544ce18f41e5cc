"""A recorded register: the newest cached reply answers each request, and nothing is sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.register import LIVE, WORDS, Register, moment, source_name
from finstat_kit.errors import CacheError
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess, is_loopback
from finstat_kit.transport.cache_file import CacheFile, CacheState
from finstat_kit.transport.exchange import Stats


class Replay(Register):
    """The replies of a file, as a register; made by ``fk.use("cache:FILE")``.

    Args:
        path: The file, written by a `Register` with ``cache=``.
        lang: As in `Register`.

    Raises:
        CacheError: There is no such file, it is damaged, or it holds no replies.
    """

    def __init__(self, path: str | Path, *, lang: Lang | None = None) -> None:
        self.path = Path(path)
        if not arguments.exists(path) or self.path.is_dir():
            raise CacheError(f"there is no file {str(path)!r}", cure=_recording(path))
        self._file = CacheFile(self.path, None)
        url = self._file.about.register
        super().__init__(
            "cache:",
            page_size=self._file.about.page_size,
            lang=lang,
            transport=InProcess(self._answer),
        )
        # As recorded: refusals depend on it.
        remote = url.startswith("http") and not is_loopback(url)
        self._session.remote = remote
        self._session.offline = True

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by the path of the file."""
        return partial(type(self), lang=self.lang), (self.path.absolute(),)

    def __repr__(self) -> str:
        kind = "SAMPLE DATA " if self.invented else ""
        return f"{kind}<Replay {self.path} of {self._file.about.register}, recorded {self.today}>"

    @property
    def _use_arguments(self) -> str:
        return repr(f"cache:{self.path}")

    @property
    def invented(self) -> bool:
        """Whether the recorded data are invented, according to the replies."""
        return bool(self._file.about.invented)

    @property
    def today(self) -> date:
        """The register's day when the newest reply was recorded."""
        return date.fromisoformat(self._file.about.today)

    @property
    def stats(self) -> Stats:
        """Number of cached replies used so far; no request is ever sent."""
        stats = super().stats
        return replace(stats, requests=0, bytes=0, from_cache=stats.requests)

    @property
    def cache(self) -> CacheState:
        """The content of the file."""
        return self._file.state

    def _source_name(self, lang: Lang) -> str:
        return source_name(self._file.about.register, self.invented, lang)

    def _citation(self, lang: Lang) -> str:
        source = source_name(self._file.about.register, self.invented, lang, cited=True)
        first, last = self._file.state.fetched
        when = WORDS[lang]["recorded"].format(first=moment(first), last=moment(last))
        return f"{source}, {when}."

    def _answer(self, method: str, path: str, query: str) -> Reply:
        target = path + ("?" + query if query else "")
        if (found := self._file.find(target)) is None:
            again = _recording(self.path, self._file.about.register, "run the same lines after ")
            raise CacheError(f"{target} is not in {self.path}", cure=again)
        return found[1]


def _recording(path: str | Path, url: str = LIVE, run: str = "") -> str:
    """Return the call that records a register."""
    where = {LIVE: "fk.LIVE", "sample:": "'sample'"}.get(url, repr(url))
    return f"record it: {run}fk.use({where}, cache={str(path)!r})"
