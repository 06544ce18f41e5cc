"""The records of the register: their shapes, and how bytes become values and rows.

The only list of the records' fields [Details]. A field without a value is left out of a reply, and
of a deleted or non-public record all but its id, state and day of change (observed). The checks of
replies, the columns of frames and the texts of messages are all made from these declarations.

msgspec checks a body while it reads it, and names the path of what is wrong. It refuses a byte
order mark and booleans sent as texts: a body that it refuses is read again, from values.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property, lru_cache
from typing import Annotated, Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import polars as pl
from msgspec import Meta, Struct

from finstat_kit.protocol import wire
from finstat_kit.protocol.untrusted import broken, read_json
from finstat_kit.protocol.wire import MAX_ID

S = TypeVar("S", bound=Struct)
_MONTH: Final = re.compile(r"(?!0000)([0-9]{4})-(0[1-9]|1[0-2])")
_MISSING: Final = re.compile("Object missing required field `([^`]+)`")
Text = str | None
Day = date | None
Id = Annotated[int, Meta(ge=0, le=MAX_ID)]
Whole = Id | None
Template = Annotated[int, Meta(ge=0, le=2**31 - 1)] | None  # as large as columns of templates hold
Ids = list[Id] | None
Truth = bool | None
# Codes were numbers until some time after 2018 (observed); they are kept as their digits.
Code = Annotated[str, Meta(min_length=1)] | Annotated[int, Meta(ge=0)]
# Fields of these names have been sent as texts, at least on title pages (observed).
_TRUTHS: Final = (
    "konsolidovana",
    "konsolidovanaZavierkaUstrednejStatnejSpravy",
    "suhrnnaUctovnaZavierkaVerejnejSpravy",
)


class FirstDay(date):
    """The first day of a month, which the register writes as ``2024-01``."""


class LastDay(date):
    """The last day of a month, which the register writes as ``2024-12``."""


def _decoded_day(kind: type[date], value: object) -> date:
    """Return the day for a month: the hook by which msgspec decodes `FirstDay`."""
    return _day_of_month(kind is FirstDay, value if isinstance(value, str) else "")


@lru_cache(maxsize=2_000)
def _day_of_month(first: bool, text: str) -> date:
    parts = _MONTH.fullmatch(text)
    if parts is None:
        raise ValueError("Expected a month YYYY-MM")
    year, month = int(parts[1]), int(parts[2])
    return FirstDay(year, month, 1) if first else LastDay(year, month, monthrange(year, month)[1])


_ENCODER: Final = msgspec.json.Encoder(enc_hook=date.isoformat)
First = FirstDay | None
Last = LastDay | None

_LEAVES: Final[dict[Any, pl.DataType]] = {
    str: pl.String(), int: pl.Int64(), bool: pl.Boolean(),
    date: pl.Date(), FirstDay: pl.Date(), LastDay: pl.Date(),
}  # fmt: skip


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
    idSablony: Template = None
    mena: Text = None
    kodDanovehoUradu: Text = None
    pristupnostDat: Text = None
    obsah: Content | None = None
    prilohy: list[Attachment] | None = None
    zdrojDat: Text = None
    datumPoslednejUpravy: Day = None
    stav: Text = None


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


R = TypeVar("R", bound=Record, covariant=True)


class Kind(Generic[R]):
    """A kind of records: where they are, what they hold, and how they are read.

    Attributes:
        path: Path of one record, below the base URL.
        listed: Endpoint of the list of their ids.
        shape: Shape of a record.
    """

    def __init__(self, endpoint: str, listed: str, shape: type[R]) -> None:
        self.path = f"/api/{endpoint}"
        self.listed = listed
        self.shape = shape

    # Each when it is first needed: a codelist needs none of them.
    @cached_property
    def schema(self) -> pl.Schema:
        """Schema of a frame of records: always all columns, in the register's order."""
        return self._none.schema

    @cached_property
    def _sent(self) -> pl.Schema:
        types = get_type_hints(self.shape)
        return pl.Schema({name: dtype_of(hint) for name, hint in types.items()})

    @cached_property
    def _none(self) -> pl.DataFrame:
        return _unpacked(self._sent.to_frame())  # nested columns take their time even without rows

    def read(self, body: bytes, id_: int) -> R:
        """Return the record of an id that a body holds.

        Raises:
            ProtocolError: It breaks the register's format; the text names id and field.
            NotJson: The body is not JSON.
        """
        where = f"id {id_}: "
        record = decoded(body, self.shape, where)
        if record.id != id_:
            raise broken(f"{where}$.id", f"expected {id_}, got {record.id}")
        return record

    def frame(self, records: Sequence[Record]) -> pl.DataFrame:
        """Make a frame of checked records."""
        if not records:  # as often as not
            return self._none.clone()
        # As JSON: building a frame from rows takes ten times as long.
        return _unpacked(pl.read_json(_ENCODER.encode(records), schema=self._sent))


def decoded(body: bytes, shape: type[S], where: str = "") -> S:
    """Read a body in its shape.

    Args:
        body: The bytes.
        shape: What they have to be.
        where: Prefix of messages: ``id 5: ``.

    Raises:
        ProtocolError: It has another shape; the text names the path.
        NotJson: The body is not JSON.
    """
    try:
        return msgspec.json.decode(body, type=shape, dec_hook=_decoded_day)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        reply = read_json(body, where)
        _read_truths(reply)
        return shaped(reply, shape, where)


def shaped(reply: object, shape: type[S], where: str = "") -> S:
    """Return a JSON value in its shape.

    Raises:
        ProtocolError: It has another shape; the text names the path.
    """
    try:
        return msgspec.convert(reply, shape, dec_hook=_decoded_day)
    except msgspec.ValidationError as error:
        # "Expected `int`, got `str` - at `$.tabulky[0].pocetStlpcov`"
        fault, _, path = str(error).partition(" - at ")
        path = path.strip("`") or "$"
        if missing := _MISSING.fullmatch(fault):
            path, fault = f"{path}.{missing[1]}", "it is missing"
        raise broken(where + path, fault[:1].lower() + fault[1:]) from None


def _read_truths(reply: object) -> None:
    """Replace booleans that were sent as texts, in a record and on its title page."""
    content = reply.get("obsah") if isinstance(reply, dict) else None
    title = content.get("titulnaStrana") if isinstance(content, dict) else None
    for fields in (reply, title):
        if isinstance(fields, dict):
            sent = {name: fields[name] for name in _TRUTHS if fields.get(name) in ("true", "false")}
            fields.update({name: text == "true" for name, text in sent.items()})


def dtype_of(hint: Any) -> pl.DataType:  # noqa: ANN401 - a type as it was written
    """Return the type of a column for the values of a shape's field."""
    if hint in _LEAVES:
        return _LEAVES[hint]
    if type(None) in get_args(hint):
        return dtype_of(get_args(hint)[0])
    if get_origin(hint) is list:
        return pl.List(dtype_of(get_args(hint)[0]))
    return pl.Struct({name: dtype_of(field) for name, field in get_type_hints(hint).items()})


def _unpacked(frame: pl.DataFrame) -> pl.DataFrame:
    """Put what is in ``obsah`` in its place; a table becomes its cells."""
    if "obsah" not in frame.columns:
        return frame
    cells = pl.col("tabulky").list.eval(pl.element().struct.field("data"))
    return frame.unnest("obsah").with_columns(cells)


KINDS: Final[Mapping[str, Kind[Record]]] = {
    "units": Kind(wire.UNIT, wire.UNITS, Unit),
    "statements": Kind(wire.STATEMENT, wire.LISTS["statements"], Statement),
    "reports": Kind(wire.REPORT, wire.LISTS["reports"], Report),
    "annual_reports": Kind(wire.ANNUAL_REPORT, wire.LISTS["annual_reports"], AnnualReport),
}


UNITS: Final = KINDS["units"].schema
