"""The health report of a register: its replies, and how they differ from the known format.

Bodies are read below the client's checks, so that the report covers replies that the client would
refuse, with all their faults and not only the first.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from statistics import median
from typing import Final, NamedTuple, ParamSpec, TypeVar

import polars as pl

from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import ProtocolError
from finstat_kit.frames.financials import items
from finstat_kit.health.probe import Ended, Fault, NotThere, Patient, as_object
from finstat_kit.protocol import codelists, forms, requests, wire
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.untrusted import NotJson, shown
from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS, UNITS

REPORT: Final = pl.Schema(dict.fromkeys(("check", "status", "seen", "meaning"), pl.String()))
_WORST: Final = ("fail", "warn", "ok")
_SLOW: Final = 2.0  # seconds; the register usually takes a tenth of it
_PAGE: Final = 1_000
_SHORT_PAGE: Final = 50
_WINDOW: Final = timedelta(days=30)
_SHOWN: Final = 50  # rows of forms that differ
_RECORDS: Final = 8
_FEW_LABELS: Final = 0.8  # of the codes in the records
_EVERYTHING: Final[dict[str, str | int]] = {wire.CHANGED_SINCE: wire.BEGINNING.isoformat()}
_ENTRY: Final = {"lokacie": {"kod", "nazov", "nadradenaLokacia"}, "klasifikacie": {"kod", "nazov"}}
_PARENT: Final = {"districts": "regions", "municipalities": "districts"}


P = ParamSpec("P")
T = TypeVar("T")


class _Line(NamedTuple):
    check: str
    status: str
    seen: str
    meaning: str = ""


def doctor(*, register: Register | str | None = None) -> pl.DataFrame:
    """Check the health of a register, and its changes from the known format.

    Sends at most 72 requests, six of them second attempts, to every endpoint that the client uses;
    it ends early if the register does not reply or requires a pause. A fault of the register is a
    line of the report, never an error. `finstat-kit doctor --format table` shows long texts in
    full.

    Args:
        register: A URL, `fk.LIVE`, a `Register` or a sample; None is the current one.

    Returns:
        One row per check, the worst first, all String: ``check``; ``status``, which is ``ok``,
        ``warn`` (it works, but should be examined) or ``fail`` (the client would refuse it);
        ``seen`` (the observation); ``meaning``, empty if all is well.

    Raises:
        UsageError: No register is chosen, or *register* is not one.

    Example:
        >>> import finstat_kit as fk
        >>> report = fk.doctor(register=fk.sample())
        >>> report["status"].unique().to_list()
        ['ok']
        >>> report.row(3)
        ('regions', 'ok', '10 entries, 2 share a name', '')
    """
    lines = sorted(_examined(current.named(register)), key=lambda line: _WORST.index(line.status))
    printable = [line._replace(seen=shown(line.seen)) for line in lines]
    return pl.DataFrame(printable, schema=REPORT, orient="row")


def _examined(register: Register) -> list[_Line]:
    patient, lines = Patient(register), list[_Line]()
    part = f" for what changed since {register.since}" if register.since else ""
    reachable = _Line("reachable", "ok", f"it answers{part}")
    try:
        lines.extend(_checks(patient, register))  # lines before an early end are kept
    except Ended as end:
        good = len(patient.seconds)
        after = f", good replies before: {good}" if good else ""
        reachable = _Line("reachable", "fail", end.seen + after, end.meaning)
    if not patient.seconds:
        return [reachable]
    return [reachable, _version(patient), _latency(patient), *lines]


def _checks(patient: Patient, register: Register) -> Iterator[_Line]:
    for codelist in wire.CODELISTS.values():
        yield _codelist(patient, codelist)
    ids: list[int] = []
    yield from _paging(patient, ids)
    yield _window(patient, register.today - _WINDOW)
    yield from _counts(patient)
    yield from _records(patient, ids)
    yield _forms(patient)
    yield _templates(patient)


def _version(patient: Patient) -> _Line:
    seen = ", ".join(sorted(patient.versions))
    known = set(patient.versions) == {wire.API_VERSION}
    meaning = f"{wire.API_VERSION} is known: look for a newer version"
    return _line_of_check("API version", known, seen, meaning, "warn")


def _latency(patient: Patient) -> _Line:
    if patient.in_process:
        return _Line("latency", "ok", "in process")
    middle = median(patient.seconds)
    seen = f"{middle * 1000:,.0f} ms, at most {max(patient.seconds) * 1000:,.0f} ms"
    meaning = "slow: it may be under load, try later"
    return _line_of_check("latency", middle < _SLOW, seen, meaning, "warn")


def _codelist(patient: Patient, codelist: wire.Codelist) -> _Line:
    name = codelist.name
    key = wire.LOCATIONS if codelist.located else wire.CLASSIFICATION
    parse = codelists.parse_locations if codelist.located else codelists.parse_classification
    try:
        body = patient.ask(codelist.endpoint)
        entries = as_object(body).get(key)
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise Fault(f"no list of entries under {key}")
    except Fault as fault:
        return _Line(name, "fail", str(fault), "no labels from it")

    sent_codes = [e.get("kod") for e in entries]
    codes = {str(code) for code in sent_codes if code is not None}
    patient.codes[name] = codes
    parents = patient.codes.get(_PARENT.get(name, ""))
    above = [e.get("nadradenaLokacia") for e in entries]
    strange = [p for p in above if parents is not None and p is not None and str(p) not in parents]
    names = [n if isinstance(n := e.get("nazov"), dict) else {} for e in entries]
    slovak = [n["sk"] for n in names if isinstance(n.get("sk"), str)]
    oddities = {
        "codes repeated": sum(code is not None for code in sent_codes) - len(codes),
        "codes that are numbers": sum(type(code) is int for code in sent_codes),
        "without a name in both languages": sum(
            not all(isinstance(n.get(lang), str) and n[lang] for lang in ("sk", "en"))
            for n in names
        ),
        "with an unknown parent": len(strange),
        "unknown keys": len({key for e in entries for key in e} - _ENTRY[key]),
    }
    usual = {
        "share a name": sum(n for n in Counter(slovak).values() if n > 1),
        "without a parent": above.count(None) if name in _PARENT else 0,
    }
    observation = ", ".join([f"{len(entries):,} entries", *_count_texts({**oddities, **usual})])
    try:
        _parsed(parse, body)
    except Fault as fault:
        return _Line(name, "fail", f"{observation}; {fault}", "the client refuses this list")
    if not entries:
        return _Line(name, "warn", observation, "no code will have a label")
    if any(oddities.values()):
        return _Line(name, "warn", observation, "it is read, but labels may be missing")
    return _Line(name, "ok", observation)


def _count_texts(counts: Mapping[str, int]) -> list[str]:
    return [f"{count:,} {what}" for what, count in counts.items() if count]


def _paging(patient: Patient, ids: list[int]) -> Iterator[_Line]:
    """Fetch two pages and one beyond the last id; add the ids to *ids*."""
    try:
        first_ids, more = _page(patient, 0)
        second_ids, last_more = _page(patient, first_ids[-1]) if first_ids else ([], False)
    except Fault as fault:
        yield _Line("paging", "fail", str(fault), "no ids can be fetched")
        return
    ids += [*first_ids, *second_ids]
    forward = all(a < b for a, b in zip([0, *ids], ids, strict=False))
    yield _line_of_check(
        "ids ascend", forward, f"{len(ids):,} ids on two pages", "the client refuses such pages"
    )
    yield _line_of_check(
        "page size", max(len(first_ids), len(second_ids)) <= _PAGE,
        f"{len(first_ids):,} and {len(second_ids):,} of {_PAGE:,} requested", "pages are too long",
        "warn",
    )  # fmt: skip
    yield _line_of_check(
        "flag", type(more) is type(last_more) is bool,
        f"{more}, {last_more}".lower(), "without the flag the end is unknown",
    )  # fmt: skip
    yield _page_beyond_end(patient)
    yield _counted(patient, ids, last_more)


def _window(patient: Patient, since: date) -> _Line:
    """See that the day of change holds on the second page of a walk too."""
    check = "change window"
    day = {wire.CHANGED_SINCE: since.isoformat()}
    try:
        before = _count(patient, UNITS, 0, day)
        first_ids, _ = _page(patient, 0, day, _SHORT_PAGE)
        cursor = max(first_ids, default=0)
        second_ids, _ = _page(patient, cursor, day)
        after = _count(patient, UNITS, max([cursor, *second_ids]), day)
        body = patient.ask(wire.UNIT, {"id": second_ids[-1]}) if second_ids else None
        changed = None if body is None else _parsed(KINDS["units"].read, body, second_ids[-1])
    except Fault as fault:
        return _Line(check, "warn", str(fault), "changes since a day cannot be checked")
    last_day = getattr(changed, wire.CHANGED, None)
    holds = before - len(first_ids) - len(second_ids) == after
    return _line_of_check(
        check, holds and (last_day is None or last_day >= since),
        f"{before:,} ids since {since}, {len(first_ids):,} and {len(second_ids):,} on two pages, "
        f"{after:,} after them",
        "walks of what changed since a day return other ids: compare the count",
    )  # fmt: skip


def _templates(patient: Patient) -> _Line:
    """See that the templates which some reports name exist."""
    check, meaning = "templates of reports", "cells and figures of their reports have no template"
    try:
        ids, _ = _page(patient, 0, _EVERYTHING, _RECORDS, REPORTS)
        bodies = [patient.ask(wire.REPORT, {"id": id_}) for id_ in ids]
        reports = [_parsed(KINDS["reports"].read, *each) for each in zip(bodies, ids, strict=True)]
    except NotThere:
        return _Line(check, "ok", "a mirror without reports")
    except Fault as fault:
        return _Line(check, "warn", str(fault), meaning)
    templates = sorted({t for report in reports if (t := getattr(report, "idSablony", None))})
    absent = []
    for template in templates:
        try:
            _parsed(forms.parse_template, patient.ask(wire.TEMPLATE, {"id": template}), template)
        except NotThere:
            continue
        except Fault as fault:
            absent.append(f"{template}: {fault}")
    seen = "; ".join(absent) or f"{len(templates)} of {len(reports)} reports"
    return _line_of_check(check, not absent, seen, meaning, "warn")


def _page(
    patient: Patient,
    after: int,
    day: Mapping[str, str | int] = _EVERYTHING,
    size: int = _PAGE,
    collection: str = UNITS,
) -> tuple[list[int], object]:
    query = {**day, wire.PAGE_SIZE: size, wire.AFTER_ID: after}
    reply = as_object(patient.ask(collection, query))
    ids = reply.get("id", [])
    if not isinstance(ids, list):
        raise Fault("no list of ids")
    if not all(type(id_) is int and 0 <= id_ <= wire.MAX_ID for id_ in ids):
        raise Fault("invalid ids: not whole numbers, negative, or too great")
    return ids, reply.get(wire.MORE, "no flag")


def _page_beyond_end(patient: Patient) -> _Line:
    check = "beyond the last id"
    try:
        ids, more = _page(patient, wire.MAX_ID)
    except Fault as fault:
        return _Line(check, "warn", str(fault), "resuming a finished walk is an error here")
    return _line_of_check(
        check, not ids and more is False,
        f"{len(ids):,} ids, flag {str(more).lower()}", "a walk may not end where the list does",
    )  # fmt: skip


def _counted(patient: Patient, ids: list[int], more: object) -> _Line:
    try:
        before = _count(patient, UNITS, 0)
        after = _count(patient, UNITS, max(ids, default=0))
    except Fault as fault:
        return _Line("counts", "warn", str(fault), "bars will have no total; walks are untouched")
    return _line_of_check(
        "counts", before - len(ids) == after and (after > 0) == more,
        f"{before:,} before, {after:,} after {len(ids):,} ids",
        "counts do not fit the pages; if it stays, bars will be wrong", "warn",
    )  # fmt: skip


def _line_of_check(
    check: str, good: bool, seen: str, meaning: str, otherwise: str = "fail"
) -> _Line:
    return _Line(check, "ok", seen) if good else _Line(check, otherwise, seen, meaning)


def _count(
    patient: Patient,
    collection: str,
    after: int,
    day: Mapping[str, str | int] = _EVERYTHING,
) -> int:
    body = patient.ask(f"{wire.COUNTS}/{collection}", {**day, wire.AFTER_ID: after})
    return _parsed(requests.parse_count, body)


def _counts(patient: Patient) -> Iterator[_Line]:
    for collection in (STATEMENTS, REPORTS, ANNUAL_REPORTS):
        try:
            count = _count(patient, collection, 0)
        except Fault as fault:
            yield _Line(collection, "fail", str(fault), "it cannot be counted")
        else:
            yield _line_of_check(
                collection, count > 0, f"{count:,} ids", "an empty collection", "warn"
            )


def _forms(patient: Patient) -> _Line:
    """Compare the rows of the forms that items are read from with those of the package."""
    check = "forms"
    try:
        listed_forms, with_tables = _parsed(forms.parse_templates, patient.ask(wire.TEMPLATE_LIST))
        register_forms = {form.id: form for form in listed_forms if with_tables}
        for template in () if with_tables else items.TEMPLATES:
            body = patient.ask(wire.TEMPLATE, {"id": template})
            register_forms[template] = _parsed(forms.parse_template, body, template)
    except NotThere:
        return _Line(check, "ok", "a mirror has no list of templates to compare", "")
    except Fault as fault:
        return _Line(check, "warn", str(fault), "the rows of the forms cannot be compared")
    differing = [
        row for template in items.TEMPLATES for row in _rows_apart(template, register_forms)
    ]
    observation = f"{len(items.TEMPLATES)} forms as in the package"
    if differing:
        more = f"; and {len(differing) - _SHOWN:,} more" if len(differing) > _SHOWN else ""
        observation = "; ".join(differing[:_SHOWN]) + more
    return _line_of_check(
        check, not differing, observation,
        "where numbers differ the items of the row are null; please report the rows", "warn",
    )  # fmt: skip


def _rows_apart(template: int, register_forms: Mapping[int, forms.Form]) -> Iterator[str]:
    shipped_form = forms.shipped(template)
    assert shipped_form is not None
    if template not in register_forms:
        yield f"{template}: no such form"
        return
    register_form = register_forms[template]
    if [table.cells for table in register_form.tables] != [
        table.cells for table in shipped_form.tables
    ]:
        yield f"{template}: other tables"
        return
    for table, register_table in zip(shipped_form.tables, register_form.tables, strict=True):
        for row, register_row in zip(table.rows, register_table.rows, strict=True):
            if (
                row.label_sk.split() != register_row.label_sk.split()
                or row.number != register_row.number
            ):
                printed = f"{register_row.number} “{register_row.label_sk}”"
                yield f"{template}: {printed} instead of {row.number} “{row.label_sk}”"


def _records(patient: Patient, ids: list[int]) -> Iterator[_Line]:
    sampled = ids[:: max(len(ids) // _RECORDS, 1)][:_RECORDS]
    faults, records, unknown = [], [], set()
    for id_ in sampled:
        try:
            body = patient.ask(wire.UNIT, {"id": id_})
            records.append(_parsed(KINDS["units"].read, body, id_))
            unknown |= json.loads(body.decode("utf-8-sig")).keys() - KINDS["units"].schema.keys()
        except Fault as fault:
            faults.append(f"id {id_}: {re.sub(r'^id [0-9]+: ', '', str(fault))}")
    observation = f"{len(records)} of {len(sampled)} read"
    if faults or not sampled:
        yield _Line(
            "records", "fail", "; ".join([observation, *faults[:1]]), "the client refuses these"
        )
    elif unknown:
        names = ", ".join(sorted(unknown))
        yield _Line(
            "records", "warn", f"{observation}, unknown: {names}", "unknown fields are left out"
        )
    else:
        yield _Line("records", "ok", observation)
    for codelist in wire.CODELISTS.values():
        found = [getattr(record, codelist.field) for record in records]
        codes = [code for code in found if code is not None]
        known = sum(code in patient.codes.get(codelist.name, ()) for code in codes)
        yield _line_of_check(
            f"labels of {codelist.field}", known >= _FEW_LABELS * len(codes),
            f"{known} of {len(codes)} codes", "codes and codelist have drifted apart", "warn",
        )  # fmt: skip


def _parsed(parse: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    try:
        return parse(*args, **options)
    except ProtocolError as error:
        raise Fault(error.message.partition("; the reply")[0]) from None
    except NotJson as error:
        raise Fault(f"no JSON but {error}") from None
