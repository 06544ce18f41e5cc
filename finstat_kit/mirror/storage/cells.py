"""The cells of kept reports: one long table, written once, sorted by cell within each commit.

One item of many filings is what is asked for, so that the rows of a cell lie together and readers
skip all others. The record of a report keeps the lengths of its tables instead of them, and a
digest: both together give back every text as it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.frames.reports.cells import CellReader, Ints, values_of
from finstat_kit.mirror.storage.rows import FILLED, LENGTHS, TEXTS, digests
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import FormOf

STORED: Final = pl.Schema(
    {
        "template": pl.Int32(),
        "table": pl.Int16(),
        "row": pl.Int16(),  # null, as column is, where the report does not fit its template
        "column": pl.Int16(),
        "report_id": pl.Int64(),
        "place": pl.Int32(),  # within the table, as sent
        "value": pl.Float64(),  # null where the text is no number
        "raw": pl.String(),  # the text, where the value does not give it back
        "version": pl.Int64(),  # of the record
    }
)
ORDER: Final = ("template", "table", "row", "column", "report_id")
# The same in one number, which sorts six times as fast: the reports of a batch are in order.
_KEY: Final = (
    pl.col("template").cast(pl.Int64).fill_null(-1) * 2**42
    + pl.col("table").cast(pl.Int64) * 2**32
    + pl.col("row").cast(pl.Int64).fill_null(-1) * 2**16
    + pl.col("column").cast(pl.Int64).fill_null(-1)
)
_TABLES: Final = pl.List(pl.List(pl.String))
_WHOLE: Final = 2.0**53  # below it every whole number is a value of its own
_PIECE: Final = 1_000  # reports
_CENTS: Final = 10.0**13  # below it every number of cents is
_BITS: Final = 63  # of a number


def split(
    reports: pl.DataFrame, version: int, form_of: FormOf
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return records with what is kept instead of their tables, and their filled cells.

    Args:
        reports: Records as `reports.get` returns them.
        version: Of the batch.
        form_of: Returns a template, None where there is none.
    """
    # Most cells are blank, and take memory until they are left out.
    pieces = list(reports.iter_slices(_PIECE)) or [reports]
    records, cells = zip(*(_split(piece, version, form_of) for piece in pieces), strict=True)
    all_cells = pl.concat(cells)
    # Gathered, because to be sorted a frame is copied into one piece first.
    order = np.argsort(all_cells.select(_KEY).to_series().to_numpy(), kind="stable")
    return pl.concat(records), all_cells[order]


def _split(
    reports: pl.DataFrame, version: int, form_of: FormOf
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the same of a piece, with the cells report by report.

    A report of two tables, ``[["5", ""], ["", "7", "9", ""]]``, of which the first has one column
    and the second two, has three filled cells: of each the table, and its place there::

        table 0, place 0: row 0, column 0    table 1, place 1: row 0, column 1
                                             table 1, place 2: row 1, column 0
    """
    tables = reports[wire.TABLES].cast(_TABLES)
    lengths = tables.list.eval(pl.element().list.len()).cast(pl.List(pl.Int32)).alias(LENGTHS)
    # Table by table, then cell by cell; an empty list would leave a null behind.
    many = tables.list.len().fill_null(0).to_numpy()
    at = np.repeat(np.arange(len(many)), many)
    table = np.arange(len(at)) - np.searchsorted(at, at)
    held = tables.filter(pl.Series(many > 0, dtype=pl.Boolean))
    each = held.explode() if len(held) else pl.Series([], dtype=_TABLES.inner)
    # As Int64: numpy takes differences of other numbers for fractions.
    cells_of = each.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    widths = _widths(reports, tables.list.eval(pl.element().list.len()), form_of, at, table)
    owner = np.repeat(np.arange(len(at)), cells_of)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(cells_of) - cells_of, cells_of)
    some = each.filter(pl.Series(cells_of > 0, dtype=pl.Boolean))
    texts = some.explode() if len(some) else pl.Series([], dtype=pl.String)
    written = (texts != "").arg_true().to_numpy()
    texts, owner, place = texts.gather(written), owner[written], place[written]
    width = widths[owner]
    fits, values = width > 0, values_of(texts)
    row, column = np.divmod(place, np.maximum(width, 1))
    report = at[owner]
    cells = (
        pl.DataFrame(
            {
                "template": reports["idSablony"].gather(report),
                "table": table[owner],
                "row": row,
                "column": column,
                "report_id": reports["id"].gather(report),
                "place": place,
                "value": values,
                "raw": _raw(texts, values),
                "version": np.full(len(report), version),
                "fits": fits,
            }
        )
        .with_columns(pl.when("fits").then(name).alias(name) for name in ("row", "column"))
        .select(pl.col(name).cast(dtype) for name, dtype in STORED.items())
    )
    filled = _filled(widths, at, owner, column, reports.height)
    return reports.with_columns(lengths, _digests(tables), filled).drop(wire.TABLES), cells


def _digests(tables: pl.Series) -> pl.Series:
    """Return the digest of all texts of each report; their number is beside it."""
    texts = tables.list.eval(pl.element().list.join("\x1f")).list.join("\x1e").fill_null("")
    return digests(texts).alias(TEXTS)


def _filled(widths: Ints, at: Ints, owner: Ints, column: Ints, reports: int) -> pl.Series:
    """Return which columns of each report have a filled cell; see `FILLED`.

    Args:
        widths: Of each table.
        at: Of each table, the place of its report.
        owner: Of each filled cell, the place of its table.
        column: Of each filled cell, its column.
        reports: Their number.
    """
    columns = np.bincount(at, widths, reports)
    fits = (columns > 0) & (columns < _BITS)
    before = np.cumsum(widths) - widths
    place = column + (before - before[np.searchsorted(at, at)])[owner]
    own = fits[at[owner]]
    bits = np.zeros(reports, dtype=np.int64)
    np.bitwise_or.at(bits, at[owner[own]], np.left_shift(1, place[own]))
    return pl.Series(FILLED, bits).set(pl.Series(~fits), None)


def _widths(
    reports: pl.DataFrame, lengths: pl.Series, form_of: FormOf, at: Ints, table: Ints
) -> Ints:
    """Return the number of columns of each table, 0 where a report does not fit its template.

    Args:
        reports: Records.
        lengths: Cells of each table of each report.
        form_of: As of `split`.
        at: Of each table, the place of its report.
        table: Of each table, its place within the report.
    """
    unfit = CellReader(form_of).unfit(reports, lengths)["report_id"]
    templates = reports["idSablony"].set(reports["id"].is_in(unfit.implode()), None)
    widths = np.zeros(len(at), dtype=np.int64)
    for template in templates.drop_nulls().unique():
        form = form_of(template)
        assert form is not None  # reports fit it
        rows = np.flatnonzero((templates == template).fill_null(value=False).to_numpy()[at])
        widths[rows] = np.array([len(layout.columns) for layout in form.tables])[table[rows]]
    return widths


def _raw(texts: pl.Series, values: pl.Series) -> pl.Series:
    """Return the texts that their values do not give back, null elsewhere."""
    frame = pl.DataFrame({"raw": texts, "value": values})
    plain = pl.col("value").cast(pl.Int64, strict=False).cast(pl.String) == pl.col("raw")
    plain &= pl.col("value").abs() < _WHOLE
    # Most are whole numbers; the others are looked at by themselves.
    odd = frame.select(plain.fill_null(value=False).not_().arg_true()).to_series()
    looked_at = frame[odd].select(
        pl.when(text_of(pl.col("value")).ne_missing(pl.col("raw"))).then("raw")
    )
    return pl.repeat(None, len(texts), dtype=pl.String, eager=True).scatter(odd, looked_at["raw"])


def text_of(value: pl.Expr) -> pl.Expr:
    """Return the text that stands for a value where no other is kept: 5, -12, 3.50."""
    whole = value.cast(pl.Int64, strict=False).cast(pl.String)
    cents = (value.abs() * 100).round().cast(pl.Int64, strict=False)
    sign = pl.when(value < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    parts = (cents // 100).cast(pl.String), (cents % 100).cast(pl.String).str.zfill(2)
    decimal = pl.concat_str(sign, parts[0], pl.lit("."), parts[1])
    # Not by a division: with a number polars divides one row and many rows differently.
    exact = decimal.cast(pl.Float64, strict=False) == value
    return (
        pl.when((value == value.round()) & (value.abs() < _WHOLE)).then(whole)
        .when(exact & (value.abs() < _CENTS)).then(decimal)
    )  # fmt: skip


def joined(records: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Return records with their tables as they were sent.

    Args:
        records: With `LENGTHS` and ``version``.
        cells: The stored cells of these records, at least.

    Raises:
        MirrorError: Some cells are missing.
    """
    lengths: list[list[int | None] | None] = records[LENGTHS].to_list()
    flat = [sum(n or 0 for n in own_lengths or ()) for own_lengths in lengths]
    starts = np.concatenate([[0], np.cumsum(flat)])[:-1]
    offsets = [
        (at, table, int(starts[at]) + sum(n or 0 for n in (own_lengths or ())[:table]))
        for at, own_lengths in enumerate(lengths)
        for table in range(len(own_lengths or ()))
    ]
    schema = {"at": pl.Int64, "table": pl.Int16, "offset": pl.Int64}
    owners = records.select("id", "version", at=pl.int_range(pl.len()))
    own = cells.join(
        owners, left_on=["report_id", "version"], right_on=["id", "version"], how="inner"
    ).join(pl.DataFrame(offsets, schema=schema, orient="row"), on=["at", "table"], how="left")
    own = own.with_columns(text=pl.coalesce("raw", text_of(pl.col("value"))))
    texts = np.full(int(sum(flat)), "", dtype=object)
    texts[(own["offset"] + own["place"]).to_numpy()] = own["text"].to_numpy()
    all_texts = texts.tolist()
    tables = [
        _tables(all_texts, int(start), own_lengths)
        for start, own_lengths in zip(starts, lengths, strict=True)
    ]
    rebuilt = pl.Series(wire.TABLES, tables, dtype=_TABLES)
    damaged = records["id"].filter(_digests(rebuilt) != records[TEXTS])
    if len(damaged):
        raise MirrorError(
            f"the cells of report {damaged[0]} are not as they were received: a file is damaged; "
            "sync(full=True) requests what was in it, or pull(full=True) fetches it again where "
            "the mirror was pulled"
        )
    return records.with_columns(rebuilt).drop(LENGTHS, TEXTS, FILLED)


def _tables(
    texts: Sequence[str], start: int, lengths: Sequence[int | None] | None
) -> list[list[str] | None] | None:
    if lengths is None:
        return None
    tables: list[list[str] | None] = []
    for length in lengths:
        tables.append(None if length is None else list(texts[start : start + length]))
        start += length or 0
    return tables
