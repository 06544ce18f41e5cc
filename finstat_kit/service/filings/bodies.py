"""The records of invented filings, made on request; a report has the year before beside its own."""

from __future__ import annotations

import hashlib
from calendar import monthrange
from typing import Final

import numpy as np

from finstat_kit.protocol.wire import ANNUAL_REPORTS, CHANGED, PRINTED, REPORTS, STATE, STATEMENTS
from finstat_kit.service.filings.figures import Year, form_of, mixed, plan_of
from finstat_kit.service.filings.filing import (
    AUDITOR,
    CORRECTION,
    EXTRAORDINARY,
    MAIN,
    MOST_REPORTS,
    RESTATED,
    SECOND,
    TWIN,
    Filing,
    all_cases,
)
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.store import Json, day_of, without_nulls

_ROLES: Final = {CORRECTION: "correction", TWIN: "consolidated", EXTRAORDINARY: "extraordinary"}


def record(filings: Filings, collection: str, id_: int) -> Json | None:
    """Return a record of a statement, a report or an annual report, None where there is none."""
    filing, index = filings.filing_of(collection, id_)
    if filing is None or (collection == ANNUAL_REPORTS and not filing.annual):
        return None
    if index >= len(filing.templates):
        return None
    changed = {CHANGED: _day(filing.changed)}
    if filing.case.state:
        return {"id": id_, STATE: filing.case.state, **changed}
    if collection == STATEMENTS:
        body = _statement(filings, filing)
    elif collection == REPORTS:
        body = _report(filings, filing, index, id_)
    else:
        body = _annual_report(filing, id_)
    return without_nulls({"id": id_, "zdrojDat": "FRSR", **body, **changed})


def _statement(filings: Filings, filing: Filing) -> Json:
    key, day, case = filing.key, _day(filing.day), filing.case
    first_report = filing.slot * MOST_REPORTS
    reports = range(first_report, first_report + len(filing.templates))
    return {
        "idUJ": filings.another_unit(filing) if case.owner == "unit" else filing.unit.id,
        **_period(filing),
        # What was filed on paper has no day.
        "datumPodania": None if filing.year <= 2011 and key % 4 == 0 else day,
        "datumZostavenia": _drawn_up(filing),
        "datumSchvalenia": day if key >> 4 & 1 else None,
        "datumZostaveniaK": _last_day(filing),
        "datumPrilozeniaSpravyAuditora": day if AUDITOR in filing.extras else None,
        "konsolidovana": filing.role == TWIN or (None if key >> 5 & 1 else False),
        "typ": _type(filing),
        "idUctovnychVykazov": [filings.id_of(REPORTS, place) for place in reports],
        **case.statement,
    }


def _report(filings: Filings, filing: Filing, index: int, id_: int) -> Json:
    template, case = filing.templates[index], filing.case
    access = "Neverejné" if filing.unit.kind == "trader" else case.access
    has_tables = template in filing.forms
    body: Json = {
        "idUctovnejZavierky": filings.another_statement(filing)
        if case.owner == "statement"
        else filings.id_of(STATEMENTS, filing.slot),
        "idSablony": template,
        "mena": "EUR" if filing.key >> 6 & 1 else None,
        "kodDanovehoUradu": str(700 + filing.unit.key % 9 * 10),
        "pristupnostDat": access,
        **(case.report if has_tables else {}),
    }
    if access == "Verejné":
        body["obsah"] = _content(filings, filing, index)
    has_files = not has_tables or filing.key >> 7 & 1 or case.content == "attachments"
    if has_files and access != "Neverejné":
        body["prilohy"] = [attachment(2 * id_, str(template))]
    return body


def _annual_report(filing: Filing, id_: int) -> Json:
    return {
        "idUJ": filing.unit.id,
        "nazovUJ": filing.unit.fields.get("nazovUJ"),
        "typ": "Individuálna výročná správa",
        **_period(filing),
        "datumPodania": _day(filing.day),
        "datumZostaveniaK": _last_day(filing),
        "pristupnostDat": "Verejné",
        "prilohy": [attachment(2 * id_ + 1, "vyrocna_sprava")],
    }


def examples(filings: Filings, most: int) -> list[tuple[str, int, int]]:
    """Return case, statement and its first report with tables, up to *most* of each case.

    The newest first: they are the ones that people look at.
    """
    drawn = {name for name, case in all_cases().items() if case.share}
    lacking = dict.fromkeys(drawn | set(_ROLES.values()), most)
    examples = []
    for slot in np.flatnonzero(filings.slots["changed"])[::-1].tolist():
        filing = filings.filing(slot)
        assert filing is not None
        for case in {filing.difficulty, _ROLES.get(filing.role)}:
            if case is not None and lacking.setdefault(case, most) > 0:
                lacking[case] -= 1
                place = next(n for n, t in enumerate(filing.templates) if t in filing.forms)
                report = filings.id_of(REPORTS, slot * MOST_REPORTS + place)
                examples.append((case, filings.id_of(STATEMENTS, slot), report))
        if not any(lacking.values()):
            break
    return sorted(examples, key=lambda example: example[0])


def file_of(filings: Filings, folder: str, id_: int) -> bytes | None:
    """Return an attachment, or a report with content as a PDF; None where no record has it."""
    if folder == PRINTED:
        holder, field = record(filings, REPORTS, id_), "obsah"
    else:
        holder = record(filings, ANNUAL_REPORTS if id_ % 2 else REPORTS, id_ // 2)
        field = "prilohy"
    return pdf(id_) if holder and holder.get(field) else None


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


def _content(filings: Filings, filing: Filing, index: int) -> Json | None:
    """Return the content of a report, None for a mere attachment."""
    template, wanted = filing.templates[index], filing.case.content
    if wanted in ("none", "attachments"):
        return None
    if template not in filing.forms or wanted == "empty":
        return {}
    content: Json = {"titulnaStrana": _title(filing)}
    if wanted == "no_tables":
        content["tabulky"] = []
    elif wanted != "title":
        again = filing.case.twice == "other" and template in filing.templates[:index]
        content["tabulky"] = tables_of(filings, filing, template, again=again)
    return content


def _title(filing: Filing) -> Json:
    unit, fields, consolidated = filing.unit, filing.unit.fields, filing.role == TWIN
    street, _, number = str(fields.get("ulica", "")).rpartition(" ")
    address: Json = {"ulica": street or None, "cislo": number or None}
    address |= {name: fields.get(name) for name in ("psc", "mesto")}
    before = _period(filing, years_before=1) if unit.founded < filing.year else {}
    as_text = filing.case.content == "texts"
    title = {
        "nazovUctovnejJednotky": fields.get("nazovUJ"),
        "adresa": without_nulls(address),
        **{name: fields.get(name) for name in ("ico", "dic", "pravnaForma", "skNace")},
        "typZavierky": _type(filing),
        "konsolidovana": str(consolidated).lower() if as_text else consolidated,
        "typUctovnejJednotky": {"large": "veľká" if unit.large else "malá"}.get(unit.kind),
        "oznacenieObchodnehoRegistra": f"Oddiel: Sro, vložka č. {unit.key % 90_000}"
        if fields.get("pravnaForma") == "112"
        else None,
        **_period(filing),
        **{f"predchadzajuceO{name[1:]}": month for name, month in before.items()},
        "datumZostavenia": _drawn_up(filing),
        **filing.case.title,
    }
    return without_nulls(title)


def _type(filing: Filing) -> str:
    return "Mimoriadna" if filing.role == EXTRAORDINARY else "Riadna"


def _drawn_up(filing: Filing) -> str:
    return _day(filing.day - 1 - filing.key % 20)


def _period(filing: Filing, *, years_before: int = 0) -> dict[str, str]:
    start, end = (_month(month - 12 * years_before) for month in filing.period)
    return {"obdobieOd": start, "obdobieDo": end}


def _month(number: int) -> str:
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _last_day(filing: Filing) -> str:
    _, end = filing.period
    return f"{_month(end)}-{monthrange(end // 12, end % 12 + 1)[1]:02d}"


def _day(number: int) -> str:
    return day_of(number).isoformat()


def tables_of(
    filings: Filings, filing: Filing, template: int, *, again: bool = False
) -> list[Json]:
    """Return the tables of a report on a template, as a reply has them.

    A report *again* on the same template has other figures.
    """
    form, cells_of_case = form_of(filing.kind), filing.case.cells
    figures = form.draw(filing.unit.key, *_years(filings, filing, again=again))
    index = filing.forms.index(template)
    tables: list[Json] = []
    for number, table in enumerate(form.tables(index, *figures)):
        values = table.values
        if cells_of_case == "sum" and index == 0 and number == 1:
            # Neither total nor profit, which other tables have too.
            row = table.sums[1 + filing.key % (len(table.sums) - 1)]
            values[row, 0] += 1 + filing.key % 900
        elif cells_of_case == "previous":
            values = values * table.previous
        elif cells_of_case == "blank":
            values = np.zeros_like(values)
        cells = _written(values, filing)
        if cells_of_case == "not_a_number" and index == number == 0:
            cells[values.shape[1] - 2] = "1e3"  # of the total assets
        tables.append({"nazov": table.name, "data": cells})
    return tables


def _years(filings: Filings, filing: Filing, *, again: bool) -> list[Year]:
    """Return the year of a filing, and the one before if the unit was there."""
    years = [_year(filing, filing.year, SECOND if again else filing.role)]
    if filing.unit.founded < filing.year:
        before = MAIN
        if filing.case.cells == "restated":
            before = RESTATED
        elif filing.role == TWIN and not again:
            before = TWIN
        elif filings.was_corrected_before(filing):
            before = CORRECTION
        years.append(_year(filing, filing.year - 1, before))
    return years


def _year(filing: Filing, year: int, role: int) -> Year:
    unit, (least, range_) = filing.unit, plan_of(filing.kind).wealth
    growth = unit.size * (60 + 4 * (year - 2008)) // 100
    revenue = growth * (850 + mixed(unit.key, year) % 300) // 1000
    revenue *= (3 if role == TWIN else 1) * (100 if unit.cents else 1)
    if role == EXTRAORDINARY:
        revenue //= 2
    total = revenue * (least + (unit.key >> 16) % range_) // 1000
    return Year(mixed(unit.key, year, role), revenue, total)


def _written(values: Ints, filing: Filing) -> list[str]:
    flat = values.ravel()
    cells = [""] * len(flat)
    # Most are blank.
    filled = np.flatnonzero(flat)
    for place, value in zip(filled.tolist(), flat[filled].tolist(), strict=True):
        cells[place] = f"{value / 100:.2f}" if filing.unit.cents else str(value)
    if filing.case.cells not in ("blank", "previous"):
        # A zero is written now and then where most leave a blank.
        for place in range(filing.key % 97, len(cells), 97):
            cells[place] = cells[place] or "0"
    return cells
