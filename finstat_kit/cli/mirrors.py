"""The commands that keep and describe a mirror: `sync`, `mirror`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options, reading
from finstat_kit.cli.output import Output, harmless

if TYPE_CHECKING:
    from finstat_kit.client.register import Register


@click.command()
@click.argument("folder")
@click.option(
    "--changed-since", metavar="YYYY-MM-DD", help="A new mirror: only changes since this day."
)
@click.option(
    "--contents", is_flag=True, help="Keep the records of statements and reports too, from now on."
)
@click.option(
    "--only",
    type=reading.FILE,
    help="Contents of these units only, from now on: a file of their ids or records.",
)
@click.option("--budget", metavar="TIME", help="Stop after this time: 2h, 90s; a rerun resumes.")
@click.option("--full", is_flag=True, help="Fetch everything again, and find missing records.")
@click.option("--max-missing", type=click.IntRange(0), help="Maximum number to mark as missing.")
@options.register
@options.output
def sync(
    folder: str,
    changed_since: str | None,
    contents: bool,
    only: Path | None,
    reg: Register,
    output: Output,
    **passed: options.Passed,
) -> None:
    """Bring the mirror in FOLDER in step with the register, and print a report."""
    from finstat_kit.mirror.mirror import Mirror

    units = None if only is None else reading.ids_in(only, "units")
    copy = Mirror(folder, changed_since=changed_since, contents=contents, only=units, register=reg)
    output.write(copy.sync(**passed))


@click.command()
@click.argument("folder")
@click.option("--verify", is_flag=True, help="Look for damage; exit code 1 if there is any.")
@click.option("--compact", is_flag=True, help="Merge small files.")
@options.output
def mirror(folder: str, verify: bool, compact: bool, output: Output) -> None:
    """Describe the mirror in FOLDER, verify or compact it."""
    from finstat_kit.mirror.mirror import Mirror

    if output.given and not verify:
        raise click.UsageError("options of the output go with --verify")
    copy = Mirror(folder)
    if compact:
        copy.compact()
    if not verify:
        click.echo(harmless(repr(copy)))
        return
    report = copy.verify()
    output.write(report)
    if report["damaged"].sum():  # a row with a meaning but without damage is a notice
        raise SystemExit(1)
