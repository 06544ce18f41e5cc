"""Parts of the documentation that are written from the package, so that they cannot disagree.

``conf.py`` calls `write` at the start of every build; the files are not kept in git.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

import click

import finstat_kit as fk
from finstat_kit.cli.commands import cli
from finstat_kit.protocol import wire

ROOT: Final = Path(__file__).parents[1]

# What each part of the package is for; a test compares the names with the layers contract.
PARTS: Final = {
    "__main__": "python -m finstat_kit",
    "cli": "the command",
    "widgets": "the pickers",
    "mcp": "tools for assistants",
    "charts": "one file per chart",
    "health": "the health check",
    "mirror": "the copy on disk",
    "client": "registers, collections, records, codelists",
    "frames": "pure functions",
    "service": "embedded register",
    "transport": "the network",
    "calls": "checks of calls",
    "given_units": "units: ids and IČO",
    "given_frames": "frames that users pass",
    "arguments": "checks of what users pass",
    "protocol": "the register's rules and spelling, no I/O",
    "in_place": "files, written whole or not at all",
    "errors": "the errors",
    "progress": "progress bars",
}


def write(docs: Path) -> None:
    """Write every generated file below the folder of the documentation."""
    generated = docs / "_generated"
    shutil.rmtree(generated, ignore_errors=True)
    generated.mkdir()
    for name, text in {
        "codelists.md": codelists(),
        "endpoints.md": endpoints(),
        "fields.md": fields(),
        "errors.md": errors(),
        "commands.md": commands(),
        "layers.html": layers_picture(layers()),
    }.items():
        (generated / name).write_text(text, encoding="utf-8")
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, docs / "notebooks" / notebook.name)


def table(heads: list[str], rows: Iterator[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in cells] for cells in lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in escaped)


def codelists() -> str:
    """Return what ties each codelist to its endpoint, field and label."""
    return table(
        ["call", "endpoint", "record field", "label column", "official list", "in a shell"],
        (
            [
                f"`{call_of(name)}`",
                f"`/api/{codelist.endpoint}`",
                f"`{codelist.field}`",
                f"`{codelist.label}`",
                codelist.source or "not known",
                f"`{name.replace('_', '-')}`",
            ]
            for name, codelist in wire.CODELISTS.items()
        ),
    )


def call_of(codelist: str) -> str:
    """Return the call that fetches a codelist: those of places have functions of their own."""
    own = wire.CODELISTS[codelist].located
    return f"fk.{codelist}()" if own else f'fk.codelist("{codelist}")'


def endpoints() -> str:
    """Return the endpoints of each collection."""
    return table(
        ["collection", "ids", "count"],
        (
            [f"`fk.{name}`", f"`/api/{endpoint}`", f"`/api/{wire.COUNTS}/{endpoint}`"]
            for name, endpoint in wire.LISTS.items()
        ),
    )


def described() -> list[str]:
    """Return the collections whose records `fk.fields` describes."""
    names = []
    for name in wire.LISTS:
        try:
            fk.fields(name)
        except fk.UsageError:
            continue
        names.append(name)
    return names


def fields() -> str:
    """Return a table of the fields of each kind of record."""
    parts = []
    for name in described():
        rows = (
            [
                f"`{field}`",
                f"{meaning_en}<br>*{meaning_sk}*",
                f"`{dtype}`",
                f"`{call_of(codelist)}`" if codelist else "",
            ]
            for field, dtype, meaning_sk, meaning_en, codelist in fk.fields(name)[:, :5].rows()
        )
        heads = ["column", "meaning", "type", "codelist"]
        parts.append(f"### `fk.{name}`\n\n{table(heads, rows)}")
    return "\n".join(parts)


def errors() -> str:
    """Return the classes of errors as a tree, and a table of what each means."""
    roots = (fk.RegisterError, fk.errors.Interrupted)
    tree = "\n".join(line for root in roots for line in _branch(root, "", ""))
    kinds = [kind for root in roots for kind in _family(root)]
    rows = ([f"`{kind.__name__}`", _sentence(kind)] for kind in kinds)
    return f"```text\n{tree}\n```\n\n{table(['error', 'meaning'], rows)}"


def _branch(kind: type[BaseException], first: str, rest: str) -> Iterator[str]:
    yield first + kind.__name__
    children = kind.__subclasses__()
    for child in children:
        tee, line = ("└── ", "    ") if child is children[-1] else ("├── ", "│   ")
        yield from _branch(child, rest + tee, rest + line)


def _family(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)


def _sentence(kind: type[BaseException]) -> str:
    return (kind.__doc__ or "").partition("\n\n")[0].strip().replace("\n", " ")


def commands() -> str:
    """Return the help of the command and of each of its subcommands."""
    parts = [_help(cli, "finstat-kit")]
    parts += [_help(command, f"finstat-kit {name}") for name, command in cli.commands.items()]
    return "\n".join(parts)


def _help(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, terminal_width=78, max_content_width=78)
    return f"## {path}\n\n```text\n{command.get_help(context)}\n```\n"


def layers() -> list[list[str]]:
    """Return the layers of the contract in pyproject, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    return [layer.split(" | ") for layer in contract["layers"]]


def layers_picture(rows: list[list[str]]) -> str:
    """Return an SVG element: a row of boxes per layer, arrows downwards between the rows."""
    width, height, gap = 420, 50, 22
    parts = []
    for number, names in enumerate(rows):
        top = number * (height + gap)
        share = (width - 8 * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            left = place * (share + 8)
            middle = left + share / 2
            parts.append(
                f'<rect x="{left:g}" y="{top}" width="{share:g}" height="{height}" rx="4"/>'
            )
            parts.append(f'<text class="name" x="{middle:g}" y="{top + 21}">{escape(name)}</text>')
            parts.append(f'<text x="{middle:g}" y="{top + 39}">{escape(PARTS[name])}</text>')
        if number + 1 < len(rows):
            foot = top + height
            parts.append(f'<path d="M{width / 2:g} {foot + 3}v{gap - 6}m-4 -5l4 5l4 -5"/>')
    total = len(rows) * (height + gap) - gap
    label = "; ".join(" | ".join(names) for names in rows)
    return (
        f'<svg class="layers" viewBox="-1 -1 {width + 2} {total + 2}" role="img" '
        f'text-anchor="middle" aria-label="Layers, the highest first: {escape(label)}">'
        + "".join(parts)
        + "</svg>\n"
    )
