"""Reports to tidy cells, keyed by template, table, row and column, and why a report gives none.

A report has neither labels nor the number of its columns, so a wrong template would give plausible
nonsense: if the number of tables or the length of one does not fit the template, the whole report
gives no number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.errors import invalid
from finstat_kit.frames.reports.templates import MEASURE, PERIOD
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.given_frames import not_polars
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import Form, FormOf

CELLS: Final = pl.Schema(
    {
        "report_id": pl.Int64(),
        "template": pl.Int32(),
        "table": pl.Int16(),
        "row": pl.Int16(),
        "column": pl.Int16(),
        "number": pl.Int32(),
        "period": PERIOD,
        "measure": MEASURE,
        "value": pl.Float64(),
    }
)
_LABELS: Final = {"label_sk": pl.String(), "label_en": pl.String()}
TABLES: Final = pl.List(pl.List(pl.String))
_NEEDED: Final = ("id", "idSablony", wire.TABLES)
_SLICE: Final = 2_000  # reports whose cells are in memory as texts at a time
# Numbers as the register writes them: no separators, no exponent, no infinity.
_NUMBER: Final = r"^[-+]?[0-9]+(\.[0-9]+)?$"
_LARGEST: Final = 1e300  # sums and ratios of smaller numbers are finite
Ints = NDArray[np.int64]
# In order of priority: if several apply, the first is given.
REASONS: Final = (
    "no_such_unit",
    "deleted",
    "non_public",
    "unreadable",
    "not_held",
    "not_own",
    "no_filing",
    "interim_only",
    "other_kind",
    "period_mismatch",
    "no_filing_for_year",
    "attachments_only",
    "no_content",
    "template_missing",
    "template_mismatch",
    "no_tables_in_template",
    "length_mismatch",
    "ambiguous",
    "not_a_number",
    "all_blank",
    "other_currency",
    "caption_mismatch",
    "item_not_in_form",
)
REASON: Final = pl.Enum(REASONS)
REASON_TEXTS: Final = Words("reasons")
NO_NUMBER: Final = pl.Schema({"report_id": pl.Int64(), "table": pl.Int16(), "reason": REASON})
_REFUSED: Final = pl.Schema({"place": pl.Int64(), "table": pl.Int16(), "reason": REASON})
# The columns of records that are read if present.
RECORD_COLUMNS: Final = (
    "id", "idSablony", wire.TABLES, wire.STATE, "pristupnostDat", "prilohy", wire.CHANGED,
)  # fmt: skip


class _Layout(NamedTuple):
    """The cells of a form, in the order of a report's tables."""

    lengths: list[int]  # cells of each table
    cells: pl.DataFrame  # one row per cell: its key, its meaning, its labels


def schema_of_cells(*, labels: bool) -> pl.Schema:
    """Return the columns of cells."""
    return pl.Schema({**CELLS, **_LABELS}) if labels else CELLS


def checked(reports: object, name: str = "reports") -> pl.Schema:
    """Return the columns of a frame of reports; refuse a frame without the columns of cells.

    Args:
        reports: The frame.
        name: The argument that it was given as.
    """
    if not isinstance(reports, pl.DataFrame | pl.LazyFrame):
        raise not_polars(name, reports)
    schema = reports.collect_schema()
    missing = [column for column in _NEEDED if column not in schema]
    if missing:
        raise invalid(
            name,
            ...,
            f": the frame has no column {missing[0]!r}",
            give=f"records as fk.reports.get returns them, with {list(_NEEDED)} at least",
        )
    for column, fits in (
        ("id", schema["id"].is_integer()),
        ("idSablony", schema["idSablony"].is_integer() or schema["idSablony"] == pl.Null),
        (wire.TABLES, schema[wire.TABLES] in (TABLES, pl.Null)),
    ):
        if not fits:
            fault = f": the column {column!r} is {schema[column]}, which records never have"
            raise invalid(name, ..., fault)
    return schema


def some_reports_lack_numbers(cells: pl.DataFrame, without: pl.DataFrame) -> bool:
    """Return whether a report gave no number or has an unreadable cell; blank tables are fine."""
    if without.is_empty():
        return False
    blank = without["reason"] == "all_blank"
    return not blank.all() or not without["report_id"].is_in(cells["report_id"].implode()).all()


class CellReader:
    """Reads the cells of reports, slice by slice; a form is looked up when a report needs it."""

    def __init__(self, form_of: FormOf, *, labels: bool = False, blanks: bool = False) -> None:
        self._form_of = form_of
        self._blanks = blanks
        self._schema = schema_of_cells(labels=labels)
        self._layouts: dict[int, _Layout | None] = {}

    def read(self, reports: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the cells of reports, and the reports and tables that gave no number."""
        parts = [self._slice(part) for part in reports.iter_slices(_SLICE)]
        cells = pl.concat([pl.DataFrame(schema=self._schema), *(cells for cells, _ in parts)])
        return cells, pl.concat([pl.DataFrame(schema=NO_NUMBER), *(none for _, none in parts)])

    def unfit(self, reports: pl.DataFrame, sizes: pl.Series) -> pl.DataFrame:
        """Return the reports and tables that give no number, whatever their cells contain.

        Args:
            reports: Records; whether they have tables is read, but not the tables.
            sizes: Number of cells of each table of each report.
        """
        refusals = Refusals(reports["id"].cast(pl.Int64))
        self._fitting(reports, sizes, refusals)
        return refusals.frame()

    def _slice(self, reports: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        tables = reports[wire.TABLES].cast(TABLES)
        refusals = Refusals(reports["id"].cast(pl.Int64))
        sizes = tables.list.eval(pl.element().list.len())
        fitting = self._fitting(reports, sizes, refusals)
        cells = self._cells(reports, tables, fitting, refusals)
        return cells, refusals.frame()

    def _fitting(
        self, reports: pl.DataFrame, sizes: pl.Series, refusals: Refusals
    ) -> list[tuple[Ints, _Layout]]:
        """Return the reports that fit their template, form by form, and refuse the others."""
        has_tables = sizes.list.len().fill_null(0).to_numpy() > 0
        for reason, applies in reasons_by_record(reports, has_tables):
            refusals.add(reason, applies)
        fitting: list[tuple[Ints, _Layout]] = []
        templates = reports["idSablony"].cast(pl.Int64)
        refusals.add("template_missing", templates.is_null().to_numpy())
        numbers, tables = templates.fill_null(-1).to_numpy(), sizes.list.len().to_numpy()
        for template in np.unique(numbers[~refusals.refused]).tolist():
            of_template = (numbers == template) & ~refusals.refused
            layout = self._layout(template)
            if layout is None:
                refusals.add("template_missing", of_template)
            elif not layout.lengths:
                refusals.add("no_tables_in_template", of_template)
            else:
                wrong = tables != len(layout.lengths)
                refusals.add("template_mismatch", of_template & wrong)
                rows = np.flatnonzero(of_template & ~wrong)
                lengths = _lengths(sizes.gather(rows), len(layout.lengths))
                unfit = lengths != np.asarray(layout.lengths)
                for table in range(len(layout.lengths)):
                    refusals.add_table("length_mismatch", rows[unfit[:, table]], table)
                rows = rows[~unfit.any(axis=1)]
                fitting.append((rows, layout))
        return fitting

    def _layout(self, template: int) -> _Layout | None:
        if template not in self._layouts:
            form = self._form_of(template)
            self._layouts[template] = None if form is None else _layout(template, form)
        return self._layouts[template]

    def _cells(
        self,
        reports: pl.DataFrame,
        tables: pl.Series,
        fitting: list[tuple[Ints, _Layout]],
        refusals: Refusals,
    ) -> pl.DataFrame:
        """Read the reports that fit, in the order given."""
        if not any(len(rows) for rows, _ in fitting):
            return pl.DataFrame(schema=self._schema)
        meanings = pl.concat([layout.cells for _, layout in fitting])
        heights = [layout.cells.height for _, layout in fitting]
        numbers = np.split(np.arange(meanings.height), np.cumsum(heights)[:-1])
        order = sorted((row, n) for n, (rows, _) in enumerate(fitting) for row in rows.tolist())
        # For each text of the reports: the cell among those of all forms, and the report.
        cells = np.concatenate([numbers[n] for _, n in order])
        rows = np.array([row for row, _ in order])
        report = np.repeat(rows, [heights[n] for _, n in order])
        texts = _one_after_the_other(tables.gather(rows), [layout for _, layout in fitting])
        if not self._blanks:
            filled = (texts != "").arg_true().to_numpy()
            texts, cells, report = texts.gather(filled), cells[filled], report[filled]
        values = values_of(texts)
        names = [name for name in self._schema.names() if name in meanings.columns]
        frame = meanings.lazy().select(pl.col(names).gather(cells)).collect()
        _note_tables(refusals, fitting, report, frame["table"].to_numpy(), texts, values)
        ids = reports["id"].cast(pl.Int64).gather(report).alias("report_id")
        return frame.with_columns(ids, values.alias("value")).select(self._schema.names())


def _note_tables(
    refusals: Refusals,
    fitting: list[tuple[Ints, _Layout]],
    report: Ints,
    table: Ints,
    texts: pl.Series,
    values: pl.Series,
) -> None:
    """Record the tables with an unreadable cell, and those without a filled one."""
    shape = (len(refusals.refused), max(len(layout.lengths) for _, layout in fitting))
    key = report * shape[1] + table
    filled = (texts != "").fill_null(value=False).to_numpy()
    unreadable = filled & values.is_null().to_numpy()
    odd = np.bincount(key[unreadable], minlength=shape[0] * shape[1]).reshape(shape)
    full = np.bincount(key[filled], minlength=shape[0] * shape[1]).reshape(shape)
    for rows, layout in fitting:
        for number in range(len(layout.lengths)):
            refusals.add_table("not_a_number", rows[odd[rows, number] > 0], number)
            refusals.add_table("all_blank", rows[full[rows, number] == 0], number)


def _layout(template: int, form: Form) -> _Layout:
    rows = [
        (
            template, number, index, column, row.number, head.period, head.measure,
            row.label_sk, row.label_en,
        )
        for number, table in enumerate(form.tables)
        for index, row in enumerate(table.rows)
        for column, head in enumerate(table.columns)
    ]  # fmt: skip
    names = [name for name in CELLS if name not in ("report_id", "value")]
    schema = {name: CELLS[name] for name in names} | _LABELS
    cells = pl.DataFrame(rows, schema=schema, orient="row")
    return _Layout([table.cells for table in form.tables], cells)


def layout_of(forms: Mapping[int, Form], schema: pl.Schema) -> pl.DataFrame:
    """Return the meaning of the cells of some forms, one row per cell with its template."""
    names = [name for name in schema if name not in ("report_id", "value")]
    empty = pl.DataFrame(schema={name: schema[name] for name in names})
    layouts = [_layout(template, form) for template, form in forms.items()]
    return pl.concat([empty, *(layout.cells.select(names) for layout in layouts)])


def _lengths(sizes: pl.Series, tables: int) -> Ints:
    """Return the number of cells of each table of some reports, one row per report."""
    lengths = sizes.explode().fill_null(0) if len(sizes) else pl.Series([], dtype=pl.Int64)
    return lengths.to_numpy().astype(np.int64).reshape(-1, tables)


def _one_after_the_other(tables: pl.Series, layouts: list[_Layout]) -> pl.Series:
    """Return the cells of all tables of some reports in one column."""
    if any(0 in layout.lengths for layout in layouts):
        # An empty list would explode to a null and shift all cells after it.
        tables = tables.list.eval(pl.element().filter(pl.element().list.len() > 0))
    return tables.explode().explode()


def values_of(texts: pl.Series) -> pl.Series:
    """Return texts as numbers, null for other texts: the only place where numbers are read."""
    whole = texts.cast(pl.Int64, strict=False)
    values = whole.cast(pl.Float64)
    rest = whole.is_null().arg_true()
    if not len(rest):
        return values
    odd = texts.gather(rest)
    numbers = odd.set(~odd.str.contains(_NUMBER), None).cast(pl.Float64, strict=False)
    return values.scatter(rest, numbers.set(numbers.abs() >= _LARGEST, None))


class Refusals:
    """The reports and tables of a slice that gave no number, each with its first reason."""

    def __init__(self, ids: pl.Series) -> None:
        self._ids = ids
        self.refused = np.zeros(len(ids), dtype=np.bool_)
        self._parts = [pl.DataFrame(schema=_REFUSED)]

    def add(self, reason: str, applies: NDArray[np.bool_]) -> None:
        """Record a reason for reports without an earlier one."""
        rows = np.flatnonzero(applies & ~self.refused)
        self.refused[rows] = True
        self.add_table(reason, rows, None)

    def add_table(self, reason: str, rows: Ints, table: int | None) -> None:
        """Record a reason for a table of some reports; None is the whole report."""
        if len(rows):
            places = pl.DataFrame({"place": rows})
            columns = {"table": pl.lit(table, pl.Int16), "reason": pl.lit(reason, REASON)}
            self._parts.append(places.with_columns(**columns))

    def frame(self) -> pl.DataFrame:
        """Return the reasons in the order of the reports."""
        rows = pl.concat(self._parts).sort(_REFUSED.names(), maintain_order=True)
        ids = self._ids.gather(rows["place"]).alias("report_id")
        return rows.select(ids, "table", "reason")


def reasons_by_record(
    reports: pl.DataFrame, has_tables: NDArray[np.bool_]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the reasons visible in a record alone, in their order, and where each applies."""
    columns = reports.columns
    state = pl.col(wire.STATE) if wire.STATE in columns else pl.lit(None, pl.String)
    access = pl.col("pristupnostDat") if "pristupnostDat" in columns else pl.lit(None, pl.String)
    hidden = state.cast(pl.String).str.to_lowercase() == "neverejná"
    closed = access.cast(pl.String).str.to_lowercase() == "neverejné"
    bare = pl.Series("bare", ~has_tables)
    applies = {
        "deleted": state.cast(pl.String).str.to_lowercase() == "zmazané",
        "non_public": hidden.fill_null(value=False) | closed.fill_null(value=False),
    }
    if wire.CHANGED in columns:
        # A missing or broken record is a row with only its id.
        others = pl.all_horizontal(
            pl.col(n).is_null() for n in RECORD_COLUMNS if n in columns and n != "id"
        )
        applies["unreadable"] = others & bare
    if "prilohy" in columns and reports.schema["prilohy"] != pl.Null:
        applies["attachments_only"] = (pl.col("prilohy").list.len() > 0) & bare
    applies["no_content"] = pl.lit(bare)
    rows = reports.select(bare, **{name: e.fill_null(value=False) for name, e in applies.items()})
    for reason in applies:
        yield reason, rows[reason].to_numpy()
