"""The meanings of the fields of records in Slovak and English, for `fields`."""

from __future__ import annotations

from typing import Final

Meaning = tuple[str, str]

_COMMON: Final[dict[str, Meaning]] = {
    "zdrojDat": ("zdroj údajov", "source of the data"),
    "datumPoslednejUpravy": (
        "deň poslednej zmeny; porovnáva sa s ním changed_since",
        "day of the last change; changed_since compares with it",
    ),
    "stav": (
        "ZMAZANÉ (zmazaná) alebo NEVEREJNÁ (neverejná); prázdny inak",
        "ZMAZANÉ (deleted) or NEVEREJNÁ (non-public); null otherwise",
    ),
}
_UNITS: Final[dict[str, Meaning]] = {
    "id": ("id účtovnej jednotky v registri", "id of the accounting unit in the register"),
    "ico": (
        "identifikačné číslo organizácie (IČO), 8 alebo 12 číslic; nie je jedinečné",
        "organisation number (IČO), 8 or 12 digits; not unique",
    ),
    "dic": ("daňové identifikačné číslo (DIČ)", "tax identification number (DIČ)"),
    "sid": ("identifikátor SID", "identifier SID"),
    "nazovUJ": ("názov účtovnej jednotky", "name of the unit"),
    "ulica": ("ulica a číslo", "street and number"),
    "mesto": ("mesto adresy, ako bolo zapísané", "town of the address, as it was written"),
    "psc": ("poštové smerovacie číslo", "postcode"),
    "datumZalozenia": ("deň založenia", "day of foundation"),
    "datumZrusenia": (
        "deň zrušenia; prázdny, kým jednotka trvá",
        "day of dissolution; null while the unit is active",
    ),
    "pravnaForma": ("kód právnej formy", "code of the legal form"),
    "skNace": ("kód hlavnej činnosti (SK NACE)", "code of the main activity (SK NACE)"),
    "velkostOrganizacie": (
        "kód veľkosti podľa počtu zamestnancov",
        "code of the size class by number of employees",
    ),
    "druhVlastnictva": ("kód druhu vlastníctva", "code of the type of ownership"),
    "kraj": ("kód kraja sídla", "code of the region of the seat"),
    "okres": ("kód okresu sídla", "code of the district of the seat"),
    "sidlo": ("kód obce sídla", "code of the municipality of the seat"),
    "konsolidovana": (
        "či jednotka zostavuje konsolidovanú závierku",
        "whether the unit files consolidated statements",
    ),
    "idUctovnychZavierok": (
        "id účtovných závierok, v žiadnom poradí",
        "ids of the financial statements, in no order",
    ),
    "idVyrocnychSprav": (
        "id výročných správ, v žiadnom poradí",
        "ids of the annual reports, in no order",
    ),
    **_COMMON,
}
_PERIOD: Final[dict[str, Meaning]] = {
    "obdobieOd": ("prvý deň účtovného obdobia", "first day of the accounting period"),
    "obdobieDo": ("posledný deň účtovného obdobia", "last day of the accounting period"),
}
_FUND: Final[dict[str, Meaning]] = {
    "nazovFondu": ("názov fondu, ak ide o fond", "name of the fund, of funds"),
    "leiKod": ("kód LEI", "LEI code"),
}
_CONSOLIDATED: Final[dict[str, Meaning]] = {
    "konsolidovana": (
        "či je závierka konsolidovaná; prázdne znamená nie",
        "whether the statement is consolidated; null means it is not",
    ),
    "konsolidovanaZavierkaUstrednejStatnejSpravy": (
        "či je to konsolidovaná závierka ústrednej štátnej správy",
        "whether it is the consolidated statement of central government",
    ),
    "suhrnnaUctovnaZavierkaVerejnejSpravy": (
        "či je to súhrnná závierka verejnej správy",
        "whether it is the aggregate statement of public administration",
    ),
}
_DAYS: Final[dict[str, Meaning]] = {
    "datumZostavenia": ("deň zostavenia", "day on which it was drawn up"),
    "datumSchvalenia": ("deň schválenia", "day of approval"),
    "datumZostaveniaK": (
        "deň, ku ktorému je závierka zostavená",
        "balance sheet day, as of which it is drawn up",
    ),
    "datumPrilozeniaSpravyAuditora": (
        "deň priloženia správy audítora",
        "day on which the auditor's report was attached",
    ),
}
_REPORT_IDS: Final[dict[str, Meaning]] = {
    "idUctovnychVykazov": (
        "id účtovných výkazov, v žiadnom poradí",
        "ids of the financial reports, in no order",
    ),
}
_ACCESS: Final[dict[str, Meaning]] = {
    "pristupnostDat": (
        "Verejné, Verejné prílohy alebo Neverejné",
        "Verejné (public), Verejné prílohy (attachments public) or Neverejné (non-public)",
    ),
}
_FILES: Final[dict[str, Meaning]] = {
    "prilohy": ("prílohy", "attached files"),
    "prilohy.id": ("id prílohy", "id of the file"),
    "prilohy.meno": ("meno súboru", "file name"),
    "prilohy.mimeType": ("druh súboru", "media type"),
    "prilohy.velkostPrilohy": ("veľkosť v bajtoch", "size in bytes"),
    "prilohy.pocetStran": (
        "počet strán; 0 aj pri skutočných súboroch PDF",
        "number of pages; 0 for real PDF files too",
    ),
    "prilohy.digest": ("odtlačok SHA-256", "SHA-256 digest"),
    "prilohy.jazyk": ("jazyk, napríklad SLK", "language, such as SLK"),
}
_STATEMENTS: Final[dict[str, Meaning]] = {
    "id": ("id účtovnej závierky", "id of the financial statement"),
    "idUJ": ("id účtovnej jednotky", "id of the accounting unit"),
    **_PERIOD,
    "datumPodania": (
        "deň podania; chýba pri starších podaniach",
        "day of filing; absent on older filings",
    ),
    **_DAYS,
    **_FUND,
    **_CONSOLIDATED,
    "typ": (
        "Riadna, Mimoriadna, Priebežná alebo Kombinovaná",
        "Riadna (ordinary), Mimoriadna (extraordinary), Priebežná (interim) or Kombinovaná",
    ),
    **_REPORT_IDS,
    **_COMMON,
}


def _address(of: str, sk: str, en: str) -> dict[str, Meaning]:
    return {
        of: (sk, en),
        f"{of}.ulica": ("ulica", "street"),
        f"{of}.cislo": ("číslo", "number"),
        f"{of}.psc": ("poštové smerovacie číslo", "postcode"),
        f"{of}.mesto": ("mesto", "town"),
    }


_TITLE: Final[dict[str, Meaning]] = {
    "nazovUctovnejJednotky": ("názov účtovnej jednotky", "name of the unit"),
    **{name: _UNITS[name] for name in ("ico", "dic", "sid")},
    **_address("adresa", "adresa sídla", "address of the seat"),
    **_address("miestoPodnikania", "miesto podnikania", "place of business"),
    **{name: _UNITS[name] for name in ("pravnaForma", "skNace")},
    "typZavierky": ("druh závierky", "kind of statement, as typ of the statement"),
    **_CONSOLIDATED,
    "typUctovnejJednotky": ("malá alebo veľká", "malá (small) or veľká (large)"),
    "oznacenieObchodnehoRegistra": (
        "označenie obchodného registra a číslo zápisu",
        "commercial register and number of the entry",
    ),
    "nazovSpravcovskehoFondu": ("názov správcovského fondu", "name of the managed fund"),
    "leiKod": _FUND["leiKod"],
    **_PERIOD,
    "predchadzajuceObdobieOd": (
        "prvý deň predchádzajúceho obdobia",
        "first day of the period before",
    ),
    "predchadzajuceObdobieDo": (
        "posledný deň predchádzajúceho obdobia",
        "last day of the period before",
    ),
    "datumVyplnenia": ("deň vyplnenia", "day on which it was filled in"),
    **_DAYS,
}
_REPORTS: Final[dict[str, Meaning]] = {
    "id": ("id účtovného výkazu", "id of the financial report"),
    "idUctovnejZavierky": (
        "id závierky, ku ktorej patrí",
        "id of the statement that it belongs to",
    ),
    "idVyrocnejSpravy": (
        "id výročnej správy, ku ktorej patrí",
        "id of the annual report that it belongs to",
    ),
    "idSablony": (
        "id šablóny; chýba, ak výkaz žiadnu nemá",
        "id of the template; null without one",
    ),
    "mena": ("mena, EUR; často chýba", "currency, EUR; often absent"),
    "kodDanovehoUradu": ("kód daňového úradu", "code of the tax office"),
    **_ACCESS,
    "titulnaStrana": ("titulná strana", "title page"),
    **{f"titulnaStrana.{name}": meaning for name, meaning in _TITLE.items()},
    "tabulky": (
        "bunky každej tabuľky po riadkoch, ako boli podané",
        "the cells of each table row by row, as filed",
    ),
    **_FILES,
    **_COMMON,
}
_ANNUAL_REPORTS: Final[dict[str, Meaning]] = {
    "id": ("id výročnej správy", "id of the annual report"),
    "idUJ": _STATEMENTS["idUJ"],
    "nazovUJ": _UNITS["nazovUJ"],
    "typ": ("druh výročnej správy", "kind of annual report"),
    **_PERIOD,
    "datumPodania": ("deň podania", "day of filing"),
    "datumZostaveniaK": ("deň, ku ktorému je zostavená", "day as of which it is drawn up"),
    **_FUND,
    **_ACCESS,
    **_REPORT_IDS,
    **_FILES,
    **_COMMON,
}
MEANINGS: Final[dict[str, dict[str, Meaning]]] = {
    "units": _UNITS,
    "statements": _STATEMENTS,
    "reports": _REPORTS,
    "annual_reports": _ANNUAL_REPORTS,
}
