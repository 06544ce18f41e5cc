"""The checks of records, of their codes, and of the forms that reports are filed on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from finstat_kit.frames.financials import items
from finstat_kit.health import lists
from finstat_kit.health.lines import FEW_LABELS, Line, judged, line, nameless, parsed
from finstat_kit.health.probe import Fault, NotHeldFault, Probe
from finstat_kit.protocol import forms, wire
from finstat_kit.protocol.records import KINDS, Record, Report
from finstat_kit.protocol.wire import ANNUAL_REPORTS, REPORTS, STATEMENTS

_RECORDS: Final = 8
_FEW_RECORDS: Final = 4  # of the other collections
_SHOWN: Final = 50  # rows of forms that differ


def units(probe: Probe, ids: Sequence[int]) -> Iterator[Line]:
    """Read a few units, and look up their codes and what lists say of one."""
    sampled = ids[:: max(len(ids) // _RECORDS, 1)][:_RECORDS]
    records, lines = _read(probe, "units", sampled)
    yield from lines
    for codelist in wire.CODELISTS.values():
        codes = [code for r in records if (code := getattr(r, codelist.field)) is not None]
        known = sum(code in probe.codes.get(codelist.name, ()) for code in codes)
        yield judged(
            f"labels of {codelist.field}", known >= FEW_LABELS * len(codes),
            f"{known} of {len(codes)} codes", "codes and codelist have drifted apart", "warn",
        )  # fmt: skip
    for record in [r for r in records if getattr(r, "ico", None)][:1]:
        yield from lists.of_a_unit(probe, record)  # type: ignore[arg-type]


def others(probe: Probe) -> Iterator[Line]:
    """Read a few statements and annual reports."""
    for name, listed in (("statements", STATEMENTS), ("annual_reports", ANNUAL_REPORTS)):
        try:
            ids, _ = lists.page(probe, 0, size=_FEW_RECORDS, collection=listed)
            yield from _read(probe, name, ids)[1]
        except NotHeldFault:
            yield line(_check(name), "ok", "not held by this copy")
        except Fault as fault:
            yield line(_check(name), "warn", str(fault), "its records cannot be checked")


def _check(name: str) -> str:
    return f"records of {name.replace('_', ' ')}"


def _read(probe: Probe, name: str, ids: Sequence[int]) -> tuple[list[Record], list[Line]]:
    """Return the records that can be read, and the line about them."""
    kind, faults, records, unknown = KINDS[name], list[str](), list[Record](), set[str]()
    known = {"obsah", *kind.schema}
    for id_ in ids:
        try:
            body = probe.ask(kind.endpoint, {"id": id_})
            records.append(parsed(kind.read, body, id_))
            unknown |= json.loads(body.decode("utf-8-sig")).keys() - known
        except NotHeldFault:
            raise
        except Fault as fault:
            faults.append(nameless(fault))
    check, seen = _check(name), f"{len(records)} of {len(ids)} read"
    if faults or not ids:
        text = "; ".join([seen, *faults[:1]])
        return records, [line(check, "fail", text, "the client refuses these")]
    if unknown:
        text = f"{seen}, unknown: {', '.join(sorted(unknown))}"
        return records, [line(check, "warn", text, "unknown fields are left out")]
    return records, [line(check, "ok", seen)]


def reports(probe: Probe) -> Iterator[Line]:
    """See that the templates which some reports name exist, and that their tables fit."""
    check, meaning = "templates of reports", "cells and figures of their reports have no template"
    try:
        ids, _ = lists.page(probe, 0, size=_RECORDS, collection=REPORTS)
        records = [
            record
            for id_ in ids
            if isinstance(
                record := parsed(KINDS["reports"].read, probe.ask(wire.REPORT, {"id": id_}), id_),
                Report,
            )
        ]
    except NotHeldFault:
        yield line(check, "ok", "a mirror without reports")
        return
    except Fault as fault:
        yield line(check, "warn", nameless(fault), meaning)
        return
    named, absent = dict[int, forms.Form](), list[str]()
    for template in sorted({r.idSablony for r in records if r.idSablony}):
        try:
            body = probe.ask(wire.TEMPLATE, {"id": template})
            named[template] = parsed(forms.parse_template, body, template)
        except NotHeldFault:
            continue
        except Fault as fault:
            absent.append(f"{template}: {fault}")
    seen = "; ".join(absent) or f"{len(named)} of {len(records)} reports"
    yield judged(check, not absent, seen, meaning, "warn")
    yield _tables(records, named)


def _tables(records: Sequence[Report], templates: Mapping[int, forms.Form]) -> Line:
    fits = [
        (form.id, [len(cells or ()) for cells in tables] == [table.cells for table in form.tables])
        for report in records
        if (tables := report.tabulky) and (form := templates.get(report.idSablony or 0))
    ]
    others = sorted({template for template, fit in fits if not fit})
    seen = f"{sum(fit for _, fit in fits)} of {len(fits)} fit"
    if others:
        seen += f"; not those of {', '.join(map(str, others))}"
    return judged(
        "tables of reports", not others, seen,
        "a report that does not fit gives no numbers: fk.check_reports names the reasons", "warn",
    )  # fmt: skip


def rows_of_forms(probe: Probe) -> Line:
    """Compare the rows of the forms that items are read from with those of the package."""
    check = "forms"
    try:
        listed_forms, with_tables = parsed(forms.parse_templates, probe.ask(wire.TEMPLATE_LIST))
        register_forms = {form.id: form for form in listed_forms if with_tables}
        for template in () if with_tables else items.TEMPLATES:
            body = probe.ask(wire.TEMPLATE, {"id": template})
            register_forms[template] = parsed(forms.parse_template, body, template)
    except NotHeldFault:
        return line(check, "ok", "a mirror has no list of templates to compare", "")
    except Fault as fault:
        return line(check, "warn", str(fault), "the rows of the forms cannot be compared")
    differing = [
        row for template in items.TEMPLATES for row in _rows_apart(template, register_forms)
    ]
    observation = f"{len(items.TEMPLATES)} forms as in the package"
    if differing:
        more = f"; and {len(differing) - _SHOWN:,} more" if len(differing) > _SHOWN else ""
        observation = "; ".join(differing[:_SHOWN]) + more
    return judged(
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
