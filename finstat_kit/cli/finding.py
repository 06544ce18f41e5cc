"""The commands that look for something by name: `find`, and the `filings` of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import Output

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.arguments import Lang
    from finstat_kit.client.register import Register
    from finstat_kit.frames.places.locations import Level


@click.command()
@click.argument("text")
@click.option("--units", is_flag=True, help="Units, in a sample or a mirror, instead of places.")
@click.option("--level", type=click.Choice(["region", "district", "municipality"]))
@click.option("--limit", type=click.IntRange(1), help="No more units than this many; default: 20.")
@options.lang
@options.register
@options.output
def find(
    text: str,
    units: bool,
    level: Level | None,
    limit: int | None,
    lang: Lang | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Search places by name or code, or units by name or number; accents and case do not matter.

    Without --units, units are printed where no place has the name. They are printed as records,
    the best match first. Words of a name may be in any order; a
    number is an IČO, a DIČ or an id, which every register finds; matched_by tells which.
    """
    if units and (level, lang) != (None, None):
        raise click.UsageError("--level and --lang go with places")
    if limit is not None and not units:
        raise click.UsageError("--limit goes with --units")
    if units:
        output.write(_units_named(chosen(), text, limit))
        return
    reg = chosen()
    places = _places_named(reg, text, level, lang)
    if places.is_empty() and level is None:
        from finstat_kit.client.collections.collection import numbers_meant

        # No place is called so: the text may be a unit's name or number.
        if numbers_meant(text) or reg._session.source.has_names:
            records = _units_named(reg, text, limit)
            if records.height:
                click.echo("no place has this name: these are units", err=True)
                output.write(records)
                return
    output.write(places)


def _units_named(reg: Register, text: str, limit: int | None) -> pl.DataFrame:
    """Return the records of units that match a text, the columns to tell them by first."""
    records = reg.units.find(text, limit=limit or 20)
    first = ["id", "ico", "nazovUJ", "mesto", "matched_by"]
    return records.select(*first, *(name for name in records.columns if name not in first))


@click.command()
@click.argument("unit")
@options.filed_until
@options.max_requests
@options.register
@options.output
def filings(
    unit: str,
    filed_until: str | None,
    max_requests: int | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """List the filings of UNIT: an id, IČO or DIČ, or words of a name that only one unit has.

    The column form has the templates of the reports; a filing that does not count has a reason,
    or the statement that supersedes it.
    """
    from finstat_kit.client.collections.collection import unit_of

    reg = chosen()
    record = reg.units.get(unit_of(reg.units, unit, "unit"))
    filed = reg.filings(record, filed_until=filed_until, max_requests=max_requests)
    output.write(_with_forms(reg, filed))


def _with_forms(reg: Register, filed: pl.DataFrame) -> pl.DataFrame:
    """Return filings, the newest last, with the templates of their reports as text."""
    import polars as pl

    reports = reg.reports.get(filed["report_ids"].explode().drop_nulls(), errors="keep")
    form_of = reports.select(report_ids="id", form="idSablony").drop_nulls().unique("report_ids")
    listed = filed.select("statement_id", "report_ids").explode("report_ids")
    form = pl.col("form").unique().sort().cast(pl.String)
    forms = listed.join(form_of, on="report_ids").group_by("statement_id").agg(form)
    return filed.join(forms, on="statement_id", how="left", maintain_order="left").select(
        "year", "kind", pl.col("form").list.join(" "), "statement_id", "filed", "months",
        "superseded_by", "reason", "unit_id",
    )  # fmt: skip


def _places_named(reg: Register, text: str, level: Level | None, lang: Lang | None) -> pl.DataFrame:
    """Return the places of `Register.locations` with one name each, and the names above them.

    Returns:
        ``level``, ``code``, ``name``, ``district``, ``region``; all String. A place without a name
        in the language has the other one.
    """
    import polars as pl

    lang = reg._language(lang)
    other = "en" if lang == "sk" else "sk"
    name = pl.coalesce(f"name_{lang}", f"name_{other}").alias("name")
    names = reg.locations().select("code", name).unique("code", keep="first", maintain_order=True)
    places = reg.locations(text, level=level).drop("district", "region").with_columns(name)
    for part in ("district", "region"):
        above = names.rename({"code": f"{part}_code", "name": part})
        places = places.join(above, on=f"{part}_code", how="left", maintain_order="left")
    return places.select("level", "code", "name", "district", "region")
