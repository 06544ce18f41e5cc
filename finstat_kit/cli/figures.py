"""The command of figures: `financials`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import click

from finstat_kit.arguments import LATEST
from finstat_kit.cli import options, reading
from finstat_kit.cli.output import Output
from finstat_kit.cli.records import end_with

if TYPE_CHECKING:
    from finstat_kit.client.methods.financials import Year
    from finstat_kit.client.register import Register
    from finstat_kit.frames.financials.items import Family


_NUMBER: Final = click.IntRange(1990, 2100)


def _years(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> Literal["latest"] | list[int] | None:
    """Return the years of an option that may be repeated."""
    if LATEST in given:
        if len(given) > 1:
            raise click.BadParameter(f"{LATEST!r} stands alone", ctx, param)
        return LATEST
    return [int(_NUMBER(text, param, ctx)) for text in given] or None


@click.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@click.option(
    "--year",
    callback=_years,
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
@click.option(
    "--from-previous",
    is_flag=True,
    help="Also rows for the period before, from the previous-period column of each filing.",
)
@click.option(
    "--activity",
    type=click.Choice(["total", "main", "business"]),
    default="total",
    show_default=True,
    help="Column of costs and revenue of a public body or a non-profit.",
)
@click.option(
    "--filed-until",
    metavar="YYYY-MM-DD",
    help="As known on this day: without what was filed later, corrections too.",
)
@options.max_requests
@options.register
@options.output
def financials(
    id_: tuple[str, ...],
    year: Year,
    items: str | None,
    family: Family | None,
    reg: Register,
    output: Output,
    **passed: options.Passed,
) -> None:
    """Print figures of units, one row per unit and year; "-" reads standard input, as `get` does.

    8 or 12 digits are an IČO, fewer than eight an id. Without figures the column "reason" shows
    why. If the command ends early, the rows of the units finished before are written. The exit code
    is 1 where a unit has no readable record.
    """
    from finstat_kit.frames.financials.assemble import schema
    from finstat_kit.frames.financials.chosen_items import chosen

    names = chosen(None if items is None else items.split(","), family)
    output.check(schema(names))
    units = reading.ids(id_, "units")
    figures = output.fetch(lambda: reg.financials(units, year, items=names, **passed))
    # A record that can be read has a name or an IČO.
    bare = figures.filter(figures["name"].is_null(), figures["ico"].is_null(), reason="unreadable")
    end_with(bare["unit_id"].unique().sort())
