"""README and docs are true: their code runs, their links exist, no public name is missing."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getmembers_static
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import finstat_kit as fk
from finstat_kit.cli.commands import cli
from tests.support import lab
from tests.support.pages import FENCED, ROOT, blocks, difference, links, pages, run

DOCS = ROOT / "docs"
PAGES = pages()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


FIRST = ("README.md", "docs/start.md", "docs/howto/live-register.md")  # what a newcomer reads
RUN = [
    pytest.param(page, id=name, marks=() if name in FIRST else pytest.mark.slow)
    for page in PAGES
    for name in [name_of(page)]
]


@pytest.fixture(scope="session")
def in_git() -> set[Path]:
    """Give the files and folders that a fresh clone has; staged ones count."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = {ROOT / name for name in listed.stdout.split("\0") if name}
    return files | {folder for file in files for folder in file.parents}


@pytest.mark.parametrize("path", RUN)
@pytest.mark.filterwarnings(
    "ignore:FigureCanvasAgg", "ignore:both frames are windows", "ignore:units match"
)
def test_python_blocks_give_what_they_show(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page run in order, in one namespace; they print and draw what follows."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}

    for block in blocks(path.read_text(encoding="utf-8")):
        if block.reason is None:
            assert run(block, namespace) == block.output, block.code
            if block.picture is not None:
                assert difference(namespace.pop("ax"), path.parent / block.picture) < 3, block.code
        else:
            ast.parse(block.code)
            assert not block.output, "what is not run can have no output"


def test_every_python_block_is_found() -> None:
    """No fence that readers take for Python escapes the test above; few blocks are not run."""
    found = [block for path in PAGES for block in blocks(path.read_text(encoding="utf-8"))]
    fences = sum(
        len(re.findall(r"^ *```+ *(?:python|py)\b", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in PAGES
    )

    assert len(found) == fences
    assert sum(block.reason is not None for block in found) * 5 < len(found)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_and_pictures_are_in_git(path: Path, in_git: set[Path]) -> None:
    """Every relative link leads to a file of a fresh clone, and to a heading that it has."""
    for link in links(path.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        # The notebooks are copied to docs/notebooks when the site is built.
        file = (path.parent / target).resolve() if target else path
        if file.suffix == ".ipynb" and file.parent == DOCS / "notebooks":
            file = ROOT / "notebooks" / file.name

        assert file in in_git, f"{link} is not in git"
        if anchor:
            assert anchor in headings(file), f"{link}: there is no such heading"


def headings(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


_SPAN = re.compile(r"(`+)([^`]+)\1(?!`)")
_NAME = re.compile(r"\bfk((?:\.[A-Za-z_]\w*)+)")


def _texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of all that readers see: pages, generated ones, notebooks, help."""
    generate = _generate()
    for kind in ("codelists", "endpoints", "fields", "errors", "commands"):
        yield f"_generated/{kind}.md", getattr(generate, kind)()
    for path in PAGES:
        yield name_of(path), path.read_text(encoding="utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        yield name_of(path), "\n\n".join("".join(cell["source"]) for cell in cells)
    for name in dir(fk):
        public = getattr(fk, name)
        members = [member for name, member in getmembers_static(public) if name[0] != "_"]
        helps = [member.__doc__ or "" for member in (public, *filter(callable, members))]
        yield f"help(fk.{name})", "\n\n".join(helps)
    for path in _scripts():
        text = path.read_text(encoding="utf-8")
        is_python = path.suffix == ".py"
        yield name_of(path), (ast.get_docstring(ast.parse(text)) or "") if is_python else text


def _scripts() -> list[Path]:
    """Return what is run by its path: all Python beside the package and its tests, and CI."""
    folders = ("benchmarks", "data", "docs", "notebooks", "tests/support")
    scripts = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    scripts += [ROOT / "noxfile.py", ROOT / "tests" / "mutate.py", ROOT / ".ci" / "run"]
    return [path for path in scripts if path.is_file() and "_build" not in path.parts]


def _generate() -> ModuleType:
    spec = spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _named(path: str) -> Any:
    """Return what ``fk`` and a path of names say, such as ``.units.ids``."""
    return attrgetter(path.lstrip("."))(fk)


def test_every_name_and_call_on_a_page_exists() -> None:
    """Also where it is not run: each name is there, and takes the arguments that it is given."""
    calls = 0
    for page, text in _texts():
        for path in _NAME.findall(text):
            assert path == ".NAME" or _named(path) is not None, page
        spans = [code for _, code in _SPAN.findall(FENCED.sub("", text))]
        for code in [block.code for block in blocks(text)] + [c for c in spans if "fk." in c]:
            # An ellipsis stands for arguments, or for the lines of a block.
            whole = re.sub(r"…|=(?=\))", lambda found: "=..." if found[0] == "=" else "...", code)
            tree = ast.parse(f"{whole} ..." if whole.endswith(":") else whole.strip())
            for call in ast.walk(tree):
                if isinstance(call, ast.Call) and _NAME.fullmatch(ast.unparse(call.func)):
                    _check_call(call, f"{page}: {code}")
                    calls += 1

    assert calls > 250


def _check_call(call: ast.Call, where: str) -> None:
    signature = inspect.signature(_named(ast.unparse(call.func).removeprefix("fk")))
    values = [ast.unparse(argument) for argument in call.args]
    options = {option.arg: None for option in call.keywords if option.arg}
    starred = any(value[:1] == "*" for value in values) or len(options) < len(call.keywords)
    bind = signature.bind_partial if starred or "..." in values else signature.bind
    try:
        bind(*(value for value in values if value[:1] != "*" and value != "..."), **options)
    except TypeError as error:
        raise AssertionError(f"{where}: {error}") from error


def test_every_command_on_a_page_exists() -> None:
    """Each command of the shell is there, with the options that it is given."""
    commands = 0
    for page, text in _texts():
        for name, line in re.findall(r"finstat-kit ([a-z]+)([^\n`|]*)", text):
            command = cli.commands.get(name)
            assert command is not None, f"{page}: finstat-kit {name}"
            options = {option for parameter in command.params for option in parameter.opts}
            given = set(re.findall(r"(?<=\s)--[a-z-]+", line))
            assert given <= options | {"--help"}, f"{page}: finstat-kit {name}{line}"
            commands += 1

    assert commands > 20


_INSTALLED = {
    "extra": r"(?:[\"']\.|finstat-kit)\[([a-z,]+)\]|\bextra `+([a-z]+)`",
    "group": r"--group ([a-z]+)|\bgroup `+([a-z]+)`",
    "session": r"\bnox -s ([a-z]+(?: [a-z]+)*)",
    "module": r"\bpython3? -m ((?:tests|finstat_kit)[\w.]*)",
    "script": r"\bpython3? ((?:[\w-]+/)*[\w-]+\.py)\b",
}


def test_what_pages_and_scripts_tell_to_install_and_to_run_exists() -> None:
    """Each extra, group, session of nox, module and script, also in the head of a script."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sessions = re.findall(r"@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text("utf-8"))
    known = {
        "extra": set(settings["project"]["optional-dependencies"]),
        "group": set(settings["dependency-groups"]),
        "session": set(sessions),
        "module": None,
        "script": None,
    }
    counts = Counter[str]()
    for page, text in _texts():
        for kind, pattern in _INSTALLED.items():
            for found in re.finditer(pattern, text):
                for name in re.split("[, ]", next(filter(None, found.groups()))):
                    counts[kind] += 1
                    names = known[kind]
                    where = f"{page}: the {kind} {name}"
                    if kind == "module":
                        path = ROOT.joinpath(*name.split("."))
                        assert path.with_suffix(".py").is_file() or path.is_dir(), where
                    elif names is None:
                        beside = (ROOT / page).parent / Path(name).name
                        assert (ROOT / name).is_file() or beside.is_file(), where
                    else:
                        assert name in names, where

    assert all(counts[kind] for kind in _INSTALLED), counts


def test_the_example_of_a_docstring_is_a_real_one() -> None:
    """CONTRIBUTING shows the one that the package has."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r'def codelist.*?"""(.*?)"""', page, re.DOTALL)

    assert inspect.cleandoc(shown) == inspect.getdoc(fk.Register.codelist)


def test_every_public_name_is_in_the_reference() -> None:
    """Each name of the package stands on one page of the reference, and nothing else does."""
    entry = re.compile(
        r"^\.\. (?:auto(?:function|class|exception):: finstat_kit\.|py:data:: )(\w+)$", re.MULTILINE
    )
    listed = Counter(
        name
        for path in (DOCS / "reference").glob("*.md")
        for name in entry.findall(path.read_text(encoding="utf-8"))
    )

    assert listed == Counter(dir(fk))


def test_every_public_name_has_a_task() -> None:
    """The table of the reference by task names what users type, all of it and nothing else."""
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in index.splitlines() if line.startswith("| "))

    assert set(re.findall(r"`fk\.(\w+)", table)) == set(dir(fk))


def test_the_citation_names_this_version() -> None:
    """CITATION.cff is about the version that is here."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    assert f"\nversion: {fk.__version__}\n" in citation


def test_every_page_is_reachable() -> None:
    """Each page of the site stands in the table of contents of its folder or of the first page."""
    for path in DOCS.rglob("*.md"):
        if path in PAGES and path != DOCS / "index.md":
            index = path.parent / "index.md"
            above = DOCS / "index.md"
            name = path.relative_to(DOCS if path.name == "index.md" else path.parent)
            contents = (above if path.name == "index.md" else index).read_text(encoding="utf-8")

            assert f"\n{name.with_suffix('')}\n" in contents, path


def test_the_picture_of_the_layers_is_the_contract() -> None:
    """The site draws each part of the contract in pyproject once, and describes nothing else."""
    script = (
        "import sys; sys.path.insert(0, 'docs'); import generate\n"
        "print(generate.layers_picture(generate.layers()))\n"
        "print(*generate.PARTS)"
    )
    drawn = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    parts = [part for layer in contract["layers"] for part in layer.split(" | ")]

    picture, _, described = drawn.stdout.strip().rpartition("\n")

    assert re.findall(r'class="name"[^>]*>([^<]+)<', picture) == parts
    assert sorted(described.split()) == sorted(parts)


def test_how_fast_shows_every_benchmark() -> None:
    """Each module with figures has a table written by run.py, and the page includes it."""
    measured = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if "\ndef figures(" in path.read_text(encoding="utf-8")
    }
    tables = {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.md")}
    page = (DOCS / "how-fast.md").read_text(encoding="utf-8")

    assert measured
    assert tables == measured
    assert set(re.findall(r"\{include\} \.\./benchmarks/results/(\w+)\.md", page)) == measured


_NOT_LOADED = ("next", "prev", "search", "index", "canonical")


class _Targets(HTMLParser):
    """What an HTML page refers to, and where it can be entered."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links, the loaded files and the ids of a tag."""
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.targets.append(values["href"])
        elif tag in ("img", "script", "iframe") and "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") not in _NOT_LOADED:
            self.loaded.append(values.get("href", ""))


@pytest.mark.slow
def test_the_site_builds_is_whole_and_can_be_searched(tmp_path: Path) -> None:
    """No warning, no link to nothing, nothing loaded from the network; what people look for."""
    pytest.importorskip("myst_nb", reason="the extra docs is not installed")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "_generated"))
    for part in (
        "notebooks",
        "pyproject.toml",
        "SECURITY.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "benchmarks",
    ):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)
    site = tmp_path / "site"

    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "docs", str(site)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stderr
    read: dict[Path, _Targets] = {}
    for path in set(site.rglob("*.html")) - set((site / "_static").rglob("*")):
        read[path] = _Targets()
        read[path].feed(path.read_text(encoding="utf-8"))
    for path, page in read.items():
        assert not [url for url in page.loaded if urlsplit(url).netloc], path
        for target in page.targets + page.loaded:
            parts = urlsplit(target)
            if not parts.scheme:
                file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                assert file.is_file(), f"{path}: {target}"
                assert (
                    not parts.fragment
                    or file not in read
                    or (unquote(parts.fragment) in read[file].anchors)
                ), f"{path}: {target}"
    assert "howto/counts" in _searched(site, "company by name")
    assert "gallery" in _searched(site, "municipality total assets")
    assert "reference/whose-figures" in _searched(site, "micro small")
    for words, place in {
        "codebook": "howto/files",
        "panel": "howto/findings",
        "veľkosť": "reference/whose-figures",
        "statement pdf": "howto/one-statement",
        "závierka": "start-sk",
        "marimo": "howto/pickers",
        "typo": "howto/your-own-list",
        "misspelt": "howto/your-own-list",
        "obec": "howto/codelists",
        "rozpočet": "reference/whose-figures",
    }.items():
        assert place in _searched(site, words)
    assert "reference/records" in _searched(site, "kód obce")
    assert _searched(site, "kod obce") == _searched(site, "kód obce")
    _check_hosting(site, set(read))
    _check_dark(site)


def _check_hosting(site: Path, pages: set[Path]) -> None:
    """Every page of the contents is in the sitemap and names its picture, which is there."""
    sitemap = (site / "sitemap.xml").read_text(encoding="utf-8")
    base, _, _ = re.findall(r"<loc>(.*?)</loc>", sitemap)[0].partition("changelog")
    listed = {site / place.removeprefix(base) for place in re.findall("<loc>(.*?)</loc>", sitemap)}

    assert base.startswith("https://")
    assert pages - listed == {site / f"{name}.html" for name in ("genindex", "search")}
    for path in listed:
        text = path.read_text(encoding="utf-8")
        (picture,) = re.findall(r'<meta property="og:image" content="(.*?)">', text)
        assert (site / picture.removeprefix(base)).is_file()
        assert f'<meta property="og:url" content="{base}' in text


def _check_dark(site: Path) -> None:
    """On a dark page a picture is a light card in its own colours, which the theme would dim."""
    with lab.browser() as browser:
        page = browser.new_page(color_scheme="dark")
        page.goto((site / "gallery.html").as_uri())
        looks = page.locator(".bd-content img").evaluate_all(
            "all => all.map(one => [getComputedStyle(one).filter, "
            "getComputedStyle(one).backgroundColor, getComputedStyle(document.body).color])"
        )

    assert len(looks) > 10
    assert {tuple(look[:2]) for look in looks} == {("none", "rgb(255, 255, 255)")}
    assert looks[0][2] not in ("rgb(0, 0, 0)", "rgb(34, 40, 50)")  # the page is a dark one


def _searched(site: Path, words: str) -> set[str]:
    """Return the pages that the search of a site finds: those with all words, by their stems."""
    sys.path.insert(0, str(DOCS))
    from hosting import BothLanguages

    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    language = BothLanguages({})
    pages = set(index["docnames"])
    for word in set(words.split()) - set(language.stopwords):
        having = [index[part].get(language.stem(word), []) for part in ("terms", "titleterms")]
        places = {n for one in having for n in ([one] if isinstance(one, int) else one)}
        pages &= {index["docnames"][n] for n in places}
    return pages
