"""The command ``finstat-kit``. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.output import (
    as_text,
    format_of,
    harmless,
    print_frame,
    rendered,
    silence,
    uninterrupted,
    write_all,
)
from finstat_kit.errors import RegisterError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.arguments import Lang
    from finstat_kit.client.register import Register
    from finstat_kit.frames.places import Level

# Modules that load polars are imported where they are used, so that --help answers at once.

CODELISTS = (
    "regions", "districts", "municipalities", "legal-forms", "activities", "ownership-types",
    "size-classes",
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="finstat-kit")
def cli() -> None:
    """Ask Slovakia's Register of Financial Statements.

    Which register: --url, --live or --sample, else the environment variable FINSTAT_KIT_URL.
    """


@cli.command()
@options.lang
@click.option("--changed-since", default="2026-01-01", show_default=True, metavar="YYYY-MM-DD")
def demo(lang: Lang, changed_since: str) -> None:
    """Show the main job on invented data, with no network, in a few seconds."""
    from finstat_kit.cli.demo import lines

    for line in lines(lang=lang, changed_since=changed_since):
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
@options.register
@options.output
def doctor(url: str | None, named: str | None, form: str | None, output: Path | None) -> None:
    """Report on the health of a register; exit code 1 where a check fails."""
    from finstat_kit.health.report import doctor as examined

    report = examined(options.chosen(url, named))
    print_frame(report, form, output)
    if "fail" in report["status"]:
        raise SystemExit(1)


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--changed-since", metavar="DAY", help="A new mirror: only what changed since then.")
@click.option("--full", is_flag=True, help="Fetch everything again, and find what is missing.")
@click.option("--max-missing", type=click.IntRange(0), help="Mark no more than so many missing.")
@options.register
@options.output
def sync(
    folder: Path,
    changed_since: str | None,
    full: bool,
    max_missing: int | None,
    url: str | None,
    named: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Bring the mirror in FOLDER in step with the register, and print what came."""
    from finstat_kit.mirror.mirror import Mirror

    mirror = Mirror(folder, changed_since=changed_since, register=options.chosen(url, named))
    print_frame(mirror.sync(full=full, max_missing=max_missing), form, output)


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--verify", is_flag=True, help="Look for damage; exit code 1 where there is some.")
@click.option("--compact", is_flag=True, help="Put small files together.")
@options.output
def mirror(
    folder: Path, verify: bool, compact: bool, form: str | None, output: Path | None
) -> None:
    """Tell what the mirror in FOLDER is, verify or compact it."""
    from finstat_kit.mirror.mirror import Mirror

    copy = Mirror(folder)
    if compact:
        copy.compact()
    if not verify:
        click.echo(harmless(repr(copy)))
        return
    report = copy.verify()
    print_frame(report, form, output)
    if report["damaged"].sum():  # a meaning without damage is a notice
        raise SystemExit(1)


@cli.command()
@click.argument("name", type=click.Choice(CODELISTS))
@options.register
@options.output
def codelist(name: str, url: str | None, named: str | None, form: str | None, output: Path) -> None:
    """Print a codelist."""
    reg = options.chosen(url, named)
    print_frame(getattr(reg, name.replace("-", "_"))(), form, output)


@cli.command()
@options.selection
@click.option("--limit", type=click.IntRange(0), help="No more than this many.")
@options.register
@options.output
def ids(
    collection: str,
    changed_since: str | None,
    after_id: int,
    limit: int | None,
    url: str | None,
    named: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Print ids as they arrive."""
    chosen = options.collection(options.chosen(url, named), collection)
    form = format_of(form, output)
    if output is not None or form not in ("csv", "ndjson"):
        found = chosen.ids(changed_since=changed_since, after_id=after_id, limit=limit)
        print_frame(found, form, output)
        return
    printed = 0
    try:
        for page in chosen.pages(changed_since=changed_since, after_id=after_id, limit=limit):
            # What polars does must not stand in the block: interrupted there without an error, it
            # returns less than it should.
            text = rendered(page, form, header=printed == 0)
            cursor = page["id"].to_list()[-1] if page.height else after_id
            with uninterrupted():
                write_all(text)
                printed += page.height
                after_id = cursor
    except (RegisterError, KeyboardInterrupt):
        click.echo(
            f"cut off after {printed:,} ids; the same command goes on with --after-id {after_id}",
            err=True,
        )
        raise


@cli.command()
@options.selection
@options.register
def count(
    collection: str, changed_since: str | None, after_id: int, url: str | None, named: str | None
) -> None:
    """Print how many ids match."""
    chosen = options.collection(options.chosen(url, named), collection)
    click.echo(chosen.count(changed_since=changed_since, after_id=after_id))


@cli.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@click.option("--max-requests", type=click.IntRange(0), help="Allow more than 10,000 requests.")
@options.register
@options.output
def get(
    id_: tuple[str, ...],
    max_requests: int | None,
    url: str | None,
    named: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Print the records of units; "-" reads ids from standard input."""
    reg = options.chosen(url, named)
    given = sys.stdin.read().split() if id_ == ("-",) else list(id_)
    # What `ids` prints has a header.
    words = [word for word in given if word != "id"]
    wrong = [word for word in words if not re.fullmatch(r"[0-9]{1,19}", word, re.ASCII)]
    if wrong:
        raise UsageError(f"ID {wrong[0]!r} is no id; give whole numbers, or - for standard input")
    print_frame(
        reg.units.get([int(word) for word in words], max_requests=max_requests), form, output
    )


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options.lang
@options.register
@options.output
def label(
    file: Path, lang: Lang, url: str | None, named: str | None, form: str | None, output: Path
) -> None:
    """Add labels to a csv or parquet file, after each code column that is there."""
    reg = options.chosen(url, named)
    print_frame(_labelled(reg, as_text(file), lang), form, output)


@cli.command()
@click.argument("text")
@click.option("--level", type=click.Choice(["region", "district", "municipality"]))
@options.register
@options.output
def find(
    text: str,
    level: Level | None,
    url: str | None,
    named: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Search places by name or code; accents and case do not matter."""
    print_frame(options.chosen(url, named).find_places(text, level), form, output)


def main() -> None:
    """Run the command; exit with 1 for faults of register or disk, 2 for usage, 130 for Ctrl-C."""
    if sys.stdout is None:  # so Python says that it was closed from the beginning
        click.echo("Error: standard output is closed; send it to a file or a pipe", err=True)
        sys.exit(1)
    try:
        # Not by calling it: click would take a closed pipe for a failure.
        with cli.make_context("finstat-kit", sys.argv[1:]) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        told = io.StringIO()
        error.show(told)
        click.echo(harmless(told.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        silence()  # whoever read has enough
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(harmless(f"interrupted {error}".rstrip()), err=True)
        sys.exit(130)
    except UsageError as error:
        click.echo(harmless(f"Error: {error}"), err=True)
        sys.exit(2)
    except RegisterError as error:
        click.echo(harmless(f"Error: {error}"), err=True)
        sys.exit(1)
    except OSError as error:  # such as a disk that is full
        click.echo(harmless(f"Error: {_told(error)}"), err=True)
        try:
            sys.stdout.flush()
        except OSError:
            silence()
        sys.exit(1)


def _told(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _labelled(reg: Register, frame: pl.DataFrame, lang: Lang) -> pl.DataFrame:
    from finstat_kit.protocol.wire import BY_FIELD

    present = [field for field in BY_FIELD if field in frame.columns]
    return reg.resolve_labels(frame, lang=lang, columns=present or None)
