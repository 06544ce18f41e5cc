"""The commands that keep and describe a mirror: `sync`, `mirror`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import Output, harmless
from finstat_kit.cli.reading import FILE, ids_in

if TYPE_CHECKING:
    from pathlib import Path

    from finstat_kit.client.register import Register


@click.command()
@click.argument("folder")
@click.option(
    "--contents", is_flag=True, help="Keep the records of statements and reports too, from now on."
)
@click.option(
    "--units",
    "list_file",
    type=FILE,
    metavar="FILE",
    help="Keep the units in this list alone: ids, or a table with a column unit_id, id or ico.",
)
@click.option("--dry-run", is_flag=True, help="Print how many requests it takes, and end.")
@click.option("--budget", metavar="TIME", help="Stop after this time: 2h, 90s; a rerun resumes.")
@click.option("--full", is_flag=True, help="List everything again, and find missing records.")
@click.option("--anew", is_flag=True, help="Request everything again, where all runs are lost.")
@click.option("--max-missing", type=click.IntRange(0), help="Maximum number to mark as missing.")
@options.register
@options.output
def sync(
    folder: str,
    contents: bool,
    list_file: Path | None,
    reg: Register,
    output: Output,
    **passed: options.Passed,
) -> None:
    """Bring the mirror in FOLDER in step with the register, and print a report."""
    from finstat_kit.mirror.mirror import Mirror

    units = None if list_file is None else ids_in(list_file, "units")
    output.write(Mirror(folder, units=units, contents=contents, register=reg).sync(**passed))


@click.command()
@click.argument("folder")
@click.option("--verify", is_flag=True, help="Look for damage; exit code 1 if there is any.")
@options.output
def mirror(folder: str, verify: bool, output: Output) -> None:
    """Describe the mirror in FOLDER, or verify it."""
    from finstat_kit.mirror.mirror import Mirror

    if output.given and not verify:
        raise click.UsageError("options of the output go with --verify")
    copy = Mirror(folder)
    if not verify:
        click.echo(harmless(repr(copy)))
        return
    report = copy.verify()
    output.write(report)
    if report["damaged"].sum():  # a row with a meaning but without damage is a notice
        raise SystemExit(1)
