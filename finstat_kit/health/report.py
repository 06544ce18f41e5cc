"""The health report of a register: what is expected of it, and what was seen.

It names no unit, person or folder: it is made to be shown to others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit import errors
from finstat_kit.calls import checked_call
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.health.checks import CHECKS, Examined
from finstat_kit.protocol.untrusted import shown

REPORT: Final = pl.Schema(
    dict.fromkeys(("check", "status", "seen", "expected", "meaning"), pl.String())
)
_WORST: Final = ("fail", "warn", "ok")
_SILENCE: Final = 3  # checks in a row without a reply of the register, after which it is left alone
_QUOTED: Final = re.compile(r"'.*'|\".*\"|“[\[{].*”")


@checked_call
def doctor(*, register: Register | str | None = None) -> pl.DataFrame:
    """Compare a register with what is expected of it, by the calls that a user makes.

    Sends about 80 requests. It ends early where the register does not reply or requires a pause. A
    fault of the register is a line of the report, never an error. The report names no unit, person
    or folder, so that it can be shown to others. A cache of the register keeps the replies:
    ``fk.doctor(register="cache:FILE")`` gives the same report without a network, but for faults,
    which no cache keeps. `finstat-kit doctor --format table` shows long texts in full in a pipe.

    Args:
        register: A URL, `fk.LIVE`, a `Register` or a sample; None is the current one.

    Returns:
        One row per check, the worst first, all String: ``check``; ``status``, which is ``ok``,
        ``warn`` (it works, but should be examined) or ``fail`` (the client refuses it, or would
        return something else); ``seen`` and ``expected``; ``meaning`` of the difference, empty if
        all is well.

    Raises:
        UsageError: No register is chosen, or *register* is not one.

    Example:
        >>> import finstat_kit as fk
        >>> report = fk.doctor(register=fk.sample())
        >>> report["status"].unique().to_list()
        ['ok']
        >>> report.row(14)[:3]
        ('filters', 'ok', '1 of its IČO, 2,978 of 20,000 of its legal form')
    """
    rows = sorted(_rows(current.named(register)), key=lambda row: _WORST.index(row[1]))
    return pl.DataFrame(rows, schema=REPORT, orient="row")


def _rows(register: Register) -> Iterator[tuple[str, ...]]:
    examined, silences = Examined(register), 0
    *checks, versions = CHECKS
    for name, look, expected, meaning, difference in checks:
        status, is_last = "ok", False
        try:
            seen, good = look(examined)
            silences, status = 0, "ok" if good else difference
        except errors.UsageError:
            seen = "not held by this copy"
        except errors.CacheError:
            seen, status = "the recording has no such reply", "warn"
        except errors.RegisterError as error:
            seen, status = _nameless(error), "fail"
            silent = isinstance(error, errors.TransportError | errors.RegisterUnavailable)
            silences = silences + 1 if silent else 0
            # Further requests would prolong a ban, or wait in vain.
            stops = isinstance(error, errors.RateLimited | errors.MirrorError)
            is_last = stops or getattr(error, "blocked", False) or silences == _SILENCE
            if isinstance(error, errors.MirrorError):
                meaning = error.cure.replace(str(Path.home()), "~")
        yield name, status, shown(seen), expected, meaning if status != "ok" else ""
        if is_last:
            break
    yield versions.name, "ok", versions.look(examined)[0], versions.expected, versions.meaning


def _nameless(error: errors.RegisterError) -> str:
    """Return an error that names neither an id nor a value: letters a, digits 9."""
    # What follows is the beginning of the reply.
    text = error.message.partition("; the reply")[0].replace(str(Path.home()), "~")
    path, _, rest = re.sub(r"^id [0-9]+: ", "", text).partition(": ")
    rest = _QUOTED.sub(lambda quoted: re.sub(r"[^\W\d_]", "a", quoted[0]), rest)
    return path + (f": {re.sub('[0-9]', '9', rest)}" if rest else "")
