"""Units by their numbers: the ids behind IČO and DIČ, and the records of units that were given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl

from finstat_kit import given_frames
from finstat_kit.client.collections.fetching import get_records, refuse_long_work, requests_for
from finstat_kit.client.source import ANY, Allowance, Source
from finstat_kit.errors import NotFound, warn
from finstat_kit.given_units import given_units
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

NUMBERS: Final = pl.Schema({"kind": pl.String(), "number": pl.String(), "id": pl.Int64()})
INVENTED: Final = "names and numbers are invented here"
_MOST_SHOWN: Final = 5  # IČO in an error


def lookups(given: pl.DataFrame) -> int:
    """Return how many requests the ids behind the IČO of given units take."""
    return given["ico"].drop_nulls().n_unique()


def looked_up(source: Source, given: pl.DataFrame, progress: bool | None = None) -> pl.DataFrame:
    """Return given units by their ids, in their order; of an IČO all units that share it.

    Args:
        source: What answers.
        given: What `given_units` returns.
        progress: Whether a bar is shown.

    Returns:
        ``id`` and ``ico`` (null where the id was given); an IČO that nobody has is a row without
        an id.
    """
    icos = given["ico"].drop_nulls().unique(maintain_order=True).to_list()
    if not icos:
        return given
    rows = source.numbered([("ico", ico) for ico in icos], progress)
    found = pl.DataFrame(rows, NUMBERS, orient="row")
    return given.join(
        found.select("id", ico="number"), on="ico", how="left", maintain_order="left_right"
    ).select(pl.coalesce("id", "id_right").alias("id"), "ico")


def records_of_given(
    source: Source, given: pl.DataFrame, allowance: Allowance = ANY, *, null_rows: bool
) -> pl.DataFrame:
    """Return the records of given units, in their order; see `Units.get`.

    Args:
        source: What answers.
        given: What `given_units` returns.
        allowance: What it may take.
        null_rows: Whether an id without a record is a row of itself, and an IČO that no unit has is
            warned of.
    """
    number = lookups(given)
    if number:
        others = given["id"].drop_nulls().unique(maintain_order=True).to_list()
        # As a rule an IČO is that of one unit: what it takes beyond is not counted.
        expected = 2 * number + requests_for(source, KINDS["units"], others)
        refuse_long_work(source, expected, allowance.max_requests)
        allowance = allowance._replace(max_requests=wire.MAX_ID)
    found = looked_up(source, given, allowance.progress)
    fault = fault_of_nobody(source, found)
    try:
        ids = found["id"].drop_nulls()
        records = get_records("units", ids, source, allowance, null_rows=null_rows)
    except NotFound as error:
        error.message += f"; {fault}" if fault else ""
        raise
    if fault and null_rows:
        warn(fault)
    elif fault:
        cure = "the others are in .partial of this error" if records.height else ""
        raise NotFound(fault, cure=cure, partial=records)
    return records


def records_given(
    source: Source, units: object, name: str, columns: Collection[str]
) -> pl.DataFrame:
    """Return the records of units: a frame with some columns as it is, or fetched ones, each once.

    Args:
        source: What answers.
        units: What `given_units` takes.
        name: Name of the argument.
        columns: Those that make a frame one of records.
    """
    units = given_frames.polars_of(name, units)
    if isinstance(units, pl.DataFrame | pl.LazyFrame) and {*columns} <= {*units.collect_schema()}:
        return units.lazy().collect()
    records = records_of_given(source, given_units(units, name), null_rows=False)
    return records.unique("id", keep="first", maintain_order=True)


def fault_of_nobody(source: Source, found: pl.DataFrame) -> str:
    """Return which IČO of units that were looked up no unit has; "" where each has one."""
    absent = found.filter(pl.col("id").is_null())["ico"].unique(maintain_order=True)
    if not absent.len():
        return ""
    shown = ", ".join(map(repr, absent.head(_MOST_SHOWN))) + " …" * (absent.len() > _MOST_SHOWN)
    invented = f"; {INVENTED}" if source.invented else ""
    return f"no unit has the IČO {shown}{source.why_missing('units', found['id'])}{invented}"
