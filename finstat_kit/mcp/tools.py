"""The tools of an assistant, each a call of public names of the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, cast

import polars as pl
from pydantic import Field

import finstat_kit as fk
from finstat_kit.arguments import By, Grouping, Lang
from finstat_kit.client.collections.collection import unit_of
from finstat_kit.client.register import Register
from finstat_kit.errors import invalid
from finstat_kit.frames.financials import items as items_of
from finstat_kit.frames.financials.history import Statement
from finstat_kit.frames.places import groups
from finstat_kit.mcp.answer import Answer
from finstat_kit.mirror.local_register import LocalRegister
from finstat_kit.protocol.wire import BY_FIELD, CodelistName

SECONDS: Final = 60  # that a call may take
_DRAWN: Final = 100  # records of an estimate
_ITEMS: Final = ("sales", "operating_result", "net_profit", "total_assets", "equity", "liabilities")
_SHOWN: Final = ("matched_by", "id", "ico", "nazovUJ", "mesto", "stav")
_SOURCE: Final = ("kind", "months", "statement_id", "superseded_by", "report_id", "reason")
Facts = Mapping[str, object]
_FILING: Final = (
    "year", "period_from", "period_to", "kind", "consolidated", "counts", "statement_id", "filed",
    "superseded_by", "reason",
)  # fmt: skip
_OF_REASONS: Final = "A figure that is not there is null; reason says why. It is no zero."
Unit = Annotated[str, Field(description="An IČO, DIČ or id, or words of a name only one unit has")]
Years = Annotated[list[int] | None, Field(description="Years in which periods end; null is all")]
Values = Annotated[list[str], Field(description="Items or ratios, see finstat-kit://items")]


class Tools:
    """The tools of a register.

    Args:
        register: The register.
        lang: Language of labels.
    """

    def __init__(self, register: Register, lang: Lang) -> None:
        self._register = register
        self._lang = lang
        # What the register's rate lets a call fetch in its time.
        self._most = None if register.rate is None else int(register.rate * SECONDS)

    def find_units(self, text: str, limit: Annotated[int, Field(ge=1, le=50)] = 10) -> Answer:
        """Find units (companies, towns, institutions) by name, IČO, DIČ or id, the best first."""
        records = self._register.units.find(text, limit=limit)
        return self._answer(records.select(_SHOWN), f"fk.units.find({text!r}, limit={limit})")

    def unit(self, unit: Unit) -> Answer:
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
        return self._answer(filed, f"fk.units.get({id_})\nfk.filings({id_})", facts=facts)

    def statement(self, unit: Unit, table: Statement = "income", years: Years = None) -> Answer:
        """Return a statement of a unit over years, row by row as it was filed, in euros.

        The facts name the filing and the report that each year is read from.
        """
        id_ = self._id(unit)
        record = self._register.units.get(id_)
        history = self._register.statement_history(record, years, table, lang=self._lang)
        facts = {
            str(row["year"]): ", ".join(
                f"{name} {row[name]}"
                for name in ("statement_id", "report_id", "template", "filed", "reason")
                if row[name] is not None
            )
            for row in history.filings.iter_rows(named=True)
        }
        call = f"fk.statement_history({id_}, {years}, {table!r}, lang={self._lang!r})"
        return self._answer(history.frame, call, facts=facts)

    def figures(
        self,
        units: Annotated[list[Unit], Field(min_length=1, max_length=50)],
        years: Years = None,
        values: Values = list(_ITEMS),  # noqa: B006  # pydantic copies it
    ) -> Answer:
        """Return items and ratios of units, a row per unit and year, with reasons and filings."""
        ids = list(dict.fromkeys(self._id(unit) for unit in units))
        known = fk.ratios()["ratio"].to_list()
        items = [value for value in values if value not in known]
        items_of.chosen(items)  # refuses unknown names
        money = self._register.financials(ids, years, max_requests=self._most)
        shown = fk.ratios(money, keep=True).select("unit_id", "name", "year", *values, *_SOURCE)
        call = f"fk.ratios(fk.financials({ids}, {years}), keep=True)"
        return self._answer(shown, call, _OF_REASONS)

    def count(self, by: Grouping = "kraj", changed_since: str | None = None) -> Answer:
        """Count units by region, sector or another group; of a real host an estimate of a sample.

        With changed_since (a day, or -30d) only those whose record has changed since.
        """
        reg = self._register
        if reg.rate is not None:
            frame = reg.estimate(
                cast("By", by), n=_DRAWN, changed_since=changed_since, lang=self._lang
            )
            call = f"fk.estimate({by!r}, n={_DRAWN}, changed_since={changed_since!r})"
            return self._answer(frame, call, "An estimate of a random sample.")
        records = reg.units.get(reg.units.ids(changed_since=changed_since))
        frame = reg.count_by(records, by, lang=self._lang)
        listed = f"fk.units.ids(changed_since={changed_since!r})"
        call = f"fk.count_by(fk.units.get({listed}), {by!r})"
        return self._answer(frame, call)

    def sector(
        self, activity: str, values: Values, year: int, by: Grouping | None = "kraj"
    ) -> Answer:
        """Return sums, medians and coverage of a sector in a year, whole or by another group.

        Args:
            activity: A section of NACE such as "C", or the first digits of a code such as "10".
            values: Names of items or ratios.
            year: In which the periods end.
            by: The groups; null is the sector as a whole.
        """
        money, call = self._figures_of_sector(activity, year)
        shown = fk.summary(money, values, by)
        call += f"\nfk.summary(money, {values}, {by!r})"
        if by is not None and by not in ("age", "size_by_law"):
            shown = self._register.resolve_labels(shown, lang=self._lang, columns=[by])
        return self._answer(shown, call, _OF_REASONS)

    def peers(self, unit: Unit, values: Values, year: int) -> Answer:
        """Return how a unit stands among the units of its division of activity and its size."""
        id_ = self._id(unit)
        code = self._register.units.get(id_)["skNace"].item()
        if code is None:
            raise invalid("unit", unit, "has no activity in its record")
        money, call = self._figures_of_sector(code[:2], year)
        by: tuple[Grouping, Grouping] = ("division", "size_by_law")  # of one division all are here
        shown = fk.peers(money, id_, values, by, year=year)
        call += f"\nfk.peers(money, {id_}, {values}, {by}, year={year})"
        return self._answer(shown, call, _OF_REASONS)

    def codes(self, codelist: CodelistName, text: str = "") -> Answer:
        """Return entries of a codelist, those whose code or names contain a text: places too."""
        entries = self._register.codelist(codelist)
        word = text.casefold()
        names = pl.concat_str("code", "name_sk", "name_en", separator=" ", ignore_nulls=True)
        found = entries.filter(names.str.to_lowercase().str.contains(word, literal=True))
        return self._answer(found, f"fk.codelist({codelist!r})")

    def _id(self, unit: str) -> int:
        return unit_of(self._register.units, unit, "unit")

    def _figures_of_sector(self, activity: str, year: int) -> tuple[pl.DataFrame, str]:
        """Return the figures of a sector in a year, and the lines that give them."""
        codes = _codes(activity)
        own = pl.col("skNace").str.slice(0, len(codes[0])).is_in(codes)
        every = self._register.units.ids()
        ids = self._register.units.get(every, max_requests=self._most).filter(own).select("id")
        call = (
            "import polars as pl\n"
            f"own = pl.col('skNace').str.slice(0, {len(codes[0])}).is_in({codes})\n"
            "units = fk.units.get(fk.units.ids()).filter(own).select('id')\n"
            f"money = fk.financials(units, {year})"
        )
        return self._register.financials(ids, year, max_requests=self._most), call

    def _answer(
        self, frame: pl.DataFrame, python: str, *notes: str, facts: Facts | None = None
    ) -> Answer:
        reg = self._register
        name = f"mirror:{reg.path}" if isinstance(reg, LocalRegister) else reg.base_url.rstrip(":")
        lines = f"import finstat_kit as fk; fk.use({name!r})\n{python}"
        found = Answer(reg.cite(lang=self._lang), bool(reg.invented), lines, list(notes))
        found.add(frame, facts or {})
        return found


def _codes(activity: str) -> list[str]:
    """Return the beginnings of the codes of a sector."""
    if activity.isascii() and activity.isdigit() and 2 <= len(activity) <= 5:
        return [activity]
    divisions = pl.DataFrame({"skNace": [f"{number:02}" for number in range(1, 100)]})
    own = groups.with_group(divisions, "section").filter(section=activity.upper())
    if own.is_empty():
        cure = "a section, A to U, or digits of a code"
        raise invalid("activity", activity, "is no sector", give=cure)
    return own["skNace"].to_list()
