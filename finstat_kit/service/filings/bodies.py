"""The records of invented filings, made on request; a report has the year before beside its own."""

from __future__ import annotations

import hashlib
from calendar import monthrange
from datetime import timedelta
from typing import Final

import numpy as np

from finstat_kit.protocol.wire import (
    ANNUAL_REPORTS,
    BEGINNING,
    CHANGED,
    REPORTS,
    STATE,
    STATEMENTS,
)
from finstat_kit.service.filings.figures import Plan, Year, form_of, mixed, plan_of
from finstat_kit.service.filings.filers import Unit, kind_of, period_of, tabular
from finstat_kit.service.filings.filing import (
    CORRECTION,
    EXTRAORDINARY,
    FIRST_YEAR,
    MOST_REPORTS,
    OLD_FORMS,
    TWIN,
    Filing,
    all_cases,
    case_of,
    extras,
)
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.store import Json

_NOTES, _AUDITOR, _NOTICE = 483, 700, 1171
_NEGATIVE: Final = "negative_equity"
_ROLES: Final = {CORRECTION: "correction", TWIN: "consolidated", EXTRAORDINARY: "extraordinary"}
_MAIN, _RESTATED, _CORRECTED, _CONSOLIDATED, _SHORT, _SECOND = range(6)
_VARIANT_OF_ROLE: Final = {CORRECTION: _CORRECTED, TWIN: _CONSOLIDATED, EXTRAORDINARY: _SHORT}


def record(filings: Filings, collection: str, id_: int) -> Json | None:
    """Return a record of a statement, a report or an annual report, None where there is none."""
    filing, index = filings.filing_of(collection, id_)
    if filing is None or (collection == ANNUAL_REPORTS and not filing.annual):
        return None
    templates, case = _templates(filings, filing), case_of(filing)
    if index >= len(templates):
        return None
    changed = {CHANGED: _day(filing.changed)}
    if case.state:
        return {"id": id_, STATE: case.state, **changed}
    unit = filings.unit_of(filing)
    if collection == STATEMENTS:
        body = _statement(filings, filing, unit, len(templates))
    elif collection == REPORTS:
        body = _report(filings, filing, unit, templates, index, id_)
    else:
        body = _annual_report(filing, unit, id_)
    return _without_nulls({"id": id_, "zdrojDat": "FRSR", **body, **changed})


def _statement(filings: Filings, filing: Filing, unit: Unit, reports: int) -> Json:
    key, day, end = filing.key, _day(filing.day), period_of(filing, unit)[1]
    return {
        "idUJ": filings.another_unit(filing) if case_of(filing).owner == "unit" else filing.unit,
        **_period(filing, unit),
        # What was filed on paper has no day.
        "datumPodania": None if filing.year <= 2011 and key % 4 == 0 else day,
        "datumZostavenia": _drawn_up(filing),
        "datumSchvalenia": day if key >> 4 & 1 else None,
        "datumZostaveniaK": _last_day(end),
        "datumPrilozeniaSpravyAuditora": day if extras(key)[1] else None,
        "konsolidovana": filing.role == TWIN or (None if key >> 5 & 1 else False),
        "typ": _type(filing),
        "idUctovnychVykazov": [
            filings.id_of(REPORTS, filing.slot * MOST_REPORTS + place) for place in range(reports)
        ],
        **case_of(filing).statement,
    }


def _report(
    filings: Filings, filing: Filing, unit: Unit, templates: list[int], index: int, id_: int
) -> Json:
    template, case = templates[index], case_of(filing)
    access = "Neverejné" if unit.kind == "trader" else case.access
    with_tables = template in tabular(unit, filing)
    statement = filings.id_of(STATEMENTS, filing.slot)
    body: Json = {
        "idUctovnejZavierky": filings.another_statement(filing)
        if case.owner == "statement"
        else statement,
        "idSablony": template,
        "mena": "EUR" if filing.key >> 6 & 1 else None,
        "kodDanovehoUradu": str(700 + unit.key % 9 * 10),
        "pristupnostDat": access,
        **(case.report if with_tables else {}),
    }
    if access == "Verejné":
        again = case.twice == "other" and template in templates[:index]
        body["obsah"] = _content(
            filings, filing, unit, template if with_tables else None, again=again
        )
    if access != "Neverejné" and (
        not with_tables or filing.key >> 7 & 1 or case.content == "attachments"
    ):
        body["prilohy"] = [attachment(2 * id_, str(template))]
    return body


def _annual_report(filing: Filing, unit: Unit, id_: int) -> Json:
    return {
        "idUJ": filing.unit,
        "nazovUJ": unit.fields.get("nazovUJ"),
        "typ": "Individuálna výročná správa",
        **_period(filing, unit),
        "datumPodania": _day(filing.day),
        "datumZostaveniaK": _last_day(period_of(filing, unit)[1]),
        "pristupnostDat": "Verejné",
        "prilohy": [attachment(2 * id_ + 1, "vyrocna_sprava")],
    }


def examples(filings: Filings, most: int) -> list[tuple[str, int, int]]:
    """Return case, statement and its first report with tables, up to *most* of each case."""
    by_case: dict[str, list[tuple[str, int, int]]] = {}
    cases = {name for name, case in all_cases().items() if case.share} | {"cents", *_ROLES.values()}
    kinds = {"municipality", "organisation", "non_profit", "single_entry", "trader"}
    # The newest first: they are the ones that people look at.
    added = np.array([filing.slot for filing in filings.added], dtype=np.int64)
    newest = np.concatenate([np.flatnonzero(filings.drawn.slots.changed), added])[::-1]
    old = filings.drawn.places * (OLD_FORMS - FIRST_YEAR + 1)
    for slots, wanted in (
        (newest[newest >= old], cases | kinds | {_NEGATIVE}),
        (newest[newest < old], cases | {"two_reports"}),
    ):
        for slot in slots.tolist():
            if all(len(by_case.get(case, ())) >= most for case in wanted):
                break
            filing = filings.filing(slot)
            assert filing is not None
            names = _cases(filings, filing)
            if len(by_case.get(_NEGATIVE, ())) < most and _owes_more(filings, filing):
                names.append(_NEGATIVE)
            lacking = [name for name in names if len(by_case.get(name, ())) < most]
            if lacking:
                ids = filings.id_of(STATEMENTS, slot), _with_tables(filings, filing)
            for case in lacking:
                by_case.setdefault(case, []).append((case, *ids))
    return [row for case in sorted(by_case) for row in by_case[case]]


def _cases(filings: Filings, filing: Filing) -> list[str]:
    unit = filings.unit_of(filing)
    names = (
        filing.case,
        _ROLES.get(filing.role),
        unit.kind if unit.kind not in ("micro", "large") else None,
        "cents" if unit.cents else None,
        "two_reports" if len(tabular(unit, filing)) == 2 else None,
    )
    return [name for name in names if name]


def _with_tables(filings: Filings, filing: Filing) -> int:
    """Return the id of the first report with tables."""
    forms, templates = tabular(filings.unit_of(filing), filing), _templates(filings, filing)
    place = next(n for n, template in enumerate(templates) if template in forms)
    return filings.id_of(REPORTS, filing.slot * MOST_REPORTS + place)


def file_of(filings: Filings, id_: int) -> bytes | None:
    """Return the file of an attachment, None where no record has it."""
    holder = record(filings, ANNUAL_REPORTS if id_ % 2 else REPORTS, id_ // 2)
    return pdf(id_) if holder and "prilohy" in holder else None


def printed(filings: Filings, id_: int) -> bytes | None:
    """Return the printed form of a report, None where it has no content."""
    holder = record(filings, REPORTS, id_)
    return pdf(id_) if holder and holder.get("obsah") else None


def pdf(id_: int) -> bytes:
    """Return a small PDF of one empty page, which no other id has."""
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>",
    )
    body, places = b"%%PDF-1.4\n%% vymyslene %d\n" % id_, b"0000000000 65535 f \n"
    for number, content in enumerate(objects, 1):
        places += b"%010d 00000 n \n" % len(body)
        body += b"%d 0 obj%sendobj\n" % (number, content)
    end = b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 4\n" + places + end


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


def _templates(filings: Filings, filing: Filing) -> list[int]:
    """Return the templates of a statement's reports, in no promised order."""
    notes, auditor, notice = extras(filing.key)
    without_tables = [_NOTES] * notes + [_AUDITOR] * auditor + [_NOTICE] * notice
    forms = tabular(filings.unit_of(filing), filing)
    again = forms[:1] if case_of(filing).twice else ()
    templates = [*forms, *again, *without_tables][: filing.reports]
    turn = (filing.key >> 28) % len(templates)
    return templates[turn:] + templates[:turn]


def _content(
    filings: Filings,
    filing: Filing,
    unit: Unit,
    template: int | None,
    *,
    again: bool,
) -> Json | None:
    """Return the content of a report, None for a mere attachment."""
    wanted = case_of(filing).content
    if wanted in ("none", "attachments"):
        return None
    if template is None or wanted == "empty":
        return {}
    content: Json = {"titulnaStrana": _title(filing, unit, texts=wanted == "texts")}
    if wanted == "no_tables":
        content["tabulky"] = []
    elif wanted != "title":
        content["tabulky"] = tables_of(filings, filing, unit, template, again=again)
    return content


def _title(filing: Filing, unit: Unit, *, texts: bool) -> Json:
    fields, consolidated = unit.fields, filing.role == TWIN
    street, _, number = str(fields.get("ulica", "")).rpartition(" ")
    address: Json = {
        "ulica": street or None,
        "cislo": number or None,
        "psc": fields.get("psc"),
        "mesto": fields.get("mesto"),
    }
    before = _period(filing, unit, years_before=1) if unit.founded < filing.year else {}
    title = {
        "nazovUctovnejJednotky": fields.get("nazovUJ"),
        "adresa": _without_nulls(address),
        **{name: fields.get(name) for name in ("ico", "dic", "pravnaForma", "skNace")},
        "typZavierky": _type(filing),
        "konsolidovana": str(consolidated).lower() if texts else consolidated,
        "typUctovnejJednotky": {"large": "veľká" if unit.large else "malá"}.get(unit.kind),
        "oznacenieObchodnehoRegistra": f"Oddiel: Sro, vložka č. {unit.key % 90_000}"
        if fields.get("pravnaForma") == "112"
        else None,
        **_period(filing, unit),
        **{f"predchadzajuceO{name[1:]}": month for name, month in before.items()},
        "datumZostavenia": _drawn_up(filing),
        **case_of(filing).title,
    }
    return _without_nulls(title)


def _type(filing: Filing) -> str:
    return "Mimoriadna" if filing.role == EXTRAORDINARY else "Riadna"


def _drawn_up(filing: Filing) -> str:
    return _day(filing.day - 1 - filing.key % 20)


def _period(filing: Filing, unit: Unit, *, years_before: int = 0) -> dict[str, str]:
    start, end = (_month(month - 12 * years_before) for month in period_of(filing, unit))
    return {"obdobieOd": start, "obdobieDo": end}


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


def tables_of(
    filings: Filings, filing: Filing, unit: Unit, template: int, *, again: bool = False
) -> list[Json]:
    """Return the tables of a report on a template, as a reply has them.

    A report *again* on the same template has other figures.
    """
    form, case = form_of(kind_of(unit, filing)), case_of(filing)
    years = _years(filings, filing, unit, again=again)
    index = [number for number, _ in form.plan.forms].index(template)
    tables: list[Json] = []
    for number, table in enumerate(form.tables(index, *form.draw(unit.key, *years))):
        values = table.values
        if case.cells == "sum" and index == 0 and number == 1:
            # Neither total nor profit, which other tables have too.
            row = table.sums[1 + filing.key % (len(table.sums) - 1)]
            values[row, 0] += 1 + filing.key % 900
        elif case.cells == "previous":
            values = values * table.previous
        elif case.cells == "blank":
            values = np.zeros_like(values)
        cells = _written(values, filing, cents=unit.cents)
        if case.cells == "not_a_number" and index == number == 0:
            cells[values.shape[1] - 2] = "1e3"  # of the total assets
        tables.append({"nazov": table.name, "data": cells})
    return tables


def _owes_more(filings: Filings, filing: Filing) -> bool:
    """Return whether a public filing with tables shows more liabilities than assets."""
    unit = filings.unit_of(filing)
    if filing.case is not None or unit.kind == "trader":
        return False
    form = form_of(kind_of(unit, filing))
    return form.equity(form.draw(unit.key, *_years(filings, filing, unit))[0]) < 0


def _years(filings: Filings, filing: Filing, unit: Unit, *, again: bool = False) -> list[Year]:
    """Return the year of a filing, and the one before if the unit was there."""
    plan = plan_of(kind_of(unit, filing))
    variant = _SECOND if again else _VARIANT_OF_ROLE.get(filing.role, _MAIN)
    years = [_year(unit, plan, filing.year, variant)]
    if unit.founded < filing.year:
        variant_before = _MAIN
        if case_of(filing).cells == "restated":
            variant_before = _RESTATED
        elif variant == _CONSOLIDATED:
            variant_before = _CONSOLIDATED
        elif filings.was_corrected_before(filing):
            variant_before = _CORRECTED
        years.append(_year(unit, plan, filing.year - 1, variant_before))
    return years


def _year(unit: Unit, plan: Plan, year: int, variant: int) -> Year:
    growth = unit.size * (60 + 4 * (year - 2008)) // 100
    revenue = growth * (850 + mixed(unit.key, year) % 300) // 1000
    revenue *= (3 if variant == _CONSOLIDATED else 1) * (100 if unit.cents else 1)
    if variant == _SHORT:
        revenue //= 2
    total = revenue * (plan.wealth[0] + (unit.key >> 16) % plan.wealth[1]) // 1000
    return Year(mixed(unit.key, year, variant), revenue, total)


def _written(values: Ints, filing: Filing, *, cents: bool) -> list[str]:
    flat = values.ravel()
    cells = [""] * len(flat)
    # Most are blank.
    filled = np.flatnonzero(flat)
    for place, value in zip(filled.tolist(), flat[filled].tolist(), strict=True):
        cells[place] = f"{value / 100:.2f}" if cents else str(value)
    if case_of(filing).cells not in ("blank", "previous"):
        # A zero is written now and then where most leave a blank.
        for place in range(filing.key % 97, len(cells), 97):
            cells[place] = cells[place] or "0"
    return cells
