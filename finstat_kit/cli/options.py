"""The options that commands share, and the register they choose."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial, reduce, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from finstat_kit.cli import reading
from finstat_kit.cli.output import FORMATS, Output
from finstat_kit.errors import UsageError

if TYPE_CHECKING:
    from finstat_kit.client.register import Register

    Chosen = Callable[[], Register]

CHOSEN_BY: Final = "finstat_kit.chosen_by"  # in the context: what names the register, and its value
_VARIABLE: Final = "FINSTAT_KIT_URL"
F = TypeVar("F", bound=Callable[..., Any])
_SINCE: Final = "Changed on this day or later, or -30d to count back 30 days."


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Add several options to a command."""
    return lambda command: reduce(lambda added, option: option(added), reversed(options), command)


def _combined(
    name: str, make: Callable[..., object], *options: Callable[[F], F]
) -> Callable[[F], F]:
    """Add options to a command, which gets what *make* returns for their values."""

    def add(command: F) -> F:
        @wraps(command)
        def with_options(**values: object) -> object:
            own = {option: values.pop(option) for option in signature(make).parameters}
            return command(**{name: make(**own)}, **values)

        return _together(*options)(cast("F", with_options))

    return add


def refuse_missing(folder: Path) -> None:
    """Refuse a missing directory before anything is fetched."""
    if not folder.exists():
        raise UsageError(f"there is no folder {str(folder)!r}; create it, or give another")


def _in_a_folder(
    context: click.Context, parameter: click.Parameter, output: Path | None
) -> Path | None:
    if output is not None:
        refuse_missing(output.parent)
    return output


lang = click.option(
    "--lang",
    type=click.Choice(["sk", "en"]),
    help="Language of labels and numbers; default: FINSTAT_KIT_LANG, else sk.",
)
max_requests = click.option(
    "--max-requests",
    type=click.IntRange(0),
    help="Maximum number of requests for records; default: 10,000 for a real host.",
)
filed_until = click.option(
    "--filed-until",
    metavar="YYYY-MM-DD",
    help="As known on this day: without what was filed later, corrections too.",
)
input_format = click.option(
    "--input-format",
    type=click.Choice(reading.FORMATS),
    help="Default: from the name of a file; plain ids or csv with a header in standard input.",
)
# The command gets an `Output`.
output = _combined(
    "output",
    lambda form, output, columns, wide: Output(form, output, columns, wide=wide),
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="Default: from the name of --output, else table on a terminal and csv in a pipe.",
    ),
    click.option(
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_in_a_folder,
        help="Write to a file.",
    ),
    click.option("--columns", metavar="NAME,…", help="Only these columns."),
    click.option("--wide", is_flag=True, help="All columns, even if the terminal is narrower."),
)
# The command gets the library's name of a collection.
collection = click.option(
    "--collection",
    type=click.Choice(["units", "statements", "reports", "annual-reports"]),
    default="units",
    show_default=True,
    callback=lambda _, __, name: name.replace("-", "_"),
)
selection = _together(
    collection,
    click.option("--changed-since", metavar="YYYY-MM-DD", help=_SINCE),
    click.option("--after-id", type=int, default=0, metavar="ID", help="Only ids above this one."),
)


def _register_getter(
    url: str | None, live: bool, sample: bool, mirror: str | None, cache: str | None
) -> Chosen:
    """Return a function that returns the register of the options, else of the environment."""
    choices = {
        "url": url,
        "live": "live" if live else None,
        "sample": "sample" if sample else None,
        "mirror": None if mirror is None else f"mirror:{mirror}",
    }
    given = {option: name for option, name in choices.items() if name is not None}
    return partial(_chosen, given, cache)


# The command gets a function that returns the register.
register = _combined(
    "chosen",
    _register_getter,
    click.option("--url", metavar="URL", help="The register at a base URL."),
    click.option("--live", is_flag=True, help="The real register."),
    click.option("--sample", is_flag=True, help="Invented data, no network."),
    click.option("--mirror", metavar="PATH", help="A mirror on disk."),
    click.option(
        "--cache", metavar="FILE", help="Keep replies in a file; --url cache:FILE replays them."
    ),
)


def _chosen(choices: Mapping[str, str], cache: str | None) -> Register:
    from finstat_kit.client import current

    if len(choices) > 1:
        raise click.UsageError("--url, --live, --sample and --mirror exclude each other")
    by, name = next(iter(choices.items()), (_VARIABLE, os.environ.get(_VARIABLE)))
    if not name:
        raise click.UsageError(
            "no register is chosen; give --sample (invented data), --live (the real register), "
            "--mirror PATH or --url URL, or set FINSTAT_KIT_URL"
        )
    given = name.removeprefix("mirror:") if by == "mirror" else name
    click.get_current_context().meta[CHOSEN_BY] = by, given
    return current.use(name, cache=cache)
