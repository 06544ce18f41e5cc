"""The health report of a register: what it answers, and how that differs from what is known.

Bodies are read below the client's checks, so that what the client would refuse can be told. Every
question is one request and no retry: a report takes a bounded number of them, whatever comes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any, Final, NamedTuple, TypeVar

import polars as pl

from finstat_kit import default, labels, replies
from finstat_kit.embedded.store import ANNUAL_REPORTS, REPORTS, STATEMENTS, UNITS
from finstat_kit.errors import ProtocolError, RegisterError
from finstat_kit.exchange import NotJson, first_words
from finstat_kit.registers import Register

REPORT: Final = pl.Schema(dict.fromkeys(("check", "status", "seen", "meaning"), pl.String()))
_WORST: Final = ("fail", "warn", "ok")
_API_VERSION: Final = "2.5"
_SLOW: Final = 2.0  # seconds; the register is known to take a tenth of it
_PAGE: Final = 1_000
_RECORDS: Final = 8
_FEW_LABELS: Final = 0.8  # of the codes in the records
_EVERYTHING: Final = {"zmenene-od": "2000-01-01"}
_ENTRY: Final = {"lokacie": {"kod", "nazov", "nadradenaLokacia"}, "klasifikacie": {"kod", "nazov"}}
_PARENT: Final = {"districts": "regions", "municipalities": "districts"}


T = TypeVar("T")


class _Line(NamedTuple):
    check: str
    status: str
    seen: str
    meaning: str = ""


class _Fault(Exception):
    """What came instead of something to check."""


def doctor(register: Register | str | None = None) -> pl.DataFrame:
    """Report on the health of a register, and how it has drifted from what is known of it.

    At most 30 requests, each sent once. What is wrong with the register is a line of the report,
    never an error. From every endpoint that the client uses.

    Args:
        register: A URL, `fk.LIVE`, a `Register` or a sample; None is the current one.

    Returns:
        A line for each check, the worst first, all String: ``check``; ``status``, which is ``ok``,
        ``warn`` (it works, but look at it) or ``fail`` (the client would refuse it); ``seen``;
        ``meaning``, empty where all is well.

    Raises:
        UsageError: No register is chosen, or it is none.

    Example:
        >>> import finstat_kit as fk
        >>> report = fk.doctor(fk.sample())
        >>> report["status"].unique().to_list()
        ['ok']
        >>> report.row(3)
        ('regions', 'ok', '10 entries, 2 share a name', '')
    """
    lines = sorted(_examined(default.named(register)), key=lambda line: _WORST.index(line.status))
    return pl.DataFrame(lines, schema=REPORT, orient="row")


class _Patient:
    """Asks a register, and keeps what several checks need."""

    def __init__(self, register: Register) -> None:
        self._exchange = register.exchange
        self.in_process = not register.base_url.startswith("http")
        self.seconds: list[float] = []
        self.versions: Counter[str] = Counter()
        self.codes: dict[str, set[str]] = {}

    def ask(self, path: str, **more: str | int) -> bytes:
        """Return the body behind a path, where it is one that could be JSON."""
        query = {name.replace("_", "-"): value for name, value in more.items()}
        try:
            reply, seconds = self._exchange.once(f"/api/{path}", query)
        except RegisterError as error:
            raise _Fault(error.message) from None
        self.seconds.append(seconds)
        headers = {name.lower(): value for name, value in reply.headers.items()}
        self.versions[headers.get("x-api-version", "none")] += 1
        if reply.status != 200:
            raise _Fault(f"status {reply.status}{first_words(reply.body)}")
        if reply.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
            raise _Fault(f"HTML under status 200{first_words(reply.body)}")
        return reply.body

    def read(self, path: str, **more: str | int) -> dict[str, Any]:
        """Return the object behind a path as it came."""
        try:
            found = json.loads(self.ask(path, **more).decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise _Fault("no JSON") from None
        if not isinstance(found, dict):
            raise _Fault("JSON, but no object")
        return found


def _examined(register: Register) -> Iterator[_Line]:
    patient = _Patient(register)
    lists = [_codelist(patient, codelist) for codelist in labels.CODELISTS.values()]
    if not patient.seconds:
        yield _Line("reachable", "fail", lists[0].seen, "check the base URL and the network")
        return
    ids: list[int] = []
    rest = [*_paging(patient, ids), *_counts(patient), *_records(patient, ids)]
    yield _Line("reachable", "ok", "it answers")
    yield _version(patient)
    yield _latency(patient)
    yield from lists
    yield from rest


def _version(patient: _Patient) -> _Line:
    seen = ", ".join(sorted(patient.versions))
    if set(patient.versions) == {_API_VERSION}:
        return _Line("API version", "ok", seen)
    return _Line("API version", "warn", seen, f"{_API_VERSION} is known: look for a newer version")


def _latency(patient: _Patient) -> _Line:
    if patient.in_process:
        return _Line("latency", "ok", "in process")
    middle = median(patient.seconds)
    seen = f"{middle * 1000:,.0f} ms, at most {max(patient.seconds) * 1000:,.0f} ms"
    if middle < _SLOW:
        return _Line("latency", "ok", seen)
    return _Line("latency", "warn", seen, "slow: it may be under load, try later")


def _codelist(patient: _Patient, codelist: labels.Codelist) -> _Line:
    name = codelist.name
    key = "lokacie" if codelist.field in labels.LOCATION_FIELDS else "klasifikacie"
    try:
        reply = patient.read(codelist.endpoint)
        entries = reply.get(key)
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise _Fault(f"no list of entries under {key}")
    except _Fault as fault:
        return _Line(name, "fail", str(fault), "no labels from it")

    given = [e.get("kod") for e in entries]
    codes = {str(code) for code in given if code is not None}
    patient.codes[name] = codes
    parents = patient.codes.get(_PARENT.get(name, ""))
    names = [n if isinstance(n := e.get("nazov"), dict) else {} for e in entries]
    slovak = [n["sk"] for n in names if isinstance(n.get("sk"), str)]
    wrong = {
        "without a code": sum(code is None for code in given),
        "codes repeated with other content": _differing(entries),
    }
    odd = {
        "codes repeated": len(given) - wrong["without a code"] - len(codes),
        "codes that are numbers": sum(type(code) is int for code in given),
        "without a name in both languages": sum(
            not all(isinstance(n.get(lang), str) and n[lang] for lang in ("sk", "en"))
            for n in names
        ),
        "with an unknown parent": 0
        if parents is None
        else sum(
            str(parent) not in parents
            for e in entries
            if (parent := e.get("nadradenaLokacia")) is not None
        ),
        "unknown keys": len({key for e in entries for key in e} - _ENTRY[key]),
    }
    usual = {
        "share a name": sum(n for n in Counter(slovak).values() if n > 1),
        "without a parent": sum(e.get("nadradenaLokacia") is None for e in entries)
        if name in _PARENT
        else 0,
    }
    seen = ", ".join([f"{len(entries):,} entries", *_told({**wrong, **odd, **usual})])
    if any(wrong.values()):
        return _Line(name, "fail", seen, "the client refuses this list")
    if not entries:
        return _Line(name, "warn", seen, "no code will have a label")
    if any(odd.values()):
        return _Line(name, "warn", seen, "it is read, but labels may be missing")
    return _Line(name, "ok", seen)


def _told(counts: Mapping[str, int]) -> list[str]:
    return [f"{count:,} {what}" for what, count in counts.items() if count]


def _differing(entries: list[dict[str, object]]) -> int:
    """Return how many codes are listed twice with other content."""
    contents: dict[object, set[str]] = {}
    for entry in entries:
        content = json.dumps(entry, sort_keys=True)
        contents.setdefault(str(entry.get("kod")), set()).add(content)
    return sum(len(found) > 1 for code, found in contents.items() if code != "None")


def _paging(patient: _Patient, ids: list[int]) -> Iterator[_Line]:
    """Walk two pages and ask beyond the last id; fill *ids* with what came."""

    def page(after: int) -> tuple[list[int], object]:
        reply = patient.read(UNITS, **_EVERYTHING, max_zaznamov=_PAGE, pokracovat_za_id=after)
        found = reply.get("id", [])
        if not isinstance(found, list) or not all(type(id_) is int for id_ in found):
            raise _Fault("ids that are no whole numbers")
        return found, reply.get("existujeDalsieId", "no flag")

    try:
        before = _count(patient, UNITS, 0)
        first, more = page(0)
        second, last_more = page(first[-1]) if first else ([], False)
        cursor = [*first, *second][-1] if first else 0
        after = _count(patient, UNITS, cursor)
        beyond, beyond_more = page(replies.MAX_ID)
    except _Fault as fault:
        yield _Line("paging", "fail", str(fault), "no ids can be fetched")
        return
    ids += [*first, *second]
    seen = f"{len(ids):,} ids on two pages"
    forward = all(a < b for a, b in zip([0, *ids], ids, strict=False))
    yield _judged("ids ascend", forward, seen, "the client refuses such pages")
    yield _judged(
        "page size", max(len(first), len(second)) <= _PAGE,
        f"{len(first):,} and {len(second):,} of {_PAGE:,} asked", "more came than was asked",
        "warn",
    )  # fmt: skip
    yield _judged(
        "flag", type(more) is type(last_more) is type(beyond_more) is bool,
        f"{more}, {last_more}, {beyond_more}".lower(), "without a flag nobody knows the end",
    )  # fmt: skip
    yield _judged(
        "beyond the last id", not beyond and beyond_more is False,
        f"{len(beyond):,} ids", "a walk may not end where the list does",
    )  # fmt: skip
    yield _judged(
        "counts", before - len(ids) == after and (after > 0) == last_more,
        f"{before:,} before, {after:,} after {len(ids):,} ids",
        "counts do not fit the pages; if it stays, bars will be wrong", "warn",
    )  # fmt: skip


def _judged(check: str, good: bool, seen: str, meaning: str, otherwise: str = "fail") -> _Line:
    return _Line(check, "ok", seen) if good else _Line(check, otherwise, seen, meaning)


def _count(patient: _Patient, collection: str, after: int) -> int:
    body = patient.ask(f"zostavajuce-id/{collection}", **_EVERYTHING, pokracovat_za_id=after)
    return _parsed(partial(replies.parse_count, body))


def _counts(patient: _Patient) -> Iterator[_Line]:
    for collection in (STATEMENTS, REPORTS, ANNUAL_REPORTS):
        try:
            count = _count(patient, collection, 0)
        except _Fault as fault:
            yield _Line(collection, "fail", str(fault), "it cannot be counted")
        else:
            yield _judged(collection, count > 0, f"{count:,} ids", "an empty collection", "warn")


def _records(patient: _Patient, ids: list[int]) -> Iterator[_Line]:
    sampled = ids[:: max(len(ids) // _RECORDS, 1)][:_RECORDS]
    faults, records, unknown = [], [], set()
    for id_ in sampled:
        try:
            body = patient.ask("uctovna-jednotka", id=id_)
            records.append(_parsed(partial(replies.parse_unit, body, id_)))
            unknown |= json.loads(body.decode("utf-8-sig")).keys() - replies.UNITS.keys()
        except _Fault as fault:
            faults.append(f"id {id_}: {re.sub(r'^id [0-9]+: ', '', str(fault))}")
    seen = f"{len(records)} of {len(sampled)} read"
    if faults or not sampled:
        yield _Line("records", "fail", "; ".join([seen, *faults[:1]]), "the client refuses these")
    elif unknown:
        told = ", ".join(sorted(unknown))
        yield _Line("records", "warn", f"{seen}, unknown: {told}", "unknown fields are left out")
    else:
        yield _Line("records", "ok", seen)
    for codelist in labels.CODELISTS.values():
        codes = [record[codelist.field] for record in records if codelist.field in record]
        known = sum(code in patient.codes.get(codelist.name, ()) for code in codes)
        yield _judged(
            f"labels of {codelist.field}", known >= _FEW_LABELS * len(codes),
            f"{known} of {len(codes)} codes", "codes and codelist have drifted apart", "warn",
        )  # fmt: skip


def _parsed(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ProtocolError as error:
        raise _Fault(error.message.partition("; the reply")[0]) from None
    except NotJson as error:
        raise _Fault(f"no JSON but {error}") from None
