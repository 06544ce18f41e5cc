"""The shape of the package: which module may know which, what importing it costs."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import subprocess
import sys
import tomllib
from datetime import date
from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit import errors
from finstat_kit.arguments import FORMER
from finstat_kit.client.source import Inner
from finstat_kit.errors import PagingError, RateLimited, RegisterUnavailable
from tests.mutate import MUTATIONS, found_tests, mutated, parsed

PACKAGE = Path(fk.__file__).parent


SPELLINGS = (
    "zmenene-od", "max-zaznamov", "pokracovat-za-id", "pravna-forma", "existujeDalsieId",
    "pocetZostavajucichId", "zostavajuce-id", "uctovna-jednotka", "uctovne-jednotky",
)  # fmt: skip


def test_the_registers_spelling_has_one_home() -> None:
    """Endpoints, parameters and keys of replies are spelled in wire.py alone."""
    spelled: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in SPELLINGS):
            continue
        tree = parsed(text)
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
            and isinstance(node.body[0], ast.Expr)
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in documented:
                for word in SPELLINGS:
                    if isinstance(node.value, str) and word in node.value:
                        spelled.setdefault(word, set()).add(path.name)

    assert spelled == {word: {"wire.py"} for word in SPELLINGS}


def test_only_one_module_knows_httpx() -> None:
    """Nothing but http.py names the HTTP library."""
    knowing = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if any(
            line.strip().startswith(("import http", "from http"))
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    }

    assert knowing == {"http.py"}


def test_the_folders_hold_what_design_says() -> None:
    """Few files lie in the root; no folder hides a public name."""
    root = {path.stem for path in PACKAGE.glob("*.py")}

    assert root == {
        "__init__", "__main__", "arguments", "calls", "errors", "given_frames", "given_units",
        "in_place", "progress",
    }  # fmt: skip


def imports_of(path: Path) -> set[tuple[str, ...]]:
    """Return the modules of the package that a file imports, also in functions and for types."""
    imported = {
        (*node.module.split(".")[1:], alias.name)
        for node in ast.walk(parsed(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
        if node.module.startswith("finstat_kit")
        for alias in node.names
    }
    for folder in [names for names in imported if PACKAGE.joinpath(*names).is_dir()]:
        imported |= {  # its modules are loaded when they are used
            inner.relative_to(PACKAGE).with_suffix("").parts
            for inner in PACKAGE.joinpath(*folder).glob("[!_]*.py")
        }
    return {
        names if PACKAGE.joinpath(*names).with_suffix(".py").exists()
        or PACKAGE.joinpath(*names).is_dir() else names[:-1]
        for names in imported
    }  # fmt: skip


def circle_in(arrows: dict[str, set[str]]) -> list[str]:
    """Return names that lead to each other in a circle, [] if none do."""
    left = dict(arrows)
    while leaves := [name for name, to in left.items() if not to & (left.keys() - {name})]:
        for name in leaves:
            del left[name]
    return sorted(left)


FOLDERS = sorted(p.parent.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("__init__.py"))


@pytest.mark.parametrize(
    ("owner", "former", "now"),
    [
        ("fk", "check_reports", "fk.reports.check"),
        ("fk", "NotFound", "fk.errors.NotFound"),
        ("fk.units", "of_place", "fk.units.town"),
        ("reg", "statement_history", "Sample.statement"),
        ("reg.units", "of_place", "Units.town"),
    ],
)
def test_what_a_name_was_called_is_said(owner: str, former: str, now: str) -> None:
    """Until 0.2, by the AttributeError; what is said is there."""
    things = {"fk": fk, "reg": fk.sample(5)}
    root, *path = owner.split(".")
    thing = attrgetter(".".join(path))(things[root]) if path else things[root]

    with pytest.raises(AttributeError, match=rf"has no {former}: it is {now} now$"):
        getattr(thing, former)

    assert callable(attrgetter(now.partition(".")[2].removeprefix("units."))(thing))
    assert former not in dir(thing)


def test_every_former_name_is_one_of_today() -> None:
    """Or the advice would be an error."""
    assert {name for name in FORMER if hasattr(fk, name)} == set()
    of_fk = {name: now for name, now in FORMER.items() if name != "of_place"}
    assert all(callable(attrgetter(now)(fk)) for now in of_fk.values())


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_has_a_circle_of_imports(folder: str) -> None:
    """What lies in a folder, files and folders alike, can be put in an order of reading."""
    inside = tuple(part for part in folder.split("/") if part != ".")
    arrows: dict[str, set[str]] = {}
    for path in (PACKAGE / folder).rglob("*.py"):
        names = path.relative_to(PACKAGE).with_suffix("").parts
        entry = names[len(inside)]
        to = {n[len(inside)] for n in imports_of(path) if n[: len(inside)] == inside != n}
        arrows.setdefault(entry, set()).update(to - {entry})

    assert circle_in(arrows) == []


def test_no_modules_import_each_other() -> None:
    """No circle runs across folders either, nor through an import within a function."""
    paths = {
        path.relative_to(PACKAGE).with_suffix("").parts: path for path in PACKAGE.rglob("*.py")
    }
    arrows = {
        ".".join(names): {".".join(to) for to in imports_of(path) if to in paths}
        for names, path in paths.items()
    }

    assert sum(map(len, arrows.values())) > 500
    assert circle_in(arrows) == []
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_others_use_the_inner_interface_of_a_register() -> None:
    """Nothing outside its folder uses what is a register's alone."""
    own = {name for name in vars(fk.Register) if name.startswith("_")} - set(vars(Inner))
    named = re.compile("|".join(rf"\.{name}\b" for name in own))
    using = {
        (path.name, node.attr)
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "client"
        if named.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Attribute) and node.attr in own and not node.attr.startswith("__")
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }

    assert "_citation" in own
    assert not using


def test_only_what_is_used_is_loaded() -> None:
    """Importing loads nothing; who reads no statement waits for nothing that assembles figures."""
    script = """
import sys, finstat_kit as fk
never = {"matplotlib", "ipywidgets", "filelock", "finstat_kit.frames.financials.assemble"}
print(sorted({"numpy", "httpx", "polars", *never} & {*sys.modules}))
fk.use(fk.sample(50)); fk.regions(); fk.units.get(fk.units.ids()).pipe(fk.count_by)
print(sorted(never & {*sys.modules}))
"""

    seen = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert seen.stdout.split() == ["[]", "[]"]


NAMES = sorted(dir(fk))


def test_public_names_stand_in_the_stub() -> None:
    """What type checkers see is what is loaded, and no module hides a public name."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    typed = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    ]
    modules = {path.stem for path in PACKAGE.iterdir()} - {"errors"}  # public itself

    assert sorted(typed) == NAMES
    assert len(NAMES) <= 50
    assert set(typed) & modules == set(), "a module of that name would hide the public one"


def test_a_name_takes_a_register_or_is_a_method_of_one() -> None:
    """There are these two ways to say which register is meant, and no name has both."""
    taking = {
        name
        for name in NAMES
        if inspect.isroutine(public := getattr(fk, name)) or inspect.isclass(public)
        if "register" in inspect.signature(public).parameters
    } - {"use", "using"}

    assert taking
    assert not taking & set(dir(fk.Register))


def test_public_names_are_documented() -> None:
    """Every public name says what comes back."""
    for name in NAMES:
        public = getattr(fk, name)

        assert not callable(public) or inspect.getdoc(public), name


def test_docstrings_name_every_column() -> None:
    """The docstring of a method names all columns that its frame has, items and codes left out."""
    reg = fk.sample(100)
    units = reg.units.get(reg.units.ids(limit=8))
    figures = reg.financials([], 2015)
    reports = reg.reports.get(reg.reports.ids(limit=30)).filter(idSablony=699).head(2)
    frames = [
        ("codelist", reg.codelist("legal_forms")),
        ("codelist", reg.codelist()),
        ("locations", reg.locations()),
        ("match_places", reg.match_places(pl.Series(["Žilina"]), level="municipality")),
        ("unresolved_codes", reg.unresolved_codes(units)),
        ("count_by", reg.count_by(units, "kraj")),
        ("filings", reg.filings([], 2015)),
        ("financials", figures.drop(fk.items()["item"].to_list(), strict=False)),
        ("reports.cells", reg.reports.cells(reports)),
        ("reports.check", reg.reports.check(reports)),
        ("reports.files", reg.reports.files(reports)),
        ("template", reg.template()),
        ("template", reg.template(699)),
    ]
    absent = {
        (name, column)
        for name, frame in frames
        for column in frame.columns
        if f"``{column}``" not in (inspect.getdoc(attrgetter(name)(reg)) or "")
    }

    assert not absent


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name is an AttributeError, as for any module."""
    with pytest.raises(AttributeError, match="regionz"):
        fk.regionz  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "error",
    [
        fk.RegisterError("a", url="u", attempts=2, cursor=3),
        RegisterUnavailable("a", blocked=True, status=403),
        RateLimited("a", retry_after=7.0),
        fk.errors.NotFound("a", ids=[1, 2]),
        PagingError("a", cursor=9),
        fk.errors.Interrupted("b", cursor=4),
        fk.UsageError("is no day", argument="a", value=date(2026, 1, 1), cure="b"),
    ],
)
def test_errors_survive_pickling(error: Exception) -> None:
    """An error raised in a worker process arrives with all it knows."""
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)


def test_error_tree_is_drawn() -> None:
    """The docstring of errors.py names every class, and all but the warning hang on one root."""
    classes = [
        c
        for _, c in inspect.getmembers(errors, inspect.isclass)
        if c.__module__ == errors.__name__ and issubclass(c, BaseException)
    ]

    assert all(c.__name__ in (errors.__doc__ or "") for c in classes)
    raised = [c for c in classes if not issubclass(c, Warning)]
    assert all(issubclass(c, fk.RegisterError | fk.errors.Interrupted) for c in raised)
    assert set(classes) - set(raised) == {errors.RegisterWarning}
    assert issubclass(errors.RegisterWarning, UserWarning)
    assert issubclass(fk.UsageError, ValueError)


def test_lowest_versions_are_the_admitted_ones() -> None:
    """The checks run on the lowest polars, httpx and filelock that the project admits."""
    root = PACKAGE.parent
    if not (root / ".ci" / "run").is_file():
        pytest.skip("not a checkout")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    script = (root / ".ci" / "run").read_text(encoding="utf-8")

    assert "polars>=2.0,<3" in project["dependencies"]
    assert "httpx>=0.28,<1" in project["dependencies"]
    assert "filelock>=3.16" in project["dependencies"]
    for text in (script, (root / "noxfile.py").read_text(encoding="utf-8")):
        assert re.findall(r"(?:polars|httpx|filelock)==[\d.]+", text) == [
            "polars==2.0.0", "httpx==0.28.0", "filelock==3.16.0",
        ]  # fmt: skip


def test_a_wheel_has_the_data_that_is_read() -> None:
    """Every file of data/ but the scripts and the tables from which they write the others."""
    root = Path(__file__).parent.parent
    build = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    carried = build["build"]["targets"]["wheel"]["force-include"]
    read = [path for path in (root / "data").rglob("*") if path.suffix == ".json"]

    assert all(any((root / name) in (path, *path.parents) for name in carried) for path in read), (
        sorted(read)
    )
    assert all(inside == f"finstat_kit/_{name}" for name, inside in carried.items())
    assert len(read) > 30
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    names = {Path(name).stem for name in carried}
    assert names == {name for name in names if f'"{name}' in code}, "nothing reads it"


def test_no_block_is_opened_by_use() -> None:
    """`use` only sets: a ``with`` needs `using`."""
    root = PACKAGE.parent
    if not (root / "README.md").is_file():
        pytest.skip("not a checkout")
    block = re.compile(r"with\b[^\n]*\b" + r"use\(")
    texts = [path for kind in ("*.py", "*.md", "*.ipynb") for path in root.rglob(kind)]
    opened = [
        path.name
        for path in texts
        if not {".git", ".nox", ".venv", "build"} & set(path.parts)
        and block.search(path.read_text(encoding="utf-8"))
    ]

    assert opened == []


@pytest.mark.slow
def test_errors_show_where_the_eye_is() -> None:
    """IPython shows the reader's calls, the text and its causes, and no line of a library."""
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('import finstat_kit as fk, polars as pl; reg = fk.sample(10)')\n"
        "shell.run_cell('def mine():\\n    return reg.units.ids(after_id=-1)\\n\\nmine()')\n"
        "shell.run_cell('try:\\n    1/0\\n'\n"
        "               'except Exception as e:\\n    raise fk.UsageError(\"x\") from e')\n"
    )

    seen = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert seen[:3] == [
        "----> 4 mine()",
        "----> 2 return reg.units.ids(after_id=-1)",
        "UsageError: after_id=-1 is not allowed; give a whole number, 0 or more",
    ]
    assert seen[-2:] == ["UsageError: x", "  because of ZeroDivisionError: division by zero"]


def test_every_mutation_applies() -> None:
    """Function, text and tests of each row of tests/mutate.py are there, and what it makes runs."""
    for mutation in MUTATIONS:
        path, text, function = mutated(mutation)

        is_method = function.startswith(" ")
        compile(f"class _:\n{function}" if is_method else function, path, "exec")
        assert text != path.read_text(encoding="utf-8"), mutation
        assert found_tests(mutation), mutation


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"place": "paging.py:gone"}, "0 functions"),
        ({"place": "*.py:names"}, "[2-9] functions"),
        ({"before": "what is not there"}, "the text is there 0 times"),
        ({"before": "i"}, r"the text is there \d\d+ times"),
        ({"tests": "test_gone"}, "test_gone is in 0 files"),
    ],
)
def test_a_mutation_that_no_longer_applies_is_named(change: dict[str, str], fault: str) -> None:
    """A row whose function, text or test is gone, or is there twice, is an error that names it."""
    mutation = MUTATIONS[0]._replace(**change)

    with pytest.raises(LookupError, match=f"{mutation.promise} .*{fault}"):
        _ = mutated(mutation), found_tests(mutation)
