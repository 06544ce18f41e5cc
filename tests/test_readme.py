"""The README is true: its code runs and gives what it shows, its commands and tables exist."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import finstat_kit as fk
from finstat_kit.cli import commands
from finstat_kit.protocol import wire
from finstat_kit.protocol.wire import LISTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown(code: str, namespace: dict[str, object]) -> str:
    """Run a block as a notebook cell would; return what it prints and the value it ends in."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "README.md", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "README.md", "eval"), namespace)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


def test_python_blocks_give_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs, in order, in one namespace, and prints what stands below it."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", README, re.DOTALL)
    namespace: dict[str, object] = {}

    assert len(blocks) > 8
    for code, expected in blocks:
        assert shown(code, namespace) == expected, code


@pytest.mark.parametrize("language", ["sk", "en"])
def test_the_demo_is_80_columns_wide_and_the_same_every_time(language: str) -> None:
    """The demo's output is 80 columns wide, the same every time, and stands in the README."""
    runs = [CliRunner().invoke(commands.cli, ["demo", "--lang", language]) for _ in range(2)]

    assert [run.exit_code for run in runs] == [0, 0]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith("SAMPLE DATA")
    assert max(map(len, runs[0].stdout.splitlines())) <= 80
    assert (f"```text\n{runs[0].stdout}```" in README) == (language == "sk")


def test_the_demo_counts_every_unit() -> None:
    """The counts by region in the demo add up to the number of records it fetched."""
    text = CliRunner().invoke(commands.cli, ["demo", "--lang", "en"]).stdout
    table = text.split("Units by region")[1].split("Next, in Python")[0]

    counts = [int(n.replace(",", "")) for n in re.findall(r" ([\d,]+) +[\d.]+%", table)]
    (fetched,) = re.findall(r"([\d,]+) records of 23 columns", text)

    assert sum(counts) == int(fetched.replace(",", ""))


def test_the_table_of_codelists_is_complete() -> None:
    """The table ties endpoint, field, function, label and command-line name as the code does."""
    for name, codelist in wire.CODELISTS.items():
        row = (
            f"| `/api/{codelist.endpoint}` | `{codelist.field}` | `fk.{name}()` "
            f"| `{codelist.label}` | `{name.replace('_', '-')}` |"
        )
        assert row in README
    for name, endpoint in LISTS.items():
        assert f"| `/api/{endpoint}` | `fk.{name}` |" in README
        assert hasattr(fk, name)


def test_ci_runs_the_readmes_commands() -> None:
    """What the README tells people to paste is what CI runs."""
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    script = ROOT / ".ci" / "run"
    if not script.is_file():
        pytest.skip("not a checkout")

    assert len(commands) >= 2
    assert "README.md" in script.read_text(encoding="utf-8")
    assert all(shlex.split(command)[0] == "python3" for command in commands[:2])
