"""The project's checks, each in an environment of its own: ``nox -s lint`` and the like.

Sessions need a package index for their environments and nothing else. Words after ``--`` go to
pytest, sphinx-build or the benchmarks.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import nox

nox.options.sessions = ["lint", "test", "docs"]
nox.options.reuse_existing_virtualenvs = True


def readme_tests() -> list[str]:
    """Return the arguments of pytest in the second command of the README."""
    text = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    command = re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL)[1]
    return shlex.split(command.partition(".venv/bin/pytest")[2])


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, the layers contract and spelling."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("codespell")


@nox.session
def test(session: nox.Session) -> None:
    """Run the README's test command: everything that is not slow, notebooks included."""
    session.install("-e", ".[test]")
    session.run("pytest", *readme_tests(), *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run what takes long by its nature; building these docs is part of it."""
    session.install("-e", ".[test,docs]")
    session.run(
        "pytest",
        "-n",
        "logical",
        "-m",
        "slow or hypothesis",
        "--hypothesis-profile=thorough",
        *session.posargs,
    )


@nox.session
def contract(session: nox.Session) -> None:
    """Hold the embedded register to its own OpenAPI description."""
    session.install("-e", ".[contract]")
    options = ("-q", "-n", "logical", "--hypothesis-profile=thorough")
    session.run("pytest", *options, "tests/service/http/test_contract.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site; every warning is an error."""
    session.install("-e", ".[docs]")
    strict = ("-E", "-W", "--keep-going", "-n")
    session.run("sphinx-build", *strict, *session.posargs, "docs", "docs/_build/html")


@nox.session
def mutants(session: nox.Session) -> None:
    """Change protocol and frames in ways that mutmut knows; print how many changes fail a test.

    A random sample, an hour on two cores; its size is the only word after ``--``.
    """
    session.install("-e", ".[test]", "mutmut>=3.8,<4")
    # With one quick mutant: this makes all of them and lists the tests that reach each.
    session.run("mutmut", "run", "finstat_kit.protocol.old_codes.x_old_code__mutmut_1")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure every figure and write the tables of the docs, about ten minutes."""
    session.install("-e", ".[bench]")
    session.run("python", "benchmarks/run.py", "--markdown", *session.posargs)
