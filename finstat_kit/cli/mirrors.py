"""The commands that keep and describe a mirror: `sync`, `mirror`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options, reading
from finstat_kit.cli.output import Output, harmless

if TYPE_CHECKING:
    from finstat_kit.mirror.mirror import Mirror


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--changed-since", metavar="YYYY-MM-DD", help="A new mirror: only changes since this day."
)
@click.option(
    "--contents", is_flag=True, help="Keep the records of statements and reports too, from now on."
)
@click.option(
    "--only",
    type=reading.file,
    help="Contents of these units only, from now on: a file of their ids or records.",
)
@click.option("--budget", metavar="TIME", help="Stop after this time: 2h, 90s; a rerun resumes.")
@click.option("--full", is_flag=True, help="Fetch everything again, and find missing records.")
@click.option("--max-missing", type=click.IntRange(0), help="Maximum number to mark as missing.")
@options.register
@options.output
def sync(
    folder: Path,
    changed_since: str | None,
    contents: bool,
    only: Path | None,
    budget: str | None,
    full: bool,
    max_missing: int | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Bring the mirror in FOLDER in step with the register, and print a report."""
    from finstat_kit import arguments

    arguments.refuse_url("path", folder)
    options.refuse_missing(folder.parent)
    from finstat_kit.mirror.mirror import Mirror

    units = None if only is None else reading.ids_in(only, "units")
    copy = Mirror(
        folder, changed_since=changed_since, contents=contents, only=units, register=chosen()
    )
    output.write(copy.sync(full=full, max_missing=max_missing, budget=budget))
    if budget is not None and _is_unfinished(copy):
        click.echo("the time is over; run the same command again to resume", err=True)


def _is_unfinished(copy: Mirror) -> bool:
    """Return whether lists or records are left to be fetched; unreadable ones are not."""
    folder = copy._folder
    if folder.runs.open() is not None or not folder.runs.newest_number():
        return True
    return bool(copy.holdings()["lacking"].sum() > copy.unreadable().height)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--verify", is_flag=True, help="Look for damage; exit code 1 if there is any.")
@click.option("--compact", is_flag=True, help="Merge small files.")
@options.output
def mirror(folder: Path, verify: bool, compact: bool, output: Output) -> None:
    """Describe the mirror in FOLDER, verify or compact it."""
    from finstat_kit import arguments

    if output.given and not verify:
        raise click.UsageError("options of the output go with --verify")
    arguments.refuse_url("path", folder)
    options.refuse_missing(folder)
    from finstat_kit.mirror.mirror import Mirror

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
