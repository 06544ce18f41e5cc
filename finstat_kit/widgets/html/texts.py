"""The texts of the pickers, in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from finstat_kit.arguments import Lang
from finstat_kit.frames.text.numbers import day_text


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one language."""

    levels: dict[str, str]
    every: dict[str, str]  # placeholder of a level without a choice
    clear: dict[str, str]
    by: dict[str, str]  # the end of a title, by the column counted

    nothing_found: str
    elsewhere: str
    more: str  # {n} is the number
    district_of: str  # {name} is the district's
    no_district: str

    since: str
    language: str
    last_7: str
    last_30: str
    this_year: str
    everything: str
    changed_since: str  # {day}
    changed_ever: str
    in_register: str  # {units} and {since}
    counting: str
    later: str  # {day} and {today}
    failed: str

    units: str
    share: str
    code: str
    of_given: str  # {n} is the number
    views: dict[str, str]  # of the explorer
    exports: dict[str, str]
    export_hints: dict[str, str]
    still: str  # {name} is the picker's
    on_map: str  # the effect of Enter, a click and Escape
    off_map: str  # {units}
    loading: str
    nothing: str
    pass_frame: str  # {name} is the picker's
    chart: str  # {title} and {rows}: the picture in words
    nothing_chosen: str

    unit: str
    name_or_ico: str
    clear_unit: str
    searching: str
    only_numbers: str
    unnamed: str  # {id}
    year: str
    years: str
    statement: str
    table: str
    tables: dict[str, str]
    blank_rows: str
    loading_statements: str


SK: Final = Words(
    levels={"region": "Kraj", "district": "Okres", "municipality": "Obec"},
    every={
        "region": "Všetky kraje",
        "district": "Všetky okresy",
        "municipality": "Všetky obce",
    },
    clear={
        "region": "Vymazať kraj",
        "district": "Vymazať okres",
        "municipality": "Vymazať obec",
    },
    by={"kraj": "podľa krajov", "okres": "podľa okresov", "sidlo": "podľa obcí"},
    nothing_found="Nič sa nenašlo",
    elsewhere="Inde",
    more="… a ešte {n}, píšte ďalej",
    district_of="okres {name}",
    no_district="bez okresu",
    since="Zmenené od",
    language="Jazyk",
    last_7="7 dní",
    last_30="30 dní",
    this_year="Tento rok",
    everything="Všetko",
    changed_since="zmenené od {day}",
    changed_ever="zmenené kedykoľvek",
    in_register="V registri {since}: {units}",
    counting="Počítam jednotky, {since} …",
    later="Zatiaľ nič: deň {day} je až po dnešnom dni registra, {today}.",
    failed="Nepodarilo sa",
    units="Jednotky",
    share="Podiel",
    code="Kód",
    of_given="odovzdané záznamy: {n}",
    views={"map": "Mapa", "bars": "Graf", "table": "Tabuľka"},
    exports={"csv": "csv", "xlsx": "xlsx", "png": "PNG", "code": "Kód", "copy": "Kopírovať"},
    export_hints={
        "csv": "Uložiť vybrané jednotky ako csv",
        "xlsx": "Uložiť vybrané jednotky ako zošit Excelu",
        "png": "Uložiť mapu alebo graf ako obrázok",
        "code": "Ukázať kód v Pythone s tým istým výsledkom",
    },
    still="V marime je {name} len obrázkom: namiesto neho použite mo.ui.dropdown a mo.ui.date.",
    on_map="Kliknutím alebo klávesom Enter vyberiete, Esc vedie o úroveň vyššie.",
    off_map="Mimo mapy: {units}",
    loading="Načítavam záznamy jednotiek …",
    nothing="Výberu nezodpovedá žiadna jednotka.",
    pass_frame=(
        "Záznamy skutočného registra sa samy nesťahujú. Stiahnite si ich a odovzdajte: "
        "fk.{name}(fk.units.get(ids))"
    ),
    chart="Stĺpcový graf. {title}. {rows}.",
    nothing_chosen="–",
    unit="Jednotka",
    name_or_ico="Názov alebo IČO",
    clear_unit="Vymazať jednotku",
    searching="Hľadám …",
    only_numbers=(
        "Tento register nevie hľadať podľa názvu: zadajte IČO, alebo odovzdajte záznamy: "
        "fk.StatementViewer(fk.units.get(ids))"
    ),
    unnamed="jednotka {id}",
    year="Rok",
    years="Roky",
    statement="Závierka",
    table="Výkaz",
    tables={"income": "Výkaz ziskov a strát", "balance": "Súvaha"},
    blank_rows="Aj prázdne riadky",
    loading_statements="Načítavam závierky …",
)
EN: Final = Words(
    levels={"region": "Region", "district": "District", "municipality": "Municipality"},
    every={
        "region": "All regions",
        "district": "All districts",
        "municipality": "All municipalities",
    },
    clear={
        "region": "Clear the region",
        "district": "Clear the district",
        "municipality": "Clear the municipality",
    },
    by={"kraj": "by region", "okres": "by district", "sidlo": "by municipality"},
    nothing_found="Nothing found",
    elsewhere="Elsewhere",
    more="… and {n} more, keep typing",
    district_of="district {name}",
    no_district="no district",
    since="Changed since",
    language="Language",
    last_7="7 days",
    last_30="30 days",
    this_year="This year",
    everything="Everything",
    changed_since="changed since {day}",
    changed_ever="changed at any time",
    in_register="In the register: {units} {since}",
    counting="Counting units {since} …",
    later="Nothing yet: {day} is after the register's today, {today}.",
    failed="Failed",
    units="Units",
    share="Share",
    code="Code",
    of_given="of the {n} given",
    views={"map": "Map", "bars": "Bars", "table": "Table"},
    exports={"csv": "csv", "xlsx": "xlsx", "png": "PNG", "code": "Code", "copy": "Copy"},
    export_hints={
        "csv": "Save the selected units as csv",
        "xlsx": "Save the selected units as an Excel workbook",
        "png": "Save the map or the bars as a picture",
        "code": "Show Python code with the same result",
    },
    still="In marimo, {name} is only a picture: use mo.ui.dropdown and mo.ui.date instead.",
    on_map="A click or Enter chooses, Esc goes up one level.",
    off_map="Not on the map: {units}",
    loading="Fetching the records of units …",
    nothing="No unit matches the choice.",
    pass_frame=(
        "Records of a real register are not fetched automatically. Fetch them and pass them on: "
        "fk.{name}(fk.units.get(ids))"
    ),
    chart="Bar chart. {title}. {rows}.",
    nothing_chosen="–",
    unit="Unit",
    name_or_ico="Name or IČO",
    clear_unit="Clear the unit",
    searching="Searching …",
    only_numbers=(
        "This register has no search for names: type an IČO, or pass records: "
        "fk.StatementViewer(fk.units.get(ids))"
    ),
    unnamed="unit {id}",
    year="Year",
    years="Years",
    statement="Statement",
    table="Table",
    tables={"income": "Income statement", "balance": "Balance sheet"},
    blank_rows="Blank rows too",
    loading_statements="Fetching the statements …",
)
_WORDS: Final[dict[str, Words]] = {"sk": SK, "en": EN}


def words(lang: Lang) -> Words:
    """Return the texts of a language."""
    return _WORDS[lang]


def since_text(day: date | None, lang: Lang) -> str:
    """Return the text for a day of change; None is at any time."""
    if day is None:
        return words(lang).changed_ever
    return words(lang).changed_since.format(day=day_text(day, lang))
