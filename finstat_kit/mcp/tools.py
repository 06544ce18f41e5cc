"""The tools of an assistant, each a call of public names of the package."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Final, Literal, cast

import polars as pl
from pydantic import Field

import finstat_kit as fk
from finstat_kit import arguments
from finstat_kit.arguments import By, Grouping, Lang
from finstat_kit.client.collections.looked_up import INVENTED
from finstat_kit.client.methods.find import one_unit, unit_of
from finstat_kit.client.register import Register
from finstat_kit.client.session import LIVE_RATE
from finstat_kit.errors import CacheError, NotFound, RegisterError, UsageError, invalid
from finstat_kit.frames.financials import items as items_of
from finstat_kit.frames.financials.history import Statement
from finstat_kit.frames.places import nace
from finstat_kit.frames.text.slovak import folded
from finstat_kit.given_units import unit_in_text
from finstat_kit.mcp.answer import MOST_ROWS, Answer, Source, answer, marked
from finstat_kit.protocol.company_numbers import ICO, visible
from finstat_kit.protocol.wire import BY_FIELD, CodelistName

SECONDS: Final = 50  # that a call may take: clients end it at 60, with an error that has no cure
_MOST_RECORDS: Final = 10_000  # of a sector or a count by requests, where no rate limits them
_SAMPLED: Final = 100  # records of an estimate
_ITEMS: Final = ("sales", "operating_result", "net_profit", "total_assets", "equity", "liabilities")
_SHOWN: Final = ["matched_by", "id", "ico", "nazovUJ", "mesto", "stav"]
_SOURCE: Final = ["kind", "months", "statement_id", "superseded_by", "report_id", "reason"]
Facts = Mapping[str, object]
_FILING: Final = [
    "year", "period_from", "period_to", "kind", "consolidated", "counts", "statement_id", "filed",
    "superseded_by", "reason",
]  # fmt: skip
_OF_REASONS: Final = "A figure that is not there is null; reason says why. It is no zero."
_GIVE_A_UNIT: Final = "give an IČO, an id, or fewer words of its name"
_MIRROR: Final = (
    "use a mirror: finstat-kit sync PATH --contents, then finstat-kit mcp --mirror PATH"
)
_LEVELS: Final[dict[str, Literal["region", "district", "municipality"]]] = {
    "regions": "region", "districts": "district", "municipalities": "municipality",
}  # fmt: skip
_MANY: Final = 50  # units, years or items of a call
Unit = Annotated[
    str,
    Field(description="An IČO (8 or 12 digits), id (fewer) or DIČ, or a name only one unit has"),
]
Years = Annotated[
    Annotated[list[int], Field(max_length=_MANY)] | Literal["latest"] | None,
    Field(
        description='Years in which periods end; null is all, "latest" the last one with figures'
    ),
]
Items = Annotated[
    list[str],
    Field(
        description="Items or ratios, see finstat-kit://items and ratios",
        min_length=1,
        max_length=_MANY,
    ),
]
Limit = Annotated[
    int | None,
    Field(
        description="Rows to return; null is as many as keep the answer short", ge=1, le=MOST_ROWS
    ),
]
# Of records, which have no figures, and of figures, which have not all codes of records.
OfRecords = By | Literal["section", "division", "age"]
OfFigures = Literal[
    "kraj", "okres", "pravnaForma", "skNace", "velkostOrganizacie",
    "section", "division", "age", "size_by_law",
]  # fmt: skip


class Tools:
    """The tools of a register.

    Args:
        register: The register.
        lang: Language of labels.
    """

    def __init__(self, register: Register, lang: Lang) -> None:
        self._register = register
        self._lang = lang
        session = register._session
        # A recording of a real host answers what the host would have been asked.
        rate = LIVE_RATE if session.offline and session.remote else register.rate
        # What the register's rate lets a call fetch in its time.
        self._most = None if rate is None else int(rate * SECONDS)

    def find_units(
        self, text: str, limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 10
    ) -> Answer:
        """Find units (companies, towns, institutions) by name, IČO, DIČ or id, the best first."""
        records = self._register.units.find(text, limit=limit).select(_SHOWN)
        call = f"fk.units.find({text!r}, limit={limit}).select({_SHOWN})"
        notes = [] if records.height else [f"no unit matches {text!r}: {_GIVE_A_UNIT}"]
        return self._answer(records, call, *notes, limit=limit)

    def unit(self, unit: Unit, limit: Limit = None) -> Answer:
        """Return the record of a unit with labels, and its filings: those that count, and why."""
        id_ = self._id(unit)
        record = self._register.units.get(id_)
        codes = [name for name in BY_FIELD if name in record.columns]
        labelled = self._register.resolve_labels(record, lang=self._lang, columns=codes)
        facts = {
            name: value
            for name, value in labelled.row(0, named=True).items()
            if value is not None and not isinstance(value, list)
        }
        filed = self._register.filings(record, max_requests=self._most).select(_FILING)
        call = (
            f"unit = fk.resolve_labels(fk.units.get({id_}), lang={self._lang!r})\n"
            f"fk.filings({id_}).select({_FILING})"
        )
        return self._answer(filed, call, facts=facts, limit=limit)

    def statement(
        self, unit: Unit, table: Statement = "income", years: Years = None, limit: Limit = None
    ) -> Answer:
        """Return a statement of a unit over years, row by row as it was filed, in euros.

        The facts name the filing and the report that each year is read from.
        """
        id_ = self._id(unit)
        record = self._register.units.get(id_)
        history = self._register.statement(record, years, table, lang=self._lang)
        facts = {
            str(row["year"]): ", ".join(
                f"{name} {row[name]}"
                for name in ("statement_id", "report_id", "template", "filed", "reason")
                if row[name] is not None
            )
            for row in history.filings.iter_rows(named=True)
        }
        call = f"fk.statement({id_}, {years!r}, {table!r}, lang={self._lang!r}).frame"
        return self._answer(history.frame, call, facts=facts, limit=limit)

    def figures(
        self,
        units: Annotated[list[Unit], Field(min_length=1, max_length=_MANY)],
        years: Years = None,
        items: Items = list(_ITEMS),  # noqa: B006  # pydantic copies it
        limit: Limit = None,
    ) -> Answer:
        """Return items and ratios of units, a row per unit and year, with reasons and filings."""
        _check(items)
        ids = list(dict.fromkeys(self._id(unit) for unit in units))
        money = self._register.financials(ids, years, max_requests=self._most)
        columns = ["unit_id", "name", "year", *items, *_SOURCE]
        figures = fk.ratios(money, keep=True).select(columns)
        call = f"fk.ratios(fk.financials({ids}, {years!r}), keep=True).select({columns})"
        return self._answer(figures, call, _OF_REASONS, limit=limit)

    def count(
        self, by: OfRecords = "kraj", changed_since: str | None = None, limit: Limit = None
    ) -> Answer:
        """Count units by region, sector or another group; of many at a real host by a sample.

        With changed_since (a day, or -30d) only those whose record has changed since.
        """
        reg = self._register
        all_units = self._records(changed_since)
        if isinstance(all_units, int):
            needed = _pages(all_units, reg.page_size) + _SAMPLED
            if needed > self._allowed:
                raise self._too_many(f"an estimate among {all_units:,} units", needed)
            given = f"n={_SAMPLED}, changed_since={changed_since!r}, lang={self._lang!r}"
            frame = reg.estimate(
                cast("By", by), n=_SAMPLED, changed_since=changed_since, lang=self._lang
            )
            call = f"fk.estimate({by!r}, {given})"
            return self._answer(frame, call, "An estimate of a random sample.", limit=limit)
        records, text = all_units
        frame = reg.count_by(records, by, lang=self._lang)
        call = f"fk.count_by({text}, {by!r}, lang={self._lang!r})"
        return self._answer(frame, call, limit=limit)

    def sector(
        self,
        activity: str,
        items: Items,
        year: int,
        by: OfFigures | None = None,
        limit: Limit = None,
    ) -> Answer:
        """Return sums, medians and coverage of a sector in a year, whole or by another group.

        Args:
            activity: A section of NACE such as "C", or the first digits of a code such as "10".
            items: Names of items or ratios.
            year: In which the periods end.
            by: The groups; null is the sector as a whole.
            limit: Rows to return.
        """
        _check(items)
        money, call = self._figures_of_sector(activity, year)
        summary = fk.summary(money, items, by, lang=self._lang, register=self._register)
        call += f"\nfk.summary(money, {items}, {by!r}, lang={self._lang!r})"
        hint = f"no unit has an activity of {activity!r}: see the codelist activities"
        notes = [_OF_REASONS, *([] if money.height else [hint])]
        return self._answer(summary, call, *notes, limit=limit)

    def peers(self, unit: Unit, items: Items, year: int, limit: Limit = None) -> Answer:
        """Return how a unit stands among the units of its division of activity and its size."""
        _check(items)
        id_ = self._id(unit)
        code = self._register.units.get(id_)["skNace"].item()
        if code is None:
            raise invalid("unit", unit, "has no activity in its record")
        money, call = self._figures_of_sector(code[:2], year)
        by: tuple[Grouping, Grouping] = ("division", "size_by_law")  # of one division all are here
        standing = fk.peers(money, id_, items, by, year=year)
        call += f"\nfk.peers(money, {id_}, {items}, {by}, year={year})"
        return self._answer(standing, call, _OF_REASONS, limit=limit)

    def codes(self, codelist: CodelistName, text: str = "", limit: Limit = None) -> Answer:
        """Return entries of a codelist, those with a text in their code or names: places too."""
        reg = self._register
        if not text:
            entries, call = reg.codelist(codelist), f"fk.codelist({codelist!r})"
        elif (level := _LEVELS.get(codelist)) is not None:
            entries = reg.locations(text, level=level)
            call = f"fk.locations({text!r}, level={level!r})"
        else:
            sought = arguments.sought("text", text, "part of a name or of a code")
            plain = pl.select(folded(pl.lit(sought))).item()
            names = pl.concat_str("code", "name_sk", "name_en", separator=" ", ignore_nulls=True)
            entries = reg.codelist(codelist).filter(folded(names).str.contains(plain, literal=True))
            call = (
                "import polars as pl\n"
                "names = pl.concat_str('code', 'name_sk', 'name_en', separator=' ', "
                "ignore_nulls=True)\n"
                "plain = names.str.normalize('NFKD').str.replace_all(r'\\p{M}', '')"
                ".str.to_lowercase()\n"
                f"fk.codelist({codelist!r})"
                f".filter(plain.str.contains({plain!r}, literal=True))"
            )
        hint = f"no entry of {codelist} matches {text!r}; without text all are listed"
        return self._answer(entries, call, *([] if entries.height else [hint]), limit=limit)

    def _id(self, unit: str) -> int:
        digits = visible(unit)
        is_key = digits.isascii() and digits.isdigit() and (len(digits) < 8 or len(digits) in ICO)
        try:
            if not is_key:
                return unit_of(self._register._source, unit, "unit", marked)
            records = self._register.units.get(unit_in_text(unit, "unit"))
            return int(one_unit(records, "unit", unit, quoted=marked)["id"].item())
        except NotFound as error:
            none: RegisterError = error
        except UsageError as error:
            if "no such unit" not in error.message:
                raise
            none = error
        raise invalid("unit", unit, f": {self._none('there is no such unit')}") from none

    def _none(self, fault: str) -> str:
        """Return a fault with what may have led to it."""
        invented = f"; {INVENTED}" if self._register.invented else ""
        return f"{fault}: {_GIVE_A_UNIT}{invented}"

    @property
    def _allowed(self) -> int:
        """Requests for records of units in a call."""
        return _MOST_RECORDS if self._most is None else self._most

    def _records(self, changed_since: str | None = None) -> tuple[pl.DataFrame, str] | int:
        """Return the records of all units and the text that gives them.

        Where they are more than a call can request: the number of units.
        """
        reg = self._register
        if reg._source.at_hand:
            records = reg.units.scan(changed_since=changed_since).collect()
            return records, f"fk.units.scan(changed_since={changed_since!r}).collect()"
        with suppress(CacheError):  # recorded without a count
            number = reg.units.count(changed_since=changed_since)
            if number + _pages(number, reg.page_size) > self._allowed:
                return number
        ids = reg.units.ids(changed_since=changed_since)
        text = f"fk.units.get(fk.units.ids(changed_since={changed_since!r}), errors='keep')"
        return reg.units.get(ids, errors="keep", max_requests=self._most), text

    def _figures_of_sector(self, activity: str, year: int) -> tuple[pl.DataFrame, str]:
        """Return the figures of a sector in a year, and the lines that give them."""
        codes = _codes(activity, self._register.codelist("activities")["code"])
        own = pl.col("skNace").str.slice(0, len(codes[0])).is_in(codes)
        all_units = self._records()
        if isinstance(all_units, int):
            raise self._too_many("a sector", all_units)
        records, text = all_units
        ids = records.filter(own).select("id")
        call = (
            "import polars as pl\n"
            f"own = pl.col('skNace').str.slice(0, {len(codes[0])}).is_in({codes})\n"
            f"units = {text}.filter(own).select('id')\n"
            f"money = fk.financials(units, {year})"
        )
        return self._register.financials(ids, year, max_requests=self._most), call

    def _too_many(self, what: str, needed: int) -> UsageError:
        return UsageError(
            f"{what} needs {needed:,} requests, and a call may send {self._allowed:,}", cure=_MIRROR
        )

    def _answer(
        self,
        frame: pl.DataFrame,
        python: str,
        *notes: str,
        facts: Facts | None = None,
        limit: int | None = None,
    ) -> Answer:
        reg = self._register
        chosen = reg._use_arguments
        line = f"# choose the same register: {reg!r}" if chosen is None else f"fk.use({chosen})"
        python = f"import finstat_kit as fk\n{line}\n{python}"
        source = Source(0, 0, reg.cite(lang=self._lang), bool(reg.invented), python)
        return answer(frame, source, facts=facts or {}, notes=notes, limit=limit)


def _pages(number: int, page_size: int) -> int:
    return -(-number // page_size)


def _check(items: list[str]) -> None:
    """Refuse what is neither an item nor a ratio, before any request."""
    ratios = fk.ratios()["ratio"].to_list()
    known = [*items_of.names(), *ratios]
    for name in arguments.names("items", items):
        if name not in known:
            cure = f"{arguments.near(name, known)}finstat-kit://items and ratios list them"
            raise invalid("items", name, "is neither an item nor a ratio", cure=cure)


def _codes(activity: str, listed: pl.Series) -> list[str]:
    """Return the beginnings of the codes of a sector, of a section by the register's own list."""
    if activity.isascii() and activity.isdigit() and 2 <= len(activity) <= 5:
        return [activity]
    revisions = nace.of_list(listed)
    is_mixed = revisions["nace"].n_unique() > 1
    revision = "2.1" if (revisions["nace"] == "2.1").sum() * 2 > revisions.height else "2"
    section = nace.entries(revision).filter(section=activity.upper())
    divisions = section.filter(pl.col("code").str.len_chars() == 2)["code"].to_list()
    if not divisions:
        letters = nace.entries(revision)["section"].unique().sort()
        of = "" if revision == "2" else f" of NACE Rev. {revision}"
        cure = f"a section{of}, {letters[0]} to {letters[-1]}, or two to five digits of a code"
        raise invalid("activity", activity, "is no sector", give=cure)
    if not is_mixed:
        return divisions
    own = pl.col("code").str.slice(0, 2).is_in(divisions) & (pl.col("nace") == revision)
    return revisions.filter(own)["code"].to_list()
