"""The commands that serve until Ctrl-C: `serve`, `mcp`."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.errors import UsageError

if TYPE_CHECKING:
    from finstat_kit.arguments import Lang
    from finstat_kit.client.register import Register


@click.command()
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


@click.command()
@click.option("--http", type=click.IntRange(1, 65_535), metavar="PORT", help="Instead of stdio.")
@options.lang
@options.register
def mcp(http: int | None, lang: Lang | None, reg: Register) -> None:
    """Serve the register to an assistant, by the Model Context Protocol.

    On standard input and output, or at http://127.0.0.1:PORT/mcp.
    """
    try:
        from finstat_kit.mcp.server import serve as serve_assistant
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this needs {error.name}", cure="pip install 'finstat-kit[mcp]'"
        ) from error

    serve_assistant(reg, reg._language(lang), http)
