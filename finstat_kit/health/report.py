"""The health report of a register: its replies, and how they differ from the known format.

Bodies are read below the client's checks, so that the report covers replies that the client would
refuse, with all their faults and not only the first. It names no unit, person or folder: it is made
to be shown to others.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

import polars as pl

from finstat_kit.client import current
from finstat_kit.client.register import LIVE, Register
from finstat_kit.health import contents, lists
from finstat_kit.health.codelists import codelist
from finstat_kit.health.lines import SLOW, Line, judged, line
from finstat_kit.health.probe import EndedError, Probe
from finstat_kit.protocol import wire
from finstat_kit.protocol.untrusted import shown
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.cache_database import day_of

REPORT: Final = pl.Schema(dict.fromkeys(Line._fields, pl.String()))
_WORST: Final = ("fail", "warn", "ok")
_PACKED: Final = frozenset({"none", "identity", "gzip"})


def doctor(*, register: Register | str | None = None) -> pl.DataFrame:
    """Compare a register with all that is expected of it.

    Sends at most 91 requests, six of them second attempts, to every endpoint of records, lists and
    codelists; it ends early if the register does not reply or requires a pause. A fault of the
    register is a line of the report, never an error. The report names no unit, person or folder,
    so that it can be shown to others. A cache of the register keeps the replies: the report of
    ``fk.doctor(register="cache:FILE")`` is the same without a network, but for what headers say.
    `finstat-kit doctor --format table` shows long texts in full.

    Args:
        register: A URL, `fk.LIVE`, a `Register` or a sample; None is the current one.

    Returns:
        One row per check, the worst first, all String: ``check``; ``status``, which is ``ok``,
        ``warn`` (it works, but should be examined) or ``fail`` (the client would refuse it);
        ``seen`` and ``expected``; ``meaning`` of the difference, empty if all is well.

    Raises:
        UsageError: No register is chosen, or *register* is not one.

    Example:
        >>> import finstat_kit as fk
        >>> report = fk.doctor(register=fk.sample())
        >>> report["status"].unique().to_list()
        ['ok']
        >>> report.row(1)
        ('API version', 'ok', '2.5', '2.5', '')
    """
    lines = sorted(_examined(current.named(register)), key=lambda line: _WORST.index(line.status))
    home = str(Path.home())
    printable = [line._replace(seen=shown(line.seen.replace(home, "~"))) for line in lines]
    return pl.DataFrame(printable, schema=REPORT, orient="row")


def _examined(register: Register) -> list[Line]:
    probe, lines = Probe(register), list[Line]()
    part = f" for what changed since {register.since}" if register.since else ""
    reachable = line("reachable", "ok", f"it answers{part}")
    try:
        lines.extend(_checks(probe, register))  # lines before an early end are kept
    except EndedError as end:
        good = len(probe.seconds)
        after = f", good replies before: {good}" if good else ""
        reachable = line("reachable", "fail", end.seen + after, end.meaning)
    versions = _versions(probe, register)
    if not probe.seconds:
        return [reachable, versions]
    return [reachable, *_exchange(probe, register), *lines, versions]


def _checks(probe: Probe, register: Register) -> Iterator[Line]:
    for of in wire.CODELISTS.values():
        yield codelist(probe, of)
    ids: list[int] = []
    yield from lists.paging(probe, ids)
    yield lists.window(probe, register.today)
    yield from lists.others(probe)
    yield from contents.units(probe, ids)
    yield from contents.others(probe)
    yield contents.rows_of_forms(probe)
    yield from contents.reports(probe)
    yield from lists.refusals(probe)  # last: a firewall may answer them by a ban


def _exchange(probe: Probe, register: Register) -> Iterator[Line]:
    """Yield what headers and times say, neither of which a recording has."""
    if probe.recorded:
        for check in ("API version", "latency", "rate", "encoding", "clock"):
            yield line(check, "ok", "not recorded")
        return
    versions = probe.header("x-api-version")
    yield judged(
        "API version", set(versions) == {wire.API_VERSION}, ", ".join(sorted(versions)),
        f"{wire.API_VERSION} is known: look for a newer version of finstat_kit", "warn",
    )  # fmt: skip
    yield from _times(probe)
    yield _encoding(probe)
    yield _clock(probe, register)


def _times(probe: Probe) -> Iterator[Line]:
    if probe.in_process:
        yield line("latency", "ok", "in process")
        yield line("rate", "ok", "in process")
        return
    middle = median(probe.seconds)
    seen = f"{middle * 1000:,.0f} ms, at most {max(probe.seconds) * 1000:,.0f} ms"
    meaning = "slow: it may be under load, try later"
    yield judged("latency", middle < SLOW, seen, meaning, "warn")
    yield line("rate", "ok", f"{probe.sent} requests in {probe.duration:,.0f} s")


def _encoding(probe: Probe) -> Line:
    types, packed = probe.header("content-type"), probe.header("content-encoding")
    json = all("json" in name.lower() or name == "none" for name in types)
    marks = f", {probe.marks} byte order marks" if probe.marks else ""
    return judged(
        "encoding", json and not probe.marks and {name.lower() for name in packed} <= _PACKED,
        f"{', '.join(sorted(types))}; packed: {', '.join(sorted(packed))}{marks}",
        "it is read all the same; a proxy may have changed the replies", "warn",
    )  # fmt: skip


def _clock(probe: Probe, register: Register) -> Line:
    days = [day_of(Reply(200, {"Date": text}, b"")) for text in probe.header("date")]
    known = [day for day in days if day is not None]
    seen = ", ".join(sorted(f"{_apart(day, register.today)}" for day in set(known))) or "no Date"
    # The day of a sample is its own.
    good = not register._session.remote or (
        len(known) == len(days) and all(abs((day - register.today).days) <= 1 for day in known)
    )
    return judged(
        "clock", good, seen,
        "a cache compares these days: correct the clock of this machine, or use max_age=", "warn",
    )  # fmt: skip


def _apart(day: date, today: date) -> str:
    days = (day - today).days
    return "today" if not days else f"{days:+,} days"


def _versions(probe: Probe, register: Register) -> Line:
    """Return the line that says what was used, for whom the report is shown to."""
    kind = "the live register" if register.base_url == LIVE else "another register"
    if set(probe.header(wire.INVENTED.lower())) - {"none"} or register.invented:
        kind = "invented data"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("finstat-kit", "polars", "httpx"))
    system = f"Python {platform.python_version()}, {platform.system()}"
    return line("versions", "ok", f"{libraries}, {system}; {kind}")
