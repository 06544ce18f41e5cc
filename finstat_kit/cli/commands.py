"""The command ``finstat-kit``. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import shell_complete

from finstat_kit.cli import options
from finstat_kit.cli.figures import financials
from finstat_kit.cli.mirrors import mirror, news, pull, sync
from finstat_kit.cli.output import Output, harmless, set_encoding, silence
from finstat_kit.cli.records import codelist, count, find, get, ids
from finstat_kit.cli.serving import mcp, serve
from finstat_kit.errors import RegisterError, UsageError

if TYPE_CHECKING:
    from finstat_kit.arguments import Lang
    from finstat_kit.client.register import Register

# Modules that load polars are imported where they are used, so that --help answers at once.
_COMPLETION: Final = "_FINSTAT_KIT_COMPLETE"  # the variable that click documents


@click.group(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda word: word.replace("_", "-"),  # legal_forms of the library
    }
)
@click.version_option(package_name="finstat-kit")
def cli() -> None:
    """Query Slovakia's Register of Financial Statements.

    The register is set by --url, --live, --sample or --mirror, else by the environment
    variable FINSTAT_KIT_URL.
    """


@cli.command()
@options.lang
def demo(lang: Lang | None) -> None:
    """Show the main job on invented data, with no network, in a few seconds."""
    from finstat_kit.cli.demo import lines

    for line in lines(lang):
        click.echo(line)


@cli.command()
@options.register
@options.output
def doctor(reg: Register, output: Output) -> None:
    """Report on the health of a register; exit code 1 where a check fails."""
    from finstat_kit.health.report import doctor as examined

    report = examined(register=reg)
    output.write(report)
    if "fail" in report["status"]:
        raise SystemExit(1)


for command in (codelist, ids, count, get, find, financials, sync, pull, news, mirror, serve, mcp):
    cli.add_command(command)


def main() -> None:
    """Run the command; exit with 1 for register or disk errors, 2 for usage, 130 for Ctrl-C."""
    if sys.stdout is None:  # closed before Python started
        click.echo("Error: standard output is closed; send it to a file or a pipe", err=True)
        sys.exit(1)
    set_encoding()
    if instruction := os.environ.get(_COMPLETION):
        sys.exit(shell_complete(cli, {}, "finstat-kit", _COMPLETION, instruction))
    warnings.showwarning = _print_warning
    try:
        for word in sys.argv[1:]:
            if not word.isascii() and word != word.encode(errors="replace").decode():
                raise UsageError(f"{word!a} is not a text in the encoding of this locale")
        # Not by calling it: click would treat a closed pipe as a failure.
        with cli.make_context("finstat-kit", sys.argv[1:]) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(harmless(shown.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(harmless(str(error) or "interrupted"), err=True)
        sys.exit(130)
    except RegisterError as error:
        click.echo(harmless(f"Error: {error}"), err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except OSError as error:  # such as a full disk
        # The reader of the pipe has closed it, which Windows calls an invalid argument.
        if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
            silence()
            return
        click.echo(harmless(f"Error: {error.strerror or error}"), err=True)
        silence()  # what is left in a buffer cannot be written either
        sys.exit(1)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a plain sentence, without its position in Python code."""
    click.echo(harmless(f"Warning: {message}"), err=True)
