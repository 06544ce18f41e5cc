"""The register's spelling: endpoints, parameters, keys, fields, limits, codelists, and its replies.

The only place of the register's own words, which client and embedded service both read from here.
The fields of records are in `records`.
"""

from __future__ import annotations

from datetime import date
from email.utils import parsedate_to_datetime
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

API_VERSION: Final = "2.5"
INVENTED: Final = "X-Invented-Data"  # marks replies with invented data and names their source

# Endpoints below /api [Lists of identifiers]; those of other records than units are observed. The
# path of a count is that of its list below `COUNTS` [Counts].
UNITS: Final = "uctovne-jednotky"
STATEMENTS: Final = "uctovne-zavierky"
REPORTS: Final = "uctovne-vykazy"
ANNUAL_REPORTS: Final = "vyrocne-spravy"
LISTS: Final = {
    "units": UNITS,
    "statements": STATEMENTS,
    "reports": REPORTS,
    "annual_reports": ANNUAL_REPORTS,
}
COUNTS: Final = "zostavajuce-id"
# Endpoints of one record, of files and of templates [Details].
UNIT: Final = "uctovna-jednotka"
STATEMENT: Final = "uctovna-zavierka"
REPORT: Final = "uctovny-vykaz"
ANNUAL_REPORT: Final = "vyrocna-sprava"
ATTACHMENT: Final = "domain/financialreport/attachment"  # not below /api; then the id
PRINTED: Final = "domain/financialreport/pdf"  # a report with its content; then its id
TEMPLATES: Final = "sablony"
TEMPLATE: Final = "sablona"

# Parameters of lists and counts [Lists of identifiers]; only units have filters (observed).
CHANGED_SINCE: Final = "zmenene-od"
PAGE_SIZE: Final = "max-zaznamov"
AFTER_ID: Final = "pokracovat-za-id"
FILTERS: Final = {"ico": "ico", "dic": "dic", "legal_form_code": "pravna-forma"}

# Keys of replies [Lists of identifiers] [Counts] [Codelists] [Details].
MORE: Final = "existujeDalsieId"
COUNT: Final = "pocetZostavajucichId"
LOCATIONS: Final = "lokacie"
CLASSIFICATION: Final = "klasifikacie"
TEMPLATE_LIST: Final = "sablony"
TABLES: Final = "tabulky"

# Fields of records that rules depend on.
CHANGED: Final = "datumPoslednejUpravy"
STATE: Final = "stav"

ZONE: Final = ZoneInfo("Europe/Bratislava")  # of the register's days
BEGINNING: Final = date(2000, 1, 1)  # everything has changed since then [Lists of identifiers]
MAX_ID: Final = 2**63 - 1  # what a column of Int64 holds (ours); ids run to some millions
MAX_PAGE: Final = 10_000  # [Lists of identifiers]
DEFAULT_PAGE: Final = 1_000  # [Lists of identifiers]
# Bytes, unpacked, that are read of a reply (ours): a page of 10,000 ids has about 80 kB, the
# municipalities have 286 kB (observed).
PAGE_CAP: Final = 8 * 2**20  # of a page or a record
CODELIST_CAP: Final = 64 * 2**20
FILE_CAP: Final = 64 * 2**20


class Reply(NamedTuple):
    """One answer: status, headers, body."""

    status: int
    headers: dict[str, str]
    body: bytes


CodelistName = Literal[
    "regions", "districts", "municipalities", "legal_forms", "activities", "ownership_types",
    "size_classes",
]  # fmt: skip


class Codelist(NamedTuple):
    """What ties a codelist to its endpoint and to the records."""

    name: str  # of the function that returns it
    endpoint: str
    source: str | None  # the Statistical Office's list, where it is known
    field: str  # of the records, that it resolves
    label: str  # the column that `resolve_labels` adds

    @property
    def located(self) -> bool:
        """Whether its entries are places, which have a parent."""
        return self.field in LOCATION_FIELDS


CODELISTS: Final = {
    codelist.name: codelist
    for codelist in (
        Codelist("regions", "kraje", "0023/RSUJ3", "kraj", "region"),
        Codelist("districts", "okresy", "0024/LSUJ1", "okres", "district"),
        Codelist("municipalities", "sidla", "0025/LSUJ2", "sidlo", "municipality"),
        Codelist("legal_forms", "pravne-formy", None, "pravnaForma", "legal_form"),
        Codelist("activities", "sk-nace", None, "skNace", "activity"),
        Codelist("ownership_types", "druhy-vlastnictva", None, "druhVlastnictva", "ownership"),
        Codelist("size_classes", "velkosti-organizacie", None, "velkostOrganizacie", "size_class"),
    )
}
BY_FIELD: Final = {codelist.field: codelist for codelist in CODELISTS.values()}
LOCATION_FIELDS: Final = ("kraj", "okres", "sidlo")


def day_of(sent: str) -> date | None:
    """Return the register's day of a header ``Date``; None where that is none."""
    try:
        return parsedate_to_datetime(sent).astimezone(ZONE).date()
    except (ValueError, TypeError, OverflowError):
        return None
