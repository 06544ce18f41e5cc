"""The options that commands share, and the register they choose."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args

import click

from finstat_kit.cli.output import Form, Output

if TYPE_CHECKING:
    from finstat_kit.client.register import Register

Passed = Any  # options that the call which gets them checks
F = TypeVar("F", bound=Callable[..., Any])


def _combined(
    name: str, make: Callable[..., object], *options: Callable[[F], F]
) -> Callable[[F], F]:
    """Add options to a command, which gets what *make* returns for their values."""

    def add(command: F) -> F:
        @wraps(command)
        def with_options(**values: object) -> object:
            own = {option: values.pop(option) for option in signature(make).parameters}
            return command(**{name: make(**own)}, **values)

        added = cast("F", with_options)
        return reduce(lambda command, option: option(command), reversed(options), added)

    return add


def _register(
    url: str | None, live: bool, sample: bool, mirror: str | None, cache: str | None
) -> Register:
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
    return current.use(chosen, cache=cache)


# The command gets a `Register` as ``reg``.
register: Final = _combined(
    "reg",
    _register,
    click.option("--url", metavar="URL", help="The register at a base URL."),
    click.option("--live", is_flag=True, help="The real register."),
    click.option("--sample", is_flag=True, help="Invented data, no network."),
    click.option("--mirror", metavar="PATH", help="A mirror on disk."),
    click.option(
        "--cache", metavar="FILE", help="Keep replies in a file; --url cache:FILE replays them."
    ),
)
# The command gets an `Output`.
output: Final = _combined(
    "output",
    lambda form, output, columns: Output(form, output, columns),
    click.option(
        "--format",
        "form",
        type=click.Choice(get_args(Form)),
        help="Default: a table on a terminal, csv in a pipe.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write a file: .csv, .xlsx, .parquet or .ndjson.",
    ),
    click.option("--columns", metavar="NAME,…", help="Only these columns."),
)
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
