"""The command ``finstat-kit``. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from finstat_kit.errors import RegisterError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.arguments import Lang
    from finstat_kit.client.collection import Collection
    from finstat_kit.client.register import Register
    from finstat_kit.frames.places import Level
    from finstat_kit.frames.writing import Format

# Modules that load polars are imported where they are used, so that --help answers at once.

F = TypeVar("F", bound=Callable[..., Any])
COLLECTIONS = ("units", "statements", "reports", "annual-reports")
CODELISTS = (
    "regions", "districts", "municipalities", "legal-forms", "activities", "ownership-types",
    "size-classes",
)  # fmt: skip
FORMATS = ("table", "csv", "ndjson", "parquet", "xlsx")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="finstat-kit")
def cli() -> None:
    """Ask Slovakia's Register of Financial Statements.

    Which register: --url, --live or --sample, else the environment variable FINSTAT_KIT_URL.
    """


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_lang = click.option(
    "--lang",
    type=click.Choice(["sk", "en"]),
    default="sk",
    show_default=True,
    help="Language of labels and numbers.",
)
_register = _options(
    click.option("--url", metavar="URL", help="The register at a base URL."),
    click.option("--live", "named", flag_value="live", help="The real register."),
    click.option("--sample", "named", flag_value="sample", help="Invented data, no network."),
)
_output = _options(
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="Default: by the name of --output, else a table on a terminal and csv in a pipe.",
    ),
    click.option(
        "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file."
    ),
)
_selection = _options(
    click.option(
        "--collection", type=click.Choice(COLLECTIONS), default="units", show_default=True
    ),
    click.option("--changed-since", metavar="YYYY-MM-DD", help="Changed on this day or later."),
    click.option("--after-id", type=int, default=0, metavar="ID", help="Only ids greater than it."),
)


@cli.command()
@_lang
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
@_register
@_output
def doctor(url: str | None, named: str | None, form: str | None, output: Path | None) -> None:
    """Report on the health of a register; exit code 1 where a check fails."""
    from finstat_kit.health.report import doctor as examined

    report = examined(_chosen(url, named))
    _print(report, form, output)
    if "fail" in report["status"]:
        raise SystemExit(1)


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--changed-since", metavar="DAY", help="A new mirror: only what changed since then.")
@click.option("--full", is_flag=True, help="Fetch everything again, and find what is missing.")
@click.option("--max-missing", type=click.IntRange(0), help="Mark no more than so many missing.")
@_register
@_output
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

    mirror = Mirror(folder, changed_since=changed_since, register=_chosen(url, named))
    _print(mirror.sync(full=full, max_missing=max_missing), form, output)


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--verify", is_flag=True, help="Look for damage; exit code 1 where there is some.")
@click.option("--compact", is_flag=True, help="Put small files together.")
@_output
def mirror(
    folder: Path, verify: bool, compact: bool, form: str | None, output: Path | None
) -> None:
    """Tell what the mirror in FOLDER is, verify or compact it."""
    from finstat_kit.mirror.mirror import Mirror

    copy = Mirror(folder)
    if compact:
        copy.compact()
    if not verify:
        click.echo(_harmless(repr(copy)))
        return
    report = copy.verify()
    _print(report, form, output)
    if report["damaged"].sum():  # a meaning without damage is a notice
        raise SystemExit(1)


@cli.command()
@click.argument("name", type=click.Choice(CODELISTS))
@_register
@_output
def codelist(name: str, url: str | None, named: str | None, form: str | None, output: Path) -> None:
    """Print a codelist."""
    reg = _chosen(url, named)
    _print(getattr(reg, name.replace("-", "_"))(), form, output)


@cli.command()
@_selection
@click.option("--limit", type=click.IntRange(0), help="No more than this many.")
@_register
@_output
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
    chosen = _collection(_chosen(url, named), collection)
    form = _format(form, output)
    if output is not None or form not in ("csv", "ndjson"):
        found = chosen.ids(changed_since=changed_since, after_id=after_id, limit=limit)
        _print(found, form, output)
        return
    printed = 0
    try:
        for page in chosen.pages(changed_since=changed_since, after_id=after_id, limit=limit):
            # What polars does must not stand in the block: interrupted there without an error, it
            # returns less than it should.
            text = _rendered(page, form, header=printed == 0)
            cursor = page["id"].to_list()[-1] if page.height else after_id
            with _uninterrupted():
                _write(text)
                printed += page.height
                after_id = cursor
    except (RegisterError, KeyboardInterrupt):
        click.echo(
            f"cut off after {printed:,} ids; the same command goes on with --after-id {after_id}",
            err=True,
        )
        raise


@cli.command()
@_selection
@_register
def count(
    collection: str, changed_since: str | None, after_id: int, url: str | None, named: str | None
) -> None:
    """Print how many ids match."""
    chosen = _collection(_chosen(url, named), collection)
    click.echo(chosen.count(changed_since=changed_since, after_id=after_id))


@cli.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@click.option("--max-requests", type=click.IntRange(0), help="Allow more than 10,000 requests.")
@_register
@_output
def get(
    id_: tuple[str, ...],
    max_requests: int | None,
    url: str | None,
    named: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Print the records of units; "-" reads ids from standard input."""
    reg = _chosen(url, named)
    given = sys.stdin.read().split() if id_ == ("-",) else list(id_)
    # What `ids` prints has a header.
    words = [word for word in given if word != "id"]
    wrong = [word for word in words if not re.fullmatch(r"[0-9]{1,19}", word, re.ASCII)]
    if wrong:
        raise UsageError(f"ID {wrong[0]!r} is no id; give whole numbers, or - for standard input")
    _print(reg.units.get([int(word) for word in words], max_requests=max_requests), form, output)


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_lang
@_register
@_output
def label(
    file: Path, lang: Lang, url: str | None, named: str | None, form: str | None, output: Path
) -> None:
    """Add labels to a csv or parquet file, after each code column that is there."""
    reg = _chosen(url, named)
    _print(_labelled(reg, _as_text(file), lang), form, output)


@cli.command()
@click.argument("text")
@click.option("--level", type=click.Choice(["region", "district", "municipality"]))
@_register
@_output
def find(
    text: str,
    level: Level | None,
    url: str | None,
    named: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Search places by name or code; accents and case do not matter."""
    _print(_chosen(url, named).find_places(text, level), form, output)


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
        click.echo(_harmless(told.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _silence()  # whoever read has enough
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(_harmless(f"interrupted {error}".rstrip()), err=True)
        sys.exit(130)
    except UsageError as error:
        click.echo(_harmless(f"Error: {error}"), err=True)
        sys.exit(2)
    except RegisterError as error:
        click.echo(_harmless(f"Error: {error}"), err=True)
        sys.exit(1)
    except OSError as error:  # such as a disk that is full
        click.echo(_harmless(f"Error: {_told(error)}"), err=True)
        try:
            sys.stdout.flush()
        except OSError:
            _silence()
        sys.exit(1)


def _silence() -> None:
    """Let nothing be written to standard output any more, at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _chosen(url: str | None, named: str | None) -> Register:
    from finstat_kit.client.current import register, use

    if url is not None and named is not None:
        raise click.UsageError("--url, --live and --sample exclude each other")
    if url is not None:
        return use(url)
    if named is not None:
        return use(named)
    if not os.environ.get("FINSTAT_KIT_URL"):
        raise click.UsageError(
            "no register is chosen; give --sample (invented data), --live (the real register) or "
            "--url URL, or set FINSTAT_KIT_URL"
        )
    return register()


def _collection(reg: Register, name: str) -> Collection:
    chosen: Collection = getattr(reg, name.replace("-", "_"))
    return chosen


def _format(form: str | None, output: Path | None) -> str:
    if form is not None:
        return form
    if output is not None:
        return output.suffix.removeprefix(".").lower()
    return "table" if sys.stdout.isatty() else "csv"


def _print(frame: pl.DataFrame, form: str | None, output: Path | None) -> None:
    """Write a frame to the output in its format."""
    from finstat_kit.frames.writing import replaced, write

    form = _format(form, output)
    if output is None and form in ("parquet", "xlsx") and sys.stdout.isatty():
        raise click.UsageError(f"{form} is not for a terminal; give --output FILE")
    if output is None:
        _write(_for_output(_rendered(frame, form)))
    elif form not in FORMATS or (form != "table" and output.suffix == f".{form}"):
        write(frame, output)
    else:
        data = _rendered(frame, form)
        with replaced(output) as file:
            file.write(data)


def _rendered(frame: pl.DataFrame, form: str, *, header: bool = True) -> bytes:
    """Return a frame, or the next part of one, as bytes of a format."""
    from finstat_kit.frames.writing import write_to

    if form == "table":
        return _harmless(f"{_table(frame)}\n").encode()
    whole = io.BytesIO()
    written: Format = form  # type: ignore[assignment]
    write_to(whole, frame, written, header=header)
    return whole.getvalue()


def _for_output(data: bytes) -> bytes:
    """Return text as it is for a pipe, harmless for a terminal."""
    return _harmless(data.decode()).encode() if sys.stdout.isatty() else data


def _harmless(text: str) -> str:
    """Return lines that cannot steer a terminal."""
    from finstat_kit.protocol.outcome import shown

    return "\n".join(shown(line, None) for line in text.split("\n"))


def _table(frame: pl.DataFrame) -> str:
    import polars as pl

    with pl.Config(tbl_rows=200, tbl_cols=-1, tbl_hide_column_data_types=True, fmt_str_lengths=100):
        return str(frame)


def _as_text(file: Path) -> pl.DataFrame:
    """Read a csv or parquet file with every column as text: a number would lose its zeros."""
    import polars as pl

    if file.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"FILE {str(file)!r}: give a name that ends in .csv or .parquet")
    try:
        if file.suffix.lower() == ".parquet":
            frame = pl.read_parquet(file)
            if any(frame.schema[name].is_nested() for name in frame.columns):
                from finstat_kit.frames.writing import flat

                frame = flat(frame)
            return frame.cast(pl.String)
        with file.open(encoding="utf-8-sig") as opened:
            first = opened.readline()
        separator = ";" if first.count(";") > first.count(",") else ","
        return pl.read_csv(file, infer_schema=False, separator=separator)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise UsageError(f"FILE {str(file)!r} cannot be read: {error}") from error


def _labelled(reg: Register, frame: pl.DataFrame, lang: Lang) -> pl.DataFrame:
    from finstat_kit.protocol.wire import BY_FIELD

    present = [field for field in BY_FIELD if field in frame.columns]
    return reg.resolve_labels(frame, lang=lang, columns=present or None)


def _write(data: bytes) -> None:
    """Write all of it: with polars loaded, a write that a signal meets returns early."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put Ctrl-C off until the block has ended: a page is printed whole or not at all."""
    struck: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: struck.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if struck:
        raise KeyboardInterrupt
