"""What a package index and a forge are given: true metadata, links that lead somewhere, jobs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import finstat_kit as fk
from tests.support.pages import ROOT, links

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.fixture(scope="module")
def metadata() -> dict[str, Any]:
    """Give what the build writes into sdist and wheel."""
    written = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(written.stdout)
    return found


def test_the_page_of_the_index_has_the_readmes_links(metadata: dict[str, Any]) -> None:
    """Each relative link of the README leads to its file under the tag of the version."""
    source, version = metadata["urls"]["Source"], metadata["version"]
    raw = source.replace("https://github.com", "https://raw.githubusercontent.com")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    page = metadata["readme"]["text"]

    assert version == fk.__version__
    assert metadata["readme"]["content-type"] == "text/markdown"
    assert not links(page)
    expected = [
        f"{raw if link.endswith('.png') else f'{source}/blob'}/v{version}/{link}"
        for link in links(readme)
    ]
    assert re.findall(rf"\]\(((?:{source}|{raw})[^)]+)\)", page) == expected
    assert len(expected) > 20


def test_extras_are_for_users() -> None:
    """The metadata name none for those who change the package but the two of the README."""
    extras = SETTINGS["project"]["optional-dependencies"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert set(extras) == {"server", "lab", "mcp", "test", "docs"}
    assert all(f'".[{extra}]"' in readme for extra in ("lab", "test", "docs"))


def test_the_classifiers_name_what_runs() -> None:
    """Each Python of the classifiers is one of the workflows and of the project's own check."""
    named = {
        classifier.rpartition(" ")[2]
        for classifier in SETTINGS["project"]["classifiers"]
        if classifier.startswith("Programming Language :: Python :: 3.")
    }
    if not (ROOT / ".ci" / "run").is_file():
        pytest.skip("not a checkout")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (later,) = re.findall(r"^later=\((.*?)\)", script, re.MULTILINE)
    jobs = (WORKFLOWS / "tests.yml").read_text(encoding="utf-8")

    lowest = SETTINGS["project"]["requires-python"].removeprefix(">=")
    assert lowest in named
    assert named <= {lowest, *later.split()}
    assert {lowest, *later.split()} == set(re.findall(r'"(3\.\d\d)"', jobs))


def test_the_forge_runs_the_sessions_of_the_check() -> None:
    """Every job calls sessions of the noxfile that `.ci/run` calls too; none is written twice."""
    if not WORKFLOWS.is_dir():
        pytest.skip("not a checkout")
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    sessions = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list
    }
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    checked = {"test"}  # its command is the README's, which the script takes from there
    call = r"""^ *(?:\S+=\S+ )?sessions (?:\w+|"\$version") ([a-z ]+)"""
    for words in re.findall(call, script, re.MULTILINE):
        checked |= set(words.split())
    called = {
        name
        for path in WORKFLOWS.glob("*.yml")
        for words in re.findall(r"nox -s ([a-z ]+)", path.read_text(encoding="utf-8"))
        for name in words.split()
    }

    assert called == checked
    assert called <= sessions
