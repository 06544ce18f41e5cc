"""The command that fetches figures of units: `financials`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import format_of, print_frame
from finstat_kit.cli.records import ids_given
from finstat_kit.errors import Interrupted, RegisterError, UsageError

if TYPE_CHECKING:
    from finstat_kit.frames.financials.items import Family


@click.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@click.option(
    "--year",
    "years",
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
    years: tuple[int, ...],
    items: str | None,
    family: Family | None,
    max_requests: int | None,
    chosen: options.Chosen,
    form: str | None,
    output: Path | None,
) -> None:
    """Print figures of units, one row per unit and year; "-" reads standard input, as `get` does.

    Without figures the column "reason" shows why. If the command ends early, the rows of the
    units finished before are written.
    """
    from finstat_kit.frames.financials.assemble import with_own_items

    form = format_of(form, output)
    ids = ids_given(id_, "units").unique(maintain_order=True)
    reg = chosen()
    try:
        figures = reg.financials(
            ids,
            years or None,
            items=None if items is None else items.split(","),
            max_requests=max_requests,
        )
    except UsageError:
        raise
    except (RegisterError, Interrupted) as error:
        rows = error.partial
        if rows is not None and "unit_id" in rows.columns and rows.height:
            print_frame(rows, form, output)
            done = rows["unit_id"].n_unique()
            click.echo(
                f"cut off after {done:,} units; to resume, give the ids from {ids[done]} on, "
                f"number {done + 1:,} of {ids.len():,}",
                err=True,
            )
        raise
    if family is not None:
        figures = figures.filter(family=family)
        if items is None:
            figures = with_own_items(figures, family)
    print_frame(figures, form, output)
