"""The README and the demo: short, and what they show is what happens."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from finstat_kit.cli import commands
from tests.support.examples import slow
from tests.support.pages import ROOT, demo

README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")


def test_the_readme_is_one_screen_of_why_and_one_of_how() -> None:
    """Everything longer than 160 lines is a manual; that is what docs/ is for."""
    assert len(README.splitlines()) <= 160


@pytest.mark.parametrize("language", ["sk", *slow("en")])
def test_the_demo_prints_what_the_docs_show(language: str) -> None:
    """The demo's output is 80 columns wide, the same every time, and stands in docs/start.md."""
    runs = [CliRunner().invoke(commands.cli, ["demo", "--lang", language]) for _ in range(2)]

    assert [run.exit_code for run in runs] == [0, 0]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith("SAMPLE DATA")
    assert max(map(len, runs[0].stdout.splitlines())) <= 80
    assert (f"<!-- demo -->\n```text\n{runs[0].stdout}```" in START) == (language == "sk")


@pytest.mark.slow
def test_the_demo_counts_every_unit() -> None:
    """The counts by region in the demo add up to the number of records it fetched."""
    text = demo("en")
    table = text.split("Units by region")[1].split("Next, in Python")[0]

    counts = [int(n.replace(",", "")) for n in re.findall(r" ([\d,]+) +[\d.]+%", table)]
    (fetched,) = re.findall(r"([\d,]+) records of 23 columns", text)

    assert sum(counts) == int(fetched.replace(",", ""))


def test_ci_runs_the_readmes_commands() -> None:
    """CI runs the commands that the README gives to paste."""
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    script = ROOT / ".ci" / "run"
    if not script.is_file():
        pytest.skip("not a checkout")

    assert len(commands) == 2
    assert "README.md" in script.read_text(encoding="utf-8")
    assert all(shlex.split(command)[0] == "python3" for command in commands)
