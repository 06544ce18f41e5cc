"""The command of figures: `financials`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import Output
from finstat_kit.cli.records import end_with

if TYPE_CHECKING:
    from finstat_kit.client.register import Register
    from finstat_kit.frames.financials.items import Family


@click.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@click.option(
    "--year",
    metavar="YEAR|latest",
    multiple=True,
    help="Year in which the period ends; may be repeated; default: all years. latest: the last one "
    "with figures of each unit.",
)
@click.option("--items", metavar="NAME,…", help="Only these items; default: all.")
@click.option(
    "--family",
    type=click.Choice(["business", "public", "non_profit", "single_entry"]),
    help="Only the items of this family of forms, of all rows.",
)
@click.option("--consolidated", is_flag=True, help="Consolidated statements, not individual ones.")
@options.max_requests
@options.register
@options.output
def financials(
    id_: tuple[str, ...],
    year: tuple[str, ...],
    items: str | None,
    family: Family | None,
    reg: Register,
    output: Output,
    **passed: options.Passed,
) -> None:
    """Print figures of units, one row per unit and year; "-" reads standard input, as `get` does.

    8 or 12 digits are an IČO, fewer than eight an id. Without figures the column "reason" shows
    why. If the command ends early, the rows of the units finished before are written. The exit code
    is 1 where a unit has no readable record, and where no unit has an IČO.
    """
    import polars as pl

    from finstat_kit.cli import reading
    from finstat_kit.frames.financials.assemble import schema
    from finstat_kit.frames.financials.chosen_items import chosen

    names = chosen(None if items is None else items.split(","), family)
    output.check(schema(names))
    units = reading.ids(id_, "units")
    years: Any = year[0] if len(year) == 1 else list(year) or None
    figures = output.fetch(lambda: reg.financials(units, years, items=names, **passed))
    reason, ico = figures["reason"], figures["ico"]
    # A record that can be read has a name or an IČO.
    is_bare = (reason == "unreadable") & figures["name"].is_null() & ico.is_null()
    lost = figures.filter(is_bare | (reason == "no_such_unit"))
    end_with(lost["unit_id"].cast(pl.String).fill_null(lost["ico"]).unique().sort())
