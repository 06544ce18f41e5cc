"""Units by their numbers: the ids behind IČO and DIČ, and the records of units that were given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import polars as pl

from finstat_kit import given_frames
from finstat_kit.client.collections.fetching import get_records, refuse_long_work, requests_for
from finstat_kit.client.collections.listing import not_listed
from finstat_kit.client.source import ANY, Allowance, Source
from finstat_kit.errors import NotFound, NotHeld
from finstat_kit.given_units import given_units
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

NUMBERS: Final = pl.Schema({"kind": pl.String(), "number": pl.String(), "id": pl.Int64()})
INVENTED: Final = "names and numbers are invented here"
_MOST_SHOWN: Final = 5  # IČO in an error


def lookups(source: Source, given: pl.DataFrame) -> int:
    """Return how many requests the ids behind the IČO of given units take."""
    return 0 if source.session.replayed else given["ico"].drop_nulls().n_unique()


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
    source: Source,
    given: pl.DataFrame,
    allowance: Allowance = ANY,
    *,
    null_rows: bool,
) -> pl.DataFrame:
    """Return the records of given units, in their order; see `Units.get`.

    Args:
        source: What answers.
        given: What `given_units` returns.
        allowance: What it may take.
        null_rows: Whether an id without a record, or an IČO of nobody, is a row of itself.
    """
    number = lookups(source, given)
    if number:
        others = given["id"].drop_nulls().unique(maintain_order=True).to_list()
        # As a rule an IČO is that of one unit: what it takes beyond is not counted.
        expected = 2 * number + requests_for(source, KINDS["units"], others)
        refuse_long_work(source, expected, allowance.max_requests)
        allowance = allowance._replace(max_requests=wire.MAX_ID)
    found = looked_up(source, given, allowance.progress)
    ids = found["id"].drop_nulls()
    icos = found.filter(pl.col("id").is_null())["ico"].to_list()
    try:
        records = get_records("units", ids, source, allowance, null_rows=null_rows)
    except NotFound as error:
        if icos:
            error.message += f"; {_of_nobody(icos)}"
        raise
    if not icos:
        return records
    if not null_rows:
        raise no_such_units(source, icos, records)
    places = found.with_row_index("place")
    of_ids = records.with_columns(places.drop_nulls("id")["place"])
    of_nobody = places.filter(pl.col("id").is_null()).select("place", "ico")
    rows = pl.concat([of_ids, of_nobody], how="diagonal").sort("place")
    return rows.select(records.columns)


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


def no_such_units(
    source: Source, icos: Sequence[str], partial: pl.DataFrame | None = None
) -> NotFound | NotHeld:
    """Return the error for IČO of no unit."""
    if (given := source.part().given) is not None:
        return not_listed(given, f"has {_of_nobody(icos, 'no unit with')}")
    none = pl.Series("id", [], pl.Int64)
    cure = INVENTED if source.invented else ""
    if partial is not None and partial.height:
        cure = "the others are in .partial of this error" + ("; " + cure if cure else "")
    return NotFound(
        _of_nobody(icos) + source.why_missing("units", none), cure=cure, partial=partial
    )


def _of_nobody(icos: Sequence[str], nobody: str = "no unit has") -> str:
    unique = list(dict.fromkeys(icos))
    more = " …" if len(unique) > _MOST_SHOWN else ""
    return f"{nobody} the IČO {', '.join(map(repr, unique[:_MOST_SHOWN]))}{more}"
