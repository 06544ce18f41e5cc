"""The checks of lists and counts: pages, the day of change, filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from finstat_kit.health.lines import Line, judged, line, parsed
from finstat_kit.health.probe import Fault, NotHeldFault, Probe, as_object, observed
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.records import KINDS, Unit
from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS, UNITS

_PAGE: Final = 1_000
_SHORT_PAGE: Final = 50
_WINDOW: Final = timedelta(days=30)
_DAY: Final = timedelta(days=1)
_EVERYTHING: Final[dict[str, str | int]] = {wire.CHANGED_SINCE: wire.BEGINNING.isoformat()}


def page(
    probe: Probe,
    after: int,
    *,
    since: Mapping[str, str | int] = _EVERYTHING,
    size: int | None = _PAGE,
    collection: str = UNITS,
) -> tuple[list[int], object]:
    """Return the ids of a page and its flag.

    Raises:
        Fault: It has no list of ids, or ids that are none.
    """
    sizes = {} if size is None else {wire.PAGE_SIZE: size}
    reply = as_object(probe.ask(collection, {**since, **sizes, wire.AFTER_ID: after}))
    ids = reply.get("id", [])
    if not isinstance(ids, list):
        raise Fault("no list of ids")
    if not all(type(id_) is int and 0 <= id_ <= wire.MAX_ID for id_ in ids):
        raise Fault("invalid ids: not whole numbers, negative, or too great")
    return ids, reply.get(wire.MORE, "no flag")


def _count(
    probe: Probe, collection: str, after: int, since: Mapping[str, str | int] = _EVERYTHING
) -> int:
    body = probe.ask(f"{wire.COUNTS}/{collection}", {**since, wire.AFTER_ID: after})
    return parsed(requests.parse_count, body)


def _since(day: date) -> dict[str, str | int]:
    return {wire.CHANGED_SINCE: day.isoformat()}


def _ascend(ids: list[int]) -> bool:
    return all(a < b for a, b in zip([0, *ids], ids, strict=False))


def paging(probe: Probe, ids: list[int]) -> Iterator[Line]:
    """Fetch two pages and one beyond the last id; add the ids to *ids*."""
    try:
        first_ids, more = page(probe, 0)
        second_ids, last_more = page(probe, first_ids[-1]) if first_ids else ([], False)
    except Fault as fault:
        yield line("paging", "fail", str(fault), "no ids can be fetched")
        return
    ids += [*first_ids, *second_ids]
    yield judged(
        "ids ascend", _ascend(ids), f"{len(ids):,} ids on two pages",
        "the client refuses such pages",
    )  # fmt: skip
    yield judged(
        "page size", max(len(first_ids), len(second_ids)) <= _PAGE,
        f"{len(first_ids):,} and {len(second_ids):,} of {_PAGE:,} requested", "pages are too long",
        "warn",
    )  # fmt: skip
    yield judged(
        "flag", type(more) is type(last_more) is bool,
        f"{more}, {last_more}".lower(), "without the flag the end is unknown",
    )  # fmt: skip
    yield _page_beyond_end(probe)
    yield _counted(probe, ids, last_more)
    yield _default_page(probe)
    yield from _largest_pages(probe)


def _page_beyond_end(probe: Probe) -> Line:
    check = "beyond the last id"
    try:
        ids, more = page(probe, wire.MAX_ID)
    except Fault as fault:
        return line(check, "warn", str(fault), "resuming a finished walk is an error here")
    return judged(
        check, not ids and more is False,
        f"{len(ids):,} ids, flag {str(more).lower()}", "a walk may not end where the list does",
    )  # fmt: skip


def _counted(probe: Probe, ids: list[int], more: object) -> Line:
    try:
        before = _count(probe, UNITS, 0)
        after = _count(probe, UNITS, max(ids, default=0))
    except Fault as fault:
        return line("counts", "warn", str(fault), "bars will have no total; walks are untouched")
    return judged(
        "counts", before - len(ids) == after and (after > 0) == more,
        f"{before:,} before, {after:,} after {len(ids):,} ids",
        "counts do not fit the pages; if it stays, bars will be wrong", "warn",
    )  # fmt: skip


def _default_page(probe: Probe) -> Line:
    check, meaning = "default page", "nothing depends on it: the client always requests a number"
    try:
        ids, more = page(probe, 0, size=None)
    except Fault as fault:
        return line(check, "warn", str(fault), meaning)
    whole = len(ids) == wire.DEFAULT_PAGE or (len(ids) < wire.DEFAULT_PAGE and more is False)
    return judged(check, whole, _pages_end(ids, more), meaning, "warn")


def _largest_pages(probe: Probe) -> Iterator[Line]:
    check, cure = "largest page", "give page_size=1_000"
    try:
        ids, more = page(probe, 0, size=wire.MAX_PAGE)
    except Fault as fault:
        yield line(check, "fail", str(fault), f"walks request such pages: {cure}")
    else:
        whole = len(ids) == wire.MAX_PAGE or (len(ids) < wire.MAX_PAGE and more is False)
        yield judged(
            check, whole, _pages_end(ids, more), f"walks need more requests than they say: {cure}",
            "warn",
        )  # fmt: skip
    try:
        reply = probe.refusal(UNITS, {**_EVERYTHING, wire.PAGE_SIZE: wire.MAX_PAGE + 1})
        ids = as_object(reply.body).get("id", []) if reply.status == 200 else []
    except Fault as fault:
        yield line("above the largest page", "warn", str(fault), "nothing depends on it")
        return
    yield judged(
        "above the largest page", reply.status in (200, 400) and len(ids) <= wire.MAX_PAGE,
        f"{len(ids):,} ids" if reply.status == 200 else observed(reply),
        "the description names a largest page; the client requests no larger one", "warn",
    )  # fmt: skip


def _pages_end(ids: list[int], more: object) -> str:
    return f"{len(ids):,} ids, flag {str(more).lower()}"


def window(probe: Probe, today: date) -> Line:
    """See that the day of change holds on the second page of a walk too."""
    check, first_day = "change window", today - _WINDOW
    since = _since(first_day)
    try:
        before = _count(probe, UNITS, 0, since)
        first_ids, _ = page(probe, 0, since=since, size=_SHORT_PAGE)
        cursor = max(first_ids, default=0)
        second_ids, _ = page(probe, cursor, since=since)
        after = _count(probe, UNITS, max([cursor, *second_ids]), since)
        last = _unit(probe, second_ids[-1]) if second_ids else None
    except Fault as fault:
        return line(check, "warn", str(fault), "changes since a day cannot be checked")
    last_day = None if last is None else last.datumPoslednejUpravy
    holds = before - len(first_ids) - len(second_ids) == after
    return judged(
        check, holds and (last_day is None or last_day >= first_day),
        f"{before:,} ids since {first_day}, {len(first_ids):,} and {len(second_ids):,} on two "
        f"pages, {after:,} after them",
        "walks of what changed since a day return other ids: compare the count",
    )  # fmt: skip


def _unit(probe: Probe, id_: int) -> Unit:
    unit = parsed(KINDS["units"].read, probe.ask(wire.UNIT, {"id": id_}), id_)
    assert isinstance(unit, Unit)
    return unit


def of_a_unit(probe: Probe, unit: Unit) -> Iterator[Line]:
    """See that a unit is listed by the day of its change, and by what filters name."""
    check, meaning = "day of change", "give a day earlier in changed_since; a mirror does so"
    day = unit.datumPoslednejUpravy
    if day is not None:
        try:
            on_the_day, on_the_next = (
                unit.id in page(probe, max(unit.id - 1, 0), since=_since(first), size=1)[0]
                for first in (day, day + _DAY)
            )
        except Fault as fault:
            yield line(check, "warn", str(fault), "changes since a day cannot be checked")
        else:
            seen = [_listed(on_the_day, "its day"), _listed(on_the_next, "the next")]
            yield judged(check, on_the_day and not on_the_next, ", ".join(seen), meaning)
    if unit.ico is None or unit.pravnaForma is None:
        return
    check, meaning = "filters", "units.find and the arguments ico= and legal_form_code= find others"
    try:
        of_ico, _ = page(probe, 0, since={**_EVERYTHING, "ico": unit.ico})
        form = {**_EVERYTHING, wire.FILTERS["legal_form_code"]: unit.pravnaForma}
        of_form, of_all = _count(probe, UNITS, 0, form), _count(probe, UNITS, 0)
    except Fault as fault:
        yield line(check, "warn", str(fault), meaning)
        return
    yield judged(
        check, unit.id in of_ico and len(of_ico) < _PAGE and 0 < of_form < of_all,
        f"{len(of_ico):,} of its IČO, {of_form:,} of {of_all:,} of its legal form", meaning,
    )  # fmt: skip


def _listed(is_listed: bool, day: str) -> str:
    return f"{'' if is_listed else 'not '}listed for {day}"


def others(probe: Probe) -> Iterator[Line]:
    """Count the other collections, and see that their ids ascend."""
    for collection in (STATEMENTS, REPORTS, ANNUAL_REPORTS):
        try:
            count = _count(probe, collection, 0)
            ids, _ = page(probe, 0, size=_SHORT_PAGE, collection=collection)
        except Fault as fault:
            yield line(collection, "fail", str(fault), "its ids cannot be fetched")
            continue
        if not _ascend(ids):
            yield line(
                collection, "fail", "ids that do not ascend", "the client refuses such pages"
            )
        else:
            yield judged(collection, count > 0, f"{count:,} ids", "an empty collection", "warn")


def refusals(probe: Probe) -> Iterator[Line]:
    """Request what is to be refused, one after the other."""
    yield _refused(
        probe,
        "no day",
        UNITS,
        {},
        (200, 400),
        "nothing depends on it: the client always sends one",
    )
    yield _refused(
        probe, "wrong day", UNITS, {wire.CHANGED_SINCE: "1.7.2026"}, (400,),
        "a wrong argument may be answered with other data; the client checks it before",
    )  # fmt: skip
    # The largest id of 32 bits: no unit has it, and any service can read it.
    yield _refused(
        probe, "unknown id", wire.UNIT, {"id": 2**31 - 1}, (404,),
        "a missing record is another error than NotFound", empty=True,
    )  # fmt: skip
    yield _refused(
        probe, "unknown path", "neznama-cesta", {}, (404,),
        "a wrong base URL is not recognized by its status",
    )  # fmt: skip


def _refused(
    probe: Probe,
    check: str,
    path: str,
    query: Mapping[str, str | int],
    statuses: tuple[int, ...],
    meaning: str,
    *,
    empty: bool = False,
) -> Line:
    try:
        reply = probe.refusal(path, query)
    except NotHeldFault:
        return line(check, "ok", "not held by this copy")
    except Fault as fault:
        return line(check, "warn", str(fault), meaning)
    good = reply.status in statuses and not (empty and reply.body)
    seen = "status 200" if reply.status == 200 else observed(reply)
    return judged(check, good, seen, meaning, "warn")
