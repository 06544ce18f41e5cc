"""The project's checks, each in an environment of its own: ``nox -s lint`` and the like.

Sessions need a package index for their environments and nothing else. Words after ``--`` go to
pytest, sphinx-build or the benchmarks. `.ci/run` and the workflows of the forge run these sessions.
"""

from __future__ import annotations

import re
import shlex
import tarfile
import tempfile
from functools import partial
from pathlib import Path

import nox

nox.options.sessions = ["lint", "test", "docs"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PYTEST = ("python", "-m", "pytest", "-q")  # of the folder that it runs in
THOROUGHLY = ("-n", "logical", "--hypothesis-profile=thorough")
# Files of the forge and the schema of each, all of which come with check-jsonschema.
SCHEMAS = {
    "github-workflows": ".github/workflows/*.yml",
    "github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "dependabot": ".github/dependabot.yml",
    "readthedocs": ".readthedocs.yaml",
    "citation-file-format": "CITATION.cff",
}
# Tests that see files beside the package, and some of what is in it.
OF_SDIST = (
    *(f"tests/test_{name}.py" for name in ("structure", "docs", "readme", "release")),
    "tests/protocol/test_replies.py",
)
# What a package without extras does in an empty folder: a mirror, and a chart of it.
FIRST_STEPS = """
import finstat_kit as fk
mirror = fk.Mirror("ruz", register=fk.sample(500))
mirror.sync()
fk.use(mirror)
fk.plot_map(fk.units.get(fk.units.ids())).figure.savefig("map.png")
"""


def group(name: str) -> tuple[str, ...]:
    """Return what pip installs for a group, in words that every pip knows."""
    return nox.project.dependency_groups(PYPROJECT, name)


def readme_tests() -> list[str]:
    """Return the arguments of pytest in the second command of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL)[1]
    return shlex.split(command.partition(".venv/bin/pytest")[2])


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types (of the package on three systems), layers, spelling, the forge's files."""
    session.install("-e", ".[test,docs]", *group("dev"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    for platform in ("win32", "darwin"):
        cache = f".mypy_cache/{platform}"
        session.run("mypy", "--platform", platform, "--cache-dir", cache, "finstat_kit")
    session.run("lint-imports")
    session.run("codespell")
    for schema, files in SCHEMAS.items():
        paths = map(str, sorted(ROOT.glob(files)))
        session.run("check-jsonschema", "-q", "--builtin-schema", f"vendor.{schema}", *paths)


@nox.session
def test(session: nox.Session) -> None:
    """Run the README's test command: every kind of promise once, notebooks included."""
    session.install("-e", ".[test]")
    session.run("pytest", *readme_tests(), *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run what takes long by its nature; building these docs is part of it."""
    session.install("-e", ".[test,docs]", *group("dev"))
    session.run(*PYTEST, *THOROUGHLY, "-m", "slow or hypothesis", *session.posargs)


@nox.session
def smoke(session: nox.Session) -> None:
    """Run what depends on the Python and the system: the doctests import every module."""
    session.install("-e", ".[test]")
    client = map(str, sorted(ROOT.glob("tests/client/test_*.py")))
    tests = ("finstat_kit", "tests/transport", "tests/protocol", *client)
    session.run(*PYTEST, "-n", "logical", *tests, *session.posargs)


@nox.session
def lowest(session: nox.Session) -> None:
    """Run what uses polars, httpx and filelock on the lowest versions that are admitted."""
    session.install("-e", ".[test]", "polars==2.0.0", "httpx==0.28.0", "filelock==3.16.0")
    # Not again how a picture looks, nor the file of a cache, which is SQLite's: and there a child
    # of polars 2.0.0 that ends by sys.exit() after os.fork() waits for ever.
    tests = ["tests/client", "tests/frames", "tests/transport", "tests/mirror/test_engines.py"]
    tests += ["tests/mirror/test_mirror.py", "--ignore", "tests/transport/test_cache_file.py"]
    session.run(*PYTEST, "-n", "logical", *tests, *session.posargs)


@nox.session
def contract(session: nox.Session) -> None:
    """Hold the embedded register to its own OpenAPI description."""
    session.install("-e", ".[test]", *group("contract"))
    session.run(*PYTEST, *THOROUGHLY, "tests/service/http/contract.py", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Build sdist and wheel, and use both: the wheel without extras, the sdist by its own tests.

    The first word after ``--`` is the folder that they are left in.
    """
    session.install("-e", ".[test]", *group("package"))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        dist = Path(session.posargs[0]).resolve() if session.posargs else work / "dist"
        session.run("python", "-m", "build", "-q", "--outdir", str(dist), ".")
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        session.run("twine", "check", "--strict", str(wheel), str(sdist))
        check_wheel(session, work, wheel)
        with tarfile.open(sdist) as archive:
            archive.extractall(work, filter="data")
        with session.chdir(work / sdist.name.removesuffix(".tar.gz")):
            session.run(*PYTEST, *OF_SDIST)


def check_wheel(session: nox.Session, work: Path, wheel: Path) -> None:
    """Run the demo, a mirror and a chart where nothing but the wheel is installed."""
    session.run("python", "-m", "venv", str(work / "venv"))
    (path,) = [path for path in work.glob("venv/*/python*") if path.stem == "python"]
    python = partial(session.run, str(path), "-I", external=True)  # nothing of this folder
    python("-m", "pip", "install", "-q", str(wheel))
    (work / "empty").mkdir()
    with session.chdir(work / "empty"):
        demo = python("-m", "finstat_kit", "demo", "--lang", "sk", silent=True)
        python("-c", FIRST_STEPS)
    start = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    if f"<!-- demo -->\n```text\n{demo}```\n".replace("\r", "") not in start:
        session.error(f"the demo is not what docs/start.md shows:\n{demo}")


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
    session.install("-e", ".[server]", *group("bench"))
    session.run("python", "benchmarks/run.py", "--markdown", *session.posargs)
