"""The commands of ids, records and what is counted or found in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import Output
from finstat_kit.protocol.wire import BY_FIELD, CODELISTS

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.arguments import By, Lang
    from finstat_kit.client.collections.collection import Collection
    from finstat_kit.client.register import Register


@click.command()
@click.argument("name", type=click.Choice([name.replace("_", "-") for name in CODELISTS]))
@options.register
@options.output
def codelist(name: str, reg: Register, output: Output) -> None:
    """Print a codelist."""
    output.write(reg.codelist(name.replace("-", "_")))


@click.command()
@options.collection
@options.changed_since
@click.option("--after-id", type=int, default=0, metavar="ID", help="Only ids above this one.")
@click.option("--limit", type=click.IntRange(0), help="No more than this many.")
@options.register
@options.output
def ids(collection: str, reg: Register, output: Output, **passed: options.Passed) -> None:
    """Print ids."""
    from finstat_kit.protocol.requests import IDS

    output.check(IDS)
    listed: Collection = getattr(reg, collection)
    output.fetch(lambda: listed.ids(**passed))


@click.command()
@click.argument("file", type=options.FILE, required=False)
@click.option(
    "--by", type=click.Choice(list(BY_FIELD)), help="A table of the records in FILE by this code."
)
@options.collection
@options.changed_since
@options.lang
@options.register
@options.output
def count(
    file: Path | None,
    by: By | None,
    collection: str,
    changed_since: str | None,
    lang: Lang | None,
    reg: Register,
    output: Output,
) -> None:
    """Print how many ids the register has, or count the records of units in FILE by a code.

    "-" reads standard input: finstat-kit ids | finstat-kit get - | finstat-kit count - --by kraj
    """
    from finstat_kit.cli import reading

    if file is not None and by is not None and changed_since is None:
        output.write(reg.count_by(reading.table(file), by, lang=lang))
    elif file is not None or by is not None or lang is not None or output.given:
        raise click.UsageError(
            "FILE and --by go together, without --changed-since; --lang and options of the output "
            "go with them"
        )
    else:
        listed: Collection = getattr(reg, collection)
        click.echo(listed.count(changed_since=changed_since))


@click.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@options.collection
@options.max_requests
@options.register
@options.output
def get(
    id_: tuple[str, ...], collection: str, reg: Register, output: Output, **passed: options.Passed
) -> None:
    """Print records; "-" reads ids, or records and figures that name them, from standard input.

    Of units 8 or 12 digits are an IČO, fewer than eight an id. An id without a readable record has
    a row of its own; the exit code is 1 then. If the command ends early, the records fetched before
    are written.
    """
    import polars as pl

    from finstat_kit.cli import reading
    from finstat_kit.protocol.records import KINDS

    wanted = reading.ids(id_, collection)
    output.check(KINDS[collection].schema)
    listed: Collection = getattr(reg, collection)
    records = output.fetch(lambda: listed.get(wanted, errors="keep", **passed))
    end_with(records.filter(pl.all_horizontal(pl.exclude("id").is_null()))["id"])


@click.command()
@click.argument("text")
@click.option("--units", is_flag=True, help="Units, in a sample or a mirror, instead of places.")
@click.option(
    "--limit", type=click.IntRange(1), help="No more rows; default: 20 units, all places."
)
@options.register
@options.output
def find(text: str, units: bool, limit: int | None, reg: Register, output: Output) -> None:
    """Search places by name or code, or units by name or number; accents and case do not matter.

    The best match comes first. A number of a unit is an IČO, a DIČ or an id, which every register
    finds.
    """
    output.write(reg.units.find(text, limit=limit or 20) if units else reg.locations(text)[:limit])


def end_with(unreadable: pl.Series) -> None:
    """End with exit code 1 where ids have no readable record."""
    if unreadable.len():
        shown = ", ".join(map(str, unreadable.head(10)))
        click.echo(f"without a readable record: {unreadable.len():,}: {shown}", err=True)
        raise SystemExit(1)
