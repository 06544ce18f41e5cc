"""The commands that keep and describe a mirror: `sync`, `pull`, `news`, `mirror`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from finstat_kit import arguments
from finstat_kit.cli import options
from finstat_kit.cli.output import Output, harmless

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
    type=options.FILE,
    metavar="FILE",
    help="Keep the units in this list alone: ids, or a table with a column unit_id, id or ico.",
)
@click.option("--dry-run", is_flag=True, help="Print how many requests it takes, and end.")
@click.option("--budget", metavar="TIME", help="Stop after this time: 2h, 90s; a rerun resumes.")
@click.option("--full", is_flag=True, help="List everything again, and find missing records.")
@click.option("--anew", is_flag=True, help="Request everything again, where all runs are lost.")
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
    from finstat_kit.cli.reading import ids_in
    from finstat_kit.mirror.mirror import Mirror

    units = None if list_file is None else ids_in(list_file, "units")
    output.write(Mirror(folder, units=units, contents=contents, register=reg).sync(**passed))


@click.command()
@click.argument("url")
@click.argument("folder")
@click.option("--full", is_flag=True, help="Compare all bytes, and fetch what is damaged.")
@click.option("--anew", is_flag=True, help="Replace what is here, of whatever history.")
@click.option("--dry-run", is_flag=True, help="Print the report, and change nothing.")
@options.output
def pull(url: str, folder: str, output: Output, **passed: bool) -> None:
    """Copy the published mirror at URL into FOLDER, or what is new there."""
    from finstat_kit.mirror.mirror import Mirror

    output.write(Mirror(folder).pull(url, **passed))


@click.command()
@click.argument("folder")
@options.output
def news(folder: str, output: Output) -> None:
    """Print what is new in the mirror in FOLDER since this command last printed, and nothing else.

    The first call prints nothing: it notes what there is, in FOLDER.news.json, as each call does.
    """
    from finstat_kit.mirror.mirror import Mirror
    from finstat_kit.mirror.news import NEWS, written_since_mark

    output.check(NEWS)
    written_since_mark(Mirror(folder), output.write)


@click.command()
@click.argument("folder")
@click.option("--verify", is_flag=True, help="Look for damage; exit code 1 if there is any.")
@click.option(
    "--files",
    metavar="NEWEST.JSON",
    help="List the files that have to be at the place of a copy before this copy of newest.json.",
)
@options.output
def mirror(folder: str, verify: bool, files: str | None, output: Output) -> None:
    """Describe the mirror in FOLDER, verify it, or list the files of a copy."""
    from finstat_kit.mirror.mirror import Mirror

    if verify and files is not None:
        raise click.UsageError("--verify and --files are given one at a time")
    if output.given and not verify:
        raise click.UsageError("options of the output go with --verify")
    copy = Mirror(folder)
    if files is not None:
        from finstat_kit.mirror.published.pull import needed

        for path in needed(copy.path, arguments.file("files", files)):
            click.echo(path)
        return
    if not verify:
        click.echo(harmless(repr(copy)))
        return
    report = copy.verify()
    output.write(report)
    if report["damaged"].sum():  # a row with a meaning but without damage is a notice
        raise SystemExit(1)
