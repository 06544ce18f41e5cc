"""The command that fetches figures of units: `financials`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import Output, cut_off
from finstat_kit.cli.records import ids_given
from finstat_kit.errors import Interrupted, RegisterError, UsageError

if TYPE_CHECKING:
    from finstat_kit.frames.financials.items import Family


@click.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@click.option(
    "--year",
    type=click.IntRange(1990, 2100),
    multiple=True,
    help="Year in which the period ends; may be repeated; default: all years.",
)
@click.option(
    "--items",
    help="Only these items, such as sales,net_profit; default: all.",
    metavar="NAME,…",
)
@click.option(
    "--family",
    type=click.Choice(["business", "public", "non_profit", "single_entry"]),
    help="Only rows of forms of this family, with its items.",
)
@options.max_requests
@options.register
@options.output
def financials(
    id_: tuple[str, ...],
    year: tuple[int, ...],
    items: str | None,
    family: Family | None,
    max_requests: int | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Print figures of units, one row per unit and year; "-" reads standard input, as `get` does.

    Without figures the column "reason" shows why. If the command ends early, the rows of the
    units finished before are written.
    """
    from finstat_kit.frames.financials import items as items_of
    from finstat_kit.frames.financials.assemble import schema

    wanted = None if items is None else items.split(",")
    if family is not None and wanted is None:
        wanted = items_of.of_families([family])
    output.check(schema(items_of.chosen(wanted)).names())
    if output.columns is not None:  # an item that no filing has is a column too
        wanted = [name for name in items_of.chosen(wanted) if name in output.columns] or None
    ids = ids_given(id_, "units").unique(maintain_order=True)
    reg = chosen()
    try:
        figures = reg.financials(ids, year or None, items=wanted, max_requests=max_requests)
    except UsageError:
        raise
    except (RegisterError, Interrupted) as error:
        rows = error.partial
        if rows is not None and "unit_id" in rows.columns and rows.height:
            output.write(rows)
            done = rows["unit_id"].n_unique()
            cut_off(f"{done:,} units", ids, done)
        raise
    if family is not None:
        figures = figures.filter(family=family)
    output.write(figures)
