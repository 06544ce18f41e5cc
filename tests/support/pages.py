"""The pages for readers, README and docs: their Python blocks, pictures and links.

``python -m tests.support.pages`` writes the present output below each block of every page, and with
``--pictures`` the picture that follows a block that draws; the tests compare and write nothing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from click.testing import CliRunner
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import finstat_kit as fk
from finstat_kit.cli import commands

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\n?)?"
    r"```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?"
    r"(?=(?:\n!\[[^\]]*\]\((?P<picture>[^()\s]+\.png)\))?)",
    re.DOTALL | re.MULTILINE,
)
_DEMO: Final = re.compile(r"(<!-- demo -->\n```text\n).*?(^```$)", re.DOTALL | re.MULTILINE)
FENCED: Final = re.compile(r"^(`{3,})[^\n]*\n.*?^\1\n", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"\]\(([^()\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A Python block of a page, with the output that stands below it.

    Attributes:
        code: Its lines.
        output: The text block that follows, empty where none does.
        reason: Why it is not run; None where it is.
        span: Where it stands in the page, the output included.
        picture: The picture that follows: what the block left in ``ax``.
    """

    code: str
    output: str
    reason: str | None
    span: tuple[int, int]
    picture: str | None


def pages() -> list[Path]:
    """Return the README and every page of docs, generated ones left out."""
    docs = [
        path
        for path in (ROOT / "docs").rglob("*.md")
        if "/_" not in path.relative_to(ROOT).as_posix()
    ]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(docs)]


def blocks(text: str) -> Iterator[Block]:
    """Yield the Python blocks of a page in order."""
    for found in _BLOCK.finditer(text):
        yield Block(
            found["code"], found["output"] or "", found["reason"], found.span(), found["picture"]
        )


def links(text: str) -> list[str]:
    """Return the targets of links and pictures within the project, fenced blocks left out."""
    targets = _LINK.findall(FENCED.sub("", text))
    return [target for target in targets if not target.startswith(("http://", "https://"))]


def run(block: Block, namespace: dict[str, object]) -> str:
    """Run a block as a notebook cell; return what it prints and the repr of its last value."""
    tree = ast.parse(block.code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<page>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


def rewritten(text: str, folder: Path | None = None) -> str:
    """Return a page with the present output below each block that is run.

    Args:
        text: The page.
        folder: That of the page, to write its pictures too.
    """
    parts, end, namespace = [], 0, dict[str, object]()
    for block in blocks(text):
        if block.reason is not None:
            continue
        output = run(block, namespace)
        if folder is not None and block.picture is not None and "ax" in namespace:
            save(namespace.pop("ax"), folder / block.picture)
        parts.append(text[end : block.span[0]] + f"```python\n{block.code}```\n")
        parts.append(f"\n```text\n{output}```\n" if output else "")
        end = block.span[1]
    return _DEMO.sub(lambda found: found[1] + demo() + found[2], "".join([*parts, text[end:]]))


def save(ax: object, path: Path) -> None:
    """Write a picture of few colours, which does not say by which version it was drawn."""
    assert isinstance(ax, Axes)
    Image.open(drawn(ax)).convert("RGB").quantize(64).save(path, optimize=True)


def drawn(ax: Axes) -> io.BytesIO:
    """Draw a chart as it is shown, at the resolution of a page."""
    figure, picture = ax.figure, io.BytesIO()
    assert isinstance(figure, Figure)
    figure.savefig(picture, dpi=110, metadata={"Software": None})
    return picture


def difference(ax: object, path: Path) -> float:
    """Return how far a picture is from what is drawn now, in shades of 255 per point, from afar."""
    assert isinstance(ax, Axes)
    shades = [
        np.asarray(Image.open(picture).convert("L").resize((96, 64)), dtype=float)
        for picture in (drawn(ax), path)
    ]
    return float(np.abs(shades[0] - shades[1]).mean())


def demo(lang: str = "sk") -> str:
    """Return what ``finstat-kit demo`` prints."""
    return CliRunner().invoke(commands.cli, ["demo", "--lang", lang]).stdout


def main() -> None:
    """Rewrite the pages named, or all; each runs in an empty folder."""
    pictures = "--pictures" in sys.argv
    named = [Path(name).resolve() for name in sys.argv[1:] if name != "--pictures"]
    for path in named or pages():
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            fk.use(None)
            new = rewritten(text, path.parent if pictures else None)
            os.chdir(ROOT)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(f"rewritten: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
