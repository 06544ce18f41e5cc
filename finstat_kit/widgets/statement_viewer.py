"""A viewer of statements: a unit, its years, and the form that was filed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import ipywidgets
import polars as pl
import traitlets

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.collections.looked_up import records_given
from finstat_kit.client.methods.find import matching_units, numbers_meant
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.financials.assemble import form_order
from finstat_kit.frames.financials.choice import listed_reports, report_ids
from finstat_kit.frames.financials.history import History, history
from finstat_kit.frames.financials.readings import of_items
from finstat_kit.frames.reports.filed import Filed, together
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.wire import MAX_ID
from finstat_kit.widgets.controls import base
from finstat_kit.widgets.controls.background import LatestWins
from finstat_kit.widgets.controls.in_browser import TypeAhead
from finstat_kit.widgets.html import filing_panel, reproduce
from finstat_kit.widgets.texts import failed, words

_NEEDED = ("id", "ico", "nazovUJ")
_OPTIONAL = ("mesto",)
_OFFERED = 50  # units that match a text
_LEAST_DIGITS = 8  # of an IČO: on a register without names, shorter numbers are still being typed


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A filing to read, with the known record and filings of its unit."""

    unit: int
    record: pl.DataFrame | None
    filings: pl.DataFrame | None
    statement: int | None  # None: the one to show first


@dataclass(frozen=True, slots=True, eq=False)
class _ReadFiling:
    """A filing that was read."""

    record: pl.DataFrame
    filings: pl.DataFrame
    statement: int | None
    reports: pl.DataFrame  # of the filing
    former: frozenset[int]  # ids of those that another report on the same form supersedes


@dataclass(frozen=True, slots=True, eq=False)
class _Years:
    """The figures of a unit by year, and the reports that they are read from."""

    record: pl.DataFrame
    figures: pl.DataFrame
    listed: pl.DataFrame


class StatementViewer(base.Picker):
    r"""Find a unit by name or IČO, choose a year, and read the form that was filed.

    The unit is found while you type, as in `LocationPicker`, without *units* as by `units.find`; an
    IČO may be typed with spaces. The years are those of the unit's individual statements, the
    newest first; a superseded statement and one of a fund or of several units are marked, and can
    be read too. Beside each are sales (revenue or receipts in total of those who live on more),
    result and total assets. A second tab shows a statement over years, as `statement` does.

    Args:
        units: Ids, IČO or records of units, as of `fk.financials`, to choose from; a single one is
            chosen. None searches those of a sample or a mirror by name; in the register itself
            an IČO is found.
        register: A `Register`, or what `use` takes; None is the current one.
        lang: Language of controls and forms, ``"sk"`` or ``"en"``; None is the register's.

    Attributes:
        value: Id of the unit, or None; settable and observable. Without *units* any id is accepted.
        unit: The field with the name; its ``value`` is the id as text.
        year: The drop-down of the years; its ``value`` is the id of a statement.
        tabs: The tabs; ``selected_index`` 0 is the statement, 1 the years.
        table: The drop-down of the second tab, ``"income"`` or ``"balance"``.
        blanks: The check box for rows without a filled cell.
        language: The drop-down of the language.
        lang: Settable; the choice is kept.

    Raises:
        UsageError: A value is neither an id nor an IČO, or a column has another type than in
            records.
        NotFound: There is no such unit.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     viewer = fk.StatementViewer(fk.units.get([365, 1362]), lang="en")
        >>> viewer.value = 365
        >>> viewer.year.options[3]
        ('2017 · superseded · filed 8\xa0June\xa02018', 3184376)
        >>> viewer.year.value = 3184376
        >>> viewer
        StatementViewer(value=365, statement=3184376, reports=1, lang='en')
    """

    value: traitlets.TraitType[int | None, int | None] = traitlets.TraitType(
        None, allow_none=True
    )  # checked below

    def __init__(
        self,
        units: int
        | str
        | Iterable[int | str]
        | pl.Series
        | pl.DataFrame
        | pl.LazyFrame
        | None = None,
        *,
        register: Register | str | None = None,
        lang: Lang | None = None,
    ) -> None:
        super().__init__(register, lang)
        self._given = units is not None
        self._units: pl.DataFrame | None = None
        if units is not None:
            records = records_given(self._register._source, units, "units", _NEEDED)
            self._units = base.records(records, _NEEDED, _OPTIONAL)
        self._filings: pl.DataFrame | None = None  # of the unit
        self._read_filing: _ReadFiling | None = None
        self._years: _Years | None = None
        self.unit = TypeAhead("fk-unit", searched=not self._given)
        self.year = base.dropdown("fk-year")
        self.blanks = ipywidgets.Checkbox(indent=False, layout=base.BELOW).add_class("fk-blanks")
        self.language = base.language(self)
        self.line = base.line().add_class("fk-line")
        self.panel = ipywidgets.HTML(layout={"min_width": "0"}).add_class("fk-panel")
        self.table = base.dropdown("fk-table")
        self.history = ipywidgets.HTML(layout={"min_width": "0"}).add_class("fk-history")
        self.tabs = ipywidgets.Tab(
            [self.panel, ipywidgets.VBox([self.table, self.history])], selected_index=0
        )
        columns = [[self.unit, self.year], [self.language, self.blanks]]
        controls = ipywidgets.HBox(
            [ipywidgets.VBox(column) for column in columns], layout={"flex_flow": "row wrap"}
        )
        self._set_controls(controls, self._buttons(), self.line, self.tabs)
        self._finding = LatestWins(self._find, self._offer_matches)
        local = base.is_local(self._register)
        self._reading = LatestWins(self._fetch_filing, self._take_filing, at_once=local)
        self._fetching_years = LatestWins(self._fetch_years, self._years_arrived, at_once=local)
        self._relabel()
        self._offer()
        self._draw()
        self._observe_user(
            self.unit, lambda code: self.set_trait("value", int(code) if code else None)
        )
        self._observe_user(self.unit, self._finding.submit, "sought")
        self._observe_user(self.year, lambda year: None if year is None else self._request(year))
        self._observe_user(self.blanks, lambda _: self._draw())
        self._observe_user(self.table, self._on_table)
        self._observe_user(self.tabs, self._on_table, "selected_index")
        self._observe_user(self, self._on_lang, "lang")
        if self._units is not None and self._units.height == 1:
            self.value = self._units.item(0, "id")

    def __repr__(self) -> str:
        filing = self._read_filing
        statement, reports = (filing.statement, filing.reports.height) if filing else (None, None)
        return (
            f"StatementViewer(value={self.value}, statement={statement}, reports={reports}, "
            f"lang={self.lang!r})"
        )

    @property
    def filings(self) -> pl.DataFrame | None:
        """The filings of the unit, as `Register.filings` returns them; None until fetched."""
        return self._filings

    @property
    def reports(self) -> pl.DataFrame | None:
        """The records of the reports shown; None until they are fetched, see `fetch`."""
        return self._read_filing.reports if self._read_filing else None

    def fetch(self) -> pl.DataFrame:
        """Wait for the reports of the chosen unit and year, and return their records.

        Raises:
            UsageError: No unit is chosen.
            RegisterError: They could not be fetched.
        """
        while (filing := self._read_filing) is None:
            if self.value is None:
                raise UsageError("no unit is chosen", cure="set .value to the id of one")
            self._reading.result()
            self._take_filing()
        return filing.reports

    def code(self) -> str:
        """Return Python that shows the same forms or years in a fresh process, as text."""
        filing, rows = self._read_filing, "" if self.blanks.value else ", filled=True"
        lang = f'lang="{self.lang}"'
        if self.tabs.selected_index == 1 and self._years is not None:
            blanks = ", blanks=True" if self.blanks.value else ""
            table = f'table="{self.table.value}"{blanks}'
            code = f"print(fk.statement({self.value}, {table}, {lang}))"
        elif filing is not None and not filing.reports.is_empty():
            code = (
                f"reports = fk.reports.get({filing.reports['id'].to_list()})  "
                f"# statement {filing.statement} of unit {self.value}\n"
                f"for report in reports.iter_slices(1):\n"
                f"    print(fk.as_filed(report, {lang}{rows}))"
            )
        elif self.value is not None:
            code = f"print(fk.filings([{self.value}]))"
        else:
            code = "# No unit is chosen."
        return f"import finstat_kit as fk\n\n{reproduce.choose(self._register)}{code}\n"

    @traitlets.validate("value")
    def _known_unit(self, proposal: traitlets.Bunch) -> int | None:
        if proposal["value"] is None:
            return None
        unit = arguments.whole("value", proposal["value"], 0, MAX_ID)
        if self._given and self._record_of(unit) is None:
            raise invalid("value", unit, "is not the id of a unit given")
        return unit

    @traitlets.observe("value")
    def _on_value(self, _: traitlets.Bunch) -> None:
        with self._lock:
            self._show_unit()
            self._filings = self._years = None
            with self._without_observers():
                self.year.options = []
            self._request(None)

    def _on_table(self, _: object) -> None:
        self._draw_history()
        self._drawn()

    def _on_lang(self, _: object) -> None:
        self._relabel()
        self._offer()
        self._list_years()
        self._draw()

    def _relabel(self) -> None:
        texts = words(self.lang)
        self.year.description = texts["year"]
        self.tabs.titles = (texts["statement"], texts["years"])
        with self._without_observers():
            chosen = self.table.value
            self.table.description = texts["table"]
            self.table.options = [
                (name, table) for table, name in words(self.lang, "tables").items()
            ]
            self.table.value = chosen or "income"
        self.blanks.description = texts["blank_rows"]
        self.unit.texts = {
            "label": texts["unit"],
            "placeholder": texts["name_or_ico"],
            "clear": texts["clear_unit"],
            **words(self.lang, "search"),
        }

    def _offer(self) -> None:
        """Give the field the units to choose from."""
        if self._units is not None:
            with self._without_observers(), self.unit.hold_sync():
                self.unit.items = filing_panel.units(self._units, words(self.lang)["unnamed"])
                self._show_unit()

    def _show_unit(self) -> None:
        is_offered = self.value is not None and self._record_of(self.value) is not None
        with self._without_observers():
            self.unit.value = str(self.value) if is_offered else ""

    def _record_of(self, unit: int) -> pl.DataFrame | None:
        if self._units is None:
            return None
        records = self._units.filter(pl.col("id") == unit)
        return None if records.is_empty() else records.head(1)

    def _request(self, statement: int | None) -> None:
        self._read_filing = None
        if self.value is not None:
            record = self._record_of(self.value)
            self._reading.submit(_Choice(self.value, record, self._filings, statement))
        self._draw()

    def _find(self, text: str, given_up: Callable[[], bool]) -> tuple[pl.DataFrame, int]:
        """Return records of the units that match a text, and how many match."""
        units = self._register.units
        is_number = len("".join(text.split())) >= _LEAST_DIGITS and numbers_meant(text)
        if not (is_number or self._takes_names) or not any(sign.isalnum() for sign in text):
            return KINDS["units"].frame([]), 0
        matches, numbers = matching_units(self._register._source, text, _OFFERED)
        ids = matches["id"].clear() if given_up() else matches["id"]
        return units.get(ids, errors="keep", progress=False), sum(numbers.values())

    def _offer_matches(self) -> None:
        """Offer the units that match the newest text; called on any thread."""
        with self._lock:
            outcome = self._finding.outcome
            if outcome is not None:
                records, many = outcome.answer or (KINDS["units"].frame([]), 0)
                chosen = None if self.value is None else self._record_of(self.value)
                offered = records if chosen is None else pl.concat([records, chosen])
                self._units = offered.unique("id", maintain_order=True)
                codes = [str(id_) for id_ in records["id"]]
                matches = {"text": outcome.question, "codes": codes, "more": many - len(codes)}
                with self.unit.hold_sync():
                    self._offer()
                    self.unit.found = matches
                self._draw()

    def _fetch_filing(self, choice: _Choice, given_up: Callable[[], bool]) -> _ReadFiling:
        register, record, filings = self._register, choice.record, choice.filings
        if record is None:
            record = register.units.get([choice.unit], errors="keep", progress=False)
        if filings is None:
            filings = register.filings(record, progress=False)
        statement = filing_panel.first(filings) if choice.statement is None else choice.statement
        filing_row = filings.filter(pl.col("statement_id").is_in([statement]))
        ids = filing_row["report_ids"].explode().drop_nulls()
        if ids.is_empty() or given_up():
            none = KINDS["reports"].frame([])
            return _ReadFiling(record, filings, statement, none, frozenset())
        reports = register.reports.get(ids, errors="keep", progress=False)
        listed = listed_reports(report_ids(filing_row), reports)
        own_ids = listed.filter("own")["report_id"]
        reports = reports.filter(pl.col("id").is_in(own_ids.implode()))
        former_ids = listed.filter("own", of_items() & ~pl.col("is_source"))["report_id"]
        # In the order in which they are shown.
        is_former = pl.col("id").is_in(former_ids.implode())
        reports = reports.sort(is_former, form_order(), nulls_last=True, maintain_order=True)
        # Here, since an unknown form may be requested only in the background.
        filing = _ReadFiling(record, filings, statement, reports, frozenset(former_ids))
        self._forms(filing)
        return filing

    def _take_filing(self) -> None:
        """Take over the filing of the newest choice; called on any thread."""
        with self._lock:
            outcome = self._reading.outcome
            if outcome is None or outcome.question.unit != self.value:
                return
            if self._read_filing is None and outcome.answer is not None:
                self._read_filing = outcome.answer
                if self._record_of(outcome.question.unit) is None:
                    offered = [] if self._units is None else [self._units]
                    self._units = pl.concat([*offered, outcome.answer.record])
                    self._offer()
                if self._filings is None:
                    self._filings = outcome.answer.filings
                    with (
                        self._without_observers()
                    ):  # where the years come at once, all is drawn below
                        self._fetching_years.submit(outcome.answer)
                self._list_years()
            self._draw()

    def _fetch_years(self, filing: _ReadFiling, _: Callable[[], bool]) -> _Years:
        figures, listed = self._register._source.figures_and_reports(
            filing.record, filing.filings, None
        )
        return _Years(filing.record, figures, listed)

    def _years_arrived(self) -> None:
        """Take over the figures of the unit; called on any thread."""
        with self._lock:
            outcome = self._fetching_years.outcome
            if outcome is None or outcome.question.filings is not self._filings:
                return
            self._years = outcome.answer
            if not self._quiet:
                self._draw()

    def _list_years(self) -> None:
        if (filing := self._read_filing) is not None:
            with self._without_observers(), self.year.hold_sync():
                self.year.options = filing_panel.options(filing.filings, self.lang)
                self.year.value = filing.statement

    def _forms(self, filing: _ReadFiling) -> list[Filed]:
        """Return the reports of the statement as one, then those that others supersede."""
        current_forms, former_forms = [], []
        for report in filing.reports.iter_slices(1):
            form = self._register.as_filed(report, lang=self.lang, filled=not self.blanks.value)
            if report["id"].item() in filing.former:
                form.notes.insert(0, filing_panel.former_report(self.lang))
                former_forms.append(form)
            else:
                current_forms.append(form)
        return [*([together(current_forms)] if current_forms else []), *former_forms]

    def _history(self) -> History | None:
        if (years := self._years) is None:
            return None
        return history(
            years.record.row(0, named=True), years.figures, years.listed,
            self._register._source.shipped_first, self.table.value,
            source=self._register._source_name(self.lang), blanks=self.blanks.value, lang=self.lang,
        )  # fmt: skip

    def _draw_history(self) -> None:
        """Draw the second tab, once it is looked at."""
        if self.tabs.selected_index != 1:
            return
        history = self._history()
        outcome = None if self._read_filing is None else self._fetching_years.outcome
        text = words(self.lang)["loading_statements"] if self._read_filing else ""
        if outcome is not None and outcome.error is not None:
            text = failed(outcome.error, self.lang)
        status = base.status(text) if text else ""
        self.history.value = status if history is None else history._repr_html_()

    def _draw(self) -> None:
        filing = self._read_filing
        self.tabs.layout.display = None if filing else "none"
        self._draw_history()
        self.panel.value = filing_panel.panel(self._shown(filing)) if filing else ""
        self.line.value = base.status(text) if (text := self._status()) else ""
        self._drawn()

    def _status(self) -> str:
        """Return the line below the controls: what is awaited, or what failed."""
        texts, work = words(self.lang), self._finding if self.value is None else self._reading
        if self._read_filing is not None:
            return ""
        if (outcome := work.outcome) is not None and outcome.error is not None:
            return failed(outcome.error, self.lang)
        if self.value is not None:
            return texts["loading_statements"]
        return "" if self._takes_names else texts["only_numbers"]

    @property
    def _takes_names(self) -> bool:
        """Whether units are found by their names."""
        return self._given or self._register._source.at_hand

    def _shown(self, filing: _ReadFiling) -> filing_panel.Shown:
        record = filing.record.row(0, named=True)
        name = record.get("nazovUJ") or words(self.lang)["unnamed"].format(id=self.value)
        return filing_panel.Shown(
            name=name,
            ico=record.get("ico") or "",
            filings=filing.filings,
            figures=None if self._years is None else self._years.figures,
            statement=filing.statement,
            forms=self._forms(filing),
            source=self._register._source_name(self.lang),
            lang=self.lang,
        )

    def _static(self) -> str:
        texts = words(self.lang)
        if self._read_filing is None:
            chosen = texts["nothing_chosen"] if self.value is None else str(self.value)
            return base.table(
                ["", ""], [[texts["unit"], chosen], [texts["year"], texts["nothing_chosen"]]]
            )
        shown = self._history() if self.tabs.selected_index == 1 else None
        return (
            filing_panel.static(self._shown(self._read_filing))
            if shown is None
            else shown._repr_html_()
        )
