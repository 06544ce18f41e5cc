"""The options that commands share, and the register they choose."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, get_args

import click

from finstat_kit.cli.output import Form, Output

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)
Passed = Any  # options that the call which gets them checks
Command = Callable[..., object]


def register(command: Command) -> Command:
    """Add the options that choose a register to a command, which gets it as ``reg``."""

    @click.option("--url", metavar="URL", help="The register at a base URL.")
    @click.option("--live", is_flag=True, help="The real register.")
    @click.option("--sample", is_flag=True, help="Invented data, no network.")
    @click.option("--mirror", metavar="PATH", help="A mirror on disk.")
    @click.option(
        "--cache", metavar="FILE", help="Keep replies in a file; --url cache:FILE replays them."
    )
    @wraps(command)
    def with_register(
        url: str | None,
        live: bool,
        sample: bool,
        mirror: str | None,
        cache: str | None,
        **passed: Passed,
    ) -> object:
        from finstat_kit.client import current

        of_path = None if mirror is None else f"mirror:{mirror}"
        choices = (url, "live" if live else None, "sample" if sample else None, of_path)
        given = [choice for choice in choices if choice is not None]
        if len(given) > 1:
            raise click.UsageError("--url, --live, --sample and --mirror exclude each other")
        chosen = given[0] if given else os.environ.get("FINSTAT_KIT_URL")
        if not chosen:
            raise click.UsageError(
                "no register is chosen; give --sample (invented data), --live (the real register), "
                "--mirror PATH or --url URL, or set FINSTAT_KIT_URL"
            )
        return command(reg=current.use(chosen, cache=cache), **passed)

    return with_register


def output(command: Command) -> Command:
    """Add the options of the output to a command, which gets an `Output`."""

    @click.option(
        "--format",
        "form",
        type=click.Choice(get_args(Form)),
        help="Default: a table on a terminal, csv in a pipe.",
    )
    @click.option(
        "-o",
        "--output",
        "path",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write a file: .csv, .xlsx, .parquet or .ndjson.",
    )
    @click.option("--columns", metavar="NAME,…", help="Only these columns.")
    @wraps(command)
    def with_output(
        form: Form | None, path: Path | None, columns: str | None, **passed: Passed
    ) -> object:
        return command(output=Output(form, path, columns), **passed)

    return with_output


lang: Final = click.option(
    "--lang",
    type=click.Choice(["sk", "en"]),
    help="Language of labels and numbers; default: FINSTAT_KIT_LANG, else sk.",
)
max_requests: Final = click.option(
    "--max-requests",
    type=click.IntRange(0),
    help="Maximum number of requests for records; default: 10,000 for a real host.",
)
# The command gets the library's name of a collection.
collection: Final = click.option(
    "--collection",
    type=click.Choice(["units", "statements", "reports", "annual-reports"]),
    default="units",
    show_default=True,
    callback=lambda _, __, name: name.replace("-", "_"),
)
changed_since: Final = click.option(
    "--changed-since",
    metavar="YYYY-MM-DD",
    help="Changed on this day or later, or -30d to count back 30 days.",
)
