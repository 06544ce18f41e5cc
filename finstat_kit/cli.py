"""The command ``finstat-kit``. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import sys

import click

from finstat_kit.checks import Lang
from finstat_kit.errors import RegisterError, UsageError

_LANG = click.option(
    "--lang",
    type=click.Choice(["sk", "en"]),
    default="sk",
    show_default=True,
    help="Language of labels and numbers.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="finstat-kit")
def cli() -> None:
    """Ask Slovakia's Register of Financial Statements."""


@cli.command()
@_LANG
@click.option("--changed-since", default="2026-01-01", show_default=True, metavar="YYYY-MM-DD")
def demo(lang: Lang, changed_since: str) -> None:
    """Show the main job on invented data, with no network, in a few seconds."""
    from finstat_kit.demo import lines

    for line in lines(lang=lang, changed_since=changed_since):
        click.echo(line)


def main() -> None:
    """Run the command; exit with 1 for the register's faults, 2 for usage, 130 for Ctrl-C."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(str(error) or "interrupted", err=True)
        sys.exit(130)
    except UsageError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except RegisterError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
