"""The records of invented filings: statements, reports and annual reports, made on request."""

from __future__ import annotations

import hashlib
from calendar import monthrange
from datetime import timedelta

from finstat_kit.protocol.wire import (
    ANNUAL_REPORTS,
    BEGINNING,
    CHANGED,
    REPORTS,
    STATE,
    STATEMENTS,
)
from finstat_kit.service.filings.cases import CASES, NO_CASE, Case
from finstat_kit.service.filings.drawn import (
    CORRECTION,
    EXTRAORDINARY,
    FIRST_YEAR,
    MOST_REPORTS,
    OLD_FORMS,
    SOLE_TRADER,
    TWIN,
    Filing,
    extras,
)
from finstat_kit.service.filings.filers import Json, Unit, case_of, period_of, tabular, unit_of
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.filings.tables import tables_of
from finstat_kit.service.state.store import Store

_NOTES, _AUDITOR, _NOTICE = 483, 700, 1171


def statement(store: Store, id_: int) -> Json | None:
    """Return the record of a statement, None where there is none."""
    filings = store.filings
    slot = filings.slot_of(STATEMENTS, id_) if filings else None
    filing = filings.filing(slot) if filings and slot is not None else None
    if filings is None or filing is None:
        return None
    if gone := _gone(filing, id_):
        return gone
    start, end = period_of(filing, unit_of(store, filing))
    key, day, case = filing.key, filing.day, case_of(filing)
    drawn_up = day - 1 - key % 20
    record: Json = {
        "id": id_,
        "idUJ": filings.another_unit(filing) if case == "not_own_statement" else filing.unit,
        "obdobieOd": _month(start),
        "obdobieDo": _month(end),
        # What was filed on paper has no day.
        "datumPodania": None if filing.year <= 2011 and key % 4 == 0 else _day(day),
        "datumZostavenia": _day(drawn_up),
        "datumSchvalenia": _day(day) if key >> 4 & 1 else None,
        "datumZostaveniaK": _last_day(end),
        "datumPrilozeniaSpravyAuditora": _day(day) if extras(key)[1] else None,
        "konsolidovana": filing.role == TWIN or (None if key >> 5 & 1 else False),
        "typ": "Mimoriadna" if filing.role == EXTRAORDINARY else "Riadna",
        "idUctovnychVykazov": [
            filings.id_of(REPORTS, filing.slot * MOST_REPORTS + place)
            for place in range(len(_templates(store, filing)))
        ],
        "zdrojDat": "FRSR",
        CHANGED: _day(filing.changed),
    }
    return _without_nulls({**record, **_fields(case).statement})


def report(store: Store, id_: int) -> Json | None:
    """Return the record of a report, None where there is none."""
    filings = store.filings
    position = filings.slot_of(REPORTS, id_) if filings else None
    if filings is None or position is None:
        return None
    slot, place = divmod(position, MOST_REPORTS)
    filing = filings.filing(slot)
    templates = _templates(store, filing) if filing else []
    if filing is None or place >= len(templates):
        return None
    if gone := _gone(filing, id_):
        return gone
    unit, case, template = unit_of(store, filing), case_of(filing), templates[place]
    access = _access(unit, filing, case)
    with_tables = template in tabular(unit, filing)
    record: Json = {
        "id": id_,
        "idUctovnejZavierky": filings.another_statement(filing)
        if case == "not_own_report"
        else filings.id_of(STATEMENTS, filing.slot),
        "idSablony": template,
        "mena": "EUR" if filing.key >> 6 & 1 else None,
        "kodDanovehoUradu": str(700 + unit.key % 9 * 10),
        "pristupnostDat": access,
        "obsah": None,
        "prilohy": None,
        "zdrojDat": "FRSR",
        CHANGED: _day(filing.changed),
    }
    if with_tables:
        record |= _fields(case).report
    if access == "Verejné":
        again = template in templates[:place]
        record["obsah"] = _content(
            filings, filing, unit, template if with_tables else None, case, again=again
        )
    if access != "Neverejné" and (
        not with_tables or filing.key >> 7 & 1 or case == "attachments_only"
    ):
        record["prilohy"] = [attachment(2 * id_, str(template))]
    return _without_nulls(record)


def annual_report(store: Store, id_: int) -> Json | None:
    """Return the record of an annual report, None where there is none."""
    filings = store.filings
    slot = filings.slot_of(ANNUAL_REPORTS, id_) if filings else None
    filing = filings.filing(slot) if filings and slot is not None else None
    if filings is None or filing is None or not filings.slots.annual[filing.slot]:
        return None
    if gone := _gone(filing, id_):
        return gone
    unit = unit_of(store, filing)
    start, end = period_of(filing, unit)
    record: Json = {
        "id": id_,
        "idUJ": filing.unit,
        "nazovUJ": unit.fields.get("nazovUJ"),
        "typ": "Individuálna výročná správa",
        "obdobieOd": _month(start),
        "obdobieDo": _month(end),
        "datumPodania": _day(filing.day),
        "datumZostaveniaK": _last_day(end),
        "pristupnostDat": "Verejné",
        "prilohy": [attachment(2 * id_ + 1, "vyrocna_sprava")],
        "zdrojDat": "FRSR",
        CHANGED: _day(filing.changed),
    }
    return _without_nulls(record)


def examples(store: Store, most: int) -> list[tuple[str, int, int]]:
    """Return case, statement and its first report with tables, up to *most* of each case."""
    filings = store.filings
    found: dict[str, list[tuple[str, int, int]]] = {}
    if filings is None:
        return []
    roles = {CORRECTION: "correction", TWIN: "consolidated", EXTRAORDINARY: "extraordinary"}
    wanted = {*(name for name, case in CASES.items() if case.share), *roles.values(), "cents"}
    # The newest first: they are the ones that people look at.
    newest = filings.slots.days.rows(0, 1, len(filings.slots.reports))[::-1].tolist()
    old = filings.drawn.places * (OLD_FORMS - FIRST_YEAR + 1)
    recent = everything = False  # whether there are enough of these cases
    for slot in newest:
        if everything:
            break
        if recent and slot >= old:
            continue  # to the years of two reports
        filing = filings.filing(slot)
        assert filing is not None
        unit = unit_of(store, filing)
        cases = [case_of(filing), roles.get(filing.role)]
        cases += ["cents"] if unit.cents else []
        cases += ["two_reports"] if filing.year <= OLD_FORMS else []
        if not any(case and len(found.get(case, ())) < most for case in cases):
            continue
        with_tables, templates = tabular(unit, filing), _templates(store, filing)
        place = next(n for n, template in enumerate(templates) if template in with_tables)
        ids = filings.id_of(STATEMENTS, slot), filings.id_of(REPORTS, slot * MOST_REPORTS + place)
        for case in filter(None, cases):
            rows = found.setdefault(case, [])
            if len(rows) < most:
                rows.append((case, *ids))
                recent = all(len(found.get(each, ())) >= most for each in wanted)
                everything = recent and len(found.get("two_reports", ())) >= most
    return [row for case in sorted(found) for row in found[case]]


def file_of(store: Store, id_: int) -> bytes | None:
    """Return the file of an attachment, None where no record has it."""
    record = (annual_report if id_ % 2 else report)(store, id_ // 2)
    return pdf(id_) if record and "prilohy" in record else None


def pdf(id_: int) -> bytes:
    """Return the file of an attachment: a small PDF of one empty page."""
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%%% vymyslena priloha %d\n%%%%EOF\n" % id_
    )


def attachment(id_: int, name: str) -> Json:
    """Return the description of a file in its record."""
    body = pdf(id_)
    return {
        "id": id_,
        "meno": f"{name}_{id_}.pdf",
        "mimeType": "application/pdf",
        "velkostPrilohy": len(body),
        "pocetStran": 0,
        "digest": hashlib.sha256(body).hexdigest(),
        "jazyk": "SLK",
    }


def _gone(filing: Filing, id_: int) -> Json | None:
    states = {"deleted": "ZMAZANÉ", "non_public_record": "NEVEREJNÁ"}
    state = states.get(case_of(filing) or "")
    return {"id": id_, STATE: state, CHANGED: _day(filing.changed)} if state else None


def _templates(store: Store, filing: Filing) -> list[int]:
    """Return the templates of a statement's reports, in no promised order."""
    filings = store.filings
    assert filings is not None
    notes, auditor, notice = extras(filing.key)
    beside = [_NOTES] * notes + [_AUDITOR] * auditor + [_NOTICE] * notice
    forms = tabular(unit_of(store, filing), filing)
    again = forms[:1] if case_of(filing) == "two_of_one_form" else ()
    found = [*forms, *again, *beside]
    found = found[: int(filings.slots.reports[filing.slot])]
    turn = (filing.key >> 28) % len(found)
    return found[turn:] + found[:turn]


def _access(unit: Unit, filing: Filing, case: str | None) -> str:
    hidden = unit.fields.get("pravnaForma") == SOLE_TRADER and unit.key % 10
    if hidden or case == "non_public":
        return "Neverejné"
    return "Verejné prílohy" if case == "public_attachments" else "Verejné"


def _content(
    filings: Filings,
    filing: Filing,
    unit: Unit,
    template: int | None,
    case: str | None,
    *,
    again: bool,
) -> Json | None:
    """Return what a report holds, None where it is a mere attachment."""
    if case in ("no_content", "attachments_only"):
        return None
    if template is None or case == "empty_content":
        return {}
    content: Json = {"titulnaStrana": _title(filing, unit, texts=case == "text_truths")}
    if case != "title_only":
        content["tabulky"] = tables_of(filings, filing, unit, template, case, again=again)
    return content


def _title(filing: Filing, unit: Unit, *, texts: bool) -> Json:
    fields, (start, end) = unit.fields, period_of(filing, unit)
    street, _, number = str(fields.get("ulica", "")).rpartition(" ")
    consolidated: object = filing.role == TWIN
    title: Json = {
        "nazovUctovnejJednotky": fields.get("nazovUJ"),
        "ico": fields.get("ico"),
        "dic": fields.get("dic"),
        "adresa": _without_nulls(
            {
                "ulica": street or None,
                "cislo": number or None,
                "psc": fields.get("psc"),
                "mesto": fields.get("mesto"),
            }
        ),
        "pravnaForma": fields.get("pravnaForma"),
        "skNace": fields.get("skNace"),
        "typZavierky": "Mimoriadna" if filing.role == EXTRAORDINARY else "Riadna",
        "konsolidovana": str(consolidated).lower() if texts else consolidated,
        "typUctovnejJednotky": None if unit.kind == "micro" else "malá",
        "oznacenieObchodnehoRegistra": f"Oddiel: Sro, vložka č. {unit.key % 90_000}"
        if fields.get("pravnaForma") == "112"
        else None,
        "obdobieOd": _month(start),
        "obdobieDo": _month(end),
        "predchadzajuceObdobieOd": _month(start - 12) if unit.founded < filing.year else None,
        "predchadzajuceObdobieDo": _month(end - 12) if unit.founded < filing.year else None,
        "datumZostavenia": _day(filing.day - 1 - filing.key % 20),
    }
    return _without_nulls({**title, **_fields(case_of(filing)).title})


def _fields(case: str | None) -> Case:
    return CASES[case] if case else NO_CASE


def _month(number: int) -> str:
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _last_day(month: int) -> str:
    year, number = month // 12, month % 12 + 1
    return f"{_month(month)}-{monthrange(year, number)[1]:02d}"


def _day(number: int) -> str:
    return (BEGINNING + timedelta(days=number)).isoformat()


def _without_nulls(record: Json) -> Json:
    """Leave out what is null, as every reply does."""
    return {name: value for name, value in record.items() if value is not None}
