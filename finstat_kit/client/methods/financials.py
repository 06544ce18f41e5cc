"""From units to figures: filings, their reports, items by name, in one go."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from finstat_kit.arguments import not_polars
from finstat_kit.client.methods.filings import Filings, Given, Year, years_of
from finstat_kit.errors import UsageError
from finstat_kit.frames import financials as assembling, items as reading
from finstat_kit.frames.cells import CELLS, FormOf
from finstat_kit.frames.filings import chosen
from finstat_kit.progress import Advance
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import Form
from finstat_kit.protocol.shaped import KINDS


class Financials(Filings):
    """The methods of a register that give figures by their names."""

    def _now(self) -> Financials:
        return self

    def items(self, cells: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
        """Read named line items out of cells: the same figure on every form that has it.

        An item is a signed list of rows of one form. In an item of several rows a blank one counts
        as 0 when another is filled, or the sum row of their block; an item of nothing but blanks
        is null. Of the assets the net column is read. Forms 699, 687, 21 and 22 have items; where
        the register's own form has another caption than the package's, the item is null. Each
        form is requested once from ``/api/sablona``; without a register, or from a mirror, the
        captions are not compared.

        Args:
            cells: As `cells` returns them.

        Returns:
            One row per report, period and item: ``report_id`` (Int64), ``template`` (Int32),
            ``period`` (Enum ``current``, ``previous``), ``item`` (String), ``value`` (Float64,
            euro), ``table`` (Int16), ``rows`` (List of Int16, from 0: the key of the cells),
            ``terms`` (String, the same rows by their printed numbers: ``+3 +4 +5``) and ``reason``
            (Enum ``item_not_in_form``, ``caption_mismatch``; null for figures and for blanks).

        Raises:
            UsageError: No frame of cells.
            RegisterError: A form cannot be fetched.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [[""] * 312, [""] * 134, ["9", "", "", "", "5", "2", "", "", "3", "1"]]
            >>> tables[2] += [""] * 112
            >>> report = {"id": 1, "idSablony": 699, "tabulky": tables}
            >>> found = fk.items(fk.cells(pl.DataFrame([report])))
            >>> found.filter(item="sales").select("period", "value", "terms").rows()
            [('current', 8.0, '+3 +4 +5'), ('previous', 3.0, '+3 +4 +5')]
        """
        if isinstance(cells, pl.LazyFrame):
            cells = cells.collect()
        if not isinstance(cells, pl.DataFrame):
            raise not_polars("cells", cells)
        absent = [name for name in CELLS if name not in cells.columns]
        if absent:
            raise UsageError(f"cells: no column {absent[0]!r}; give what fk.cells returns")
        return reading.items_of(cells, self._live_forms())

    def financials(
        self,
        units: Given = None,
        year: Year = None,
        *,
        ico: str | None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch the figures of units: one row per unit and year, one column per item.

        The filing of each year is found as by `filings`, a regular one before an extraordinary
        one, the longer of two periods, never an interim one; then its reports are requested until
        the one with the tables is there. From ``/api/uctovna-zavierka``, ``/api/uctovny-vykaz``
        and ``/api/sablona``; `plan` returns the number of requests to expect.

        Args:
            units: Records of units, as `units.get` returns them, or ids of units.
            year: Year in which the period ends: one, several, or None for all.
            ico: In the place of *units*: all units that share this IČO.
            consolidated: The consolidated statements, in the place of the individual ones.
            from_previous: Add rows for the year before, from the previous-period column of each
                filing; ten years take five filings.
            max_requests: Maximum number of requests; None is 10,000 for a real host and no limit
                elsewhere.
            progress: Show a bar; None shows one for a real host in a notebook or on a terminal.

        Returns:
            By unit in the order given, then by year: ``unit_id`` (Int64), ``ico``, ``name``,
            ``kraj``, ``okres``, ``pravnaForma``, ``skNace``, ``velkostOrganizacie`` (String),
            ``year`` (Int32, of the end of the period), ``period_from``, ``period_to`` (Date),
            ``months``, ``periods_in_year`` (Int16), ``source_column`` (Enum ``current``,
            ``previous``), ``kind`` (String), ``consolidated`` (Boolean), ``filed`` (Date),
            ``supersedes`` (Int16, how many filings it corrects), ``statement_id``, ``report_id``
            (Int64; of two reports the balance sheet), ``template`` (Int32),
            ``currency`` (String, null where none is filed: euro), ``reason`` (Enum, null where
            there is a figure), ``sums_failing`` (Int32), ``balance_difference`` (Float64; both
            as by `check_reports`) and a column per item (Float64, euro; null where it is blank
            or the form has none): ``total_assets``, ``equity``, ``sales``, ``net_profit`` and
            the others of `items`.

        Raises:
            UsageError: Neither or both of *units* and *ico*, or more than *max_requests*.
            RegisterError, Interrupted: With ``.partial``, the rows of the units finished so far.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     money = fk.financials([365], year=[2014, 2015])
            >>> money.select("year", "template", "total_assets", "net_profit", "reason").rows()
            [(2014, 699, 29192.0, 1334.0, None), (2015, 699, 25269.0, 4898.0, None)]
        """
        now, years = self._now(), years_of(year)
        records = now._units_given(units, ico, years, max_requests)
        options = {"consolidated": consolidated, "from_previous": from_previous}
        if (found := now._figures_at_hand(records, years, **options)) is not None:
            return found
        form_of, live = now._forms_at_call(), now._live_forms()

        def finish(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
            taken = chosen(filed)
            listed = assembling.listed_reports(taken, now._reports_of(taken, advance))
            content = assembling.read(listed, form_of, live)
            return assembling.assembled(taken, chunk, listed, content, from_previous=from_previous)

        return now._by_chunks(records, years, finish, consolidated=consolidated, progress=progress)

    def _figures_at_hand(
        self,
        units: pl.DataFrame,
        years: Sequence[int] | None,
        *,
        consolidated: bool,
        from_previous: bool,
    ) -> pl.DataFrame | None:
        """Return the figures of units where no request is needed for them, None elsewhere."""
        return None

    def _reports_of(self, taken: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        """Fetch the reports of filings until the tables of each are there."""
        found = KINDS["reports"].frame([])
        while not (ids := assembling.next_reports(taken, found)).is_empty():
            more = self.reports.get(ids, errors="keep", max_requests=ids.len(), progress=False)
            advance(ids.len())
            found = pl.concat([found, more])
        return found

    def _live_forms(self) -> FormOf:
        """Return what looks up the register's own form; a mirror, or no register, has none."""
        try:
            now = self._now()
        except UsageError:
            return forms.shipped
        if now._own_session().at_hand is not None:
            return forms.shipped

        def live(template: int) -> Form | None:
            return now._form(template, refresh=False) or forms.shipped(template)

        return live
