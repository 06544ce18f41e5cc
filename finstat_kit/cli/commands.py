"""The command ``finstat-kit``. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shlex
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click
from click.shell_completion import shell_complete

from finstat_kit.cli import options, reading
from finstat_kit.cli.finding import filings, find
from finstat_kit.cli.lists import count, get, ids
from finstat_kit.cli.mirrors import mirror, sync
from finstat_kit.cli.output import Output, harmless, set_encoding, silence
from finstat_kit.cli.statements import financials, form, statement
from finstat_kit.errors import Either, Interrupted, RegisterError, UsageError, Wording
from finstat_kit.protocol.wire import BY_FIELD, CODELISTS

if TYPE_CHECKING:
    from finstat_kit.arguments import Lang


# Modules that load polars are imported where they are used, so that --help answers at once.
_COMPLETION: Final = "_FINSTAT_KIT_COMPLETE"  # the variable that click documents
# Arguments of the library that have another name here.
_RENAMED = {"register": "--url", "ids": "ID", "path": "FOLDER"}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are no text
_OF_THE_REGISTER: Final = ("register", "base_url", "day", "as_of")


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
@click.option("--changed-since", default="2026-05-01", show_default=True, metavar="YYYY-MM-DD")
def demo(lang: Lang | None, changed_since: str) -> None:
    """Show the main job on invented data, with no network, in a few seconds.

    In English under an English locale, else in Slovak; --lang and FINSTAT_KIT_LANG take precedence.
    """
    from finstat_kit.cli.demo import language, lines

    for line in lines(lang=lang or language(os.environ), changed_since=changed_since):
        click.echo(line)


@cli.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--units", type=click.IntRange(0), default=100_000, show_default=True)
@click.option("--strict", is_flag=True, help="Answer 400 to what the specification leaves open.")
def serve(port: int, host: str, units: int, strict: bool) -> None:
    """Serve invented data at a URL until Ctrl-C."""
    from finstat_kit.client.sample import sample

    with sample(units, strict=strict).serve(port=port, host=host) as url:
        click.echo(url)
        click.echo(f"{units:,} invented units; Ctrl-C ends it", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


@cli.command()
@click.option("--http", type=click.IntRange(1, 65_535), metavar="PORT", help="Instead of stdio.")
@options.lang
@options.register
def mcp(http: int | None, lang: Lang | None, chosen: options.Chosen) -> None:
    """Serve the register to an assistant, by the Model Context Protocol.

    On standard input and output, or at http://127.0.0.1:PORT/mcp.
    """
    reg = chosen()
    try:
        from finstat_kit.mcp.server import server
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this needs {error.name}", cure="pip install 'finstat-kit[mcp]'"
        ) from error

    made = server(reg, reg._language(lang))
    with contextlib.suppress(KeyboardInterrupt):
        if http is None:
            made.run()
        else:
            made.run("streamable-http", port=http)


@cli.command()
@options.register
@options.output
def doctor(chosen: options.Chosen, output: Output) -> None:
    """Report on the health of a register; exit code 1 where a check fails."""
    from finstat_kit.health.report import doctor as examined

    report = examined(register=chosen())
    output.write(report)
    if "fail" in report["status"]:
        raise SystemExit(1)


@cli.command()
@click.argument("name", type=click.Choice([name.replace("_", "-") for name in CODELISTS]))
@options.register
@options.output
def codelist(name: str, chosen: options.Chosen, output: Output) -> None:
    """Print a codelist."""
    reg = chosen()
    output.write(reg.codelist(name.replace("-", "_")))


@cli.command()
@click.argument("file", type=reading.file)
@options.input_format
@options.lang
@options.register
@options.output
def label(
    file: Path,
    input_format: str | None,
    lang: Lang | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Add labels to a csv, ndjson or parquet file, after each of its code columns.

    "-" reads standard input. Columns of csv stay the text that was read; those of parquet and
    ndjson keep their types, codes are text.
    """
    reg = chosen()
    frame = reading.table(file, input_format)
    present = [field for field in BY_FIELD if field in frame.columns]
    output.write(reg.resolve_labels(frame, lang=lang, columns=present))


for command in (ids, count, get, find, filings, form, statement, financials, sync, mirror):
    cli.add_command(command)


def main() -> None:
    """Run the command; exit with 1 for register or disk errors, 2 for usage, 130 for Ctrl-C."""
    if sys.stdout is None:  # closed before Python started
        if not any(word.partition("=")[0] == "--output" for word in sys.argv):
            click.echo("Error: standard output is closed; send it to a file or a pipe", err=True)
            sys.exit(1)
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    set_encoding()
    if instruction := os.environ.get(_COMPLETION):
        sys.exit(shell_complete(cli, {}, "finstat-kit", _COMPLETION, instruction))
    warnings.showwarning = _print_warning
    context: click.Context | None = None
    try:
        for word in sys.argv:
            if _SURROGATE.search(word):
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
        told = error.text(_Shell(context)) if isinstance(error, Interrupted) else ""
        click.echo(harmless(told or "interrupted"), err=True)
        sys.exit(130)
    except RegisterError as error:
        error.cursor = None  # of ids that no option takes; `ids` has reported its own
        click.echo(harmless(f"Error: {error.text(_Shell(context))}"), err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except OSError as error:  # such as a full disk
        # The reader of the pipe has closed it, which Windows calls an invalid argument.
        if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
            silence()
            return
        click.echo(harmless(f"Error: {_reason(error)}"), err=True)
        try:
            sys.stdout.flush()
        except OSError:
            silence()
        sys.exit(1)


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as a plain sentence, without its position in Python code."""
    click.echo(harmless(f"Warning: {message}"), err=True)


class _Shell(Wording):
    """The words of the command that ran."""

    def __init__(self, context: click.Context | None) -> None:
        self._names = dict(_RENAMED)
        self._register = context.meta.get(options.CHOSEN_BY) if context else None
        command = cli.commands.get(context.invoked_subcommand or "") if context else None
        for parameter in command.params if command else ():
            option = isinstance(parameter, click.Option)
            self._names[parameter.name or ""] = (
                parameter.opts[0] if option else parameter.human_readable_name
            )

    def argument(self, name: str, value: object = ...) -> str:
        if name in _OF_THE_REGISTER and self._register is not None:
            name, given = self._register
            value = value if value is ... else given
        word = self._names.get(name.partition("[")[0])  # ids[3] is the fourth of them
        shown = "" if value is ... else shlex.quote(str(value))
        # A name that is not an argument of the command is a variable of the environment.
        return f"{name}={shown}" if word is None and shown else f"{word or name} {shown}".rstrip()

    def phrase(self, phrase: str | Either) -> str:
        return phrase.shell if isinstance(phrase, Either) else phrase
