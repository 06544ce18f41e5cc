"""The shapes of the register's records and codelists: every known field and what it holds.

The only list of the records' fields. The checks of replies, the columns of frames and the texts of
messages are all made from these declarations (`decode`).
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Final

import polars as pl
from msgspec import Meta, Struct

from finstat_kit.protocol.wire import MAX_ID

_MONTH: Final = re.compile(r"[0-9]{4}-[0-9]{2}", re.ASCII)


class FirstDay(date):
    """The first day of a month, which the register writes as ``2024-01``."""


class LastDay(date):
    """The last day of a month, which the register writes as ``2024-12``."""


def day_of_month(kind: type, text: object) -> date:
    """Return the day for a month: the hook by which msgspec decodes `FirstDay`."""
    if type(text) is not str:
        raise ValueError("no month")
    return _day_of_month(kind is FirstDay, text)


@lru_cache(maxsize=2_000)
def _day_of_month(first: bool, text: str) -> date:
    if not _MONTH.fullmatch(text):
        raise ValueError("no month")
    year, month = int(text[:4]), int(text[5:])
    if not (year and 1 <= month <= 12):  # monthrange raises another error
        raise ValueError("no month")
    return FirstDay(year, month, 1) if first else LastDay(year, month, monthrange(year, month)[1])


Text = str | None
Day = date | None
First = FirstDay | None
Last = LastDay | None
Id = Annotated[int, Meta(ge=0, le=MAX_ID)]
Whole = Id | None
Ids = list[Id] | None
Truth = bool | None
# Codes were numbers until some time after 2018; they are kept as their digits.
Code = Annotated[str, Meta(min_length=1)] | Annotated[int, Meta(ge=0)]

# What a field of each kind is called in a message, and what its column holds.
LEAVES: Final[dict[Any, tuple[str, pl.DataType]]] = {
    str: ("a text", pl.String()),
    Text: ("a text", pl.String()),
    Day: ("a day YYYY-MM-DD", pl.Date()),
    First: ("a month YYYY-MM", pl.Date()),
    Last: ("a month YYYY-MM", pl.Date()),
    Id: ("an id", pl.Int64()),
    Whole: ("a whole number from 0 on", pl.Int64()),
    Truth: ("true or false", pl.Boolean()),
    Code: ("a code", pl.String()),
    Code | None: ("a code", pl.String()),
}
# Fields of these names have been sent as texts, at least on title pages.
TRUTHS: Final = (
    "konsolidovana",
    "konsolidovanaZavierkaUstrednejStatnejSpravy",
    "suhrnnaUctovnaZavierkaVerejnejSpravy",
)


class Shape(Struct, gc=False, omit_defaults=True):
    """An object of a reply; a field that is missing or null is None."""


class Record(Shape, gc=False):
    """An object with an id and a separate endpoint."""

    id: Id


class Unit(Record, gc=False):
    """``/api/uctovna-jednotka``: an accounting unit."""

    ico: Text = None
    dic: Text = None
    sid: Text = None
    nazovUJ: Text = None
    ulica: Text = None
    mesto: Text = None
    psc: Text = None
    datumZalozenia: Day = None
    datumZrusenia: Day = None
    pravnaForma: Text = None
    skNace: Text = None
    velkostOrganizacie: Text = None
    druhVlastnictva: Text = None
    kraj: Text = None
    okres: Text = None
    sidlo: Text = None
    konsolidovana: Truth = None
    idUctovnychZavierok: Ids = None
    idVyrocnychSprav: Ids = None
    zdrojDat: Text = None
    datumPoslednejUpravy: Day = None
    stav: Text = None


class Statement(Record, gc=False):
    """``/api/uctovna-zavierka``: a financial statement, the filing of a unit for a period."""

    idUJ: Whole = None
    obdobieOd: First = None
    obdobieDo: Last = None
    datumPodania: Day = None
    datumZostavenia: Day = None
    datumSchvalenia: Day = None
    datumZostaveniaK: Day = None
    datumPrilozeniaSpravyAuditora: Day = None
    nazovFondu: Text = None
    leiKod: Text = None
    konsolidovana: Truth = None
    konsolidovanaZavierkaUstrednejStatnejSpravy: Truth = None
    suhrnnaUctovnaZavierkaVerejnejSpravy: Truth = None
    typ: Text = None
    idUctovnychVykazov: Ids = None
    zdrojDat: Text = None
    datumPoslednejUpravy: Day = None
    stav: Text = None


class Names(Shape, gc=False):
    """A name in both languages."""

    sk: Text = None
    en: Text = None


class Address(Shape, gc=False):
    """An address of a title page."""

    ulica: Text = None
    cislo: Text = None
    psc: Text = None
    mesto: Text = None


class Title(Shape, gc=False):
    """The title page of a report."""

    nazovUctovnejJednotky: Text = None
    ico: Text = None
    dic: Text = None
    sid: Text = None
    adresa: Address | None = None
    miestoPodnikania: Address | None = None
    pravnaForma: Text = None
    skNace: Text = None
    typZavierky: Text = None
    konsolidovana: Truth = None
    konsolidovanaZavierkaUstrednejStatnejSpravy: Truth = None
    suhrnnaUctovnaZavierkaVerejnejSpravy: Truth = None
    typUctovnejJednotky: Text = None
    oznacenieObchodnehoRegistra: Text = None
    nazovSpravcovskehoFondu: Text = None
    leiKod: Text = None
    obdobieOd: First = None
    obdobieDo: Last = None
    predchadzajuceObdobieOd: First = None
    predchadzajuceObdobieDo: Last = None
    datumVyplnenia: Day = None
    datumSchvalenia: Day = None
    datumZostavenia: Day = None
    datumZostaveniaK: Day = None
    datumPrilozeniaSpravyAuditora: Day = None


class Table(Shape, gc=False):
    """A table of a report: its cells row by row, without labels and without its width."""

    nazov: Names | None = None
    data: list[str] | None = None


class Content(Shape, gc=False):
    """The content of a report that is not only an attachment."""

    titulnaStrana: Title | None = None
    tabulky: list[Table] | None = None


class Attachment(Shape, gc=False):
    """A file of a report or an annual report."""

    id: Whole = None
    meno: Text = None
    mimeType: Text = None
    velkostPrilohy: Whole = None
    pocetStran: Whole = None
    digest: Text = None
    jazyk: Text = None


class Report(Record, gc=False):
    """``/api/uctovny-vykaz``: a financial report; its columns include the fields of ``obsah``."""

    idUctovnejZavierky: Whole = None
    idVyrocnejSpravy: Whole = None
    idSablony: Whole = None
    mena: Text = None
    kodDanovehoUradu: Text = None
    pristupnostDat: Text = None
    obsah: Content | None = None
    prilohy: list[Attachment] | None = None
    zdrojDat: Text = None
    datumPoslednejUpravy: Day = None
    stav: Text = None

    @property
    def titulnaStrana(self) -> Title | None:
        """The title page."""
        return self.obsah.titulnaStrana if self.obsah else None

    @property
    def tabulky(self) -> list[list[str] | None] | None:
        """The cells of each table, as they were sent."""
        tables = self.obsah.tabulky if self.obsah else None
        return None if tables is None else [table.data for table in tables]


class AnnualReport(Record, gc=False):
    """``/api/vyrocna-sprava``: an annual report."""

    idUJ: Whole = None
    nazovUJ: Text = None
    typ: Text = None
    obdobieOd: First = None
    obdobieDo: Last = None
    datumPodania: Day = None
    datumZostaveniaK: Day = None
    nazovFondu: Text = None
    leiKod: Text = None
    pristupnostDat: Text = None
    idUctovnychVykazov: Ids = None
    prilohy: list[Attachment] | None = None
    zdrojDat: Text = None
    datumPoslednejUpravy: Day = None
    stav: Text = None


class Entry(Shape, gc=False):
    """An entry of a codelist; only places have a parent."""

    kod: Code
    nazov: Names | None = None
    nadradenaLokacia: Code | None = None


class Locations(Shape, gc=False):
    """A codelist of places."""

    lokacie: list[Entry]


class Classification(Shape, gc=False):
    """A codelist without parents."""

    klasifikacie: list[Entry]
